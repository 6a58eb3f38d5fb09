//! Conversion between tiles and the coordinates that kernels write into NoC registers.
//!
//! The chip's firmware enables a translation of coordinates. A pair of translated coordinates
//! refers to the same tile, no matter on which of the two NoCs. Harvested rows or columns get the
//! highest translated coordinates. Untranslated coordinates on NoC 1 are counted from the corner
//! opposite to NoC 0's origin.
//!
//! # Compatibility
//! Wormhole: tt-isa-documentation, `WormholeB0/NoC/Coordinates.md`. Blackhole: tt-umd,
//! `blackhole_coordinate_manager.cpp`. This module rejects the same coordinates as the simulator
//! ttsim.

use super::{Arch, HarvestAxis, TileCoord};

/// Number of networks on a chip.
pub const NOC_COUNT: usize = 2;

/// The coordinate translation of one chip, which depends on harvesting.
///
/// ```
/// use reader::architecture::{Arch, TileCoord, translation::Translation};
/// let chip = Translation::new(Arch::WormholeB0, &[7, 10]);
/// let tile = TileCoord { x: 6, y: 8 };
/// assert_eq!(chip.logical(tile), Some((22, 23)));
/// assert_eq!(chip.tile(1, 22, 23), Some(tile));
/// assert_eq!((chip.tile(0, 6, 8), chip.tile(1, 3, 3)), (Some(tile), Some(tile)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    arch: Arch,
    /// Columns of Tensix tiles, ordered by translated coordinate.
    columns: Vec<u16>,
    /// Rows of Tensix tiles, ordered by translated coordinate.
    rows: Vec<u16>,
    harvested: Vec<u16>,
    /// Groups of DRAM tiles, ordered by translated coordinate; Blackhole only. A harvested group is
    /// the last one.
    dram: Vec<usize>,
    has_harvested_dram: bool,
}

impl Translation {
    /// Creates the translation of a chip whose rows (Wormhole) or columns (Blackhole) in
    /// `harvested` are disabled.
    #[must_use]
    pub fn new(arch: Arch, harvested: &[u16]) -> Self {
        Self::of(arch, harvested, None)
    }

    /// Creates the translation of a chip on which a group of DRAM tiles is disabled, too.
    ///
    /// # Compatibility
    /// The half of a Blackhole's DRAM that has all its groups gets the first column of coordinates;
    /// in this half, the group opposite the harvested one is the last.
    pub(super) fn of(arch: Arch, harvested: &[u16], harvested_dram: Option<usize>) -> Self {
        let [columns, rows] = [HarvestAxis::Columns, HarvestAxis::Rows]
            .map(|axis| arch.facts().tensix_lines(axis, harvested).concat());
        let mut dram: Vec<usize> = (0..arch.facts().dram_groups.len()).collect();
        if let Some(gone) = harvested_dram {
            let half = gone / BLACKHOLE_GROUPS;
            let opposite = (gone + BLACKHOLE_GROUPS) % dram.len();
            dram.sort_by_key(|&group| {
                (group / BLACKHOLE_GROUPS == half, group == opposite, group == gone, group)
            });
        }
        let has_harvested_dram = harvested_dram.is_some();
        Self { arch, columns, rows, harvested: harvested.to_vec(), dram, has_harvested_dram }
    }

    /// Returns the tile at a pair of coordinates on a NoC; `None` if no usable tile has them.
    #[must_use]
    pub fn tile(&self, noc: usize, x: u16, y: u16) -> Option<TileCoord> {
        let tile = self.corner(noc, x, y)?;
        (!self.is_harvested(tile)).then_some(tile)
    }

    /// Converts a pair of coordinates on a NoC to the NoC-0 grid coordinate of the tile, even if
    /// the tile is harvested.
    #[must_use]
    pub fn corner(&self, noc: usize, x: u16, y: u16) -> Option<TileCoord> {
        match self.arch {
            Arch::WormholeB0 => {
                Some(TileCoord { x: self.wormhole_column(noc, x)?, y: self.wormhole_row(noc, y)? })
            }
            Arch::Blackhole => self.blackhole_tile(noc, x, y),
        }
    }

    /// Returns the translated coordinates of a Tensix or Ethernet tile. The tile's register
    /// `NOC_ID_LOGICAL` contains the same coordinates.
    #[must_use]
    pub fn logical(&self, tile: TileCoord) -> Option<(u16, u16)> {
        let ethernet = self.arch.facts().ethernet;
        let column = place(&self.columns, tile.x);
        match (self.arch, ethernet.iter().position(|&place| place == tile)) {
            (Arch::WormholeB0, Some(channel)) => {
                let row = if channel < ethernet.len() / 2 { 0 } else { 1 };
                Some((WORMHOLE_TENSIX + column?, WORMHOLE_ETHERNET_ROWS + row))
            }
            (Arch::WormholeB0, None) => {
                Some((WORMHOLE_TENSIX + column?, WORMHOLE_TENSIX + place(&self.rows, tile.y)?))
            }
            (Arch::Blackhole, Some(channel)) => {
                let channel = u16::try_from(channel).ok()?;
                let is_translated = channel < BLACKHOLE_ETHERNET_COUNT;
                Some(if is_translated {
                    (BLACKHOLE_ETHERNET.0 + channel, BLACKHOLE_ETHERNET.1)
                } else {
                    (tile.x, tile.y)
                })
            }
            (Arch::Blackhole, None) => {
                place(&self.rows, tile.y)?;
                Some((self.arch.facts().tensix_columns[usize::from(column?)], tile.y))
            }
        }
    }

    /// Returns the coordinates by which TT-Metal addresses a DRAM tile on a NoC.
    #[must_use]
    pub fn dram(&self, noc: usize, tile: TileCoord) -> Option<(u16, u16)> {
        let groups = self.arch.facts().dram_groups;
        let (group, port) = groups.iter().enumerate().find_map(|(group, tiles)| {
            Some((group, tiles.iter().position(|&place| place == tile)?))
        })?;
        match self.arch {
            Arch::WormholeB0 => Some(self.mirrored(noc, tile.x, tile.y)),
            Arch::Blackhole => {
                let place = self.dram.iter().position(|&at| at == group)?;
                let (column, row) = (place / BLACKHOLE_GROUPS, place % BLACKHOLE_GROUPS * 3 + port);
                let [column, row] = [column, row].map(|part| u16::try_from(part).unwrap_or(0));
                Some((BLACKHOLE_DRAM.0 + column, BLACKHOLE_DRAM.1 + row))
            }
        }
    }

    /// Returns the NoC coordinates of `tile`, which must be the tile that connects the chip to the
    /// host's memory.
    #[must_use]
    pub const fn host(&self, noc: usize, tile: TileCoord) -> (u16, u16) {
        match self.arch {
            Arch::WormholeB0 => self.mirrored(noc, tile.x, tile.y),
            Arch::Blackhole => BLACKHOLE_PCIE,
        }
    }

    /// Converts untranslated coordinates between NoC 0 and NoC `noc`. If `noc` is 0, they are
    /// unchanged.
    #[must_use]
    pub const fn mirrored(&self, noc: usize, x: u16, y: u16) -> (u16, u16) {
        let (columns, rows) = self.arch.facts().grid;
        if noc == 0 { (x, y) } else { (columns - 1 - x, rows - 1 - y) }
    }

    fn wormhole_column(&self, noc: usize, x: u16) -> Option<u16> {
        match x {
            0..10 => Some(self.mirrored(noc, x, 0).0),
            16 => Some(0),
            17 => Some(5),
            _ => self.columns.get(usize::from(x.checked_sub(WORMHOLE_TENSIX)?)).copied(),
        }
    }

    fn wormhole_row(&self, noc: usize, y: u16) -> Option<u16> {
        match y {
            0..12 => Some(self.mirrored(noc, 0, y).1),
            WORMHOLE_ETHERNET_ROWS => Some(0),
            17 => Some(6),
            _ => self.rows.get(usize::from(y.checked_sub(WORMHOLE_TENSIX)?)).copied(),
        }
    }

    fn blackhole_tile(&self, noc: usize, x: u16, y: u16) -> Option<TileCoord> {
        let facts = self.arch.facts();
        let (dram_x, dram_y) = BLACKHOLE_DRAM;
        if let (Some(column @ 0..2), Some(row @ 0..12)) =
            (x.checked_sub(dram_x), y.checked_sub(dram_y))
        {
            let place = usize::from(column) * BLACKHOLE_GROUPS + usize::from(row / 3);
            let group = *self.dram.get(place)?;
            return facts.dram_groups.get(group)?.get(usize::from(row % 3)).copied();
        }
        if (x, y) == BLACKHOLE_PCIE {
            return Some(TileCoord { x: 2, y: 0 });
        }
        if y == BLACKHOLE_ETHERNET.1 {
            let channel = x.checked_sub(BLACKHOLE_ETHERNET.0)?;
            let is_translated = channel < BLACKHOLE_ETHERNET_COUNT;
            return facts.ethernet.get(usize::from(channel)).copied().filter(|_| is_translated);
        }
        let raw = TileCoord { x, y };
        if facts.ethernet.contains(&raw) {
            return (noc == 0).then_some(raw);
        }
        let column = place(facts.tensix_columns, x)?;
        place(facts.tensix_rows, y)?;
        Some(TileCoord { x: self.columns[usize::from(column)], y })
    }

    fn is_harvested(&self, tile: TileCoord) -> bool {
        let facts = self.arch.facts();
        let is_tensix =
            facts.tensix_columns.contains(&tile.x) && facts.tensix_rows.contains(&tile.y);
        let line = match facts.harvest_axis {
            HarvestAxis::Rows => tile.y,
            HarvestAxis::Columns => tile.x,
        };
        (is_tensix && self.harvested.contains(&line)) || self.is_harvested_dram(tile)
    }

    fn is_harvested_dram(&self, tile: TileCoord) -> bool {
        let gone = self.dram.last().filter(|_| self.has_harvested_dram);
        gone.is_some_and(|&group| self.arch.facts().dram_groups[group].contains(&tile))
    }
}

/// Returns the index in `lines` of the row or column with the number `line`.
fn place(lines: &[u16], line: u16) -> Option<u16> {
    lines.iter().position(|&at| at == line).and_then(|at| u16::try_from(at).ok())
}

const WORMHOLE_TENSIX: u16 = 18;
const WORMHOLE_ETHERNET_ROWS: u16 = 16;
/// Translated coordinates of the active PCIe tile on both NoCs.
const BLACKHOLE_PCIE: (u16, u16) = (19, 24);
const BLACKHOLE_DRAM: (u16, u16) = (17, 12);
const BLACKHOLE_ETHERNET: (u16, u16) = (20, 25);
/// Number of Ethernet channels with translated coordinates; no chip uses more channels.
const BLACKHOLE_ETHERNET_COUNT: u16 = 12;
/// Number of groups of DRAM tiles that share one column of translated coordinates.
const BLACKHOLE_GROUPS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    /// Translation tables of an unharvested Wormhole, as ttsim provides them: for each NoC, a table
    /// for columns and a table for rows.
    ///
    /// Each entry has four bits; the entry in the lowest bits is for coordinate 16.
    const TTSIM_TABLES: [[u64; 2]; 2] = [
        [0x0000_0098_7643_2150, 0x0000_BA98_7543_2160],
        [0x0000_0001_2356_7849, 0x0000_0123_4678_9A5B],
    ];

    #[test]
    fn wormholes_tables_are_those_that_ttsim_shows() {
        let chip = Translation::new(Arch::WormholeB0, &[]);
        for (noc, [columns, rows]) in TTSIM_TABLES.into_iter().enumerate() {
            for (number, bits) in (16..26).zip((0..).step_by(4)) {
                let raw = u16::try_from(columns >> bits & 15).unwrap();
                assert_eq!(chip.wormhole_column(noc, number), chip.wormhole_column(noc, raw));
            }
            for (number, bits) in (16..28).zip((0..).step_by(4)) {
                let raw = u16::try_from(rows >> bits & 15).unwrap();
                assert_eq!(chip.wormhole_row(noc, number), chip.wormhole_row(noc, raw), "{number}");
            }
        }
    }

    #[test]
    fn both_nocs_reach_every_tile_by_its_translated_coordinates() {
        for (arch, harvested) in [(Arch::WormholeB0, [3, 11]), (Arch::Blackhole, [2, 16])] {
            let chip = Translation::new(arch, &harvested);
            let facts = arch.facts();
            let tensix = facts
                .tensix_columns
                .iter()
                .flat_map(|&x| facts.tensix_rows.iter().map(move |&y| TileCoord { x, y }));
            let ethernet = facts.ethernet.iter().copied().take(12);
            for tile in tensix.chain(ethernet) {
                let (x, y) = chip.logical(tile).unwrap();
                let expected = (!chip.is_harvested(tile)).then_some(tile);
                assert_eq!([chip.tile(0, x, y), chip.tile(1, x, y)], [expected; 2], "{tile}");
            }
            for tile in facts.dram_groups.iter().flatten() {
                for noc in 0..NOC_COUNT {
                    let (x, y) = chip.dram(noc, *tile).unwrap();
                    assert_eq!(chip.tile(noc, x, y), Some(*tile));
                }
            }
        }
    }

    #[test]
    fn raw_dram_coordinates_mean_nothing_on_a_blackhole() {
        let chip = Translation::new(Arch::Blackhole, &[]);
        for tile in Arch::Blackhole.facts().dram_groups.iter().flatten() {
            assert_eq!(chip.tile(0, tile.x, tile.y), None, "{tile}");
        }
        assert_eq!(chip.tile(0, 17, 12), Some(TileCoord { x: 0, y: 0 }));
        assert_eq!(chip.tile(1, 18, 23), Some(TileCoord { x: 9, y: 6 }));
        assert_eq!([chip.tile(0, 17, 24), chip.tile(0, 19, 12)], [None; 2]);
    }

    #[test]
    fn raw_coordinates_of_the_other_noc_mean_another_tile_on_a_wormhole() {
        let chip = Translation::new(Arch::WormholeB0, &[]);
        // The origin of NoC 1 is the Tensix tile (9,11). The origin of NoC 0 is the DRAM tile
        // (0,0).
        assert_eq!(chip.tile(1, 0, 0), Some(TileCoord { x: 9, y: 11 }));
        assert_eq!(chip.tile(1, 9, 11), Some(TileCoord { x: 0, y: 0 }));
        assert_eq!([chip.tile(0, 10, 0), chip.tile(0, 0, 12), chip.tile(0, 26, 18)], [None; 3]);
    }
}
