//! A core's control vector as it was read: words that may hold anything.

use crate::mesh::{CoreDescription, DeviceDescription};
use wire::{
    Generation,
    control::{ControlLayout, ext},
    dram::DramGeometry,
    generation,
};

/// Words of the larger vector; the smaller one is read as far as it goes.
pub(super) const WORDS: usize = ControlLayout::WORDS64.word_count;

/// The words of one control vector and where they have their meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ControlVector {
    pub(super) words: [u32; WORDS],
    pub(super) layout: ControlLayout,
}

impl ControlVector {
    /// The word at `index`, 0 beyond the vector.
    pub(super) fn word(&self, index: usize) -> u32 {
        self.words.get(index).copied().unwrap_or(0)
    }

    /// Whether our runtime has written the vector.
    pub(super) fn is_ours(&self) -> bool {
        self.layout == ControlLayout::WORDS64 && has_signature(&self.words)
    }

    /// Words that a RISC has pushed.
    pub(super) fn host_end(&self, risc_index: usize) -> u32 {
        self.word(self.layout.host_end + risc_index)
    }

    /// Words that wait in a RISC's L1 vector.
    pub(super) fn device_end(&self, risc_index: usize) -> u32 {
        self.word(self.layout.device_end + risc_index)
    }

    /// Words that a RISC has pushed and a host has read.
    pub(super) fn seen_end(&self, risc_index: usize) -> u32 {
        if self.is_ours() { self.word(ext::SEEN_END + risc_index) } else { 0 }
    }

    /// Lost launches of a RISC, and how many of them a host has read.
    pub(super) fn lost_launches(&self, risc_index: usize) -> (u32, u32) {
        if !self.is_ours() {
            return (0, 0);
        }
        (self.word(ext::LOST_LAUNCHES + risc_index), self.word(ext::SEEN_LOST + risc_index))
    }

    /// Whether the RISC says that DRAM was full.
    pub(super) fn has_dropped(&self, risc_index: usize) -> bool {
        self.word(self.layout.dropped_zones) >> risc_index & 1 != 0
    }

    /// Launches that ran no kernel and that no host has read of yet.
    pub(super) fn discarded_launches(&self) -> u32 {
        if !self.is_ours() {
            return 0;
        }
        let total = self.word(ext::DISCARDED_LAUNCHES);
        // A device that started afresh counts from 0 again.
        total.checked_sub(self.word(ext::SEEN_DISCARDED)).unwrap_or(total)
    }

    /// The words that identify the core: flat id, cores per bank, DRAM address.
    pub(super) fn host_words(&self) -> [u32; 3] {
        host_words(&self.words, &self.layout)
    }

    /// What upstream's host writes after a read: zeros but for the words that hosts own.
    ///
    /// # Compatibility
    /// `profiler.cpp`. The words after the device's last one (addresses of single RISCs,
    /// dispatch flag) are the host's as well.
    pub(super) fn after_reset(&self) -> [u32; WORDS] {
        let mut words = [0; WORDS];
        let last_of_device = self.layout.trace_replay_status.unwrap_or(self.layout.profiler_done);
        let host_tail = last_of_device + 1..self.layout.word_count;
        for index in self.layout.host_owned().into_iter().chain(host_tail) {
            words[index] = self.word(index);
        }
        words
    }
}

/// Which generation wrote the vectors of a chip: the one that more cores speak for.
///
/// A core speaks for a generation by our signature, or by holding at least two of its three
/// host-written words where that generation has them.
pub(super) fn detect<'a>(
    chip: &DeviceDescription,
    geometry: &DramGeometry,
    vectors: impl Iterator<Item = (&'a CoreDescription, &'a [u32; WORDS])>,
) -> Option<Generation> {
    let mut votes = [0_u32; generation::ALL.len()];
    for (core, words) in vectors {
        let expected = expected_words(chip, geometry, core);
        let scores = generation::ALL.map(|generation| {
            let signature = generation == generation::CURRENT && has_signature(words);
            if signature { usize::MAX } else { fit(words, &generation.control, expected) }
        });
        let best = scores.into_iter().max().unwrap_or(0);
        let winner = scores.iter().position(|&score| score == best && best >= 2);
        if let Some(winner) = winner {
            votes[winner] += 1;
        }
    }
    let most = votes.into_iter().max().filter(|&most| most > 0)?;
    votes.iter().position(|&count| count == most).map(|index| generation::ALL[index])
}

/// What a core's host-written words must be.
pub(super) fn expected_words(
    chip: &DeviceDescription,
    geometry: &DramGeometry,
    core: &CoreDescription,
) -> [u32; 3] {
    let address = u32::try_from(chip.dram.region_address).unwrap_or(u32::MAX);
    [core.flat_id, geometry.cores_per_bank(), address]
}

/// The three host-written words where `layout` has them.
pub(super) fn host_words(words: &[u32; WORDS], layout: &ControlLayout) -> [u32; 3] {
    [layout.flat_id, layout.cores_per_bank, layout.dram_address].map(|index| words[index])
}

/// How many of the words are as expected; zeros alone say nothing.
fn fit(words: &[u32; WORDS], layout: &ControlLayout, expected: [u32; 3]) -> usize {
    let found = host_words(words, layout);
    // A core that is told not to push has no address.
    let is_same =
        |(index, &word): (usize, &u32)| word == expected[index] || index == 2 && word == 0;
    if found == [0; 3] { 0 } else { found.iter().enumerate().filter(|&pair| is_same(pair)).count() }
}

fn has_signature(words: &[u32; WORDS]) -> bool {
    words[ext::SIGNATURE] == ext::SIGNATURE_VALUE
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
