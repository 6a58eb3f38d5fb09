//! Packed columns of numbers: variable-length integers, deflated, in base64. A page can hold
//! millions of numbers in this encoding.

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Compression, write::DeflateEncoder};
use reader::packed_numbers::{fold_sign, push};
use std::io::Write;

/// Sequence of numbers, each encoded in as few bytes as possible.
///
/// The encoding is that of [`reader::packed_numbers`]. The page's script reads the numbers in the
/// order in which they are added here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PackedColumns(Vec<u8>);

impl PackedColumns {
    /// Adds a number.
    #[inline]
    pub(super) fn number(&mut self, number: u64) {
        push(&mut self.0, number);
    }

    /// Adds a count or an index.
    pub(super) fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    /// Adds a signed number. Numbers near 0 take few bytes, whatever their sign.
    pub(super) fn signed(&mut self, number: i64) {
        self.number(fold_sign(number));
    }

    /// Adds a 64-bit number as its upper and its lower half, because JavaScript numbers are exact
    /// only up to 53 bits.
    pub(super) fn exact(&mut self, number: u64) {
        self.number(number >> 32);
        self.number(number & u64::from(u32::MAX));
    }

    /// Adds ascending numbers, each as the difference from the previous number. The first number is
    /// added as the difference from `first`.
    pub(super) fn rising(&mut self, first: u64, numbers: impl IntoIterator<Item = u64>) {
        let mut latest = first;
        for number in numbers {
            self.number(number.saturating_sub(latest));
            latest = latest.max(number);
        }
    }

    /// Adds the number of values that are present, then their indices as ascending numbers, and
    /// then the values, each by calling `add`.
    pub(super) fn present<T>(
        &mut self,
        values: impl Iterator<Item = Option<T>>,
        add: impl Fn(&mut Self, &T),
    ) {
        let present = (0_u64..).zip(values).filter_map(|(index, value)| Some((index, value?)));
        let present: Vec<_> = present.collect();
        self.count(present.len());
        self.rising(0, present.iter().map(|&(index, _)| index));
        present.iter().for_each(|(_, value)| add(self, value));
    }

    /// Adds other columns behind these.
    pub(super) fn append(&mut self, mut others: Self) {
        self.0.append(&mut others.0);
    }

    /// Adds the text's length in bytes, then the text.
    pub(super) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Encodes the columns as text that needs no escaping in a page.
    pub(super) fn to_base64(&self) -> String {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(LEVEL));
        let deflated = encoder.write_all(&self.0).and_then(|()| encoder.finish());
        // Writing to a vector cannot fail.
        STANDARD.encode(deflated.unwrap_or_default())
    }
}

/// Compression level: fast, and within a few percent of the smallest size for such columns.
const LEVEL: u32 = 4;

#[cfg(test)]
#[path = "../../tests/unit/packed_columns.rs"]
pub(super) mod reading;

#[cfg(test)]
mod tests {
    use super::{PackedColumns, reading::Reading};
    use proptest::prelude::*;

    #[test]
    fn small_numbers_take_a_byte_and_the_lowest_bits_come_first() {
        let mut columns = PackedColumns::default();
        columns.number(127);
        columns.number(300);
        columns.signed(-1);
        columns.signed(1);
        assert_eq!(columns.0, [127, 0b1010_1100, 0b10, 1, 2]);
    }

    proptest! {
        #[test]
        fn what_is_entered_is_read(
            numbers: Vec<u64>, signed: Vec<i64>, text: String, mut rising: Vec<u64>,
        ) {
            rising.sort_unstable();
            let first = rising.first().copied().unwrap_or(0);
            let mut columns = PackedColumns::default();
            numbers.iter().for_each(|&number| columns.number(number));
            signed.iter().for_each(|&number| columns.signed(number));
            numbers.iter().for_each(|&number| columns.exact(number));
            columns.text(&text);
            columns.rising(first, rising.iter().copied());
            let mut reading = Reading::of_base64(&columns.to_base64());
            prop_assert_eq!(reading.numbers(numbers.len()), &*numbers);
            for number in signed {
                prop_assert_eq!(reading.signed(), number);
            }
            for number in numbers {
                prop_assert_eq!(reading.exact(), number);
            }
            prop_assert_eq!(reading.text(), text);
            prop_assert_eq!(reading.rising(first, rising.len()), rising);
            prop_assert!(reading.is_at_end());
        }
    }
}
