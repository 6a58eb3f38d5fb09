//! `zone_statistics`: durations of zones by chip, RISC and name.

use crate::{Column, Table};
use analysis::ZoneStatistics;

/// Table of statistics of zones.
pub struct ZoneStatisticsTable;

/// Returns `figure`; `None` if no zone is complete. `figure` must be computed only from complete
/// zones.
fn whole_zones_figure<V>(zone: &ZoneStatistics, figure: V) -> Option<V> {
    (zone.cycles.count > 0).then_some(figure)
}

fn clock_figure(zone: &ZoneStatistics, figure: Option<u64>) -> Option<u64> {
    whole_zones_figure(zone, figure).flatten()
}

const NO_ZONE: &str = "no complete zone";
const NO_NS: &str = "no complete zone, or unknown clock";

type ZoneColumn = Column<ZoneStatisticsTable>;

impl Table for ZoneStatisticsTable {
    type Row<'a> = &'a ZoneStatistics;
    const NAME: &'static str = "zone_statistics";
    const ROW: &'static str = "all zones with one name on one RISC of one chip";
    const PARTITIONS: &'static [&'static str] = &[];
    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        ZoneColumn::small("chip_id", super::CHIP_ID, |zone| zone.chip_id).titled("chip"),
        ZoneColumn::optional_text("risc", super::RISC, "all RISCs together", |zone| Some(zone.risc.label().into())).titled("RISC"),
        ZoneColumn::text("name", "name of the zone; its id if unknown", |zone| (&*zone.name).into()).titled("zone"),
        ZoneColumn::small("marker_id", "id of the zone in its markers", |zone| zone.marker_id).in_summary(),
        ZoneColumn::optional_text("file", super::FILE, super::UNKNOWN, |zone| Some(&*zone.source_file).filter(|file| !file.is_empty()).map(Into::into)).in_summary(),
        ZoneColumn::optional_small("line", super::LINE, super::UNKNOWN, |zone| Some(zone.source_line).filter(|&line| line > 0)).in_summary(),
        ZoneColumn::number("count", "complete zones", |zone| zone.cycles.count).titled("count"),
        ZoneColumn::optional_number("total_cycles", "sum of the durations", NO_ZONE, |zone| whole_zones_figure(zone, zone.cycles.total_cycles)).in_summary(),
        ZoneColumn::optional_number("min_cycles", "shortest duration", NO_ZONE, |zone| whole_zones_figure(zone, zone.cycles.min_cycles)),
        ZoneColumn::optional_number("median_cycles", "median duration", NO_ZONE, |zone| whole_zones_figure(zone, zone.cycles.median_cycles)),
        ZoneColumn::optional_number("p99_cycles", "99th percentile of the durations", NO_ZONE, |zone| whole_zones_figure(zone, zone.cycles.p99_cycles)),
        ZoneColumn::optional_number("max_cycles", "longest duration", NO_ZONE, |zone| whole_zones_figure(zone, zone.cycles.max_cycles)),
        ZoneColumn::optional_number("total_ns", "sum of the durations", NO_NS, |zone| clock_figure(zone, zone.cycles.total_ns)).titled("total"),
        ZoneColumn::optional_number("min_ns", "shortest duration", NO_NS, |zone| clock_figure(zone, zone.cycles.min_ns)).titled("min"),
        ZoneColumn::optional_number("median_ns", "median duration", NO_NS, |zone| clock_figure(zone, zone.cycles.median_ns)).titled("median"),
        ZoneColumn::optional_number("p99_ns", "99th percentile of the durations", NO_NS, |zone| clock_figure(zone, zone.cycles.p99_ns)).titled("p99"),
        ZoneColumn::optional_number("max_ns", "longest duration", NO_NS, |zone| clock_figure(zone, zone.cycles.max_ns)).titled("max"),
        ZoneColumn::optional_number("self_total_cycles", "sum of the durations without nested zones", NO_ZONE, |zone| whole_zones_figure(zone, zone.self_total_cycles)).in_summary(),
        ZoneColumn::number("open_zone_count", "zones without an end, excluded from the durations", |zone| zone.open_zone_count).in_summary(),
    ];
}
