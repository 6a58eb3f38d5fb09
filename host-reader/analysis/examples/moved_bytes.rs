//! Shows the bytes moved between tiles, from a file that TT-Metal wrote: `cargo run --example
//! moved_bytes NOC_TRACE.json`.

use analysis::noc_events::{ProgramTrace, Traffic, read_json};
use std::{env, fs, io, path::Path};
use wire::RunHostId;

const SAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/captures/mesham-tt-sim/wormhole-noc-4096/noc_trace_dev0_ID0.json"
);

/// Returns a line for each pair of tiles, and one for each unreadable part of the file.
fn moved(path: &Path) -> io::Result<Vec<String>> {
    let read = read_json(&fs::read(path)?);
    let trace = ProgramTrace {
        chip_id: 0,
        program: RunHostId(0),
        trace: None,
        op_name: String::new(),
        objects: read.objects,
    };
    // The file does not contain the size of the grid, so there are pairs of tiles but no links.
    let traffic = Traffic::from_traces(&[trace], |_| None);
    let pairs = traffic.pairs.iter().map(|pair| {
        format!("{} to {}: {} bytes over {:?}", pair.from, pair.to, pair.byte_count, pair.noc)
    });
    Ok(pairs.chain(read.problems.iter().map(ToString::to_string)).collect())
}

fn main() -> io::Result<()> {
    let path = env::args_os().nth(1).unwrap_or_else(|| SAMPLE.into());
    for line in moved(Path::new(&path))? {
        println!("{line}");
    }
    Ok(())
}

#[test]
fn a_kernel_of_eight_reads_and_writes_moved_both_ways() {
    // The kernel of this trace moves 8 x 4,096 bytes from DRAM and back.
    let lines = moved(Path::new(SAMPLE)).unwrap();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].ends_with("32768 bytes over Noc0"), "{lines:?}");
    assert!(lines[1].ends_with("32768 bytes over Noc1"), "{lines:?}");
}
