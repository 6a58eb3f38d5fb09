//! Batches: the records of one launch that one read found in one lane, in columns. The launch may
//! still be running.

use super::{
    launch::{LaneAssembly, LaunchId},
    pieces::{Piece, Span, StreamRecord, ZoneColumns},
};
use crate::{
    lane::{Lane, LaneId},
    ledger::LossTotals,
};
use std::collections::BTreeMap;
use wire::{RunHostId, ZoneId};

/// Timestamped data in columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataColumns {
    /// Ids of the data.
    pub ids: Vec<ZoneId>,
    /// Times, as cycles of the tile's clock.
    pub times: Vec<u64>,
    /// Values: each is a pair of a 64-bit value and `None`, or of the first and second half of a
    /// 128-bit value.
    pub values: Vec<(u64, Option<u64>)>,
}

/// Events in columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventColumns {
    /// Ids of the events.
    pub ids: Vec<ZoneId>,
    /// Times, as cycles of the tile's clock.
    pub times: Vec<u64>,
}

/// Totals of sum zones, in columns. A sum zone records only the total duration of all its
/// executions. Therefore a total has no time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TotalColumns {
    /// Ids of the sum zones.
    pub ids: Vec<ZoneId>,
    /// Totals in cycles, modulo 2^32.
    pub cycles: Vec<u32>,
}

/// Records of one launch in one lane, found by one read.
///
/// If the launch was still running during the read, its later records are in a later batch of the
/// lane. A zone is in the batch of the first read after the zone's end. A batch without records
/// states that a read found new losses, but no records, in the lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The lane.
    pub lane: LaneId,
    /// The program; `None` if unknown.
    pub program: Option<RunHostId>,
    /// The low half of the launch's number on the core; `None` if unknown.
    pub launch: Option<u16>,
    /// Number of trace replays that the core had counted when the launch began; 0 if unknown.
    pub trace_counter: u32,
    /// Zones, in the order of their ends.
    pub zones: ZoneColumns,
    /// Data, ordered by time.
    pub data: DataColumns,
    /// Events, ordered by time.
    pub events: EventColumns,
    /// Totals, which the RISC writes at the end of a launch.
    pub totals: TotalColumns,
    /// Total loss of the lane up to this read. Cells that a later read may still find are not
    /// counted.
    pub losses: LossTotals,
}

impl Batch {
    pub(crate) fn new(lane: LaneId, launch: Option<LaunchId>, losses: LossTotals) -> Self {
        Self {
            lane,
            program: launch.map(|launch| launch.program),
            launch: launch.map(|launch| launch.number),
            trace_counter: launch.map_or(0, |launch| launch.trace_counter),
            zones: ZoneColumns::default(),
            data: DataColumns::default(),
            events: EventColumns::default(),
            totals: TotalColumns::default(),
            losses,
        }
    }

    /// Returns the number of records.
    #[must_use]
    pub fn record_count(&self) -> usize {
        let others = [self.data.ids.len(), self.events.ids.len(), self.totals.ids.len()];
        others.into_iter().fold(self.zones.len(), usize::saturating_add)
    }

    /// Returns all records in the order in which the RISC wrote them. Totals have no time and are
    /// last.
    fn records(&self) -> impl Iterator<Item = StreamRecord> {
        let Self { zones, data, events, totals, .. } = self;
        let spans = zones.ids.iter().zip(&zones.starts).zip(&zones.ends);
        let spans = spans
            .map(|((&id, &start), &end)| (end, StreamRecord::LongZone(Span { id, start, end })));
        let data = data.ids.iter().zip(&data.times).zip(&data.values);
        let data = data.map(|((&id, &time), &(value, second))| {
            (time, StreamRecord::Data { id, time, value, second })
        });
        let events = events.ids.iter().zip(&events.times);
        let events = events.map(|(&id, &time)| (time, StreamRecord::Event { id, time }));
        let mut timed: Vec<_> = spans.chain(data).chain(events).collect();
        timed.sort_by_key(|&(time, _)| time);
        let totals = totals.ids.iter().zip(&totals.cycles);
        let totals = totals.map(|(&id, &cycles)| StreamRecord::Total { id, cycles });
        timed.into_iter().map(|(_, record)| record).chain(totals)
    }

    /// Appends the records of a piece of the lane.
    pub(crate) fn add(&mut self, piece: &Piece<'_>) {
        match piece {
            Piece::Zones(zones) => self.zones.extend(zones),
            Piece::Record(StreamRecord::LongZone(span)) => self.zones.push(*span),
            &Piece::Record(StreamRecord::Data { id, time, value, second }) => {
                self.data.ids.push(id);
                self.data.times.push(time);
                self.data.values.push((value, second));
            }
            &Piece::Record(StreamRecord::Event { id, time }) => {
                self.events.ids.push(id);
                self.events.times.push(time);
            }
            &Piece::Record(StreamRecord::Total { id, cycles }) => {
                self.totals.ids.push(id);
                self.totals.cycles.push(cycles);
            }
            Piece::Record(
                StreamRecord::Launch { .. } | StreamRecord::Lost(_) | StreamRecord::Skipped(_),
            )
            | Piece::Damage(_) => {}
        }
    }
}

/// Converts batches to lanes. The lanes are ordered by id, and the records of each lane by time.
///
/// The batches of a lane must be in the order in which they were read. Lanes without records are
/// left out.
///
/// ```
/// use reader::stream::lanes_of_batches;
/// assert_eq!(lanes_of_batches(&[]), []);
/// ```
#[must_use]
pub fn lanes_of_batches(batches: &[Batch]) -> Vec<Lane> {
    let mut lanes: BTreeMap<LaneId, LaneAssembly> = BTreeMap::new();
    for batch in batches.iter().filter(|batch| batch.record_count() > 0) {
        let lane = lanes.entry(batch.lane).or_insert_with(|| LaneAssembly::new(batch.lane));
        if let Some((program, number)) = batch.program.zip(batch.launch) {
            lane.enter(LaunchId { number, program, trace_counter: batch.trace_counter });
        }
        batch.records().for_each(|record| lane.add(&Piece::Record(record), 0));
    }
    let lanes = lanes.into_values().map(|mut lane| {
        lane.close();
        lane.take_ready()
    });
    lanes.collect()
}
