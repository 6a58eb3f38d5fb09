//! Registers of the tile: their addresses, and access to them.

#![allow(unsafe_code, reason = "memory-mapped registers")]

use crate::port::SavedRegisters;
use core::ptr;

/// A 32-bit register of the tile.
#[derive(Clone, Copy)]
pub(crate) struct Register(pub(super) u32);

impl Register {
    #[inline(always)]
    pub(crate) fn read(self) -> u32 {
        // SAFETY: ports make registers only from the addresses below. They exist and are aligned on
        // both Wormhole and Blackhole. Reading a register does not change the program's memory.
        unsafe { ptr::with_exposed_provenance::<u32>(self.0 as usize).read_volatile() }
    }

    #[inline(always)]
    pub(crate) fn write(self, value: u32) {
        // SAFETY: as in `read`. A write to CMD_CTRL makes the NoC read and write L1 and DRAM. The
        // program holds no references to the words that the NoC reads or writes.
        unsafe { ptr::with_exposed_provenance_mut::<u32>(self.0 as usize).write_volatile(value) }
    }
}

/// Address of the tile's block of debug registers.
pub(crate) const DEBUG_REGISTERS: u32 = 0xFFB1_2000;
pub(crate) const WALL_CLOCK_LOW: Register = Register(0xFFB1_21F0);
pub(crate) const WALL_CLOCK_HIGH: Register = Register(0xFFB1_21F4);

pub(crate) const NOC_REGISTERS: u32 = 0xFFB2_0000;
pub(crate) const NOC_STRIDE: u32 = 0x1_0000;

/// Maximum number of polls of a NoC; these polls take some milliseconds if the NoC is stuck.
pub(crate) const NOC_POLLS: u32 = 1 << 18;

/// The transaction id of pushes. Kernels must not use this id.
pub(crate) const TRANSACTION_ID: u32 = 15;
pub(crate) const TRANSACTION_ID_SHIFT: u32 = 10;
/// Offset of the first counter in a NoC interface's registers.
pub(crate) const STATUS: u32 = 0x200;
/// Counter of unanswered requests with transaction id 0; the counters for the other ids follow.
pub(crate) const STATUS_REQUESTS_OF_ID: u32 = STATUS + 4 * 0x10;
/// Counter of unacknowledged pushes.
pub(crate) const STATUS_REQUESTS_OUTSTANDING: u32 = STATUS_REQUESTS_OF_ID + 4 * TRANSACTION_ID;

pub(crate) const COMMAND_BUFFER_MASK: u32 = 3;
pub(crate) const COMMAND_BUFFER_STRIDE: u32 =
    if cfg!(feature = "blackhole") { 0x800 } else { 0x400 };

pub(crate) const TARG_ADDR_LO: u32 = 0x00;
pub(crate) const TARG_ADDR_MID: u32 = 0x04;
/// Register with the high word of the target address; only on a Blackhole.
pub(crate) const TARG_ADDR_HI: u32 = 0x08;
pub(crate) const RET_ADDR_LO: u32 = 0x0C;
pub(crate) const RET_ADDR_MID: u32 = 0x10;
/// Register with the high word of the return address; only on a Blackhole.
pub(crate) const RET_ADDR_HI: u32 = 0x14;
pub(crate) const PACKET_TAG: u32 = 0x18;
pub(crate) const CTRL: u32 = 0x1C;
pub(crate) const AT_LEN_BE: u32 = 0x20;
pub(crate) const CMD_CTRL: u32 = if cfg!(feature = "blackhole") { 0x40 } else { 0x28 };

/// The saved registers of a command buffer end with the last register that a push changes.
const _: () = assert!(size_of::<SavedRegisters>() == AT_LEN_BE as usize + 4);

/// Returns true if the chip has the command buffer register at this offset.
#[inline(always)]
pub(crate) const fn has_register(register: u32) -> bool {
    let offset = register % COMMAND_BUFFER_STRIDE;
    cfg!(feature = "blackhole") || (offset != TARG_ADDR_HI && offset != RET_ADDR_HI)
}

pub(crate) const COORDINATE_BITS: u32 = 6;
pub(crate) const WORMHOLE_COORDINATE_SHIFT: u32 = 4;

pub(crate) const CTRL_LINKED: u32 = 1 << 6;

/// Control word of an acknowledged write on static virtual channel 1. If many tiles write to one
/// DRAM channel on dynamic virtual channels, the DRAM channel has only a third of its bandwidth.
pub(crate) const CTRL_WRITE_ACKNOWLEDGED: u32 = 1 << 1 | 1 << 4 | 1 << 7 | 1 << 13;

/// Control word of a read whose response is requested.
pub(crate) const CTRL_READ: u32 = 1 << 4;
