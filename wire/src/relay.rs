//! Relays: cores that run no program and collect the records (cells) that other cores stream.
//!
//! A relay has up to two **gatherers**, one RISC for each NoC. The cores that it reads are its
//! producers. While kernels run on the producers, a gatherer reads the producers' rings over its
//! NoC and pushes the cells as frames ([`crate::frame`]) into its own ring, which is in DRAM or in
//! the host's memory. The host reads the frames. The firmware of a relay's core has no profiler, so
//! the core's control vector belongs to the gatherers: [`words`].
//!
//! # What can be lost
//! A gatherer tells the producer that cells were read ([`crate::stream::words::READ`]) only once
//! the cells' frame is in the gatherer's ring and [`words::WRITTEN`] counts it. So a relay that
//! dies loses nothing: cells that it has not reported are still in the producer's ring. Some of
//! these cells may also be in a frame.
//!
//! If a gatherer's ring is full, only the gatherer waits. If the rings of a gatherer's producers
//! fill up meanwhile, the producers follow their policies.
//!
//! # Rings in the host's memory
//! The PCIe tile does not keep the order of writes to the host's memory. So a gatherer counts a
//! frame only when the tile has acknowledged all writes of the frame. The count is in L1. A host
//! that reads the count over PCIe also finds the frame in its memory, because the answer to a read
//! does not overtake earlier writes to the host.

use crate::{
    frame::{ALIGN_BYTES, CRC_ENTRIES, FRAME_BYTES_MAX},
    risc::RISCS_PER_CORE,
};

/// Maximum number of gatherers in a relay.
pub const GATHERERS_MAX: usize = 2;
/// Maximum number of producers per gatherer.
pub const PRODUCERS_MAX: u32 = 256;
/// Minimum size of a ring in bytes. A ring of this size has room for two frames that the host may
/// not read yet, a filler, and the next frame. All ring sizes are powers of two.
pub const RING_BYTES_MIN: u32 = (4 * FRAME_BYTES_MAX).next_power_of_two();
/// Number of frame buffers of a gatherer, and so the maximum number of frames in progress.
pub const BUFFER_COUNT: u32 = 4;
/// Size of a buffer in bytes; a buffer holds one frame.
pub const BUFFER_BYTES: u32 = FRAME_BYTES_MAX;
/// Offset of the filler from the first buffer, in bytes. The filler follows all buffers.
pub const FILLER_OFFSET: u32 = BUFFER_COUNT * BUFFER_BYTES;
/// Offset of the CRC table from the first buffer, in bytes.
pub const CRC_OFFSET: u32 = FILLER_OFFSET + ALIGN_BYTES;
/// Size of the buffers, the filler and the CRC table together, in bytes.
#[expect(clippy::cast_possible_truncation, reason = "1024 entries")]
pub const BUFFERS_BYTES: u32 = CRC_OFFSET + 4 * CRC_ENTRIES as u32;

/// Words of the control vector of a relay's core.
///
/// The words are valid only if word [`crate::control::ext::SIGNATURE`] holds
/// [`words::SIGNATURE_VALUE`]. A host that zeroes the vector ends the relay. The constants are the
/// words of gatherer 0; [`words::of`] returns the words of gatherer 1, which are 0 if there is no
/// such gatherer.
///
/// | words | writer | meaning |
/// |---|---|---|
/// | 5 | gatherer | signature and version |
/// | 14, 24 | gatherer | heartbeat: changes at least once per visit, and while the gatherer waits for the host |
/// | 15, 25 | gatherer | state, see [`crate::relay::State`] |
/// | 16, 26 | gatherer | DRAM bank of the ring; [`words::HOST_MEMORY`] for a ring in the host's memory |
/// | 17, 27 | gatherer | address of the ring in the bank, or offset in the host's memory |
/// | 18, 28 | gatherer | bytes of the ring, a power of two |
/// | 19, 29 | gatherer | bytes written, modulo 2^32 |
/// | 20, 30 | gatherer | completed sweeps: a sweep reads every producer once, and is completed when its frames are written |
/// | 21, 31 | gatherer | number of times that the ring had no room for a frame |
/// | 22, 32 | gatherer | number of producers |
/// | 23, 33 | gatherer | L1 address of the list of producers, see [`crate::relay::setup`] |
/// | 34 | gatherer | term: number of earlier relays that have read this relay's producers |
/// | 59, 60 | host | bytes read, modulo 2^32 |
/// | 61 | host | 1: request to end the relay, with all gatherers |
pub mod words {
    use crate::control::ext;

    /// Signature of a relay's control vector: the ASCII letters `KR` and the version of the format.
    pub const SIGNATURE_VALUE: u32 = 0x4B52_1000;
    /// Value of [`BANK`] if the ring is in the host's memory.
    pub const HOST_MEMORY: u32 = u32::MAX;
    /// Index of the heartbeat word. The gatherer changes this word at least once per visit to a
    /// producer, and repeatedly while it waits for the host.
    pub const HEARTBEAT: usize = 14;
    /// Index of the word that holds the gatherer's state, see [`super::State`].
    pub const STATE: usize = 15;
    /// Index of the word that holds the DRAM bank of the ring, or [`HOST_MEMORY`].
    pub const BANK: usize = 16;
    /// Index of the word that holds the ring's address in its bank. For a ring in the host's
    /// memory, the word holds the offset from the first byte that the chip can write.
    pub const RING_ADDRESS: usize = 17;
    /// Index of the word that holds the size of the ring in bytes.
    pub const RING_BYTES: usize = 18;
    /// Index of the word that counts bytes written to the ring, modulo 2^32.
    pub const WRITTEN: usize = 19;
    /// Index of the word that counts completed sweeps: a sweep reads every producer once, and is
    /// completed when its frames are written.
    pub const SWEEPS: usize = 20;
    /// Index of the word that counts how often the ring had no room for a frame.
    pub const FULL_WAITS: usize = 21;
    /// Index of the word that holds the number of producers.
    pub const PRODUCERS: usize = 22;
    /// Index of the word that holds the L1 address of the list of producers.
    pub const PRODUCER_LIST: usize = 23;
    /// Index of the word that holds the number of earlier relays that have read this relay's
    /// producers. All gatherers share this word.
    pub const TERM: usize = 34;
    /// Index of the word that counts bytes of the ring that the host has read, modulo 2^32.
    pub const READ: usize = ext::CONSUMED;
    /// Index of the word that is nonzero if the host requests that the relay end.
    pub const STOP: usize = READ + super::GATHERERS_MAX;

    /// Returns the index of a gatherer's word, given the index of the same word of gatherer 0.
    ///
    /// ```
    /// use wire::relay::words;
    /// assert_eq!([0, 1].map(|gatherer| words::of(gatherer, words::STATE)), [15, 25]);
    /// assert_eq!([0, 1].map(|gatherer| words::of(gatherer, words::READ)), [59, 60]);
    /// ```
    #[must_use]
    #[inline(always)]
    pub const fn of(gatherer: usize, word: usize) -> usize {
        let step = if word == READ { 1 } else { PRODUCER_LIST + 1 - HEARTBEAT };
        word.wrapping_add(gatherer.wrapping_mul(step))
    }
}

/// State of a gatherer, stored in its word [`words::STATE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Gathering cells.
    Runs,
    /// Ended at the host's request.
    Stopped,
    /// Ended because the NoC did not answer in time.
    NocSilent,
    /// Ended without doing anything, because its setup is invalid.
    BadSetup,
}

impl State {
    /// Returns the word for this state.
    #[must_use]
    pub const fn to_word(self) -> u32 {
        match self {
            Self::Runs => 1,
            Self::Stopped => 2,
            Self::NocSilent => 3,
            Self::BadSetup => 4,
        }
    }

    /// Returns the state that `word` encodes; `None` if `word` encodes no state.
    ///
    /// ```
    /// use wire::relay::State;
    /// assert_eq!(State::from_word(3), Some(State::NocSilent));
    /// assert_eq!(State::from_word(0), None);
    /// ```
    #[must_use]
    pub const fn from_word(word: u32) -> Option<Self> {
        match word {
            1 => Some(Self::Runs),
            2 => Some(Self::Stopped),
            3 => Some(Self::NocSilent),
            4 => Some(Self::BadSetup),
            _ => None,
        }
    }
}

/// Setup of a gatherer: words in its L1, at an address that is a multiple of 16.
///
/// The gatherer also stores here, for each RISC of each producer, the number of the next cell to
/// read.
///
/// A word that names a tile holds the tile's coordinates on the gatherer's NoC, in the format of
/// the register for the coordinates of a NoC request. On a Blackhole, the column is in bits 0 to 5
/// and the row in bits 6 to 11. On a Wormhole, the column is in bits 4 to 9 and the row in bits 10
/// to 15; bits 0 to 3 hold bits 32 to 35 of an address in the tile.
pub mod setup {
    use super::RISCS_PER_CORE;

    /// Index of the word that holds the L1 address of the relay's control vector.
    pub const CONTROL: usize = 0;
    /// Index of the word that holds the L1 address of each producer's control vector. The address
    /// is the same on all producers. The producer's rings follow the vector.
    pub const PRODUCER_CONTROL: usize = 1;
    /// Index of the word that holds the L1 address of the gatherer's frame buffers.
    ///
    /// The address is a multiple of 16. From this address on,
    /// [`BUFFERS_BYTES`](super::BUFFERS_BYTES) bytes hold the buffers, the filler and the CRC
    /// table.
    pub const BUFFERS: usize = 2;
    /// Index of the word that names the tile through which the ring is reached: a DRAM tile, or the
    /// PCIe tile for a ring in the host's memory.
    pub const SINK_TILE: usize = 3;
    /// Index of the word that holds bits 0 to 31 of the ring's NoC address in the tile
    /// [`SINK_TILE`].
    pub const SINK_ADDRESS: usize = 4;
    /// Index of the word that holds the ring's bank, as reported to the host;
    /// [`words::HOST_MEMORY`](super::words::HOST_MEMORY) for a ring in the host's memory.
    pub const BANK: usize = 5;
    /// Index of the word that holds the ring's address in the bank or in the host's memory, as
    /// reported to the host.
    pub const RING_ADDRESS: usize = 6;
    /// Index of the word that holds the size of the ring in bytes.
    pub const RING_BYTES: usize = 7;
    /// Index of the word that holds the number of producers.
    pub const PRODUCERS: usize = 8;
    /// Index of the word that holds the gatherer's number in its relay. The number of the
    /// gatherer's NoC is the same.
    pub const GATHERER: usize = 9;
    /// Index of the word that names the relay's own tile.
    pub const OWN_TILE: usize = 10;
    /// Index of the word that holds the number of earlier relays that have read the producers of
    /// this relay.
    pub const TERM: usize = 11;
    /// Index of the word that holds, on a Blackhole, bits 32 to 63 of the ring's NoC address.
    pub const SINK_ADDRESS_HIGH: usize = 12;
    /// Index of the first word of the list of producers.
    pub const LIST: usize = 16;

    /// Size of a producer's entry in the list, in words.
    pub const PRODUCER_WORDS: usize = 8;
    /// Index, in an entry, of the word that names the producer's tile.
    pub const TILE: usize = 0;
    /// Index, in an entry, of the word that holds the producer's label in frames, see
    /// [`crate::frame::header::PRODUCER`].
    pub const LABEL: usize = 1;
    /// Index, in an entry, of the word that is 0 until the gatherer has read the producer's control
    /// vector.
    pub const IS_KNOWN: usize = 2;
    /// Index, in an entry, of the first of five words, one per RISC: number of the next cell to
    /// read.
    ///
    /// The gatherer sends these words directly to the producer, so their address and the target
    /// address in the producer are equal modulo 16.
    pub const NEXT: usize = 3;

    const _: () = assert!(NEXT + RISCS_PER_CORE == PRODUCER_WORDS);
    const _: () = assert!(NEXT % 4 == crate::stream::words::READ % 4);
    const _: () = assert!(LIST.is_multiple_of(4) && PRODUCER_WORDS.is_multiple_of(4));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_sizes_are_those_of_the_documentation() {
        assert_eq!((words::READ, words::STOP), (59, 61));
        assert_eq!(words::of(1, words::HEARTBEAT), words::PRODUCER_LIST + 1);
        assert_eq!((RING_BYTES_MIN, BUFFER_BYTES), (65_536, 10_560));
        assert!(BUFFER_BYTES.is_multiple_of(16));
    }

    #[test]
    fn a_state_is_in_its_word() {
        for word in 0..10 {
            assert!(State::from_word(word).is_none_or(|state| state.to_word() == word));
        }
        let states = [State::Runs, State::Stopped, State::NocSilent, State::BadSetup];
        assert_eq!(states.map(|state| State::from_word(state.to_word())), states.map(Some));
    }
}
