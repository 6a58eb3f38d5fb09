//! The port of a gatherer on a Tensix core: the core's L1, its clock and a NoC.
//!
//! A gatherer has a NoC of its own, so most registers of that NoC's command buffers keep their
//! values. Command buffer 1 is for reads. The other three command buffers are for writes, so that a
//! write rarely waits for another write: a command buffer is busy until its bytes have left the
//! core.
//!
//! # Compatibility
//! As in `tensix`. Reads and acknowledged writes with the same transaction id are counted together
//! (tt-isa-documentation, `NoC/Counters.md`); the response to a read is counted when its data is in
//! L1.

#![allow(unsafe_code, reason = "a function that trusts its caller")]

use super::{NOC_POLLS, Outlet, RelayPort, Request, visit::bytes};
use crate::{
    port::{Clock, ClockWords},
    registers::{
        AT_LEN_BE, CMD_CTRL, COMMAND_BUFFER_STRIDE, CTRL, CTRL_READ, CTRL_WRITE_ACKNOWLEDGED,
        NOC_REGISTERS, NOC_STRIDE, PACKET_TAG, RET_ADDR_HI, RET_ADDR_LO, RET_ADDR_MID, Register,
        STATUS_REQUESTS_OF_ID, TARG_ADDR_HI, TARG_ADDR_LO, TARG_ADDR_MID, TRANSACTION_ID_SHIFT,
    },
    tile,
};
use wire::relay::{State, setup};

/// Runs a gatherer whose setup words are at `setup_words`, see [`wire::relay::setup`].
///
/// # Safety
/// `setup_words` must be the address of valid setup words in the core's L1. After the call, the
/// program must use neither these words, nor the memory that they name, nor the gatherer's NoC.
#[inline]
pub unsafe fn run(setup_words: u32) -> State {
    super::run(&mut TensixRelay::new(setup_words), setup_words)
}

struct TensixRelay {
    /// Address of the registers of the gatherer's NoC.
    registers: u32,
}

impl TensixRelay {
    fn new(setup_words: u32) -> Self {
        let [noc, own_tile] = [setup::GATHERER, setup::OWN_TILE]
            .map(|word| tile::load(setup_words.wrapping_add(bytes(word))));
        let registers = if noc == 0 { NOC_REGISTERS } else { NOC_REGISTERS + NOC_STRIDE };
        for (buffer, own, control) in [
            (offset_of(Outlet::Progress), TARG_ADDR_MID, CTRL_WRITE_ACKNOWLEDGED),
            (offset_of(Outlet::Frame), TARG_ADDR_MID, CTRL_WRITE_ACKNOWLEDGED),
            (offset_of(Outlet::FrameRest), TARG_ADDR_MID, CTRL_WRITE_ACKNOWLEDGED),
            (READS, RET_ADDR_MID, CTRL_READ),
        ] {
            let buffer = registers + buffer;
            for register in [TARG_ADDR_MID, RET_ADDR_MID] {
                Register(buffer + register).write(0);
            }
            write_tile(buffer + own, own_tile);
            Register(buffer + CTRL).write(control);
        }
        if cfg!(feature = "blackhole") {
            let high = tile::load(setup_words.wrapping_add(bytes(setup::SINK_ADDRESS_HIGH)));
            for outlet in [Outlet::Frame, Outlet::FrameRest] {
                Register(registers + offset_of(outlet) + RET_ADDR_MID).write(high);
            }
        }
        Self { registers }
    }
}

/// Writes a tile's coordinates to the address registers of a command buffer.
///
/// `middle` is the address of the second of the three address registers, which hold the low, middle
/// and high bits. The coordinates are in the second register on a Wormhole and in the third one on
/// a Blackhole.
#[inline(always)]
fn write_tile(middle: u32, tile: u32) {
    if cfg!(feature = "blackhole") {
        Register(middle + (TARG_ADDR_HI - TARG_ADDR_MID)).write(tile);
    } else {
        Register(middle).write(tile);
    }
}

/// Issues a request on a command buffer. `remote` and `local` are the offsets of the command
/// buffer's registers for the low bits of the remote and of the local address.
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
        tile::clock()
    }

    #[inline(always)]
    fn now_low(&mut self) -> u32 {
        tile::clock_low()
    }
}

impl RelayPort for TensixRelay {
    #[inline(always)]
    fn load(&mut self, address: u32) -> u32 {
        tile::load(address)
    }

    #[inline(always)]
    fn store(&mut self, address: u32, value: u32) {
        tile::store(address, value);
    }

    #[inline(always)]
    fn fetch(&mut self, request: &Request) -> bool {
        issue(self.registers + READS, [TARG_ADDR_LO, RET_ADDR_LO], request)
    }

    #[inline(always)]
    fn send(&mut self, outlet: Outlet, request: &Request) -> bool {
        issue(self.registers + offset_of(outlet), [RET_ADDR_LO, TARG_ADDR_LO], request)
    }

    #[inline(always)]
    fn is_quiet(&mut self, id: u32) -> bool {
        Register(self.registers + STATUS_REQUESTS_OF_ID + 4 * id).read() == 0
    }

    #[inline(always)]
    fn settle(&mut self, address: u32) {
        tile::settle(tile::load(address));
    }

    #[inline(always)]
    fn forget_cached(&mut self) {
        tile::forget_cached();
    }
}

/// Returns the offset of an outlet's command buffer in the registers of a NoC interface.
#[inline(always)]
const fn offset_of(outlet: Outlet) -> u32 {
    let number = match outlet {
        Outlet::Progress => 0,
        Outlet::Frame => 2,
        Outlet::FrameRest => 3,
    };
    number * COMMAND_BUFFER_STRIDE
}

/// Offset of the command buffer for reads.
const READS: u32 = COMMAND_BUFFER_STRIDE;

const _: () = assert!(RET_ADDR_MID - RET_ADDR_LO == TARG_ADDR_MID - TARG_ADDR_LO);
const _: () = assert!(RET_ADDR_HI - RET_ADDR_MID == TARG_ADDR_HI - TARG_ADDR_MID);
