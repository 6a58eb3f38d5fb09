//! Batches: what one read found in one lane, in columns, even if the launch goes on.

use super::{
    launch::Launch,
    pieces::{Piece, StreamRecord, ZoneColumns},
};
use crate::{lane::LaneId, ledger::LossTotals};
use wire::{RunHostId, ZoneId};

/// Timestamped data in columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataColumns {
    /// Ids of the data.
    pub ids: Vec<ZoneId>,
    /// Times, as cycles of the tile's clock.
    pub times: Vec<u64>,
    /// Values; the second half is there only if a value has 128 bits.
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

/// Totals of sums in columns. They have no time of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TotalColumns {
    /// Ids of the sums.
    pub ids: Vec<ZoneId>,
    /// Cycles, modulo 2^32.
    pub cycles: Vec<u32>,
}

/// Records of one launch in one lane, found by one read.
///
/// The launch may go on: its next records are in a later batch of the lane. A zone is in the batch
/// of the read after its end. If a read finds more losses but no records in a lane, the batch is
/// without records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The lane.
    pub lane: LaneId,
    /// The program; `None` if unknown.
    pub program: Option<RunHostId>,
    /// The low half of the launch's number on the core; `None` if unknown.
    pub launch: Option<u16>,
    /// Zones, in the order of their ends.
    pub zones: ZoneColumns,
    /// Data, in the order of their times.
    pub data: DataColumns,
    /// Events, in the order of their times.
    pub events: EventColumns,
    /// Totals, which the RISC writes at the end of a launch.
    pub totals: TotalColumns,
    /// All records that the lane has lost up to this read. Cells that a later read may still find
    /// are not among them.
    pub losses: LossTotals,
}

impl Batch {
    pub(crate) fn new(lane: LaneId, launch: Option<Launch>, losses: LossTotals) -> Self {
        Self {
            lane,
            program: launch.map(|launch| launch.program),
            launch: launch.map(|launch| launch.number),
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
