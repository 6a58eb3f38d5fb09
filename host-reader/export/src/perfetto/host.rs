//! Packets of the host: one track for each thread, and one counter for each plot.

use super::{
    Placement,
    device::{child, counter, describe, process},
    message::{
        INSTANT, InternedData, SLICE_BEGIN, SourceLocation, TracePacket, TrackDescriptor,
        TrackEvent, UNIT_COUNT,
    },
    sequence::{Sequence, flag_of, named_text},
};
use crate::{TraceHost, TraceHostMark, TraceHostThread, ZoneEdge, words};
use host_events::{HostEvent, HostSource};
use std::collections::BTreeMap;

/// Process number of the host. It is lower than the process numbers of chips.
const PID: i32 = 899_999;

/// First track id of the host. Tracks of chips and lanes use other ranges.
const PROCESS_TRACK: u64 = 1 << 44;
/// Distance between the track ids of consecutive recordings in one file.
const PART_TRACKS: u64 = 1 << 33;
/// Sort rank of the threads' parent track in a file of several hosts: after the host's chips.
const BEHIND_CHIPS: usize = 1 << 20;
/// Track id of the first thread, as an offset from the id of the process's track.
const FIRST_THREAD: u64 = 1;
/// Track id of the first plot, as an offset from the id of the process's track.
const FIRST_PLOT: u64 = 1 << 32;

/// Encodes all activity of the host. Returns no bytes if nothing was recorded.
pub(super) fn packets(host: &TraceHost<'_>, sequence_id: u32, placement: &Placement) -> Vec<u8> {
    if host.is_empty() {
        return Vec::new();
    }
    let base_ns = placement.base_ns;
    let process = PROCESS_TRACK + placement.part * PART_TRACKS;
    let placed = host.sources().into_iter().filter(|source| !source.file.is_empty());
    let places: Places<'_> = placed.zip(1..).collect();
    let interned_data = Some(interned(&places));
    let first = TracePacket { interned_data, ..TracePacket::default() };
    let mut sequence = Sequence::begin(sequence_id, first, 1 << 16);
    describe_process(&mut sequence, host, process, placement);
    for (index, thread) in host.threads.iter().enumerate() {
        let track = process + FIRST_THREAD + index as u64;
        let name = words::thread_label(thread);
        describe(&mut sequence, child(process, track, name, index));
        thread_events(&mut sequence, thread, &places, track, base_ns);
    }
    for (index, plot) in host.plots.iter().enumerate() {
        let track = process + FIRST_PLOT + index as u64;
        let rank = host.threads.len() + index;
        let descriptor = child(process, track, plot.name.to_owned(), rank);
        describe(&mut sequence, counter(descriptor, Some(UNIT_COUNT), None));
        for point in &plot.points {
            sequence.count(base_ns + point.time_ns, track, point.value);
        }
    }
    sequence.into_bytes()
}

/// Writes the descriptor of the parent track of threads and plots. This track is a process if the
/// file has only one host.
fn describe_process(
    sequence: &mut Sequence,
    host: &TraceHost<'_>,
    track: u64,
    placement: &Placement,
) {
    let clock = if host.is_on_clock_of_chips {
        "times are comparable with those of chips"
    } else {
        "times are not comparable with those of chips, which were not synchronised"
    };
    let descriptor = match &placement.process {
        Some(host_process) => {
            let name = host_process.named("threads".to_owned());
            let descriptor = child(host_process.track, track, name, BEHIND_CHIPS);
            TrackDescriptor { description: Some(clock.to_owned()), ..descriptor }
        }
        None => process(track, Some(PID), "host".to_owned(), clock.to_owned()),
    };
    describe(sequence, descriptor);
}

/// Interned id of each source location. The ids are numbered from 1.
type Places<'a> = BTreeMap<&'a HostSource, u64>;

fn interned(places: &Places<'_>) -> InternedData {
    let source_locations = places.iter().map(|(source, &iid)| SourceLocation {
        iid: Some(iid),
        file_name: Some(source.file.to_string()),
        function_name: Some(source.function.to_string()),
        line_number: (source.line > 0).then_some(source.line),
    });
    let source_locations = source_locations.collect();
    InternedData { source_locations, ..InternedData::default() }
}

fn thread_events(
    sequence: &mut Sequence,
    thread: &TraceHostThread<'_>,
    places: &Places<'_>,
    track: u64,
    base_ns: u64,
) {
    let zones = &thread.zones;
    for edge in zones.edges() {
        match edge {
            ZoneEdge::Begin(index) => {
                let zone = &zones[index];
                let Some((event, source)) = thread.zone_event(zone) else { continue };
                sequence.event(base_ns + zone.start_ns, SLICE_BEGIN, |slice| {
                    let iid = places.get(source).copied();
                    fill(slice, track, (&source.name, "host"), iid, event);
                    slice.debug_annotations.extend(zone.is_clipped.then(|| flag_of("clipped")));
                });
            }
            ZoneEdge::End(index) => {
                let end_ns = zones[index].end_ns;
                sequence.end(base_ns + end_ns, track);
            }
        }
    }
    for TraceHostMark { event, source, time_ns } in &thread.marks {
        let (category, name) = words::mark_label(event, source);
        sequence.event(base_ns + time_ns, INSTANT, |instant| {
            fill(instant, track, (&name, category), places.get(source).copied(), event);
        });
    }
}

fn fill(
    event: &mut TrackEvent,
    track: u64,
    (name, category): (&str, &str),
    source_iid: Option<u64>,
    recorded: &HostEvent,
) {
    event.source_location_iid = source_iid;
    let arguments = event.begin(track, name.to_owned(), category);
    let text = recorded.text.as_deref().map(|text| named_text("text", text));
    let color = recorded.color.map(|color| named_text("color", &color.to_string()));
    arguments.extend(text.into_iter().chain(color));
}
