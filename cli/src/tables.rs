//! Tables for people: ops, zones, sums, losses, oddities.

use crate::{
    args::{OpOrder, ShowArgs},
    op_names::OpNames,
    terminal::{LONGEST_NAME, Style, printable, styled, width},
    watermark::write_fullest,
};
use comfy_table::{CellAlignment, ColumnConstraint, Table, presets};
use host_reader::{
    analysis::{
        CycleStatistics, DataKind, DataStatistics, Doubt, KindCount, Op, Report, Span,
        SubtractedProbeCost, SumStatistics, ZoneStatistics,
    },
    anomaly::Anomaly,
    lane::LaneId,
    ledger::{LossCause, LossLedger, LossTotals, UncountedSource},
    probe_cost::ProbeCostRow,
    read::Watermarks,
};
use std::{collections::BTreeMap, io::Write};

/// Data shown in the tables.
pub(crate) struct Tables<'a> {
    pub(crate) report: &'a Report,
    pub(crate) names: &'a OpNames,
    pub(crate) losses: &'a LossLedger,
    pub(crate) watermarks: &'a Watermarks,
    pub(crate) anomalies: Vec<&'a Anomaly>,
}

impl Tables<'_> {
    /// Writes every table that has rows.
    pub(crate) fn write(&self, show: ShowArgs, out: &mut impl Write) -> std::io::Result<()> {
        let rows = if show.rows == 0 { usize::MAX } else { show.rows };
        self.write_ops(show.sort, rows, out)?;
        write_zones(&self.report.zones, rows, out)?;
        if let Some(subtracted) = &self.report.probe_cost {
            write_probe_cost(subtracted, rows, out)?;
        }
        write_sums(&self.report.sums, rows, out)?;
        write_data(&self.report.data, rows, out)?;
        self.write_records(out)?;
        self.write_losses(rows, out)?;
        write_fullest(self.watermarks, out)?;
        self.write_anomalies(rows, out)
    }

    fn write_records(&self, out: &mut impl Write) -> std::io::Result<()> {
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
        if summary.pending_run_count > 0 {
            let count = counted(summary.pending_run_count, "run", "runs");
            writeln!(out, "Still in L1, pushed by the next launch: {count}")?;
        }
        if summary.discarded_launch_count > 0 {
            let count = counted(summary.discarded_launch_count, "launch", "launches");
            writeln!(out, "Ran no kernel and left nothing: {count} of a core")?;
        }
        Ok(())
    }

    fn write_losses(&self, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
        let style = match (self.losses.is_empty(), self.losses.uncounted().next()) {
            (true, None) => Style::Good,
            (true, Some(_)) => Style::Doubtful,
            (false, _) => Style::Bad,
        };
        writeln!(out, "{}", styled(&lost_line(self.losses), style))?;
        if self.losses.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        let groups = loss_groups(self.losses);
        let mut table = table(&[
            "cause", "chip", "RISC", "programs", "cores", "runs", "zones", "data", "events",
            "sums", "markers",
        ]);
        for (key, group) in groups.iter().take(rows) {
            table.add_row(group.cells(key));
        }
        write_table(&mut table, groups.len(), rows, out)?;
        self.write_remedies(out)
    }

    /// Says what helps against each loss; not every one is helped by reading more often.
    fn write_remedies(&self, out: &mut impl Write) -> std::io::Result<()> {
        let mut causes: Vec<_> = self.losses.entries().map(|(key, _)| key.cause).collect();
        causes.sort_unstable();
        causes.dedup();
        for (cause, remedy) in causes.into_iter().filter_map(|cause| Some((cause, remedy(cause)?)))
        {
            writeln!(out, "{}: {remedy}", cause.label())?;
        }
        Ok(())
    }

    fn write_ops(&self, order: OpOrder, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
        let mut ops: Vec<&Op> = self.report.ops.iter().collect();
        if order == OpOrder::Time {
            // What has no duration comes last.
            ops.sort_by_key(|op| std::cmp::Reverse(op.kernel.map(|kernel| kernel.duration_ns)));
        }
        let names: Vec<_> = ops.iter().map(|op| self.names.of(op)).collect();
        write_ops(&ops, &names, rows, out)
    }

    fn write_anomalies(&self, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
        let summary = &self.report.summary;
        for (title, counts) in [("Anomalies", &summary.anomalies), ("Repairs", &summary.repairs)] {
            if !counts.is_empty() {
                let times = |kind: &KindCount| match kind.count {
                    1 => kind.kind.to_owned(),
                    count => format!("{} × {}", grouped(count), kind.kind),
                };
                let list: Vec<_> = counts.iter().map(times).collect();
                let line = format!("{title}: {}", list.join(", "));
                writeln!(out, "\n{}", styled(&line, Style::Doubtful))?;
            }
        }
        for anomaly in self.anomalies.iter().take(rows) {
            writeln!(out, "  {}", anomaly_line(anomaly))?;
        }
        Ok(())
    }
}

/// Hint at the option that helps against a loss, if there is one.
const fn remedy(cause: LossCause) -> Option<&'static str> {
    match cause {
        LossCause::L1Full => Some(
            "a launch records more than its RISC's L1 vector holds; record less in it, or push \
             within it. Reading more often does not help",
        ),
        LossCause::DramFull => {
            Some("read more often, or make room for more programs (--op-support-count)")
        }
        _ => None,
    }
}

fn write_ops(
    ops: &[&Op],
    names: &[Option<&str>],
    rows: usize,
    out: &mut impl Write,
) -> std::io::Result<()> {
    if ops.is_empty() {
        return writeln!(out, "\nNo ops: no records belong to a program");
    }
    writeln!(out, "\n{}\n", styled("Ops, times in ns", Style::Bold))?;
    let has_names = names.iter().any(Option::is_some);
    let mut titles = vec!["chip", "program"];
    titles.extend(has_names.then_some("name"));
    titles.extend([
        "launch",
        "cores",
        "FW",
        "kernel",
        "BRISC",
        "NCRISC",
        "TRISC0",
        "TRISC1",
        "TRISC2",
        "ERISC",
        "start skew",
        "op to op",
    ]);
    let mut table = table(&titles);
    for (op, name) in ops.iter().zip(names).take(rows) {
        let mut cells = op_cells(op);
        if has_names {
            cells.insert(2, printable(name.unwrap_or_default(), LONGEST_NAME));
        }
        table.add_row(cells);
    }
    write_table(&mut table, ops.len(), rows, out)?;
    write_doubts(ops, out)
}

/// Says why figures of ops are empty.
fn write_doubts(ops: &[&Op], out: &mut impl Write) -> std::io::Result<()> {
    let durations: Vec<_> = ops.iter().map(|op| op.duration_doubt).collect();
    let latencies: Vec<_> = ops.iter().map(|op| op.latency_doubt).collect();
    for (figure, doubts) in
        [("without durations", durations), ("without a time from op to op", latencies)]
    {
        for doubt in Doubt::ALL {
            let count = doubts.iter().filter(|&&found| found == Some(doubt)).count() as u64;
            if count > 0 {
                let count = counted(count, "op", "ops");
                let line = format!("{count} {figure}: {}", doubt.label());
                writeln!(out, "{}", styled(&line, Style::Doubtful))?;
            }
        }
    }
    Ok(())
}

fn op_cells(op: &Op) -> Vec<String> {
    let kernels = &op.risc_kernels;
    let duration = |span: &Option<Span>| optional(span.as_ref().and_then(|span| span.duration_ns));
    vec![
        op.chip_id.to_string(),
        program_label(op.run_host_id, op.trace_id.zip(op.trace_replay)),
        op.launch.to_string(),
        op.core_count.to_string(),
        duration(&op.firmware),
        duration(&op.kernel),
        duration(&kernels.brisc),
        duration(&kernels.ncrisc),
        duration(&kernels.trisc0),
        duration(&kernels.trisc1),
        duration(&kernels.trisc2),
        duration(&kernels.erisc),
        optional(op.kernel_first_to_last_start_ns),
        optional(op.op_to_op_latency_ns),
    ]
}

/// The program as its base id; the encoded id if it carries no chip of its own.
pub(crate) fn program_label(run_host_id: u32, trace: Option<(u64, u64)>) -> String {
    let base = wire::RunHostId(run_host_id).base();
    match trace {
        Some((trace, replay)) => format!("{base} trace {trace}.{replay}"),
        None => base.to_string(),
    }
}

fn write_zones(zones: &[ZoneStatistics], rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    if zones.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}\n", styled("Zones, times in ns", Style::Bold))?;
    let mut table =
        table(&["chip", "RISC", "zone", "count", "total", "min", "median", "p99", "max"]);
    for zone in zones.iter().take(rows) {
        let risc = zone.risc.map_or("all", wire::Risc::label).to_owned();
        let name = zone_label(&zone.name, zone.marker_id);
        table.add_row(statistic_cells(zone.chip_id, risc, name, &zone.cycles));
    }
    write_table(&mut table, zones.len(), rows, out)
}

fn write_sums(sums: &[SumStatistics], rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    if sums.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}\n", styled("Sum zones, ns per launch", Style::Bold))?;
    let mut table =
        table(&["chip", "RISC", "sum zone", "count", "total", "min", "median", "p99", "max"]);
    for sum in sums.iter().take(rows) {
        let name = zone_label(&sum.name, sum.marker_id);
        table.add_row(statistic_cells(sum.chip_id, sum.risc.label().into(), name, &sum.cycles));
    }
    write_table(&mut table, sums.len(), rows, out)
}

/// Values by id, those of hardware counters and of the NoC in a row each.
fn write_data(data: &[DataStatistics], rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    if data.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}\n", styled("Data", Style::Bold))?;
    let mut table = table(&["chip", "RISC", "what", "count", "cores"]);
    for row in data.iter().take(rows) {
        let cells = [
            row.chip_id.to_string(),
            row.risc.label().to_owned(),
            data_label(row),
            grouped(row.count),
            grouped(row.core_count),
        ];
        table.add_row(cells);
    }
    write_table(&mut table, data.len(), rows, out)
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

/// Writes the probe costs subtracted from the zones, and where that failed.
fn write_probe_cost(
    subtracted: &SubtractedProbeCost,
    rows: usize,
    out: &mut impl Write,
) -> std::io::Result<()> {
    writeln!(out, "\nSubtracted from these zones: the cost of probes, in cycles\n")?;
    let mut table = table(&[
        "chip",
        "RISC",
        "the zone itself",
        "each zone inside",
        "data",
        "16-byte data",
        "event",
    ]);
    for ProbeCostRow { chip_id, risc, cost } in subtracted.costs.iter().take(rows) {
        let mut cells = vec![chip_id.to_string(), risc.label().to_owned()];
        let cycles = [
            cost.empty_zone_cycles,
            cost.nested_zone_cycles,
            cost.data_cycles,
            cost.wide_data_cycles,
            cost.event_cycles,
        ];
        cells.extend(cycles.map(grouped));
        table.add_row(cells);
    }
    write_table(&mut table, subtracted.costs.len(), rows, out)?;
    let (shorter, others) =
        (subtracted.shorter_than_cost_count, subtracted.uncalibrated_zone_count);
    if shorter > 0 {
        let zones = counted(shorter, "zone was", "zones were");
        writeln!(out, "{zones} shorter than that and count as 0")?;
    }
    if others > 0 {
        let zones = counted(others, "zone lies", "zones lie");
        writeln!(out, "{zones} on RISCs without such figures and count as recorded")?;
    }
    Ok(())
}

fn statistic_cells(
    chip_id: u32,
    risc: String,
    name: String,
    cycles: &CycleStatistics,
) -> Vec<String> {
    let times = [cycles.total_ns, cycles.min_ns, cycles.median_ns, cycles.p99_ns, cycles.max_ns];
    let mut cells = vec![chip_id.to_string(), risc, name, grouped(cycles.count)];
    cells.extend(times.map(optional));
    cells
}

fn zone_label(name: &str, marker_id: u32) -> String {
    if name.is_empty() { format!("id {marker_id}") } else { printable(name, LONGEST_NAME) }
}

/// Losses that differ only in core and program share a row.
type LossGroupKey = (LossCause, u32, wire::Risc);

#[derive(Default)]
struct LossGroup {
    totals: LossTotals,
    cores: std::collections::BTreeSet<host_reader::mesh::Noc0Coord>,
    programs: std::collections::BTreeSet<Option<u32>>,
    /// The first and the last of the launches among which those are that lost something.
    spans: std::collections::BTreeSet<(u32, u32)>,
}

impl LossGroup {
    fn cells(&self, (cause, chip_id, risc): &LossGroupKey) -> Vec<String> {
        let totals = &self.totals;
        let counts =
            [totals.zones, totals.data, totals.events, totals.sums, totals.unknown_markers];
        let mut cells = vec![
            cause.label().to_owned(),
            chip_id.to_string(),
            risc.label().to_owned(),
            program_ranges(&self.programs, &self.spans),
            self.cores.len().to_string(),
            if totals.runs == 0 { String::new() } else { grouped(totals.runs) },
        ];
        cells.extend(counts.map(|count| bounded(count, totals.is_lower_bound)));
        cells
    }
}

fn loss_groups(losses: &LossLedger) -> BTreeMap<LossGroupKey, LossGroup> {
    let mut groups = BTreeMap::<LossGroupKey, LossGroup>::new();
    for (key, totals) in losses.entries() {
        let LaneId { chip_id, core, risc } = key.lane;
        let group = groups.entry((key.cause, chip_id, risc)).or_default();
        group.totals.add(*totals);
        group.cores.insert(core);
        match (key.program, totals.programs) {
            (None, Some(span)) => {
                group.spans.insert((span.first.base(), span.last.base()));
            }
            (program, _) => {
                group.programs.insert(program.map(wire::RunHostId::base));
            }
        }
    }
    groups
}

/// Program ids as ranges, such as `1001..1400` or `5..1400 by 5`, and spans of launches of which
/// only some lost anything, such as `among 7..9`; at most three of them.
fn program_ranges(
    programs: &std::collections::BTreeSet<Option<u32>>,
    spans: &std::collections::BTreeSet<(u32, u32)>,
) -> String {
    const SHOWN: usize = 3;
    let known: Vec<u32> = programs.iter().copied().flatten().collect();
    let mut ranges = ranges_of(&known);
    ranges.extend(spans.iter().map(|(first, last)| format!("among {first}..{last}")));
    let hidden = ranges.len().saturating_sub(SHOWN);
    ranges.truncate(SHOWN);
    if hidden > 0 {
        ranges.push(format!("{hidden} more"));
    }
    if programs.contains(&None) {
        ranges.push("unknown".to_owned());
    }
    ranges.join(", ")
}

fn ranges_of(ids: &[u32]) -> Vec<String> {
    let mut ranges = Vec::new();
    let mut rest = ids;
    while let [first, after @ ..] = rest {
        let step = after.first().map_or(1, |second| second - first);
        let follows = rest.windows(2).take_while(|pair| pair[1] - pair[0] == step).count();
        // Two ids in a row are a range only if they are neighbours.
        let length = if follows > 1 || step == 1 { follows + 1 } else { 1 };
        let last = rest[length - 1];
        ranges.push(match (length, step) {
            (1, _) => first.to_string(),
            (_, 1) => format!("{first}..{last}"),
            _ => format!("{first}..{last} by {step}"),
        });
        rest = &rest[length..];
    }
    ranges
}

/// The losses as a whole, in a sentence; where more may be missing, it says why.
pub(crate) fn lost_line(losses: &LossLedger) -> String {
    let uncounted: Vec<_> = losses.uncounted().map(UncountedSource::label).collect();
    let uncounted = uncounted.join("; ");
    match (losses.is_empty(), uncounted.as_str()) {
        (true, "") => "Lost: nothing".to_owned(),
        (true, reason) => format!("Lost: unknown; {reason}"),
        (false, "") => format!("Lost: {}", describe(&losses.total())),
        (false, reason) => {
            format!("Lost: {}; more may be lost: {reason}", describe(&losses.total()))
        }
    }
}

/// A loss in words, such as `64 zones and 3 events`.
pub(crate) fn describe(totals: &LossTotals) -> String {
    let parts: Vec<String> = [
        (totals.zones, "zone", "zones"),
        (totals.data, "data", "data"),
        (totals.events, "event", "events"),
        (totals.sums, "sum", "sums"),
        (totals.unknown_markers, "marker of unknown kind", "markers of unknown kind"),
    ]
    .into_iter()
    .filter(|(count, ..)| *count > 0)
    .map(|(count, one, many)| counted(count, one, many))
    .collect();
    match (parts.is_empty(), totals.is_lower_bound) {
        (true, _) => "an unknown number of records".to_owned(),
        (false, true) => format!("at least {}", parts.join(", ")),
        (false, false) => parts.join(", "),
    }
}

fn anomaly_line(anomaly: &Anomaly) -> String {
    let place = anomaly.lane.map_or_else(String::new, |lane| format!("{lane}, "));
    let detail =
        if anomaly.detail.is_empty() { String::new() } else { format!(": {}", anomaly.detail) };
    let detail = printable(&detail, LONGEST_DETAIL);
    format!("{} at {place}position {}{detail}", anomaly.kind.label(), anomaly.position)
}

/// Characters of what is said of an anomaly.
const LONGEST_DETAIL: usize = 200;

fn bounded(count: u64, is_lower_bound: bool) -> String {
    if is_lower_bound { format!(">= {}", grouped(count)) } else { grouped(count) }
}

fn optional(value: Option<u64>) -> String {
    value.map_or_else(|| "-".to_owned(), grouped)
}

/// A number and what it counts, in singular or plural.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// A number in groups of three digits.
pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A table with these titles; numbers are aligned to the right.
pub(crate) fn table(titles: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(titles.iter().copied());
    for (index, title) in titles.iter().enumerate() {
        let is_text = matches!(
            *title,
            "RISC"
                | "zone"
                | "sum zone"
                | "what"
                | "cause"
                | "programs"
                | "sections"
                | "architecture"
                | "kind"
                | "where"
                | "name"
                | "source"
                | "verdict"
                | "op"
                | "NoC"
                | "from"
                | "to"
                | "direction"
        );
        if let (false, Some(column)) = (is_text, table.column_mut(index)) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Columns that go first where a table is too wide, by title.
const DISPENSABLE: [&str; 17] = [
    "ERISC",
    "start skew",
    "source",
    "p",
    "n A",
    "n B",
    "TRISC0",
    "TRISC2",
    "TRISC1",
    "NCRISC",
    "BRISC",
    "p99",
    "min",
    "sums",
    "events",
    "FW",
    "runs",
];

/// The lines of a table, without the columns that find no room, and a last one that names these.
pub(crate) fn lines_of(table: &mut Table) -> Vec<String> {
    let lines = |table: &Table| -> Vec<String> {
        table.lines().map(|line| line.trim_end().to_owned()).collect()
    };
    let Some(width) = width() else { return lines(table) };
    let is_wide = |lines: &[String]| lines.iter().any(|line| line.chars().count() > width);
    let mut shown = lines(table);
    let mut left_out = Vec::new();
    for title in DISPENSABLE {
        if !is_wide(&shown) {
            break;
        }
        let header = table.header().map(|row| row.cell_iter().map(|cell| cell.content()));
        let position = header.and_then(|mut titles| titles.position(|found| found == title));
        if let Some(column) = position.and_then(|position| table.column_mut(position)) {
            column.set_constraint(ColumnConstraint::Hidden);
            left_out.push(title);
            shown = lines(table);
        }
    }
    if !left_out.is_empty() {
        shown.push(format!(" without {}: {width} columns", left_out.join(", ")));
    }
    shown
}

pub(crate) fn write_table(
    table: &mut Table,
    row_count: usize,
    rows: usize,
    out: &mut impl Write,
) -> std::io::Result<()> {
    for line in lines_of(table) {
        writeln!(out, "{line}")?;
    }
    match row_count.checked_sub(rows) {
        Some(hidden) if hidden > 0 => {
            let more = counted(hidden as u64, "more row", "more rows");
            writeln!(out, " ... {more}, --rows 0 shows all")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn program_ids_are_shown_as_ranges() {
        let ids = |ids: &[u32]| ids.iter().copied().map(Some).collect();
        assert_eq!(program_ranges(&ids(&[1, 2, 3, 7]), &BTreeSet::new()), "1..3, 7");
        assert_eq!(program_ranges(&ids(&[5, 10, 15, 20]), &BTreeSet::new()), "5..20 by 5");
        assert_eq!(program_ranges(&ids(&[3, 9]), &BTreeSet::new()), "3, 9");
        assert_eq!(program_ranges(&ids(&[1, 4, 6, 9, 20]), &BTreeSet::new()), "1, 4, 6, 2 more");
        assert_eq!(program_ranges(&[None, Some(4)].into(), &BTreeSet::new()), "4, unknown");
    }

    #[test]
    fn long_numbers_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_869_442), "1,869,442");
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn a_loss_without_counts_is_not_shown_as_nothing() {
        let totals = LossTotals { is_lower_bound: true, ..LossTotals::default() };
        assert_eq!(describe(&totals), "an unknown number of records");
    }
}
