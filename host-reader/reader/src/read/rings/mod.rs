//! Reading of the rings of streaming cores, also while kernels run.
//!
//! The host first reads the fill level of a ring, then the cells up to this level. The host then
//! acknowledges the number of read cells to the core, and only then decodes the cells. A launch's
//! records are returned when the RISC has ended the launch, when another launch has begun, or at
//! the last read.
//!
//! Cells that cannot be read wait in their ring for the next read. Meanwhile the RISC counts the
//! records for which the ring has no room, and the host still reads these counts.
//!
//! The host does not read the rings that a relay reads; [`frames`] decodes the cells in the relay's
//! frames. Cores whose rings the host has read before are read first, by [`sweep`].

mod frames;
mod sweep;

use super::{
    control::{CoreWords, WORDS, word_of},
    open_launches::OpenLaunches,
    prepare::CoreId,
    session::Session,
};
use crate::{
    anomaly::AnomalyKind,
    lane::{Lane, LaneId},
    ledger::{LossCause, LossKey, LossTotals, LossWindow, ProgramSpan, UncountedSource},
    mesh::{AccessError, CoreDescription, Noc0Coord},
    stream::{Batch, CellReader, CellWords, Damage, LaneAssembly, LaunchId, Piece, StreamRecord},
};
use std::collections::BTreeMap;
use wire::{
    RunHostId,
    loss::{LossCounts, LossKind},
    risc::RISCS_PER_CORE,
    stream::{
        CELL_WORDS, Cell, Policy, RING_CELLS, ToldLaunch, Unread, cells_to_next_chunk, words,
    },
    vector::VECTOR_WORDS,
};

/// Number of cycles after which the time in [`words::TOLD`] repeats: the word contains bits 32 to
/// 46 of the time.
const TOLD_RANGE: u64 = 1 << 47;

/// State of all streaming cores between two reads.
#[derive(Clone, Debug, Default)]
pub(super) struct Rings {
    lanes: BTreeMap<LaneId, Ring>,
    /// The control vectors of the last read.
    vectors: BTreeMap<CoreId, [u32; WORDS]>,
    /// The batches of this read; `None` if the read does not create batches.
    batches: Option<Vec<Batch>>,
    /// True if this read creates batches but no lanes.
    has_only_batches: bool,
    /// Losses that RISCs had counted before this reader's first read, for rings that another reader
    /// had read before.
    earlier_losses: LossTotals,
    drained: sweep::DrainedCores,
    /// True if a core was set up anew while a launch of a RISC had not ended, since the last read.
    has_lost_running: bool,
}

/// State of one RISC's ring.
#[derive(Clone, Debug)]
struct Ring {
    /// Number of the next cell, modulo 2^32. `read_count` is the total number of cells read.
    next: u32,
    read_count: u64,
    /// Value of [`words::READ`] that this reader wrote last.
    told: u32,
    /// True if the last cells came from a relay. In that case the relay writes [`words::READ`].
    is_relayed: bool,
    counts: LossCounts,
    skipped: u32,
    /// Sum of all losses that this reader has found in the ring.
    losses: LossTotals,
    /// The launches whose records may have been lost since the last read.
    open: OpenLaunches,
    /// True if, at the last read, the RISC had ended the launch that it announced last.
    was_at_rest: bool,
    /// True if, at the last read, the core's first RISC had not announced the last launch. It takes
    /// part in every launch; other RISCs may have no kernel in it.
    was_unannounced: bool,
    cells: CellReader,
    /// The time of the last record.
    last_time: Option<u64>,
    lane: LaneAssembly,
    /// Cause of the loss of the cell that announced the RISC's launch; `None` if the launch is
    /// known, or if this reader has found no missing cells.
    launch_lost_by: Option<LossCause>,
}

/// Cells read from one ring, with the related control words.
struct RingRead {
    id: LaneId,
    cells: Vec<CellWords>,
    /// Number of the first cell.
    first: u32,
    /// Number of missing cells before `first`; `cause` is the reason why these cells are missing.
    missing: u32,
    cause: LossCause,
    counts: LossCounts,
    skipped: u32,
    /// The last launch that the RISC had announced before the cells were read.
    told: Option<ToldLaunch>,
    /// Number of launches that the core had begun.
    launches: u32,
    /// The launch that the RISC announced, if it is the core's last launch.
    launch: Option<LaunchId>,
}

/// The cores that a [`sweep`] has read.
#[derive(Default)]
pub(super) struct SweptCores {
    /// The control vectors of these cores.
    pub(super) vectors: BTreeMap<Noc0Coord, [u32; WORDS]>,
    /// The lanes of each core that still uses streaming, and the number of launches that ran no
    /// kernel on the core.
    pub(super) streamed: BTreeMap<Noc0Coord, (Vec<Lane>, u32)>,
}

/// Source of a core's cells.
#[derive(Clone, Copy)]
enum CellsAt<'a> {
    /// The core's rings. The variant contains the words of all rings, if they have been read
    /// already.
    Rings(Option<&'a [u32]>),
    /// The frames of a relay.
    Frames,
}

/// Cells and counts that were read from a core and are not decoded yet.
struct Taken {
    core: CoreDescription,
    /// Number of launches since the last read that ran no kernel on the core.
    idle_launches: u32,
    readings: Vec<RingRead>,
}

impl Rings {
    /// Reads all rings of a core. Returns the core's lanes with the finished launches, and the
    /// number of launches since the last read that ran no kernel on the core.
    ///
    /// The lanes contain no records of launches that ran no kernel, because the firmware records no
    /// zones for such launches. If a relay reads the rings, this method does not read them.
    pub(super) fn read(
        &mut self,
        session: &mut Session<'_>,
        core: &CoreWords,
        is_relayed: bool,
    ) -> (Vec<Lane>, u32) {
        let newest = self.newest(session, core, is_relayed);
        let core = newest.as_ref().unwrap_or(core);
        let is_drained_by_host = !is_relayed || overwrites(core);
        let rings = if is_drained_by_host { read_whole_rings(session, core) } else { None };
        let cells = match is_drained_by_host {
            true => CellsAt::Rings(rings.as_deref()),
            false => CellsAt::Frames,
        };
        let taken = self.take(session, core, cells);
        let read_at = session.device.read_wall_clock(core.core.noc0).ok();
        self.finish(session, taken, read_at)
    }

    /// Reads the cells of all rings of a core and acknowledges them. If a relay reads the cells,
    /// reads only the core's counters.
    fn take(&mut self, session: &mut Session<'_>, core: &CoreWords, cells: CellsAt<'_>) -> Taken {
        let core_id = (session.device.description().chip_id, core.core.noc0);
        let before = self.vectors.insert(core_id, core.words);
        let before = before.filter(|before| !was_zeroed(before, &core.words));
        let idle_launches = idle_launches(session, core, before.as_ref());
        let readings = match cells {
            CellsAt::Rings(rings) => self.read_cells(session, core, before.is_some(), rings),
            CellsAt::Frames => self.counts_behind_frames(session, core),
        };
        self.drained.note(core_id, matches!(cells, CellsAt::Rings(_)));
        Taken { core: core.core.clone(), idle_launches, readings }
    }

    /// Decodes the cells of a core. Returns the core's lanes with the finished launches, and the
    /// number of launches that ran no kernel.
    fn finish(
        &mut self,
        session: &mut Session<'_>,
        taken: Taken,
        read_at: Option<u64>,
    ) -> (Vec<Lane>, u32) {
        let Taken { core, idle_launches, readings } = taken;
        for reading in readings {
            self.decode(session, reading, read_at);
        }
        let ids = lanes_of(session.device.description().chip_id, &core).map(|(_, id)| id);
        let is_last = session.options.last_read;
        if std::mem::take(&mut self.has_lost_running) {
            session.losses.note_uncounted(UncountedSource::RunningStream);
        }
        if is_last {
            let sources = ids.clone().filter_map(|id| self.lanes.get(&id)?.uncounted());
            sources.for_each(|source| session.losses.note_uncounted(source));
        }
        let lanes = ids.filter_map(|id| Some(self.lanes.get_mut(&id)?.take_lane(is_last)));
        (lanes.filter(|lane| lane.record_count() > 0).collect(), idle_launches)
    }

    /// Returns the losses that RISCs had counted before this reader's first read, for rings that
    /// another reader had read before.
    pub(super) const fn earlier_losses(&self) -> LossTotals {
        self.earlier_losses
    }

    /// Returns why records may be missing that no RISC counts, as of the last read.
    pub(super) fn uncounted(&self) -> impl Iterator<Item = UncountedSource> {
        self.lanes.values().filter_map(Ring::uncounted)
    }

    /// Removes the records of launches that had not ended at the last read, and returns them.
    pub(super) fn take_running_launches(&mut self) -> impl Iterator<Item = Lane> {
        let lanes = self.lanes.values_mut().map(|ring| ring.take_lane(true));
        lanes.filter(|lane| lane.record_count() > 0)
    }

    /// Starts to collect records in batches, until [`Self::take_batches`] is called. If `has_lanes`
    /// is true, the records are also added to lanes.
    pub(super) fn begin_batches(&mut self, has_lanes: bool) {
        self.batches = Some(Vec::new());
        self.has_only_batches = !has_lanes;
    }

    /// Returns the batches since [`Self::begin_batches`].
    pub(super) fn take_batches(&mut self) -> Vec<Batch> {
        self.has_only_batches = false;
        self.batches.take().unwrap_or_default()
    }

    /// Returns the time of the last record that was read from a ring.
    pub(super) fn last_time_of(&self, id: LaneId) -> Option<u64> {
        self.lanes.get(&id)?.last_time
    }

    /// Reads the cells of all rings of a core; `is_known` is false if the core was not read since
    /// its vector was zeroed. `rings` are the words of all rings, if they have been read already.
    fn read_cells(
        &mut self,
        session: &mut Session<'_>,
        core: &CoreWords,
        is_known: bool,
        rings: Option<&[u32]>,
    ) -> Vec<RingRead> {
        let chip_id = session.device.description().chip_id;
        let mut readings = Vec::new();
        let before: [u32; RISCS_PER_CORE] =
            std::array::from_fn(|risc| core.risc_word(words::READ, risc));
        let mut read = before;
        for (risc_index, id) in lanes_of(chip_id, &core.core) {
            let Some(told) = read.get_mut(risc_index) else { continue };
            let ring = self.ring(id, core, risc_index, is_known);
            let missing = ring.take_over(*told);
            let mut reading = read_ring(session, core, (id, risc_index), (ring.next, rings));
            if missing > 0 {
                reading.missing = reading.missing.saturating_add(missing);
                reading.cause = LossCause::Damaged;
            }
            *told = reading.first.wrapping_add(count(&reading.cells));
            ring.next = *told;
            readings.push(reading);
        }
        let is_told = read != before
            && !session.options.read_only
            && session.write_control(&core.core, words::READ, &read);
        for reading in readings.iter().filter(|_| is_told) {
            if let Some(ring) = self.lanes.get_mut(&reading.id) {
                ring.told = ring.next;
            }
        }
        readings
    }

    /// Returns the state of a ring. Creates a new state if another host has read the ring or reset
    /// its core.
    fn ring(
        &mut self,
        id: LaneId,
        core: &CoreWords,
        risc_index: usize,
        is_known: bool,
    ) -> &mut Ring {
        let told = core.risc_word(words::READ, risc_index);
        let was_read = self.lanes.contains_key(&id);
        let ring = self.lanes.entry(id).or_insert_with(|| {
            if told != 0 {
                self.earlier_losses.add(earlier_losses(core, risc_index));
            }
            Ring::new(core, id, risc_index, told)
        });
        // A write that was reported as failed may still have arrived.
        if is_known && [ring.told, ring.next].contains(&told) {
            ring.told = told;
        } else if !ring.is_relayed {
            // Another reader raises the number of read cells; a host that sets the core up zeroes it.
            let is_set_up = !is_known || told.wrapping_sub(ring.told).cast_signed() < 0;
            self.has_lost_running |= was_read && is_set_up && !ring.was_at_rest;
            let (lane, losses) = (ring.lane.abandon(), ring.losses);
            *ring = Ring { lane, losses, ..Ring::new(core, id, risc_index, told) };
        }
        ring
    }

    fn decode(&mut self, session: &mut Session<'_>, mut reading: RingRead, read_at: Option<u64>) {
        let Some(ring) = self.lanes.get_mut(&reading.id) else { return };
        let (id, batches) = (reading.id, self.batches.as_mut());
        let losses_before = ring.losses;
        let keeps_lanes = !self.has_only_batches;
        let mut decoding = Decoding { session, ring, id, batches, keeps_lanes, lost_after: None };
        decoding.missing_cells(&mut reading, read_at);
        decoding.join(&reading, read_at);
        decoding.pieces(&reading, read_at);
        decoding.count_losses(&reading, read_at);
        if let Some(batches) = &mut self.batches {
            add_losses(batches, ring, losses_before);
        }
        if ring.was_at_rest || self.has_only_batches {
            ring.lane.close();
        }
    }
}

impl Ring {
    /// Returns the state of a ring that this reader has not read yet, and from which other readers
    /// have read `told` cells.
    fn new(core: &CoreWords, id: LaneId, risc_index: usize, told: u32) -> Self {
        if told == 0 {
            return Self::first(id);
        }
        // Another reader has already reported the losses that were counted before its last read.
        Self {
            next: told,
            read_count: told.into(),
            told,
            counts: lost(core, risc_index),
            skipped: skipped(core, risc_index),
            was_at_rest: false,
            ..Self::first(id)
        }
    }

    /// Removes the records of finished launches and returns them; at the last read, also the
    /// records of the launch in progress.
    ///
    /// Before the last read, the records of the launch in progress are kept, because later reads
    /// may find more records of this launch.
    fn take_lane(&mut self, is_last_read: bool) -> Lane {
        match (is_last_read, self.was_at_rest) {
            (true, true) => self.lane.close(),
            (true, false) => self.lane.close_unfinished(),
            (false, _) => {}
        }
        self.lane.take_ready()
    }

    /// Returns why records of the RISC may be missing that it does not count.
    fn uncounted(&self) -> Option<UncountedSource> {
        match (self.was_at_rest, self.was_unannounced) {
            (false, _) => Some(UncountedSource::RunningStream),
            (true, true) => Some(UncountedSource::UnannouncedStream),
            (true, false) => None,
        }
    }

    /// Returns the state of a ring that no host and no relay has read.
    fn first(id: LaneId) -> Self {
        Self {
            next: 0,
            read_count: 0,
            told: 0,
            is_relayed: false,
            counts: LossCounts::default(),
            skipped: 0,
            losses: LossTotals::default(),
            open: OpenLaunches::ALL,
            was_at_rest: true,
            was_unannounced: false,
            cells: CellReader::default(),
            last_time: None,
            lane: LaneAssembly::new(id),
            launch_lost_by: None,
        }
    }
}

impl RingRead {
    /// Returns true if the RISC had announced the last launch that its core had begun.
    fn has_announced_last(&self) -> bool {
        let last = Cell { head: self.launches, value: 0 }.field();
        self.told.map_or(self.launches == 0, |told| told.number == last)
    }

    /// Returns a reading without cells, from the control words of a RISC whose next cell is
    /// `first`.
    fn without_cells(
        session: &Session<'_>,
        core: &CoreWords,
        (id, risc_index): (LaneId, usize),
        first: u32,
    ) -> Self {
        let told = core.risc_word(words::TOLD, risc_index);
        Self {
            id,
            cells: Vec::new(),
            first,
            missing: 0,
            cause: LossCause::Overwritten,
            counts: lost(core, risc_index),
            skipped: skipped(core, risc_index),
            told: ToldLaunch::from_word(told),
            launches: core.word(words::LAUNCHES),
            launch: launch(session, core, id.chip_id, told),
        }
    }
}

/// State for decoding the cells and control words of one ring.
struct Decoding<'a, 'session> {
    session: &'a mut Session<'session>,
    ring: &'a mut Ring,
    id: LaneId,
    batches: Option<&'a mut Vec<Batch>>,
    /// True if the records are added to lanes.
    keeps_lanes: bool,
    /// Time of the last record before a loss whose window has not ended yet. The outer `None` means
    /// that there is no such loss, the inner `None` that no record precedes the loss.
    lost_after: Option<Option<u64>>,
}

impl Decoding<'_, '_> {
    /// Adds a loss to the ledger: cells that can no longer be read.
    ///
    /// The cells after the missing cells also count as lost, in this read and later reads, until
    /// the time and the launch of a cell are known.
    fn missing_cells(&mut self, reading: &mut RingRead, read_at: Option<u64>) {
        let cause = Some(reading.cause).filter(|_| reading.missing > 0);
        let Some(cause) = cause.or(self.ring.launch_lost_by) else { return };
        let unknown = self.unknown_cells(reading, read_at);
        self.ring.launch_lost_by = unknown.is_none().then_some(cause);
        let unknown = unknown.unwrap_or(reading.cells.len());
        reading.cells.drain(..unknown);
        let count = u32::try_from(unknown).unwrap_or(0);
        reading.first = reading.first.wrapping_add(count);
        let gone = reading.missing.saturating_add(count);
        if gone == 0 {
            return;
        }
        // The number of lost records is unknown: a record may have several cells, and some cells
        // are not records.
        let totals = LossTotals { unknown_markers: gone.into(), ..LossTotals::default() };
        self.lose(cause, None, totals);
        self.lost_after = Some(self.ring.last_time);
        self.ring.read_count = self.ring.read_count.saturating_add(gone.into());
    }

    /// Sets the launch of the first cells from the control words, if another reader has read the
    /// cell that announced the launch.
    fn join(&mut self, reading: &RingRead, read_at: Option<u64>) {
        if self.ring.read_count != 0 && self.ring.lane.launch().is_none() {
            // If the launch of the leading cells is unknown, the cells are kept without a program.
            self.unknown_cells(reading, read_at);
        }
    }

    /// Counts the cells at the beginning of a reading whose launch is unknown because earlier cells
    /// are missing; returns `None` if the launch of all cells is unknown.
    ///
    /// Sets the launch and the time of the other cells if the control words contain them.
    fn unknown_cells(&mut self, reading: &RingRead, read_at: Option<u64>) -> Option<usize> {
        let Some(told) = reading.told else { return Some(0) };
        let is_same = self.ring.lane.launch().is_some_and(|launch| launch.number == told.number)
            && self.ring.cells.has_time_high(told.time_high.into(), TOLD_RANGE);
        if is_same {
            return Some(0);
        }
        let mut pieces = self.ring.cells;
        let mut pieces = pieces.pieces(&reading.cells, reading.first, None);
        let mut before = 0;
        while let Some(piece) = pieces.next() {
            if matches!(piece, Piece::Record(StreamRecord::Launch { .. })) {
                return Some(before);
            }
            before = reading.cells.len().saturating_sub(pieces.cells_left());
        }
        self.ring.lane.enter(reading.launch?);
        self.ring.cells = CellReader::from_time_high(told.time_high.into(), TOLD_RANGE, read_at);
        Some(0)
    }

    fn pieces(&mut self, reading: &RingRead, read_at: Option<u64>) {
        let mut cells = std::mem::take(&mut self.ring.cells);
        let first = self.ring.read_count;
        let mut rest = reading.cells.len();
        let mut pieces = cells.pieces(&reading.cells, reading.first, read_at);
        loop {
            let position = first.saturating_add(reading.cells.len().saturating_sub(rest) as u64);
            let Some(piece) = pieces.next() else { break };
            rest = pieces.cells_left();
            self.piece(reading, &piece, position);
        }
        self.ring.cells = cells;
        self.ring.read_count = first.saturating_add(reading.cells.len() as u64);
    }

    fn piece(&mut self, reading: &RingRead, piece: &Piece<'_>, position: u64) {
        if let Some((first, last)) = span_of(piece) {
            self.end_window(Some(first));
            self.ring.last_time = Some(last);
        }
        match piece {
            Piece::Record(StreamRecord::Launch { number, cell, .. }) => {
                let program =
                    self.session.options.host_ids.run_host_id(cell.program, self.id.chip_id);
                let trace_counter = cell.trace_counter.into();
                self.ring.lane.enter(LaunchId { number: *number, program, trace_counter });
            }
            Piece::Record(StreamRecord::Lost(_) | StreamRecord::Skipped(_)) => {
                self.lost_after = Some(self.ring.last_time);
            }
            Piece::Damage(damage) => self.damage(reading, damage, position),
            Piece::Zones(_) | Piece::Record(_) => {}
        }
        self.keep(piece, position);
    }

    /// Adds a piece of the ring to the ring's lane if `keeps_lanes` is true, and to the lane's
    /// current batch if the read creates batches.
    ///
    /// `position` is the number of the piece's first cell.
    fn keep(&mut self, piece: &Piece<'_>, position: u64) {
        if self.keeps_lanes {
            self.ring.lane.add(piece, position);
        }
        let Some(batches) = self.batches.as_deref_mut().filter(|_| piece.has_records()) else {
            return;
        };
        let launch = self.ring.lane.launch();
        let number = launch.map(|launch| launch.number);
        let is_same = |batch: &Batch| batch.lane == self.id && batch.launch == number;
        if !batches.last().is_some_and(is_same) {
            batches.push(Batch::new(self.id, launch, self.ring.losses));
        }
        if let Some(batch) = batches.last_mut() {
            batch.add(piece);
        }
    }

    fn damage(&mut self, reading: &RingRead, damage: &Damage, position: u64) {
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
        // The damaged cells may have announced another launch. The program is only known if the
        // core's last launch is the current launch.
        let current = self.ring.lane.launch().map(|launch| launch.number);
        let launch = reading.launch.filter(|launch| current == Some(launch.number));
        self.lose(LossCause::Damaged, launch.map(|launch| launch.program), totals);
        self.lost_after = Some(self.ring.last_time);
    }

    /// Adds the losses that the RISC has counted since the last read.
    fn count_losses(&mut self, reading: &RingRead, read_at: Option<u64>) {
        let lost = reading.counts.since(self.ring.counts);
        if !lost.is_zero() {
            self.lose_counted(LossCause::RingFull, reading, LossTotals::from_counts(lost));
            self.lost_after.get_or_insert(self.ring.last_time);
        }
        let skipped = reading.skipped.wrapping_sub(self.ring.skipped);
        if skipped != 0 {
            let unknown_markers = skipped.into();
            let totals = LossTotals { unknown_markers, ..LossTotals::default() };
            self.lose_counted(LossCause::Skipped, reading, totals);
        }
        (self.ring.counts, self.ring.skipped) = (reading.counts, reading.skipped);
        let launch = self.ring.lane.launch();
        let launch_of = |number| launch.filter(|launch| launch.number == number);
        let program_of = |number| launch_of(number).map(|launch| launch.program);
        self.ring.open = self.ring.open.after_read(reading.told, reading.launches, program_of);
        self.ring.was_at_rest = reading.told.is_none_or(|told| told.has_ended);
        self.ring.was_unannounced = self.id.risc.index() == 0 && !reading.has_announced_last();
        self.end_window(read_at);
    }

    /// Adds to the ledger the losses that the RISC has counted since the last read. If all lost
    /// records must come from one launch, assigns the losses to the program of this launch.
    fn lose_counted(&mut self, cause: LossCause, reading: &RingRead, totals: LossTotals) {
        let open = self.ring.open;
        let last = reading.launch.map(|launch| launch.program);
        if open.is_only(reading.launches) && last.is_some() {
            return self.lose(cause, last, totals);
        }
        let programs = open.first_program().zip(last);
        let programs = programs.map(|(first, last)| ProgramSpan { first, last });
        self.lose(cause, None, LossTotals { programs, ..totals });
    }

    fn lose(&mut self, cause: LossCause, program: Option<RunHostId>, totals: LossTotals) {
        self.ring.losses.add(LossTotals { programs: None, ..totals });
        self.session.losses.add_in_windows(LossKey { lane: self.id, cause, program }, totals);
    }

    /// Ends the current period in which records may have been lost, if such a period is open.
    /// `before` is the end of the period; `None` if unknown.
    fn end_window(&mut self, before: Option<u64>) {
        if let Some(after) = self.lost_after.take() {
            let window = LossWindow { after, before, may_cut_launches: true };
            self.session.losses.note_window(self.id, window);
        }
    }
}

/// Stores the total losses of the lane of `ring` in the lane's batches.
///
/// These batches are the last elements of `batches`. If the lane has no batch and its losses have
/// grown since `before`, adds a batch without records.
fn add_losses(batches: &mut Vec<Batch>, ring: &Ring, before: LossTotals) {
    let id = ring.lane.id();
    if ring.losses != before && batches.last().is_none_or(|batch| batch.lane != id) {
        batches.push(Batch::new(id, ring.lane.launch(), ring.losses));
    }
    for batch in batches.iter_mut().rev().take_while(|batch| batch.lane == id) {
        batch.losses = ring.losses;
    }
}

/// Reads a ring from cell number `next` on. `rings` contains the words of all rings of the core, if
/// they have been read already.
fn read_ring(
    session: &mut Session<'_>,
    core: &CoreWords,
    (id, risc_index): (LaneId, usize),
    (next, rings): (u32, Option<&[u32]>),
) -> RingRead {
    let unread = plausible_unread(session, core, (id, risc_index), next);
    let (cells, missing, cause) = match read_cells(session, core, (risc_index, rings), &unread) {
        Ok((cells, overwritten)) => {
            session.unread.remove(&id);
            (cells, overwritten, LossCause::Overwritten)
        }
        Err(error) => {
            session.note(AnomalyKind::UnreadableCore, Some(id), 0, || error.to_string());
            if error.is_final() {
                (Vec::new(), unread.count, LossCause::Unreadable)
            } else {
                let waiting = u64::from(unread.count).min(RING_CELLS as u64);
                session.note_unread(id, waiting);
                (Vec::new(), 0, LossCause::Unread)
            }
        }
    };
    let first = unread.first.wrapping_add(missing);
    let without_cells = RingRead::without_cells(session, core, (id, risc_index), first);
    RingRead { cells, missing, cause, ..without_cells }
}

/// Returns the range of unread cells in a ring. If the core states an impossible number of cells,
/// reports it and returns an empty range.
fn plausible_unread(
    session: &mut Session<'_>,
    core: &CoreWords,
    (id, risc_index): (LaneId, usize),
    next: u32,
) -> Unread {
    let unread = Unread::between(next, core.risc_word(words::WRITTEN, risc_index));
    if unread.overwritten() == 0 || policy(core, risc_index) == Policy::OverwriteOldest {
        return unread;
    }
    let Unread { first, count } = unread;
    session.note(AnomalyKind::ImplausibleControlWord, Some(id), words::WRITTEN, || {
        format!("{count} cells are said to wait in a ring of {RING_CELLS}")
    });
    session.lose(id, LossCause::Damaged, None, LossTotals::at_least_markers(0));
    Unread { first: first.wrapping_add(count), count: 0 }
}

/// Reads the unread cells of a ring. Returns the cells that were not overwritten, and the number of
/// unread cells that were overwritten.
fn read_cells(
    session: &mut Session<'_>,
    core: &CoreWords,
    (risc_index, rings): (usize, Option<&[u32]>),
    unread: &Unread,
) -> Result<(Vec<CellWords>, u32), AccessError> {
    let mut cells = Vec::with_capacity(RING_CELLS);
    for range in unread.places() {
        let mut words = vec![0; range.len().saturating_mul(CELL_WORDS)];
        let first = range.start.saturating_mul(CELL_WORDS);
        let place = risc_index.saturating_mul(VECTOR_WORDS).saturating_add(first);
        let read = rings.and_then(|rings| rings.get(place..place.checked_add(words.len())?));
        match read {
            Some(read) => words.copy_from_slice(read),
            None if words.is_empty() => {}
            None => session.read_vector(&core.core, risc_index, first, &mut words)?,
        }
        let (whole, _) = words.as_chunks::<CELL_WORDS>();
        cells.extend_from_slice(whole);
    }
    let overwritten = unread.overwritten();
    if cells.is_empty() || policy(core, risc_index) != Policy::OverwriteOldest {
        return Ok((cells, overwritten));
    }
    let gone = overwritten_meanwhile(session, core, risc_index, unread)?.min(unread.count);
    cells.drain(..(gone.saturating_sub(overwritten) as usize).min(cells.len()));
    Ok((cells, gone))
}

/// Returns true if at least a quarter of the cells in a core's rings are unread.
///
/// In that case, one transaction for all rings takes less time than one or two transactions for
/// each ring, because the fixed cost of a PCIe transaction equals the time to transfer a few
/// hundred words.
fn hold_many_cells(core: &CoreWords) -> bool {
    let riscs = core.core.kind.risc_count();
    let unread = (0..riscs).map(|risc_index| {
        let [read, written] =
            [words::READ, words::WRITTEN].map(|first| core.risc_word(first, risc_index));
        (Unread::between(read, written).count as usize).min(RING_CELLS)
    });
    unread.sum::<usize>() >= riscs.saturating_mul(RING_CELLS) / 4
}

/// Reads all rings of a core in one transaction, if they hold many cells. Returns `None` if they
/// hold few cells, or if the transaction fails; the cells must then be read ring by ring.
fn read_whole_rings(session: &mut Session<'_>, core: &CoreWords) -> Option<Vec<u32>> {
    let mut rings = whole_rings(core)?;
    session.read_vector(&core.core, 0, 0, &mut rings).ok().map(|()| rings)
}

/// Returns a buffer for the words of all rings; `None` if the rings should not be read in one
/// transaction.
fn whole_rings(core: &CoreWords) -> Option<Vec<u32>> {
    let word_count = core.core.kind.risc_count().saturating_mul(VECTOR_WORDS);
    (hold_many_cells(core) && !overwrites(core)).then(|| vec![0; word_count])
}

/// Returns the launch with the number that a RISC has stored in the word `told`, if this launch is
/// the last one that the core has begun.
fn launch(session: &Session<'_>, core: &CoreWords, chip_id: u32, told: u32) -> Option<LaunchId> {
    let told = ToldLaunch::from_word(told)?;
    let is_last = Cell { head: core.word(words::LAUNCHES), value: 0 }.field() == told.number;
    let program = core.word(words::PROGRAM);
    let program = session.options.host_ids.run_host_id(program, chip_id);
    let trace_counter = core.word(words::TRACE_COUNT);
    is_last.then_some(LaunchId { number: told.number, program, trace_counter })
}

/// Returns the number of unread cells that may have been overwritten during the read.
///
/// The number is rounded up to whole chunks, since records can only be recognized from the
/// beginning of a chunk.
fn overwritten_meanwhile(
    session: &mut Session<'_>,
    core: &CoreWords,
    risc_index: usize,
    unread: &Unread,
) -> Result<u32, AccessError> {
    let mut written = [0];
    let index = words::WRITTEN.saturating_add(risc_index);
    session.read_control(&core.core, index, &mut written)?;
    let [written] = written;
    let gone = unread.and_in_writing(written).overwritten();
    let to_next = if gone == 0 { 0 } else { cells_to_next_chunk(unread.first.wrapping_add(gone)) };
    Ok(gone.saturating_add(to_next))
}

/// Returns the times of a piece's first and last record; the time of a zone is its end. Returns
/// `None` if the piece has no times.
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

/// Returns the RISCs of a core, each with its index and its lane.
fn lanes_of(
    chip_id: u32,
    core: &CoreDescription,
) -> impl Iterator<Item = (usize, LaneId)> + Clone + use<> {
    let CoreDescription { noc0, kind, .. } = *core;
    (0..kind.risc_count()).filter_map(move |risc_index| {
        let risc = kind.risc(risc_index)?;
        Some((risc_index, LaneId { chip_id, core: noc0, risc }))
    })
}

/// Returns true if a RISC of the core overwrites its oldest cells when its ring is full. Relays do
/// not read such a core, so the host reads it.
fn overwrites(core: &CoreWords) -> bool {
    let mut riscs = 0..core.core.kind.risc_count();
    riscs.any(|risc_index| policy(core, risc_index) == Policy::OverwriteOldest)
}

fn lost(core: &CoreWords, risc_index: usize) -> LossCounts {
    let [zones, data, events] =
        LossKind::ALL.map(|kind| core.risc_word(kind.control_word(), risc_index));
    LossCounts { zones, data, events }
}

/// Returns the number of cells that a RISC has skipped; 0 under policies that skip no cells.
fn skipped(core: &CoreWords, risc_index: usize) -> u32 {
    match policy(core, risc_index) {
        Policy::KeepOneOf { .. } => core.risc_word(words::SKIPPED, risc_index),
        _ => 0,
    }
}

/// Returns all losses that a RISC has counted.
fn earlier_losses(core: &CoreWords, risc_index: usize) -> LossTotals {
    let unknown_markers = skipped(core, risc_index).into();
    LossTotals { unknown_markers, ..LossTotals::from_counts(lost(core, risc_index)) }
}

fn policy(core: &CoreWords, risc_index: usize) -> Policy {
    Policy::from_word(core.risc_word(words::POLICY, risc_index)).unwrap_or_default()
}

/// Returns how many launches have run no kernel on a core since the last read. Adds one zone for
/// each of these launches to the ledger, as lost because of `ValidateOff`.
fn idle_launches(
    session: &mut Session<'_>,
    core: &CoreWords,
    before: Option<&[u32; WORDS]>,
) -> u32 {
    let count_in = |words: &[u32; WORDS]| word_of(words, words::IDLE_LAUNCHES);
    let count = count_in(&core.words).wrapping_sub(before.map_or(0, count_in));
    if let Some(risc) = core.core.kind.risc(0).filter(|_| count > 0) {
        let chip_id = session.device.description().chip_id;
        let lane = LaneId { chip_id, core: core.core.noc0, risc };
        let totals = LossTotals { zones: count.into(), ..LossTotals::default() };
        session.lose(lane, LossCause::ValidateOff, None, totals);
    }
    count
}

/// Returns true if a count in a core's control vector has decreased between two reads: a host has
/// zeroed the vector.
fn was_zeroed(before: &[u32; WORDS], now: &[u32; WORDS]) -> bool {
    let risc_words = |first: usize| first..first.saturating_add(RISCS_PER_CORE);
    let counts =
        [words::WRITTEN, words::LOST_ZONES, words::LOST_DATA, words::LOST_EVENTS, words::READ];
    let mut counts =
        counts.into_iter().flat_map(risc_words).chain([words::LAUNCHES, words::IDLE_LAUNCHES]);
    counts.any(|index| word_of(now, index).wrapping_sub(word_of(before, index)).cast_signed() < 0)
}

#[expect(clippy::cast_possible_truncation, reason = "a ring has 256 cells")]
const fn count(cells: &[CellWords]) -> u32 {
    cells.len() as u32
}
