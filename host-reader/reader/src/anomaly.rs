//! Anomalies and repairs: irregularities in the data, and their corrections.
//!
//! An anomaly never stops a reader. All anomalies are counted. Only the first few of each lane and
//! kind are stored with their position, so memory is bounded for any input.

use crate::lane::LaneId;
use std::{collections::BTreeMap, fmt};

crate::labelled! {
    /// Kind of an anomaly: an irregularity in the data, or a repair of the data.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum AnomalyKind {
        /// A word at the position of a marker is not a valid marker.
        NotAMarker = "not a marker",
        /// A packet type that no known producer writes.
        UnknownPacketType = "unknown packet type",
        /// A record is cut off by the end of its run or lane.
        TruncatedRecord = "truncated record",
        /// A run header names a RISC or a core that the lane does not belong to.
        ForeignRun = "run of another RISC",
        /// A control word exceeds the size of the memory it describes.
        ImplausibleControlWord = "implausible control word",
        /// Words of an earlier run remain in the lane.
        StaleRun = "stale run",
        /// Words are zero although the device reports that it has pushed them.
        MissingRun = "missing run",
        /// A zone's end without the zone's start.
        OrphanEnd = "end without start",
        /// A zone's start without the zone's end; the end was estimated.
        OpenZone = "start without end",
        /// Time stepped backwards for an unknown reason.
        BackwardTime = "backward time",
        /// A line of a log cannot be parsed.
        MalformedLine = "malformed line",
        /// A kernel's ELF section for zone texts contains bytes that are not a zone text.
        MalformedZoneText = "malformed zone text",
        /// A core could not be read at all.
        UnreadableCore = "unreadable core",
        /// Two source locations share an id.
        ZoneIdCollision = "zone id collision",
        /// A marker that looks like padding, because the hash of its zone's text is 0.
        AmbiguousPadding = "marker that looks like padding",
        /// A log names an unknown RISC; the lines of this RISC are left out.
        UnknownRisc = "unknown RISC",
        /// A log line has a value in its data column, although records of the line's type have no
        /// value. All other fields of the line are used.
        StrayValue = "value where none belongs",
        /// A log has the header of another log within it. Times, programs and replays of the lines
        /// before and after it need not belong together.
        JoinedLog = "log joined to another",
        /// A run belongs to a replay that the host did not report, so the run's trace is unknown.
        UnknownReplay = "replay that the host did not report",
        /// An op that the host announced but no chip ran, or an op that the host did not announce.
        UnjoinedOp = "op that only the host or only the chip knows",
        /// An op that the host announced once, but that a chip ran several times outside of traces.
        RepeatedOp = "op launched again without a message of the host",
        /// Repair: the high word of a marker's time did not match the low word.
        TornTimestamp = "torn timestamp",
        /// Repair: the 44-bit time of the markers wrapped.
        TimestampWrap = "timestamp wrap",
        /// Repair: a repeated marker was left out. If a RISC pushes a launch's markers in several
        /// parts, each part contains the guaranteed markers again.
        DuplicateGuaranteedMarker = "repeated guaranteed marker",
        /// Repair: a record's program in a log differed from the program of the enclosing launch.
        RelabelledRecord = "record labelled with another program",
        /// Repair: a record in a log names no trace, although the other records of its run name the replay
        /// of one.
        UntracedRecord = "record without its trace id",
    }
}

impl AnomalyKind {
    /// Returns true if the kind is a repair: no data is lost or doubtful.
    #[must_use]
    pub const fn is_repair(self) -> bool {
        matches!(
            self,
            Self::TornTimestamp
                | Self::TimestampWrap
                | Self::DuplicateGuaranteedMarker
                | Self::RelabelledRecord
                | Self::UntracedRecord
        )
    }
}

/// One anomaly with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// The kind.
    pub kind: AnomalyKind,
    /// The lane with the anomaly; `None` if the anomaly does not concern exactly one RISC.
    pub lane: Option<LaneId>,
    /// Position in the input: index of a word in the lane, line of a log, or index of a control
    /// word.
    pub position: u64,
    /// Further details as text; may be empty.
    pub detail: String,
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at ", self.kind.label())?;
        self.lane.map_or(Ok(()), |lane| write!(f, "{lane}, "))?;
        write!(f, "position {}", self.position)?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

/// Maximum number of anomalies stored with their position, per lane and kind.
pub const KEPT_PER_LANE_AND_KIND: u64 = 8;

/// All anomalies of a readout or a log: all are counted, some are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnomalyLog {
    counts: BTreeMap<(Option<LaneId>, AnomalyKind), u64>,
    kept: Vec<Anomaly>,
}

impl AnomalyLog {
    /// Counts an anomaly and stores it, unless the limit for its lane and kind is reached.
    pub fn record(
        &mut self,
        kind: AnomalyKind,
        lane: Option<LaneId>,
        position: u64,
        detail: impl FnOnce() -> String,
    ) {
        let count = self.counts.entry((lane, kind)).or_default();
        raise(count, 1);
        if *count <= KEPT_PER_LANE_AND_KIND {
            self.kept.push(Anomaly { kind, lane, position, detail: detail() });
        }
    }

    /// Increases the count of a kind by `count`, without storing positions.
    ///
    /// Call [`Self::record`] for the first anomalies, so that their positions are stored.
    pub fn count_more(&mut self, kind: AnomalyKind, lane: Option<LaneId>, count: u64) {
        if count > 0 {
            raise(self.counts.entry((lane, kind)).or_default(), count);
        }
    }

    /// Adds all anomalies of another log. The limit per lane and kind also applies to the result.
    pub fn merge(&mut self, other: Self) {
        let mut room: BTreeMap<_, u64> = BTreeMap::new();
        for (key, count) in other.counts {
            let known = self.counts.entry(key).or_default();
            room.insert(key, KEPT_PER_LANE_AND_KIND.saturating_sub(*known));
            raise(known, count);
        }
        self.kept.extend(other.kept.into_iter().filter(|anomaly| {
            let room = room.get_mut(&(anomaly.lane, anomaly.kind));
            room.is_some_and(|room| {
                let is_kept = *room > 0;
                *room = room.saturating_sub(1);
                is_kept
            })
        }));
    }

    /// Returns the log with `by` added to the position of each stored anomaly.
    #[must_use]
    pub fn moved_by(mut self, by: u64) -> Self {
        self.kept.iter_mut().for_each(|anomaly| raise(&mut anomaly.position, by));
        self
    }

    /// Returns true if there are no anomalies.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Iterates over the kinds with their counts.
    pub fn counts(&self) -> impl Iterator<Item = (AnomalyKind, u64)> + use<> {
        let mut counts: BTreeMap<AnomalyKind, u64> = BTreeMap::new();
        for (&(_, kind), &count) in &self.counts {
            raise(counts.entry(kind).or_default(), count);
        }
        counts.into_iter()
    }

    /// Returns the count of this kind.
    #[must_use]
    pub fn count(&self, kind: AnomalyKind) -> u64 {
        self.counts().find(|(counted, _)| *counted == kind).map_or(0, |(_, count)| count)
    }

    /// Returns the number of anomalies that were not repaired: data is lost or doubtful.
    #[must_use]
    pub fn anomaly_count(&self) -> u64 {
        self.counts().filter(|(kind, _)| !kind.is_repair()).map(|(_, count)| count).sum()
    }

    /// Returns the number of anomalies that were repaired.
    #[must_use]
    pub fn repair_count(&self) -> u64 {
        self.counts().filter(|(kind, _)| kind.is_repair()).map(|(_, count)| count).sum()
    }

    /// Returns the count of this kind in one lane.
    #[must_use]
    pub fn lane_count(&self, lane: Option<LaneId>, kind: AnomalyKind) -> u64 {
        self.counts.get(&(lane, kind)).copied().unwrap_or(0)
    }

    /// Returns the anomalies that were stored with their position.
    #[must_use]
    pub fn kept(&self) -> &[Anomaly] {
        &self.kept
    }
}

const fn raise(count: &mut u64, by: u64) {
    *count = count.saturating_add(by);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_anomalies_is_counted_in_full_and_kept_in_part() {
        let mut log = AnomalyLog::default();
        for position in 0..1000 {
            log.record(AnomalyKind::NotAMarker, None, position, String::new);
        }
        log.record(AnomalyKind::TornTimestamp, None, 1, String::new);
        assert_eq!((log.anomaly_count(), log.repair_count()), (1000, 1));
        assert_eq!(log.kept().len(), 9);
        let again = log.clone();
        log.merge(again);
        assert_eq!((log.anomaly_count(), log.repair_count(), log.kept().len()), (2000, 2, 10));
    }
}
