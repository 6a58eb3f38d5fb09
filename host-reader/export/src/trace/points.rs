//! Points of a lane: events, values and sums, each with a single time.

use super::{NameId, nesting::reorder};
use reader::{lane::Lane, timeline::NO_RUN};
use wire::PacketKind;

/// Event, values or sum, assembled from the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracePoint<'a> {
    /// Kind of point: an event, data of 8 or 16 bytes, or the total of a sum zone.
    pub kind: PacketKind,
    /// Number of the point's name in [`super::TraceNames`].
    pub name: NameId,
    /// Cycle on the chip's reference clock. A sum has the time of its run's first marker.
    pub cycle: u64,
    /// Time in nanoseconds since the trace's origin.
    pub time_ns: u64,
    /// Index of the point's run in [`super::TraceLane::runs`]; `None` before the first run.
    pub run: Option<u32>,
    /// Values: none for an event, one or two for data, the cycles for a sum.
    pub values: &'a [u64],
    /// Text that a log attached to the point.
    pub text: Option<&'a str>,
}

/// Category of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointCategory {
    /// A time without values.
    Event,
    /// Values with a time.
    Data,
    /// Total cycles of all zones with one name in a run.
    Sum,
}

impl PointCategory {
    const fn from_kind(kind: PacketKind) -> Self {
        match kind {
            PacketKind::TimestampedEvent => Self::Event,
            PacketKind::TimestampedData | PacketKind::TimestampedData16B => Self::Data,
            // Zone starts and ends are not points and never reach this function.
            PacketKind::ZoneTotal | PacketKind::ZoneStart | PacketKind::ZoneEnd => Self::Sum,
        }
    }

    /// Returns the label of the category that formats show.
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
        PointCategory::from_kind(self.kind)
    }
}

/// Points of one lane, column by column, sorted by time.
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
    /// Returns the number of points.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Returns true if there are no points.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Returns the point with this index.
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

    /// Returns all points in order.
    pub fn iter(&self) -> impl Iterator<Item = TracePoint<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    fn text(&self, record: usize) -> Option<&'a str> {
        let metadata = &self.lane?.metadata;
        let position = metadata.binary_search_by_key(&record, |&(record, _)| record).ok()?;
        metadata.get(position).map(|(_, text)| &**text)
    }

    /// Sorts the points by time, unless they are already sorted.
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

/// Returns the number of values of a point of this kind.
pub(super) const fn value_count(kind: PacketKind) -> usize {
    reader::lane::RecordHead::new(kind, reader::lane::ZoneIndex(0)).data_count()
}
