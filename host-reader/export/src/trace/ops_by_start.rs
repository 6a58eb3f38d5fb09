//! Ops of a packed chip, unpacked one after the other.

use super::{
    TraceOp,
    build::ProgramMetadata,
    op::{self, FreeRows},
};
use analysis::Launch;
use recording::DeviceClock;
use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
    iter::Peekable,
};

/// Iterator over a chip's ops in the order of [`super::TraceDevice::ops`], with their rows.
///
/// Launches come by their first cycle. An op starts at its launch's first cycle or later, so few ops
/// have to wait for those that start earlier.
pub(super) struct OpsByStart<'t, 'a, I: Iterator<Item = Launch>> {
    launches: Peekable<I>,
    metadata: &'t ProgramMetadata<'a>,
    clock: DeviceClock<'a>,
    /// Number of launches before the next one.
    launch_count: u32,
    waiting: BinaryHeap<Reverse<Waiting<'a>>>,
    rows: FreeRows,
}

impl<'t, 'a, I: Iterator<Item = Launch>> OpsByStart<'t, 'a, I> {
    /// Iterates over the ops of launches that are sorted by their first cycle.
    pub(super) fn new(
        launches: I,
        metadata: &'t ProgramMetadata<'a>,
        clock: DeviceClock<'a>,
    ) -> Self {
        let (waiting, rows) = (BinaryHeap::new(), FreeRows::default());
        let launches = launches.peekable();
        Self { launches, metadata, clock, launch_count: 0, waiting, rows }
    }

    /// Returns true if the next launches start later than the first op that waits.
    fn is_first_final(&mut self) -> bool {
        let Some(Reverse(Waiting { op, .. })) = self.waiting.peek() else { return false };
        let start_cycle = op.start_cycle;
        self.launches.peek().is_none_or(|next| start_cycle < next.first_cycle)
    }
}

impl<'a, I: Iterator<Item = Launch>> Iterator for OpsByStart<'_, 'a, I> {
    /// An op with the index of its launch among those of the chip.
    type Item = (u32, TraceOp<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_first_final() {
            let launch = self.launches.next()?;
            let program = (launch.op.chip_id, launch.op.run_host_id);
            let metadata = self.metadata.get(&program).copied();
            let op = Box::new(TraceOp::new(launch, metadata, &self.clock));
            self.waiting.push(Reverse(Waiting { launch: self.launch_count, op }));
            self.launch_count = self.launch_count.saturating_add(1);
        }
        let Reverse(Waiting { launch, mut op }) = self.waiting.pop()?;
        self.rows.assign(&mut op);
        Some((launch, *op))
    }
}

/// An op that may have to follow ops of later launches. Ops that start and end together are in the
/// order of their launches.
struct Waiting<'a> {
    launch: u32,
    op: Box<TraceOp<'a>>,
}

impl Waiting<'_> {
    fn key(&self) -> (u64, Reverse<u64>, u32) {
        let (start_cycle, end_cycle) = op::order(&self.op);
        (start_cycle, end_cycle, self.launch)
    }
}

impl Ord for Waiting<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Waiting<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Waiting<'_> {}
