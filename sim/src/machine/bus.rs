//! What a hart of a tile reaches: L1, its local RAM, and the registers that are modelled.
//!
//! An access to anything else is refused, so that the hart traps.

use super::{
    mailbox,
    noc_interface::{NocInterfaces, Request},
};
use crate::{
    native::stage::Stage,
    riscv::{Bus, Flow, Refusal, Region, Width},
};
use std::ops::Range;
use wire::risc::RISCS_PER_CORE;

/// What the harts of a tile share besides memory.
#[derive(Clone, Debug)]
pub(crate) struct Devices {
    pub(crate) noc: NocInterfaces,
    /// One bit per RISC that is held in reset, as the register has them.
    pub(crate) soft_reset: u32,
    /// Where each subordinate begins after its reset.
    pub(crate) reset_pc: [u32; RISCS_PER_CORE],
    /// Code, which nobody may overwrite.
    pub(crate) code: Range<u32>,
    pub(crate) mailbox: u32,
    pub(crate) signals: Signals,
    /// Why the NoC refused a command.
    pub(crate) noc_refusal: Option<String>,
    clock_reads: [ClockRead; RISCS_PER_CORE],
}

/// What the firmware has told through the mailbox in this launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signals {
    /// Whether any byte of the mailbox was written in this turn, and when last.
    pub(crate) written_at: Option<u64>,
    pub(crate) done_cycle: Option<u64>,
    pub(crate) kernel_start: [Option<u64>; RISCS_PER_CORE],
    pub(crate) kernel_end: [Option<u64>; RISCS_PER_CORE],
}

/// How far a RISC's read of the wall clock is.
#[derive(Clone, Copy, Debug, Default)]
struct ClockRead {
    /// A fault holds the read of the high word back until then.
    held_until: Option<u64>,
    /// When the low word was read.
    low_at: Option<u64>,
}

impl Devices {
    pub(crate) fn new(noc: NocInterfaces, code: Range<u32>, mailbox: u32) -> Self {
        Self {
            noc,
            soft_reset: SOFT_RESET_ALL,
            reset_pc: [0; RISCS_PER_CORE],
            code,
            mailbox,
            signals: Signals::default(),
            noc_refusal: None,
            clock_reads: Default::default(),
        }
    }

    /// Whether a RISC is held in reset.
    pub(crate) const fn is_in_reset(&self, risc_index: usize) -> bool {
        self.soft_reset & SOFT_RESET[risc_index] != 0
    }

    /// Until when a RISC's read of the clock is held back.
    pub(crate) const fn clock_held_until(&self, risc_index: usize) -> Option<u64> {
        self.clock_reads[risc_index].held_until
    }

    fn note(&mut self, address: u32, value: u32, cycle: u64) {
        self.signals.written_at = Some(cycle);
        let offset = address - self.mailbox;
        let value = value & 0xFF;
        if offset == mailbox::GO && value == u32::from(mailbox::signal::DONE) {
            self.signals.done_cycle = Some(cycle);
        }
        let risc = offset.wrapping_sub(mailbox::STAGE) as usize;
        if let Some(start) = self.signals.kernel_start.get_mut(risc) {
            match value {
                BEGINS => *start = Some(cycle),
                ENDED => self.signals.kernel_end[risc] = Some(cycle),
                _ => {}
            }
        }
    }
}

/// One RISC's view of its tile.
pub(crate) struct TileBus<'a> {
    pub(crate) stage: &'a mut Stage,
    pub(crate) devices: &'a mut Devices,
    pub(crate) local_ram: &'a mut [u8],
    pub(crate) risc_index: usize,
}

impl Bus for TileBus<'_> {
    #[inline]
    fn l1(&self) -> &[u8] {
        self.stage.tile.l1.kept()
    }

    #[inline]
    fn l1_mut(&mut self) -> &mut [u8] {
        self.stage.tile.l1.kept_mut()
    }

    #[inline]
    fn local_ram(&self) -> &[u8] {
        self.local_ram
    }

    #[inline]
    fn local_ram_mut(&mut self) -> &mut [u8] {
        self.local_ram
    }

    fn region(&self, address: u32) -> Option<Region> {
        if u64::from(address) < self.stage.tile.l1.size_bytes() {
            return Some(Region::L1);
        }
        Region::in_tensix_tile(address)
    }

    fn mmio_load(&mut self, address: u32, width: Width, cycle: u64) -> Result<u32, Refusal> {
        if u64::from(address) < self.stage.tile.l1.size_bytes() {
            let word = self.stage.tile.l1.word(u64::from(address & !3));
            return Ok(word >> (8 * (address & 3)));
        }
        if width != Width::Word {
            return Err(Refusal::Unsupported);
        }
        match address {
            WALL_CLOCK_LOW => Ok(self.read_clock_low(cycle)),
            WALL_CLOCK_HIGH => self.read_clock_high(cycle),
            WALL_CLOCK_LATCHED => Ok(self.stage.tile.clock.latched_high()),
            SOFT_RESET_REGISTER => Ok(self.devices.soft_reset),
            _ if NocInterfaces::covers(address) => self.devices.noc.load(address, cycle),
            _ => Err(Refusal::Unmapped),
        }
    }

    fn before_l1_store(
        &mut self,
        address: u32,
        width: Width,
        value: u32,
        cycle: u64,
    ) -> Result<(), Refusal> {
        if self.devices.code.contains(&address) {
            return Err(Refusal::Unsupported);
        }
        if address.wrapping_sub(self.devices.mailbox) < mailbox::SIZE_BYTES {
            self.devices.note(address, value, cycle);
        }
        let _ = width;
        let tile = &mut *self.stage.tile;
        let word_address = u64::from(address & !3);
        tile.journal.record(word_address, tile.l1.word(word_address), cycle);
        Ok(())
    }

    fn mmio_store(
        &mut self,
        address: u32,
        width: Width,
        value: u32,
        cycle: u64,
    ) -> Result<Flow, Refusal> {
        if u64::from(address) < self.stage.tile.l1.size_bytes() {
            self.store_beyond_kept(address, width, value, cycle);
            return Ok(Flow::Continue);
        }
        if width != Width::Word {
            return Err(Refusal::Unsupported);
        }
        match address {
            SOFT_RESET_REGISTER => {
                self.devices.soft_reset = value;
                return Ok(Flow::Yield);
            }
            TRISC_RESET_PC..=TRISC_RESET_PC_LAST => {
                let index = 2 + (address - TRISC_RESET_PC) as usize / 4;
                self.devices.reset_pc[index] = value;
            }
            NCRISC_RESET_PC => self.devices.reset_pc[1] = value,
            TRISC_RESET_PC_OVERRIDE | NCRISC_RESET_PC_OVERRIDE => {}
            _ if NocInterfaces::covers(address) => return self.store_to_noc(address, value, cycle),
            _ => return Err(Refusal::Unmapped),
        }
        Ok(Flow::Continue)
    }
}

impl TileBus<'_> {
    fn read_clock_low(&mut self, cycle: u64) -> u32 {
        let read = ClockRead { held_until: None, low_at: Some(cycle) };
        self.devices.clock_reads[self.risc_index] = read;
        self.stage.tile.clock.read_low(cycle)
    }

    /// A fault rule may hold the read back, so that a wrap falls between it and that of the
    /// low word before it.
    fn read_clock_high(&mut self, cycle: u64) -> Result<u32, Refusal> {
        let ClockRead { held_until, low_at } = self.devices.clock_reads[self.risc_index];
        if let Some(low_at) = low_at {
            let held_until = held_until.unwrap_or_else(|| {
                match self.stage.clock_stall_at(self.risc_index, low_at) {
                    0 => 0,
                    stall => low_at + stall + 1,
                }
            });
            let read = &mut self.devices.clock_reads[self.risc_index];
            if cycle < held_until {
                read.held_until = Some(held_until);
                return Err(Refusal::Busy);
            }
            *read = ClockRead::default();
            self.stage.note_clock_pair(self.risc_index, low_at, cycle);
        }
        Ok(self.stage.tile.clock.read_live_high(cycle))
    }

    /// L1 that nothing has touched yet takes no room until now.
    fn store_beyond_kept(&mut self, address: u32, width: Width, value: u32, cycle: u64) {
        let shift = 8 * (address & 3);
        let mask = u32::MAX >> (32 - 8 * width.byte_count()) << shift;
        let word_address = u64::from(address & !3);
        let tile = &mut *self.stage.tile;
        let word = tile.l1.word(word_address) & !mask | value << shift & mask;
        tile.store(word_address, word, cycle);
    }

    fn store_to_noc(&mut self, address: u32, value: u32, cycle: u64) -> Result<Flow, Refusal> {
        match self.devices.noc.store(address, value, cycle)? {
            Request::Nothing => Ok(Flow::Continue),
            Request::Write(noc, write) => {
                let acknowledged_at = self.stage.push_at(self.risc_index, cycle, write);
                self.devices.noc.expect_acknowledgement(noc, acknowledged_at);
                Ok(Flow::Continue)
            }
            Request::Refused(reason) => {
                self.devices.noc_refusal = Some(reason);
                Err(Refusal::Unsupported)
            }
        }
    }
}

const BEGINS: u32 = mailbox::stage::BEGINS as u32;
const ENDED: u32 = mailbox::stage::ENDED as u32;

const WALL_CLOCK_LOW: u32 = 0xFFB1_21F0;
const WALL_CLOCK_HIGH: u32 = 0xFFB1_21F4;
const WALL_CLOCK_LATCHED: u32 = 0xFFB1_21F8;

/// # Compatibility
/// This and the reset addresses: `tensix.h`.
const SOFT_RESET_REGISTER: u32 = 0xFFB1_21B0;
const TRISC_RESET_PC: u32 = 0xFFB1_2228;
const TRISC_RESET_PC_LAST: u32 = 0xFFB1_2230;
const TRISC_RESET_PC_OVERRIDE: u32 = 0xFFB1_2234;
const NCRISC_RESET_PC: u32 = 0xFFB1_2238;
const NCRISC_RESET_PC_OVERRIDE: u32 = 0xFFB1_223C;

const SOFT_RESET: [u32; RISCS_PER_CORE] = [1 << 11, 1 << 18, 1 << 12, 1 << 13, 1 << 14];
const SOFT_RESET_ALL: u32 = 0x4_7800;
