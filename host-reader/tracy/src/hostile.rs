//! Tests with frames that no client would send. The tests check that nothing panics, and that all
//! indices in the recording are valid.

use crate::{
    RecordingEnd, TracyRecording,
    client::Welcome,
    protocol::{Form, ItemKind, Program, TracyProtocol},
    session::Session,
    times::ClientClock,
    write_op_messages, write_op_times,
};
use proptest::prelude::*;

pub(crate) fn session(protocol: &'static TracyProtocol, most_events: usize) -> Session {
    let clock = ClientClock { start_ticks: 1_000, ns_per_tick: 0.5 };
    let [name, host] = [String::new(), String::new()];
    let welcome = Welcome { clock, name, host, process_id: 1, started_s: 0 };
    Session::new(protocol, welcome, Program::Stock, most_events)
}

/// Returns an item of a kind, with fields that consist of repetitions of `bytes`.
fn item(protocol: &TracyProtocol, kind: ItemKind, bytes: &[u8]) -> Vec<u8> {
    let mut item: Vec<u8> = protocol.code(kind).into_iter().collect();
    let filled = |count: usize| bytes.iter().copied().cycle().take(count);
    let count = u8::try_from(bytes.len()).unwrap();
    match protocol.form(kind) {
        _ if item.is_empty() => {}
        Form::Fixed(count) => item.extend(filled(count)),
        Form::Text8 => {
            item.push(count);
            item.extend(bytes);
        }
        Form::Text16 => {
            let left_out = if protocol.has_short_texts() { 256 } else { 0 };
            item.extend(u16::from(count).to_le_bytes());
            item.extend(filled(usize::from(count) + left_out));
        }
        Form::KeyedText16 => {
            item.extend(filled(8));
            item.extend(u16::from(count).to_le_bytes());
            item.extend(bytes);
        }
        Form::KeyedText32 => {
            item.extend(filled(8));
            item.extend(u32::from(count).to_le_bytes());
            item.extend(bytes);
        }
    }
    item
}

fn assert_valid(recording: &TracyRecording) {
    let thread_count = recording.threads.len();
    let stack_count = recording.callstacks.len();
    let is_stack = |index: Option<u32>| index.is_none_or(|index| (index as usize) < stack_count);
    for zone in recording.threads.iter().flat_map(|thread| &thread.zones) {
        assert!(recording.location(zone.location).is_some());
        assert!(zone.end_ns.is_none_or(|end| end >= zone.start_ns));
        assert!(zone.extra.as_ref().is_none_or(|extra| is_stack(extra.callstack)));
    }
    for zone in recording.devices.iter().flat_map(|device| &device.zones) {
        assert!(recording.location(zone.location).is_some());
    }
    for message in &recording.messages {
        assert!(message.thread < thread_count && is_stack(message.callstack));
    }
    let host = recording.to_host_recording(5);
    let thread_zones = recording.threads.iter().map(|thread| thread.zones.len());
    let device_zones = recording.devices.iter().map(|device| device.zones.len());
    let zones: usize = thread_zones.chain(device_zones).sum();
    let open: u64 = host.threads.iter().map(|thread| thread.open_zone_count).sum();
    let kinds = host.threads.iter().flat_map(|thread| &thread.events).map(|event| event.kind);
    let kept = kinds.filter(|kind| matches!(kind, host_events::HostEventKind::Zone { .. }));
    assert_eq!(kept.count() as u64 + open, zones as u64);
    for event in host.threads.iter().flat_map(|thread| &thread.events) {
        assert!(host.source(event).is_some());
    }
    write_op_times(recording, &["work"], Vec::new()).unwrap();
    write_op_messages(recording, Vec::new()).unwrap();
}

fn protocols() -> impl Strategy<Value = &'static TracyProtocol> {
    (0..TracyProtocol::all().len()).prop_map(|index| &TracyProtocol::all()[index])
}

/// Returns the versions whose number is used either by Tracy or by Tenstorrent's fork, but not by
/// both.
///
/// For a number that both use, the session chooses the version that can decode the frames. Such
/// numbers are left out, because the random frames of a test may be invalid in both versions.
fn unshared() -> impl Strategy<Value = &'static TracyProtocol> {
    protocols().prop_filter("a number of two programs", |known| {
        TracyProtocol::all().iter().filter(|other| other.number == known.number).count() == 1
    })
}

fn kinds() -> impl Strategy<Value = ItemKind> {
    (0..ItemKind::ALL.len()).prop_map(|index| ItemKind::ALL[index])
}

#[test]
fn the_end_of_a_zone_that_is_not_kept_ends_no_other() {
    let protocol = TracyProtocol::with_number(76, Program::Stock).unwrap();
    let code = |kind| protocol.code(kind).unwrap();
    let mut frame = vec![code(ItemKind::ThreadContext), 9, 0, 0, 0];
    let mut edge = |kind, distance: i64| {
        if kind == ItemKind::ZoneBeginAllocSrcLoc {
            frame.push(code(ItemKind::SourceLocationPayload));
            frame.extend([0; 8]);
            frame.extend([12, 0]); // bytes that follow: colour, line, three texts
            frame.extend([0; 8]);
            frame.extend(*b"f\0\0z");
        }
        frame.push(code(kind));
        frame.extend(distance.to_le_bytes());
    };
    edge(ItemKind::ZoneBeginAllocSrcLoc, 1_000);
    edge(ItemKind::ZoneBeginAllocSrcLoc, 10);
    edge(ItemKind::ZoneEnd, 20);
    edge(ItemKind::ZoneEnd, 100);
    let mut session = session(protocol, 1);
    assert_eq!(session.take_frame(&frame), Ok(()));
    let recording = session.finish(RecordingEnd::Complete);
    // The clock begins at tick 1,000; two ticks are one nanosecond.
    let zones = &recording.threads[0].zones;
    assert_eq!(zones.len(), 1);
    assert_eq!((zones[0].start_ns, zones[0].end_ns), (0, Some(65)));
    let damage = crate::Damage { beyond_limit: 1, ..crate::Damage::default() };
    assert_eq!(recording.damage, damage);
}

#[test]
fn whole_zones_of_devices_keep_to_the_limit() {
    let protocol = TracyProtocol::with_number(83, Program::Fork).unwrap();
    let items =
        [(ItemKind::GpuNewContext, [2, 3].as_slice()), (ItemKind::GpuZone, &[2, 3, 0, 0, 0, 0, 0])];
    // The repeated bytes give both items the same context.
    for (most_events, kept, beyond_limit) in [(0, 0, 1), (1, 1, 0)] {
        let mut session = session(protocol, most_events);
        let frame: Vec<u8> =
            items.iter().flat_map(|(kind, bytes)| item(protocol, *kind, bytes)).collect();
        assert_eq!(session.take_frame(&frame), Ok(()));
        let recording = session.finish(RecordingEnd::Cut);
        assert_eq!(recording.damage.beyond_limit, beyond_limit);
        assert_eq!(recording.damage.stray_device_items, 0);
        assert_eq!(recording.devices[0].zones.len(), kept);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_are_taken_or_refused(
        protocol in protocols(),
        frames in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 0..4),
    ) {
        let mut session = session(protocol, 1_000);
        let mut end = RecordingEnd::Cut;
        for frame in &frames {
            if let Err(bad) = session.take_frame(frame) {
                end = session.unreadable(bad.to_string());
                break;
            }
        }
        let is_unreadable = matches!(end, RecordingEnd::Unreadable { .. });
        let recording = session.finish(end);
        prop_assert_eq!(recording.damage.unread_bytes > 0, is_unreadable);
        assert_valid(&recording);
    }

    #[test]
    fn items_with_any_fields_in_any_order_are_taken(
        protocol in unshared(),
        items in proptest::collection::vec((kinds(), proptest::collection::vec(0_u8..4, 1..9)), 0..80),
        most_events in 0_usize..40,
    ) {
        let mut session = session(protocol, most_events);
        let frame: Vec<u8> =
            items.iter().flat_map(|(kind, bytes)| item(protocol, *kind, bytes)).collect();
        prop_assert_eq!(session.take_frame(&frame), Ok(()));
        let recording = session.finish(RecordingEnd::Cut);
        assert_valid(&recording);
        let points: usize = recording.plots.iter().map(|plot| plot.points.len()).sum();
        let frames: usize = recording.frames.iter().map(|series| series.frames.len()).sum();
        let devices: usize = recording.devices.iter().map(|device| device.zones.len()).sum();
        let kept = recording.zone_count() + recording.messages.len() + points + frames + devices;
        prop_assert!(kept <= most_events, "{kept}");
    }
}
