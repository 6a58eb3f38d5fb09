//! Tests that compare the decoder with the oracle (a reference decoder), for valid and damaged
//! streams, special words and noise.

#![expect(clippy::cast_possible_truncation, reason = "dice may lose bits")]

use super::{
    CaptureMode, DecodedLane, HostIdForm, LaneContext, LaneDecoder, LaneState, oracle::truth,
};
use crate::{
    anomaly::{AnomalyKind, KEPT_PER_LANE_AND_KIND},
    lane::LaneId,
    mesh::Noc0Coord,
};
use proptest::prelude::{ProptestConfig, Strategy, any, prop, prop_assert_eq, proptest};
use std::collections::BTreeMap;
use wire::{Risc, generation};

const FLAT_ID: u32 = 7;
const RISC: u32 = 2;
const OWN_ID: u32 = FLAT_ID << 5 | RISC;
const GENERATION: u32 = 5;
const OWN_WORD: u32 = GENERATION << 29 | OWN_ID;

fn context(read_at: Option<u64>) -> LaneContext {
    let core = Noc0Coord { x: 1, y: 2 };
    LaneContext {
        lane: LaneId { chip_id: 1, core, risc: Risc::Trisc0 },
        risc_index: RISC,
        flat_id: FLAT_ID,
        generation: generation::CURRENT,
        lane_generation: Some(GENERATION),
        mode: CaptureMode::Workers,
        host_ids: HostIdForm::Base,
        read_at,
    }
}

/// A simple random number generator for building streams; its quality does not matter.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.roll() >> 11) % end
    }

    fn word(&mut self) -> u32 {
        (self.roll() >> 16) as u32
    }

    fn one_of(&mut self, words: &[u32]) -> u32 {
        words[self.below(words.len() as u64) as usize]
    }
}

/// Generator of runs as a device writes them, including quick pushes, lost writes and wraps.
struct Stream {
    words: Vec<u32>,
    /// Positions at which pushes begin.
    pushes: Vec<usize>,
    dice: Dice,
    clock: u64,
}

impl Stream {
    fn new(seed: u64, run_count: u64) -> Self {
        let mut dice = Dice(seed | 1);
        let near = [0, 1 << 32, (1 << 44) - 500, 5 << 40][dice.below(4) as usize];
        let clock = near + dice.below(400);
        let (words, pushes) = (Vec::new(), Vec::new());
        let mut stream = Self { words, pushes, dice, clock };
        for _ in 0..run_count {
            stream.launch();
        }
        stream
    }

    fn marker(&mut self, kind: u32, id: u32) -> [u32; 2] {
        self.clock += self.dice.below(90);
        // Two times in a hundred are torn: one too high, one too low.
        let torn = [0, 1_u64 << 32, (1_u64 << 44) - (1 << 32)][match self.dice.below(100) {
            0 => 1,
            1 => 2,
            _ => 0,
        }];
        let stamp = self.clock.wrapping_add(torn);
        let high = (stamp >> 32) as u32 & 0xFFF;
        [1 << 31 | kind << 28 | id << 12 | high, stamp as u32]
    }

    fn launch(&mut self) {
        let pauses = [0, 50_000, 1 << 32, 1 << 43];
        let pause = self.dice.below(4);
        self.clock += pauses[pause as usize];
        let program = self.dice.below(4) as u32;
        let trace = self.dice.below(2) as u32;
        // One run in sixteen is left over from an earlier generation.
        let is_left = self.dice.below(16) == 0;
        let own_word = if is_left { 3 << 29 | OWN_ID } else { OWN_WORD };
        let mut head = vec![0, 0, trace << 13 | own_word, program];
        head.extend([1 << 31; 8]);
        for (slot, id) in [(4, 0xFC0D), (8, 0xE427)] {
            if self.dice.below(8) != 0 {
                let start = self.marker(0, id);
                head[slot..slot + 2].copy_from_slice(&start);
            }
        }
        for _ in 0..self.dice.below(3) {
            self.pushes.push(self.words.len());
            self.words.extend(&head);
            self.optional();
        }
        // TT-Metal's firmware reads counters after the KERNEL end.
        let kernel_end_first = self.dice.below(4) == 0;
        if kernel_end_first {
            let end = self.marker(1, 0xE427);
            head[10..12].copy_from_slice(&end);
        }
        let first = self.words.len();
        self.pushes.push(first);
        self.words.extend(&head);
        self.optional();
        for (slot, id) in [(10, 0xE427), (6, 0xFC0D)] {
            if self.dice.below(8) != 0 && !(slot == 10 && kernel_end_first) {
                let end = self.marker(1, id);
                self.words[first + slot..first + slot + 2].copy_from_slice(&end);
            }
        }
        if self.dice.below(4) == 0 {
            let low = self.dice.one_of(&[0, 0x1000_0019, 0x8000_0001]);
            self.words.extend([1 << 31, low, 1 << 31, 0]);
        }
        if self.dice.below(8) == 0 {
            // The write is lost: a part of the old words remains.
            let from = self.dice.below(self.words.len() as u64) as usize & !1;
            let length = 4 * self.dice.below(6) as usize;
            let old = self.words[from..(from + length).min(self.words.len())].to_vec();
            self.words.extend(old);
            self.pad();
        }
    }

    fn optional(&mut self) {
        for _ in 0..self.dice.below(24) {
            let kind = [0, 1, 0, 1, 0, 1, 2, 3, 4, 5][self.dice.below(10) as usize];
            // The last id is that of a hardware counter, which may be later than the KERNEL end.
            let id = self.dice.one_of(&[0, 1, 2, 9090]);
            let marker = self.marker(kind, id);
            self.words.extend(marker);
            let payload = [0, 0, 0, 2, 0, 4][kind as usize];
            for _ in 0..payload {
                let random = self.dice.word();
                let word = self.dice.one_of(&[0, OWN_WORD, 1 << 31, random]);
                self.words.push(word);
            }
        }
        self.pad();
    }

    fn pad(&mut self) {
        while !self.words.len().is_multiple_of(4) {
            self.words.extend([1 << 31, 0]);
        }
    }
}

#[derive(Clone, Debug)]
struct Mutation {
    what: u8,
    at: usize,
    value: u32,
}

fn mutate(words: &mut Vec<u32>, mutation: &Mutation) {
    let Mutation { what, at, value } = *mutation;
    if words.is_empty() {
        return;
    }
    let at = at % words.len();
    let until = (at + value as usize % 40).min(words.len());
    match what {
        0 => words[at] ^= 1 << (value % 32),
        1 => words[at] = value,
        2 => words[at..until].fill(0),
        3 => drop(words.drain(at..until)),
        4 => {
            let copy = words[at..until].to_vec();
            words.extend(copy);
        }
        5 => words.insert(at, value),
        6 => words.truncate(at),
        _ => {
            let even = at & !1;
            words[even..(even + 2).min(until.max(even))].fill(0);
        }
    }
}

fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    let one = (0_u8..8, any::<usize>(), any::<u32>());
    prop::collection::vec(one.prop_map(|(what, at, value)| Mutation { what, at, value }), 0..4)
}

/// Returns words that have a meaning for the decoder, in random order.
fn soup(seed: u64, length: u64) -> Vec<u32> {
    let mut dice = Dice(seed | 1);
    let mut words = Vec::new();
    for _ in 0..length {
        let low = dice.below(4) as u32 * 0x4000_0000;
        match dice.below(8) {
            0 => words.extend([0, 0]),
            1 => {
                words.extend([0, 0, OWN_WORD, 1, 1 << 31, low, 1 << 31, 0, 1 << 31, 0, 1 << 31, 0])
            }
            2 => words.extend([0, 0, OWN_WORD, 1]),
            3 => words.extend([1 << 31, low]),
            4 => words.push(dice.word()),
            kind => {
                let kind = (kind + dice.below(4)) as u32 % 8;
                words.extend([1 << 31 | kind << 28 | 9 << 12 | (low >> 31), low]);
            }
        }
    }
    words
}

/// Compares the decoder with the oracle on one input; the error describes the difference.
fn compare(
    words: &[u32],
    lane_generation: Option<u32>,
    read_at: Option<u64>,
) -> Result<(), proptest::test_runner::TestCaseError> {
    let truth = truth(words, OWN_ID, lane_generation, read_at);
    let context = LaneContext { lane_generation, ..context(read_at) };
    let mut decoder = LaneDecoder::new(&context, LaneState::default());
    decoder.feed(words, 0);
    let (decoded, _) = decoder.finish();
    let lane = &decoded.lane;
    let records: Vec<_> =
        lane.records().map(|r| (r.kind as u32, r.zone.0, r.time, r.data.to_vec())).collect();
    prop_assert_eq!(records, truth.records);
    let runs: Vec<_> = lane
        .runs
        .iter()
        .map(|run| (run.program.0, run.trace_counter, run.first_record, run.origin))
        .collect();
    prop_assert_eq!(runs, truth.runs);
    let losses: BTreeMap<_, _> = decoded
        .losses
        .entries()
        .map(|(key, t)| {
            let counts = [t.zones, t.data, t.events, t.sums, t.unknown_markers];
            ((key.cause, key.program.map(|program| program.0)), counts)
        })
        .collect();
    prop_assert_eq!(losses, truth.losses);
    let mut kept: BTreeMap<AnomalyKind, Vec<u64>> = BTreeMap::new();
    for &(kind, position) in &truth.findings {
        kept.entry(kind).or_default().push(position);
    }
    for (kind, positions) in &mut kept {
        prop_assert_eq!(decoded.anomalies.count(*kind), positions.len() as u64);
        positions.truncate(KEPT_PER_LANE_AND_KIND as usize);
        let found = decoded.anomalies.kept().iter().filter(|anomaly| anomaly.kind == *kind);
        prop_assert_eq!(&found.map(|anomaly| anomaly.position).collect::<Vec<_>>(), positions);
    }
    prop_assert_eq!(decoded.anomalies.counts().count(), kept.len());
    Ok(())
}

/// Returns the number of random lanes: `KPROF_LANES_COUNT`, or 5,000. `.ci/run` sets more.
fn lane_count() -> u32 {
    std::env::var("KPROF_LANES_COUNT").map_or(5_000, |count| count.parse().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(lane_count()))]

    #[test]
    fn damaged_streams_decode_as_the_oracle_says(
        seed: u64, run_count in 0_u64..6, mutations in mutations(), now in any::<Option<u64>>(),
    ) {
        let mut words = Stream::new(seed, run_count).words;
        for mutation in &mutations {
            mutate(&mut words, mutation);
        }
        compare(&words, Some(GENERATION), now)?;
        // The same words, as if from a runtime without generations.
        words.iter_mut().filter(|word| **word & 0x1FFF_FFFF == OWN_ID).for_each(|word| *word = OWN_ID);
        compare(&words, None, now)?;
    }

    #[test]
    fn soups_of_telling_words_decode_as_the_oracle_says(seed: u64, length in 0_u64..60) {
        compare(&soup(seed, length), Some(GENERATION), None)?;
    }
}

proptest! {
    #[test]
    fn noise_decodes_as_the_oracle_says(words in prop::collection::vec(any::<u32>(), 0..300)) {
        compare(&words, Some(GENERATION), None)?;
    }

    #[test]
    fn reads_between_pushes_give_what_one_read_of_everything_gives(seed: u64, runs in 1_u64..6) {
        let stream = Stream::new(seed, runs);
        let context = context(None);
        let mut whole = LaneDecoder::new(&context, LaneState::default());
        whole.feed(&stream.words, 0);
        let (whole, end_of_whole) = whole.finish();
        let (joined, state) = in_pieces(&stream, &context);
        // A torn stamp at the end of a piece is only detected in the next piece.
        let torn = whole.anomalies.count(AnomalyKind::TornTimestamp) > 0;
        if !torn && whole.anomalies.anomaly_count() == 0 {
            prop_assert_eq!(joined, whole);
            prop_assert_eq!(state, end_of_whole);
        }
    }
}

/// Decodes each push of a valid stream separately, as if each push was read before the next push,
/// and joins the results.
fn in_pieces(stream: &Stream, context: &LaneContext) -> (DecodedLane, LaneState) {
    let Stream { words, pushes, .. } = stream;
    let ends = pushes.iter().skip(1).copied().chain([words.len()]);
    let mut state = LaneState::default();
    let mut joined = LaneDecoder::new(context, LaneState::default()).finish().0;
    for (start, end) in pushes.iter().copied().zip(ends) {
        let mut decoder = LaneDecoder::new(context, state);
        decoder.feed(&words[start..end], start as u64);
        let (piece, next) = decoder.finish();
        state = next;
        joined.lane.append(piece.lane);
        joined.losses.merge(&piece.losses);
        joined.anomalies.merge(piece.anomalies);
    }
    (joined, state)
}
