//! Report on ops CSVs: the rows of files, with sums, a summary and advice.

use super::{
    advice::{Advice, FIRST_CALL_US, matmul_advice},
    arch::{ArchTable, MathFidelity},
    category::OpCategory,
    chip::{ChipFacts, UnknownArch, chip_facts},
    devices::{join_files, merge_devices},
    iterations::Iterations,
    joined_runs::note_joined_runs,
    latency::{fill_latencies, remove_contradicted},
    model::{ModelContext, UNKNOWN_SHAPE},
    no_room::mark_ops_without_room,
    op::{DurationDoubt, OpReport, RowKind, analyse, duration_doubt, kind_of},
    ops_csv::{OpsCsv, read_ops_csv_with},
    programs::{AllCalls, ProgramBuilds},
    queue::fill_queued,
    row::OpRow,
    side_by_side::{SideBySide, side_by_side},
    signposts::{SIGNPOST, name_signposts},
    spread::sum_of,
    stacked::{StackBy, StackedOps, stack},
    text_pool::TextPool,
    titles::{KERNEL_DURATION, KernelColumn, OpsCsvFormat, find_title},
    tried_changes::mark_tried_changes,
    window::{WindowOptions, cut_window, hide_signposts},
};
use crate::{
    problem::{Position, Problem, ProblemLog, quoted},
    report::{OpsOptions, OpsReport, ReportFiles},
};
use analysis::MOST_PERCENT;
use rayon::prelude::*;
use reader::packed_bytes::PackedError;
use recording::{PackedRecording, Recording, TraceFilter, UnreplayedTrace};
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    ops::RangeInclusive,
    sync::Arc,
};
use wire::RunHostId;

/// Options of a report.
#[derive(Clone, Debug, Default)]
pub struct PerfOptions {
    /// Signposts between which rows are reported.
    pub window: WindowOptions,
    /// Ids of the rows in the report. Sums cover only these rows.
    pub id_range: Option<RangeInclusive<u64>>,
    /// Devices and ops whose rows are in the report. The filter's other keys, such as `risc`, are
    /// ignored.
    pub filter: TraceFilter,
    /// Name of the architecture. If given, it is used instead of the architecture in the files.
    pub arch: Option<String>,
    /// Known architectures.
    pub arch_table: ArchTable,
    /// True to keep the rows in the order of the files instead of sorting them by host start. This
    /// is recommended for rows of replayed traces.
    pub keeps_file_order: bool,
    /// True to leave out host ops.
    pub leaves_out_host_ops: bool,
    /// True to report each device separately, false to merge the rows of an op that ran on several
    /// devices.
    pub is_by_device: bool,
    /// Grouping of ops in the summary.
    pub stack_by: StackBy,
    /// Number of active experts for each group of inputs of a sparse matmul.
    pub active_experts: Option<u64>,
    /// True to reproduce the known bugs of tt-perf-report 1.4.1 for comparisons.
    pub is_upstream_exact: bool,
}

/// Sums over all rows of a report.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Totals {
    /// Number of ops on devices.
    pub device_op_count: u64,
    /// Number of ops on the host.
    pub host_op_count: u64,
    /// Number of signposts among the rows.
    pub signpost_count: u64,
    /// Sum of device times. Overlapping times are counted several times. `None` if none is known.
    pub device_time_us: Option<f64>,
    /// Sum of the gaps before ops; `None` if none is known.
    pub op_to_op_gap_us: Option<f64>,
    /// Modelled DRAM traffic divided by the sum of device times, in 10^9 bytes per second. Times of ops that ran at
    /// the same time count once; `None` if the traffic is then more than the chip can move, so that some model
    /// is wrong.
    pub dram_gb_per_s: Option<f64>,
    /// Mean of the ops' DRAM bandwidth in percent, weighted by device time, under the same conditions. Ops without
    /// modelled bytes count as 0 %.
    pub dram_percent: Option<f64>,
    /// True if the two DRAM figures are lower bounds, because not all bytes of all ops are known.
    pub is_dram_lower_bound: bool,
    /// Number of device ops with a missing or impossible duration. They are not included in any
    /// sum.
    pub invalid_duration_count: u64,
}

/// Report on the rows of one or several ops CSVs.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PerfReport {
    /// Names of the files.
    pub files: Vec<String>,
    /// Headers of the files' columns, each once.
    #[serde(skip)]
    pub titles: Vec<Arc<str>>,
    /// Newest format version among the files.
    pub format: OpsCsvFormat,
    /// Assumptions about the chip.
    pub chip: ChipFacts,
    /// Notes for the user, in the order in which they arose: assumptions of the report, and
    /// warnings.
    pub notes: Vec<String>,
    /// Problems found while reading the files.
    pub problems: Vec<Problem>,
    /// Traces that were captured and never replayed.
    pub unreplayed_traces: Vec<UnreplayedTrace>,
    /// Number of lines without any usable content.
    pub skipped_line_count: u64,
    /// True if each device is reported separately.
    pub is_by_device: bool,
    /// True if the known bugs of tt-perf-report are reproduced, and no column is shown that it does
    /// not show.
    #[serde(skip)]
    pub is_upstream_exact: bool,
    /// Column with the kernel durations of ops, that of the file that comes closest to what is expected.
    #[serde(skip)]
    pub kernel_column: KernelColumn,
    /// True if the files have no gaps, so that those of the rows go from firmware to firmware. Gaps of files go from
    /// kernels to kernels.
    #[serde(skip)]
    pub has_firmware_gaps: bool,
    /// True if any file holds the rows of several runs, as a problem says.
    #[serde(skip)]
    pub has_joined_runs: bool,
    /// True if any row lacks a global call count.
    pub is_call_count_missing: bool,
    /// Rows of the report.
    pub rows: Vec<OpReport>,
    /// Sums over the rows.
    pub totals: Totals,
    /// Summary by kind of op.
    pub stacked: Vec<StackedOps>,
    /// Optimisation advice.
    pub advice: Advice,
    /// Number of signposts in the window that are not among the rows.
    #[serde(skip)]
    pub hidden_signpost_count: u64,
    /// Statistics of each op over repeated iterations.
    pub iterations: Iterations,
    /// What the cycles of each device say about ops at the same time, with all ops of the window;
    /// devices without cycles of each op are left out.
    pub side_by_side: Vec<SideBySide>,
    /// Calls of the window's ops, and the programs that they built.
    #[serde(skip)]
    pub builds: ProgramBuilds,
}

impl PerfReport {
    /// Returns the notes about signposts that choose the rows; none if `window` leaves signposts out of account.
    pub fn window_notes(&self, window: &WindowOptions) -> impl Iterator<Item = &str> {
        let notes = self.notes.iter().filter(|_| !window.ignores_signposts);
        notes.map(String::as_str).filter(|note| note.contains("signpost"))
    }

    /// Analyses the rows of files. Each file belongs to a different host.
    ///
    /// ```
    /// use reports::perf::{read_ops_csv, PerfOptions, PerfReport};
    /// let text = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns]
    /// Tilize,tt_dnn_device,0,1500
    /// Softmax,tt_dnn_device,0,500
    /// ";
    /// let csv = read_ops_csv(text.as_bytes(), "ops.csv")?;
    /// let report = PerfReport::new(vec![csv], &PerfOptions::default())?;
    /// assert_eq!(report.rows[0].total_percent, Some(75.0));
    /// assert_eq!(report.stacked[1].op_code, "Softmax");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the requested architecture is not in the table.
    pub fn new(mut files: Vec<OpsCsv>, options: &PerfOptions) -> Result<Self, UnknownArch> {
        let mut notes = Vec::new();
        let is_exact = options.is_upstream_exact;
        let asked = options.arch.as_deref();
        let chip = chip_facts(&mut files, asked, &options.arch_table, is_exact, &mut notes)?;
        let mut rows = join_files(&mut files, &mut notes);
        let is_call_count_missing =
            rows.iter().any(|row| super::cell::is_blank(&row.global_call_count));
        let has_joined_runs = !is_exact && note_joined_runs(&rows, &mut files);
        // Two runs have no common order but that of the file.
        if !options.keeps_file_order && !has_joined_runs {
            rows.sort_by(compare_starts);
        }
        name_signposts(&mut rows);
        let has_firmware_gaps = !is_exact && fill_times(&mut rows, &mut notes);
        // A trace may be captured in the window and replayed after it.
        let unreplayed_traces = unreplayed_traces(&rows);
        notes.extend(unreplayed_traces.iter().map(ToString::to_string));
        let all_calls = AllCalls::new(&rows);
        let (mut rows, hidden_signpost_count) = selected_rows(rows, options, &mut notes);
        let side_by_side = side_by_side(&rows);
        let builds = all_calls.within(&rows);
        let devices: BTreeSet<u64> = rows.iter().filter_map(|row| row.device).collect();
        let is_by_device = options.is_by_device;
        if !is_by_device && !devices.is_empty() {
            rows = merge_devices(rows, is_exact, &mut notes);
        }
        let columns = files.iter().map(|file| file.kernel_column.clone());
        let kernel_column = columns.max().unwrap_or_default();
        let mut problems = ProblemLog::default();
        let files_read: Vec<String> = files.iter().map(|file| file.file.clone()).collect();
        let titles = titles_of(&files);
        let format = files.iter().map(|file| file.format).max().unwrap_or(OpsCsvFormat::V1);
        let skipped_line_count = files.iter().map(|file| file.skipped_line_count).sum();
        files.into_iter().for_each(|file| problems.append(file.problems));
        note_unmodelled(&rows, &files_read, &mut problems);
        if !is_exact {
            remove_contradicted(&mut rows, &files_read, &mut problems);
            note_doubted(&rows, &files_read, &mut problems);
        }
        // The first row of a range counts as having no previous row, so it has no gap.
        rows.retain(|row| options.id_range.as_ref().is_none_or(|range| range.contains(&row.id)));
        let mut rows = analyse_rows(rows, &chip, options);
        rows.retain(|row| !(options.leaves_out_host_ops && row.kind == RowKind::Host));
        add_total_percents(&mut rows, is_exact);
        note_rows(&rows, &mut notes);
        let mut stacked = stack(&rows, (options.stack_by, is_exact), is_by_device);
        // If each device is reported separately, tt-perf-report groups by device, and drops rows
        // without a device.
        stacked.retain(|ops| !(is_exact && is_by_device && ops.device.is_none()));
        Ok(Self {
            files: files_read,
            titles,
            format,
            chip,
            notes,
            problems: problems.kept().to_vec(),
            unreplayed_traces,
            skipped_line_count,
            is_by_device,
            is_upstream_exact: is_exact,
            kernel_column,
            has_firmware_gaps,
            has_joined_runs,
            is_call_count_missing,
            totals: Totals::new(&rows, shared_us(&side_by_side, is_by_device, is_exact)),
            hidden_signpost_count,
            stacked,
            advice: Advice::new(&rows, is_exact),
            iterations: Iterations::new(&rows),
            side_by_side,
            builds,
            rows,
        })
    }

    /// Analyses the ops of a recording by its ops report, whose column `by` is kept; `None` if the
    /// host described no op, or if the architecture is unknown.
    #[must_use]
    pub fn from_recording(
        recording: &Recording,
        by: Option<&str>,
        options: &PerfOptions,
    ) -> Option<Self> {
        let files = OpsOptions { files: ReportFiles::Ops, ..OpsOptions::default() };
        Self::from_ops_report(&OpsReport::from_recording(recording, &files), by, options)
    }

    /// Analyses the ops of a packed log, as [`Self::from_recording`] does.
    ///
    /// # Errors
    /// If packed records cannot be read back from the temporary file.
    pub fn from_packed(
        packed: &PackedRecording,
        by: Option<&str>,
        options: &PerfOptions,
    ) -> Result<Option<Self>, PackedError> {
        Ok(Self::from_ops_report(&OpsReport::from_packed(packed)?, by, options))
    }

    fn from_ops_report(
        report: &OpsReport,
        by: Option<&str>,
        options: &PerfOptions,
    ) -> Option<Self> {
        let csv = read_ops_csv_with(report.ops_csv.as_bytes(), "the ops report", by).ok()?;
        Self::new(vec![csv], options).ok()
    }

    /// Returns the header of the column that a user means by `asked`, as [`OpsCsv::column`] does. If a
    /// signpost precedes any op, there is a column `SIGNPOST`, too.
    #[must_use]
    pub fn column(&self, asked: &str) -> Option<Arc<str>> {
        let has_signposts = self.rows.iter().any(|row| row.signpost.is_some());
        let signpost = || find_title(&[SIGNPOST.into()], asked).filter(|_| has_signposts);
        find_title(&self.titles, asked).or_else(signpost)
    }

    /// Returns the headers of the columns that no report of TT-Metal has and that are not blank in
    /// every row.
    #[must_use]
    pub fn other_columns(&self) -> Vec<Arc<str>> {
        let filled: BTreeSet<&Arc<str>> =
            self.rows.iter().flat_map(|row| row.others.iter().map(|(title, _)| title)).collect();
        self.titles.iter().filter(|title| filled.contains(title)).cloned().collect()
    }

    /// Returns true if any row names its sub-device.
    #[must_use]
    pub fn has_sub_devices(&self) -> bool {
        self.rows.iter().any(|row| row.sub_device.is_some())
    }

    /// Returns true if any row names its sub-device, or if the number of available cores differs
    /// between rows.
    #[must_use]
    pub fn has_available_cores(&self) -> bool {
        let counts = self.rows.iter().filter(|row| row.kind == RowKind::Device);
        let counts: BTreeSet<_> = counts.filter_map(|row| row.available_core_count).collect();
        self.has_sub_devices() || counts.len() > 1
    }
}

/// Returns the headers of the files' columns, each once.
fn titles_of(files: &[OpsCsv]) -> Vec<Arc<str>> {
    let mut titles: Vec<Arc<str>> = Vec::new();
    for title in files.iter().flat_map(|file| &file.titles) {
        if !titles.contains(title) {
            titles.push(Arc::clone(title));
        }
    }
    titles
}

/// Returns the traces of which no row was replayed and no row has a duration.
fn unreplayed_traces(rows: &[OpRow]) -> Vec<UnreplayedTrace> {
    let mut counts: BTreeMap<_, Option<u64>> = BTreeMap::new();
    for row in rows {
        let Some(trace_id) = row.trace_id else { continue };
        let count = counts.entry((row.device, trace_id)).or_insert(Some(0));
        *count = count.filter(|_| row.is_captured()).map(|count| count.saturating_add(1));
    }
    let traces = counts.into_iter().filter_map(|((chip_id, trace_id), count)| {
        Some(UnreplayedTrace { chip_id, trace_id, op_count: count? })
    });
    traces.collect()
}

/// Marks the first op with each name, tensors and attributes.
fn mark_first_calls(rows: &mut [OpRow]) {
    // Most files have no gap that could be that of a first call.
    let is_long = |row: &OpRow| row.op_to_op_latency_ns.is_some_and(|ns| ns > FIRST_CALL_US * 1e3);
    if !rows.iter().any(is_long) {
        return;
    }
    let mut known = HashSet::new();
    for row in rows.iter_mut().filter(|row| row.is_device_op()) {
        // Each device runs the program of a call of the host.
        let key = (row.device, Arc::clone(&row.op_code), row.source(), Arc::clone(&row.attributes));
        row.is_first_call = known.insert(key);
    }
}

/// Compares the times at which the host started two ops. Rows without a start sort last.
fn compare_starts(one: &OpRow, other: &OpRow) -> std::cmp::Ordering {
    match (one.host_start_ns, other.host_start_ns) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        (one, other) => one.is_none().cmp(&other.is_none()),
    }
}

/// Minimum number of rows in one piece of parallel work.
const ROWS_AT_ONCE: usize = 256;

fn analyse_rows(rows: Vec<OpRow>, chip: &ChipFacts, options: &PerfOptions) -> Vec<OpReport> {
    let context = ModelContext {
        arch: chip.arch.as_ref(),
        active_experts: options.active_experts,
        is_upstream_exact: options.is_upstream_exact,
        duration_ns: None,
    };
    // The first op of each device has no previous op. tt-perf-report uses an op of another device
    // instead.
    let is_by_device = options.is_by_device && !options.is_upstream_exact;
    let mut previous = BTreeMap::new();
    let before = rows.iter().map(|row| {
        let of = row.device.filter(|_| is_by_device);
        let before: Option<bool> = previous.get(&of).copied();
        let is_of_device = kind_of(row, options.is_upstream_exact) == RowKind::Device;
        // An op on the host between two ops of a device leaves the gap between these.
        if is_of_device || options.is_upstream_exact && !row.is_signpost() {
            previous.insert(of, duration_doubt(row, options.is_upstream_exact).is_some());
        }
        before
    });
    let before: Vec<_> = before.collect();
    let rows = rows.into_par_iter().zip(before).with_min_len(ROWS_AT_ONCE);
    let analysed = rows.map_init(TextPool::default, |texts, (row, before)| {
        analyse(row, before, chip.worker_core_count, context, texts)
    });
    let mut rows: Vec<OpReport> = analysed.collect();
    if !options.is_upstream_exact {
        mark_tried_changes(&mut rows);
    }
    rows.par_iter_mut().with_min_len(ROWS_AT_ONCE).for_each(|row| {
        // Nobody knows how long an op without a duration takes, or no chip ran it.
        let is_timed = row.device_time_us.is_some() || options.is_upstream_exact;
        if row.is_matmul() && row.kind == RowKind::Device && is_timed {
            row.advice = Some(matmul_advice(row, options.is_upstream_exact));
        }
    });
    rows
}

/// Returns the rows of the window that are selected, and the number of signposts among them that are not
/// shown.
fn selected_rows(
    mut rows: Vec<OpRow>,
    options: &PerfOptions,
    notes: &mut Vec<String>,
) -> (Vec<OpRow>, u64) {
    // An op before the window may have had its first call there.
    mark_first_calls(&mut rows);
    let mut rows = cut_window(rows, &options.window, options.is_upstream_exact, notes);
    let hidden_signpost_count = hide_signposts(&mut rows, &options.window);
    retain_wanted(&mut rows, &options.filter, notes);
    (rows, hidden_signpost_count)
}

/// Removes the rows of devices and ops that are not selected. Signposts are kept.
fn retain_wanted(rows: &mut Vec<OpRow>, filter: &TraceFilter, notes: &mut Vec<String>) {
    if filter.is_empty() {
        return;
    }
    let count = rows.len();
    rows.retain(|row| {
        let device = row.device.map(|device| u32::try_from(device).unwrap_or(u32::MAX));
        let id = row.global_call_count.trim().parse().map_or(0, |id| RunHostId(id).base());
        row.is_signpost()
            || device.is_none_or(|device| filter.selects_device(device))
                && filter.selects_op(id, Some(&row.op_code))
    });
    notes.push(format!("Rows filtered out: {}", count.saturating_sub(rows.len())));
}

/// Adds a problem for each matrix product with an unknown fidelity, because such an op has no
/// percentage of the peak FLOPs. A product without shapes has none anyway.
fn note_unmodelled(rows: &[OpRow], files: &[String], problems: &mut ProblemLog) {
    for row in rows.iter().filter(|row| {
        ["Matmul", "OptimizedConvNew", "Conv2d"].iter().any(|name| row.op_code.contains(name))
    }) {
        let is_bare = row.math_fidelity.is_empty()
            && row.inputs.iter().all(|tensor| tensor.datatype.is_none());
        if MathFidelity::from_name(&row.math_fidelity).is_none() && !is_bare {
            let file = files.get(row.file).map_or("", String::as_str);
            let place = Position { file, line: row.line, column: "MATH FIDELITY" };
            let found = quoted(&row.math_fidelity);
            problems.add_deviation(
                place,
                "LoFi, HiFi2, HiFi3 or HiFi4",
                &found,
                "the op has no FLOPs %",
            );
        }
    }
}

/// Adds a problem for each row with a duration that cannot be right, because the op is in no sum.
fn note_doubted(rows: &[OpRow], files: &[String], problems: &mut ProblemLog) {
    for row in rows.iter().filter(|row| !row.is_signpost()) {
        let Some(duration) = row.kernel_duration_ns else { continue };
        let expected = match duration_doubt(row, false) {
            Some(DurationDoubt::LongerThanFirmware(ns)) => {
                format!("a kernel within its firmware, which takes {ns} ns")
            }
            Some(DurationDoubt::BeginsBefore(ns)) => {
                format!("an op that begins less than {ns} ns before the previous one ends")
            }
            Some(DurationDoubt::Negative) => "a duration from 0 on".to_owned(),
            Some(DurationDoubt::NegativeCycle) => "an op whose cycles are from 0 on".to_owned(),
            Some(DurationDoubt::NoRoom(of)) => {
                let why = of.core_counts.map_or_else(
                    || "both had the whole device".to_owned(),
                    |(used, available)| format!("both together run on {used} of {available} cores"),
                );
                format!(
                    "an op that, by its cycles, leaves row {} room on the device: {why}",
                    of.beside_row_id
                )
            }
            Some(DurationDoubt::Missing | DurationDoubt::Unreadable) | None => continue,
        };
        let file = files.get(row.file).map_or("", String::as_str);
        let place = Position { file, line: row.line, column: KERNEL_DURATION };
        let found = format!("{duration} ns");
        problems.add_deviation(place, &expected, &found, "the op is in no sum");
    }
}

/// Adds each row's share of the time. An op without a duration has none, though its gap may be known.
fn add_total_percents(rows: &mut [OpReport], is_upstream_exact: bool) {
    let times = sum_of(rows.iter().filter_map(|row| row.device_time_us));
    let gaps = sum_of(rows.iter().filter_map(|row| row.op_to_op_gap_us));
    let total = times + gaps;
    for row in rows {
        let is_hole = row.kind == RowKind::Device && row.device_time_us.is_none();
        let is_known = total > 0.0 && (is_upstream_exact || !is_hole);
        row.total_percent = row.total_us().filter(|_| is_known).map(|us| us / total * 100.0);
    }
}

fn note_rows(rows: &[OpReport], notes: &mut Vec<String>) {
    let unknown: BTreeSet<&str> = rows
        .iter()
        .filter(|row| row.category == Some(OpCategory::Other))
        .filter_map(|row| row.raw_op_code.split_whitespace().next())
        .collect();
    for op_code in unknown {
        notes
            .push(format!("Warning: {} is in no category; it counts as Other", shortened(op_code)));
    }
    let mut note = |is_odd: fn(&OpReport) -> bool, what: &str, [of_one, of_many]: [&str; 2]| {
        let mut counts: Vec<(&str, u64)> = Vec::new();
        for row in rows.iter().filter(|row| is_odd(row)) {
            let name = row.raw_op_code.as_ref();
            match counts.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count = count.saturating_add(1),
                None => counts.push((name, 1)),
            }
        }
        let text = match &counts[..] {
            [] => return,
            [(name, 1)] => format!("{}: {of_one}", shortened(name)),
            _ => {
                let all: u64 = counts.iter().map(|(_, count)| count).sum();
                format!("{all} {what}: {of_many} ({})", names_of(&counts))
            }
        };
        notes.push(format!("Warning: {text}"));
    };
    let effect = ["no usable duration; it is in no sum", "no usable duration; they are in no sum"];
    note(|row| row.duration_doubt.is_some() && !row.is_captured, "device ops", effect);
    let effect = "it is not known how much was active; pass --active-experts";
    note(|row| row.is_active_unknown, "sparse matmuls", [effect; 2]);
    let effect =
        "the model exceeds a peak rate of the chip, so it is wrong: its figures are left out";
    note(|row| row.is_model_refuted, "ops", [effect; 2]);
    let effect = "the model comes to more than 100 % of a peak rate, within its error of 5 %: read \
                  it as 100 %";
    note(OpReport::is_over_peak, "ops", [effect; 2]);
    let effect =
        ["a shape is missing; it is not modelled", "a shape is missing; they are not modelled"];
    note(|row| row.op_code.ends_with(UNKNOWN_SHAPE), "matmuls or convolutions", effect);
}

/// Maximum number of op codes that a note names.
const NAMED_OPS: usize = 3;

/// Returns the names of ops with their numbers: `Matmul, Slice (9 times) and 2 others`.
fn names_of(counts: &[(&str, u64)]) -> String {
    let named = counts.iter().take(NAMED_OPS).map(|(name, count)| match count {
        1 => shortened(name),
        _ => format!("{} ({count} times)", shortened(name)),
    });
    let named = named.collect::<Vec<_>>().join(", ");
    match counts.len().saturating_sub(NAMED_OPS) {
        0 => named,
        1 => format!("{named} and another"),
        others => format!("{named} and {others} others"),
    }
}

fn shortened(op_code: &str) -> String {
    op_code.chars().take(80).collect()
}

/// Adds what the cycles of rows tell beyond their columns: gaps, how long ops had been called, and contradictions.
/// Returns true if gaps are those of firmware.
fn fill_times(rows: &mut [OpRow], notes: &mut Vec<String>) -> bool {
    let has_firmware_gaps = fill_latencies(rows, notes);
    fill_queued(rows);
    mark_ops_without_room(rows);
    has_firmware_gaps
}

/// Returns the time that the sum of device times counts more than once, in us.
fn shared_us(side_by_side: &[SideBySide], is_by_device: bool, is_upstream_exact: bool) -> f64 {
    let shared = side_by_side
        .iter()
        .filter(|of| of.op_count > 0 && !is_upstream_exact)
        .map(|of| of.op_time_us - of.busy_us);
    match is_by_device {
        true => shared.fold(0.0, |sum, us| sum + us),
        false => shared.fold(0.0, f64::max),
    }
}

impl Totals {
    fn new(rows: &[OpReport], shared_us: f64) -> Self {
        let [device_op_count, host_op_count, signpost_count] =
            [RowKind::Device, RowKind::Host, RowKind::Signpost]
                .map(|kind| rows.iter().filter(|row| row.kind == kind).count() as u64);
        let sum = |of: fn(&OpReport) -> Option<f64>| sum_of(rows.iter().filter_map(of));
        let known = |of: fn(&OpReport) -> Option<f64>| {
            rows.iter().any(|row| of(row).is_some()).then(|| sum(of))
        };
        let (device_time_us, bytes) = (sum(|row| row.device_time_us), sum(|row| row.dram_bytes));
        let weighted = sum(|row| Some(row.dram_percent? * row.device_time_us?));
        let busy_us = device_time_us - shared_us;
        let has_dram = bytes > 0.0 && busy_us > 0.0;
        let dram_percent = (has_dram && weighted > 0.0).then(|| weighted / busy_us);
        // No op alone exceeds the peak: those models are refuted.
        let is_possible = shared_us <= 0.0 || dram_percent.is_none_or(|of| of <= MOST_PERCENT);
        Self {
            device_op_count,
            host_op_count,
            signpost_count,
            device_time_us: known(|row| row.device_time_us),
            op_to_op_gap_us: known(|row| row.op_to_op_gap_us),
            dram_gb_per_s: (has_dram && is_possible).then(|| bytes / (busy_us * 1e-6) / 1e9),
            dram_percent: dram_percent.filter(|_| is_possible),
            is_dram_lower_bound: rows
                .iter()
                .any(|row| row.device_time_us.is_some() && row.is_dram_lower_bound()),
            invalid_duration_count: rows.iter().filter(|row| row.duration_doubt.is_some()).count()
                as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::read_ops_csv;

    fn gaps(options: &PerfOptions) -> Vec<Option<f64>> {
        let text = "OP CODE,OP TYPE,DEVICE ID,HOST START TS,DEVICE KERNEL DURATION [ns],\
            OP TO OP LATENCY [ns]\n\
            A,tt_dnn_device,0,1,1500,0\nA,tt_dnn_device,1,2,1600,0\n\
            B,tt_dnn_device,0,3,500,2000\nB,tt_dnn_device,1,4,600,3000\n";
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        let report = PerfReport::new(vec![csv], options).unwrap();
        report.rows.iter().map(|row| row.op_to_op_gap_us).collect()
    }

    /// tt-perf-report 1.4.1 leaves `(torch)` out of the summary if each device is reported
    /// separately.
    #[test]
    fn the_exact_summary_by_device_has_no_ops_of_the_host() {
        let text = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns]\n\
            A,tt_dnn_device,0,1500\n(torch) add,python_fallback,,\n";
        let names = |options: &PerfOptions| {
            let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
            let report = PerfReport::new(vec![csv], options).unwrap();
            report.stacked.into_iter().map(|ops| ops.op_code).collect::<Vec<_>>()
        };
        let exact = PerfOptions { is_upstream_exact: true, ..PerfOptions::default() };
        let by_device = PerfOptions { is_by_device: true, ..PerfOptions::default() };
        assert_eq!(names(&exact), ["A", "(torch)"]);
        assert_eq!(names(&by_device), ["A", "(torch) add"]);
        assert_eq!(names(&PerfOptions { is_by_device: true, ..exact }), ["A"]);
    }

    #[test]
    fn the_first_op_of_each_device_has_no_gap() {
        let by_device = PerfOptions { is_by_device: true, ..PerfOptions::default() };
        assert_eq!(gaps(&by_device), [None, None, Some(2.0), Some(3.0)]);
        let exact = PerfOptions { is_upstream_exact: true, ..by_device };
        assert_eq!(gaps(&exact), [None, Some(0.0), Some(2.0), Some(3.0)]);
        // Merged rows have the gap of the slowest device.
        assert_eq!(gaps(&PerfOptions::default()), [None, Some(3.0)]);
    }

    /// Two ops of 1 us at the same time on a Blackhole (512 GB/s), each with input and output of 2 bytes an element.
    #[test]
    fn ops_at_the_same_time_share_the_dram() {
        let totals = |width: u64| {
            let tensor = |name: &str| {
                ["W", "Z", "Y", "X", "LAYOUT", "DATATYPE", "MEMORY"]
                    .map(|of| format!(",{name}_0_{of}"))
                    .concat()
            };
            let titles = "OP CODE,OP TYPE,DEVICE ID,DEVICE FW START CYCLE,DEVICE FW END CYCLE,\
                DEVICE KERNEL DURATION [ns],DEVICE FW DURATION [ns],DEVICE ARCH";
            let shape = format!(",1,1,32,{width},TILE,BFLOAT16,DEV_0_DRAM_INTERLEAVED");
            let row = format!(
                "UnaryDeviceOperation,tt_dnn_device,0,10000,11350,1000,1000,blackhole{shape}{shape}\n"
            );
            let text = format!("{titles}{}{}\n{row}{row}", tensor("INPUT"), tensor("OUTPUT"));
            let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
            let report = PerfReport::new(vec![csv], &PerfOptions::default()).unwrap();
            (report.totals.dram_gb_per_s.map(f64::round), report.totals.device_time_us)
        };
        // 32 x 1280 x 2 bytes twice an op: 328 GB in a second in all. Sums of times count each op in full.
        assert_eq!(totals(1280), (Some(328.0), Some(2.0)));
        // 656 GB are more than the chip moves in a second.
        assert_eq!(totals(2560), (None, Some(2.0)));
    }
}
