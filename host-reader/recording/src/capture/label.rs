//! Labels for ranges of a chip's memory. They show to which lane the words in a capture belong.
//!
//! Labels are for people and tools. Decoding does not use labels, so a wrong label does no harm.

use super::section::WordsContent;
use reader::{
    decode::CaptureMode,
    lane::LaneId,
    mesh::{CoreDescription, DeviceDescription, Memory, Noc0Coord},
    read::ReadOptions,
};
use std::{collections::BTreeMap, num::NonZeroU64, ops::Range};
use wire::{
    CoreKind, Risc,
    control::{ControlLayout, ext},
    risc::RISCS_PER_CORE,
    vector::{FIRST_OPTIONAL, VECTOR_BYTES},
};

/// The known part of a chip's memory layout, used to label words.
pub(super) struct ChipLabels {
    chip: DeviceDescription,
    by_place: BTreeMap<Noc0Coord, usize>,
    by_flat_id: BTreeMap<u32, usize>,
    cores_per_bank: u32,
    lane_words: u32,
    mode: CaptureMode,
}

/// A range of words with the same label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LabelledRange {
    /// Indices of the words.
    pub(super) range: Range<usize>,
    pub(super) content: WordsContent,
    pub(super) lane: Option<LaneId>,
    pub(super) first_word: u64,
}

const LANES_PER_CORE: u64 = RISCS_PER_CORE as u64;
const VECTOR_SIZE: u64 = VECTOR_BYTES as u64;

impl ChipLabels {
    pub(super) fn new(chip: DeviceDescription, options: &ReadOptions) -> Self {
        let geometry = chip.geometry(options.program_support_count, options.sums_enabled).ok();
        let cores = chip.cores.iter().enumerate();
        Self {
            by_place: cores.clone().map(|(index, core)| (core.noc0, index)).collect(),
            by_flat_id: cores.map(|(index, core)| (core.flat_id, index)).collect(),
            cores_per_bank: geometry.map_or(0, |geometry| geometry.cores_per_bank()),
            lane_words: geometry.map_or(0, |geometry| geometry.lane_words()),
            mode: options.mode,
            chip,
        }
    }

    pub(super) const fn chip(&self) -> &DeviceDescription {
        &self.chip
    }

    /// Sets the lane size, if `words` are a control vector that states the size.
    pub(super) fn learn(&mut self, label: &LabelledRange, words: &[u32]) {
        if label.content != WordsContent::Control || label.first_word != 0 {
            return;
        }
        let is_ours = words.get(ext::SIGNATURE) == Some(&ext::SIGNATURE_VALUE);
        if let Some(&announced @ 1..) = words.get(ext::DRAM_LANE_WORDS).filter(|_| is_ours) {
            self.lane_words = announced;
        }
    }

    /// Returns the labels of `word_count` words at `address`, in order and without gaps.
    pub(super) fn label(
        &self,
        memory: Memory,
        address: u64,
        word_count: usize,
    ) -> Vec<LabelledRange> {
        match memory {
            Memory::L1(core) => self.label_l1(core, address, word_count),
            Memory::Dram(bank) => self.label_dram(bank, address, word_count),
            Memory::Host => vec![unlabelled(0..word_count)],
            Memory::WallClock(_) => {
                let content = WordsContent::WallClock;
                vec![LabelledRange { content, ..unlabelled(0..word_count) }]
            }
        }
    }

    /// Splits a range of L1 at the ends of vectors, and labels each part.
    fn label_l1(&self, core: Noc0Coord, address: u64, word_count: usize) -> Vec<LabelledRange> {
        let whole = 0..word_count;
        let core = self.by_place.get(&core).and_then(|&index| self.chip.cores.get(index));
        let Some(core) = core else { return vec![unlabelled(whole)] };
        let mut labels = Vec::new();
        let mut done = 0;
        while done < word_count || labels.is_empty() {
            let at = address.saturating_add((done as u64).saturating_mul(4));
            let offset = at.checked_sub(core.vector_address).filter(|offset| {
                *offset < (VECTOR_BYTES * RISCS_PER_CORE) as u64 && offset.is_multiple_of(4)
            });
            let to_end = offset.map(|offset| VECTOR_SIZE.saturating_sub(offset % VECTOR_SIZE) / 4);
            let to_end = to_end.and_then(|words| usize::try_from(words).ok());
            let rest = word_count.saturating_sub(done);
            let end = done.saturating_add(to_end.unwrap_or(rest).clamp(1, rest.max(1)));
            let end = end.min(word_count);
            let label = self.label_part(core, at, end.saturating_sub(done));
            labels.push(LabelledRange { range: done..end, ..label });
            done = end;
        }
        labels
    }

    /// Labels a range of L1 that is within one vector, or in no vector.
    fn label_part(&self, core: &CoreDescription, address: u64, word_count: usize) -> LabelledRange {
        let range = 0..word_count;
        let size_bytes = (word_count as u64).saturating_mul(4);
        let control_bytes = ControlLayout::WORDS64.size_bytes() as u64;
        if let Some(offset) =
            offset_within(address, size_bytes, core.control_address, control_bytes)
        {
            let (content, first_word) = (WordsContent::Control, offset / 4);
            return LabelledRange { range, content, lane: None, first_word };
        }
        let vector_bytes = (VECTOR_BYTES * RISCS_PER_CORE) as u64;
        let offset = offset_within(address, size_bytes, core.vector_address, vector_bytes);
        let Some(offset) = offset else { return unlabelled(range) };
        let first_word = offset % VECTOR_SIZE / 4;
        // Version 2 of this project's protocol stored its losses at this offset. No other read
        // begins here, because reads of a run begin at the run's first word.
        let is_log = first_word == FIRST_OPTIONAL as u64;
        let content = if is_log { WordsContent::LossLog } else { WordsContent::Vector };
        let lane = self.lane(core, offset / VECTOR_SIZE);
        LabelledRange { range, content, lane, first_word }
    }

    /// Splits a range of DRAM at the ends of lanes, and labels each part.
    fn label_dram(&self, bank: u32, address: u64, word_count: usize) -> Vec<LabelledRange> {
        let mut labels = Vec::new();
        let mut done = 0;
        while done < word_count {
            let address = address.saturating_add((done as u64).saturating_mul(4));
            let label = self.lane_at(bank, address, done..word_count);
            done = label.range.end;
            labels.push(label);
        }
        labels
    }

    /// Returns the label of the lane at `address`. The labelled range is the part of `range` in
    /// this lane.
    fn lane_at(&self, bank: u32, address: u64, range: Range<usize>) -> LabelledRange {
        let word = address.checked_sub(self.chip.dram.region_address).map(|offset| offset / 4);
        let (Some(word), Some(lane_words)) = (word, NonZeroU64::new(self.lane_words.into())) else {
            return unlabelled(range);
        };
        let (lane_in_bank, first_word) = (word / lane_words, word % lane_words);
        let (core_in_bank, risc_index) =
            (lane_in_bank / LANES_PER_CORE, lane_in_bank % LANES_PER_CORE);
        let rest = lane_words.get().saturating_sub(first_word);
        let rest = usize::try_from(rest).unwrap_or(usize::MAX);
        let range = range.start..range.end.min(range.start.saturating_add(rest));
        if core_in_bank >= u64::from(self.cores_per_bank) {
            return unlabelled(range);
        }
        let first_of_bank = u64::from(bank).saturating_mul(self.cores_per_bank.into());
        let flat_id = u32::try_from(first_of_bank.saturating_add(core_in_bank)).ok();
        let index = flat_id.and_then(|id| self.by_flat_id.get(&id));
        let core = index.and_then(|&index| self.chip.cores.get(index));
        let lane = core.and_then(|core| self.lane(core, risc_index));
        let content = if lane.is_some() { WordsContent::Lane } else { WordsContent::Other };
        LabelledRange { range, content, lane, first_word }
    }

    fn lane(&self, core: &CoreDescription, risc_index: u64) -> Option<LaneId> {
        let risc = match (core.kind, self.mode, risc_index) {
            (CoreKind::Tensix, CaptureMode::TraceOnly, 0) => Some(Risc::TensixAggregate),
            (kind, _, index) => kind.risc(usize::try_from(index).ok()?),
        };
        Some(LaneId { chip_id: self.chip.chip_id, core: core.noc0, risc: risc? })
    }
}

const fn unlabelled(range: Range<usize>) -> LabelledRange {
    LabelledRange { range, content: WordsContent::Other, lane: None, first_word: 0 }
}

/// Returns the offset of `address` from `start`, if the `size_bytes` at `address` are within the
/// region at `start`.
fn offset_within(address: u64, size_bytes: u64, start: u64, region_bytes: u64) -> Option<u64> {
    let offset = address.checked_sub(start)?;
    (offset.checked_add(size_bytes)? <= region_bytes).then_some(offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reader::mesh::{DramDescription, LogicalCoord};

    const CORES: [Noc0Coord; 2] = [Noc0Coord { x: 1, y: 1 }, Noc0Coord { x: 1, y: 2 }];

    fn labels() -> ChipLabels {
        let chip = DeviceDescription {
            chip_id: 5,
            arch: "blackhole".into(),
            aiclk_mhz: 1,
            max_compute_cores: 2,
            cores: (0..)
                .zip(CORES)
                .map(|(flat_id, noc0)| CoreDescription {
                    noc0,
                    logical: LogicalCoord { x: 0, y: 0 },
                    kind: if flat_id == 0 { CoreKind::Tensix } else { CoreKind::IdleEth },
                    flat_id,
                    control_address: 0x100,
                    vector_address: 0x200,
                })
                .collect(),
            dram: DramDescription { bank_count: 1, region_address: 64, region_bytes: 1 << 20 },
        };
        ChipLabels::new(chip, &ReadOptions::default())
    }

    fn lane(core: Noc0Coord, risc: Risc) -> Option<LaneId> {
        Some(LaneId { chip_id: 5, core, risc })
    }

    #[test]
    fn words_of_l1_are_named_by_where_they_lie() {
        let labels = labels();
        let label = |address, count| {
            let label = labels.label(Memory::L1(CORES[0]), address, count).remove(0);
            (label.content, label.lane, label.first_word)
        };
        assert_eq!(label(0x100, 64), (WordsContent::Control, None, 0));
        assert_eq!(label(0x108, 2), (WordsContent::Control, None, 2));
        let trisc_0 = lane(CORES[0], Risc::Trisc0);
        assert_eq!(label(0x200 + 4096, 512), (WordsContent::Vector, trisc_0, 0));
        assert_eq!(label(0x200 + 4096 + 48, 8), (WordsContent::LossLog, trisc_0, 12));
        assert_eq!(label(0x1FC, 4), (WordsContent::Other, None, 0));
    }

    #[test]
    fn a_piece_of_dram_is_cut_where_lanes_end() {
        // 1000 programs of 12 words each: 12,000 words per lane.
        let labels = labels().label(Memory::Dram(0), 64 + 4 * 47_990, 24_010);
        let found: Vec<_> =
            labels.iter().map(|l| (l.range.clone(), l.lane, l.first_word)).collect();
        let expected = [
            (0..10, lane(CORES[0], Risc::Trisc1), 11_990),
            (10..12_010, lane(CORES[0], Risc::Trisc2), 0),
            (12_010..24_010, lane(CORES[1], Risc::Erisc), 0),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn an_announced_size_of_lanes_is_learnt() {
        let mut labels = labels();
        let mut words = [0; 64];
        (words[ext::SIGNATURE], words[ext::DRAM_LANE_WORDS]) = (ext::SIGNATURE_VALUE, 516);
        let control = labels.label(Memory::L1(CORES[0]), 0x100, 64).remove(0);
        labels.learn(&control, &words);
        let label = labels.label(Memory::Dram(0), 64 + 4 * 516, 1).remove(0);
        assert_eq!((label.lane, label.first_word), (lane(CORES[0], Risc::Ncrisc), 0));
    }
}
