//! Overhead of the profiler's probes (zones, data and events), by chip and RISC.
//!
//! This module neither measures nor subtracts costs. The costs are part of a readout, and the
//! analysis subtracts them.

use std::collections::BTreeMap;
use wire::Risc;

/// Cost of each kind of probe on one RISC of one chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct ProbeCost {
    /// Measured duration of an empty zone, in cycles.
    pub empty_zone_cycles: u64,
    /// Cycles that a zone adds to its enclosing zone.
    pub nested_zone_cycles: u64,
    /// Cycles that 8 bytes of data add to the enclosing zone.
    pub data_cycles: u64,
    /// Cycles that 16 bytes of data add to the enclosing zone.
    pub wide_data_cycles: u64,
    /// Cycles that an event adds to the enclosing zone.
    pub event_cycles: u64,
}

/// Cost of probes on the RISCs of a mesh.
///
/// ```
/// use reader::probe_cost::{ProbeCost, ProbeCosts};
/// use wire::Risc;
/// let mut costs = ProbeCosts::default();
/// let brisc = ProbeCost { empty_zone_cycles: 15, ..ProbeCost::default() };
/// costs.insert(0, Risc::Brisc, brisc);
/// assert_eq!(costs.cost(0, Risc::Brisc), Some(brisc));
/// assert_eq!(costs.cost(0, Risc::Ncrisc), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeCosts {
    by_risc: BTreeMap<(u32, Risc), ProbeCost>,
}

/// The costs of one RISC, for tables and documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ProbeCostRow {
    /// Number of the chip.
    pub chip_id: u32,
    /// The RISC.
    #[serde(serialize_with = "risc_label")]
    pub risc: Risc,
    /// The costs.
    #[serde(flatten)]
    pub cost: ProbeCost,
}

impl ProbeCosts {
    /// Returns true if there are no costs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_risc.is_empty()
    }

    /// Returns the costs of a RISC.
    #[must_use]
    pub fn cost(&self, chip_id: u32, risc: Risc) -> Option<ProbeCost> {
        self.by_risc.get(&(chip_id, risc)).copied()
    }

    /// Sets the costs of a RISC.
    pub fn insert(&mut self, chip_id: u32, risc: Risc, cost: ProbeCost) {
        self.by_risc.insert((chip_id, risc), cost);
    }

    /// Adds the costs of a later calibration. If a RISC already has costs, the later costs replace
    /// them.
    pub fn merge(&mut self, later: Self) {
        self.by_risc.extend(later.by_risc);
    }

    /// Iterates over the costs, by chip and RISC.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = ProbeCostRow> + '_ {
        let rows = self.by_risc.iter();
        rows.map(|(&(chip_id, risc), &cost)| ProbeCostRow { chip_id, risc, cost })
    }
}

/// Serializes a RISC as its label. This function is needed because `wire` does not depend on serde.
///
/// # Errors
/// Returns the serializer's errors.
pub fn risc_label<S: serde::Serializer>(risc: &Risc, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(risc.label())
}
