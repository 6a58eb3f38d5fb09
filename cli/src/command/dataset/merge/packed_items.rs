//! Compact encoding for items of a merge.

use host_reader::packed_numbers::{push, take};
use std::slice::Iter;

/// Item that can be encoded in a few bytes.
pub(super) trait Packed {
    /// Appends the encoded item to `bytes`.
    fn push(&self, bytes: &mut Vec<u8>);

    /// Removes an item that [`Self::push`] has appended from the start of `bytes`, and decodes it.
    fn take(bytes: &mut Iter<'_, u8>) -> Self;
}

/// Appends an index of a host or name.
pub(super) fn push_index(bytes: &mut Vec<u8>, index: u32) {
    push(bytes, index.into());
}

pub(super) fn take_index(bytes: &mut Iter<'_, u8>) -> u32 {
    u32::try_from(take(bytes)).unwrap_or(u32::MAX)
}

/// Appends a signed number of 128 bits.
pub(super) fn push_wide(bytes: &mut Vec<u8>, number: i128) {
    let [low, high] = halves(number);
    push(bytes, low);
    push(bytes, high);
}

pub(super) fn take_wide(bytes: &mut Iter<'_, u8>) -> i128 {
    let (low, high) = (u128::from(take(bytes)), u128::from(take(bytes)));
    (high << 64 | low).cast_signed()
}

fn halves(number: i128) -> [u64; 2] {
    let bits = number.cast_unsigned();
    [bits, bits >> 64].map(|half| u64::try_from(half & u128::from(u64::MAX)).unwrap_or(0))
}
