//! Matching of the zones of two recordings.
//!
//! Place and name must be equal. First, zones with the same source are paired in order. Then the
//! remaining zones are paired in three cases: their source files have the same name, each side has one
//! zone of this name left, so that its file was renamed, or only one of them has a source.

use super::measured::Measured;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// A zone, with its index in the recording.
type Item<'a> = (usize, &'a Measured);

/// Returns the index pairs of matching zones, as (index in `first`, index in `second`), sorted by
/// the first index.
pub(super) fn pairs_of(first: &[Measured], second: &[Measured]) -> Vec<(usize, usize)> {
    let mut left: Vec<Item<'_>> = first.iter().enumerate().collect();
    let mut right: Vec<Item<'_>> = second.iter().enumerate().collect();
    let mut pairs = Vec::new();
    for found_by in [by_source, by_file, by_name_alone] {
        let found = found_by(&left, &right);
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

type Pairs = Vec<(usize, usize)>;

fn by_source(left: &[Item<'_>], right: &[Item<'_>]) -> Pairs {
    pair_by(left, right, |zone| &zone.source)
}

fn by_file(left: &[Item<'_>], right: &[Item<'_>]) -> Pairs {
    pair_by(left, right, source_file)
}

/// Pairs zones with a source that are the only ones of their place and name on both sides.
fn by_name_alone(left: &[Item<'_>], right: &[Item<'_>]) -> Pairs {
    let [left, right] = [left, right].map(|items| {
        let mut alone: BTreeMap<(&str, &str), Option<usize>> = BTreeMap::new();
        for &(at, zone) in items.iter().filter(|(_, zone)| !zone.source.is_empty()) {
            let key = (&*zone.place, &*zone.name);
            alone.entry(key).and_modify(|known| *known = None).or_insert(Some(at));
        }
        alone
    });
    let both = left.iter().filter_map(|(key, at)| Some(((*at)?, (*right.get(key)?)?)));
    both.collect()
}

/// Returns the part of a zone's source that stays the same if code moves: the name of the file,
/// without folder and line.
pub(super) fn source_file(zone: &Measured) -> &str {
    let file = zone.source.rsplit_once(':').map_or(&*zone.source, |(file, _)| file);
    file.rsplit('/').next().unwrap_or(file)
}

/// Pairs zones with the same place, name and source: the n-th in one recording with the n-th in the
/// other.
fn pair_by<'a>(left: &[Item<'a>], right: &[Item<'a>], source_of: fn(&Measured) -> &str) -> Pairs {
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
        // The file of the last one was renamed: both sides have one zone of this name left.
        assert_eq!(pairs_of(&a, &b), [(0, 0), (1, 1), (2, 2)]);
    }

    #[test]
    fn zones_of_renamed_files_are_matched_only_where_no_other_could_be_meant() {
        let a = [zone("Z", "/a/x.cpp:1"), zone("Z", "/a/x.cpp:9"), zone("Y", "/a/x.cpp:3")];
        let b = [zone("Z", "/a/y.cpp:1"), zone("Y", "/a/y.cpp:4"), zone("X", "/a/y.cpp:5")];
        assert_eq!(pairs_of(&a, &b), [(2, 1)]);
        // A zone of the same file comes first.
        let c = [zone("Z", "/b/x.cpp:2"), zone("Z", "/a/y.cpp:1")];
        assert_eq!(pairs_of(&a, &c), [(0, 0), (1, 1)]);
    }
}
