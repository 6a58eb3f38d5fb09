//! Evidence for causes, kept for each run of each lane and collected lane by lane.

use crate::{
    kernel_zone::{NamedZones, OpenZones, ZoneCycles},
    lost_runs::LostRuns,
};
use analysis::{FullBuffers, LaneContext, LaneRuns, RunSync, SyncCounts, SyncNames};
use reader::{
    from_lanes::{FromLanes, LanesContext},
    lane::{Lane, LaneId, RecordHead, ZoneIndex},
    names::ZoneTable,
    packed_bytes::PackedMemory,
    readout::Readout,
    role::{RoleTable, ZoneRole},
};
use std::{
    collections::{BTreeMap, HashMap},
    num::NonZeroU32,
    sync::Arc,
};
use wire::{PacketKind, ZoneId};

/// Lower-case substrings by which the names of setup zones are recognised.
const SETUP_PARTS: [&str; 3] = ["reconfig", "-init", "_init"];

/// Prefix of the names of the profiler's own zones.
const PROFILER_PREFIX: &str = "PROFILER-";

/// Properties of a readout that all of its lanes share, such as the zone names that matter for
/// causes.
pub(crate) struct EvidenceContext<'readout> {
    lanes: LaneContext<'readout>,
    roles: RoleTable,
    /// True if any zone is named like a zone of a dispatch kernel.
    has_dispatch: bool,
    sync: SyncNames,
    /// Setup zones and the profiler's own zones.
    special: HashMap<ZoneIndex, Special>,
    lost: LostRuns,
    lost_zones: LostRuns,
    zones: &'readout ZoneTable,
    named_zones: NamedZones,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Special {
    Setup,
    Profiler,
}

impl<'readout> LanesContext<'readout> for EvidenceContext<'readout> {
    fn new(readout: &'readout Readout, memory: &Arc<PackedMemory>) -> Self {
        let mut names = readout.zones.named_indices();
        Self {
            lanes: LaneContext::new(readout, memory),
            roles: RoleTable::from_names(&readout.zones),
            has_dispatch: names.any(|(_, name)| ZoneRole::from_name(name).is_dispatch()),
            sync: SyncNames::from_names(&readout.zones),
            special: special_zones(&readout.zones),
            lost: LostRuns::of_waits(&readout.losses),
            lost_zones: LostRuns::of_zones(&readout.losses),
            zones: &readout.zones,
            named_zones: NamedZones::from_names(&readout.zones),
        }
    }
}

impl EvidenceContext<'_> {
    /// Returns true if a dispatch kernel ran on the lane.
    fn dispatches(&self, lane: &Lane) -> bool {
        self.has_dispatch
            && lane.heads.iter().any(|head| self.roles.role(head.zone()).is_dispatch())
    }
}

fn special_zones(zones: &ZoneTable) -> HashMap<ZoneIndex, Special> {
    let zones = zones.named_indices();
    zones.filter_map(|(zone, name)| Some((zone, Special::from_name(name)?))).collect()
}

impl Special {
    fn from_name(name: &str) -> Option<Self> {
        if name.starts_with(PROFILER_PREFIX) {
            return Some(Self::Profiler);
        }
        let name = name.to_ascii_lowercase();
        SETUP_PARTS.iter().any(|part| name.contains(part)).then_some(Self::Setup)
    }
}

/// Number and cycles of the zones of one kind in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ZoneSum {
    pub(crate) count: u32,
    pub(crate) cycles: u64,
    /// Index of the name of one of these zones; `None` if there are none.
    pub(crate) zone: Option<ZoneIndex>,
}

impl ZoneSum {
    fn add(&mut self, zone: ZoneIndex, cycles: u64) {
        self.count = self.count.saturating_add(1);
        self.cycles = self.cycles.saturating_add(cycles);
        self.zone = Some(zone);
    }
}

/// Evidence of one run of one lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunEvidence {
    /// First start of the kernel zones, in cycles.
    kernel_start: u64,
    /// Cycles of the kernel, plus 1; `None` if they are unknown, or too many for this field.
    kernel_cycles: Option<NonZeroU32>,
    /// Number of zones that began in the run. Firmware, kernel and wait zones are not counted.
    pub(crate) zone_count: u32,
    /// Further evidence, stored separately to save memory, because many runs have none.
    pub(crate) rare: Option<Box<RareEvidence>>,
}

/// Evidence that many runs do not have, such as waits, setup zones and counter records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RareEvidence {
    pub(crate) sync: Option<Box<RunSync>>,
    /// Cycle up to which all waits are known; `None` if all waits of the run are known.
    pub(crate) known_until: Option<u64>,
    pub(crate) setup: ZoneSum,
    pub(crate) profiler: ZoneSum,
    pub(crate) counters: CounterRecords,
    /// Longest zones and sums of zones of the kernel.
    pub(crate) zones: Vec<ZoneCycles>,
    /// True if zones of the kernel are missing or have no end, so that `zones` is a lower bound.
    pub(crate) are_zones_cut: bool,
    /// Where a kernel without an end stands: its innermost open zone, `None` outside of zones. The outer option
    /// is `None` for a kernel that has ended.
    pub(crate) open_kernel: Option<Option<ZoneIndex>>,
    /// Start and end of a kernel that takes more than 2^32 cycles.
    long_kernel: Option<(u64, u64)>,
}

/// Records of hardware counters in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CounterRecords {
    pub(crate) count: u32,
    /// First and last cycle of each uninterrupted sequence of records.
    pub(crate) spans: Vec<(u64, u64)>,
}

impl CounterRecords {
    /// Adds a record. `continues` is true if the lane's previous record was also a counter record.
    fn add(&mut self, time: u64, continues: bool) {
        self.count = self.count.saturating_add(1);
        match self.spans.last_mut().filter(|(_, last)| continues && *last <= time) {
            Some((_, last)) => *last = time,
            None => self.spans.push((time, time)),
        }
    }

    /// Returns the cycles spent on counter records before the kernel's `start` or after its `end`.
    pub(crate) fn cycles_outside(&self, (start, end): (u64, u64)) -> u64 {
        let outside = self.spans.iter().map(|(first, last)| {
            let before = start.min(*last).saturating_sub(*first);
            before.saturating_add(last.saturating_sub(end.max(*first)))
        });
        outside.fold(0, u64::saturating_add)
    }
}

impl RunEvidence {
    /// Returns the first start and last end of the kernel zones, in cycles; `None` if either is
    /// missing, or if the end precedes the start.
    pub(crate) fn kernel(&self) -> Option<(u64, u64)> {
        let Some(cycles) = self.kernel_cycles else { return self.rare.as_ref()?.long_kernel };
        let cycles = u64::from(cycles.get()).saturating_sub(1);
        Some((self.kernel_start, self.kernel_start.saturating_add(cycles)))
    }

    fn set_kernel(&mut self, kernel: Option<(u64, u64)>) {
        let Some((start, end)) = kernel else { return };
        let Some(cycles) = end.checked_sub(start) else { return };
        let cycles = u32::try_from(cycles).ok().and_then(|cycles| cycles.checked_add(1));
        match cycles.and_then(NonZeroU32::new) {
            Some(cycles) => (self.kernel_start, self.kernel_cycles) = (start, Some(cycles)),
            None => self.rare.get_or_insert_default().long_kernel = Some((start, end)),
        }
    }

    pub(crate) fn sync(&self) -> Option<&RunSync> {
        self.rare.as_ref()?.sync.as_deref()
    }

    /// Returns the cycle up to which all waits are known; `None` if all waits of the run are known.
    pub(crate) fn known_until(&self) -> Option<u64> {
        self.rare.as_ref()?.known_until
    }

    /// Returns the part of the evidence that is between two cycles, for the kernel and its waits.
    /// `zone_count` still covers the whole run; all other evidence is left out.
    pub(crate) fn within(&self, start: u64, end: u64) -> Self {
        let kernel = self.kernel().map(|(first, last)| (first.max(start), last.min(end)));
        let sync = self.sync().map(|sync| Box::new(sync.within(start, end)));
        let rare =
            sync.map(|sync| Box::new(RareEvidence { sync: Some(sync), ..Default::default() }));
        let mut within = Self { zone_count: self.zone_count, rare, ..Self::default() };
        within.set_kernel(kernel);
        within
    }

    /// Returns the evidence with the sums of waits but without individual waits.
    pub(crate) fn sums_alone(&self) -> Self {
        let mut sums = self.clone();
        if let Some(sync) = sums.rare.as_mut().and_then(|rare| rare.sync.as_deref_mut()) {
            *sync = sync.sums_alone();
        }
        sums
    }

    /// Returns the longest zones and sums of zones of the kernel.
    pub(crate) fn zones(&self) -> &[ZoneCycles] {
        self.rare.as_ref().map_or(&[], |rare| &rare.zones)
    }

    /// Returns true if zones of the kernel are missing or have no end.
    pub(crate) fn are_zones_cut(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.are_zones_cut)
    }

    pub(crate) fn setup(&self) -> ZoneSum {
        self.rare.as_ref().map_or_else(ZoneSum::default, |rare| rare.setup)
    }

    /// Returns the records of hardware counters; `None` if there are none.
    pub(crate) fn counters(&self) -> Option<&CounterRecords> {
        self.rare.as_ref().map(|rare| &rare.counters).filter(|of| of.count > 0)
    }

    pub(crate) fn profiler_cycles(&self) -> u64 {
        self.rare.as_ref().map_or(0, |rare| rare.profiler.cycles)
    }
}

/// Evidence of all lanes.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    pub(crate) launch_runs: LaneRuns,
    /// Runs of each lane; sorted by lane after [`Self::sort`].
    runs: Vec<(LaneId, Vec<RunEvidence>)>,
    pub(crate) counts: SyncCounts,
    /// True if any lane has NoC events.
    pub(crate) has_noc_events: bool,
    /// True if any lane has readings of hardware counters.
    pub(crate) has_counters: bool,
    /// True if any lane has zones that authors put into their kernels.
    pub(crate) has_own_zones: bool,
    pub(crate) full_buffers: FullBuffers,
    /// For each chip, the times of the first and the last record among the records of all cores
    /// that ran ops.
    ///
    /// Dispatch kernels are excluded, because they start before the first op and run until the
    /// command queue is closed.
    bounds: Bounds,
    /// For each chip, the times of the first and the last record among the records of all cores
    /// that dispatched ops.
    dispatch_bounds: Bounds,
}

/// For each chip, the times of the first and last record.
type Bounds = BTreeMap<u32, (u64, u64)>;

fn add_bounds(all: &mut Bounds, chip_id: u32, (first, last): (u64, u64)) {
    let bounds = all.entry(chip_id).or_insert((first, last));
    *bounds = (bounds.0.min(first), bounds.1.max(last));
}

impl EvidenceContext<'_> {
    /// Returns the times of the first and last record of a lane, without the readings of hardware
    /// counters from repetitions of the workload: these have runs of their own.
    fn times_of(&self, lane: &Lane) -> Option<(u64, u64)> {
        let is_reading = |head: &RecordHead| {
            matches!(head.kind(), PacketKind::TimestampedData | PacketKind::TimestampedData16B)
                && self.zones.id(head.zone()) == u32::from(ZoneId::PERF_COUNTER.0)
        };
        let first_run = lane.runs.first().map_or(lane.heads.len(), |run| run.first_record);
        let runs = (0..lane.runs.len()).map(|run| lane.run_records(run));
        let parts = std::iter::once(0..first_run).chain(runs);
        let parts = parts.filter(|records| {
            let heads = lane.heads.get(records.clone()).unwrap_or(&[]);
            !heads.iter().all(is_reading)
        });
        let times = parts.flat_map(|records| lane.times.get(records).unwrap_or(&[])).copied();
        times.fold(None, |bounds: Option<(u64, u64)>, time| {
            let (first, last) = bounds.unwrap_or((time, time));
            Some((first.min(time), last.max(time)))
        })
    }
}

impl FromLanes for Evidence {
    type Context<'readout> = EvidenceContext<'readout>;

    fn add(&mut self, context: &EvidenceContext<'_>, lane: &Lane) {
        self.launch_runs.add(&context.lanes, lane);
        if let Some((first, last)) = context.times_of(lane) {
            let is_dispatch = context.dispatches(lane);
            let bounds = if is_dispatch { &mut self.dispatch_bounds } else { &mut self.bounds };
            add_bounds(bounds, lane.id.chip_id, (first, last));
        }
        let mut scan = LaneScan { context, lane, counts: &mut self.counts, has_noc_events: false };
        let runs = scan.runs();
        self.has_noc_events |= scan.has_noc_events;
        self.has_counters |= runs.iter().any(|run| run.counters().is_some());
        self.has_own_zones |= runs.iter().any(|run| !run.zones().is_empty());
        self.full_buffers.add_lane(lane, &context.roles);
        self.runs.push((lane.id, runs));
    }
}

impl Evidence {
    /// Merges the parts collected by all threads, and sorts the lanes.
    pub(crate) fn from_parts(parts: Vec<Self>) -> Self {
        let mut all = parts.into_iter().fold(Self::default(), Self::merged);
        all.runs.sort_by_key(|(lane, _)| *lane);
        all
    }

    /// Returns the times of the first and last record of a chip's ops. For a chip without ops,
    /// returns the times of the first and last record of its dispatch cores.
    pub(crate) fn bounds_of(&self, chip_id: u32) -> Option<(u64, u64)> {
        self.bounds.get(&chip_id).or_else(|| self.dispatch_bounds.get(&chip_id)).copied()
    }

    /// Merges the evidence of `other` into this evidence.
    fn merged(mut self, other: Self) -> Self {
        self.launch_runs.merge(other.launch_runs);
        self.runs.extend(other.runs);
        self.counts.merge(other.counts);
        self.has_noc_events |= other.has_noc_events;
        self.has_counters |= other.has_counters;
        self.has_own_zones |= other.has_own_zones;
        self.full_buffers.merge(other.full_buffers);
        for (own, other) in
            [(&mut self.bounds, other.bounds), (&mut self.dispatch_bounds, other.dispatch_bounds)]
        {
            other.into_iter().for_each(|(chip, bounds)| add_bounds(own, chip, bounds));
        }
        self
    }

    /// Returns the evidence of a run, and sets `at` to the index of the run's lane.
    ///
    /// The search is fast if `at` still has the value that the previous call set, and runs are
    /// requested in the order of lanes. It begins with the lane after `at`, and then tries lane
    /// `at` itself.
    pub(crate) fn run(&self, at: &mut usize, lane: LaneId, run: usize) -> Option<&RunEvidence> {
        let next = at.saturating_add(1);
        let is_near = |at: &usize| self.runs.get(*at).is_some_and(|(id, _)| *id == lane);
        *at = match [next, *at].into_iter().find(is_near) {
            Some(at) => at,
            None => self.runs.binary_search_by_key(&lane, |(id, _)| *id).ok()?,
        };
        self.runs.get(*at)?.1.get(run)
    }
}

/// Position among a lane's values while its records are read in order.
#[derive(Clone, Copy, Debug, Default)]
struct DataPosition {
    record: usize,
    value: usize,
}

impl DataPosition {
    /// Moves to a later record.
    fn advance_to(&mut self, record: usize, lane: &Lane) {
        while self.record < record {
            let Some(head) = lane.heads.get(self.record) else { return };
            self.next(*head, lane);
        }
    }

    /// Returns the first value of the next record; `None` if it has none.
    fn next(&mut self, head: RecordHead, lane: &Lane) -> Option<u64> {
        let value = lane.data.get(self.value).copied().filter(|_| head.data_count() > 0);
        self.record = self.record.saturating_add(1);
        self.value = self.value.saturating_add(head.data_count());
        value
    }
}

/// State of one pass over a lane's records.
struct LaneScan<'a, 'readout> {
    context: &'a EvidenceContext<'readout>,
    lane: &'a Lane,
    counts: &'a mut SyncCounts,
    has_noc_events: bool,
}

impl LaneScan<'_, '_> {
    fn runs(&mut self) -> Vec<RunEvidence> {
        let has_sync = !self.context.sync.is_empty();
        let mut runs = Vec::with_capacity(self.lane.runs.len());
        let (mut syncs, mut lost) = (Vec::new(), Vec::new());
        if has_sync {
            syncs = self.context.sync.runs_of(self.lane, self.counts);
            lost = self.context.lost.lane_flags(self.lane);
        }
        let lost_zones = self.context.lost_zones.lane_flags(self.lane);
        let mut syncs = syncs.into_iter();
        let mut data = DataPosition::default();
        for run in 0..self.lane.runs.len() {
            let mut evidence = self.evidence_of(self.lane.run_records(run), &mut data);
            if has_sync {
                let sync = syncs.next().flatten();
                let has_lost = lost.get(run).is_some_and(|has_lost| *has_lost);
                let known_until =
                    if has_lost { known_until(&evidence, sync.as_deref()) } else { None };
                if sync.is_some() || known_until.is_some() {
                    let rare = evidence.rare.get_or_insert_default();
                    (rare.sync, rare.known_until) = (sync, known_until);
                }
            }
            if lost_zones.get(run).is_some_and(|has_lost| *has_lost) {
                evidence.rare.get_or_insert_default().are_zones_cut = true;
            }
            runs.push(evidence);
        }
        runs
    }

    fn evidence_of(
        &mut self,
        records: std::ops::Range<usize>,
        data: &mut DataPosition,
    ) -> RunEvidence {
        data.advance_to(records.start, self.lane);
        let mut evidence = RunEvidence::default();
        let (mut first_start, mut last_end) = (None::<u64>, None::<u64>);
        let heads = self.lane.heads.get(records.clone()).unwrap_or(&[]);
        let times = self.lane.times.get(records).unwrap_or(&[]);
        let mut open: Vec<(ZoneIndex, u64)> = Vec::new();
        let mut zones = OpenZones::default();
        let mut is_after_counter = false;
        for (head, &time) in heads.iter().zip(times) {
            let continues = std::mem::take(&mut is_after_counter);
            let value = data.next(*head, self.lane);
            let is_start = match head.kind() {
                PacketKind::ZoneStart => true,
                PacketKind::ZoneEnd => false,
                PacketKind::TimestampedData | PacketKind::TimestampedData16B => {
                    let id = self.context.zones.id(head.zone());
                    self.has_noc_events |= id == u32::from(ZoneId::NOC_TRACING.0);
                    is_after_counter = id == u32::from(ZoneId::PERF_COUNTER.0);
                    if is_after_counter {
                        let rare = evidence.rare.get_or_insert_default();
                        rare.counters.add(time, continues);
                    }
                    continue;
                }
                PacketKind::ZoneTotal => {
                    if let Some(cycles) = value.filter(|_| self.is_kernel_zone(head.zone())) {
                        zones.sum(head.zone(), cycles);
                    }
                    continue;
                }
                PacketKind::TimestampedEvent => continue,
            };
            let zone = head.zone();
            let role = self.context.roles.role(zone);
            if role.is_kernel() {
                if is_start {
                    first_start = Some(first_start.map_or(time, |start| start.min(time)));
                } else {
                    last_end = last_end.max(Some(time));
                }
            } else if role.is_none() {
                evidence.zone_count = evidence
                    .zone_count
                    .saturating_add(u32::from(is_start && !self.context.sync.contains(zone)));
                self.add_special(&mut evidence, &mut open, (zone, is_start, time));
                if self.is_kernel_zone(zone) {
                    if is_start { zones.start(zone, time) } else { zones.end(zone, time) }
                }
            }
        }
        if first_start.is_some() && last_end.is_none() {
            evidence.rare.get_or_insert_default().open_kernel = Some(zones.innermost());
        }
        let is_cut = zones.is_cut();
        let zones = zones.longest(&self.context.named_zones);
        if !zones.is_empty() {
            let rare = evidence.rare.get_or_insert_default();
            (rare.zones, rare.are_zones_cut) = (zones, is_cut);
        }
        evidence.set_kernel(first_start.zip(last_end));
        evidence
    }

    /// Returns true for zones that authors put into their kernels, except setup zones.
    fn is_kernel_zone(&self, zone: ZoneIndex) -> bool {
        self.context.roles.role(zone).is_none()
            && !self.context.sync.contains(zone)
            && !self.context.special.contains_key(&zone)
    }

    /// Processes the start or end of a setup zone or of a profiler zone.
    fn add_special(
        &self,
        evidence: &mut RunEvidence,
        open: &mut Vec<(ZoneIndex, u64)>,
        (zone, is_start, time): (ZoneIndex, bool, u64),
    ) {
        if self.context.special.is_empty() {
            return;
        }
        let Some(&special) = self.context.special.get(&zone) else { return };
        if is_start {
            open.push((zone, time));
            return;
        }
        // An end closes the innermost open zone of the same name. The time of nested zones is part
        // of that zone's time.
        let Some(at) = open.iter().rposition(|&(of, _)| of == zone) else { return };
        let (_, start) = open.swap_remove(at);
        if open.is_empty() {
            let rare = evidence.rare.get_or_insert_default();
            let sum = match special {
                Special::Setup => &mut rare.setup,
                Special::Profiler => &mut rare.profiler,
            };
            sum.add(zone, time.saturating_sub(start));
        }
    }
}

/// Returns the cycle up to which all waits of a run with lost data are known. If the records of all
/// waits were lost, this is the cycle at which the kernel started.
fn known_until(evidence: &RunEvidence, sync: Option<&RunSync>) -> Option<u64> {
    match sync {
        Some(sync) => sync.known_until(),
        None => evidence.kernel().map(|(start, _)| start),
    }
}

/// There is one for each launch on each RISC.
const _: () = assert!(size_of::<RunEvidence>() <= 24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_of_any_length_comes_back() {
        let most = u64::from(u32::MAX);
        for (start, cycles) in [0, 1, most - 1, most, most + 1, 1 << 50]
            .into_iter()
            .flat_map(|cycles| [0, 7, 1 << 44].map(|start| (start, cycles)))
        {
            let mut evidence = RunEvidence::default();
            assert_eq!(evidence.kernel(), None);
            evidence.set_kernel(Some((start, start + cycles)));
            assert_eq!(evidence.kernel(), Some((start, start + cycles)));
            let end = start + cycles / 2;
            assert_eq!(evidence.within(start, end).kernel(), Some((start, end)));
            assert_eq!(evidence.sums_alone(), evidence);
        }
        let mut evidence = RunEvidence::default();
        evidence.set_kernel(Some((u64::MAX, u64::MAX)));
        assert_eq!(evidence.kernel(), Some((u64::MAX, u64::MAX)));
        let mut ends_before = RunEvidence::default();
        ends_before.set_kernel(Some((2, 1)));
        assert_eq!(ends_before.kernel(), None);
    }
}
