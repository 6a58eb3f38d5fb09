//! The words in L1 through which the dispatcher, firmware and subordinates communicate.
//!
//! This file is compiled into both the simulator and the firmware, so both use the same offsets.
//! Offsets are in bytes from the mailbox's address, which linker scripts call `__mailbox`.
//!
//! | offset | size | written by | meaning |
//! |---|---|---|---|
//! | [`GO`] | byte | dispatcher: [`signal::GO`]; BRISC: [`signal::DONE`] | state of a launch |
//! | [`SYNC`] | byte per RISC | BRISC: `GO`; the RISC: `DONE` | a subordinate's state |
//! | [`STAGE`] | byte per RISC | the RISC, before and after its kernel | progress of the kernel |
//! | [`PROGRAM_ID`] to [`DATA`] | words | dispatcher, before `GO` | the launch message |
//! | [`RISC_COUNT`] to [`COUNTER_GROUPS`] | words | host, before reset ends | core description |
//!
//! # Compatibility
//! The values of the signals, the program id, the mask of enabled RISCs, and the order of the steps
//! of a launch are those of `dev_msgs.h`. The layout is specific to this project.

/// Launch signal: the dispatcher writes GO for BRISC, and BRISC writes DONE for the dispatcher.
pub const GO: u32 = 0;
/// One byte per subordinate RISC: signal between BRISC and that RISC.
pub const SYNC: u32 = 4;
/// One byte per RISC: progress of the RISC's kernel, see [`stage`].
pub const STAGE: u32 = 12;
/// Program id of the launch.
pub const PROGRAM_ID: u32 = 28;
/// Mask with one bit per RISC, set if the RISC has a kernel in this launch.
pub const ENABLES: u32 = 32;
/// Number of trace replays begun since the core's previous launch.
pub const REPLAYS_BEGUN: u32 = 36;
/// Mask with one bit per RISC; the bit is set if the RISC must signal that it is done before it
/// closes its main zone.
pub const LATE: u32 = 40;
/// One word per RISC: entry address of the RISC's kernel.
pub const ENTRIES: u32 = 44;
/// Number of the launch on its chip. The address of this word is passed to kernels.
pub const LAUNCH_INDEX: u32 = 64;
/// Seed of the launch's random numbers, low word first.
pub const SEED: u32 = 68;
/// Number of the launch's arguments.
pub const ARG_COUNT: u32 = 76;
/// The launch's arguments, up to [`ARG_COUNT_MAX`] words.
pub const ARGS: u32 = 80;
/// Maximum number of arguments of a launch.
pub const ARG_COUNT_MAX: u32 = 32;
/// One word per RISC: address of the data for the RISC's kernel, or 0.
pub const DATA: u32 = ARGS + 4 * ARG_COUNT_MAX;

/// One word per RISC: number of cycles from the done signal of a RISC in [`LATE`] to the end of the
/// RISC's main zone.
pub const LATE_CYCLES: u32 = DATA + 4 * 5;

/// Number of RISCs of this core that have a record buffer.
pub const RISC_COUNT: u32 = LATE_CYCLES + 4 * 5;
/// Two bytes per NoC: column and row of this core, in the format of that NoC's registers.
pub const OWN_COORDINATES: u32 = RISC_COUNT + 4;
/// Number of DRAM banks.
pub const BANK_COUNT: u32 = OWN_COORDINATES + 4;
/// Per NoC, [`BANK_COUNT_MAX`] half words: coordinates of the DRAM banks, in the format of the
/// registers of NoC request initiators.
pub const BANK_COORDINATES: u32 = BANK_COUNT + 4;
/// One word per bank: offset that is added to an address in the bank to get the address in the
/// bank's tile.
pub const BANK_OFFSETS: u32 = BANK_COORDINATES + 2 * 2 * BANK_COUNT_MAX;
/// Maximum number of DRAM banks of a chip.
pub const BANK_COUNT_MAX: u32 = 16;

/// Mask of the groups of hardware counters that are read in each launch.
pub const COUNTER_GROUPS: u32 = BANK_OFFSETS + 4 * BANK_COUNT_MAX;

/// Size of the mailbox in bytes.
pub const SIZE_BYTES: u32 = COUNTER_GROUPS + 4;

/// Values of [`GO`] and [`SYNC`].
pub mod signal {
    /// The RISC is idle, or done with the launch.
    pub const DONE: u8 = 0;
    /// The RISC has not booted yet.
    pub const INIT: u8 = 0x40;
    /// The RISC must start the launch.
    pub const GO: u8 = 0x80;
}

/// Values of [`STAGE`]: progress of a RISC's kernel.
pub mod stage {
    /// No kernel has begun in this launch.
    pub const IDLE: u8 = 0;
    /// The kernel's zone is about to open.
    pub const BEGINS: u8 = 1;
    /// The kernel's zone has closed.
    pub const ENDED: u8 = 2;
}
