//! Decodes the words of a lane into columns of records. This module does no I/O.
//!
//! The decoder accepts any input. Words that are not valid records are skipped, reported as an
//! [anomaly](crate::anomaly) and added to the [ledger](crate::ledger). The other words are decoded.
//!
//! | question | file |
//! |---|---|
//! | what must the decoder know besides the words? | `context` |
//! | where can a run begin? | `words` |
//! | which run is a leftover of an earlier push? how are records ordered? | `peek`, `run` |
//! | which words are skipped, and under which cause are they counted? | `damage` |
//! | which run lost the records for which L1 had no room? | `lane_loss` |
//! | between which runs may further runs be missing? | `holes` |
//! | how do stamps become times? | `time` |
//! | what makes decoding fast? | `block` |
//! | which lanes are still to be decoded? | `undecoded` |
//! | which words of an L1 vector has a launch written that has not ended? | `unpushed` |
//! | how does decoding work, in one page? | `oracle` (tests) |
//!
//! # Order of records
//!
//! A run begins with a header and four guaranteed slots: the start and end of the firmware's zone
//! (FW) and of the kernel's zone (KERNEL). The device writes the ends last. The decoder returns a
//! run's records in this order: FW start, KERNEL start, optional records, KERNEL end, FW end. There
//! are two exceptions.
//!
//! In accumulate mode the slots hold the zones of the previous push. If the FW end is older than
//! the first two optional records, the decoder returns the KERNEL end and the FW end before the
//! optional records.
//!
//! In the debug dump of this project's runtime, a RISC whose DRAM lane is full waits for the host.
//! Each wait is recorded as a zone, which may be the last zone of a launch. If the FW end is older
//! than this zone, the decoder returns the KERNEL end and the FW end before the zone.
//!
//! # One launch in several pushes
//!
//! A push within a launch repeats the header and the guaranteed slots, with the current content of
//! the slots. Such a push continues the run. Repeated slots are left out and counted as repairs. If
//! an earlier read returned the beginning of the run, [`Lane::goes_on`] is true.

mod block;
mod context;
mod damage;
mod holes;
mod lane_loss;
#[cfg(test)]
#[path = "../../tests/unit/oracle.rs"]
mod oracle;
mod peek;
#[cfg(test)]
#[path = "../../tests/unit/properties.rs"]
pub(crate) mod properties;
mod run;
#[cfg(test)]
mod tests;
mod time;
mod undecoded;
mod unpushed;
mod words;

pub use context::{CaptureMode, HostIdForm, LaneContext};
pub use lane_loss::{LaneLoss, MissingRuns};
pub use undecoded::UndecodedLane;
pub use unpushed::Unpushed;

use crate::{
    anomaly::{AnomalyKind, AnomalyLog},
    lane::{Lane, RecordHead, ZoneIndex},
    ledger::{LossCause, LossKey, LossLedger, LossTotals},
};
use lane_loss::RunTally;
use run::LaunchState;
use time::{StampOrder, TimeState};
use wire::{Header, PacketKind, RunHostId};
use words::{LaneWords, RunWords, after};

/// State of a lane that the decoder carries from one read to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaneState {
    time: TimeState,
    /// Oldest stamp of the last accepted run, out of its first two stamps and the stamps in its
    /// guaranteed slots.
    leading_stamp: Option<u64>,
    /// Header and low word of the first optional record in the last accepted run.
    first_optional: Option<[u32; 2]>,
    /// Stamps of the starts of the firmware's and the kernel's zone in the last accepted run.
    starts: [Option<u64>; 2],
    /// Program to which the last decoded words belong, if known.
    program: Option<RunHostId>,
    /// The last launch, which the next push may continue.
    launch: LaunchState,
    /// Number of words after the guaranteed slots that were decoded from the L1 vector of the last
    /// launch before they were pushed; `None` if the launch was not read from L1 since its last
    /// push. The next push of the launch repeats these words.
    taken_words: Option<usize>,
}

impl LaneState {
    /// Returns the time of the last record; 0 if none.
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
    /// Losses: counts of missing records.
    pub losses: LossLedger,
    /// Anomalies and repairs.
    pub anomalies: AnomalyLog,
}

/// Decoder for the words of one lane, which can be fed piece by piece.
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
    /// Indices of data records that precede the first run in the words being decoded.
    early: Vec<usize>,
    first_word: u64,
    /// True if the 64-bit time of this read's first stamps has been derived from the clock reading.
    is_anchored: bool,
    /// True if the end of the kernel's zone has been decoded in the current run.
    has_kernel_end: bool,
    /// The oldest stamp in the guaranteed slots of the current run.
    oldest_slot: Option<u64>,
    /// True while words are decoded that are in L1 and not pushed.
    is_unpushed: bool,
    runs: RunTally,
    holes: holes::Holes,
    lane: Lane,
    losses: LossLedger,
    anomalies: AnomalyLog,
}

impl<'context> LaneDecoder<'context> {
    /// Creates a decoder for the lane of `context`. Decoding continues from `state`.
    #[must_use]
    pub fn new(context: &'context LaneContext, state: LaneState) -> Self {
        Self::with_memory(context, state, Lane::new(context.lane))
    }

    /// Creates a decoder like [`Self::new`], but reuses the memory of a lane that is no longer
    /// needed.
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
            has_kernel_end: false,
            oldest_slot: None,
            is_unpushed: false,
            runs: RunTally::default(),
            lane: memory,
            losses: LossLedger::default(),
            anomalies: AnomalyLog::default(),
        }
    }

    /// Decodes words that begin at word `first_word` of the lane.
    ///
    /// # Cost
    /// One pass over the words. 12 bytes are reserved in advance for each pair of words.
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

    /// Decodes the optional records of the run at `run_index` from `first` on; returns the index
    /// after them.
    fn records(
        &mut self,
        words: LaneWords<'_>,
        (run, run_index): (&RunWords, usize),
        first: usize,
    ) -> usize {
        let layout = self.context.generation.header;
        let mut index = first;
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
            if kind.payload_words() > 0 {
                self.kernel_end_before((run, run_index), [header.0, low]);
            }
            self.record(words, index, kind);
            index = after(index, kind.record_words());
        }
    }

    /// Decodes the complete record at `index`.
    fn record(&mut self, words: LaneWords<'_>, index: usize, kind: PacketKind) {
        let &[header, low, ref payload @ ..] = words.from(index) else { return };
        let layout = self.context.generation.header;
        let head = RecordHead::new(kind, ZoneIndex(layout.id(header)));
        let (values, _) = payload.as_chunks::<2>();
        if kind == PacketKind::ZoneTotal {
            let time = self.time_of_total();
            return self.lane.push(head, time, &[u64::from(low)]);
        }
        let time = self.time_of_stamp(layout.time(header, low).0, index);
        match kind.payload_words() {
            0 => self.lane.push(head, time, &[]),
            2 => self.lane.push(head, time, &[value(values, 0)]),
            _ => self.lane.push(head, time, &[value(values, 0), value(values, 1)]),
        }
    }

    /// Returns true if the marker's time is before the last record's time, or later than the tile's
    /// clock allows.
    ///
    /// Leftover words may begin in the middle of a record. The rest of the record's payload then
    /// looks like a marker with an arbitrary time.
    const fn may_be_leftover(&self, header: Header, low: u32, kind: PacketKind) -> bool {
        let stamp = self.context.generation.header.time(header.0, low).0;
        let time = self.state.time.epoch.wrapping_add(stamp);
        !matches!(kind, PacketKind::ZoneTotal)
            && (time < self.state.time.last || time > self.order.latest())
    }

    /// Derives the 64-bit time of the first stamps from the clock reading, before this read's first
    /// stamp is decoded.
    fn anchor(&mut self, first: &peek::FirstStamps, index: usize) {
        let Some(leading) = first.leading().filter(|_| !self.is_anchored) else { return };
        self.is_anchored = true;
        if self.state.time.anchor(leading, self.order) {
            self.note(AnomalyKind::TimestampWrap, index, || format!("stamps {leading:x?}"));
        }
    }

    /// Returns the time for the total of a sum zone: the time of the launch's first zone, or of the
    /// previous record if there is no zone.
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

    /// Corrects the last timestamp if a torn read of the clock made it later than the tile's clock.
    ///
    /// For other timestamps, the next record reveals such an error, because its time is earlier.
    fn lower_last_time(&mut self) {
        let (before, Some(last)) = last_timed(&mut self.lane) else { return };
        if let Some(lowered) = self.state.time.lower_last(before, self.order) {
            *last = lowered;
            let position = self.first_word;
            let lane = Some(self.context.lane);
            self.anomalies.record(AnomalyKind::TornTimestamp, lane, position, || {
                format!("the last time of the lane, now {lowered:#x}")
            });
        }
    }

    /// Converts an index into the words being decoded to an index into the whole lane.
    const fn position(&self, index: usize) -> u64 {
        self.first_word.saturating_add(index as u64)
    }

    fn note(&mut self, kind: AnomalyKind, index: usize, detail: impl FnOnce() -> String) {
        let position = self.position(index);
        self.anomalies.record(kind, Some(self.context.lane), position, detail);
    }

    fn lose(&mut self, cause: LossCause, totals: LossTotals) {
        let key = LossKey { lane: self.context.lane, cause, program: self.state.program };
        self.losses.add_in_windows(key, totals);
    }

    fn lose_markers(&mut self, cause: LossCause, count: usize) {
        let is_lower_bound = self.context.lane_generation.is_some();
        let unknown_markers = count as u64;
        self.lose(cause, LossTotals { unknown_markers, is_lower_bound, ..LossTotals::default() });
    }
}

/// Returns the 64-bit value at `index` of a payload; 0 if there is none.
fn value(values: &[[u32; 2]], index: usize) -> u64 {
    let [high, low] = values.get(index).copied().unwrap_or_default();
    (u64::from(high) << 32) | u64::from(low)
}

/// Returns the times of the last two records that carry a time: second to last, then last.
fn last_timed(lane: &mut Lane) -> (Option<u64>, Option<&mut u64>) {
    let records = lane.heads.iter().zip(&mut lane.times).rev();
    let mut timed = records.filter(|(head, _)| head.kind() != PacketKind::ZoneTotal);
    let last = timed.next().map(|(_, time)| time);
    (timed.next().map(|(_, time)| *time), last)
}
