//! Decoding: the words of a lane become columns of records. No I/O happens here.
//!
//! The decoder takes any words. What cannot be taken as records is skipped, reported as an
//! [anomaly](crate::anomaly) and added to the [ledger](crate::ledger), and the
//! rest is kept.
//!
//! | question | file |
//! |---|---|
//! | what must be known besides the words? | `context` |
//! | where can a run begin? | `words` |
//! | which run is left over from earlier? which order do its parts have? | `peek`, `run` |
//! | what is skipped, and under which head is it counted? | `damage` |
//! | which run lost what found no room in L1? | `lane_loss` |
//! | between which runs may others be missing? | `holes` |
//! | how do stamps become times? | `time` |
//! | what makes it fast? | `block` |
//! | which lanes are still to be decoded? | `undecoded` |
//! | what is it all supposed to do, in one page? | `oracle` (tests) |
//!
//! # Order of records
//!
//! The guaranteed slots come first in the words, but were not all written first. A run's
//! records are given as: FW start, KERNEL start, optional records, KERNEL end, FW end. Where
//! the FW end is older than the first two optional records (accumulate mode, in which the
//! slots hold the zones of the push before) both ends come before them.
//!
//! # One launch in several pushes
//!
//! A push within a launch repeats the header and the guaranteed slots as they are then. It
//! continues the run: slots that repeat are counted as repairs and left out. If an earlier
//! read has given the beginning of the run, the lane [says so](Lane::goes_on).

mod block;
mod context;
mod damage;
mod holes;
mod lane_loss;
#[cfg(test)]
mod oracle;
mod peek;
#[cfg(test)]
pub(crate) mod properties;
mod run;
mod time;
mod undecoded;
mod words;

pub use context::{CaptureMode, HostIdForm, LaneContext};
pub use lane_loss::{LaneLoss, MissingRuns};
pub use undecoded::UndecodedLane;

use crate::{
    anomaly::{AnomalyKind, AnomalyLog},
    lane::{Lane, RecordHead, ZoneIndex},
    ledger::{LossCause, LossKey, LossLedger, LossTotals},
};
use lane_loss::RunTally;
use run::Launch;
use time::{StampOrder, TimeState};
use wire::{Header, PacketKind, RunHostId};
use words::{LaneWords, after};

/// State of a lane that the decoder carries from one read to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaneState {
    time: TimeState,
    /// The oldest of the leading and the guaranteed stamps of the last run that was kept.
    leading_stamp: Option<u64>,
    /// Header and low word of that run's first optional record.
    first_optional: Option<[u32; 2]>,
    /// The guaranteed starts of the last run.
    starts: [Option<u64>; 2],
    /// Whose run the last words belong to, as far as that is known.
    program: Option<RunHostId>,
    /// The last launch, which the next push may continue.
    launch: Launch,
}

impl LaneState {
    /// The time of the last record, 0 if there was none.
    #[must_use]
    pub const fn last_time(&self) -> u64 {
        self.time.last
    }
}

/// Result of decoding the words of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedLane {
    /// The records.
    pub lane: Lane,
    /// Records that are missing.
    pub losses: LossLedger,
    /// Anomalies and repairs.
    pub anomalies: AnomalyLog,
}

/// Decodes one lane, piece by piece.
///
/// ```
/// use reader::{decode::*, lane::LaneId, mesh::Noc0Coord};
/// use wire::{PacketKind, Risc, RunHostId, generation};
/// let core = Noc0Coord { x: 1, y: 2 };
/// let context = LaneContext {
///     lane: LaneId { chip_id: 0, core, risc: Risc::Brisc },
///     risc_index: 0,
///     flat_id: 7,
///     generation: generation::CURRENT,
///     lane_generation: None,
///     mode: CaptureMode::Workers,
///     host_ids: HostIdForm::Base,
///     read_at: None,
/// };
/// let words = [
///     0, 0, 7 << 5, 3, // run header: core 7, RISC 0, program 3
///     0x8FC0_D001, 0x1000, 0x9FC0_D001, 0x1700, // FW
///     0x8E42_7001, 0x1100, 0x9E42_7001, 0x1600, // KERNEL
///     0xB988_E001, 0x1380, 0x1122_3344, 0x5566_7788, // data
/// ];
/// let mut decoder = LaneDecoder::new(&context, LaneState::default());
/// decoder.feed(&words, 0);
/// let (decoded, state) = decoder.finish();
///
/// assert_eq!(decoded.lane.runs[0].program, RunHostId::encode(3, 0));
/// assert_eq!(decoded.lane.times, [0x1_0000_1000, 0x1_0000_1100, 0x1_0000_1380, 0x1_0000_1600,
///     0x1_0000_1700]);
/// assert_eq!(decoded.lane.heads[2].kind(), PacketKind::TimestampedData);
/// assert_eq!(decoded.lane.data, [0x1122_3344_5566_7788]);
/// assert_eq!(state.last_time(), 0x1_0000_1700);
/// ```
pub struct LaneDecoder<'context> {
    context: &'context LaneContext,
    order: StampOrder,
    state: LaneState,
    /// Data found before the first run of a piece, by index.
    early: Vec<usize>,
    first_word: u64,
    /// True if times have been anchored in the clock of this read.
    is_anchored: bool,
    /// The oldest stamp in the guaranteed slots of the run.
    oldest_slot: Option<u64>,
    runs: RunTally,
    holes: holes::Holes,
    lane: Lane,
    losses: LossLedger,
    anomalies: AnomalyLog,
}

impl<'context> LaneDecoder<'context> {
    /// A decoder for the lane of `context`, which goes on from `state`.
    #[must_use]
    pub fn new(context: &'context LaneContext, state: LaneState) -> Self {
        Self::with_memory(context, state, Lane::new(context.lane))
    }

    /// A decoder like [`Self::new`] that writes into the memory of a lane whose records are
    /// not needed any more.
    #[must_use]
    pub fn with_memory(context: &'context LaneContext, state: LaneState, mut memory: Lane) -> Self {
        memory.clear();
        memory.id = context.lane;
        let bits = context.generation.header.timestamp_bits();
        let (read_at, low_first) = (context.read_at, context.lane_generation.is_some());
        Self {
            context,
            order: StampOrder { bits, read_at, low_first },
            holes: holes::Holes::after(state.time.last),
            state,
            early: Vec::new(),
            first_word: 0,
            is_anchored: false,
            oldest_slot: None,
            runs: RunTally::default(),
            lane: memory,
            losses: LossLedger::default(),
            anomalies: AnomalyLog::default(),
        }
    }

    /// Decodes words that begin at word `first_word` of the lane.
    ///
    /// # Cost
    /// One pass; 12 bytes per pair of words are reserved beforehand.
    pub fn feed(&mut self, words: &[u32], first_word: u64) {
        self.first_word = first_word;
        let (pairs, odd) = words.split_at(words.len() & !1);
        self.lane.heads.reserve(pairs.len() / 2);
        self.lane.times.reserve(pairs.len() / 2);
        let words = LaneWords::new(pairs, self.context);
        let mut index = self.early_records(words);
        while index < words.len() {
            index = match words.run_at(index) {
                Some(run) => self.run(words, index, run),
                None => self.gap(words, index),
            };
        }
        self.lose_early_records();
        if !odd.is_empty() {
            self.note(AnomalyKind::TruncatedRecord, index, || "half a marker".to_owned());
            self.lose_markers(LossCause::Damaged, 1);
        }
    }

    /// Returns the decoded lane and the state from which the next read continues.
    #[must_use]
    pub fn finish(mut self) -> (DecodedLane, LaneState) {
        self.lower_last_time();
        for window in self.holes.windows(&self.lane, self.context.read_at) {
            self.losses.note_window(self.context.lane, window);
        }
        let Self { lane, losses, anomalies, mut state, .. } = self;
        state.launch = state.launch.carried_over(&lane);
        (DecodedLane { lane, losses, anomalies }, state)
    }

    /// Takes the records of a run from `index` on; returns where something else begins.
    fn records(&mut self, words: LaneWords<'_>, from: usize) -> usize {
        let layout = self.context.generation.header;
        let mut index = from;
        loop {
            let rest = words.from(index);
            let (lane, time) = (&mut self.lane, &mut self.state.time);
            let taken = block::append_zones(lane, time, rest, layout, self.order.latest());
            index = after(index, taken);
            let Some([header, low]) = words.pair(index) else { return index };
            let header = Header(header);
            let Some(kind) = header.kind().filter(|_| header.is_marker()) else {
                return if [header.0, low] == [0, 0] { index } else { self.damage(words, index) };
            };
            if header.is_empty() {
                self.padding(index, low);
                index = after(index, 2);
                continue;
            }
            if let Some(next) = self.cut_record(words, index, kind) {
                return next;
            }
            if self.may_be_leftover(header, low, kind)
                && let Some(next) = self.leftover(words, index)
            {
                return next;
            }
            self.record(words, index, kind);
            index = after(index, kind.record_words());
        }
    }

    /// Takes the whole record at `index`.
    fn record(&mut self, words: LaneWords<'_>, index: usize, kind: PacketKind) {
        let &[header, low, ref payload @ ..] = words.from(index) else { return };
        let layout = self.context.generation.header;
        let head = RecordHead::new(kind, ZoneIndex(layout.id(header)));
        let (values, _) = payload.as_chunks::<2>();
        let value = |index: usize| {
            let [high, low] = values.get(index).copied().unwrap_or_default();
            (u64::from(high) << 32) | u64::from(low)
        };
        if kind == PacketKind::ZoneTotal {
            let time = self.time_of_total();
            return self.lane.push(head, time, &[u64::from(low)]);
        }
        let time = self.time_of_stamp(layout.time(header, low).0, index);
        match kind.payload_words() {
            0 => self.lane.push(head, time, &[]),
            2 => self.lane.push(head, time, &[value(0)]),
            _ => self.lane.push(head, time, &[value(0), value(1)]),
        }
    }

    /// Returns true if the marker has a time, and it is earlier than the previous one or later
    /// than the clock: leftover words may begin in the middle of a record, whose payload then
    /// looks like a marker of any time.
    const fn may_be_leftover(&self, header: Header, low: u32, kind: PacketKind) -> bool {
        let stamp = self.context.generation.header.time(header.0, low).0;
        let time = self.state.time.epoch.wrapping_add(stamp);
        !matches!(kind, PacketKind::ZoneTotal)
            && (time < self.state.time.last || time > self.order.latest())
    }

    /// Finds from the clock in which range of stamps the times of this read lie, before the
    /// first of them is taken.
    fn anchor(&mut self, first: &peek::FirstStamps, index: usize) {
        let Some(leading) = first.leading().filter(|_| !self.is_anchored) else { return };
        self.is_anchored = true;
        if self.state.time.anchor(leading, self.order) {
            self.note(AnomalyKind::TimestampWrap, index, || format!("stamps {leading:x?}"));
        }
    }

    /// The time of the launch's first zone; where there is none, of the record before.
    fn time_of_total(&mut self) -> u64 {
        self.state.launch.first_zone_time(&self.lane).unwrap_or(self.state.time.last)
    }

    #[inline]
    fn time_of_stamp(&mut self, stamp: u64, index: usize) -> u64 {
        match self.state.time.advance(stamp) {
            Some(time) => time,
            None => self.repaired_time(stamp, index),
        }
    }

    #[cold]
    fn repaired_time(&mut self, stamp: u64, index: usize) -> u64 {
        let (before_last, last) = last_timed(&mut self.lane);
        let resolved = self.state.time.resolve(stamp, before_last, self.order);
        if let (Some(previous), Some(last)) = (resolved.previous, last) {
            *last = previous;
        }
        self.note(resolved.finding, index, || format!("stamp {stamp:#x}"));
        resolved.time
    }

    /// Lowers the last time if it lies ahead of the clock: torn, and no record followed that would
    /// have told.
    fn lower_last_time(&mut self) {
        let (before, Some(last)) = last_timed(&mut self.lane) else { return };
        if let Some(lowered) = self.state.time.lower_last(before, self.order) {
            *last = lowered;
            let position = self.first_word;
            let detail = || format!("the last time of the lane, now {lowered:#x}");
            let lane = Some(self.context.lane);
            self.anomalies.record(AnomalyKind::TornTimestamp, lane, position, detail);
        }
    }

    /// Which word of the lane lies at `index`.
    const fn position(&self, index: usize) -> u64 {
        self.first_word.saturating_add(index as u64)
    }

    fn note(&mut self, kind: AnomalyKind, index: usize, detail: impl FnOnce() -> String) {
        let position = self.position(index);
        self.anomalies.record(kind, Some(self.context.lane), position, detail);
    }

    fn lose(&mut self, cause: LossCause, totals: LossTotals) {
        let key = LossKey { lane: self.context.lane, cause, program: self.state.program };
        self.losses.enter_in_windows(key, totals);
    }

    fn lose_markers(&mut self, cause: LossCause, count: usize) {
        let is_lower_bound = self.context.lane_generation.is_some();
        let unknown_markers = count as u64;
        self.lose(cause, LossTotals { unknown_markers, is_lower_bound, ..LossTotals::default() });
    }
}

/// The time of the last record but one, and that of the last, of those that have a time.
fn last_timed(lane: &mut Lane) -> (Option<u64>, Option<&mut u64>) {
    let records = lane.heads.iter().zip(&mut lane.times).rev();
    let mut timed = records.filter(|(head, _)| head.kind() != PacketKind::ZoneTotal);
    let last = timed.next().map(|(_, time)| time);
    (timed.next().map(|(_, time)| *time), last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{lane::LaneId, mesh::Noc0Coord};
    use wire::{Generation, Risc, ZoneId, generation, marker::HeaderLayout, run::IdPacking};

    fn context() -> LaneContext {
        let core = Noc0Coord { x: 1, y: 2 };
        LaneContext {
            lane: LaneId { chip_id: 0, core, risc: Risc::Brisc },
            risc_index: 0,
            flat_id: 7,
            generation: generation::CURRENT,
            lane_generation: None,
            mode: CaptureMode::Workers,
            host_ids: HostIdForm::Base,
            read_at: None,
        }
    }

    fn decode(words: &[u32], context: &LaneContext) -> DecodedLane {
        let mut decoder = LaneDecoder::new(context, LaneState::default());
        decoder.feed(words, 0);
        decoder.finish().0
    }

    fn rows(decoded: &DecodedLane) -> Vec<(&str, u32, u64, Vec<u64>)> {
        let row = |r: crate::lane::Record<'_>| (r.kind.label(), r.zone.0, r.time, r.data.to_vec());
        decoded.lane.records().map(row).collect()
    }

    /// A run with FW and KERNEL slots from `start` on, ten cycles apart.
    fn run(program: u32, start: u32, optional: &[[u32; 2]]) -> Vec<u32> {
        let mut words = vec![0, 0, 7 << 5, program];
        let slots = [(0x8FC0_D001, 0), (0x9FC0_D001, 900), (0x8E42_7001, 10), (0x9E42_7001, 890)];
        words.extend(slots.iter().flat_map(|&(header, offset)| [header, start + offset]));
        words.extend(optional.iter().flatten());
        words
    }

    const FW: u32 = ZoneId::of_text(
        "BRISC-FW,/proj/tt_metal/hw/firmware/src/tt-1xx/brisc.cc,438,KERNEL_PROFILER",
    )
    .0 as u32;
    const KERNEL: u32 = ZoneId::of_text(
        "BRISC-KERNEL,/proj/tt_metal/hw/firmware/src/tt-1xx/brisck.cc,51,KERNEL_PROFILER",
    )
    .0 as u32;

    /// The example of the format's description: every type of packet, older packing.
    const EXAMPLE: [u32; 26] = [
        0,
        0,
        0x38,
        3,
        0x80fc_2a37,
        0x1000_0000,
        0x90fc_2a37,
        0x1000_1000,
        0x8a23_9a37,
        0x1000_0100,
        0x9a23_9a37,
        0x1000_0f00,
        0x82b6_9a37,
        0x1000_0200,
        0xb58d_fa37,
        0x1000_0240,
        1,
        2,
        0xc002_aa37,
        0x1000_0280,
        0x92b6_9a37,
        0x1000_0300,
        0xaf85_e000,
        0x4d2,
        0x8000_0000,
        0,
    ];

    #[test]
    fn the_worked_example_decodes_to_its_rows() {
        let legacy = LaneContext { generation: generation::LEGACY, ..context() };
        let decoded = decode(&EXAMPLE, &legacy);
        let base = 11_231_607_914_496;
        let expected = vec![
            ("ZONE_START", FW, base, vec![]),
            ("ZONE_START", KERNEL, base + 256, vec![]),
            ("ZONE_START", 11113, base + 512, vec![]),
            ("TS_DATA", 22751, base + 576, vec![4_294_967_298]),
            ("TS_EVENT", 42, base + 640, vec![]),
            ("ZONE_END", 11113, base + 768, vec![]),
            ("ZONE_TOTAL", 63582, base, vec![1234]),
            ("ZONE_END", KERNEL, base + 3840, vec![]),
            ("ZONE_END", FW, base + 4096, vec![]),
        ];
        assert_eq!(rows(&decoded), expected);
        assert_eq!(decoded.lane.runs[0].program, RunHostId(3072));
        assert!(decoded.losses.is_empty());
        assert_eq!(decoded.anomalies.counts().count(), 0);
    }

    #[test]
    fn the_other_packing_is_a_foreign_run() {
        let decoded = decode(&EXAMPLE, &context());
        assert_eq!(decoded.anomalies.count(AnomalyKind::ForeignRun), 1);
        assert_eq!(decoded.losses.by_cause(LossCause::Damaged).unknown_markers, 13);
        assert_eq!(decoded.lane.record_count(), 0);
    }

    #[test]
    fn pushes_within_a_launch_are_one_run_with_one_fw_start() {
        let mut first = run(3, 100, &[[0x8000_1001, 200], [0x9000_1001, 210]]);
        (first[6], first[7], first[10], first[11]) = (1 << 31, 1 << 31, 1 << 31, 1 << 31);
        let last = run(3, 100, &[[0x8000_1001, 300], [0x9000_1001, 310]]);
        let decoded = decode(&[first, last].concat(), &context());
        let base = 1 << 32;
        assert_eq!(decoded.lane.runs.len(), 1);
        let offsets: Vec<u64> = decoded.lane.times.iter().map(|time| time - base).collect();
        assert_eq!(offsets, [100, 110, 200, 210, 300, 310, 990, 1000]);
        assert_eq!(decoded.anomalies.count(AnomalyKind::DuplicateGuaranteedMarker), 2);
        assert_eq!(decoded.anomalies.anomaly_count(), 0);
    }

    #[test]
    fn a_run_that_is_left_over_is_no_data() {
        let words = [run(3, 5000, &[]), run(2, 3000, &[]), run(4, 7000, &[])].concat();
        let decoded = decode(&words, &context());
        let programs: Vec<u32> = decoded.lane.runs.iter().map(|run| run.program.base()).collect();
        assert_eq!(programs, [3, 4]);
        assert_eq!(decoded.anomalies.count(AnomalyKind::StaleRun), 1);
        assert_eq!(decoded.losses.by_cause(LossCause::NeverArrived).unknown_markers, 6);
    }

    #[test]
    fn a_risc_that_took_no_part_does_not_count_its_records_twice() {
        let first = run(3, 100, &[[0x8000_1001, 200], [0x9000_1001, 210]]);
        let mut again = first.clone();
        again[3] = 4;
        for slot in [4, 6, 8, 10] {
            (again[slot], again[slot + 1]) = (1 << 31, 1 << 31);
        }
        let decoded = decode(&[first, again].concat(), &context());
        assert_eq!((decoded.lane.runs.len(), decoded.lane.record_count()), (1, 6));
        assert_eq!(decoded.anomalies.count(AnomalyKind::StaleRun), 1);
    }

    #[test]
    fn zeros_between_runs_are_a_push_that_never_arrived() {
        for program in [0, 3] {
            let words = [run(1, 100, &[]), vec![0; 24], run(program, 5000, &[])].concat();
            let decoded = decode(&words, &context());
            assert_eq!(decoded.lane.runs.len(), 2, "{program}");
            assert_eq!(decoded.lane.runs[1].origin, 36);
            assert_eq!(decoded.anomalies.count(AnomalyKind::MissingRun), 1);
            assert_eq!(decoded.losses.by_cause(LossCause::NeverArrived).unknown_markers, 12);
        }
    }

    #[test]
    fn damage_costs_the_rest_of_its_run_and_no_other() {
        let zones = [[0x8000_1001, 200], [0x7000_1001, 210], [0x8000_1001, 220], [0x9000_1001, 9]];
        let words = [run(1, 100, &zones), run(2, 5000, &[])].concat();
        let decoded = decode(&words, &context());
        assert_eq!(decoded.lane.record_count(), 5 + 4);
        assert_eq!(decoded.anomalies.count(AnomalyKind::NotAMarker), 1);
        let key = LossKey {
            lane: context().lane,
            cause: LossCause::Damaged,
            program: Some(RunHostId::encode(1, 0)),
        };
        let entries: Vec<_> =
            decoded.losses.entries().map(|(k, t)| (*k, t.unknown_markers)).collect();
        assert_eq!(entries, [(key, 3)]);
    }

    #[test]
    fn a_type_that_swallows_the_next_run_is_found_out() {
        let mut first = run(1, 100, &[[0x8000_1001, 200], [0x9000_1001, 210]]);
        first[14] |= 0x2000_0000;
        let decoded = decode(&[first, run(2, 5000, &[])].concat(), &context());
        assert_eq!(decoded.lane.runs.len(), 2);
        assert_eq!(decoded.anomalies.count(AnomalyKind::TruncatedRecord), 1);
        assert_eq!(decoded.losses.total().unknown_markers, 1);
    }

    /// The lanes of our runtime in their fifth generation.
    fn ours() -> LaneContext {
        LaneContext { lane_generation: Some(5), ..context() }
    }

    fn of_generation(generation: u32, mut run: Vec<u32>) -> Vec<u32> {
        run[2] |= generation << 29;
        run
    }

    fn entries(decoded: &DecodedLane) -> Vec<(LossCause, Option<u32>, LossTotals)> {
        let entry = |(key, totals): (&LossKey, &LossTotals)| {
            (key.cause, key.program.map(RunHostId::base), *totals)
        };
        decoded.losses.entries().map(entry).collect()
    }

    #[test]
    fn a_run_of_another_generation_is_a_lost_write() {
        let old = of_generation(4, run(2, 5000, &[[0x8000_1001, 5200], [0x9000_1001, 5210]]));
        let words = [of_generation(5, run(1, 100, &[])), old, of_generation(5, run(3, 9000, &[]))];
        let decoded = decode(&words.concat(), &ours());
        let programs: Vec<_> = decoded.lane.runs.iter().map(|run| run.program.base()).collect();
        assert_eq!((programs, decoded.lane.record_count()), (vec![1, 3], 8));
        assert_eq!(decoded.anomalies.count(AnomalyKind::StaleRun), 1);
        let lost = LossTotals::at_least_markers(1);
        assert_eq!(entries(&decoded), [(LossCause::NeverArrived, None, lost)]);
    }

    #[test]
    fn markers_that_a_lost_write_left_uncovered_are_of_no_run() {
        // The rest of an older run behind a new one: its first half was overwritten.
        let old = [[0x8000_1001, 50], [0x9000_1001, 60], [0x8000_1001, 70], [0x9000_1001, 80]];
        let words = [of_generation(5, run(1, 100, &old)), of_generation(5, run(2, 5000, &[]))];
        let decoded = decode(&words.concat(), &ours());
        assert_eq!((decoded.lane.runs.len(), decoded.lane.record_count()), (2, 8));
        assert_eq!(decoded.anomalies.count(AnomalyKind::StaleRun), 1);
        assert_eq!(decoded.anomalies.count(AnomalyKind::BackwardTime), 0);
        assert_eq!(decoded.losses.total(), LossTotals::at_least_markers(0));
        let one_odd_stamp = [[0x8000_1001, 50], [0x9000_1001, 160]];
        let decoded = decode(&of_generation(5, run(1, 100, &one_odd_stamp)), &ours());
        assert_eq!(decoded.lane.record_count(), 6, "damage costs no record");
    }

    #[test]
    fn leftover_words_may_begin_with_a_payload_that_looks_like_a_marker_of_the_future() {
        let after = of_generation(5, run(3, 9_000, &[]));
        // The payload's time is 0xABC << 32; what follows it is older than the run.
        let old = [[0x8000_1ABC, 7], [0x9000_1001, 60], [0x8000_1001, 70], [0x9000_1001, 80]];
        for read_at in [Some((1 << 32) + 20_000), Some((1 << 44) + (1 << 32) + 20_000)] {
            let words = [of_generation(5, run(1, 100, &old)), after.clone()].concat();
            let decoded = decode(&words, &LaneContext { read_at, ..ours() });
            assert_eq!(decoded.lane.record_count(), 8, "{read_at:?}");
            let last = decoded.lane.times.iter().max().copied();
            assert!(last <= read_at, "{last:x?} is later than {read_at:x?}");
            assert_eq!(decoded.anomalies.count(AnomalyKind::StaleRun), 1);
            assert_eq!(decoded.anomalies.count(AnomalyKind::TimestampWrap), 0);
            assert!(decoded.losses.total().is_lower_bound);
        }
    }

    #[test]
    fn a_torn_stamp_makes_no_run_stale() {
        let read_at = Some((1 << 32) + 6_000);
        let mut torn = of_generation(5, run(2, 5000, &[]));
        torn[4] += 1;
        let words = [of_generation(5, run(1, 100, &[])), torn, of_generation(5, run(3, 5950, &[]))];
        let decoded = decode(&words.concat(), &LaneContext { read_at, ..ours() });
        assert_eq!(decoded.lane.runs.len(), 3);
        assert!(decoded.losses.is_empty());
    }

    #[test]
    fn a_full_vector_of_a_runtime_that_does_not_count_may_have_lost_records() {
        let zones: Vec<_> = (0..250).map(|i| [0x8000_1001 | (i & 1) << 28, 200 + i]).collect();
        let decoded = decode(&run(3, 100, &zones), &context());
        let lost = LossTotals::at_least_markers(1);
        assert_eq!(entries(&decoded), [(LossCause::L1Full, Some(3), lost)]);
        assert!(decode(&run(3, 100, &zones[..248]), &context()).losses.is_empty());
        assert!(decode(&of_generation(5, run(3, 100, &zones)), &ours()).losses.is_empty());
    }

    fn lost_by(words: &[u32], loss: LaneLoss) -> Vec<(LossCause, Option<u32>, LossTotals)> {
        let lane = UndecodedLane {
            context: ours(),
            state: LaneState::default(),
            pieces: vec![(0, words)],
            loss,
        };
        entries(&lane.decode(Lane::new(context().lane)).0)
    }

    #[test]
    fn what_l1_did_not_take_is_of_the_only_run_that_was_full() {
        let zones = |start: u32| -> Vec<_> {
            (0..250).map(|i| [0x8000_1001 | (i & 1) << 28, start + 200 + i]).collect()
        };
        let counts = wire::loss::LossCounts { zones: 7, data: 1, events: 2 };
        let loss = LaneLoss { counts, ..LaneLoss::default() };
        let lost = LossTotals { zones: 7, data: 1, events: 2, ..LossTotals::default() };
        let small = |program| of_generation(5, run(program, 5_000 * program, &[]));
        let full =
            |program| of_generation(5, run(program, 5_000 * program, &zones(5_000 * program)));
        let cause = LossCause::L1Full;
        assert_eq!(lost_by(&small(1), loss), [(cause, Some(1), lost)]);
        let words = [small(1), full(2), small(3)].concat();
        assert_eq!(lost_by(&words, loss), [(cause, Some(2), lost)]);
        let [first, last] = [1, 3].map(|id| RunHostId::encode(id, 0));
        let span =
            LossTotals { programs: Some(crate::ledger::ProgramSpan { first, last }), ..lost };
        let words = [full(1), full(2), small(3)].concat();
        assert_eq!(lost_by(&words, loss), [(cause, None, span)]);
        let words = [small(1), full(2), small(3)].concat();
        let others = LaneLoss { has_other_launches: true, ..loss };
        assert_eq!(lost_by(&words, others), [(cause, None, span)]);
    }

    #[test]
    fn data_before_the_first_run_belongs_to_it() {
        let early = vec![0xB000_1001, 50, 0, 9, 0xD000_2001, 60, 0, 1, 0, 2];
        let decoded = decode(&[early, run(3, 100, &[])].concat(), &context());
        assert_eq!(decoded.lane.data, [9, 1, 2]);
        assert_eq!(decoded.lane.runs[0].first_record, 0);
        assert_eq!(decoded.anomalies.anomaly_count(), 0);
    }

    #[test]
    fn slots_of_the_push_before_come_first() {
        // Accumulate mode: the slots hold the zones of the last push, already closed.
        let mut words = run(3, 100, &[[0x8000_1001, 2000], [0x9000_1001, 2100]]);
        words[7] = 400;
        words[11] = 300;
        let decoded = decode(&words, &context());
        let offsets: Vec<u64> = decoded.lane.times.iter().map(|time| time & 0xFFFF).collect();
        assert_eq!(offsets, [100, 110, 300, 400, 2000, 2100]);
    }

    #[test]
    fn trace_counters_are_read_from_workers_only() {
        let mut words = run(3, 100, &[]);
        words[2] |= 5 << 13;
        assert_eq!(decode(&words, &context()).lane.runs[0].trace_counter, 5);
        for mode in [CaptureMode::DispatchCores, CaptureMode::TraceOnly] {
            let context = LaneContext { mode, ..context() };
            assert_eq!(decode(&words, &context).lane.runs[0].trace_counter, 0);
        }
    }

    #[test]
    fn another_split_of_id_and_time_is_only_another_layout() {
        let generation = Generation {
            header: HeaderLayout::ID18_TIME10,
            id_packing: IdPacking::RISC5,
            ..generation::CURRENT
        };
        let wide = LaneContext { generation, ..context() };
        let mut words = run(3, 100, &[]);
        words[4] = 0x8000_0000 | 0x2_1234 << 10 | 0x3FF;
        let decoded = decode(&words, &wide);
        assert_eq!(decoded.lane.heads[0].zone(), ZoneIndex(0x2_1234));
        assert_eq!(decoded.lane.times[0], 0x3FF << 32 | 100);
    }

    #[test]
    fn half_a_marker_at_the_end_is_counted() {
        let mut words = run(3, 100, &[[0x8000_1001, 200]]);
        words.pop();
        let decoded = decode(&words, &context());
        assert_eq!(decoded.anomalies.count(AnomalyKind::TruncatedRecord), 1);
        assert_eq!(decoded.losses.total().unknown_markers, 1);
    }
}
