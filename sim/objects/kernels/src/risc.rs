//! The RISC that runs a kernel, and the kernel functions that the firmware calls.

#![allow(unsafe_code, reason = "entry points, the wall clock and the launch message")]

#[cfg(feature = "dispatch")]
use crate::dispatch;
use crate::{
    body::{self, Environment, Transfer},
    mailbox::{
        ARG_COUNT, ARGS, BANK_COORDINATES, BANK_COUNT, BANK_COUNT_MAX, DATA, LAUNCH_INDEX,
        OWN_COORDINATES, RISC_COUNT, SEED,
    },
    noc::{CTRL_ANSWERED_WRITE, CTRL_CHANNEL_1, CTRL_POSTED_WRITE, Initiator, Remote},
    random::Stream,
    script_body, tiles, uncounted,
};
use core::ptr;

/// One RISC's view of the launch message, and random numbers drawn from the message's seed.
pub(crate) struct Launch {
    /// Address of the mailbox's word at `LAUNCH_INDEX`.
    message: *const u32,
    data: *const u32,
    random: Stream,
    risc: u32,
}

impl Launch {
    #[inline(always)]
    fn new(message: *const u32, risc: u32) -> Self {
        let mut launch = Self { message, data: ptr::null(), random: Stream::default(), risc };
        let seed = u64::from(launch.word(SEED)) | u64::from(launch.word(SEED + 4)) << 32;
        launch.random = Stream::new(seed, &[u64::from(risc)]);
        let data = launch.word(DATA + 4 * risc);
        launch.data = ptr::with_exposed_provenance(data as usize);
        launch
    }

    /// Returns the index of the RISC in its core.
    #[inline(always)]
    pub(crate) const fn risc(&self) -> u32 {
        self.risc
    }

    /// Returns the L1 address of the launch's data.
    #[inline(always)]
    pub(crate) fn data_address(&self) -> u32 {
        self.data.addr() as u32
    }

    /// Returns the mailbox word at an offset from the mailbox's start.
    #[inline(always)]
    fn word(&self, offset: u32) -> u32 {
        let word = self.message.wrapping_byte_add((offset - LAUNCH_INDEX) as usize);
        // SAFETY: the firmware passes the address of the message, and callers read only words that
        // the message's own counts include.
        unsafe { word.read_volatile() }
    }
}

impl Environment for Launch {
    #[inline(always)]
    fn spin(&mut self, cycles: u32) {
        let start = wall_clock_low();
        while wall_clock_low().wrapping_sub(start) < cycles {}
    }

    #[inline(always)]
    fn arg(&self, index: u32) -> u32 {
        if index < self.word(ARG_COUNT) { self.word(ARGS + 4 * index) } else { 0 }
    }

    #[inline(always)]
    fn data(&self, index: u32) -> u32 {
        let word = self.data.wrapping_add(index as usize);
        // SAFETY: the launch stored the data at this address, and callers stay within its length.
        unsafe { word.read_volatile() }
    }

    #[inline(always)]
    fn draw(&mut self, bound: u32) -> u32 {
        let drawn = self.random.next_u64() >> 32;
        ((drawn * u64::from(bound)) >> 32) as u32
    }

    #[inline(always)]
    fn noc(&self) -> Option<u8> {
        match self.risc {
            0 if self.word(RISC_COUNT) > 1 => Some(0),
            1 => Some(1),
            _ => None,
        }
    }

    fn tile(&self, target: u32) -> u32 {
        let second = self.risc == 1;
        let Some(bank) = target.checked_sub(1) else {
            let own = self.word(OWN_COORDINATES) >> if second { 16 } else { 0 };
            return own & 0x3F | (own >> 8 & 0x3F) << 6;
        };
        let bank = bank % self.word(BANK_COUNT).max(1);
        let row = BANK_COORDINATES + if second { 2 * BANK_COUNT_MAX } else { 0 };
        let pair = self.word(row + 4 * (bank / 2));
        let coordinates = pair >> (16 * (bank % 2)) & 0xFFFF;
        if cfg!(feature = "blackhole") { coordinates } else { coordinates >> 4 }
    }

    fn transfer(&mut self, transfer: &Transfer) {
        let Transfer { is_write, is_posted, tile, local, remote, byte_count } = *transfer;
        let noc = Initiator::from_risc(self.risc);
        let there = Remote { tile, address: remote };
        if is_write {
            let control = if is_posted { CTRL_POSTED_WRITE } else { CTRL_ANSWERED_WRITE };
            noc.write(local, there, byte_count, control | CTRL_CHANNEL_1);
        } else {
            noc.read(there, local, byte_count);
        }
    }

    #[inline(always)]
    fn issue(&mut self, instruction: u32, times: u32) {
        for _ in 0..times {
            let buffer = ptr::with_exposed_provenance_mut::<u32>(INSTRUCTION_BUFFER);
            // SAFETY: each TRISC has its own instruction buffer at this address; a store to it
            // changes no memory.
            unsafe { buffer.write_volatile(instruction) };
        }
    }
}

/// Address to which a TRISC stores instructions for its own thread of the coprocessor.
///
/// # Compatibility
/// tt-isa-documentation, `BabyRISCV/PushTensixInstruction.md`.
const INSTRUCTION_BUFFER: usize = 0xFFE4_0000;

#[inline(always)]
pub(crate) fn wall_clock_low() -> u32 {
    // SAFETY: the register exists on every tile; reading it changes no memory.
    unsafe { ptr::with_exposed_provenance::<u32>(WALL_CLOCK_LOW).read_volatile() }
}

const WALL_CLOCK_LOW: usize = 0xFFB1_21F0;

/// Exports functions for the firmware to call; each calls the kernel body with the same name.
macro_rules! exported {
    ($module:ident: $($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(link_section = ".text.kernel")]
            extern "C" fn $name(message: *const u32, risc: u32) {
                $module::$name(&mut Launch::new(message, risc));
            }
        )*
    };
}

exported! {
    body: empty short work full_buffer timestamped_events wide_data calibration instructions
    counted_instructions cycle_count steps paced sums numbers reads
    matmul_reader matmul_unpack matmul_math matmul_pack matmul_writer
    matmul_tile_reader matmul_tile_writer
}

exported! { script_body: script }

exported! { uncounted: uncounted_writes }

exported! { tiles: pass_tiles }

#[cfg(feature = "dispatch")]
exported! { dispatch: dispatch_prefetch dispatch_commands dispatch_announce }
