//! The chip as a PCI device: its configuration space, and the BAR windows through which the host
//! accesses tiles.
//!
//! # Compatibility
//! tt-isa-documentation, `PCIExpressTile` of both architectures: windows and their configuration.
//! `docs/libttsim_api.md` of ttsim: BAR addresses, which a host reads from the configuration space.
//! tt-umd: `tlb_data` and the DMA registers in BAR 2.

use super::{Board, put_register};
use crate::{
    arch::{Arch, TileCoord},
    chip::facts::{host_tile, host_window},
};
use std::collections::HashMap;

/// A region of the host's memory whose address on the chip differs from its address on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboundRegion {
    base: u64,
    limit: u64,
    target: u64,
}

/// Translates an address of the PCIe tile to an address in the host's memory.
pub(super) fn host_address(
    arch: Arch,
    outbound: &[OutboundRegion],
    address: u64,
    length: u64,
) -> Result<u64, String> {
    let outside = || format!("{length} bytes at {address:#x} of the PCIe tile are no host memory");
    let offset = match arch {
        Arch::WormholeB0 => {
            let offset = address.checked_sub(host_window(arch)).ok_or_else(outside)?;
            if offset.saturating_add(length) > HOST_WINDOW_BYTES {
                return Err(outside());
            }
            offset
        }
        Arch::Blackhole => {
            let offset = address & ((1 << 58) - 1);
            match address >> 58 {
                0..4 => return Ok(offset),
                4..8 => offset,
                _ => return Err(outside()),
            }
        }
    };
    let end = offset.saturating_add(length);
    let region = outbound
        .iter()
        .find(|region| offset >= region.base && end.saturating_sub(1) <= region.limit);
    Ok(region.map_or(offset, |region| region.target.wrapping_add(offset - region.base)))
}

/// The PCI function of a chip.
#[derive(Debug)]
pub struct PciChip {
    board: Board,
    /// Configuration space registers that a host may write.
    configuration: HashMap<u32, u32>,
    /// Values of the registers that configure the BAR windows, by offset.
    windows: HashMap<u64, u32>,
    /// Registers of BAR 2.
    control: HashMap<u64, u32>,
}

/// Target of a BAR window: a tile or a rectangle of tiles, and an address in each of these tiles.
struct Target {
    at: (u16, u16),
    /// Start corner of the target rectangle, with `at` as its end corner; `None` for a single tile.
    start: Option<(u16, u16)>,
    address: u64,
}

impl PciChip {
    /// Creates a chip in reset.
    #[must_use]
    pub fn new(board: Board) -> Self {
        Self {
            board,
            configuration: HashMap::new(),
            windows: HashMap::new(),
            control: HashMap::new(),
        }
    }

    /// Returns the chip that this PCI function belongs to.
    pub const fn board_mut(&mut self) -> &mut Board {
        &mut self.board
    }

    /// Reads a word of the configuration space; beyond its end, all bits read as ones.
    #[must_use]
    pub fn read_configuration(&self, offset: u32) -> u32 {
        let arch = self.board.arch();
        let (device, revision) = match arch {
            Arch::WormholeB0 => (0x401E, 1),
            Arch::Blackhole => (0xB140, 0),
        };
        match offset {
            0x00 => 0x1E52 | device << 16,
            0x08 => 0x1200_0000 | revision,
            0x10 | 0x14 => base_register(BAR_0, offset == 0x14),
            0x18 | 0x1C => base_register(BAR_2, offset == 0x1C),
            0x20 | 0x24 => base_register(BAR_4, offset == 0x24),
            0x3C => 0xFF,
            0x40.. => u32::MAX,
            _ => self.configuration.get(&offset).copied().unwrap_or(0),
        }
    }

    /// Writes a word of the configuration space.
    pub fn write_configuration(&mut self, offset: u32, value: u32) {
        self.configuration.insert(offset, value);
    }

    /// Reads bytes at a host physical address that is in a BAR.
    ///
    /// # Errors
    /// If the address is in no BAR, or maps to no memory or register; the error message is a
    /// sentence.
    pub fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), String> {
        match self.area(address, bytes.len())? {
            Area::Window(target) => self.board.read(target.at, target.address, bytes),
            Area::Arc(address) => self.board.arc.read(address, bytes),
            Area::Configuration(offset) => put_register(bytes, value_at(&self.windows, offset)),
            Area::Control(offset) => put_register(bytes, value_at(&self.control, offset)),
            Area::Interface(offset) => put_register(bytes, interface(self.board.arch(), offset)),
        }
    }

    /// Writes bytes at a host physical address that is in a BAR.
    ///
    /// # Errors
    /// As [`PciChip::read`].
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        match self.area(address, bytes.len())? {
            Area::Window(Target { at, start: None, address }) => {
                self.board.write(at, address, bytes)
            }
            Area::Window(Target { at, start: Some(start), address }) => {
                self.board.write_rectangle((start, at), address, bytes)
            }
            Area::Arc(address) => self.board.arc.write(address, bytes),
            Area::Configuration(offset) => {
                for (index, word) in (0..).zip(words(bytes)?) {
                    self.windows.insert(offset + 4 * index, word);
                }
                Ok(())
            }
            Area::Control(offset) => {
                for (index, word) in (0..).zip(words(bytes)?) {
                    self.write_control(offset + 4 * index, word)?;
                }
                Ok(())
            }
            Area::Interface(_) => Err(format!("{address:#x} cannot be written")),
        }
    }

    /// Returns the area that contains a host physical address.
    fn area(&self, address: u64, length: usize) -> Result<Area, String> {
        let nothing = || format!("no BAR answers to {length} bytes at {address:#x}");
        match (self.board.arch(), address) {
            (arch, BAR_0..BAR_0_END) => self.in_bar_0(arch, address - BAR_0, length),
            (_, BAR_2..BAR_2_END) => Ok(Area::Control(address - BAR_2)),
            (Arch::WormholeB0, BAR_4..) => {
                let offset = address - BAR_4 + WORMHOLE_BAR_4_OFFSET;
                if offset >= BAR_0_BYTES {
                    return Err(nothing());
                }
                self.in_bar_0(Arch::WormholeB0, offset, length)
            }
            (Arch::Blackhole, BAR_4..) => Ok(Area::Window(self.large_window(address - BAR_4))),
            _ => Err(nothing()),
        }
    }

    fn in_bar_0(&self, arch: Arch, offset: u64, length: usize) -> Result<Area, String> {
        match (arch, offset) {
            (Arch::WormholeB0, 0..0x1F00_0000) => Ok(Area::Window(self.wormhole_window(offset))),
            (Arch::WormholeB0, 0x1FC0_0000..0x1FC0_05D0)
            | (Arch::Blackhole, 0x1FC0_0000..0x1FC0_09D8) => {
                Ok(Area::Configuration(offset - WINDOW_CONFIGURATION))
            }
            (Arch::WormholeB0, 0x1FE8_0000..0x1FF0_0000) => {
                Ok(Area::Arc(0x8_1000_0000 + offset - 0x1FE8_0000))
            }
            (Arch::WormholeB0, 0x1FF0_0000..0x2000_0000) => {
                Ok(Area::Arc(0x8_8000_0000 + offset - 0x1FF0_0000))
            }
            (Arch::Blackhole, 0..0x1940_0000) => Ok(Area::Window(self.blackhole_window(offset))),
            (Arch::Blackhole, 0x1FD0_4000..0x1FD0_6000 | 0x1FD1_4000..0x1FD1_6000) => {
                Ok(Area::Interface(offset & 0x1_FFFF))
            }
            _ => Err(format!("BAR 0 has nothing at {offset:#x} for {length} bytes")),
        }
    }

    fn window_words<const N: usize>(&self, offset: u64) -> [u64; N] {
        std::array::from_fn(|index| value_at(&self.windows, offset + 4 * index as u64).into())
    }

    /// Returns the target of an offset in BAR 0, which has windows of 1, 2 and 16 MiB in this
    /// order.
    fn wormhole_window(&self, offset: u64) -> Target {
        let (index, bits) = match offset {
            0..0x9C0_0000 => (offset >> 20, 20),
            0x9C0_0000..0xB00_0000 => (156 + ((offset - 0x9C0_0000) >> 21), 21),
            _ => (166 + ((offset - 0xB00_0000) >> 24), 24),
        };
        let [low, high] = self.window_words(8 * index);
        let word = low | high << 32;
        let address_bits = 36 - bits;
        let address = (word & ((1 << address_bits) - 1)) << bits | offset & ((1 << bits) - 1);
        let rest = word >> address_bits;
        let is_rectangle = rest >> 25 & 1 != 0;
        Target { at: split(rest), start: is_rectangle.then(|| split(rest >> 12)), address }
    }

    /// Returns the tile and the address to which a Blackhole maps an offset in BAR 0, in the range
    /// of its 2 MiB windows.
    fn blackhole_window(&self, offset: u64) -> Target {
        let [first, second, third] = self.window_words(12 * (offset >> 21));
        let address = (first | (second & 0x7FF) << 32) << 21 | offset & 0x1F_FFFF;
        let start = second >> 23 & 0x1FF | (third & 7) << 9;
        let is_rectangle = third >> 5 & 1 != 0;
        Target { at: split(second >> 11), start: is_rectangle.then(|| split(start)), address }
    }

    /// Returns the target of an offset in the 4 GiB windows of BAR 4.
    fn large_window(&self, offset: u64) -> Target {
        let [first, second] = self.window_words(12 * (202 + (offset >> 32)));
        Target { at: split(second), start: None, address: first << 32 | offset & 0xFFFF_FFFF }
    }

    /// Writes a control register. Some writes start a copy or map a region of host memory.
    fn write_control(&mut self, offset: u64, value: u32) -> Result<(), String> {
        self.control.insert(offset, value);
        let regions = match self.board.arch() {
            Arch::WormholeB0 => 0x1200..0x3200,
            Arch::Blackhole => 0x1000..0x3000,
        };
        if regions.contains(&offset) {
            self.board.outbound = self.outbound_regions(regions.start);
            return Ok(());
        }
        match (self.board.arch(), offset) {
            (Arch::WormholeB0, 0x10) => self.copy_to_host(),
            (Arch::WormholeB0, 0x30) => self.copy_from_host([0x308, 0x30C, 0x310, 0x314]),
            (Arch::Blackhole, 0x104) if value == 1 => {
                self.copy_from_host([0x11C, 0x120, 0x124, 0x128])
            }
            _ => Ok(()),
        }
    }

    fn register(&self, offset: u64) -> u64 {
        value_at(&self.control, offset).into()
    }

    fn outbound_regions(&self, first: u64) -> Vec<OutboundRegion> {
        let is_wormhole = self.board.arch() == Arch::WormholeB0;
        (0..16)
            .filter_map(|number| {
                let word = |offset: u64| self.register(first + 0x200 * number + offset);
                let is_enabled = word(4) >> 31 & 1 != 0;
                let base = word(8) | word(0xC) << 32;
                let high = if is_wormhole { word(0xC) } else { word(0x20) };
                let limit = word(0x10) | high << 32;
                let target = word(0x14) | word(0x18) << 32;
                is_enabled.then_some(OutboundRegion { base, limit, target })
            })
            .collect()
    }

    fn copy_from_host(&mut self, [size, low, high, to]: [u64; 4]) -> Result<(), String> {
        let (length, source) =
            (self.register(size), self.register(low) | self.register(high) << 32);
        let target = self.register(to);
        let mut buffer = vec![0; COPY_BYTES];
        for offset in (0..length).step_by(COPY_BYTES) {
            let piece = usize::try_from((length - offset).min(COPY_BYTES as u64)).unwrap_or(0);
            self.board.host.read(source.wrapping_add(offset), &mut buffer[..piece]);
            self.write(BAR_0 + target + offset, &buffer[..piece])?;
        }
        if self.board.arch() == Arch::Blackhole {
            self.control.insert(size, 0);
        } else {
            self.tell_done(0x0CC, 0x0D0, 0x0DC);
        }
        Ok(())
    }

    fn copy_to_host(&mut self) -> Result<(), String> {
        let (length, source) = (self.register(0x208), self.register(0x20C));
        let target = self.register(0x214) | self.register(0x218) << 32;
        let mut buffer = vec![0; COPY_BYTES];
        for offset in (0..length).step_by(COPY_BYTES) {
            let piece = usize::try_from((length - offset).min(COPY_BYTES as u64)).unwrap_or(0);
            self.read(BAR_0 + source + offset, &mut buffer[..piece])?;
            self.board.host.write(target.wrapping_add(offset), &buffer[..piece]);
        }
        self.tell_done(0x060, 0x064, 0x070);
        Ok(())
    }

    /// Writes a word to host memory to signal the end of a copy.
    fn tell_done(&mut self, low: u64, high: u64, data: u64) {
        let address = self.register(low) | self.register(high) << 32;
        let word = u32::try_from(self.register(data)).unwrap_or(0);
        self.board.host.write(address, &word.to_le_bytes());
    }
}

/// Returns the value of a BAR register, which holds the low or the high half of a 64-bit address.
fn base_register(base: u64, is_high: bool) -> u32 {
    let low = u32::try_from(base & 0xFFFF_FFFF).unwrap_or(0) | 4;
    if is_high { u32::try_from(base >> 32).unwrap_or(0) } else { low }
}

/// Area of the BARs that contains a host physical address, with the address or offset in the area.
enum Area {
    Window(Target),
    /// An address of the ARC tile.
    Arc(u64),
    /// Offset of a register that configures a window.
    Configuration(u64),
    Control(u64),
    /// The PCIe tile's NoC interface.
    Interface(u64),
}

/// Returns the value of a register; 0 if it was never written.
fn value_at(registers: &HashMap<u64, u32>, offset: u64) -> u32 {
    registers.get(&offset).copied().unwrap_or(0)
}

/// Splits a word into two six-bit coordinates.
fn split(word: u64) -> (u16, u16) {
    let [x, y] = [0, 6].map(|shift| u16::try_from(word >> shift & 63).unwrap_or(0));
    (x, y)
}

fn words(bytes: &[u8]) -> Result<impl Iterator<Item = u32> + '_, String> {
    let (words, rest) = bytes.as_chunks::<4>();
    if rest.is_empty() {
        return Ok(words.iter().map(|&word| u32::from_le_bytes(word)));
    }
    Err(format!("registers are written by words, not by {} bytes", bytes.len()))
}

/// Returns the value of a register of the PCIe tile's NoC interface.
fn interface(arch: Arch, offset: u64) -> u32 {
    let TileCoord { x, y } = host_tile(arch);
    match offset & 0x1FFF {
        0x44 => u32::from(x) | u32::from(y) << 6,
        0x100 => 1 << 14,
        // Translated coordinates.
        0x148 => 19 | 24 << 6,
        _ => 0,
    }
}

const BAR_0: u64 = 0x1_0000_0000;
const BAR_0_BYTES: u64 = 0x2000_0000;
const BAR_0_END: u64 = BAR_0 + BAR_0_BYTES;
const BAR_2: u64 = 0x1_2000_0000;
const BAR_2_END: u64 = BAR_2 + 0x10_0000;
const BAR_4: u64 = 0x8_0000_0000;
/// Offset in BAR 0 at which BAR 4 begins on a Wormhole: BAR 4 maps the last 32 MiB of BAR 0 again.
const WORMHOLE_BAR_4_OFFSET: u64 = BAR_0_BYTES - 0x200_0000;
const WINDOW_CONFIGURATION: u64 = 0x1FC0_0000;
const HOST_WINDOW_BYTES: u64 = 0xFFFE_0000;
const COPY_BYTES: usize = 4096;
