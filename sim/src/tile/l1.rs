//! The memory of a tile, which takes no room until it is touched.

/// Little-endian bytes from address 0 up to a fixed size.
///
/// Only the part below the highest address ever written is kept; the rest reads as zero.
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
    /// A memory of `size_bytes` zeros.
    #[must_use]
    pub const fn new(size_bytes: u64) -> Self {
        Self { bytes: Vec::new(), size_bytes }
    }

    /// Bytes from address 0 to the end.
    #[must_use]
    pub const fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Returns true if `word_count` words from `address` lie inside.
    #[must_use]
    pub fn contains(&self, address: u64, word_count: usize) -> bool {
        let bytes = (word_count as u64).saturating_mul(4);
        address.is_multiple_of(4) && address.saturating_add(bytes) <= self.size_bytes
    }

    /// The word at a multiple of four; 0 outside.
    #[must_use]
    #[inline]
    pub fn word(&self, address: u64) -> u32 {
        let bytes = self.bytes.get(index(address)..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |&bytes| u32::from_le_bytes(bytes))
    }

    /// Writes the word at a multiple of four and gives back the old one.
    ///
    /// # Panics
    /// If the word lies outside: the simulator's own addresses never do.
    #[inline]
    pub fn replace_word(&mut self, address: u64, value: u32) -> u32 {
        let at = index(address);
        if at + 4 > self.bytes.len() {
            self.grow(address);
        }
        let bytes = &mut self.bytes[at..at + 4];
        let before = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        bytes.copy_from_slice(&value.to_le_bytes());
        before
    }

    /// Copies words out; `false`, and nothing copied, if the range leaves the memory.
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

    /// The part that is kept, from address 0.
    #[must_use]
    #[inline]
    pub fn kept(&self) -> &[u8] {
        &self.bytes
    }

    /// The part that is kept, from address 0, for writing.
    #[inline]
    pub fn kept_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Keeps at least the first `size_bytes`, so that an interpreter finds them in one piece.
    pub fn keep(&mut self, size_bytes: u64) {
        let size_bytes = index(size_bytes.min(self.size_bytes));
        if size_bytes > self.bytes.len() {
            self.bytes.resize(size_bytes, 0);
        }
    }

    /// All bytes, for an interpreter that needs them in one piece.
    pub fn whole(&mut self) -> &mut [u8] {
        self.bytes.resize(index(self.size_bytes), 0);
        &mut self.bytes
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
        assert_eq!(l1.whole().len(), 1_499_136);
        assert_eq!(l1.word(0x2000), 1);
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
