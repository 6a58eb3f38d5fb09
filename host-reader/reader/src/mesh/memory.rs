//! Memories of a chip, and ranges of words in them.

use super::{AccessError, Noc0Coord};

/// A memory or a clock of a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Memory {
    /// L1 of the core at this coordinate.
    L1(Noc0Coord),
    /// The DRAM bank with this number.
    Dram(u32),
    /// The wall clock of the tile at this coordinate.
    WallClock(Noc0Coord),
    /// The part of the host's memory to which the chip can write.
    Host,
}

impl std::fmt::Display for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::L1(core) => write!(f, "L1 of core {core}"),
            Self::Dram(bank) => write!(f, "DRAM bank {bank}"),
            Self::WallClock(core) => write!(f, "wall clock of core {core}"),
            Self::Host => write!(f, "the host's memory"),
        }
    }
}

/// A range of words in one memory of a chip.
///
/// ```
/// use reader::mesh::{Memory, WordRange};
/// let range = WordRange { chip_id: 2, memory: Memory::Dram(3), address: 60, word_count: 2 };
/// assert_eq!(range.first_word_below(68).unwrap(), 15);
/// let error = range.first_word_below(64).unwrap_err();
/// assert_eq!(error.to_string(), "chip 2, DRAM bank 3: 2 words at 0x3c lie outside of it");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordRange {
    /// Number of the chip.
    pub chip_id: u32,
    /// The memory.
    pub memory: Memory,
    /// Byte address of the first word.
    pub address: u64,
    /// Number of words.
    pub word_count: usize,
}

impl WordRange {
    /// Returns the index of the first word, counted from address 0.
    ///
    /// # Errors
    /// If the range is not aligned to words, or ends after byte `end`.
    pub fn first_word_below(&self, end: u64) -> Result<u64, AccessError> {
        let size_bytes = (self.word_count as u64).checked_mul(4);
        let last = size_bytes.and_then(|size_bytes| self.address.checked_add(size_bytes));
        let is_inside = self.address.is_multiple_of(4) && last.is_some_and(|last| last <= end);
        if is_inside { Ok(self.address / 4) } else { Err(self.outside()) }
    }

    /// Returns the error for an access outside the memory.
    #[must_use]
    pub fn outside(&self) -> AccessError {
        let Self { chip_id, memory, address, word_count } = *self;
        AccessError::OutOfRange { chip_id, memory: memory.to_string(), address, word_count }
    }

    /// Returns the error for a memory that does not exist.
    ///
    /// The error is [`AccessError::NoSuchCore`] for the memory of a core and
    /// [`AccessError::OutOfRange`] for other memory.
    #[must_use]
    pub fn nowhere(&self) -> AccessError {
        let chip_id = self.chip_id;
        match self.memory {
            Memory::L1(core) | Memory::WallClock(core) => AccessError::NoSuchCore { chip_id, core },
            Memory::Dram(_) | Memory::Host => self.outside(),
        }
    }
}
