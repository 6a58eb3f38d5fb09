//! Construction of a trace: the order of the steps, and the data passed between them.

use super::{
    HiddenCounts, Trace, TraceDevice, TraceHost, TraceLane, TraceNames, TraceNoc, TraceOp,
    TraceRun, lane,
    lane::{LaneContext, Wanted},
    loss::{self, UnplacedLoss},
    op,
};
use analysis::{FullBuffers, Launch, Unfinished, launches_of};
use host_events::OpMetadata;
use rayon::prelude::*;
use reader::{
    anomaly::AnomalyLog,
    lane::LaneId,
    readout::{DeviceReadout, Readout},
};
use recording::{DeviceClock, Recording, TraceFilter, clocks_of, metadata_by_program};
use reports::report::BufferPeaks;
use std::collections::BTreeMap;
use wire::RunHostId;

impl<'a> Trace<'a> {
    /// Builds the model with parallel processing of lanes, and removes everything that the filter
    /// does not select.
    ///
    /// If the chips' times can be converted to the host's clock, the trace starts at the earliest
    /// event of the host or of any chip.
    #[must_use]
    pub fn new(recording: &'a Recording, filter: &TraceFilter) -> Self {
        let readout = &recording.readout;
        let mut trace = Self::begun(recording, TraceNames::from_readout(readout));
        let (clocks, origin_host_ns) = clocks_of(recording);
        trace.origin_host_ns = origin_host_ns;
        trace.host = TraceHost::new(recording, trace.origin_host_ns);
        let mut launches = launches_of(readout);
        for (device, clock) in readout.devices.iter().zip(clocks) {
            let chip_id = device.chip.chip_id;
            let (chip_launches, rest) =
                launches.into_iter().partition(|launch: &Launch| launch.op.chip_id == chip_id);
            launches = rest;
            let device = trace.device(recording, device, clock, chip_launches);
            trace.devices.push(device);
        }
        trace.add_losses(readout);
        if !filter.is_empty() {
            let signposts = trace.host.signposts();
            trace.apply(&filter.resolved(&signposts));
        }
        trace
    }

    /// Returns the trace of a recording, still without chips, clocks and host.
    pub(super) fn begun(recording: &'a Recording, names: TraceNames<'a>) -> Self {
        let readout = &recording.readout;
        Self {
            title: String::new(),
            comparison: None,
            source: Vec::new(),
            memory: None,
            explanation: None,
            mesh_clock: recording.clock.as_ref(),
            devices: Vec::new(),
            names,
            calls: &recording.calls,
            has_modules: recording.ops.iter().any(|op| op.texts().module.is_some()),
            noc: TraceNoc::new(recording),
            host: TraceHost::default(),
            buffers: BufferPeaks::from_recording(recording),
            origin_host_ns: None,
            anomalies: readout.anomalies.clone(),
            hidden: HiddenCounts::default(),
            unplaced_losses: Vec::new(),
            uncounted: readout.losses.uncounted().collect(),
            unfinished: Unfinished::from_readout(readout),
            full_buffers: FullBuffers::from_readout(readout),
        }
    }

    fn device(
        &mut self,
        recording: &'a Recording,
        device: &'a DeviceReadout,
        clock: DeviceClock<'a>,
        launches: Vec<Launch>,
    ) -> TraceDevice<'a> {
        let built: Vec<_> = device
            .lanes
            .par_iter()
            .map(|lane| {
                let context = LaneContext {
                    zones: &recording.readout.zones,
                    names: &self.names,
                    clock: &clock,
                };
                lane::build(lane, &context)
            })
            .collect();
        let (mut lanes, anomalies): (Vec<_>, Vec<AnomalyLog>) = built.into_iter().unzip();
        anomalies.into_iter().for_each(|log| self.anomalies.merge(log));
        for id in lanes_without_records(&recording.readout, device.chip.chip_id, |id| {
            device.lanes.binary_search_by_key(id, |lane| lane.id).is_ok()
        }) {
            let position = lanes.partition_point(|lane: &TraceLane<'_>| lane.id < id);
            lanes.insert(position, lane::empty(id));
        }
        let ops = ops_of(launches, &recording.ops, &clock, &mut lanes);
        TraceDevice {
            chip: &device.chip,
            clock,
            lanes,
            ops,
            pending_run_count: device.pending_runs,
            discarded_launch_count: device.discarded_launches,
        }
    }

    /// Returns, by lane, the losses on chips that the trace contains. Appends the losses on all
    /// other chips to `unplaced_losses`.
    pub(super) fn sort_losses(&mut self, readout: &Readout) -> BTreeMap<LaneId, Vec<UnplacedLoss>> {
        let mut lane_losses: BTreeMap<LaneId, Vec<UnplacedLoss>> = BTreeMap::new();
        for (key, &totals) in readout.losses.entries() {
            if self.devices.iter().any(|device| device.chip.chip_id == key.lane.chip_id) {
                let loss = UnplacedLoss { program: key.program, cause: key.cause, totals };
                lane_losses.entry(key.lane).or_default().push(loss);
            } else {
                self.unplaced_losses.push((*key, totals));
            }
        }
        lane_losses
    }

    fn add_losses(&mut self, readout: &Readout) {
        let lane_losses = self.sort_losses(readout);
        for (device, records) in self.devices.iter_mut().zip(&readout.devices) {
            let ends = loss::program_ends(&device.ops);
            for lane in &mut device.lanes {
                let Some(losses) = lane_losses.get(&lane.id) else { continue };
                let found = records.lanes.binary_search_by_key(&lane.id, |lane| lane.id);
                let records = found.ok().and_then(|index| records.lanes.get(index));
                lane.losses = loss::place_losses(losses, records, &ends, &device.clock);
            }
        }
    }

    fn apply(&mut self, filter: &TraceFilter) {
        let names = self.names.as_slice().iter();
        let wanted_names: Vec<bool> = names.map(|name| filter.selects_zone(&name.label)).collect();
        for device in &mut self.devices {
            let hidden = device.retain(filter, &wanted_names, &self.names);
            self.hidden.add(hidden);
        }
        let devices = &self.devices;
        self.noc.retain(filter, |chip_id| {
            devices.iter().find(|device| device.chip.chip_id == chip_id).map(|device| device.clock)
        });
        self.buffers.retain(filter);
        let host_hidden = self.host.retain(filter);
        self.hidden.add(host_hidden);
        let hidden = &mut self.hidden;
        self.unplaced_losses.retain(|(key, totals)| {
            let is_wanted = filter.selects_lane(key.lane);
            hidden.lost_records += if is_wanted { 0 } else { totals.record_count() };
            is_wanted
        });
    }
}

impl TraceDevice<'_> {
    /// Removes everything that the filter does not select, and counts what it removes.
    fn retain(
        &mut self,
        filter: &TraceFilter,
        wanted_names: &[bool],
        names: &TraceNames<'_>,
    ) -> HiddenCounts {
        let mut hidden = HiddenCounts::default();
        let wanted_ops: Vec<bool> =
            self.ops.iter().map(|op| filter.selects_op(op.base_id(), op.name())).collect();
        let programs: BTreeMap<u32, bool> =
            self.ops.iter().map(|op| op.figures.run_host_id).zip(wanted_ops.clone()).collect();
        for lane in &mut self.lanes {
            if !filter.selects_lane(lane.id) {
                hidden.add(hidden_lane(lane));
                continue;
            }
            let runs: Vec<bool> =
                lane.run_ops.iter().map(|op| op.is_none_or(|op| wanted_ops[op as usize])).collect();
            let wanted = Wanted {
                names: wanted_names,
                runs: &runs,
                outside_of_runs: filter.selects_op(0, None),
                is_in_window: &|start, end| filter.selects_time(start, end),
            };
            let (zones, points) = lane::retain(lane, &wanted, names);
            hidden.zones += zones;
            hidden.points += points;
            hidden.lost_records += retain_losses(lane, filter, &programs);
        }
        self.retain_lanes(filter);
        hidden.ops = self.retain_ops(filter, &wanted_ops);
        hidden
    }

    fn retain_lanes(&mut self, filter: &TraceFilter) {
        let is_wanted: Vec<bool> =
            self.lanes.iter().map(|lane| filter.selects_lane(lane.id)).collect();
        let positions = running_positions(&is_wanted);
        self.lanes.retain(|lane| filter.selects_lane(lane.id));
        for op in &mut self.ops {
            op.runs.retain(|run| is_wanted[run.lane]);
            op.runs.iter_mut().for_each(|run| run.lane = positions[run.lane]);
        }
    }

    fn retain_ops(&mut self, filter: &TraceFilter, wanted: &[bool]) -> u64 {
        let count = self.ops.len();
        let ops = self.ops.iter().zip(wanted);
        let shown: Vec<bool> = ops
            .map(|(op, &is_wanted)| {
                is_wanted && filter.selects_time(op.start_ns, op.end_ns) && !op.runs.is_empty()
            })
            .collect();
        let positions = running_positions(&shown);
        let mut is_any_hidden = false;
        for (op, &is_shown) in self.ops.iter_mut().zip(&shown) {
            if is_shown && std::mem::take(&mut is_any_hidden) {
                op.figures.hide_latencies();
            }
            is_any_hidden |= !is_shown;
        }
        let mut next = shown.iter();
        self.ops.retain(|_| next.next() == Some(&true));
        for lane in &mut self.lanes {
            for op in &mut lane.run_ops {
                *op = op.filter(|&op| shown[op as usize]);
                *op = op.and_then(|op| u32::try_from(positions[op as usize]).ok());
            }
        }
        (count - self.ops.len()) as u64
    }
}

/// Returns, for each element of a list, its index after the removal of all elements whose `is_kept`
/// is false. The result is meaningless for removed elements.
fn running_positions(is_kept: &[bool]) -> Vec<usize> {
    let mut kept = 0;
    is_kept
        .iter()
        .map(|is_kept| {
            kept += usize::from(*is_kept);
            kept.saturating_sub(1)
        })
        .collect()
}

fn hidden_lane(lane: &TraceLane<'_>) -> HiddenCounts {
    HiddenCounts {
        lanes: 1,
        zones: lane.zones.len() as u64,
        points: lane.points.len() as u64,
        ops: 0,
        lost_records: lane.losses.iter().map(|loss| loss.totals.record_count()).sum(),
    }
}

/// Removes the losses of programs that the filter does not select. Returns the number of lost
/// records in the removed losses.
///
/// A loss belongs to a whole program, and its zone and time are not known exactly. Filters by zone
/// or time therefore keep all losses.
fn retain_losses(
    lane: &mut TraceLane<'_>,
    filter: &TraceFilter,
    programs: &BTreeMap<u32, bool>,
) -> u64 {
    let mut hidden = 0;
    lane.losses.retain(|loss| {
        let program = loss.program.unwrap_or_default();
        let known = programs.get(&program.0).copied();
        let is_wanted = known.unwrap_or_else(|| filter.selects_op(program.base(), None));
        hidden += if is_wanted { 0 } else { loss.totals.record_count() };
        is_wanted
    });
    hidden
}

/// Returns the lanes of a chip that have losses but no records.
pub(super) fn lanes_without_records(
    readout: &Readout,
    chip_id: u32,
    has_records: impl Fn(&LaneId) -> bool,
) -> Vec<LaneId> {
    let keys = readout.losses.entries().map(|(key, _)| key.lane);
    let mut ids: Vec<_> = keys.filter(|id| id.chip_id == chip_id).collect();
    ids.dedup();
    ids.retain(|id| !has_records(id));
    ids
}

/// Metadata by chip and program.
pub(super) type ProgramMetadata<'a> = BTreeMap<(u32, RunHostId), &'a OpMetadata>;

/// Returns the ops of a chip, and assigns runs to their ops.
fn ops_of<'a>(
    launches: Vec<Launch>,
    ops: &'a [OpMetadata],
    clock: &DeviceClock<'_>,
    lanes: &mut [TraceLane<'a>],
) -> Vec<TraceOp<'a>> {
    let metadata = metadata_by_program(ops);
    let ops = launches.into_iter().map(|mut launch| {
        let runs = std::mem::take(&mut launch.runs);
        let known = metadata.get(&(launch.op.chip_id, RunHostId(launch.op.run_host_id))).copied();
        let mut op = TraceOp::new(launch, known, clock);
        op.runs.reserve_exact(runs.len());
        op.runs.extend(runs.iter().filter_map(|run| {
            let lane = lanes.binary_search_by_key(&run.lane, |lane| lane.id).ok()?;
            Some(TraceRun { lane, run: run.run })
        }));
        op
    });
    let mut ops: Vec<_> = ops.collect();
    op::sort(&mut ops);
    for (number, op) in (0_u32..).zip(&ops) {
        for run in &op.runs {
            if let Some(entry) = lanes[run.lane].run_ops.get_mut(run.run) {
                *entry = Some(number);
            }
        }
    }
    ops
}
