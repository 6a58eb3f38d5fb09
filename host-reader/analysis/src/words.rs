//! Numbers as text for people, in the sentences of this crate and of programs that show figures.

/// Formats a number with a noun in the singular or plural.
///
/// ```
/// use analysis::words::counted;
/// assert_eq!(counted(1, "op", "ops"), "1 op");
/// assert_eq!(counted(1_200, "op", "ops"), "1,200 ops");
/// ```
#[must_use]
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// Formats a number in groups of three digits.
///
/// ```
/// use analysis::words::grouped;
/// assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
/// ```
#[must_use]
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (after, digit) in (0..digits.len()).rev().zip(digits.chars()) {
        text.push(digit);
        if after > 0 && after.is_multiple_of(3) {
            text.push(',');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!([grouped(999), grouped(1_000)], ["999", "1,000"]);
        assert_eq!(grouped(1_869_442), "1,869,442");
    }
}
