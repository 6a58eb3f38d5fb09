//! Tables that the simulated chip's library writes for each process, and that are completed with what
//! only the host knows when the program has ended.

use crate::failure::{Failure, OrFail, note};
use host_reader::recording::DEVICE_CAPTURE_PREFIX;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The host's id of what is no op.
pub(super) const NO_PROGRAM: u32 = 0;

/// Returns the folder of the Inspector's log of the process that has recorded a capture.
pub(super) fn inspector_of(logs: &Path, capture: &Path) -> PathBuf {
    let stem = capture.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let process = stem.strip_prefix(DEVICE_CAPTURE_PREFIX).unwrap_or(stem);
    logs.join(format!("process-{process}")).join("generated/inspector")
}

/// A table of the simulated chip's library.
pub(super) struct ChipTable {
    /// Variable with the path of the table.
    pub(super) variable: &'static str,
    /// Ending of the files, one for each process.
    pub(super) ending: &'static str,
    /// Start of the sentence about a missing file.
    pub(super) expected: &'static str,
    /// What the simulated chip does with the content.
    pub(super) does: &'static str,
}

/// Sets a variable with the path of a file that the simulated chip's library writes for each process,
/// and the one with the firmware that it needs for this.
pub(super) fn set_chip_file(
    (variable, ending): (&str, &str),
    base: &Path,
    logs: &Path,
    command: &mut Command,
) {
    command.env(variable, logs.join(format!("{DEVICE_CAPTURE_PREFIX}{{pid}}.{ending}")));
    command.env("KPROF_CHIP_FIRMWARE", base.join("tt_metal/pre-compiled"));
}

impl ChipTable {
    /// Sets the variables that make the simulated chip write the table.
    pub(super) fn set_environment(&self, base: &Path, logs: &Path, command: &mut Command) {
        set_chip_file((self.variable, self.ending), base, logs, command);
    }

    /// Calls a function with each capture and the file of the process that has recorded it, which is
    /// removed afterwards. Prints which files are missing.
    pub(super) fn complete(
        &self,
        captures: &[PathBuf],
        mut complete: impl FnMut(&Path, &Path) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for capture in captures {
            let raw = capture.with_extension(self.ending);
            if raw.is_file() {
                complete(capture, &raw)?;
                fs::remove_file(&raw).or_fail_at(&raw)?;
                continue;
            }
            note!(
                "kprof: {} in {}, found none; only kprof's own simulated chip {} them, until the \
                 program ends",
                self.expected,
                raw.display(),
                self.does
            );
        }
        Ok(())
    }
}
