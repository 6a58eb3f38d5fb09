//! Cores that start after the first core of their op.

use reports::perf::OpReport;

/// Advice about cores that start late.
pub(crate) const LATE_STARTS: &str = "send fewer runtime arguments and smaller kernels to each core, or multicast what is the same for all \
     cores (common runtime arguments), so that the last core starts earlier";

/// Returns how much later than the first core the last core of a row's op starts, and the op's time, both
/// in nanoseconds; `None` if either is unknown, or if the start would not lie within the op.
pub(crate) fn start_skew_of(row: &OpReport) -> Option<(f64, f64)> {
    let ns = row.device_time_us.filter(|us| *us > 0.0)? * 1000.0;
    row.recorded.start_skew_ns.filter(|skew_ns| *skew_ns <= ns).map(|skew_ns| (skew_ns, ns))
}
