//! Time between kernels on each core.
//!
//! # Compatibility
//! `per_core_op_to_op_times.csv`: one row for each pair of consecutive ops on any core, and one
//! column for each core. In TT-Metal's file, the order of the core columns changes from run to run.
//! Here the columns are sorted.

use super::csv_line::push_line;
use reader::{ledger::LossWindow, mesh::Noc0Coord};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Assumed overhead of TT-Metal's probes, which its script subtracts from each time, in
/// nanoseconds.
pub(super) const PROBE_OVERHEAD_NS: u16 = 1500;

/// Kind of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MarkKind {
    /// A launch begins on the core.
    Launch,
    /// A kernel of BRISC or NCRISC starts.
    Start,
    /// Any kernel ends.
    End,
}

/// Point in time on a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) time: u64,
    program: u64,
    kind: MarkKind,
}

impl Mark {
    pub(super) const fn launch(time: u64) -> Self {
        Self { time, program: 0, kind: MarkKind::Launch }
    }

    pub(super) const fn start(time: u64, program: u64) -> Self {
        Self { time, program, kind: MarkKind::Start }
    }

    pub(super) const fn end(time: u64, program: u64) -> Self {
        Self { time, program, kind: MarkKind::End }
    }
}

/// Marks of one core, sorted by time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CoreMarks {
    pub(super) core: Noc0Coord,
    pub(super) marks: Vec<Mark>,
    /// Times at which launches of the core may be missing.
    pub(super) holes: Vec<LossWindow>,
}

impl CoreMarks {
    fn cycles_between(&self, end: u64, start: u64) -> Option<u64> {
        let is_whole = !self.holes.iter().any(|window| window.touches(end, start));
        is_whole.then(|| start.saturating_sub(end))
    }
}

/// Gap between two ops on a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Gap {
    start_cycle: u64,
    ops: (u64, u64),
    /// Length of the gap; `None` if a launch may be missing inside it.
    cycles: Option<u64>,
    core: Noc0Coord,
}

/// Returns the gaps between different launches. Each gap is from the last kernel end before a
/// kernel start to that start.
fn gaps_of(core: &CoreMarks) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let mut launch = None;
    let mut ended: Option<(Mark, Option<u64>)> = None;
    for &mark in &core.marks {
        match (mark.kind, ended) {
            (MarkKind::Launch, _) => launch = Some(mark.time),
            (MarkKind::End, _) => ended = Some((mark, launch)),
            (MarkKind::Start, None) => {}
            (MarkKind::Start, Some((end, end_launch))) => {
                if end_launch != launch {
                    gaps.push(Gap {
                        start_cycle: end.time,
                        ops: (end.program, mark.program),
                        cycles: core.cycles_between(end.time, mark.time),
                        core: core.core,
                    });
                }
                ended = None;
            }
        }
    }
    gaps
}

/// Formats the whole file. `ns_of` converts cycles to nanoseconds.
pub(super) fn per_core_csv(
    chips: &[(u64, Vec<CoreMarks>)],
    ns_of: impl Fn(u64) -> String,
    line_end: &str,
) -> String {
    let cores: BTreeSet<_> = chips.iter().flat_map(|(_, cores)| cores).map(|c| c.core).collect();
    let titles = cores.iter().map(|core| format!("{}; {} [ns]", core.x, core.y));
    let titles = ["device ID".to_owned(), "op2op ID".to_owned()].into_iter().chain(titles);
    let mut out = String::new();
    push_line(&mut out, titles, line_end);
    for (chip_id, of_chip) in chips {
        for (ops, gaps) in rows_of(of_chip) {
            let ids = [chip_id.to_string(), format!("{} -> {}", ops.0, ops.1)];
            let known = |core| gaps.get(core).copied().flatten();
            let cells = cores.iter().map(|core| known(core).map_or_else(String::new, &ns_of));
            push_line(&mut out, ids.into_iter().chain(cells), line_end);
        }
    }
    out
}

type GapRow = ((u64, u64), BTreeMap<Noc0Coord, Option<u64>>);

/// Combines the gaps between the same two ops on all cores into one row, if the pairs have the same
/// order on all cores.
fn rows_of(cores: &[CoreMarks]) -> Vec<GapRow> {
    let mut of_cores: Vec<VecDeque<Gap>> = cores.iter().map(|core| gaps_of(core).into()).collect();
    let mut all: Vec<Gap> = of_cores.iter().flatten().copied().collect();
    all.sort_unstable();
    let mut placed = BTreeSet::new();
    let mut rows = Vec::new();
    for gap in all {
        if placed.contains(&gap) {
            continue;
        }
        let mut cells = BTreeMap::new();
        for queue in &mut of_cores {
            let is_same = queue.front().is_some_and(|next| next.ops == gap.ops);
            if let Some(next) = is_same.then(|| queue.pop_front()).flatten() {
                cells.insert(next.core, next.cycles);
                placed.insert(next);
            }
        }
        rows.push((gap.ops, cells));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core(x: u16, marks: &[Mark]) -> CoreMarks {
        CoreMarks { core: Noc0Coord { x, y: 1 }, marks: marks.to_vec(), holes: Vec::new() }
    }

    #[test]
    fn gaps_of_one_pair_stand_in_one_row() {
        let of = |end, start| {
            [Mark::launch(1), Mark::end(end, 7), Mark::launch(start - 1), Mark::start(start, 8)]
        };
        let chips = [(0, vec![core(2, &of(100, 150)), core(1, &of(90, 160))])];
        let csv = per_core_csv(&chips, |cycles| cycles.to_string(), "\n");
        assert_eq!(csv, "device ID,op2op ID,1; 1 [ns],2; 1 [ns]\n0,7 -> 8,70,50\n");
    }

    #[test]
    fn a_gap_in_which_a_launch_may_be_missing_is_empty() {
        let marks =
            |end| [Mark::launch(1), Mark::end(end, 7), Mark::launch(149), Mark::start(150, 8)];
        let hole = LossWindow { after: Some(95), before: Some(99), may_cut_launches: false };
        let holed = CoreMarks { holes: vec![hole], ..core(1, &marks(90)) };
        let chips = [(0, vec![core(2, &marks(100)), holed])];
        let csv = per_core_csv(&chips, |cycles| cycles.to_string(), "\n");
        assert_eq!(csv, "device ID,op2op ID,1; 1 [ns],2; 1 [ns]\n0,7 -> 8,,50\n");
    }

    #[test]
    fn kernels_of_one_launch_have_no_gap() {
        let marks = [Mark::launch(1), Mark::end(5, 7), Mark::start(6, 7), Mark::end(9, 7)];
        assert_eq!(gaps_of(&core(1, &marks)), []);
    }
}
