//! Runs with as many zones as the buffer of TT-Metal's profiler holds.
//!
//! TT-Metal drops the zones of a kernel that no longer fit, and its log does not say so.

use reader::ledger::{LossLedger, UncountedSource};
use recording::problem::counted;
use std::collections::BTreeMap;
use wire::{Risc, vector::OPTIONAL_MARKER_COUNT};

/// Number of zones that a RISC's buffer holds: each has a marker for its start and one for its end.
const ZONES: u64 = OPTIONAL_MARKER_COUNT as u64 / 2;

/// Number of runs of each RISC whose zones fill a buffer.
#[derive(Debug, Default)]
pub(crate) struct FullBuffers {
    /// For each RISC, the number of runs with [`ZONES`] zones, and of all runs with zones.
    runs: BTreeMap<Risc, (u64, u64)>,
    /// True if a run has more zones than a buffer holds, so that its firmware sends full buffers on.
    has_larger: bool,
}

impl FullBuffers {
    /// Adds the runs of a RISC, of which `counts` are the numbers of zones.
    pub(crate) fn add(&mut self, risc: Risc, counts: impl Iterator<Item = u32>) {
        for count in counts.filter(|count| *count > 0).map(u64::from) {
            let (full, all) = self.runs.entry(risc).or_default();
            *full = full.saturating_add(u64::from(count == ZONES));
            *all = all.saturating_add(1);
            self.has_larger |= count > ZONES;
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.has_larger |= other.has_larger;
        for (risc, (full, all)) in other.runs {
            let (own_full, own_all) = self.runs.entry(risc).or_default();
            *own_full = own_full.saturating_add(full);
            *own_all = own_all.saturating_add(all);
        }
    }

    /// Returns a sentence for each RISC with full buffers, if the recording does not count its losses.
    pub(crate) fn sentences(&self, losses: &LossLedger) -> Vec<String> {
        let is_counted = !losses.uncounted().any(|of| of == UncountedSource::TtMetalLog);
        if is_counted || self.has_larger {
            return Vec::new();
        }
        let full = self.runs.iter().filter(|(_, (full, _))| *full > 0);
        let sentences = full.map(|(risc, (full, all))| {
            format!(
                "{risc} has {ZONES} zones in {full} of {}, as many as a buffer of TT-Metal's profiler holds: \
                 zones after them are not in the log",
                counted(*all, "run", "runs")
            )
        });
        sentences.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(counts: &[u32], losses: &LossLedger) -> Vec<String> {
        let (mut buffers, mut others) = (FullBuffers::default(), FullBuffers::default());
        let (first, last) = counts.split_at(counts.len() / 2);
        buffers.add(Risc::Ncrisc, first.iter().copied());
        others.add(Risc::Ncrisc, last.iter().copied());
        buffers.merge(others);
        buffers.sentences(losses)
    }

    #[test]
    fn a_buffer_that_is_exactly_full_is_told() {
        let mut of_tt_metal = LossLedger::default();
        of_tt_metal.note_uncounted(UncountedSource::TtMetalLog);
        let expected = "NCRISC has 125 zones in 2 of 3 runs, as many as a buffer of TT-Metal's profiler \
                        holds: zones after them are not in the log";
        assert_eq!(sentences(&[125, 124, 0, 125], &of_tt_metal), [expected]);
        assert!(sentences(&[124, 124], &of_tt_metal).is_empty());
        assert!(sentences(&[125, 126], &of_tt_metal).is_empty(), "full buffers are sent on");
        assert!(sentences(&[125], &LossLedger::default()).is_empty(), "losses are counted");
    }
}
