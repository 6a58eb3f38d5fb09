//! Rows of an iteration of an ops CSV, the gaps before iterations, and their times.

use crate::{
    gap_before::GapBefore,
    iteration::{KnownIteration, SteadyRule},
    row_slots::{Lead, Leads, devices, firmware_cycles},
    steady::{HostWait, IterationTimes, NAMED_ITERATIONS},
    timeline::DeviceTime,
};
use reports::perf::{OpReport, RowKind};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

/// Rows of an iteration.
pub(crate) struct IterationRows {
    pub(crate) rows: Vec<OpReport>,
    leads: Leads,
}

impl IterationRows {
    /// Returns the rows of `range`. `of_loop` returns the gap before a chip's first op as far as it is
    /// part of the iteration; the rest of this gap precedes the iteration.
    pub(crate) fn new(
        all: &[OpReport],
        range: Range<usize>,
        of_loop: impl Fn(Option<u32>) -> Option<f64>,
    ) -> Option<Self> {
        let mut rows = all.get(range.clone())?.to_vec();
        let earlier = all.get(..range.start)?;
        let mut begun = BTreeSet::new();
        let mut leads = Leads::new();
        for row in rows.iter_mut().filter(|row| row.kind == RowKind::Device) {
            let chip_id = row.chip_id();
            if !begun.insert(chip_id) {
                continue;
            }
            let gap_ns = of_loop(chip_id).filter(|ns| *ns > 0.0);
            (row.op_to_op_gap_us, row.is_gap_unknown) = (gap_ns.map(|ns| ns / 1e3), false);
            let before = op_before(earlier, chip_id);
            let replay = before.and_then(|row| row.trace_session);
            leads.extend(gap_ns.map(|gap_ns| (chip_id, Lead { gap_ns, replay })));
        }
        Some(Self { rows, leads })
    }

    pub(crate) fn devices(&self) -> Vec<DeviceTime> {
        devices(&self.rows, &self.leads)
    }
}

/// Returns the last op of a chip.
pub(crate) fn op_before(rows: &[OpReport], chip_id: Option<u32>) -> Option<&OpReport> {
    rows.iter().rev().find(|row| row.kind == RowKind::Device && row.chip_id() == chip_id)
}

/// Number of ops before another one that may end after its start, because they run side by side.
const MOST_SIDE_BY_SIDE: usize = 32;

/// Returns the gap before the iteration on each chip whose gap is known.
pub(crate) fn gaps_before(
    rows: &[OpReport],
    found: &KnownIteration,
) -> BTreeMap<Option<u32>, GapBefore> {
    let is_device = |row: &&OpReport| row.kind == RowKind::Device;
    // Each run of a single op is one iteration; the first one is not in the part.
    let runs = || {
        let own = found.steps.clone().filter(|at| rows.get(*at).as_ref().is_some_and(is_device));
        let first =
            rows.get(..found.steps.start).and_then(|of| of.iter().rposition(|row| is_device(&row)));
        first.into_iter().chain(own).map(|at| at..at.saturating_add(1)).collect()
    };
    let (iterations, at): (Vec<Range<usize>>, Option<usize>) = match found.rule {
        SteadyRule::RepeatedOp => (runs(), Some(1)),
        _ => (found.equal.clone(), found.equal.iter().position(|of| *of == found.steps)),
    };
    let own = rows.get(found.steps.clone()).unwrap_or(&[]);
    let chips: BTreeSet<Option<u32>> =
        own.iter().filter(is_device).map(OpReport::chip_id).collect();
    let gap_in = |range: &Range<usize>, chip_id: Option<u32>| {
        let own = range.clone().filter_map(|at| Some((at, rows.get(at)?)));
        let own = own.filter(|(_, row)| is_device(row) && row.chip_id() == chip_id);
        let begin = own.clone().map(|(at, _)| at).next()?;
        // Of ops side by side, another one than the first may start first, and than the last end last.
        let start = |row: &OpReport| firmware_cycles(row).map(|(start, _)| start);
        let (_, row) = own.min_by_key(|(_, row)| (start(row).is_none(), start(row)))?;
        let earlier = rows.get(..begin)?.iter().rev();
        let own = earlier.filter(|of| is_device(of) && of.chip_id() == chip_id);
        let mut earlier = own.take(MOST_SIDE_BY_SIDE).peekable();
        earlier.peek()?;
        let by_column = row.op_to_op_gap_us.map(|us| us * 1e3);
        let by_cycles = earlier.filter_map(|before| gap_by_cycles(before, row));
        let known = by_column.into_iter().chain(by_cycles);
        known.reduce(f64::min).filter(|ns| *ns > 0.0)
    };
    let gaps = chips.into_iter().filter_map(|chip_id| {
        let own_ns = gap_in(&found.steps, chip_id)?;
        let mut gaps: Vec<_> = iterations.iter().map(|range| gap_in(range, chip_id)).collect();
        if let Some(own) = at.and_then(|at| gaps.get_mut(at)) {
            *own = Some(own_ns);
        }
        let alone = || GapBefore::new(&[Some(own_ns)], 0);
        Some((chip_id, at.and_then(|at| GapBefore::new(&gaps, at)).or_else(alone)?))
    });
    gaps.collect()
}

/// Returns the time between two ops of a chip by the cycles of their firmware; `None` if it is unknown, and
/// not positive for ops that overlap.
fn gap_by_cycles(before: &OpReport, after: &OpReport) -> Option<f64> {
    let (_, end) = firmware_cycles(before)?;
    let (start, _) = firmware_cycles(after)?;
    let clock_ghz = after.clock_ghz.or(before.clock_ghz)?;
    Some((start as f64 - end as f64) / clock_ghz)
}

/// Returns the times of the last [`NAMED_ITERATIONS`] iterations in which each op has a known
/// length. The gap before an iteration is included as in the part that is explained: `of_loop` returns
/// it for each chip that has one there.
pub(crate) fn iteration_times(
    rows: &[OpReport],
    iterations: &[Range<usize>],
    of_loop: impl Fn(Option<u32>) -> Option<f64>,
) -> IterationTimes {
    let is_complete = |range: &&Range<usize>| {
        let ops = rows.get((*range).clone()).unwrap_or(&[]).iter();
        ops.filter(|row| row.kind == RowKind::Device).all(|row| row.device_time_us.is_some())
    };
    let ranges: Vec<&Range<usize>> = iterations.iter().filter(is_complete).collect();
    let complete: Vec<&[OpReport]> =
        ranges.iter().filter_map(|range| rows.get((*range).clone())).collect();
    let named = ranges.iter().skip(ranges.len().saturating_sub(NAMED_ITERATIONS));
    let times = named.filter_map(|range| {
        let has_gap = iterations.first() != Some(*range);
        let first = |chip_id: Option<u32>| {
            let mut own = rows.get((*range).clone())?.iter();
            own.find(|row| row.kind == RowKind::Device && row.chip_id() == chip_id)
        };
        let gap_ns = |chip_id: Option<u32>| {
            of_loop(chip_id).filter(|_| has_gap)?;
            first(chip_id)?.op_to_op_gap_us.map(|us| us * 1e3)
        };
        let own = IterationRows::new(rows, (*range).clone(), gap_ns)?;
        Some(HostWait::from_devices(&own.devices()).total_ns)
    });
    IterationTimes {
        count: iterations.len(),
        complete_count: complete.len(),
        last_ns: times.collect(),
        chips_ns: match complete.as_slice() {
            [.., before, last] => kernels_by_chip(last, before),
            _ => Vec::new(),
        },
    }
}

/// Returns the kernel time of each chip that both iterations have, in nanoseconds.
fn kernels_by_chip(last: &[OpReport], before: &[OpReport]) -> Vec<(u32, [f64; 2])> {
    let sums = |rows: &[OpReport]| {
        let mut chips: BTreeMap<u32, f64> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.kind == RowKind::Device) {
            if let Some((chip_id, us)) = row.chip_id().zip(row.device_time_us) {
                *chips.entry(chip_id).or_default() += us * 1000.0;
            }
        }
        chips
    };
    let before = sums(before);
    let both = sums(last).into_iter().filter_map(|(chip_id, last_ns)| {
        let before_ns = before.get(&chip_id).filter(|ns| **ns > 0.0)?;
        Some((chip_id, [last_ns, *before_ns]))
    });
    both.collect()
}
