//! What hardware counters say of the longest op.

use crate::{
    counter_shares::{CounterShare, FPU},
    op::OpCauses,
    rules::{kernel_ns, label_of},
};

/// Most stalls and waits that the sentence names.
const MOST_WAITS: usize = 4;

/// Returns a sentence about the longest op with counters: the use of the matrix engine, and the largest
/// stalls and waits.
pub(crate) fn counter_sentence(ops: &[&OpCauses]) -> Option<String> {
    let with = ops.iter().filter(|op| !op.counter_shares.is_empty());
    let op = with.max_by(|one, other| kernel_ns(one).total_cmp(&kernel_ns(other)))?;
    let is_wait = |label: &str| ["Stall", "Wait"].iter().any(|word| label.contains(word));
    let mut waits: Vec<&CounterShare> = op
        .counter_shares
        .iter()
        .filter(|(label, percent)| is_wait(label) && *percent > 0.0)
        .collect();
    waits.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let fpu = op.counter_shares.iter().filter(|(label, _)| *label == FPU);
    let shown: Vec<String> = fpu
        .chain(waits.into_iter().take(MOST_WAITS))
        .map(|(label, percent)| format!("{label} {percent:.1} %"))
        .collect();
    (!shown.is_empty()).then(|| {
        format!(
            "Hardware counters of launch {} of {}, in the mean of its cores: {}; waits in which a RISC polls \
             are in none of them (kprof report shows all).",
            op.launch,
            label_of(op),
            shown.join(", "),
        )
    })
}
