//! The decoder against the oracle: valid streams, damaged ones, soups of telling words, noise.

#![expect(clippy::cast_possible_truncation, reason = "dice may lose bits")]

use super::{
    CaptureMode, DecodedLane, HostIdForm, LaneContext, LaneDecoder, LaneState, Leaves,
    UndecodedLane, oracle::truth,
};
use crate::{
    anomaly::{AnomalyKind, KEPT_PER_LANE_AND_KIND},
    lane::{Lane, LaneId},
    mesh::Noc0Coord,
};
use proptest::prelude::{
    ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, proptest,
};
use std::collections::BTreeMap;
use wire::{Risc, generation};

const FLAT_ID: u32 = 7;
const RISC: u32 = 2;
const OWN_ID: u32 = FLAT_ID << 5 | RISC;

pub(crate) fn context(read_at: Option<u64>) -> LaneContext {
    let core = Noc0Coord { x: 1, y: 2 };
    LaneContext {
        lane: LaneId { chip_id: 1, core, risc: Risc::Trisc0 },
        risc_index: RISC,
        flat_id: FLAT_ID,
        generation: generation::CURRENT,
        has_trailers: true,
        mode: CaptureMode::Workers,
        host_ids: HostIdForm::Base,
        read_at,
    }
}

/// Numbers for building streams; their quality does not matter.
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

/// Writes runs as a device would, quick pushes, trailers and wraps included.
struct Stream {
    words: Vec<u32>,
    /// Where each push begins.
    pushes: Vec<usize>,
    dice: Dice,
    clock: u64,
    /// Whether launches are as kernels have them that do nothing odd: every zone has its end,
    /// inside of the zone around it, and no stamp is torn.
    is_nested: bool,
}

impl Stream {
    fn of(seed: u64, run_count: u64) -> Self {
        let mut dice = Dice(seed | 1);
        let near = [0, 1 << 32, (1 << 44) - 500, 5 << 40][dice.below(4) as usize];
        let clock = near + dice.below(400);
        let (words, pushes, is_nested) = (Vec::new(), Vec::new(), false);
        let mut stream = Self { words, pushes, dice, clock, is_nested };
        for _ in 0..run_count {
            stream.launch();
        }
        stream
    }

    fn nested(seed: u64, run_count: u64) -> Self {
        let mut stream = Self { is_nested: true, ..Self::of(seed, 0) };
        for _ in 0..run_count {
            stream.launch();
        }
        stream
    }

    fn marker(&mut self, kind: u32, id: u32) -> [u32; 2] {
        self.clock += self.dice.below(90);
        // One in a hundred is torn, either way.
        let torn = [0, 1_u64 << 32, (1_u64 << 44) - (1 << 32)][match self.dice.below(100) {
            0 if !self.is_nested => 1,
            1 if !self.is_nested => 2,
            _ => 0,
        }];
        let stamp = self.clock.wrapping_add(torn);
        let high = (stamp >> 32) as u32 & 0xFFF;
        [1 << 31 | kind << 28 | id << 12 | high, stamp as u32]
    }

    fn launch(&mut self) {
        let pauses = [0, 50_000, 1 << 32, 1 << 43];
        let pause = self.dice.below(if self.is_nested { 3 } else { 4 });
        self.clock += pauses[pause as usize];
        let program = self.dice.below(4) as u32;
        let trace = self.dice.below(2) as u32;
        let mut head = vec![0, 0, trace << 13 | OWN_ID, program];
        head.extend([1 << 31; 8]);
        for (slot, id) in [(4, 0xFC0D), (8, 0xE427)] {
            if self.is_nested || self.dice.below(8) != 0 {
                let start = self.marker(0, id);
                head[slot..slot + 2].copy_from_slice(&start);
            }
        }
        for _ in 0..self.dice.below(3) {
            self.pushes.push(self.words.len());
            self.words.extend(&head);
            self.optional();
        }
        let first = self.words.len();
        self.pushes.push(first);
        self.words.extend(&head);
        self.optional();
        for (slot, id) in [(10, 0xE427), (6, 0xFC0D)] {
            if self.is_nested || self.dice.below(8) != 0 {
                let end = self.marker(1, id);
                self.words[first + slot..first + slot + 2].copy_from_slice(&end);
            }
        }
        if self.dice.below(4) == 0 {
            let low = self.dice.one_of(&[0, 0x1000_0019, 0x8000_0001, 0x5000_0000, 0x9000_0001]);
            self.words.extend([1 << 31, low, 1 << 31, 0]);
        }
    }

    fn zones(&mut self, depth: u32) {
        for _ in 0..self.dice.below(8) {
            let id = self.dice.below(3) as u32;
            let start = self.marker(0, id);
            self.words.extend(start);
            match self.dice.below(12) {
                0 if depth < 40 => self.zones(depth + 1),
                1 => {
                    let data = self.marker(3, id);
                    self.words.extend(data.into_iter().chain([7, 8]));
                }
                _ => {}
            }
            let end = self.marker(1, id);
            self.words.extend(end);
        }
    }

    fn optional(&mut self) {
        if self.is_nested {
            self.zones(0);
        }
        for _ in 0..if self.is_nested { 0 } else { self.dice.below(24) } {
            let kind = [0, 1, 0, 1, 0, 1, 2, 3, 4, 5][self.dice.below(10) as usize];
            let id = self.dice.below(3) as u32;
            let marker = self.marker(kind, id);
            self.words.extend(marker);
            let payload = [0, 0, 0, 2, 0, 4][kind as usize];
            for _ in 0..payload {
                let random = self.dice.word();
                let word = self.dice.one_of(&[0, OWN_ID, 1 << 31, random]);
                self.words.push(word);
            }
        }
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

/// Words that the decoder looks at, in any order.
fn soup(seed: u64, length: u64) -> Vec<u32> {
    let mut dice = Dice(seed | 1);
    let mut words = Vec::new();
    for _ in 0..length {
        let low = dice.below(4) as u32 * 0x4000_0000;
        match dice.below(8) {
            0 => words.extend([0, 0]),
            1 => words.extend([0, 0, OWN_ID, 1, 1 << 31, low, 1 << 31, 0, 1 << 31, 0, 1 << 31, 0]),
            2 => words.extend([0, 0, OWN_ID, 1]),
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

/// Streams, damaged ones among them, and where each of their pushes began.
pub(crate) fn streams() -> impl Strategy<Value = (Vec<u32>, Vec<usize>)> {
    (any::<u64>(), 0_u64..6, mutations()).prop_map(|(seed, run_count, mutations)| {
        let Stream { mut words, pushes, .. } = Stream::of(seed, run_count);
        mutations.iter().for_each(|mutation| mutate(&mut words, mutation));
        (words, pushes)
    })
}

/// Long streams of launches that do nothing odd, damaged ones among them.
pub(crate) fn nested_streams() -> impl Strategy<Value = (Vec<u32>, Vec<usize>)> {
    let mutations = prop::option::weighted(0.3, mutations());
    (any::<u64>(), 0_u64..120, mutations).prop_map(|(seed, run_count, mutations)| {
        let Stream { mut words, pushes, .. } = Stream::nested(seed, run_count);
        mutations.iter().flatten().for_each(|mutation| mutate(&mut words, mutation));
        (words, pushes)
    })
}

/// Checks one input; the error says what differs.
fn compare(
    words: &[u32],
    read_at: Option<u64>,
) -> Result<(), proptest::test_runner::TestCaseError> {
    let truth = truth(words, FLAT_ID, RISC, read_at);
    let context = context(read_at);
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60_000))]

    #[test]
    fn damaged_streams_decode_as_the_oracle_says(
        seed: u64, run_count in 0_u64..6, mutations in mutations(), now in any::<Option<u64>>(),
    ) {
        let mut words = Stream::of(seed, run_count).words;
        for mutation in &mutations {
            mutate(&mut words, mutation);
        }
        compare(&words, now)?;
    }

    #[test]
    fn soups_of_telling_words_decode_as_the_oracle_says(seed: u64, length in 0_u64..60) {
        compare(&soup(seed, length), None)?;
    }
}

proptest! {
    #[test]
    fn noise_decodes_as_the_oracle_says(words in prop::collection::vec(any::<u32>(), 0..300)) {
        compare(&words, None)?;
    }

    #[test]
    fn what_is_left_out_of_a_lane_and_the_rest_add_up(seed: u64) {
        let stream = Stream::nested(seed, 100);
        let context = context(None);
        let pieces = vec![(0, stream.words.as_slice())];
        let lane = UndecodedLane { context, state: LaneState::default(), pieces };
        let (whole, state) = lane.decode(Lane::new(context.lane));
        let memory = Lane::new(context.lane);
        let (rest, state_of_rest, leaves) = lane.decode_leaving_out(memory, Leaves::default());
        if leaves.are_sound(&rest.lane) {
            prop_assert_eq!(&rest.anomalies, &whole.anomalies);
            prop_assert_eq!(rest.losses, whole.losses);
            prop_assert_eq!(state_of_rest, state);
            prop_assert!(leaves.record_count() > 100);
            let count = rest.lane.record_count() + leaves.record_count();
            prop_assert_eq!(count, whole.lane.record_count());
        } else {
            prop_assert!(whole.anomalies.repair_count() > 0);
        }
    }

    #[test]
    fn reads_between_pushes_give_what_one_read_of_everything_gives(seed: u64, runs in 1_u64..6) {
        let stream = Stream::of(seed, runs);
        let context = context(None);
        let mut whole = LaneDecoder::new(&context, LaneState::default());
        whole.feed(&stream.words, 0);
        let (whole, end_of_whole) = whole.finish();
        let (joined, state) = in_pieces(&stream, &context);
        // A torn stamp at the very end of a piece is only known to be torn in the next.
        let torn = whole.anomalies.count(AnomalyKind::TornTimestamp) > 0;
        if !torn && whole.anomalies.anomaly_count() == 0 {
            prop_assert_eq!(joined, whole);
            prop_assert_eq!(state, end_of_whole);
        }
    }
}

/// Decodes every push of a valid stream by itself, as reads between them would, and joins what
/// they give.
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
