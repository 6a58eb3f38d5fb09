//! Losses grouped by cause, chip and RISC, over all cores and programs.

use reader::{
    lane::LaneId,
    ledger::{LossCause, LossKey, LossTotals},
    mesh::Noc0Coord,
};
use std::collections::{BTreeMap, BTreeSet};
use wire::{Risc, RunHostId};

/// Losses that differ only in core and program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossGroup {
    /// Cause of the losses.
    pub cause: LossCause,
    /// Number of the chip.
    pub chip_id: u32,
    /// RISC.
    pub risc: Risc,
    /// Number of lost records of each kind.
    pub totals: LossTotals,
    /// Number of cores with losses.
    pub core_count: usize,
    /// Programs as ranges, such as `1001..1400` or `5..1400 by 5`. A text such as `among 7..9` is a
    /// range in which only some launches lost records. At most three ranges are listed.
    pub programs: String,
    /// True if the RISC, on every core of the group, also lost records because DRAM was full.
    pub is_behind_full_dram: bool,
}

/// Returns groups of losses, sorted by cause, chip and RISC.
///
/// ```
/// use analysis::loss_groups;
/// assert!(loss_groups([]).is_empty());
/// ```
#[must_use]
pub fn loss_groups(losses: impl IntoIterator<Item = (LossKey, LossTotals)>) -> Vec<LossGroup> {
    let mut groups: BTreeMap<(LossCause, u32, Risc), Accumulator> = BTreeMap::new();
    let mut full: BTreeSet<LaneId> = BTreeSet::new();
    for (key, totals) in losses {
        if key.cause == LossCause::DramFull {
            full.insert(key.lane);
        }
        let group = groups.entry((key.cause, key.lane.chip_id, key.lane.risc)).or_default();
        group.add(&key, totals);
    }
    let finished = groups.into_iter().map(|((cause, chip_id, risc), group)| LossGroup {
        cause,
        chip_id,
        risc,
        totals: group.totals,
        core_count: group.cores.len(),
        programs: program_ranges(&group.programs, &group.spans),
        is_behind_full_dram: group
            .cores
            .iter()
            .all(|&core| full.contains(&LaneId { chip_id, core, risc })),
    });
    finished.collect()
}

/// Returns the options that prevent losses, each with the cause of the losses that it prevents.
///
/// ```
/// use analysis::{loss_groups, loss_remedies};
/// assert!(loss_remedies(&loss_groups([])).is_empty());
/// ```
#[must_use]
pub fn loss_remedies(groups: &[LossGroup]) -> Vec<(LossCause, &'static str)> {
    let mut remedies = Vec::new();
    for group in groups {
        let remedy = match group.cause {
            LossCause::L1Full if group.is_behind_full_dram => Some(
                "L1 stays full because the RISC's lane in DRAM is full; make room for more programs \
                 (--op-support-count)",
            ),
            cause => remedy_of(cause),
        };
        remedies.extend(remedy.map(|remedy| (group.cause, remedy)));
    }
    remedies.sort_unstable();
    remedies.dedup();
    remedies
}

const fn remedy_of(cause: LossCause) -> Option<&'static str> {
    match cause {
        LossCause::L1Full => Some(
            "a launch records more than the L1 vector of its RISC can hold; record less, push within \
             the launch, or stream the records (--stream). Reading more often does not help",
        ),
        LossCause::DramFull => {
            Some("read more often, or make room for more programs (--op-support-count)")
        }
        LossCause::RingFull => Some(
            "read more often (--read-every), record less, or let RISCs wait for room \
             (--stream=block=CYCLES)",
        ),
        _ => None,
    }
}

#[derive(Default)]
struct Accumulator {
    totals: LossTotals,
    cores: BTreeSet<Noc0Coord>,
    programs: BTreeSet<Option<u32>>,
    /// Ranges from a first to a last launch, in which only some launches lost records.
    spans: BTreeSet<(u32, u32)>,
}

impl Accumulator {
    fn add(&mut self, key: &LossKey, totals: LossTotals) {
        self.totals.add(totals);
        self.cores.insert(key.lane.core);
        match (key.program, totals.programs) {
            (None, Some(span)) => {
                self.spans.insert((span.first.base(), span.last.base()));
            }
            (program, _) => {
                self.programs.insert(program.map(RunHostId::base));
            }
        }
    }
}

fn program_ranges(programs: &BTreeSet<Option<u32>>, spans: &BTreeSet<(u32, u32)>) -> String {
    const SHOWN: usize = 3;
    let known: Vec<u32> = programs.iter().copied().flatten().collect();
    let mut ranges = ranges_of(&known);
    ranges.extend(spans.iter().map(|(first, last)| format!("among {first}..{last}")));
    let hidden = ranges.len().saturating_sub(SHOWN);
    ranges.truncate(SHOWN);
    if hidden > 0 {
        ranges.push(format!("{hidden} more"));
    }
    if programs.contains(&None) {
        ranges.push("unknown".to_owned());
    }
    ranges.join(", ")
}

fn ranges_of(ids: &[u32]) -> Vec<String> {
    let mut ranges = Vec::new();
    let mut rest = ids;
    while let [first, after @ ..] = rest {
        let step = after.first().map_or(1, |second| second.saturating_sub(*first));
        let follows = rest
            .windows(2)
            .take_while(|pair| matches!(pair, [a, b] if b.saturating_sub(*a) == step))
            .count();
        // Two ids form a range only if they are consecutive.
        let length = if follows > 1 || step == 1 { follows.saturating_add(1) } else { 1 };
        let (range, behind) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        let last = range.last().unwrap_or(first);
        ranges.push(match (length, step) {
            (1, _) => first.to_string(),
            (_, 1) => format!("{first}..{last}"),
            _ => format!("{first}..{last} by {step}"),
        });
        rest = behind;
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use reader::ledger::ProgramSpan;

    #[test]
    fn program_ids_are_shown_as_ranges() {
        assert_eq!(program_ranges(&known_ids(&[1, 2, 3, 7]), &BTreeSet::new()), "1..3, 7");
        assert_eq!(program_ranges(&known_ids(&[5, 10, 15, 20]), &BTreeSet::new()), "5..20 by 5");
        assert_eq!(program_ranges(&known_ids(&[3, 9]), &BTreeSet::new()), "3, 9");
        assert_eq!(
            program_ranges(&known_ids(&[1, 4, 6, 9, 20]), &BTreeSet::new()),
            "1, 4, 6, 2 more"
        );
        assert_eq!(program_ranges(&[None, Some(4)].into(), &BTreeSet::new()), "4, unknown");
    }

    fn known_ids(ids: &[u32]) -> BTreeSet<Option<u32>> {
        ids.iter().copied().map(Some).collect()
    }

    #[test]
    fn losses_of_one_cause_and_risc_share_a_row() {
        let key = |cause, x, risc, program: Option<u32>| LossKey {
            lane: LaneId { chip_id: 3, core: Noc0Coord { x, y: 2 }, risc },
            program: program.map(|base| RunHostId::encode(base, 3)),
            cause,
        };
        let span = ProgramSpan { first: RunHostId::encode(7, 3), last: RunHostId::encode(9, 3) };
        let among = LossTotals { programs: Some(span), is_lower_bound: true, ..lost_zones(1) };
        let groups = loss_groups([
            (key(LossCause::L1Full, 1, Risc::Brisc, Some(1)), lost_zones(10)),
            (key(LossCause::L1Full, 2, Risc::Brisc, Some(2)), lost_zones(5)),
            (key(LossCause::L1Full, 2, Risc::Ncrisc, Some(2)), lost_zones(4)),
            (key(LossCause::DramFull, 2, Risc::Brisc, None), among),
        ]);
        let rows: Vec<_> = groups
            .iter()
            .map(|group| {
                let totals = &group.totals;
                let counts = (totals.zones, totals.is_lower_bound, group.core_count);
                (group.cause, group.risc, counts, group.programs.as_str())
            })
            .collect();
        assert_eq!(
            rows,
            [
                (LossCause::L1Full, Risc::Brisc, (15, false, 2), "1..2"),
                (LossCause::L1Full, Risc::Ncrisc, (4, false, 1), "2"),
                (LossCause::DramFull, Risc::Brisc, (1, true, 1), "among 7..9"),
            ]
        );
        let behind: Vec<_> = groups.iter().map(|group| group.is_behind_full_dram).collect();
        assert_eq!(behind, [false, false, true], "DRAM is full for one of two cores alone");
    }

    fn lost_zones(zones: u64) -> LossTotals {
        LossTotals { zones, ..LossTotals::default() }
    }

    /// A dispatcher pushes its buffer during a launch until the dispatcher's lane in DRAM is full.
    /// Then L1 fills up.
    #[test]
    fn l1_that_is_full_behind_full_dram_is_helped_by_more_dram() {
        let lane = |risc| LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 2 }, risc };
        let lost = |cause, risc| {
            let key = LossKey { lane: lane(risc), program: Some(RunHostId(0)), cause };
            (key, LossTotals { zones: 5, ..LossTotals::default() })
        };
        let dispatcher =
            [LossCause::L1Full, LossCause::DramFull].map(|cause| lost(cause, Risc::Brisc));
        let both = [(LossCause::L1Full, true, false), (LossCause::DramFull, true, false)];
        assert_eq!(remedies(&dispatcher), both);
        let worker = [lost(LossCause::L1Full, Risc::Ncrisc)];
        assert_eq!(remedies(&worker), [(LossCause::L1Full, false, true)]);
        let all = [dispatcher.as_slice(), &worker].concat();
        let expected = [both[0], (LossCause::L1Full, false, true), both[1]];
        let mut found = remedies(&all);
        found.sort_by_key(|(cause, has_room, _)| (*cause, !has_room));
        assert_eq!(found, expected);
    }

    fn remedies(losses: &[(LossKey, LossTotals)]) -> Vec<(LossCause, bool, bool)> {
        let remedies = loss_remedies(&loss_groups(losses.iter().copied()));
        let hints = remedies.into_iter().map(|(cause, remedy)| {
            (cause, remedy.contains("--op-support-count"), remedy.contains("record less"))
        });
        hints.collect::<Vec<_>>()
    }
}
