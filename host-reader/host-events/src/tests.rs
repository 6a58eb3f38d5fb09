use super::*;
use crate::host_zone_scoped;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

static OUTER: HostSource = HostSource::new("Outer", "tests", "host.rs", 1);
static INNER: HostSource = HostSource::new("Inner", "tests", "host.rs", 2);
static QUEUE: HostSource = HostSource::new("queued", "tests", "host.rs", 3);

/// Returns a recorder whose clock advances by 10 ns with each reading.
fn ticking(options: HostRecorderOptions) -> HostRecorder {
    let time = AtomicU64::new(0);
    let clock = move || time.fetch_add(10, Ordering::Relaxed);
    HostRecorder::new(HostRecorderOptions { clock: Some(Arc::new(clock)), ..options })
}

fn all_kinds(recorder: &HostRecorder) {
    let mut outer = recorder.zone(&OUTER);
    outer.text("program 7");
    drop(recorder.zone(&INNER));
    recorder.message(&OUTER, "half way");
    recorder.signpost("start", Some("of the model"), None);
    recorder.frame_mark(&INNER);
    recorder.plot(&QUEUE, 2.5);
}

#[test]
fn every_kind_of_event_comes_back_with_its_time_and_place() {
    let recorder = ticking(HostRecorderOptions::default());
    all_kinds(&recorder);
    let recording = recorder.take();
    let [thread] = &recording.threads[..] else { panic!("{recording:?}") };
    let shown: Vec<_> = thread
        .events
        .iter()
        .map(|event| (recording.name(event), event.time_ns, event.kind, event.text.as_deref()))
        .collect();
    let zone = |end_ns, depth| HostEventKind::Zone { end_ns, depth };
    assert_eq!(
        shown,
        [
            ("Inner", 10, zone(20, 1), None),
            ("Outer", 30, HostEventKind::Message, Some("half way")),
            ("start", 40, HostEventKind::Signpost, Some("of the model")),
            ("Inner", 50, HostEventKind::FrameMark, None),
            ("queued", 60, HostEventKind::Plot { value: 2.5 }, None),
            ("Outer", 0, zone(70, 0), Some("program 7")),
        ]
    );
    assert_eq!(recording.source(&thread.events[0]), Some(&INNER));
    assert!(recorder.take().is_empty());
}

#[test]
fn colours_stay_with_the_events_that_they_were_given_to() {
    let recorder = ticking(HostRecorderOptions::default());
    let color = |rgb| HostColor::from_rgb(rgb).unwrap();
    let mut zone = recorder.zone(&OUTER);
    zone.color(color(0xFF_0000));
    zone.color(color(0x12_3456));
    zone.text("program 7");
    recorder.message_of(Arc::new(INNER.clone()), "half way", Some(color(0)));
    recorder.message(&OUTER, "plain");
    recorder.signpost("start", None, Some(color(0xFF_FFFF)));
    recorder.signpost("next", Some("of two"), Some(color(0xF0_F8FF)));
    recorder.signpost("end", None, None);
    drop(zone);
    let recording = recorder.take();
    let events = recording.threads[0].events.iter();
    let shown: Vec<_> = events
        .map(|event| {
            let color = event.color.map(|color| (color.red, color.green, color.blue));
            (recording.name(event), event.text.as_deref(), color)
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("Inner", Some("half way"), Some((0, 0, 0))),
            ("Outer", Some("plain"), None),
            ("start", None, Some((0xFF, 0xFF, 0xFF))),
            ("next", Some("of two"), Some((0xF0, 0xF8, 0xFF))),
            ("end", None, None),
            ("Outer", Some("program 7"), Some((0x12, 0x34, 0x56))),
        ]
    );
}

#[test]
fn what_does_not_fit_is_counted_and_open_zones_keep_their_room() {
    let options = HostRecorderOptions {
        events_per_thread: 3,
        text_bytes_per_thread: 4,
        op_count: 1,
        clock: None,
    };
    let recorder = ticking(options);
    let outer = recorder.zone(&OUTER);
    recorder.message(&OUTER, "1234");
    recorder.message(&OUTER, "5");
    recorder.message(&OUTER, "there is no room for a third event");
    drop(recorder.zone(&INNER));
    drop(outer);
    recorder.op(OpMetadata::default());
    recorder.op(OpMetadata::default());
    let recording = recorder.take();
    let thread = &recording.threads[0];
    assert_eq!(thread.events.len(), 3);
    assert_eq!(thread.dropped, HostDrops { zones: 1, others: 1, texts: 1 });
    assert_eq!((recording.ops.len(), recording.dropped_op_count), (1, 1));
    assert_eq!(recording.dropped_count(), 4);
    assert_eq!(thread.events[2].kind, HostEventKind::Zone { end_ns: 40, depth: 0 });
}

#[test]
fn zones_that_are_open_come_with_the_next_records() {
    let recorder = ticking(HostRecorderOptions::default());
    let open = recorder.zone(&OUTER);
    let first = recorder.take();
    assert_eq!((first.event_count(), first.threads[0].open_zone_count), (0, 1));
    drop(open);
    let second = recorder.take();
    assert_eq!((second.event_count(), second.threads[0].open_zone_count), (1, 0));
}

#[test]
fn threads_record_side_by_side_and_lose_nothing() {
    const THREADS: u64 = 8;
    const ZONES: u64 = 2000;
    let recorder = HostRecorder::default();
    let (mut events, mut numbers) = (0, std::collections::BTreeSet::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..ZONES).for_each(|_| drop(recorder.zone(&OUTER))));
        }
        // Events are taken while other threads record.
        for _ in 0..20 {
            let recording = recorder.take();
            events += recording.event_count();
            numbers.extend(recording.threads.iter().map(|thread| thread.number));
        }
    });
    let rest = recorder.take();
    numbers.extend(rest.threads.iter().map(|thread| thread.number));
    assert_eq!(events + rest.event_count(), THREADS * ZONES);
    assert_eq!((numbers.len() as u64, rest.dropped_count()), (THREADS, 0));
}

#[test]
fn records_of_a_thread_that_waits_are_there_and_those_of_one_that_ended_are_taken_once() {
    let recorder = HostRecorder::default();
    let (recorded, wait) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            recorder.plot(&QUEUE, 1.0);
            recorded.wait();
            wait.wait();
            recorder.plot(&QUEUE, 2.0);
        });
        recorded.wait();
        assert_eq!(recorder.take().event_count(), 1);
        wait.wait();
        waiting.join().unwrap();
    });
    assert_eq!(recorder.take().event_count(), 1);
    assert!(recorder.take().is_empty());
}

#[test]
fn texts_of_any_length_come_back() {
    let recorder = HostRecorder::default();
    let texts: Vec<_> = [0, 1, 7, 8, 9, 40_000, 100_000, 3].map(|n| "\u{e4}b ".repeat(n)).into();
    texts.iter().for_each(|text| recorder.message(&OUTER, text));
    host_message_to(&recorder, 7);
    let recording = recorder.take();
    let found: Vec<_> =
        recording.threads[0].events.iter().map(|event| event.text.as_deref().unwrap()).collect();
    assert_eq!(found[..texts.len()], texts);
    assert_eq!(found[texts.len()..], ["layer 7"]);
}

fn host_message_to(recorder: &HostRecorder, layer: u32) {
    recorder.message_fmt(&OUTER, format_args!("layer {layer}"));
}

/// Tests that limits apply between two calls of `take`: each call frees the space of the events
/// that it takes.
#[test]
fn what_was_taken_makes_room_for_more() {
    let options = HostRecorderOptions {
        events_per_thread: 10,
        text_bytes_per_thread: 30,
        ..HostRecorderOptions::default()
    };
    let recorder = ticking(options);
    for _ in 0..1000 {
        (0..11).for_each(|_| recorder.message(&OUTER, "four"));
        let recording = recorder.take();
        assert_eq!(recording.event_count(), 10);
        let expected = HostDrops { zones: 0, others: 1, texts: 3 };
        assert_eq!(recording.threads[0].dropped, expected);
    }
}

/// Tests that every event is either taken once or counted as dropped, and that the number of open
/// zones stays in bounds, no matter when another thread takes events.
#[test]
fn nothing_is_lost_between_threads_that_record_and_one_that_takes() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 3000;
    let options = HostRecorderOptions { events_per_thread: 500, ..HostRecorderOptions::default() };
    let recorder = HostRecorder::new(options);
    let ended = AtomicU64::new(0);
    let (mut taken, mut dropped) = (0, 0);
    let mut enter = |recording: &HostRecording| {
        for thread in &recording.threads {
            taken += thread.events.len() as u64;
            dropped += thread.dropped.count();
            for event in &thread.events {
                let name = recording.name(event);
                match event.kind {
                    HostEventKind::Zone { end_ns, depth } => {
                        assert!(event.time_ns <= end_ns);
                        assert!(depth <= u16::from(name == "Inner"));
                    }
                    HostEventKind::Message => assert_eq!(event.text.as_deref(), Some("half way")),
                    HostEventKind::Signpost => assert_eq!(name, "made"),
                    _ => assert_eq!(event.kind, HostEventKind::Plot { value: 2.5 }),
                }
            }
            assert!(thread.open_zone_count <= 2, "{}", thread.open_zone_count);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    let _outer = recorder.zone(&OUTER);
                    let _inner = recorder.zone(&INNER);
                    recorder.message(&OUTER, "half way");
                    recorder.signpost("made", None, None);
                    recorder.plot(&QUEUE, 2.5);
                }
                ended.fetch_add(1, Ordering::Release);
            });
        }
        while ended.load(Ordering::Acquire) < THREADS {
            enter(&recorder.take());
        }
    });
    let rest = recorder.take();
    assert!(rest.threads.iter().all(|thread| thread.open_zone_count == 0));
    enter(&rest);
    assert_eq!(taken + dropped, THREADS * ROUNDS * 5);
    assert!(recorder.take().is_empty());
}

#[test]
fn a_zone_that_outlives_its_thread_counts_as_open() {
    let recorder = HostRecorder::default();
    let thread_recorder = recorder.clone();
    std::thread::spawn(move || std::mem::forget(thread_recorder.zone(&OUTER))).join().unwrap();
    let recording = recorder.take();
    assert_eq!((recording.event_count(), recording.threads[0].open_zone_count), (0, 1));
    assert!(recorder.take().is_empty());
}

#[test]
fn places_of_one_name_are_one_source_and_every_place_keeps_its_own() {
    let recorder = ticking(HostRecorderOptions::default());
    let places: Vec<&'static HostSource> = (0..2000)
        .map(|line| &*Box::leak(Box::new(HostSource::new("place", "tests", "host.rs", line))))
        .collect();
    for _ in 0..2 {
        places.iter().for_each(|place| recorder.frame_mark(place));
    }
    let recording = recorder.take();
    assert_eq!(recording.sources.len(), places.len());
    let lines =
        recording.threads[0].events.iter().map(|event| recording.source(event).unwrap().line);
    assert!(lines.eq((0..2000).chain(0..2000)));
}

#[test]
fn without_a_recorder_macros_do_nothing() {
    // This test program never installs a recorder.
    assert!(installed().is_none());
    host_zone_scoped!("nobody listens");
}

#[test]
fn the_clock_does_not_go_back() {
    let times: Vec<u64> = (0..1000).map(|_| monotonic_ns()).collect();
    assert!(times.is_sorted() && times[0] > 0);
}
