//! Relation of the chips' clocks to the host's clock, as text and JSON.

use crate::numbers::grouped;
use host_reader::recording::{Recording, clocks_of};
use serde::Serialize;

/// The relation of a chip's clock to the host's clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ChipClock {
    chip_id: u32,
    /// Guaranteed maximum error of a chip's time converted to the host's clock; null if the clocks
    /// are not related.
    host_clock_bound_ns: Option<f64>,
    /// Reasons why the clocks are not related, or why their relation is doubtful.
    problems: Vec<String>,
}

/// Returns how each chip's clock relates to the host's clock; empty if the run sampled no clocks.
pub(crate) fn chip_clocks(run: &Recording) -> Vec<ChipClock> {
    let Some(clock) = run.clock.as_ref().filter(|_| run.samples.ping_count() > 0) else {
        return Vec::new();
    };
    let (clocks, _) = clocks_of(run);
    let chips = run.readout.devices.iter().map(|device| device.chip.chip_id);
    chips
        .zip(clocks)
        .map(|(chip_id, device_clock)| ChipClock {
            chip_id,
            host_clock_bound_ns: device_clock.bound_ns(),
            problems: clock
                .problems()
                .iter()
                .filter(|problem| problem.chip_id() == chip_id)
                .map(ToString::to_string)
                .collect(),
        })
        .collect()
}

impl ChipClock {
    /// Returns the relation as one sentence.
    pub(crate) fn line(&self) -> String {
        let problem = self.problems.first().map_or_else(String::new, |first| format!("; {first}"));
        let chip_id = self.chip_id;
        match self.host_clock_bound_ns {
            Some(bound) => {
                #[expect(clippy::cast_possible_truncation, reason = "saturates")]
                #[expect(clippy::cast_sign_loss, reason = "a bound is not negative")]
                let bound = grouped(bound.ceil() as u64);
                format!(
                    "Clock: times of chip {chip_id} are within {bound} ns of the host's{problem}"
                )
            }
            None => {
                format!("Clock: times of chip {chip_id} are not related to the host's{problem}")
            }
        }
    }
}
