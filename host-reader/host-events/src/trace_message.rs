//! Messages in which a host reports the steps of a trace. A trace is a recorded sequence of
//! programs.

use std::fmt;

/// Step in the life of a trace, from recording to release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceStep {
    /// Recording of the trace begins; programs enqueued from now on become part of the trace.
    Begin,
    /// Recording of the trace ends; the trace is complete.
    End,
    /// A program, given by its base id, was added to the trace.
    EnqueueProgram(u64),
    /// The trace is replayed.
    Replay,
    /// The trace is released.
    Release,
}

/// A host's message about a trace.
///
/// ```
/// use host_events::{TraceMessage, TraceStep};
/// let replay = TraceMessage { step: TraceStep::Replay, chip_id: 1, trace_id: 7 };
/// assert_eq!(replay.to_string(), "`TT_METAL_TRACE_REPLAY: 1, 7`");
/// assert_eq!(TraceMessage::parse("`TT_METAL_TRACE_REPLAY: 1, 7`"), Some(replay));
/// assert_eq!(TraceMessage::parse("a replay"), None);
/// ```
///
/// # Compatibility
/// The messages are those of `tt_metal_tracy.hpp`. Until 2025, the messages began with
/// `TT_DNN_TRACE`. The messages contain commas, so they are quoted with backticks in
/// `tracy_ops_data.csv`. Fields that a CSV parser returns do not contain the backticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceMessage {
    /// Step that the message reports.
    pub step: TraceStep,
    /// Number of the chip.
    pub chip_id: u64,
    /// Number of the trace.
    pub trace_id: u64,
}

impl TraceMessage {
    /// Parses a message about a trace; returns `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_matches('`');
        let rest =
            text.strip_prefix("TT_METAL_TRACE_").or_else(|| text.strip_prefix("TT_DNN_TRACE_"));
        let (step, ids) = rest?.split_once(':')?;
        let mut ids = ids.split(',').map(|id| id.trim().parse::<u64>().ok());
        let (chip_id, trace_id) = (ids.next()??, ids.next()??);
        let step = match (step, ids.next()) {
            ("BEGIN", None) => TraceStep::Begin,
            ("END", None) => TraceStep::End,
            ("ENQUEUE_PROGRAM", Some(base_id)) => TraceStep::EnqueueProgram(base_id?),
            ("REPLAY", None) => TraceStep::Replay,
            ("RELEASE", None) => TraceStep::Release,
            _ => return None,
        };
        ids.next().is_none().then_some(Self { step, chip_id, trace_id })
    }
}

impl fmt::Display for TraceMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, chip_id, trace_id } = self;
        let name = match step {
            TraceStep::Begin => "BEGIN",
            TraceStep::End => "END",
            TraceStep::EnqueueProgram(_) => "ENQUEUE_PROGRAM",
            TraceStep::Replay => "REPLAY",
            TraceStep::Release => "RELEASE",
        };
        write!(f, "`TT_METAL_TRACE_{name}: {chip_id}, {trace_id}")?;
        if let TraceStep::EnqueueProgram(base_id) = step {
            write!(f, ", {base_id}")?;
        }
        f.write_str("`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_tt_metal_writes_them() {
        let message = |step| Some(TraceMessage { step, chip_id: 0, trace_id: 4_294_967_296 });
        for (text, step) in [
            ("`TT_METAL_TRACE_BEGIN: 0, 4294967296`", TraceStep::Begin),
            ("`TT_METAL_TRACE_END: 0, 4294967296`", TraceStep::End),
            ("`TT_METAL_TRACE_RELEASE: 0, 4294967296`", TraceStep::Release),
            ("`TT_METAL_TRACE_ENQUEUE_PROGRAM: 0, 4294967296, 12`", TraceStep::EnqueueProgram(12)),
        ] {
            assert_eq!(TraceMessage::parse(text), message(step), "{text}");
            assert_eq!(message(step).unwrap().to_string(), text);
        }
        let old = TraceMessage::parse("`TT_DNN_TRACE_REPLAY: 0, 4294967296`");
        assert_eq!(old, message(TraceStep::Replay));
        for text in [
            "TT_METAL_TRACE_REPLAY: 0",
            "TT_METAL_TRACE_REPLAY: 0, 1, 2",
            "TT_METAL_TRACE_ENQUEUE_PROGRAM: 0, 1",
            "TT_METAL_TRACE_ENQUEUE_PROGRAM: 0, 1, x",
            "TT_METAL_TRACE_ENQUEUE_PROGRAM: 0, 1, 2, 3",
            "TT_METAL_TRACE_REPLAY: 99999999999999999999, 1",
            "TT_METAL_TRACE_PAUSE: 0, 1",
            "TT_METAL_TRACE_REPLAY",
        ] {
            assert_eq!(TraceMessage::parse(text), None, "{text}");
        }
    }
}
