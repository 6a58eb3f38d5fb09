//! Logs that were made by a simulation or from a capture. They never replace a measured log.

use crate::failure::{Failure, OrFail, failure};
use host_reader::{
    readout::Readout,
    recording::derived_log::{is_replaceable, write_note},
};
use std::path::Path;

/// Returns an error for an existing file that was not made by a simulation or from a capture.
///
/// # Errors
/// The error is one sentence that names the file.
pub(crate) fn check_replaceable(path: &Path) -> Result<(), Failure> {
    if is_replaceable(path).or_fail_at(path)? {
        return Ok(());
    }
    Err(failure!(
        "{} exists and was not written from a simulation or capture, so it is not replaced; choose \
         another folder with -o",
        path.display()
    ))
}

/// Writes the note file for a new log, of a simulation or from a capture.
///
/// # Errors
/// If the log cannot be read, or its note cannot be written.
pub(crate) fn note(path: &Path, readout: &Readout) -> Result<(), Failure> {
    write_note(path, readout).or_fail_at(path)
}
