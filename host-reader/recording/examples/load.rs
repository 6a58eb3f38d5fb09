//! Loads a log, a folder or a capture: `cargo run --example load PATH`.

use recording::{LoadError, load};
use std::{env, path::Path};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/captures/kprof/v1.1.kprof");

/// Returns the number of records of each recording.
fn record_counts(path: &Path) -> Result<Vec<usize>, LoadError> {
    let recordings = load(path)?.recordings;
    Ok(recordings.iter().map(|recording| recording.readout.record_count()).collect())
}

fn main() -> Result<(), LoadError> {
    let path = env::args_os().nth(1).unwrap_or_else(|| SAMPLE.into());
    println!("records: {:?}", record_counts(Path::new(&path))?);
    Ok(())
}

#[test]
fn the_sample_has_a_run_of_four_records() {
    assert_eq!(record_counts(Path::new(SAMPLE)).unwrap(), [4]);
}
