//! Anomalies and repairs: what was odd about the data, and what was done about it.
//!
//! An anomaly never stops a reader. Each kind is counted; the first of each lane are kept
//! with their place, so that memory stays bounded whatever the data holds.

use crate::lane::LaneId;
use std::collections::BTreeMap;

/// Kind of an anomaly: an oddity of the data, or its repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AnomalyKind {
    /// A word in marker position cannot be one.
    NotAMarker,
    /// A packet type that no known producer writes.
    UnknownPacketType,
    /// A record is cut off by the end of its run or lane.
    TruncatedRecord,
    /// A run header names another RISC or core than the lane it lies in.
    ForeignRun,
    /// A control word claims more than its memory can hold.
    ImplausibleControlWord,
    /// A run's words are left over from an earlier read.
    StaleRun,
    /// Words that the device says it pushed are zero.
    MissingRun,
    /// A zone ends that did not begin.
    OrphanEnd,
    /// A zone began and did not end; an end was made up.
    OpenZone,
    /// Time ran backwards without a known reason.
    BackwardTime,
    /// A line of a log cannot be read.
    MalformedLine,
    /// A zone section of a kernel holds something else than zone texts.
    MalformedZoneText,
    /// A core could not be read at all.
    UnreadableCore,
    /// Two places in the source share an id.
    ZoneIdCollision,
    /// A marker that looks like padding: its id hashes to 0.
    AmbiguousPadding,
    /// A log's RISC that no lane can be given to; its lines are left out.
    UnknownRisc,
    /// A log's value where its kind of record has none; the rest of the line is kept.
    StrayValue,
    /// A run of a replay that the host did not report, so that nobody knows its trace.
    UnknownReplay,
    /// An op that the host announced and no chip ran, or the other way round.
    UnjoinedOp,
    /// An op that the host announced once and a chip ran several times outside of traces.
    RepeatedOp,
    /// Repair: a marker's high word did not fit its low word.
    TornTimestamp,
    /// Repair: the clock's 44 bits wrapped.
    TimestampWrap,
    /// Repair: a guaranteed slot repeated after a push within the launch.
    DuplicateGuaranteedMarker,
    /// Repair: a log gives a record another program than the launch that encloses it.
    RelabelledRecord,
}

impl AnomalyKind {
    /// Returns true if the data was repaired, so that nothing is lost or doubtful.
    #[must_use]
    pub const fn is_repair(self) -> bool {
        matches!(
            self,
            Self::TornTimestamp
                | Self::TimestampWrap
                | Self::DuplicateGuaranteedMarker
                | Self::RelabelledRecord
        )
    }

    /// A few words for tables.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::NotAMarker => "not a marker",
            Self::UnknownPacketType => "unknown packet type",
            Self::TruncatedRecord => "truncated record",
            Self::ForeignRun => "run of another RISC",
            Self::ImplausibleControlWord => "implausible control word",
            Self::StaleRun => "stale run",
            Self::MissingRun => "missing run",
            Self::OrphanEnd => "end without start",
            Self::OpenZone => "start without end",
            Self::BackwardTime => "backward time",
            Self::MalformedLine => "malformed line",
            Self::MalformedZoneText => "malformed zone text",
            Self::UnreadableCore => "unreadable core",
            Self::ZoneIdCollision => "zone id collision",
            Self::AmbiguousPadding => "marker that looks like padding",
            Self::UnknownRisc => "unknown RISC",
            Self::StrayValue => "value where none belongs",
            Self::UnknownReplay => "replay that the host did not report",
            Self::UnjoinedOp => "op that only the host or only the chip knows",
            Self::RepeatedOp => "op launched again without a message of the host",
            Self::TornTimestamp => "torn timestamp",
            Self::TimestampWrap => "timestamp wrap",
            Self::DuplicateGuaranteedMarker => "repeated guaranteed marker",
            Self::RelabelledRecord => "record labelled with another program",
        }
    }
}

/// One odd thing and where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// What.
    pub kind: AnomalyKind,
    /// In whose data; `None` if it belongs to no single RISC.
    pub lane: Option<LaneId>,
    /// Word of the lane, line of the log, or index of the control word.
    pub position: u64,
    /// Words, text or numbers with details; may be empty.
    pub detail: String,
}

/// Anomalies kept with their place, per lane and kind.
pub const KEPT_PER_LANE_AND_KIND: u64 = 8;

/// All anomalies of a readout or a log: counted in full, kept in part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnomalyLog {
    counts: BTreeMap<AnomalyKind, u64>,
    lane_counts: BTreeMap<(Option<LaneId>, AnomalyKind), u64>,
    kept: Vec<Anomaly>,
}

impl AnomalyLog {
    /// Counts an anomaly and keeps it, unless its lane has had enough of the kind.
    pub fn record(
        &mut self,
        kind: AnomalyKind,
        lane: Option<LaneId>,
        position: u64,
        detail: impl FnOnce() -> String,
    ) {
        raise(self.counts.entry(kind).or_default(), 1);
        let of_lane = self.lane_counts.entry((lane, kind)).or_default();
        raise(of_lane, 1);
        if *of_lane <= KEPT_PER_LANE_AND_KIND {
            self.kept.push(Anomaly { kind, lane, position, detail: detail() });
        }
    }

    /// Counts `count` more of a kind without keeping any, where the first were recorded.
    pub fn count_more(&mut self, kind: AnomalyKind, lane: Option<LaneId>, count: u64) {
        if count > 0 {
            raise(self.counts.entry(kind).or_default(), count);
            raise(self.lane_counts.entry((lane, kind)).or_default(), count);
        }
    }

    /// Takes over everything that another log holds, of each lane and kind as much as is kept.
    pub fn merge(&mut self, other: Self) {
        for (kind, count) in other.counts {
            raise(self.counts.entry(kind).or_default(), count);
        }
        let mut room: BTreeMap<_, u64> = BTreeMap::new();
        for (key, count) in other.lane_counts {
            let of_lane = self.lane_counts.entry(key).or_default();
            room.insert(key, KEPT_PER_LANE_AND_KIND.saturating_sub(*of_lane));
            raise(of_lane, count);
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

    /// Returns true if there are no anomalies.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// How often each kind occurred.
    pub fn counts(&self) -> impl Iterator<Item = (AnomalyKind, u64)> {
        self.counts.iter().map(|(&kind, &count)| (kind, count))
    }

    /// How often this kind occurred.
    #[must_use]
    pub fn count(&self, kind: AnomalyKind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or(0)
    }

    /// Anomalies that left data lost or doubtful.
    #[must_use]
    pub fn anomaly_count(&self) -> u64 {
        self.counts().filter(|(kind, _)| !kind.is_repair()).map(|(_, count)| count).sum()
    }

    /// Anomalies whose data was made whole.
    #[must_use]
    pub fn repair_count(&self) -> u64 {
        self.counts().filter(|(kind, _)| kind.is_repair()).map(|(_, count)| count).sum()
    }

    /// How often this kind occurred in one lane.
    #[must_use]
    pub fn lane_count(&self, lane: Option<LaneId>, kind: AnomalyKind) -> u64 {
        self.lane_counts.get(&(lane, kind)).copied().unwrap_or(0)
    }

    /// The anomalies that were kept with their place.
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
