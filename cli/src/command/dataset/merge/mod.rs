//! `kprof merge`: recordings of many hosts as one report, one dataset and one trace.
//!
//! Hosts are read one after the other, so that memory does not grow with their number.

mod clocks;
mod offsets;
mod ops_csv;
mod skew;
mod starts;

use super::machine_clock::{KnownClock, known_clocks, machine_clock, recorded_on};
use crate::{
    args::MergeArgs,
    command::export::cancel_on_signals,
    failure::{Failure, make_folder, note},
    input::Input,
    numbers::counted,
};
use clocks::Clocks;
use host_reader::{
    export::{
        CancelFlag, DatasetLabels, Destination, MergedTrace, ParquetDataset, Trace, TraceFilter,
        write_atomically,
    },
    recording::{Recording, host_ops::OP_MESSAGES, logs_folder},
    report::{OpsOptions, OpsReport},
    tables::RecordingKey,
};
use offsets::{HostOffsets, Relation};
use ops_csv::MergedOps;
use skew::RankSkew;
use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Recordings of one host.
#[derive(Debug, PartialEq, Eq)]
struct Host {
    name: String,
    path: PathBuf,
    clock: KnownClock,
}

impl Host {
    const fn new(name: String, path: PathBuf) -> Self {
        Self { name, path, clock: KnownClock::Unknown("no offset is given") }
    }
}

/// Everything that hosts add to.
struct Merge<'a> {
    folder: &'a Path,
    dataset: ParquetDataset,
    cancel: CancelFlag,
    ops: MergedOps,
    skew: RankSkew,
    clocks: Clocks,
    trace: MergedTrace,
}

/// Reads each host and adds it to the report, the dataset and the trace.
pub(crate) fn run(args: &MergeArgs) -> Result<ExitCode, Failure> {
    let mut hosts = hosts_of(&args.inputs)?;
    match &args.offsets {
        Some(path) => relate_by_file(&mut hosts, path)?,
        None => relate_by_captures(&mut hosts),
    }
    // The trace begins with hosts that are related.
    hosts.sort_by_key(|host| host.clock.is_unknown());
    make_folder(&args.output)?;
    let cancel = cancel_on_signals()?;
    let labels = DatasetLabels {
        date: hosts.iter().filter_map(|host| recorded_on(&host.path)).min(),
        run: args.fleet_run.clone(),
        file: "merged".to_owned(),
        has_one_recording: false,
    };
    let dataset = ParquetDataset::new(&args.output.join(DATASET), labels, &cancel);
    let dataset = dataset.map_err(|error| Failure::from_error(&error))?;
    let mut merge = Merge {
        folder: &args.output,
        dataset,
        cancel,
        ops: MergedOps::new(&args.output),
        skew: RankSkew::default(),
        clocks: Clocks::default(),
        trace: MergedTrace::default(),
    };
    let trace = Destination::File(args.output.join(TRACE));
    let cancel = merge.cancel.clone();
    let mut added = Ok(0);
    let written = write_atomically(&trace, &cancel, |out| {
        added = merge.add_all(&hosts, out);
        // Without this, a trace of some of the hosts would get its name.
        added.as_ref().map(|_| ()).map_err(|_| io::Error::other("merging failed"))
    });
    let left_out = added?;
    written.map_err(|error| Failure::from_error(&error))?;
    merge.finish(hosts.len() - left_out)?;
    Ok(if left_out == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Gives hosts the offsets of a file.
fn relate_by_file(hosts: &mut [Host], path: &Path) -> Result<(), Failure> {
    let offsets = HostOffsets::read(path)?;
    for host in hosts.iter_mut() {
        if let Some(offset) = offsets.of_host(&host.name) {
            host.clock = KnownClock::Offset(offset);
        }
    }
    for name in offsets.hosts() {
        if hosts.iter().all(|host| host.name != name) {
            note!("kprof: {}: no host `{name}` is merged", path.display());
        }
    }
    Ok(())
}

/// Gives hosts what their captures tell of their clocks.
fn relate_by_captures(hosts: &mut [Host]) {
    let paths: Vec<&Path> = hosts.iter().map(|host| host.path.as_path()).collect();
    let clocks = known_clocks(&paths);
    for (host, clock) in hosts.iter_mut().zip(clocks) {
        host.clock = clock;
    }
}

impl Merge<'_> {
    /// Adds every host; returns how many could not be read.
    fn add_all(&mut self, hosts: &[Host], out: &mut dyn Write) -> Result<usize, Failure> {
        let mut left_out = 0;
        for host in hosts {
            match Input::open(&host.path) {
                Ok(input) => self.add(host, &input.runs, out)?,
                // What is wrong with one host takes nothing from the others.
                Err(failure) => {
                    note!("kprof: {} is left out: {failure}", host.name);
                    left_out += 1;
                }
            }
        }
        if left_out == hosts.len() {
            return Err(Failure::Sentence("none of the hosts could be read".to_owned()));
        }
        Ok(left_out)
    }

    fn add(&mut self, host: &Host, runs: &[Recording], out: &mut dyn Write) -> Result<(), Failure> {
        let stem = host.path.file_stem().filter(|_| host.path.is_file());
        let stem = stem.map_or_else(|| "profile_log_device".into(), |stem| stem.to_string_lossy());
        for run in runs {
            let trace = Trace::new(run, &TraceFilter::default());
            let recording = format!("{stem}-{}", trace.recording_id());
            let relation = Relation::new(&trace, &host.clock);
            let key = RecordingKey { host: &host.name, recording: &recording };
            let added = self.dataset.add(key, machine_clock(&host.path, &trace), &trace);
            added.map_err(|error| Failure::from_error(&error))?;
            self.skew.add(&host.name, &trace, relation.time());
            self.clocks.add(&host.name, &recording, relation);
            let traced = self.trace.add(&host.name, &trace, relation.time(), out);
            traced.map_err(|error| Failure::of_file(&self.folder.join(TRACE), &error))?;
            let options = OpsOptions::default();
            let report = match logs_folder(&host.path, OP_MESSAGES) {
                Some(logs) => OpsReport::of_folder(&logs, &options),
                None => OpsReport::of_recording(run, &options),
            };
            let kept = report.problems.kept();
            for problem in kept.iter().take(PROBLEMS_SHOWN) {
                note!("kprof: {}: {problem}", host.name);
            }
            let unshown = report.problems.count().saturating_sub(PROBLEMS_SHOWN as u64);
            if unshown > 0 {
                let problems = counted(unshown, "more problem", "more problems");
                note!("kprof: {}: {problems}", host.name);
            }
            self.ops.add(&host.name, relation.cells(), &report.ops_csv)?;
        }
        Ok(())
    }

    fn finish(self, host_count: usize) -> Result<(), Failure> {
        let Self { folder, cancel, dataset, ops, skew, clocks, .. } = self;
        let destination = |name: &str| Destination::File(folder.join(name));
        let written =
            write_atomically(&destination("ops_perf_results.csv"), &cancel, |out| ops.write(out));
        let row_count = written.map_err(|error| Failure::from_error(&error))?;
        write_atomically(&destination("rank_skew.csv"), &cancel, |out| skew.write_csv(out))
            .map_err(|error| Failure::from_error(&error))?;
        write_atomically(&destination("hosts.csv"), &cancel, |out| clocks.write_csv(out))
            .map_err(|error| Failure::from_error(&error))?;
        let counts = dataset.finish().map_err(|error| Failure::from_error(&error))?;
        let mut out = io::stdout().lock();
        skew.print(SKEWS_SHOWN, &mut out)?;
        writeln!(
            out,
            "{}: {} of {}, {}, {}, {} in the dataset",
            folder.display(),
            counted(row_count, "op", "ops"),
            counted(host_count as u64, "host", "hosts"),
            counted(counts.zones, "zone", "zones"),
            counted(counts.markers, "marker", "markers"),
            counted(counts.losses, "loss", "losses"),
        )?;
        clocks.print(&mut out)?;
        Ok(())
    }
}

/// The hosts that inputs name: `NAME=PATH`, a folder of rank folders, or anything with
/// recordings.
fn hosts_of(inputs: &[OsString]) -> Result<Vec<Host>, Failure> {
    let mut hosts = Vec::new();
    for input in inputs {
        let path = Path::new(input);
        // Names are texts; a path that is none can stand by itself.
        let named = input.to_str().and_then(|input| input.split_once('='));
        let named = named.filter(|(name, _)| !name.contains('/') && !path.exists());
        if let Some((name, path)) = named {
            hosts.push(Host::new(name.to_owned(), path.into()));
            continue;
        }
        let ranks = rank_folders(path);
        if ranks.is_empty() {
            let last = path.components().next_back().map(|part| part.as_os_str().to_owned());
            let name = Path::new(&last.unwrap_or_default()).with_extension("");
            hosts.push(Host::new(name.display().to_string(), path.to_owned()));
        }
        hosts.extend(ranks);
    }
    let mut names = BTreeSet::new();
    for host in &hosts {
        if host.name.is_empty() || !names.insert(&host.name) {
            return Err(Failure::Sentence(format!(
                "expected a name of its own for each host, found `{}` twice or empty; name hosts \
                 as NAME=PATH",
                host.name
            )));
        }
    }
    Ok(hosts)
}

/// Folders `rank<N>` in a folder, or below `ttrun` in it, by number.
///
/// # Compatibility
/// `tt-run --tracy` gives each rank the folder `generated/profiler/ttrun/rank<N>`.
fn rank_folders(folder: &Path) -> Vec<Host> {
    let mut ranks = Vec::new();
    for folder in [folder.to_owned(), folder.join("ttrun")] {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let number = name.strip_prefix("rank").and_then(|number| number.parse::<u32>().ok());
            if let Some(number) = number.filter(|_| entry.path().is_dir()) {
                ranks.push((number, Host::new(name, entry.path())));
            }
        }
    }
    ranks.sort_by_key(|&(number, _)| number);
    ranks.into_iter().map(|(_, host)| host).collect()
}

/// Name of the trace of all hosts.
const TRACE: &str = "trace.pftrace";
/// Name of the dataset of all hosts.
const DATASET: &str = "dataset";
const PROBLEMS_SHOWN: usize = 3;
const SKEWS_SHOWN: usize = 10;
