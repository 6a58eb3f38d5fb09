//! Rules about cores that determine the length of an op.

use super::OpGroup;
use crate::{
    balance::Balance,
    finding::{Basis, Cause, Finding, GainOf, Place},
    op::OpCauses,
    threshold::{STRAGGLER, STRAGGLER_LAUNCHES, WORK, WORK_FIT, WORK_STEPS},
};
use std::collections::BTreeMap;

/// Finds a core that repeatedly ends later than the others.
pub(crate) fn straggler(group: &OpGroup<'_>) -> Option<Finding> {
    let mut by_core: BTreeMap<_, Vec<(&OpCauses, &Balance)>> = BTreeMap::new();
    for op in &group.ops {
        if let Some(balance) = op.balance.as_ref().filter(|of| of.ratio >= STRAGGLER.value) {
            by_core.entry((op.chip_id, balance.last.core)).or_default().push((op, balance));
        }
    }
    let ((chip_id, core), launches) = by_core.into_iter().max_by_key(|(_, of)| of.len())?;
    let on_chip = group.ops.iter().filter(|op| op.chip_id == chip_id).count();
    let is_often = launches.len() as f64 >= STRAGGLER_LAUNCHES.value
        && launches.len().saturating_mul(2) >= on_chip;
    if !is_often {
        return None;
    }
    let late = mean(launches.iter().map(|(_, balance)| (balance.ratio - 1.0) * 100.0));
    let sentence = format!(
        "Core ({},{}) ends {late:.0} % late in {} of {on_chip} launches of {}",
        core.0,
        core.1,
        launches.len(),
        group.label
    );
    let place = Place { chip_id: Some(chip_id), core: Some(core), ..group.place() };
    let gain: f64 = launches.iter().map(|(op, balance)| excess_ns(op, balance)).sum();
    let advice = "compare its work with the others' on the grid; look for a harvested row, a far \
                  DRAM bank or a link that it shares";
    let figure = (STRAGGLER, late / 100.0 + 1.0);
    let finding = Finding::new(
        Cause::Straggler,
        figure,
        sentence,
        place,
        advice,
        Basis::launches(launches.len(), on_chip),
    );
    Some(finding.with_gain(gain, (group.kernel_ns(), GainOf::Ops)))
}

/// Finds a core that has more steps of work than the other cores and takes proportionally longer. A
/// step is a zone of the kernel, or a wait if the kernel has no zones.
pub(crate) fn uneven_work(group: &OpGroup<'_>) -> Option<Finding> {
    let (op, balance) = group.longest(|op| op.balance.as_ref().filter(|of| is_uneven(of)))?;
    let steps = balance.steps?;
    let uneven: Vec<_> = group
        .ops
        .iter()
        .filter_map(|op| Some((*op, op.balance.as_ref().filter(|of| is_uneven(of))?)))
        .collect();
    if uneven.len().saturating_mul(2) < group.ops.len() {
        return None;
    }
    let (x, y) = balance.last.core;
    let more = (f64::from(steps.of_last) / steps.mean - 1.0) * 100.0;
    let sentence = format!(
        "Work is uneven in {}: core ({x},{y}) has {} steps, the mean is {:.1}, and it ends last",
        group.label, steps.of_last, steps.mean
    );
    let place = Place {
        chip_id: Some(op.chip_id),
        core: Some((x, y)),
        launch: Some(op.launch),
        ..group.place()
    };
    let gain: f64 = uneven.iter().map(|(op, balance)| excess_ns(op, balance)).sum();
    let advice = "split the work so that every core has the same number of steps";
    let finding = Finding::new(
        Cause::UnevenWork,
        (WORK, more),
        sentence,
        place,
        advice,
        Basis::launches(uneven.len(), group.ops.len()),
    );
    Some(finding.with_gain(gain, (group.kernel_ns(), GainOf::Ops)))
}

/// Returns true if the core that ended last has more steps of work than the average core, and if
/// its time exceeds the average time by about the same factor.
fn is_uneven(balance: &Balance) -> bool {
    let Some(steps) = balance.steps.filter(|steps| f64::from(steps.of_last) >= WORK_STEPS.value)
    else {
        return false;
    };
    let more = f64::from(steps.of_last) / steps.mean;
    (more - 1.0) * 100.0 >= WORK.value
        && (balance.ratio / more - 1.0).abs() * 100.0 <= WORK_FIT.value
}

/// Returns, in nanoseconds, how much longer the core that ended last ran than the cores on average.
fn excess_ns(op: &OpCauses, balance: &Balance) -> f64 {
    super::kernel_ns(op) * (1.0 - 1.0 / balance.ratio.max(1.0))
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}
