//! Formats numbers as text for people.

pub(crate) use host_reader::analysis::words::{counted, grouped};

/// Formats a number; a lower bound is marked with `>=`.
pub(crate) fn bounded(count: u64, is_lower_bound: bool) -> String {
    if is_lower_bound { format!(">= {}", grouped(count)) } else { grouped(count) }
}

/// Formats a number; `-` if it is unknown.
pub(crate) fn optional(value: Option<u64>) -> String {
    value.map_or_else(|| "-".to_owned(), grouped)
}

/// Formats a percentage or a ratio with one decimal; `-` if it is unknown.
pub(crate) fn decimal(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"))
}
