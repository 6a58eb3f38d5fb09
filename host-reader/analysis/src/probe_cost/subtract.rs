//! Subtraction of the cost of probes from a timeline.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "indices and counts are those of lists in memory"
)]

use super::{ProbeCost, ProbeCostRow, ProbeCosts};
use reader::{
    lane::Lane,
    readout::Readout,
    timeline::{LaneTimeline, NO_RUN, Timeline, Zones},
};
use wire::PacketKind;

/// Probe costs subtracted from zones by [`subtract_probe_costs`].
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct SubtractedProbeCost {
    /// Costs by chip and RISC.
    pub costs: Vec<ProbeCostRow>,
    /// Number of zones that were shorter than the cost of their probes, and are now 0 cycles long.
    pub shorter_than_cost_count: u64,
    /// Number of zones on RISCs without measured costs. They are unchanged.
    pub uncalibrated_zone_count: u64,
}

/// Shortens every zone by the cost of its own probes and of the probes inside it.
///
/// The start of a zone stays unchanged, so an inner zone may end after its outer zone in the
/// result.
///
/// The cost of a zone is [`ProbeCost::empty_zone_cycles`], plus the cost of all records and of all
/// zones inside it, at any depth. Three things are not corrected. Probes that found no space for a
/// record are unknown, so their cost stays in the durations. Sum zones do not record how often they
/// ran, so their cost also stays in the durations. Zones with an artificial end are unchanged.
///
/// # Cost
/// O((z + n) log n) for z zones, and n data records and events per run.
#[must_use]
pub fn subtract_probe_costs(
    costs: &ProbeCosts,
    readout: &Readout,
    timeline: &Timeline,
) -> (Timeline, SubtractedProbeCost) {
    let mut timeline = timeline.clone();
    let mut subtracted =
        SubtractedProbeCost { costs: costs.rows().collect(), ..SubtractedProbeCost::default() };
    let lanes = timeline.devices.iter_mut().flat_map(|device| &mut device.lanes);
    for (paired, lane) in lanes.zip(readout.lanes()) {
        match costs.cost(lane.id.chip_id, lane.id.risc) {
            Some(cost) => subtracted.shorter_than_cost_count += shorten(paired, lane, cost),
            None => subtracted.uncalibrated_zone_count += paired.whole_zone_count(),
        }
    }
    (timeline, subtracted)
}

/// Subtracts the cost of probes from each zone of a lane. Returns the number of zones that were
/// shorter than this cost.
fn shorten(paired: &mut LaneTimeline, lane: &Lane, cost: ProbeCost) -> u64 {
    let inside = zones_inside(&paired.zones);
    let records = RecordCosts::new(lane, cost);
    let mut shorter_count = 0;
    for (index, inside) in inside.into_iter().enumerate() {
        let zones = &mut paired.zones;
        if zones.flags[index].is_open() {
            continue;
        }
        let (start, end) = (zones.starts[index], zones.ends[index]);
        let own = cost.empty_zone_cycles;
        let zones_cost = inside.saturating_mul(cost.nested_zone_cycles);
        let records_cost = records.between(zones.runs[index], start, end);
        let total = own.saturating_add(zones_cost).saturating_add(records_cost);
        let duration = end.saturating_sub(start);
        shorter_count += u64::from(duration < total);
        zones.ends[index] = start + duration.saturating_sub(total);
    }
    shorter_count
}

/// Returns for each zone the number of zones inside it, at any depth.
fn zones_inside(zones: &Zones) -> Vec<u64> {
    let mut inside = vec![0; zones.len()];
    let mut around: Vec<usize> = Vec::new();
    for (index, &depth) in zones.depths.iter().enumerate() {
        close(&mut around, &mut inside, usize::from(depth));
        around.push(index);
    }
    close(&mut around, &mut inside, 0);
    inside
}

/// Closes the open zones at `depth` and deeper. Each parent's count increases by 1 for the closed
/// zone, plus the count of the closed zone.
fn close(around: &mut Vec<usize>, inside: &mut [u64], depth: usize) {
    while around.len() > depth {
        if let (Some(child), Some(&parent)) = (around.pop(), around.last()) {
            inside[parent] += inside[child] + 1;
        }
    }
}

/// Costs of a lane's data and events, as prefix sums by time.
struct RecordCosts {
    /// For each run, sorted times with the cost of all records up to each time. The first element
    /// is for records before any run.
    runs: Vec<Vec<(u64, u64)>>,
}

impl RecordCosts {
    fn new(lane: &Lane, cost: ProbeCost) -> Self {
        let first = lane.runs.first().map_or(lane.record_count(), |run| run.first_record);
        let ranges = (0..lane.runs.len()).map(|run| lane.run_records(run));
        let runs = std::iter::once(0..first).chain(ranges).map(|records| {
            let costs = records.filter_map(|record| {
                let cycles = match lane.heads.get(record)?.kind() {
                    PacketKind::TimestampedData => cost.data_cycles,
                    PacketKind::TimestampedData16B => cost.wide_data_cycles,
                    PacketKind::TimestampedEvent => cost.event_cycles,
                    PacketKind::ZoneStart | PacketKind::ZoneEnd | PacketKind::ZoneTotal => {
                        return None;
                    }
                };
                Some((*lane.times.get(record)?, cycles))
            });
            summed(costs.collect())
        });
        Self { runs: runs.collect() }
    }

    /// Returns the cost of a run's records from `start` to `end`.
    fn between(&self, run: u32, start: u64, end: u64) -> u64 {
        let index = if run == NO_RUN { 0 } else { run as usize + 1 };
        let records = self.runs.get(index).map_or(&[][..], Vec::as_slice);
        let before = |count: usize| count.checked_sub(1).map_or(0, |last| records[last].1);
        let until = before(records.partition_point(|&(time, _)| time <= end));
        until - before(records.partition_point(|&(time, _)| time < start))
    }
}

fn summed(mut costs: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    costs.sort_unstable_by_key(|&(time, _)| time);
    let mut total: u64 = 0;
    for (_, cycles) in &mut costs {
        total = total.saturating_add(*cycles);
        *cycles = total;
    }
    costs
}
