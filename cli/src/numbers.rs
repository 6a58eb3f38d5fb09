//! Formats numbers as text for people.

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

/// Formats a number with a noun in the singular or plural.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// Formats a number in groups of three digits.
pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_869_442), "1,869,442");
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }
}
