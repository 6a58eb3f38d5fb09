//! Ops of the host, as the Tracy messages beside a device log describe them.
//!
//! | question | open |
//! |---|---|
//! | which ops, traces, replays and signposts were announced? | [`read_messages`] |
//! | what is an op described by? | [`Value`] |
//! | what of it becomes part of a recording? | [`HostOps`] |
//! | which launches does it name, and which not? | [`LaunchedPrograms`] |
//!
//! # Compatibility
//! Upstream's csvexport writes [`OP_MESSAGES`] and [`OP_TIMES`], which lie beside the device log.

mod joins;
mod messages;
mod metadata;
pub mod value;

pub use joins::LaunchedPrograms;
pub use messages::read_messages;
pub use metadata::HostOps;

use host_events::BufferUsage;
use std::{collections::BTreeMap, sync::Arc};
use value::Value;

/// Name of the file with the host's messages in a folder of logs.
pub const OP_MESSAGES: &str = "tracy_ops_data.csv";
/// Name of the file with the host's times in a folder of logs.
pub const OP_TIMES: &str = "tracy_ops_times.csv";

/// When the host worked on an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostTime {
    /// Start on the host's clock.
    pub start_ns: u64,
    /// Time that it took.
    pub duration_ns: u64,
}

/// An op as the host announced it.
#[derive(Clone, Debug, PartialEq)]
pub struct HostOp {
    /// The op's encoded id, which the device log calls run host ID.
    pub id: u64,
    /// Its fields; ops from a program cache share those of the first.
    pub description: Arc<Value>,
    /// Program-cache hit as far as the message reports it.
    pub is_cache_hit: Option<bool>,
    /// The chip; `None` for ops that ran on the host.
    pub device_id: Option<u64>,
    /// The trace that was being captured.
    pub trace_id: Option<u64>,
    /// When the op was announced.
    pub message_ns: u64,
    /// How long the host took; `None` if there is no such record.
    pub time: Option<HostTime>,
    /// Host time of functions called by the op, by name.
    pub child_calls_ns: BTreeMap<String, u64>,
    /// Line of the message.
    pub line: u64,
}

impl HostOp {
    /// Returns the name of the op.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        self.description.get("op_code").map(Value::cell)
    }
}

/// A mark that the user's program set between ops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signpost {
    /// The whole message.
    pub text: String,
    /// When it was set, on the host's clock.
    pub time_ns: u64,
}

/// Replays of each trace, by chip and trace, in the order in which they were started.
pub type Replays = BTreeMap<(u64, u64), Vec<u64>>;

/// Everything that the host recorded of its ops.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostLog {
    /// Ops in the order of their messages, one of each id.
    pub ops: Vec<HostOp>,
    /// Signposts in the order of their messages.
    pub signposts: Vec<Signpost>,
    /// When traces were replayed.
    pub replays: Replays,
    /// Bytes of the buffers on the chips.
    pub buffers: BufferUsage,
}

impl HostLog {
    /// Positions of the ops by id.
    #[must_use]
    pub fn positions(&self) -> BTreeMap<u64, usize> {
        self.ops.iter().enumerate().map(|(position, op)| (op.id, position)).collect()
    }

    /// Returns true if an op was captured in a trace that was never replayed, so that no chip ran it.
    #[must_use]
    pub fn is_captured_only(&self, op: &HostOp) -> bool {
        let Some((device_id, trace_id)) = op.device_id.zip(op.trace_id) else { return false };
        !self.replays.contains_key(&(device_id, trace_id))
    }
}
