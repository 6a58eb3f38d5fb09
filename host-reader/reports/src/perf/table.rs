//! Readable report: notes, ops, advice, summary, iterations, problems.

use super::{
    csv_out::{StackedCell, shown_op_code, stacked_columns, whole},
    grid::{Cell, Column, Grid},
    iterations::{OpStatistics, RepetitionRule},
    number::grouped,
    op::OpReport,
    paint::{
        Colour, Paint, bound_colour, cell_colour, cores_colour, dram_colour, fidelity_colour,
        flops_colour, gap_colour, op_colour,
    },
    report::PerfReport,
    spread::Spread,
    stacked::StackBy,
};
use std::io::Write;

/// Output options of a report.
#[derive(Clone, Copy, Debug)]
pub struct TableOptions {
    /// True to colour the output.
    pub is_coloured: bool,
    /// Percentage of the time below which a row is grey.
    pub min_percentage: f64,
    /// True to include optimisation advice.
    pub has_advice: bool,
    /// Grouping of ops in the summary; `None` for no summary.
    pub summary: Option<StackBy>,
    /// True to include the statistics of each op over repeated iterations.
    pub has_iterations: bool,
}

/// Writes a report as readable text.
///
/// # Compatibility
/// The cells of the tables of ops and of the summary are those of tt-perf-report 1.4.1.
///
/// # Errors
/// Returns the errors of the stream.
pub fn write_table(
    report: &PerfReport,
    options: TableOptions,
    out: &mut impl Write,
) -> std::io::Result<()> {
    for note in &report.notes {
        writeln!(out, "{}", coloured_note(note, options))?;
    }
    let table = OpTable::new(report, options);
    write_heading("Performance report", out)?;
    table.write(out)?;
    if options.has_advice {
        table.write_advice(out)?;
    }
    if let Some(stack_by) = options.summary {
        write_summary(report, stack_by, options, out)?;
    }
    if options.has_iterations {
        write_iterations(report, options, out)?;
    }
    write_problems(report, out)
}

fn coloured_note(note: &str, options: TableOptions) -> String {
    let is_warning = options.is_coloured && note.starts_with("Warning");
    if is_warning { Colour::Yellow.paint(note) } else { note.to_owned() }
}

fn write_heading(title: &str, out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "\n{title}\n{}\n", "=".repeat(title.chars().count()))
}

fn write_problems(report: &PerfReport, out: &mut impl Write) -> std::io::Result<()> {
    if report.problems.is_empty() {
        return Ok(());
    }
    write_heading("Problems", out)?;
    for problem in &report.problems {
        writeln!(out, "{problem}")?;
    }
    writeln!(out, "Lines left out: {}", report.skipped_line_count)
}

/// Table of ops with formatted cells.
struct OpTable<'a> {
    report: &'a PerfReport,
    grid: Grid,
    rows: Vec<Vec<Cell>>,
    total: Vec<Cell>,
}

impl<'a> OpTable<'a> {
    fn new(report: &'a PerfReport, options: TableOptions) -> Self {
        let columns: Vec<_> = OP_COLUMNS.iter().filter(|column| column.is_shown(report)).collect();
        let cells = |row| columns.iter().map(|column| column.cell(row, options)).collect();
        let rows: Vec<Vec<Cell>> = report.rows.iter().map(cells).collect();
        let total = columns
            .iter()
            .map(|column| Cell::new((column.total)(report), Some(Colour::Grey)))
            .collect();
        let layout = columns.iter().map(|column| column.layout()).collect();
        let grid = Grid::new(layout, rows.iter().chain([&total]), options.is_coloured);
        Self { report, grid, rows, total }
    }

    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        self.grid.write_titles(out)?;
        self.grid.write_rule(out)?;
        for row in &self.rows {
            self.grid.write_row(row, out)?;
        }
        self.grid.write_rule(out)?;
        self.grid.write_row(&self.total, out)?;
        if self.report.has_available_cores() {
            writeln!(
                out,
                "Ops had different cores to use, so some may have run at the same time; \
                 sums count each in full."
            )?;
        }
        Ok(())
    }

    fn write_ops(&self, ids: &[u64], out: &mut impl Write) -> std::io::Result<()> {
        for (op, row) in self.report.rows.iter().zip(&self.rows) {
            if ids.contains(&op.id) {
                self.grid.write_row(row, out)?;
            }
        }
        Ok(())
    }

    fn write_advice(&self, out: &mut impl Write) -> std::io::Result<()> {
        let advice = &self.report.advice;
        let has_matmuls = self.report.rows.iter().any(|row| row.advice.is_some());
        if advice.host_op_ids.is_empty() && advice.high_gap_ids.is_empty() && !has_matmuls {
            return Ok(());
        }
        write_heading("Advice", out)?;
        if !advice.host_op_ids.is_empty() {
            writeln!(out, "Ops on the host: run them on the device, if there is an op for it")?;
            self.write_ops(&advice.host_op_ids, out)?;
            writeln!(out)?;
        }
        if !advice.high_gap_ids.is_empty() {
            writeln!(out, "Long gaps before ops")?;
            self.write_ops(&advice.high_gap_ids, out)?;
            let share = advice.gap_saving_percent.unwrap_or(0.0);
            writeln!(
                out,
                "A trace could save {} μs ({} %) of them; else see whether the device waits \
                 for the host.\n",
                grouped(advice.gap_saving_us, 0),
                grouped(share, 1),
            )?;
        }
        if has_matmuls { self.write_matmul_advice(out) } else { Ok(()) }
    }

    fn write_matmul_advice(&self, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(out, "Matmuls")?;
        for (op, row) in self.report.rows.iter().zip(&self.rows) {
            let Some(items) = &op.advice else { continue };
            self.grid.write_row(row, out)?;
            if items.is_empty() {
                writeln!(out, "- nothing to try is known")?;
            }
            for item in items {
                writeln!(out, "- {item}")?;
            }
        }
        Ok(())
    }
}

/// A column of the table of ops.
struct OpColumn {
    title: &'static str,
    /// Rule that colours the cells; `None` if only the op's share of the time determines the
    /// colour.
    paint: Option<Paint>,
    text: fn(&OpReport) -> String,
    /// Returns the cell in the last row, which shows totals over all ops.
    total: fn(&PerfReport) -> String,
}

const SUB_DEVICE: &str = "Sub Device ID";
const AVAILABLE_CORES: &str = "Available Cores";

const OP_COLUMNS: [OpColumn; 15] = [
    OpColumn::new("ID", |row| row.id.to_string()),
    OpColumn::new("Total %", |row| with_unit(row.total_percent, 1, "%"))
        .with_total(|_| "100.0 %".to_owned()),
    OpColumn::new("Bound", |row| row.bound.map_or("", super::Bound::label).to_owned())
        .painted(bound_colour),
    OpColumn::new("OP Code", shown_op_code)
        .painted(|row| Some(op_colour(&row.raw_op_code)))
        .with_total(total_counts),
    OpColumn::new("Device", |row| whole(row.device)),
    OpColumn::new(SUB_DEVICE, |row| row.sub_device.as_deref().unwrap_or_default().to_owned()),
    OpColumn::new("Device Time", |row| with_unit(row.device_time_us, 0, "μs"))
        .with_total(|report| with_unit(Some(report.totals.device_time_us), 0, "μs")),
    OpColumn::new("Op-to-Op Gap", |row| with_unit(row.op_to_op_gap_us, 0, "μs"))
        .painted(gap_colour)
        .with_total(|report| with_unit(Some(report.totals.op_to_op_gap_us), 0, "μs")),
    OpColumn::new("Cores", |row| whole(row.core_count)).painted(cores_colour),
    OpColumn::new(AVAILABLE_CORES, |row| whole(row.available_core_count)),
    OpColumn::new("DRAM", |row| with_unit(row.dram_gb_per_s, 0, "GB/s"))
        .painted(dram_colour)
        .with_total(|report| with_unit(report.totals.dram_gb_per_s, 0, "GB/s")),
    OpColumn::new("DRAM %", |row| with_unit(row.dram_percent, 1, "%"))
        .painted(dram_colour)
        .with_total(|report| with_unit(report.totals.dram_percent, 1, "%")),
    OpColumn::new("FLOPs", |row| with_unit(row.tflops, 1, "TFLOPs")).painted(flops_colour),
    OpColumn::new("FLOPs %", |row| with_unit(row.flops_percent, 1, "%")).painted(flops_colour),
    OpColumn::new("Math Fidelity", |row| row.math_fidelity.to_string()).painted(fidelity_colour),
];

impl OpColumn {
    const fn new(title: &'static str, text: fn(&OpReport) -> String) -> Self {
        Self { title, paint: None, text, total: |_| String::new() }
    }

    const fn painted(self, paint: Paint) -> Self {
        Self { paint: Some(paint), ..self }
    }

    const fn with_total(self, total: fn(&PerfReport) -> String) -> Self {
        Self { total, ..self }
    }

    /// Returns false if the column would show nothing useful in this report.
    fn is_shown(&self, report: &PerfReport) -> bool {
        match self.title {
            SUB_DEVICE => report.has_sub_devices(),
            AVAILABLE_CORES => report.has_available_cores(),
            _ => true,
        }
    }

    fn layout(&self) -> Column {
        let min_width = if self.title == "Device" { 7 } else { 0 };
        Column { title: self.title, min_width, is_left: self.title == "OP Code" }
    }

    fn cell(&self, row: &OpReport, options: TableOptions) -> Cell {
        Cell::new((self.text)(row), cell_colour(row, self.paint, options.min_percentage))
    }
}

fn with_unit(value: Option<f64>, decimals: usize, unit: &str) -> String {
    value.map_or_else(String::new, |value| format!("{} {unit}", grouped(value, decimals)))
}

fn total_counts(report: &PerfReport) -> String {
    let totals = &report.totals;
    format!(
        "{} device ops, {} host ops, {} signposts",
        totals.device_op_count, totals.host_op_count, totals.signpost_count
    )
}

fn write_summary(
    report: &PerfReport,
    stack_by: StackBy,
    options: TableOptions,
    out: &mut impl Write,
) -> std::io::Result<()> {
    write_heading("Summary", out)?;
    let columns = stacked_columns(stack_by, report.is_by_device);
    let mut stacked: Vec<_> = report.stacked.iter().collect();
    if report.is_by_device {
        // Rows are sorted by time; the stable sort keeps that order within each device.
        stacked.sort_by_key(|row| row.device);
    }
    let cells = |row| {
        columns.iter().map(|&(title, unit, cell)| summary_cell(cell(row), title, unit)).collect()
    };
    let rows: Vec<_> = stacked.into_iter().map(cells).collect();
    write_grid(columns.iter().map(|&(title, ..)| title), &rows, options, out)
}

fn summary_cell(cell: StackedCell, title: &str, unit: &str) -> Cell {
    match cell {
        StackedCell::Text(text) => {
            let colour = (title == "Op Code").then(|| op_colour(&text));
            Cell::new(text, colour)
        }
        StackedCell::Count(count) => Cell::plain(count.to_string()),
        StackedCell::Figure(value) => Cell::plain(with_unit(value, 2, unit)),
    }
}

fn write_grid(
    titles: impl Iterator<Item = &'static str>,
    rows: &[Vec<Cell>],
    options: TableOptions,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let is_left = |title: &str| title.eq_ignore_ascii_case("Op Code");
    let columns =
        titles.map(|title| Column { title, min_width: 0, is_left: is_left(title) }).collect();
    let grid = Grid::new(columns, rows.iter(), options.is_coloured);
    grid.write_titles(out)?;
    grid.write_rule(out)?;
    for row in rows {
        grid.write_row(row, out)?;
    }
    grid.write_rule(out)
}

fn write_iterations(
    report: &PerfReport,
    options: TableOptions,
    out: &mut impl Write,
) -> std::io::Result<()> {
    write_heading("Iterations", out)?;
    let iterations = &report.iterations;
    let how = match iterations.rule {
        RepetitionRule::TraceReplays => "replays of a trace",
        RepetitionRule::RepeatedSequence => "repetitions of the same ops",
        RepetitionRule::SameProgram => {
            "no repetition was found; ops of one name and source are taken together"
        }
    };
    writeln!(
        out,
        "{} of {} ops: {how}. Left out: {} ops in other or cut iterations. Times in μs.\n",
        iterations.iteration_count, iterations.ops_per_iteration, iterations.left_out_count
    )?;
    let cells = |op| ITERATION_COLUMNS.iter().map(|(_, cell)| cell(op)).collect();
    let rows: Vec<_> = iterations.ops.iter().map(cells).collect();
    write_grid(ITERATION_COLUMNS.iter().map(|&(title, _)| title), &rows, options, out)
}

/// A column of the table of iterations: its header, and the function that formats its cell for an
/// op.
type IterationColumn = (&'static str, fn(&OpStatistics) -> Cell);

const ITERATION_COLUMNS: [IterationColumn; 11] = [
    ("ID", |op| Cell::plain(op.first_id.to_string())),
    ("OP Code", |op| Cell::new(op.op_code.clone(), Some(op_colour(&op.op_code)))),
    ("Device", |op| Cell::plain(whole(op.device))),
    ("Count", |op| Cell::plain(op.device_time_us.count.to_string())),
    ("Mean", |op| figure(times(op).map(|time| time.mean))),
    ("Std", |op| figure(times(op).and_then(|time| time.std))),
    ("Std %", |op| {
        let percent = times(op).and_then(Spread::std_percent);
        Cell::plain(percent.map_or_else(String::new, |percent| grouped(percent, 1)))
    }),
    ("Min", |op| figure(times(op).map(|time| time.min))),
    ("Median", |op| figure(times(op).map(|time| time.median))),
    ("Max", |op| figure(times(op).map(|time| time.max))),
    ("Gap", |op| {
        let gap = &op.op_to_op_gap_us;
        figure((gap.count > 0).then_some(gap.mean))
    }),
];

/// Returns the statistics of an op's device times, if it has any.
fn times(op: &OpStatistics) -> Option<&Spread> {
    Some(&op.device_time_us).filter(|time| time.count > 0)
}

fn figure(value: Option<f64>) -> Cell {
    Cell::plain(value.map_or_else(String::new, |value| grouped(value, 2)))
}
