//! Words that are not records: padding, gaps, damage, and words left over from an earlier
//! generation of the lane.

use super::{
    LaneDecoder,
    words::{LaneWords, after},
};
use crate::{
    anomaly::AnomalyKind,
    ledger::{LossCause, LossTotals},
};
use wire::{Header, PacketKind, marker::EMPTY_HEADER, vector};

/// Alignment of writes to a lane, in words.
const PUSH_ALIGN_WORDS: u64 = vector::PUSH_ALIGN_WORDS as u64;

impl LaneDecoder<'_> {
    /// Collects the data records before the first run of `words`, and skips padding. Returns the
    /// index of the first word that is neither data nor padding.
    ///
    /// Data before a run belongs to the run: the RISC recorded the data before it knew the launch.
    /// Padding before a run belongs to an earlier run, whose other words were returned by an
    /// earlier read.
    pub(super) fn early_records(&mut self, words: LaneWords<'_>) -> usize {
        let mut index = 0;
        while let Some([header, low]) = words.pair(index) {
            let header = Header(header);
            if header.is_empty() {
                self.padding(index, low);
                index = after(index, 2);
                continue;
            }
            let Some(kind) = header.kind().filter(|kind| header.is_marker() && is_data(*kind))
            else {
                break;
            };
            let next = after(index, kind.record_words());
            if next > words.len() || words.run_in_payload(index, kind).is_some() {
                break;
            }
            self.early.push(index);
            index = next;
        }
        index
    }

    /// Decodes the data records that precede a run as the first records of this run. Call this
    /// method just after the run has been opened.
    pub(super) fn take_early_records(&mut self, words: LaneWords<'_>) {
        for index in std::mem::take(&mut self.early) {
            let header = words.pair(index).map(|[header, _]| Header(header));
            if let Some(kind) = header.and_then(Header::kind) {
                self.record(words, index, kind);
            }
        }
    }

    /// Counts data records that precede a run as lost, if no run follows them.
    pub(super) fn lose_early_records(&mut self) {
        for index in std::mem::take(&mut self.early) {
            self.state.program = None;
            self.note(AnomalyKind::NotAMarker, index, || "data that belongs to no run".to_owned());
            self.lose(LossCause::Damaged, LossTotals { data: 1, ..LossTotals::default() });
        }
    }

    /// Skips the words at `index`, which are outside of any run, and returns the index at which
    /// decoding continues.
    pub(super) fn gap(&mut self, words: LaneWords<'_>, index: usize) -> usize {
        match words.pair(index) {
            Some([0, 0]) => self.zeros(words, index),
            Some([EMPTY_HEADER, low]) => {
                self.padding(index, low);
                after(index, 2)
            }
            _ => self.damage(words, index),
        }
    }

    /// Skips zeros and returns the index after them. The zeros are counted as a push that never
    /// arrived, or as damage if they are too few for a push.
    fn zeros(&mut self, words: LaneWords<'_>, index: usize) -> usize {
        let end = words.zeros_end(index);
        // The last one or two pairs of zeros may be the beginning of the next run.
        let starts = [end.checked_sub(2), end.checked_sub(4)].into_iter().flatten();
        let run = starts.filter(|start| *start > index).find(|at| words.run_at(*at).is_some());
        let word_count = end.saturating_sub(index);
        let is_long = end == words.len() || word_count >= vector::FIRST_OPTIONAL;
        let Some(missing_end) = run.or(is_long.then_some(end)) else {
            return self.damage(words, index);
        };
        self.state.program = None;
        let word_count = missing_end.saturating_sub(index);
        self.note(AnomalyKind::MissingRun, index, || format!("{word_count} words are zero"));
        self.lose_runs(LossCause::NeverArrived, word_count);
        missing_end
    }

    /// Skips damaged words and returns the index of the next run.
    pub(super) fn damage(&mut self, words: LaneWords<'_>, index: usize) -> usize {
        let [header, low] = words.pair(index).unwrap_or_default();
        let is_cut = words.from(index).len() < vector::FIRST_OPTIONAL && [header, low] == [0, 0];
        let kind = match Header(header) {
            _ if is_cut => AnomalyKind::TruncatedRecord,
            word if word.is_marker() && word.kind().is_none() => AnomalyKind::UnknownPacketType,
            _ => AnomalyKind::NotAMarker,
        };
        let next = words.next_own_run(after(index, 2));
        self.note(kind, index, || format!("{header:08x} {low:08x}"));
        self.lose_damaged(words, index, next);
        next
    }

    /// Skips a run that must not be decoded, such as a run from an earlier read or of another core.
    pub(super) fn skip_run(
        &mut self,
        words: LaneWords<'_>,
        index: usize,
        kind: AnomalyKind,
        cause: LossCause,
    ) -> usize {
        let next = words.next_own_run(after(index, vector::FIRST_OPTIONAL));
        let header = words.run_at(index).map(|run| words.run_header(run));
        let word_count = next.saturating_sub(index);
        self.note(kind, index, || format!("{word_count} words of {header:?}"));
        self.state.program = None;
        self.lose_runs(cause, word_count);
        next
    }

    /// Skips the record at `index` if it is cut off by the end of the words, or by a run that
    /// begins inside the record. Returns the index at which decoding continues; `None` if the
    /// record is complete.
    pub(super) fn cut_record(
        &mut self,
        words: LaneWords<'_>,
        index: usize,
        kind: PacketKind,
    ) -> Option<usize> {
        let is_cut = after(index, kind.record_words()) > words.len();
        let run = words.run_in_payload(index, kind);
        let next = run.or(is_cut.then_some(words.len()))?;
        self.note(AnomalyKind::TruncatedRecord, index, || kind.label().to_owned());
        self.lose_damaged(words, index, next);
        Some(next)
    }

    /// Skips an empty guaranteed slot, and checks its low word if TT-Metal's runtime wrote the
    /// slot. Each run has guaranteed slots for the starts and ends of the FW and KERNEL zones.
    ///
    /// After a push in the middle of a launch, this project's runtime frees a slot by clearing the
    /// slot's header. The low word of the old marker remains and is ignored. TT-Metal's runtime
    /// writes both words of an empty slot, so the low word can be checked.
    pub(super) fn free_slot(&mut self, index: usize, low: u32) {
        if self.context.lane_generation.is_none() {
            self.padding(index, low);
        }
    }

    /// Reports a padding pair with an unexpected low word: the pair may be a marker with id 0.
    pub(super) fn padding(&mut self, index: usize, low: u32) {
        if low != 0 && low != EMPTY_HEADER {
            self.note(AnomalyKind::AmbiguousPadding, index, || format!("low word {low:08x}"));
        }
    }

    /// Skips words that are left over from an earlier generation of the lane. Returns the index at
    /// which decoding continues; `None` if the words are not left over.
    ///
    /// Old words remain in the lane if the write of a newer run never arrived. The markers in the
    /// old words are older than the run before them. Old words begin at a multiple of four words,
    /// because every write begins there. If only one of the first two stamps in the old words is
    /// older than that run, the words are treated as damage.
    pub(super) fn leftover(&mut self, words: LaneWords<'_>, index: usize) -> Option<usize> {
        self.context.lane_generation?;
        if !self.position(index).is_multiple_of(PUSH_ALIGN_WORDS)
            || !self.is_older_than_run(words, index)
        {
            return None;
        }
        let next = words.next_own_run(after(index, 2));
        let word_count = next.saturating_sub(index);
        self.note(AnomalyKind::StaleRun, index, || format!("{word_count} words"));
        self.state.program = None;
        self.lose_runs(LossCause::NeverArrived, word_count);
        Some(next)
    }

    /// Returns true if the first two stamps from `index` on are older than the stamps in all
    /// guaranteed slots of the current run.
    fn is_older_than_run(&self, words: LaneWords<'_>, index: usize) -> bool {
        let Some(oldest) = self.oldest_slot else { return false };
        let layout = self.context.generation.header;
        let records = words.timed_records(index).take(2);
        let mut stamps = records.map(|[header, low]| layout.time(header, low).0).peekable();
        stamps.peek().is_some() && stamps.all(|stamp| self.order.is_before(stamp, oldest))
    }

    /// Adds a loss to the ledger: `word_count` words that contained whole runs.
    fn lose_runs(&mut self, cause: LossCause, word_count: usize) {
        self.runs.has_gap = true;
        self.holes.add_missing_runs(self.lane.runs.len());
        if self.context.lane_generation.is_none() {
            return self.lose_markers(cause, word_count / 2);
        }
        // The lower bound assumes runs of the minimum size with one zone each: no other runs have
        // fewer records per word.
        let runs = word_count / vector::FIRST_OPTIONAL;
        self.lose(cause, LossTotals::at_least_markers(runs as u64));
    }

    /// Adds a loss to the ledger: the damaged words from `index` up to `next`.
    fn lose_damaged(&mut self, words: LaneWords<'_>, index: usize, next: usize) {
        let word_count = next.saturating_sub(index);
        if word_count >= vector::FIRST_OPTIONAL {
            self.holes.add_missing_runs(self.lane.runs.len());
        }
        if self.context.lane_generation.is_none() {
            return self.lose_markers(LossCause::Damaged, word_count / 2);
        }
        if self.position(index).is_multiple_of(PUSH_ALIGN_WORDS) {
            return self.lose_runs(LossCause::Damaged, word_count);
        }
        self.runs.has_gap = true;
        let (pairs, _) = words.from(index).get(..word_count).unwrap_or(&[]).as_chunks::<2>();
        let markers = pairs
            .iter()
            .filter(|[header, _]| {
                let header = Header(*header);
                header.is_marker() && !header.is_empty() && header.kind().is_some()
            })
            .count();
        self.lose(LossCause::Damaged, LossTotals::at_least_markers(markers as u64));
    }

    /// Reports a guaranteed slot that contains a marker other than the start or end of a zone.
    pub(super) fn damaged_slot(&mut self, index: usize, header: Header) {
        let kind = match header.kind() {
            Some(_) => AnomalyKind::NotAMarker,
            None => AnomalyKind::UnknownPacketType,
        };
        self.note(kind, index, || format!("{:08x} in a guaranteed slot", header.0));
        self.holes.add_cut_run(self.lane.runs.len());
        self.lose_markers(LossCause::Damaged, 1);
    }
}

const fn is_data(kind: PacketKind) -> bool {
    matches!(kind, PacketKind::TimestampedData | PacketKind::TimestampedData16B)
}
