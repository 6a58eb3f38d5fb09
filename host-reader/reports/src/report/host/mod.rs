//! Host records of its ops: Tracy messages and zone times, as exported to CSV.
//!
//! | question | open |
//! |---|---|
//! | which ops, traces, replays and signposts were announced? | [`messages`] |
//! | how long did the host take for each? | [`times`] |
//!
//! # Compatibility
//! `tracy_ops_data.csv` and `tracy_ops_times.csv` of upstream's csvexport.

mod messages;
mod times;

use super::value::Value;
use crate::problem::ProblemLog;
use host_events::BufferUsage;
use std::{collections::BTreeMap, path::Path, sync::Arc};

pub(super) use messages::read_messages;
pub(super) use times::read_times;

/// When the host worked on an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HostTime {
    pub(super) start_ns: u64,
    pub(super) duration_ns: u64,
}

/// An op as the host announced it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HostOp {
    /// The op's encoded id, which the device log calls run host ID.
    pub(super) id: u64,
    /// Its fields; ops from a program cache share those of the first.
    pub(super) description: Arc<Value>,
    /// Program-cache hit as far as the message reports it.
    pub(super) is_cache_hit: Option<bool>,
    /// The chip; `None` for ops that ran on the host.
    pub(super) device_id: Option<u64>,
    /// The trace that was being captured.
    pub(super) trace_id: Option<u64>,
    /// When the op was announced.
    pub(super) message_ns: u64,
    /// How long the host took; `None` if there is no such record.
    pub(super) time: Option<HostTime>,
    /// Host time of functions called by the op, by name.
    pub(super) child_calls_ns: BTreeMap<String, u64>,
    /// Line of the message.
    pub(super) line: u64,
}

impl HostOp {
    /// Returns the name of the op.
    pub(super) fn name(&self) -> Option<String> {
        self.description.get("op_code").map(Value::cell)
    }
}

/// A mark that the user's program set between ops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signpost {
    /// The whole message.
    pub(super) text: String,
    pub(super) time_ns: u64,
}

/// Replays of each trace, by chip and trace, in the order in which they were started.
pub(super) type Replays = BTreeMap<(u64, u64), Vec<u64>>;

/// Everything that the host recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct HostLog {
    pub(super) ops: Vec<HostOp>,
    pub(super) signposts: Vec<Signpost>,
    pub(super) replays: Replays,
    /// Bytes of the buffers on the chips.
    pub(super) buffers: BufferUsage,
}

impl HostLog {
    /// Positions of the ops by id.
    pub(super) fn positions(&self) -> BTreeMap<u64, usize> {
        self.ops.iter().enumerate().map(|(position, op)| (op.id, position)).collect()
    }
}

/// Reads an input whole; a file that is not there is a problem only if it is `needed`.
pub(super) fn read_input(path: &Path, needed: &str, problems: &mut ProblemLog) -> Option<Vec<u8>> {
    match std::fs::read(path) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            let detail = format!("cannot be read ({error}); {needed}");
            problems.add_to_file(&path.display().to_string(), detail);
            None
        }
    }
}
