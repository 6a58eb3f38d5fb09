//! Readable report: notes, ops, advice, summary, iterations, problems.

use super::{
    csv_out::{StackedCell, shown_op_code, stacked_cells, stacked_titles},
    grid::{Cell, Column, Grid},
    iterations::{OpStatistics, RepetitionRule},
    number::grouped,
    op::OpReport,
    paint::{Colour, Paintable, colour_of, is_minor, op_colour},
    report::PerfReport,
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
/// tt-perf-report 1.4.1: the tables of ops and of the summary have the same cells.
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

/// Prepared table of ops.
struct OpTable<'a> {
    report: &'a PerfReport,
    grid: Grid,
    rows: Vec<Vec<Cell>>,
    total: Vec<Cell>,
}

impl<'a> OpTable<'a> {
    fn new(report: &'a PerfReport, options: TableOptions) -> Self {
        let optional = OptionalColumns {
            has_sub_device: report.has_sub_devices(),
            has_available_cores: report.has_available_cores(),
        };
        let rows: Vec<_> =
            report.rows.iter().map(|row| op_cells(row, optional, options.min_percentage)).collect();
        let total = total_cells(report, optional);
        let all = rows.iter().chain([&total]);
        let grid = Grid::new(op_columns(optional), all, options.is_coloured);
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

/// Columns that are left out if they say nothing.
#[derive(Clone, Copy)]
struct OptionalColumns {
    has_sub_device: bool,
    has_available_cores: bool,
}

fn op_columns(optional: OptionalColumns) -> Vec<Column> {
    let mut columns = vec![
        right_column("ID"),
        right_column("Total %"),
        right_column("Bound"),
        Column { title: "OP Code", min_width: 0, is_left: true },
        Column { title: "Device", min_width: 7, is_left: false },
    ];
    columns.extend(optional.has_sub_device.then(|| right_column("Sub Device ID")));
    columns.extend(["Device Time", "Op-to-Op Gap", "Cores"].map(right_column));
    columns.extend(optional.has_available_cores.then(|| right_column("Available Cores")));
    columns.extend(["DRAM", "DRAM %", "FLOPs", "FLOPs %", "Math Fidelity"].map(right_column));
    columns
}

const fn right_column(title: &'static str) -> Column {
    Column { title, min_width: 0, is_left: false }
}

fn with_unit(value: Option<f64>, decimals: usize, unit: &str) -> String {
    value.map_or_else(String::new, |value| format!("{} {unit}", grouped(value, decimals)))
}

fn op_cells(row: &OpReport, optional: OptionalColumns, min_percentage: f64) -> Vec<Cell> {
    let grey = is_minor(row, min_percentage).then_some(Colour::Grey);
    let plain = |text: String| Cell::new(text, grey);
    let painted = |text: String, cell| Cell::new(text, colour_of(row, cell, min_percentage));
    let mut cells = vec![
        plain(row.id.to_string()),
        plain(with_unit(row.total_percent, 1, "%")),
        painted(row.bound.map_or("", super::Bound::label).to_owned(), Paintable::Bound),
        painted(shown_op_code(row), Paintable::OpCode),
        plain(whole(row.device)),
    ];
    if optional.has_sub_device {
        cells.push(plain(row.sub_device.as_deref().unwrap_or_default().to_owned()));
    }
    cells.extend([
        plain(with_unit(row.device_time_us, 0, "μs")),
        painted(with_unit(row.op_to_op_gap_us, 0, "μs"), Paintable::Gap),
        painted(whole(row.core_count), Paintable::Cores),
    ]);
    if optional.has_available_cores {
        cells.push(plain(whole(row.available_core_count)));
    }
    cells.extend([
        painted(with_unit(row.dram_gb_per_s, 0, "GB/s"), Paintable::Dram),
        painted(with_unit(row.dram_percent, 1, "%"), Paintable::Dram),
        painted(with_unit(row.tflops, 1, "TFLOPs"), Paintable::Flops),
        painted(with_unit(row.flops_percent, 1, "%"), Paintable::Flops),
        painted(row.math_fidelity.to_string(), Paintable::Fidelity),
    ]);
    cells
}

fn whole(value: Option<u64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn total_cells(report: &PerfReport, optional: OptionalColumns) -> Vec<Cell> {
    let totals = &report.totals;
    let counts = format!(
        "{} device ops, {} host ops, {} signposts",
        totals.device_op_count, totals.host_op_count, totals.signpost_count
    );
    let mut cells =
        vec![grey_cell(""), grey_cell("100.0 %"), grey_cell(""), grey_cell(counts), grey_cell("")];
    cells.extend(optional.has_sub_device.then(|| grey_cell("")));
    cells.extend([
        grey_cell(with_unit(Some(totals.device_time_us), 0, "μs")),
        grey_cell(with_unit(Some(totals.op_to_op_gap_us), 0, "μs")),
        grey_cell(""),
    ]);
    cells.extend(optional.has_available_cores.then(|| grey_cell("")));
    cells.extend([
        grey_cell(with_unit(totals.dram_gb_per_s, 0, "GB/s")),
        grey_cell(with_unit(totals.dram_percent, 1, "%")),
        grey_cell(""),
        grey_cell(""),
        grey_cell(""),
    ]);
    cells
}

fn grey_cell(text: impl Into<String>) -> Cell {
    Cell::new(text.into(), Some(Colour::Grey))
}

fn write_summary(
    report: &PerfReport,
    stack_by: StackBy,
    options: TableOptions,
    out: &mut impl Write,
) -> std::io::Result<()> {
    write_heading("Summary", out)?;
    let titles = stacked_titles(stack_by, report.is_by_device);
    let columns = titles
        .iter()
        .map(|&(title, _)| Column { title, min_width: 0, is_left: title == "Op Code" })
        .collect();
    let mut stacked: Vec<_> = report.stacked.iter().collect();
    if report.is_by_device {
        // Rows are sorted by time; the stable sort keeps that order within each device.
        stacked.sort_by_key(|row| row.device);
    }
    let rows: Vec<Vec<Cell>> = stacked
        .into_iter()
        .map(|row| {
            let cells = stacked_cells(row, stack_by, report.is_by_device).into_iter();
            cells
                .zip(&titles)
                .map(|(cell, &(title, unit))| summary_cell(cell, title, unit))
                .collect()
        })
        .collect();
    write_grid(columns, &rows, options.is_coloured, out)
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
    columns: Vec<Column>,
    rows: &[Vec<Cell>],
    is_coloured: bool,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let grid = Grid::new(columns, rows.iter(), is_coloured);
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
    const TITLES: [&str; 11] =
        ["ID", "OP Code", "Device", "Count", "Mean", "Std", "Std %", "Min", "Median", "Max", "Gap"];
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
    let rows: Vec<_> = iterations.ops.iter().map(iteration_cells).collect();
    write_grid(
        TITLES.map(|title| Column { title, min_width: 0, is_left: title == "OP Code" }).to_vec(),
        &rows,
        options.is_coloured,
        out,
    )
}

fn iteration_cells(op: &OpStatistics) -> Vec<Cell> {
    let time = &op.device_time_us;
    let gap = (op.op_to_op_gap_us.count > 0).then_some(op.op_to_op_gap_us.mean);
    let device = op.device.map_or_else(String::new, |device| device.to_string());
    let mut cells = vec![
        Cell::plain(op.first_id.to_string()),
        Cell::new(op.op_code.clone(), Some(op_colour(&op.op_code))),
        Cell::plain(device),
        Cell::plain(time.count.to_string()),
    ];
    if time.count == 0 {
        cells.extend(std::iter::repeat_n(Cell::default(), 6));
    } else {
        cells.extend([
            Cell::plain(grouped(time.mean, 2)),
            Cell::plain(optional_figure(time.std)),
            Cell::plain(time.std_percent().map_or_else(String::new, |std| grouped(std, 1))),
            Cell::plain(grouped(time.min, 2)),
            Cell::plain(grouped(time.median, 2)),
            Cell::plain(grouped(time.max, 2)),
        ]);
    }
    cells.push(Cell::plain(optional_figure(gap)));
    cells
}

fn optional_figure(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| grouped(value, 2))
}
