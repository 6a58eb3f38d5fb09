//! Output of a result: tables or JSON on standard output, and the exit code.

use crate::{
    args::ShowArgs,
    buffers,
    counter_tables::CounterFindings,
    failure::Failure,
    json::{Document, FilteredOut, Source},
    op_names::OpNames,
    progress::Busy,
    tables::Tables,
    terminal::{Style, printable, styled},
};
use host_reader::{
    analysis::{DataKind, Report, launches_of},
    export::{HiddenLaunches, TraceFilter},
    readout::Readout,
    report::BufferPeaks,
};
use serde::Serialize;
use std::{
    io::{BufWriter, Write},
    process::ExitCode,
};

/// A readout with all figures that were computed from it.
pub(crate) struct Findings {
    readout: Readout,
    report: Report,
    counters: CounterFindings,
    names: OpNames,
    buffers: BufferPeaks,
    /// Counts of what a filter removed, including rows of zones, sums and waits.
    filtered: Option<FilteredOut>,
}

impl Findings {
    /// Computes every figure.
    ///
    /// # Errors
    /// If the cost of probes should be subtracted but was not measured.
    pub(crate) fn new(readout: Readout, show: ShowArgs) -> Result<Self, Failure> {
        let _busy = Busy::new("computing figures");
        let costs = &readout.probe_costs;
        let report = match show.subtract_probe_cost {
            false => Report::new(&readout),
            true if costs.is_empty() => return Err(Failure::Sentence(NOT_CALIBRATED.to_owned())),
            true => Report::without_probe_cost(&readout, costs),
        };
        let has_counters = report.data.iter().any(|row| row.kind == DataKind::Counter);
        let counters = match has_counters {
            true => CounterFindings::new(&readout, &launches_of(&readout)),
            false => CounterFindings::default(),
        };
        Ok(Self { counters, ..Self::from_report(readout, report) })
    }

    /// Wraps a report that was computed before, without figures of hardware counters. The readout
    /// may no longer contain lanes.
    pub(crate) fn from_report(readout: Readout, report: Report) -> Self {
        let (counters, names) = (CounterFindings::default(), OpNames::default());
        let buffers = BufferPeaks::default();
        Self { readout, report, counters, names, buffers, filtered: None }
    }

    /// Returns the readout and the report.
    pub(crate) const fn parts(&self) -> (&Readout, &Report) {
        (&self.readout, &self.report)
    }

    /// Sets the names of ops.
    pub(crate) fn with_names(self, names: OpNames) -> Self {
        Self { names, ..self }
    }

    /// Adds the peak use of buffers.
    pub(crate) fn with_buffers(self, buffers: BufferPeaks) -> Self {
        Self { buffers, ..self }
    }

    /// Removes the rows of zones, sums and waits that the filter excludes. Launches were removed
    /// before.
    pub(crate) fn filter(&mut self, filter: &TraceFilter, launches: HiddenLaunches) {
        if filter.is_empty() {
            return;
        }
        let Report { zones, sums, waits, .. } = &mut self.report;
        let before = zones.len() + sums.len() + waits.len();
        zones.retain(|zone| filter.selects_zone(&zone.name));
        sums.retain(|sum| filter.selects_zone(&sum.name));
        waits.retain(|wait| wait.kind.zone_name().is_none_or(|name| filter.selects_zone(name)));
        let row_count = (before - zones.len() - sums.len() - waits.len()) as u64;
        self.filtered = Some(FilteredOut { launches, row_count });
    }

    /// Prints all results. The exit code reports losses if requested.
    pub(crate) fn show(
        &self,
        title: &str,
        source: &Source<'_>,
        show: ShowArgs,
    ) -> Result<ExitCode, Failure> {
        let mut out = BufWriter::new(std::io::stdout().lock());
        if show.json {
            let document = Document::new(
                source,
                (&self.report, &self.names, &self.counters),
                &self.readout,
                self.filtered.as_ref(),
            )
            .with_buffers(buffers::document(&self.buffers));
            write_json(&document, &mut out)?;
        } else {
            writeln!(out, "{}", styled(&printable(title, LONGEST_TITLE), Style::Bold))?;
            self.tables().write(show, &mut out)?;
            buffers::write(&self.buffers, show.row_limit(), &mut out)?;
            if let Some(reads) = source.reads {
                reads.write(&mut out)?;
            }
            source.host.write(&mut out)?;
            if let Some(filtered) = &self.filtered {
                filtered.write(&mut out)?;
            }
        }
        out.flush()?;
        let is_failed = show.fail_on_loss && self.readout.losses.has_failures();
        Ok(if is_failed { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }

    fn tables(&self) -> Tables<'_> {
        let kept = self.readout.anomalies.kept().iter().chain(self.report.pairing.kept());
        let anomalies = kept.filter(|anomaly| !anomaly.kind.is_repair()).collect();
        let Readout { losses, watermarks, .. } = &self.readout;
        Tables {
            report: &self.report,
            counters: &self.counters,
            names: &self.names,
            losses,
            watermarks,
            anomalies,
        }
    }
}

/// Maximum number of characters in a title; the architecture in a log may be any text.
const LONGEST_TITLE: usize = 200;

const NOT_CALIBRATED: &str = "cannot subtract the cost of probes: nobody has measured it in this \
                              run; `kprof capture` does so";

/// Writes a JSON object on a line.
pub(crate) fn write_json(document: &impl Serialize, out: &mut impl Write) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, document)?;
    writeln!(out)
}
