//! Stacks of zones, with the self cycles of the innermost zone.

use super::{NameId, TraceDevice, TraceZone, TraceZones};
use std::collections::{BTreeMap, HashMap};
use wire::Risc;

/// Tree of stacks, in the order of their first occurrence.
#[derive(Default)]
pub(super) struct Stacks {
    nodes: Vec<Node>,
    positions: HashMap<(Option<usize>, NameId), usize>,
}

struct Node {
    parent: Option<usize>,
    name: NameId,
    cycles: u64,
}

/// Returns the stacks of each RISC type of a chip, summed over all cores.
pub(super) fn chip_stacks(device: &TraceDevice<'_>) -> BTreeMap<Risc, Stacks> {
    let mut riscs: BTreeMap<Risc, Stacks> = BTreeMap::new();
    for lane in &device.lanes {
        let stacks = riscs.entry(lane.id.risc).or_default();
        stacks.add_zones(&lane.zones, |zone| zone.name);
    }
    riscs
}

impl Stacks {
    pub(super) fn from_zones(zones: &TraceZones, name: impl Fn(&TraceZone) -> NameId) -> Self {
        let mut stacks = Self::default();
        stacks.add_zones(zones, name);
        stacks
    }

    /// Adds the zones of another lane.
    fn add_zones(&mut self, zones: &TraceZones, name: impl Fn(&TraceZone) -> NameId) {
        let mut around: Vec<usize> = Vec::new();
        for (zone, own) in zones.iter().zip(zones.self_cycles()) {
            around.truncate(zone.depth.into());
            let node = self.node(around.last().copied(), name(zone));
            self.nodes[node].cycles = self.nodes[node].cycles.saturating_add(own);
            around.push(node);
        }
    }

    fn node(&mut self, parent: Option<usize>, name: NameId) -> usize {
        *self.positions.entry((parent, name)).or_insert_with(|| {
            self.nodes.push(Node { parent, name, cycles: 0 });
            self.nodes.len() - 1
        })
    }

    /// Returns each stack that has self cycles, with the outermost zone first.
    pub(super) fn with_cycles(&self) -> impl Iterator<Item = (Vec<NameId>, u64)> {
        let own = (0..self.nodes.len()).filter(|&node| self.nodes[node].cycles > 0);
        own.map(|node| (self.stack(node), self.nodes[node].cycles))
    }

    fn stack(&self, node: usize) -> Vec<NameId> {
        let around = std::iter::successors(Some(node), |&node| self.nodes[node].parent);
        let mut stack: Vec<_> = around.map(|node| self.nodes[node].name).collect();
        stack.reverse();
        stack
    }
}
