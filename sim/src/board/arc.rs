//! Host interface of the ARC tile: telemetry, and messages that do not change this model's state.
//!
//! # Compatibility
//! tt-isa-documentation, `ARCTile`; tt-umd: `wormhole_arc_telemetry_reader.cpp` and
//! `blackhole_arc_telemetry_reader.cpp` (address and tags of the telemetry table), and the message
//! queues of `arc_messenger`.

use super::put_register;
use crate::{
    arch::{Arch, TileCoord, floorplan::Floorplan},
    sparse_memory::SparseMemory,
};
use std::collections::HashMap;

/// The tile's memory and registers.
#[derive(Debug)]
pub(super) struct ArcTile {
    arch: Arch,
    /// Harvested rows or columns, in the order of the architecture's `harvest_order`.
    harvest_mask: u32,
    /// Harvested groups of DRAM tiles.
    dram_harvest_mask: u32,
    /// The tile's memory, from address 0.
    memory: SparseMemory<u8>,
    /// Registers of the reset unit, by offset.
    registers: HashMap<u64, u32>,
}

impl ArcTile {
    pub(super) fn new(plan: &Floorplan) -> Self {
        let (memory, registers) = (SparseMemory::default(), HashMap::new());
        let (arch, harvest_mask) = (plan.arch(), plan.harvest_mask());
        let dram_harvest_mask = plan.dram_harvest_mask();
        let mut tile = Self { arch, harvest_mask, dram_harvest_mask, memory, registers };
        tile.write_telemetry();
        let table = MEMORY + TELEMETRY_TABLE;
        let values = MEMORY + TELEMETRY_VALUES;
        let pointers = match arch {
            Arch::WormholeB0 => {
                vec![(SCRATCH, 0xC0DE_0001), (0x1D0, table), (0x1D4, values), (0x1D8, 0)]
            }
            Arch::Blackhole => {
                tile.store(QUEUE_CONTROL, MEMORY + QUEUES);
                tile.store(QUEUE_CONTROL + 4, QUEUE_ENTRIES | QUEUE_COUNT << 8);
                // Marks the ARC as started and ready for messages.
                let pointers = [(2, 5), (11, MEMORY + QUEUE_CONTROL), (12, values), (13, table)];
                pointers.iter().map(|&(index, value)| (SCRATCH_RAM + 4 * index, value)).collect()
            }
        };
        for (offset, value) in pointers {
            tile.registers.insert(offset.into(), value);
        }
        tile
    }

    pub(super) const fn tile(&self) -> TileCoord {
        match self.arch {
            Arch::WormholeB0 => TileCoord { x: 0, y: 10 },
            Arch::Blackhole => TileCoord { x: 8, y: 0 },
        }
    }

    /// Writes the telemetry table: each tag with the index of its value, then the values.
    fn write_telemetry(&mut self) {
        let facts = self.arch.facts();
        let (board, bundle) = match self.arch {
            Arch::WormholeB0 => (0x180, 0x1204_0000),
            Arch::Blackhole => (0x400, 0x1205_0000),
        };
        let trained = facts
            .dram_groups
            .iter()
            .enumerate()
            .filter(|(group, _)| self.dram_harvest_mask >> group & 1 == 0)
            .fold(0, |bits, (group, _)| bits | 1 << (2 * group));
        let mut entries = vec![
            (1_u32, board),
            (2, 1),
            (3, 1),
            (4, 0),
            (11, 40 << 16),
            (13, 35 << 16),
            (14, facts.aiclk_mhz),
            (15, 900),
            (16, 540),
            (21, if self.arch == Arch::WormholeB0 { 0xFFFF } else { 0x0FFF }),
            (22, trained),
            (28, bundle),
            (32, 1),
            (52, 0),
        ];
        if self.arch == Arch::Blackhole {
            let columns = (1 << facts.harvest_order.len()) - 1;
            let enabled = columns & !self.harvest_mask;
            let dram = ((1 << facts.dram_groups.len()) - 1) & !self.dram_harvest_mask;
            entries.extend([(38, 1), (34, enabled), (35, 0x0FFF), (36, dram), (61, 0), (62, 1)]);
        }
        self.store(TELEMETRY_TABLE, 1);
        self.store(TELEMETRY_TABLE + 4, u32::try_from(entries.len()).unwrap_or(0));
        for (index, (tag, value)) in (0..).zip(entries) {
            self.store(TELEMETRY_TABLE + 8 + 4 * index, tag | index << 16);
            self.store(TELEMETRY_VALUES + 4 * index, value);
        }
        if self.arch == Arch::WormholeB0 {
            self.store(4 * LEGACY_BUNDLE, bundle);
        }
    }

    fn store(&mut self, offset: u32, value: u32) {
        // The memory has no size limit, so the write succeeds.
        self.memory.write(offset.into(), &value.to_le_bytes());
    }

    fn load(&self, offset: u32) -> u32 {
        let mut bytes = [0; 4];
        self.memory.read(offset.into(), &mut bytes);
        u32::from_le_bytes(bytes)
    }

    /// Returns the offset of an address within the tile.
    fn offset(&self, address: u64) -> u64 {
        match self.arch {
            Arch::WormholeB0 => address.wrapping_sub(CROSSBAR),
            Arch::Blackhole => address,
        }
    }

    pub(super) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), String> {
        if self.arch == Arch::WormholeB0 && (NIU..NIU + 0x2_0000).contains(&address) {
            return put_register(
                bytes,
                self.interface(address & 0xFFFF, address >= NIU + 0x1_0000),
            );
        }
        let offset = self.offset(address);
        match offset {
            MEMORY_FIRST..=MEMORY_LAST => {
                self.memory.read(offset - MEMORY_FIRST, bytes);
                Ok(())
            }
            RESET_UNIT..RESET_UNIT_END => put_register(
                bytes,
                self.registers.get(&(offset - RESET_UNIT)).copied().unwrap_or(0),
            ),
            NIU_0..NIU_END => put_register(bytes, self.interface(offset & 0x7FFF, offset >= NIU_1)),
            _ => Err(format!("the ARC tile has nothing at {address:#x}, which was to be read")),
        }
    }

    pub(super) fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        let offset = self.offset(address);
        match offset {
            MEMORY_FIRST..=MEMORY_LAST => {
                self.memory.write(offset - MEMORY_FIRST, bytes);
                Ok(())
            }
            RESET_UNIT..RESET_UNIT_END => {
                let register = offset - RESET_UNIT;
                let value = bytes.try_into().map(u32::from_le_bytes).map_err(|_| {
                    format!("a register of the ARC tile, {address:#x}, is written by words")
                })?;
                if register == MISC_CONTROL && value & INTERRUPT != 0 {
                    self.answer();
                    self.registers.insert(register, value & !INTERRUPT);
                } else {
                    self.registers.insert(register, value);
                }
                Ok(())
            }
            MESSAGE_INTERRUPT..MESSAGE_INTERRUPT_END if self.arch == Arch::Blackhole => {
                self.answer();
                Ok(())
            }
            _ => Err(format!("the ARC tile has nothing at {address:#x}, which was to be written")),
        }
    }

    /// Returns the value of a register of the tile's NoC interface.
    fn interface(&self, offset: u64, is_second: bool) -> u32 {
        let TileCoord { x, y } = self.tile();
        let (columns, rows) = self.arch.facts().grid;
        let (x, y) = if is_second { (columns - 1 - x, rows - 1 - y) } else { (x, y) };
        match offset {
            0x2C | 0x44 => u32::from(x) | u32::from(y) << 6,
            // Bit 14 says that the chip translates coordinates.
            0x100 => 1 << 14,
            _ => 0,
        }
    }

    /// Answers a message from the host. No state of this model depends on messages.
    fn answer(&mut self) {
        match self.arch {
            Arch::WormholeB0 => {
                let code = self.registers.get(&scratch(5)).copied().unwrap_or(0) & 0xFF;
                if let Some(answer) = self.reply(code) {
                    self.registers.insert(scratch(3), answer);
                }
                self.registers.insert(scratch(5), code);
            }
            Arch::Blackhole => (0..QUEUE_COUNT).for_each(|queue| self.drain(queue)),
        }
    }

    fn reply(&self, code: u32) -> Option<u32> {
        match code {
            GET_TELEMETRY_ADDRESS => Some(0),
            GET_AICLK => Some(self.arch.facts().aiclk_mhz),
            GET_HARVESTING => Some(self.harvest_mask),
            SET_TRAINED => Some(1),
            _ => None,
        }
    }

    /// Answers all requests in a queue. A queue consists of a header, a ring of requests and a ring
    /// of answers.
    fn drain(&mut self, queue: u32) {
        let stride = QUEUE_HEADER_BYTES + 2 * QUEUE_ENTRIES * QUEUE_ENTRY_BYTES;
        let header = QUEUES + queue * stride;
        let around = 2 * QUEUE_ENTRIES;
        let (written, mut read, mut answered) =
            (self.load(header), self.load(header + 0x10), self.load(header + 0x14));
        while read % around != written % around {
            let ring = header + QUEUE_HEADER_BYTES;
            let request = ring + read % QUEUE_ENTRIES * QUEUE_ENTRY_BYTES;
            let answer = ring + (QUEUE_ENTRIES + answered % QUEUE_ENTRIES) * QUEUE_ENTRY_BYTES;
            let reply = self.reply(self.load(request) & 0xFF).unwrap_or(0);
            for word in 0..QUEUE_ENTRY_BYTES / 4 {
                self.store(answer + 4 * word, if word == 0 { reply } else { 0 });
            }
            read = (read + 1) % around;
            answered = (answered + 1) % around;
        }
        self.store(header + 0x10, read);
        self.store(header + 0x14, answered);
    }
}

fn scratch(index: u64) -> u64 {
    u64::from(SCRATCH) + 4 * index
}

const CROSSBAR: u64 = 0x8_0000_0000;
const NIU: u64 = 0xF_FFB2_0000;
const MEMORY: u32 = 0x1000_0000;
const MEMORY_FIRST: u64 = MEMORY as u64;
const MEMORY_LAST: u64 = 0x1007_FFFF;
const RESET_UNIT: u64 = 0x8003_0000;
const RESET_UNIT_END: u64 = 0x8004_0000;
const NIU_0: u64 = 0x8005_0000;
const NIU_1: u64 = 0x8005_8000;
const NIU_END: u64 = 0x8005_9000;
const MESSAGE_INTERRUPT: u64 = 0x800B_0000;
const MESSAGE_INTERRUPT_END: u64 = 0x800B_1000;
const SCRATCH: u32 = 0x60;
const SCRATCH_RAM: u32 = 0x400;
const MISC_CONTROL: u64 = 0x100;
const INTERRUPT: u32 = 1 << 16;
const TELEMETRY_TABLE: u32 = 0x100;
const TELEMETRY_VALUES: u32 = 0x200;
const QUEUE_CONTROL: u32 = 0x300;
const QUEUES: u32 = 0x400;
const QUEUE_COUNT: u32 = 4;
const QUEUE_ENTRIES: u32 = 8;
const QUEUE_HEADER_BYTES: u32 = 32;
const QUEUE_ENTRY_BYTES: u32 = 32;
/// Index of the word with the firmware bundle's version, in Wormhole's older telemetry format.
const LEGACY_BUNDLE: u32 = 49;
const GET_TELEMETRY_ADDRESS: u32 = 0x2C;
const GET_AICLK: u32 = 0x34;
const GET_HARVESTING: u32 = 0x57;
const SET_TRAINED: u32 = 0x58;
