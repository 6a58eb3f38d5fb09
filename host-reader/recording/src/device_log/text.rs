//! Parsing of numbers and kinds in fields, and formatting of text for messages.

use wire::PacketKind;

/// Maximum number of bytes of invalid text shown in a message.
const SHOWN_BYTES: usize = 60;

/// Largest number of decimal digits for which every number fits in 64 bits.
const SAFE_DIGITS: usize = 19;

/// Parses a field of plain digits.
#[inline]
pub(super) fn parse_number(field: &[u8]) -> Option<u64> {
    match take_number(field) {
        Some((number, [])) => Some(number),
        Some(_) | None => parse_long_number(field),
    }
}

/// Parses the number at the beginning of a text; returns the number and the text after it.
///
/// Returns `None` if there are more than [`SAFE_DIGITS`] digits.
#[inline]
pub(super) fn take_number(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut number: u64 = 0;
    let mut rest = text;
    // Three groups of eight digits are sufficient for the maximum number of digits.
    for _ in 0..3 {
        let Some(eight) = rest.first_chunk() else { break };
        let (digits, count) = leading_digits(*eight);
        let Some(tens) = TENS.get(count) else { break };
        number = number.wrapping_mul(*tens).wrapping_add(digits);
        rest = rest.get(count..)?;
        if count < 8 {
            return counted_number(number, text, rest);
        }
    }
    while let [byte @ b'0'..=b'9', after @ ..] = rest {
        number = number.wrapping_mul(10).wrapping_add(u64::from(byte & 0x0F));
        rest = after;
    }
    counted_number(number, text, rest)
}

/// Returns `number` and the text after it; `None` if the number does not have 1 to [`SAFE_DIGITS`]
/// digits.
#[inline]
fn counted_number<'text>(
    number: u64,
    text: &[u8],
    rest: &'text [u8],
) -> Option<(u64, &'text [u8])> {
    let count = text.len().wrapping_sub(rest.len());
    (1..=SAFE_DIGITS).contains(&count).then_some((number, rest))
}

/// Powers of ten. To append `n` digits to a number, multiply the number by the element at index `n`
/// and add the digits.
const TENS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Parses the digits at the beginning of eight bytes; returns the number and the digit count.
///
/// Adjacent digits are combined in parallel, to numbers of two, four and eight digits.
#[inline]
const fn leading_digits(bytes: [u8; 8]) -> (u64, usize) {
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    const LOW_BITS: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    // The XOR removes the high bits of a digit and leaves a value below ten.
    let values = u64::from_le_bytes(bytes) ^ ZEROS;
    let beyond = (values & LOW_BITS).wrapping_add(0x7676_7676_7676_7676) | values;
    let bit_count = (beyond & !LOW_BITS).trailing_zeros() & !7;
    // Moves the digits to the end of the eight bytes, after zeros.
    let ones = match values.checked_shl(u64::BITS.wrapping_sub(bit_count)) {
        Some(ones) => ones,
        None => return (0, 0),
    };
    let twos = ones.wrapping_mul(10).wrapping_add(ones >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = twos.wrapping_mul(100).wrapping_add(twos >> 16) & 0x0000_FFFF_0000_FFFF;
    let eight = fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xFFFF_FFFF;
    (eight, (bit_count / u8::BITS) as usize)
}

#[cold]
fn parse_long_number(field: &[u8]) -> Option<u64> {
    let is_plain = field.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(field).ok().filter(|_| is_plain)?.parse().ok()
}

/// Returns the field without leading and trailing blanks.
#[inline]
pub(super) fn trimmed(field: &[u8]) -> &[u8] {
    match field {
        [b' ' | b'\t', ..] | [.., b' ' | b'\t'] => field.trim_ascii(),
        _ => field,
    }
}

/// Formats text for a message: valid UTF-8, one line, truncated.
pub(super) fn shown(text: &[u8]) -> String {
    let cut = text.get(..SHOWN_BYTES).unwrap_or(text);
    let mut shown = String::from_utf8_lossy(cut).replace(char::is_control, " ");
    if cut.len() < text.len() {
        shown.push_str("...");
    }
    shown
}

/// Returns the kind of a record by its name.
pub(super) fn packet_kind(name: &[u8]) -> Option<PacketKind> {
    Some(match trimmed(name) {
        b"ZONE_START" | b"begin" => PacketKind::ZoneStart,
        b"ZONE_END" | b"end" => PacketKind::ZoneEnd,
        b"ZONE_TOTAL" | b"sum" => PacketKind::ZoneTotal,
        // A line contains one value, even for data with two values.
        b"TS_DATA" | b"TS_DATA_16B" => PacketKind::TimestampedData,
        b"TS_EVENT" => PacketKind::TimestampedEvent,
        _ => return None,
    })
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
                let before = [0, 1, 12, 123, 1_234, 12_345, 123_456, 1_234_567][place];
                assert_eq!(leading_digits(bytes), (before, place), "{byte} at {place}");
            }
        }
        assert_eq!(leading_digits(*b"99999999"), (99_999_999, 8));
        assert_eq!(leading_digits(*b"00000000"), (0, 8));
    }

    #[test]
    fn long_and_binary_text_is_shown_short_and_on_one_line() {
        let text = [b"a\nb\xFF".as_slice(), &[b'x'; 1000]].concat();
        let shown = shown(&text);
        assert!(shown.starts_with("a b\u{FFFD}x") && shown.ends_with("x..."), "{shown}");
        assert!(shown.len() < 80);
    }
}
