//! Output of results: tables or JSON on standard output, and the exit code.

use crate::{
    args::ShowArgs,
    buffers,
    counter_tables::CounterFindings,
    failure::{Failure, failure, note},
    json::{Document, FilteredOut, Source},
    op_names::OpNames,
    progress::Busy,
    terminal::{Style, printable, styled},
};
use host_reader::{
    analysis::{DataKind, FullBuffer, Report, launches_of},
    export::{HiddenLaunches, TraceFilter},
    ledger::LossLedger,
    readout::Readout,
    recording::Recording,
    report::BufferPeaks,
};
use serde::Serialize;
use std::{
    io::{self, BufWriter, StdoutLock, Write},
    process::ExitCode,
};

/// A recording, and all figures that were computed from it.
pub(crate) struct Findings {
    pub(crate) readout: Readout,
    pub(crate) report: Report,
    pub(crate) counters: CounterFindings,
    pub(crate) names: OpNames,
    pub(crate) buffers: BufferPeaks,
    /// Counts of the data that a filter removed, including rows of zones, sums and waits.
    pub(crate) filtered: Option<FilteredOut>,
}

impl Findings {
    /// Computes all figures of a recording.
    ///
    /// # Errors
    /// If the cost of probes is to be subtracted, but was not measured.
    pub(crate) fn new(recording: Recording, show: ShowArgs) -> Result<Self, Failure> {
        let _busy = Busy::new("computing figures");
        let readout = &recording.readout;
        let costs = &readout.probe_costs;
        let report = match show.subtract_probe_cost {
            false => Report::new(readout),
            true if costs.is_empty() => {
                return Err(failure!(
                    "cannot subtract the cost of probes: this run has no measurement of it; \
                     `kprof capture` makes one"
                ));
            }
            true => Report::without_probe_cost(readout, costs),
        };
        let has_counters = report.data.iter().any(|row| row.kind == DataKind::Counter);
        let counters = match has_counters {
            true => CounterFindings::new(readout, &launches_of(readout)),
            false => CounterFindings::default(),
        };
        let buffers = BufferPeaks::from_recording(&recording);
        Ok(Self { counters, buffers, ..Self::from_report(recording, report) })
    }

    /// Creates findings from a finished report, without hardware counters and buffers. The lanes of
    /// the readout may already have been removed.
    pub(crate) fn from_report(recording: Recording, report: Report) -> Self {
        let Recording { readout, ops, .. } = recording;
        let (counters, buffers) = (CounterFindings::default(), BufferPeaks::default());
        Self { readout, report, counters, names: OpNames::new(&ops), buffers, filtered: None }
    }

    /// Removes all buffers and all rows of zones, sums and waits that the filter excludes.
    /// `launches` counts the launches that were already removed.
    pub(crate) fn filter(&mut self, filter: &TraceFilter, launches: HiddenLaunches) {
        if filter.is_empty() {
            return;
        }
        self.buffers.retain(filter);
        self.buffers.ops.retain(|op| {
            let ids = [op.device_id, op.run_host_id];
            let [device_id, run_host_id] = ids.map(|id| u32::try_from(id).unwrap_or(u32::MAX));
            !launches.ops.contains(&(device_id, run_host_id))
        });
        let Report { zones, sums, waits, .. } = &mut self.report;
        let before = zones.len() + sums.len() + waits.len();
        zones.retain(|zone| filter.selects_zone(&zone.name));
        sums.retain(|sum| filter.selects_zone(&sum.name));
        waits.retain(|wait| wait.kind.zone_name().is_none_or(|name| filter.selects_zone(name)));
        let row_count = (before - zones.len() - sums.len() - waits.len()) as u64;
        self.filtered = Some(FilteredOut { launches, row_count });
    }

    /// Prints all results. Returns exit code 1 if records were lost and the user asked for this
    /// exit code.
    pub(crate) fn show(
        &self,
        title: &str,
        source: &Source<'_>,
        show: ShowArgs,
    ) -> Result<ExitCode, Failure> {
        print(show.json.then(|| Document::new(source, self)), |out| {
            writeln!(out, "{}", styled(&printable(title, LONGEST_TITLE), Style::Bold))?;
            if let Some(simulated) = &self.readout.simulated {
                writeln!(out, "{}", printable(&simulated.to_string(), LONGEST_TITLE))?;
            }
            self.write_tables(show, out)?;
            buffers::write(&self.buffers, show.rows, out)?;
            if let Some(reads) = source.reads {
                reads.write(out)?;
            }
            source.host.write(out)?;
            self.filtered.as_ref().map_or(Ok(()), |filtered| filtered.write(out))
        })?;
        let summary = &self.report.summary;
        let is_failed = show.fail_on_loss
            && has_failed(&self.readout.losses, summary.anomaly_count, &summary.full_buffers);
        Ok(if is_failed { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }
}

/// Returns true if `--fail-on-loss` fails: records were lost, or what is left shows that some are
/// missing although their source counts no losses. Says so if nothing is known.
pub(crate) fn has_failed(losses: &LossLedger, anomaly_count: u64, full: &[FullBuffer]) -> bool {
    let Some(source) = losses.uncounted().next() else { return losses.has_failures() };
    let is_failed = losses.has_failures() || anomaly_count > 0 || !full.is_empty();
    if !is_failed {
        note!(
            "--fail-on-loss: whether records were lost is not known ({}); none is known to be",
            source.label()
        );
    }
    is_failed
}

/// Maximum number of characters in a title, which contains text from the log.
const LONGEST_TITLE: usize = 200;

/// Prints `document` as one line of JSON. If there is no document, calls `write` to print lines.
pub(crate) fn print(
    document: Option<impl Serialize>,
    write: impl FnOnce(&mut BufWriter<StdoutLock<'_>>) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    match document {
        Some(document) => {
            serde_json::to_writer(&mut out, &document).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        None => write(&mut out)?,
    }
    Ok(out.flush()?)
}
