//! Joining of launches on the device to ops of the host.
//!
//! Ops are joined by their encoded ids. An op without a counterpart is shown alone and reported as
//! a problem. TT-Metal's script stops with an error if an op has no counterpart.

use super::device_op::{DeviceOp, DeviceOps};
use crate::problem::{ProblemLog, counted};
use recording::{
    capture::sync::MeshClock,
    host_ops::{HostLog, HostOp},
};
use std::collections::{BTreeMap, BTreeSet};

/// One row of the report before its cells are filled.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JoinedOp {
    /// Index of the op in the host log; `None` if the host did not report the op.
    pub(super) host: Option<usize>,
    pub(super) device: Option<DeviceOp>,
    pub(super) trace_id: Option<u64>,
    /// Number of the trace's replay, from 1; `None` if the op was not replayed.
    pub(super) session_id: Option<u64>,
    /// Time on the host's clock by which the row is sorted.
    pub(super) time_ns: u64,
}

impl JoinedOp {
    fn from_host(position: usize, op: &HostOp) -> Self {
        Self {
            host: Some(position),
            device: None,
            trace_id: op.trace_id,
            session_id: None,
            time_ns: op.time.map_or(op.message_ns, |time| time.start_ns),
        }
    }
}

/// Data for joining the launches of devices to the ops of the host.
pub(super) struct Joiner<'report> {
    pub(super) host: &'report HostLog,
    pub(super) host_file: &'report str,
    pub(super) device_file: &'report str,
    /// True if replays are already numbered, as in a device perf report. Then a launch is only
    /// joined to the host op with the same id and trace.
    pub(super) has_sessions: bool,
    /// Conversion of launch starts to the host's clock.
    pub(super) clock: Option<&'report MeshClock>,
    pub(super) problems: &'report mut ProblemLog,
}

impl Joiner<'_> {
    /// Returns all rows: first the ops in the order of the host's messages, then replayed ops in
    /// the order of chip, op and replay number, then launches without a host op.
    pub(super) fn join(&mut self, mut device_ops: DeviceOps) -> Vec<JoinedOp> {
        let ops = self.host.ops.iter().enumerate();
        let mut rows: Vec<_> = ops.map(|(at, op)| JoinedOp::from_host(at, op)).collect();
        let mut more = Vec::new();
        for device_id in self.devices() {
            let ops = device_ops.remove(&device_id).unwrap_or_default();
            self.join_device(device_id, ops, &mut rows, &mut more);
        }
        for (device_id, ops) in device_ops {
            let count = ops.len();
            let detail = format!("device {device_id}: the host announced none of its {count} ops");
            self.problems.add_to_file(self.device_file, detail);
            for op in ops {
                let time_ns = self.begin_ns(&op).unwrap_or(0);
                more.push(Self::unknown(op, time_ns));
            }
        }
        rows.extend(more);
        rows
    }

    /// Returns the chips of the host's ops, in the order of first appearance.
    fn devices(&self) -> Vec<u64> {
        let mut seen = BTreeSet::new();
        let ids = self.host.ops.iter().filter_map(|op| op.device_id);
        ids.filter(|&id| seen.insert(id)).collect()
    }

    fn join_device(
        &mut self,
        device_id: u64,
        device_ops: Vec<DeviceOp>,
        rows: &mut [JoinedOp],
        more: &mut Vec<JoinedOp>,
    ) {
        let ops = self.host.ops.iter().enumerate();
        let own = ops.filter(|(_, op)| op.device_id == Some(device_id));
        let positions: BTreeMap<u64, usize> = own.map(|(at, op)| (op.id, at)).collect();
        let mut replays = ReplayCounter::default();
        let mut sessions: BTreeMap<(u64, u64), JoinedOp> = BTreeMap::new();
        let mut is_joined = BTreeSet::new();
        let mut unknown_ids = BTreeSet::new();
        let mut last_time_ns = 0;
        for device in in_time_order(device_ops, self.has_sessions) {
            let id = device.run_host_id;
            let Some(&position) = positions.get(&id) else {
                unknown_ids.insert(id);
                let time_ns = self.begin_ns(&device).unwrap_or(last_time_ns);
                more.push(Self::unknown(device, time_ns));
                continue;
            };
            let row = self.row(position, device, &mut replays);
            last_time_ns = row.time_ns;
            match row.session_id {
                Some(session) => {
                    sessions.insert((id, session), row);
                    is_joined.insert(position);
                }
                None if is_joined.insert(position) => {
                    if let Some(known) = rows.get_mut(position) {
                        *known = row;
                    }
                }
                None => more.push(row),
            }
        }
        more.extend(sessions.into_values());
        self.note_unknown(device_id, &unknown_ids);
        self.note_missing(device_id, &positions, &is_joined);
    }

    #[expect(clippy::indexing_slicing, reason = "positions are those of the host's ops")]
    fn row(&mut self, position: usize, device: DeviceOp, replays: &mut ReplayCounter) -> JoinedOp {
        let op = &self.host.ops[position];
        let mut row = JoinedOp::from_host(position, op);
        row.trace_id = device.trace_id.or(op.trace_id);
        row.session_id = device.session_id;
        if let (None, Some(trace_id)) = (row.session_id, row.trace_id)
            && !self.has_sessions
            && !self.host.replays.is_empty()
        {
            row.session_id = Some(replays.number(trace_id, op.id));
        }
        if let (Some(trace_id), Some(session), Some(device_id)) =
            (row.trace_id, row.session_id, op.device_id)
        {
            let times = self.host.replays.get(&(device_id, trace_id));
            // Replays are numbered from 1, but a log may contain any number.
            let index = session.checked_sub(1).and_then(|index| usize::try_from(index).ok());
            match times.zip(index).and_then(|(times, index)| times.get(index)) {
                Some(&time_ns) => row.time_ns = time_ns,
                None => self.problems.add_to_file(
                    self.host_file,
                    format!(
                        "device {device_id}: the device ran replay {session} of trace {trace_id}, \
                         which the host did not announce; its ops stand where the trace was captured"
                    ),
                ),
            }
        }
        if op.time.is_none()
            && let Some(begin_ns) = self.begin_ns(&device)
        {
            row.time_ns = begin_ns;
        }
        row.device = Some(device);
        row
    }

    /// Returns the start of a launch on the host's clock.
    fn begin_ns(&self, device: &DeviceOp) -> Option<u64> {
        let clock = self.clock?.reference_clock(u32::try_from(device.device_id).ok()?)?;
        u64::try_from(clock.to_host_ns(device.begin_cycle).ns).ok()
    }

    fn unknown(op: DeviceOp, time_ns: u64) -> JoinedOp {
        let (trace_id, session_id) = (op.trace_id, op.session_id);
        JoinedOp { host: None, device: Some(op), trace_id, session_id, time_ns }
    }

    fn note_unknown(&mut self, device_id: u64, ids: &BTreeSet<u64>) {
        if ids.is_empty() {
            return;
        }
        let detail = format!(
            "device {device_id} ran {} that no message of the host describes: {}",
            counted(ids.len() as u64, "op", "ops"),
            listed(ids)
        );
        self.problems.add_to_file(self.device_file, detail);
    }

    /// Reports ops that should have run on the device but have no records from the device. The ops
    /// of a trace that was captured but never replayed did not run.
    fn note_missing(
        &mut self,
        device_id: u64,
        positions: &BTreeMap<u64, usize>,
        joined: &BTreeSet<usize>,
    ) {
        let missing = positions.iter().filter(|(_, position)| {
            !joined.contains(position)
                && self.host.ops.get(**position).is_some_and(|op| !self.host.is_captured_only(op))
        });
        let ids: BTreeSet<u64> = missing.map(|(&id, _)| id).collect();
        if !ids.is_empty() {
            let detail = format!(
                "device {device_id} has no data of {} that the host ran; their rows have no device \
                 columns: {}",
                counted(ids.len() as u64, "op", "ops"),
                listed(&ids)
            );
            self.problems.add_to_file(self.device_file, detail);
        }
    }
}

/// Lists the first ids in a set.
fn listed(ids: &BTreeSet<u64>) -> String {
    const SHOWN: usize = 8;
    let mut texts: Vec<_> = ids.iter().take(SHOWN).map(u64::to_string).collect();
    if ids.len() > SHOWN {
        texts.push("...".to_owned());
    }
    texts.join(", ")
}

/// Sorts launches by time. If `is_ordered`, keeps their order, as for the rows of a device perf
/// report.
fn in_time_order(mut ops: Vec<DeviceOp>, is_ordered: bool) -> Vec<DeviceOp> {
    if !is_ordered {
        ops.sort_by_key(|op| op.begin_cycle);
    }
    ops
}

/// Counter of trace replays. If an op occurs again in a trace's current replay, the next replay
/// begins.
#[derive(Default)]
struct ReplayCounter {
    traces: BTreeMap<u64, (u64, BTreeSet<u64>)>,
}

impl ReplayCounter {
    fn number(&mut self, trace_id: u64, op_id: u64) -> u64 {
        let (session, seen) = self.traces.entry(trace_id).or_insert_with(|| (1, BTreeSet::new()));
        if !seen.insert(op_id) {
            *session = session.saturating_add(1);
            *seen = BTreeSet::from([op_id]);
        }
        *session
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_op_that_comes_again_begins_the_next_replay() {
        let mut replays = ReplayCounter::default();
        let sessions: Vec<_> = [1, 2, 1, 2, 1].map(|op| replays.number(9, op)).to_vec();
        assert_eq!(sessions, [1, 1, 2, 2, 3]);
        assert_eq!(replays.number(8, 1), 1);
    }
}
