//! Plots: how many kernels run at once, and what was lost so far, chip by chip.

use crate::export::{TraceDevice, TraceNames};
use rayon::prelude::*;

/// A value over time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plot {
    pub(super) name: String,
    /// Nanoseconds and values, ascending.
    pub(super) points: Vec<(u64, f64)>,
    /// Drawn as steps; otherwise as a line from point to point.
    pub(super) is_stepped: bool,
}

/// The plots of a chip; those that would be empty are left out.
pub(super) fn of_device(device: &TraceDevice<'_>, names: &TraceNames<'_>) -> Vec<Plot> {
    let chip = device.chip.chip_id;
    let plots = [
        (format!("Device {chip}: kernels running"), kernel_steps(device, names)),
        (format!("Device {chip}: lost records"), loss_steps(device)),
    ];
    let plots = plots.into_iter().filter(|(_, steps)| !steps.is_empty());
    plots.map(|(name, steps)| Plot { name, points: running_sum(steps), is_stepped: true }).collect()
}

fn kernel_steps(device: &TraceDevice<'_>, names: &TraceNames<'_>) -> Vec<(u64, i64)> {
    let is_kernel: Vec<bool> = names.as_slice().iter().map(|name| name.is_kernel).collect();
    let mut steps = Vec::new();
    for lane in &device.lanes {
        let zones = &lane.zones;
        let times = zones.start_ns().iter().zip(zones.end_ns());
        for (name, (&start, &end)) in zones.names().iter().zip(times) {
            if is_kernel.get(name.index()).copied().unwrap_or(false) {
                steps.extend([(start, 1), (end, -1)]);
            }
        }
    }
    steps
}

fn loss_steps(device: &TraceDevice<'_>) -> Vec<(u64, i64)> {
    let losses = device.lanes.iter().flat_map(|lane| &lane.losses);
    let step = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    losses.map(|loss| (loss.time_ns, step(loss.totals.record_count()))).collect()
}

/// The sum after all steps of each instant.
fn running_sum(mut steps: Vec<(u64, i64)>) -> Vec<(u64, f64)> {
    steps.par_sort_unstable();
    let mut sum = 0_i64;
    let after = |instant: &[(u64, i64)]| {
        sum = instant.iter().fold(sum, |sum, &(_, step)| sum.saturating_add(step));
        #[expect(clippy::cast_precision_loss, reason = "a plot is drawn, not counted with")]
        Some((instant.first()?.0, sum as f64))
    };
    steps.chunk_by(|one, other| one.0 == other.0).filter_map(after).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_has_one_value_for_each_instant() {
        let steps = vec![(30, -1), (10, 1), (20, 1), (20, -1), (10, 1)];
        assert_eq!(running_sum(steps), [(10, 2.0), (20, 2.0), (30, 1.0)]);
    }
}
