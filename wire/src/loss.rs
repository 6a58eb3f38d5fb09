//! Records that found no room in L1, as the control vector counts them.
//!
//! Upstream has one bit per RISC for "DRAM was full" and nothing for "L1 was full". Our runtime
//! counts in words that upstream reserves ([`ext`]): what L1 did not take, by RISC and kind of
//! record, and what DRAM did not take, in markers. The total of a sum zone has its room reserved:
//! by the Rust runtime when a launch begins, by the C++ header when its accumulator is first used. If
//! there is none left then, the total counts as one lost zone.

use crate::control::ext;

/// A kind of record that can find no room in L1.
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

    /// The control word that counts this kind for RISC 0; those of the other RISCs follow.
    #[must_use]
    pub const fn control_word(self) -> usize {
        match self {
            Self::Zone => ext::LOST_ZONES,
            Self::Data => ext::LOST_DATA,
            Self::Event => ext::LOST_EVENTS,
        }
    }
}

/// Lost records by kind, or the counters of one RISC. A zone counts once, start and end together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LossCounts {
    /// Whole zones.
    pub zones: u32,
    /// Timestamped data of both sizes.
    pub data: u32,
    /// Events.
    pub events: u32,
}

impl LossCounts {
    /// Returns true if nothing was lost.
    #[must_use]
    pub const fn is_zero(&self) -> bool {
        self.zones == 0 && self.data == 0 && self.events == 0
    }

    /// Returns the losses between an earlier state of the same counters and this one.
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
