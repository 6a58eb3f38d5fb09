//! Packets of one chip, except its lanes: tracks, ops, counters, and notes about the trace.

use super::{
    Context, Tracks, causes,
    message::{
        COUNTER, CounterDescriptor, INSTANT, MERGE_NONE, ORDER_EXPLICIT, ProcessDescriptor,
        SLICE_BEGIN, TracePacket, TrackDescriptor, UNIT_BYTES, UNIT_COUNT,
    },
    modules,
    sequence::{Sequence, named, named_number, named_text},
};
use crate::{
    TraceDevice, TraceOp,
    counters::{self, CounterPoints},
    hardware_counters::counters_of_ops,
    words,
};
use analysis::{
    counters::{Limit, MetricSummary},
    noc_events::Noc,
};
use std::{
    collections::BTreeMap,
    io::{self, Write},
};

/// First process number of chips. It is above all real process numbers.
const FIRST_PID: i32 = 900_000;

/// Writes all packets of a chip except its lanes.
pub(super) fn write(
    context: &Context<'_, '_>,
    device_index: usize,
    tracks: &Tracks,
    sequence_id: u32,
    out: &mut dyn Write,
) -> io::Result<()> {
    let sequence = Sequence::begin(sequence_id, TracePacket::default(), 1 << 16);
    let device = &context.trace.devices[device_index];
    let mut packets = DevicePackets { sequence, context, device, device_index, tracks };
    packets.describe_device();
    packets.describe_content();
    packets.describe_rows();
    packets.describe_lanes();
    packets.describe_counters();
    packets.describe_trace();
    for row in 0..tracks.row_count {
        let mut arrow_ids = context.arrows.of_ops(context.items, device_index);
        for (number, op) in
            (0..).zip(context.items.ops(device_index)).filter(|(_, op)| op.row == row)
        {
            packets.op_slice(&op, arrow_ids(number, &op));
            packets.sequence.write_many(out)?;
        }
    }
    if context.trace.has_modules {
        modules::draw(&mut packets.sequence, context, device_index, tracks, out)?;
    }
    packets.count_kernels(out)?;
    packets.count_losses();
    packets.count_bytes();
    packets.draw_metrics();
    causes::draw(&mut packets.sequence, context, device_index, tracks);
    out.write_all(&packets.sequence.into_bytes())
}

/// Writer for the packets of a chip.
struct DevicePackets<'t, 'a> {
    sequence: Sequence,
    context: &'t Context<'t, 'a>,
    device: &'t TraceDevice<'a>,
    device_index: usize,
    tracks: &'t Tracks,
}

pub(super) fn describe(sequence: &mut Sequence, descriptor: TrackDescriptor) {
    let track_descriptor = Some(TrackDescriptor {
        child_ordering: Some(ORDER_EXPLICIT),
        sibling_merge_behavior: Some(MERGE_NONE),
        ..descriptor
    });
    sequence.add(TracePacket { track_descriptor, ..TracePacket::default() });
}

fn clock_sentence(device: &TraceDevice<'_>) -> String {
    let frequency_ghz = device.clock.frequency_ghz();
    match device.clock.bound_ns() {
        Some(bound) => format!("host time within {bound:.1} ns, {frequency_ghz:.6} GHz"),
        None => format!(
            "time since the chip's first record, cycles taken at {frequency_ghz:.3} GHz; \
             not synchronised with the host or other chips"
        ),
    }
}

pub(super) fn child(parent: u64, uuid: u64, name: String, rank: usize) -> TrackDescriptor {
    TrackDescriptor {
        uuid: Some(uuid),
        name: Some(name),
        parent_uuid: Some(parent),
        sibling_order_rank: i32::try_from(rank).ok(),
        ..TrackDescriptor::default()
    }
}

/// Converts the descriptor of a track to the descriptor of a counter track.
pub(super) fn counter(
    track: TrackDescriptor,
    unit: Option<i32>,
    description: Option<String>,
) -> TrackDescriptor {
    TrackDescriptor { counter: Some(CounterDescriptor { unit }), description, ..track }
}

/// Returns the descriptor of a process's track.
pub(super) fn process(
    uuid: u64,
    pid: Option<i32>,
    name: String,
    description: String,
) -> TrackDescriptor {
    TrackDescriptor {
        uuid: Some(uuid),
        name: Some(name.clone()),
        process: Some(ProcessDescriptor { pid, process_name: Some(name) }),
        description: Some(description),
        ..TrackDescriptor::default()
    }
}

impl DevicePackets<'_, '_> {
    fn describe_device(&mut self) {
        let name = words::device_label_on_axis(self.context.trace, self.device);
        if let Some(process) = &self.context.placement.process {
            let track =
                child(process.track, self.tracks.device, process.named(name), self.device_index);
            let description = Some(clock_sentence(self.device));
            describe(&mut self.sequence, TrackDescriptor { description, ..track });
            return;
        }
        let pid = i32::try_from(self.device_index).ok();
        let pid = pid.map(|index| FIRST_PID.saturating_add(index));
        let track = process(self.tracks.device, pid, name, clock_sentence(self.device));
        describe(&mut self.sequence, track);
    }

    fn describe_content(&mut self) {
        let Tracks { device, content, .. } = *self.tracks;
        describe(&mut self.sequence, child(device, content, "ops and cores".to_owned(), 0));
    }

    fn describe_rows(&mut self) {
        let Self { device, tracks, .. } = *self;
        for row in 0..tracks.row_count {
            let name = words::row_label(row);
            let track = child(tracks.content, tracks.row(row), name, row as usize);
            describe(&mut self.sequence, track);
        }
        debug_assert!(device.ops.iter().all(|op| op.row < tracks.row_count));
    }

    fn describe_lanes(&mut self) {
        let Self { device, tracks, .. } = *self;
        let mut lane_index = 0;
        for (core_index, lanes) in device.cores().enumerate() {
            let Some(first) = lanes.first() else { continue };
            let core = tracks.core(core_index);
            let rank = tracks.row_count as usize + 2 + core_index;
            let track = child(tracks.content, core, words::core_label(first), rank);
            describe(&mut self.sequence, track);
            for lane in lanes {
                let rank = lane.id.risc as usize;
                let uuid = tracks.lane(lane_index);
                describe(&mut self.sequence, child(core, uuid, lane.id.risc.to_string(), rank));
                lane_index += 1;
            }
        }
    }

    fn describe_counters(&mut self) {
        let tracks = self.tracks;
        let counters =
            [(tracks.kernel_counter, "kernels running"), (tracks.loss_counter, "lost records")];
        for (rank, (uuid, name)) in (tracks.row_count as usize..).zip(counters) {
            let track = child(tracks.content, uuid, name.to_owned(), rank);
            describe(&mut self.sequence, counter(track, Some(UNIT_COUNT), None));
        }
    }

    /// Adds notes about the trace's clock and anomalies as an event at the chip's first record.
    fn describe_trace(&mut self) {
        let Self { context: Context { trace, placement, .. }, device, tracks, .. } = *self;
        let time_ns = self.context.base_ns + self.first_ns();
        self.sequence.event(time_ns, INSTANT, |event| {
            let arguments = event.begin(tracks.device, "about this trace".to_owned(), "kprof");
            arguments.push(named_text("clock", &clock_sentence(device)));
            let process = placement.process.as_ref();
            arguments.extend(process.map(|host| named_text("clock_of_host", &host.clock)));
            arguments.push(named_number("first_cycle", device.clock.first_cycle()));
            for (key, count) in trace.doubts() {
                arguments.push(named_number(&key, count));
            }
        });
    }

    /// Returns the time of the chip's first record, relative to the trace's origin.
    fn first_ns(&self) -> u64 {
        let clock = &self.device.clock;
        clock.time_ns(clock.first_cycle())
    }

    fn op_slice(&mut self, op: &TraceOp<'_>, flow_ids: Vec<u64>) {
        let track = self.tracks.row(op.row);
        self.sequence.event(self.context.base_ns + op.start_ns, SLICE_BEGIN, |event| {
            let arguments = event.begin(track, op.label(), "op");
            op.for_each_argument(|key, value| arguments.push(named(key, value)));
            let fields = op.metadata.iter().flat_map(|metadata| metadata.fields.iter());
            arguments.extend(fields.map(|(key, value)| named_text(key, value)));
        });
        self.launch_instant(op, flow_ids);
        self.sequence.end(self.context.base_ns + op.end_ns, track);
    }

    /// Marks the start of an op. The arrows to the op's cores start at this instant, because
    /// viewers draw an arrow from the end of a slice: arrows from the op itself would run
    /// backwards.
    fn launch_instant(&mut self, op: &TraceOp<'_>, flow_ids: Vec<u64>) {
        if flow_ids.is_empty() {
            return;
        }
        let track = self.tracks.row(op.row);
        self.sequence.event(self.context.base_ns + op.start_ns, INSTANT, |event| {
            let arguments = event.begin(track, "launch".to_owned(), "launch");
            arguments.push(named_number("run_host_id", op.figures.run_host_id.into()));
            event.flow_ids = flow_ids;
        });
    }

    fn count_kernels(&mut self, out: &mut dyn Write) -> io::Result<()> {
        for (time_ns, value) in self.context.items.kernels_running(self.device_index) {
            self.counter_point(self.tracks.kernel_counter, time_ns, value);
            self.sequence.write_many(out)?;
        }
        Ok(())
    }

    /// Draws lost records as a counter. Without losses, the counter is 0.
    fn count_losses(&mut self) {
        let first_ns = self.first_ns();
        let mut points = counters::records_lost(self.device);
        if points.first().is_none_or(|&(time_ns, _)| time_ns > first_ns) {
            points.insert(0, (first_ns, 0));
        }
        self.count(self.tracks.loss_counter, points);
    }

    /// Draws a counter of transferred bytes for each NoC that has transfers.
    fn count_bytes(&mut self) {
        for (noc, track) in [Noc::Noc0, Noc::Noc1].into_iter().zip(self.tracks.noc_counters) {
            let points = counters::bytes_moved(self.context.trace, self.device, noc);
            if points.is_empty() {
                continue;
            }
            let rank = self.tracks.row_count as usize + 2;
            let name = format!("{} bytes moved", noc.label());
            let description = "read and written by cores, each rounded up to 32".to_owned();
            let descriptor = child(self.tracks.content, track, name, rank);
            let descriptor = counter(descriptor, Some(UNIT_BYTES), Some(description));
            describe(&mut self.sequence, descriptor);
            self.count(track, points);
        }
    }

    /// Draws a counter for each metric.
    ///
    /// At the start of each op, the counter changes to the mean of the metric over the op's cores.
    /// If an op has no counters for a metric, or the metric is in doubt, the previous value stays,
    /// because the metric is unknown and not 0.
    fn draw_metrics(&mut self) {
        let is_blackhole = self.device.chip.arch.contains("blackhole");
        let mut tracks: BTreeMap<&str, u64> = BTreeMap::new();
        for launch in counters_of_ops(self.device, &self.context.trace.names) {
            let Some(op) = self.device.ops.get(launch.launch) else { continue };
            for summary in launch.counters.summaries(is_blackhole) {
                let next = self.tracks.first_metric + tracks.len() as u64;
                let track = *tracks.entry(summary.metric.label()).or_insert_with(|| {
                    let name = summary.metric.title(MEAN);
                    describe_metric(&mut self.sequence, self.tracks, next, name, &summary);
                    next
                });
                if let Some(known) = summary.statistics.filter(|_| summary.doubt.is_none()) {
                    self.sequence.count(self.context.base_ns + op.start_ns, track, known.mean);
                }
            }
        }
    }

    fn count(&mut self, track: u64, points: CounterPoints) {
        points.into_iter().for_each(|(time_ns, value)| self.counter_point(track, time_ns, value));
    }

    fn counter_point(&mut self, track: u64, time_ns: u64, value: i64) {
        self.sequence.event(self.context.base_ns + time_ns, COUNTER, |event| {
            event.track_uuid = Some(track);
            event.counter_value = Some(value);
        });
    }
}

/// Name of the statistic that the counter track of a metric shows.
const MEAN: &str = MetricSummary::STATISTICS[3];

/// Writes the track descriptor of a metric, including the metric's limits.
fn describe_metric(
    sequence: &mut Sequence,
    tracks: &Tracks,
    uuid: u64,
    name: String,
    summary: &MetricSummary,
) {
    let rank = tracks.row_count as usize + 2;
    let limits: Vec<_> = summary.metric.limits().into_iter().map(Limit::label).collect();
    let description = format!(
        "mean over the cores of an op, from its start until the next op that has one that is \
         not in doubt; blind to: {}",
        limits.join("; ")
    );
    let track = child(tracks.content, uuid, name, rank);
    describe(sequence, counter(track, None, Some(description)));
}
