//! What tells changes with the same name and source apart.

use super::{change::Change, measured::Measured, traits::OpTraits};
use crate::perf::attribute_parts;
use std::collections::{BTreeMap, HashMap};

/// Maximum number of properties that tell a change from others.
const NAMED_PROPERTIES: usize = 3;

/// Sets the distinction of each change that shares its place, name and source with others. The
/// changes are in the order of their ops, each with its first op in A.
pub(super) fn distinguish(found: &mut [(Change, &Measured)]) {
    let mut alike: HashMap<_, Vec<usize>> = HashMap::new();
    for (at, (change, _)) in found.iter().enumerate() {
        let key = (change.kind, change.place.clone(), change.name.clone(), change.source.clone());
        alike.entry(key).or_default().push(at);
    }
    for group in alike.into_values().filter(|group| group.len() > 1) {
        let ops = group.iter().filter_map(|&at| found.get(at)).map(|(_, op)| properties_of(op));
        let texts = distinctions(&ops.collect::<Vec<_>>());
        for (at, text) in group.into_iter().zip(texts) {
            if let Some((change, _)) = found.get_mut(at) {
                change.distinction = text.into();
            }
        }
    }
}

/// Properties of an op by name, in the order of their names.
type Properties = BTreeMap<String, String>;

fn properties_of(op: &Measured) -> Properties {
    let OpTraits { values, .. } = &*op.traits;
    let of_traits = values.iter().map(|((aspect, tensor), value)| {
        (format!("{tensor} {}", aspect.label()).trim_start().to_owned(), value.to_string())
    });
    let attributes = attribute_parts(&op.attributes).unwrap_or_default();
    let attributes =
        attributes.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    of_traits.chain(attributes).collect()
}

/// Returns a text for each op that none of the others has: the properties that differ and, for ops
/// without such, their number among their like.
fn distinctions(ops: &[Properties]) -> Vec<String> {
    let mut values: BTreeMap<&str, Vec<Option<&str>>> = BTreeMap::new();
    for name in ops.iter().flat_map(BTreeMap::keys) {
        let of_all = || ops.iter().map(|op| op.get(name).map(String::as_str)).collect();
        values.entry(name).or_insert_with(of_all);
    }
    values.retain(|_, of_ops| of_ops.iter().any(|value| Some(value) != of_ops.first()));
    let mut texts: Vec<String> = (0..ops.len())
        .map(|at| {
            let named =
                values.iter().filter_map(|(name, of_ops)| Some((name, (*of_ops.get(at)?)?)));
            let named = named.take(NAMED_PROPERTIES).map(|(name, value)| format!("{name} {value}"));
            named.collect::<Vec<_>>().join(", ")
        })
        .collect();
    let mut counts: HashMap<String, usize> = HashMap::new();
    for text in &texts {
        let count = counts.entry(text.clone()).or_default();
        *count = count.saturating_add(1);
    }
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for text in &mut texts {
        let Some(count) = counts.get(text).filter(|count| **count > 1) else { continue };
        let number = numbers.entry(text.clone()).or_default();
        *number = number.saturating_add(1);
        let separator = if text.is_empty() { "" } else { ", " };
        *text = format!("{text}{separator}no. {number} of {count}");
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ops_are_told_apart_by_what_differs_and_else_by_their_number() {
        let op = |pairs: &[(&str, &str)]| -> Properties {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let (one, other) = (op(&[("dim", "-1"), ("k", "32")]), op(&[("dim", "-1"), ("k", "64")]));
        assert_eq!(distinctions(&[one.clone(), other.clone()]), ["k 32", "k 64"]);
        let expected = ["k 32, no. 1 of 2", "k 64", "k 32, no. 2 of 2"];
        assert_eq!(distinctions(&[one.clone(), other, one.clone()]), expected);
        assert_eq!(distinctions(&[one.clone(), one]), ["no. 1 of 2", "no. 2 of 2"]);
        assert_eq!(distinctions(&[op(&[("k", "1")]), op(&[])]), ["k 1", ""]);
    }
}
