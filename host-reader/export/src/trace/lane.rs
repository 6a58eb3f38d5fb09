//! One lane of a trace, built from a lane of records.

use super::{
    NameId, TraceNames, loss::TraceLoss, nesting, nesting::reorder, points::TracePoints,
    texts::ZoneTexts, zones::TraceZones,
};
use reader::{
    anomaly::AnomalyLog,
    lane::{Lane, LaneId, Run},
    names::ZoneTable,
    timeline::{NO_RUN, pair_lane},
};
use recording::DeviceClock;
use wire::PacketKind;

/// Zones, points and losses of one RISC.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceLane<'a> {
    /// Chip, core and RISC of the lane.
    pub id: LaneId,
    /// Launches of the lane, in order.
    pub runs: &'a [Run],
    /// For each run, the index of its op in [`super::TraceDevice::ops`].
    pub run_ops: Vec<Option<u32>>,
    /// For each run, the index in `zones` of the zone around its kernel: the first zone with such a
    /// name, or otherwise the first zone of the run.
    pub run_kernels: Vec<Option<u32>>,
    /// Zones of the lane.
    pub zones: TraceZones,
    /// Metadata of the lane's zones.
    pub zone_texts: ZoneTexts<'a>,
    /// Events, values and sums of the lane.
    pub points: TracePoints<'a>,
    /// Losses of records, sorted by time.
    pub losses: Vec<TraceLoss>,
}

/// Inputs shared by all lanes of a chip.
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
    let timeline = pair_lane(lane, context.zones, &mut anomalies);
    let paired = timeline.zones;
    let numbers = paired.zones.iter().map(|&zone| context.names.number(zone));
    let mut zones = TraceZones {
        names: numbers.collect(),
        start_cycles: paired.starts,
        end_cycles: paired.ends,
        depths: paired.depths,
        runs: paired.runs,
        synthetic_ends: paired.flags.iter().map(|flags| flags.is_open()).collect(),
        ..TraceZones::default()
    };
    nesting::nest(&mut zones);
    zones.start_ns = context.clock.times_ns(&zones.start_cycles);
    zones.end_ns = context.clock.times_ns(&zones.end_cycles);
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
        points: TracePoints::default(),
        losses: Vec::new(),
    }
}

fn kernels_of(zones: &TraceZones, run_count: usize, names: &TraceNames<'_>) -> Vec<Option<u32>> {
    let mut firsts = vec![None; run_count];
    let mut kernels = vec![None; run_count];
    for (index, (&run, &name)) in (0_u32..).zip(zones.runs.iter().zip(&zones.names)) {
        let run = run as usize;
        if let Some(first @ None) = firsts.get_mut(run) {
            *first = Some(index);
        }
        if let Some(kernel @ None) = kernels.get_mut(run)
            && names.get(name).is_some_and(|name| name.is_kernel)
        {
            *kernel = Some(index);
        }
    }
    kernels.into_iter().zip(firsts).map(|(kernel, first)| kernel.or(first)).collect()
}

fn points_of<'a>(lane: &'a Lane, context: &LaneContext<'a, '_>) -> TracePoints<'a> {
    let mut points = TracePoints { lane: Some(lane), ..TracePoints::default() };
    let mut next_value = 0;
    let mut run = NO_RUN;
    let mut next_run = 0;
    for (record, (head, &time)) in lane.heads.iter().zip(&lane.times).enumerate() {
        while lane.runs.get(next_run).is_some_and(|next| next.first_record <= record) {
            run = u32::try_from(next_run).unwrap_or(NO_RUN);
            next_run += 1;
        }
        let kind = head.kind();
        if matches!(kind, PacketKind::ZoneStart | PacketKind::ZoneEnd) {
            continue;
        }
        points.kinds.push(kind);
        points.names.push(context.names.number(head.zone()));
        points.cycles.push(time);
        points.runs.push(run);
        points.records.push(record);
        points.first_values.push(next_value);
        next_value += head.data_count();
    }
    points.sort();
    points.times_ns = context.clock.times_ns(&points.cycles);
    points
}

/// Zones and points of a lane that a filter selects.
pub(super) struct Wanted<'a> {
    /// True for each selected name, indexed by its number.
    pub(super) names: &'a [bool],
    /// True for each selected run, indexed by its position.
    pub(super) runs: &'a [bool],
    /// True if records outside of runs are selected.
    pub(super) outside_of_runs: bool,
    /// Returns true if a time span, in nanoseconds since the origin, overlaps a selected window.
    pub(super) is_in_window: &'a dyn Fn(u64, u64) -> bool,
}

impl Wanted<'_> {
    fn has(&self, name: NameId, run: u32, start_ns: u64, end_ns: u64) -> bool {
        let is_run_wanted = self.runs.get(run as usize).copied().unwrap_or(self.outside_of_runs);
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
    let zones = &mut lane.zones;
    let kept = kept_indices(zones.len(), |index| {
        let (start, end) = (zones.start_ns[index], zones.end_ns[index]);
        wanted.has(zones.names[index], zones.runs[index], start, end)
    });
    let hidden_zones = zones.len() - kept.len();
    if hidden_zones > 0 {
        retain_zones(zones, &kept);
        lane.run_kernels = kernels_of(zones, lane.runs.len(), names);
    }
    let points = &mut lane.points;
    let kept = kept_indices(points.len(), |index| {
        let time = points.times_ns[index];
        wanted.has(points.names[index], points.runs[index], time, time)
    });
    let hidden_points = points.len() - kept.len();
    if hidden_points > 0 {
        retain_points(points, &kept);
    }
    (hidden_zones as u64, hidden_points as u64)
}

fn kept_indices(count: usize, is_wanted: impl Fn(usize) -> bool) -> Vec<usize> {
    (0..count).filter(|&index| is_wanted(index)).collect()
}

pub(super) fn retain_zones(zones: &mut TraceZones, kept: &[usize]) {
    zones.depths = kept_depths(&zones.depths, kept);
    let clipped = zones.clipped.iter();
    zones.clipped = clipped
        .filter_map(|&(zone, cycles)| Some((kept.binary_search(&zone).ok()?, cycles)))
        .collect();
    reorder(&mut zones.names, kept);
    reorder(&mut zones.start_cycles, kept);
    reorder(&mut zones.end_cycles, kept);
    reorder(&mut zones.start_ns, kept);
    reorder(&mut zones.end_ns, kept);
    reorder(&mut zones.runs, kept);
    reorder(&mut zones.synthetic_ends, kept);
}

/// Returns the depth of each kept zone, counting only kept zones.
fn kept_depths(depths: &[u16], kept: &[usize]) -> Vec<u16> {
    let mut around: Vec<bool> = Vec::new();
    let mut kept_around = 0;
    let mut next_kept = kept.iter().copied().peekable();
    let mut kept_depths = Vec::with_capacity(kept.len());
    for (index, &depth) in depths.iter().enumerate() {
        while around.len() > usize::from(depth) {
            kept_around -= u16::from(around.pop() == Some(true));
        }
        let is_kept = next_kept.next_if_eq(&index).is_some();
        if is_kept {
            kept_depths.push(kept_around);
        }
        around.push(is_kept);
        kept_around += u16::from(is_kept);
    }
    kept_depths
}

fn retain_points(points: &mut TracePoints<'_>, kept: &[usize]) {
    reorder(&mut points.kinds, kept);
    reorder(&mut points.names, kept);
    reorder(&mut points.cycles, kept);
    reorder(&mut points.times_ns, kept);
    reorder(&mut points.runs, kept);
    reorder(&mut points.records, kept);
    reorder(&mut points.first_values, kept);
}
