//! Recognises lines that repeat the text of earlier lines, except for id, time, value and launch.
//!
//! In nearly every line, the fields of the lane have the same text as in the previous line, and the
//! fields of the zone have the same text as in another recent line. The parsed values of such texts
//! are cached, so a few comparisons replace splitting and parsing. A line that is not recognised is
//! parsed in full, with the same result.

use super::{
    fields::Fields,
    header::{Column, Layout},
    row::{LaunchKey, LogLine, NO_TRACE},
    text::take_number,
};
use reader::lane::TraceReplay;
use wire::PacketKind;

/// Positions of the columns in the current format. Lines are only recognised in logs of this
/// format.
const POSITIONS: [(Column, usize); 10] = [
    (Column::Chip, 0),
    (Column::CoreX, 1),
    (Column::CoreY, 2),
    (Column::Risc, 3),
    (Column::MarkerId, LANE_FIELDS),
    (Column::Time, 5),
    (Column::Data, 6),
    (Column::RunHostId, 7),
    (Column::TraceId, 8),
    (Column::TraceCounter, 9),
];
/// Number of fields before the marker id.
const LANE_FIELDS: usize = 4;

/// A recognised line: its parsed numbers, and the cached indices of its lane and source location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recognised {
    /// Number of the lane in the chunk.
    pub(super) lane: usize,
    /// Number of the source location in the chunk.
    pub(super) place: u32,
    pub(super) kind: PacketKind,
    pub(super) time: u64,
    pub(super) value: u64,
    pub(super) key: LaunchKey,
}

/// Text before the marker id, and the lane of this text.
#[derive(Clone, Copy)]
struct Front<'text> {
    text: &'text [u8],
    lane: usize,
}

/// Text after the trace's counter, and the meaning of this text for one marker id.
#[derive(Clone, Copy)]
struct Tail<'text> {
    text: &'text [u8],
    marker_id: u16,
    kind: PacketKind,
    place: u32,
}

/// Size of the cache of fronts, which is indexed by a hash of the text.
const FRONT_COUNT: usize = 512;
/// Size of the cache of tails, which is indexed by the low bits of the id.
const TAIL_COUNT: usize = 256;

/// Cache of the texts that lines of one chunk repeat.
pub(super) struct Repeats<'text> {
    is_known_layout: bool,
    is_streaming: bool,
    /// Front of the latest line.
    front: Front<'text>,
    fronts: Vec<Front<'text>>,
    /// Cached tails, indexed by the low bits of the marker id: one for zone ends and one for all
    /// other kinds of records.
    tails: Vec<[Tail<'text>; 2]>,
}

impl<'text> Repeats<'text> {
    pub(super) fn new(layout: &Layout) -> Self {
        let is_at = |&(column, position)| layout.position(column) == Some(position);
        let is_known_layout =
            POSITIONS.iter().all(is_at) && layout.position(Column::RunId).is_none();
        // An empty text matches no line.
        let front = Front { text: &[], lane: 0 };
        let tail = Tail { text: &[], marker_id: 0, kind: PacketKind::ZoneStart, place: 0 };
        let counts = if is_known_layout { (FRONT_COUNT, TAIL_COUNT) } else { (0, 0) };
        Self {
            is_known_layout,
            is_streaming: layout.is_streaming(),
            front,
            fronts: vec![front; counts.0],
            tails: vec![[tail; 2]; counts.1],
        }
    }

    /// Returns the record of a line if its texts are cached and its other fields are plain numbers.
    #[inline]
    pub(super) fn recognise(&mut self, line: &'text [u8]) -> Option<Recognised> {
        let rest = match line.strip_prefix(self.front.text) {
            Some(rest) if !self.front.text.is_empty() => rest,
            _ => self.find_front(line)?,
        };
        let (marker_id, rest) = take_field(rest)?;
        let (time, rest) = take_field(rest)?;
        let (value, rest) = take_field(rest)?;
        let (program, rest) = take_field(rest)?;
        let (trace, rest) = take_trace(rest)?;
        let marker_id = u16::try_from(marker_id).ok()?;
        let key = if self.is_streaming {
            LaunchKey::from_streaming(program, trace)?
        } else {
            LaunchKey { program: u32::try_from(program).ok()?, trace, run_id: 0 }
        };
        let known = self.tails.get(usize::from(marker_id) % TAIL_COUNT)?;
        let is_tail = |tail: &&Tail<'_>| {
            tail.marker_id == marker_id && tail.text == rest && !tail.text.is_empty()
        };
        let Tail { kind, place, .. } = *known.iter().find(is_tail)?;
        Some(Recognised { lane: self.front.lane, place, kind, time, value, key })
    }

    /// Finds the cached text before the marker id for a line of another lane than the previous
    /// line, and stores it in `front`.
    ///
    /// Returns the rest of the line, or `None` if this text is not cached.
    fn find_front(&mut self, line: &'text [u8]) -> Option<&'text [u8]> {
        let (text, rest) = split_front(line)?;
        let known = *self.fronts.get(slot_of(text))?;
        if known.text != text {
            return None;
        }
        self.front = known;
        Some(rest)
    }

    /// Caches the texts of a line that was parsed in full.
    pub(super) fn remember(
        &mut self,
        line: &'text [u8],
        (fields, row): (&Fields<'text>, &LogLine<'text>),
        (lane, place): (usize, u32),
    ) {
        if !self.is_known_layout || !row.metadata.is_empty() {
            return;
        }
        if let Some((text, _)) = split_front(line)
            && let Some(slot) = self.fronts.get_mut(slot_of(text))
        {
            *slot = Front { text, lane };
            self.front = *slot;
        }
        let numbers = fields.up_to(LANE_FIELDS.saturating_add(6));
        let tail = Tail {
            text: line.get(numbers..).unwrap_or(&[]),
            marker_id: row.marker_id,
            kind: row.kind,
            place,
        };
        let slots = self.tails.get_mut(usize::from(row.marker_id) % TAIL_COUNT);
        let way = usize::from(row.kind == PacketKind::ZoneEnd);
        if let Some(slot) = slots.and_then(|slots| slots.get_mut(way)) {
            *slot = tail;
        }
    }
}

/// Splits a line after the fields of the lane and the comma after these fields.
fn split_front(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut commas = line.iter().enumerate().filter(|(_, byte)| **byte == b',');
    let (comma, _) = commas.nth(LANE_FIELDS.saturating_sub(1))?;
    line.split_at_checked(comma.saturating_add(1))
}

/// Returns the index of a front in the cache.
fn slot_of(front: &[u8]) -> usize {
    let mix = |mixed: u32, &byte: &u8| mixed.wrapping_mul(31).wrapping_add(byte.into());
    front.iter().fold(0, mix) as usize % FRONT_COUNT
}

/// Parses a plain number up to the next comma; returns the number and the text after the comma.
#[inline]
fn take_field(text: &[u8]) -> Option<(u64, &[u8])> {
    // The value of most lines is 0.
    if let [digit @ b'0'..=b'9', b',', rest @ ..] = text {
        return Some((u64::from(digit & 0x0F), rest));
    }
    let (number, rest) = take_number(text)?;
    Some((number, rest.strip_prefix(b",")?))
}

/// Parses the trace and its counter, which must both be numbers or both be empty.
#[inline]
fn take_trace(text: &[u8]) -> Option<(Option<TraceReplay>, &[u8])> {
    if let Some(rest) = text.strip_prefix(b",,") {
        return Some((None, rest));
    }
    let (trace_id, rest) = take_field(text)?;
    let (counter, rest) = take_field(rest)?;
    let is_plain = trace_id != NO_TRACE && counter != NO_TRACE;
    is_plain.then_some((Some(TraceReplay { trace_id, counter }), rest))
}
