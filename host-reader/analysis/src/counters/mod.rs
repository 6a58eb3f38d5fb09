//! Hardware counters: names, groups and passes, and the metrics computed from them.
//!
//! A reading of a hardware counter is either 16 bytes of data with the id 9090
//! ([`wire::ZoneId::PERF_COUNTER`]), or a line of a device log whose metadata names the counter.
//!
//! | question | item |
//! |---|---|
//! | which counter does a record contain, and what did the counter count? | [`Sample`] |
//! | which counters are there? | [`counter_name`], [`current_name`], [`CounterGroup`] |
//! | how many runs are needed to read all counters? | [`PassPlan`], [`merge_passes`] |
//! | how are counters stored in a device log? | [`describe_counters`] |
//! | what did the cores of a launch count? | [`counters_of`], [`OpCounters`] |
//! | which metrics are there, and what does each not show? | [`metrics`], [`Metric`], [`Limit`] |
//!
//! A metric whose counters were not read has no value; it is not 0. If the hardware always returns
//! the same value for a counter, the counter is not [observable](Sample::is_observable).
//!
//! # Compatibility
//! TT-Metal's release 0.81.1: `perf_counters/types.h` (names and numbers), `perf_counters.hpp` (the
//! record), `tt_llk_perf/metrics.py` (metrics, in the order of their columns).

#![cfg_attr(
    not(test),
    warn(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "numbers come from outside"
    )
)]

mod describe;
mod formula;
mod group;
mod limit;
mod merge;
mod metrics;
mod names;
mod op;
mod ports;
mod reader;
mod sample;
mod table;

pub use describe::describe_counters;
pub use group::{CounterArch, CounterGroup, PassPlan, UnknownGroup};
pub use limit::Limit;
pub use merge::{PassMerge, merge_passes};
pub use metrics::{Metric, is_l1_client_title, metrics};
pub use names::{counter_name, current_name};
pub use op::{CounterScale, GridMean, MetricDoubt, MetricStatistics, MetricSummary, OpCounters};
pub use sample::{Sample, SampleProblem};
pub(crate) use table::is_data;
pub use table::{
    CounterCounts, CounterSample, CounterTotal, LaunchCounters, ProblemCounts, counters_of,
};
