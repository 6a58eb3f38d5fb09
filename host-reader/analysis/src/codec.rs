//! Packing and unpacking of numbers by the same code.

use super::own_zones::OwnTime;
use reader::packed_numbers::{fold_sign, push, take, unfold_sign};
use std::slice;

/// Encoder or decoder of numbers. Both have the same methods, so one function can both encode and
/// decode a struct.
pub(super) trait Codec {
    /// Encodes `number`, or overwrites it with the next decoded number.
    fn number(&mut self, number: &mut u64);

    fn numbers<const N: usize>(&mut self, numbers: [&mut u64; N]) {
        numbers.into_iter().for_each(|number| self.number(number));
    }

    /// Encodes or decodes a number as its difference from `other`. Small differences take few
    /// bytes.
    fn number_near(&mut self, number: &mut u64, other: u64) {
        let mut difference = fold_sign(number.wrapping_sub(other).cast_signed());
        self.number(&mut difference);
        *number = other.wrapping_add_signed(unfold_sign(difference));
    }

    /// Encodes or decodes a number as its excess over `other`. The number is rarely less than
    /// `other`.
    fn number_above(&mut self, number: &mut u64, other: u64) {
        let mut difference = number.wrapping_sub(other);
        self.number(&mut difference);
        *number = other.wrapping_add(difference);
    }

    fn flag(&mut self, flag: &mut bool) {
        let mut number = (*flag).into();
        self.number(&mut number);
        *flag = number != 0;
    }

    /// Encodes or decodes an optional value: a flag, followed by the value if there is one.
    fn optional<T: Default>(
        &mut self,
        value: &mut Option<T>,
        code: impl FnOnce(&mut Self, &mut T),
    ) {
        let mut is_known = value.is_some();
        self.flag(&mut is_known);
        if is_known {
            code(self, value.get_or_insert_default());
        }
    }

    fn own_time(&mut self, time: &mut Option<OwnTime>) {
        self.optional(time, |codec, OwnTime { count, cycles, longest_cycles }| {
            codec.numbers([count, cycles, longest_cycles]);
        });
    }
}

impl Codec for Vec<u8> {
    #[inline]
    fn number(&mut self, number: &mut u64) {
        push(self, *number);
    }
}

impl Codec for slice::Iter<'_, u8> {
    #[inline]
    fn number(&mut self, number: &mut u64) {
        *number = take(self);
    }
}
