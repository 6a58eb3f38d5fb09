//! Fast path of the decoder, for consecutive zone markers with ascending times.
//!
//! Nearly all words of a capture are such markers. The fast path decodes them in blocks, without a
//! branch per marker. The parent module decodes all other words, one record at a time.

use super::time::TimeState;
use crate::lane::{Lane, RecordHead};
use wire::{Header, PacketKind, marker::HeaderLayout};

const BLOCK_PAIRS: usize = 8;
type Block = [[u32; 2]; BLOCK_PAIRS];

/// Decodes the zone markers at the beginning of `words`, appends them to `lane`, and returns the
/// number of decoded words.
///
/// Stops at the first pair of words that is not the start or end of a zone, or whose time is
/// earlier than the previous time or later than `latest`.
pub(super) fn append_zones(
    lane: &mut Lane,
    time: &mut TimeState,
    words: &[u32],
    layout: HeaderLayout,
    latest: u64,
) -> usize {
    let mut end = LaneEnd { lane, time, latest };
    // For the layout of TT-Metal's released firmware, the shifts are compile-time constants. For
    // other layouts, the same code uses variable shifts.
    if layout == HeaderLayout::ID16_TIME12 {
        end.append(words, HeaderLayout::ID16_TIME12)
    } else {
        end.append(words, layout)
    }
}

/// The end of a lane's columns, where zone markers are appended.
struct LaneEnd<'lane> {
    lane: &'lane mut Lane,
    time: &'lane mut TimeState,
    latest: u64,
}

impl LaneEnd<'_> {
    #[inline(always)]
    #[expect(clippy::arithmetic_side_effects, reason = "no count exceeds that of the words")]
    fn append(&mut self, words: &[u32], layout: HeaderLayout) -> usize {
        let (pairs, _) = words.as_chunks::<2>();
        let (blocks, rest) = pairs.as_chunks::<BLOCK_PAIRS>();
        let mut taken = 0;
        for block in blocks {
            let Some(times) = ordered_times(block, *self.time, layout) else { break };
            if times[BLOCK_PAIRS - 1] > self.latest {
                break;
            }
            self.time.last = times[BLOCK_PAIRS - 1];
            self.lane.times.extend_from_slice(&times);
            self.lane.heads.extend_from_slice(&block.map(|pair| head(pair, layout)));
            taken += BLOCK_PAIRS;
        }
        let tail = pairs.get(taken..taken + BLOCK_PAIRS).unwrap_or(rest);
        2 * (taken + self.append_singly(tail, layout))
    }

    #[inline(always)]
    fn append_singly(&mut self, pairs: &[[u32; 2]], layout: HeaderLayout) -> usize {
        for (taken, &pair) in pairs.iter().enumerate() {
            if !is_zone(pair[0]) {
                return taken;
            }
            if self.time.epoch.wrapping_add(stamp(pair, layout)) > self.latest {
                return taken;
            }
            let Some(now) = self.time.advance(stamp(pair, layout)) else { return taken };
            self.lane.times.push(now);
            self.lane.heads.push(head(pair, layout));
        }
        pairs.len()
    }
}

/// Returns the times of a block, if all its pairs are zone markers in ascending order.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "a window has the two elements it is asked for")]
fn ordered_times(
    block: &Block,
    time: TimeState,
    layout: HeaderLayout,
) -> Option<[u64; BLOCK_PAIRS]> {
    let times = block.map(|pair| stamp(pair, layout).wrapping_add(time.epoch));
    let mut is_ordered = time.last <= times[0];
    for step in times.windows(2) {
        is_ordered &= step[0] <= step[1];
    }
    let mut are_zones = true;
    for &[header, _] in block {
        are_zones &= is_zone(header);
    }
    (is_ordered & are_zones).then_some(times)
}

#[inline(always)]
const fn stamp([header, low]: [u32; 2], layout: HeaderLayout) -> u64 {
    layout.time(header, low).0
}

#[inline(always)]
const fn head([header, _]: [u32; 2], layout: HeaderLayout) -> RecordHead {
    RecordHead::from_marker(Header(header).packet_type(), layout.id(header))
}

/// Returns true if the word is the header of a zone's start or end, and not an empty marker.
#[inline(always)]
const fn is_zone(header: u32) -> bool {
    let header = Header(header);
    let is_endpoint = header.packet_type().0 <= PacketKind::ZoneEnd as u8;
    header.is_marker() & is_endpoint & !header.is_empty()
}
