//! Counts of the records that found no room in L1, from the control vector.
//!
//! TT-Metal has one bit per RISC for "DRAM was full" and nothing for "L1 was full". kprof's runtime
//! counts losses in words that TT-Metal reserves ([`ext`]). For each RISC and each kind of record,
//! a word counts the records for which L1 had no room. For each RISC, a word counts the markers for
//! which DRAM had no room. Room for the total of a sum zone is reserved in advance: by the Rust
//! runtime when a launch begins, by the C++ header when the zone's accumulator is first used. If no
//! room is left at that time, the total counts as one lost zone.

use crate::control::ext;

/// Kind of a record that is lost when L1 is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LossKind {
    /// A zone, start and end together.
    Zone,
    /// Timestamped data of either size.
    Data,
    /// An event.
    Event,
}

impl LossKind {
    /// Every kind, in the order of their control words.
    pub const ALL: [Self; 3] = [Self::Zone, Self::Data, Self::Event];

    /// Returns the index of the control word that counts this kind for RISC 0. The words of the
    /// other RISCs follow this word.
    #[must_use]
    pub const fn control_word(self) -> usize {
        match self {
            Self::Zone => ext::LOST_ZONES,
            Self::Data => ext::LOST_DATA,
            Self::Event => ext::LOST_EVENTS,
        }
    }
}

/// Numbers of lost records by kind, or the loss counters of one RISC. A zone's start and end count
/// as one record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LossCounts {
    /// Number of lost zones.
    pub zones: u32,
    /// Number of lost timestamped data records, of either size.
    pub data: u32,
    /// Number of lost events.
    pub events: u32,
}

impl LossCounts {
    /// Returns true if nothing was lost.
    #[must_use]
    pub const fn is_zero(&self) -> bool {
        self.zones == 0 && self.data == 0 && self.events == 0
    }

    /// Returns the losses since an earlier state of the same counters.
    ///
    /// ```
    /// use wire::loss::LossCounts;
    /// let earlier = LossCounts { zones: u32::MAX, ..LossCounts::default() };
    /// let now = LossCounts { zones: 2, data: 1, events: 0 };
    /// assert_eq!(now.since(earlier), LossCounts { zones: 3, data: 1, events: 0 });
    /// ```
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            zones: self.zones.wrapping_sub(earlier.zones),
            data: self.data.wrapping_sub(earlier.data),
            events: self.events.wrapping_sub(earlier.events),
        }
    }
}
