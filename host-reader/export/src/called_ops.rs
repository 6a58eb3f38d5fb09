//! Ops by the functions of the program that called them.

use super::TraceItems;
use recording::{CallFrame, OpCall, OpCalls, UNKNOWN_CALL};
use std::collections::HashMap;

/// What stands for the op of records that belong to none.
const NO_OP: &str = "[no op]";

/// The ops of a chip, in groups of the same call and name.
pub(super) struct CalledOps {
    /// For each op, the number of its group.
    groups: Vec<u32>,
    /// For each group, the functions from the outermost one, then the op.
    frames: Vec<Vec<String>>,
}

impl CalledOps {
    /// Groups the ops of a chip. If no call is known in the whole recording, the groups are those of
    /// the same name.
    pub(super) fn new(items: TraceItems<'_, '_>, device_index: usize) -> Self {
        let calls = items.trace().calls;
        let mut numbers: HashMap<Vec<String>, u32> = HashMap::new();
        let mut found = Self { groups: Vec::new(), frames: Vec::new() };
        for op in items.ops(device_index) {
            let mut frames = functions(calls, op.metadata.and_then(|op| calls.of(op)));
            let name = op.name().map(str::to_owned);
            frames.push(name.unwrap_or_else(|| format!("program {}", op.base_id())));
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            let number = *numbers.entry(frames.clone()).or_insert(next);
            if number == next {
                found.frames.push(frames);
            }
            found.groups.push(number);
        }
        found
    }

    /// Returns the number of the group of an op.
    pub(super) fn group(&self, op: Option<u32>) -> Option<u32> {
        self.groups.get(op? as usize).copied()
    }

    /// Returns the functions and the op of a group.
    pub(super) fn frames(&self, group: Option<u32>) -> Vec<&str> {
        match group.and_then(|group| self.frames.get(group as usize)) {
            Some(frames) => frames.iter().map(String::as_str).collect(),
            None => vec![NO_OP],
        }
    }
}

/// Returns the functions of a call, from the outermost one; none if the recording has no calls.
fn functions(calls: &OpCalls, call: Option<&OpCall>) -> Vec<String> {
    match call {
        Some(call) => {
            let kept = call.frames.iter().map(CallFrame::short);
            call.left_out().into_iter().chain(kept).collect()
        }
        None if calls.is_empty() => Vec::new(),
        None => vec![UNKNOWN_CALL.to_owned()],
    }
}
