//! Zones without zones inside, taken straight from the words.
//!
//! Most zones are such: the marker after their start, or after one record of data, is their end.
//! Whoever wants lengths of zones alone needs no records of them. They are left out of the columns
//! only where that changes nothing else; where it would, the lane is decoded once more with all
//! its records.

use super::{LaneDecoder, time::TimeState};
use crate::{
    lane::{Lane, ZoneIndex},
    timeline::WholeZone,
};
use wire::{Header, PacketKind, marker::HeaderLayout};

/// The zones that were left out of a lane's records.
#[derive(Debug, Default)]
pub(crate) struct Leaves {
    pub(crate) zones: Vec<WholeZone>,
    /// Records of data in these.
    data_count: usize,
    /// Records that come after zones left out, with the cycles of these.
    pub(crate) covered: Vec<(usize, u64)>,
    /// Whether the records are not what they would be without the others.
    pub(crate) is_spoilt: bool,
}

/// Words at the end of a lane of which all records are kept: what the next read may continue.
const KEPT_WORDS: usize = 2048;

impl Leaves {
    pub(crate) fn clear(&mut self) {
        self.zones.clear();
        self.data_count = 0;
        self.covered.clear();
        self.is_spoilt = false;
    }

    /// Records that were left out.
    pub(crate) const fn record_count(&self) -> usize {
        2 * self.zones.len() + self.data_count
    }

    /// Whether records are missing that a later read needs.
    fn are_in_last_run(&self, lane: &Lane) -> bool {
        let last = lane.runs.last().map_or(0, |run| run.first_record);
        self.covered.last().is_some_and(|&(record, _)| record > last)
    }

    /// Whether the lane's other records are as they would be.
    pub(crate) fn are_sound(&self, lane: &Lane) -> bool {
        !self.is_spoilt && !self.are_in_last_run(lane)
    }

    /// Takes zones without zones inside with which `words` begin, up to one that is not, and
    /// tells how many words they took.
    #[inline(always)]
    fn take(
        &mut self,
        (time, next_record): (&mut TimeState, usize),
        words: &[u32],
        layout: HeaderLayout,
    ) -> usize {
        let (mut covered, mut taken, mut last) = (0, 0, time.last);
        while let Some(leaf) = Leaf::at(words, taken) {
            let stamp = |header, low| layout.time(header, low).0.wrapping_add(time.epoch);
            let [begin, middle, finish] = leaf.stamps.map(|[header, low]| stamp(header, low));
            let is_ordered = (last <= begin) & (begin <= middle) & (middle <= finish);
            let Ok(duration_cycles) = u32::try_from(finish.wrapping_sub(begin)) else { break };
            if !(leaf.is_whole(layout) & is_ordered) {
                break;
            }
            let zone = ZoneIndex(layout.id(leaf.stamps[0][0]));
            self.zones.push(WholeZone { zone, duration_cycles, self_cycles: duration_cycles });
            self.data_count += usize::from(leaf.word_count > 4);
            covered += u64::from(duration_cycles);
            (last, taken) = (finish, taken + leaf.word_count);
        }
        time.last = last;
        if taken > 0 {
            self.covered.push((next_record, covered));
        }
        taken
    }
}

/// What may be a zone with nothing inside but one record of data.
struct Leaf {
    /// The header and low word of start, data and end; without data, the start's once more.
    stamps: [[u32; 2]; 3],
    word_count: usize,
}

impl Leaf {
    #[inline(always)]
    fn at(words: &[u32], at: usize) -> Option<Self> {
        let &[start, start_low, next, next_low] = words.get(at..)?.first_chunk()?;
        let start = [start, start_low];
        let next = [next, next_low];
        if !is_data(next[0]) {
            return Some(Self { stamps: [start, start, next], word_count: 4 });
        }
        let &[payload_high, payload_low, end, end_low] = words.get(at + 4..)?.first_chunk()?;
        // A payload like the beginning of a run may be one.
        let may_be_run = [payload_high, payload_low] == [0, 0];
        let leaf = Self { stamps: [start, next, [end, end_low]], word_count: 8 };
        (!may_be_run).then_some(leaf)
    }

    /// Whether it begins with a zone's start and ends with the end of this zone.
    #[inline(always)]
    const fn is_whole(&self, layout: HeaderLayout) -> bool {
        let [[start, _], _, [end, _]] = self.stamps;
        is_start(start) & is_end_of(start, end, layout)
    }
}

/// Whether the word begins a record of data.
#[inline(always)]
const fn is_data(header: u32) -> bool {
    let header = Header(header);
    header.is_marker() & (header.packet_type().0 == PacketKind::TimestampedData as u8)
}

impl LaneDecoder<'_> {
    /// Takes zones without zones inside and leaves out their records; `None` where someone
    /// may need these.
    #[inline]
    pub(super) fn take_leaves(&mut self, words: &[u32]) -> Option<usize> {
        let leaves = self.leaves.as_mut()?;
        let may_go_on = words.len() < KEPT_WORDS || (self.lane.goes_on && self.lane.runs.len() < 2);
        if may_go_on || self.state.launch.first_zone_time(&self.lane).is_none() {
            return None;
        }
        let next = (&mut self.state.time, self.lane.heads.len());
        let layout = self.context.generation.header;
        // The released layout with its shifts as constants.
        Some(if layout == HeaderLayout::ID16_TIME12 {
            leaves.take(next, words, HeaderLayout::ID16_TIME12)
        } else {
            leaves.take(next, words, layout)
        })
    }
}

/// Whether the word begins a zone's start, and no empty marker.
#[inline(always)]
const fn is_start(header: u32) -> bool {
    let header = Header(header);
    header.is_marker()
        & (header.packet_type().0 == PacketKind::ZoneStart as u8)
        & !header.is_empty()
}

/// Whether the word begins the end of the zone that the other one starts.
#[inline(always)]
const fn is_end_of(start: u32, end: u32, layout: HeaderLayout) -> bool {
    let end_header = Header(end);
    end_header.is_marker()
        & (end_header.packet_type().0 == PacketKind::ZoneEnd as u8)
        & (layout.id(start) == layout.id(end))
}
