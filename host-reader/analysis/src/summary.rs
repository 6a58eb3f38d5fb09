//! Summary of a report's completeness: kept records, lost records, anomalies and repairs.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "indices and counts are those of lists in memory"
)]

use super::{FullBuffer, FullBuffers, ZoneStatistics};
use reader::{
    anomaly::{AnomalyKind, AnomalyLog},
    lane::{Lane, LaneId},
    ledger::{LossCause, LossTotals, UncountedSource},
    mesh::Noc0Coord,
    readout::Readout,
    role::RoleTable,
};
use std::collections::{BTreeMap, BTreeSet};
use wire::PacketKind;

/// Number of records in the report by kind. A zone counts as one record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct KeptCounts {
    /// Zones with a recorded start and end.
    pub zones: u64,
    /// Zones whose end was not recorded; they have an artificial end.
    pub open_zones: u64,
    /// Zone ends that belong to no zone and are not shown.
    pub orphan_ends: u64,
    /// Timestamped data records, of 8 or 16 bytes.
    pub data: u64,
    /// Events.
    pub events: u64,
    /// Totals of sum zones.
    pub sums: u64,
}

/// Missing records with one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LossRow {
    /// Short name of the cause.
    pub cause: &'static str,
    /// Number of missing records by kind.
    #[serde(flatten)]
    pub records: LossTotals,
    /// True if the device was configured to leave the records out.
    pub is_intended: bool,
}

/// Number of occurrences of one kind of anomaly or repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct KindCount {
    /// Short name of the kind.
    pub kind: &'static str,
    /// Number of occurrences.
    pub count: u64,
}

/// Counts of read, kept and lost records, anomalies and repairs.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Summary {
    /// Number of chips with records.
    pub chip_count: u64,
    /// Number of cores with records.
    pub core_count: u64,
    /// Number of lanes with records.
    pub lane_count: u64,
    /// Number of launches, summed over lanes.
    pub run_count: u64,
    /// Number of records of all kinds.
    pub record_count: u64,
    /// Number of kept records by kind.
    pub kept: KeptCounts,
    /// Missing records by cause; empty if no records are known to be missing.
    pub lost: Vec<LossRow>,
    /// Total number of missing records, over all kinds and causes.
    pub lost_record_count: u64,
    /// Labels of the record sources that do not count the records they lose.
    pub uncounted: Vec<&'static str>,
    /// True if any source of the records, such as a file, is damaged or was never finished.
    pub is_source_damaged: bool,
    /// Anomalies that lost data or made data doubtful.
    pub anomalies: Vec<KindCount>,
    /// Total number of anomalies.
    pub anomaly_count: u64,
    /// Anomalies whose data was repaired.
    pub repairs: Vec<KindCount>,
    /// Total number of repairs.
    pub repair_count: u64,
    /// Number of finished runs whose records are not yet pushed to DRAM.
    pub pending_run_count: u64,
    /// Number of launches that had no kernel and that the firmware discarded.
    pub discarded_launch_count: u64,
    /// RISCs with runs whose zones fill a buffer, if the log does not count its losses.
    pub full_buffers: Vec<FullBuffer>,
    /// Number of NoC events whose kinds and bytes are unknown, because they have the layout of no known
    /// version of TT-Metal, or of several.
    pub unread_noc_event_count: u64,
    /// Number of words read from the device; 0 for logs.
    pub words_read: u64,
}

/// Counts of lanes and their records, collected lane by lane.
#[derive(Debug, Default)]
pub(super) struct LaneCounts {
    cores: BTreeSet<(u32, Noc0Coord)>,
    lanes: u64,
    runs: u64,
    records: u64,
    data: u64,
    events: u64,
    sums: u64,
    full_buffers: FullBuffers,
}

impl LaneCounts {
    /// Adds a lane.
    pub(super) fn add_lane(&mut self, lane: &Lane, roles: &RoleTable) {
        self.full_buffers.add_lane(lane, roles);
        let LaneId { chip_id, core, .. } = lane.id;
        self.cores.insert((chip_id, core));
        self.lanes += 1;
        self.runs += lane.runs.len() as u64;
        self.records += lane.record_count() as u64;
        for head in &lane.heads {
            match head.kind() {
                PacketKind::ZoneStart | PacketKind::ZoneEnd => {}
                PacketKind::ZoneTotal => self.sums += 1,
                PacketKind::TimestampedData | PacketKind::TimestampedData16B => self.data += 1,
                PacketKind::TimestampedEvent => self.events += 1,
            }
        }
    }

    /// Adds the counts of other lanes.
    pub(super) fn merge(&mut self, other: Self) {
        let Self { cores, lanes, runs, records, data, events, sums, full_buffers } = other;
        self.full_buffers.merge(full_buffers);
        self.cores.extend(cores);
        self.lanes += lanes;
        self.runs += runs;
        self.records += records;
        self.data += data;
        self.events += events;
        self.sums += sums;
    }
}

impl Summary {
    /// Summarises a readout from the counts of its lanes, the statistics of its zones, and the
    /// anomalies found while pairing the zones.
    pub(super) fn new(
        readout: &Readout,
        lanes: &LaneCounts,
        zones: &[ZoneStatistics],
        pairing: &AnomalyLog,
    ) -> Self {
        let (anomalies, repairs) = kind_counts(readout, pairing);
        Self {
            chip_count: readout.devices.len() as u64,
            core_count: lanes.cores.len() as u64,
            lane_count: lanes.lanes,
            run_count: lanes.runs,
            record_count: lanes.records,
            kept: kept_counts(lanes, zones, pairing),
            lost: LossCause::ALL.into_iter().filter_map(|cause| loss_row(readout, cause)).collect(),
            lost_record_count: readout.losses.unintended_total().record_count(),
            uncounted: readout.losses.uncounted().map(UncountedSource::label).collect(),
            is_source_damaged: readout.losses.uncounted().any(UncountedSource::is_failure),
            anomaly_count: anomalies.iter().map(|kind| kind.count).sum(),
            anomalies,
            repair_count: repairs.iter().map(|kind| kind.count).sum(),
            repairs,
            pending_run_count: readout.devices.iter().map(|device| device.pending_runs).sum(),
            discarded_launch_count: readout.devices.iter().map(|d| d.discarded_launches).sum(),
            full_buffers: lanes.full_buffers.found(&readout.losses),
            unread_noc_event_count: 0,
            words_read: readout.words_read,
        }
    }

    /// Returns true if there are no unintended losses, no damaged sources, and no unrepaired
    /// anomalies.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let is_whole = self.lost.iter().all(|row| row.is_intended) && !self.is_source_damaged;
        is_whole && self.anomaly_count == 0
    }
}

fn kept_counts(lanes: &LaneCounts, zones: &[ZoneStatistics], pairing: &AnomalyLog) -> KeptCounts {
    KeptCounts {
        zones: zones.iter().map(|zone| zone.cycles.count).sum(),
        open_zones: zones.iter().map(|zone| zone.open_zone_count).sum(),
        orphan_ends: pairing.count(AnomalyKind::OrphanEnd),
        data: lanes.data,
        events: lanes.events,
        sums: lanes.sums,
    }
}

fn loss_row(readout: &Readout, cause: LossCause) -> Option<LossRow> {
    let totals = readout.losses.by_cause(cause);
    (totals != LossTotals::default()).then_some(LossRow {
        cause: cause.label(),
        records: totals,
        is_intended: cause.is_intended(),
    })
}

/// Returns the anomalies and the repairs, both from reading and from pairing.
fn kind_counts(readout: &Readout, pairing: &AnomalyLog) -> (Vec<KindCount>, Vec<KindCount>) {
    let mut counts: BTreeMap<AnomalyKind, u64> = BTreeMap::new();
    for (kind, count) in readout.anomalies.counts().chain(pairing.counts()) {
        *counts.entry(kind).or_default() += count;
    }
    let (repairs, anomalies): (Vec<_>, Vec<_>) =
        counts.into_iter().partition(|(kind, _)| kind.is_repair());
    (to_rows(anomalies), to_rows(repairs))
}

fn to_rows(counts: Vec<(AnomalyKind, u64)>) -> Vec<KindCount> {
    counts.into_iter().map(|(kind, count)| KindCount { kind: kind.label(), count }).collect()
}
