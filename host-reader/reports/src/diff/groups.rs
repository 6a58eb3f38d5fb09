//! Time gained and lost by kind and shapes of ops.

use super::{kind::kind_of, pairing::Pairing};
use std::{collections::HashMap, sync::Arc};

/// All compared ops of one kind with the same shapes, over all devices.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Group {
    /// Name of the first op in A.
    pub name: Arc<str>,
    /// Shapes of the tensors; if they differ, those of A and of B; empty if unknown.
    pub shapes: String,
    /// Number of pairs of launches.
    pub pair_count: usize,
    /// Time in A, in ns.
    pub a_ns: f64,
    /// Time in B, in ns.
    pub b_ns: f64,
    /// Time in B minus time in A, in ns. Below 0, time was gained.
    pub change_ns: f64,
    /// Time in B divided by time in A. Above 1, B is slower.
    pub ratio: f64,
}

/// Returns the groups of all compared ops, the largest change first.
pub(super) fn groups_of(pairing: &Pairing<'_>) -> Vec<Group> {
    let mut places = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for pair in pairing.ops() {
        let shapes = [pair.a, pair.b].map(|op| op.traits.shapes.as_deref().unwrap_or(&op.source));
        let at = *places.entry((kind_of(&pair.a.name), shapes)).or_insert(groups.len());
        if groups.len() == at {
            let [a, b] = shapes;
            groups.push(Group {
                name: pair.a.name.clone(),
                shapes: if a == b || b.is_empty() { a.to_owned() } else { format!("{a} -> {b}") },
                pair_count: 0,
                a_ns: 0.0,
                b_ns: 0.0,
                change_ns: 0.0,
                ratio: 1.0,
            });
        }
        let Some(group) = groups.get_mut(at) else { continue };
        group.pair_count = group.pair_count.saturating_add(1);
        group.a_ns += pair.a_ns;
        group.b_ns += pair.b_ns;
    }
    for group in &mut groups {
        group.change_ns = group.b_ns - group.a_ns;
        group.ratio = group.b_ns / group.a_ns;
    }
    groups.sort_by(|one, other| other.change_ns.abs().total_cmp(&one.change_ns.abs()));
    groups
}
