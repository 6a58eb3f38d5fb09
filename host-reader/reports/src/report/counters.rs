//! Columns for the hardware counters of ops.
//!
//! # Compatibility
//! Rows with timer id 9090 of `profile_log_device.csv`. They have the format of TT-Metal's release
//! 0.81.1, and are shown as in its `tt_llk_perf` and `perf_counter_analysis.py`.

use super::{device_op::Cells, value::float_text};
pub(super) use analysis::counters::{CounterArch, CounterScale, OpCounters, is_l1_client_title};
use analysis::counters::{MetricSummary, Sample};
use reader::mesh::Noc0Coord;
use wire::{Risc, ZoneId};

/// Timer id of counter rows.
pub(super) const COUNTER_ID: u16 = ZoneId::PERF_COUNTER.0;

/// Adds the counter in a row of the log, under the counter's name in the row's metadata. Returns
/// `false` if the metadata contains no name.
pub(super) fn add_row(
    counters: &mut OpCounters,
    core: Noc0Coord,
    risc: Risc,
    metadata: &[u8],
) -> bool {
    let sample = Sample::from_text(&String::from_utf8_lossy(metadata));
    let is_counter = sample.is_some();
    sample.into_iter().for_each(|sample| counters.add(core, risc, sample));
    is_counter
}

/// Adds the cells of each metric whose counters were read by at least one core.
pub(super) fn add_metric_cells(counters: &OpCounters, cells: &mut Cells, scale: CounterScale) {
    for summary in counters.summaries(scale.arch == Some(CounterArch::Blackhole)) {
        for (statistic, number) in MetricSummary::STATISTICS.into_iter().zip(summary.values()) {
            cells.insert(summary.metric.title(statistic).into(), float_text(number));
        }
    }
}

/// Adds cells for the means over the whole grid of cores. Cores that did not run the op count as 0.
pub(super) fn add_grid_cells(counters: &OpCounters, cells: &mut Cells, scale: CounterScale) {
    for mean in counters.grid_means(scale) {
        cells.insert(mean.title.into(), float_text(mean.percent));
    }
}
