//! Small text and its numbers: what a field says, and how to show it in a message.

/// Bytes of offending text that a message shows.
const SHOWN_BYTES: usize = 60;

/// Digits that fit into 64 bits whatever they are.
const SAFE_DIGITS: usize = 19;

/// The number that the field spells in plain digits.
#[inline]
pub(super) fn parse_number(field: &[u8]) -> Option<u64> {
    match take_number(field) {
        Some((number, [])) => Some(number),
        Some(_) | None => parse_long_number(field),
    }
}

/// The number that the text begins with, if its digits are few enough to fit whatever they are,
/// and the text behind it.
#[inline]
pub(super) fn take_number(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut number: u64 = 0;
    let mut rest = text;
    // Two groups of eight leave room for three digits of the most that fit.
    for _ in 0..2 {
        let Some((eight, after)) = rest.split_first_chunk() else { break };
        let Some(digits) = eight_digits(*eight) else { break };
        number = number.wrapping_mul(100_000_000).wrapping_add(digits);
        rest = after;
    }
    while let [byte @ b'0'..=b'9', after @ ..] = rest {
        number = number.wrapping_mul(10).wrapping_add(u64::from(byte & 0x0F));
        rest = after;
    }
    let count = text.len().wrapping_sub(rest.len());
    (1..=SAFE_DIGITS).contains(&count).then_some((number, rest))
}

/// The number that eight digits spell, all at once: neighbours are joined to numbers of two,
/// four and eight digits.
#[inline]
const fn eight_digits(bytes: [u8; 8]) -> Option<u64> {
    const HIGH: u64 = 0xF0F0_F0F0_F0F0_F0F0;
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    let text = u64::from_le_bytes(bytes);
    // Six more than a digit is still in its row of sixteen; six more than `:` is not.
    let beyond = text.wrapping_add(0x0606_0606_0606_0606);
    if text & HIGH != ZEROS || beyond & HIGH != ZEROS {
        return None;
    }
    let ones = text & !HIGH;
    let twos = ones.wrapping_mul(10).wrapping_add(ones >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = twos.wrapping_mul(100).wrapping_add(twos >> 16) & 0x0000_FFFF_0000_FFFF;
    Some(fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xFFFF_FFFF)
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
    fn digits_are_taken_up_to_the_first_other_byte() {
        for count in 1..=SAFE_DIGITS {
            let digits = &"9081726354453627180"[..count];
            for rest in ["", ",", ":", "/", "x1234567890", "\u{FF}"] {
                let text = [digits, rest].concat();
                let expected = (digits.parse().unwrap(), rest.as_bytes());
                assert_eq!(take_number(text.as_bytes()), Some(expected), "{text}");
            }
        }
        for text in ["", ",", "-1", "12345678901234567890", "00000000000000000000"] {
            assert_eq!(take_number(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_byte_that_is_no_digit_is_found_at_each_place() {
        for place in 0..8 {
            for byte in (0..=u8::MAX).filter(|byte| !byte.is_ascii_digit()) {
                let mut bytes = *b"12345678";
                bytes[place] = byte;
                assert_eq!(eight_digits(bytes), None, "{byte} at {place}");
            }
        }
        assert_eq!(eight_digits(*b"99999999"), Some(99_999_999));
        assert_eq!(eight_digits(*b"00000000"), Some(0));
    }

    #[test]
    fn long_and_binary_text_is_shown_short_and_on_one_line() {
        let text = [b"a\nb\xFF".as_slice(), &[b'x'; 1000]].concat();
        let shown = shown(&text);
        assert!(shown.starts_with("a b\u{FFFD}x") && shown.ends_with("x..."), "{shown}");
        assert!(shown.len() < 80);
    }
}
