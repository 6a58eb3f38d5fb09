//! The runs of a capture, decoded separately.
//!
//! A run begins with the first read of a reader, even if that reader continues the capture of
//! another program. Clocks and program ids may have restarted between two runs.

use super::ReplayedRead;
use crate::capture::{Capture, ClockSamples, Content, Section, SectionKind, sync::MeshSamples};
use host_events::{HostRecording, OpMetadata};
use reader::{
    anomaly::AnomalyKind,
    ledger::{LossLedger, UncountedSource},
    names::ZoneTable,
    read::ReadError,
    readout::Readout,
};
use std::collections::BTreeSet;

/// Combined result of one reader, from the first to the last read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CapturedRun {
    /// Numbers of the run's reads.
    pub reads: BTreeSet<u32>,
    /// Combined readout of the reads, with times on the tiles' own clocks.
    pub readout: Readout,
    /// Clock samples from the first read of the run to the beginning of the next run.
    pub samples: MeshSamples,
    /// Metadata of the run's ops. Ops captured during the run or before its first read come first,
    /// then ops captured elsewhere in the file.
    pub ops: Vec<OpMetadata>,
    /// Events of the host's threads that were captured during the run or before its first read.
    pub host: Vec<HostRecording>,
    /// True if the run repeats the previous run to record other hardware counters.
    pub is_counter_pass: bool,
    /// Losses from the run's ledger sections: losses in data that was recorded without raw words.
    ledger: LossLedger,
    /// True if the run has an end mark after its last read.
    is_finished: bool,
}

impl Capture {
    /// Decodes all reads again and combines the reads of each run, in file order.
    ///
    /// For a capture without reads, the result is one run without chips. Each run has the zone
    /// names of all runs. A failed read is an [anomaly](Readout::anomalies) of its run if any other
    /// read of the capture succeeded.
    ///
    /// # Errors
    /// Returns the error of the first read if there are reads and all of them failed.
    ///
    /// # Cost
    /// The time is that of reading the chips, without the accesses to the chips: each word is
    /// copied once, and the words are decoded on all processors.
    pub fn runs(&self) -> Result<Vec<CapturedRun>, ReadError> {
        let (mut runs, zones) = split(self);
        let mut first_failure = None;
        let mut has_readout = false;
        self.replay(&zones, |ReplayedRead { read_number, readout, .. }| {
            let Some(run) = runs.iter_mut().find(|run| run.reads.contains(&read_number)) else {
                return;
            };
            match readout {
                Ok(readout) => {
                    has_readout = true;
                    run.readout.append(readout);
                }
                Err(error) => {
                    run.readout.anomalies.record(AnomalyKind::UnreadableCore, None, 0, || {
                        format!("read {read_number}: {error}")
                    });
                    first_failure.get_or_insert(error);
                }
            }
        });
        if let Some(error) = first_failure.filter(|_| !has_readout) {
            return Err(error);
        }
        let uncounted: Vec<_> = self.uncounted().collect();
        let (last, expects_end_marks) = (runs.len().saturating_sub(1), self.expects_end_marks());
        for (index, run) in runs.iter_mut().enumerate() {
            let run_sources = uncounted
                .iter()
                .copied()
                .filter(|&source| source != UncountedSource::UnfinishedCapture || index == last);
            run_sources.for_each(|source| run.readout.losses.note_uncounted(source));
            if expects_end_marks && !run.is_finished {
                run.readout.losses.note_uncounted(UncountedSource::UnfinishedCapture);
            }
            run.readout.zones.merge(&zones);
            run.readout.losses.merge(&run.ledger);
        }
        Ok(runs)
    }
}

/// Returns the runs and the names of all zones. The reads of the runs are not decoded yet.
fn split(capture: &Capture) -> (Vec<CapturedRun>, ZoneTable) {
    let mut runs = Vec::new();
    let mut run = CapturedRun::default();
    let mut zones = ZoneTable::new();
    // Ops captured since the last read. If a new run begins, they belong to the new run.
    let mut ops = Vec::new();
    for section in capture.sections() {
        let Ok(content) = section.content() else { continue };
        let begins_run = matches!(&content, Content::ReadBegin(begin) if begin.is_fresh);
        if begins_run && !run.reads.is_empty() {
            runs.push(std::mem::take(&mut run));
        }
        match content {
            Content::CaptureEnd(_) => run.is_finished = true,
            // Chips and names of the next run may follow the end mark of this run.
            _ => run.is_finished &= section.read_number().is_none(),
        }
        if section.kind == SectionKind::READ_BEGIN {
            run.ops.append(&mut ops);
        }
        match content {
            Content::ZoneNames(names) => zones.merge(&names),
            Content::OpMetadata(mut more) => ops.append(&mut more),
            content => run.add(&section, content),
        }
    }
    run.ops.append(&mut ops);
    runs.push(run);
    let own: Vec<_> = runs.iter().map(|run| run.ops.clone()).collect();
    for (index, run) in runs.iter_mut().enumerate() {
        let others = own.iter().enumerate().filter(|(other, _)| *other != index);
        run.ops.extend(others.flat_map(|(_, ops)| ops.iter().cloned()));
    }
    (runs, zones)
}

impl CapturedRun {
    /// Creates a finished run that does not come from a capture.
    pub(crate) fn from_parts(
        readout: Readout,
        samples: MeshSamples,
        ops: Vec<OpMetadata>,
        host: Vec<HostRecording>,
    ) -> Self {
        Self { readout, samples, ops, host, is_finished: true, ..Self::default() }
    }

    fn add(&mut self, section: &Section<'_>, content: Content<'_>) {
        self.reads.extend(section.read_number());
        match content {
            Content::Clock(ClockSamples::TwoWay(burst)) => self.samples.add_burst(burst),
            Content::Clock(ClockSamples::Ethernet(burst)) => self.samples.add_link_burst(burst),
            Content::Ledger(ledger) => self.ledger.merge(&ledger),
            Content::ProbeCosts(costs) => self.readout.probe_costs.merge(costs),
            Content::SimulatedTime(simulated) => self.readout.add_simulated(Some(simulated)),
            Content::RecordedOptions(options) => self.readout.add_options(options),
            Content::HostRecording(recording) => self.host.push(recording),
            Content::ReadBegin(begin) => self.is_counter_pass |= begin.is_counter_pass,
            _ => {}
        }
    }
}
