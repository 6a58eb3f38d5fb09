//! The runs of a capture, each decoded again on the clocks that were sampled in it.
//!
//! Every program that writes to a capture begins a run of its own. Runs are kept apart,
//! since between two of them clocks and program ids may have started anew.

use crate::recording::align;
use host_reader::{
    anomaly::AnomalyKind,
    capture::{Capture, ClockSamples, Content, Overrides, ReplayedRead, Section},
    ledger::LossLedger,
    names::ZoneTable,
    read::ReadError,
    readout::Readout,
    sync::MeshSamples,
};
use std::collections::BTreeSet;

/// What each run has left, in the order of the file; at least one.
///
/// # Errors
/// If there are reads and none of them gave anything.
pub(crate) fn readouts(capture: &Capture) -> Result<Vec<Readout>, ReadError> {
    let (mut runs, zones) = runs_of(capture);
    let mut failures = Vec::new();
    let mut has_readout = false;
    let overrides = Overrides { zones: zones.clone(), ..Overrides::default() };
    for ReplayedRead { read_number, readout } in capture.replayed_reads(&overrides) {
        let of_read = |run: &&mut Run| run.reads.contains(&read_number);
        let Some(run) = runs.iter_mut().find(of_read) else { continue };
        match readout {
            Ok(readout) => {
                has_readout = true;
                run.readout.append(readout);
            }
            Err(error) => {
                let detail = || format!("read {read_number}: {error}");
                run.readout.anomalies.record(AnomalyKind::UnreadableCore, None, 0, detail);
                failures.push(error);
            }
        }
    }
    match failures.into_iter().next() {
        Some(first) if !has_readout => Err(first),
        _ => Ok(runs.into_iter().map(|run| run.finish(&zones)).collect()),
    }
}

/// What lies between the first read of a run and that of the next.
#[derive(Default)]
struct Run {
    reads: BTreeSet<u32>,
    samples: MeshSamples,
    ledger: LossLedger,
    readout: Readout,
}

impl Run {
    fn add(&mut self, section: &Section<'_>, content: Content<'_>) {
        self.reads.extend(section.read_number());
        match content {
            Content::Clock(ClockSamples::TwoWay(burst)) => self.samples.add_burst(burst),
            Content::Clock(ClockSamples::Ethernet(burst)) => self.samples.add_link_burst(burst),
            Content::Ledger(ledger) => self.ledger.merge(&ledger),
            _ => {}
        }
    }

    fn finish(mut self, zones: &ZoneTable) -> Readout {
        self.readout.zones.merge(zones.clone());
        self.readout.losses.merge(&self.ledger);
        align(&mut self.readout, &self.samples);
        self.readout
    }
}

/// The runs, and the names of zones, which are those of all runs.
fn runs_of(capture: &Capture) -> (Vec<Run>, ZoneTable) {
    let mut runs = Vec::new();
    let mut run = Run::default();
    let mut zones = ZoneTable::new();
    for section in capture.sections() {
        let Ok(content) = section.content() else { continue };
        let begins_run = matches!(&content, Content::ReadBegin(begin) if begin.is_fresh);
        if begins_run && !run.reads.is_empty() {
            runs.push(std::mem::take(&mut run));
        }
        match content {
            Content::ZoneNames(names) => zones.merge(names),
            content => run.add(&section, content),
        }
    }
    runs.push(run);
    (runs, zones)
}
