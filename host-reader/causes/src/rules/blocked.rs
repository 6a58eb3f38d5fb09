//! Rule about RISCs that others block, in ops whose waits do not show a stage that sets the pace.

use super::{OpGroup, zones::is_large};
use crate::{
    finding::{Basis, Cause, Finding, Place},
    risc_wait::{RiscWait, WaitSum, cycle_percent},
    threshold::BLOCKED_RISC,
};
use recording::problem::counted;

/// Reports the RISC that is blocked for most of its kernels' time.
///
/// A pace needs the waits of two stages. If fewer were recorded, the blocked RISC is still known, and
/// what it waits for.
pub(super) fn blocked_risc(group: &OpGroup<'_>, kernels_ns: f64) -> Option<Finding> {
    let is_blocked = |wait: &&RiscWait| share(wait) >= BLOCKED_RISC.value;
    let (op, wait) = group.longest(|op| {
        let waits = op.waits.iter().filter(|_| op.pace.is_none()).filter(is_blocked);
        waits.max_by(|one, other| share(one).total_cmp(&share(other)))
    })?;
    if !is_large(group, kernels_ns) {
        return None;
    }
    let part = op.known_percent.map_or_else(String::new, |percent| {
        format!(", in the first {percent:.0} % of the op, whose waits are all known")
    });
    let sentence = format!(
        "{} is blocked {:.0} % of its kernels' time in {}, on {}{part}",
        wait.risc,
        share(wait),
        group.label,
        counted(wait.core_count, "core", "cores"),
    );
    let place = Place {
        chip_id: Some(op.chip_id),
        launch: Some(op.launch),
        risc: Some(wait.risc.label()),
        ..group.place()
    };
    let advice = "look at what fills, empties or signals the object that this RISC waits for; with the \
                  waits of all RISCs, the stage that sets the pace is found";
    let basis = Basis::launches(1, group.ops.len());
    let mut finding =
        Finding::new(Cause::Wait, (BLOCKED_RISC, share(wait)), sentence, place, advice, basis);
    finding.why = wait.sums.iter().take(MOST_OBJECTS).map(|sum| fact(wait, sum)).collect();
    Some(finding)
}

/// Most objects that the facts below a sentence name.
const MOST_OBJECTS: usize = 3;

/// Returns how much of its kernels' time a RISC is blocked, whatever it waits for, in percent.
fn share(wait: &RiscWait) -> f64 {
    wait.blocked_percent + wait.barrier_percent
}

fn fact(wait: &RiscWait, sum: &WaitSum) -> String {
    let percent = cycle_percent(sum.cycles, wait.kernel_cycles_sum);
    let waits = counted(sum.waits, "wait", "waits");
    format!("{}: {percent:.0} % of the time, in {waits}", sum.awaited())
}
