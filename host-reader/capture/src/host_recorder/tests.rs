use crate::{Capture, CaptureWriter, Content, Payload};
use host_events::{
    HostEvent, HostEventKind, HostRecorder, HostRecorderOptions, HostRecording, HostSource,
    HostThread, OpMetadata,
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

static OUTER: HostSource = HostSource::new("Outer", "tests", "host.rs", 1);
static INNER: HostSource = HostSource::new("Inner", "tests", "host.rs", 2);
static QUEUE: HostSource = HostSource::new("queued", "tests", "host.rs", 3);

/// A recorder whose clock goes on by 10 ns each time that it is read.
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
    recorder.signpost("start", Some("of the model"));
    recorder.frame_mark(&INNER);
    recorder.plot(&QUEUE, 2.5);
}

#[test]
fn a_capture_keeps_a_recording_and_its_ops() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.kprof");
    let mut capture = CaptureWriter::create(&path).unwrap();
    let recorder = ticking(HostRecorderOptions::default());
    all_kinds(&recorder);
    let fields = vec![("name".to_owned(), "Matmul".to_owned())];
    recorder.op(OpMetadata { fields, ..OpMetadata::default() });
    let mut recording = capture.append_recorder(&recorder).unwrap();
    assert!(capture.append_recorder(&recorder).unwrap().is_empty());
    drop(capture);
    let capture = Capture::open(&path).unwrap();
    let contents: Vec<_> = capture.sections().map(|section| section.content().unwrap()).collect();
    let ops = std::mem::take(&mut recording.ops);
    assert_eq!(contents, [Content::OpMetadata(ops), Content::HostRecording(recording)]);
    let info = capture.info();
    assert_eq!((info.host_event_count, info.host_dropped_count, info.op_count), (6, 0, 1));
}

#[test]
fn an_event_of_a_source_that_is_not_there_is_malformed() {
    let event = HostEvent { source: 1, time_ns: 0, kind: HostEventKind::Message, text: None };
    let thread = HostThread { events: vec![event], ..HostThread::default() };
    let sources = vec![OUTER.clone()];
    let recording = HostRecording { sources, threads: vec![thread], ..HostRecording::default() };
    let mut payload = Vec::new();
    recording.encode(&mut payload).unwrap();
    let fault = HostRecording::decode(&payload).unwrap_err();
    assert_eq!(fault.expected, "the number of one of 1 sources");
    // Counts beyond the bytes are faults, too, and take no memory.
    payload[..8].fill(0xFF);
    assert!(HostRecording::decode(&payload).is_err());
}
