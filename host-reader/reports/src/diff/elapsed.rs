//! Time of an iteration together with the gaps before its ops, in two recordings.

use super::{
    change::Certainty,
    measured::{DeviceOps, IterationTime},
    same_work::{UncomparedIterations, doubt},
    statistics::welch,
};
use crate::perf::Spread;
use std::sync::Arc;

/// Time of an iteration on one device, with the gaps before its ops, in both recordings.
///
/// The first iteration is left out: the gap before it is not that of a loop, and it may compile.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Elapsed {
    /// Device in A.
    pub place: Arc<str>,
    /// Times in A, in ns.
    pub a_ns: Spread,
    /// Times in B, in ns.
    pub b_ns: Spread,
    /// Number of ops in an iteration of A.
    pub a_op_count: usize,
    /// Number of ops in an iteration of B.
    pub b_op_count: usize,
    /// Mean time of the gaps in an iteration of A, in ns: part of `a_ns`.
    pub a_gaps_ns: f64,
    /// Mean time of the gaps in an iteration of B, in ns: part of `b_ns`.
    pub b_gaps_ns: f64,
    /// Geometric mean of B divided by the geometric mean of A. Above 1, B takes longer.
    pub ratio: f64,
    /// Clock of the device in MHz; `None` if unknown.
    pub clock_mhz: Option<f64>,
    /// Certainty of the change.
    pub certainty: Certainty,
}

impl Elapsed {
    /// Compares the iterations of a device.
    ///
    /// # Errors
    /// If a side has no iterations with known durations and gaps, or if those of A do not do the work of those
    /// of B.
    pub(super) fn new(
        a: &DeviceOps,
        b: &DeviceOps,
        confidence: f64,
    ) -> Result<Self, UncomparedIterations> {
        if let Some(doubt) = doubt(a, b) {
            let [a_ns, b_ns] = [a, b].map(whole_times).map(|times| {
                let count = times.len() as f64;
                (count > 0.0).then(|| times.iter().sum::<f64>() / count)
            });
            return Err(UncomparedIterations { place: a.place.clone(), a_ns, b_ns, doubt });
        }
        let [wholes_a, wholes_b] = [a, b].map(whole_times);
        let [logs_a, logs_b] = [&wholes_a, &wholes_b]
            .map(|wholes| wholes.iter().map(|ns| ns.ln()).collect::<Vec<f64>>());
        let found = welch(&logs_a, &logs_b, confidence);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let difference = found.map_or_else(|| mean(&logs_b) - mean(&logs_a), |of| of.difference);
        let gaps = |times: &[IterationTime]| {
            mean(&times.iter().map(|of| of.gaps_ns).collect::<Vec<f64>>())
        };
        let mut slots = a.launches.iter();
        let op_count = |ops: &DeviceOps| ops.loop_steps.as_ref().map_or(0, Vec::len);
        Ok(Self {
            place: a.place.clone(),
            a_op_count: op_count(a),
            b_op_count: op_count(b),
            a_ns: Spread::from_values(wholes_a),
            b_ns: Spread::from_values(wholes_b),
            a_gaps_ns: gaps(&a.iteration_times),
            b_gaps_ns: gaps(&b.iteration_times),
            ratio: difference.exp(),
            clock_mhz: slots.find_map(|slot| slot.op.clock_mhz),
            certainty: match found {
                None => Certainty::SingleRepetition,
                Some(found) if found.p_value < 1.0 - confidence => Certainty::Significant,
                Some(_) => Certainty::NotSignificant,
            },
        })
    }

    /// Returns by how many percent B takes longer than A; negative if it takes less time.
    #[must_use]
    pub fn percent(&self) -> f64 {
        (self.ratio - 1.0) * 100.0
    }
}

/// Returns the times of the iterations of a device, in ns.
fn whole_times(ops: &DeviceOps) -> Vec<f64> {
    ops.iteration_times.iter().map(|of| of.whole_ns).collect()
}
