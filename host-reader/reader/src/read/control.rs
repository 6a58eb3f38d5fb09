//! A core's control vector, as read from the device. The words may have any value.

use crate::mesh::{CoreDescription, DeviceDescription};
use wire::{
    Generation, LaneEnd,
    control::{ControlLayout, ext},
    dram::DramGeometry,
    generation, relay,
    risc::RISCS_PER_CORE,
    run::GENERATIONS,
    stream,
};

/// Size of the largest control vector, in words. A smaller vector is only read up to its end.
pub(super) const WORDS: usize = ControlLayout::WORDS64.word_count;

/// The words of one control vector and their layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ControlVector {
    pub(super) words: [u32; WORDS],
    pub(super) layout: ControlLayout,
}

impl ControlVector {
    /// Returns the word at `index`; 0 beyond the vector.
    pub(super) fn word(&self, index: usize) -> u32 {
        word_of(&self.words, index)
    }

    /// Returns the words of all RISCs from an array with one word for each RISC; `first` is the
    /// index of the first RISC's word.
    pub(super) fn risc_words(&self, first: usize) -> [u32; RISCS_PER_CORE] {
        std::array::from_fn(|risc_index| self.word(first.saturating_add(risc_index)))
    }

    /// Returns true if this project's runtime has written the vector.
    pub(super) fn is_ours(&self) -> bool {
        self.layout == ControlLayout::WORDS64 && has_signature(&self.words)
    }

    /// Returns true if the core runs a version of this project's runtime whose lanes wrap: the
    /// device reuses the space of words that were read.
    pub(super) fn has_turning_lanes(&self) -> bool {
        self.is_ours() && self.word(ext::SIGNATURE) != ext::SIGNATURE_OF_VERSION_3
    }

    /// Returns the end of the words that a RISC has pushed to its lane of `lane_words` words.
    pub(super) fn lane_end(&self, risc_index: usize, lane_words: u32) -> LaneEnd {
        let word = self.host_end(risc_index);
        if self.has_turning_lanes() {
            LaneEnd::from_word(word, lane_words)
        } else {
            LaneEnd { end: word, turned_at: None }
        }
    }

    /// Returns the number of words of a RISC's lane that a host has acknowledged as read.
    pub(super) fn consumed(&self, risc_index: usize) -> u32 {
        self.word(ext::CONSUMED.saturating_add(risc_index))
    }

    /// Returns the control word with the number of words that a RISC has pushed.
    pub(super) fn host_end(&self, risc_index: usize) -> u32 {
        self.word(self.layout.host_end.saturating_add(risc_index))
    }

    /// Returns the number of words in a RISC's L1 vector that are not pushed yet.
    pub(super) fn device_end(&self, risc_index: usize) -> u32 {
        self.word(self.layout.device_end.saturating_add(risc_index))
    }

    /// Returns the number of words in a RISC's L1 vector that are not pushed yet, for accumulate
    /// mode.
    ///
    /// This project's runtime also stores other bits in this control word; see
    /// `kernel_profiler::accumulate`. The method removes these bits.
    pub(super) fn accumulated_end(&self, risc_index: usize) -> u32 {
        const WORDS_MASK: u32 = 0xFFFF;
        self.device_end(risc_index) & WORDS_MASK
    }

    /// Returns the number of words of a lane that a host has read, if the core runs version 2 of
    /// this project's runtime; otherwise 0.
    ///
    /// Captures of version 2 contain no other state of the lane. Losses under version 2 are treated
    /// as unknown, like losses under TT-Metal's runtime.
    pub(super) fn seen_end_of_version_2(&self, risc_index: usize) -> u32 {
        const SIGNATURE_VALUE: u32 = 0x4B50_2000;
        const SEEN_END: usize = 8;
        let is_version_2 = self.word(ext::SIGNATURE) == SIGNATURE_VALUE;
        if is_version_2 { self.word(SEEN_END.saturating_add(risc_index)) } else { 0 }
    }

    /// Returns the lane generation that the core writes into run headers; `None` if the core does
    /// not run this project's runtime.
    pub(super) fn lane_generation(&self) -> Option<u32> {
        self.is_ours().then(|| self.word(ext::GENERATION) % GENERATIONS)
    }

    /// Returns the number of finished launches since a host cleared the vector.
    pub(super) fn run_counter(&self) -> u32 {
        self.word(self.layout.run_counter)
    }

    /// Returns true if a launch has begun and its markers are not all in DRAM yet.
    pub(super) fn is_under_way(&self) -> bool {
        self.word(self.layout.profiler_done) == 0
    }

    /// Returns true if the RISC reports that it dropped records because DRAM was full.
    pub(super) fn has_dropped(&self, risc_index: usize) -> bool {
        self.word(self.layout.dropped_zones) >> risc_index & 1 != 0
    }

    /// Returns the words that the host wrote when it initialized the core: flat id, cores per bank,
    /// DRAM address.
    pub(super) fn host_words(&self) -> [u32; 3] {
        host_words(&self.words, &self.layout)
    }

    /// Returns the control vector that TT-Metal's host writes after a read: zeros, except for the
    /// words that belong to the host.
    ///
    /// # Compatibility
    /// The function corresponds to the reset in `profiler.cpp`. All words after the last word that
    /// the device writes also belong to the host. In the current layout, these are the dispatch
    /// flag and the DRAM addresses that TT-Metal's debug dump assigns to single RISCs.
    pub(super) fn after_reset(&self) -> [u32; WORDS] {
        let mut words = [0; WORDS];
        let last_of_device = self.layout.trace_replay_status.unwrap_or(self.layout.profiler_done);
        let host_tail = last_of_device.saturating_add(1)..self.layout.word_count;
        for index in self.layout.host_owned().into_iter().chain(host_tail) {
            if let Some(word) = words.get_mut(index) {
                *word = self.word(index);
            }
        }
        words
    }
}

/// A core and the words of its control vector.
pub(super) struct CoreWords {
    pub(super) core: CoreDescription,
    pub(super) words: [u32; WORDS],
}

impl CoreWords {
    pub(super) fn word(&self, index: usize) -> u32 {
        word_of(&self.words, index)
    }

    /// Returns a RISC's word of an array with one word per RISC; `first` is the index of the first
    /// RISC's word.
    pub(super) fn risc_word(&self, first: usize, risc_index: usize) -> u32 {
        self.word(first.saturating_add(risc_index))
    }
}

pub(super) fn word_of(words: &[u32; WORDS], index: usize) -> u32 {
    words.get(index).copied().unwrap_or(0)
}

/// Returns the format generation of a chip's control vectors, which is found by a vote of all
/// cores.
///
/// Each core has one vote. A core with the signature of this project's runtime votes for the
/// current generation. The host writes three words of known values to any other core. Such a core
/// votes for the generation in whose layout most of these words have the expected values, if at
/// least two have them.
pub(super) fn detect(
    chip: &DeviceDescription,
    geometry: &DramGeometry,
    vectors: &[CoreWords],
) -> Option<Generation> {
    let mut votes = [0_u32; generation::ALL.len()];
    for CoreWords { core, words } in vectors {
        let expected = expected_words(chip, geometry, core);
        let scores = generation::ALL.map(|generation| {
            let is_known = has_signature(words) || streams(words);
            let signature = generation == generation::CURRENT && is_known;
            if signature { usize::MAX } else { fit(words, &generation.control, expected) }
        });
        let best = scores.into_iter().max().unwrap_or(0);
        let winner = scores.iter().position(|&score| score == best && best >= 2);
        if let Some(votes) = winner.and_then(|winner| votes.get_mut(winner)) {
            *votes = votes.saturating_add(1);
        }
    }
    let most = votes.into_iter().max().filter(|&most| most > 0)?;
    let winner = votes.iter().position(|&count| count == most)?;
    generation::ALL.get(winner).copied()
}

/// Returns the values that a core's host-written words must have.
pub(super) fn expected_words(
    chip: &DeviceDescription,
    geometry: &DramGeometry,
    core: &CoreDescription,
) -> [u32; 3] {
    let address = u32::try_from(chip.dram.region_address).unwrap_or(u32::MAX);
    [core.flat_id, geometry.cores_per_bank(), address]
}

/// Returns the three host-written words at their indices in `layout`.
pub(super) fn host_words(words: &[u32; WORDS], layout: &ControlLayout) -> [u32; 3] {
    [layout.flat_id, layout.cores_per_bank, layout.dram_address]
        .map(|index| words.get(index).copied().unwrap_or(0))
}

/// Returns the number of host-written words with the expected value; 0 if all of them are zero.
fn fit(words: &[u32; WORDS], layout: &ControlLayout, expected: [u32; 3]) -> usize {
    let found = host_words(words, layout);
    // The host writes address 0 to a core that must not push, so address 0 also counts as expected.
    let [.., address] = found;
    let same = found.iter().zip(&expected).filter(|(found, expected)| found == expected).count();
    let is_told = address == 0 && expected[2] != 0;
    if found == [0; 3] { 0 } else { same.saturating_add(is_told.into()) }
}

/// Returns true if the core uses streaming.
pub(super) fn streams(words: &[u32; WORDS]) -> bool {
    words[ext::SIGNATURE] == stream::words::SIGNATURE_VALUE
}

/// Returns true if the core runs a relay.
pub(super) fn relays(words: &[u32; WORDS]) -> bool {
    words[ext::SIGNATURE] == relay::words::SIGNATURE_VALUE
}

fn has_signature(words: &[u32; WORDS]) -> bool {
    ext::SIGNATURES.contains(&words[ext::SIGNATURE])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_keeps_what_hosts_own_and_nothing_else() {
        let mut words = [0; WORDS];
        for (index, word) in words.iter_mut().enumerate() {
            *word = 100 + u32::try_from(index).unwrap();
        }
        let current = ControlVector { words, layout: ControlLayout::WORDS64 }.after_reset();
        let kept: Vec<usize> = (0..WORDS).filter(|&index| current[index] != 0).collect();
        assert_eq!(kept, [50, 54, 55, 59, 60, 61, 62, 63]);
        let legacy = ControlVector { words, layout: ControlLayout::WORDS32 }.after_reset();
        let kept: Vec<usize> = (0..WORDS).filter(|&index| legacy[index] != 0).collect();
        assert_eq!(kept, [12, 16, 17, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]);
        assert_eq!(current[54], 154);
    }
}
