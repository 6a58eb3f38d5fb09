//! Summaries of a capture: its contents and its damage.

use super::{
    Capture, Section,
    header::{CaptureIdentity, FormatVersion},
    kind::SectionKind,
    problem::{Problem, ProblemKind},
    section::{Content, MemoryWords, ReadEnd, WordsContent},
};
use reader::{lane::LaneId, ledger::UncountedSource, mesh::DeviceDescription};
use std::collections::{BTreeMap, BTreeSet};

/// Result of checking a capture; see [`Capture::check`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureCheck {
    /// All problems, in file order.
    pub problems: Vec<Problem>,
    /// Number of usable sections.
    pub usable_count: u64,
    /// Number of sections of unknown kinds; these sections are sound but not used.
    pub unknown_count: u64,
    /// Size of the file, in bytes.
    pub file_bytes: u64,
    /// Number of bytes affected by problems.
    pub lost_bytes: u64,
}

impl CaptureCheck {
    /// Returns true if there are no problems.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Summary of a capture's contents; see [`Capture::info`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureInfo {
    /// Version of the container; `None` if the file header is damaged.
    pub version: Option<FormatVersion>,
    /// Identity of the capture; `None` if the file header is damaged.
    pub identity: Option<CaptureIdentity>,
    /// Size of the file, in bytes.
    pub file_bytes: u64,
    /// True if the last recording was finished; `None` if its writer did not write end marks.
    pub is_finished: Option<bool>,
    /// Counts of sound sections by kind.
    pub kinds: BTreeMap<SectionKind, KindTotals>,
    /// The latest description of each chip, by chip id.
    pub chips: BTreeMap<u32, DeviceDescription>,
    /// Number of words read, by lane.
    pub lane_words: BTreeMap<LaneId, u64>,
    /// Complete reads, in file order.
    pub reads: Vec<ReadEnd>,
    /// Numbers of reads without an end, ascending.
    pub open_reads: BTreeSet<u32>,
    /// Number of named source locations of zones.
    pub zone_count: u64,
    /// Number of ops with metadata.
    pub op_count: u64,
    /// Number of the host's zones, messages and other events.
    pub host_event_count: u64,
    /// Number of the host's events, ops and texts that were dropped for lack of space.
    pub host_dropped_count: u64,
}

/// Totals of the sections of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindTotals {
    /// Number of sections.
    pub section_count: u64,
    /// Total size of the payloads, in bytes.
    pub payload_bytes: u64,
}

impl CaptureInfo {
    /// Returns the total number of cores of all chips.
    #[must_use]
    pub fn core_count(&self) -> usize {
        self.chips.values().map(|chip| chip.cores.len()).sum()
    }

    /// Returns the total number of words read from all lanes.
    #[must_use]
    pub fn marker_words(&self) -> u64 {
        self.lane_words.values().sum()
    }

    /// Returns the number of the last read, complete or not.
    fn last_read(&self) -> Option<u32> {
        let complete = self.reads.iter().map(|read| read.read_number).max();
        complete.max(self.open_reads.last().copied())
    }

    /// Returns the nanoseconds from the end of the first read to the end of the last read.
    ///
    /// The time is measured with the host's monotonic clock. Returns `None` if there are fewer than
    /// two reads, or if the clock restarted between the reads.
    #[must_use]
    pub fn time_span_ns(&self) -> Option<u64> {
        let [first, .., last] = self.reads.as_slice() else { return None };
        last.host_time_ns.checked_sub(first.host_time_ns)
    }
}

impl Capture {
    /// Checks every byte and returns all problems.
    #[must_use]
    pub fn check(&self) -> CaptureCheck {
        let mut check = CaptureCheck {
            problems: self.problems().to_vec(),
            file_bytes: self.size_bytes(),
            ..CaptureCheck::default()
        };
        for section in self.sections() {
            match section.content() {
                Ok(Content::Unknown(_)) => add(&mut check.unknown_count, 1),
                Ok(_) => add(&mut check.usable_count, 1),
                Err(problem) => check.problems.push(problem),
            }
        }
        check.lost_bytes = check.problems.iter().map(|problem| problem.size_bytes).sum();
        let open = self.info().open_reads.into_iter();
        check.problems.extend(open.map(|read_number| self.open_read(read_number)));
        if self.is_finished() == Some(false) {
            let (offset, kind) = (self.size_bytes(), ProblemKind::Unfinished);
            check.problems.push(Problem { offset, size_bytes: 0, kind, section: None });
        }
        check.problems.sort_by_key(|problem| problem.offset);
        check
    }

    /// Returns the kinds of damage through which an unknown number of records may be missing.
    pub(super) fn uncounted(&self) -> impl Iterator<Item = UncountedSource> {
        let last_read = self.info().last_read();
        let sources = self.check().problems.into_iter().filter_map(|problem| match problem.kind {
            // The next read contains the data of an unfinished read again.
            ProblemKind::OpenRead { read_number } if Some(read_number) != last_read => None,
            ProblemKind::OpenRead { .. } | ProblemKind::Unfinished => {
                Some(UncountedSource::UnfinishedCapture)
            }
            _ => Some(UncountedSource::DamagedCapture),
        });
        sources.collect::<BTreeSet<_>>().into_iter()
    }

    /// Returns a summary of the contents.
    #[must_use]
    pub fn info(&self) -> CaptureInfo {
        let mut info = CaptureInfo {
            version: self.version(),
            identity: self.identity(),
            file_bytes: self.size_bytes(),
            is_finished: self.is_finished(),
            ..CaptureInfo::default()
        };
        for section in self.sections() {
            info.add_section(&section);
        }
        for read in &info.reads {
            info.open_reads.remove(&read.read_number);
        }
        info
    }

    fn open_read(&self, read_number: u32) -> Problem {
        let last = self.sections().rfind(|section| section.read_number() == Some(read_number));
        let offset = last.map_or(0, |section| section.end_offset());
        let kind = ProblemKind::OpenRead { read_number };
        Problem { offset, size_bytes: 0, kind, section: None }
    }
}

impl CaptureInfo {
    fn add_section(&mut self, section: &Section<'_>) {
        let totals = self.kinds.entry(section.kind).or_default();
        add(&mut totals.section_count, 1);
        add(&mut totals.payload_bytes, section.payload.len() as u64);
        let content = section.content();
        if content.is_ok() {
            self.open_reads.extend(section.read_number());
        }
        match content {
            Ok(Content::Device(chip)) => {
                self.chips.insert(chip.chip_id, chip);
            }
            Ok(Content::Memory(MemoryWords { lane: Some(lane), content, words, .. }))
                if content != WordsContent::LossLog =>
            {
                add(self.lane_words.entry(lane).or_default(), words.len() as u64);
            }
            Ok(Content::ReadEnd(end)) => self.reads.push(end),
            Ok(Content::ZoneNames(zones)) => {
                add(&mut self.zone_count, zones.places().count() as u64)
            }
            Ok(Content::OpMetadata(ops)) => add(&mut self.op_count, ops.len() as u64),
            Ok(Content::HostRecording(recording)) => {
                add(&mut self.host_event_count, recording.event_count());
                add(&mut self.host_dropped_count, recording.dropped_count());
            }
            _ => {}
        }
    }
}

/// Adds a section's count to a sum. The sum saturates, because a section may contain any count.
const fn add(sum: &mut u64, count: u64) {
    *sum = sum.saturating_add(count);
}
