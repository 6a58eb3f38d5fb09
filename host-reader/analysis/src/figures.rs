//! Figures that one run of a lane contributes to an op: first start and last end of each kind of
//! zone.

use super::{op::LaunchRun, own_zones::OwnTime, sub_device::sub_device_of};
use reader::{
    lane::{Lane, LaneId, TraceReplay},
    role::{RoleTable, ZoneRole},
};
use wire::{PacketKind, Risc};

/// First start, last start and last end of zones of one kind.
///
/// # Compatibility
/// TT-Metal's analyses use the first start marker and the last end marker of the zones of one kind.
/// Starts and ends are not paired, so a lost marker between the first and the last marker does not
/// change the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) first_start: Option<u64>,
    pub(super) last_start: Option<u64>,
    pub(super) last_end: Option<u64>,
}

impl Extent {
    #[inline]
    fn record(&mut self, is_start: bool, time: u64) {
        if is_start {
            self.first_start = earlier(self.first_start, Some(time));
            self.last_start = self.last_start.max(Some(time));
        } else {
            self.last_end = self.last_end.max(Some(time));
        }
    }

    pub(super) fn join(&mut self, other: Self) {
        self.first_start = earlier(self.first_start, other.first_start);
        self.last_start = self.last_start.max(other.last_start);
        self.last_end = self.last_end.max(other.last_end);
    }

    /// Returns the first start and the last end; `None` if either is unknown, or the end is
    /// earlier.
    pub(super) fn bounds(&self) -> Option<(u64, u64)> {
        let (start, end) = (self.first_start?, self.last_end?);
        (start <= end).then_some((start, end))
    }

    /// Returns true if a start was recorded, but no end that is later than the first start.
    pub(super) fn is_open(&self) -> bool {
        self.first_start.is_some() && self.bounds().is_none()
    }
}

fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Extents of the zones of a launch, on one core or on several cores. The figures of an op are
/// computed from these extents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extents {
    pub(super) firmware: Extent,
    pub(super) kernel: Extent,
    /// Kernel zones of the RISCs that move data.
    pub(super) data_movement: Extent,
    /// Kernel zones that are named after the RISC on which they ran, indexed by [`kernel_group`].
    pub(super) risc_kernels: [Extent; KERNEL_GROUP_COUNT],
    pub(super) trace_firmware: Extent,
    pub(super) trace_kernel: Extent,
    /// Time that RISCs waited for the host, summed over the RISCs.
    pub(super) stall: Option<OwnTime>,
    /// True if the firmware of at least one RISC began but did not end. The last end of the other
    /// RISCs may then be earlier than the lost one.
    pub(super) has_open_firmware: bool,
    /// True if a kernel of at least one RISC began but did not end.
    pub(super) has_open_kernel: bool,
    /// As `has_open_kernel`, for the RISCs of each group.
    pub(super) open_kernels: [bool; KERNEL_GROUP_COUNT],
}

/// Number of groups of RISCs whose kernel durations are reported for an op.
pub(super) const KERNEL_GROUP_COUNT: usize = 8;

/// Returns the group of a RISC; `None` for aggregate lanes.
///
/// Each RISC is a separate group, except on a Quasar, which has one group for all data-movement
/// processors and one for all TRISCs.
pub(super) const fn kernel_group(risc: Risc) -> Option<usize> {
    match risc {
        Risc::TensixAggregate => None,
        quasar if quasar.is_quasar() => Some(if quasar.moves_data() { 6 } else { 7 }),
        risc => Some(risc as usize),
    }
}

fn add_stall(own: &mut Option<OwnTime>, other: Option<OwnTime>) {
    if let Some(other) = other {
        own.get_or_insert_default().add(other);
    }
}

impl Extents {
    /// Returns the extents of a run of one RISC.
    pub(super) fn from_lane(run: &LaneExtents, risc: Risc) -> Self {
        let mut extents = Self::default();
        extents.join_lane(run, risc);
        extents
    }

    /// Adds the extents of a run of one RISC.
    pub(super) fn join_lane(&mut self, run: &LaneExtents, risc: Risc) {
        self.firmware.join(run.firmware);
        self.kernel.join(run.kernel);
        self.data_movement.join(run.data_movement);
        add_stall(&mut self.stall, run.stall);
        self.has_open_firmware |= run.firmware.is_open();
        self.has_open_kernel |= run.kernel.is_open();
        if risc == Risc::TensixAggregate {
            self.trace_firmware.join(run.firmware);
            self.trace_kernel.join(run.kernel);
        } else if let Some(group) = kernel_group(risc)
            && let (Some(own), Some(is_open)) =
                (self.risc_kernels.get_mut(group), self.open_kernels.get_mut(group))
        {
            own.join(run.own_kernel);
            *is_open |= run.own_kernel.is_open();
        }
    }

    pub(super) fn join(&mut self, other: &Self) {
        self.firmware.join(other.firmware);
        self.kernel.join(other.kernel);
        self.data_movement.join(other.data_movement);
        self.trace_firmware.join(other.trace_firmware);
        self.trace_kernel.join(other.trace_kernel);
        add_stall(&mut self.stall, other.stall);
        self.has_open_firmware |= other.has_open_firmware;
        self.has_open_kernel |= other.has_open_kernel;
        for (own, other) in self.open_kernels.iter_mut().zip(other.open_kernels) {
            *own |= other;
        }
        for (own, other) in self.risc_kernels.iter_mut().zip(other.risc_kernels) {
            own.join(other);
        }
    }
}

/// Extents of one run of one RISC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LaneExtents {
    pub(super) firmware: Extent,
    pub(super) kernel: Extent,
    /// Data-movement kernel zones; empty unless the RISC moves data.
    pub(super) data_movement: Extent,
    /// Kernel zones named after the RISC itself.
    pub(super) own_kernel: Extent,
    /// Time that the RISC spent waiting for the host; `None` if no wait was recorded.
    pub(super) stall: Option<OwnTime>,
}

impl LaneExtents {
    #[inline]
    fn record(&mut self, role: ZoneRole, risc: Risc, is_start: bool, time: u64) {
        if role.is_firmware() {
            self.firmware.record(is_start, time);
        }
        if role.is_kernel() {
            self.kernel.record(is_start, time);
            if risc.moves_data() && role.is_data_movement_kernel() {
                self.data_movement.record(is_start, time);
            }
            if role.is_kernel_of(risc) {
                self.own_kernel.record(is_start, time);
            }
        }
    }
}

/// Program, with its trace replay if the program was replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OpKey {
    pub(super) program: u32,
    pub(super) trace: Option<TraceReplay>,
}

/// One run of one lane, with times on the chip's reference clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LaneRun {
    pub(super) key: OpKey,
    pub(super) lane: LaneId,
    /// Index of the run in its lane.
    pub(super) index: usize,
    /// Times of the run's earliest and latest record.
    pub(super) bounds: (u64, u64),
    pub(super) extents: LaneExtents,
    /// True if the run has the start or the end of a zone. Other runs are data that were recorded
    /// for a launch, such as hardware counters that were read in a repetition of the workload.
    pub(super) has_zones: bool,
    /// True for a dispatch kernel. Dispatch kernels belong to no op.
    pub(super) is_dispatch: bool,
    /// Sub-device named in the run's records.
    pub(super) sub_device_id: Option<u8>,
}

impl LaneRun {
    /// Returns the lane and index of the run.
    pub(super) const fn place(&self) -> LaunchRun {
        LaunchRun { lane: self.lane, run: self.index }
    }
}

/// Returns the runs of a lane. Runs without records, and runs in which the profiler only pushed
/// records to DRAM, are left out.
pub(super) fn lane_runs(lane: &Lane, roles: &RoleTable) -> impl Iterator<Item = LaneRun> {
    (0..lane.runs.len()).filter_map(|index| lane_run(lane, index, roles))
}

fn lane_run(lane: &Lane, index: usize, roles: &RoleTable) -> Option<LaneRun> {
    let run = lane.runs.get(index)?;
    let records = lane.run_records(index);
    let heads = lane.heads.get(records.clone())?;
    let times = lane.times.get(records.clone())?;
    if run.program.0 == 0 && heads.iter().all(|head| roles.role(head.zone()).is_shared_push()) {
        return None; // A push of the runtime, not a launch.
    }
    let mut extents = LaneExtents::default();
    let (mut is_dispatch, mut has_zones, mut stalled_since) = (false, false, None);
    for (head, &time) in heads.iter().zip(times) {
        let is_start = match head.kind() {
            PacketKind::ZoneStart => true,
            PacketKind::ZoneEnd => false,
            _ => continue,
        };
        has_zones = true;
        let role = roles.role(head.zone());
        is_dispatch |= role.is_dispatch();
        if role.is_stall() {
            // Stalls are never nested.
            if is_start {
                stalled_since = Some(time);
            } else {
                let cycles = stalled_since.take().and_then(|since| time.checked_sub(since));
                add_stall(&mut extents.stall, cycles.map(OwnTime::from_zone));
            }
        }
        if !role.is_none() {
            extents.record(role, lane.id.risc, is_start, time);
        }
    }
    let bounds = (*times.iter().min()?, *times.iter().max()?);
    let key = OpKey { program: run.program.0, trace: run.trace };
    let sub_device_id = sub_device_of(lane, records);
    let lane = lane.id;
    Some(LaneRun { key, lane, index, bounds, extents, has_zones, is_dispatch, sub_device_id })
}
