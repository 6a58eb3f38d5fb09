//! Time between the ops of a recording, which no duration of an op has, and whether a trace sent them.

use crate::perf::{OpReport, SideBySide, Spread};
use analysis::Op;

/// What a recording says of the time between its ops.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BetweenOps {
    gaps_ns: Vec<f64>,
    unknown_count: u64,
    replayed_count: u64,
    op_count: u64,
    side_by_side: Option<SideBySide>,
}

/// Time between the ops of one recording, which is in no sum over ops, and time that ops share, which sums
/// count several times.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Gaps {
    /// Median of the known gaps before ops in ns; `None` if none is known. The first op of a device has
    /// no gap.
    pub median_ns: Option<f64>,
    /// Number of known gaps.
    pub known_count: u64,
    /// Number of ops whose gap should be there and is unknown.
    pub unknown_count: u64,
    /// Number of ops that a replay of a trace launched.
    pub replayed_op_count: u64,
    /// Number of ops.
    pub op_count: u64,
    /// Number of ops that ran at the same time as another one, as cycles show: sums count this time
    /// several times.
    pub side_by_side_op_count: u64,
    /// Time from the first start to the last end of the ops in ns, of the device that takes longest;
    /// `None` if the cycles of its ops are unknown, or if several recordings are one side.
    pub elapsed_ns: Option<f64>,
    /// Time in which at least one op of this device ran, in ns: without gaps, and with time that ops share
    /// once; `None` as above.
    pub busy_ns: Option<f64>,
}

impl BetweenOps {
    /// Takes what the cycles of a file say of ops at the same time.
    pub(super) fn set_side_by_side(&mut self, devices: &[SideBySide]) {
        let longest =
            devices.iter().max_by(|one, other| one.elapsed_us.total_cmp(&other.elapsed_us));
        let op_count = devices.iter().map(|device| device.op_count).sum();
        self.side_by_side = longest.map(|longest| SideBySide { op_count, ..*longest });
    }

    /// Adds the ops of one device, in their order.
    pub(super) fn add_rows<'a>(&mut self, rows: impl Iterator<Item = &'a OpReport>) {
        for (at, row) in rows.enumerate() {
            let gap_ns = row.op_to_op_gap_us.map(|us| us * 1000.0);
            self.add(gap_ns, row.is_gap_unknown, row.trace_session.is_some(), at == 0);
        }
    }

    /// Adds a launch.
    pub(super) fn add_op(&mut self, op: &Op) {
        let gap_ns = op.op_to_op_latency_ns.map(|ns| ns as f64);
        let is_unknown = op.latency_doubt.is_some();
        self.add(gap_ns, is_unknown, op.trace_replay.is_some(), op.is_first_of_chip);
    }

    fn add(&mut self, gap_ns: Option<f64>, is_unknown: bool, is_replayed: bool, is_first: bool) {
        self.op_count = self.op_count.saturating_add(1);
        self.replayed_count = self.replayed_count.saturating_add(is_replayed.into());
        match gap_ns.filter(|_| !is_first) {
            Some(gap_ns) => self.gaps_ns.push(gap_ns),
            None => {
                let is_missing = is_unknown && !is_first;
                self.unknown_count = self.unknown_count.saturating_add(is_missing.into());
            }
        }
    }

    pub(super) fn forget_gaps(&mut self) {
        self.gaps_ns.clear();
        self.unknown_count = 0;
        self.side_by_side = None;
    }

    pub(super) fn join(&mut self, other: Self) {
        // Times of several recordings are not one time.
        let side_by_side = (self.op_count == 0).then_some(other.side_by_side).flatten();
        self.gaps_ns.extend(other.gaps_ns);
        self.unknown_count = self.unknown_count.saturating_add(other.unknown_count);
        self.replayed_count = self.replayed_count.saturating_add(other.replayed_count);
        self.op_count = self.op_count.saturating_add(other.op_count);
        self.side_by_side = side_by_side;
    }

    pub(super) fn gaps(&self) -> Gaps {
        let known_count = self.gaps_ns.len() as u64;
        let median_ns = (known_count > 0).then(|| Spread::from_values(self.gaps_ns.clone()).median);
        Gaps {
            median_ns,
            known_count,
            unknown_count: self.unknown_count,
            replayed_op_count: self.replayed_count,
            op_count: self.op_count,
            side_by_side_op_count: self.side_by_side.map_or(0, |of| of.op_count),
            elapsed_ns: self.side_by_side.map(|of| of.elapsed_us * 1000.0),
            busy_ns: self.side_by_side.map(|of| of.busy_us * 1000.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_op_of_a_device_has_no_gap_and_unknown_ones_are_counted() {
        let mut between = BetweenOps::default();
        between.add(Some(9000.0), false, true, true);
        between.add(Some(2000.0), false, true, false);
        between.add(None, true, false, false);
        between.add(None, false, false, false);
        let mut other = BetweenOps::default();
        other.add(None, true, false, true);
        other.add(Some(4000.0), false, true, false);
        assert_eq!(other.gaps().median_ns, Some(4000.0));
        between.join(other);
        let expected = Gaps {
            median_ns: Some(3000.0),
            known_count: 2,
            unknown_count: 1,
            replayed_op_count: 3,
            op_count: 6,
            ..Gaps::default()
        };
        assert_eq!(between.gaps(), expected);
        assert_eq!(BetweenOps::default().gaps(), Gaps::default());
    }
}
