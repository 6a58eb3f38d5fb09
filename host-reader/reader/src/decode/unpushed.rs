//! Launches that have not ended: which words of an L1 vector a RISC has written so far.
//!
//! While a launch runs, no control word states how far a RISC has written its vector. The rest of
//! the vector holds words of earlier launches, or of records that this launch has already pushed.
//! The times of the markers show where the launch's records end: from the start of the firmware's
//! zone, or from the launch's last pushed record, each marker is at least as late as the marker
//! before it, and none is later than the tile's clock. All other words are older.
//!
//! A RISC writes a marker's header before its low word. A marker with only its header therefore has
//! the low word of an older marker, and ends the launch's records.

use super::{
    LaneDecoder,
    words::{LaneWords, RunWords, after, slot_words},
};
use wire::{Header, PacketKind, vector};

/// The words in L1 of a launch that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unpushed<'words> {
    /// The run in the L1 vector: header, guaranteed slots, and the words after them.
    pub words: &'words [u32],
    /// Position that the first word would have in the lane if the run were pushed now.
    pub first_word: u64,
    /// True if the RISC has ended the launch and all words belong to the run. If false, it is
    /// unknown which of the words after the guaranteed slots belong to the launch.
    pub is_published: bool,
}

impl LaneDecoder<'_> {
    /// Decodes the records in L1 of a launch that has not ended. If no launch has begun on the
    /// RISC, or all of its records were decoded before, decodes nothing.
    ///
    /// The next push of the launch repeats these records; its decoding skips them.
    pub fn feed_unpushed(&mut self, unpushed: &Unpushed<'_>) {
        let Unpushed { words, first_word, is_published } = *unpushed;
        let words = words.get(..words.len() & !1).unwrap_or(words);
        let lane_words = LaneWords::new(words, self.context);
        let Some(run) = lane_words.run_at(0) else { return };
        if !is_begun(run) || self.state.launch.has_ended_with(run) {
            return;
        }
        let has_ended = !Header(slot_words(run, vector::MAIN_END)[0]).is_empty();
        // TT-Metal's runtime leaves the words of a pushed run in its vector, and its host clears
        // the flag that the launch is over.
        if has_ended && !is_published && self.context.lane_generation.is_none() {
            return;
        }
        let end = if is_published { words.len() } else { self.written_end(lane_words, run) };
        self.is_unpushed = true;
        self.feed(words.get(..end).unwrap_or(words), first_word);
        self.is_unpushed = false;
    }

    /// Returns the index after the last word that belongs to the launch.
    fn written_end(&self, words: LaneWords<'_>, run: &RunWords) -> usize {
        let layout = self.context.generation.header;
        let range_mask = 1_u64.checked_shl(layout.timestamp_bits()).map_or(u64::MAX, less_one);
        let is_continued = self.state.launch.is_continued_by(run);
        let mut index = vector::FIRST_OPTIONAL;
        let Some(begin) = self.order.oldest(
            [vector::MAIN_START, vector::CHILD_START]
                .into_iter()
                .filter_map(|slot| super::peek::stamp(run, slot, layout)),
        ) else {
            return index;
        };
        let since_begin = |stamp: u64| stamp.wrapping_sub(begin) & range_mask;
        // Without a reading of the clock, stamps in the earlier half of the range count as old.
        let latest = self.context.read_at.map_or(range_mask / 2, since_begin);
        let mut last = 0;
        if is_continued {
            // Words that an earlier read has taken from L1 are written, and older than the last
            // record.
            index = after(index, self.state.taken_words.unwrap_or(0));
            last = since_begin(self.state.time.last & range_mask);
        }
        while let Some([header, low]) = words.pair(index) {
            let word = Header(header);
            // Totals of sums have no time. They are written when the launch ends.
            let kind = word.kind().filter(|kind| *kind != PacketKind::ZoneTotal);
            let Some(kind) = kind.filter(|_| word.is_marker() && !word.is_empty()) else { break };
            let time = since_begin(layout.time(header, low).0);
            let mended = self.order.mended(time, low, range_mask);
            let next = after(index, kind.record_words());
            let is_written = |time: &u64| (last..=latest).contains(time);
            let Some(time) = [time, mended].into_iter().find(is_written) else { break };
            if next > words.len() {
                break;
            }
            (index, last) = (next, time);
        }
        index
    }
}

/// Returns true if the RISC has opened the firmware's zone or the kernel's zone in this launch.
fn is_begun(run: &RunWords) -> bool {
    [vector::MAIN_START, vector::CHILD_START].into_iter().any(|slot| {
        let header = Header(slot_words(run, slot)[0]);
        !header.is_empty() && header.kind() == Some(PacketKind::ZoneStart)
    })
}

const fn less_one(value: u64) -> u64 {
    value.wrapping_sub(1)
}
