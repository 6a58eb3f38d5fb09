//! Failures of object code.

use crate::{arch::TileCoord, riscv::Trap};
use wire::Risc;

/// Failure of object code; a correct program never causes one. Only the failing core stops.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "chip {chip_id}, core {core}, {risc}, {}, cycle {chip_cycle}: {reason}, at pc {pc:#010x} in {}",
    launch_text(*launch_index),
    symbol.as_deref().unwrap_or("no known function")
)]
pub struct ExecutionFailure {
    /// Number of the chip.
    pub chip_id: u32,
    /// Core of the processor that failed.
    pub core: TileCoord,
    /// Processor that failed.
    pub risc: Risc,
    /// Number of the launch on its chip; for relays, a number that counts down from `u64::MAX`.
    pub launch_index: u64,
    /// Cycle of the chip at which the failure was detected.
    pub chip_cycle: u64,
    /// Address of the instruction.
    pub pc: u32,
    /// Function that contains the instruction, and the byte offset of the instruction from the
    /// function's start.
    pub symbol: Option<String>,
    /// Reason for the failure.
    pub reason: FailureReason,
}

/// Names a launch in messages.
fn launch_text(launch_index: u64) -> String {
    if launch_index > u64::MAX / 2 { "relay".to_owned() } else { format!("launch {launch_index}") }
}

/// Reason why object code was stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FailureReason {
    /// The program executed an illegal instruction, or made a fetch or an access that the hart
    /// cannot make.
    #[error("{0}")]
    Trap(Trap),
    /// The program executed `ebreak` or `ecall`; a panic executes `ebreak`.
    #[error("the code stopped itself, as it does when it panics")]
    Stopped,
    /// The launch exceeded its cycle limit.
    #[error("still running after {limit_cycles} cycles; raise the cycle limit if that is right")]
    CycleLimit {
        /// Maximum number of cycles of a launch.
        limit_cycles: u64,
    },
    /// A fault rule stopped the processor.
    #[error("stopped by a fault that was injected")]
    Halted,
    /// The RISCs of the core wait, and no event is left that can wake them.
    #[error("waits for a RISC that will never answer")]
    Deadlock,
    /// The program accessed an address without a register, or a register that does not allow this
    /// kind of access.
    #[error("{reason} (address {:#010x}, instruction {:#010x})", trap.address, trap.instruction)]
    Refused {
        /// Description of the access and the reason why it was refused.
        reason: String,
        /// Trap that the access caused.
        trap: Trap,
    },
    /// The firmware cannot start the launch.
    #[error("cannot launch the kernels: {reason}")]
    NotLaunched {
        /// The reason, as a sentence.
        reason: String,
    },
}
