//! Fits the clock of a mesh to its samples.

use super::{ChipFit, ClockSource, LinkBurst, MeshClock, MeshSamples, SyncProblem};
use reader::clock::{
    BoundedLine, Bracket, ChipEdge, ChipTree, ClockError, CorridorFit, PiecewiseClock, Resolution,
    SteppedFit, Tile, TileOffset, TwoWayPing,
};
use std::collections::BTreeMap;

/// Resolution of the host's and the chips' clocks.
const RESOLUTION: Resolution = Resolution::HOST_NANOSECONDS;

impl MeshSamples {
    /// Fits the clock of a mesh to all measurements.
    ///
    /// This method always returns a clock. If the clock of a chip or tile cannot be fitted, the
    /// returned clock contains a problem.
    #[must_use]
    pub fn fit(&self) -> MeshClock {
        let mut fitting = Fitting { samples: self, chips: BTreeMap::new(), problems: Vec::new() };
        for chip_id in self.chips() {
            fitting.fit_chip(chip_id);
        }
        let tree = fitting.tree();
        let clocks = fitting.clocks(tree.as_ref());
        let Fitting { chips, problems, .. } = fitting;
        MeshClock { clocks, chips, tree, problems, samples: self.clone() }
    }
}

/// A fit in progress.
struct Fitting<'a> {
    samples: &'a MeshSamples,
    chips: BTreeMap<u32, ChipFit>,
    problems: Vec<SyncProblem>,
}

impl Fitting<'_> {
    fn fit_chip(&mut self, chip_id: u32) {
        let Some(reference) = self.samples.reference(chip_id) else { return };
        let pings = in_order(self.pings(reference));
        let fit = match SteppedFit::fit(&pings, RESOLUTION) {
            Ok(fit) => fit,
            Err(source) => return self.problems.push(SyncProblem::ChipFit { chip_id, source }),
        };
        self.note_doubts(reference, &fit);
        let mut offsets = BTreeMap::new();
        for (tile, pings) in self.samples.tiles_of(chip_id) {
            let offset = if tile == reference {
                Some(TileOffset { cycles: 0, bound_cycles: 0.0 })
            } else {
                self.offset(tile, &fit.clock, pings)
            };
            offsets.extend(offset.map(|offset| (tile, offset)));
        }
        let source = ClockSource::HostPings;
        self.chips.insert(chip_id, ChipFit { reference, fit, source, offsets });
    }

    fn note_doubts(&mut self, tile: Tile, fit: &SteppedFit) {
        if !fit.rejected.is_empty() {
            let rejected_count = fit.rejected.len();
            self.problems.push(SyncProblem::Rejected { tile, rejected_count });
        }
        if !fit.is_assured {
            let unfitted_count = fit.unfitted_count;
            self.problems.push(SyncProblem::Unassured { chip_id: tile.chip, unfitted_count });
        }
    }

    fn offset(
        &mut self,
        tile: Tile,
        chip: &PiecewiseClock,
        pings: &[TwoWayPing],
    ) -> Option<TileOffset> {
        match without_a_wrong_one(pings, |pings| TileOffset::from_pings(chip, pings, RESOLUTION)) {
            Ok((offset, rejected_count)) => {
                if rejected_count > 0 {
                    self.problems.push(SyncProblem::Rejected { tile, rejected_count });
                }
                Some(offset)
            }
            Err(source) => {
                self.problems.push(SyncProblem::TileFit { tile, source });
                None
            }
        }
    }

    /// Returns a tree of paths between the chips with a constant frequency; `None` if no two such
    /// chips are connected.
    ///
    /// Adds a problem for each pair of chips for which two paths give different clock relations.
    fn tree(&mut self) -> Option<ChipTree> {
        let root = self.root()?;
        let mut edges = self.host_edges(root);
        let bursts = self.samples.link_bursts();
        edges.extend(bursts.filter_map(|burst| self.link_edge(&burst)));
        if edges.is_empty() {
            return None;
        }
        let tree = ChipTree::new(root, &edges);
        let open = tree.closures.iter().filter(|closure| !closure.holds());
        self.problems.extend(open.map(|closure| SyncProblem::OpenLoop {
            sender: closure.sender,
            receiver: closure.receiver,
            residual_cycles: closure.residual_cycles,
            allowed_cycles: closure.allowed_cycles,
        }));
        Some(tree)
    }

    /// Of the chips whose frequency was constant, returns the one whose clock has the smallest
    /// error bound.
    fn root(&self) -> Option<u32> {
        let chips = self.chips.iter().filter(|(_, chip)| only_line(chip).is_some());
        let bounds = chips.map(|(&id, chip)| (id, self.bound_in_middle(chip, &chip.fit.clock)));
        bounds.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(id, _)| id)
    }

    fn bound_in_middle(&self, chip: &ChipFit, clock: &PiecewiseClock) -> f64 {
        let (first, last) = self.window(chip.reference);
        clock.bound_at(first.wrapping_add(last.wrapping_sub(first) / 2))
    }

    /// Returns the first and the last counter value that was read from a tile.
    fn window(&self, tile: Tile) -> (u64, u64) {
        let pings = in_order(self.pings(tile));
        let (Some(first), Some(last)) = (pings.first(), pings.last()) else { return (0, 0) };
        (first.device_cycles, last.device_cycles)
    }

    fn pings(&self, tile: Tile) -> &[TwoWayPing] {
        let mut tiles = self.samples.tiles_of(tile.chip);
        tiles.find(|(other, _)| *other == tile).map_or(&[], |(_, pings)| pings)
    }

    /// Returns one edge from the root to each other chip. Each edge is computed from the relations
    /// of both chips to the host's clock.
    fn host_edges(&self, root: u32) -> Vec<ChipEdge> {
        let Some(from_host) = self.chips.get(&root).and_then(only_line).and_then(|l| l.inverse())
        else {
            return Vec::new();
        };
        let others = self.chips.iter().filter(|(id, _)| **id != root);
        others
            .filter_map(|(&receiver, chip)| {
                let to_sender = only_line(chip)?.then(&from_host)?;
                let window_cycles = self.window(chip.reference);
                Some(ChipEdge { sender: root, receiver, to_sender, window_cycles })
            })
            .collect()
    }

    /// Converts the measurements of a link to an edge between the reference clocks of the two
    /// chips.
    fn link_edge(&mut self, burst: &LinkBurst) -> Option<ChipEdge> {
        let &LinkBurst { sender, receiver, ref pings } = burst;
        let brackets: Vec<Bracket> = pings.iter().flat_map(Bracket::from_ethernet).collect();
        let fit = match CorridorFit::fit(&brackets, Resolution::CYCLES) {
            Ok(fit) => fit,
            Err(source) => {
                self.problems.push(SyncProblem::LinkFit { sender, receiver, source });
                return None;
            }
        };
        let to_sender = self.between_references(fit.line(), sender, receiver);
        let (Some(to_sender), Some(offset)) = (to_sender, self.constant_offset(receiver)) else {
            self.problems.push(SyncProblem::LinkEnd { sender, receiver });
            return None;
        };
        let window_cycles = match (brackets.first(), brackets.last()) {
            (Some(first), Some(last)) => {
                let to_reference = offset.cycles.wrapping_neg();
                (
                    first.cycles.wrapping_add_signed(to_reference),
                    last.cycles.wrapping_add_signed(to_reference),
                )
            }
            _ => (0, 0),
        };
        Some(ChipEdge { sender: sender.chip, receiver: receiver.chip, to_sender, window_cycles })
    }

    fn between_references(
        &self,
        tiles: &BoundedLine,
        sender: Tile,
        receiver: Tile,
    ) -> Option<BoundedLine> {
        let (to, from) = (self.constant_offset(sender)?, self.constant_offset(receiver)?);
        let from_reference =
            tiles.with_counter_shifted(from.cycles.wrapping_neg(), from.bound_cycles);
        let shift = -(to.cycles as f64);
        from_reference.then(&BoundedLine::from_scale_and_shift(1.0, shift, to.bound_cycles)?)
    }

    /// Returns a tile's offset; `None` unless the frequency of the tile's chip was constant.
    fn constant_offset(&self, tile: Tile) -> Option<TileOffset> {
        let chip = self.chips.get(&tile.chip)?;
        only_line(chip)?;
        chip.offsets.get(&tile).copied()
    }

    /// Returns the clock of each chip, computed over the path with the smallest error bound.
    fn clocks(&mut self, tree: Option<&ChipTree>) -> BTreeMap<u32, PiecewiseClock> {
        let mut clocks = BTreeMap::new();
        for chip_id in self.samples.chips() {
            let over = tree.and_then(|tree| self.clock_over(tree, chip_id));
            let Some(chip) = self.chips.get_mut(&chip_id) else { continue };
            let clock = match over {
                Some((parent, clock)) => {
                    chip.source = ClockSource::OverChip { parent };
                    clock
                }
                None => chip.fit.clock.clone(),
            };
            clocks.insert(chip_id, clock);
        }
        clocks
    }

    /// Returns the next chip on the path to the tree's root, and the chip's clock computed over
    /// that path.
    ///
    /// Returns `None` if the clock fitted to the chip's own pings has an equal or smaller error
    /// bound.
    fn clock_over(&self, tree: &ChipTree, chip_id: u32) -> Option<(u32, PiecewiseClock)> {
        let parent = *tree.parents.get(&chip_id)?;
        let chip = self.chips.get(&chip_id)?;
        let root = self.chips.get(&tree.root)?;
        let clock = root.fit.clock.after(tree.to_root.get(&chip_id)?)?;
        let own = self.bound_in_middle(chip, &chip.fit.clock);
        (self.bound_in_middle(chip, &clock) < own).then_some((parent, clock))
    }
}

fn only_line(chip: &ChipFit) -> Option<&BoundedLine> {
    match chip.fit.clock.lines() {
        [line] => Some(line),
        _ => None,
    }
}

/// Sorts pings by host time. In a capture of several sessions, the pings may be out of order.
fn in_order(pings: &[TwoWayPing]) -> Vec<TwoWayPing> {
    let mut pings = pings.to_vec();
    pings.sort_by_key(|ping| ping.host_send_ns);
    pings
}

/// Minimum number of pings of a tile. Of fewer pings, none is rejected, even if one contradicts the
/// others.
const FEWEST_TO_OUTVOTE: usize = 4;

/// Fits all pings, or all pings except one that contradicts the others.
///
/// Also returns the number of rejected pings, which is 0 or 1.
fn without_a_wrong_one<T>(
    pings: &[TwoWayPing],
    fit: impl Fn(&[TwoWayPing]) -> Result<T, ClockError>,
) -> Result<(T, usize), ClockError> {
    let error = match fit(pings) {
        Ok(origin) => return Ok((origin, 0)),
        Err(error) => error,
    };
    if pings.len() < FEWEST_TO_OUTVOTE {
        return Err(error);
    }
    let origin = (0..pings.len()).find_map(|index| {
        let mut others = pings.to_vec();
        others.remove(index);
        fit(&others).ok()
    });
    origin.map(|origin| (origin, 1)).ok_or(error)
}
