//! Routes of bytes: the links between tiles.

#![expect(clippy::arithmetic_side_effects, reason = "a route stays on the grid")]

use crate::noc_events::payload::Noc;
use reader::mesh::Noc0Coord;
use std::collections::BTreeSet;

reader::labelled! {
    /// Direction in which a link leaves a tile.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Direction {
        /// To the next column.
        East = "east",
        /// To the next row.
        South = "south",
        /// To the previous column.
        West = "west",
        /// To the previous row.
        North = "north",
    }
}

/// Number of columns and rows of a chip's tiles.
pub(super) type Grid = (u16, u16);

/// Tiles of a multicast, in the order in which its packet reaches them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rectangle {
    /// Corner that the packet reaches first.
    pub(super) first: Noc0Coord,
    /// Corner that the packet reaches last.
    pub(super) last: Noc0Coord,
}

impl Rectangle {
    /// Returns the columns and the rows of the rectangle, each in ascending order; `None` if the
    /// rectangle wraps around the edge of the grid, or if the network is undefined.
    pub(super) fn lines(self, noc: Noc) -> Option<[std::ops::RangeInclusive<u16>; 2]> {
        let (low, high) = match noc {
            Noc::Undefined => return None,
            Noc::Noc0 => (self.first, self.last),
            Noc::Noc1 => (self.last, self.first),
        };
        let is_whole = low.x <= high.x && low.y <= high.y;
        is_whole.then_some([low.x..=high.x, low.y..=high.y])
    }
}

/// Returns the links that bytes take: on NoC 0 east, then south; on NoC 1 north, then west.
///
/// In both networks, each row and each column is a ring. The result is empty if the event has no
/// network or a tile is off the grid.
///
/// # Compatibility
/// tt-isa-documentation, `WormholeB0/NoC/RoutingPaths.md`.
pub(super) fn route(
    noc: Noc,
    from: Noc0Coord,
    to: Noc0Coord,
    (columns, rows): Grid,
) -> Vec<(Noc0Coord, Direction)> {
    if [from, to].iter().any(|tile| tile.x >= columns || tile.y >= rows) {
        return Vec::new();
    }
    let (mut links, mut tile) = (Vec::new(), from);
    match noc {
        Noc::Undefined => {}
        Noc::Noc0 => {
            while tile.x != to.x {
                links.push((tile, Direction::East));
                tile.x = next_line(tile.x, columns);
            }
            while tile.y != to.y {
                links.push((tile, Direction::South));
                tile.y = next_line(tile.y, rows);
            }
        }
        Noc::Noc1 => {
            while tile.y != to.y {
                links.push((tile, Direction::North));
                tile.y = line_before(tile.y, rows);
            }
            while tile.x != to.x {
                links.push((tile, Direction::West));
                tile.x = line_before(tile.x, columns);
            }
        }
    }
    links
}

const fn line_before(at: u16, size: u16) -> u16 {
    if at == 0 { size - 1 } else { at - 1 }
}

const fn next_line(at: u16, size: u16) -> u16 {
    if at + 1 == size { 0 } else { at + 1 }
}

/// Returns the links that the packet of a multicast takes, each once; `None` if the packet wraps
/// around the edge of the grid or leaves the grid.
///
/// # Compatibility
/// tt-npe at commit 10216031, `device_models/wormhole_b0.hpp`: on NoC 0 these are the links of the
/// routes to the last row of each column, on NoC 1 those of the routes to the highest column of
/// each row. On NoC 1 packets move west and reach the highest column first. The links from there to
/// the rectangle's other columns are missing, in tt-npe and in this function.
pub(super) fn multicast_route(
    noc: Noc,
    from: Noc0Coord,
    tiles: Rectangle,
    grid: Grid,
) -> Option<Vec<(Noc0Coord, Direction)>> {
    let [columns, rows] = tiles.lines(noc)?;
    let (x, y) = (*columns.end(), *rows.end());
    if from.x >= grid.0 || from.y >= grid.1 || x >= grid.0 || y >= grid.1 {
        return None;
    }
    let ends: Vec<_> = match noc {
        Noc::Noc1 => rows.map(|y| Noc0Coord { x, y }).collect(),
        _ => columns.map(|x| Noc0Coord { x, y }).collect(),
    };
    let mut seen = BTreeSet::new();
    let links = ends.into_iter().flat_map(|to| route(noc, from, to, grid));
    Some(links.filter(|&link| seen.insert(link)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{East, North, South, West};

    const GRID: Grid = (10, 12);

    fn at(x: u16, y: u16) -> Noc0Coord {
        Noc0Coord { x, y }
    }

    #[test]
    fn routes_turn_once_and_wrap_around() {
        let links = route(Noc::Noc0, at(8, 11), at(1, 0), GRID);
        assert_eq!(
            links,
            [(at(8, 11), East), (at(9, 11), East), (at(0, 11), East), (at(1, 11), South)]
        );
        let links = route(Noc::Noc1, at(1, 1), at(0, 11), GRID);
        assert_eq!(links, [(at(1, 1), North), (at(1, 0), North), (at(1, 11), West)]);
        assert!(route(Noc::Noc0, at(3, 3), at(3, 3), GRID).is_empty());
        assert!(route(Noc::Undefined, at(3, 3), at(4, 3), GRID).is_empty());
        assert!(route(Noc::Noc0, at(3, 3), at(40, 3), GRID).is_empty());
    }

    #[test]
    fn a_multicast_takes_each_link_once() {
        let tiles = Rectangle { first: at(2, 2), last: at(3, 3) };
        let links = multicast_route(Noc::Noc0, at(1, 1), tiles, GRID).unwrap();
        let expected = [
            (at(1, 1), East),
            (at(2, 1), South),
            (at(2, 2), South),
            (at(2, 1), East),
            (at(3, 1), South),
            (at(3, 2), South),
        ];
        assert_eq!(links, expected);
        // On NoC 1, the packet starts at the other corner.
        let tiles = Rectangle { first: at(3, 3), last: at(2, 2) };
        let links = multicast_route(Noc::Noc1, at(4, 4), tiles, GRID).unwrap();
        let mut links: Vec<_> = links.into_iter().map(|(tile, to)| (tile.x, tile.y, to)).collect();
        links.sort_unstable();
        assert_eq!(links, [(4, 2, West), (4, 3, West), (4, 3, North), (4, 4, North)]);
    }

    #[test]
    fn a_multicast_around_the_edge_has_no_route() {
        let wrapped = Rectangle { first: at(8, 2), last: at(2, 3) };
        assert_eq!(multicast_route(Noc::Noc0, at(1, 1), wrapped, GRID), None);
        let beyond = Rectangle { first: at(8, 2), last: at(10, 3) };
        assert_eq!(multicast_route(Noc::Noc0, at(1, 1), beyond, GRID), None);
    }
}
