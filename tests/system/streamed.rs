//! Streamed records, lane by lane: the records that a reader returns in batches, and the true
//! records. The true records are decoded from the cells that the simulated RISCs have counted as
//! written.

use host_reader::{lane::LaneId, mesh::Noc0Coord, stream::Batch};
use sim::truth::{RiscKey, StreamedCells};
use std::{
    collections::{BTreeMap, VecDeque},
    fmt::Debug,
};

/// Records by lane.
pub(crate) type Found = BTreeMap<LaneId, LaneRecords>;

/// Program of records that follow a launch cell which the reader has not seen.
const UNKNOWN: u32 = u32::MAX;

/// The records of a lane in their order, each with its program.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LaneRecords {
    /// Id, start and end of each zone.
    zones: Column<(u16, u64, u64)>,
    /// Id, time, first value, and second value if there is one.
    data: Column<(u16, u64, u64, Option<u64>)>,
    /// Event number and time.
    events: Column<(u16, u64)>,
    /// Id and cycles of each total.
    totals: Column<(u16, u32)>,
}

type Column<R> = VecDeque<(u32, R)>;

impl LaneRecords {
    pub(crate) fn add(&mut self, batch: &Batch) {
        let program = batch.program.map_or(UNKNOWN, |program| program.base());
        let Batch { zones, data, events, totals, .. } = batch;
        let rows = zones.ids.iter().zip(&zones.starts).zip(&zones.ends);
        self.zones.extend(rows.map(|((id, &start), &end)| (program, (id.0, start, end))));
        let rows = data.ids.iter().zip(&data.times).zip(&data.values);
        let rows = rows.map(|((id, &time), &(first, second))| (id.0, time, first, second));
        self.data.extend(rows.map(|row| (program, row)));
        let rows = events.ids.iter().zip(&events.times);
        self.events.extend(rows.map(|(id, &time)| (program, (id.0, time))));
        let rows = totals.ids.iter().zip(&totals.cycles);
        self.totals.extend(rows.map(|(id, &cycles)| (program, (id.0, cycles))));
    }

    pub(crate) fn len(&self) -> usize {
        self.zones.len() + self.data.len() + self.events.len() + self.totals.len()
    }

    /// Returns the durations of the zones in their order, each with the zone's id.
    pub(crate) fn durations(&self) -> impl Iterator<Item = (u16, u64)> {
        self.zones().map(|(id, start, end)| (id, end - start))
    }

    /// Returns the id, start and end of each zone, in the order of their ends.
    pub(crate) fn zones(&self) -> impl Iterator<Item = (u16, u64, u64)> {
        self.zones.iter().map(|(_, zone)| *zone)
    }

    /// Removes the records of a batch from the front. They must equal the next records of the lane.
    ///
    /// # Errors
    /// A message with the first record of the batch that differs.
    pub(crate) fn take(&mut self, batch: &Batch) -> Result<(), String> {
        fn take<R: PartialEq + Debug>(
            expected: &mut Column<R>,
            found: &Column<R>,
        ) -> Result<(), String> {
            for record in found {
                let next = expected.pop_front();
                if next.as_ref() != Some(record) {
                    return Err(format!("{record:?} was read instead of {next:?}"));
                }
            }
            Ok(())
        }
        let mut found = Self::default();
        found.add(batch);
        take(&mut self.zones, &found.zones)?;
        take(&mut self.data, &found.data)?;
        take(&mut self.events, &found.events)?;
        take(&mut self.totals, &found.totals)
    }

    /// Returns true if these records are the last records of `all`. The program of the first
    /// records may be unknown.
    pub(crate) fn are_last_of(&self, all: &Self) -> bool {
        fn are_last<R: PartialEq>(some: &Column<R>, all: &Column<R>) -> bool {
            let Some(first) = all.len().checked_sub(some.len()) else { return false };
            let known = some.iter().skip_while(|(program, _)| *program == UNKNOWN);
            let is_known = known.clone().all(|(program, _)| *program != UNKNOWN);
            is_known
                && some.iter().zip(all.range(first..)).all(|((program, found), (other, record))| {
                    found == record && (program == other || *program == UNKNOWN)
                })
        }
        are_last(&self.zones, &all.zones)
            && are_last(&self.data, &all.data)
            && are_last(&self.events, &all.events)
            && are_last(&self.totals, &all.totals)
    }

    /// Returns true if all of these records are also in `all`, in the same order.
    pub(crate) fn is_part_of(&self, all: &Self) -> bool {
        fn is_part<R: PartialEq>(some: &Column<R>, all: &Column<R>) -> bool {
            let mut all = all.iter();
            some.iter().all(|record| all.any(|other| other == record))
        }
        is_part(&self.zones, &all.zones)
            && is_part(&self.data, &all.data)
            && is_part(&self.events, &all.events)
            && is_part(&self.totals, &all.totals)
    }
}

/// The streamed records of a run so far, from the simulator's truth.
#[derive(Debug, Default)]
pub(crate) struct Streamed {
    lanes: BTreeMap<LaneId, StreamedLane>,
}

/// State for decoding the cells of a lane, with the records decoded so far.
#[derive(Debug, Default)]
struct StreamedLane {
    /// Position of the next cell in its chunk.
    place: usize,
    program: u32,
    time: u64,
    records: LaneRecords,
}

impl Streamed {
    /// Adds the cells that RISCs have streamed since the last call.
    pub(crate) fn add(&mut self, cells: StreamedCells) {
        for (RiscKey { chip_id, core, risc }, cells) in cells {
            let core = Noc0Coord { x: core.x, y: core.y };
            self.lanes.entry(LaneId { chip_id, core, risc }).or_default().decode(&cells);
        }
    }

    /// Returns the records of a lane that have not been taken.
    pub(crate) fn lane(&mut self, id: LaneId) -> &mut LaneRecords {
        &mut self.lanes.entry(id).or_default().records
    }

    /// Returns the number of records that have not been taken.
    pub(crate) fn len(&self) -> usize {
        self.lanes.values().map(|lane| lane.records.len()).sum()
    }

    /// Returns the records of all lanes that have any.
    pub(crate) fn into_records(self) -> Found {
        let records = self.lanes.into_iter().map(|(id, lane)| (id, lane.records));
        records.filter(|(_, records)| records.len() > 0).collect()
    }
}

impl StreamedLane {
    /// Decodes cells by the table in `docs/streaming.md`. RISCs count only whole records.
    fn decode(&mut self, cells: &[[u32; 2]]) {
        let mut at = 0;
        while at < cells.len() {
            let [head, value] = cells[at];
            let wide = |cell: usize| {
                let [low, high] = cells[at + cell];
                u64::from(high) << 32 | u64::from(low)
            };
            let (code, field) = ((head >> 16) as u16, (head & 0xFFFF) as u16);
            let program = self.program;
            let count = match code {
                0xFFF0 => {
                    let end = self.time(value);
                    self.records.zones.push_back((program, (field, end - wide(1), end)));
                    2
                }
                0xFFF1 | 0xFFF2 => {
                    let (time, is_wide) = (self.time(value), code == 0xFFF2);
                    let second = is_wide.then(|| wide(2));
                    self.records.data.push_back((program, (field, time, wide(1), second)));
                    if is_wide { 3 } else { 2 }
                }
                0xFFF3 => {
                    let time = self.time(value);
                    self.records.events.push_back((program, (field, time)));
                    1
                }
                0xFFF4 => {
                    self.records.totals.push_back((program, (field, value)));
                    1
                }
                0xFFF5 => {
                    let [program, high] = cells[at + 1];
                    self.program = program;
                    // The cell has the low 48 bits of a time that only rises.
                    let told = u64::from(high & 0xFFFF) << 32 | u64::from(value);
                    self.time += told.wrapping_sub(self.time) & 0xFFFF_FFFF_FFFF;
                    2
                }
                0xFFF6 | 0xFFF7 => 1,
                0xFFFF => 8 - self.place,
                id if id < 0xFFF0 => {
                    let end = self.time(value);
                    let start = end - u64::from(field);
                    self.records.zones.push_back((program, (id, start, end)));
                    1
                }
                code => panic!("no cell has the code {code:#x}"),
            };
            at += count;
            self.place = (self.place + count) % 8;
        }
        assert_eq!(at, cells.len(), "a record or a chunk was counted in part");
    }

    /// Returns the next time with this low word.
    fn time(&mut self, low: u32) -> u64 {
        self.time += u64::from(low.wrapping_sub((self.time & 0xFFFF_FFFF) as u32));
        self.time
    }
}
