//! Losses and anomalies for the page: every loss with its lane and time, every anomaly counted.

use super::facts::risc_number;
use crate::{Trace, TraceLoss};
use analysis::{LossGroup, loss_groups, loss_remedies};
use reader::{
    anomaly::Anomaly,
    lane::LaneId,
    ledger::{LossCause, LossKey, LossTotals},
};
use serde::Serialize;
use wire::RunHostId;

/// Anomalies that the page names with their place.
const SHOWN_ANOMALIES: usize = 500;

/// Losses, column by column.
#[derive(Default, Serialize)]
pub(super) struct LossFacts {
    /// The same in few rows, as tables of the terminal have them.
    groups: Vec<LossGroupRow>,
    /// Causes against which something helps, and what.
    remedies: Vec<(&'static str, &'static str)>,
    chip_id: Vec<u32>,
    core: Vec<(u16, u16)>,
    risc: Vec<usize>,
    /// The program without its chip.
    program: Vec<Option<u32>>,
    cause: Vec<&'static str>,
    zones: Vec<u64>,
    data: Vec<u64>,
    events: Vec<u64>,
    sums: Vec<u64>,
    unknown_markers: Vec<u64>,
    is_lower_bound: Vec<bool>,
    /// Runs that lost records, where they are counted.
    runs: Vec<u64>,
    /// The first and the last launch among which those are that lost records.
    programs: Vec<Option<(u32, u32)>>,
    /// Index of the chip and of the lane; none of a chip that is not in the trace.
    lane: Vec<Option<(usize, usize)>>,
    time_ns: Vec<Option<u64>>,
}

impl LossFacts {
    pub(super) fn new(trace: &Trace<'_>) -> Self {
        let groups = grouped(trace);
        let mut facts = Self { remedies: remedies(&groups), ..Self::default() };
        facts.groups = groups.iter().map(LossGroupRow::new).collect();
        for (device_index, device) in trace.devices.iter().enumerate() {
            for (lane_index, lane) in device.lanes.iter().enumerate() {
                for loss in &lane.losses {
                    facts.record(lane.id, loss.program, loss.cause, &loss.totals);
                    facts.lane.push(Some((device_index, lane_index)));
                    facts.time_ns.push(Some(loss.time_ns));
                }
            }
        }
        for (key, totals) in &trace.unplaced_losses {
            facts.record(key.lane, key.program, key.cause, totals);
            facts.lane.push(None);
            facts.time_ns.push(None);
        }
        facts
    }

    fn record(
        &mut self,
        lane: LaneId,
        program: Option<RunHostId>,
        cause: LossCause,
        totals: &LossTotals,
    ) {
        self.chip_id.push(lane.chip_id);
        self.core.push((lane.core.x, lane.core.y));
        self.risc.push(risc_number(lane.risc));
        self.program.push(program.map(RunHostId::base));
        self.cause.push(cause.label());
        self.zones.push(totals.zones);
        self.data.push(totals.data);
        self.events.push(totals.events);
        self.sums.push(totals.sums);
        self.unknown_markers.push(totals.unknown_markers);
        self.is_lower_bound.push(totals.is_lower_bound);
        self.runs.push(totals.runs);
        let span = totals.programs.map(|span| (span.first.base(), span.last.base()));
        self.programs.push(span);
    }
}

/// Losses of one cause, chip and RISC.
#[derive(Serialize)]
struct LossGroupRow {
    cause: &'static str,
    chip_id: u32,
    risc: &'static str,
    programs: String,
    cores: usize,
    /// Runs that lost records; 0 where they are not counted.
    runs: u64,
    /// Zones, data, events, sums, unknown markers.
    counts: [u64; 5],
    is_lower_bound: bool,
}

impl LossGroupRow {
    fn new(group: &LossGroup) -> Self {
        let totals = &group.totals;
        Self {
            cause: group.cause.label(),
            chip_id: group.chip_id,
            risc: group.risc.label(),
            programs: group.programs.clone(),
            cores: group.core_count,
            runs: totals.runs,
            counts: [totals.zones, totals.data, totals.events, totals.sums, totals.unknown_markers],
            is_lower_bound: totals.is_lower_bound,
        }
    }
}

fn grouped(trace: &Trace<'_>) -> Vec<LossGroup> {
    let of_lanes = trace.lanes().flat_map(|lane| {
        let key =
            |loss: &TraceLoss| LossKey { lane: lane.id, cause: loss.cause, program: loss.program };
        lane.losses.iter().map(move |loss| (key(loss), loss.totals))
    });
    loss_groups(of_lanes.chain(trace.unplaced_losses.iter().copied()))
}

fn remedies(groups: &[LossGroup]) -> Vec<(&'static str, &'static str)> {
    loss_remedies(groups).into_iter().map(|(cause, remedy)| (cause.label(), remedy)).collect()
}

/// Anomalies and repairs: all counted, the first ones with their place.
#[derive(Serialize)]
pub(super) struct AnomalyFacts<'a> {
    /// What, how often, and whether it was made whole.
    kinds: Vec<(&'static str, u64, bool)>,
    kept: Vec<KeptAnomaly<'a>>,
    /// Kept with a place, but not named in the page.
    unnamed_count: usize,
}

#[derive(Serialize)]
struct KeptAnomaly<'a> {
    kind: &'static str,
    lane: Option<String>,
    position: u64,
    detail: &'a str,
}

impl<'a> AnomalyFacts<'a> {
    pub(super) fn new(trace: &'a Trace<'_>) -> Self {
        let counts = trace.anomalies.counts();
        let kept = trace.anomalies.kept();
        let named = kept.iter().take(SHOWN_ANOMALIES);
        Self {
            kinds: counts.map(|(kind, count)| (kind.label(), count, kind.is_repair())).collect(),
            unnamed_count: kept.len() - named.len(),
            kept: named.map(KeptAnomaly::new).collect(),
        }
    }
}

impl<'a> KeptAnomaly<'a> {
    fn new(anomaly: &'a Anomaly) -> Self {
        let lane = anomaly.lane.map(|LaneId { chip_id, core, risc }| {
            format!("device {chip_id}, {}-{} {risc}", core.x, core.y)
        });
        let Anomaly { kind, position, detail, .. } = anomaly;
        Self { kind: kind.label(), lane, position: *position, detail }
    }
}
