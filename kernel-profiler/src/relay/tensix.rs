//! The port of a relay on a Tensix core: its L1, its clock and NoC 0.
//!
//! The relay is alone on its core, so it keeps what does not change in the registers of command buffers.
//! Number 1 reads. The others write in turn, since one is busy as long as a frame leaves the core.
//!
//! # Compatibility
//! As in `tensix`. NoC reads and acknowledged writes of one transaction id are counted together
//! (tt-isa-documentation, `NoC/Counters.md`); a response is counted when its data is in L1.

#![allow(unsafe_code, reason = "memory of the core's own L1, which the relay alone uses")]

use super::{NOC_POLLS, RelayPort, Request};
use crate::{
    port::{Clock, ClockWords},
    registers::{
        AT_LEN_BE, CMD_CTRL, COMMAND_BUFFER_STRIDE, CTRL, CTRL_READ, CTRL_WRITE_ACKNOWLEDGED,
        NOC_REGISTERS, PACKET_TAG, RET_ADDR_HI, RET_ADDR_LO, RET_ADDR_MID, Register,
        STATUS_REQUESTS_OF_ID, TARG_ADDR_HI, TARG_ADDR_LO, TARG_ADDR_MID, TRANSACTION_ID_SHIFT,
        WALL_CLOCK_HIGH, WALL_CLOCK_LOW, WORMHOLE_COORDINATE_SHIFT,
    },
};
use core::{arch::asm, ptr};
use wire::relay::State;

/// Runs a relay with the words at `setup`, see [`wire::relay::setup`].
///
/// `own_tile` are the coordinates that answers are sent to: column, and row from bit 6 on.
///
/// # Safety
/// `setup` must be the address of such words in the core's L1. From now on the program must not refer
/// to the words or to the memory that they name.
#[inline]
pub unsafe fn run(setup: u32, own_tile: u32) -> State {
    super::run(&mut TensixRelay::new(own_tile), setup)
}

struct TensixRelay {
    /// Registers of the command buffer of the next write.
    writes: u32,
}

impl TensixRelay {
    fn new(own_tile: u32) -> Self {
        for (buffer, own, control) in [
            (WRITES[0], TARG_ADDR_MID, CTRL_WRITE_ACKNOWLEDGED),
            (WRITES[1], TARG_ADDR_MID, CTRL_WRITE_ACKNOWLEDGED),
            (WRITES[2], TARG_ADDR_MID, CTRL_WRITE_ACKNOWLEDGED),
            (READS, RET_ADDR_MID, CTRL_READ),
        ] {
            for register in [TARG_ADDR_MID, RET_ADDR_MID] {
                Register(buffer + register).write(0);
            }
            write_tile(buffer + own, own_tile);
            Register(buffer + CTRL).write(control);
        }
        Self { writes: WRITES[0] }
    }
}

/// Writes coordinates beside an address, given the register of its middle bits.
#[inline(always)]
fn write_tile(middle: u32, tile: u32) {
    if cfg!(feature = "blackhole") {
        Register(middle + (TARG_ADDR_HI - TARG_ADDR_MID)).write(tile);
    } else {
        Register(middle).write(tile << WORMHOLE_COORDINATE_SHIFT);
    }
}

/// Sends a request; `remote` and `local` are the registers of the low address bits of both sides.
#[inline(always)]
fn issue(buffer: u32, [remote, local]: [u32; 2], request: &Request) -> bool {
    if Register(buffer + CMD_CTRL).read() != 0 && !is_free_soon(buffer) {
        return false;
    }
    Register(buffer + remote).write(request.remote);
    write_tile(buffer + remote + (TARG_ADDR_MID - TARG_ADDR_LO), request.tile);
    Register(buffer + local).write(request.local);
    Register(buffer + PACKET_TAG).write(request.id << TRANSACTION_ID_SHIFT);
    Register(buffer + AT_LEN_BE).write(request.byte_count);
    Register(buffer + CMD_CTRL).write(1);
    true
}

#[cold]
#[inline(never)]
fn is_free_soon(buffer: u32) -> bool {
    (0..NOC_POLLS).any(|_| Register(buffer + CMD_CTRL).read() == 0)
}

impl Clock for TensixRelay {
    #[inline(always)]
    fn now(&mut self) -> ClockWords {
        let low = WALL_CLOCK_LOW.read();
        let high = WALL_CLOCK_HIGH.read();
        ClockWords { high, low }
    }

    #[inline(always)]
    fn now_low(&mut self) -> u32 {
        WALL_CLOCK_LOW.read()
    }
}

impl RelayPort for TensixRelay {
    #[inline(always)]
    fn load(&mut self, address: u32) -> u32 {
        let word = ptr::with_exposed_provenance::<u32>(address as usize);
        // SAFETY: who runs the relay grants it the memory, of which these are addresses: words of its
        // setup, of its buffers or of its control vector. Volatile, since the NoC writes to them.
        unsafe { word.read_volatile() }
    }

    #[inline(always)]
    fn store(&mut self, address: u32, value: u32) {
        let word = ptr::with_exposed_provenance_mut::<u32>(address as usize);
        // SAFETY: as in `load`.
        unsafe { word.write_volatile(value) }
    }

    #[inline(always)]
    fn fetch(&mut self, request: &Request) -> bool {
        issue(READS, [TARG_ADDR_LO, RET_ADDR_LO], request)
    }

    #[inline(always)]
    fn send(&mut self, request: &Request) -> bool {
        let buffer = self.writes;
        self.writes = match buffer {
            buffer if buffer == WRITES[0] => WRITES[1],
            buffer if buffer == WRITES[1] => WRITES[2],
            _ => WRITES[0],
        };
        issue(buffer, [RET_ADDR_LO, TARG_ADDR_LO], request)
    }

    #[inline(always)]
    fn is_quiet(&mut self, id: u32) -> bool {
        Register(NOC_REGISTERS + STATUS_REQUESTS_OF_ID + 4 * id).read() == 0
    }

    #[inline(always)]
    fn settle(&mut self, address: u32) {
        let loaded = self.load(address);
        // SAFETY: an instruction that only reads a register. The core waits for the load, which waits
        // for the store to its address.
        unsafe { asm!("mv zero, {}", in(reg) loaded, options(nostack, preserves_flags)) }
    }

    #[inline(always)]
    fn forget_cached(&mut self) {
        if cfg!(feature = "blackhole") {
            // SAFETY: empties the data cache, which holds nothing that memory does not.
            unsafe { asm!("fence", options(nostack, preserves_flags)) };
        }
    }
}

const WRITES: [u32; 3] = [
    NOC_REGISTERS,
    NOC_REGISTERS + 2 * COMMAND_BUFFER_STRIDE,
    NOC_REGISTERS + 3 * COMMAND_BUFFER_STRIDE,
];
const READS: u32 = NOC_REGISTERS + COMMAND_BUFFER_STRIDE;

const _: () = assert!(RET_ADDR_MID - RET_ADDR_LO == TARG_ADDR_MID - TARG_ADDR_LO);
const _: () = assert!(RET_ADDR_HI - RET_ADDR_MID == TARG_ADDR_HI - TARG_ADDR_MID);
