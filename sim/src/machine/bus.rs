//! The bus of a hart, which gives access to L1, to its local RAM, and to the registers of its tile.
//!
//! An access to any other address is refused and stops the hart.

use super::{
    devices::{Consequence, Devices, Fault, MailboxPlace},
    registers::Effect,
    request::Request,
    stage::Stage,
    tile_watch::TileWatch,
};
use crate::tile::Tile;
use crate::{
    arch::Arch,
    chip::facts::ChipFacts,
    riscv::{Bus, ControlStatus, Flow, Refusal, Region, StoreResult, Width},
};
use wire::risc::RISCS_PER_CORE;

/// Access to what surrounds a bus: the tile, the chip, and methods that the bus calls for NoC
/// requests and for other accesses beyond L1 and local RAM.
pub(crate) trait Station {
    fn chip(&self) -> &ChipFacts;
    fn tile(&self) -> &Tile;
    fn tile_mut(&mut self) -> &mut Tile;
    /// Sends a NoC request of a hart.
    fn issue(&mut self, devices: &mut Devices, risc_index: usize, cycle: u64, request: &Request);
    /// Records a hart's store to L1, before the store takes effect.
    fn note_store(&mut self, risc_index: usize, address: u64, value: u32, cycle: u64);
    /// Returns the number of cycles by which an injected fault delays the read of the clock's high
    /// word.
    fn clock_stall_at(&mut self, _risc_index: usize, _chip_cycle: u64) -> u64 {
        0
    }
    /// Records, for one reading of the clock by a RISC, the times at which the RISC loaded the low
    /// word and the high word.
    fn note_clock_pair(&mut self, _risc_index: usize, _low_at: u64, _high_at: u64) {}
}

impl Station for Stage {
    fn chip(&self) -> &ChipFacts {
        &self.chip
    }

    #[inline]
    fn tile(&self) -> &Tile {
        &self.tile
    }

    #[inline]
    fn tile_mut(&mut self) -> &mut Tile {
        &mut self.tile
    }

    fn issue(&mut self, devices: &mut Devices, risc_index: usize, cycle: u64, request: &Request) {
        Self::issue(self, devices, risc_index, cycle, request);
    }

    fn note_store(&mut self, risc_index: usize, address: u64, value: u32, cycle: u64) {
        self.note_cells(address, value);
        self.note_record(risc_index, address, value);
        let before = self.tile.l1.word(address);
        self.tile.journal.record(address, before, cycle);
    }

    fn clock_stall_at(&mut self, risc_index: usize, chip_cycle: u64) -> u64 {
        Self::clock_stall_at(self, risc_index, chip_cycle)
    }

    fn note_clock_pair(&mut self, risc_index: usize, low_at: u64, high_at: u64) {
        Self::note_clock_pair(self, risc_index, low_at, high_at);
    }
}

/// State of the clock reading in progress on each RISC.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClockReads([ClockRead; RISCS_PER_CORE]);

#[derive(Clone, Copy, Debug, Default)]
struct ClockRead {
    /// Cycle until which an injected fault delays the read of the high word, if any.
    held_until: Option<u64>,
    /// Cycle at which the low word was read.
    low_at: Option<u64>,
}

impl ClockReads {
    /// Returns the cycle until which a RISC's read of the clock's high word is delayed; `None` if
    /// it is not delayed.
    pub(crate) const fn held_until(&self, risc_index: usize) -> Option<u64> {
        self.0[risc_index].held_until
    }
}

/// One RISC's access to its tile.
pub(crate) struct TileBus<'a, S> {
    pub(crate) station: &'a mut S,
    pub(crate) devices: &'a mut Devices,
    pub(crate) clock_reads: &'a mut ClockReads,
    pub(crate) local_ram: &'a mut [u8],
    pub(crate) risc_index: usize,
    /// True once the RISC has stored to L1.
    pub(crate) has_stored: bool,
}

impl<S: Station> Bus for TileBus<'_, S> {
    #[inline]
    fn l1(&self) -> &[u8] {
        self.station.tile().l1.kept()
    }

    #[inline]
    fn l1_mut(&mut self) -> &mut [u8] {
        self.station.tile_mut().l1.kept_mut()
    }

    #[inline]
    fn local_ram(&self) -> &[u8] {
        self.local_ram
    }

    #[inline]
    fn local_ram_mut(&mut self) -> &mut [u8] {
        self.local_ram
    }

    fn instruction_ram(&self) -> &[u8] {
        if self.risc_index == 1 { &self.devices.instruction_ram } else { &[] }
    }

    fn has_bit_manipulation(&self) -> bool {
        self.station.chip().arch == Arch::Blackhole
    }

    #[inline]
    fn region(&self, address: u32) -> Option<Region> {
        if u64::from(address) < self.station.tile().l1.size_bytes() {
            return Some(Region::L1);
        }
        Region::in_tensix_tile(address)
    }

    fn mmio_load(&mut self, address: u32, width: Width, cycle: u64) -> Result<u32, Refusal> {
        if width == Width::Word && self.devices.is_clock_low(self.risc_index, address) {
            return Ok(self.read_clock_low(cycle));
        }
        if u64::from(address) < self.station.tile().l1.size_bytes() {
            let word = self.station.tile().l1.word(u64::from(address & !3));
            return Ok(word >> (8 * (address & 3)));
        }
        let found = match self.devices.find(self.risc_index, address & !3, false) {
            Ok(found) => found,
            Err(reason) => return Err(self.refuse(reason)),
        };
        match found.register.effect {
            Effect::WallClockHigh if width == Width::Word => return self.read_clock_high(cycle),
            Effect::WallClockLatched => return Ok(self.station.tile().clock.latched_high()),
            _ => {}
        }
        if width != Width::Word && found.register.effect != Effect::Config {
            let bytes = width.byte_count();
            let name = found.register.name;
            return Err(self.refuse(format!("{name} is read as a word, not by {bytes} bytes")));
        }
        let place = (address & !3, self.risc_index);
        match self.devices.load(self.station.chip(), found, place, cycle) {
            Ok(word) => Ok(word >> (8 * (address & 3))),
            Err(fault) => Err(self.fail(fault, found.register.name)),
        }
    }

    fn before_l1_store(&mut self, address: u32, value: u32, cycle: u64) -> Result<(), Refusal> {
        if self.devices.code.contains(&address) {
            return Err(Refusal::Unsupported);
        }
        let MailboxPlace { address: mailbox, size_bytes, .. } = self.devices.mailbox;
        if address.wrapping_sub(mailbox) < size_bytes {
            self.devices.note(address, value, cycle);
        }
        self.has_stored = true;
        self.station.note_store(self.risc_index, u64::from(address & !3), value, cycle);
        if TileWatch::is_semaphore(address) {
            self.devices.note_writer(self.risc_index, address & !3);
            if let Some(watch) = &mut self.devices.tile_watch {
                let sent = self.station.tile().clock.value(cycle);
                watch.note_increment(self.risc_index, address, (cycle, sent));
            }
        }
        Ok(())
    }

    #[inline]
    fn after_l1_load(&mut self, address: u32, cycle: u64) {
        if TileWatch::is_semaphore(address)
            && let Some(watch) = &mut self.devices.tile_watch
        {
            watch.note_load(self.risc_index, address, cycle);
        }
    }

    fn mmio_store(&mut self, address: u32, width: Width, value: u32, cycle: u64) -> StoreResult {
        if u64::from(address) < self.station.tile().l1.size_bytes() {
            self.store_beyond_kept(address, width, value, cycle);
            return Ok(Flow::Continue);
        }
        let found = match self.devices.find(self.risc_index, address & !3, true) {
            Ok(found) => found,
            Err(reason) => return Err(self.refuse(reason)),
        };
        let name = found.register.name;
        if width != Width::Word {
            let bytes = width.byte_count();
            return Err(self.refuse(format!("{name} is written as a word, not by {bytes} bytes")));
        }
        let place = (address, self.risc_index);
        match self.devices.store(self.station.chip(), found, place, (value, cycle)) {
            Ok(Consequence::Nothing) => Ok(Flow::Continue),
            Ok(Consequence::Resets | Consequence::EmptiedCaches | Consequence::Daisychain) => {
                Ok(Flow::Yield)
            }
            Ok(Consequence::Request(request)) => {
                let devices = &mut *self.devices;
                self.station.issue(devices, self.risc_index, cycle, &request);
                Ok(Flow::Yield)
            }
            Ok(Consequence::Move) => self.move_data(cycle),
            Err(fault) => Err(self.fail(fault, name)),
        }
    }

    fn control_status(&mut self, access: ControlStatus, cycle: u64) -> Result<u32, Refusal> {
        let number = access.number;
        let result = self.devices.control_status(
            self.risc_index,
            number,
            |value| access.changed(value),
            cycle,
        );
        result.map_err(|reason| self.refuse(reason))
    }
}

impl<S: Station> TileBus<'_, S> {
    /// Stores the reason for refusing an access.
    fn refuse(&mut self, reason: String) -> Refusal {
        self.devices.refusal = Some(reason);
        Refusal::Unsupported
    }

    fn fail(&mut self, fault: Fault, name: &str) -> Refusal {
        match fault {
            Fault::Busy => Refusal::Busy,
            Fault::Refused(reason) => self.refuse(format!("{name}: {reason}")),
        }
    }

    fn read_clock_low(&mut self, cycle: u64) -> u32 {
        let read = ClockRead { held_until: None, low_at: Some(cycle) };
        self.clock_reads.0[self.risc_index] = read;
        let low = self.station.tile_mut().clock.read_low(cycle);
        if let Some(watch) = &mut self.devices.tile_watch {
            watch.note_clock(self.risc_index, low);
        }
        low
    }

    /// Reads the high word of the clock. A fault rule may delay this read, so that the low word
    /// wraps after the RISC has read it and before this read.
    fn read_clock_high(&mut self, cycle: u64) -> Result<u32, Refusal> {
        let ClockRead { held_until, low_at } = self.clock_reads.0[self.risc_index];
        if let Some(low_at) = low_at {
            let held_until = held_until.unwrap_or_else(|| {
                match self.station.clock_stall_at(self.risc_index, low_at) {
                    0 => 0,
                    stall => low_at + stall + 1,
                }
            });
            let read = &mut self.clock_reads.0[self.risc_index];
            if cycle < held_until {
                read.held_until = Some(held_until);
                return Err(Refusal::Busy);
            }
            *read = ClockRead::default();
            self.station.note_clock_pair(self.risc_index, low_at, cycle);
        }
        Ok(self.station.tile().clock.read_live_high(cycle))
    }

    /// Stores to L1 beyond the part for which the simulator has allocated memory, and enlarges that
    /// part.
    fn store_beyond_kept(&mut self, address: u32, width: Width, value: u32, cycle: u64) {
        let shift = 8 * (address & 3);
        let mask = u32::MAX >> (32 - 8 * width.byte_count()) << shift;
        let word_address = u64::from(address & !3);
        self.station.note_store(self.risc_index, word_address, value, cycle);
        let tile = self.station.tile_mut();
        let word = tile.l1.word(word_address) & !mask | value << shift & mask;
        tile.l1.replace_word(word_address, word);
    }

    /// Carries out a command of the mover (the tile's copy engine) at once.
    ///
    /// # Compatibility
    /// tt-isa-documentation, `WormholeB0/TensixTile/Mover.md`.
    fn move_data(&mut self, cycle: u64) -> Result<Flow, Refusal> {
        let [to, from, byte_count, mode] = self.devices.mover_parameters();
        let l1_bytes = self.station.tile().l1.size_bytes();
        let copies = matches!(mode, MOVE_L1_TO_L0 | MOVE_L1_TO_L1);
        let mut bytes = vec![0; byte_count as usize];
        if copies {
            if u64::from(from) + u64::from(byte_count) > l1_bytes {
                return Err(self.refuse(format!(
                    "the mover was to copy {byte_count} bytes from {from:#x}, which leaves L1"
                )));
            }
            bytes = super::arrival::read_bytes(self.station.tile(), u64::from(from), byte_count);
        }
        let start = to.wrapping_sub(INSTRUCTION_RAM_OF_MOVER);
        let ram_end = start as usize + bytes.len();
        if matches!(mode, MOVE_L1_TO_L0 | MOVE_L0_TO_L0) {
            let Some(room) = self.devices.instruction_ram.get_mut(start as usize..ram_end) else {
                return Err(self.refuse(format!(
                    "the mover was to write {byte_count} bytes at {to:#x}, which leaves NCRISC's \
                     instruction RAM; other targets are not modelled"
                )));
            };
            room.copy_from_slice(&bytes);
            let first = crate::riscv::INSTRUCTION_RAM_BASE + start;
            self.devices.overwritten.push(first..first + byte_count);
        } else {
            if u64::from(to) + u64::from(byte_count) > l1_bytes {
                return Err(self.refuse(format!(
                    "the mover was to write {byte_count} bytes at {to:#x}, which leaves L1"
                )));
            }
            let tile = self.station.tile_mut();
            super::arrival::write_bytes((tile, self.devices), to.into(), &bytes, cycle);
        }
        Ok(Flow::Yield)
    }
}

const MOVE_L1_TO_L0: u32 = 1;
const MOVE_L0_TO_L0: u32 = 2;
const MOVE_L1_TO_L1: u32 = 3;
/// Address of NCRISC's instruction RAM in commands for the mover.
const INSTRUCTION_RAM_OF_MOVER: u32 = 0x4_0000;
