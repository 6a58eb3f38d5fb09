//! Points of a lane: events, values and sums, each with a single time.

use super::NameId;
use wire::PacketKind;

/// Point of a lane: an event, the values of a data record, or a sum.
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

reader::labelled! {
    /// Category of a point. The label of a category is the text that export formats show.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PointCategory {
        /// An instant without values.
        Event = "event",
        /// Values recorded at one instant.
        Data = "data",
        /// Total cycles of all zones that have the same name and belong to the same run.
        Sum = "sum",
    }
}

impl TracePoint<'_> {
    /// Returns the category of the point.
    #[must_use]
    pub const fn category(&self) -> PointCategory {
        match self.kind {
            PacketKind::TimestampedEvent => PointCategory::Event,
            PacketKind::TimestampedData | PacketKind::TimestampedData16B => PointCategory::Data,
            // Zone starts and ends are not points.
            PacketKind::ZoneTotal | PacketKind::ZoneStart | PacketKind::ZoneEnd => {
                PointCategory::Sum
            }
        }
    }
}
