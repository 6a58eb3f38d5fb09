//! Contribution of one run of one lane to its op: first starts and last ends.

use super::op::LaunchRun;
use reader::{
    lane::{Lane, LaneId, TraceReplay},
    role::{RoleTable, ZoneRole},
};
use wire::{PacketKind, Risc};

/// First start, last start and last end of zones of one kind.
///
/// # Compatibility
/// Upstream's analyses: the first marker that fits the start, and the last that fits the
/// end. Markers, not pairs, so that one lost marker in between changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) first_start: Option<u64>,
    pub(super) last_start: Option<u64>,
    pub(super) last_end: Option<u64>,
}

impl Extent {
    #[inline]
    fn enter(&mut self, kind: PacketKind, time: u64) {
        match kind {
            PacketKind::ZoneStart => {
                self.first_start = earlier(self.first_start, Some(time));
                self.last_start = self.last_start.max(Some(time));
            }
            _ => self.last_end = self.last_end.max(Some(time)),
        }
    }

    pub(super) fn join(&mut self, other: Self) {
        self.first_start = earlier(self.first_start, other.first_start);
        self.last_start = self.last_start.max(other.last_start);
        self.last_end = self.last_end.max(other.last_end);
    }

    /// From the first start to the last end.
    pub(super) fn bounds(&self) -> Option<(u64, u64)> {
        let (start, end) = (self.first_start?, self.last_end?);
        (start <= end).then_some((start, end))
    }

    /// Returns true if a zone began and none ended.
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

/// The extents that an op is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extents {
    pub(super) firmware: Extent,
    pub(super) kernel: Extent,
    /// Kernel zones of data movement, on the RISCs that do it.
    pub(super) data_movement: Extent,
    /// Each RISC's own kernel zone, in the order of [`Risc::ALL`].
    pub(super) risc_kernels: [Extent; 6],
    pub(super) trace_firmware: Extent,
    pub(super) trace_kernel: Extent,
}

impl Extents {
    fn enter(&mut self, role: ZoneRole, risc: Risc, kind: PacketKind, time: u64) {
        let is_aggregate = risc == Risc::TensixAggregate;
        if role.is_firmware() {
            self.firmware.enter(kind, time);
            if is_aggregate {
                self.trace_firmware.enter(kind, time);
            }
        }
        if role.is_kernel() {
            self.kernel.enter(kind, time);
            self.enter_kernel(role, risc, kind, time);
        }
    }

    fn enter_kernel(&mut self, role: ZoneRole, risc: Risc, kind: PacketKind, time: u64) {
        let moves_data = matches!(risc, Risc::Brisc | Risc::Ncrisc | Risc::Erisc);
        if moves_data && role.is_data_movement_kernel() {
            self.data_movement.enter(kind, time);
        }
        if risc == Risc::TensixAggregate {
            self.trace_kernel.enter(kind, time);
        } else if role.is_kernel_of(risc)
            && let Some(own) = self.risc_kernels.get_mut(risc as usize)
        {
            own.enter(kind, time);
        }
    }

    pub(super) fn join(&mut self, other: &Self) {
        self.firmware.join(other.firmware);
        self.kernel.join(other.kernel);
        self.data_movement.join(other.data_movement);
        self.trace_firmware.join(other.trace_firmware);
        self.trace_kernel.join(other.trace_kernel);
        for (own, other) in self.risc_kernels.iter_mut().zip(other.risc_kernels) {
            own.join(other);
        }
    }
}

/// Which program, and which replay of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OpKey {
    pub(super) program: u32,
    pub(super) trace: Option<TraceReplay>,
}

/// One run of one lane, on the clock of the chip's reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LaneRun {
    pub(super) key: OpKey,
    pub(super) lane: LaneId,
    /// Index of the run in its lane.
    pub(super) index: usize,
    /// Time of the run's earliest and latest record.
    pub(super) bounds: (u64, u64),
    pub(super) extents: Extents,
}

impl LaneRun {
    /// Position of the run in its readout.
    pub(super) const fn place(&self) -> LaunchRun {
        LaunchRun { lane: self.lane, run: self.index }
    }
}

/// Position of a run that holds records, before these are looked at. They are ordered by
/// program, then lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RunPlace {
    pub(super) key: OpKey,
    /// Index of its lane in the list that it was made from.
    pub(super) lane: usize,
    run: usize,
}

/// The runs of the lane at index `at` that hold records.
pub(super) fn run_places(at: usize, lane: &Lane) -> impl Iterator<Item = RunPlace> {
    lane.runs.iter().enumerate().filter_map(move |(run, of_lane)| {
        let is_empty = lane.heads.get(lane.run_records(run))?.is_empty();
        let key = OpKey { program: of_lane.program.0, trace: of_lane.trace };
        (!is_empty).then_some(RunPlace { key, lane: at, run })
    })
}

/// The figures of these runs of `lanes`.
pub(super) fn lane_runs(places: &[RunPlace], lanes: &[&Lane], roles: &RoleTable) -> Vec<LaneRun> {
    let run = |place: &RunPlace| lane_run(lanes[place.lane], place, roles);
    places.iter().filter_map(run).collect()
}

fn lane_run(lane: &Lane, place: &RunPlace, roles: &RoleTable) -> Option<LaneRun> {
    let records = lane.run_records(place.run);
    let heads = lane.heads.get(records.clone())?;
    let times = lane.times.get(records)?;
    let mut extents = Extents::default();
    for (head, &time) in heads.iter().zip(times) {
        let kind = head.kind();
        if !matches!(kind, PacketKind::ZoneStart | PacketKind::ZoneEnd) {
            continue;
        }
        let role = roles.of(head.zone());
        if !role.is_none() {
            extents.enter(role, lane.id.risc, kind, time);
        }
    }
    let bounds = (*times.iter().min()?, *times.iter().max()?);
    Some(LaneRun { key: place.key, lane: lane.id, index: place.run, bounds, extents })
}
