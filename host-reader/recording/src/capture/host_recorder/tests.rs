use crate::capture::{Capture, CaptureWriter, Content, Payload};
use host_events::{
    HostEvent, HostEventKind, HostRecorder, HostRecorderOptions, HostRecording, HostSource,
    HostThread, OpMetadata,
};

static OUTER: HostSource = HostSource::new("Outer", "tests", "host.rs", 1);

#[test]
fn a_capture_keeps_a_recording_and_its_ops() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.kprof");
    let mut capture = CaptureWriter::create(&path).unwrap();
    let recorder = HostRecorder::new(HostRecorderOptions::default());
    drop(recorder.zone(&OUTER));
    recorder.message(&OUTER, "half way");
    recorder.frame_mark(&OUTER);
    recorder.plot(&OUTER, 2.5);
    recorder.signpost("start", Some("of the model"), None);
    let fields = [("name".to_owned(), "Matmul".to_owned())].into();
    recorder.op(OpMetadata { fields, ..OpMetadata::default() });
    let mut recording = capture.append_recorder(&recorder).unwrap();
    assert!(capture.append_recorder(&recorder).unwrap().is_empty());
    drop(capture);
    let capture = Capture::open(&path).unwrap();
    let contents: Vec<_> = capture.sections().map(|section| section.content().unwrap()).collect();
    let ops = std::mem::take(&mut recording.ops);
    assert_eq!(contents, [Content::OpMetadata(ops), Content::HostRecording(recording)]);
    let info = capture.info();
    assert_eq!((info.host_event_count, info.host_dropped_count, info.op_count), (5, 0, 1));
}

#[test]
fn an_event_of_a_source_that_is_not_there_is_malformed() {
    let event =
        HostEvent { source: 1, time_ns: 0, kind: HostEventKind::Message, text: None, color: None };
    let thread = HostThread { events: vec![event], ..HostThread::default() };
    let sources = vec![OUTER.clone()];
    let recording = HostRecording { sources, threads: vec![thread], ..HostRecording::default() };
    let mut payload = Vec::new();
    recording.encode(&mut payload).unwrap();
    let fault = HostRecording::decode(&payload).unwrap_err();
    assert_eq!(fault.expected, "the number of one of 1 sources");
    // A count larger than the payload is also a fault, and must not allocate memory.
    payload[..8].fill(0xFF);
    assert!(HostRecording::decode(&payload).is_err());
}
