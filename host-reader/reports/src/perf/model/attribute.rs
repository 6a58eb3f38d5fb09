//! Values read from the text of an op's attributes.

use memchr::memmem::{Finder, find};
use std::sync::LazyLock;

/// Precompiled search for a text that is looked up in each row. Attributes are long, so building
/// a search for each row would be slow.
static PROGRAM_CONFIG: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("program_config"));
static DRAM_SHARDED: LazyLock<Finder<'_>> =
    LazyLock::new(|| Finder::new("MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig"));

/// Returns the attribute's value, which follows `'name': `.
///
/// # Compatibility
/// In ops CSVs, the text of the attributes is `{'name': 'value'; 'other': value}`.
pub(in crate::perf) fn value<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let key = format!("'{name}':");
    let after = text_after(attributes, &key)?.trim_start();
    match after.strip_prefix('\'') {
        Some(quoted) => quoted.split('\'').next(),
        None => after.split([';', ',', '}', ' ']).next(),
    }
}

/// Parses the boolean value of an attribute.
pub(super) fn flag(attributes: &str, name: &str) -> Option<bool> {
    match value(attributes, name)? {
        "true" | "True" | "1" => Some(true),
        "false" | "False" | "0" => Some(false),
        _ => None,
    }
}

/// Parses the digits after the first `name=` that is followed by digits.
pub(in crate::perf) fn first_number(attributes: &str, name: &str) -> Option<u64> {
    let key = format!("{name}=");
    let mut rest = attributes;
    loop {
        rest = text_after(rest, &key)?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        if let Ok(number) = rest[..end].parse() {
            return Some(number);
        }
    }
}

/// Returns the text in the parentheses after `name=`. The text may contain nested parentheses.
pub(super) fn parenthesised<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let key = format!("{name}=(");
    let after = text_after(attributes, &key)?;
    let mut depth = 1_usize;
    for (at, c) in after.char_indices() {
        match c {
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some(&after[..at]);
        }
    }
    None
}

/// Parses two whole numbers in the parentheses after `name=`.
pub(super) fn pair(attributes: &str, name: &str) -> Option<(u64, u64)> {
    let (one, other) = parenthesised(attributes, name)?.split_once([';', ','])?;
    Some((one.trim().parse().ok()?, other.trim().parse().ok()?))
}

/// Returns true if the attributes mention a program configuration.
pub(in crate::perf) fn has_program_config(attributes: &str) -> bool {
    PROGRAM_CONFIG.find(attributes.as_bytes()).is_some()
}

/// Returns true if the attributes contain the DRAM-sharded configuration. In this configuration, a
/// matmul runs on the cores next to the DRAM banks that hold the weights.
pub(super) fn is_dram_sharded(attributes: &str) -> bool {
    DRAM_SHARDED.find(attributes.as_bytes()).is_some()
}

/// Returns the text after the first occurrence of a key.
fn text_after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let at = find(text.as_bytes(), key.as_bytes())?;
    text.get(at.checked_add(key.len())?..)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "{'a': 'true'; 'nnz': 8; 'config': 'C(b=x;b=12;window_hw=(3;5);\
        padding=((1; 1); (2; 2)))'; 'last': 7}";

    #[test]
    fn values_end_with_their_quote_or_at_the_next_separator() {
        assert_eq!((value(TEXT, "nnz"), value(TEXT, "last")), (Some("8"), Some("7")));
        assert_eq!((flag(TEXT, "a"), flag(TEXT, "b")), (Some(true), None));
    }

    #[test]
    fn numbers_and_parentheses_are_found_by_name() {
        assert_eq!((first_number(TEXT, "b"), first_number(TEXT, "zz")), (Some(12), None));
        assert_eq!(pair(TEXT, "window_hw"), Some((3, 5)));
        assert_eq!(parenthesised(TEXT, "padding"), Some("(1; 1); (2; 2)"));
        assert_eq!(parenthesised("padding=((1; 1", "padding"), None);
    }
}
