//! Number formats used in reports.

/// Formats a number with thousands separators and a fixed number of decimals.
pub(super) fn grouped(value: f64, decimals: usize) -> String {
    let plain = format!("{value:.decimals$}");
    let (sign, digits) = plain.strip_prefix('-').map_or(("", plain.as_str()), |rest| ("-", rest));
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut text = String::with_capacity(plain.len().saturating_add(whole.len() / 3));
    text.push_str(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && whole.len().saturating_sub(at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert_eq, proptest};
    use recording::host_ops::value::float_text;

    #[test]
    fn thousands_are_set_apart_and_halves_go_to_even() {
        let cases = [
            (0.5, 0, "0"),
            (1.5, 0, "2"),
            (999.5, 0, "1,000"),
            (-1_234_567.25, 1, "-1,234,567.2"),
            (113_747.89, 0, "113,748"),
            (12.0, 2, "12.00"),
        ];
        for (value, decimals, expected) in cases {
            assert_eq!(grouped(value, decimals), expected);
        }
    }

    #[test]
    fn exponents_stand_where_python_puts_them() {
        let cases = [
            (8.569_899_780_636_485e-5, "8.569899780636485e-05"),
            (0.0001, "0.0001"),
            (3.0, "3.0"),
            (1e16, "1e+16"),
            (1.5e-7, "1.5e-07"),
            (0.0, "0.0"),
        ];
        for (value, expected) in cases {
            assert_eq!(float_text(value), expected);
        }
    }

    proptest! {
        #[test]
        fn the_shortest_text_reads_back_as_the_same_number(value in any::<f64>()) {
            proptest::prop_assume!(value.is_finite());
            prop_assert_eq!(float_text(value).parse::<f64>().unwrap().to_bits(), value.to_bits());
        }
    }
}
