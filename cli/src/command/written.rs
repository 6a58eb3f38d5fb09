//! Common code of commands that write files: signals, and output about the files.

use crate::{
    failure::{Failure, OrFail},
    numbers::grouped,
    output::write_json,
};
use host_reader::export::{CancelFlag, Destination, WriteError};
use serde::Serialize;
use std::{collections::BTreeMap, io::Write};

/// Converts a write error; a closed standard output is not an error.
pub(in crate::command) fn refusal(error: &WriteError) -> Failure {
    match error {
        WriteError::Io { destination: Destination::Stdout, source }
            if source.kind() == std::io::ErrorKind::BrokenPipe =>
        {
            Failure::OutputClosed
        }
        _ => Failure::from_error(error),
    }
}

/// Makes signals cancel a write in progress from here on, instead of ending the program.
pub(in crate::command) fn cancel_on_signals() -> Result<CancelFlag, Failure> {
    let cancel = CancelFlag::default();
    let handler_flag = cancel.clone();
    ctrlc::set_handler(move || handler_flag.cancel()).or_fail()?;
    Ok(cancel)
}

/// Prints one JSON object on a line.
pub(in crate::command) fn print_json(written: &impl Serialize) -> Result<(), Failure> {
    Ok(write_json(written, &mut std::io::stdout().lock())?)
}

/// Writes one line for each doubt about the written data.
pub(in crate::command) fn write_doubts(
    doubts: &BTreeMap<String, u64>,
    out: &mut impl Write,
) -> std::io::Result<()> {
    for (key, &doubt) in doubts {
        writeln!(out, "  {}: {}", key.replace('_', " "), grouped(doubt))?;
    }
    Ok(())
}
