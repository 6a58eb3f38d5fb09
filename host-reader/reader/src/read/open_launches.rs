//! The launches that may have lost records of a streaming RISC between two reads.
//!
//! The words of a control vector are read in this order: the launch that the RISC has announced
//! (the launch whose record it wrote last), the RISC's counters, the number of launches that the
//! core has begun. All these words may change during the read. It is therefore not exactly known
//! which launch ran when the counters were read. The earliest possible launch is the announced
//! launch. The latest possible launch is the last one that the core has begun.

use wire::{
    RunHostId,
    stream::{Cell, ToldLaunch},
};

/// Range of launches that can lose records after a read. The RISC counts the lost records, but does
/// not store to which launch each of them belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenLaunches {
    /// Number of the first launch that may have lost records.
    first: u32,
    /// Program of the first launch that may have lost records, if known.
    program: Option<RunHostId>,
    /// Number of launches that the core had begun when the read ended.
    begun: u32,
}

impl OpenLaunches {
    /// The range for a core that has not begun any launch.
    pub(super) const ALL: Self = Self { first: 1, program: None, begun: 0 };

    /// Returns the number of launches that the core had begun at the last read.
    pub(super) const fn begun(self) -> u32 {
        self.begun
    }

    /// Returns the program of the first launch that may have lost records, if known.
    pub(super) const fn first_program(self) -> Option<RunHostId> {
        self.program
    }

    /// Returns true if only one launch can have lost records. `begun` is the number of launches
    /// that the core has begun.
    pub(super) const fn is_only(self, begun: u32) -> bool {
        self.first == begun
    }

    /// Returns the launches that may lose records after the next read.
    ///
    /// `told` is the launch that the RISC had announced at the next read, and `begun` is the number
    /// of launches that the core had begun at that time. `program_of` returns the program of a
    /// launch, given the low half of the launch's number.
    pub(super) fn after_read(
        self,
        told: Option<ToldLaunch>,
        begun: u32,
        program_of: impl FnOnce(u16) -> Option<RunHostId>,
    ) -> Self {
        // All launches that the previous read counted had begun before the current read got the
        // counters.
        let at_least = Self::ALL.first.max(self.begun);
        let first = told.map_or(at_least, |told| {
            let behind = low_half(begun).wrapping_sub(told.number);
            let running = begun.wrapping_sub(behind.into()).wrapping_add(told.has_ended.into());
            later(at_least, running)
        });
        Self { first, program: program_of(low_half(first)), begun }
    }
}

/// Returns the low half of a launch's number, which cells contain.
const fn low_half(number: u32) -> u16 {
    Cell { head: number, value: 0 }.field()
}

/// Returns the later of two launch numbers. Launch numbers may wrap.
const fn later(left: u32, right: u32) -> u32 {
    if right.wrapping_sub(left).cast_signed() > 0 { right } else { left }
}
