//! Reasons why a run of a hart ends: pauses, which a caller expects, and traps.

use std::fmt;

/// Expected end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The hart's next instruction would start at or after the requested cycle.
    Cycle,
    /// The hart reached an `ecall`; the pc still points at it. Hardware would stop the core, as at
    /// a breakpoint.
    EnvironmentCall,
    /// The hart reached an `ebreak`; the pc still points at it. Hardware would stop the core, as at
    /// a breakpoint.
    Breakpoint,
    /// A device is not ready for the access of the instruction at the pc; the next run tries again.
    Blocked {
        /// Address of the access.
        address: u32,
    },
    /// In response to the hart's last store, a device requested that the run end.
    Yielded,
}

/// An instruction that a correct program does not execute.
///
/// The hardware never traps: it rounds unaligned addresses down, hangs on unmapped addresses, and
/// decodes an undefined instruction as some other instruction. A simulator that did the same would
/// hide the bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trap {
    /// Kind of the trap.
    pub kind: TrapKind,
    /// Address of the instruction; the hart's pc stays there.
    pub pc: u32,
    /// The invalid address: of the data of a load or store, of a jump's target, or of an
    /// instruction.
    pub address: u32,
    /// The instruction word; 0 if it could not be fetched.
    pub instruction: u32,
}

/// Kinds of traps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrapKind {
    /// The word is not an instruction of RV32IM or of an extension that the bus supports.
    IllegalInstruction,
    /// The pc is neither in L1 nor in an instruction RAM.
    FetchOutside,
    /// A jump or branch to an address that is not a multiple of four.
    FetchMisaligned,
    /// A load from an unmapped address.
    LoadOutside,
    /// A load from an address that is not a multiple of its width.
    LoadMisaligned,
    /// A load from a register that does not support it.
    LoadUnsupported,
    /// A store to an unmapped address.
    StoreOutside,
    /// A store to an address that is not a multiple of its width.
    StoreMisaligned,
    /// A store to a register that does not support it.
    StoreUnsupported,
}

impl fmt::Display for TrapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IllegalInstruction => "expected an RV32IM instruction",
            Self::FetchOutside => "expected code in L1 or in the instruction RAM",
            Self::FetchMisaligned => "expected a jump to a multiple of 4",
            Self::LoadOutside => "no memory or register to load from",
            Self::LoadMisaligned => "expected a load from a multiple of its width",
            Self::LoadUnsupported => "the register does not support this load",
            Self::StoreOutside => "no memory or register to store to",
            Self::StoreMisaligned => "expected a store to a multiple of its width",
            Self::StoreUnsupported => "the register does not support this store",
        })
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, pc, address, instruction } = self;
        write!(f, "{kind}, found address {address:#010x}")?;
        write!(f, " (instruction {instruction:#010x} at pc {pc:#010x})")
    }
}

impl std::error::Error for Trap {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_names_reason_address_instruction_and_pc() {
        let trap = Trap {
            kind: TrapKind::LoadOutside,
            pc: 0x3880,
            address: 0xFFB1_0000,
            instruction: 0x0000_2503,
        };
        assert_eq!(
            trap.to_string(),
            "no memory or register to load from, found address 0xffb10000 \
             (instruction 0x00002503 at pc 0x00003880)"
        );
    }
}
