//! Conversion of cells of an ops CSV to numbers and texts. The result for an invalid cell is
//! `None`.

use std::borrow::Cow;

/// Maximum plausible number of cores of a chip.
const MAX_CORES: u64 = 1 << 20;

/// Maximum plausible size of a tensor's dimension, in elements.
const MAX_DIMENSION: u64 = 1 << 32;

/// Returns true if a cell is empty or contains a text for missing values, such as `NaN`.
pub(super) fn is_blank(cell: &str) -> bool {
    matches!(
        cell.trim(),
        "" | "nan"
            | "NaN"
            | "-nan"
            | "NA"
            | "N/A"
            | "n/a"
            | "#N/A"
            | "<NA>"
            | "None"
            | "null"
            | "NULL"
    )
}

/// Parses a finite number.
pub(super) fn number(cell: &str) -> Option<f64> {
    cell.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// Parses a whole number of at least 0. Texts such as `64.0` are accepted.
pub(super) fn whole(cell: &str) -> Option<u64> {
    if let Ok(whole) = cell.trim().parse() {
        return Some(whole);
    }
    let number = number(cell)?;
    // Above 2^53, an f64 cannot represent every whole number. No valid cell is that large.
    let is_exact = number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&number);
    #[expect(clippy::cast_possible_truncation, reason = "whole, not negative and at most 2^53")]
    is_exact.then_some(number as u64)
}

/// Parses a number of cores.
pub(super) fn core_count(cell: &str) -> Option<u64> {
    whole(cell).filter(|count| (1..=MAX_CORES).contains(count))
}

/// Parses the size of a tensor's dimension: a plain number, or the physical part of
/// `physical[logical]`.
pub(super) fn dimension(cell: &str) -> Option<u64> {
    let physical = cell.split('[').next()?;
    whole(physical).filter(|side| (1..=MAX_DIMENSION).contains(side))
}

/// Parses the logical part of `physical[logical]`.
pub(super) fn logical(cell: &str) -> Option<u64> {
    let (_, logical) = cell.split_once('[')?;
    logical.trim().strip_suffix(']')?.parse().ok()
}

/// Parses a finite number of at least 0.
pub(super) fn not_negative(cell: &str) -> Option<f64> {
    number(cell).filter(|number| *number >= 0.0)
}

/// Parses a truth value.
pub(super) fn flag(cell: &str) -> Option<bool> {
    match cell.trim() {
        "True" | "true" | "TRUE" | "1" => Some(true),
        "False" | "false" | "FALSE" | "0" => Some(false),
        _ => None,
    }
}

/// Removes control characters, because they could control a terminal. Tabs are kept.
pub(super) fn clean(cell: &str) -> Cow<'_, str> {
    // Control characters outside ASCII start with the byte 0xC2. The loop has no early exit, so the
    // compiler vectorises it.
    let has_odd = cell.bytes().fold(false, |found, byte| {
        found | ((byte.is_ascii_control() && byte != b'\t') || byte == 0xC2)
    });
    if !has_odd {
        return Cow::Borrowed(cell);
    }
    cell.chars().filter(|&c| c == '\t' || !c.is_control()).collect()
}

/// Parses a sub-device. A whole number is normalised; any other value is kept as a short text.
pub(super) fn sub_device(cell: &str) -> Option<String> {
    const LONGEST: usize = 32;
    if is_blank(cell) {
        return None;
    }
    Some(
        whole(cell)
            .map_or_else(|| clean(cell).chars().take(LONGEST).collect(), |id| id.to_string()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_not_rounded_into_being() {
        assert_eq!((whole("64"), whole(" 64.0 "), whole("1e3")), (Some(64), Some(64), Some(1000)));
        for refused in ["", "1.5", "-1", "x", "inf", "1e300", "64 cores"] {
            assert_eq!(whole(refused), None, "{refused}");
        }
    }

    #[test]
    fn the_physical_side_of_a_tensor_counts() {
        assert_eq!((dimension("32[19]"), dimension("768")), (Some(32), Some(768)));
        for refused in ["", "0", "[19]", "4294967297", "-32[1]"] {
            assert_eq!(dimension(refused), None, "{refused}");
        }
    }

    #[test]
    fn logical_sides_and_truth_values_are_read_or_unknown() {
        assert_eq!((logical("32[19]"), logical("32"), logical("32[x]")), (Some(19), None, None));
        assert_eq!(
            (flag("True"), flag("0"), flag(""), flag("maybe")),
            (Some(true), Some(false), None, None)
        );
        assert_eq!((not_negative("0"), not_negative("-1")), (Some(0.0), None));
    }

    #[test]
    fn core_counts_that_no_chip_has_are_refused() {
        assert_eq!((core_count("1"), core_count("1048576")), (Some(1), Some(1 << 20)));
        assert_eq!((core_count("0"), core_count("1048577")), (None, None));
    }

    #[test]
    fn numbers_must_be_finite() {
        assert_eq!((number(" -2.5e3"), number("inf"), number("NaN")), (Some(-2500.0), None, None));
    }

    #[test]
    fn texts_lose_what_steers_a_terminal() {
        assert_eq!(clean("a\u{1b}[31m\u{9b}b\tc\u{7f}"), "a[31mb\tc");
        assert_eq!(sub_device("3.0").as_deref(), Some("3"));
        assert_eq!(sub_device("nan"), None);
        assert_eq!(sub_device(&"y".repeat(40)).map(|text| text.len()), Some(32));
    }
}
