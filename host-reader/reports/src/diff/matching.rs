//! Matching of the ops and zones of two recordings.
//!
//! Kind, place and name must be equal. First, items with the same source are paired in order. Then
//! the remaining items are paired in two cases: zones whose source files have the same name, and
//! items that have a source in only one recording. An op with different shapes is a different op.

use super::measured::{Measured, MeasuredKind};
use std::collections::{HashMap, HashSet, VecDeque};

/// An op or zone, with its index in the recording.
type Item<'a> = (usize, &'a Measured);

/// Returns the index pairs of matching items, as (index in `first`, index in `second`), sorted by
/// the first index.
pub(super) fn pairs_of(first: &[Measured], second: &[Measured]) -> Vec<(usize, usize)> {
    let mut left: Vec<Item<'_>> = first.iter().enumerate().collect();
    let mut right: Vec<Item<'_>> = second.iter().enumerate().collect();
    let mut pairs = Vec::new();
    for source_of in [exact_source, moved_source] {
        let found = pair_by(&left, &right, source_of);
        let (taken_left, taken_right): (HashSet<_>, HashSet<_>) = found.iter().copied().unzip();
        left.retain(|(at, _)| !taken_left.contains(at));
        right.retain(|(at, _)| !taken_right.contains(at));
        pairs.extend(found);
    }
    // Items without a source in one recording are paired, in order, with items that have a source
    // in the other.
    let [(named, bare), (named_right, bare_right)] = [left, right]
        .map(|items| items.into_iter().partition::<Vec<_>, _>(|(_, item)| !item.source.is_empty()));
    pairs.extend(pair_by(&bare, &named_right, |_| String::new()));
    pairs.extend(pair_by(&named, &bare_right, |_| String::new()));
    pairs.sort_unstable();
    pairs
}

fn exact_source(item: &Measured) -> String {
    item.source.clone()
}

/// Returns the part of an item's source that stays the same if code moves. For a zone, this is the
/// file name without folder and line; for an op, it is the whole source.
fn moved_source(item: &Measured) -> String {
    match item.kind {
        MeasuredKind::Op => item.source.clone(),
        MeasuredKind::Zone => {
            let file = item.source.rsplit_once(':').map_or(&*item.source, |(file, _)| file);
            file.rsplit('/').next().unwrap_or(file).to_owned()
        }
    }
}

/// Pairs items with the same kind, place, name and source: the n-th item in one recording with the
/// n-th item in the other.
fn pair_by<'a>(
    left: &[Item<'a>],
    right: &[Item<'a>],
    source_of: fn(&Measured) -> String,
) -> Vec<(usize, usize)> {
    let [left, right] = [left, right].map(|items| {
        items
            .iter()
            .map(|&(at, item)| ((item.kind, &*item.place, &*item.name, source_of(item)), at))
    });
    let mut waiting: HashMap<_, VecDeque<usize>> = HashMap::new();
    for (key, at) in right {
        waiting.entry(key).or_default().push_back(at);
    }
    left.filter_map(|(key, at)| Some((at, waiting.get_mut(&key)?.pop_front()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str, source: &str) -> Measured {
        Measured {
            kind: MeasuredKind::Zone,
            place: "chip 0 BRISC".into(),
            name: name.into(),
            source: source.into(),
            durations_ns: vec![1.0],
        }
    }

    #[test]
    fn zones_are_matched_by_source_then_by_order_within_a_file() {
        let a = [zone("Z", "/a/k.cpp:10"), zone("Z", "/a/k.cpp:20"), zone("Z", "/a/x.cpp:1")];
        let b = [zone("Z", "/b/k.cpp:11"), zone("Z", "/a/k.cpp:20"), zone("Z", "/a/y.cpp:1")];
        assert_eq!(pairs_of(&a, &b), [(0, 0), (1, 1)]);
    }

    #[test]
    fn ops_of_other_shapes_are_other_ops() {
        assert_eq!(pairs_of(&[op("32x32")], &[op("64x64")]), []);
        assert_eq!(pairs_of(&[op("32x32"), op("32x32")], &[op("32x32")]), [(0, 0)]);
        assert_eq!(pairs_of(&[op("32x32")], &[op("")]), [(0, 0)]);
    }

    fn op(source: &str) -> Measured {
        Measured { kind: MeasuredKind::Op, ..zone("Matmul", source) }
    }
}
