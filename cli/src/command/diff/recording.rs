//! One input of a comparison: an ops CSV, the runs of a log or capture, or a log with the ops CSV of its folder.

use crate::{
    by_column::no_such_column,
    command::perf::{self, note_others},
    failure::{Failure, OrFail, failure, note},
    file_kind::{has_records, is_ops_csv},
    input::{Run, open_flat},
    memory::MemoryArgs,
    numbers::counted,
};
use host_reader::{
    analysis::{Op, ops_of},
    diff::Measurements,
    export::TraceFilter,
    perf::{
        OpReport, OpsByColumn, OpsCsv, PerfOptions, PerfReport, UnknownArch, WindowOptions,
        ops_by_column, read_ops_csv_with,
    },
    recording::{device_perf_report, newest_ops_csv},
    simulated_time::SimulatedTime,
};
use std::{collections::BTreeSet, fs::File, path::Path};

/// Content of one input file of the comparison.
pub(crate) enum Recording {
    Ops(Box<PerfReport>),
    Runs(Vec<Run>),
    /// A log, and the ops CSV in its folder, which names the log's ops.
    Described(Box<PerfReport>, Box<Run>),
}

impl Recording {
    /// Opens a file; `by` is the column of ops that is needed, and `window` the rows of an ops CSV.
    pub(crate) fn open(
        path: &Path,
        filters: &[TraceFilter],
        (memory, by, window): (&MemoryArgs, Option<&str>, &WindowOptions),
    ) -> Result<Self, Failure> {
        let csv_of_folder = || newest_ops_csv(path).or_else(|| device_perf_report(path));
        let is_report_alone = !is_ops_csv(path) && path.is_dir() && !has_records(path);
        if let Some(csv) = is_report_alone.then(csv_of_folder).flatten() {
            note!("reading {}", csv.display());
            note_others(&csv);
            return Self::open(&csv, filters, (memory, by, window));
        }
        if !is_ops_csv(path) {
            if window.start_signpost.is_some() || window.end_signpost.is_some() {
                return Err(failure!(
                    "--start-signpost and --end-signpost are for ops CSVs; of {}, --filter chooses \
                     what is compared",
                    path.display()
                ));
            }
            let runs = open_flat(path, filters, &memory.packed())?;
            let csv = path.is_dir().then(csv_of_folder).flatten();
            let is_nameless = |run: &Run| run.recording().ops.is_empty();
            return match (csv, <[Run; 1]>::try_from(runs)) {
                (Some(csv), Ok([run])) if filters.is_empty() && is_nameless(&run) => {
                    Self::described(&csv, run, (by, window))
                }
                (_, Ok([run])) => Ok(Self::Runs(vec![run])),
                (_, Err(runs)) => Ok(Self::Runs(runs)),
            };
        }
        let report = report_of(path, filters, (by, window))?;
        for note in report.window_notes(window) {
            note!("kprof: {}: {note}", path.display());
        }
        for problem in &report.problems {
            note!("kprof: {problem}");
        }
        Ok(Self::Ops(Box::new(report)))
    }

    /// Joins a log with the ops CSV of its folder, if each of its ops starts where a launch of the log does.
    fn described(
        csv: &Path,
        run: Run,
        (by, window): (Option<&str>, &WindowOptions),
    ) -> Result<Self, Failure> {
        let report = match report_of(csv, &[], (by, window)) {
            Ok(report) => report,
            Err(error) => {
                note!(
                    "kprof: {}: not used, so ops have the numbers of their programs: {error}",
                    csv.display()
                );
                return Ok(Self::Runs(vec![run]));
            }
        };
        let start = |op: &Op| Some((op.chip_id, op.firmware?.start_cycle));
        let starts: BTreeSet<(u32, u64)> = match &run {
            Run::Packed(packed) => {
                packed.launches.launches.ops().filter_map(|op| start(&op)).collect()
            }
            Run::Whole(run) => ops_of(&run.readout).iter().filter_map(start).collect(),
        };
        let rows = || report.rows.iter().filter(|row| row.is_device_op() && !row.is_captured);
        let is_known = |row: &&OpReport| {
            let at = row.chip_id().zip(row.firmware_start_cycle);
            at.is_some_and(|at| starts.contains(&at))
        };
        let (known, all) = (rows().filter(is_known).count() as u64, rows().count() as u64);
        if all == 0 {
            note!(
                "kprof: {}: no rows of ops that ran on a chip; ops have the numbers of their programs",
                csv.display()
            );
            return Ok(Self::Runs(vec![run]));
        }
        if known < all {
            note!(
                "kprof: {}: {known} of {} start where a launch of the log does, so it is from another run and not \
                 used; ops have the numbers of their programs",
                csv.display(),
                counted(all, "op", "ops")
            );
            return Ok(Self::Runs(vec![run]));
        }
        let others = (starts.len() as u64).saturating_sub(known);
        let rest = match others {
            0 => String::new(),
            _ => format!("; {} of the log in no row of it", counted(others, "launch", "launches")),
        };
        note!("kprof: ops of {}, zones of the log beside it{rest}", csv.display());
        Ok(Self::Described(Box::new(report), Box::new(run)))
    }

    /// Returns the ops of each run by a column.
    pub(crate) fn by_column(&self, asked: &str) -> Result<Vec<OpsByColumn>, Failure> {
        let grouped = |report: &PerfReport, name: &str| match report.column(asked) {
            Some(column) => Ok(ops_by_column(&report.rows, &column)),
            None => Err(no_such_column(asked, &report.titles, name)),
        };
        match self {
            Self::Ops(report) | Self::Described(report, _) => {
                Ok(vec![grouped(report, &report.files.join(", "))?])
            }
            Self::Runs(runs) => {
                let options = PerfOptions { is_by_device: true, ..PerfOptions::default() };
                let reports = runs.iter().map(|run| {
                    let report = match run {
                        Run::Packed(packed) => {
                            PerfReport::from_packed(packed, Some(asked), &options).or_fail()?
                        }
                        Run::Whole(run) => PerfReport::from_recording(run, Some(asked), &options),
                    };
                    let name = "the recording";
                    report.map_or_else(
                        || Err(no_such_column(asked, &[], name)),
                        |report| grouped(&report, name),
                    )
                });
                reports.collect()
            }
        }
    }

    /// Returns what is known of simulated times; `None` if nothing is.
    pub(crate) fn simulated(&self) -> Option<SimulatedTime> {
        let runs = match self {
            Self::Ops(_) => return None,
            Self::Described(_, run) => std::slice::from_ref(&**run),
            Self::Runs(runs) => runs,
        };
        let stated = runs.iter().filter_map(|run| run.recording().readout.simulated.clone());
        stated.reduce(|mut all, one| {
            all.merge(one);
            all
        })
    }

    pub(crate) fn measurements(&self) -> Result<Measurements, Failure> {
        let runs = match self {
            Self::Ops(report) => return Ok(Measurements::from_report(report)),
            Self::Described(report, run) => {
                let zones = measured(std::slice::from_ref(&**run))?;
                return Ok(zones.with_ops_of(Measurements::from_report(report)));
            }
            Self::Runs(runs) => runs,
        };
        measured(runs)
    }
}

/// Measures the ops and zones of runs.
fn measured(runs: &[Run]) -> Result<Measurements, Failure> {
    let mut all = Measurements::default();
    for run in runs {
        for source in
            run.recording().readout.losses.uncounted().filter(|source| source.is_failure())
        {
            note!("kprof: more records may be lost: {}", source.label());
        }
        all.append(match run {
            Run::Packed(packed) => Measurements::from_packed(packed).or_fail()?,
            Run::Whole(run) => Measurements::from_recording(run),
        });
    }
    Ok(all)
}

/// Reads an ops CSV, and returns its report.
fn report_of(
    path: &Path,
    filters: &[TraceFilter],
    (by, window): (Option<&str>, &WindowOptions),
) -> Result<PerfReport, Failure> {
    let filter = perf::filter(filters)?;
    let file = File::open(path).or_fail_at(path)?;
    let csv = read_ops_csv_with(file, &path.display().to_string(), by).or_fail()?;
    by_device(vec![csv], window, filter).or_fail_at(path)
}

/// Returns the report on files of ops that a comparison needs: in a row of several devices, one slow
/// device would stand for all.
pub(crate) fn by_device(
    files: Vec<OpsCsv>,
    window: &WindowOptions,
    filter: TraceFilter,
) -> Result<PerfReport, UnknownArch> {
    let window = window.clone();
    let options = PerfOptions { is_by_device: true, window, filter, ..PerfOptions::default() };
    PerfReport::new(files, &options)
}
