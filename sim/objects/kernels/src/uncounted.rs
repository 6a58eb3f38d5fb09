//! A kernel that uses the NoC behind the back of the counters that barriers look at, as tt-metal's
//! fabric does.

#![allow(unsafe_code, reason = "registers of the NoC")]

use crate::{body::Environment, risc::Launch};
use core::ptr;
use kernel_profiler::{device_zone_scoped, quick_push};

/// Sends as many writes as argument 0 says, posted if argument 1 is not 0, from the first 16 bytes
/// of its data to those behind, and counts none of them. Records a zone before them, one after
/// them, and pushes in between.
pub(crate) fn uncounted_writes(launch: &mut Launch) {
    {
        device_zone_scoped!("BEFORE-WRITES");
    }
    // As the simulator's firmware gives NoCs to RISCs.
    let noc = NOC_REGISTERS + if launch.risc() == 1 { NOC_STRIDE } else { 0 };
    let data = launch.data_address();
    let is_posted = launch.arg(1) != 0;
    for write in 0..launch.arg(0) {
        send(noc, data, data + 16 * (write + 1), is_posted);
    }
    quick_push();
    device_zone_scoped!("AFTER-WRITES");
}

/// Writes 16 bytes of the tile's L1 to another place in it, by way of the NoC.
#[inline(always)]
fn send(noc: u32, from: u32, to: u32, is_posted: bool) {
    let buffer = noc + COMMAND_BUFFER;
    while read(buffer + CMD_CTRL) != 0 {}
    let own = read(noc + OWN_COORDINATES) & 0xFFF;
    for (register, word) in [
        (TARG_ADDR_LO, from),
        (TARG_COORDINATE, own << COORDINATE_SHIFT),
        (RET_ADDR_LO, to),
        (RET_COORDINATE, own << COORDINATE_SHIFT),
        (PACKET_TAG, 0),
        (CTRL, if is_posted { CTRL_POSTED_WRITE } else { CTRL_ANSWERED_WRITE }),
        (AT_LEN_BE, 16),
        (CMD_CTRL, 1),
    ] {
        write(buffer + register, word);
    }
}

#[inline(always)]
fn read(register: u32) -> u32 {
    // SAFETY: this module names only registers that exist and may be read.
    unsafe { ptr::with_exposed_provenance::<u32>(register as usize).read_volatile() }
}

#[inline(always)]
fn write(register: u32, word: u32) {
    // SAFETY: as above; what is sent changes the kernel's own data, to which nobody holds a
    // reference.
    unsafe { ptr::with_exposed_provenance_mut::<u32>(register as usize).write_volatile(word) }
}

const IS_BLACKHOLE: bool = cfg!(feature = "blackhole");

const NOC_REGISTERS: u32 = 0xFFB2_0000;
const NOC_STRIDE: u32 = 0x1_0000;
/// The second of the four, which tt-metal writes small things with.
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
/// A Wormhole's node id, a Blackhole's translated one, as tt-metal's `noc_init` takes them.
const OWN_COORDINATES: u32 = if IS_BLACKHOLE { 0x148 } else { 0x2C };

const CTRL_POSTED_WRITE: u32 = 1 << 1;
const CTRL_ANSWERED_WRITE: u32 = CTRL_POSTED_WRITE | 1 << 4;
