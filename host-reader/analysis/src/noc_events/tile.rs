//! Mapping of a kernel's coordinates to tiles.
//!
//! Firmware enables a coordinate translation. With the translation, a pair of coordinates refers to
//! the same tile on both NoCs, regardless of harvesting. Untranslated (raw) coordinates are
//! different on the two NoCs: NoC 0 and NoC 1 number the columns and rows from opposite corners of
//! the chip.
//!
//! # Compatibility
//! Wormhole: tt-isa-documentation, `WormholeB0/NoC/Coordinates.md`: Tensix and Ethernet tiles are
//! translated, DRAM tiles are raw. Blackhole: tt-umd, `blackhole_coordinate_manager.cpp`: all tiles
//! are translated.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "coordinates are compared with the grid first, and grids are small"
)]

use crate::noc_events::{
    harvesting::known_lines,
    payload::{Noc, RawCoord},
};
use reader::{
    architecture::{Arch, ArchFacts, HarvestAxis, TileCoord},
    lane::LaneId,
    mesh::Noc0Coord,
    readout::{ChipSummary, DeviceReadout},
};

/// Mapping from the coordinates that kernels use to the tiles of one chip.
///
/// ```
/// use analysis::noc_events::{Noc, RawCoord, TileMap};
/// let chip = TileMap::unharvested("blackhole").unwrap();
/// let dram = chip.noc0(RawCoord { x: 17, y: 14 }, Noc::Noc0).unwrap();
/// assert_eq!((dram.x, dram.y), (0, 11));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileMap {
    arch: Arch,
    /// Columns of Tensix tiles in the order of their translated numbers; `None` if the column
    /// depends on unknown harvesting.
    pub(super) columns: Vec<Option<u16>>,
    /// Rows of Tensix tiles in the order of their translated numbers; `None` if the row depends on
    /// unknown harvesting.
    pub(super) rows: Vec<Option<u16>>,
}

impl TileMap {
    /// Returns the tiles of a chip without harvesting; `None` for an unknown architecture.
    #[must_use]
    pub fn unharvested(arch: &str) -> Option<Self> {
        let arch = Arch::from_name(arch)?;
        let ArchFacts { tensix_columns, tensix_rows, .. } = arch.facts();
        Some(Self { arch, columns: all_known(tensix_columns), rows: all_known(tensix_rows) })
    }

    /// Returns the tiles of a chip. The harvested lines are derived from the chip's records.
    ///
    /// Several sets of harvested lines may be possible. A possible set agrees with the size of the
    /// worker grid and with the lines that the host's files state, and contains no line that has
    /// records. A translated number is known if it maps to the same line for every possible set.
    /// Often the whole grid is known although one line has no records, for example because the
    /// cores of this line only dispatch.
    #[must_use]
    pub fn from_device(device: &DeviceReadout) -> Option<Self> {
        Self::from_lane_ids(&device.chip, device.lanes.iter().map(|lane| lane.id))
    }

    /// Like [`Self::from_device`], but needs only the ids of the chip's lanes.
    pub fn from_lane_ids(chip: &ChipSummary, lanes: impl Iterator<Item = LaneId>) -> Option<Self> {
        let mut map = Self::unharvested(&chip.arch)?;
        let lines = known_lines(map.arch, chip, lanes);
        *if harvests_rows(map.arch) { &mut map.rows } else { &mut map.columns } = lines;
        Some(map)
    }

    /// Returns the number of columns and rows of the chip's grid.
    #[must_use]
    pub const fn grid(&self) -> (u16, u16) {
        self.arch.facts().grid
    }

    /// Returns the tile for a kernel's coordinates on a NoC.
    ///
    /// `None` if there is no such tile, or if the tile depends on unknown harvesting.
    #[must_use]
    pub fn noc0(&self, coord: RawCoord, noc: Noc) -> Option<Noc0Coord> {
        let (x, y) = (u16::try_from(coord.x).ok()?, u16::try_from(coord.y).ok()?);
        match self.arch {
            Arch::WormholeB0 => {
                let (columns, rows) = self.grid();
                let x = wormhole_line(noc, x, (columns, 5), &self.columns)?;
                Some(Noc0Coord { x, y: wormhole_line(noc, y, (rows, 6), &self.rows)? })
            }
            Arch::Blackhole => self.blackhole(noc, x, y),
        }
    }

    /// Returns the cycles that a flit takes from one tile to another without other traffic: from
    /// the network interface of the first tile through every router on the route to the interface
    /// of the other.
    ///
    /// # Compatibility
    /// tt-isa-documentation, `NoC/README.md`: 9 cycles from router to router, 5 between a router
    /// and its network interface. NoC 0 routes right and down around the torus, NoC 1 left and up.
    #[must_use]
    pub fn way_cycles(&self, noc: Noc, from: Noc0Coord, to: Noc0Coord) -> u64 {
        let (from, to) = if noc == Noc::Noc1 { (to, from) } else { (from, to) };
        let (columns, rows) = self.grid();
        10 + 9 * (hops_around(from.x, to.x, columns) + hops_around(from.y, to.y, rows))
    }

    /// Returns the number of the Ethernet channel at a tile.
    #[must_use]
    pub fn ethernet_channel(&self, tile: Noc0Coord) -> Option<u16> {
        let channel = self.arch.facts().ethernet.iter().position(|&at| noc0_coord(at) == tile)?;
        u16::try_from(channel).ok()
    }

    /// Returns the number of the DRAM controller at a tile.
    ///
    /// # Compatibility
    /// tt-npe's `device_models`: controllers are numbered column by column; each controller has
    /// three tiles.
    #[must_use]
    pub fn dram_controller(&self, tile: Noc0Coord) -> Option<u16> {
        let mut groups = self.arch.facts().dram_groups.iter();
        let group = groups.position(|tiles| tiles.iter().any(|&at| noc0_coord(at) == tile))?;
        u16::try_from(group).ok()
    }

    /// Returns true if the tile has a Tensix core.
    #[must_use]
    pub fn is_tensix(&self, tile: Noc0Coord) -> bool {
        let ArchFacts { tensix_columns, tensix_rows, .. } = self.arch.facts();
        tensix_columns.contains(&tile.x) && tensix_rows.contains(&tile.y)
    }

    fn blackhole(&self, noc: Noc, x: u16, y: u16) -> Option<Noc0Coord> {
        let facts = self.arch.facts();
        if let (Some(column @ 0..2), Some(row @ 0..12)) = (x.checked_sub(17), y.checked_sub(12)) {
            let tile = facts.dram_groups.as_flattened().get(usize::from(column * 12 + row))?;
            return Some(noc0_coord(*tile));
        }
        if y == BLACKHOLE_ETHERNET_ROW {
            let channel = x.checked_sub(BLACKHOLE_ETHERNET_COLUMN)?;
            return at(facts.ethernet, channel).map(noc0_coord);
        }
        let column = facts.tensix_columns.iter().position(|&at| at == x);
        if let Some(column) = column.filter(|_| facts.tensix_rows.contains(&y)) {
            let x = (*self.columns.get(column)?)?;
            return Some(Noc0Coord { x, y });
        }
        let (columns, rows) = facts.grid;
        (x < columns && y < rows).then(|| match noc {
            Noc::Noc1 => Noc0Coord { x: columns - 1 - x, y: rows - 1 - y },
            Noc::Undefined | Noc::Noc0 => Noc0Coord { x, y },
        })
    }
}

/// Returns the column or row that a kernel's coordinate means on a Wormhole with `size` columns or
/// rows.
///
/// The translated number 16 means line 0, and 17 means the line `middle`. Numbers from 18 on are
/// indices into `lines`, the lines of Tensix tiles.
fn wormhole_line(
    noc: Noc,
    number: u16,
    (size, middle): (u16, u16),
    lines: &[Option<u16>],
) -> Option<u16> {
    match number {
        _ if number < size => Some(if noc == Noc::Noc1 { size - 1 - number } else { number }),
        16 => Some(0),
        17 => Some(middle),
        _ => at(lines, number.checked_sub(WORMHOLE_TENSIX)?)?,
    }
}

const fn noc0_coord(TileCoord { x, y }: TileCoord) -> Noc0Coord {
    Noc0Coord { x, y }
}

fn all_known(lines: &[u16]) -> Vec<Option<u16>> {
    lines.iter().copied().map(Some).collect()
}

/// Returns the number of links from line `from` to line `to` in ascending direction on a ring of
/// `size` lines.
pub(super) fn hops_around(from: u16, to: u16, size: u16) -> u64 {
    let (from, to, size) = (u64::from(from), u64::from(to), u64::from(size));
    (to + size - from % size) % size
}

fn at<T: Copy>(list: &[T], index: u16) -> Option<T> {
    list.get(usize::from(index)).copied()
}

/// Returns true if rows of Tensix tiles are harvested, false if columns are.
pub(super) const fn harvests_rows(arch: Arch) -> bool {
    matches!(arch.facts().harvest_axis, HarvestAxis::Rows)
}

/// Returns the rows or columns of worker tiles that can be harvested, in ascending order.
pub(super) const fn harvestable(arch: Arch) -> &'static [u16] {
    let ArchFacts { tensix_columns, tensix_rows, .. } = arch.facts();
    if harvests_rows(arch) { tensix_rows } else { tensix_columns }
}

/// Returns the translated number of the worker line that contains a kernel's coordinates; `None` if
/// the coordinates belong to another kind of tile.
pub(super) fn line_number(arch: Arch, coord: RawCoord) -> Option<u16> {
    let (x, y) = (u16::try_from(coord.x).ok()?, u16::try_from(coord.y).ok()?);
    if harvests_rows(arch) {
        return y.checked_sub(WORMHOLE_TENSIX);
    }
    let ArchFacts { tensix_columns, tensix_rows, .. } = arch.facts();
    let number = tensix_columns.iter().position(|&column| column == x)?;
    tensix_rows.contains(&y).then(|| u16::try_from(number).ok())?
}

/// First translated column and row of a Wormhole's Tensix tiles.
const WORMHOLE_TENSIX: u16 = 18;
/// Translated row of a Blackhole's Ethernet tiles.
const BLACKHOLE_ETHERNET_ROW: u16 = 25;
/// Translated column of a Blackhole's tile of Ethernet channel 0.
const BLACKHOLE_ETHERNET_COLUMN: u16 = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use reader::{
        lane::{Lane, LaneId},
        readout::ChipSummary,
    };
    use wire::Risc;

    fn tile(map: &TileMap, noc: Noc, x: i8, y: i8) -> Option<(u16, u16)> {
        map.noc0(RawCoord { x, y }, noc).map(|tile| (tile.x, tile.y))
    }

    fn device(arch: &str, cores: u32, seen: &[(u16, u16)]) -> DeviceReadout {
        DeviceReadout {
            chip: ChipSummary {
                chip_id: 0,
                arch: arch.to_owned(),
                aiclk_mhz: 1_000,
                max_compute_cores: Some(cores),
                known_lines: [].into(),
            },
            lanes: seen
                .iter()
                .map(|&(x, y)| {
                    Lane::new(LaneId { chip_id: 0, core: Noc0Coord { x, y }, risc: Risc::Brisc })
                })
                .collect(),
            pending_runs: 0,
            discarded_launches: 0,
        }
    }

    #[test]
    fn a_wormholes_dram_counts_from_the_other_corner_on_noc_1() {
        let map = TileMap::unharvested("wormhole_b0").unwrap();
        assert_eq!(tile(&map, Noc::Noc0, 0, 11), Some((0, 11)));
        assert_eq!(tile(&map, Noc::Noc1, 9, 0), Some((0, 11)));
        assert_eq!(tile(&map, Noc::Noc1, 18, 18), Some((1, 1)));
        assert_eq!(tile(&map, Noc::Noc0, 25, 27), Some((9, 11)));
        assert_eq!(tile(&map, Noc::Noc0, 18, 17), Some((1, 6)));
        assert_eq!(tile(&map, Noc::Noc0, 16, 17), Some((0, 6)));
        for (x, y) in [(-1, -1), (10, 0), (26, 18), (18, 28), (0, 12)] {
            assert_eq!(tile(&map, Noc::Noc0, x, y), None, "({x},{y})");
        }
    }

    #[test]
    fn harvested_rows_come_last_where_the_records_show_them() {
        // 64 cores fill eight rows, and exactly eight rows have records. So the other rows are
        // harvested.
        let seen = [1, 2, 3, 5, 7, 8, 9, 11].map(|y| (1, y));
        let map = TileMap::from_device(&device("wormhole_b0", 64, &seen)).unwrap();
        assert_eq!(tile(&map, Noc::Noc0, 18, 21), Some((1, 5)));
        assert_eq!(tile(&map, Noc::Noc0, 18, 26), Some((1, 4)));
        // Only seven rows have records, and one of the rows 4, 5 and 10 is not harvested either.
        // The translated number 21 means a different row in each of these three cases.
        let silent = [1, 2, 3, 7, 8, 9, 11].map(|y| (1, y));
        let map = TileMap::from_device(&device("wormhole_b0", 64, &silent)).unwrap();
        assert_eq!(tile(&map, Noc::Noc0, 18, 20), Some((1, 3)), "before the row that is unknown");
        assert_eq!(tile(&map, Noc::Noc0, 18, 21), None, "row 4, 5 or 7");
        assert_eq!(tile(&map, Noc::Noc0, 0, 5), Some((0, 5)), "DRAM is never harvested");
        let map = TileMap::from_device(&device("wormhole_b0", 80, &[])).unwrap();
        assert_eq!(tile(&map, Noc::Noc0, 18, 21), Some((1, 4)));
    }

    #[test]
    fn a_silent_last_line_hides_no_other() {
        // Twelve columns are not harvested, and eleven of them have records. The twelfth only
        // dispatches: column 14, 15 or 16.
        let seen = [1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13].map(|x| (x, 2));
        let map = TileMap::from_device(&device("blackhole", 120, &seen)).unwrap();
        for (x, y) in seen {
            let (raw_x, raw_y) = (i8::try_from(x).unwrap(), i8::try_from(y).unwrap());
            assert_eq!(tile(&map, Noc::Noc1, raw_x, raw_y), Some((x, y)));
        }
        assert_eq!(tile(&map, Noc::Noc0, 14, 2), None, "column 14, 15 or 16");
        // Eight rows are not harvested, and seven of them have records. The eighth is row 9, 10 or
        // 11.
        let seen = [1, 2, 3, 4, 5, 7, 8].map(|y| (1, y));
        let map = TileMap::from_device(&device("wormhole_b0", 64, &seen)).unwrap();
        assert_eq!(tile(&map, Noc::Noc0, 18, 24), Some((1, 8)), "the seventh row");
        assert_eq!(tile(&map, Noc::Noc0, 18, 25), None, "row 9, 10 or 11");
    }

    #[test]
    fn stated_lines_place_what_records_leave_open() {
        let seen = [1, 2, 3, 7, 8, 9, 11].map(|y| (1, y));
        let mut one = device("wormhole_b0", 64, &seen);
        one.chip.known_lines = [(3, 5)].into();
        let map = TileMap::from_device(&one).unwrap();
        assert_eq!(tile(&map, Noc::Noc0, 18, 21), Some((1, 5)), "as stated");
        assert_eq!(tile(&map, Noc::Noc0, 18, 25), Some((1, 11)), "all eight rows follow");
        assert_eq!(tile(&map, Noc::Noc0, 18, 26), Some((1, 4)), "harvested");
        one.chip.known_lines = [(3, 9)].into();
        let map = TileMap::from_device(&one).unwrap();
        assert_eq!(tile(&map, Noc::Noc0, 18, 18), None, "rows 7 and 8 recorded");
    }

    #[test]
    fn a_grid_that_no_product_has_says_nothing_of_harvesting() {
        // No product has 56 worker cores, so the number may leave out the cores of a dispatching
        // row. This can be row 4, 10 or 11.
        let seen = [1, 2, 3, 5, 7, 8, 9].map(|y| (1, y));
        let map = TileMap::from_device(&device("wormhole_b0", 56, &seen)).unwrap();
        assert_eq!(tile(&map, Noc::Noc0, 18, 20), Some((1, 3)));
        assert_eq!(tile(&map, Noc::Noc0, 18, 21), None, "row 4 or 5");
    }

    #[test]
    fn a_blackhole_translates_everything() {
        let map = TileMap::unharvested("blackhole").unwrap();
        for noc in [Noc::Noc0, Noc::Noc1] {
            assert_eq!(tile(&map, noc, 17, 12), Some((0, 0)));
            assert_eq!(tile(&map, noc, 18, 23), Some((9, 6)));
            assert_eq!(tile(&map, noc, 21, 25), Some((16, 1)));
            assert_eq!(tile(&map, noc, 16, 11), Some((16, 11)));
        }
        let seen = [1, 2, 4, 5, 6, 7, 10, 11, 12, 14, 15, 16].map(|x| (x, 2));
        let map = TileMap::from_device(&device("blackhole", 120, &seen)).unwrap();
        assert_eq!(tile(&map, Noc::Noc0, 3, 2), Some((4, 2)));
        assert_eq!(tile(&map, Noc::Noc0, 16, 2), Some((13, 2)));
        assert_eq!(map.ethernet_channel(Noc0Coord { x: 16, y: 1 }), Some(1));
        assert!(TileMap::unharvested("quasar").is_none());
    }
}
