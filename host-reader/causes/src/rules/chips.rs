//! Rule about chips that take longer than others for the ops that they run in parallel.

use super::{duration, kernel_ns, label_of, launch_place};
use crate::{
    finding::{Basis, Cause, Finding, GainOf, Place, percent},
    op::OpCauses,
    parallel::{ChipOp, Round, rounds},
    threshold::{CHIP, CHIP_LAUNCHES},
};
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
        is_collective: op.is_collective(),
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
        let others_ns = own_ns - round.excess(op.chip_id, |op| op.duration_ns)?;
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
    let mut by_name: BTreeMap<&str, Vec<Slow<'_>>> = BTreeMap::new();
    for round in rounds.iter().filter(|round| !round.is_collective()) {
        if let Some(slow) = Slow::from_round(round) {
            by_name.entry(round.name()).or_default().push(slow);
        }
    }
    let found = by_name.into_iter().filter_map(|(name, slowest)| {
        slow_chip(name, &slowest).map(|finding| (name.to_owned(), finding))
    });
    found.collect()
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
