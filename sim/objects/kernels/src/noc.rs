//! A request initiator of the NoC, accessed through its registers.

use crate::registers::{IS_BLACKHOLE, read, write};

/// The second request initiator of a tile's NoC interface; tt-metal uses it for small writes. The
/// profiler uses the first request initiator to write records to DRAM.
#[derive(Clone, Copy)]
pub(crate) struct Initiator {
    registers: u32,
}

/// Remote endpoint of a request: a tile's coordinates (column in the low bits), and an address.
#[derive(Clone, Copy)]
pub(crate) struct Remote {
    pub(crate) tile: u32,
    pub(crate) address: u32,
}

impl Initiator {
    /// Returns the initiator of a RISC, on the NoC that the simulator's firmware assigns to it.
    #[inline(always)]
    pub(crate) const fn from_risc(risc: u32) -> Self {
        Self { registers: NOC_REGISTERS + if risc == 1 { NOC_STRIDE } else { 0 } }
    }

    /// Returns the coordinates of the RISC's own tile.
    #[inline(always)]
    pub(crate) fn own_tile(self) -> u32 {
        read(self.registers + OWN_COORDINATES) & 0xFFF
    }

    /// Returns the number of reads or, if `is_write`, of writes with acknowledgement that the tile
    /// has sent through this NoC interface, modulo 2^32.
    #[inline(always)]
    pub(crate) fn sent(self, is_write: bool) -> u32 {
        read(self.registers + if is_write { WRITES_SENT } else { READS_SENT })
    }

    /// Returns how many reads (if `is_write`: acknowledged writes) have been answered, modulo 2^32.
    #[inline(always)]
    pub(crate) fn answered(self, is_write: bool) -> u32 {
        read(self.registers + if is_write { WRITE_ACKS } else { READ_RESPONSES })
    }

    /// Writes bytes from the tile's L1 to another tile.
    #[inline(always)]
    pub(crate) fn write(self, from: u32, to: Remote, size_bytes: u32, control: u32) {
        let own = Remote { tile: self.own_tile(), address: from };
        self.send(own, to, size_bytes, control);
    }

    /// Reads bytes from another tile into the tile's L1.
    #[inline(always)]
    pub(crate) fn read(self, from: Remote, to: u32, size_bytes: u32) {
        let own = Remote { tile: self.own_tile(), address: to };
        self.send(from, own, size_bytes, CTRL_READ);
    }

    /// Writes bytes from the tile's L1 to all tiles of a rectangle, without acknowledgement.
    #[inline(always)]
    pub(crate) fn write_to_all(self, from: u32, to: Remote, size_bytes: u32) {
        self.write(from, to, size_bytes, CTRL_POSTED_WRITE | CTRL_BROADCAST);
    }

    /// Increments a word in another tile's L1.
    #[inline(always)]
    pub(crate) fn increment(self, word: Remote) {
        let own = Remote { tile: self.own_tile(), address: 0 };
        write(self.registers + COMMAND_BUFFER + AT_DATA, 1);
        let operation = ATOMIC_INCREMENT | ATOMIC_ALL_BITS | word.address >> 2 & 3;
        self.send(word, own, operation, CTRL_ATOMIC);
    }

    #[inline(always)]
    fn send(self, from: Remote, to: Remote, size_bytes: u32, control: u32) {
        let buffer = self.registers + COMMAND_BUFFER;
        while read(buffer + CMD_CTRL) != 0 {}
        for (register, word) in [
            (TARG_ADDR_LO, from.address),
            (TARG_COORDINATE, from.tile << COORDINATE_SHIFT),
            (RET_ADDR_LO, to.address),
            (RET_COORDINATE, to.tile << COORDINATE_SHIFT),
            (PACKET_TAG, 0),
            (CTRL, control),
            (AT_LEN_BE, size_bytes),
            (CMD_CTRL, 1),
        ] {
            write(buffer + register, word);
        }
    }
}

const NOC_REGISTERS: u32 = 0xFFB2_0000;
const NOC_STRIDE: u32 = 0x1_0000;
const COMMAND_BUFFER: u32 = if IS_BLACKHOLE { 0x800 } else { 0x400 };

const TARG_ADDR_LO: u32 = 0x00;
const TARG_COORDINATE: u32 = if IS_BLACKHOLE { 0x08 } else { 0x04 };
const RET_ADDR_LO: u32 = 0x0C;
const RET_COORDINATE: u32 = if IS_BLACKHOLE { 0x14 } else { 0x10 };
const PACKET_TAG: u32 = 0x18;
const CTRL: u32 = 0x1C;
const AT_LEN_BE: u32 = 0x20;
const CMD_CTRL: u32 = if IS_BLACKHOLE { 0x40 } else { 0x28 };
const COORDINATE_SHIFT: u32 = if IS_BLACKHOLE { 0 } else { 4 };
/// Register from which tt-metal's `noc_init` reads the tile's own coordinates: the node id on a
/// Wormhole, the translated coordinates on a Blackhole.
const OWN_COORDINATES: u32 = if IS_BLACKHOLE { 0x148 } else { 0x2C };

/// Counters of a NoC interface, named `NIU_MST_WR_ACK_RECEIVED` etc. in `noc_parameters.h`.
const WRITE_ACKS: u32 = 0x204;
const READ_RESPONSES: u32 = 0x208;
const READS_SENT: u32 = 0x214;
const WRITES_SENT: u32 = 0x228;

/// Register for the operand of atomic operations.
const AT_DATA: u32 = if IS_BLACKHOLE { 0x28 } else { 0x24 };
/// The two bit fields of `NOC_AT_LEN_BE` for an atomic increment of all 32 bits of a word.
const ATOMIC_INCREMENT: u32 = 1 << 12;
const ATOMIC_ALL_BITS: u32 = 31 << 2;

const CTRL_READ: u32 = 1 << 4;
const CTRL_ATOMIC: u32 = 1;
/// Broadcast to all tiles of a rectangle.
const CTRL_BROADCAST: u32 = 1 << 5;
/// A write without acknowledgement.
pub(crate) const CTRL_POSTED_WRITE: u32 = 1 << 1;
/// A write with acknowledgement.
pub(crate) const CTRL_ANSWERED_WRITE: u32 = CTRL_POSTED_WRITE | 1 << 4;
/// Virtual channel 1.
pub(crate) const CTRL_CHANNEL_1: u32 = 1 << 7 | 1 << 13;
