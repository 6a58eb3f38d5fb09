//! The macros of hardware counters.

/// Starts to count groups of hardware counters anew: bits of [`wire::perf_counter`], which are
/// those of TT-Metal's `TT_METAL_PROFILE_PERF_COUNTERS`.
///
/// ```
/// use kernel_profiler::{read_perf_counters, start_perf_counters, stop_perf_counters};
/// use kernel_profiler::counter_group::{FPU, INSTRUCTIONS};
/// start_perf_counters!(FPU | INSTRUCTIONS);
/// // ... what is to be counted ...
/// stop_perf_counters!(FPU | INSTRUCTIONS);
/// read_perf_counters!(FPU | INSTRUCTIONS);
/// ```
///
/// A tile has one set of counters for all of its RISCs: where the firmware counts launches, kernels
/// leave it to that. Of several banks of L1 the lowest is counted.
///
/// # Cost
/// 4 stores to registers for each group; nothing without the feature `perf-counters`, and natively.
///
/// # Compatibility
/// `StartPerfCounters`, which TT-Metal carries out on TRISC 1 alone. `RecordPerfCounters` is the
/// same.
#[macro_export]
macro_rules! start_perf_counters {
    ($groups:expr $(,)?) => {
        $crate::__private::start_perf_counters(|| $groups)
    };
}

/// Stops groups of hardware counters: from here on they keep what they have counted.
///
/// # Cost
/// A store to a register for each group; nothing without the feature `perf-counters`.
///
/// # Compatibility
/// `StopPerfCounters`, which TT-Metal carries out on BRISC alone.
#[macro_export]
macro_rules! stop_perf_counters {
    ($groups:expr $(,)?) => {
        $crate::__private::stop_perf_counters(|| $groups)
    };
}

/// Records each counter of some groups, 16 bytes under the id 9090. A group that was never started
/// reads as counted over no cycles.
///
/// # Cost
/// 6 words of L1 for each counter, of which a group has 3 to 59; nothing without the feature
/// `perf-counters`.
///
/// # Compatibility
/// `ReadPerfCounters`, which TT-Metal carries out on BRISC alone.
#[macro_export]
macro_rules! read_perf_counters {
    ($groups:expr $(,)?) => {
        $crate::__private::read_perf_counters(|| $groups)
    };
}
