//! Packets of one lane: zones as slices, points and losses as instants.

use super::{
    Context,
    device::{child, describe},
    lane_track,
    message::{
        INSTANT, InternedData, InternedString, SLICE_BEGIN, SLICE_END, SourceLocation, TracePacket,
        TracePacketDefaults, TrackEvent, TrackEventDefaults, ZoneAnnotation, ZoneEvent,
    },
    sequence::{Sequence, named, named_number, named_text, number},
    wait_track,
};
use crate::{
    NameId, PointCategory, Trace, TraceLoss, TracePoint, TraceZone, ZoneEdge, point_words::Meaning,
    trace::place::PlacedLane, words,
};
use analysis::{ZoneTime, counters::Sample};

/// Upper bound for the bytes of a zone's begin and end packets.
const ZONE_BYTES: usize = 72;

/// Argument names that are interned in every lane's sequence. The interned id of a name is its
/// position in this list, counted from 1.
const ARGUMENTS: [&str; 8] = [
    "start_cycle",
    "duration_cycles",
    "run_host_id",
    "open",
    "clipped",
    "cycle",
    "value",
    "second_value",
];
const START_CYCLE: u64 = 1;
const DURATION_CYCLES: u64 = 2;
const RUN_HOST_ID: u64 = 3;
const OPEN: u64 = 4;
const CLIPPED: u64 = 5;
const CYCLE: u64 = 6;
const VALUE: u64 = 7;
const SECOND_VALUE: u64 = 8;

/// Interned categories. The interned id of a category is its position in this list, counted from 1.
const CATEGORIES: [&str; 4] = ["zone", "event", "data", "sum"];
const ZONE: u64 = 1;
const EVENT: u64 = 2;
const DATA: u64 = 3;
const SUM: u64 = 4;

/// Encodes a lane, or a part of it, as packets of the sequence with the id `sequence_id`.
///
/// Each part has its own interned names. If several parts of a lane contain waits, each of them
/// contains a descriptor of the track for waits.
pub(super) fn packets(
    placed: &PlacedLane<'_, '_>,
    context: &Context<'_, '_>,
    sequence_id: u32,
) -> Vec<u8> {
    let base_ns = context.base_ns;
    let lane = placed.lane;
    let capacity_bytes = lane.zones.len() * ZONE_BYTES + lane.points.len() * 48 + 4096;
    let first = first_packet(placed, context);
    let mut sequence = Sequence::begin(sequence_id, first, capacity_bytes);
    let flows = kernel_flows(placed, context);
    let mut next_flow = flows.iter().copied().peekable();
    for edge in lane.zones.edges() {
        match edge {
            ZoneEdge::Begin(index) => {
                let zone = &lane.zones[index];
                let flow = next_flow.next_if(|&(kernel, _)| kernel == index).map(|(_, id)| id);
                // A zone without an end has no duration: queries would add up an invented one.
                let kind = if zone.has_synthetic_end { INSTANT } else { SLICE_BEGIN };
                sequence.zone(base_ns + zone.start_ns, kind, |event| {
                    fill_zone(event, zone, placed);
                    event.terminating_flow_id = flow;
                });
            }
            ZoneEdge::End(index) if lane.zones[index].has_synthetic_end => {}
            ZoneEdge::End(index) => {
                sequence.zone(base_ns + lane.zones[index].end_ns, SLICE_END, |_| {});
            }
        }
    }
    for point in &lane.points {
        let meaning = context.words.meaning(lane.id, point);
        sequence.event(base_ns + point.time_ns, INSTANT, |event| match &meaning {
            Some(Meaning::Counter(sample)) => fill_counter(event, sample, point, placed),
            Some(meaning) => {
                fill_point(event, point, placed);
                fill_meaning(event, meaning);
            }
            None => fill_point(event, point, placed),
        });
    }
    draw_waits(&mut sequence, placed, context);
    for loss in &lane.losses {
        sequence.event(base_ns + loss.time_ns, INSTANT, |event| fill_loss(event, loss));
    }
    sequence.into_bytes()
}

/// Draws blocking waits on a separate track. The lane's own track is drawn in the order of the
/// records, but a wait is recorded only when it ends.
fn draw_waits(sequence: &mut Sequence, placed: &PlacedLane<'_, '_>, context: &Context<'_, '_>) {
    let PlacedLane { lane, device, .. } = *placed;
    let Context { base_ns, .. } = *context;
    let index = context.lane_index(placed);
    let track = wait_track(index);
    let mut is_described = false;
    for point in &lane.points {
        let meaning = context.words.meaning(lane.id, point);
        let Some(Meaning::Wait(wait)) = &meaning else { continue };
        if !is_described {
            let name = format!("{} waits", lane.id.risc);
            describe(sequence, child(lane_track(index), wait_track(index), name, 0));
            is_described = true;
        }
        let start_cycle = point.cycle.saturating_sub(wait.cycles.into());
        sequence.event(base_ns + device.clock.time_ns(start_cycle), SLICE_BEGIN, |event| {
            let label = meaning.as_ref().map(|meaning| meaning.label().into_owned());
            let arguments = event.begin(track, label.unwrap_or_default(), "wait");
            arguments.push(named_number("duration_cycles", wait.cycles.into()));
            arguments.push(named_number("key", wait.key.into()));
        });
        sequence.end(base_ns + point.time_ns, track);
    }
}

/// Returns the zones at which arrows from ops end, in ascending order, each with the arrow's id.
fn kernel_flows(placed: &PlacedLane<'_, '_>, context: &Context<'_, '_>) -> Vec<(usize, u64)> {
    let arrows = &context.arrows;
    let mut flows: Vec<_> = arrows
        .arrow_runs(placed)
        .iter()
        .filter_map(|&run| {
            let kernel = placed.lane.run_kernels.get(run).copied().flatten()?;
            Some((kernel as usize, arrows.id_of(placed, run)))
        })
        .collect();
    flows.sort_unstable();
    flows
}

fn first_packet(placed: &PlacedLane<'_, '_>, context: &Context<'_, '_>) -> TracePacket {
    let track_uuid = Some(lane_track(context.lane_index(placed)));
    TracePacket {
        first_packet_on_sequence: (!placed.is_first).then_some(false),
        interned_data: Some(interned(placed, context.trace)),
        trace_packet_defaults: Some(TracePacketDefaults {
            track_event_defaults: Some(TrackEventDefaults { track_uuid }),
        }),
        ..TracePacket::default()
    }
}

fn interned(placed: &PlacedLane<'_, '_>, trace: &Trace<'_>) -> InternedData {
    let lane = placed.lane;
    let mut is_used = vec![false; trace.names.as_slice().len()];
    let points = lane.points.iter().map(|point| point.name);
    for name in lane.zones.iter().map(|zone| zone.name).chain(points) {
        if let Some(is_used) = is_used.get_mut(name.index()) {
            *is_used = true;
        }
    }
    let mut data = InternedData {
        event_categories: numbered(&CATEGORIES),
        debug_annotation_names: numbered(&ARGUMENTS),
        ..InternedData::default()
    };
    let used = (1..).zip(trace.names.as_slice()).zip(is_used).filter(|(_, is_used)| *is_used);
    for ((iid, name), _) in used {
        data.event_names
            .push(InternedString { iid: Some(iid), name: Some(name.label.clone().into_owned()) });
        data.source_locations.push(SourceLocation {
            iid: Some(iid),
            file_name: Some(name.file.to_owned()),
            function_name: Some(name.label.clone().into_owned()),
            line_number: Some(name.line),
        });
    }
    data
}

fn numbered(texts: &[&str]) -> Vec<InternedString> {
    let numbered = (1..).zip(texts);
    numbered
        .map(|(iid, text)| InternedString { iid: Some(iid), name: Some((*text).into()) })
        .collect()
}

const fn iid(name: NameId) -> Option<u64> {
    Some(name.0 as u64 + 1)
}

fn run_host_id(placed: &PlacedLane<'_, '_>, run: Option<u32>) -> Option<u64> {
    Some(placed.lane.program(run)?.0.into())
}

fn fill_zone(event: &mut ZoneEvent, zone: &TraceZone, placed: &PlacedLane<'_, '_>) {
    event.name_iid = iid(zone.name);
    event.source_location_iid = iid(zone.name);
    event.category_iid = Some(ZONE);
    let arguments = &mut event.debug_annotations;
    arguments.push(zone_number(START_CYCLE, zone.start_cycle));
    if let ZoneTime::Whole { duration_cycles, .. } = zone.time() {
        arguments.push(zone_number(DURATION_CYCLES, duration_cycles));
    }
    arguments.extend(run_host_id(placed, zone.run).map(|id| zone_number(RUN_HOST_ID, id)));
    if zone.has_synthetic_end {
        arguments.push(zone_flag(OPEN));
    }
    if zone.is_clipped {
        arguments.push(zone_flag(CLIPPED));
    }
}

const fn zone_number(name_iid: u64, value: u64) -> ZoneAnnotation {
    ZoneAnnotation { name_iid: Some(name_iid), bool_value: None, uint_value: Some(value) }
}

const fn zone_flag(name_iid: u64) -> ZoneAnnotation {
    ZoneAnnotation { name_iid: Some(name_iid), bool_value: Some(true), uint_value: None }
}

fn fill_point(event: &mut TrackEvent, point: &TracePoint<'_>, placed: &PlacedLane<'_, '_>) {
    event.name_iid = iid(point.name);
    event.source_location_iid = iid(point.name);
    let (category, keys) = match point.category() {
        PointCategory::Sum => (SUM, [DURATION_CYCLES, VALUE]),
        PointCategory::Event => (EVENT, [VALUE, SECOND_VALUE]),
        PointCategory::Data => (DATA, [VALUE, SECOND_VALUE]),
    };
    event.category_iids.push(category);
    let arguments = &mut event.debug_annotations;
    arguments.push(number(CYCLE, point.cycle));
    arguments.extend(keys.iter().zip(point.values).map(|(&key, &value)| number(key, value)));
    arguments.extend(run_host_id(placed, point.run).map(|id| number(RUN_HOST_ID, id)));
    arguments.extend(point.text.map(|text| named_text("text", text)));
}

/// Labels a hardware counter sample with the counter's own name.
fn fill_counter(
    event: &mut TrackEvent,
    sample: &Sample,
    point: &TracePoint<'_>,
    placed: &PlacedLane<'_, '_>,
) {
    event.name = Some(sample.name.to_string());
    event.category_iids.push(DATA);
    let arguments = &mut event.debug_annotations;
    arguments.push(number(CYCLE, point.cycle));
    if sample.is_observable() {
        arguments.push(number(VALUE, sample.count));
    }
    arguments.extend(sample.cycles.map(|cycles| named_number("of_cycles", cycles)));
    arguments.extend(run_host_id(placed, point.run).map(|id| number(RUN_HOST_ID, id)));
}

/// Labels the event of a point with the point's decoded meaning, and adds the fields of the meaning
/// as arguments.
fn fill_meaning(event: &mut TrackEvent, meaning: &Meaning<'_>) {
    event.name_iid = None;
    event.name = Some(meaning.label().into_owned());
    let arguments = meaning.arguments().into_iter();
    event.debug_annotations.extend(arguments.map(|(name, value)| named(name, &value)));
}

fn fill_loss(event: &mut TrackEvent, loss: &TraceLoss) {
    event.name = Some(words::loss_label(loss));
    event.categories.push("loss".to_owned());
    let arguments = &mut event.debug_annotations;
    arguments.push(named_text("cause", loss.cause.label()));
    for (kind, count) in loss.totals.counts() {
        arguments.push(named_number(kind.label(), count));
    }
    for (name, number) in words::launches(&loss.totals) {
        arguments.push(named_number(name, number));
    }
    arguments.push(named_number("is_lower_bound", loss.totals.is_lower_bound.into()));
    arguments.extend(loss.program.map(|program| number(RUN_HOST_ID, program.0.into())));
}
