//! Rule about chips that run the same op in parallel.

use super::{OpGroup, kernel_ns};
use crate::{
    finding::{Basis, Cause, Finding, GainOf, Place},
    op::OpCauses,
    threshold::{CHIP, CHIP_LAUNCHES},
};
use std::collections::BTreeMap;
use wire::RunHostId;

/// Finds a chip that repeatedly takes longer than the others.
///
/// Launches of one program on several chips are matched by their launch numbers. Only lengths are
/// compared, so the chips need no common clock.
pub(crate) fn slow_chip(group: &OpGroup<'_>) -> Option<Finding> {
    let rounds = rounds(group);
    let slow: Vec<Slow<'_>> = rounds.iter().filter_map(|round| slowest(round)).collect();
    let mut by_chip: BTreeMap<u32, Vec<&Slow<'_>>> = BTreeMap::new();
    for slow in slow.iter().filter(|slow| slow.ratio >= CHIP.value) {
        by_chip.entry(slow.op.chip_id).or_default().push(slow);
    }
    let (chip_id, launches) = by_chip.into_iter().max_by_key(|(_, of)| of.len())?;
    let is_often = launches.len() as f64 >= CHIP_LAUNCHES.value
        && launches.len().saturating_mul(2) >= slow.len();
    if !is_often {
        return None;
    }
    let count = launches.len() as f64;
    let more = launches.iter().map(|slow| (slow.ratio - 1.0) * 100.0).sum::<f64>() / count;
    let chip_count = launches.iter().map(|slow| slow.chip_count).max()?;
    let longest = launches.iter().max_by(|one, other| one.ratio.total_cmp(&other.ratio))?;
    let (core, waits) = evidence(longest.op);
    let sentence = format!(
        "Chip {chip_id} takes {more:.0} % longer than the other {} in {} of {} launches of {}{waits}",
        chip_count.saturating_sub(1),
        launches.len(),
        slow.len(),
        group.label,
    );
    let gain: f64 = launches.iter().map(|slow| kernel_ns(slow.op) * (1.0 - 1.0 / slow.ratio)).sum();
    let whole: f64 = slow.iter().map(|slow| kernel_ns(slow.op)).sum();
    let launch = Some(longest.op.launch);
    let place = Place { chip_id: Some(chip_id), core, launch, ..group.place() };
    let figure = (CHIP, more / 100.0 + 1.0);
    let finding = Finding::new(
        Cause::SlowChip,
        figure,
        sentence,
        place,
        COMPARE_CHIPS,
        Basis::launches(launches.len(), slow.len()),
    );
    Some(finding.with_gain(gain, (whole, GainOf::Ops)))
}

/// Advice for finding out why a chip is slow.
pub(super) const COMPARE_CHIPS: &str = "compare its clock, its harvested cores, its share of the work and its \
    links with the others'";

/// Slowest chip in one launch.
struct Slow<'a> {
    op: &'a OpCauses,
    /// Length of the op on this chip, divided by the mean length on the other chips.
    ratio: f64,
    chip_count: usize,
}

/// Groups launches by program and number. Each group has one launch on each of at least two chips.
fn rounds<'a>(group: &OpGroup<'a>) -> Vec<Vec<&'a OpCauses>> {
    let mut rounds: BTreeMap<(u32, u64), Vec<&OpCauses>> = BTreeMap::new();
    for op in group.ops.iter().filter(|op| kernel_ns(op) > 0.0) {
        rounds.entry((RunHostId(op.run_host_id).base(), op.launch)).or_default().push(op);
    }
    let rounds = rounds.into_values().filter(|round| {
        let chips: std::collections::BTreeSet<_> = round.iter().map(|op| op.chip_id).collect();
        // A chip may have several ops with the same number, for example in replays. Such ops cannot
        // be matched.
        chips.len() == round.len() && chips.len() > 1
    });
    rounds.collect()
}

fn slowest<'a>(round: &[&'a OpCauses]) -> Option<Slow<'a>> {
    let op =
        round.iter().copied().max_by(|one, other| kernel_ns(one).total_cmp(&kernel_ns(other)))?;
    let others = round.iter().filter(|other| other.chip_id != op.chip_id);
    let sum: f64 = others.map(|op| kernel_ns(op)).sum();
    let mean = sum / round.len().saturating_sub(1) as f64;
    (mean > 0.0).then(|| Slow { op, ratio: kernel_ns(op) / mean, chip_count: round.len() })
}

/// Returns the core that ended last on the slow chip, and a text about that core and the stage that
/// sets the pace.
fn evidence(op: &OpCauses) -> (Option<(u16, u16)>, String) {
    let core = op.balance.as_ref().map(|balance| balance.last.core);
    let at = core.map_or_else(String::new, |(x, y)| format!("; core ({x},{y}) ends last there"));
    let pace = op.pace.as_ref().filter(|pace| pace.is_certain());
    let pacer = pace.map_or_else(String::new, |pace| {
        format!(", where the {} sets the pace", pace.pacer.label())
    });
    (core, format!("{at}{pacer}"))
}
