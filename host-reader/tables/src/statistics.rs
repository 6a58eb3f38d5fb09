//! `sum_statistics` and `wait_statistics`: statistics of sum zones, and of waits by object.

use crate::{Column, Table};
use analysis::{SumStatistics, WaitStatistics};

/// Table of statistics of sum zones, which record only their total cycles per launch.
pub struct SumStatisticsTable;

/// Table of statistics of waits for circular buffers, semaphores and NoCs.
pub struct WaitStatisticsTable;

type SumColumn = Column<SumStatisticsTable>;
type WaitColumn = Column<WaitStatisticsTable>;

const NO_SUM: &str = "no total";
const NO_NS: &str = "no total, or unknown clock";
const OF_SUMS: &str = "some waits were recorded only as sums";
const OF_SUMS_NS: &str = "unknown clock, or some waits were recorded only as sums";

fn sums_figure(sum: &SumStatistics, figure: impl Into<Option<u64>>) -> Option<u64> {
    figure.into().filter(|_| sum.cycles.count > 0)
}

impl Table for SumStatisticsTable {
    type Row<'a> = &'a SumStatistics;
    const NAME: &'static str = "sum_statistics";
    const ROW: &'static str =
        "all totals of one sum zone on one RISC of one chip, with one total per launch";
    const PARTITIONS: &'static [&'static str] = &[];
    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        SumColumn::small("chip_id", super::CHIP_ID, |sum| sum.chip_id).titled("chip"),
        SumColumn::text("risc", super::RISC, |sum| sum.risc.label().into()).titled("RISC"),
        SumColumn::text("name", "name of the sum zone; its id if unknown", |sum| (&*sum.name).into()).titled("sum zone"),
        SumColumn::small("marker_id", "id of the sum zone in its markers", |sum| sum.marker_id).in_summary(),
        SumColumn::number("count", "number of totals", |sum| sum.cycles.count).titled("count"),
        SumColumn::optional_number("total_cycles", "sum of the totals", NO_SUM, |sum| sums_figure(sum, sum.cycles.total_cycles)).in_summary(),
        SumColumn::optional_number("min_cycles", "smallest total", NO_SUM, |sum| sums_figure(sum, sum.cycles.min_cycles)),
        SumColumn::optional_number("median_cycles", "median total", NO_SUM, |sum| sums_figure(sum, sum.cycles.median_cycles)),
        SumColumn::optional_number("p99_cycles", "99th percentile of the totals", NO_SUM, |sum| sums_figure(sum, sum.cycles.p99_cycles)),
        SumColumn::optional_number("max_cycles", "largest total", NO_SUM, |sum| sums_figure(sum, sum.cycles.max_cycles)),
        SumColumn::optional_number("total_ns", "sum of the totals", NO_NS, |sum| sums_figure(sum, sum.cycles.total_ns)).titled("total"),
        SumColumn::optional_number("min_ns", "smallest total", NO_NS, |sum| sums_figure(sum, sum.cycles.min_ns)).titled("min"),
        SumColumn::optional_number("median_ns", "median total", NO_NS, |sum| sums_figure(sum, sum.cycles.median_ns)).titled("median"),
        SumColumn::optional_number("p99_ns", "99th percentile of the totals", NO_NS, |sum| sums_figure(sum, sum.cycles.p99_ns)).titled("p99"),
        SumColumn::optional_number("max_ns", "largest total", NO_NS, |sum| sums_figure(sum, sum.cycles.max_ns)).titled("max"),
    ];
}

impl Table for WaitStatisticsTable {
    type Row<'a> = &'a WaitStatistics;
    const NAME: &'static str = "wait_statistics";
    const ROW: &'static str = "all waits of one RISC of one chip for one object";
    const PARTITIONS: &'static [&'static str] = &[];
    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        WaitColumn::small("chip_id", super::CHIP_ID, |wait| wait.chip_id).titled("chip"),
        WaitColumn::text("risc", super::RISC, |wait| wait.risc.label().into()).titled("RISC"),
        WaitColumn::text("kind", super::WAIT_KIND, |wait| wait.kind.name().unwrap_or_default().into()).titled("kind"),
        WaitColumn::text("object", "circular buffer, semaphore or NoC, with its key", |wait| WaitStatistics::object_label(wait.kind, wait.key).into()).titled("object"),
        WaitColumn::small("key", super::WAIT_KEY, |wait| wait.key).in_summary(),
        WaitColumn::number("count", "number of waits; from TT-Metal's zones, also waits that did not block", |wait| wait.count).titled("count").bounded(),
        WaitColumn::number("core_count", "cores that waited", |wait| wait.core_count).titled("cores"),
        WaitColumn::number("total_cycles", "sum of the waits", |wait| wait.total_cycles).in_summary(),
        WaitColumn::optional_number("median_cycles", "median wait", OF_SUMS, |wait| wait.median_cycles),
        WaitColumn::optional_number("max_cycles", "longest wait", OF_SUMS, |wait| wait.max_cycles).in_summary(),
        WaitColumn::optional_number("total_ns", "sum of the waits", "unknown clock", |wait| wait.total_ns).titled("total").bounded(),
        WaitColumn::optional_number("median_ns", "median wait", OF_SUMS_NS, |wait| wait.median_ns).titled("median"),
        WaitColumn::optional_number("max_ns", "longest wait", OF_SUMS_NS, |wait| wait.max_ns).titled("max"),
        WaitColumn::flag("is_lower_bound", "whether the true values may be higher", |wait| wait.is_lower_bound).in_summary(),
    ];
}
