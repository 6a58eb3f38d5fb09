//! Shares of an op's cycles that hardware counters measured: how much engines are in use, and what they
//! wait for.

use analysis::counters::OpCounters;

/// Share of the cycles of an op, in percent: the metric's name and the mean over the cores.
pub(crate) type CounterShare = (&'static str, f64);

/// Metric of the matrix engine's use.
pub(crate) const FPU: &str = "FPU Util";

/// Returns the metrics of an op that are shares of its cycles. Metrics in doubt are left out: a counter of
/// more cycles than there were measures nothing.
pub(crate) fn counter_shares(counters: &OpCounters) -> Vec<CounterShare> {
    let known = counters.summaries(false).filter(|of| of.doubt.is_none());
    let shares = known.filter(|of| of.metric.is_share_of_cycles());
    shares.filter_map(|of| Some((of.metric.label(), of.statistics?.mean))).collect()
}

/// Returns the use of the matrix engine in percent; `None` if it was not measured.
pub(crate) fn fpu_percent(shares: &[CounterShare]) -> Option<f64> {
    shares.iter().find(|(label, _)| *label == FPU).map(|(_, percent)| *percent)
}
