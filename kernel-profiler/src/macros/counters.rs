//! The macros for hardware counters.

/// Resets and starts groups of hardware counters, given as bits of [`wire::perf_counter`].
///
/// The bits are the same as in TT-Metal's `TT_METAL_PROFILE_PERF_COUNTERS`.
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
/// All RISCs of a tile share one set of counters, so kernels must not use these macros if the
/// firmware itself starts the counters for each launch. If several groups of L1 are given, the one
/// with the lowest bit is counted.
///
/// # Cost
/// 4 stores to registers per group; no cost natively or without the feature `perf-counters`.
///
/// # Compatibility
/// `StartPerfCounters`, which TT-Metal executes on TRISC 1 only. Its `RecordPerfCounters` does the
/// same as `StartPerfCounters`.
#[macro_export]
macro_rules! start_perf_counters {
    ($groups:expr $(,)?) => {
        $crate::__private::start_perf_counters(|| $groups)
    };
}

/// Stops groups of hardware counters, which then keep their values.
///
/// # Cost
/// A store to a register per group; no cost without the feature `perf-counters`.
///
/// # Compatibility
/// `StopPerfCounters`, which TT-Metal executes on BRISC only.
#[macro_export]
macro_rules! stop_perf_counters {
    ($groups:expr $(,)?) => {
        $crate::__private::stop_perf_counters(|| $groups)
    };
}

/// Records each counter of some groups as 16 bytes of data with the id 9090. A group that was never
/// started reads as 0 cycles.
///
/// # Cost
/// 6 words of L1 per counter; a group has 3 to 59 counters. No cost without the feature
/// `perf-counters`.
///
/// # Compatibility
/// `ReadPerfCounters`, which TT-Metal executes on BRISC only.
#[macro_export]
macro_rules! read_perf_counters {
    ($groups:expr $(,)?) => {
        $crate::__private::read_perf_counters(|| $groups)
    };
}
