//! Rates (in bytes per cycle) and latencies (in cycles) of a chip's tiles and links.

#![expect(clippy::arithmetic_side_effects, reason = "tiles are on a grid of a few hundred")]

use crate::noc_events::{
    payload::Noc,
    tile::{TileMap, hops_around},
};
use reader::{architecture::Arch, mesh::Noc0Coord};

/// Kind of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TileKind {
    Dram,
    Ethernet,
    Worker,
    Other,
}

/// Rates of an architecture.
///
/// # Compatibility
/// tt-npe at commit 10216031, `device_models/wormhole_b0.hpp` and `device_models/blackhole.hpp`.
/// tt-npe's rates by packet size are left out: they have no effect on traces, in which every event
/// is a single packet.
#[derive(Debug, PartialEq)]
pub(super) struct Rates {
    pub(super) link: f32,
    /// Maximum rate of one transfer.
    pub(super) transfer: f32,
    /// Maximum rate at which a DRAM tile sends.
    dram_source: f32,
    /// Maximum rate at which a DRAM tile receives.
    dram_sink: f32,
    /// Maximum rate at which an Ethernet tile sends.
    ethernet_source: f32,
    /// Maximum rate at which an Ethernet tile receives.
    ethernet_sink: f32,
    /// Maximum rate at which a tile other than a DRAM or Ethernet tile sends or receives.
    worker: f32,
    /// Maximum rate of an Ethernet link.
    pub(super) ethernet_link: f32,
    /// Cycles from a read's event until the bytes leave the tile that is read. The four values are
    /// for a tile that is the reader itself, in the reader's column, in the reader's row, or
    /// elsewhere.
    read_cycles: [u64; 4],
    /// Cycles that a write takes for each link of its route.
    hop_cycles: u64,
    /// Number of DRAM controllers; `None` if the number depends on the board.
    dram_controller_count: Option<u16>,
}

/// Cycles from the event of a write until the write enters its first link.
const WRITE_CYCLES: u64 = 40;

const WORMHOLE: Rates = Rates {
    link: 30.0,
    transfer: 30.0,
    dram_source: 23.2,
    dram_sink: 24.0,
    ethernet_source: 28.1,
    ethernet_sink: 24.0,
    worker: 28.1,
    ethernet_link: 12.5,
    read_cycles: [70, 154, 170, 270],
    hop_cycles: 10,
    dram_controller_count: Some(6),
};

const BLACKHOLE: Rates = Rates {
    link: 60.9,
    transfer: 60.9,
    // 54 GB/s at 1.35 GHz.
    dram_source: 40.0,
    dram_sink: 40.0,
    ethernet_source: 999.9,
    ethernet_sink: 999.9,
    worker: 60.9,
    ethernet_link: 50.0,
    read_cycles: [65, 177, 217, 329],
    hop_cycles: 11,
    dram_controller_count: None,
};

/// Chip with known rates of its NoCs.
///
/// ```
/// use analysis::noc_events::NocChip;
/// assert!(NocChip::from_arch("wormhole_b0").is_some());
/// assert!(NocChip::from_arch("quasar").is_none());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NocChip {
    map: TileMap,
    pub(super) rates: &'static Rates,
    dram_controller_count: Option<u16>,
}

impl NocChip {
    /// Returns the chip of an architecture; `None` if the rates of its NoCs are unknown.
    #[must_use]
    pub fn from_arch(arch: &str) -> Option<Self> {
        let rates = match Arch::from_name(arch)? {
            Arch::WormholeB0 => &WORMHOLE,
            Arch::Blackhole => &BLACKHOLE,
        };
        let map = TileMap::unharvested(arch)?;
        Some(Self { map, rates, dram_controller_count: rates.dram_controller_count })
    }

    /// Sets the number of DRAM controllers from the name of the board. A Blackhole has 7
    /// controllers on a P100, and 8 on other boards. An unknown name changes nothing.
    #[must_use]
    pub fn with_board(mut self, cluster_type: &str) -> Self {
        if self.dram_controller_count.is_none() {
            self.dram_controller_count = match cluster_type {
                "P100" => Some(7),
                "P150" | "P150_X2" | "P150_X4" | "P150_X8" | "P300" | "BLACKHOLE_GALAXY" => Some(8),
                _ => None,
            };
        }
        self
    }

    /// Sets the number of DRAM controllers from the text of [`NocTraces::TOPOLOGY_FILE`], like
    /// [`NocChip::with_board`]. If the text does not name a board, nothing changes.
    ///
    /// [`NocTraces::TOPOLOGY_FILE`]: crate::noc_events::NocTraces::TOPOLOGY_FILE
    ///
    /// ```
    /// use analysis::noc_events::NocChip;
    /// let chip = NocChip::from_arch("blackhole").unwrap();
    /// assert_eq!(chip.clone().with_topology(b"{}").dram_controller_count(), None);
    /// let chip = chip.with_topology(br#"{ "cluster_type": "P150" }"#);
    /// assert_eq!(chip.dram_controller_count(), Some(8));
    /// ```
    #[must_use]
    pub fn with_topology(self, json: &[u8]) -> Self {
        self.with_board(&board_of(json).unwrap_or_default())
    }

    /// Returns the chip of the board that the text of [`NocTraces::TOPOLOGY_FILE`] names; `None` if
    /// it names no known board.
    ///
    /// [`NocTraces::TOPOLOGY_FILE`]: crate::noc_events::NocTraces::TOPOLOGY_FILE
    ///
    /// ```
    /// use analysis::noc_events::NocChip;
    /// let chip = NocChip::from_topology(br#"{ "cluster_type": "N300" }"#).unwrap();
    /// assert_eq!((chip.grid(), chip.dram_controller_count()), ((10, 12), Some(6)));
    /// assert_eq!(NocChip::from_topology(br#"{ "cluster_type": "CUSTOM" }"#), None);
    /// ```
    #[must_use]
    pub fn from_topology(json: &[u8]) -> Option<Self> {
        let board = board_of(json)?;
        // Names of tt-metal's `ClusterType`, without those that name no architecture.
        let arch = match &*board {
            "N150" | "N300" | "N300_2x2" | "T3K" | "TG" | "GALAXY" | "SIMULATOR_WORMHOLE_B0" => {
                "wormhole_b0"
            }
            "P100"
            | "P150"
            | "P150_X2"
            | "P150_X4"
            | "P150_X8"
            | "P300"
            | "P300_X2"
            | "BLACKHOLE_GALAXY"
            | "SIMULATOR_BLACKHOLE" => "blackhole",
            _ => return None,
        };
        Some(Self::from_arch(arch)?.with_board(&board))
    }

    /// Returns the number of columns and rows of tiles.
    #[must_use]
    pub const fn grid(&self) -> (u16, u16) {
        self.map.grid()
    }

    pub(super) const fn is_on_grid(&self, tile: Noc0Coord) -> bool {
        let (columns, rows) = self.map.grid();
        tile.x < columns && tile.y < rows
    }

    pub(super) fn kind(&self, tile: Noc0Coord) -> TileKind {
        if self.dram_controller(tile).is_some() {
            TileKind::Dram
        } else if self.map.ethernet_channel(tile).is_some() {
            TileKind::Ethernet
        } else if self.map.is_tensix(tile) {
            TileKind::Worker
        } else {
            TileKind::Other
        }
    }

    /// Returns the DRAM controller of a tile; `None` for other tiles.
    pub(super) fn dram_controller(&self, tile: Noc0Coord) -> Option<u16> {
        self.map.dram_controller(tile)
    }

    /// Returns the number of DRAM controllers; `None` if it depends on the board and the board is
    /// unknown.
    #[must_use]
    pub const fn dram_controller_count(&self) -> Option<u16> {
        self.dram_controller_count
    }

    /// Returns the bytes per cycle of a DRAM controller: the mean of its send and receive rates.
    pub(super) const fn dram_controller_rate(&self) -> f32 {
        f32::midpoint(self.rates.dram_source, self.rates.dram_sink)
    }

    pub(super) fn source_rate(&self, tile: Noc0Coord) -> f32 {
        match self.kind(tile) {
            TileKind::Dram => self.rates.dram_source,
            TileKind::Ethernet => self.rates.ethernet_source,
            TileKind::Worker | TileKind::Other => self.rates.worker,
        }
    }

    pub(super) fn sink_rate(&self, tile: Noc0Coord) -> f32 {
        match self.kind(tile) {
            TileKind::Dram => self.rates.dram_sink,
            TileKind::Ethernet => self.rates.ethernet_sink,
            TileKind::Worker | TileKind::Other => self.rates.worker,
        }
    }

    /// Returns the cycles from a read's event until the bytes leave the tile that is read.
    pub(super) fn read_cycles(&self, from: Noc0Coord, to: Noc0Coord) -> u64 {
        let [own, column, row, elsewhere] = self.rates.read_cycles;
        match (from.x == to.x, from.y == to.y) {
            (true, true) => own,
            (true, false) => column,
            (false, true) => row,
            (false, false) => elsewhere,
        }
    }

    /// Returns the cycles from a write's event until its bytes move.
    pub(super) fn write_cycles(&self, noc: Noc, from: Noc0Coord, to: Noc0Coord) -> u64 {
        let (from, to) = if noc == Noc::Noc1 { (to, from) } else { (from, to) };
        let (columns, rows) = self.grid();
        let links = hops_around(from.x, to.x, columns) + hops_around(from.y, to.y, rows);
        WRITE_CYCLES + self.rates.hop_cycles * links
    }
}

/// Returns the name of the board in the text of a topology file.
fn board_of(json: &[u8]) -> Option<String> {
    let topology: serde_json::Value = serde_json::from_slice(json).ok()?;
    Some(topology.get("cluster_type")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_of_the_kinds_that_a_wormhole_has() {
        let chip = NocChip::from_arch("wormhole_b0").unwrap();
        let kinds: Vec<_> = [(0, 0), (0, 2), (5, 9), (1, 0), (1, 1), (9, 6)]
            .map(|(x, y)| (chip.kind(Noc0Coord { x, y }), chip.dram_controller(Noc0Coord { x, y })))
            .into();
        use TileKind::{Dram, Ethernet, Other, Worker};
        let expected = [
            (Dram, Some(0)),
            (Other, None),
            (Dram, Some(3)),
            (Ethernet, None),
            (Worker, None),
            (Ethernet, None),
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn the_board_decides_how_many_controllers_a_blackhole_has() {
        let chip = NocChip::from_arch("blackhole").unwrap();
        assert_eq!(chip.dram_controller_count(), None);
        assert_eq!(chip.clone().with_board("P100").dram_controller_count(), Some(7));
        assert_eq!(chip.clone().with_board("P150").dram_controller_count(), Some(8));
        assert_eq!(chip.with_board("something new").dram_controller_count(), None);
    }

    #[test]
    fn latencies_depend_on_the_way() {
        let chip = NocChip::from_arch("wormhole_b0").unwrap();
        assert_eq!(chip.read_cycles(at(1, 1), at(1, 5)), 154);
        assert_eq!(chip.read_cycles(at(1, 1), at(3, 1)), 170);
        // On NoC 0, two columns east and one row south. On NoC 1, eight columns and eleven rows in
        // the opposite directions.
        assert_eq!(chip.write_cycles(Noc::Noc0, at(1, 1), at(3, 2)), 40 + 10 * 3);
        assert_eq!(chip.write_cycles(Noc::Noc1, at(1, 1), at(3, 2)), 40 + 10 * (8 + 11));
    }

    const fn at(x: u16, y: u16) -> Noc0Coord {
        Noc0Coord { x, y }
    }
}
