//! The launches to which the losses of a streaming RISC between two reads may belong.
//!
//! A read gets the words of a control vector from first to last: what the RISC has announced, then
//! its counters, then the launches that the core has begun. All of them may change in between. So
//! only limits of the launch that ran when the counters were read are known: it is not before the
//! one announced, and not after the last one begun.

use wire::{
    RunHostId,
    stream::{Cell, ToldLaunch},
};

/// The launches that may have lost the records that a RISC counts after a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenLaunches {
    /// Number of the first of them.
    first: u32,
    /// Program of the first, if it is known.
    program: Option<RunHostId>,
    /// Number of launches that the core had begun when the read ended.
    begun: u32,
}

impl OpenLaunches {
    /// The launches of a core that has not begun any.
    pub(super) const ALL: Self = Self { first: 1, program: None, begun: 0 };

    /// Returns the number of launches that the core had begun at the last read.
    pub(super) const fn begun(self) -> u32 {
        self.begun
    }

    /// Returns the program of the first launch, if it is known.
    pub(super) const fn first_program(self) -> Option<RunHostId> {
        self.program
    }

    /// Returns true if only one launch can have lost records, where the core has begun `begun`.
    pub(super) const fn is_only(self, begun: u32) -> bool {
        self.first == begun
    }

    /// Returns the launches that may lose records after the next read.
    ///
    /// That read found the launch that the RISC had announced, and `begun` launches. `program_of`
    /// returns the program of the launch with this low half of its number.
    pub(super) fn after_read(
        self,
        told: Option<ToldLaunch>,
        begun: u32,
        program_of: impl FnOnce(u16) -> Option<RunHostId>,
    ) -> Self {
        // The launch of the read before had begun before the counters of this one were read.
        let at_least = Self::ALL.first.max(self.begun);
        let first = told.map_or(at_least, |told| {
            let behind = low_half(begun).wrapping_sub(told.number);
            let running = begun.wrapping_sub(behind.into()).wrapping_add(told.has_ended.into());
            later(at_least, running)
        });
        Self { first, program: program_of(low_half(first)), begun }
    }
}

/// Returns the half of a launch's number that cells contain.
const fn low_half(number: u32) -> u16 {
    Cell { head: number, value: 0 }.field()
}

/// Returns the later of two numbers of launches, which may wrap.
const fn later(left: u32, right: u32) -> u32 {
    if right.wrapping_sub(left).cast_signed() > 0 { right } else { left }
}
