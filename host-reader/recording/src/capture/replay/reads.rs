//! The reads of a capture: the sections of each read, and the chips and names known before the
//! read.

use super::captured_memory::CapturedMemory;
use crate::capture::{
    Capture,
    section::{Content, FailedAccess, MemoryWords, ReadBegin, WordsContent},
};
use reader::{
    mesh::{DeviceDescription, Memory, Noc0Coord},
    names::ZoneTable,
};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

/// Key of the captured accesses to a memory. Reads and writes have separate keys, because they fail
/// independently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AccessKey {
    pub(super) chip_id: u32,
    pub(super) memory: Memory,
    pub(super) is_write: bool,
}

/// All data in a capture about one read.
#[derive(Debug, Default)]
pub(super) struct ReadRecord<'file> {
    pub(super) begin: ReadBegin,
    /// Descriptions of the chips known before the read, by chip id.
    pub(super) chips: BTreeMap<u32, DeviceDescription>,
    /// Zone names known before the read.
    pub(super) zones: ZoneTable,
    pub(super) memories: BTreeMap<AccessKey, CapturedMemory<'file>>,
    /// Cores of this read with words that the next read contains again. Only an unfinished read has
    /// such cores.
    pub(super) repeated: BTreeSet<CoreId>,
    pub(super) host_time_ns: u64,
    is_complete: bool,
    markers: BTreeMap<CoreId, Vec<MarkerWords<'file>>>,
}

/// A core of a mesh: chip id and coordinate.
pub(super) type CoreId = (u32, Noc0Coord);

/// Words that contain markers or loss counts. A core may overwrite these words after their read has
/// been acknowledged.
#[derive(Debug)]
struct MarkerWords<'file> {
    access: AccessKey,
    address: u64,
    words: Cow<'file, [u32]>,
}

/// The reads of a capture, in order.
#[derive(Debug, Default)]
pub(super) struct CapturedReads<'file> {
    reads: Vec<ReadRecord<'file>>,
    chips: BTreeMap<u32, DeviceDescription>,
    zones: ZoneTable,
}

impl<'file> CapturedReads<'file> {
    /// Collects the sections of a capture. Words are not copied.
    pub(super) fn from_capture(capture: &'file Capture) -> Self {
        let mut reads = Self::default();
        for section in capture.sections() {
            if let Ok(content) = section.content() {
                reads.add(content);
            }
        }
        reads
    }

    /// Returns the reads. Data that a later read contains again is left out.
    pub(super) fn without_repetitions(self) -> impl Iterator<Item = ReadRecord<'file>> {
        let mut reads = self.reads;
        for index in 1..reads.len() {
            let (before, later) = reads.split_at_mut(index);
            if let (Some(read), Some(next)) = (before.last_mut(), later.first())
                && !read.is_complete
            {
                read.repeated = read.repeated_by(next);
            }
        }
        reads.into_iter().filter(|read| read.is_complete || !read.is_all_repeated())
    }

    fn add(&mut self, content: Content<'file>) {
        match content {
            Content::Device(chip) => {
                self.chips.insert(chip.chip_id, chip);
            }
            Content::ZoneNames(zones) => self.zones.merge(&zones),
            Content::ReadBegin(begin) => {
                let read = self.read(begin.read_number);
                read.begin = begin;
            }
            Content::Memory(words) => self.read(words.read_number).add_words(words),
            Content::FailedAccess(failed) => self.read(failed.read_number).add_refusal(failed),
            Content::ReadEnd(end) => {
                let read = self.read(end.read_number);
                (read.host_time_ns, read.is_complete) = (end.host_time_ns, true);
            }
            _ => {}
        }
    }

    /// Returns the read with this number: the read collected last, or else a new read.
    ///
    /// No other read is searched, because the sections of a read are contiguous.
    #[expect(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "one is added where there is none"
    )]
    fn read(&mut self, read_number: u32) -> &mut ReadRecord<'file> {
        if self.reads.last().is_none_or(|read| read.begin.read_number != read_number) {
            let read = self.new_read(read_number);
            self.reads.push(read);
        }
        let last = self.reads.len() - 1;
        &mut self.reads[last]
    }

    /// Creates a read with the options of the previous read.
    ///
    /// The `ReadBegin` section of the read replaces these options, unless the section is lost.
    fn new_read(&self, read_number: u32) -> ReadRecord<'file> {
        let before = self.reads.last().map(|read| read.begin.clone());
        let begin = before.unwrap_or_else(|| ReadBegin {
            chips: self.chips.keys().copied().collect(),
            ..ReadBegin::default()
        });
        ReadRecord {
            begin: ReadBegin { read_number, is_fresh: false, ..begin },
            chips: self.chips.clone(),
            zones: self.zones.clone(),
            ..ReadRecord::default()
        }
    }
}

impl<'file> ReadRecord<'file> {
    fn add_words(&mut self, memory_words: MemoryWords<'file>) {
        let MemoryWords { chip_id, memory, address, content, lane, words, .. } = memory_words;
        let access = AccessKey { chip_id, memory, is_write: false };
        let holds_markers =
            matches!(content, WordsContent::Lane | WordsContent::Vector | WordsContent::LossLog);
        if let Some(lane) = lane.filter(|_| holds_markers) {
            let markers = MarkerWords { access, address, words: words.clone() };
            self.markers.entry((chip_id, lane.core)).or_default().push(markers);
        }
        self.memories.entry(access).or_default().add_words(address, words);
    }

    fn add_refusal(&mut self, failed: FailedAccess) {
        let FailedAccess { chip_id, memory, address, word_count, is_write, error, .. } = failed;
        let access = AccessKey { chip_id, memory, is_write };
        self.memories.entry(access).or_default().add_refusal(address, word_count, error);
    }

    /// Returns the cores for which a later read contains all words again.
    fn repeated_by(&self, later: &Self) -> BTreeSet<CoreId> {
        let cores = self.markers.iter();
        cores
            .filter(|(_, words)| {
                words.iter().all(|markers| {
                    let again = later.memories.get(&markers.access);
                    again.is_some_and(|again| again.holds(markers.address, &markers.words))
                })
            })
            .map(|(&core, _)| core)
            .collect()
    }

    /// Returns true if the capture contains the end of the read.
    pub(super) const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns true if the next read contains all words of all cores of this read.
    fn is_all_repeated(&self) -> bool {
        self.markers.len() == self.repeated.len()
    }
}
