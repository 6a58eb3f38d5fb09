//! Chunks of 64-bit words. One thread appends words while other threads read the published words.
//!
//! The writer stores new words after the published words, and then publishes the new words. The
//! writer needs neither locks nor atomic read-modify-write operations. A chunk does not move or
//! grow. If the writer needs more space, it begins another chunk.

use std::sync::atomic::{AtomicU64, Ordering};

/// Number of words in a chunk. If a record needs more words, its chunk is as large as the record.
const CHUNK_WORDS: usize = 4096;

/// Memory for a fixed number of words, filled from the start.
#[derive(Debug)]
pub(super) struct Chunk {
    words: Box<[AtomicU64]>,
    /// Number of published words (upper bits), and the thread's number of open zones after these
    /// words (lowest `OPEN_ZONES_BITS` bits). Published words no longer change.
    published: AtomicU64,
}

const OPEN_ZONES_BITS: u32 = 16;

impl Chunk {
    /// Creates a chunk with room for at least one record of `word_count` words.
    pub(super) fn with_room_for(word_count: usize) -> Self {
        let words = (0..word_count.max(CHUNK_WORDS)).map(|_| AtomicU64::new(0)).collect();
        Self { words, published: AtomicU64::new(0) }
    }

    /// Returns true if `word_count` words fit from position `at` on.
    #[inline]
    pub(super) fn has_room(&self, at: usize, word_count: usize) -> bool {
        word_count <= self.words.len() - at
    }

    /// Stores words from position `at` on, without publishing them; returns the end position.
    #[inline]
    pub(super) fn store(&self, at: usize, words: impl IntoIterator<Item = u64>) -> usize {
        let mut end = at;
        for (slot, word) in self.words[at..].iter().zip(words) {
            slot.store(word, Ordering::Relaxed);
            end += 1;
        }
        end
    }

    /// Publishes the first `end` words of the chunk, and the number of open zones, for readers.
    #[inline]
    pub(super) fn publish(&self, end: usize, open_zones: u16) {
        let published = (end as u64) << OPEN_ZONES_BITS | u64::from(open_zones);
        self.published.store(published, Ordering::Release);
    }

    /// Copies the published words from position `from` on; also returns the number of open zones.
    pub(super) fn read_from(&self, from: usize) -> (Vec<u64>, u64) {
        let published = self.published.load(Ordering::Acquire);
        let end = usize::try_from(published >> OPEN_ZONES_BITS).unwrap_or(usize::MAX);
        let words = self.words.get(from..end).unwrap_or_default();
        let open_zones = published & u64::from(u16::MAX);
        (words.iter().map(|word| word.load(Ordering::Relaxed)).collect(), open_zones)
    }
}
