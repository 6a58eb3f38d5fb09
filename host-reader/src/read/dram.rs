//! Reading the used words of all lanes, in as few pieces as is cheap.

use super::{
    plan::{CoreRead, LaneRead, LaneWords},
    session::Session,
};
use crate::anomaly::AnomalyKind;

/// Unused words that are read along rather than reading twice: a transaction costs more.
const GAP_WORDS: u64 = 64;
/// Largest piece that is read at once.
const PIECE_WORDS: u64 = 1 << 20;

/// Reads what is unread and returns the pieces in which it was read.
pub(super) fn read_lanes(session: &mut Session<'_>, cores: &mut [CoreRead]) -> Vec<Vec<u32>> {
    let mut wanted: Vec<&mut LaneRead> = cores
        .iter_mut()
        .flat_map(|core| &mut core.lanes)
        .filter(|lane| lane.unread() > 0)
        .collect();
    wanted.sort_by_key(|lane| (lane.bank, first_address(lane)));
    let mut pieces = Vec::new();
    let mut rest = wanted.as_mut_slice();
    while !rest.is_empty() {
        let count = piece_length(rest);
        let (piece, others) = std::mem::take(&mut rest).split_at_mut(count);
        read_piece(session, piece, &mut pieces);
        rest = others;
    }
    pieces
}

/// How many of the lanes, from the first on, are read in one piece.
fn piece_length(lanes: &[&mut LaneRead]) -> usize {
    let Some(first) = lanes.first() else { return 0 };
    let joins = |pair: &[&mut LaneRead]| {
        let [last, next] = pair else { return false };
        last.bank == next.bank
            && first_address(next).saturating_sub(end_address(last)) / 4 <= GAP_WORDS
            && (end_address(next) - first_address(first)) / 4 <= PIECE_WORDS
    };
    1 + lanes.windows(2).take_while(|pair| joins(pair)).count()
}

fn read_piece(session: &mut Session<'_>, lanes: &mut [&mut LaneRead], pieces: &mut Vec<Vec<u32>>) {
    let [first, _, ..] = &*lanes else {
        return lanes.iter_mut().for_each(|lane| read_lane(session, lane));
    };
    let start = first_address(first);
    // Cores that disagree about the size of a lane may overlap.
    let end = lanes.iter().map(|lane| end_address(lane)).max().unwrap_or(start);
    let mut words = vec![0; usize::try_from((end - start) / 4).unwrap_or(0)];
    if session.read_dram(first.bank, start, &mut words).is_err() {
        return lanes.iter_mut().for_each(|lane| read_lane(session, lane));
    }
    for lane in lanes {
        let first = usize::try_from((first_address(lane) - start) / 4).unwrap_or(usize::MAX);
        lane.words = Some(LaneWords::InPiece { piece: pieces.len(), first });
    }
    pieces.push(words);
}

fn read_lane(session: &mut Session<'_>, lane: &mut LaneRead) {
    if let Some(words) = read_range(session, lane, lane.begin, lane.end) {
        lane.words = Some(LaneWords::Own(words));
    }
}

/// Reads words of one lane; `None` and an anomaly if that is impossible.
pub(super) fn read_range(
    session: &mut Session<'_>,
    lane: &LaneRead,
    begin: u32,
    end: u32,
) -> Option<Vec<u32>> {
    let mut words = vec![0; (end - begin) as usize];
    let address = lane.address + u64::from(begin) * 4;
    match session.read_dram(lane.bank, address, &mut words) {
        Ok(()) => Some(words),
        Err(error) => {
            let position = begin as usize;
            session
                .note(AnomalyKind::UnreadableCore, Some(lane.id), position, || error.to_string());
            None
        }
    }
}

fn first_address(lane: &LaneRead) -> u64 {
    lane.address + u64::from(lane.begin) * 4
}

fn end_address(lane: &LaneRead) -> u64 {
    lane.address + u64::from(lane.end) * 4
}
