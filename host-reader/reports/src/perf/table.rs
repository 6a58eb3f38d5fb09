//! Readable report: notes, ops, advice, summary, iterations, problems.

use super::{
    advice::Advice,
    csv_out::{StackedCell, shown_op_code, stacked_columns, whole},
    grid::{Cell, Grid},
    iterations::{OpStatistics, RepetitionRule},
    number::grouped,
    op::OpReport,
    paint::{
        Colour, Paint, bound_colour, cell_colour, cores_colour, dram_colour, fidelity_colour,
        flops_colour, gap_colour, op_colour,
    },
    peak_share::{at_least, peak_share_text},
    report::PerfReport,
    side_by_side::SideBySide,
    spread::Spread,
    stacked::StackBy,
};
use crate::report::{CALL_FUNCTION, CALL_LOCATION};
use recording::problem::counted;
use std::{
    collections::HashMap,
    io::{self, Write},
    sync::Arc,
};

/// Output options of a report.
#[derive(Clone, Copy, Debug)]
pub struct TableOptions {
    /// True to colour the output.
    pub is_coloured: bool,
    /// Percentage of the time of all rows. A row with a lower percentage is grey.
    pub min_percentage: f64,
    /// True to include optimisation advice.
    pub has_advice: bool,
    /// Grouping of ops in the summary; `None` to leave out the summary.
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
) -> io::Result<()> {
    let mut writer = TableWriter { report, options, out };
    let ops = op_grid(report, options);
    writer.notes()?;
    writer.ops(&ops)?;
    if options.has_advice {
        writer.advice(&ops)?;
    }
    if let Some(stack_by) = options.summary {
        writer.summary(stack_by)?;
    }
    if options.has_iterations {
        writer.iterations()?;
    }
    writer.problems()
}

/// Writer of a report's parts.
struct TableWriter<'a, W> {
    report: &'a PerfReport,
    options: TableOptions,
    out: &'a mut W,
}

impl<W: Write> TableWriter<'_, W> {
    fn heading(&mut self, title: &str) -> io::Result<()> {
        writeln!(self.out, "\n{title}\n{}\n", "=".repeat(title.chars().count()))
    }

    fn notes(&mut self) -> io::Result<()> {
        for note in &self.report.notes {
            let is_warning = self.options.is_coloured && note.starts_with("Warning");
            let note = if is_warning { &Colour::Yellow.paint(note) } else { note };
            writeln!(self.out, "{note}")?;
        }
        Ok(())
    }

    fn ops(&mut self, ops: &Grid) -> io::Result<()> {
        self.heading("Performance report")?;
        ops.write(self.out)?;
        self.same_time()
    }

    /// Writes which ops ran at the same time, as far as that is known.
    fn same_time(&mut self) -> io::Result<()> {
        let known = &self.report.side_by_side;
        let longest = known
            .iter()
            .filter(|of| of.op_count > 0 && !self.report.is_upstream_exact)
            .max_by(|one, other| one.elapsed_us.total_cmp(&other.elapsed_us));
        if let Some(of) = longest {
            let SideBySide { device, op_count, of_count, op_time_us, elapsed_us, .. } = of;
            let totals = &self.report.totals;
            let is_moved = self.report.rows.iter().any(|row| row.dram_bytes.is_some());
            let doubt = match totals.dram_gb_per_s {
                None if is_moved => {
                    " What they move with DRAM is together more than the chip can, so the model of one of them is wrong."
                }
                _ => "",
            };
            return writeln!(
                self.out,
                "{op_count} of {of_count} ops of device {device} ran at the same time as another, as \
                 their cycles show: they took {} from the first start to the last end, and {} if \
                 each is counted in full, as in the sums of times here.{doubt}",
                with_unit(Some(*elapsed_us), 0, "μs"),
                with_unit(Some(*op_time_us), 0, "μs"),
            );
        }
        if self.report.has_available_cores() && (known.is_empty() || self.report.is_upstream_exact)
        {
            writeln!(
                self.out,
                "Ops had different cores to use, so some may have run at the same time; \
                 sums count each in full."
            )?;
        }
        Ok(())
    }

    fn advice(&mut self, ops: &Grid) -> io::Result<()> {
        let advice = &self.report.advice;
        let has_matmuls = self.report.rows.iter().any(|row| row.advice.is_some());
        if advice.host_op_ids.is_empty() && advice.high_gap_ids.is_empty() && !has_matmuls {
            return Ok(());
        }
        self.heading("Advice")?;
        if !advice.host_op_ids.is_empty() {
            writeln!(
                self.out,
                "Ops on the host: run them on the device, if there is an op for it"
            )?;
            self.rows_of(&advice.host_op_ids, ops)?;
            writeln!(self.out)?;
        }
        if !advice.high_gap_ids.is_empty() {
            writeln!(self.out, "Long gaps before ops")?;
            self.rows_of(&advice.high_gap_ids, ops)?;
            writeln!(self.out, "{}\n", gap_advice(advice))?;
        }
        if has_matmuls { self.matmul_advice(ops) } else { Ok(()) }
    }

    fn rows_of(&mut self, ids: &[u64], ops: &Grid) -> io::Result<()> {
        let rows = self.report.rows.iter().zip(&ops.rows);
        for (_, row) in rows.filter(|(op, _)| ids.contains(&op.id)) {
            ops.write_row(row, self.out)?;
        }
        Ok(())
    }

    fn matmul_advice(&mut self, ops: &Grid) -> io::Result<()> {
        writeln!(self.out, "Matmuls")?;
        let rows = self.report.rows.iter().zip(&ops.rows);
        let matmuls: Vec<_> =
            rows.filter_map(|(op, row)| Some((op, op.advice.as_deref()?, row))).collect();
        if self.report.is_upstream_exact {
            for (_, items, row) in matmuls {
                ops.write_row(row, self.out)?;
                self.items(items)?;
            }
            return Ok(());
        }
        // Rows with the same advice are told together, in the order of the first of them.
        let mut groups: Vec<(&[String], Vec<_>)> = Vec::new();
        let mut places: HashMap<&[String], usize> = HashMap::new();
        let count = matmuls.len();
        for (op, items, row) in matmuls {
            let place = *places.entry(items).or_insert(groups.len());
            match groups.get_mut(place) {
                Some((_, own)) => own.push((op, row)),
                None => groups.push((items, vec![(op, row)])),
            }
        }
        for (items, own) in groups {
            let others = own.len().saturating_sub(1) as u64;
            let time_us = |(op, _): &&(&OpReport, _)| op.device_time_us.unwrap_or(0.0);
            let longest =
                own.iter().rev().max_by(|one, other| time_us(one).total_cmp(&time_us(other)));
            if let Some((_, row)) = longest {
                ops.write_row(row, self.out)?;
            }
            self.items(items)?;
            if others > 0 {
                let others = counted(others, "other matmul", "other matmuls");
                writeln!(self.out, "- the same for {others} of {count}, this one takes longest")?;
            }
        }
        Ok(())
    }

    fn items(&mut self, items: &[String]) -> io::Result<()> {
        if items.is_empty() {
            writeln!(self.out, "- nothing to try is known")?;
        }
        for item in items {
            writeln!(self.out, "- {item}")?;
        }
        Ok(())
    }

    fn summary(&mut self, stack_by: StackBy) -> io::Result<()> {
        self.heading("Summary")?;
        let columns = stacked_columns(stack_by, self.report);
        let is_exact = self.report.is_upstream_exact;
        let mut stacked: Vec<_> = self.report.stacked.iter().collect();
        if self.report.is_by_device {
            // Rows are sorted by time; the stable sort keeps that order within each device.
            stacked.sort_by_key(|row| row.device);
        }
        let rows = stacked.into_iter().map(|row| {
            let cells = columns.iter().map(|&(title, unit, cell)| match cell(row) {
                StackedCell::Text(text) => {
                    let colour = (title == "Op Code").then(|| op_colour(&text));
                    Cell::new(text, colour)
                }
                StackedCell::Count(count) => Cell::plain(match row.untimed_count {
                    0 => count.to_string(),
                    _ if is_exact => count.to_string(),
                    untimed if untimed == count => format!("{count} without a duration"),
                    untimed => format!("{count}, {}", of_which_timed(count, untimed)),
                }),
                StackedCell::Figure(value) => Cell::plain(with_unit(value, 2, unit)),
            });
            cells.collect()
        });
        let titles = columns.iter().map(|&(title, ..)| title.into()).collect();
        Grid::new(titles, rows.collect(), None, self.options.is_coloured).write(self.out)
    }

    fn iterations(&mut self) -> io::Result<()> {
        self.heading("Iterations")?;
        let iterations = &self.report.iterations;
        let how = match iterations.rule {
            RepetitionRule::TraceReplays => "replays of a trace",
            RepetitionRule::RepeatedSequence => "repetitions of the same ops",
            RepetitionRule::SameProgram => {
                "no repetition was found; ops of one name and source are taken together"
            }
        };
        writeln!(
            self.out,
            "{} of {} ops: {how}. Left out: {} ops in other or cut iterations. Times in μs.\n",
            iterations.iteration_count, iterations.ops_per_iteration, iterations.left_out_count
        )?;
        let ops = iterations.ops.iter();
        let rows = ops.map(|op| ITERATION_COLUMNS.iter().map(|(_, cell)| cell(op)).collect());
        let titles = ITERATION_COLUMNS.iter().map(|&(title, _)| title.into()).collect();
        Grid::new(titles, rows.collect(), None, self.options.is_coloured).write(self.out)
    }

    fn problems(&mut self) -> io::Result<()> {
        if self.report.problems.is_empty() {
            return Ok(());
        }
        self.heading("Problems")?;
        for problem in &self.report.problems {
            writeln!(self.out, "{problem}")?;
        }
        writeln!(self.out, "Lines left out: {}", self.report.skipped_line_count)
    }
}

/// Returns what to try about long gaps. A trace saves nothing before the ops of a trace, nor where the
/// host builds a program.
fn gap_advice(advice: &Advice) -> String {
    let (of_traces, builds) = (advice.trace_gap_ids.len(), advice.build_gap_ids.len());
    let rest = advice.high_gap_ids.len().saturating_sub(of_traces).saturating_sub(builds);
    let replays = "replay without waiting for the end of the replay before (ttnn.execute_trace with \
                   blocking=False)";
    let warm_up = match advice.are_builds_known {
        true => {
            "call the ops once before the part that counts (kprof programs shows what was built)"
        }
        false => "call the ops once before the part that counts",
    };
    match (rest, of_traces, builds) {
        (0, _, 0) => return format!("The ops after them come from a trace already: {replays}."),
        (0, 0, _) if advice.are_builds_known => {
            return format!("The calls after them built their programs: {warm_up}.");
        }
        (0, 0, _) => {
            return format!(
                "The calls after them are the first ones of their ops, and may have built their \
                 programs: {warm_up}."
            );
        }
        _ => {}
    }
    let share = advice.gap_saving_percent.unwrap_or(0.0);
    let mut text = format!(
        "A trace could save {} μs ({} %) of them",
        grouped(advice.gap_saving_us, 0),
        grouped(share, 1)
    );
    if of_traces > 0 {
        let time = grouped(advice.trace_gap_us, 0);
        text += &format!(
            ", without the {of_traces} before ops of a trace, whose time is {time} μs: {replays}"
        );
    }
    if builds > 0 {
        let time = grouped(advice.build_gap_us, 0);
        let built = match advice.are_builds_known {
            true => "calls that built programs",
            false => "first calls, which built programs or may have",
        };
        text +=
            &format!(", without the {builds} before {built}, whose time is {time} μs: {warm_up}");
    }
    text + "; else see whether the device waits for the host."
}

/// Formats the table of ops. Its last row shows totals over all ops.
fn op_grid(report: &PerfReport, options: TableOptions) -> Grid {
    let columns: Vec<_> = OP_COLUMNS.iter().filter(|column| column.is_shown(report)).collect();
    let others = shown_others(report);
    let rows = report.rows.iter().map(|row| {
        let cells = columns.iter().map(|column| {
            Cell::new(
                column.cell(row, report),
                cell_colour(row, column.paint, options.min_percentage),
            )
        });
        let others = others.iter().map(|title| Cell::new(other_text(row, title), None));
        cells.chain(others).collect()
    });
    let total = columns.iter().map(|of| Cell::new((of.total)(report), Some(Colour::Grey)));
    let titles = columns.iter().map(|column| column.title.into());
    let titles = titles.chain(others.iter().map(|title| title.to_string().into()));
    Grid::new(titles.collect(), rows.collect(), Some(total.collect()), options.is_coloured)
}

/// Returns the headers of the columns that are shown behind those of tt-perf-report. Of those that
/// name the call of an op, only the module is short enough.
fn shown_others(report: &PerfReport) -> Vec<Arc<str>> {
    let mut others = report.other_columns();
    others.retain(|title| ![CALL_FUNCTION, CALL_LOCATION].contains(&&**title));
    others.retain(|_| !report.is_upstream_exact);
    others
}

/// Returns a cell of a column that no report of TT-Metal has, shortened to fit into a table.
fn other_text(row: &OpReport, title: &str) -> String {
    const LONGEST: usize = 60;
    let text = row.other(title).map_or("", |text| text);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

/// A column of the table of ops.
struct OpColumn {
    title: &'static str,
    text: fn(&OpReport) -> String,
    /// Function that chooses the colour of each cell. In a row with a small percentage of the total
    /// time, all cells are grey instead.
    paint: Paint,
    /// Returns the cell in the last row, which shows totals over all ops.
    total: fn(&PerfReport) -> String,
}

const DEVICE: &str = "Device ";
const DRAM_PERCENT: &str = "DRAM %";
const FLOPS_PERCENT: &str = "FLOPs %";
const SUB_DEVICE: &str = "Sub Device ID";
const AVAILABLE_CORES: &str = "Available Cores";

const OP_COLUMNS: [OpColumn; 15] = [
    OpColumn::new("ID", |row| row.id.to_string()),
    OpColumn::new("Total %", |row| with_unit(row.total_percent, 1, "%")).with_total(|report| {
        let has_time = report.rows.iter().any(|row| row.total_percent.is_some());
        if has_time { "100.0 %".to_owned() } else { String::new() }
    }),
    OpColumn::new("Bound", |row| row.bound.map_or("", super::Bound::label).to_owned())
        .painted(bound_colour),
    OpColumn::new("OP Code", shown_op_code)
        .painted(|row| Some(op_colour(&row.raw_op_code)))
        .with_total(total_counts),
    // The title is one blank wider than its text, like the narrowest column of tt-perf-report.
    OpColumn::new(DEVICE, |row| whole(row.device)),
    OpColumn::new(SUB_DEVICE, |row| row.sub_device.as_deref().unwrap_or_default().to_owned()),
    OpColumn::new("Device Time", |row| with_unit(row.device_time_us, 0, "μs"))
        .with_total(|report| with_unit(total(report.totals.device_time_us, report), 0, "μs")),
    OpColumn::new("Op-to-Op Gap", |row| with_unit(row.op_to_op_gap_us, 0, "μs"))
        .painted(gap_colour)
        .with_total(|report| with_unit(total(report.totals.op_to_op_gap_us, report), 0, "μs")),
    OpColumn::new("Cores", |row| whole(row.core_count)).painted(cores_colour),
    OpColumn::new(AVAILABLE_CORES, |row| whole(row.available_core_count)),
    OpColumn::new("DRAM", |row| with_unit(row.dram_gb_per_s, 0, "GB/s"))
        .painted(dram_colour)
        .with_total(|report| {
            let speed = with_unit(report.totals.dram_gb_per_s, 0, "GB/s");
            lower_bound(speed, report.totals.is_dram_lower_bound, report)
        }),
    OpColumn::new(DRAM_PERCENT, |row| with_unit(row.dram_percent, 1, "%"))
        .painted(dram_colour)
        .with_total(|report| {
            let share = report.totals.dram_percent;
            match report.is_upstream_exact {
                true => with_unit(share, 1, "%"),
                false => share_text(share, report.totals.is_dram_lower_bound),
            }
        }),
    OpColumn::new("FLOPs", |row| with_unit(row.tflops, 1, "TFLOPs")).painted(flops_colour),
    OpColumn::new(FLOPS_PERCENT, |row| with_unit(row.flops_percent, 1, "%")).painted(flops_colour),
    OpColumn::new("Math Fidelity", |row| row.math_fidelity.to_string()).painted(fidelity_colour),
];

impl OpColumn {
    const fn new(title: &'static str, text: fn(&OpReport) -> String) -> Self {
        Self { title, text, paint: |_| None, total: |_| String::new() }
    }

    const fn painted(self, paint: Paint) -> Self {
        Self { paint, ..self }
    }

    const fn with_total(self, total: fn(&PerfReport) -> String) -> Self {
        Self { total, ..self }
    }

    /// Returns the cell of a row. tt-perf-report names a device for the mean of several, and shows
    /// shares over 100 %.
    fn cell(&self, row: &OpReport, report: &PerfReport) -> String {
        let text = (self.text)(row);
        match self.title {
            _ if report.is_upstream_exact => text,
            DEVICE => row.mean_of_device_count.map_or(text, |count| format!("mean of {count}")),
            "DRAM" => lower_bound(text, row.is_dram_lower_bound(), report),
            DRAM_PERCENT => share_text(row.dram_percent, row.is_dram_lower_bound()),
            FLOPS_PERCENT => share_text(row.flops_percent, false),
            _ => text,
        }
    }

    /// Returns false if the column would show nothing useful in this report.
    fn is_shown(&self, report: &PerfReport) -> bool {
        match self.title {
            SUB_DEVICE => report.has_sub_devices(),
            AVAILABLE_CORES => report.has_available_cores(),
            _ => true,
        }
    }
}

/// Returns a total; tt-perf-report shows 0 for the sum of no values.
fn total(sum: Option<f64>, report: &PerfReport) -> Option<f64> {
    sum.or_else(|| report.is_upstream_exact.then_some(0.0))
}

fn with_unit(value: Option<f64>, decimals: usize, unit: &str) -> String {
    value.map_or_else(String::new, |value| format!("{} {unit}", grouped(value, decimals)))
}

/// Returns the share of a peak rate with its unit; empty if it is unknown.
fn share_text(percent: Option<f64>, is_lower_bound: bool) -> String {
    percent.map_or_else(String::new, |of| peak_share_text(of, is_lower_bound, " %"))
}

/// Marks a text as a lower bound, unless it is empty.
fn lower_bound(text: String, is_lower_bound: bool, report: &PerfReport) -> String {
    let is_marked = is_lower_bound && !text.is_empty() && !report.is_upstream_exact;
    format!("{}{text}", at_least(is_marked))
}

/// Returns how many of the counted ops are in a sum of times.
fn of_which_timed(count: u64, untimed_count: u64) -> String {
    match count.saturating_sub(untimed_count) {
        0 => "of which none has a duration".to_owned(),
        1 => "of which 1 has a duration".to_owned(),
        timed => format!("of which {timed} have a duration"),
    }
}

fn total_counts(report: &PerfReport) -> String {
    let totals = &report.totals;
    let untimed = totals.invalid_duration_count;
    let timed = match untimed {
        0 => String::new(),
        _ if report.is_upstream_exact => String::new(),
        _ => format!("{}, ", of_which_timed(totals.device_op_count, untimed)),
    };
    let hidden = match report.hidden_signpost_count {
        count if count > 0 && !report.is_upstream_exact => format!(", and {count} not shown"),
        _ => String::new(),
    };
    format!(
        "{} device ops, {timed}{} host ops, {} signposts{hidden}",
        totals.device_op_count, totals.host_op_count, totals.signpost_count
    )
}

/// A column of the table of iterations: its header, and the function that formats its cell for an
/// op.
type IterationColumn = (&'static str, fn(&OpStatistics) -> Cell);

const ITERATION_COLUMNS: [IterationColumn; 12] = [
    ("ID", |op| Cell::plain(op.first_id.to_string())),
    ("OP Code", |op| Cell::new(op.op_code.clone(), Some(op_colour(&op.op_code)))),
    ("Device", |op| Cell::plain(whole(op.device))),
    ("Count", |op| Cell::plain(op.device_time_us.count.to_string())),
    ("Mean", |op| figure(&op.device_time_us, 2, |time| Some(time.mean))),
    ("Std", |op| figure(&op.device_time_us, 2, |time| time.std)),
    ("Std %", |op| figure(&op.device_time_us, 1, Spread::std_percent)),
    ("Min", |op| figure(&op.device_time_us, 2, |time| Some(time.min))),
    ("Median", |op| figure(&op.device_time_us, 2, |time| Some(time.median))),
    ("Max", |op| figure(&op.device_time_us, 2, |time| Some(time.max))),
    ("First Gap", |op| {
        Cell::plain(op.first_gap_us.map_or_else(String::new, |gap| grouped(gap, 2)))
    }),
    ("Later Gaps, Median", |op| figure(&op.later_gaps_us, 2, |gap| Some(gap.median))),
];

/// Formats the statistic of measurements that `value` selects. The cell is empty if there are no
/// measurements.
fn figure(of: &Spread, decimals: usize, value: fn(&Spread) -> Option<f64>) -> Cell {
    let value = Some(of).filter(|of| of.count > 0).and_then(value);
    Cell::plain(value.map_or_else(String::new, |value| grouped(value, decimals)))
}
