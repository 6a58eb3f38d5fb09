//! Demand for links and tiles in one time step of the simulation, and the resulting rate of each
//! transfer.
//!
//! The sums use single precision and the same order as tt-npe. A difference of one byte at the end
//! of a step would change the end of a transfer, and therefore the starts of later transfers.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "indices are of tiles on the grid, for each of which the tables have an element"
)]

use super::{
    chip::{NocChip, TileKind},
    workload::{Flow, Sink},
};
use crate::noc_events::{
    payload::Noc,
    route::{Direction, Grid},
};
use reader::mesh::Noc0Coord;

/// Links and endpoints of a transfer as indices into the tables of a [`Demand`].
#[derive(Clone, Debug)]
pub(super) struct Path {
    links: Vec<usize>,
    source: usize,
    /// Tiles that receive the bytes.
    sinks: Vec<usize>,
    /// Bytes that the source can send per cycle to all sinks.
    source_rate: f32,
    /// Bytes that the sink can receive per cycle from all sources; `None` for multicasts, which are
    /// not limited by their sinks.
    sink_rate: Option<f32>,
    is_multicast: bool,
    /// Bytes per cycle if there are no other transfers.
    pub(super) free_rate: f32,
}

impl Path {
    pub(super) fn new(flow: &Flow, chip: &NocChip) -> Self {
        let grid = chip.grid();
        let end = |tile: Noc0Coord| tile_index(tile, grid) * 2 + usize::from(flow.noc == Noc::Noc1);
        let (sinks, sink_rate) = match flow.sink {
            Sink::Tile(to) => (vec![end(to)], Some(chip.sink_rate(to))),
            Sink::Rectangle(tiles) => {
                let lines = tiles.lines(flow.noc);
                let tiles = lines.into_iter().flat_map(|[columns, rows]| {
                    rows.flat_map(move |y| columns.clone().map(move |x| Noc0Coord { x, y }))
                });
                let workers = tiles.filter(|&tile| chip.kind(tile) == TileKind::Worker);
                (workers.map(end).collect(), None)
            }
        };
        let source_rate = chip.source_rate(flow.from);
        let links = flow.links(grid).into_iter();
        Self {
            links: links.map(|(tile, way)| link_index(tile, way, grid)).collect(),
            source: end(flow.from),
            sinks,
            source_rate,
            sink_rate,
            is_multicast: matches!(flow.sink, Sink::Rectangle(_)),
            free_rate: source_rate.min(chip.rates.transfer),
        }
    }

    /// Returns the number of links and endpoints of the transfer.
    pub(super) fn len(&self) -> u64 {
        (self.links.len() + self.sinks.len() + 1) as u64
    }
}

fn tile_index(tile: Noc0Coord, (columns, _): Grid) -> usize {
    usize::from(tile.y) * usize::from(columns) + usize::from(tile.x)
}

/// Returns the index of a link. Each tile has two outgoing links per network.
fn link_index(tile: Noc0Coord, way: Direction, grid: Grid) -> usize {
    let way = match way {
        Direction::East => 0,
        Direction::South => 1,
        Direction::North => 2,
        Direction::West => 3,
    };
    tile_index(tile, grid) * 4 + way
}

/// Total demand of all transfers, in bytes per cycle.
pub(super) struct Demand {
    links: Vec<f32>,
    multicast_links: Vec<f32>,
    sources: Vec<f32>,
    sinks: Vec<f32>,
    link_rate: f32,
    /// Links with demand, each listed once.
    used_links: Vec<usize>,
    used_ends: Vec<usize>,
}

impl Demand {
    pub(super) fn new(chip: &NocChip) -> Self {
        let (columns, rows) = chip.grid();
        let tiles = usize::from(columns) * usize::from(rows);
        Self {
            links: vec![0.0; tiles * 4],
            multicast_links: vec![0.0; tiles * 4],
            sources: vec![0.0; tiles * 2],
            sinks: vec![0.0; tiles * 2],
            link_rate: chip.rates.link,
            used_links: Vec::new(),
            used_ends: Vec::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        for link in self.used_links.drain(..) {
            self.links[link] = 0.0;
            self.multicast_links[link] = 0.0;
        }
        for end in self.used_ends.drain(..) {
            self.sources[end] = 0.0;
            self.sinks[end] = 0.0;
        }
    }

    /// Adds the demand of a transfer that is active for the given share of the step.
    pub(super) fn add(&mut self, path: &Path, share: f32) {
        let rate = path.free_rate * share;
        self.sources[path.source] += rate;
        self.used_ends.push(path.source);
        for &sink in &path.sinks {
            self.sinks[sink] += rate;
            self.used_ends.push(sink);
        }
        for &link in &path.links {
            if self.links[link] == 0.0 && rate > 0.0 {
                self.used_links.push(link);
            }
            self.links[link] += rate;
            if path.is_multicast {
                self.multicast_links[link] += rate;
            }
        }
    }

    /// Returns the bytes per cycle of a transfer: its free rate, reduced by the overload of its
    /// most overloaded link or endpoint.
    pub(super) fn rate(&self, path: &Path) -> f32 {
        let busiest = path.links.iter().map(|&link| self.links[link]).fold(0.0, f32::max);
        let sink_share = match (path.sink_rate, path.sinks.as_slice()) {
            (Some(rate), &[sink]) => rate / self.sinks[sink],
            _ => f32::INFINITY,
        };
        let source_share = path.source_rate / self.sources[path.source];
        let left = (self.link_rate / busiest).min(source_share).min(sink_share);
        let lost = if left < 1.0 { 1.0 - left } else { 0.0 };
        #[expect(clippy::cast_possible_truncation, reason = "a rate in single precision is meant")]
        let rate = (f64::from(path.free_rate) * (1.0 - f64::from(lost))) as f32;
        rate
    }

    /// Returns the utilisation of all links and the part due to multicasts, in percent.
    pub(super) fn utilisation_percent(&self) -> [f64; 2] {
        #[expect(clippy::cast_precision_loss, reason = "a grid has a few hundred links")]
        let whole = f64::from(self.link_rate) * self.links.len() as f64;
        [&self.links, &self.multicast_links].map(|links| {
            let demands = self.used_links.iter().map(|&link| links[link].min(self.link_rate));
            100.0 * demands.map(f64::from).sum::<f64>() / whole
        })
    }
}
