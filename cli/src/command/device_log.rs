//! `kprof export` to TT-Metal's device log.

use super::written::{Written, cancel_on_signals, refusal};
use crate::{
    args::ExportArgs,
    failure::{Failure, failure, refuse_input_as_output},
    input::{open_run, retain},
    numbers::counted,
};
use host_reader::{
    counters::describe_counters,
    export::{Destination, write_atomically},
    log::{LogWriteReport, write_device_log},
    noc_events::describe_addresses,
    recording::DEVICE_LOG,
};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Returns true if a file has the name of TT-Metal's device log.
pub(super) fn is_device_log(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == DEVICE_LOG)
}

/// Number of rows in an output.
#[derive(Serialize)]
pub(super) struct RowCount {
    pub(super) rows: u64,
}

/// Writes the device log; a failure leaves no partial file.
pub(super) fn write(args: &ExportArgs) -> Result<(), Failure> {
    let mut run = open_run(&args.file, args.run)?;
    let hidden = retain(&mut run, &args.filters)?;
    let described = describe_counters(&mut run.readout) + describe_addresses(&mut run.readout);
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(DEVICE_LOG));
    refuse_input_as_output([&args.file, &args.file.join(DEVICE_LOG)], &path)?;
    if args.output.is_none() && path.exists() {
        return Err(failure!(
            "{DEVICE_LOG} exists here and may come from a chip, so it is not replaced; name the \
             output with -o"
        ));
    }
    let destination = Destination::from(path.as_path());
    let mut report = LogWriteReport::default();
    write_atomically(&destination, &cancel_on_signals()?, |mut out| {
        report = write_device_log(&run.readout, &mut out)?;
        Ok(())
    })
    .map_err(|error| refusal(&error))?;
    if destination == Destination::Stdout {
        return Ok(());
    }
    let doubts = [
        ("replaced_characters", report.replaced_character_count),
        ("second_values_left_out", report.unwritten_value_count.saturating_sub(described)),
        ("chips_unlike_the_first_line", report.differing_chip_count),
        ("lost_records", run.readout.losses.unintended_total().record_count()),
        ("hidden_launches", hidden.launch_count),
        ("hidden_records", hidden.record_count),
    ];
    let doubts = doubts.into_iter().filter(|(_, count)| *count > 0);
    let written = Written {
        output: destination.to_string(),
        format: "device-log",
        counts: RowCount { rows: report.row_count },
        doubts: Some(doubts.map(|(doubt, count)| (doubt.to_owned(), count)).collect()),
    };
    written.print(args.json, &counted(report.row_count, "line", "lines"))
}
