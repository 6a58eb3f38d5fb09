//! Records zones and messages of the host.

use host_events::{HostRecorder, HostRecording, host_message, host_zone_scoped};

fn record() -> HostRecording {
    let recorder = HostRecorder::default();
    // If another recorder is installed in this process, the macros record into that recorder.
    let is_first = recorder.install().is_ok();
    assert!(is_first, "one recorder a process");
    {
        host_zone_scoped!("LoadWeights");
        host_message!("layer {} of {}", 1, 24);
    }
    recorder.take()
}

fn main() {
    let recording = record();
    for event in &recording.threads[0].events {
        println!("{} at {} ns", recording.name(event), event.time_ns);
    }
}

#[test]
fn a_zone_and_a_message_are_recorded() {
    let recording = record();
    assert_eq!(recording.event_count(), 2);
    assert_eq!(recording.name(&recording.threads[0].events[1]), "LoadWeights");
}
