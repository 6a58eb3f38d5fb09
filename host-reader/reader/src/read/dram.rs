//! Reading of the unread words of all lanes, in a few large pieces.

use super::{
    plan::{CoreRead, LaneRead, LaneWords},
    session::{Session, word_address},
};
use crate::{anomaly::AnomalyKind, mesh::AccessError};
use std::ops::Range;

/// Maximum gap, in words, between two lanes' unread words that are read in one transaction. Reading
/// a larger gap takes longer than a second transaction.
const GAP_WORDS: u64 = 64;
/// Maximum size of a piece, in words. A piece is a range of DRAM that is read in one transaction.
const PIECE_WORDS: usize = 1 << 20;

/// Reads the unread words of all lanes and returns the pieces that several lanes share. Reuses the
/// memory of the vectors in `spare`.
pub(super) fn read_lanes(
    session: &mut Session<'_>,
    cores: &mut [CoreRead],
    spare: &mut Vec<Vec<u32>>,
) -> Vec<Vec<u32>> {
    let unread = cores.iter_mut().flat_map(|core| &mut core.lanes).filter(|lane| lane.unread() > 0);
    let (in_two_parts, mut wanted): (Vec<&mut LaneRead>, Vec<_>) =
        unread.partition(|lane| lane.is_in_two_parts());
    in_two_parts.into_iter().for_each(|lane| read_lane(session, lane, spare));
    wanted.sort_by_key(|lane| (lane.bank, first_address(lane)));
    let mut pieces = Vec::new();
    let mut rest = wanted.as_mut_slice();
    while !rest.is_empty() {
        let count = piece_length(rest);
        let (piece, others) = std::mem::take(&mut rest).split_at_mut(count);
        read_piece(session, piece, &mut pieces, spare);
        rest = others;
    }
    pieces
}

/// Returns the number of leading lanes that are read in one piece of at most [`PIECE_WORDS`].
///
/// If the result is 1, the lane is read on its own.
fn piece_length(lanes: &[&mut LaneRead]) -> usize {
    let Some(first) = lanes.first() else { return 0 };
    let joins = |pair: &[&mut LaneRead]| {
        let [last, next] = pair else { return false };
        // Lanes of cores with different lane sizes may overlap.
        let end = end_address(last).max(end_address(next));
        // A damaged chip description may place lanes at the end of the address space. Such lanes
        // are read separately.
        last.bank == next.bank
            && end < u64::MAX
            && first_address(next).saturating_sub(end_address(last)) / 4 <= GAP_WORDS
            && end.saturating_sub(first_address(first)) / 4 <= PIECE_WORDS as u64
    };
    lanes.windows(2).take_while(|pair| joins(pair)).count().saturating_add(1)
}

fn read_piece(
    session: &mut Session<'_>,
    lanes: &mut [&mut LaneRead],
    pieces: &mut Vec<Vec<u32>>,
    spare: &mut Vec<Vec<u32>>,
) {
    let [first, _, ..] = &*lanes else {
        return lanes.iter_mut().for_each(|lane| read_lane(session, lane, spare));
    };
    let start = first_address(first);
    let end = lanes.iter().map(|lane| end_address(lane)).max().unwrap_or(start);
    let mut words = spare.pop().unwrap_or_default();
    words.resize(usize::try_from(end.saturating_sub(start) / 4).unwrap_or(0), 0);
    if session.read_dram(first.bank, start, &mut words).is_err() {
        return lanes.iter_mut().for_each(|lane| read_lane(session, lane, spare));
    }
    for lane in lanes {
        let first =
            usize::try_from(first_address(lane).saturating_sub(start) / 4).unwrap_or(usize::MAX);
        lane.words = Some(LaneWords::InPiece { piece: pieces.len(), first });
    }
    pieces.push(words);
}

fn read_lane(session: &mut Session<'_>, lane: &mut LaneRead, spare: &mut Vec<Vec<u32>>) {
    lane.words = match read_unread(session, lane, spare) {
        Ok(words) => Some(LaneWords::Own(words)),
        Err(error) => error.is_final().then_some(LaneWords::Gone),
    };
}

/// Reads the unread words of a lane, in two parts if the lane has wrapped.
fn read_unread(
    session: &mut Session<'_>,
    lane: &LaneRead,
    spare: &mut Vec<Vec<u32>>,
) -> Result<Vec<u32>, AccessError> {
    let [older, newer] = lane.unread_ranges();
    if older.is_empty() {
        return read_range(session, lane, newer, spare.pop().unwrap_or_default());
    }
    let mut words = read_range(session, lane, older, spare.pop().unwrap_or_default())?;
    if !newer.is_empty() {
        words.extend(read_range(session, lane, newer, Vec::new())?);
    }
    Ok(words)
}

/// Reads words of one lane into `memory` and returns `memory`. An error is returned and also
/// reported as an anomaly.
///
/// Memory is allocated piece by piece while words are read, because a damaged capture may state
/// larger lanes than it contains.
pub(super) fn read_range(
    session: &mut Session<'_>,
    lane: &LaneRead,
    range: Range<u32>,
    mut memory: Vec<u32>,
) -> Result<Vec<u32>, AccessError> {
    memory.truncate(range.len());
    let mut first = 0;
    while first < range.len() {
        let end = range.len().min(first.saturating_add(PIECE_WORDS));
        memory.resize(memory.len().max(end), 0);
        let address =
            word_address(lane.address, u64::from(range.start).saturating_add(first as u64));
        let piece = memory.get_mut(first..end).unwrap_or_default();
        if let Err(error) = session.read_dram(lane.bank, address, piece) {
            let position = (range.start as usize).saturating_add(first);
            session
                .note(AnomalyKind::UnreadableCore, Some(lane.id), position, || error.to_string());
            return Err(error);
        }
        first = end;
    }
    Ok(memory)
}

/// Returns the address of the first unread word of a lane with a single unread part.
fn first_address(lane: &LaneRead) -> u64 {
    word_address(lane.address, only_range(lane).start.into())
}

/// Returns the address after the unread words of a lane with a single unread part.
fn end_address(lane: &LaneRead) -> u64 {
    word_address(lane.address, only_range(lane).end.into())
}

/// Returns the unread words of a lane with a single unread part.
fn only_range(lane: &LaneRead) -> Range<u32> {
    let [older, newer] = lane.unread_ranges();
    if older.is_empty() { newer } else { older }
}
