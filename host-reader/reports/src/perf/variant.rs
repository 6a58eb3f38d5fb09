//! What tells ops of the same name and shapes apart: their attributes, such as the dimensions of a
//! permutation.
//!
//! Some attributes differ in each launch of one op: positions, seeds, addresses. Numbers alone
//! therefore tell ops apart only as long as not each launch has another one.

use super::argument_change::attribute_parts;
use std::collections::{HashMap, HashSet};

/// Number of launches of which each has other numbers, from which on the numbers are those of the
/// launches and not of the op.
const NUMBERED_LAUNCHES: usize = 4;

/// A number of at least so many digits within a value counts as an address, a seed or a time.
const LONG_DIGITS: usize = 4;

/// Returns the attributes without numbers that may differ between launches of one op.
pub(crate) fn without_numbers(attributes: &str) -> String {
    let Some(parts) = attribute_parts(attributes) else { return without_long_numbers(attributes) };
    let kept = parts.into_iter().filter(|(_, value)| value.parse::<f64>().is_err());
    kept.map(|(name, value)| format!("{name}={};", without_long_numbers(value))).collect()
}

fn without_long_numbers(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let is_hex = from.starts_with("0x");
        let is_part = |c: char| c.is_ascii_digit() || is_hex && (c.is_ascii_hexdigit() || c == 'x');
        let (number, after) = from.split_at(from.find(|c| !is_part(c)).unwrap_or(from.len()));
        kept.push_str(before);
        kept.push_str(if is_hex || number.len() >= LONG_DIGITS { "#" } else { number });
        rest = after;
    }
    kept + rest
}

/// Returns a number for each launch of ops with the same name and shapes: launches of the same
/// variant have the same number. `attributes` has what a launch is told by, one text or several.
pub(crate) fn variants<T: std::hash::Hash + Eq>(
    attributes: &[T],
    without_numbers: impl Fn(&T) -> T,
) -> Vec<usize> {
    if attributes.iter().all(|text| Some(text) == attributes.first()) {
        return vec![0; attributes.len()];
    }
    let stable: Vec<T> = attributes.iter().map(without_numbers).collect();
    let mut alike: HashMap<&T, (usize, HashSet<&T>)> = HashMap::new();
    for (text, stable) in attributes.iter().zip(&stable) {
        let (count, texts) = alike.entry(stable).or_default();
        *count = count.saturating_add(1);
        texts.insert(text);
    }
    alike.retain(|_, (count, texts)| *count >= NUMBERED_LAUNCHES && texts.len() == *count);
    let mut numbers: HashMap<(&T, Option<&T>), usize> = HashMap::new();
    let launches = attributes.iter().zip(&stable).map(|(text, stable)| {
        let next = numbers.len();
        let own = (!alike.contains_key(stable)).then_some(text);
        *numbers.entry((stable, own)).or_insert(next)
    });
    launches.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> Vec<usize> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        variants(&texts, |text| without_numbers(text))
    }

    #[test]
    fn values_tell_launches_apart_and_numbers_of_each_launch_do_not() {
        assert_eq!(of(&[]), [0_usize; 0]);
        let dims = ["{'dims': 'V([0; 2; 3; 1])'}", "{'dims': 'V([1; 2; 3; 0])'}"];
        assert_eq!(of(&[dims[0], dims[1], dims[0]]), [0, 1, 0]);
        assert_eq!(of(&["{'dim': '0'}", "{'dim': '1'}"]), [0, 1]);
        assert_eq!(
            of(&["{'dim': '0'}", "{'dim': '1'}", "{'dim': '0'}", "{'dim': '1'}"]),
            [0, 1, 0, 1]
        );
        let step =
            |at: u32| format!("{{'op': 'ADD'; 'seed': '{at}'; 'buffer': 'B(0x{at}f0; 4{at}000)'}}");
        let steps: Vec<String> = (0..5).map(step).collect();
        assert_eq!(variants(&steps, |text| without_numbers(text)), [0; 5]);
        let both: Vec<String> =
            steps.iter().flat_map(|text| [text.clone(), text.replace("ADD", "MUL")]).collect();
        assert_eq!(variants(&both, |text| without_numbers(text)), [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
        assert_eq!(of(&["no parts 12345", "no parts 54321", "others"]), [0, 1, 2]);
    }
}
