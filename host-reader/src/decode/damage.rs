//! What is not a record: padding, loss trailers, gaps and damage.

use super::{LaneDecoder, words::LaneWords};
use crate::{
    anomaly::AnomalyKind,
    ledger::{LossCause, LossTotals},
};
use wire::{
    Header, PacketKind,
    loss::{LEFT_COUNT_MAX, LossCounts, LossKind, TrailerCause, TrailerPair},
    marker::EMPTY_HEADER,
    vector,
};

impl LaneDecoder<'_> {
    /// Goes over what precedes the first run of a piece: data taken before the launch was
    /// known, and the trailer of a run whose other words an earlier read has taken.
    pub(super) fn early_records(&mut self, words: LaneWords<'_>) -> usize {
        let mut index = 0;
        while let Some([header, low]) = words.pair(index) {
            let header = Header(header);
            if header.is_empty() {
                self.empty_pair(index, low);
                index += 2;
                continue;
            }
            let Some(kind) = header.kind().filter(|kind| header.is_marker() && is_data(*kind))
            else {
                break;
            };
            let next = index + kind.record_words();
            if next > words.len() || words.run_in_payload(index, kind).is_some() {
                break;
            }
            self.early.push(index);
            index = next;
        }
        index
    }

    /// Gives the early records to the run that has just been opened.
    pub(super) fn take_early_records(&mut self, words: LaneWords<'_>) {
        for index in std::mem::take(&mut self.early) {
            let header = words.pair(index).map(|[header, _]| Header(header));
            if let Some(kind) = header.and_then(Header::kind) {
                self.record(words, index, kind);
            }
        }
    }

    /// Enters the early records that no run followed.
    pub(super) fn lose_early_records(&mut self) {
        for index in std::mem::take(&mut self.early) {
            self.state.program = None;
            self.note(AnomalyKind::NotAMarker, index, || "data that belongs to no run".to_owned());
            self.lose(LossCause::Damaged, LossTotals { data: 1, ..LossTotals::default() });
        }
    }

    /// Goes over the pair at `index`, where no run begins although none is open.
    pub(super) fn gap(&mut self, words: LaneWords<'_>, index: usize) -> usize {
        match words.pair(index) {
            Some([0, 0]) => self.zeros(words, index),
            Some([EMPTY_HEADER, low]) => {
                self.empty_pair(index, low);
                index + 2
            }
            _ => self.damage(words, index),
        }
    }

    /// Goes over zeros: a push that never arrived, unless there are too few for one.
    fn zeros(&mut self, words: LaneWords<'_>, index: usize) -> usize {
        let end = words.zeros_end(index);
        // A run begins with one or two pairs of zeros of its own.
        let starts = [end.checked_sub(2), end.checked_sub(4)].into_iter().flatten();
        let run = starts.filter(|start| *start > index).find(|at| words.run_at(*at).is_some());
        let is_long = end == words.len() || end - index >= vector::FIRST_OPTIONAL;
        let Some(missing_end) = run.or(is_long.then_some(end)) else {
            return self.damage(words, index);
        };
        self.state.program = None;
        let word_count = missing_end - index;
        self.note(AnomalyKind::MissingRun, index, || format!("{word_count} words are zero"));
        self.lose_markers(LossCause::NeverArrived, word_count / 2);
        missing_end
    }

    /// Skips from words that cannot be a record to the next run.
    pub(super) fn damage(&mut self, words: LaneWords<'_>, index: usize) -> usize {
        let [header, low] = words.pair(index).unwrap_or_default();
        let is_cut = words.len() - index < vector::FIRST_OPTIONAL && [header, low] == [0, 0];
        let kind = match Header(header) {
            _ if is_cut => AnomalyKind::TruncatedRecord,
            word if word.is_marker() && word.kind().is_none() => AnomalyKind::UnknownPacketType,
            _ => AnomalyKind::NotAMarker,
        };
        let next = words.next_own_run(index + 2);
        self.note(kind, index, || format!("{header:08x} {low:08x}"));
        self.lose_markers(LossCause::Damaged, (next - index) / 2);
        next
    }

    /// Skips a whole run that does not belong here.
    pub(super) fn skip_run(
        &mut self,
        words: LaneWords<'_>,
        index: usize,
        kind: AnomalyKind,
        cause: LossCause,
    ) -> usize {
        let next = words.next_own_run(index + vector::FIRST_OPTIONAL);
        let header = words.run_at(index).map(|run| words.run_header(run));
        self.note(kind, index, || format!("{} words of {header:?}", next - index));
        self.state.program = None;
        self.lose_markers(cause, (next - index) / 2);
        next
    }

    /// Where to go on if the record at `index` is cut off, by the end of the words or by a run
    /// that begins inside of it.
    pub(super) fn cut_record(
        &mut self,
        words: LaneWords<'_>,
        index: usize,
        kind: PacketKind,
    ) -> Option<usize> {
        let is_cut = index + kind.record_words() > words.len();
        let run = words.run_in_payload(index, kind);
        let next = run.or(is_cut.then_some(words.len()))?;
        self.note(AnomalyKind::TruncatedRecord, index, || kind.label().to_owned());
        self.lose_markers(LossCause::Damaged, (next - index) / 2);
        Some(next)
    }

    /// Goes over an empty header: padding, or what a trailer has to say.
    pub(super) fn empty_pair(&mut self, index: usize, low: u32) {
        match TrailerPair::from_low(low) {
            Some(pair) if self.context.has_trailers => self.trailer_pair(pair),
            _ => self.slot_padding(index, low),
        }
    }

    /// Goes over an empty header that can only be padding.
    pub(super) fn slot_padding(&mut self, index: usize, low: u32) {
        if low != 0 && low != EMPTY_HEADER {
            self.note(AnomalyKind::AmbiguousPadding, index, || format!("low word {low:08x}"));
        }
    }

    fn trailer_pair(&mut self, pair: TrailerPair) {
        let cause = match pair.cause {
            TrailerCause::L1Full => LossCause::L1Full,
            TrailerCause::DramFull => LossCause::DramFull,
        };
        let mut totals = LossTotals::of_counts(counts_of(pair));
        totals.is_lower_bound = pair.count >= LEFT_COUNT_MAX;
        if pair.count != 0 {
            self.lose(cause, totals);
        }
    }

    /// Reports a guaranteed slot that holds neither a zone's start nor its end.
    pub(super) fn damaged_slot(&mut self, index: usize, header: Header) {
        let kind = match header.kind() {
            Some(_) => AnomalyKind::NotAMarker,
            None => AnomalyKind::UnknownPacketType,
        };
        self.note(kind, index, || format!("{:08x} in a guaranteed slot", header.0));
        self.lose_markers(LossCause::Damaged, 1);
    }
}

const fn is_data(kind: PacketKind) -> bool {
    matches!(kind, PacketKind::TimestampedData | PacketKind::TimestampedData16B)
}

fn counts_of(pair: TrailerPair) -> LossCounts {
    let mut counts = LossCounts::default();
    let count = match pair.kind {
        LossKind::Zone => &mut counts.zones,
        LossKind::Data => &mut counts.data,
        LossKind::Event => &mut counts.events,
        LossKind::Sum => &mut counts.sums,
    };
    *count = pair.count;
    counts
}
