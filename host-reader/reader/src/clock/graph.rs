//! Clocks of several chips, related by links between chips.
//!
//! Each chip's map to the clock of one chip, the root, is composed of the maps along a path of
//! links. Links that no path needs are used to check the maps.
//!
//! Each link is an edge that maps one chip's counter to a neighbour's counter, with a maximum
//! error. A tree of edges connects each chip to the root by the path with the smallest sum of
//! bounds. Each edge outside the tree closes a loop: the edge's map and the path through the tree
//! must agree within the bounds of the loop.
//!
//! This module does not measure edges. Edges outside the tree are only used for checks; they do not
//! make the bounds smaller.

use super::BoundedLine;
use std::collections::{BTreeMap, BTreeSet};

/// Map from the counter of one chip to the counter of another chip.
#[derive(Debug, Clone, PartialEq)]
pub struct ChipEdge {
    /// The chip whose cycles are the map's output.
    pub sender: u32,
    /// The chip whose cycles are the map's input.
    pub receiver: u32,
    /// Map from receiver cycles to sender cycles; the bound is in sender cycles.
    pub to_sender: BoundedLine,
    /// Receiver cycles at the beginning and at the end of the measurement.
    pub window_cycles: (u64, u64),
}

/// All chips that links connect to a root chip, and their maps to the root chip's cycles.
#[derive(Debug, Clone, PartialEq)]
pub struct ChipTree {
    /// The chip to whose counter the counters of all other chips are mapped.
    pub root: u32,
    /// For each chip in the tree, the map from the chip's cycles to root cycles.
    pub to_root: BTreeMap<u32, BoundedLine>,
    /// The next chip on each chip's path to the root.
    pub parents: BTreeMap<u32, u32>,
    /// Checks of all edges outside the tree.
    pub closures: Vec<LoopClosure>,
}

/// Check of the loop that one edge outside the tree forms with the tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoopClosure {
    /// Index of the edge in the argument of [`ChipTree::new`].
    pub edge_index: usize,
    /// The edge's sender chip.
    pub sender: u32,
    /// The edge's receiver chip.
    pub receiver: u32,
    /// Root time computed through the edge minus root time computed through the tree, in root
    /// cycles.
    ///
    /// The difference is evaluated at both ends of the edge's window. At one of the two ends, the
    /// difference is the larger fraction of the allowed residual; this field is the difference at
    /// that end.
    pub residual_cycles: f64,
    /// Maximum residual that the bounds of the loop's edges allow, in root cycles.
    pub allowed_cycles: f64,
}

impl LoopClosure {
    /// Returns true if the loop closes within its bounds.
    ///
    /// Otherwise, an edge of the loop is wrong, or a clock changed its frequency between the
    /// measurements.
    pub fn holds(&self) -> bool {
        self.residual_cycles.abs() <= self.allowed_cycles
    }

    fn used(&self) -> f64 {
        self.residual_cycles.abs() / self.allowed_cycles
    }
}

/// A chip that could be added to the tree, with its map to root cycles.
struct Step {
    chip: u32,
    parent: u32,
    to_root: BoundedLine,
    bound_cycles: f64,
}

impl ChipTree {
    /// Builds the tree of all chips reachable from `root`. Several edges between the same two chips
    /// are allowed.
    ///
    /// # Compatibility
    ///
    /// Maps are composed as in TT-Metal: `scale = parent * child`,
    /// `shift = parent_scale * child_shift + parent_shift`. TT-Metal walks its tree depth first
    /// from the root. For the reverse direction of an edge, TT-Metal uses `(1 / scale, -shift)`,
    /// and this module `(1 / scale, -shift / scale)`.
    pub fn new(root: u32, edges: &[ChipEdge]) -> Self {
        let identity = BoundedLine::from_scale_and_shift(1.0, 0.0, 0.0);
        let to_root = identity.map(|line| (root, line)).into_iter().collect();
        let mut tree = Self { root, to_root, parents: BTreeMap::new(), closures: Vec::new() };
        let mut used = BTreeSet::new();
        while let Some((edge_index, step)) = tree.best_step(edges) {
            used.insert(edge_index);
            tree.to_root.insert(step.chip, step.to_root);
            tree.parents.insert(step.chip, step.parent);
        }
        let others = edges.iter().enumerate().filter(|(index, _)| !used.contains(index));
        tree.closures = others.filter_map(|(index, edge)| tree.closure(index, edge)).collect();
        tree
    }

    /// Returns the edge with the smallest bound among the edges from the tree to a new chip.
    fn best_step(&self, edges: &[ChipEdge]) -> Option<(usize, Step)> {
        let steps = edges.iter().enumerate();
        let steps = steps.filter_map(|(index, edge)| Some((index, self.step(edge)?)));
        steps.min_by(|(_, one), (_, other)| one.bound_cycles.total_cmp(&other.bound_cycles))
    }

    fn step(&self, edge: &ChipEdge) -> Option<Step> {
        let (first, last) = edge.window_cycles;
        let middle = first.wrapping_add(last.wrapping_sub(first) / 2);
        let at_sender = edge.to_sender.line().at(middle).0.cast_unsigned();
        match (self.to_root.get(&edge.sender), self.to_root.get(&edge.receiver)) {
            (Some(sender), None) => {
                let to_root = edge.to_sender.then(sender)?;
                let bound_cycles = to_root.bound_at(middle);
                Some(Step { chip: edge.receiver, parent: edge.sender, to_root, bound_cycles })
            }
            (None, Some(receiver)) => {
                let to_root = edge.to_sender.inverse()?.then(receiver)?;
                let bound_cycles = to_root.bound_at(at_sender);
                Some(Step { chip: edge.sender, parent: edge.receiver, to_root, bound_cycles })
            }
            _ => None,
        }
    }

    fn closure(&self, edge_index: usize, edge: &ChipEdge) -> Option<LoopClosure> {
        let over_tree = self.to_root.get(&edge.receiver)?;
        let over_edge = edge.to_sender.then(self.to_root.get(&edge.sender)?)?;
        let [first, last] =
            [edge.window_cycles.0, edge.window_cycles.1].map(|cycles| LoopClosure {
                edge_index,
                sender: edge.sender,
                receiver: edge.receiver,
                residual_cycles: over_edge.line().minus(over_tree.line(), cycles),
                allowed_cycles: over_edge.bound_at(cycles) + over_tree.bound_at(cycles),
            });
        Some(if first.used() > last.used() { first } else { last })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{
        Bracket, CorridorFit, Resolution,
        simulated::{Schedule, Seeded, TrueClock, ethernet_pings},
    };

    /// Returns four chips whose clocks differ by some ppm in rate and by hours in offset.
    fn chips(random: &mut Seeded) -> Vec<TrueClock> {
        (0..4).map(|_| TrueClock::random(random)).collect()
    }

    fn edge(chips: &[TrueClock], sender: u32, receiver: u32, random: &mut Seeded) -> ChipEdge {
        let schedule = Schedule { count: 120, ..Schedule::ONE_SECOND };
        let ends = (&chips[sender as usize], &chips[receiver as usize]);
        let pings = ethernet_pings(ends.0, ends.1, schedule, random);
        let brackets: Vec<Bracket> = pings.iter().flat_map(Bracket::from_ethernet).collect();
        let fit = CorridorFit::fit(&brackets, Resolution::CYCLES).unwrap();
        let window_cycles = (pings[0].receiver_start_cycles, pings[119].receiver_end_cycles);
        ChipEdge { sender, receiver, to_sender: fit.line().clone(), window_cycles }
    }

    fn edges(chips: &[TrueClock], ends: &[(u32, u32)], random: &mut Seeded) -> Vec<ChipEdge> {
        ends.iter().map(|&(sender, receiver)| edge(chips, sender, receiver, random)).collect()
    }

    #[test]
    fn every_chip_maps_to_the_root_within_its_bound() {
        for seed in 0..20 {
            let mut random = Seeded::new(seed);
            let chips = chips(&mut random);
            // Chip 2 is only reachable against the direction of its edge.
            let tree = ChipTree::new(0, &edges(&chips, &[(0, 1), (2, 1), (2, 3)], &mut random));
            assert_eq!(tree.parents, [(1, 0), (2, 1), (3, 2)].into());
            for (&chip, to_root) in &tree.to_root {
                for at_ns in [0.0, 2e8, 4e8] {
                    let cycles = chips[chip as usize].reading_at(at_ns);
                    let (whole, rest) = to_root.line().at(cycles);
                    let truth = chips[0].cycles_at(chips[chip as usize].time_of(cycles));
                    let root = whole.cast_unsigned().wrapping_sub(chips[0].origin_cycles);
                    let error = root.cast_signed() as f64 + rest - truth;
                    assert!(error.abs() <= to_root.bound_at(cycles), "seed {seed}: {error}");
                }
            }
        }
    }

    #[test]
    fn loops_of_honest_edges_close() {
        let mut random = Seeded::new(7);
        let chips = chips(&mut random);
        let ends = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)];
        let tree = ChipTree::new(0, &edges(&chips, &ends, &mut random));
        assert_eq!(tree.closures.len(), 2);
        for closure in &tree.closures {
            assert!(closure.holds(), "{closure:?}");
            assert!(closure.allowed_cycles < 10_000.0);
        }
    }

    #[test]
    fn loop_with_a_wrong_edge_does_not_close() {
        let mut random = Seeded::new(8);
        let mut chips = chips(&mut random);
        let mut edges = edges(&chips, &[(0, 1), (1, 2)], &mut random);
        // Chip 2 was reset between the measurements.
        chips[2] = chips[2].clone().with_offset(5_000_000);
        edges.push(edge(&chips, 0, 2, &mut random));
        let tree = ChipTree::new(0, &edges);
        let [closure] = &tree.closures[..] else { panic!("one loop") };
        assert!(!closure.holds());
        assert!((closure.residual_cycles.abs() - 5e6).abs() < 10_000.0, "{closure:?}");
    }

    #[test]
    fn chips_without_an_edge_are_left_out() {
        let mut random = Seeded::new(9);
        let chips = chips(&mut random);
        let tree = ChipTree::new(0, &edges(&chips, &[(0, 1), (2, 3)], &mut random));
        assert_eq!(tree.to_root.keys().collect::<Vec<_>>(), [&0, &1]);
        assert!(tree.closures.is_empty());
    }
}
