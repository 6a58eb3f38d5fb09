//! Traces reported by the host.

use host_events::{HostEventKind, HostRecording, TraceMessage, TraceStep};
use reader::traces::TraceBook;
use std::{collections::BTreeMap, fmt};

/// A trace that the host captured and never replayed, so no chip ran its ops.
///
/// ```
/// let trace = recording::UnreplayedTrace { chip_id: Some(0), trace_id: 5, op_count: 2 };
/// let expected = "Trace 5 of chip 0 was captured with 2 ops and never replayed: no chip ran them";
/// assert_eq!(trace.to_string(), expected);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct UnreplayedTrace {
    /// Number of the chip for which the trace was captured; `None` if unknown.
    pub chip_id: Option<u64>,
    /// Number of the trace.
    pub trace_id: u64,
    /// Number of captured ops or programs.
    pub op_count: u64,
}

impl fmt::Display for UnreplayedTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace {}", self.trace_id)?;
        self.chip_id.map_or(Ok(()), |chip_id| write!(f, " of chip {chip_id}"))?;
        let (ops, them) = if self.op_count == 1 { ("op", "it") } else { ("ops", "them") };
        let count = self.op_count;
        write!(f, " was captured with {count} {ops} and never replayed: no chip ran {them}")
    }
}

/// Returns the traces that the host's threads captured and never replayed. A number that was used
/// again after the trace's release is another trace.
#[must_use]
pub fn unreplayed_traces(host: &[HostRecording]) -> Vec<UnreplayedTrace> {
    unreplayed(trace_messages(host).into_iter().map(|(_, message)| message))
}

fn unreplayed(messages: impl Iterator<Item = TraceMessage>) -> Vec<UnreplayedTrace> {
    /// A trace since its capture began: the number of programs, and whether it was replayed.
    #[derive(Default)]
    struct Captured {
        program_count: u64,
        is_replayed: bool,
    }
    let mut open: BTreeMap<(u64, u64), Captured> = BTreeMap::new();
    let mut found = Vec::new();
    let mut end = |(chip_id, trace_id): (u64, u64), captured: Option<Captured>| {
        let captured = captured.filter(|of| of.program_count > 0 && !of.is_replayed);
        found.extend(captured.map(|of| UnreplayedTrace {
            chip_id: Some(chip_id),
            trace_id,
            op_count: of.program_count,
        }));
    };
    for TraceMessage { step, chip_id, trace_id } in messages {
        let key = (chip_id, trace_id);
        match step {
            TraceStep::Begin => {
                let earlier = open.insert(key, Captured::default());
                end(key, earlier);
            }
            TraceStep::EnqueueProgram(_) => {
                let captured = open.entry(key).or_default();
                captured.program_count = captured.program_count.saturating_add(1);
            }
            TraceStep::Replay => open.entry(key).or_default().is_replayed = true,
            TraceStep::Release => {
                let released = open.remove(&key);
                end(key, released);
            }
            TraceStep::End => {}
        }
    }
    open.into_iter().for_each(|(key, captured)| end(key, Some(captured)));
    found.sort_unstable();
    found
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use TraceStep::{Begin, End, EnqueueProgram, Release, Replay};

    fn found(steps: &[(u64, TraceStep)]) -> Vec<(u64, u64)> {
        let messages =
            steps.iter().map(|&(trace_id, step)| TraceMessage { step, chip_id: 1, trace_id });
        let traces = unreplayed(messages).into_iter();
        traces
            .map(|trace| {
                assert_eq!(trace.chip_id, Some(1));
                (trace.trace_id, trace.op_count)
            })
            .collect()
    }

    #[test]
    fn traces_without_a_replay_are_found_with_their_number_of_ops() {
        let captured =
            |id| [(id, Begin), (id, EnqueueProgram(1024)), (id, EnqueueProgram(2048)), (id, End)];
        let of = |parts: &[&[(u64, TraceStep)]]| found(&parts.concat());
        assert_eq!(of(&[&captured(5)]), [(5, 2)]);
        assert_eq!(of(&[&captured(5), &[(5, Replay)]]), []);
        assert_eq!(of(&[&captured(5), &captured(6), &[(6, Replay), (6, Replay)]]), [(5, 2)]);
        // The number is used again: one of the two traces was never replayed.
        let again: &[(u64, TraceStep)] = &[(5, Replay), (5, Release)];
        assert_eq!(of(&[&captured(5), again, &captured(5)]), [(5, 2)]);
        assert_eq!(of(&[&captured(5), &[(5, Release)], &captured(5), again]), [(5, 2)]);
        assert_eq!(of(&[&captured(5), &captured(5), again]), [(5, 2)]);
        // An empty trace has no ops to miss.
        assert_eq!(of(&[&[(5, Begin), (5, End)]]), []);
    }
}
