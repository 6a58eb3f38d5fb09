//! The packets of one chip beside its lanes: tracks, ops, counters and what to know.

use super::{
    Tracks,
    message::{
        COUNTER, CounterDescriptor, INSTANT, MERGE_NONE, ORDER_EXPLICIT, ProcessDescriptor,
        SLICE_BEGIN, SLICE_END, TracePacket, TrackDescriptor, TrackEvent, UNIT_COUNT,
    },
    sequence::{Sequence, named_number, named_text},
};
use crate::export::{Trace, TraceDevice, TraceOp, flow::flow_id, words};

/// Process numbers begin here, beyond those of real processes.
const FIRST_PID: i32 = 900_000;

/// Encodes everything of a chip but its lanes.
pub(super) fn packets(
    trace: &Trace<'_>,
    device_index: usize,
    tracks: &Tracks,
    sequence_id: u32,
    base_ns: u64,
) -> Vec<u8> {
    let device = &trace.devices[device_index];
    let mut sequence = Sequence::begin(sequence_id, TracePacket::default(), 1 << 16);
    describe_device(&mut sequence, device_index, device, tracks);
    describe_rows(&mut sequence, device, tracks);
    describe_lanes(&mut sequence, device, tracks);
    describe_counters(&mut sequence, tracks);
    tell_about_trace(&mut sequence, trace, device, tracks, base_ns);
    for row in 0..tracks.row_count {
        for op in device.ops.iter().filter(|op| op.row == row) {
            op_slice(&mut sequence, device_index, op, tracks, base_ns);
        }
    }
    count_kernels(&mut sequence, device, trace, tracks, base_ns);
    count_losses(&mut sequence, device, tracks, base_ns);
    sequence.into_bytes()
}

pub(super) fn describe(sequence: &mut Sequence, descriptor: TrackDescriptor) {
    let track_descriptor = Some(TrackDescriptor {
        child_ordering: Some(ORDER_EXPLICIT),
        sibling_merge_behavior: Some(MERGE_NONE),
        ..descriptor
    });
    sequence.add(TracePacket { track_descriptor, ..TracePacket::default() });
}

fn describe_device(
    sequence: &mut Sequence,
    device_index: usize,
    device: &TraceDevice<'_>,
    tracks: &Tracks,
) {
    let name = words::device_label(device);
    let pid = i32::try_from(device_index).ok().map(|index| FIRST_PID.saturating_add(index));
    let process = ProcessDescriptor { pid, process_name: Some(name.clone()) };
    describe(
        sequence,
        TrackDescriptor {
            uuid: Some(tracks.device),
            name: Some(name),
            process: Some(process),
            description: Some(clock_sentence(device)),
            ..TrackDescriptor::default()
        },
    );
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

fn describe_rows(sequence: &mut Sequence, device: &TraceDevice<'_>, tracks: &Tracks) {
    for row in 0..tracks.row_count {
        let name = if row == 0 { "ops".to_owned() } else { format!("ops, row {}", row + 1) };
        describe(sequence, child(tracks.device, tracks.row(row), name, row as usize));
    }
    debug_assert!(device.ops.iter().all(|op| op.row < tracks.row_count));
}

fn describe_lanes(sequence: &mut Sequence, device: &TraceDevice<'_>, tracks: &Tracks) {
    let mut lane_index = 0;
    for (core_index, lanes) in device.cores().enumerate() {
        let Some(first) = lanes.first() else { continue };
        let core = tracks.core(core_index);
        let rank = tracks.row_count as usize + 2 + core_index;
        describe(sequence, child(tracks.device, core, words::core_label(first), rank));
        for lane in lanes {
            let rank = lane.id.risc as usize;
            let uuid = tracks.lane(lane_index);
            describe(sequence, child(core, uuid, lane.id.risc.to_string(), rank));
            lane_index += 1;
        }
    }
}

fn describe_counters(sequence: &mut Sequence, tracks: &Tracks) {
    let counters =
        [(tracks.kernel_counter, "kernels running"), (tracks.loss_counter, "lost records")];
    for (rank, (uuid, name)) in (tracks.row_count as usize..).zip(counters) {
        let counter = Some(CounterDescriptor { unit: Some(UNIT_COUNT) });
        let track = child(tracks.device, uuid, name.to_owned(), rank);
        describe(sequence, TrackDescriptor { counter, ..track });
    }
}

/// Says in band how far the trace can be trusted, at the chip's first record.
fn tell_about_trace(
    sequence: &mut Sequence,
    trace: &Trace<'_>,
    device: &TraceDevice<'_>,
    tracks: &Tracks,
    base_ns: u64,
) {
    let clock = &device.clock;
    let time_ns = base_ns + clock.time_ns(clock.first_cycle());
    sequence.event(time_ns, INSTANT, |event| {
        event.track_uuid = Some(tracks.device);
        event.name = Some("about this trace".to_owned());
        event.categories.push("kprof".to_owned());
        let arguments = &mut event.debug_annotations;
        arguments.push(named_text("clock", &clock_sentence(device)));
        arguments.push(named_number("first_cycle", clock.first_cycle()));
        for (key, count) in trace.doubts() {
            arguments.push(named_number(&key, count));
        }
    });
}

fn op_slice(
    sequence: &mut Sequence,
    device_index: usize,
    op: &TraceOp<'_>,
    tracks: &Tracks,
    base_ns: u64,
) {
    let track_uuid = Some(tracks.row(op.row));
    sequence.event(base_ns + op.start_ns, SLICE_BEGIN, |event| {
        event.track_uuid = track_uuid;
        fill_op(event, op);
        event.flow_ids =
            op.runs.iter().map(|run| flow_id(device_index, run.lane, run.run)).collect();
    });
    sequence.event(base_ns + op.end_ns, SLICE_END, |event| event.track_uuid = track_uuid);
}

fn fill_op(event: &mut TrackEvent, op: &TraceOp<'_>) {
    event.name = Some(op.label());
    event.categories.push("op".to_owned());
    let figures = &op.figures;
    let numbers = [
        ("run_host_id", Some(figures.run_host_id.into())),
        ("launch", Some(figures.launch)),
        ("trace_id", figures.trace_id),
        ("trace_replay", figures.trace_replay),
        ("start_cycle", Some(op.start_cycle)),
        ("duration_cycles", Some(op.end_cycle.saturating_sub(op.start_cycle))),
        ("kernel_cycles", figures.kernel.map(|kernel| kernel.duration_cycles)),
        ("firmware_cycles", figures.firmware.map(|firmware| firmware.duration_cycles)),
        ("cores", Some(figures.core_count)),
        ("unfinished_cores", Some(figures.unfinished_core_count).filter(|&count| count > 0)),
        ("op_to_op_latency_cycles", figures.op_to_op_latency_cycles),
        ("clocks_of_cores_disagree", figures.is_spread_implausible.then_some(1)),
    ];
    let arguments = &mut event.debug_annotations;
    arguments.extend(numbers.iter().filter_map(|&(key, number)| Some(named_number(key, number?))));
    let fields = op.metadata.iter().flat_map(|metadata| &metadata.fields);
    arguments.extend(fields.map(|(key, value)| named_text(key, value)));
}

/// Kernels that run at the same time, over all lanes.
fn count_kernels(
    sequence: &mut Sequence,
    device: &TraceDevice<'_>,
    trace: &Trace<'_>,
    tracks: &Tracks,
    base_ns: u64,
) {
    let mut steps: Vec<(u64, i64)> = Vec::new();
    for lane in &device.lanes {
        let kernels = lane.run_kernels.iter().flatten();
        for zone in kernels.filter_map(|&kernel| lane.zones.get(kernel as usize)) {
            if trace.names.get(zone.name).is_some_and(|name| name.is_kernel) {
                steps.extend([(zone.start_ns, 1), (zone.end_ns, -1)]);
            }
        }
    }
    write_counter(sequence, tracks.kernel_counter, steps, base_ns);
}

/// Records lost so far, over all lanes.
fn count_losses(sequence: &mut Sequence, device: &TraceDevice<'_>, tracks: &Tracks, base_ns: u64) {
    let losses = device.lanes.iter().flat_map(|lane| &lane.losses);
    let step = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let steps = losses.map(|loss| (loss.time_ns, step(loss.totals.record_count())));
    let first_ns = device.clock.time_ns(device.clock.first_cycle());
    write_counter(
        sequence,
        tracks.loss_counter,
        [(first_ns, 0)].into_iter().chain(steps).collect(),
        base_ns,
    );
}

/// Adds steps up, with one value for each time at which the sum changes.
fn write_counter(sequence: &mut Sequence, track: u64, mut steps: Vec<(u64, i64)>, base_ns: u64) {
    steps.sort_by_key(|&(time_ns, _)| time_ns);
    let mut value = 0_i64;
    for at_once in steps.chunk_by(|one, other| one.0 == other.0) {
        value = at_once.iter().fold(value, |sum, &(_, step)| sum.saturating_add(step));
        let Some(&(time_ns, _)) = at_once.first() else { continue };
        sequence.event(base_ns + time_ns, COUNTER, |event| {
            event.track_uuid = Some(track);
            event.counter_value = Some(value);
        });
    }
}
