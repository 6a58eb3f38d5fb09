//! Access to the tiles of the library's chip through windows of the PCI BAR.
//!
//! # Compatibility
//! tt-isa-documentation, `PCIExpressTile/TLBs.md` of Wormhole and of Blackhole: addresses and
//! layouts of the windows and of their configuration. `docs/libttsim_api.md`: address of the BAR.

use crate::{library::Library, protocol::Tile};
use sim::arch::Arch;
use std::ops::Range;

/// Access to the tiles of a chip through one window of its BAR.
///
/// The host may use the same window through the functions with names that begin with `host_`.
/// [`Windows::give_back`] restores the mapping that the host set last.
#[derive(Debug)]
pub struct Windows {
    library: Library,
    bar: u64,
    layout: &'static Layout,
    /// The tile that the window currently maps, and the number of the mapped address range: its
    /// start address divided by the window's size.
    shown: Option<(Tile, u64)>,
    /// The window's configuration, as last written by the host.
    host_config: [u8; CONFIG_BYTES_MAX],
}

/// Location and configuration format of one window of an architecture.
#[derive(Debug)]
struct Layout {
    arch: Arch,
    pci_id: u32,
    offset: u64,
    size_bits: u32,
    config_offset: u64,
    config_bytes: usize,
    config: fn(Tile, u64) -> Vec<u32>,
}

/// Wormhole: window 166, the first window with 16 MiB.
static WORMHOLE: Layout = Layout {
    arch: Arch::WormholeB0,
    pci_id: 0x401E_1E52,
    offset: 0x0B00_0000,
    size_bits: 24,
    config_offset: CONFIG + 8 * 166,
    config_bytes: 8,
    config: |tile, stretch| {
        // The low 12 bits are the address divided by the window's size; the tile's coordinates and
        // the order of accesses follow.
        let config = stretch | u64::from(tile.x) << 12 | u64::from(tile.y) << 18 | STRICT << 38;
        vec![low(config), low(config >> 32)]
    },
};

/// Blackhole: window 0, with 2 MiB.
static BLACKHOLE: Layout = Layout {
    arch: Arch::Blackhole,
    pci_id: 0xB140_1E52,
    offset: 0,
    size_bits: 21,
    config_offset: CONFIG,
    config_bytes: CONFIG_BYTES_MAX,
    config: |tile, stretch| {
        // The low 43 bits are the address divided by the window's size; the tile's coordinates
        // follow. The third word contains the order of accesses.
        let coordinates = u64::from(tile.x) << 43 | u64::from(tile.y) << 49;
        let config = stretch | coordinates;
        vec![low(config), low(config >> 32), low(STRICT << 6)]
    },
};

const CONFIG: u64 = 0x1FC0_0000;
/// Maximum number of bytes of a window's configuration.
const CONFIG_BYTES_MAX: usize = 12;
/// Value of the ordering field in a window's configuration: accesses take effect in the order in
/// which they are issued.
const STRICT: u64 = 1;

const fn low(value: u64) -> u32 {
    (value & 0xFFFF_FFFF) as u32
}

/// Address range of a tile's registers, which are accessed word by word.
const REGISTERS: Range<u64> = 0xFF00_0000..1 << 32;

/// Returns the architecture of a chip with this PCI id.
pub(crate) fn arch_of(pci_id: u32) -> Option<Arch> {
    layout_of(pci_id).map(|layout| layout.arch)
}

fn layout_of(pci_id: u32) -> Option<&'static Layout> {
    [&WORMHOLE, &BLACKHOLE].into_iter().find(|layout| layout.pci_id == pci_id)
}

impl Windows {
    /// Creates access to the first chip that an initialised library simulates.
    ///
    /// # Errors
    /// Returns the PCI id as the error if the chip is unknown.
    pub fn new(mut library: Library) -> Result<Self, u32> {
        let pci_id = library.read_config(0, 0);
        let layout = layout_of(pci_id).ok_or(pci_id)?;
        let bar = bar_0(&mut library);
        Ok(Self { library, bar, layout, shown: None, host_config: [0; CONFIG_BYTES_MAX] })
    }

    /// Returns the chip's PCI id.
    #[must_use]
    pub const fn pci_id(&self) -> u32 {
        self.layout.pci_id
    }

    /// Returns the chip's architecture.
    #[must_use]
    pub const fn arch(&self) -> Arch {
        self.layout.arch
    }

    /// Returns the library. Writes to the configuration space or to the BARs must use
    /// [`Self::host_write_config`] and [`Self::host_write`] instead.
    pub const fn library(&mut self) -> &mut Library {
        &mut self.library
    }

    /// Consumes the windows and returns the library.
    #[must_use]
    pub fn into_library(self) -> Library {
        self.library
    }

    /// Runs the chip for a number of clocks.
    pub fn clock(&mut self, clocks: u32) {
        self.library.clock(clocks);
    }

    /// Writes a word of a PCI function's configuration space on behalf of the host.
    pub fn host_write_config(&mut self, function: u32, offset: u32, value: u32) {
        self.library.write_config(function, offset, value);
        self.bar = bar_0(&mut self.library);
    }

    /// Writes to physical addresses in the chip's BARs on behalf of the host.
    pub fn host_write(&mut self, address: u64, bytes: &[u8]) {
        self.library.write(address, bytes);
        let config = self.bar.saturating_add(self.layout.config_offset);
        for (at, byte) in (address..).zip(bytes) {
            let index = at.checked_sub(config).and_then(|index| usize::try_from(index).ok());
            let known = self.host_config.get_mut(..self.layout.config_bytes);
            if let (Some(index), Some(known)) = (index, known)
                && let Some(known) = known.get_mut(index)
            {
                *known = *byte;
                self.shown = None;
            }
        }
    }

    /// Restores the mapping of the window that the host set last.
    pub fn give_back(&mut self) {
        if self.shown.take().is_some() {
            let places = (self.bar + self.layout.config_offset..).step_by(4);
            let count = self.layout.config_bytes / 4;
            let words = self.host_config.as_chunks::<4>().0.iter().take(count);
            for (at, word) in places.zip(words) {
                self.library.write(at, word);
            }
        }
    }

    /// Reads from the tile with these coordinates on NoC 0.
    pub fn read(&mut self, tile: Tile, address: u64, bytes: &mut [u8]) {
        for (address, part) in self.parts(address, bytes.len()) {
            let at = self.show(tile, address);
            self.library.read(at, &mut bytes[part]);
        }
    }

    /// Writes to the tile with these coordinates on NoC 0.
    pub fn write(&mut self, tile: Tile, address: u64, bytes: &[u8]) {
        for (address, part) in self.parts(address, bytes.len()) {
            let at = self.show(tile, address);
            self.library.write(at, &bytes[part]);
        }
    }

    /// Divides an access into parts, each with its address and its bytes. A part ends at the end of
    /// the window, or covers one register.
    fn parts(
        &self,
        address: u64,
        byte_count: usize,
    ) -> impl Iterator<Item = (u64, Range<usize>)> + use<> {
        let size = 1_u64 << self.layout.size_bits;
        let mut done = 0;
        std::iter::from_fn(move || {
            let at = address.wrapping_add(done as u64);
            let room = if REGISTERS.contains(&at) { 4 } else { size - at % size };
            let room = usize::try_from(room).unwrap_or(usize::MAX).min(byte_count - done);
            let part = done..done + room;
            done = part.end;
            (!part.is_empty()).then_some((at, part))
        })
    }

    /// Maps an address of a tile into the window. Returns the physical address at which the host
    /// can access the address of the tile.
    fn show(&mut self, tile: Tile, address: u64) -> u64 {
        let stretch = address >> self.layout.size_bits;
        if self.shown != Some((tile, stretch)) {
            let places = (self.bar + self.layout.config_offset..).step_by(4);
            for (at, word) in places.zip((self.layout.config)(tile, stretch)) {
                self.library.write(at, &word.to_le_bytes());
            }
            self.shown = Some((tile, stretch));
        }
        self.bar + self.layout.offset + (address - (stretch << self.layout.size_bits))
    }
}

/// Returns the address of BAR 0.
fn bar_0(library: &mut Library) -> u64 {
    // The low four bits of a BAR describe the type of memory.
    u64::from(library.read_config(0, 0x10) & !0xF) | u64::from(library.read_config(0, 0x14)) << 32
}
