//! `kprof lines`: where the cycles of kernels went in their source.

use crate::{
    command::{callers::ProgramCallers, table_file::read_table},
    failure::{Failure, OrFail, failure},
    layout::{row_limit, write_columns},
    numbers::grouped,
    output::print,
};
use clap::Args;
use host_reader::{
    lines::{
        Callers, Ranked, RankedSamples, beside_recording, by_function, by_line, read_csv,
        samples_beside_recording, write_folded, write_pprof,
    },
    tables::{LineRow, Lines, Rows, SampleShare},
};
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};
#[cfg(feature = "mcp")]
use std::{sync::OnceLock, time::SystemTime};

/// Show where the cycles of kernels went: lines of source, then functions, then modules of the model
/// that called the ops.
///
/// The input comes from `kprof run`, `kprof capture` or `kprof record --simulate CHIP`, each with
/// `--lines`, or from `kprof record --sample`. See docs/lines.md.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof lines generated/kprof
  kprof lines matmul.kprof --risc NCRISC --source
  kprof lines generated/profiler --module Model.layers.0.attention
  kprof lines generated/kprof -o profile.pb.gz && go tool pprof -top profile.pb.gz")]
pub(crate) struct LinesArgs {
    /// Folder of a run, capture, or file with the table `lines`.
    #[arg(value_name = "INPUT")]
    pub(crate) input: PathBuf,
    /// Only ops or programs with this text in their name.
    #[arg(long, value_name = "NAME")]
    pub(crate) op: Option<String>,
    /// Only ops that this module of a model, or one within it, has called, such as
    /// `Model.layers.0`. The input must be a recording of `kprof record`.
    #[arg(long, value_name = "PATH")]
    pub(crate) module: Option<String>,
    /// Only this RISC: BRISC, NCRISC or TRISC_0 to TRISC_2.
    #[arg(long, value_name = "RISC")]
    pub(crate) risc: Option<String>,
    /// Also show lines of the firmware.
    #[arg(long)]
    pub(crate) firmware: bool,
    /// Show sampled lines if the input has exact ones, too.
    #[arg(long)]
    pub(crate) sampled: bool,
    /// Print the source files with the cycles of each line instead of tables.
    #[arg(long)]
    pub(crate) source: bool,
    /// Folder with the source files, in place of the folder FROM in their paths.
    #[arg(long, value_name = "FROM=TO", value_parser = folders, requires = "source")]
    pub(crate) source_dir: Vec<(PathBuf, PathBuf)>,
    /// File to write: `.pb.gz` for pprof, `.folded` for folded stacks.
    #[arg(short, long, value_name = "FILE", conflicts_with = "source")]
    pub(crate) output: Option<PathBuf>,
    /// Number of rows in each table; 0 shows all.
    #[arg(long, value_name = "N", default_value = "10", value_parser = row_limit)]
    pub(crate) rows: usize,
    /// Print the rows of the table `lines` as JSON instead of tables.
    #[arg(long, conflicts_with_all = ["source", "output"])]
    pub(crate) json: bool,
}

/// Parses `FROM=TO`.
fn folders(text: &str) -> Result<(PathBuf, PathBuf), String> {
    let parts = text.split_once('=').filter(|(_, to)| !to.is_empty());
    let (from, to) = parts.ok_or_else(|| "expected FROM=TO, such as /build=/home/me".to_owned())?;
    Ok((from.into(), to.into()))
}

#[derive(Serialize)]
struct Document<'a> {
    lines: Rows<'a, Lines>,
}

/// Reads the table and prints or writes it.
pub(crate) fn run(args: &LinesArgs) -> Result<(), Failure> {
    let mut rows = rows(args)?;
    let callers = ProgramCallers::of_recording(&args.input)?;
    if let Some(module) = &args.module {
        retain_module(&mut rows, module, &callers)?;
    }
    if let Some(path) = &args.output {
        return export(&rows, &callers, path);
    }
    if args.source {
        return print(None::<()>, |out| write_sources(&rows, args, out));
    }
    if args.json {
        let document = Document { lines: Rows(rows) };
        return print(Some(&document), |_| Ok(()));
    }
    print(None::<()>, |out| write_tables(&rows, &callers, args, out))
}

/// Leaves the rows of the ops that a module or a module within it has called.
fn retain_module(
    rows: &mut Vec<LineRow>,
    wanted: &str,
    callers: &ProgramCallers,
) -> Result<(), Failure> {
    let is_within = |row: &LineRow| {
        let inner = callers.module(row).and_then(|module| module.strip_prefix(wanted));
        inner.is_some_and(|inner| inner.is_empty() || inner.starts_with(['.', '[']))
    };
    if !rows.iter().any(is_within) {
        let modules: BTreeSet<&str> = rows.iter().filter_map(|row| callers.module(row)).collect();
        if modules.is_empty() {
            return Err(failure!(
                "expected ops with modules, found none; `kprof record` of a Python program keeps them, and \
                 INPUT must be the recording"
            ));
        }
        let named = modules.iter().take(NAMED_MODULES).copied().collect::<Vec<_>>().join(", ");
        let others = match modules.len().saturating_sub(NAMED_MODULES) {
            0 => String::new(),
            rest => format!(" and {rest} more"),
        };
        return Err(failure!("expected the module `{wanted}`, found {named}{others}"));
    }
    rows.retain(is_within);
    Ok(())
}

/// Maximum number of modules that the sentence on a missing one names.
const NAMED_MODULES: usize = 20;

/// Reads the rows that the options choose.
fn rows(args: &LinesArgs) -> Result<Vec<LineRow>, Failure> {
    let is_recording =
        args.input.is_dir() || args.input.extension().is_some_and(|of| of == "kprof");
    let path = match (is_recording, args.sampled) {
        (true, true) => samples_beside_recording(&args.input),
        (true, false) => {
            existing_table(&args.input).unwrap_or_else(|| beside_recording(&args.input))
        }
        (false, _) => args.input.clone(),
    };
    // A file that cannot be read in spite of this has a sentence of its own.
    if let Err(error) = fs::metadata(&path) {
        return Err(failure!(
            "expected the table of lines in {}: {error}; run the kernels with \
             `kprof run --lines`, or a program with `kprof record --simulate CHIP` and --lines or \
             --sample",
            path.display()
        ));
    }
    let mut rows = read_table(&path, read_csv)?;
    if args.sampled && rows.iter().any(|row| row.samples.is_none()) {
        return Err(failure!(
            "expected sampled lines in {}, found exact ones; omit --sampled",
            path.display()
        ));
    }
    if let Some(risc) = &args.risc {
        check(risc, "RISC", rows.iter().map(|row| row.risc.as_str()))?;
        rows.retain(|row| row.risc == *risc);
    }
    if let Some(op) = &args.op {
        let is_op = |row: &LineRow| row.op.as_ref().is_some_and(|name| name.contains(op));
        if !rows.iter().any(is_op) {
            check(op, "op", rows.iter().filter_map(|row| row.op.as_deref()))?;
        }
        rows.retain(is_op);
    }
    Ok(rows)
}

/// Reads the table that belongs to a recording, the exact one if there are both; `None` if there is
/// none.
pub(super) fn lines_of_recording(recording: &Path) -> Result<Option<Vec<LineRow>>, Failure> {
    existing_table(recording).map(|path| read_table(&path, read_csv)).transpose()
}

/// Returns the path of the table that belongs to a recording, the exact one if there are both.
fn existing_table(recording: &Path) -> Option<PathBuf> {
    let both = [beside_recording(recording), samples_beside_recording(recording)];
    both.into_iter().find(|path| path.is_file())
}

/// The table that belongs to a recording, which is read when it is needed: it may be larger than the
/// recording.
#[cfg(feature = "mcp")]
pub(super) struct LazyLines {
    path: PathBuf,
    /// Size and time of the file that belongs to the recording; `None` if there is none.
    file: Option<(u64, Option<SystemTime>)>,
    rows: OnceLock<Vec<LineRow>>,
}

#[cfg(feature = "mcp")]
impl LazyLines {
    /// Remembers which file belongs to a recording.
    pub(super) fn of_recording(recording: &Path) -> Self {
        let path = existing_table(recording).unwrap_or_else(|| beside_recording(recording));
        Self { file: file_identity(&path), path, rows: OnceLock::new() }
    }

    /// Returns all readable rows; `None` if no table belongs to the recording.
    ///
    /// # Errors
    /// If the file cannot be read, or is not the one that belongs to the recording.
    pub(super) fn rows(&self) -> Result<Option<&[LineRow]>, Failure> {
        if self.file.is_none() {
            return Ok(None);
        }
        if let Some(rows) = self.rows.get() {
            return Ok(Some(rows));
        }
        if self.file != file_identity(&self.path) {
            return Err(failure!(
                "expected the table of lines that belongs to the loaded recording in {}, found another \
                 file or none; load the recording again",
                self.path.display()
            ));
        }
        let rows = read_table(&self.path, read_csv)?;
        Ok(Some(self.rows.get_or_init(|| rows)))
    }
}

/// Returns the size of a file and the time of its last change.
#[cfg(feature = "mcp")]
fn file_identity(path: &Path) -> Option<(u64, Option<SystemTime>)> {
    let file = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((file.len(), file.modified().ok()))
}

/// Returns an error if a value is not among those that were found.
fn check<'a>(
    wanted: &str,
    what: &str,
    found: impl Iterator<Item = &'a str>,
) -> Result<(), Failure> {
    let found: BTreeSet<&str> = found.collect();
    if found.contains(wanted) {
        return Ok(());
    }
    let found: Vec<_> = found.into_iter().collect();
    Err(failure!("expected the {what} `{wanted}`, found {}", found.join(", ")))
}

fn export(rows: &[LineRow], callers: &ProgramCallers, path: &Path) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let write = if name.ends_with(".pb.gz") {
        write_pprof as fn(&[LineRow], &Callers<'_>, &mut dyn Write) -> io::Result<()>
    } else if name.ends_with(".folded") {
        write_folded
    } else {
        return Err(failure!(
            "expected a file that ends in .pb.gz (pprof) or .folded, found {}",
            path.display()
        ));
    };
    let mut out = BufWriter::new(File::create(path).or_fail_at(path)?);
    write(rows, &|row| callers.of(row), &mut out).and_then(|()| out.flush()).or_fail_at(path)
}

fn total(rows: &[LineRow]) -> u64 {
    rows.iter().fold(0, |sum, row| sum.saturating_add(row.weight()))
}

/// Returns true if rows are samples and no counts.
pub(super) fn is_sampled(rows: &[LineRow]) -> bool {
    rows.iter().any(|row| row.samples.is_some())
}

/// Returns what [`LineRow::weight`] counts in these rows.
fn unit(rows: &[LineRow]) -> &'static str {
    if is_sampled(rows) { "samples" } else { "cycles" }
}

/// Samples of each RISC in all rows, which are the whole of its shares.
struct RiscTotals(BTreeMap<String, u64>);

impl RiscTotals {
    fn new(rows: &[LineRow]) -> Self {
        let mut totals = BTreeMap::new();
        for row in rows {
            let total = totals.entry(row.risc.clone()).or_insert(0_u64);
            *total = total.saturating_add(row.weight());
        }
        Self(totals)
    }

    /// Returns the share of a line in the samples of its RISC.
    fn share(&self, risc: &str, samples: RankedSamples) -> Option<SampleShare> {
        let whole = *self.0.get(risc)?;
        // Programs without samples of the line make its share smaller, not less certain.
        SampleShare::new(samples.count, whole, samples.effective)
    }
}

/// Returns a share with its interval, in percent.
pub(super) fn share_text(share: Option<SampleShare>) -> String {
    share.map_or_else(String::new, |SampleShare { share, low, high }| {
        format!("{:.1} % ({:.1} to {:.1})", share * 100.0, low * 100.0, high * 100.0)
    })
}

pub(super) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        "0 %".to_owned()
    } else {
        format!("{:.1} %", part as f64 * 100.0 / whole as f64)
    }
}

fn write_tables(
    rows: &[LineRow],
    callers: &ProgramCallers,
    args: &LinesArgs,
    out: &mut impl Write,
) -> io::Result<()> {
    let (firmware, shown): (Vec<LineRow>, Vec<LineRow>) =
        rows.iter().cloned().partition(|row| row.code == "firmware" && !args.firmware);
    let whole = total(rows);
    let (unit, totals, is_sampled) = (unit(rows), RiscTotals::new(rows), is_sampled(rows));
    if is_sampled {
        writeln!(
            out,
            "{} samples of all RISCs; shares are estimates of the RISC's time, with their 95 % \
             intervals\n",
            grouped(whole)
        )?;
    } else {
        writeln!(out, "{} cycles of all RISCs; percentages are of these\n", grouped(whole))?;
    }
    for (title, ranked) in [("Lines", by_line(&shown)), ("\nFunctions", by_function(&shown))] {
        writeln!(out, "{title}")?;
        if is_sampled {
            write_sampled(&ranked, &totals, args.rows, out)?;
        } else {
            write_ranked(&ranked, whole, args.rows, out)?;
        }
    }
    write_modules(&shown, callers, (whole, args.rows), out)?;
    if !firmware.is_empty() {
        let weight = total(&firmware);
        writeln!(
            out,
            "\nFirmware: {} {unit} ({}), not in the tables; --firmware shows it",
            grouped(weight),
            percent(weight, whole)
        )?;
    }
    Ok(())
}

fn write_sampled(
    ranked: &[Ranked],
    totals: &RiscTotals,
    rows: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let sampled: Vec<_> = ranked.iter().filter_map(|one| Some((one, one.samples?))).collect();
    write_columns!(sampled, rows, out, |(one, samples)| {
        "samples" => grouped(samples.count),
        "share of RISC" => share_text(totals.share(&one.risc, samples)),
        "RISC" => one.risc,
        "where" => place(one),
        "name" => without_arguments(&one.function),
        "kind" => one.code,
        "state" => sampled_state(samples),
    })
}

/// A module, what its lines take together, and the line that takes most.
struct ModuleLine {
    module: String,
    weight: u64,
    line: Ranked,
}

/// Writes the line of each module that takes most. Writes nothing if no module is known.
fn write_modules(
    rows: &[LineRow],
    callers: &ProgramCallers,
    (whole, limit): (u64, usize),
    out: &mut impl Write,
) -> io::Result<()> {
    let mut modules: BTreeMap<Option<&str>, Vec<LineRow>> = BTreeMap::new();
    for row in rows {
        modules.entry(callers.module(row)).or_default().push(row.clone());
    }
    if modules.keys().all(Option::is_none) {
        return Ok(());
    }
    let lines = modules.into_iter().filter_map(|(module, rows)| {
        let module = module.map_or_else(|| "(module unknown)".to_owned(), str::to_owned);
        Some(ModuleLine { module, weight: total(&rows), line: by_line(&rows).into_iter().next()? })
    });
    let mut lines: Vec<ModuleLine> = lines.collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.weight));
    writeln!(out, "\nModules, each with the line that takes most")?;
    if is_sampled(rows) {
        // Shares are known of RISCs, and not of modules.
        return write_columns!(lines, limit, out, |one| {
            "samples" => grouped(one.weight),
            "module" => one.module,
            "of its busiest line" => grouped(one.line.weight()),
            "RISC" => one.line.risc,
            "where" => place(&one.line),
            "name" => without_arguments(&one.line.function),
        });
    }
    write_columns!(lines, limit, out, |one| {
        "cycles" => grouped(one.weight),
        "share" => percent(one.weight, whole),
        "module" => one.module,
        "of its busiest line" => percent(one.line.weight(), one.weight),
        "RISC" => one.line.risc,
        "where" => place(&one.line),
        "name" => without_arguments(&one.line.function),
        "cause" => cause(&one.line),
    })
}

/// Returns what the RISC mainly did in the samples of a line.
fn sampled_state(samples: RankedSamples) -> String {
    let issued = samples.count.saturating_sub(samples.waiting).saturating_sub(samples.empty);
    let states = [("executes", issued), ("waits", samples.waiting), ("fetches", samples.empty)];
    let most = states.iter().max_by_key(|(_, count)| *count);
    most.map_or_else(String::new, |(name, count)| {
        format!("{name} {}", percent(*count, samples.count))
    })
}

fn write_ranked(
    ranked: &[Ranked],
    whole: u64,
    rows: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    write_columns!(ranked, rows, out, |one| {
        "cycles" => grouped(one.total_cycles()),
        "share" => percent(one.total_cycles(), whole),
        "instructions" => grouped(one.instructions),
        "RISC" => one.risc,
        "where" => place(one),
        "name" => without_arguments(&one.function),
        "kind" => one.code,
        "cause" => cause(one),
    })
}

/// Returns a function's name without its arguments.
pub(super) fn without_arguments(function: &str) -> &str {
    match function.split_once('(') {
        Some((name, _)) if !name.is_empty() => name,
        _ => function,
    }
}

pub(super) fn place(one: &Ranked) -> String {
    short_place(one.file.as_deref(), one.line)
}

/// Returns the name of a file without its folder, and the line.
pub(super) fn short_place(file: Option<&str>, line: Option<u32>) -> String {
    let Some(file) = file else { return "?".to_owned() };
    let name = Path::new(file)
        .file_name()
        .map_or_else(|| file.to_owned(), |name| name.to_string_lossy().into_owned());
    line.map_or(name.clone(), |line| format!("{name}:{line}"))
}

/// Names of the reasons for cycles, in the order of the columns.
const REASONS: [&str; host_reader::tables::REASONS] = [
    "issue",
    "arithmetic",
    "load from private RAM",
    "load from L1",
    "load from a register",
    "store queue",
    "branch",
    "instruction cache",
    "L1 port",
    "stopped",
];

/// Returns what a line mainly waits for: the object of its polling loops, or the largest reason.
pub(super) fn cause(one: &Ranked) -> String {
    if let Some(samples) = one.samples {
        return sampled_state(samples);
    }
    if let Some((object, _)) = one.main_wait() {
        return format!("waits for {object}");
    }
    let (reason, cycles) = main_reason(one);
    format!("{reason} {}", percent(cycles, one.total_cycles()))
}

/// Returns the reason for most cycles, and their number.
pub(super) fn main_reason(one: &Ranked) -> (&'static str, u64) {
    let all = REASONS.iter().zip(one.cycles);
    all.max_by_key(|(_, cycles)| *cycles).map_or(("", 0), |(reason, cycles)| (*reason, cycles))
}

/// Writes each source file with the cycles of its lines; lines without cycles are shown near those
/// that have some.
fn write_sources(rows: &[LineRow], args: &LinesArgs, out: &mut impl Write) -> io::Result<()> {
    let (whole, unit) = (total(rows), unit(rows));
    let mut files: BTreeMap<&str, BTreeMap<u32, u64>> = BTreeMap::new();
    let mut unknown = 0_u64;
    for row in rows.iter().filter(|row| args.firmware || row.code != "firmware") {
        match row.file.as_deref().zip(row.line) {
            Some((file, line)) => {
                *files.entry(file).or_default().entry(line).or_default() += row.weight();
            }
            None => unknown = unknown.saturating_add(row.weight()),
        }
    }
    let mut files: Vec<_> = files.into_iter().collect();
    files.sort_by_key(|(_, lines)| std::cmp::Reverse(lines.values().sum::<u64>()));
    for (file, lines) in files {
        let cycles: u64 = lines.values().sum();
        let share = percent(cycles, whole);
        writeln!(out, "{file}: {} {unit} ({share})", grouped(cycles))?;
        match source(file, &args.source_dir) {
            Ok(text) => write_source(&text, &lines, whole, out)?,
            Err(sentence) => {
                writeln!(out, "  {sentence}")?;
                for (line, cycles) in &lines {
                    writeln!(
                        out,
                        "{:>14} {:>7} {line:>6}",
                        grouped(*cycles),
                        percent(*cycles, whole)
                    )?;
                }
            }
        }
        writeln!(out)?;
    }
    if unknown > 0 {
        let share = percent(unknown, whole);
        writeln!(out, "{} {unit} ({share}) have no known line", grouped(unknown))?;
    }
    Ok(())
}

/// Number of lines without cycles that are shown before and after a line with cycles.
const CONTEXT_LINES: u32 = 2;

fn write_source(
    text: &str,
    lines: &BTreeMap<u32, u64>,
    whole: u64,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut last = 0;
    for (number, code) in (1_u32..).zip(text.lines()) {
        let near = number.saturating_sub(CONTEXT_LINES)..=number.saturating_add(CONTEXT_LINES);
        if lines.range(near).next().is_none() {
            continue;
        }
        if last + 1 != number && last != 0 {
            writeln!(out, "{:>14} {:>7} {:>6}", "", "", "...")?;
        }
        last = number;
        let (cycles, share) = match lines.get(&number) {
            Some(&cycles) => (grouped(cycles), percent(cycles, whole)),
            None => (String::new(), String::new()),
        };
        writeln!(out, "{cycles:>14} {share:>7} {number:>6}  {code}")?;
    }
    let beyond: Vec<_> =
        lines.keys().filter(|&&line| line as usize > text.lines().count()).collect();
    if let Some(line) = beyond.first() {
        writeln!(out, "  the file has no line {line}: it is not the one that was compiled")?;
    }
    Ok(())
}

/// Reads a source file; an error is one sentence.
fn source(file: &str, folders: &[(PathBuf, PathBuf)]) -> Result<String, String> {
    let path = Path::new(file);
    let mapped = folders.iter().find_map(|(from, to)| {
        let rest = path.strip_prefix(from).ok()?;
        Some(to.join(rest))
    });
    let path = mapped.unwrap_or_else(|| path.to_owned());
    fs::read_to_string(&path).map_err(|error| {
        format!(
            "cannot read {}: {error}; name its folder with --source-dir FROM=TO",
            path.display()
        )
    })
}
