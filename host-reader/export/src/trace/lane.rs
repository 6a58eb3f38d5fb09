//! One lane of a trace, built from a lane of records.

use super::{
    NameId, TraceNames,
    loss::TraceLoss,
    nesting,
    points::TracePoint,
    texts::ZoneTexts,
    zones::{TraceZone, TraceZones},
};
use reader::{
    anomaly::AnomalyLog,
    lane::{Lane, LaneId, Run},
    names::ZoneTable,
    timeline::{NO_RUN, pair_lane},
};
use recording::DeviceClock;
use wire::{PacketKind, RunHostId};

/// Zones, points and losses of one RISC.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceLane<'a> {
    /// Chip, core and RISC of the lane.
    pub id: LaneId,
    /// Runs of the lane, in order. A run consists of consecutive records of one launch.
    pub runs: &'a [Run],
    /// For each run, the index of its op in [`super::TraceDevice::ops`].
    pub run_ops: Vec<Option<u32>>,
    /// For each run, the index in `zones` of the zone around its kernel. This is the run's first
    /// zone whose name marks a kernel or, if there is none, the run's first zone.
    pub run_kernels: Vec<Option<u32>>,
    /// Zones of the lane.
    pub zones: TraceZones,
    /// Metadata of the lane's zones.
    pub zone_texts: ZoneTexts<'a>,
    /// Events, values and sums of the lane, sorted by time.
    pub points: Vec<TracePoint<'a>>,
    /// Losses of records, sorted by time.
    pub losses: Vec<TraceLoss>,
}

impl TraceLane<'_> {
    /// Returns the zone around the kernel of a run.
    pub(crate) fn kernel(&self, run: usize) -> Option<&TraceZone> {
        let kernel = self.run_kernels.get(run).copied().flatten()?;
        self.zones.get(kernel as usize)
    }

    /// Returns the kernel of a run whose time is known: no other zone is its time, and a kernel without a
    /// recorded end has none.
    pub(crate) fn timed_kernel(&self, run: usize, names: &TraceNames<'_>) -> Option<&TraceZone> {
        self.kernel(run).filter(|zone| {
            !zone.has_synthetic_end && names.get(zone.name).is_some_and(|name| name.is_kernel)
        })
    }

    /// Returns the index, in [`super::TraceDevice::ops`], of the op that a run belongs to.
    pub(crate) fn op(&self, run: Option<u32>) -> Option<u32> {
        self.run_ops.get(run? as usize).copied().flatten()
    }

    /// Returns the program of a run.
    pub(crate) fn program(&self, run: Option<u32>) -> Option<RunHostId> {
        Some(self.runs.get(run? as usize)?.program)
    }
}

/// Data of a chip from which each of the chip's lanes is built.
pub(super) struct LaneContext<'a, 'b> {
    pub(super) zones: &'a ZoneTable,
    pub(super) names: &'b TraceNames<'a>,
    pub(super) clock: &'b DeviceClock<'a>,
}

/// Pairs, sorts and nests a lane's records. Ops and losses are added later.
pub(super) fn build<'a>(
    lane: &'a Lane,
    context: &LaneContext<'a, '_>,
) -> (TraceLane<'a>, AnomalyLog) {
    let mut anomalies = AnomalyLog::default();
    let paired = pair_lane(lane, context.zones, &mut anomalies).zones;
    // Zones take most of a trace's memory, so the vector gets exactly the capacity that they need.
    let mut zones = TraceZones(Vec::with_capacity(paired.len()));
    zones.0.extend(paired.iter().map(|zone| TraceZone {
        name: context.names.number(zone.zone),
        start_cycle: zone.start_cycle,
        end_cycle: zone.end_cycle,
        start_ns: 0,
        end_ns: 0,
        duration_cycles: zone.end_cycle.saturating_sub(zone.start_cycle),
        own_cycles: 0,
        depth: zone.depth,
        run: Some(zone.run).filter(|&run| run != NO_RUN),
        has_synthetic_end: zone.flags.is_open(),
        is_clipped: false,
    }));
    zones.set_own_cycles();
    nesting::nest(&mut zones.0);
    zones.set_times(|cycle| context.clock.time_ns(cycle));
    let lane = TraceLane {
        id: lane.id,
        runs: &lane.runs,
        run_ops: vec![None; lane.runs.len()],
        run_kernels: kernels_of(&zones, lane.runs.len(), context.names),
        zones,
        zone_texts: ZoneTexts::from_lane(lane, context.names),
        points: points_of(lane, context),
        losses: Vec::new(),
    };
    (lane, anomalies)
}

/// Returns a lane without records. Losses are added later.
pub(super) fn empty<'a>(id: LaneId) -> TraceLane<'a> {
    TraceLane {
        id,
        runs: &[],
        run_ops: Vec::new(),
        run_kernels: Vec::new(),
        zones: TraceZones::default(),
        zone_texts: ZoneTexts::default(),
        points: Vec::new(),
        losses: Vec::new(),
    }
}

fn kernels_of(zones: &[TraceZone], run_count: usize, names: &TraceNames<'_>) -> Vec<Option<u32>> {
    let mut firsts = vec![None; run_count];
    let mut kernels = vec![None; run_count];
    for (index, zone) in (0_u32..).zip(zones) {
        let Some(run) = zone.run.map(|run| run as usize) else { continue };
        if let Some(first @ None) = firsts.get_mut(run) {
            *first = Some(index);
        }
        if let Some(kernel @ None) = kernels.get_mut(run)
            && names.get(zone.name).is_some_and(|name| name.is_kernel)
        {
            *kernel = Some(index);
        }
    }
    kernels.into_iter().zip(firsts).map(|(kernel, first)| kernel.or(first)).collect()
}

fn points_of<'a>(lane: &'a Lane, context: &LaneContext<'a, '_>) -> Vec<TracePoint<'a>> {
    let mut points = Vec::new();
    let (mut next_value, mut next_run) = (0, 0_u32);
    for (record, (head, &cycle)) in lane.heads.iter().zip(&lane.times).enumerate() {
        while lane.runs.get(next_run as usize).is_some_and(|next| next.first_record <= record) {
            next_run += 1;
        }
        let kind = head.kind();
        if matches!(kind, PacketKind::ZoneStart | PacketKind::ZoneEnd) {
            continue;
        }
        let values = next_value..next_value + head.data_count();
        next_value = values.end;
        let text = lane.metadata.binary_search_by_key(&record, |&(record, _)| record).ok();
        points.push(TracePoint {
            kind,
            name: context.names.number(head.zone()),
            cycle,
            time_ns: context.clock.time_ns(cycle),
            run: next_run.checked_sub(1),
            values: lane.data.get(values).unwrap_or(&[]),
            text: text.and_then(|place| lane.metadata.get(place)).map(|(_, text)| &**text),
        });
    }
    points.sort_by_key(|point| point.cycle);
    points
}

/// Criteria by which a filter selects zones and points of a lane.
pub(super) struct Wanted<'a> {
    /// True for each selected name, indexed by its number.
    pub(super) names: &'a [bool],
    /// True for each selected run, indexed by its position.
    pub(super) runs: &'a [bool],
    /// True if records outside of runs are selected.
    pub(super) outside_of_runs: bool,
    /// Function that returns true if a time span, in nanoseconds since the origin, overlaps a
    /// selected window.
    pub(super) is_in_window: &'a dyn Fn(u64, u64) -> bool,
}

impl Wanted<'_> {
    fn has(&self, name: NameId, run: Option<u32>, start_ns: u64, end_ns: u64) -> bool {
        let is_run_wanted = run.and_then(|run| self.runs.get(run as usize).copied());
        let is_run_wanted = is_run_wanted.unwrap_or(self.outside_of_runs);
        let is_name_wanted = self.names.get(name.index()).copied().unwrap_or(true);
        is_run_wanted && is_name_wanted && (self.is_in_window)(start_ns, end_ns)
    }
}

/// Removes everything that is not selected. Returns the numbers of removed zones and points.
pub(super) fn retain(
    lane: &mut TraceLane<'_>,
    wanted: &Wanted<'_>,
    names: &TraceNames<'_>,
) -> (u64, u64) {
    let hidden_zones =
        lane.zones.retain(|zone| wanted.has(zone.name, zone.run, zone.start_ns, zone.end_ns));
    if hidden_zones > 0 {
        lane.run_kernels = kernels_of(&lane.zones, lane.runs.len(), names);
    }
    let count = lane.points.len();
    lane.points.retain(|point| wanted.has(point.name, point.run, point.time_ns, point.time_ns));
    (hidden_zones, (count - lane.points.len()) as u64)
}
