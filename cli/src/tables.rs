//! Tables for people: ops, zones, sums, losses, anomalies.

use crate::{
    args::{OpOrder, ShowArgs},
    largest::Largest,
    layout::{table, write_columns, write_table},
    losses::write_losses,
    numbers::{bounded, counted, grouped, optional},
    output::Findings,
    terminal::{LONGEST_NAME, Style, printable, styled},
    unfinished::write_unfinished,
    watermark::write_fullest,
};
use host_reader::{
    analysis::{
        DataKind, DataStatistics, DoubtCounts, EventStatistics, Op, OwnZone, SubtractedProbeCost,
        Unfinished, kinds_line, nameless_line, own_time,
    },
    probe_cost::ProbeCostRow,
    tables::{
        Column, ColumnSchema, OpRow, Ops, SumStatisticsTable, Table, Value, WaitStatisticsTable,
        ZoneStatisticsTable, op_rows,
    },
};
use std::{collections::BTreeSet, io::Write};

impl Findings {
    /// Writes every table that has rows.
    pub(crate) fn write_tables(&self, show: ShowArgs, out: &mut impl Write) -> std::io::Result<()> {
        let rows = show.rows;
        self.write_ops(show.sort, rows, out)?;
        write_section::<ZoneStatisticsTable>("Zones, times in ns", &self.report.zones, rows, out)?;
        self.write_nameless(out)?;
        if let Some(subtracted) = &self.report.probe_cost {
            write_probe_cost(subtracted, rows, out)?;
        }
        write_section::<SumStatisticsTable>(
            "Sum zones, ns per launch",
            &self.report.sums,
            rows,
            out,
        )?;
        write_section::<WaitStatisticsTable>("Waits, times in ns", &self.report.waits, rows, out)?;
        write_data_and_events(&self.report.data, &self.report.events, rows, out)?;
        self.write_unread_noc_events(out)?;
        self.counters.write(&self.names, rows, out)?;
        self.write_records(rows, out)?;
        write_losses(&self.readout.losses, &self.report.summary.full_buffers, rows, out)?;
        write_fullest(&self.readout.watermarks, out)?;
        self.write_anomalies(rows, out)
    }

    /// Writes how many zones have no name, and why.
    fn write_nameless(&self, out: &mut impl Write) -> std::io::Result<()> {
        let Some(line) = nameless_line(&self.report.zones) else { return Ok(()) };
        writeln!(out, "{}", styled(&line, Style::Doubtful))
    }

    /// Writes how many NoC events could not be read, and why.
    fn write_unread_noc_events(&self, out: &mut impl Write) -> std::io::Result<()> {
        let count = self.report.summary.unread_noc_event_count;
        if count == 0 {
            return Ok(());
        }
        let line = format!(
            "{} could not be read: expected a layout of TT-Metal, found another one, or one of several, so \
             kinds and bytes are unknown; use a kprof that is newer than the TT-Metal that recorded them",
            counted(count, "NoC event", "NoC events"),
        );
        writeln!(out, "{}", styled(&line, Style::Doubtful))
    }

    fn write_records(&self, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
        let summary = &self.report.summary;
        let kept = summary.kept;
        let zones = kept.zones + kept.open_zones;
        writeln!(
            out,
            "\nKept: {}, {} data, {}, {} from {} of {}",
            counted(zones, "zone", "zones"),
            grouped(kept.data),
            counted(kept.events, "event", "events"),
            counted(kept.sums, "sum", "sums"),
            counted(summary.lane_count, "RISC", "RISCs"),
            counted(summary.core_count, "core", "cores"),
        )?;
        write_unfinished(&Unfinished::from_readout(&self.readout), rows, out)?;
        for kind in OwnZone::ALL {
            let Some(time) = own_time(&self.report.zones, kind) else { continue };
            let what = match kind {
                OwnZone::Stall => "Waits of RISCs until the host had read",
                OwnZone::SharedPush => "Pushes of several launches",
            };
            let count = counted(time.count, "time", "times");
            let (cycles, longest) = (grouped(time.cycles), grouped(time.longest_cycles));
            writeln!(out, "{what}: {count}, {cycles} cycles in total, {longest} at most")?;
        }
        if summary.pending_run_count > 0 {
            let count = counted(summary.pending_run_count, "run", "runs");
            writeln!(out, "Still in L1, to be pushed by the next launch: {count}")?;
        }
        if summary.discarded_launch_count > 0 {
            let count = counted(summary.discarded_launch_count, "launch", "launches");
            writeln!(out, "Idle launches of a core (no kernel, no records): {count}")?;
        }
        Ok(())
    }

    fn write_ops(&self, order: OpOrder, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
        let launches = &self.report.ops;
        if launches.is_empty() {
            let is_empty = self.readout.devices.is_empty();
            let why = match (self.readout.anomalies.is_empty(), is_empty) {
                (true, true) => {
                    "there are no records; record a program that launches kernels and does not fail before the \
                     first, with the profiler on (TT_METAL_DEVICE_PROFILER=1; `kprof record` sets it) and read before the program ends \
                     (ttnn.ReadDeviceProfiler, or closing the device)"
                }
                (true, false) => "no records belong to a program",
                (false, _) => "no usable record belongs to a program; see Anomalies",
            };
            return writeln!(out, "\nNo ops: {why}");
        }
        let mut columns = ShownColumns::<Ops>::default();
        // Ops without a duration sort last.
        let mut first = Largest::new(rows, |op: &Op| match order {
            OpOrder::Start => None,
            OpOrder::Time => op.kernel.map(|kernel| kernel.duration_ns),
        });
        let mut doubts = DoubtCounts::default();
        for op in launches.ops() {
            columns.add(&OpRow::new(&op, self.names.op_texts(&op)));
            doubts.add(&op);
            first.add(op);
        }
        launches.check()?;
        writeln!(out, "\n{}\n", styled("Ops, times in ns", Style::Bold))?;
        let shown = first.into_sorted();
        let table_rows = op_rows(&shown, |op| self.names.op_texts(op));
        write_columns(&columns, &table_rows, (launches.len(), rows), out)?;
        let mut lines = doubts.lines().into_iter();
        lines.try_for_each(|line| writeln!(out, "{}", styled(&line, Style::Doubtful)))
    }

    fn write_anomalies(&self, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
        let summary = &self.report.summary;
        for (title, counts) in [("Anomalies", &summary.anomalies), ("Repairs", &summary.repairs)] {
            if let Some(line) = kinds_line(title, counts) {
                writeln!(out, "\n{}", styled(&line, Style::Doubtful))?;
            }
        }
        let kept = self.readout.anomalies.kept().iter().chain(self.report.pairing.kept());
        let kept = kept.filter(|anomaly| !anomaly.kind.is_repair());
        for anomaly in kept.clone().take(rows) {
            writeln!(out, "  {}", printable(&anomaly.to_string(), LONGEST_ANOMALY))?;
        }
        let is_all = kept.clone().count() as u64 == summary.anomaly_count && kept.count() <= rows;
        match summary.anomaly_count > 0 && !is_all {
            true => writeln!(out, "  and others, counted above"),
            false => Ok(()),
        }
    }
}

/// Returns the program's id without the chip's id, as text. For a launch in a trace replay, appends
/// the ids of the trace and the replay.
pub(crate) fn program_label(run_host_id: u32, trace: Option<(u64, u64)>) -> String {
    let base = wire::RunHostId(run_host_id).base();
    match trace {
        Some((trace, replay)) => format!("{base} trace {trace}.{replay}"),
        None => base.to_string(),
    }
}

/// Writes a title and a table; writes nothing if the table is empty.
fn write_section<'a, T: Table>(
    title: &str,
    all: impl IntoIterator<Item = T::Row<'a>>,
    rows: usize,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let all: Vec<_> = all.into_iter().collect();
    if all.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}\n", styled(title, Style::Bold))?;
    write_rows::<T>(&all, rows, out)
}

/// Writes a table with those columns of its schema that have a title.
pub(crate) fn write_rows<T: Table>(
    all: &[T::Row<'_>],
    rows: usize,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let mut columns = ShownColumns::<T>::default();
    all.iter().for_each(|row| columns.add(row));
    columns.tell_apart(all);
    write_columns(&columns, all, (all.len(), rows), out)
}

/// Column with the id of a zone, which the terminal shows only if names do not tell rows apart.
const MARKER_ID: &str = "marker_id";

/// Columns that have a title, each with a flag that is true if the column is shown.
///
/// A column that is hidden when empty is shown only if at least one row has a value in that column.
struct ShownColumns<T: Table>(Vec<(&'static Column<T>, bool)>);

impl<T: Table> Default for ShownColumns<T> {
    fn default() -> Self {
        let titled = T::summary_columns().filter(|column| column.schema.title.is_some());
        Self(titled.map(|column| (column, !column.schema.is_hidden_if_empty)).collect())
    }
}

impl<T: Table> ShownColumns<T> {
    /// Also shows the ids of zones if two rows would otherwise differ by nothing that is shown.
    fn tell_apart(&mut self, rows: &[T::Row<'_>]) {
        let Some(id) = T::column(MARKER_ID).filter(|column| column.schema.title.is_none()) else {
            return;
        };
        let names: Vec<_> =
            ["chip_id", "risc", "name"].iter().filter_map(|of| T::column(of)).collect();
        let mut seen = BTreeSet::new();
        let is_twice = rows.iter().any(|row| {
            let names = names.iter().map(|column| cell(&column.schema, column.value(row), false));
            !seen.insert(names.collect::<Vec<_>>())
        });
        if is_twice {
            let place = self.0.iter().position(|(column, _)| column.schema.name == "name");
            self.0.insert(place.map_or(0, |place| place + 1), (id, true));
        }
    }

    fn add(&mut self, row: &T::Row<'_>) {
        for (column, is_shown) in self.0.iter_mut().filter(|(_, is_shown)| !is_shown) {
            *is_shown = column.value(row) != Value::Null;
        }
    }

    fn shown(&self) -> impl Iterator<Item = &'static Column<T>> {
        self.0.iter().filter(|(_, is_shown)| *is_shown).map(|(column, _)| *column)
    }
}

/// Writes a table of at most `limit` rows, and the number of remaining rows out of `row_count`.
fn write_columns<T: Table>(
    columns: &ShownColumns<T>,
    rows: &[T::Row<'_>],
    (row_count, limit): (usize, usize),
    out: &mut impl Write,
) -> std::io::Result<()> {
    let columns: Vec<_> = columns.shown().collect();
    let title = |column: &Column<T>| column.schema.title.unwrap_or("id");
    let titles: Vec<_> = columns.iter().map(|column| title(column)).collect();
    let mut table = table(&titles);
    let mut unknown: Vec<(String, Vec<&str>)> = Vec::new();
    for row in rows.iter().take(limit) {
        let may_be_more = T::column("is_lower_bound")
            .is_some_and(|column| column.value(row) == Value::Flag(true));
        let cells = columns.iter().map(|column| {
            let value = column.value(row);
            if let (Value::Null, Some(reason)) = (&value, why_null(column, row)) {
                add_title(&mut unknown, reason, title(column));
            }
            cell(&column.schema, value, may_be_more && column.schema.is_bounded)
        });
        table.add_row(cells);
    }
    write_table(&mut table, row_count, limit, out)?;
    for (reason, titles) in unknown {
        writeln!(out, "- of {}: {reason}", titles.join(", "))?;
    }
    Ok(())
}

/// Adds the title of a column to those with the same reason for `-`.
fn add_title<'a>(unknown: &mut Vec<(String, Vec<&'a str>)>, reason: String, title: &'a str) {
    match unknown.iter_mut().find(|(known, _)| *known == reason) {
        Some((_, titles)) if titles.contains(&title) => {}
        Some((_, titles)) => titles.push(title),
        None => unknown.push((reason, vec![title])),
    }
}

/// Returns why a value is missing; `None` if the row's doubt says it, which the table counts
/// separately.
fn why_null<T: Table>(column: &'static Column<T>, row: &T::Row<'_>) -> Option<String> {
    let means = column.schema.null_means?;
    let Some((others, doubt)) = means.split_once("see ") else { return Some(means.to_owned()) };
    let is_said = T::column(doubt).is_some_and(|doubt| doubt.value(row) != Value::Null);
    let others = others.trim_end_matches("or ").trim_end_matches(", ");
    let others = match others.rsplit_once(", ") {
        Some((first, last)) => format!("{first} or {last}"),
        None => others.to_owned(),
    };
    (!is_said && !others.is_empty()).then_some(others)
}

/// Returns a value as text. Ratios are rounded to two decimals.
///
/// Amounts are written with digit groups, ids of chips and programs without digit groups.
fn cell(column: &ColumnSchema, value: Value<'_>, is_lower_bound: bool) -> String {
    let is_amount = column.is_bounded
        || column.unit().is_some()
        || column.name.ends_with("count")
        || column.name == "runs";
    match value {
        Value::Null => optional(None),
        Value::Unsigned32(value) if is_amount => bounded(value.into(), is_lower_bound),
        Value::Unsigned64(value) if is_amount => bounded(value, is_lower_bound),
        Value::Unsigned32(value) => value.to_string(),
        Value::Unsigned64(value) => value.to_string(),
        Value::Signed64(value) => value.to_string(),
        Value::Real(value) => format!("{value:.2}"),
        Value::Flag(value) => value.to_string(),
        Value::Text(text) => printable(&text, LONGEST_NAME),
    }
}

/// Writes a row for each chip, RISC and id of data values and of events. All hardware counters of a
/// RISC share a row, as do all NoC events of a RISC.
fn write_data_and_events(
    data: &[DataStatistics],
    events: &[EventStatistics],
    rows: usize,
    out: &mut impl Write,
) -> std::io::Result<()> {
    write_data(data, rows, out)?;
    if !events.is_empty() {
        writeln!(out, "\n{}\n", styled("Events", Style::Bold))?;
        write_columns!(events, rows, out, |row| {
            "chip" => row.chip_id,
            "RISC" => row.risc,
            "what" => zone_label(&row.name, row.marker_id),
            "count" => grouped(row.count),
            "cores" => grouped(row.core_count),
        })?;
    }
    let has_values = data.iter().any(|row| row.kind == DataKind::Value);
    let what = match (has_values, events.is_empty()) {
        (true, true) => "value",
        (true, false) => "value and event",
        (false, false) => "event",
        (false, true) => return Ok(()),
    };
    writeln!(out, "Each {what} with its time: kprof export --format chrome")
}

fn write_data(data: &[DataStatistics], rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    if data.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}\n", styled("Data", Style::Bold))?;
    if data.iter().any(|row| row.kind == DataKind::Value) {
        write_columns!(data, rows, out, |row| {
            "chip" => row.chip_id,
            "RISC" => row.risc,
            "what" => data_label(row),
            "count" => grouped(row.count),
            "cores" => grouped(row.core_count),
            "min" => optional(row.min_value),
            "max" => optional(row.max_value),
        })?;
    } else {
        write_columns!(data, rows, out, |row| {
            "chip" => row.chip_id,
            "RISC" => row.risc,
            "what" => data_label(row),
            "count" => grouped(row.count),
            "cores" => grouped(row.core_count),
        })?;
    }
    if data.iter().any(|row| row.kind == DataKind::NocEvent) {
        writeln!(out, "Bytes by op, core, NoC and kind, and over each link: kprof noc")?;
    }
    Ok(())
}

fn data_label(row: &DataStatistics) -> String {
    match (row.kind, row.text_count) {
        (DataKind::Counter, 0) => "hardware counters".to_owned(),
        (DataKind::Counter, count) => counted(count, "hardware counter", "hardware counters"),
        (DataKind::NocEvent, _) => "transfers on the NoC".to_owned(),
        (DataKind::NocDebugging, _) => "transfers on the NoC, for debugging".to_owned(),
        _ => zone_label(&row.name, row.marker_id),
    }
}

/// Writes the probe costs that were subtracted from zones, and how many zones could not be
/// corrected.
fn write_probe_cost(
    subtracted: &SubtractedProbeCost,
    rows: usize,
    out: &mut impl Write,
) -> std::io::Result<()> {
    writeln!(out, "\nCost of probes, subtracted from these zones, in cycles\n")?;
    write_columns!(&subtracted.costs, rows, out, |ProbeCostRow { chip_id, risc, cost }| {
        "chip" => chip_id,
        "RISC" => risc,
        "the zone itself" => grouped(cost.empty_zone_cycles),
        "each zone inside" => grouped(cost.nested_zone_cycles),
        "data" => grouped(cost.data_cycles),
        "16-byte data" => grouped(cost.wide_data_cycles),
        "event" => grouped(cost.event_cycles),
    })?;
    let (shorter, others) =
        (subtracted.shorter_than_cost_count, subtracted.uncalibrated_zone_count);
    if shorter > 0 {
        let zones = counted(shorter, "zone was", "zones were");
        writeln!(out, "{zones} shorter than the cost of probes and counted as 0")?;
    }
    if others > 0 {
        let zones = counted(others, "zone is", "zones are");
        writeln!(out, "{zones} on RISCs without a measured cost and shown as recorded")?;
    }
    Ok(())
}

fn zone_label(name: &str, marker_id: u32) -> String {
    if name.is_empty() { format!("id {marker_id}") } else { printable(name, LONGEST_NAME) }
}

/// Maximum number of characters shown of an anomaly.
const LONGEST_ANOMALY: usize = 300;
