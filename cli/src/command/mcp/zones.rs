//! Statistics of zones, sum zones, waits, data and events, and the time of the profiler itself.

use super::{
    arguments::{ZoneKind, ZonesArguments},
    loaded::{Figures, RunFigures},
    ops::filter_of,
    table::{Table, table},
};
use crate::failure::Failure;
use host_reader::{
    analysis::OwnZone,
    export::TraceFilter,
    lane::LaneId,
    mesh::Noc0Coord,
    tables::{SumStatisticsTable, WaitStatisticsTable, ZoneStatisticsTable},
};
use wire::Risc;

/// Returns the table of a run. The table of an ops CSV is empty, and a note states the reason.
///
/// # Errors
/// If the filter or the column to sort by is invalid.
pub(super) fn table<'a>(
    figures: &'a Figures,
    asked: &ZonesArguments,
) -> Result<Table<'a>, Failure> {
    let filter = filter_of(asked.filter.as_deref(), &["device", "risc", "zone"])?;
    let table = match (figures, asked.kind) {
        (Figures::OpsCsv(_), _) => Table::from_rows::<ZoneStatisticsTable>(Vec::new())
            .with_note("reason", "an ops CSV has no zones; load the device log or capture"),
        (Figures::Run(run), ZoneKind::Zones) => zones(run, &filter),
        (Figures::Run(run), ZoneKind::Sums) => sums(run, &filter),
        (Figures::Run(run), ZoneKind::Waits) => waits(run, &filter),
        (Figures::Run(run), ZoneKind::Data) => data(run, &filter),
        (Figures::Run(run), ZoneKind::Events) => events(run, &filter),
        (Figures::Run(run), ZoneKind::ProfilerTime) => profiler_time(run, &filter),
    };
    table.sorted(asked.sort.as_deref(), asked.order)
}

/// Returns true if the filter selects zones of this name, chip and RISC; the filter has no core
/// terms.
fn selects(filter: &TraceFilter, chip_id: u32, risc: Risc, name: &str) -> bool {
    let lane = LaneId { chip_id, core: Noc0Coord { x: 0, y: 0 }, risc };
    filter.selects_lane(lane) && filter.selects_zone(name)
}

fn zones<'a>(run: &'a RunFigures, filter: &TraceFilter) -> Table<'a> {
    Table::from_rows::<ZoneStatisticsTable>(
        run.report
            .zones
            .iter()
            .filter(|zone| selects(filter, zone.chip_id, zone.risc, &zone.name))
            .collect(),
    )
}

fn sums<'a>(run: &'a RunFigures, filter: &TraceFilter) -> Table<'a> {
    Table::from_rows::<SumStatisticsTable>(
        run.report
            .sums
            .iter()
            .filter(|sum| selects(filter, sum.chip_id, sum.risc, &sum.name))
            .collect(),
    )
}

fn waits<'a>(run: &'a RunFigures, filter: &TraceFilter) -> Table<'a> {
    Table::from_rows::<WaitStatisticsTable>(
        run.report
            .waits
            .iter()
            .filter(|wait| {
                let name = wait.kind.zone_name().unwrap_or_default();
                selects(filter, wait.chip_id, wait.risc, name)
            })
            .collect(),
    )
}

fn data<'a>(run: &'a RunFigures, filter: &TraceFilter) -> Table<'a> {
    let rows = run.report.data.iter();
    let rows = rows.filter(|row| selects(filter, row.chip_id, row.risc, &row.name));
    table!(rows, |row| {
        "chip_id" => row.chip_id,
        "risc" => row.risc.label(),
        "kind" => row.kind,
        "marker_id" => row.marker_id,
        "name" => row.name,
        "count" => row.count,
        "core_count" => row.core_count,
        "text_count" => row.text_count,
        "min_value" or NO_VALUE => row.min_value,
        "max_value" or NO_VALUE => row.max_value,
    })
}

/// Meaning of null in the columns of the smallest and the largest value.
const NO_VALUE: &str = "a reading of a hardware counter or a transfer, whose bits are fields";

fn events<'a>(run: &'a RunFigures, filter: &TraceFilter) -> Table<'a> {
    let rows = run.report.events.iter();
    let rows = rows.filter(|row| selects(filter, row.chip_id, row.risc, &row.name));
    table!(rows, |row| {
        "chip_id" => row.chip_id,
        "risc" => row.risc.label(),
        "marker_id" => row.marker_id,
        "name" => row.name,
        "count" => row.count,
        "core_count" => row.core_count,
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
    table!(rows, |(kind, zone)| {
        let cycles = &zone.cycles;
        let risc = Some(zone.risc.label());
        "chip_id" => zone.chip_id,
        "risc" or "all RISCs together" => risc,
        "kind" => kind.label(),
        "count" => cycles.count,
        "total_cycles" => cycles.total_cycles,
        "max_cycles" => cycles.max_cycles,
    })
}
