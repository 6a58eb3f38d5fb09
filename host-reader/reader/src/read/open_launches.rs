//! Launches that may have lost the records that a streaming RISC counted between two reads.
//!
//! A read gets the words of a control vector in order: the launch that the RISC has announced, then
//! the RISC's counters, then the number of launches that the core has begun. All these words may
//! change during the read. The launch that ran when the counters were read is therefore only known
//! within limits: at the earliest the announced launch, at the latest the last launch begun.

use wire::{
    RunHostId,
    stream::{Cell, ToldLaunch},
};

/// The launches that may have lost the records that a RISC counts as lost after a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenLaunches {
    /// Number of the first such launch.
    first: u32,
    /// Program of the first such launch, if known.
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

    /// Returns the program of the first launch, if known.
    pub(super) const fn first_program(self) -> Option<RunHostId> {
        self.program
    }

    /// Returns true if only one launch can have lost records, given that the core has begun
    /// `begun`.
    pub(super) const fn is_only(self, begun: u32) -> bool {
        self.first == begun
    }

    /// Returns the launches that may lose records after the next read.
    ///
    /// The next read found `begun` launches, and `told` as the launch announced by the RISC.
    /// `program_of` returns the program of a launch, given the low half of its number.
    pub(super) fn after_read(
        self,
        told: Option<ToldLaunch>,
        begun: u32,
        program_of: impl FnOnce(u16) -> Option<RunHostId>,
    ) -> Self {
        // The launches begun at the previous read had begun before this read got the counters.
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

/// Returns the later of two launch numbers, which may wrap.
const fn later(left: u32, right: u32) -> u32 {
    if right.wrapping_sub(left).cast_signed() > 0 { right } else { left }
}
