//! The registers of a tile's NoC interfaces, and the DRAM that they write to.
//!
//! The model rejects what a chip rejects: nonexistent registers, packets that are too long, and
//! targets that are not a DRAM tile on this NoC. A write whose acknowledgement goes to another tile
//! is never acknowledged. Data are read from L1 when the packet leaves, not when it is requested.
//!
//! # Compatibility
//! tt-isa-documentation `NoC/MemoryMap.md` and `NoC/Counters.md` of both architectures;
//! `noc_parameters.h` of the package.

use crate::toolchain::Chip;
use sim::riscv::Refusal;
use std::{cell::Cell, collections::BTreeMap};

/// Written words of DRAM, by bank and address.
pub(crate) type Dram = BTreeMap<(u32, u32), u32>;

/// Both NoC interfaces of a tile.
#[derive(Clone, Debug)]
pub(crate) struct Noc {
    chip: Chip,
    interfaces: [Interface; 2],
    pub(crate) dram: Dram,
    /// Cycles from a packet's last flit to its acknowledgement.
    pub(crate) answer_cycles: u64,
    /// True if packets leave their command buffer but go no further.
    pub(crate) is_stuck: bool,
    /// Packets that command buffers still accept; the last of them never leaves its buffer.
    pub(crate) packets_until_jam: Option<usize>,
    /// Number of loads that found a command buffer busy.
    pub(crate) busy_reads: Cell<u64>,
    /// Requests that a chip cannot carry out.
    pub(crate) faults: Vec<String>,
}

#[derive(Clone, Debug, Default)]
struct Interface {
    buffers: [[u32; REGISTER_COUNT]; BUFFER_COUNT],
    busy_until: [u64; BUFFER_COUNT],
    packets: Vec<Packet>,
    posted_sent: u32,
    answered_sent: u32,
    answers: u32,
    /// By transaction id: packets that have not left yet; `outstanding` has the missing
    /// acknowledgements.
    leaving: [u32; 16],
    outstanding: [u32; 16],
}

/// A packet in flight.
#[derive(Clone, Debug)]
struct Packet {
    leaves_at: u64,
    has_left: bool,
    /// Cycle of the acknowledgement; `None` if there will be none.
    answered_at: Option<u64>,
    is_posted: bool,
    id: usize,
    source: u32,
    size_bytes: u32,
    bank: u32,
    address: u32,
}

impl Noc {
    pub(crate) fn new(chip: Chip) -> Self {
        Self {
            chip,
            interfaces: Default::default(),
            dram: Dram::new(),
            answer_cycles: 0,
            is_stuck: false,
            packets_until_jam: None,
            busy_reads: Cell::new(0),
            faults: Vec::new(),
        }
    }

    pub(crate) const fn covers(address: u32) -> bool {
        matches!(address, FIRST..=LAST)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.interfaces.iter().all(|interface| interface.packets.is_empty())
    }

    /// Sets the coordinates next to the source address to tile 0,0, as a kernel may do that reads
    /// through the same command buffers.
    pub(crate) fn forget_own_coordinates(&mut self) {
        for buffer in self.interfaces.iter_mut().flat_map(|interface| &mut interface.buffers) {
            buffer[TARG_MID as usize / 4] = 0;
            buffer[TARG_HI as usize / 4] = 0;
        }
    }

    /// Executes all events up to a cycle.
    pub(crate) fn settle(&mut self, l1: &[u8], cycle: u64) {
        for interface in &mut self.interfaces {
            for packet in &mut interface.packets {
                if !packet.has_left && packet.leaves_at <= cycle && !self.is_stuck {
                    packet.has_left = true;
                    interface.leaving[packet.id] -= 1;
                    if packet.is_posted {
                        interface.posted_sent = interface.posted_sent.wrapping_add(1);
                    } else {
                        interface.answered_sent = interface.answered_sent.wrapping_add(1);
                    }
                    packet.write(l1, &mut self.dram);
                }
                if packet.has_left && packet.answered_at.is_some_and(|at| at <= cycle) {
                    interface.answers = interface.answers.wrapping_add(1);
                    interface.outstanding[packet.id] -= 1;
                }
            }
            let is_done = |packet: &Packet| {
                let is_answered = packet.answered_at.is_none_or(|at| at <= cycle);
                packet.has_left && is_answered
            };
            interface.packets.retain(|packet| !is_done(packet));
        }
    }

    pub(crate) fn load(&self, address: u32, cycle: u64) -> Result<u32, Refusal> {
        let (noc, offset) = place(address);
        let interface = &self.interfaces[noc];
        if let Some(index) = offset.checked_sub(STATUS).filter(|offset| *offset < 0x100) {
            return interface.status(index / 4).ok_or(Refusal::Unmapped);
        }
        if offset == self.node_id() {
            return Ok(coordinate_word(own_place(self.chip, noc)));
        }
        if offset == self.logical_id() {
            return Ok(coordinate_word(translated_place(self.chip)));
        }
        let (buffer, register) = self.register(offset).ok_or(Refusal::Unmapped)?;
        if register == self.command() {
            let is_busy = self.is_busy(noc, buffer, cycle);
            self.busy_reads.set(self.busy_reads.get() + u64::from(is_busy));
            return Ok(u32::from(is_busy));
        }
        Ok(interface.buffers[buffer][register as usize / 4])
    }

    pub(crate) fn store(&mut self, address: u32, value: u32, cycle: u64) -> Result<(), Refusal> {
        let (noc, offset) = place(address);
        let (buffer, register) = self.register(offset).ok_or(Refusal::Unmapped)?;
        if self.is_busy(noc, buffer, cycle) {
            self.faults.push(format!("a store to command buffer {buffer}, which is still busy"));
            return Err(Refusal::Unsupported);
        }
        if register != self.command() {
            self.interfaces[noc].buffers[buffer][register as usize / 4] = value;
            return Ok(());
        }
        let registers = self.interfaces[noc].buffers[buffer];
        match self.packet(noc, &registers, cycle) {
            Ok(mut packet) => {
                if let Some(left) = &mut self.packets_until_jam {
                    *left = left.saturating_sub(1);
                    if *left == 0 {
                        packet.leaves_at = NEVER;
                    }
                }
                let interface = &mut self.interfaces[noc];
                interface.busy_until[buffer] = packet.leaves_at;
                interface.leaving[packet.id] += 1;
                if !packet.is_posted {
                    interface.outstanding[packet.id] += 1;
                }
                interface.packets.push(packet);
                Ok(())
            }
            Err(fault) => {
                self.faults.push(fault);
                Err(Refusal::Unsupported)
            }
        }
    }

    fn is_busy(&self, noc: usize, buffer: usize, cycle: u64) -> bool {
        let has_jammed = self.packets_until_jam == Some(0);
        has_jammed || cycle < self.interfaces[noc].busy_until[buffer]
    }

    fn packet(
        &self,
        noc: usize,
        registers: &[u32; REGISTER_COUNT],
        cycle: u64,
    ) -> Result<Packet, String> {
        let register = |offset: u32| registers[offset as usize / 4];
        let control = register(CTRL);
        if control & !(CTRL_POSTED_WRITE | CTRL_ANSWERED | CTRL_STATIC_VC) != 0
            || control & CTRL_POSTED_WRITE == 0
        {
            return Err(format!("CTRL {control:#x} is no unicast write"));
        }
        let size_bytes = register(AT_LEN);
        if size_bytes == 0 || size_bytes > self.packet_bytes() {
            return Err(format!("a packet of {size_bytes} bytes"));
        }
        let (source, address) = (register(TARG_LO), register(RET_LO));
        if !size_bytes.is_multiple_of(16) || source % 16 != address % 16 {
            return Err(format!("{size_bytes} bytes from {source:#x} to {address:#x}"));
        }
        let (target, answer) = match self.chip {
            Chip::Wormhole => (register(RET_MID), register(TARG_MID)),
            Chip::Blackhole => (register(RET_HI), register(TARG_HI)),
        };
        let (target, answer) = match self.chip {
            Chip::Wormhole if target & 0xF != 0 || answer & 0xF != 0 => {
                return Err("an address beyond 32 bits".to_owned());
            }
            Chip::Wormhole => (target >> 4, answer >> 4),
            Chip::Blackhole if register(RET_MID) != 0 || register(TARG_MID) != 0 => {
                return Err("an address beyond 32 bits".to_owned());
            }
            Chip::Blackhole => (target, answer),
        };
        let (x, y) = (target & 0x3F, target >> 6 & 0x3F);
        let bank = (0..bank_count(self.chip))
            .find(|bank| bank_place(self.chip, noc, *bank) == (x, y))
            .ok_or_else(|| format!("({x},{y}) is no DRAM tile on NoC {noc}"))?;
        let own = [own_place(self.chip, noc), translated_place(self.chip)];
        let is_answered = own.iter().any(|place| coordinate_word(*place) == answer & 0xFFF);
        let is_posted = control & CTRL_ANSWERED == 0;
        // One flit leaves per cycle.
        let leaves_at = cycle + u64::from(size_bytes.div_ceil(self.flit_bytes()));
        let leaves_at = if self.answer_cycles == 0 { cycle } else { leaves_at };
        let answered_at = (!is_posted).then_some(leaves_at + self.answer_cycles);
        let answered_at = if is_posted || is_answered { answered_at } else { Some(NEVER) };
        Ok(Packet {
            leaves_at,
            has_left: false,
            answered_at,
            is_posted,
            id: (register(PACKET_TAG) >> 10 & 0xF) as usize,
            source,
            size_bytes,
            bank,
            address,
        })
    }

    /// Returns the register and its command buffer at an offset, if the chip has it.
    fn register(&self, offset: u32) -> Option<(usize, u32)> {
        let stride = match self.chip {
            Chip::Wormhole => 0x400,
            Chip::Blackhole => 0x800,
        };
        let (buffer, register) = ((offset / stride) as usize, offset % stride);
        let exists = match self.chip {
            Chip::Wormhole => {
                matches!(register, 0x00 | 0x04 | 0x0C | 0x10 | 0x18 | 0x1C | 0x20 | 0x24 | 0x28)
            }
            Chip::Blackhole => register.is_multiple_of(4) && matches!(register, 0..=0x34 | 0x40),
        };
        (buffer < BUFFER_COUNT && exists).then_some((buffer, register))
    }

    const fn command(&self) -> u32 {
        match self.chip {
            Chip::Wormhole => 0x28,
            Chip::Blackhole => 0x40,
        }
    }

    const fn node_id(&self) -> u32 {
        match self.chip {
            Chip::Wormhole => 0x2C,
            Chip::Blackhole => 0x44,
        }
    }

    const fn logical_id(&self) -> u32 {
        match self.chip {
            Chip::Wormhole => 0x100 + 4 * 0xE,
            Chip::Blackhole => 0x100 + 4 * 0x12,
        }
    }

    const fn flit_bytes(&self) -> u32 {
        match self.chip {
            Chip::Wormhole => 32,
            Chip::Blackhole => 64,
        }
    }

    const fn packet_bytes(&self) -> u32 {
        256 * self.flit_bytes()
    }
}

impl Packet {
    fn write(&self, l1: &[u8], dram: &mut Dram) {
        for offset in (0..self.size_bytes).step_by(4) {
            let at = (self.source + offset) as usize;
            let word = l1
                .get(at..at + 4)
                .map_or(0, |bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
            dram.insert((self.bank, self.address + offset), word);
        }
    }
}

impl Interface {
    /// # Compatibility
    /// Numbers of `NIU_MST_*` in `noc_parameters.h`.
    fn status(&self, index: u32) -> Option<u32> {
        Some(match index {
            0x0 | 0x2 => 0,
            0x1 => self.answers,
            0xA => self.answered_sent,
            0xB => self.posted_sent,
            0x10..0x20 => self.outstanding[index as usize - 0x10],
            0x20..0x30 => self.leaving[index as usize - 0x20],
            _ => return None,
        })
    }
}

fn place(address: u32) -> (usize, u32) {
    (usize::from(address >= FIRST + NOC_STRIDE), (address - FIRST) % NOC_STRIDE)
}

const fn coordinate_word((x, y): (u32, u32)) -> u32 {
    x | y << 6
}

pub(crate) const fn bank_count(chip: Chip) -> u32 {
    match chip {
        Chip::Wormhole => 12,
        Chip::Blackhole => 8,
    }
}

/// Returns the coordinates of a bank's tile. Coordinates on NoC 1 of a Wormhole count from the
/// opposite corner. Coordinates of a Blackhole are translated.
pub(crate) const fn bank_place(chip: Chip, noc: usize, bank: u32) -> (u32, u32) {
    match (chip, noc) {
        (Chip::Wormhole, 0) => (5 * (bank % 2), bank / 2),
        (Chip::Wormhole, _) => (9 - 5 * (bank % 2), 11 - bank / 2),
        (Chip::Blackhole, _) => (17 + bank % 2, 12 + bank / 2 * 3),
    }
}

/// Returns a bank's entry in `dram_bank_to_noc_xy`.
pub(crate) const fn bank_word(chip: Chip, noc: usize, bank: u32) -> u32 {
    let word = coordinate_word(bank_place(chip, noc, bank));
    match chip {
        Chip::Wormhole => word << 4,
        Chip::Blackhole => word,
    }
}

/// Returns the tile's own coordinates, as in its node id register.
const fn own_place(chip: Chip, noc: usize) -> (u32, u32) {
    match (chip, noc) {
        (Chip::Wormhole, 0) => (1, 2),
        (Chip::Wormhole, _) => (8, 9),
        (Chip::Blackhole, 0) => (2, 3),
        (Chip::Blackhole, _) => (14, 8),
    }
}

const fn translated_place(chip: Chip) -> (u32, u32) {
    match chip {
        Chip::Wormhole => (18, 19),
        Chip::Blackhole => (2, 3),
    }
}

const NEVER: u64 = u64::MAX;

const FIRST: u32 = 0xFFB2_0000;
const LAST: u32 = 0xFFB3_FFFF;
const NOC_STRIDE: u32 = 0x1_0000;
const BUFFER_COUNT: usize = 4;
const REGISTER_COUNT: usize = 17;
const STATUS: u32 = 0x200;

const TARG_LO: u32 = 0x00;
const TARG_MID: u32 = 0x04;
const TARG_HI: u32 = 0x08;
const RET_LO: u32 = 0x0C;
const RET_MID: u32 = 0x10;
const RET_HI: u32 = 0x14;
const PACKET_TAG: u32 = 0x18;
const CTRL: u32 = 0x1C;
const AT_LEN: u32 = 0x20;

const CTRL_POSTED_WRITE: u32 = 1 << 1;
const CTRL_ANSWERED: u32 = 1 << 4;
const CTRL_STATIC_VC: u32 = 1 << 7 | 0x7 << 13;
