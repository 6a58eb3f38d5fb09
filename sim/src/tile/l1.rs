//! The memory of a tile, which is allocated on demand.

use std::mem;

/// Little-endian memory from address 0 up to a fixed size.
///
/// Only the part below the highest address ever written is allocated; higher addresses read as
/// zero.
///
/// ```
/// use sim::tile::l1::L1;
/// let mut l1 = L1::new(1 << 20);
/// assert_eq!(l1.replace_word(0x1000, 7), 0);
/// assert_eq!((l1.word(0x1000), l1.word(0xFFFF0)), (7, 0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct L1 {
    bytes: Vec<u8>,
    size_bytes: u64,
}

impl L1 {
    /// Creates a zeroed memory of `size_bytes` bytes.
    #[must_use]
    pub const fn new(size_bytes: u64) -> Self {
        Self { bytes: Vec::new(), size_bytes }
    }

    /// Returns the size in bytes.
    #[must_use]
    pub const fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Returns true if `word_count` words, starting at `address`, are within the memory.
    #[must_use]
    pub fn contains(&self, address: u64, word_count: usize) -> bool {
        let bytes = (word_count as u64).saturating_mul(4);
        address.is_multiple_of(4) && address.saturating_add(bytes) <= self.size_bytes
    }

    /// Returns the word at an address that is a multiple of four; 0 if it was never written or is
    /// outside.
    #[must_use]
    #[inline]
    pub fn word(&self, address: u64) -> u32 {
        let bytes = self.bytes.get(index(address)..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |&bytes| u32::from_le_bytes(bytes))
    }

    /// Writes the word at an address that is a multiple of four; returns the old word.
    ///
    /// # Panics
    /// If the word is outside the memory, which never happens for the simulator's own addresses.
    #[inline]
    pub fn replace_word(&mut self, address: u64, value: u32) -> u32 {
        let at = index(address);
        if at + 4 > self.bytes.len() {
            self.grow(address);
        }
        let word = self.bytes[at..].first_chunk_mut();
        word.map_or(0, |word| u32::from_le_bytes(mem::replace(word, value.to_le_bytes())))
    }

    /// Writes words, starting at an address that is a multiple of four.
    ///
    /// # Panics
    /// As [`replace_word`](Self::replace_word).
    pub fn write_words(&mut self, address: u64, words: &[u32]) {
        let Some(last) = (words.len() as u64).checked_sub(1) else { return };
        let (at, end) = (index(address), index(address + 4 * last) + 4);
        if end > self.bytes.len() {
            self.grow(address + 4 * last);
        }
        let (chunks, _) = self.bytes[at..end].as_chunks_mut();
        for (chunk, word) in chunks.iter_mut().zip(words) {
            *chunk = word.to_le_bytes();
        }
    }

    /// Reads words; returns `false` and copies nothing if the range exceeds the memory.
    #[must_use]
    pub fn read_words(&self, address: u64, words: &mut [u32]) -> bool {
        if !self.contains(address, words.len()) {
            return false;
        }
        for (word_address, word) in (address..).step_by(4).zip(words) {
            *word = self.word(word_address);
        }
        true
    }

    /// Returns the allocated part of the memory, which starts at address 0.
    #[must_use]
    #[inline]
    pub fn kept(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the allocated part of the memory, which starts at address 0, as a mutable slice.
    #[inline]
    pub fn kept_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Allocates at least the first `size_bytes` bytes, so that an interpreter can access them as
    /// one slice.
    pub fn keep(&mut self, size_bytes: u64) {
        let size_bytes = index(size_bytes.min(self.size_bytes));
        if size_bytes > self.bytes.len() {
            self.bytes.resize(size_bytes, 0);
        }
    }

    #[cold]
    fn grow(&mut self, address: u64) {
        assert!(
            self.contains(address, 1),
            "L1 address {address:#x} lies beyond {:#x}",
            self.size_bytes
        );
        let wanted = (address + 4).next_multiple_of(GROWTH_BYTES).min(self.size_bytes);
        self.bytes.resize(index(wanted), 0);
    }
}

const GROWTH_BYTES: u64 = 4096;

fn index(address: u64) -> usize {
    usize::try_from(address).unwrap_or(usize::MAX - 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_kept_only_up_to_the_highest_write() {
        let mut l1 = L1::new(1_499_136);
        l1.replace_word(0x2000, 1);
        assert_eq!(l1.bytes.len(), 0x3000);
        assert_eq!(l1.word(0x2000), 1);
    }

    #[test]
    fn many_words_are_written_as_one_by_one() {
        for (address, count) in [(0, 0), (0xFF8, 1), (0xFF8, 2), (0xFF8, 3), (0x2000, 1500), (0, 4)]
        {
            let words: Vec<u32> =
                (0..count).map(|word: u32| word.wrapping_mul(0x0102_0304)).collect();
            let (mut at_once, mut one_by_one) = (L1::new(1 << 16), L1::new(1 << 16));
            for l1 in [&mut at_once, &mut one_by_one] {
                l1.replace_word(0xFFC, u32::MAX);
            }
            at_once.write_words(address, &words);
            for (at, &word) in (address..).step_by(4).zip(&words) {
                one_by_one.replace_word(at, word);
            }
            assert_eq!(at_once, one_by_one, "{count} words from {address:#x}");
        }
    }

    #[test]
    #[should_panic(expected = "L1 address 0x40 lies beyond 0x40")]
    fn words_beyond_the_memory_are_not_written() {
        L1::new(64).write_words(56, &[1, 2, 3]);
    }

    #[test]
    fn ranges_are_checked_at_both_ends() {
        let l1 = L1::new(64);
        let mut words = [9; 4];
        assert!(l1.read_words(48, &mut words) && words == [0; 4]);
        for address in [52, 2, u64::MAX - 3] {
            assert!(!l1.read_words(address, &mut words), "{address}");
        }
    }
}
