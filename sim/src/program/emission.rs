//! Numbers of records that kernels make if their buffers have room. Tests compare these numbers
//! with the records that the host reads.

use std::ops::{Add, AddAssign, Mul};

/// Number of records of each kind. The start and end of a zone count as one record.
///
/// ```
/// use sim::program::Emission;
/// let step = Emission { zones: 1, events: 2, ..Emission::NONE };
/// assert_eq!(step * 3 + Emission::zones(1), Emission { zones: 4, events: 6, ..Emission::NONE });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Emission {
    /// Number of zones; the start and end of a zone count as one.
    pub zones: u64,
    /// Number of records of timestamped data, each with 64 or 128 bits.
    pub data: u64,
    /// Number of events.
    pub events: u64,
    /// Number of totals of sum zones.
    pub sums: u64,
}

impl Emission {
    /// No records at all.
    pub const NONE: Self = Self { zones: 0, data: 0, events: 0, sums: 0 };

    /// Returns an emission with `zones` zones and no other records.
    #[must_use]
    pub const fn zones(zones: u64) -> Self {
        Self { zones, ..Self::NONE }
    }
}

impl Add for Emission {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            zones: self.zones + other.zones,
            data: self.data + other.data,
            events: self.events + other.events,
            sums: self.sums + other.sums,
        }
    }
}

impl AddAssign for Emission {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for Emission {
    type Output = Self;

    fn mul(self, times: u64) -> Self {
        Self {
            zones: self.zones * times,
            data: self.data * times,
            events: self.events * times,
            sums: self.sums * times,
        }
    }
}
