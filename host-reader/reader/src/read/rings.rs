//! Reads the rings of streaming cores, also while kernels run.
//!
//! The fill level of a ring is read before its cells, so all these cells are present. After that
//! the number of read cells is acknowledged to the core, and only then are the cells decoded. A
//! launch's records are returned when the RISC has ended the launch, another launch has begun, or
//! no more records will come.

use super::{control::WORDS, prepare::CoreId, session::Session};
use crate::{
    anomaly::AnomalyKind,
    lane::{Lane, LaneId},
    ledger::{LossCause, LossKey, LossTotals, LossWindow},
    mesh::{AccessError, CoreDescription},
    stream::{CellReader, CellWords, Damage, LaneAssembly, Launch, Piece, StreamRecord},
};
use std::collections::BTreeMap;
use wire::{
    RunHostId,
    loss::{LossCounts, LossKind},
    risc::RISCS_PER_CORE,
    stream::{
        CELL_WORDS, Cell, Policy, RING_CELLS, ToldLaunch, Unread, cells_to_next_chunk, words,
    },
};

/// Range of the time in [`words::TOLD`].
const TOLD_RANGE: u64 = 1 << 47;

/// The control vector of a streaming core.
pub(super) struct StreamingCore {
    pub(super) core: CoreDescription,
    pub(super) words: [u32; WORDS],
}

/// State of all streaming cores between two reads.
#[derive(Clone, Debug, Default)]
pub(super) struct Rings {
    lanes: BTreeMap<LaneId, Ring>,
    idle_launches: BTreeMap<CoreId, u32>,
}

/// State of one RISC's ring.
#[derive(Clone, Debug)]
struct Ring {
    /// Number of the next cell, modulo 2^32, and the total number of cells read.
    next: u32,
    read_count: u64,
    /// Value of [`words::READ`] that this reader wrote last.
    told: u32,
    counts: LossCounts,
    skipped: u32,
    /// Number of launches that the core had begun at the last read.
    launches: u32,
    /// True if the RISC had ended its last launch at the last read.
    was_at_rest: bool,
    cells: CellReader,
    /// The time of the last record.
    last_time: Option<u64>,
    lane: LaneAssembly,
}

/// Cells read from one ring, with the related control words.
struct Batch {
    id: LaneId,
    risc_index: usize,
    cells: Vec<CellWords>,
    /// Number of the first cell.
    first: u32,
    overwritten: u32,
    counts: LossCounts,
    skipped: u32,
    /// The last launch that the RISC had announced before the cells were read.
    told: Option<ToldLaunch>,
    /// Number of launches that the core had begun.
    launches: u32,
    /// The launch that the RISC announced, if it is the core's last launch.
    launch: Option<Launch>,
}

impl Rings {
    /// Reads all rings of a core; returns its lanes with the finished launches.
    pub(super) fn read(&mut self, session: &mut Session<'_>, core: &StreamingCore) -> Vec<Lane> {
        let batches = self.read_cells(session, core);
        let read_at = session.device.read_wall_clock(core.core.noc0).ok();
        let lanes = batches.into_iter().map(|batch| self.decode(session, batch, read_at));
        lanes.filter(|lane| lane.record_count() > 0).collect()
    }

    /// Returns the launches since the last read without a kernel on the core.
    ///
    /// The firmware leaves out the zones of these launches.
    pub(super) fn idle_launches(&mut self, session: &mut Session<'_>, core: &StreamingCore) -> u32 {
        let chip_id = session.device.description().chip_id;
        let now = word(&core.words, words::IDLE_LAUNCHES);
        let before = self.idle_launches.insert((chip_id, core.core.noc0), now).unwrap_or(0);
        let count = now.wrapping_sub(before);
        if let Some(risc) = core.core.kind.risc(0).filter(|_| count > 0) {
            let lane = LaneId { chip_id, core: core.core.noc0, risc };
            let totals = LossTotals { zones: count.into(), ..LossTotals::default() };
            session.lose(lane, LossCause::ValidateOff, None, totals);
        }
        count
    }

    fn read_cells(&mut self, session: &mut Session<'_>, core: &StreamingCore) -> Vec<Batch> {
        let chip_id = session.device.description().chip_id;
        let mut batches = Vec::new();
        let mut read: [u32; RISCS_PER_CORE] =
            std::array::from_fn(|risc| word(&core.words, words::READ.saturating_add(risc)));
        let before = read;
        for (risc_index, told) in (0..core.core.kind.risc_count()).zip(&mut read) {
            let Some(risc) = core.core.kind.risc(risc_index) else { continue };
            let id = LaneId { chip_id, core: core.core.noc0, risc };
            let ring = self.ring(id, core, risc_index);
            match read_ring(session, core, (id, risc_index), ring.next) {
                Ok(batch) => {
                    *told = batch.first.wrapping_add(count(&batch.cells));
                    batches.push(batch);
                }
                Err(error) => {
                    session.note(AnomalyKind::UnreadableCore, Some(id), 0, || error.to_string());
                }
            }
        }
        if read != before && !session.options.read_only {
            session.write_control(&core.core, words::READ, &read);
        }
        for batch in &batches {
            if let (Some(ring), Some(&told)) =
                (self.lanes.get_mut(&batch.id), read.get(batch.risc_index))
            {
                ring.next = told;
                if !session.options.read_only {
                    ring.told = told;
                }
            }
        }
        batches
    }

    /// Returns the state of a ring; a new state if another host has read the ring or reset its
    /// core.
    fn ring(&mut self, id: LaneId, core: &StreamingCore, risc_index: usize) -> &mut Ring {
        let told = word(&core.words, words::READ.saturating_add(risc_index));
        let ring = self.lanes.entry(id).or_insert_with(|| Ring::new(id, core, risc_index, told));
        if ring.told != told {
            let ready = ring.lane.abandon();
            *ring = Ring::new(id, core, risc_index, told);
            ring.lane = ready;
        }
        ring
    }

    fn decode(
        &mut self,
        session: &mut Session<'_>,
        mut batch: Batch,
        read_at: Option<u64>,
    ) -> Lane {
        let Some(ring) = self.lanes.get_mut(&batch.id) else { return Lane::new(batch.id) };
        let mut decoding = Decoding { session, ring, id: batch.id, lost_after: None };
        decoding.overwritten(&mut batch, read_at);
        decoding.pieces(&batch, read_at);
        decoding.count_losses(&batch, read_at);
        let may_close = ring.was_at_rest || session.options.last_read;
        if may_close {
            ring.lane.close();
        }
        ring.lane.take_ready()
    }
}

impl Ring {
    /// Returns the state of a ring with `told` cells read by other readers, and none by this one.
    fn new(id: LaneId, core: &StreamingCore, risc_index: usize, told: u32) -> Self {
        // Losses before another reader's read are reported by that reader.
        let is_first = told == 0;
        let counts = if is_first { LossCounts::default() } else { lost(core, risc_index) };
        let skipped = if is_first { 0 } else { skipped(core, risc_index) };
        Self {
            next: told,
            read_count: told.into(),
            told,
            counts,
            skipped,
            launches: if is_first { 0 } else { word(&core.words, words::LAUNCHES) },
            was_at_rest: is_first,
            cells: CellReader::default(),
            last_time: None,
            lane: LaneAssembly::new(id),
        }
    }
}

/// State for decoding one batch.
struct Decoding<'a, 'session> {
    session: &'a mut Session<'session>,
    ring: &'a mut Ring,
    id: LaneId,
    /// Time of the last record before a loss; `None` if no loss is waiting for its next record.
    lost_after: Option<Option<u64>>,
}

impl Decoding<'_, '_> {
    /// Records the loss of cells that were overwritten before they could be read.
    ///
    /// The cells after them are dropped too, if their time and launch are unknown.
    fn overwritten(&mut self, batch: &mut Batch, read_at: Option<u64>) {
        if batch.overwritten == 0 {
            return;
        }
        let unknown = self.unknown_cells(batch, read_at);
        batch.cells.drain(..unknown);
        let count = u32::try_from(unknown).unwrap_or(0);
        batch.first = batch.first.wrapping_add(count);
        let gone = batch.overwritten.saturating_add(count);
        // A record may have several cells, and a cell need not be a record.
        let totals = LossTotals { unknown_markers: gone.into(), ..LossTotals::default() };
        self.lose(LossCause::Overwritten, None, totals);
        self.lost_after = Some(self.ring.last_time);
        self.ring.read_count = self.ring.read_count.saturating_add(gone.into());
    }

    /// Returns the number of cells of unknown launches after overwritten cells.
    ///
    /// For the other cells, the known launch and time are set.
    fn unknown_cells(&mut self, batch: &Batch, read_at: Option<u64>) -> usize {
        let Some(told) = batch.told else { return 0 };
        let is_same = self.ring.lane.launch_number() == Some(told.number)
            && self.ring.cells.has_time_high(told.time_high.into(), TOLD_RANGE);
        if is_same {
            return 0;
        }
        let mut pieces = self.ring.cells;
        let mut pieces = pieces.pieces(&batch.cells, batch.first, None);
        let mut before = 0;
        while let Some(piece) = pieces.next() {
            if matches!(piece, Piece::Record(StreamRecord::Launch { .. })) {
                return before;
            }
            before = batch.cells.len().saturating_sub(pieces.cells_left());
        }
        let Some(launch) = batch.launch else { return batch.cells.len() };
        self.ring.lane.enter(launch);
        self.ring.cells = CellReader::from_time_high(told.time_high.into(), TOLD_RANGE, read_at);
        0
    }

    fn pieces(&mut self, batch: &Batch, read_at: Option<u64>) {
        let mut cells = std::mem::take(&mut self.ring.cells);
        let first = self.ring.read_count;
        let mut rest = batch.cells.len();
        let mut pieces = cells.pieces(&batch.cells, batch.first, read_at);
        loop {
            let position = first.saturating_add(batch.cells.len().saturating_sub(rest) as u64);
            let Some(piece) = pieces.next() else { break };
            rest = pieces.cells_left();
            self.piece(&piece, position);
        }
        self.ring.cells = cells;
        self.ring.read_count = first.saturating_add(batch.cells.len() as u64);
    }

    fn piece(&mut self, piece: &Piece<'_>, position: u64) {
        if let Some((first, last)) = span_of(piece) {
            self.end_window(Some(first));
            self.ring.last_time = Some(last);
        }
        match piece {
            Piece::Record(StreamRecord::Launch { number, cell, .. }) => {
                let program =
                    self.session.options.host_ids.run_host_id(cell.program, self.id.chip_id);
                let trace_counter = cell.trace_counter.into();
                self.ring.lane.enter(Launch { number: *number, program, trace_counter });
            }
            Piece::Record(StreamRecord::Lost(_) | StreamRecord::Skipped(_)) => {
                self.lost_after = Some(self.ring.last_time);
            }
            Piece::Damage(damage) => self.damage(damage, position),
            Piece::Zones(_) | Piece::Record(_) => {}
        }
        self.ring.lane.add(piece, position);
    }

    fn damage(&mut self, damage: &Damage, position: u64) {
        let (kind, cells, detail) = match damage {
            Damage::UnknownCode { code, cells } => {
                (AnomalyKind::UnknownPacketType, *cells, format!("code {:#06x}", code.0))
            }
            Damage::CutRecord { code, cells } => {
                (AnomalyKind::TruncatedRecord, *cells, format!("code {:#06x}", code.0))
            }
            Damage::AheadOfClock { value } => {
                (AnomalyKind::BackwardTime, 1, format!("{value:#x} is ahead of the clock"))
            }
        };
        self.session.anomalies.record(kind, Some(self.id), position, || detail);
        let totals = LossTotals::at_least_markers(cells as u64);
        self.lose(LossCause::Damaged, self.ring.lane.program(), totals);
        self.lost_after = Some(self.ring.last_time);
    }

    /// Adds the losses that the RISC has counted since the last read.
    fn count_losses(&mut self, batch: &Batch, read_at: Option<u64>) {
        let program = self.program_of_losses(batch);
        let lost = batch.counts.since(self.ring.counts);
        if !lost.is_zero() {
            self.lose(LossCause::RingFull, program, LossTotals::of_counts(lost));
            self.lost_after.get_or_insert(self.ring.last_time);
        }
        let skipped = batch.skipped.wrapping_sub(self.ring.skipped);
        if skipped != 0 {
            let unknown_markers = skipped.into();
            let totals = LossTotals { unknown_markers, ..LossTotals::default() };
            self.lose(LossCause::Skipped, program, totals);
        }
        (self.ring.counts, self.ring.skipped) = (batch.counts, batch.skipped);
        self.ring.launches = batch.launches;
        self.ring.was_at_rest = batch.told.is_none_or(|told| told.has_ended);
        self.end_window(read_at);
    }

    /// Returns the program that lost the records counted since the last read, if only one is
    /// possible.
    ///
    /// A launch that the RISC has not announced may have lost all of them.
    fn program_of_losses(&self, batch: &Batch) -> Option<RunHostId> {
        let begun = batch.launches.wrapping_sub(self.ring.launches);
        let is_one = begun == 0 || begun == 1 && self.ring.was_at_rest;
        batch.launch.filter(|_| is_one).map(|launch| launch.program)
    }

    fn lose(&mut self, cause: LossCause, program: Option<RunHostId>, totals: LossTotals) {
        self.session.losses.add_in_windows(LossKey { lane: self.id, cause, program }, totals);
    }

    /// Ends the current window of losses, if there is one.
    fn end_window(&mut self, before: Option<u64>) {
        if let Some(after) = self.lost_after.take() {
            let window = LossWindow { after, before, may_cut_launches: true };
            self.session.losses.note_window(self.id, window);
        }
    }
}

/// Reads the cells of a ring from cell `next` on.
fn read_ring(
    session: &mut Session<'_>,
    core: &StreamingCore,
    (id, risc_index): (LaneId, usize),
    next: u32,
) -> Result<Batch, AccessError> {
    let of_risc = |first: usize| word(&core.words, first.saturating_add(risc_index));
    let policy = Policy::from_word(of_risc(words::POLICY)).unwrap_or_default();
    let mut unread = Unread::between(next, of_risc(words::WRITTEN));
    if unread.overwritten() > 0 && policy != Policy::OverwriteOldest {
        let Unread { count, .. } = unread;
        session.note(AnomalyKind::ImplausibleControlWord, Some(id), words::WRITTEN, || {
            format!("{count} cells are said to wait in a ring of {RING_CELLS}")
        });
        session.lose(id, LossCause::Damaged, None, LossTotals::at_least_markers(0));
        unread = Unread { first: unread.first.wrapping_add(unread.count), count: 0 };
    }
    let mut cells = Vec::with_capacity(RING_CELLS);
    for range in unread.places() {
        let mut words = vec![0; range.len().saturating_mul(CELL_WORDS)];
        if !words.is_empty() {
            let first = range.start.saturating_mul(CELL_WORDS);
            session.read_vector(&core.core, risc_index, first, &mut words)?;
        }
        let (whole, _) = words.as_chunks::<CELL_WORDS>();
        cells.extend_from_slice(whole);
    }
    let mut overwritten = unread.overwritten();
    if policy == Policy::OverwriteOldest && !cells.is_empty() {
        let gone = overwritten_meanwhile(session, core, risc_index, &unread)?;
        let gone = gone.min(unread.count);
        cells.drain(..(gone.saturating_sub(overwritten) as usize).min(cells.len()));
        overwritten = gone;
    }
    Ok(Batch {
        id,
        risc_index,
        cells,
        first: unread.first.wrapping_add(overwritten),
        overwritten,
        counts: lost(core, risc_index),
        skipped: if matches!(policy, Policy::KeepOneOf { .. }) {
            skipped(core, risc_index)
        } else {
            0
        },
        told: ToldLaunch::from_word(of_risc(words::TOLD)),
        launches: word(&core.words, words::LAUNCHES),
        launch: launch(session, core, id.chip_id, of_risc(words::TOLD)),
    })
}

/// Returns the launch that a RISC has announced, if it is the last launch of its core.
fn launch(session: &Session<'_>, core: &StreamingCore, chip_id: u32, told: u32) -> Option<Launch> {
    let told = ToldLaunch::from_word(told)?;
    let is_last =
        Cell { head: word(&core.words, words::LAUNCHES), value: 0 }.field() == told.number;
    let program = word(&core.words, words::PROGRAM);
    let program = session.options.host_ids.run_host_id(program, chip_id);
    let trace_counter = word(&core.words, words::TRACE_COUNT);
    is_last.then_some(Launch { number: told.number, program, trace_counter })
}

/// Returns the number of unread cells that may have been overwritten during the read.
///
/// The number is rounded up to whole chunks, since records can only be recognized from the
/// beginning of a chunk.
fn overwritten_meanwhile(
    session: &mut Session<'_>,
    core: &StreamingCore,
    risc_index: usize,
    unread: &Unread,
) -> Result<u32, AccessError> {
    let mut written = [0];
    session.read_control_from(
        &core.core,
        words::WRITTEN.saturating_add(risc_index),
        &mut written,
    )?;
    let [written] = written;
    let gone = unread.and_in_writing(written).overwritten();
    let to_next = if gone == 0 { 0 } else { cells_to_next_chunk(unread.first.wrapping_add(gone)) };
    Ok(gone.saturating_add(to_next))
}

/// Returns the earliest and the latest time of a piece.
fn span_of(piece: &Piece<'_>) -> Option<(u64, u64)> {
    match piece {
        Piece::Zones(zones) => {
            let last = zones.iter().next_back()?;
            Some((zones.iter().next()?.end, last.end))
        }
        Piece::Record(StreamRecord::LongZone(span)) => Some((span.end, span.end)),
        Piece::Record(StreamRecord::Data { time, .. } | StreamRecord::Event { time, .. }) => {
            Some((*time, *time))
        }
        _ => None,
    }
}

fn lost(core: &StreamingCore, risc_index: usize) -> LossCounts {
    let [zones, data, events] =
        LossKind::ALL.map(|kind| word(&core.words, kind.control_word().saturating_add(risc_index)));
    LossCounts { zones, data, events }
}

fn skipped(core: &StreamingCore, risc_index: usize) -> u32 {
    word(&core.words, words::SKIPPED.saturating_add(risc_index))
}

fn word(words: &[u32; WORDS], index: usize) -> u32 {
    words.get(index).copied().unwrap_or(0)
}

#[expect(clippy::cast_possible_truncation, reason = "a ring has 256 cells")]
const fn count(cells: &[CellWords]) -> u32 {
    cells.len() as u32
}
