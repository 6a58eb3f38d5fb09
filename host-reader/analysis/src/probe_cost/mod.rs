//! Cost of the probes on a chip, measured with a calibration kernel. On request, the cost is
//! subtracted from the durations of zones.
//!
//! The calibration kernel records each of these zones several times:
//!
//! | zone | contains | measures |
//! |---|---|---|
//! | [`EMPTY`] | nothing | duration of an empty zone |
//! | [`NESTED`] | one empty zone | cycles that a zone adds to the zone around it |
//! | [`DATA`], [`WIDE_DATA`], [`EVENT`] | one record | cycles that the record adds to the zone around it |
//!
//! Costs are medians by chip and RISC, in cycles. This module only reads the records of the
//! calibration kernel; it does not launch the kernel. [`subtract_probe_costs`] subtracts the costs
//! from a run.

#![expect(clippy::indexing_slicing, reason = "the index is that of a kind")]

mod subtract;

pub use reader::probe_cost::{ProbeCost, ProbeCostRow, ProbeCosts};
pub use subtract::{SubtractedProbeCost, subtract_probe_costs};

use reader::{
    readout::Readout,
    timeline::{LaneTimeline, Timeline},
};
use std::collections::BTreeMap;
use wire::Risc;

/// Name of the calibration kernel's empty zone.
pub const EMPTY: &str = "PROBE-COST-EMPTY";
/// Name of the calibration kernel's zone that contains one empty zone.
pub const NESTED: &str = "PROBE-COST-NESTED";
/// Name of the calibration kernel's zone that contains 8 bytes of data.
pub const DATA: &str = "PROBE-COST-DATA";
/// Name of the calibration kernel's zone that contains 16 bytes of data.
pub const WIDE_DATA: &str = "PROBE-COST-WIDE-DATA";
/// Name of the calibration kernel's zone that contains an event.
pub const EVENT: &str = "PROBE-COST-EVENT";

/// Error for a readout that lacks zones of the calibration kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected whole zones {EMPTY}, {NESTED}, {DATA}, {WIDE_DATA} and {EVENT} of a calibration \
     kernel on some RISC, found none in {lane_count} lanes; run the kernel and read the mesh"
)]
pub struct NotCalibrated {
    /// Number of lanes in the readout.
    pub lane_count: usize,
}

/// Computes the costs from the records of a calibration kernel. RISCs that lack any of the kernel's
/// zones are left out.
///
/// # Errors
/// Returns an error if no RISC has all of the kernel's zones.
pub fn measure_probe_costs(
    readout: &Readout,
    timeline: &Timeline,
) -> Result<ProbeCosts, NotCalibrated> {
    let mut durations = BTreeMap::<(u32, Risc), ProbeDurations>::new();
    for lane in timeline.lanes() {
        let risc_durations = durations.entry((lane.id.chip_id, lane.id.risc)).or_default();
        risc_durations.add(lane, readout);
    }
    let measured = durations.into_iter();
    let mut costs = ProbeCosts::default();
    for ((chip_id, risc), durations) in measured {
        if let Some(cost) = durations.cost() {
            costs.insert(chip_id, risc, cost);
        }
    }
    let lane_count = timeline.lanes().count();
    if costs.is_empty() { Err(NotCalibrated { lane_count }) } else { Ok(costs) }
}

/// Durations of the calibration kernel's zones, in the order of [`NAMES`].
#[derive(Default)]
struct ProbeDurations([Vec<u64>; NAMES.len()]);

const NAMES: [&str; 5] = [EMPTY, NESTED, DATA, WIDE_DATA, EVENT];

impl ProbeDurations {
    fn add(&mut self, lane: &LaneTimeline, readout: &Readout) {
        for zone in lane.zones.iter().filter(|zone| !zone.flags.is_open()) {
            let name = readout.zones.name(zone.zone);
            if let Some(index) = NAMES.iter().position(|known| *known == name) {
                self.0[index].push(zone.duration_cycles());
            }
        }
    }

    /// Returns the costs; `None` if a zone has no durations.
    fn cost(self) -> Option<ProbeCost> {
        let medians: Option<Vec<u64>> = self.0.into_iter().map(upper_median).collect();
        let [empty, nested, data, wide_data, event] =
            <[u64; NAMES.len()]>::try_from(medians?).ok()?;
        Some(ProbeCost {
            empty_zone_cycles: empty,
            nested_zone_cycles: nested.saturating_sub(empty),
            data_cycles: data.saturating_sub(empty),
            wide_data_cycles: wide_data.saturating_sub(empty),
            event_cycles: event.saturating_sub(empty),
        })
    }
}

/// Returns the median; for an even number of values, the larger of the two middle values.
fn upper_median(mut durations: Vec<u64>) -> Option<u64> {
    durations.sort_unstable();
    durations.get(durations.len() / 2).copied()
}

#[cfg(test)]
mod tests;
