//! Rule about chips that take longer than others for the ops that they run in parallel.

use super::{duration, kernel_ns, label_of, launch_place};
use crate::{
    finding::{Basis, Cause, Finding, GainOf, Place, percent},
    middle::median,
    op::OpCauses,
    parallel::{ChipOp, Round, rounds},
    threshold::{CHIP, CHIP_LAUNCHES},
};
use reports::perf::OpCategory;
use std::{borrow::Cow, collections::BTreeMap};
use wire::RunHostId;

/// Advice for finding out why a chip is slow.
pub(super) const COMPARE_CHIPS: &str = "compare its clock, its harvested cores, its share of the work and its \
    links with the others'";

/// Returns a launch as an op of its chip. `start_ns` is the start of its kernels on a clock that all
/// chips share.
pub(crate) fn chip_op(op: &OpCauses, start_ns: Option<f64>) -> ChipOp<'_> {
    ChipOp {
        chip_id: op.chip_id,
        name: Cow::Owned(label_of(op)),
        form: "",
        call: Some((RunHostId(op.run_host_id).base(), op.replay)),
        is_collective: op.name.as_deref().is_some_and(OpCategory::waits_for_chips),
        duration_ns: Some(kernel_ns(op)).filter(|ns| *ns > 0.0),
        gap_ns: op.gap_ns.map(|ns| ns as f64),
        start_ns,
        place: launch_place(op),
        launch: Some(op),
    }
}

/// Slowest chip in one round.
struct Slow<'a> {
    op: &'a ChipOp<'a>,
    own_ns: f64,
    /// Length of the op on this chip, divided by the median length on the other chips.
    ratio: f64,
}

impl<'a> Slow<'a> {
    fn from_round(round: &Round<'a>) -> Option<Self> {
        let timed = round.ops.iter().filter_map(|op| Some((op.duration_ns?, *op)));
        let (own_ns, op) = timed.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
        let others_ns = own_ns - round.excess(&[op.chip_id], |op| op.duration_ns)?;
        (others_ns > 0.0).then(|| Self { op, own_ns, ratio: own_ns / others_ns })
    }

    fn excess_ns(&self) -> f64 {
        self.own_ns * (1.0 - 1.0 / self.ratio)
    }
}

/// Finds, for the ops of each name, the chip that repeatedly takes longer than the others. Returns
/// the name with each finding.
///
/// Collectives are left out. All chips leave a collective together, so a chip that takes longer in
/// it has arrived early. Only lengths are compared, so the chips need no common clock.
pub(crate) fn slow_chips(ops: &[ChipOp<'_>]) -> Vec<(String, Finding)> {
    let rounds = rounds(ops);
    let mut by_name: BTreeMap<&str, Vec<&Round<'_>>> = BTreeMap::new();
    for round in rounds.iter().filter(|round| !round.is_collective()) {
        by_name.entry(round.name()).or_default().push(round);
    }
    let found = by_name.into_iter().filter_map(|(name, rounds)| {
        let slowest: Vec<_> = rounds.iter().filter_map(|round| Slow::from_round(round)).collect();
        let halves = || slow_half(name, &rounds);
        let finding = slow_chip(name, &slowest).or_else(halves)?;
        Some((name.to_owned(), finding))
    });
    found.collect()
}

/// How many times longer the distance between the two halves of the chips must be than the distances
/// within them.
const HALVES_APART: f64 = 2.0;

/// Chips of a round that take longer than all others by far, at least two on each side.
struct Halves<'a> {
    /// The longest op of the slow chips.
    longest: &'a ChipOp<'a>,
    slow: Vec<u32>,
    fast: Vec<u32>,
    slow_ns: f64,
    fast_ns: f64,
}

impl<'a> Halves<'a> {
    fn from_round(round: &Round<'a>) -> Option<Self> {
        let timed = round.ops.iter().map(|op| Some((op.duration_ns?, *op)));
        let mut timed = timed.collect::<Option<Vec<_>>>()?;
        timed.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let times: Vec<f64> = timed.iter().map(|(ns, _)| *ns).collect();
        let steps = times.iter().zip(times.iter().skip(1)).map(|(one, next)| next - one);
        let (widest, step) =
            steps.enumerate().max_by(|(_, one), (_, other)| one.total_cmp(other))?;
        let (fast, slow) = timed.split_at_checked(widest.saturating_add(1))?;
        let spread = |of: &[(f64, &ChipOp<'_>)]| Some(of.last()?.0 - of.first()?.0);
        let within = spread(fast)?.max(spread(slow)?);
        let middle =
            |of: &[(f64, &ChipOp<'_>)]| median(of.iter().map(|(ns, _)| *ns).collect::<Vec<_>>());
        let (slow_ns, fast_ns) = (middle(slow)?, middle(fast)?);
        let is_apart = fast.len() > 1
            && slow.len() > 1
            && step > within * HALVES_APART
            && slow.first()?.0 >= fast.last()?.0 * CHIP.value;
        let chips = |of: &[(f64, &ChipOp<'_>)]| {
            let mut chips: Vec<u32> = of.iter().map(|(_, op)| op.chip_id).collect();
            chips.sort_unstable();
            chips
        };
        let longest = slow.last()?.1;
        is_apart.then(|| Self { longest, slow: chips(slow), fast: chips(fast), slow_ns, fast_ns })
    }
}

/// Reports that several chips take longer than all others for the ops of a name, which the median of the
/// others hides.
fn slow_half(name: &str, rounds: &[&Round<'_>]) -> Option<Finding> {
    let mut by_chips: BTreeMap<Vec<u32>, Vec<Halves<'_>>> = BTreeMap::new();
    for halves in rounds.iter().filter_map(|round| Halves::from_round(round)) {
        by_chips.entry(halves.slow.clone()).or_default().push(halves);
    }
    let (chips, found) = by_chips.into_iter().max_by_key(|(_, of)| of.len())?;
    if found.len().saturating_mul(2) < rounds.len() {
        return None;
    }
    let [slow_ns, fast_ns] = [|of: &Halves<'_>| of.slow_ns, |of: &Halves<'_>| of.fast_ns]
        .map(|of| found.iter().map(of).sum::<f64>());
    let longest = found
        .iter()
        .max_by(|one, other| one.slow_ns.total_cmp(&other.slow_ns))
        .map(|of| of.longest)?;
    let others = found.first().map_or_else(String::new, |of| chip_list(&of.fast));
    let ratio = slow_ns / fast_ns;
    let sentence = format!(
        "Chips {} take {:.0} % longer than chips {others} in {} of {} launches of {name} ({} and {})",
        chip_list(&chips),
        (ratio - 1.0) * 100.0,
        found.len(),
        rounds.len(),
        duration(slow_ns),
        duration(fast_ns),
    );
    let finding = Finding::new(
        Cause::SlowChip,
        (CHIP, ratio),
        sentence,
        longest.place.clone(),
        COMPARE_CHIPS,
        Basis::launches(found.len(), rounds.len()),
    );
    let rows = found.iter().take(3).filter_map(|of| of.longest.place.row).collect();
    Some(Finding { rows, ..finding.with_gain(slow_ns - fast_ns, (slow_ns, GainOf::Ops)) })
}

/// Returns a list of chips: `0, 2, 4 to 7`.
fn chip_list(chips: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &chip in chips {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(chip) => *last = chip,
            _ => runs.push((chip, chip)),
        }
    }
    let texts = runs.into_iter().map(|(first, last)| match last.abs_diff(first) {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    });
    texts.collect::<Vec<_>>().join(", ")
}

fn slow_chip(name: &str, slowest: &[Slow<'_>]) -> Option<Finding> {
    let mut by_chip: BTreeMap<u32, Vec<&Slow<'_>>> = BTreeMap::new();
    for slow in slowest.iter().filter(|slow| slow.ratio >= CHIP.value) {
        by_chip.entry(slow.op.chip_id).or_default().push(slow);
    }
    let (chip_id, mut slow) = by_chip.into_iter().max_by_key(|(_, of)| of.len())?;
    let count = slow.len() as f64;
    if count < CHIP_LAUNCHES.value || slow.len().saturating_mul(2) < slowest.len() {
        return None;
    }
    slow.sort_by(|one, other| other.own_ns.total_cmp(&one.own_ns));
    let longest = slow.first()?.op;
    let whole_ns: f64 = slow.iter().map(|slow| slow.own_ns).sum();
    let gain_ns: f64 = slow.iter().map(|slow| slow.excess_ns()).sum();
    let more = slow.iter().map(|slow| slow.ratio - 1.0).sum::<f64>() / count;
    let (core, evidence) = longest.launch.map_or((None, String::new()), evidence);
    let sentence = format!(
        "Chip {chip_id} takes {:.0} % longer than the others in {} of {} launches of {name} ({}, {:.0} % \
         of it more than theirs){evidence}",
        more * 100.0,
        slow.len(),
        slowest.len(),
        duration(whole_ns),
        percent(gain_ns, whole_ns),
    );
    let place = Place { core, ..longest.place.clone() };
    let finding = Finding::new(
        Cause::SlowChip,
        (CHIP, more + 1.0),
        sentence,
        place,
        COMPARE_CHIPS,
        Basis::launches(slow.len(), slowest.len()),
    );
    let rows = slow.iter().take(3).filter_map(|slow| slow.op.place.row).collect();
    Some(Finding { rows, ..finding.with_gain(gain_ns, (whole_ns, GainOf::Ops)) })
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
