//! Checks of the lane decoder.

use super::{check_anomalies, check_columns};
use host_reader::{
    decode::{CaptureMode, DecodedLane, HostIdForm, LaneContext, LaneDecoder, LaneState},
    lane::LaneId,
    ledger::LossCause,
    mesh::Noc0Coord,
};
use wire::{Risc, generation, marker::HeaderLayout};

/// Core number in the headers of runs that belong to the decoded lane.
const FLAT_ID: u32 = 7;

/// Decodes words as if a host read one lane twice.
///
/// The first byte selects the lane's context. The second byte is the end of the first read, in
/// 256ths of the words. The rest are little-endian words.
///
/// # Panics
/// If the decoder violates a property.
pub fn decode(data: &[u8]) {
    let &[choice, cut, ref rest @ ..] = data else { return };
    let (words, _) = rest.as_chunks();
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let context = lane_context(choice);
    let (first, second) = words.split_at(words.len() * usize::from(cut) / 256);
    let mut state = LaneState::default();
    for (words, first_word) in [(first, 0), (second, first.len() as u64)] {
        let mut decoder = LaneDecoder::new(&context, state);
        decoder.feed(words, first_word);
        let (decoded, next) = decoder.finish();
        check_lane(&decoded, words.len(), first_word);
        state = next;
    }
}

/// Returns the decoding context of a lane, selected by the bits of a byte.
#[must_use]
pub fn lane_context(choice: u8) -> LaneContext {
    let bit = |bit: u8| choice & 1 << bit != 0;
    let mut generation = if bit(0) { generation::LEGACY } else { generation::CURRENT };
    if bit(1) {
        generation.header = HeaderLayout::ID18_TIME10;
    }
    LaneContext {
        lane: LaneId { chip_id: 1, core: Noc0Coord { x: 1, y: 2 }, risc: Risc::Brisc },
        risc_index: 0,
        flat_id: FLAT_ID,
        generation,
        lane_generation: bit(2).then_some(5),
        mode: match choice >> 3 & 3 {
            0 => CaptureMode::Workers,
            1 => CaptureMode::Accumulate,
            2 => CaptureMode::DispatchCores,
            _ => CaptureMode::TraceOnly,
        },
        host_ids: if bit(5) { HostIdForm::Encoded } else { HostIdForm::Base },
        read_at: bit(6).then_some(if bit(7) { u64::MAX } else { 1 << 40 }),
    }
}

/// Checks the result of decoding `word_count` words from `first_word` on.
///
/// # Panics
/// If the result has more records, values, runs or anomalies than the words can hold, or if columns
/// do not match.
pub fn check_lane(decoded: &DecodedLane, word_count: usize, first_word: u64) {
    let lane = &decoded.lane;
    check_columns(lane);
    check_anomalies(&decoded.anomalies);
    let words = word_count as u64;
    // A record has two words, and two more for each value, except the value of a total.
    assert!(lane.record_count() <= word_count / 2, "{} records", lane.record_count());
    assert!(lane.data.len() <= word_count / 2, "{} values", lane.data.len());
    assert!(lane.runs.len() <= word_count / 12, "{} runs", lane.runs.len());
    let origins = first_word..first_word + words;
    assert!(lane.runs.iter().all(|run| origins.contains(&run.origin)));
    assert!(decoded.losses.entries().count() <= word_count);
    let skipped = [LossCause::Damaged, LossCause::NeverArrived];
    let skipped = skipped.map(|cause| decoded.losses.by_cause(cause).unknown_markers);
    let accounted = lane.record_count() as u64 + skipped.iter().sum::<u64>();
    assert!(accounted <= words.div_ceil(2), "{accounted} markers of {words} words");
    let found = decoded.anomalies.anomaly_count() + decoded.anomalies.repair_count();
    assert!(found <= 4 * words, "{found} anomalies of {words} words");
}
