//! The two plots of each chip: the number of running kernels, and the cumulative number of lost
//! records.

use crate::{TraceDevice, TraceNames, counters};

/// Value over time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plot {
    pub(super) name: String,
    /// Points in time order. Each point is a time in nanoseconds since the trace's origin, and a
    /// value.
    pub(super) points: Vec<(u64, f64)>,
    /// True if viewers draw the plot as steps; false if they draw lines between the points.
    pub(super) is_stepped: bool,
}

/// Returns the plots of a chip. Plots without points are left out.
pub(super) fn device_plots(device: &TraceDevice<'_>, names: &TraceNames<'_>) -> Vec<Plot> {
    let chip = device.chip.chip_id;
    let plots = [
        (
            format!("Device {chip}: kernels running"),
            counters::kernels_running(device, names).collect(),
        ),
        (format!("Device {chip}: lost records"), counters::records_lost(device)),
    ];
    plots
        .into_iter()
        .filter(|(_, points)| !points.is_empty())
        .map(|(name, points)| Plot { name, points: drawn(points), is_stepped: true })
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "a plot is drawn, not counted with")]
fn drawn(points: Vec<(u64, i64)>) -> Vec<(u64, f64)> {
    points.into_iter().map(|(time_ns, value)| (time_ns, value as f64)).collect()
}
