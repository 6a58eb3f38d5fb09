//! Small text and its numbers: what a field says, and how to show it in a message.

/// Bytes of offending text that a message shows.
const SHOWN_BYTES: usize = 60;

/// Digits that fit into 64 bits whatever they are.
const SAFE_DIGITS: usize = 19;

/// The number that the field spells in plain digits.
#[inline]
pub(super) fn parse_number(field: &[u8]) -> Option<u64> {
    if field.is_empty() || field.len() > SAFE_DIGITS {
        return parse_long_number(field);
    }
    let mut number: u64 = 0;
    for &byte in field {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    Some(number)
}

#[cold]
fn parse_long_number(field: &[u8]) -> Option<u64> {
    let is_plain = field.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(field).ok().filter(|_| is_plain)?.parse().ok()
}

/// The field without blanks around it.
#[inline]
pub(super) fn trimmed(field: &[u8]) -> &[u8] {
    match field {
        [b' ' | b'\t', ..] | [.., b' ' | b'\t'] => field.trim_ascii(),
        _ => field,
    }
}

/// Text for a message: valid UTF-8, one line, shortened.
pub(super) fn shown(text: &[u8]) -> String {
    let cut = text.get(..SHOWN_BYTES).unwrap_or(text);
    let mut shown = String::from_utf8_lossy(cut).replace(char::is_control, " ");
    if cut.len() < text.len() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_digits_that_fit_are_a_number() {
        assert_eq!(parse_number(b"0"), Some(0));
        assert_eq!(parse_number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse_number(b"9999999999999999999"), Some(9_999_999_999_999_999_999));
        assert_eq!(parse_number(b"000000000000000000000007"), Some(7));
        for text in ["", "18446744073709551616", "-1", "1.0", "1 ", "x", "+1"] {
            assert_eq!(parse_number(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn long_and_binary_text_is_shown_short_and_on_one_line() {
        let text = [b"a\nb\xFF".as_slice(), &[b'x'; 1000]].concat();
        let shown = shown(&text);
        assert!(shown.starts_with("a b\u{FFFD}x") && shown.ends_with("x..."), "{shown}");
        assert!(shown.len() < 80);
    }
}
