//! Long fuzz run of the lane decoder: `cargo run --release -p tests --example fuzz_words -- WORDS`.
//!
//! Decodes `WORDS` words, adversarial and random ones, in many lanes and on all processors. Checks
//! each lane as the fuzzer does, and prints counts of the decoded records. The number of a lane
//! determines its words, so a run that panics can be repeated.

use std::{
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};
use tests::{
    fuzz,
    noise::{self, Dice},
};

use host_reader::decode::{LaneDecoder, LaneState};

/// Number of words of each lane.
const LANE_WORDS: usize = 1 << 16;

fn main() -> ExitCode {
    let Some(Ok(words)) = std::env::args().nth(1).map(|words| words.parse::<u64>()) else {
        eprintln!("expected the number of words to decode, as in: fuzz_words 1000000000");
        return ExitCode::from(2);
    };
    let lanes = words.div_ceil(LANE_WORDS as u64);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicU64::new(0);
    let begin = Instant::now();
    let totals = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| work(&next, lanes))).collect();
        let totals = workers.into_iter().filter_map(|worker| worker.join().ok());
        totals.fold(Totals::default(), Totals::plus)
    });
    let seconds = begin.elapsed().as_secs_f64();
    totals.print(seconds);
    // If a thread panicked, its lanes are missing in the totals.
    if totals.lanes == lanes { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Counts of the input and of the decoded output.
#[derive(Clone, Copy, Default)]
struct Totals {
    lanes: u64,
    words: u64,
    records: u64,
    runs: u64,
    lost: u64,
    anomalies: u64,
    repairs: u64,
    decode_seconds: f64,
}

impl Totals {
    fn plus(self, other: Self) -> Self {
        Self {
            lanes: self.lanes + other.lanes,
            words: self.words + other.words,
            records: self.records + other.records,
            runs: self.runs + other.runs,
            lost: self.lost.saturating_add(other.lost),
            anomalies: self.anomalies + other.anomalies,
            repairs: self.repairs + other.repairs,
            decode_seconds: self.decode_seconds + other.decode_seconds,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate is shown in a few digits")]
    fn print(&self, seconds: f64) {
        let millions = self.words as f64 / 1e6;
        println!("{} words of {} lanes in {seconds:.1} s", self.words, self.lanes);
        println!("{:.1} million words/s, made, decoded and checked", millions / seconds);
        println!("{:.1} million words/s per thread, decoded", millions / self.decode_seconds);
        let Self { records, runs, lost, anomalies, repairs, .. } = self;
        println!("{records} records in {runs} runs, {lost} lost");
        println!("{anomalies} anomalies, {repairs} repairs");
    }
}

fn work(next: &AtomicU64, lanes: u64) -> Totals {
    let mut totals = Totals::default();
    let mut words = Vec::new();
    loop {
        let lane = next.fetch_add(1, Ordering::Relaxed);
        if lane >= lanes {
            return totals;
        }
        totals = totals.plus(decode(lane, &mut words));
    }
}

/// Generates a lane and decodes it in two reads. Every fourth lane is random. The other lanes
/// consist of words that have a meaning for the decoder.
fn decode(lane: u64, words: &mut Vec<u32>) -> Totals {
    let mut dice = Dice::new(lane);
    let context = fuzz::lane_context(dice.byte());
    words.clear();
    if lane % 4 == 3 {
        words.extend((0..LANE_WORDS).map(|_| dice.word()));
    } else {
        let own = context.generation.id_packing.pack(context.risc_index, context.flat_id, 0);
        noise::telling_words(words, LANE_WORDS, own, &mut dice);
    }
    let (first, second) = words.split_at(dice.below(words.len()));
    let mut totals = Totals { lanes: 1, words: words.len() as u64, ..Totals::default() };
    let mut state = LaneState::default();
    for (words, first_word) in [(first, 0), (second, first.len() as u64)] {
        let begin = Instant::now();
        let mut decoder = LaneDecoder::new(&context, state);
        decoder.feed(words, first_word);
        let (decoded, next) = decoder.finish();
        totals.decode_seconds += begin.elapsed().as_secs_f64();
        fuzz::check_lane(&decoded, words.len(), first_word);
        totals.records += decoded.lane.record_count() as u64;
        totals.runs += decoded.lane.runs.len() as u64;
        totals.lost = totals.lost.saturating_add(decoded.losses.total().record_count());
        totals.anomalies += decoded.anomalies.anomaly_count();
        totals.repairs += decoded.anomalies.repair_count();
        state = next;
    }
    totals
}
