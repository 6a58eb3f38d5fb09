//! Words that one thread appends while others read those that are published.
//!
//! The writer stores words behind the published ones and then publishes them, all by plain
//! stores. A chunk does not move or grow; a writer that needs more begins another.

use std::sync::atomic::{AtomicU64, Ordering};

/// Words of a chunk, unless one record alone needs more.
const CHUNK_WORDS: usize = 4096;

/// Some words, in the order in which they were written.
#[derive(Debug)]
pub(super) struct Chunk {
    words: Box<[AtomicU64]>,
    /// How many words are there and do not change any more, and in the low bits how many
    /// zones of the thread are open at that point.
    published: AtomicU64,
}

const OPEN_ZONES_BITS: u32 = 16;

impl Chunk {
    /// A chunk with room for a record of `word_count` words, and more.
    pub(super) fn with_room_for(word_count: usize) -> Self {
        let words = (0..word_count.max(CHUNK_WORDS)).map(|_| AtomicU64::new(0)).collect();
        Self { words, published: AtomicU64::new(0) }
    }

    /// Returns true if `word_count` words fit behind the first `at`.
    #[inline]
    pub(super) fn has_room(&self, at: usize, word_count: usize) -> bool {
        word_count <= self.words.len() - at
    }

    /// Stores words from `at`, which are not published yet. Gives where the next belong.
    #[inline]
    pub(super) fn store(&self, at: usize, words: impl IntoIterator<Item = u64>) -> usize {
        let mut end = at;
        for (slot, word) in self.words[at..].iter().zip(words) {
            slot.store(word, Ordering::Relaxed);
            end += 1;
        }
        end
    }

    /// Lets others read the first `end` words.
    #[inline]
    pub(super) fn publish(&self, end: usize, open_zones: u16) {
        let published = (end as u64) << OPEN_ZONES_BITS | u64::from(open_zones);
        self.published.store(published, Ordering::Release);
    }

    /// Copies the words from `from` that are published; also gives the open zones.
    pub(super) fn read_from(&self, from: usize) -> (Vec<u64>, u64) {
        let published = self.published.load(Ordering::Acquire);
        let end = usize::try_from(published >> OPEN_ZONES_BITS).unwrap_or(usize::MAX);
        let words = self.words.get(from..end).unwrap_or_default();
        let open_zones = published & u64::from(u16::MAX);
        (words.iter().map(|word| word.load(Ordering::Relaxed)).collect(), open_zones)
    }
}
