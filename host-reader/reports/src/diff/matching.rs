//! Matching of the zones of two recordings.
//!
//! Place and name must be equal. First, zones with the same source are paired in order. Then the
//! remaining zones are paired in two cases: their source files have the same name, or only one of
//! them has a source.

use super::measured::Measured;
use std::collections::{HashMap, HashSet, VecDeque};

/// A zone, with its index in the recording.
type Item<'a> = (usize, &'a Measured);

/// Returns the index pairs of matching zones, as (index in `first`, index in `second`), sorted by
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
    // Zones without a source in one recording are paired, in order, with zones that have a source
    // in the other.
    let [(named, bare), (named_right, bare_right)] = [left, right]
        .map(|items| items.into_iter().partition::<Vec<_>, _>(|(_, item)| !item.source.is_empty()));
    pairs.extend(pair_by(&bare, &named_right, |_| ""));
    pairs.extend(pair_by(&named, &bare_right, |_| ""));
    pairs.sort_unstable();
    pairs
}

fn exact_source(zone: &Measured) -> &str {
    &zone.source
}

/// Returns the part of a zone's source that stays the same if code moves: the name of the file,
/// without folder and line.
fn moved_source(zone: &Measured) -> &str {
    let file = zone.source.rsplit_once(':').map_or(&*zone.source, |(file, _)| file);
    file.rsplit('/').next().unwrap_or(file)
}

/// Pairs zones with the same place, name and source: the n-th in one recording with the n-th in the
/// other.
fn pair_by<'a>(
    left: &[Item<'a>],
    right: &[Item<'a>],
    source_of: fn(&Measured) -> &str,
) -> Vec<(usize, usize)> {
    let [left, right] = [left, right].map(|items| {
        items.iter().map(|&(at, item)| ((&*item.place, &*item.name, source_of(item)), at))
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
    use crate::diff::MeasuredKind;

    fn zone(name: &str, source: &str) -> Measured {
        Measured {
            kind: MeasuredKind::Zone,
            place: "chip 0 BRISC".into(),
            name: name.into(),
            source: source.into(),
            traits: Default::default(),
            attributes: Default::default(),
            clock_mhz: None,
            durations_ns: vec![1.0],
            in_runs: None,
        }
    }

    #[test]
    fn zones_are_matched_by_source_then_by_order_within_a_file() {
        let a = [zone("Z", "/a/k.cpp:10"), zone("Z", "/a/k.cpp:20"), zone("Z", "/a/x.cpp:1")];
        let b = [zone("Z", "/b/k.cpp:11"), zone("Z", "/a/k.cpp:20"), zone("Z", "/a/y.cpp:1")];
        assert_eq!(pairs_of(&a, &b), [(0, 0), (1, 1)]);
    }
}
