//! `kprof perf`: shows figures of each op in an ops CSV, and advice.

use crate::{
    by_column::{no_such_column, write_by_column},
    failure::{Failure, OrFail, failure, note, refuse_input_as_output},
    file_kind::{self, OPS, STANDARD_INPUT},
    input::joined,
    layout::row_limit,
    numbers::counted,
    output::print,
    progress::Busy,
    terminal::has_no_color,
};
use clap::{Args, ValueEnum};
use host_reader::{
    export::{CancelFlag, Destination, TraceFilter, write_atomically},
    perf::{
        ArchTable, CsvOptions, OpsByColumn, OpsCsv, Palette, PerfOptions, PerfReport, StackBy,
        TableOptions, WindowOptions, ops_by_column, peak_share_text, read_ops_csv_with,
        write_ops_csv, write_stacked_csv, write_stacked_picture, write_table,
    },
    recording::{device_perf_report, newest_ops_csv, other_ops_csvs},
};
use serde::Serialize;
use std::{
    fs::File,
    io::{IsTerminal, Read, Write},
    num::NonZeroU64,
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

/// Show for each op of an ops CSV how long it took, what limits it, and advice.
///
/// Reads ops_perf_results*.csv of any generation, one file per host, and the
/// cpp_device_perf_report.csv of TT-Metal's host, which has no shapes. The same op on several
/// devices is shown as one row, with the time of the slowest device, or with the mean of all
/// devices if the op is a collective. The throughput of matmuls and convolutions is compared with
/// the architecture's peak.
///
/// Figures and options equal those of tt-perf-report 1.4.1, without its bugs: the size of block
/// floats includes their exponents, an architecture that is not named is inferred from the clock,
/// and the report is not empty if the last row is a signpost.
///
/// Unreadable rows are skipped and listed with line and column; exit code 2 means that a file
/// has no usable row.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  Table, advice and summary:
    kprof perf ops_perf_results_2026_01_30.csv
  Only what ran between two signposts, without advice:
    kprof perf ops.csv --start-signpost start --end-signpost stop --no-advice
  Four hosts of a mesh, each device on its own:
    kprof perf host0.csv host1.csv host2.csv host3.csv --no-merge-devices
  The matmuls of two of the devices:
    kprof perf ops.csv --no-merge-devices --filter device=0,1,op=Matmul*
  Rows 31 and later as CSV, and the summary as ops_stacked.csv:
    kprof perf ops.csv --id-range 31- --csv ops_report.csv
  Variation of each op over the iterations of a model:
    kprof perf ops.csv --iterations --no-advice
  Time of each module of a model that `kprof record` has run, and of each location of a compiler:
    kprof perf ops.csv --by module
    kprof perf ops.csv --by LOC
  The five ops with the longest device time:
    kprof perf ops.csv --json | jq '[.rows[]] | sort_by(-.device_time_us)[:5]'")]
pub(crate) struct PerfArgs {
    /// Ops CSVs, one for each host; - is standard input. Of a folder that contains reports/, the
    /// newest ops CSV is read.
    #[arg(value_name = "CSV", required = true)]
    csv_files: Vec<PathBuf>,
    #[command(flatten)]
    rows: RowArgs,
    #[command(flatten)]
    chip: ChipArgs,
    #[command(flatten)]
    look: LookArgs,
    #[command(flatten)]
    files: FileArgs,
}

/// Row selection.
#[derive(Args, Debug)]
#[command(next_help_heading = "Rows")]
struct RowArgs {
    /// Begin after the first signpost with this name.
    #[arg(long, alias = "signpost", value_name = "NAME")]
    start_signpost: Option<String>,
    /// End before the first signpost with this name. If --start-signpost has the same name, end
    /// before the second one.
    #[arg(long, value_name = "NAME")]
    end_signpost: Option<String>,
    /// Use all rows and ignore signposts. Without this option, and if no signpost is named, only
    /// the rows after a signpost are used: the first one with the same name as the file's last
    /// signpost.
    #[arg(long)]
    ignore_signposts: bool,
    /// Keep the signposts among the selected rows as rows.
    #[arg(long)]
    print_signposts: bool,
    /// Only rows with these ids: 5-10, 31- or -12.
    #[arg(long, value_name = "A-B", value_parser = parse_id_range, allow_hyphen_values = true)]
    id_range: Option<RangeInclusive<u64>>,
    /// Only rows of these devices and ops, such as `device=0..3,op=Matmul*`; repeat to add terms.
    #[arg(long = "filter", value_name = "TERMS")]
    filters: Vec<TraceFilter>,
    /// Keep the order of the file, as replayed traces require, instead of sorting by HOST START TS.
    #[arg(long)]
    tracing_mode: bool,
    /// Leave out ops that ran on the host.
    #[arg(long)]
    no_host_ops: bool,
    /// Do not merge the rows of different devices.
    #[arg(long)]
    no_merge_devices: bool,
}

/// Peak figures of the chip.
#[derive(Args, Debug)]
#[command(next_help_heading = "Chip")]
struct ChipArgs {
    /// Architecture, instead of the one in the ops CSV: wormhole, blackhole (p150), p100, bh20, n1,
    /// or one of --arch-table.
    #[arg(long, value_name = "NAME")]
    arch: Option<String>,
    /// CSV with your own architectures: name, aliases (separated by spaces), worker cores, cores of
    /// a DRAM-sharded matmul, DRAM GB/s, TFLOPs per core at HiFi4, HiFi3, HiFi2 and LoFi.
    #[arg(long, value_name = "FILE")]
    arch_table: Option<PathBuf>,
    /// Number of active experts for each group of inputs of a SparseMatmul; used if the op's
    /// attributes do not contain `nnz`.
    #[arg(long, value_name = "N")]
    active_experts: Option<NonZeroU64>,
    /// Reproduce the known bugs of tt-perf-report 1.4.1, for comparison with it.
    #[arg(long)]
    upstream_exact: bool,
}

/// Table layout.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
struct LookArgs {
    /// Show rows in grey if their share of the total time is smaller than this percentage.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.5)]
    min_percentage: f64,
    /// Use colour even when not writing to a terminal.
    #[arg(long)]
    color: bool,
    /// Disable colour; overrides --color. NO_COLOR in the environment does the same.
    #[arg(long)]
    no_color: bool,
    /// Omit the advice.
    #[arg(long)]
    no_advice: bool,
    /// Omit the summary.
    #[arg(long, alias = "no-stacked-report")]
    no_summary: bool,
    /// Show the ops grouped by a column instead of one by one: a column of the CSV, such as LOC or
    /// "OP CODE", signpost (the last one before the op, or the innermost range, from `ZS name` to
    /// `ZE name`, or from `PREFIX_START name` to `PREFIX_END name`), or module, function or location, which `kprof record` keeps of a Python program.
    /// Modules are shown as a tree.
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,
    /// Maximum number of groups with --by; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = row_limit, requires = "by")]
    rows: usize,
    /// Grouping of the summary.
    #[arg(long, value_enum, default_value = "memory")]
    group_by: GroupBy,
    /// Same as --group-by op; ignored with --upstream-exact.
    #[arg(long, hide = true)]
    no_stack_by_in0: bool,
    /// In pictures, give each op the next colour of a fixed sequence. Without this option, the ops
    /// of a category have shades of one colour.
    #[arg(long)]
    classic_colors: bool,
    /// Show each op over the repeated iterations of the model: replays of a trace, or repetitions
    /// of the same sequence of ops.
    #[arg(long)]
    iterations: bool,
    /// Print one JSON object instead of tables.
    #[arg(long, conflicts_with = "csv")]
    json: bool,
}

/// Output files.
#[derive(Args, Debug)]
#[command(next_help_heading = "Files")]
struct FileArgs {
    /// Write the ops to this CSV instead of showing tables. Also write the summary to
    /// FILE_stacked.csv, and a picture of it to FILE_stacked.svg.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// With --csv, add a column of op codes without shapes.
    #[arg(long)]
    raw_op_codes: bool,
    /// Write the summary to BASE.csv and, as a picture, to BASE.svg.
    #[arg(long, value_name = "BASE")]
    summary_file: Option<PathBuf>,
    /// Old name of --summary-file.
    #[arg(long, value_name = "BASE", hide = true)]
    stacked_csv: Option<PathBuf>,
}

/// Grouping of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GroupBy {
    /// Ops of one name.
    Op,
    /// Ops that have the same name, and whose first inputs are in the same kind of memory.
    Memory,
    /// Ops of one category.
    Category,
}

/// Reads the CSVs, analyses them and prints the result.
pub(crate) fn run(args: &PerfArgs) -> Result<(), Failure> {
    let busy = Busy::new("reading ops");
    let by = args.look.by.as_deref();
    let files = args.csv_files.iter().map(|path| open(path, by));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let report = PerfReport::new(files, &options(args)?);
    drop(busy);
    let report = report.or_fail()?;
    let by = by.map(|by| by_column(&report, by)).transpose()?;
    if let Some(path) = &args.files.csv {
        refuse_input_as_output(&args.csv_files, path)?;
        write_csv(args, path, &report)?;
    } else {
        let document = Document { report: &report, by: by.as_ref() };
        print(args.look.json.then_some(document), |out| match &by {
            None => write_table(&report, table_options(args), out),
            Some(by) => {
                report.notes.iter().try_for_each(|note| writeln!(out, "{note}"))?;
                write_by_column(by, args.look.rows, out)?;
                report.problems.iter().try_for_each(|problem| writeln!(out, "{problem}"))
            }
        })?;
    }
    write_summary_file(args, &report)
}

/// The report, and the ops by the column that `--by` names.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    report: &'a PerfReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a OpsByColumn>,
}

/// Groups the ops of a report by the column that a user means by `asked`.
fn by_column(report: &PerfReport, asked: &str) -> Result<OpsByColumn, Failure> {
    let column = report.column(asked);
    let column =
        column.ok_or_else(|| no_such_column(asked, &report.titles, &report.files.join(", ")))?;
    Ok(ops_by_column(&report.rows, &column))
}

/// Tells that a folder has other ops CSVs than the one that is read.
pub(super) fn note_others(csv: &Path) {
    let count = other_ops_csvs(csv);
    if count > 0 {
        let others = counted(count as u64, "other ops CSV", "other ops CSVs");
        let folder = csv.parent().unwrap_or(csv).display();
        note!("{others} in {folder} not read; name a file to read it");
    }
}

/// Reads an ops CSV or, if the path is a folder, the newest ops CSV in it. A folder without one may
/// have TT-Metal's report on the device. The cells of the column that a user means by `by` are kept.
pub(crate) fn open(path: &Path, by: Option<&str>) -> Result<OpsCsv, Failure> {
    let newest = match path.is_dir() {
        true => newest_ops_csv(path).or_else(|| device_perf_report(path)),
        false => Some(path.to_owned()),
    };
    let found = newest.as_deref().unwrap_or(path);
    if found != path {
        note!("reading {}", found.display());
        note_others(found);
    }
    if found == Path::new("-") {
        let mut input = std::io::stdin().lock();
        let head = file_kind::head(&mut input).or_fail()?;
        let csv = read_ops_csv_with((&*head).chain(input), STANDARD_INPUT, by).or_fail();
        return csv.map_err(|failure| OPS.instead_of_stream(&head, failure)).and_then(with_rows);
    }
    read(found, by).map_err(|failure| OPS.instead(found, failure)).and_then(with_rows)
}

/// Returns an error if a file has no row that can be used.
fn with_rows(csv: OpsCsv) -> Result<OpsCsv, Failure> {
    if !csv.rows.is_empty() {
        return Ok(csv);
    }
    Err(match csv.skipped_line_count {
        0 => failure!("{}: expected rows of ops after the titles, found none", csv.file),
        count => {
            let why = csv.problems.kept().first().map(|of| format!("; {of}")).unwrap_or_default();
            let lines = counted(count, "unreadable line", "unreadable lines");
            failure!("{}: expected rows of ops after the titles, found {lines}{why}", csv.file)
        }
    })
}

fn read(path: &Path, by: Option<&str>) -> Result<OpsCsv, Failure> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| failure!("cannot open {name}: {error}"))?;
    read_ops_csv_with(file, &name, by).or_fail()
}

fn options(args: &PerfArgs) -> Result<PerfOptions, Failure> {
    let rows = &args.rows;
    // Groups by signpost are of all signposts, unless some are named.
    let is_by_signpost =
        args.look.by.as_deref().is_some_and(|by| by.eq_ignore_ascii_case("signpost"));
    let is_named = rows.start_signpost.is_some() || rows.end_signpost.is_some();
    Ok(PerfOptions {
        window: WindowOptions {
            start_signpost: rows.start_signpost.clone(),
            end_signpost: rows.end_signpost.clone(),
            ignores_signposts: rows.ignore_signposts || is_by_signpost && !is_named,
            keeps_signposts: rows.print_signposts,
        },
        id_range: rows.id_range.clone(),
        filter: filter(&rows.filters)?,
        arch: args.chip.arch.clone(),
        arch_table: arch_table(args.chip.arch_table.as_deref())?,
        keeps_file_order: rows.tracing_mode,
        leaves_out_host_ops: rows.no_host_ops,
        is_by_device: rows.no_merge_devices,
        stack_by: stack_by(args),
        active_experts: args.chip.active_experts.map(NonZeroU64::get),
        is_upstream_exact: args.chip.upstream_exact,
    })
}

/// Joins the filters. Returns an error if a filter uses a key other than `device` and `op`, because
/// an ops CSV has no data for other keys.
pub(crate) fn filter(filters: &[TraceFilter]) -> Result<TraceFilter, Failure> {
    let filter = joined(filters);
    match filter.keys_besides(&["device", "op"]).first() {
        None => Ok(filter),
        Some(key) => Err(failure!(
            "expected --filter with device or op as the key, found {key}; windows are chosen by \
             --start-signpost, --end-signpost and --id-range"
        )),
    }
}

fn arch_table(path: Option<&Path>) -> Result<ArchTable, Failure> {
    let Some(path) = path else { return Ok(ArchTable::default()) };
    let text = std::fs::read_to_string(path).or_fail_at(path)?;
    let own = ArchTable::parse(&text).or_fail_at(path)?;
    Ok(ArchTable::default().overridden_by(own))
}

const fn stack_by(args: &PerfArgs) -> StackBy {
    match args.look.group_by {
        // tt-perf-report accepts `--no-stack-by-in0` and ignores it.
        GroupBy::Memory if args.look.no_stack_by_in0 && !args.chip.upstream_exact => StackBy::Op,
        GroupBy::Op => StackBy::Op,
        GroupBy::Memory => StackBy::Memory,
        GroupBy::Category => StackBy::Category,
    }
}

fn table_options(args: &PerfArgs) -> TableOptions {
    let look = &args.look;
    TableOptions {
        is_coloured: !look.no_color
            && (look.color || (std::io::stdout().is_terminal() && !has_no_color())),
        min_percentage: look.min_percentage,
        has_advice: !look.no_advice,
        summary: (!look.no_summary).then(|| stack_by(args)),
        has_iterations: look.iterations,
    }
}

/// Writes the CSV, and prints warnings to standard error.
fn write_csv(args: &PerfArgs, path: &Path, report: &PerfReport) -> Result<(), Failure> {
    let options = CsvOptions {
        has_advice: !args.look.no_advice,
        has_raw_op_codes: args.files.raw_op_codes,
        is_upstream_exact: args.chip.upstream_exact,
    };
    write_file(path, |out| write_ops_csv(report, options, out))?;
    for note in &report.notes {
        note!("{note}");
    }
    for problem in &report.problems {
        note!("{problem}");
    }
    if report.skipped_line_count > 0 {
        note!("Lines left out: {}", report.skipped_line_count);
    }
    if let Some((percent, speed)) = report.totals.dram_percent.zip(report.totals.dram_gb_per_s) {
        let is_bound = report.totals.is_dram_lower_bound && !report.is_upstream_exact;
        let (least, share) =
            (if is_bound { ">= " } else { "" }, peak_share_text(percent, is_bound, " %"));
        note!("DRAM of all ops: {share} ({least}{speed:.0} GB/s)");
    }
    let is_elsewhere = args.files.summary_file.is_some() || args.files.stacked_csv.is_some();
    if args.look.no_summary || is_elsewhere {
        return Ok(());
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push("_stacked");
    write_summary(args, &path.with_file_name(name), report)
}

fn write_summary_file(args: &PerfArgs, report: &PerfReport) -> Result<(), Failure> {
    let base = args.files.summary_file.as_ref().or(args.files.stacked_csv.as_ref());
    let Some(base) = base.filter(|_| !args.look.no_summary) else { return Ok(()) };
    write_summary(args, base, report)
}

/// Writes the summary to BASE.csv and BASE.svg.
fn write_summary(args: &PerfArgs, base: &Path, report: &PerfReport) -> Result<(), Failure> {
    write_file(&with_ending(base, ".csv"), |out| write_stacked_csv(report, stack_by(args), out))?;
    let palette = if args.look.classic_colors { Palette::Classic } else { Palette::Category };
    write_file(&with_ending(base, ".svg"), |out| write_stacked_picture(report, palette, out))
}

/// Appends an ending to a path. An existing extension is kept before the ending.
fn with_ending(base: &Path, ending: &str) -> PathBuf {
    let mut path = base.to_owned().into_os_string();
    path.push(ending);
    PathBuf::from(path)
}

fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Failure> {
    write_atomically(&Destination::from(path), &CancelFlag::default(), write).or_fail()
}

fn parse_id_range(text: &str) -> Result<RangeInclusive<u64>, String> {
    id_range(&text.replace([',', ' '], ""))
        .ok_or_else(|| format!("expected 5-10, 31- or -12, found `{text}`"))
}

fn id_range(plain: &str) -> Option<RangeInclusive<u64>> {
    match plain.split_once('-')? {
        ("", "") => None,
        (first, "") => Some(first.parse().ok()?..=u64::MAX),
        ("", last) => Some(0..=last.parse().ok()?),
        (first, last) => Some(first.parse().ok()?..=last.parse().ok()?),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_id_range;

    #[test]
    fn id_ranges_may_be_open_on_one_side() {
        assert_eq!(parse_id_range("5-10").unwrap(), 5..=10);
        assert_eq!(parse_id_range("1,031-").unwrap(), 1031..=u64::MAX);
        assert_eq!(parse_id_range("-12").unwrap(), 0..=12);
        for refused in ["", "-", "5", "a-b", "1-2-3"] {
            assert!(parse_id_range(refused).is_err(), "{refused}");
        }
    }
}
