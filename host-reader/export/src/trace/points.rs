//! Points of a lane, which have one time each: events, values and sums.

use super::{NameId, nesting::reorder};
use reader::{lane::Lane, timeline::NO_RUN};
use wire::PacketKind;

/// An event, values or a sum, gathered from the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracePoint<'a> {
    /// An event, data of 8 or 16 bytes, or the total of a sum zone.
    pub kind: PacketKind,
    /// Which one; look it up in [`super::TraceNames`].
    pub name: NameId,
    /// When, on the clock of the chip's reference. A sum has the time of its run's first
    /// marker.
    pub cycle: u64,
    /// When, in nanoseconds since the trace's origin.
    pub time_ns: u64,
    /// Index of its run in [`super::TraceLane::runs`]; `None` before the first run.
    pub run: Option<u32>,
    /// Its values: none of an event, one or two of data, the cycles of a sum.
    pub values: &'a [u64],
    /// Text that a log attached to it.
    pub text: Option<&'a str>,
}

/// Category of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointCategory {
    /// A time without values.
    Event,
    /// Values at a time.
    Data,
    /// The cycles of all zones of one name of a run.
    Sum,
}

impl PointCategory {
    const fn of(kind: PacketKind) -> Self {
        match kind {
            PacketKind::TimestampedEvent => Self::Event,
            PacketKind::TimestampedData | PacketKind::TimestampedData16B => Self::Data,
            // Starts and ends are no points.
            PacketKind::ZoneTotal | PacketKind::ZoneStart | PacketKind::ZoneEnd => Self::Sum,
        }
    }

    /// Its name, as formats have it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Data => "data",
            Self::Sum => "sum",
        }
    }
}

impl TracePoint<'_> {
    /// Returns the category of the point.
    #[must_use]
    pub const fn category(&self) -> PointCategory {
        PointCategory::of(self.kind)
    }
}

/// The points of one lane, column by column, ordered by time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracePoints<'a> {
    pub(super) kinds: Vec<PacketKind>,
    pub(super) names: Vec<NameId>,
    pub(super) cycles: Vec<u64>,
    pub(super) times_ns: Vec<u64>,
    pub(super) runs: Vec<u32>,
    /// Index of each point's record in its lane.
    pub(super) records: Vec<usize>,
    /// Index of each point's first value in its lane.
    pub(super) first_values: Vec<usize>,
    pub(super) lane: Option<&'a Lane>,
}

impl<'a> TracePoints<'a> {
    /// How many points there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Returns true if there are no points.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The point with this index.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<TracePoint<'a>> {
        let kind = *self.kinds.get(index)?;
        let first_value = *self.first_values.get(index)?;
        let values = first_value..first_value.saturating_add(value_count(kind));
        Some(TracePoint {
            kind,
            name: *self.names.get(index)?,
            cycle: *self.cycles.get(index)?,
            time_ns: *self.times_ns.get(index)?,
            run: self.runs.get(index).copied().filter(|&run| run != NO_RUN),
            values: self.lane.and_then(|lane| lane.data.get(values)).unwrap_or(&[]),
            text: self.text(*self.records.get(index)?),
        })
    }

    /// All points in order.
    pub fn iter(&self) -> impl Iterator<Item = TracePoint<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    fn text(&self, record: usize) -> Option<&'a str> {
        let metadata = &self.lane?.metadata;
        let position = metadata.binary_search_by_key(&record, |&(record, _)| record).ok()?;
        metadata.get(position).map(|(_, text)| &**text)
    }

    /// Puts the points in time order, unless they are.
    pub(super) fn sort(&mut self) {
        if self.cycles.is_sorted() {
            return;
        }
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by_key(|&index| self.cycles[index]);
        reorder(&mut self.kinds, &order);
        reorder(&mut self.names, &order);
        reorder(&mut self.cycles, &order);
        reorder(&mut self.runs, &order);
        reorder(&mut self.records, &order);
        reorder(&mut self.first_values, &order);
    }
}

/// How many values a point of this kind has.
pub(super) const fn value_count(kind: PacketKind) -> usize {
    reader::lane::RecordHead::new(kind, reader::lane::ZoneIndex(0)).data_count()
}
