//! Variable-length integers (LEB128): groups of seven bits, lowest first.
//!
//! ```
//! use reader::packed_numbers::{push, take};
//! let mut bytes = Vec::new();
//! push(&mut bytes, 5);
//! push(&mut bytes, 300);
//! assert_eq!(bytes.len(), 1 + 2);
//! let mut left = bytes.iter();
//! assert_eq!((take(&mut left), take(&mut left)), (5, 300));
//! ```

use std::slice::Iter;

const LOW_BITS: u8 = 0x7F;
const MORE_FOLLOWS: u8 = 0x80;

/// Appends a number to `bytes`.
///
/// # Cost
/// One byte for every seven bits of the number, not counting leading zero bits.
#[inline]
pub fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number > u64::from(LOW_BITS) {
        bytes.push(number.to_le_bytes()[0] | MORE_FOLLOWS);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

/// Appends an optional number to `bytes`.
pub fn push_optional(bytes: &mut Vec<u8>, number: Option<u64>) {
    push(bytes, number.is_some().into());
    number.into_iter().for_each(|number| push(bytes, number));
}

/// Reads an optional number that [`push_optional`] appended.
pub fn take_optional(bytes: &mut Iter<'_, u8>) -> Option<u64> {
    (take(bytes) != 0).then(|| take(bytes))
}

/// Reads the next number; returns 0 at the end of the input.
#[inline]
pub fn take(bytes: &mut Iter<'_, u8>) -> u64 {
    match bytes.as_slice() {
        [byte, rest @ ..] if *byte < MORE_FOLLOWS => {
            *bytes = rest.iter();
            (*byte).into()
        }
        left => match left.first_chunk().and_then(|eight| joined_groups(*eight)) {
            Some((number, count)) => {
                *bytes = left.get(count..).unwrap_or(&[]).iter();
                number
            }
            None => take_slowly(bytes),
        },
    }
}

/// Returns the packed number at the start of `bytes`, and its length in bytes.
///
/// Returns `None` if the number is longer than eight bytes. Neighbouring groups of seven bits are
/// joined in parallel: first to groups of 14 bits, then of 28 and 56 bits.
#[inline]
const fn joined_groups(bytes: [u8; 8]) -> Option<(u64, usize)> {
    const ENDS: u64 = 0x8080_8080_8080_8080;
    let word = u64::from_le_bytes(bytes);
    let bit_count = (!word & ENDS).trailing_zeros().saturating_add(1);
    if bit_count > u64::BITS {
        return None;
    }
    let sevens = word & !ENDS & (u64::MAX >> u64::BITS.saturating_sub(bit_count));
    let pairs = sevens & 0x007F_007F_007F_007F | (sevens & 0x7F00_7F00_7F00_7F00) >> 1;
    let fours = pairs & 0x0000_3FFF_0000_3FFF | (pairs & 0x3FFF_0000_3FFF_0000) >> 2;
    let eight = fours & 0x0FFF_FFFF | (fours & 0x0FFF_FFFF_0000_0000) >> 4;
    Some((eight, (bit_count / u8::BITS) as usize))
}

fn take_slowly(bytes: &mut Iter<'_, u8>) -> u64 {
    let mut number = 0;
    let mut shift = 0_u32;
    for &byte in bytes.by_ref() {
        number |= u64::from(byte & LOW_BITS).wrapping_shl(shift);
        if byte < MORE_FOLLOWS {
            break;
        }
        shift = shift.wrapping_add(7);
    }
    number
}

/// Maps a signed difference to an unsigned number (zigzag): small absolute values stay small.
#[inline]
#[must_use]
pub const fn fold_sign(difference: i64) -> u64 {
    (difference.cast_unsigned() << 1) ^ (difference >> 63).cast_unsigned()
}

/// Returns the difference that [`fold_sign`] mapped to `number`.
#[inline]
#[must_use]
pub const fn unfold_sign(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ (number & 1).cast_signed().wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop, prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn numbers_come_back_as_they_were(
            numbers in prop::collection::vec((any::<u64>(), 0_u32..64), 0..40),
        ) {
            let numbers: Vec<u64> = numbers.iter().map(|(number, shift)| number >> shift).collect();
            let mut bytes = Vec::new();
            numbers.iter().for_each(|&number| push(&mut bytes, number));
            let mut left = bytes.iter();
            let taken: Vec<u64> = numbers.iter().map(|_| take(&mut left)).collect();
            prop_assert_eq!(taken, numbers);
            prop_assert_eq!(left.len(), 0);
        }

        #[test]
        fn differences_come_back_as_they_were(difference in any::<i64>()) {
            prop_assert_eq!(unfold_sign(fold_sign(difference)), difference);
        }
    }

    #[test]
    fn small_differences_of_either_sign_are_small_numbers() {
        assert_eq!([0, -1, 1, -2, 2].map(fold_sign), [0, 1, 2, 3, 4]);
        assert_eq!(fold_sign(i64::MIN), u64::MAX);
    }
}
