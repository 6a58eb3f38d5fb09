//! Loads a recording and prints its zones, those with the most cycles first:
//! `cargo run --example longest_zones PATH`.

use host_reader::{
    analysis::Report,
    recording::{LoadError, load},
};
use std::{env, path::Path};

const SAMPLE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/captures/mesham-tt-sim/wormhole-noc-256");

/// Name, count and cycles of each zone.
fn zones(path: &Path) -> Result<Vec<(String, u64, u64)>, LoadError> {
    let mut zones = Vec::new();
    for recording in load(path)?.recordings {
        let report = Report::new(&recording.readout);
        let rows = report.zones.iter();
        zones.extend(rows.map(|row| (row.name.clone(), row.cycles.count, row.cycles.total_cycles)));
    }
    Ok(zones)
}

fn main() -> Result<(), LoadError> {
    let path = env::args_os().nth(1).unwrap_or_else(|| SAMPLE.into());
    for (name, count, cycles) in zones(Path::new(&path))? {
        println!("{cycles:>12} cycles in {count:>5} x {name}");
    }
    Ok(())
}

#[test]
fn a_log_has_its_firmware_and_its_kernels() {
    let zones = zones(Path::new(SAMPLE)).unwrap();
    let count = |wanted: &str| zones.iter().find(|zone| zone.0 == wanted).map(|zone| zone.1);
    assert_eq!((count("BRISC-FW"), count("BRISC-KERNEL")), (Some(1), Some(1)), "{zones:?}");
}
