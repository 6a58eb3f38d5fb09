//! Traces reported by the host.

use host_events::{HostEventKind, HostRecording, TraceMessage, TraceStep};
use reader::traces::TraceBook;

/// Returns all messages about traces from the host's threads, each with its time in ns. The
/// messages are sorted by time.
#[must_use]
pub fn trace_messages(host: &[HostRecording]) -> Vec<(u64, TraceMessage)> {
    let events = host.iter().flat_map(HostRecording::events);
    let messages = events.filter(|event| event.kind == HostEventKind::Message);
    let mut messages: Vec<_> = messages
        .filter_map(|event| Some((event.time_ns, TraceMessage::parse(event.text.as_deref()?)?)))
        .collect();
    messages.sort_by_key(|(time_ns, _)| *time_ns);
    messages
}

/// Builds the list of traces and replays from the messages of the host's threads.
#[must_use]
pub fn traces_of_host(host: &[HostRecording]) -> TraceBook {
    let mut book = TraceBook::default();
    for (_, TraceMessage { step, chip_id, trace_id }) in trace_messages(host) {
        let Ok(chip_id) = u32::try_from(chip_id) else { continue };
        match step {
            TraceStep::EnqueueProgram(base_id) => {
                if let Ok(base_id) = u32::try_from(base_id) {
                    book.add_program(chip_id, trace_id, base_id);
                }
            }
            TraceStep::Replay => book.add_replay(chip_id, trace_id),
            TraceStep::Begin | TraceStep::End | TraceStep::Release => {}
        }
    }
    book
}
