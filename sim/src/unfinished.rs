//! Where the RISCs of a core stand when a launch does not end.
//!
//! A RISC that reaches the launch's cycle limit is looked at twice: [`LOOK_CYCLES`] before the limit,
//! and at the limit. In between, each of its instructions is followed. This changes no time and no
//! result.

use crate::{
    arch::TileCoord,
    lines::{Awaited, LoadedCode},
    machine::FailureReason,
};
use std::collections::BTreeSet;
use wire::Risc;

/// Number of cycles before the cycle limit from which on the instructions of a RISC are followed.
pub const LOOK_CYCLES: u64 = 4096;

/// A launch that did not end on a core.
#[derive(Clone, Debug)]
pub struct UnfinishedLaunch {
    /// Number of the chip.
    pub chip_id: u32,
    /// The core.
    pub core: TileCoord,
    /// Number of the launch on its chip.
    pub launch_index: u64,
    /// The program's id.
    pub program_id: u32,
    /// Name of the program.
    pub program: String,
    /// The RISCs that have a kernel in the launch, and the first RISC, whose firmware waits for them.
    pub riscs: Vec<StandingRisc>,
}

/// A RISC at the last cycle of a launch that did not end.
#[derive(Clone, Debug)]
pub struct StandingRisc {
    /// The RISC.
    pub risc: Risc,
    /// Cycle of the chip at which the RISC executed its last instruction.
    pub chip_cycle: u64,
    /// Address of the next instruction.
    pub pc: u32,
    /// Address of the next instruction at the first look; `None` if there was none.
    pub earlier_pc: Option<u32>,
    /// Reason why the RISC does not go on.
    pub state: Standing,
    /// Code that contains `pc`; `None` if that is unknown.
    pub code: Option<LoadedCode>,
    /// Addresses of the instructions that were executed between the looks.
    pub executed: BTreeSet<u32>,
    /// Words that the RISC polls, in the order in which it polled them first.
    pub polls: Vec<PolledWord>,
}

/// What a RISC does in a launch that did not end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its kernel has ended.
    Ended,
    /// Its firmware waits for another RISC: after its kernel, for the end of that RISC's kernel, or
    /// before its kernel, for the signal to begin.
    WaitsFor(Risc),
    /// It was stopped, or would go on for ever.
    Failed(FailureReason),
    /// It polls, and no event is left that can end this.
    Polls,
}

/// A word that a RISC polls: the same instruction loads it again and again, nothing is stored in
/// between, and the RISC's registers are the same in each round or it reads the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolledWord {
    /// What the word means.
    pub awaited: Awaited,
    /// Address of the word.
    pub address: u32,
    /// Address of the instruction that loads the word; `None` if it was not seen.
    pub load_pc: Option<u32>,
    /// Value of the word; `None` if it cannot be read.
    pub value: Option<u32>,
    /// RISCs of this core that have stored to the word in this launch; `None` if stores to this word
    /// are not followed.
    pub stored_by: Option<Vec<Risc>>,
}
