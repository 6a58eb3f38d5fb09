//! Stacks of zones, with the self cycles of the innermost zone.

use super::{NameId, TraceZone, TraceZones};
use analysis::{ZoneSum, ZoneTime};
use std::collections::{BTreeMap, HashMap};

/// Tree of stacks, in the order of their first occurrence.
#[derive(Default)]
pub(super) struct Stacks {
    nodes: Vec<Node>,
    positions: HashMap<(Option<usize>, NameId), usize>,
}

struct Node {
    parent: Option<usize>,
    name: NameId,
    sum: ZoneSum<()>,
    /// Cycles inside of which it is unknown which zone was running.
    unknown_cycles: u64,
}

/// A stack of zones, outermost first, with the figures of the innermost zone.
pub(super) struct Stack {
    pub(super) names: Vec<NameId>,
    /// Cycles that no zone inside covers.
    pub(super) self_cycles: u64,
    /// Number of zones without a recorded end.
    pub(super) open_count: u64,
    /// Cycles after the start of open zones inside: it is unknown which zone they belong to.
    pub(super) unknown_cycles: u64,
}

impl Stacks {
    pub(super) fn from_zones(zones: &TraceZones, name: impl Fn(&TraceZone) -> NameId) -> Self {
        Self::by_root(zones, name, |_| ()).remove(&()).unwrap_or_default()
    }

    /// Returns the stacks of each group of outermost zones. `root` returns the group of a zone that is
    /// in no other.
    pub(super) fn by_root<K: Ord + Copy>(
        zones: &TraceZones,
        name: impl Fn(&TraceZone) -> NameId,
        root: impl Fn(&TraceZone) -> K,
    ) -> BTreeMap<K, Self> {
        let mut groups: BTreeMap<K, Self> = BTreeMap::new();
        let mut group = None;
        // For each zone around: its node, and whether its end is recorded.
        let mut around: Vec<(usize, bool)> = Vec::new();
        for zone in zones.iter() {
            around.truncate(zone.depth.into());
            let own = *group.insert(match group {
                Some(group) if !around.is_empty() => group,
                _ => root(zone),
            });
            let stacks = groups.entry(own).or_default();
            let node = stacks.node(around.last().map(|&(node, _)| node), name(zone));
            stacks.nodes[node].sum.add(zone.time(), ());
            if let ZoneTime::Open { unknown_cycles } = zone.time()
                && let Some(&(whole, _)) = around.iter().rfind(|(_, is_whole)| *is_whole)
            {
                let unknown = &mut stacks.nodes[whole].unknown_cycles;
                *unknown = unknown.saturating_add(unknown_cycles);
            }
            around.push((node, !zone.has_synthetic_end));
        }
        groups
    }

    /// Adds the stacks of the next part of the lane, or of another lane.
    pub(super) fn merge(&mut self, later: Self) {
        let mut own: Vec<usize> = Vec::with_capacity(later.nodes.len());
        for node in later.nodes {
            // A node comes after the node around it.
            let at = self.node(node.parent.map(|parent| own[parent]), node.name);
            self.nodes[at].sum.merge(node.sum);
            let unknown = &mut self.nodes[at].unknown_cycles;
            *unknown = unknown.saturating_add(node.unknown_cycles);
            own.push(at);
        }
    }

    fn node(&mut self, parent: Option<usize>, name: NameId) -> usize {
        *self.positions.entry((parent, name)).or_insert_with(|| {
            self.nodes.push(Node { parent, name, sum: ZoneSum::default(), unknown_cycles: 0 });
            self.nodes.len() - 1
        })
    }

    /// Returns each stack that has cycles or open zones.
    pub(super) fn stacks(&self) -> impl Iterator<Item = Stack> {
        let stacks = self.nodes.iter().map(|node| Stack {
            names: self.names(node),
            self_cycles: node.sum.self_cycles,
            open_count: node.sum.open_count,
            unknown_cycles: node.unknown_cycles,
        });
        stacks.filter(|stack| {
            (stack.self_cycles, stack.open_count, stack.unknown_cycles) != (0, 0, 0)
        })
    }

    fn names(&self, node: &Node) -> Vec<NameId> {
        let around =
            std::iter::successors(Some(node), |node| node.parent.map(|parent| &self.nodes[parent]));
        let mut names: Vec<_> = around.map(|node| node.name).collect();
        names.reverse();
        names
    }
}
