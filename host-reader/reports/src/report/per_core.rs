//! Time between kernels on each core.
//!
//! # Compatibility
//! `per_core_op_to_op_times.csv`: one column for each core, and one row for each two ops that
//! follow each other on at least one core. In TT-Metal's file, the order of the core columns
//! changes from run to run. Here the columns are sorted.

use super::{
    csv_line::push_line,
    marks::{Mark, MarkKind, PackedMarks},
};
use reader::{ledger::LossWindow, mesh::Noc0Coord};
use std::collections::{BTreeMap, BTreeSet};

/// Assumed overhead of TT-Metal's probes in nanoseconds. TT-Metal's script subtracts this overhead
/// from each time.
pub(super) const PROBE_OVERHEAD_NS: u16 = 1500;

/// Marks of one core.
#[derive(Debug)]
pub(super) struct CoreMarks {
    pub(super) core: Noc0Coord,
    pub(super) marks: PackedMarks,
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
    /// Length of the gap in cycles; `None` if a launch may be missing inside it.
    cycles: Option<u64>,
    core: Noc0Coord,
}

/// Returns the gaps between different launches, in the order of time. A gap is the time from a
/// launch's last kernel end on the core to the next launch's first kernel start on the core.
fn gaps_of(core: &CoreMarks) -> impl Iterator<Item = Gap> {
    let mut launch = None;
    let mut ended: Option<(Mark, Option<u64>)> = None;
    core.marks.iter().filter_map(move |mark| match mark.kind {
        MarkKind::Launch => {
            launch = Some(mark.time);
            None
        }
        MarkKind::End => {
            ended = Some((mark, launch));
            None
        }
        MarkKind::Start => {
            let (end, _) = ended.take().filter(|(_, end_launch)| *end_launch != launch)?;
            Some(Gap {
                start_cycle: end.time,
                ops: (end.program, mark.program),
                cycles: core.cycles_between(end.time, mark.time),
                core: core.core,
            })
        }
    })
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
    for (chip_id, chip_cores) in chips {
        let mut core_gaps: Vec<_> =
            chip_cores.iter().map(|core| gaps_of(core).peekable()).collect();
        while let Some(first) = core_gaps.iter_mut().filter_map(|gaps| gaps.peek()).min() {
            let ops = first.ops;
            // The next gaps of other cores belong to the same row if they are between the same ops.
            let gaps = core_gaps.iter_mut().filter_map(|gaps| gaps.next_if(|gap| gap.ops == ops));
            let known: BTreeMap<_, _> = gaps.map(|gap| (gap.core, gap.cycles)).collect();
            let ids = [chip_id.to_string(), format!("{} -> {}", ops.0, ops.1)];
            let known = cores.iter().map(|core| known.get(core).copied().flatten());
            let cells = known.map(|cycles| cycles.map_or_else(String::new, &ns_of));
            push_line(&mut out, ids.into_iter().chain(cells), line_end);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use reader::packed_bytes::PackedMemory;

    fn core(x: u16, marks: &[Mark]) -> CoreMarks {
        let mut packed = PackedMarks::default();
        packed.add(marks.to_vec(), &PackedMemory::unlimited());
        CoreMarks { core: Noc0Coord { x, y: 1 }, marks: packed, holes: Vec::new() }
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
        assert_eq!(gaps_of(&core(1, &marks)).collect::<Vec<_>>(), []);
    }
}
