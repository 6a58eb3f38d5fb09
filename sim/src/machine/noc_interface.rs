//! The registers of a tile's two NoC interfaces: command buffers and status counters.
//!
//! What a write does on its way is the job of [`crate::noc`] and [`crate::dram`].
//!
//! # Compatibility
//! tt-isa-documentation, `NoC/MemoryMap.md` of both architectures.

use crate::{
    arch::{Arch, ArchFacts, TileCoord},
    riscv::Refusal,
};

/// Both interfaces.
#[derive(Clone, Debug)]
pub(crate) struct NocInterfaces {
    arch: Arch,
    place: TileCoord,
    interfaces: [Interface; 2],
}

#[derive(Clone, Debug, Default)]
struct Interface {
    buffers: [[u32; REGISTER_COUNT]; BUFFER_COUNT],
    busy_until: [u64; BUFFER_COUNT],
    /// When each acknowledgement has arrived, ascending.
    acknowledgements: Vec<u64>,
    /// Acknowledgements before those.
    acknowledged_count: u32,
    sent_count: u32,
}

/// A write from L1 to DRAM, as a command buffer describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WriteCommand {
    pub(crate) source: u32,
    pub(crate) word_count: u32,
    pub(crate) bank: u32,
    pub(crate) address: u64,
}

/// What a store to a register asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Nothing,
    Write(usize, WriteCommand),
    /// A command that cannot be carried out, and why.
    Refused(String),
}

/// A register of a command buffer.
#[derive(Clone, Copy)]
struct Place {
    noc: usize,
    buffer: usize,
    offset: u32,
}

impl NocInterfaces {
    pub(crate) fn new(arch: Arch, place: TileCoord) -> Self {
        Self { arch, place, interfaces: Default::default() }
    }

    /// Whether an address belongs to one of the interfaces.
    pub(crate) const fn covers(address: u32) -> bool {
        matches!(address, FIRST..=LAST)
    }

    pub(crate) fn load(&mut self, address: u32, cycle: u64) -> Result<u32, Refusal> {
        let noc = usize::from(address >= FIRST + NOC_STRIDE);
        let offset = (address - FIRST) % NOC_STRIDE;
        match offset {
            STATUS_WRITE_ACKS_RECEIVED => Ok(self.interfaces[noc].acknowledged_by(cycle)),
            STATUS_ACKNOWLEDGED_WRITES_SENT => Ok(self.interfaces[noc].sent_count),
            STATUS_POSTED_WRITES_SENT => Ok(0),
            _ if offset == self.node_id() => {
                Ok(u32::from(self.place.x) | u32::from(self.place.y) << COORDINATE_BITS)
            }
            _ => self.load_buffer(address, cycle),
        }
    }

    fn load_buffer(&self, address: u32, cycle: u64) -> Result<u32, Refusal> {
        let place = self.place(address).ok_or(Refusal::Unmapped)?;
        let interface = &self.interfaces[place.noc];
        if place.offset == self.command() {
            return Ok(u32::from(cycle < interface.busy_until[place.buffer]));
        }
        Ok(interface.buffers[place.buffer][place.offset as usize / 4])
    }

    pub(crate) fn store(
        &mut self,
        address: u32,
        value: u32,
        cycle: u64,
    ) -> Result<Request, Refusal> {
        let place = self.place(address).ok_or(Refusal::Unmapped)?;
        let command = self.command();
        let interface = &mut self.interfaces[place.noc];
        if cycle < interface.busy_until[place.buffer] {
            let reason = format!("command buffer {} is still busy", place.buffer);
            return Ok(Request::Refused(reason));
        }
        if place.offset != command {
            interface.buffers[place.buffer][place.offset as usize / 4] = value;
            return Ok(Request::Nothing);
        }
        let registers = interface.buffers[place.buffer];
        Ok(match decode(self.arch, &registers) {
            Ok(write) => {
                let flits = u64::from(write.word_count * 4).div_ceil(self.facts().noc_flit_bytes);
                let interface = &mut self.interfaces[place.noc];
                interface.busy_until[place.buffer] = cycle + flits;
                interface.sent_count = interface.sent_count.wrapping_add(1);
                Request::Write(place.noc, write)
            }
            Err(reason) => Request::Refused(reason),
        })
    }

    /// Notes when the acknowledgement of a write will be there.
    pub(crate) fn expect_acknowledgement(&mut self, noc: usize, cycle: u64) {
        self.interfaces[noc].acknowledgements.push(cycle);
    }

    fn place(&self, address: u32) -> Option<Place> {
        let offset = (address - FIRST) % NOC_STRIDE;
        let stride = match self.arch {
            Arch::WormholeB0 => 0x400,
            Arch::Blackhole => 0x800,
        };
        let (buffer, offset) = ((offset / stride) as usize, offset % stride);
        let is_register = buffer < BUFFER_COUNT && offset <= self.command();
        let noc = usize::from(address >= FIRST + NOC_STRIDE);
        (is_register && offset.is_multiple_of(4)).then_some(Place { noc, buffer, offset })
    }

    const fn command(&self) -> u32 {
        match self.arch {
            Arch::WormholeB0 => 0x28,
            Arch::Blackhole => 0x40,
        }
    }

    const fn node_id(&self) -> u32 {
        match self.arch {
            Arch::WormholeB0 => 0x2C,
            Arch::Blackhole => 0x44,
        }
    }

    const fn facts(&self) -> &'static ArchFacts {
        self.arch.facts()
    }
}

impl Interface {
    fn acknowledged_by(&mut self, cycle: u64) -> u32 {
        let arrived = self.acknowledgements.partition_point(|&at| at <= cycle);
        self.acknowledgements.drain(..arrived);
        let arrived = u32::try_from(arrived).unwrap_or(u32::MAX);
        self.acknowledged_count = self.acknowledged_count.wrapping_add(arrived);
        self.acknowledged_count
    }
}

fn decode(arch: Arch, registers: &[u32; REGISTER_COUNT]) -> Result<WriteCommand, String> {
    let register = |offset: u32| registers[offset as usize / 4];
    let control = register(CTRL);
    if control & CTRL_MASK != CTRL_WRITE {
        return Err(format!(
            "expected CTRL {CTRL_WRITE:#x}, a write with acknowledgement, found {control:#x}"
        ));
    }
    let byte_count = register(AT_LEN_BE);
    if byte_count == 0 || !byte_count.is_multiple_of(16) || byte_count > MAX_PACKET_BYTES {
        return Err(format!("{byte_count} bytes are not 16 to {MAX_PACKET_BYTES} in sixteens"));
    }
    let coordinates = match arch {
        Arch::WormholeB0 => register(RET_ADDR_MID) >> 4,
        Arch::Blackhole => register(RET_ADDR_HI),
    };
    let target = coordinate(coordinates);
    let address = u64::from(register(RET_ADDR_LO));
    let (bank, address) = bank_at(arch.facts(), target, address)
        .ok_or_else(|| format!("there is no DRAM tile at {target}"))?;
    let word_count = byte_count / 4;
    Ok(WriteCommand { source: register(TARG_ADDR_LO), word_count, bank, address })
}

fn coordinate(bits: u32) -> TileCoord {
    let part = |bits: u32| u16::try_from(bits & COORDINATE_MASK).unwrap_or(0);
    TileCoord { x: part(bits), y: part(bits >> COORDINATE_BITS) }
}

/// The bank behind an address of a DRAM tile, and the address in it.
fn bank_at(facts: &ArchFacts, tile: TileCoord, address: u64) -> Option<(u32, u64)> {
    let group = facts.dram_groups.iter().position(|tiles| tiles.contains(&tile))?;
    let banks_per_group = u64::from(facts.bank_count) / facts.dram_groups.len() as u64;
    let index_in_group = address / facts.bank_bytes;
    let bank = group as u64 * banks_per_group + index_in_group;
    let is_inside = index_in_group < banks_per_group;
    is_inside.then_some((u32::try_from(bank).ok()?, address % facts.bank_bytes))
}

/// A bank's coordinates as command buffers take them.
pub(crate) fn bank_coordinates(arch: Arch, bank: u32) -> u16 {
    let tile = arch.facts().bank_tile(bank).unwrap_or(TileCoord { x: 0, y: 0 });
    let coordinates = tile.x | tile.y << COORDINATE_BITS;
    match arch {
        Arch::WormholeB0 => coordinates << 4,
        Arch::Blackhole => coordinates,
    }
}

/// What is added to addresses in a bank: banks of one group share their tiles' addresses.
///
/// # Compatibility
/// `bank_to_dram_offset`.
pub(crate) fn bank_offset(arch: Arch, bank: u32) -> u32 {
    let facts = arch.facts();
    let banks_per_group = (facts.bank_count as usize / facts.dram_groups.len()).max(1);
    let index_in_group = (bank as usize % banks_per_group) as u64;
    u32::try_from(index_in_group * facts.bank_bytes).unwrap_or(0)
}

pub(super) const FIRST: u32 = 0xFFB2_0000;
const LAST: u32 = 0xFFB3_FFFF;
const NOC_STRIDE: u32 = 0x1_0000;
const BUFFER_COUNT: usize = 4;
const REGISTER_COUNT: usize = 17;
const COORDINATE_BITS: u32 = 6;
const COORDINATE_MASK: u32 = (1 << COORDINATE_BITS) - 1;

const STATUS_WRITE_ACKS_RECEIVED: u32 = 0x200 + 4;
const STATUS_ACKNOWLEDGED_WRITES_SENT: u32 = 0x200 + 4 * 10;
const STATUS_POSTED_WRITES_SENT: u32 = 0x200 + 4 * 11;

const TARG_ADDR_LO: u32 = 0x00;
const RET_ADDR_LO: u32 = 0x0C;
const RET_ADDR_MID: u32 = 0x10;
const RET_ADDR_HI: u32 = 0x14;
const CTRL: u32 = 0x1C;
const AT_LEN_BE: u32 = 0x20;

/// Type, byte enable, inline, response, broadcast and linked.
const CTRL_MASK: u32 = 0x7F;
/// A write from L1 that wants a response.
const CTRL_WRITE: u32 = 1 << 1 | 1 << 4;
const MAX_PACKET_BYTES: u32 = 8192;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bank_is_found_behind_its_own_coordinates() {
        for arch in Arch::ALL {
            let facts = arch.facts();
            for bank in 0..facts.bank_count {
                let bits = u32::from(bank_coordinates(arch, bank));
                let bits = if arch == Arch::WormholeB0 { bits >> 4 } else { bits };
                let address = u64::from(bank_offset(arch, bank)) + 0x40;
                assert_eq!(bank_at(facts, coordinate(bits), address), Some((bank, 0x40)));
            }
        }
    }

    #[test]
    fn a_write_is_decoded_and_acknowledged_in_its_time() {
        let place = TileCoord { x: 1, y: 2 };
        let mut noc = NocInterfaces::new(Arch::WormholeB0, place);
        let base = 0xFFB3_0400;
        for (offset, value) in [(0, 0xB80), (0x0C, 0x4000_0100), (0x10, 0x10 << 4), (0x1C, 0x2092)]
        {
            assert_eq!(noc.store(base + offset, value, 0), Ok(Request::Nothing));
        }
        assert_eq!(noc.store(base + 0x20, 64, 0), Ok(Request::Nothing));
        let refused = noc.store(base + 0x28, 1, 0);
        assert!(matches!(refused, Ok(Request::Refused(reason)) if reason.contains("(16,0)")));
        noc.store(base + 0x10, 5 << 10, 0).unwrap();
        let write = WriteCommand { source: 0xB80, word_count: 16, bank: 3, address: 0x100 };
        assert_eq!(noc.store(base + 0x28, 1, 10), Ok(Request::Write(1, write)));
        assert_eq!((noc.load(base + 0x28, 11), noc.load(base + 0x28, 12)), (Ok(1), Ok(0)));
        noc.expect_acknowledgement(1, 100);
        assert_eq!((noc.load(0xFFB3_0204, 99), noc.load(0xFFB3_0204, 100)), (Ok(0), Ok(1)));
        assert_eq!((noc.load(0xFFB2_0204, 100), noc.load(0xFFB3_0228, 0)), (Ok(0), Ok(1)));
        assert_eq!(noc.load(0xFFB2_002C, 0), Ok(1 | 2 << 6));
        assert_eq!(noc.load(0xFFB2_0300, 0), Err(Refusal::Unmapped));
    }
}
