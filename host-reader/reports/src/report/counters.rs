//! Columns for the hardware counters of ops.
//!
//! # Compatibility
//! Rows with timer id 9090 of `profile_log_device.csv`, in the format of TT-Metal's release 0.81.1.
//! The columns are the same as in this release's `tt_llk_perf` and `perf_counter_analysis.py`.

use super::{device_op::Cells, value::float_text};
pub(super) use analysis::counters::{CounterArch, CounterScale, OpCounters, is_l1_client_title};
use analysis::counters::{MetricDoubt, MetricSummary};
use std::collections::BTreeSet;
use wire::ZoneId;

/// Timer id of counter rows.
pub(super) const COUNTER_ID: u16 = ZoneId::PERF_COUNTER.0;

/// Adds the cells of each metric whose counters were read by at least one core.
pub(super) fn add_metric_cells(counters: &OpCounters, cells: &mut Cells, scale: CounterScale) {
    for summary in counters.summaries(scale.arch == Some(CounterArch::Blackhole)) {
        for (statistic, number) in
            MetricSummary::STATISTICS.into_iter().zip(summary.clamped.values())
        {
            cells.insert(summary.metric.title(statistic).into(), float_text(number));
        }
    }
}

/// As [`add_metric_cells`], but without values of cores on which the counters did not count while the launch's
/// kernels computed. Returns the reasons for which values are left out.
pub(super) fn add_known_metric_cells(
    counters: &OpCounters,
    cells: &mut Cells,
    scale: CounterScale,
) -> BTreeSet<MetricDoubt> {
    let mut reasons = BTreeSet::new();
    for summary in counters.summaries(scale.arch == Some(CounterArch::Blackhole)) {
        let reason = summary.doubt.filter(|doubt| doubt.is_of_time());
        reasons.extend(reason);
        let known = if reason.is_some() { summary.statistics } else { Some(summary.clamped) };
        let Some(known) = known else { continue };
        for (statistic, number) in MetricSummary::STATISTICS.into_iter().zip(known.values()) {
            cells.insert(summary.metric.title(statistic).into(), float_text(number));
        }
    }
    reasons
}

/// For each metric, adds a cell with its mean in percent over all cores of the compute grid. A core
/// that did not run the op counts as 0.
pub(super) fn add_grid_cells(counters: &OpCounters, cells: &mut Cells, scale: CounterScale) {
    for mean in counters.grid_means(scale) {
        cells.insert(mean.title.into(), float_text(mean.percent));
    }
}
