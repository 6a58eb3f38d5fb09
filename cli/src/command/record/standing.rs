//! Where the RISCs of a simulated chip stand in launches that have not ended when the program ends:
//! adds the files of kernels and the names of ops to what the chip's library has written.

use super::chip_table::{inspector_of, set_chip_file};
use crate::{
    command::{
        standing::{KernelsOf, StandingRiscs},
        table_file::write_table,
    },
    failure::{Failure, OrFail, note},
    input::open_runs,
};
use chip::inspector::OpNames;
use host_reader::{
    recording::{Recording, device_captures},
    tables::{Standing, StandingRow},
};
use sim::unfinished::{UnfinishedLaunch, from_json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Ending of the files of the chip's library, one for each process.
const RAW: &str = "chip-standing.json";
/// Ending of the files with the table.
const TABLE: &str = "standing.csv";
/// Maximum number of groups of cores that are printed.
const PLACES_MAX: usize = 8;

/// Sets the variables that make the simulated chip write where RISCs stand.
pub(super) fn set_environment(base: &Path, logs: &Path, command: &mut Command) {
    set_chip_file(("KPROF_CHIP_STANDING", RAW), base, logs, command);
}

/// Completes and prints what the processes have left whose captures are in a folder; `cache` is the
/// folder in which TT-Metal has built the kernels. Returns the rows, and the files with them.
pub(super) fn complete(
    logs: &Path,
    cache: &Path,
) -> Result<(Vec<StandingRow>, Vec<PathBuf>), Failure> {
    let (mut rows, mut files) = (Vec::new(), Vec::new());
    for capture in device_captures(logs) {
        let raw = capture.with_extension(RAW);
        if !raw.is_file() {
            continue;
        }
        let text = fs::read_to_string(&raw).or_fail_at(&raw)?;
        let mut launches = match from_json(&text) {
            Ok(launches) => launches,
            Err(reason) => {
                note!("kprof: {}: {reason}", raw.display());
                continue;
            }
        };
        let names = OpNames::open(&inspector_of(logs, &capture)).unwrap_or_default();
        name(&mut launches, &names);
        // What was recorded until then is told of by those who read the capture.
        let recorded = open_runs(&capture).ok().and_then(|mut runs| runs.pop());
        let readout = recorded.as_ref().map(|Recording { readout, .. }| readout);
        let found = StandingRiscs::new(&launches, readout, KernelsOf::Host(vec![cache.to_owned()]));
        let file = capture.with_extension(TABLE);
        write_table::<Standing>(&found.rows, &file)?;
        found.tell(PLACES_MAX, &format!("all are in {}", file.display()));
        fs::remove_file(&raw).or_fail_at(&raw)?;
        rows.extend(found.rows);
        files.push(file);
    }
    Ok((rows, files))
}

/// Names the programs of launches.
fn name(launches: &mut [UnfinishedLaunch], names: &OpNames) {
    for launch in launches {
        if let Some(name) = names.names.get(&launch.program_id) {
            launch.program = name.to_string();
        }
    }
}
