//! What commands that write files have in common: signals, and what is said of the files.

use crate::{failure::Failure, numbers::grouped};
use host_reader::export::{CancelFlag, Destination, WriteError};
use serde::Serialize;
use std::{collections::BTreeMap, io::Write};

/// A reader of standard output that has had enough is no error.
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
    let of_handler = cancel.clone();
    ctrlc::set_handler(move || of_handler.cancel()).map_err(|error| Failure::from_error(&error))?;
    Ok(cancel)
}

/// One JSON object on a line.
pub(in crate::command) fn print_json(written: &impl Serialize) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, written).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// One line for each thing to know before what was written is trusted.
pub(in crate::command) fn write_doubts(
    doubts: &BTreeMap<String, u64>,
    out: &mut impl Write,
) -> std::io::Result<()> {
    for (key, &doubt) in doubts {
        writeln!(out, "  {}: {}", key.replace('_', " "), grouped(doubt))?;
    }
    Ok(())
}
