//! The trace of a packed log: everything except the records of lanes, which are unpacked one lane
//! for each thread at a time.

use super::{
    Trace, TraceDevice, TraceHost, TraceLane, TraceNames, TraceOp, build, lane,
    lane::LaneContext,
    loss::{self, UnplacedLoss},
    op,
};
use crate::{
    counters::{MergedSteps, kernel_steps},
    flow::{Arrow, CoreArrows},
};
use rayon::prelude::*;
use reader::{
    anomaly::AnomalyLog,
    lane::{Lane, LaneId},
    packed_bytes::{PackedBytes, PackedError, PackedMemory, PackedWindow},
    packed_numbers::{fold_sign, push, take, unfold_sign},
};
use recording::PackedRecording;
use std::{collections::BTreeMap, ops::Range, sync::Arc};

/// A trace whose lanes have no zones and points until they are unpacked.
///
/// ```
/// use export::{PackedTrace, Trace, TraceFilter};
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
    chips: Vec<PackedChip>,
}

/// What is known of a chip's lanes while they are packed.
#[derive(Debug, Default)]
struct PackedChip {
    /// Number of the op of each launch.
    ops: Vec<u32>,
    cores: Vec<PackedCore>,
    /// Begins and ends of kernels on each lane.
    steps: Vec<PackedBytes>,
}

/// A core of a chip.
#[derive(Debug)]
struct PackedCore {
    /// Indices of its lanes.
    lanes: Range<usize>,
    /// Arrows that end on it, by op.
    arrows: PackedBytes,
}

/// One lane with its records, on its chip.
#[derive(Debug)]
pub struct UnpackedLane<'l> {
    /// The chip with this lane alone, and without ops.
    pub(crate) device: TraceDevice<'l>,
    pub(crate) device_index: usize,
    /// Index of the lane on its chip, and among all lanes.
    pub(crate) lane_index: usize,
    pub(crate) index: usize,
    /// Runs at whose kernels arrows end, ascending.
    pub(crate) arrow_runs: Vec<usize>,
}

impl<'l> UnpackedLane<'l> {
    /// Returns the lane.
    #[must_use]
    pub fn lane(&self) -> &TraceLane<'l> {
        &self.device.lanes[0]
    }
}

/// A lane's place on its chip and in the trace.
#[derive(Clone, Copy)]
struct Place {
    device_index: usize,
    lane_index: usize,
    index: usize,
}

impl<'a> PackedTrace<'a> {
    /// Builds everything but the records of lanes.
    ///
    /// # Errors
    /// If records cannot be read from the temporary file, or written to it.
    pub fn new(packed: &'a PackedRecording) -> Result<Self, PackedError> {
        let recording = &packed.recording;
        let names = TraceNames::from_zones(&recording.readout, &packed.used_zones);
        let mut trace = Trace::begun(recording, names);
        trace.host = TraceHost::new(recording, None);
        let mut launches = packed.launches.launches.iter().peekable();
        let mut ops_of_launches = Vec::new();
        for (device, clock) in recording.readout.devices.iter().zip(packed.clocks()) {
            let chip_id = device.chip.chip_id;
            let of_chip =
                std::iter::from_fn(|| launches.next_if(|launch| launch.op.chip_id == chip_id));
            let mut ops = build::ops_without_runs(of_chip, &recording.ops, &clock);
            ops_of_launches.push(op_numbers(&ops));
            op::assign_rows(&mut ops);
            trace.devices.push(TraceDevice {
                chip: &device.chip,
                clock,
                lanes: lanes_of_chip(packed, chip_id),
                ops,
                pending_run_count: device.pending_runs,
                discarded_launch_count: device.discarded_launches,
            });
        }
        let mut built = Self { trace, packed, chips: Vec::new() };
        built.read_lanes(ops_of_launches)?;
        packed.lanes.memory().check()?;
        Ok(built)
    }

    /// Returns the trace; its lanes have losses, but no records.
    #[must_use]
    pub const fn trace(&self) -> &Trace<'a> {
        &self.trace
    }

    /// Reads each lane once, for what others need of it before it is written.
    fn read_lanes(&mut self, ops_of_launches: Vec<Vec<u32>>) -> Result<(), PackedError> {
        let losses = self.trace.sort_losses(&self.packed.recording.readout);
        for (device_index, ops) in ops_of_launches.into_iter().enumerate() {
            self.chips.push(PackedChip { ops, ..PackedChip::default() });
            let ends = match losses.is_empty() {
                true => BTreeMap::new(),
                false => loss::program_ends(&self.trace.devices[device_index].ops),
            };
            let cores = core_ranges(&self.trace.devices[device_index].lanes);
            let read = |lanes: Range<usize>| self.read_core(device_index, lanes, (&losses, &ends));
            let read: Vec<_> = cores.into_par_iter().map(read).collect::<Result<_, _>>()?;
            for ReadCore { core, steps, lanes } in read {
                for (lane, read) in core.lanes.clone().zip(lanes) {
                    self.trace.anomalies.merge(read.anomalies);
                    self.trace.devices[device_index].lanes[lane].losses = read.losses;
                }
                self.chips[device_index].steps.extend(steps);
                self.chips[device_index].cores.push(core);
            }
        }
        Ok(())
    }

    fn read_core(
        &self,
        device_index: usize,
        lanes: Range<usize>,
        (losses, ends): (&BTreeMap<LaneId, Vec<UnplacedLoss>>, &BTreeMap<u32, u64>),
    ) -> Result<ReadCore, PackedError> {
        let device = &self.trace.devices[device_index];
        let memory = self.packed.lanes.memory();
        let mut firsts = CoreArrows::default();
        let (mut steps, mut read) = (Vec::new(), Vec::new());
        for lane_index in lanes.clone() {
            let id = device.lanes[lane_index].id;
            let records = self.packed.lanes.lane(id)?;
            let losses = losses.get(&id).map_or_else(Vec::new, |losses| {
                loss::place_losses(losses, records.as_ref(), ends, &device.clock)
            });
            let records = records.unwrap_or_else(|| Lane::new(id));
            let (lane, anomalies) = self.built(device_index, &records)?;
            firsts.add_lane(lane_index, &lane);
            steps.push(pack_steps(kernel_steps(&lane, &self.trace.names), memory));
            read.push(ReadLane { anomalies, losses });
        }
        let arrows = pack_arrows(firsts.into_arrows(), lanes.start, memory);
        Ok(ReadCore { core: PackedCore { lanes, arrows }, steps, lanes: read })
    }

    /// Builds a lane from its records, with the ops of its runs.
    fn built<'l>(
        &self,
        device_index: usize,
        records: &'l Lane,
    ) -> Result<(TraceLane<'l>, AnomalyLog), PackedError>
    where
        'a: 'l,
    {
        let context = LaneContext {
            zones: &self.packed.recording.readout.zones,
            names: &self.trace.names,
            clock: &self.trace.devices[device_index].clock,
        };
        let (mut lane, anomalies) = lane::build(records, &context);
        let ops = &self.chips[device_index].ops;
        self.packed.launches.numbers.for_each_run(records.id, |run, launch| {
            if let Some(op) = lane.run_ops.get_mut(run) {
                *op = ops.get(launch as usize).copied();
            }
        })?;
        Ok((lane, anomalies))
    }

    /// Unpacks all lanes in order, one for each thread at a time, and calls `take` with them.
    ///
    /// # Errors
    /// If records cannot be read from the temporary file, or `take` fails.
    pub fn for_each_batch<E: From<PackedError>>(
        &self,
        mut take: impl FnMut(&[UnpackedLane<'_>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut places = Vec::new();
        for (device_index, device) in self.trace.devices.iter().enumerate() {
            for lane_index in 0..device.lanes.len() {
                places.push(Place { device_index, lane_index, index: places.len() });
            }
        }
        for batch in places.chunks(rayon::current_num_threads()) {
            let records = batch.par_iter().map(|place| {
                let id = self.trace.devices[place.device_index].lanes[place.lane_index].id;
                Ok(self.packed.lanes.lane(id)?.unwrap_or_else(|| Lane::new(id)))
            });
            let records: Vec<Lane> = records.collect::<Result<_, PackedError>>()?;
            let lanes = batch.par_iter().zip(&records).map(|(place, of)| self.unpacked(*place, of));
            let lanes: Vec<_> = lanes.collect::<Result<_, PackedError>>()?;
            take(&lanes)?;
        }
        Ok(self.packed.lanes.memory().check()?)
    }

    fn unpacked<'l>(
        &'l self,
        Place { device_index, lane_index, index }: Place,
        records: &'l Lane,
    ) -> Result<UnpackedLane<'l>, PackedError> {
        let device = &self.trace.devices[device_index];
        let (mut lane, _) = self.built(device_index, records)?;
        lane.losses.clone_from(&device.lanes[lane_index].losses);
        let arrow_runs = self.arrow_runs(device_index, lane_index);
        let TraceDevice { chip, clock, .. } = *device;
        let device = TraceDevice {
            chip,
            clock,
            lanes: vec![lane],
            ops: Vec::new(),
            pending_run_count: 0,
            discarded_launch_count: 0,
        };
        Ok(UnpackedLane { device, device_index, lane_index, index, arrow_runs })
    }

    fn arrow_runs(&self, device_index: usize, lane_index: usize) -> Vec<usize> {
        let cores = &self.chips[device_index].cores;
        let after = cores.partition_point(|core| core.lanes.start <= lane_index);
        let Some(core) = after.checked_sub(1).and_then(|core| cores.get(core)) else {
            return Vec::new();
        };
        let arrows = PackedArrows::new(core).filter(|arrow| arrow.lane == lane_index);
        let mut runs: Vec<_> = arrows.map(|arrow| arrow.run).collect();
        runs.sort_unstable();
        runs
    }

    /// Returns the arrows of a chip's ops, to be asked for in the order of ops.
    pub(crate) fn op_arrows(&self, device_index: usize) -> OpArrows<'_> {
        let cores = self.chips[device_index].cores.iter();
        OpArrows { cores: cores.map(|core| PackedArrows::new(core).peekable()).collect() }
    }

    /// Returns the number of kernels that a chip runs, at each time at which it changes.
    pub(crate) fn kernels_running(
        &self,
        device_index: usize,
    ) -> impl Iterator<Item = (u64, i64)> + '_ {
        let steps = self.chips[device_index].steps.iter();
        MergedSteps::new(steps.map(|steps| Box::new(PackedSteps::new(steps)) as _).collect())
    }
}

/// What reading a core found.
struct ReadCore {
    core: PackedCore,
    steps: Vec<PackedBytes>,
    lanes: Vec<ReadLane>,
}

struct ReadLane {
    anomalies: AnomalyLog,
    losses: Vec<super::TraceLoss>,
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

/// Returns the number that each op will have once [`op::assign_rows`] has sorted them.
fn op_numbers(ops: &[TraceOp<'_>]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..ops.len()).collect();
    order.sort_by_key(|&launch| op::order(&ops[launch]));
    let mut numbers = vec![0; ops.len()];
    for (number, launch) in (0_u32..).zip(order) {
        numbers[launch] = number;
    }
    numbers
}

fn core_ranges(lanes: &[TraceLane<'_>]) -> Vec<Range<usize>> {
    let mut first = 0;
    let cores = lanes.chunk_by(|one, other| one.id.core == other.id.core);
    let range = |core: &[TraceLane<'_>]| {
        let lanes = first..first + core.len();
        first = lanes.end;
        lanes
    };
    cores.map(range).collect()
}

fn pack_steps(steps: impl Iterator<Item = (u64, i64)>, memory: &Arc<PackedMemory>) -> PackedBytes {
    let (mut bytes, mut before) = (Vec::new(), 0);
    for (time_ns, step) in steps {
        push(&mut bytes, time_ns - before);
        push(&mut bytes, fold_sign(step));
        before = time_ns;
    }
    bytes.shrink_to_fit();
    memory.keep(bytes)
}

/// Upper estimate of the bytes of three packed numbers.
const THREE_NUMBERS_BYTES: usize = 32;

/// Begins and ends of kernels of a lane.
struct PackedSteps<'p> {
    window: PackedWindow<'p>,
    time_ns: u64,
}

impl<'p> PackedSteps<'p> {
    fn new(steps: &'p PackedBytes) -> Self {
        Self { window: steps.window(), time_ns: 0 }
    }
}

impl Iterator for PackedSteps<'_> {
    type Item = (u64, i64);

    fn next(&mut self) -> Option<(u64, i64)> {
        let [later, step] = next_numbers(&mut self.window)?;
        self.time_ns = self.time_ns.saturating_add(later);
        Some((self.time_ns, unfold_sign(step)))
    }
}

/// Reads numbers, if any are left.
fn next_numbers<const N: usize>(window: &mut PackedWindow<'_>) -> Option<[u64; N]> {
    let ahead = window.ahead(THREE_NUMBERS_BYTES);
    if ahead.is_empty() {
        return None;
    }
    let mut bytes = ahead.iter();
    let numbers = std::array::from_fn(|_| take(&mut bytes));
    let taken = ahead.len() - bytes.len();
    window.advance(taken);
    Some(numbers)
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

/// Arrows that end on a core, by op.
struct PackedArrows<'p> {
    window: PackedWindow<'p>,
    first_lane: usize,
    before: (u32, u64),
}

impl<'p> PackedArrows<'p> {
    fn new(core: &'p PackedCore) -> Self {
        Self { window: core.arrows.window(), first_lane: core.lanes.start, before: (0, 0) }
    }
}

impl Iterator for PackedArrows<'_> {
    type Item = Arrow;

    fn next(&mut self) -> Option<Arrow> {
        let [later, lane, run] = next_numbers(&mut self.window)?;
        let op = self.before.0.wrapping_add(u32::try_from(later).ok()?);
        let run = self.before.1.wrapping_add_signed(unfold_sign(run));
        self.before = (op, run);
        let lane = self.first_lane.saturating_add(usize::try_from(lane).ok()?);
        Some(Arrow { op, lane, run: usize::try_from(run).ok()? })
    }
}

/// Arrows of a chip's ops, by op.
pub(crate) struct OpArrows<'p> {
    cores: Vec<std::iter::Peekable<PackedArrows<'p>>>,
}

impl OpArrows<'_> {
    /// Returns the arrows of an op, which has a higher number than the one before, by core.
    pub(crate) fn op_arrows(&mut self, op: u32) -> Vec<Arrow> {
        let of_core = |core: &mut std::iter::Peekable<PackedArrows<'_>>| {
            while core.next_if(|arrow| arrow.op < op).is_some() {}
            core.next_if(|arrow| arrow.op == op)
        };
        self.cores.iter_mut().filter_map(of_core).collect()
    }
}
