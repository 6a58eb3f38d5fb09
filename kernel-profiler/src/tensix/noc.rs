//! Access to the NoC: pushes through the NoC's first command buffer, and readings of the NoC's
//! counters.

use super::{
    Tensix,
    firmware::{Word, coordinates_on, noc_index, variable},
    symbols,
};
use crate::{
    port::{Memory, Noc, Port, Pushes, SavedRegisters},
    registers::{
        AT_LEN_BE, CMD_CTRL, COMMAND_BUFFER_MASK, COMMAND_BUFFER_STRIDE, COORDINATE_BITS, CTRL,
        CTRL_LINKED, CTRL_WRITE_ACKNOWLEDGED, NOC_POLLS, NOC_REGISTERS, NOC_STRIDE, PACKET_TAG,
        RET_ADDR_HI, RET_ADDR_LO, RET_ADDR_MID, Register, STATUS, STATUS_REQUESTS_OUTSTANDING,
        TARG_ADDR_HI, TARG_ADDR_LO, TARG_ADDR_MID, TRANSACTION_ID, TRANSACTION_ID_SHIFT,
        WORMHOLE_COORDINATE_SHIFT, has_register,
    },
    tile::settle,
};
use wire::noc_event::NocCounter;

impl Noc for Tensix {
    #[inline(always)]
    fn is_linked(&mut self) -> bool {
        let mut buffer = noc();
        let (mut ctrl, mut left) = (0, 4);
        loop {
            ctrl |= Register(buffer + CTRL).read();
            buffer += COMMAND_BUFFER_STRIDE;
            left = self.opaque(left - 1);
            if left == 0 {
                break;
            }
        }
        ctrl & CTRL_LINKED != 0
    }

    #[inline(always)]
    fn is_command_buffer_linked(&mut self, command_buffer: u32) -> bool {
        let number = command_buffer & COMMAND_BUFFER_MASK;
        Register(noc() + number * COMMAND_BUFFER_STRIDE + CTRL).read() & CTRL_LINKED != 0
    }

    #[inline(always)]
    fn await_idle(&mut self) -> bool {
        is_ready(noc())
    }

    /// Writes the coordinates: on a Wormhole into the register bits above the address, on a
    /// Blackhole into separate registers. Addresses in DRAM banks and in L1 have 32 bits on both
    /// chips.
    #[inline(always)]
    fn begin_pushes(&mut self, bank: u32) -> Pushes {
        let noc = self.opaque(noc());
        Register(noc + PACKET_TAG).write(TRANSACTION_ID << TRANSACTION_ID_SHIFT);
        Register(noc + CTRL).write(CTRL_WRITE_ACKNOWLEDGED);
        let (me, dram) = (own_coordinates(), bank_coordinates(bank));
        if cfg!(feature = "blackhole") {
            Register(noc + TARG_ADDR_MID).write(0);
            Register(noc + TARG_ADDR_HI).write(me);
            Register(noc + RET_ADDR_MID).write(0);
            Register(noc + RET_ADDR_HI).write(dram);
        } else {
            Register(noc + TARG_ADDR_MID).write(me << WORMHOLE_COORDINATE_SHIFT);
            Register(noc + RET_ADDR_MID).write(dram);
        }
        Pushes(noc)
    }

    #[inline(always)]
    fn push(&mut self, pushes: Pushes, place: u32, word_count: u32, address: u32) -> bool {
        let Pushes(noc) = pushes;
        let size_bytes = word_count << 2;
        let last = self.load(place + size_bytes - 4);
        if !is_ready(noc) {
            return false;
        }
        Register(noc + TARG_ADDR_LO).write(place);
        Register(noc + RET_ADDR_LO).write(address);
        Register(noc + AT_LEN_BE).write(size_bytes);
        settle(last);
        Register(noc + CMD_CTRL).write(1);
        true
    }

    #[inline(always)]
    fn noc_counter(&mut self, counter: NocCounter) -> u32 {
        Register(noc() + STATUS + 4 * u32::from(counter as u8)).read()
    }

    #[inline(always)]
    fn count_pushes(&mut self, count: u32) {
        let index = noc_index() as usize;
        let issued = Word(variable(&raw mut symbols::noc_nonposted_writes_num_issued, index));
        issued.store(issued.load().wrapping_add(count));
        let acked = Word(variable(&raw mut symbols::noc_nonposted_writes_acked, index));
        acked.store(acked.load().wrapping_add(count));
    }

    #[inline(always)]
    fn wait_for_pushes(&mut self, pushes: Pushes) -> bool {
        let Pushes(noc) = pushes;
        let has_arrived = is_zero_soon(noc + STATUS_REQUESTS_OUTSTANDING);
        // While a command buffer is busy, its registers must keep their values for its packet.
        if has_arrived || Register(noc + CMD_CTRL).read() == 0 {
            Register(noc + PACKET_TAG).write(0);
        }
        has_arrived
    }

    #[inline(always)]
    fn save_command_buffer(&mut self, saved: &mut SavedRegisters) {
        let noc = noc();
        for (register, word) in (noc..).step_by(4).zip(saved) {
            if has_register(register) {
                *word = Register(register).read();
            }
        }
    }

    #[inline(always)]
    fn restore_command_buffer(&mut self, saved: &SavedRegisters) {
        if Register(noc() + CMD_CTRL).read() != 0 {
            return; // The registers belong to the packet in the command buffer.
        }
        for (register, &word) in (noc()..).step_by(4).zip(saved) {
            if has_register(register) {
                Register(register).write(word);
            }
        }
    }
}

/// Returns the address of the registers of the NoC interface that this RISC uses for pushes. The
/// NoC interface's registers begin with those of command buffer 0, which is for large writes.
#[inline(always)]
fn noc() -> u32 {
    NOC_REGISTERS + u32::from(noc_index()) * NOC_STRIDE
}

/// Waits, up to a limit, until command buffer 0 accepts a command; returns true if it does.
#[inline(always)]
fn is_ready(noc: u32) -> bool {
    is_zero_soon(noc + CMD_CTRL)
}

/// Waits, up to a limit, until a register is 0; returns true if it is.
#[inline(always)]
fn is_zero_soon(register: u32) -> bool {
    if Register(register).read() == 0 {
        return true;
    }
    let mut left = NOC_POLLS;
    loop {
        if Register(register).read() == 0 {
            return true;
        }
        left -= 1;
        if left == 0 {
            return false;
        }
    }
}

/// Returns the tile's coordinates on the NoC used for pushes; acknowledgements are sent to these
/// coordinates.
#[inline(always)]
fn own_coordinates() -> u32 {
    let [x, y] = coordinates_on(noc_index());
    x | y << COORDINATE_BITS
}

/// Returns the coordinates of an existing DRAM bank, in the format of command buffers.
#[inline(always)]
fn bank_coordinates(bank: u32) -> u32 {
    let row = u32::from(noc_index()) * Tensix(()).bank_count();
    let coordinates = (&raw const symbols::dram_bank_to_noc_xy).cast::<u16>();
    let coordinates = coordinates.wrapping_add((row + bank) as usize);
    // SAFETY: the firmware provides a table of `bank_count` entries per NoC; `bank` is below that,
    // or 0 if the core has no lanes.
    u32::from(unsafe { coordinates.read() })
}
