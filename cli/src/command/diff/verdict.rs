//! The verdict of a gate on a comparison, in words.

use super::gaps::microseconds;
use crate::numbers::counted;
use host_reader::diff::{Change, Diff, Finding, Gate, Shortfall};
use std::io::Write;

/// What a gate found.
pub(super) struct Verdict<'a> {
    pub(super) gate: Gate,
    /// Changes that exceed the limits.
    pub(super) findings: Vec<(Finding, &'a Change)>,
    /// Whether ops that only one side has change the time by more than the limits, in words.
    pub(super) unpaired: Option<String>,
    /// What was compared too little for a verdict; `None` without a gate.
    pub(super) shortfall: Option<Shortfall>,
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
            unpaired: gate.finding_of_unpaired(diff).map(|_| unpaired_sentence(diff)),
            shortfall: gate.is_set().then(|| diff.shortfall()).flatten(),
            clockless_count: match gate.cycles {
                Some(_) => changes.filter(is_clockless).count(),
                None => 0,
            },
        }
    }

    pub(super) fn is_failed(&self) -> bool {
        !self.findings.is_empty() || self.unpaired.is_some() || self.shortfall.is_some()
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
        }
        if let Some(unpaired) = &self.unpaired {
            writeln!(out, "{unpaired}")?;
        }
        if self.clockless_count > 0 {
            let changes = counted(self.clockless_count as u64, "change", "changes");
            writeln!(
                out,
                "The clock of {changes} is unknown, so there the percentage alone decided"
            )?;
        }
        if let Some(shortfall) = &self.shortfall {
            writeln!(out, "\nToo little was compared: {shortfall}")?;
        }
        Ok(())
    }
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
