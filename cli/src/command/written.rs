//! Code shared by commands that write files: handling of signals, and messages about written files.

use crate::{
    failure::{Failure, OrFail},
    numbers::grouped,
    output::print,
};
use host_reader::export::{CancelFlag, Destination, WriteError};
use serde::Serialize;
use std::{collections::BTreeMap, io::Write};

/// Converts a write error to a failure; a closed standard output is not an error.
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

/// Installs a handler for signals. A signal then cancels the write in progress instead of ending
/// the program.
pub(in crate::command) fn cancel_on_signals() -> Result<CancelFlag, Failure> {
    let cancel = CancelFlag::default();
    let handler_flag = cancel.clone();
    ctrlc::set_handler(move || handler_flag.cancel()).or_fail()?;
    Ok(cancel)
}

/// Description of what a command has written, printed as JSON or as lines.
#[derive(Serialize)]
pub(in crate::command) struct Written<Counts> {
    pub(in crate::command) output: String,
    pub(in crate::command) format: &'static str,
    #[serde(flatten)]
    pub(in crate::command) counts: Counts,
    /// Counts of data that may be missing from the output, by kind; `None` if the command does not
    /// determine these counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::command) doubts: Option<BTreeMap<String, u64>>,
}

impl<Counts: Serialize> Written<Counts> {
    /// If `as_json` is true, prints all fields as JSON. Otherwise, prints `summary` and one line
    /// for each entry of `doubts`.
    pub(in crate::command) fn print(&self, as_json: bool, summary: &str) -> Result<(), Failure> {
        print(as_json.then_some(self), |out| {
            writeln!(out, "{}: {summary}", self.output)?;
            self.doubts.iter().flatten().try_for_each(|(key, &doubt)| {
                writeln!(out, "  {}", host_reader::export::doubt_text(key, &grouped(doubt)))
            })
        })
    }
}
