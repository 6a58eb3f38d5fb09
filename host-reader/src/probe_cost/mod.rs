//! What probes themselves cost on a chip: measured with a calibration kernel, subtracted
//! from the durations of zones on request.
//!
//! A calibration kernel records, several times each and with nothing else in them:
//!
//! | zone | holds | tells |
//! |---|---|---|
//! | [`EMPTY`] | nothing | what a zone shows that measures nothing |
//! | [`NESTED`] | one empty zone | what a zone adds to the zone around it |
//! | [`DATA`], [`WIDE_DATA`], [`EVENT`] | one record | what the record adds to the zone around it |
//!
//! Figures are medians, by chip and RISC, in cycles. Running that kernel is the job of
//! whoever can launch kernels; here its records are read. How a run's figures are used is
//! said at [`ProbeCosts::subtract`].

mod subtract;

pub use subtract::Subtraction;

use crate::{
    analysis::risc_label,
    readout::Readout,
    timeline::{LaneTimeline, Timeline},
};
use std::collections::BTreeMap;
use wire::Risc;

/// The calibration kernel's zone with nothing in it.
pub const EMPTY: &str = "PROBE-COST-EMPTY";
/// Its zone with one empty zone in it.
pub const NESTED: &str = "PROBE-COST-NESTED";
/// Its zone with 8 bytes of data in it.
pub const DATA: &str = "PROBE-COST-DATA";
/// Its zone with 16 bytes of data in it.
pub const WIDE_DATA: &str = "PROBE-COST-WIDE-DATA";
/// Its zone with an event in it.
pub const EVENT: &str = "PROBE-COST-EVENT";

/// What each probe costs on one RISC of one chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct ProbeCost {
    /// Cycles that a zone shows which measures nothing.
    pub empty_zone_cycles: u64,
    /// Cycles that a zone adds to the zone around it.
    pub nested_zone_cycles: u64,
    /// Cycles that 8 bytes of data add to the zone around them.
    pub data_cycles: u64,
    /// Cycles that 16 bytes of data add to the zone around them.
    pub wide_data_cycles: u64,
    /// Cycles that an event adds to the zone around it.
    pub event_cycles: u64,
}

/// What probes cost on the RISCs of a mesh.
///
/// ```
/// use host_reader::probe_cost::{ProbeCost, ProbeCosts};
/// use wire::Risc;
/// let mut costs = ProbeCosts::default();
/// let brisc = ProbeCost { empty_zone_cycles: 15, ..ProbeCost::default() };
/// costs.insert(0, Risc::Brisc, brisc);
/// assert_eq!(costs.of(0, Risc::Brisc), Some(brisc));
/// assert_eq!(costs.of(0, Risc::Ncrisc), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeCosts {
    by_risc: BTreeMap<(u32, Risc), ProbeCost>,
}

/// The figures of one RISC, for tables and documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ProbeCostRow {
    /// Number of the chip.
    pub chip_id: u32,
    /// The RISC.
    #[serde(serialize_with = "risc_label")]
    pub risc: Risc,
    /// Its figures.
    #[serde(flatten)]
    pub cost: ProbeCost,
}

/// No figure can be taken from a readout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected whole zones {EMPTY}, {NESTED}, {DATA}, {WIDE_DATA} and {EVENT} of a calibration \
     kernel on some RISC, found none in {lane_count} lanes; run the kernel and read the mesh"
)]
pub struct NotCalibrated {
    /// Lanes that there are.
    pub lane_count: usize,
}

impl ProbeCosts {
    /// Takes the figures from what a calibration kernel recorded; RISCs on which one of its
    /// zones is missing are left out.
    ///
    /// # Errors
    /// If no RISC has them all.
    pub fn measure(readout: &Readout, timeline: &Timeline) -> Result<Self, NotCalibrated> {
        let mut durations = BTreeMap::<(u32, Risc), Durations>::new();
        for lane in timeline.lanes() {
            let of_risc = durations.entry((lane.id.chip_id, lane.id.risc)).or_default();
            of_risc.enter(lane, readout);
        }
        let measured = durations.into_iter();
        let by_risc: BTreeMap<_, _> =
            measured.filter_map(|(risc, durations)| Some((risc, durations.cost()?))).collect();
        let lane_count = timeline.lanes().count();
        if by_risc.is_empty() { Err(NotCalibrated { lane_count }) } else { Ok(Self { by_risc }) }
    }

    /// Whether there are no figures.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_risc.is_empty()
    }

    /// The figures of a RISC.
    #[must_use]
    pub fn of(&self, chip_id: u32, risc: Risc) -> Option<ProbeCost> {
        self.by_risc.get(&(chip_id, risc)).copied()
    }

    /// Sets the figures of a RISC.
    pub fn insert(&mut self, chip_id: u32, risc: Risc, cost: ProbeCost) {
        self.by_risc.insert((chip_id, risc), cost);
    }

    /// Takes over another calibration's figures, instead of own ones of the same RISCs.
    pub fn merge(&mut self, later: Self) {
        self.by_risc.extend(later.by_risc);
    }

    /// The figures, by chip and RISC.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = ProbeCostRow> + '_ {
        let rows = self.by_risc.iter();
        rows.map(|(&(chip_id, risc), &cost)| ProbeCostRow { chip_id, risc, cost })
    }
}

/// Durations of the calibration kernel's zones, in the order of [`NAMES`].
#[derive(Default)]
struct Durations([Vec<u64>; NAMES.len()]);

const NAMES: [&str; 5] = [EMPTY, NESTED, DATA, WIDE_DATA, EVENT];

impl Durations {
    fn enter(&mut self, lane: &LaneTimeline, readout: &Readout) {
        for zone in lane.zones.iter().filter(|zone| !zone.flags.is_open()) {
            let name = readout.zones.name(zone.zone);
            if let Some(index) = NAMES.iter().position(|known| *known == name) {
                self.0[index].push(zone.duration_cycles());
            }
        }
    }

    /// The figures, if every zone is there.
    fn cost(self) -> Option<ProbeCost> {
        let medians: Option<Vec<u64>> = self.0.into_iter().map(median).collect();
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

/// The upper of the two in the middle.
fn median(mut durations: Vec<u64>) -> Option<u64> {
    durations.sort_unstable();
    durations.get(durations.len() / 2).copied()
}

#[cfg(test)]
mod tests;
