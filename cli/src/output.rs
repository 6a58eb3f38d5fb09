//! Showing a result: tables or JSON on standard output, and the exit code.

use crate::{
    args::ShowArgs,
    failure::Failure,
    json::{Document, Source},
    tables::Tables,
};
use host_reader::{
    analysis::{Report, TileOrigins},
    readout::Readout,
    timeline::Timeline,
};
use std::{
    io::{BufWriter, Write},
    process::ExitCode,
};

/// A readout with all figures computed from it.
pub(crate) struct Findings {
    readout: Readout,
    timeline: Timeline,
    report: Report,
}

impl Findings {
    /// Pairs and computes.
    ///
    /// # Errors
    /// If the cost of probes is to be subtracted and nobody has measured it.
    pub(crate) fn new(
        readout: Readout,
        origins: &TileOrigins,
        show: ShowArgs,
    ) -> Result<Self, Failure> {
        let timeline = Timeline::of_readout(&readout);
        let costs = &readout.probe_costs;
        let report = match show.subtract_probe_cost {
            false => Report::new(&readout, &timeline, origins),
            true if costs.is_empty() => return Err(Failure::Sentence(NOT_CALIBRATED.to_owned())),
            true => Report::without_probe_cost(&readout, &timeline, origins, costs),
        };
        Ok(Self { readout, timeline, report })
    }

    /// Shows everything; the exit code tells of losses if that was asked for.
    pub(crate) fn show(
        &self,
        title: &str,
        source: &Source<'_>,
        show: ShowArgs,
    ) -> Result<ExitCode, Failure> {
        let mut out = BufWriter::new(std::io::stdout().lock());
        if show.json {
            let document = Document::new(source, &self.report, &self.readout);
            serde_json::to_writer(&mut out, &document).map_err(std::io::Error::from)?;
            writeln!(out)?;
        } else {
            writeln!(out, "{title}")?;
            self.tables().write(show, &mut out)?;
            source.host.write(&mut out)?;
        }
        out.flush()?;
        let is_failed = show.fail_on_loss && self.readout.losses.has_failures();
        Ok(if is_failed { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }

    fn tables(&self) -> Tables<'_> {
        let kept = self.readout.anomalies.kept().iter().chain(self.timeline.anomalies.kept());
        let anomalies = kept.filter(|anomaly| !anomaly.kind.is_repair()).collect();
        let Readout { losses, watermarks, .. } = &self.readout;
        Tables { report: &self.report, losses, watermarks, anomalies }
    }
}

const NOT_CALIBRATED: &str = "cannot subtract the cost of probes: nobody has measured it in this \
                              run; `kprof capture` does so";
