//! `kprof export` of an ops CSV to an HTML page.

use super::{
    diff::compared,
    explain::report_csv,
    written::{Written, cancel_on_signals, refusal},
};
use crate::{
    args::ExportArgs,
    failure::{Failure, failure},
    numbers::counted,
};
use host_reader::{
    causes::{Explanation, Scope},
    export::{Destination, ExportFormat, TraceComparison, write_atomically, write_ops_page},
};
use serde::Serialize;
use std::path::Path;

/// Numbers of ops and of problems, such as unreadable lines, in the CSV.
#[derive(Serialize)]
struct OpCounts {
    ops: u64,
    host_ops: u64,
    problems: u64,
}

/// Reads the CSV and writes the page; a failure leaves no partial file.
pub(super) fn write(
    args: &ExportArgs,
    csv: &Path,
    destination: &Destination,
) -> Result<(), Failure> {
    if args.run.is_some() {
        return Err(failure!("--run is only for captures; an ops CSV has one run"));
    }
    let comparison = match &args.compare {
        Some(other) => Some(TraceComparison {
            title: other.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            diff: compared([csv, other], &args.memory)?,
        }),
        None => None,
    };
    let report = report_csv(csv, &args.filters)?;
    let explanation = Explanation::from_perf_window(&report, Scope::BY_MODULE);
    let title = csv.file_name().unwrap_or_default().to_string_lossy();
    let cancel = cancel_on_signals()?;
    write_atomically(destination, &cancel, |out| {
        write_ops_page(&title, &report, &explanation, comparison.as_ref(), out)
    })
    .map_err(|error| refusal(&error))?;
    if *destination == Destination::Stdout {
        return Ok(());
    }
    let (ops, host_ops) = (report.totals.device_op_count, report.totals.host_op_count);
    let problems = (report.problems.len() as u64).saturating_add(report.skipped_line_count);
    let written = Written {
        output: destination.to_string(),
        format: ExportFormat::HTML.label(),
        counts: OpCounts { ops, host_ops, problems },
        doubts: None,
    };
    let (ops, host_ops) = (counted(ops, "op", "ops"), counted(host_ops, "op", "ops"));
    let problems = counted(problems, "problem", "problems");
    written.print(args.json, &format!("{ops}, {host_ops} of the host, {problems}"))
}
