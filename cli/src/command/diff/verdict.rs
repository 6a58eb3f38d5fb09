//! The verdict of a gate on a comparison, in words.

use super::gaps::{has_gaps, microseconds};
use crate::numbers::{counted, grouped};
use host_reader::{
    diff::{Change, Diff, Elapsed, Finding, Gaps, Gate, Shortfall, UncomparedIterations},
    perf::Spread,
};
use std::io::Write;

/// What a gate found.
pub(super) struct Verdict<'a> {
    pub(super) gate: Gate,
    /// Changes that exceed the limits.
    pub(super) findings: Vec<(Finding, &'a Change)>,
    /// Devices on which an iteration with its gaps exceeds the limits.
    pub(super) elapsed: Vec<(Finding, &'a Elapsed)>,
    /// Why iterations of both sides cannot be compared, so that the gate does not pass, in words.
    pub(super) iterations: Option<String>,
    /// What the gate says of the time between ops, in words.
    gaps: Option<String>,
    /// Whether the time that ops share changes by more than the limits, in words.
    pub(super) overlap: Option<String>,
    /// Whether ops that only one side has change the time by more than the limits, in words.
    pub(super) unpaired: Option<String>,
    /// What was compared too little for a verdict; `None` without a gate.
    pub(super) shortfall: Option<Shortfall>,
    /// What has no counterpart, but is in iterations that are compared.
    held: Option<Shortfall>,
    /// Number of changes whose clock is unknown, so that the percentage alone decided; 0 without a
    /// limit of cycles.
    clockless_count: usize,
}

impl<'a> Verdict<'a> {
    pub(super) fn new(diff: &'a Diff, gate: Gate) -> Self {
        let changes = diff.changes.iter();
        let is_clockless =
            |change: &&Change| change.a_cycles.is_none() || change.b_cycles.is_none();
        Self {
            gate,
            findings: changes
                .clone()
                .filter_map(|change| Some((gate.finding(change)?, change)))
                .collect(),
            elapsed: diff
                .elapsed
                .iter()
                .filter_map(|of| Some((gate.finding_of_elapsed(of)?, of)))
                .collect(),
            iterations: gate.uncomparable(diff).map(uncomparable_sentence),
            gaps: gate.is_set().then(|| gaps_sentence(diff, gate)).flatten(),
            overlap: gate.finding_of_overlap(diff).map(|found| {
                format!("The ops of B are {}. {}", found.label(), overlap_sentence(diff))
            }),
            unpaired: gate.finding_of_unpaired(diff).map(|_| unpaired_sentence(diff)),
            shortfall: gate.is_set().then(|| gate.shortfall(diff)).flatten(),
            held: gate.is_set().then(|| gate.held_by_iterations(diff)).flatten(),
            clockless_count: match gate.cycles {
                Some(_) => changes.filter(is_clockless).count(),
                None => 0,
            },
        }
    }

    pub(super) fn is_failed(&self) -> bool {
        !self.findings.is_empty()
            || !self.elapsed.is_empty()
            || self.iterations.is_some()
            || self.overlap.is_some()
            || self.unpaired.is_some()
            || self.shortfall.is_some()
    }

    /// Writes the verdict on each limit.
    pub(super) fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        let limits = [
            (Finding::Slower, self.gate.above_percent),
            (Finding::Faster, self.gate.below_percent),
        ];
        let cycles = self
            .gate
            .cycles
            .map_or_else(String::new, |cycles| format!(" and by more than {cycles} cycles"));
        for (finding, percent) in limits {
            let Some(percent) = percent else { continue };
            let found = self.findings.iter().filter(|(found, _)| *found == finding).count();
            let found = counted(found as u64, "op or zone is", "ops and zones are");
            writeln!(out, "\n{found} {} by more than {percent} %{cycles}", finding.label())?;
            let elapsed = self.elapsed.iter().filter(|(found, _)| *found == finding);
            let size = |of: &Elapsed| of.ratio.ln().abs();
            let most = elapsed.clone().map(|(_, of)| *of);
            if let Some(most) = most.max_by(|one, other| size(one).total_cmp(&size(other))) {
                writeln!(
                    out,
                    "An iteration with its gaps is {} by more than {percent} %{cycles} on {}, most on {}",
                    finding.label(),
                    counted(elapsed.count() as u64, "device", "devices"),
                    elapsed_sentence(most)
                )?;
            }
        }
        if let Some(iterations) = &self.iterations {
            writeln!(out, "{iterations}")?;
        }
        if let Some(gaps) = &self.gaps {
            writeln!(out, "{gaps}")?;
        }
        for sentence in [&self.overlap, &self.unpaired].into_iter().flatten() {
            writeln!(out, "{sentence}")?;
        }
        if self.clockless_count > 0 {
            let changes = counted(self.clockless_count as u64, "change", "changes");
            writeln!(
                out,
                "The clock of {changes} is unknown, so there the percentage alone decided"
            )?;
        }
        if let Some(Shortfall { a_share, b_share, .. }) = &self.held {
            writeln!(
                out,
                "Ops with {:.1} % of A's and {:.1} % of B's time have a counterpart; for the others the limits \
                 hold the time of an iteration, which is compared",
                a_share * 100.0,
                b_share * 100.0
            )?;
        }
        if let Some(shortfall) = &self.shortfall {
            writeln!(out, "\nToo little was compared: {shortfall}")?;
        }
        Ok(())
    }
}

/// Returns the time of an iteration with its gaps on both sides.
pub(super) fn elapsed_sentence(of: &Elapsed) -> String {
    let ops = |count: usize| match of.a_op_count == of.b_op_count {
        true => String::new(),
        false => format!(" in {}", counted(count as u64, "op", "ops")),
    };
    let side = |name: &str, (whole, count): (&Spread, usize), gaps_ns: f64| {
        format!(
            "{name} {}{}, {} of it gaps, mean of {}",
            microseconds(whole.mean),
            ops(count),
            microseconds(gaps_ns),
            counted(whole.count as u64, "iteration", "iterations")
        )
    };
    format!(
        "{}: {}; {}; {:+.1} %",
        of.place,
        side("A", (&of.a_ns, of.a_op_count), of.a_gaps_ns),
        side("B", (&of.b_ns, of.b_op_count), of.b_gaps_ns),
        of.percent()
    )
}

/// Says why iterations of both sides keep a gate from passing.
fn uncomparable_sentence(of: &UncomparedIterations) -> String {
    format!(
        "The gate cannot pass, as iterations on {} cannot be compared: {}; --ignore-gaps leaves them out",
        of.place, of.doubt
    )
}

/// Says that the time between ops is not in the gate, if that is so; `None` if it is, or if no gap is
/// known.
fn gaps_sentence(diff: &Diff, gate: Gate) -> Option<String> {
    if diff.has_overlap() && diff.busy_ns().is_none() {
        return Some(overlap_sentence(diff));
    }
    if !has_gaps(diff) {
        return None;
    }
    let why = if gate.ignores_gaps {
        "--ignore-gaps is set".to_owned()
    } else {
        let found = diff.uncompared_iterations.iter().find(|of| !of.doubt.is_of_work())?;
        let place = match diff.elapsed.len().saturating_add(diff.uncompared_iterations.len()) {
            1 => String::new(),
            _ => format!("on {}, ", found.place),
        };
        format!("{place}{}", found.doubt)
    };
    let side = |gaps: &Gaps| gaps.median_ns.map_or_else(|| "unknown".to_owned(), microseconds);
    let [a, b] = [&diff.a.gaps, &diff.b.gaps].map(side);
    Some(format!("The time between ops is in no limit: {why} (median gap: A {a}; B {b})"))
}

/// Says how long any op of each side runs, or why this is not compared.
fn overlap_sentence(diff: &Diff) -> String {
    let Some((a_ns, b_ns)) = diff.busy_ns() else {
        return "The time that ops share is in no limit: A and B have different numbers of ops, or the \
                cycles of some are unknown"
            .to_owned();
    };
    let count = |gaps: &Gaps| {
        let ops = counted(gaps.op_count, "op", "ops");
        format!("{} of {ops} side by side", grouped(gaps.side_by_side_op_count))
    };
    format!(
        "Time in which any op runs: A {}, {}; B {}, {}; {:+.1} %",
        microseconds(a_ns),
        count(&diff.a.gaps),
        microseconds(b_ns),
        count(&diff.b.gaps),
        (b_ns / a_ns - 1.0) * 100.0
    )
}

/// Says by how much ops that only one side has change the time of A.
fn unpaired_sentence(diff: &Diff) -> String {
    format!(
        "Ops that only A has take {}, ops that only B has take {}: they change A's time by {:+.1} %",
        microseconds(diff.a.alone_ns),
        microseconds(diff.b.alone_ns),
        diff.unpaired_percent()
    )
}
