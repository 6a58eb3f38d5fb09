//! Trace of a packed log. The ops are unpacked one after the other, and each thread unpacks the
//! records of one lane at a time. Everything else is in memory.

use super::{
    Trace, TraceDevice, TraceHost, TraceLane, TraceNames, TraceOp,
    build::{self, ProgramMetadata},
    first_kernels::{Arrow, CoreArrows},
    lane::{self, LaneContext},
    lane_parts::{LaneRange, parts},
    loss::{self, UnplacedLoss},
    ops_by_start::ops_by_start,
    place::{LanePosition, PlacedLane, lane_places},
};
use crate::counters::{kernel_steps, summed_steps};
use analysis::FullBuffers;
use rayon::prelude::*;
use reader::{
    anomaly::AnomalyLog,
    lane::{Lane, LaneId},
    packed_bytes::{PackedBytes, PackedError, PackedMemory},
    packed_numbers::{fold_sign, push, unfold_sign},
    role::RoleTable,
};
use recording::{PackedRecording, metadata_by_program};
use std::{collections::BTreeMap, ops::Range, sync::Arc};

/// A trace whose ops, zones and points are unpacked only when they are read.
///
/// ```
/// use export::{PackedTrace, Trace, TraceFilter, TraceOp};
/// use recording::{OpenedLog, PackedRecording, device_log::PackedLog};
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 500
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,7,100,0,1024,BRISC-KERNEL,ZONE_START
/// 0,1,2,BRISC,7,160,0,1024,BRISC-KERNEL,ZONE_END
/// ";
/// let opened = || PackedLog::read(log.as_bytes(), "my log").map(OpenedLog::from);
/// let packed = PackedRecording::new(opened()?)?;
/// let packed = PackedTrace::new(&packed)?;
/// let recording = opened()?.into_recording()?;
/// let whole = Trace::new(&recording, &TraceFilter::default());
/// assert_eq!(packed.trace().zone_count(), 0);
/// assert!(packed.ops(0).eq(whole.devices[0].ops.iter().map(|op| TraceOp {
///     runs: Vec::new(),
///     ..op.clone()
/// })));
/// packed.for_each_batch(|lanes| {
///     assert_eq!(lanes[0].lane(), &whole.devices[0].lanes[0]);
///     Ok::<(), recording::device_log::LogError>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PackedTrace<'a> {
    trace: Trace<'a>,
    packed: &'a PackedRecording,
    /// The host's metadata of programs.
    metadata: ProgramMetadata<'a>,
    chips: Vec<PackedChip>,
    counts: PackedCounts,
}

/// Numbers of the items of a trace that are packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackedCounts {
    /// Number of zones.
    pub zones: usize,
    /// Number of events, values and sums.
    pub points: usize,
    /// Number of ops.
    pub ops: usize,
}

/// Data about a chip's packed ops and lanes.
#[derive(Debug, Default)]
struct PackedChip {
    /// For each launch, the index of its op among the chip's ops, which are sorted by start.
    ops: Vec<u32>,
    /// Number of rows in which the ops are drawn.
    row_count: u32,
    op_count: usize,
    cores: Vec<PackedCore>,
}

/// A core of a chip.
#[derive(Debug)]
struct PackedCore {
    /// Indices of the core's lanes.
    lanes: Range<usize>,
    /// Arrows that end on the core, sorted by op.
    arrows: PackedBytes,
    /// For each lane of the core, the packed starts and ends of kernels.
    steps: Vec<PackedBytes>,
}

/// Part of a lane: consecutive runs with their records. Most lanes have one part.
#[derive(Debug)]
pub struct LanePart<'l> {
    /// The chip, with this part as its only lane and without ops.
    pub(crate) device: TraceDevice<'l>,
    place: LanePosition,
    /// True for the first part of its lane.
    is_first: bool,
    /// Index of the part's first run in the whole lane.
    first_run: usize,
    /// Indices in the part, in ascending order, of the runs at whose kernel an arrow ends.
    arrow_runs: Vec<usize>,
}

impl<'l> LanePart<'l> {
    /// Returns the part as a lane. Run 0 of this lane is the first run of the part. The losses of
    /// the whole lane are in its last part.
    #[must_use]
    pub fn lane(&self) -> &TraceLane<'l> {
        &self.device.lanes[0]
    }

    /// Returns the part as a lane, with its position in the trace.
    pub(crate) fn placed(&self) -> PlacedLane<'_, 'l> {
        let Self { ref device, place, is_first, first_run, ref arrow_runs } = *self;
        let arrow_runs = Some(arrow_runs.as_slice());
        PlacedLane { device, lane: self.lane(), place, is_first, first_run, arrow_runs }
    }
}

/// Records of a lane, the ops of its runs, and the parts of the lane.
struct UnpackedLane {
    place: LanePosition,
    records: Lane,
    run_ops: Vec<Option<u32>>,
    parts: Vec<LaneRange>,
}

/// Number of records that are unpacked at once, unless a single lane has more.
const UNPACKED_RECORDS: usize = 1 << 19;

/// Number of ops that are unpacked at once.
#[cfg(feature = "parquet")]
const UNPACKED_OPS: usize = 1 << 10;

impl<'a> PackedTrace<'a> {
    /// Builds the trace, except the records of its lanes.
    ///
    /// # Errors
    /// If the temporary file that holds the packed records cannot be read or written.
    pub fn new(packed: &'a PackedRecording) -> Result<Self, PackedError> {
        let recording = &packed.recording;
        let names = TraceNames::from_zones(&recording.readout, &packed.used_zones);
        let mut trace = Trace::begun(recording, names);
        trace.host = TraceHost::new(recording, None);
        for (device, clock) in recording.readout.devices.iter().zip(packed.clocks()) {
            trace.devices.push(TraceDevice {
                chip: &device.chip,
                clock,
                lanes: lanes_of_chip(packed, device.chip.chip_id),
                ops: Vec::new(),
                pending_run_count: device.pending_runs,
                discarded_launch_count: device.discarded_launches,
            });
        }
        let metadata = metadata_by_program(&recording.ops);
        let counts = PackedCounts::default();
        let mut built = Self { trace, packed, metadata, chips: Vec::new(), counts };
        built.chips = (0..built.trace.devices.len()).map(|index| built.read_ops(index)).collect();
        built.counts.ops = built.chips.iter().map(|chip| chip.op_count).sum();
        built.read_lanes()?;
        packed.lanes.memory().check()?;
        Ok(built)
    }

    /// Sets the trace's title, and the causes of slowness.
    #[must_use]
    pub fn described(mut self, title: String, explanation: Option<causes::Explanation>) -> Self {
        (self.trace.title, self.trace.explanation) = (title, explanation);
        self
    }

    /// Returns the trace. The trace has no ops, and its lanes have losses but no records.
    #[must_use]
    pub const fn trace(&self) -> &Trace<'a> {
        &self.trace
    }

    /// Returns the ops of a chip, sorted by start, without their runs.
    ///
    /// If the temporary file that holds the packed records cannot be read, some ops are missing. A
    /// later call of [`Self::for_each_batch`] then returns the error.
    pub fn ops(&self, device_index: usize) -> impl Iterator<Item = TraceOp<'a>> + '_ {
        self.ops_of_launches(device_index).map(|(_, op)| op)
    }

    /// Returns the ops of a chip, each with the index of its launch.
    fn ops_of_launches(
        &self,
        device_index: usize,
    ) -> impl Iterator<Item = (u32, TraceOp<'a>)> + '_ {
        self.trace.devices.get(device_index).into_iter().flat_map(|device| {
            let launches = self.packed.launches.launches.chip_launches(device.chip.chip_id);
            ops_by_start(launches, &self.metadata, device.clock)
        })
    }

    /// Returns the numbers of packed items.
    #[must_use]
    pub const fn counts(&self) -> PackedCounts {
        self.counts
    }

    /// Returns the number of rows in which the ops of a chip are drawn.
    pub(crate) fn row_count(&self, device_index: usize) -> u32 {
        self.chips.get(device_index).map_or(0, |chip| chip.row_count)
    }

    /// Unpacks the ops of each chip in batches, and calls `take` with each batch. `take` receives
    /// the index of the batch's first op, and a device that contains the batch's ops and no lanes.
    #[cfg(feature = "parquet")]
    pub(crate) fn for_each_ops<E>(
        &self,
        mut take: impl FnMut(u32, &TraceDevice<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for (device_index, device) in self.trace.devices.iter().enumerate() {
            let (mut ops, mut first_op) = (self.ops(device_index), 0_u32);
            loop {
                let ops: Vec<_> = ops.by_ref().take(UNPACKED_OPS).collect();
                let Ok(count) = u32::try_from(ops.len()) else { break };
                if count == 0 {
                    break;
                }
                take(first_op, &TraceDevice { ops, ..without_items(device) })?;
                first_op = first_op.saturating_add(count);
            }
        }
        Ok(())
    }

    /// Reads the ops of a chip once, to find two things: the index of each launch's op, and the
    /// number of rows in which viewers draw the ops.
    fn read_ops(&self, device_index: usize) -> PackedChip {
        let mut chip = PackedChip::default();
        for (number, (launch, op)) in (0..).zip(self.ops_of_launches(device_index)) {
            let launch = launch as usize;
            if chip.ops.len() <= launch {
                chip.ops.resize(launch.saturating_add(1), 0);
            }
            if let Some(launch_number) = chip.ops.get_mut(launch) {
                *launch_number = number;
            }
            chip.row_count = chip.row_count.max(op.row.saturating_add(1));
            chip.op_count += 1;
        }
        chip
    }

    /// Reads each lane once, to collect the arrows, kernel starts and ends, anomalies and losses
    /// that are needed before the first lane is written.
    fn read_lanes(&mut self) -> Result<(), PackedError> {
        let losses = self.trace.sort_losses(&self.packed.recording.readout);
        let roles = RoleTable::from_names(&self.packed.recording.readout.zones);
        for device_index in 0..self.trace.devices.len() {
            let ends = match losses.is_empty() {
                true => BTreeMap::new(),
                false => loss::program_ends(self.ops(device_index)),
            };
            let lanes = &self.trace.devices[device_index].lanes;
            let cores = core_ranges(lanes);
            let batches = batches(&cores, |core| {
                let lanes = lanes.get(core.clone()).unwrap_or(&[]).iter();
                lanes.map(|lane| self.packed.lanes.record_count(lane.id)).max().unwrap_or(0)
            });
            let batches: Vec<Vec<_>> = batches.map(<[_]>::to_vec).collect();
            for batch in batches {
                let read = batch.par_iter().map(|lanes| {
                    self.read_core(device_index, lanes.clone(), (&losses, &ends, &roles))
                });
                let read: Vec<_> = read.collect::<Result<_, _>>()?;
                read.into_iter().for_each(|core| self.add_core(device_index, core));
            }
        }
        Ok(())
    }

    fn add_core(&mut self, device_index: usize, (core, lanes): ReadCore) {
        for (lane, read) in core.lanes.clone().zip(lanes) {
            self.trace.anomalies.merge(read.anomalies);
            self.trace.full_buffers.merge(read.full_buffers);
            self.trace.devices[device_index].lanes[lane].losses = read.losses;
            self.counts.zones += read.zone_count;
            self.counts.points += read.point_count;
        }
        self.chips[device_index].cores.push(core);
    }

    fn read_core(
        &self,
        device_index: usize,
        lanes: Range<usize>,
        (losses, ends, roles): (
            &BTreeMap<LaneId, Vec<UnplacedLoss>>,
            &BTreeMap<u32, u64>,
            &RoleTable,
        ),
    ) -> Result<ReadCore, PackedError> {
        let device = &self.trace.devices[device_index];
        let memory = self.packed.lanes.memory();
        let mut firsts = CoreArrows::default();
        let (mut steps, mut read) = (Vec::new(), Vec::new());
        for lane_index in lanes.clone() {
            let id = device.lanes[lane_index].id;
            let unpacked = self.unpacked(LanePosition { device_index, lane_index, index: 0 })?;
            let has_records = unpacked.records.record_count() > 0;
            let records = has_records.then_some(&unpacked.records);
            let losses = losses.get(&id).map_or_else(Vec::new, |losses| {
                loss::place_losses(losses, records, ends, &device.clock)
            });
            let mut lane_steps = StepPacker::default();
            let mut found = ReadLane { losses, ..ReadLane::default() };
            found.full_buffers.add_lane(&unpacked.records, roles);
            for part in &unpacked.parts {
                let cut = part.cut(&unpacked.records);
                let (lane, part_anomalies) = self.built(&unpacked, part, &cut);
                found.anomalies.merge(part_anomalies);
                found.zone_count += lane.zones.len();
                found.point_count += lane.points.len();
                firsts.add_lane((lane_index, part.runs.start), &lane);
                lane_steps.add(kernel_steps(&lane, &self.trace.names));
            }
            steps.push(lane_steps.kept(memory));
            read.push(found);
        }
        let arrows = pack_arrows(firsts.into_arrows(), lanes.start, memory);
        Ok((PackedCore { lanes, arrows, steps }, read))
    }

    fn unpacked(&self, place: LanePosition) -> Result<UnpackedLane, PackedError> {
        let LanePosition { device_index, lane_index, .. } = place;
        let id = self.trace.devices[device_index].lanes[lane_index].id;
        let records = self.packed.lanes.lane(id)?.unwrap_or_else(|| Lane::new(id));
        let ops = &self.chips[device_index].ops;
        let mut run_ops = vec![None; records.runs.len()];
        self.packed.launches.numbers.for_each_run(id, |run, launch| {
            if let Some(op) = run_ops.get_mut(run) {
                *op = ops.get(launch as usize).copied();
            }
        })?;
        let parts = parts(&records);
        Ok(UnpackedLane { place, records, run_ops, parts })
    }

    /// Builds a part of a lane from the records of the part, with the ops of the part's runs.
    fn built<'l>(
        &self,
        unpacked: &UnpackedLane,
        part: &LaneRange,
        records: &'l Lane,
    ) -> (TraceLane<'l>, AnomalyLog)
    where
        'a: 'l,
    {
        let context = LaneContext {
            zones: &self.packed.recording.readout.zones,
            names: &self.trace.names,
            clock: &self.trace.devices[unpacked.place.device_index].clock,
        };
        let (mut lane, anomalies) = lane::build(records, &context);
        let run_ops = unpacked.run_ops.get(part.runs.clone());
        lane.run_ops = run_ops.map_or_else(Vec::new, <[_]>::to_vec);
        (lane, anomalies)
    }

    /// Unpacks all lanes in order, and calls `take` with batches of their parts. A batch has at
    /// most one part for each thread.
    ///
    /// # Errors
    /// If the temporary file that holds the packed records cannot be read, or if `take` fails.
    pub fn for_each_batch<E: From<PackedError>>(
        &self,
        mut take: impl FnMut(&[LanePart<'_>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let places: Vec<_> = lane_places(&self.trace).collect();
        for batch in batches(&places, |place| {
            let lane = &self.trace.devices[place.device_index].lanes[place.lane_index];
            self.packed.lanes.record_count(lane.id)
        }) {
            let lanes = batch.par_iter().map(|place| self.unpacked(*place));
            let lanes: Vec<_> = lanes.collect::<Result<_, PackedError>>()?;
            let parts = lanes
                .iter()
                .flat_map(|lane| lane.parts.iter().enumerate().map(move |part| (lane, part)));
            let parts: Vec<_> = parts.collect();
            for parts in parts.chunks(rayon::current_num_threads()) {
                let records: Vec<_> =
                    parts.par_iter().map(|(lane, (_, part))| part.cut(&lane.records)).collect();
                let built = parts.par_iter().zip(&records);
                let built: Vec<_> =
                    built.map(|((lane, part), records)| self.part(lane, *part, records)).collect();
                take(&built)?;
            }
        }
        Ok(self.packed.lanes.memory().check()?)
    }

    fn part<'l>(
        &'l self,
        unpacked: &UnpackedLane,
        (number, part): (usize, &LaneRange),
        records: &'l Lane,
    ) -> LanePart<'l> {
        let LanePosition { device_index, lane_index, .. } = unpacked.place;
        let device = &self.trace.devices[device_index];
        let (mut lane, _) = self.built(unpacked, part, records);
        if part.runs.end == unpacked.records.runs.len() {
            lane.losses.clone_from(&device.lanes[lane_index].losses);
        }
        let mut arrow_runs = self.arrow_runs(device_index, lane_index);
        arrow_runs.retain(|run| part.runs.contains(run));
        arrow_runs.iter_mut().for_each(|run| *run = run.saturating_sub(part.runs.start));
        LanePart {
            device: TraceDevice { lanes: vec![lane], ..without_items(device) },
            place: unpacked.place,
            is_first: number == 0,
            first_run: part.runs.start,
            arrow_runs,
        }
    }

    fn arrow_runs(&self, device_index: usize, lane_index: usize) -> Vec<usize> {
        let cores = &self.chips[device_index].cores;
        let after = cores.partition_point(|core| core.lanes.start <= lane_index);
        let Some(core) = after.checked_sub(1).and_then(|core| cores.get(core)) else {
            return Vec::new();
        };
        let arrows = unpacked_arrows(core).filter(|arrow| arrow.lane == lane_index);
        let mut runs: Vec<_> = arrows.map(|arrow| arrow.run).collect();
        runs.sort_unstable();
        runs
    }

    /// Returns a function that unpacks the arrows of an op, at most one for each core. The function
    /// must be called with ascending numbers of ops.
    pub(crate) fn op_arrows(&self, device_index: usize) -> impl FnMut(u32) -> Vec<Arrow> + '_ {
        let cores = self.chips[device_index].cores.iter();
        let mut cores: Vec<_> = cores.map(|core| unpacked_arrows(core).peekable()).collect();
        move |op| {
            let arrows = cores.iter_mut().filter_map(|core| {
                while core.next_if(|arrow| arrow.op < op).is_some() {}
                core.next_if(|arrow| arrow.op == op)
            });
            arrows.collect()
        }
    }

    /// Returns the number of kernels that a chip runs, at each time at which the number changes.
    pub(crate) fn kernels_running(
        &self,
        device_index: usize,
    ) -> impl Iterator<Item = (u64, i64)> + '_ {
        let steps = self.chips[device_index].cores.iter().flat_map(|core| &core.steps);
        summed_steps(steps.map(unpacked_steps))
    }
}

/// Result of reading a core: the core, with what was found in each of its lanes.
type ReadCore = (PackedCore, Vec<ReadLane>);

/// What is found in a lane before the first lane is written.
#[derive(Default)]
struct ReadLane {
    anomalies: AnomalyLog,
    losses: Vec<super::TraceLoss>,
    zone_count: usize,
    point_count: usize,
    full_buffers: FullBuffers,
}

/// Returns the lanes of a chip that have records or losses, in order.
fn lanes_of_chip<'a>(packed: &PackedRecording, chip_id: u32) -> Vec<TraceLane<'a>> {
    let ids: Vec<_> = packed.lanes.ids().filter(|id| id.chip_id == chip_id).collect();
    let mut all = ids.clone();
    all.extend(build::lanes_without_records(&packed.recording.readout, chip_id, |id| {
        ids.binary_search(id).is_ok()
    }));
    all.sort_unstable();
    all.into_iter().map(lane::empty).collect()
}

/// Returns a chip without lanes and ops.
fn without_items<'l>(device: &TraceDevice<'l>) -> TraceDevice<'l> {
    let TraceDevice { chip, clock, .. } = *device;
    TraceDevice {
        chip,
        clock,
        lanes: Vec::new(),
        ops: Vec::new(),
        pending_run_count: 0,
        discarded_launch_count: 0,
    }
}

/// Divides items into batches. A batch has as many items as there are threads, or fewer items if
/// they have many records.
fn batches<T>(mut items: &[T], record_count: impl Fn(&T) -> usize) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let mut records = 0_usize;
        let fitting = items.iter().take(rayon::current_num_threads()).take_while(|item| {
            records = records.saturating_add(record_count(item));
            records <= UNPACKED_RECORDS
        });
        let count = fitting.count().max(1);
        let (batch, rest) = items.split_at_checked(count)?;
        items = rest;
        Some(batch)
    })
}

fn core_ranges(lanes: &[TraceLane<'_>]) -> Vec<Range<usize>> {
    let mut first = 0;
    let cores = lanes.chunk_by(|one, other| one.id.core == other.id.core);
    let ranges = cores.map(|core| {
        let lanes = first..first + core.len();
        first = lanes.end;
        lanes
    });
    ranges.collect()
}

/// Packer for the starts and ends of a lane's kernels.
#[derive(Default)]
struct StepPacker {
    bytes: Vec<u8>,
    before_ns: u64,
}

impl StepPacker {
    /// Packs further starts and ends, which must be later than those packed before.
    fn add(&mut self, steps: impl Iterator<Item = (u64, i64)>) {
        for (time_ns, step) in steps {
            push(&mut self.bytes, time_ns.saturating_sub(self.before_ns));
            push(&mut self.bytes, fold_sign(step));
            self.before_ns = time_ns;
        }
    }

    fn kept(mut self, memory: &Arc<PackedMemory>) -> PackedBytes {
        self.bytes.shrink_to_fit();
        memory.keep(self.bytes)
    }
}

/// Unpacks the starts and ends of a lane's kernels.
fn unpacked_steps(steps: &PackedBytes) -> impl Iterator<Item = (u64, i64)> + '_ {
    let (mut window, mut time_ns) = (steps.window(), 0_u64);
    std::iter::from_fn(move || {
        let [later, step] = window.numbers()?;
        time_ns = time_ns.saturating_add(later);
        Some((time_ns, unfold_sign(step)))
    })
}

/// Packs arrows that are sorted by op.
fn pack_arrows(arrows: Vec<Arrow>, first_lane: usize, memory: &Arc<PackedMemory>) -> PackedBytes {
    let mut bytes = Vec::new();
    let mut before = (0, 0);
    for Arrow { op, lane, run } in arrows {
        push(&mut bytes, u64::from(op - before.0));
        push(&mut bytes, (lane - first_lane) as u64);
        push(&mut bytes, fold_sign((run as u64).wrapping_sub(before.1).cast_signed()));
        before = (op, run as u64);
    }
    bytes.shrink_to_fit();
    memory.keep(bytes)
}

/// Unpacks the arrows that end on a core, sorted by op.
fn unpacked_arrows(core: &PackedCore) -> impl Iterator<Item = Arrow> + '_ {
    let (mut window, mut before) = (core.arrows.window(), (0_u32, 0_u64));
    std::iter::from_fn(move || {
        let [later, lane, run] = window.numbers()?;
        let op = before.0.wrapping_add(u32::try_from(later).ok()?);
        let run = before.1.wrapping_add_signed(unfold_sign(run));
        before = (op, run);
        let lane = core.lanes.start.saturating_add(usize::try_from(lane).ok()?);
        Some(Arrow { op, lane, run: usize::try_from(run).ok()? })
    })
}
