//! A chip that another simulator library simulates; all of the host's calls are forwarded to that
//! library.
//!
//! Guests (processes that access the chip through its socket) reach tiles through a window of the
//! chip's BAR, because the other library offers no other access to tiles. After each access, the
//! window gets back the mapping that the host set last.
//!
//! # Compatibility
//! ttsim 1.10, `docs/libttsim_api.md`: calls may come from any thread, but only one at a time. The
//! library ends the process at an access that the chip does not support. Therefore, this module
//! lets guests access only the memory of worker cores and DRAM tiles, and the wall clocks of cores,
//! which every chip has.

use chip::{
    access::NocTile,
    facts::{ChipFacts, ChipPlan},
    mesh::WALL_CLOCK,
    rails,
};
use reader::architecture::{TileCoord, translation::Translation};
use std::{collections::BTreeMap, path::Path};
use ttsim::{
    Tile,
    library::{Library, ReadHost, WriteHost},
    windows::Windows,
};

/// A chip that another library simulates.
#[derive(Debug)]
pub(super) struct ForwardedChip {
    windows: Windows,
    /// Tiles that guests may access, by their coordinates on NoC 1.
    tiles: BTreeMap<NocTile, GuestTile>,
}

/// A tile that guests may access.
#[derive(Clone, Copy, Debug)]
struct GuestTile {
    /// Coordinates of the tile in the library's windows.
    tile: Tile,
    /// End address of the tile's memory, which starts at address 0.
    end: u64,
    has_clock: bool,
}

impl ForwardedChip {
    /// Loads a library, initialises it and returns the chip that the library simulates.
    ///
    /// Returns `None` if `path` is the path of this library itself. In this case, this library
    /// simulates the chip.
    pub(super) fn start(
        path: &Path,
        own_init: usize,
        callbacks: (Option<ReadHost>, Option<WriteHost>),
    ) -> Result<Option<Self>, String> {
        let named = |reason: String| format!("{}: {reason}", path.display());
        let mut library = Library::load(path).map_err(named)?;
        if library.init_address() == own_init {
            return Ok(None);
        }
        library.set_callbacks(callbacks.0, callbacks.1);
        library.initialise();
        let windows = Windows::new(library).map_err(|pci_id| {
            named(format!(
                "expected a Wormhole or a Blackhole, found a chip with PCI id {pci_id:#010x}"
            ))
        })?;
        let tiles = guest_tiles(&ChipFacts::whole(0, windows.arch())).map_err(named)?;
        Ok(Some(Self { windows, tiles }))
    }

    pub(super) const fn windows(&mut self) -> &mut Windows {
        &mut self.windows
    }

    pub(super) fn exit(self) {
        self.windows.into_library().exit();
    }

    pub(super) fn guest_read(
        &mut self,
        noc: u8,
        at: NocTile,
        address: u64,
        bytes: &mut [u8],
    ) -> Result<(), String> {
        let tile = self.guest_tile(noc, at, address, bytes.len())?;
        self.windows.read(tile, address, bytes);
        self.windows.give_back();
        Ok(())
    }

    pub(super) fn guest_write(
        &mut self,
        noc: u8,
        at: NocTile,
        address: u64,
        bytes: &[u8],
    ) -> Result<(), String> {
        let tile = self.guest_tile(noc, at, address, bytes.len())?;
        self.windows.write(tile, address, bytes);
        self.windows.give_back();
        Ok(())
    }

    /// Checks an access of a guest and returns the accessed tile. Returns an error if the library
    /// might end the process because of the access.
    fn guest_tile(&self, noc: u8, at: NocTile, address: u64, size: usize) -> Result<Tile, String> {
        if noc != rails::NOC {
            return Err(format!("expected an access over NoC {}, found NoC {noc}", rails::NOC));
        }
        let tile = self.tiles.get(&at).ok_or_else(|| format!("no tile at {at} on NoC {noc}"))?;
        let end = address.checked_add(size as u64);
        let is_in = |first: u64, last: u64| address >= first && end.is_some_and(|end| end <= last);
        let is_clock = tile.has_clock
            && address.is_multiple_of(4)
            && size.is_multiple_of(4)
            && is_in(WALL_CLOCK, WALL_CLOCK.saturating_add(8));
        if is_in(0, tile.end) || is_clock {
            return Ok(tile.tile);
        }
        Err(format!(
            "{size} bytes at {address:#x} of tile {at} are in no memory that guests may access"
        ))
    }
}

/// Returns the worker cores and the DRAM tiles of a chip, by their coordinates on NoC 1.
fn guest_tiles(facts: &ChipFacts) -> Result<BTreeMap<NocTile, GuestTile>, String> {
    let plan = ChipPlan::new(facts).map_err(|error| error.to_string())?;
    let arch = facts.arch.facts();
    let mut tiles = BTreeMap::new();
    for core in plan.floorplan.cores() {
        let end = arch.l1_bytes(core.kind);
        if let Some((at, tile)) = plan.core(core.coord).zip(window_tile(core.coord)) {
            tiles.insert(at, GuestTile { tile, end, has_clock: true });
        }
    }
    let translation = Translation::new(facts.arch, &[]);
    for bank in 0..arch.bank_count {
        let on_noc_0 = arch.bank_tile(bank).and_then(|tile| translation.dram(0, tile));
        let tile = on_noc_0.and_then(|(x, y)| window_tile(TileCoord { x, y }));
        if let Some(((at, start), tile)) = plan.bank(bank).zip(tile) {
            let end = start.saturating_add(arch.bank_bytes);
            let known = tiles.entry(at).or_insert(GuestTile { tile, end, has_clock: false });
            known.end = known.end.max(end);
        }
    }
    Ok(tiles)
}

fn window_tile(tile: TileCoord) -> Option<Tile> {
    Some(Tile { x: u8::try_from(tile.x).ok()?, y: u8::try_from(tile.y).ok()? })
}
