//! Opens a recording and builds its table of records, like Python's `kprof.open(path).records`.
//!
//! For each line of input, prints the number of rows and the seconds taken:
//!
//! ```text
//! cargo run --release --example open_log -- PATH
//! ```
//!
//! `benches/open_log.py` runs this program and Python in turn.

#![allow(clippy::print_stdout, reason = "a program that answers")]

#[allow(dead_code, reason = "the package has other tables, too")]
#[path = "../src/tables.rs"]
mod tables;

use host_reader::recording::load;
use std::{error::Error, io, path::PathBuf, sync::Arc, time::Instant};
use tables::Table;

fn main() -> Result<(), Box<dyn Error>> {
    let path: PathBuf = std::env::args_os().nth(1).ok_or("expected a path")?.into();
    for line in io::stdin().lines() {
        line?;
        let begun = Instant::now();
        let mut loaded = load(&path)?;
        let recording = Arc::new(loaded.recordings.pop().ok_or("expected a recording")?);
        let Table { batches, .. } = tables::records(&recording)?;
        let elapsed = begun.elapsed().as_secs_f64();
        let rows: usize = batches.iter().map(|batch| batch.num_rows()).sum();
        println!("{rows} {elapsed}");
    }
    Ok(())
}
