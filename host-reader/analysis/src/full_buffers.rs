//! Runs with as many zones as the buffer of TT-Metal's profiler holds.
//!
//! TT-Metal drops the zones of a kernel that no longer fit, and its log does not say so.

use super::words::counted;
use reader::{
    lane::Lane,
    ledger::{LossLedger, UncountedSource},
    readout::Readout,
    role::RoleTable,
};
use std::collections::BTreeMap;
use wire::{PacketKind, Risc, vector::OPTIONAL_MARKER_COUNT};

/// Number of zones that a RISC's buffer holds: each has a marker for its start and one for its end.
const ZONES: u64 = OPTIONAL_MARKER_COUNT as u64 / 2;

/// Number of runs of each RISC whose zones fill a buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FullBuffers {
    /// For each RISC, the number of runs with [`ZONES`] zones, and of all runs with zones.
    runs: BTreeMap<Risc, (u64, u64)>,
    /// True if a run has more zones than a buffer holds, so that its firmware sends full buffers on.
    has_larger: bool,
}

/// Runs of a RISC whose zones fill a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct FullBuffer {
    /// Name of the RISC.
    pub risc: &'static str,
    /// Number of zones that a buffer holds.
    pub zone_count: u64,
    /// Number of runs with as many zones.
    pub full_run_count: u64,
    /// Number of runs with zones of their own.
    pub run_count: u64,
}

impl FullBuffers {
    /// Counts the runs of a readout.
    #[must_use]
    pub fn from_readout(readout: &Readout) -> Self {
        let (mut all, roles) = (Self::default(), RoleTable::from_names(&readout.zones));
        readout.lanes().for_each(|lane| all.add_lane(lane, &roles));
        all
    }

    /// Adds the runs of a lane. Zones of firmware and kernels have a place of their own in a buffer.
    pub fn add_lane(&mut self, lane: &Lane, roles: &RoleTable) {
        for run in 0..lane.runs.len() {
            let heads = lane.heads.get(lane.run_records(run)).unwrap_or_default();
            let starts = heads.iter().filter(|head| head.kind() == PacketKind::ZoneStart);
            let own = starts.filter(|head| {
                let role = roles.role(head.zone());
                !role.is_firmware() && !role.is_kernel()
            });
            self.add(lane.id.risc, own.count() as u64);
        }
    }

    fn add(&mut self, risc: Risc, zone_count: u64) {
        if zone_count == 0 {
            return;
        }
        let (full, all) = self.runs.entry(risc).or_default();
        *full = full.saturating_add(u64::from(zone_count == ZONES));
        *all = all.saturating_add(1);
        self.has_larger |= zone_count > ZONES;
    }

    /// Adds the runs of other lanes.
    pub fn merge(&mut self, other: Self) {
        self.has_larger |= other.has_larger;
        for (risc, (full, all)) in other.runs {
            let (own_full, own_all) = self.runs.entry(risc).or_default();
            *own_full = own_full.saturating_add(full);
            *own_all = own_all.saturating_add(all);
        }
    }

    /// Returns each RISC with full buffers, if the recording does not count its losses and no run has more zones
    /// than a buffer holds.
    #[must_use]
    pub fn found(&self, losses: &LossLedger) -> Vec<FullBuffer> {
        let is_counted = !losses.uncounted().any(|of| of == UncountedSource::TtMetalLog);
        let runs = self.runs.iter().filter(|_| !is_counted && !self.has_larger);
        let found = runs.map(|(risc, &(full_run_count, run_count))| {
            let risc = risc.label();
            FullBuffer { risc, zone_count: ZONES, full_run_count, run_count }
        });
        found.filter(|of| of.full_run_count > 0).collect()
    }
}

impl FullBuffer {
    /// Returns a sentence about what may be missing.
    ///
    /// ```
    /// use analysis::FullBuffer;
    /// let of = FullBuffer { risc: "BRISC", zone_count: 125, full_run_count: 1, run_count: 8 };
    /// let expected = "BRISC has 125 zones in 1 of 8 runs, as many as a buffer of TT-Metal's profiler holds: \
    ///                 if there were zones after them, they are not in the log";
    /// assert_eq!(of.sentence(), expected);
    /// ```
    #[must_use]
    pub fn sentence(&self) -> String {
        let Self { risc, zone_count, full_run_count, run_count } = self;
        format!(
            "{risc} has {zone_count} zones in {full_run_count} of {}, as many as a buffer of TT-Metal's \
             profiler holds: if there were zones after them, they are not in the log",
            counted(*run_count, "run", "runs")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(counts: &[u64], losses: &LossLedger) -> Vec<String> {
        let (mut buffers, mut others) = (FullBuffers::default(), FullBuffers::default());
        let (first, last) = counts.split_at(counts.len() / 2);
        first.iter().for_each(|count| buffers.add(Risc::Ncrisc, *count));
        last.iter().for_each(|count| others.add(Risc::Ncrisc, *count));
        buffers.merge(others);
        buffers.found(losses).iter().map(FullBuffer::sentence).collect()
    }

    #[test]
    fn a_buffer_that_is_exactly_full_is_told() {
        let mut of_tt_metal = LossLedger::default();
        of_tt_metal.note_uncounted(UncountedSource::TtMetalLog);
        let expected = "NCRISC has 125 zones in 2 of 3 runs, as many as a buffer of TT-Metal's profiler \
                        holds: if there were zones after them, they are not in the log";
        assert_eq!(sentences(&[125, 124, 0, 125], &of_tt_metal), [expected]);
        assert!(sentences(&[124, 124], &of_tt_metal).is_empty());
        assert!(sentences(&[125, 126], &of_tt_metal).is_empty(), "full buffers are sent on");
        assert!(sentences(&[125], &LossLedger::default()).is_empty(), "losses are counted");
    }
}
