//! `kprof programs`: which calls of ops built programs, which did so again, and why.

use super::{explain::ops_csv, perf};
use crate::{
    by_column::value_name,
    failure::{Failure, OrFail, failure, note},
    folders::{newest_recording, note_simulations},
    input::open_runs,
    layout::{row_limit, write_columns},
    numbers::{counted, grouped},
    output::print,
    progress::Busy,
    terminal::{LONGEST_NAME, printable},
};
use clap::Args;
use host_reader::{
    perf::{
        BuildSums, CallSite, PerfOptions, PerfReport, ProgramBuilds, RebuildReason, WindowOptions,
    },
    recording::newest_ops_csv,
};
use serde::Serialize;
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Show which calls of ops built programs, which did so again, and which of their arguments had
/// changed.
///
/// ttnn keeps the programs of ops in a cache. A call with other arguments builds another program, which
/// takes the host long, because kernels may have to be compiled. Calls are told apart by op, module
/// and line of Python, which `kprof record` keeps; without them, by op. docs/programs.md explains the
/// columns.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof programs generated/profiler
  kprof programs ops_perf_results_2026_01_30.csv --start-signpost warm
  kprof programs generated/profiler --json | jq '.sites[] | select(.rebuilt_count > 0)'

Exit code: 0; 1 if --fail-on-rebuild is given and a program was built again, or calls are unknown; 2 if
the input cannot be used.")]
pub(crate) struct ProgramsArgs {
    /// Ops CSV, capture, or folder with either. Default: as for `kprof explain`.
    #[arg(
        value_name = "INPUT",
        default_value_os_t = newest_recording(),
        hide_default_value = true
    )]
    input: PathBuf,
    /// Only calls after the first signpost with this name.
    #[arg(long, value_name = "NAME")]
    start_signpost: Option<String>,
    /// Only calls before the first signpost with this name.
    #[arg(long, value_name = "NAME")]
    end_signpost: Option<String>,
    /// Maximum number of rows in each table; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = row_limit)]
    rows: usize,
    /// Exit with code 1 if a call built a program although it had one.
    #[arg(long)]
    fail_on_rebuild: bool,
    /// Print JSON instead of tables: one object, or one line per run of a capture.
    #[arg(long)]
    json: bool,
}

/// What a recording says of programs.
#[derive(Serialize)]
struct Document<'a> {
    input: String,
    #[serde(flatten)]
    builds: &'a ProgramBuilds,
}

/// Reads the input and prints its calls.
pub(crate) fn run(args: &ProgramsArgs) -> Result<ExitCode, Failure> {
    note_simulations(&args.input);
    let mut has_failed = false;
    for report in reports(args)? {
        let builds = &report.builds;
        if !builds.are_known() {
            return Err(failure!(
                "{}: expected ops that say whether they found their program in the cache (PROGRAM CACHE \
                 HIT), found none among {}; `kprof record` of a ttnn from pip and ops reports of \
                 TT-Metal's host have it",
                args.input.display(),
                counted(builds.all.call_count, "call", "calls")
            ));
        }
        let document = Document { input: args.input.display().to_string(), builds };
        print(args.json.then_some(document), |out| {
            let is_part = args.start_signpost.is_some() || args.end_signpost.is_some();
            for note in report.notes.iter().filter(|_| is_part) {
                writeln!(out, "{note}")?;
            }
            write_builds(builds, args.rows, out)
        })?;
        let BuildSums { rebuilt_count, unplaced_count, unknown_count, .. } = builds.all;
        let is_unsure = unknown_count > 0 || unplaced_count > 0;
        if args.fail_on_rebuild && rebuilt_count == 0 && is_unsure {
            let unknown = [
                (unknown_count, ["call does not say", "calls do not say"]),
                (unplaced_count, ["call has no place", "calls have no place"]),
            ];
            let unknown = unknown.into_iter().filter(|(count, _)| *count > 0);
            let unknown: Vec<_> =
                unknown.map(|(count, [one, many])| counted(count, one, many)).collect();
            note!("whether a program was built again is unknown: {}", unknown.join(", "));
        }
        has_failed |= args.fail_on_rebuild && (rebuilt_count > 0 || is_unsure);
    }
    Ok(if has_failed { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Reads the ops report of an input, or makes one for each run of a capture.
fn reports(args: &ProgramsArgs) -> Result<Vec<PerfReport>, Failure> {
    let window =
        WindowOptions::between(args.start_signpost.as_deref(), args.end_signpost.as_deref());
    let options = PerfOptions { window, ..PerfOptions::default() };
    let input: &Path = &args.input;
    let csv = ops_csv(input).or_else(|| input.is_dir().then(|| newest_ops_csv(input)).flatten());
    if let Some(csv) = csv {
        let _busy = Busy::new(format!("reading {}", csv.display()));
        return Ok(vec![PerfReport::new(vec![perf::open(&csv, None)?], &options).or_fail()?]);
    }
    let runs = open_runs(input)?;
    let reports = runs.iter().map(|run| {
        let report = PerfReport::from_recording(run, None, &options);
        report.ok_or_else(|| {
            failure!(
                "{}: expected ops that the host described, found none; `kprof record` of a Python \
                 program records them",
                input.display()
            )
        })
    });
    reports.collect()
}

fn milliseconds(ns: Option<f64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.3}", ns / 1e6))
}

fn write_builds(builds: &ProgramBuilds, rows: usize, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", summary(&builds.all))?;
    if !builds.has_places {
        let unplaced = builds.all.unplaced_count;
        let are_first = match unplaced {
            0 => String::new(),
            _ => format!(
                ", so whether {} with new arguments built again is unknown",
                counted(unplaced, "call", "calls")
            ),
        };
        writeln!(out, "The places of calls are unknown{are_first}")?;
    }
    let built: Vec<&CallSite> =
        builds.sites.iter().filter(|site| site.sums.built_count > 0).collect();
    if built.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nPlaces whose calls built programs\n")?;
    write_columns!(&built, rows, out, |site| {
        let sums = &site.sums;
        "op" => printable(&site.op_code, LONGEST_NAME),
        "where" => place(site),
        "calls" => grouped(sums.call_count),
        "built" => grouped(sums.built_count),
        "again" => grouped(sums.rebuilt_count),
        "host ms" => milliseconds(sums.built_host_time_ns),
        "making ms" => milliseconds(sums.build_ns),
        "compiling ms" => milliseconds(sums.compile_ns),
    })?;
    write_rebuilds(&built, rows, out)
}

/// Returns the sentence about all calls.
fn summary(all: &BuildSums) -> String {
    let found = all.call_count - all.built_count - all.unknown_count;
    let mut text = format!(
        "{}: {} found their program in the cache, {} built one",
        counted(all.call_count, "call", "calls"),
        grouped(found),
        grouped(all.built_count)
    );
    if all.rebuilt_count > 0 {
        text += &format!(", {} of them again", grouped(all.rebuilt_count));
    }
    if all.unknown_count > 0 {
        text += &format!(", {} unknown", grouped(all.unknown_count));
    }
    if let (Some(built), Some(host)) = (all.built_host_time_ns, all.host_time_ns) {
        let [built, host] = [built, host].map(|ns| milliseconds(Some(ns)));
        text +=
            &format!("\nCalls that built programs took {built} of the host's {host} ms in calls");
        if let Some(compile) = all.compile_ns {
            text += &format!(", of which {} ms for kernels", milliseconds(Some(compile)));
        }
        let missing = [
            (all.without_host_time_count, "no host time"),
            (all.without_compile_count, "no time for kernels"),
        ];
        for (count, what) in missing.into_iter().filter(|(count, _)| *count > 0) {
            text += &format!("; {what}: {}", counted(count, "call", "calls"));
        }
    }
    text
}

/// Returns the place of calls: the line, and the module if it is known.
fn place(site: &CallSite) -> String {
    let location = site.location.as_deref().map(|of| value_name(Some(of), 0, "location"));
    let module = site.module.as_deref().map(|of| printable(of, LONGEST_NAME));
    match (location, module) {
        (Some(location), Some(module)) => format!("{location}, {module}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => "-".to_owned(),
    }
}

/// Rebuilds of a place for the same reason.
struct Rebuilds<'a> {
    site: &'a CallSite,
    count: u64,
    first_row_id: u64,
    compared_row_id: u64,
    reason: &'a RebuildReason,
}

/// Maximum number of characters of a reason, which may name several arguments.
const LONGEST_REASON: usize = 300;

fn write_rebuilds(sites: &[&CallSite], rows: usize, out: &mut impl Write) -> io::Result<()> {
    let mut found: Vec<Rebuilds<'_>> = Vec::new();
    for site in sites {
        let first = found.len();
        for rebuild in &site.rebuilds {
            let known = found[first..].iter_mut();
            let mut known = known.filter(|of| of.reason.is_like(&rebuild.reason));
            match known.next() {
                Some(same) => same.count += 1,
                None => found.push(Rebuilds {
                    site,
                    count: 1,
                    first_row_id: rebuild.row_id,
                    compared_row_id: rebuild.compared_row_id,
                    reason: &rebuild.reason,
                }),
            }
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nBuilt again\n")?;
    for of in found.iter().take(rows) {
        let op = printable(&of.site.op_code, LONGEST_NAME);
        let reason = printable(&of.reason.to_string(), LONGEST_REASON);
        let which = match of.count {
            1 => format!("row {}", of.first_row_id),
            count => format!("{} x, first row {}", grouped(count), of.first_row_id),
        };
        writeln!(out, "  {op} at {}", place(of.site))?;
        writeln!(out, "    {which}, against row {}: {reason}", of.compared_row_id)?;
    }
    match found.len().saturating_sub(rows) {
        0 => Ok(()),
        more => writeln!(out, "  {} more, which --rows 0 shows", grouped(more as u64)),
    }
}
