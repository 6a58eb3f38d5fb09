//! Statistics of zones, sum zones and waits, and the time of the profiler itself.

use super::{
    arguments::{ZoneKind, ZonesArguments},
    loaded::{Part, RunFigures},
    ops::filter_of,
    table::{Column, Table, cells, joined},
};
use crate::failure::Failure;
use host_reader::{
    analysis::{CycleStatistics, OwnZone, WaitStatistics, ZoneStatistics},
    export::TraceFilter,
    lane::LaneId,
    mesh::Noc0Coord,
};
use serde_json::Value;
use wire::Risc;

const NS: &str = "no whole zone, or unknown clock";

/// Identity of a zone, then the figures of `statistics` in nanoseconds.
const STATISTICS: [Column; 8] = [
    Column::new("name"),
    Column::new("marker_id"),
    Column::new("count"),
    Column::or_null("total_ns", NS),
    Column::or_null("min_ns", NS),
    Column::or_null("median_ns", NS),
    Column::or_null("p99_ns", NS),
    Column::or_null("max_ns", NS),
];

const ZONES: [Column; 14] = joined(&[
    &[Column::new("chip_id"), Column::or_null("risc", "all RISCs together")],
    &STATISTICS,
    &[
        Column::or_null("total_cycles", "no whole zone"),
        Column::or_null("self_total_cycles", "no whole zone"),
        Column::new("open_zone_count"),
        Column::or_null("source", "not known"),
    ],
]);

const SUMS: [Column; 11] = joined(&[
    &[Column::new("chip_id"), Column::new("risc")],
    &STATISTICS,
    &[Column::or_null("total_cycles", "no sum")],
]);

const OF_SUMS: &str = "only sums hold some of them";

const WAITS: [Column; 13] = [
    Column::new("chip_id"),
    Column::new("risc"),
    Column::new("kind"),
    Column::new("object"),
    Column::new("key"),
    Column::new("count"),
    Column::new("core_count"),
    Column::or_null("total_ns", "unknown clock"),
    Column::or_null("median_ns", "unknown clock, or only sums hold some of them"),
    Column::or_null("max_ns", "unknown clock, or only sums hold some of them"),
    Column::new("total_cycles"),
    Column::or_null("max_cycles", OF_SUMS),
    Column::new("is_lower_bound"),
];

const PROFILER_TIME: [Column; 6] = [
    Column::new("chip_id"),
    Column::or_null("risc", "all RISCs together"),
    Column::new("kind"),
    Column::new("count"),
    Column::new("total_cycles"),
    Column::new("max_cycles"),
];

/// The table of a run; empty, with a reason, for an ops CSV.
///
/// # Errors
/// If the filter or the column to sort by cannot be understood.
pub(super) fn table<'a>(part: Part<'a>, asked: &ZonesArguments) -> Result<Table<'a>, Failure> {
    let filter = filter_of(asked.filter.as_deref(), &["device", "risc", "zone"])?;
    let table = match (part, asked.kind) {
        (Part::OpsCsv(_), _) => Table::new(&ZONES, [], |(): &()| Vec::new())
            .with_note("reason", "an ops CSV has no zones; load the device log or capture"),
        (Part::Run(run), ZoneKind::Zones) => zones(run, &filter),
        (Part::Run(run), ZoneKind::Sums) => sums(run, &filter),
        (Part::Run(run), ZoneKind::Waits) => waits(run, &filter),
        (Part::Run(run), ZoneKind::ProfilerTime) => profiler_time(run, &filter),
    };
    table.sorted(asked.sort.as_deref(), asked.order)
}

/// Returns true if zones of a chip and RISC are wanted; the filter has no terms of cores.
fn selects(filter: &TraceFilter, chip_id: u32, risc: Option<Risc>, name: &str) -> bool {
    let lane = |risc| LaneId { chip_id, core: Noc0Coord { x: 0, y: 0 }, risc };
    let is_lane = match risc {
        Some(risc) => filter.selects_lane(lane(risc)),
        None => filter.selects_device(chip_id),
    };
    is_lane && filter.selects_zone(name)
}

fn zones<'a>(run: &'a RunFigures, filter: &TraceFilter) -> Table<'a> {
    let is_wanted = |zone: &&ZoneStatistics| selects(filter, zone.chip_id, zone.risc, &zone.name);
    let rows: Vec<_> = run.report.zones.iter().filter(is_wanted).collect();
    Table::new(&ZONES, rows, |zone| {
        let is_known = !zone.source_file.is_empty();
        let source = is_known.then(|| match zone.source_line {
            0 => zone.source_file.clone(),
            line => format!("{}:{line}", zone.source_file),
        });
        let mut row = cells![zone.chip_id, zone.risc.map(Risc::label), zone.name, zone.marker_id];
        row.extend(statistics(&zone.cycles));
        let is_measured = zone.cycles.count > 0;
        row.extend(cells![
            is_measured.then_some(zone.self_total_cycles),
            zone.open_zone_count,
            source
        ]);
        row
    })
}

fn sums<'a>(run: &'a RunFigures, filter: &TraceFilter) -> Table<'a> {
    let is_wanted = |sum: &&host_reader::analysis::SumStatistics| {
        selects(filter, sum.chip_id, Some(sum.risc), &sum.name)
    };
    let rows: Vec<_> = run.report.sums.iter().filter(is_wanted).collect();
    Table::new(&SUMS, rows, |sum| {
        let mut row = cells![sum.chip_id, sum.risc.label(), sum.name, sum.marker_id];
        row.extend(statistics(&sum.cycles));
        row
    })
}

fn waits<'a>(run: &'a RunFigures, filter: &TraceFilter) -> Table<'a> {
    let is_wanted = |wait: &&WaitStatistics| {
        let name = wait.kind.zone_name().unwrap_or_default();
        selects(filter, wait.chip_id, Some(wait.risc), name)
    };
    let rows: Vec<_> = run.report.waits.iter().filter(is_wanted).collect();
    Table::new(&WAITS, rows, |wait| {
        cells![
            wait.chip_id,
            wait.risc.label(),
            wait.kind.name(),
            WaitStatistics::object_label(wait.kind, wait.key),
            wait.key,
            wait.count,
            wait.core_count,
            wait.total_ns,
            wait.median_ns,
            wait.max_ns,
            wait.total_cycles,
            wait.max_cycles,
            wait.is_lower_bound,
        ]
    })
}

fn profiler_time<'a>(run: &'a RunFigures, filter: &TraceFilter) -> Table<'a> {
    let rows: Vec<_> = OwnZone::ALL
        .into_iter()
        .flat_map(|kind| {
            let zones = run
                .report
                .zones
                .iter()
                .filter(move |zone| zone.name == kind.zone_name() && zone.cycles.count > 0);
            zones.map(move |zone| (kind, zone))
        })
        .filter(|(_, zone)| selects(filter, zone.chip_id, zone.risc, &zone.name))
        .collect();
    Table::new(&PROFILER_TIME, rows, |(kind, zone)| {
        let cycles = &zone.cycles;
        let risc = zone.risc.map(Risc::label);
        cells![
            zone.chip_id,
            risc,
            kind.label(),
            cycles.count,
            cycles.total_cycles,
            cycles.max_cycles
        ]
    })
}

/// Count, five figures in nanoseconds, and all cycles; figures of nothing are not known.
fn statistics(cycles: &CycleStatistics) -> Vec<Value> {
    let is_measured = cycles.count > 0;
    let ns = |figure: Option<u64>| figure.filter(|_| is_measured);
    cells![
        cycles.count,
        ns(cycles.total_ns),
        ns(cycles.min_ns),
        ns(cycles.median_ns),
        ns(cycles.p99_ns),
        ns(cycles.max_ns),
        is_measured.then_some(cycles.total_cycles),
    ]
}
