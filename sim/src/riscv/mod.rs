//! The baby RISCs: an RV32IM interpreter with the pipeline timing of Wormhole and Blackhole.
//!
//! A [`Hart`] executes object code on a [`Bus`], which the tile model implements. Execution is
//! deterministic, and allocates memory only for newly decoded code. The module does not depend on
//! tiles, NoCs or markers. The results of a correct program do not depend on its timing, except
//! through the clock values that the program reads.
//!
//! | question | module item |
//! |---|---|
//! | what must a tile offer to a hart | [`Bus`], [`Region`], [`Refusal`] |
//! | what do the RISCs of a tile share | [`L1Front`], [`L1Port`] |
//! | how do I run, reset, count | [`Hart`], [`Counters`] |
//! | why did a run end | [`Pause`], [`Trap`] |
//! | where do a hart's cycles go | [`AddressCount`], [`Reason`] |
//! | how do I load an ELF file and name a pc | [`Image`] |
//!
//! # Order of accesses
//!
//! The loads and stores of one hart take effect in program order; those of different harts, in the
//! order in which the caller runs the harts. On hardware, loads can overtake stores to other
//! addresses, and accesses to different regions can complete out of order. The model includes the
//! timing of this reordering, but not its effects. It therefore does not detect that a program
//! lacks a load which, on a chip, would have to wait for an earlier store.
//!
//! # Compatibility
//!
//! RV32IM as in tt-isa-documentation `{WormholeB0,BlackholeA0}/TensixTile/BabyRISCV/README.md`.
//! `fence` does nothing, as on Wormhole. `.ttinsn` is a store to the address at which Tensix
//! instructions are pushed, and CSR accesses go to the bus; both are illegal if the bus does not
//! support them. Zba and Zbb exist if the bus reports them. `fence.i` and atomics trap as illegal.

#[cfg(test)]
#[path = "../../tests/unit/asm.rs"]
pub(crate) mod asm;
mod bits;
mod bus;
mod code;
#[cfg(test)]
#[path = "../../tests/unit/counted_cycles.rs"]
mod counted_cycles;
mod decode;
#[cfg(test)]
#[path = "../../tests/unit/differential.rs"]
mod differential;
mod execute;
mod front;
mod hart;
mod image;
mod round;
mod tally;
#[cfg(test)]
#[path = "../../tests/unit/tally.rs"]
mod tally_tests;
#[cfg(test)]
mod tests;
mod timing;
mod trap;

pub use bus::{
    Bus, ControlStatus, ControlStatusChange, Flow, INSTRUCTION_RAM_BASE, LOCAL_RAM_BASE, Refusal,
    Region, StoreResult, Width,
};
pub(crate) use code::is_code;
pub(crate) use decode::{Code, Op, SINK, decode, decode_bits, jump_to};
pub use front::{L1Front, L1Port};
pub use hart::{Counters, Hart};
pub use image::{Image, ImageError, Segment, Symbol};
pub use tally::AddressCount;
pub(crate) use tally::Counts;
#[cfg(test)]
pub(crate) use tests::tile;
pub use timing::blame::Reason;
pub(crate) use timing::noc_reads::NocRead;
#[cfg(test)]
pub(crate) use timing::stages::MemoryRequest;
pub(crate) use timing::stages::Step;
pub use trap::{Pause, Trap, TrapKind};

/// Converts an address in a RISC's memory, or a size of this memory, to 32 bits. Larger values become
/// `u32::MAX`.
pub(crate) fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
