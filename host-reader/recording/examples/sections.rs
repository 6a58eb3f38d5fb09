//! Lists the sections of a capture: `cargo run --example sections FILE.kprof`.

use recording::capture::{Capture, CaptureError};
use std::{env, path::Path};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/captures/kprof/v1.1.kprof");

/// Returns a line for each section: number, kind, bytes.
fn sections(path: &Path) -> Result<Vec<String>, CaptureError> {
    let capture = Capture::open(path)?;
    let line = |section: recording::capture::Section<'_>| {
        format!("{} {}: {} bytes", section.number, section.kind, section.payload.len())
    };
    Ok(capture.sections().map(line).collect())
}

fn main() -> Result<(), CaptureError> {
    let path = env::args_os().nth(1).unwrap_or_else(|| SAMPLE.into());
    for line in sections(Path::new(&path))? {
        println!("{line}");
    }
    Ok(())
}

#[test]
fn the_sample_ends_with_its_mark() {
    let sections = sections(Path::new(SAMPLE)).unwrap();
    assert_eq!(sections.first().unwrap(), "0 device: 96 bytes");
    assert_eq!(sections.last().unwrap(), "15 end mark: 8 bytes");
}
