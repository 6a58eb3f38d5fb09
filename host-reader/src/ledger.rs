//! The loss ledger: what was emitted and did not arrive, by lane, program and cause.
//!
//! The ledger only adds up. Who found a loss, and how, is known by the module that
//! enters it.

use crate::lane::LaneId;
use std::collections::BTreeMap;
use wire::{RunHostId, loss::LossCounts};

/// Why records are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LossCause {
    /// The RISC's L1 vector had no room.
    L1Full,
    /// The RISC's DRAM lane had no room.
    DramFull,
    /// The device said that it pushed a run, but DRAM does not hold it.
    NeverArrived,
    /// Words of a run cannot be markers and were skipped.
    Damaged,
    /// The host overwrote data before it was read.
    HostOverwritten,
    /// The firmware declared that no kernel ran in the launch, and left it out.
    ValidateOff,
}

impl LossCause {
    /// Every cause.
    pub const ALL: [Self; 6] = [
        Self::L1Full,
        Self::DramFull,
        Self::NeverArrived,
        Self::Damaged,
        Self::HostOverwritten,
        Self::ValidateOff,
    ];

    /// A few words for tables.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::L1Full => "L1 full",
            Self::DramFull => "DRAM full",
            Self::NeverArrived => "never arrived",
            Self::Damaged => "damaged",
            Self::HostOverwritten => "host overwrote",
            Self::ValidateOff => "validate off",
        }
    }

    /// Whether the device left the records out because it was told to, so that nothing went
    /// wrong.
    #[must_use]
    pub const fn is_intended(self) -> bool {
        matches!(self, Self::ValidateOff)
    }
}

/// How many records are missing, by kind; zones count whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossTotals {
    /// Whole zones.
    pub zones: u64,
    /// Timestamped data.
    pub data: u64,
    /// Events.
    pub events: u64,
    /// Sum totals.
    pub sums: u64,
    /// Marker slots (two words) whose kind cannot be known.
    pub unknown_markers: u64,
    /// Whether more may be missing than is counted here.
    pub is_lower_bound: bool,
}

impl LossTotals {
    /// The exact loss that a device has counted.
    #[must_use]
    pub fn of_counts(counts: LossCounts) -> Self {
        Self {
            zones: counts.zones.into(),
            data: counts.data.into(),
            events: counts.events.into(),
            sums: counts.sums.into(),
            ..Self::default()
        }
    }

    /// The same loss, `times` over.
    #[must_use]
    pub const fn repeated(self, times: u64) -> Self {
        Self {
            zones: self.zones.saturating_mul(times),
            data: self.data.saturating_mul(times),
            events: self.events.saturating_mul(times),
            sums: self.sums.saturating_mul(times),
            unknown_markers: self.unknown_markers.saturating_mul(times),
            is_lower_bound: self.is_lower_bound,
        }
    }

    /// Adds another loss to this one.
    pub const fn add(&mut self, other: Self) {
        self.zones = self.zones.saturating_add(other.zones);
        self.data = self.data.saturating_add(other.data);
        self.events = self.events.saturating_add(other.events);
        self.sums = self.sums.saturating_add(other.sums);
        self.unknown_markers = self.unknown_markers.saturating_add(other.unknown_markers);
        self.is_lower_bound |= other.is_lower_bound;
    }

    /// Records of every kind together.
    #[must_use]
    pub const fn record_count(&self) -> u64 {
        self.zones
            .saturating_add(self.data)
            .saturating_add(self.events)
            .saturating_add(self.sums)
            .saturating_add(self.unknown_markers)
    }
}

/// Under which head a loss is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LossKey {
    /// Whose records.
    pub lane: LaneId,
    /// Why.
    pub cause: LossCause,
    /// Of which program; `None` if that cannot be known.
    pub program: Option<RunHostId>,
}

/// All losses of a readout.
///
/// ```
/// use host_reader::{lane::LaneId, ledger::*, mesh::Noc0Coord};
/// use wire::{Risc, RunHostId};
/// let lane = LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 1 }, risc: Risc::Brisc };
/// let mut ledger = LossLedger::default();
/// let key = LossKey { lane, cause: LossCause::L1Full, program: Some(RunHostId(1024)) };
/// ledger.enter(key, LossTotals { zones: 25, ..LossTotals::default() });
/// assert_eq!(ledger.by_cause(LossCause::L1Full).zones, 25);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossLedger {
    entries: BTreeMap<LossKey, LossTotals>,
}

impl LossLedger {
    /// Adds a loss under its head.
    pub fn enter(&mut self, key: LossKey, totals: LossTotals) {
        self.entries.entry(key).or_default().add(totals);
    }

    /// Adds every entry of another ledger.
    pub fn merge(&mut self, other: &Self) {
        for (&key, &totals) in &other.entries {
            self.enter(key, totals);
        }
    }

    /// Every entry, ordered by lane, cause and program.
    pub fn entries(&self) -> impl Iterator<Item = (&LossKey, &LossTotals)> {
        self.entries.iter()
    }

    /// Whether nothing is missing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether anything is missing that was not left out on purpose.
    #[must_use]
    pub fn has_failures(&self) -> bool {
        self.entries.keys().any(|key| !key.cause.is_intended())
    }

    /// Everything that is missing.
    #[must_use]
    pub fn total(&self) -> LossTotals {
        self.sum_of(|_| true)
    }

    /// Everything that is missing for one cause.
    #[must_use]
    pub fn by_cause(&self, cause: LossCause) -> LossTotals {
        self.sum_of(|key| key.cause == cause)
    }

    fn sum_of(&self, wanted: impl Fn(&LossKey) -> bool) -> LossTotals {
        let mut sum = LossTotals::default();
        for (_, &totals) in self.entries.iter().filter(|(key, _)| wanted(key)) {
            sum.add(totals);
        }
        sum
    }
}
