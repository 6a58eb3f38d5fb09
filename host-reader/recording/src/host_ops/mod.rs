//! Ops of the host, as described by the Tracy messages next to a device log.
//!
//! | question | item |
//! |---|---|
//! | which ops, traces, replays and signposts were announced? | [`read_messages`] |
//! | how is an op described? | [`Value`] |
//! | which data about ops becomes part of a recording? | [`HostOps`] |
//! | which launches match an op, and which do not? | [`LaunchedPrograms`] |
//!
//! # Compatibility
//! TT-Metal's csvexport writes [`OP_MESSAGES`] and [`OP_TIMES`] next to the device log.

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

/// Time that the host spent on an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostTime {
    /// Start on the host's clock.
    pub start_ns: u64,
    /// Duration of the op on the host.
    pub duration_ns: u64,
}

/// An op announced by the host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostOp {
    /// Encoded id of the op, called run host ID in the device log.
    pub id: u64,
    /// Description of the op. Ops from a program cache share the description of the first op.
    pub description: Arc<Value>,
    /// True if the op was in the program cache; `None` if the message does not state this.
    pub is_cache_hit: Option<bool>,
    /// Chip that ran the op; `None` for ops that ran on the host.
    pub device_id: Option<u64>,
    /// Trace that was being captured when the op was announced; `None` if no trace was being
    /// captured.
    pub trace_id: Option<u64>,
    /// Time of the announcement on the host's clock.
    pub message_ns: u64,
    /// Host time of the op; `None` if it was not recorded.
    pub time: Option<HostTime>,
    /// Host time spent in each function that the op called, in ns, by function name.
    pub child_calls_ns: BTreeMap<String, u64>,
    /// Line number of the message in the file.
    pub line: u64,
}

impl HostOp {
    /// Returns the name of the op.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        self.description.get("op_code").map(Value::cell)
    }
}

/// A marker that the user's program set between ops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signpost {
    /// Text of the whole message.
    pub text: String,
    /// Time on the host's clock.
    pub time_ns: u64,
}

/// Start times of replays, by chip and trace id, in ns on the host's clock. The times of each trace
/// are in message order.
pub type Replays = BTreeMap<(u64, u64), Vec<u64>>;

/// All data that the host recorded about its ops.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostLog {
    /// Ops in message order, one per id.
    pub ops: Vec<HostOp>,
    /// Signposts in message order.
    pub signposts: Vec<Signpost>,
    /// Host times at which traces were replayed.
    pub replays: Replays,
    /// Bytes in use by buffers on the chips, over time.
    pub buffers: BufferUsage,
}

impl HostLog {
    /// Returns the positions of the ops in `ops`, by id.
    #[must_use]
    pub fn positions(&self) -> BTreeMap<u64, usize> {
        self.ops.iter().enumerate().map(|(position, op)| (op.id, position)).collect()
    }

    /// Returns true if the op's trace was captured but never replayed. In that case no chip ran the
    /// op.
    #[must_use]
    pub fn is_captured_only(&self, op: &HostOp) -> bool {
        let Some((device_id, trace_id)) = op.device_id.zip(op.trace_id) else { return false };
        !self.replays.contains_key(&(device_id, trace_id))
    }
}
