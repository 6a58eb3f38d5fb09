//! `kprof merge`: recordings of many hosts as one report and one dataset.
//!
//! Hosts are read one after the other, so that memory does not grow with their number.

mod ops_csv;
mod skew;

use super::export::cancel_on_signals;
use crate::{args::MergeArgs, failure::Failure, input::Input, numbers::counted};
use host_reader::{
    export::{CancelFlag, Destination, ParquetDataset, Trace, TraceFilter, write_atomically},
    recording::Recording,
    report::{OpsOptions, OpsReport},
};
use ops_csv::MergedOps;
use skew::RankSkew;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Recordings of one host.
#[derive(Debug, PartialEq, Eq)]
struct Host {
    name: String,
    path: PathBuf,
}

/// Everything that hosts add to.
struct Merge<'a> {
    folder: &'a Path,
    cancel: CancelFlag,
    ops: MergedOps,
    skew: RankSkew,
    row_counts: RowCounts,
}

/// Rows of the dataset.
#[derive(Default)]
struct RowCounts {
    zones: u64,
    markers: u64,
    losses: u64,
}

/// Reads each host and adds it to the report and the dataset.
pub(crate) fn run(args: &MergeArgs) -> Result<ExitCode, Failure> {
    let hosts = hosts_of(&args.inputs)?;
    fs::create_dir_all(&args.output).map_err(|error| Failure::of_file(&args.output, &error))?;
    let mut merge = Merge {
        folder: &args.output,
        cancel: cancel_on_signals()?,
        ops: MergedOps::new(&args.output),
        skew: RankSkew::default(),
        row_counts: RowCounts::default(),
    };
    let mut left_out = 0;
    for host in &hosts {
        match Input::open(&host.path) {
            Ok(input) => merge.add(host, &input.runs)?,
            // What is wrong with one host takes nothing from the others.
            Err(failure) => {
                eprintln!("kprof: {} is left out: {failure}", host.name);
                left_out += 1;
            }
        }
    }
    if left_out == hosts.len() {
        return Err(Failure::Sentence("none of the hosts could be read".to_owned()));
    }
    merge.finish(hosts.len() - left_out)?;
    Ok(if left_out == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

impl Merge<'_> {
    fn add(&mut self, host: &Host, runs: &[Recording]) -> Result<(), Failure> {
        let stem = host.path.file_stem().filter(|_| host.path.is_file());
        let stem = stem.map_or_else(|| "profile_log_device".into(), |stem| stem.to_string_lossy());
        for run in runs {
            let trace = Trace::new(run, &TraceFilter::default());
            let recording = format!("{stem}-{}", trace.recording_id());
            let folder = self.folder.join("dataset");
            let dataset = ParquetDataset::new(&folder, &host.name, &recording);
            let dataset = dataset.map_err(|error| Failure::from_error(&error))?;
            let counts = dataset.write(&trace, &self.cancel, &mut |_| ());
            let counts = counts.map_err(|error| Failure::from_error(&error))?;
            self.row_counts.zones += counts.zones;
            self.row_counts.markers += counts.markers;
            self.row_counts.losses += counts.losses;
            self.skew.add(&host.name, &trace);
            let options = OpsOptions::default();
            let report = match host_logs(&host.path) {
                Some(logs) => OpsReport::of_folder(&logs, &options),
                None => OpsReport::of_recording(run, &options),
            };
            let kept = report.problems.kept();
            for problem in kept.iter().take(PROBLEMS_SHOWN) {
                eprintln!("kprof: {}: {problem}", host.name);
            }
            let unshown = report.problems.count().saturating_sub(PROBLEMS_SHOWN as u64);
            if unshown > 0 {
                let problems = counted(unshown, "more problem", "more problems");
                eprintln!("kprof: {}: {problems}", host.name);
            }
            self.ops.add(&host.name, &report.ops_csv)?;
        }
        Ok(())
    }

    fn finish(self, host_count: usize) -> Result<(), Failure> {
        let Self { folder, cancel, ops, skew, row_counts } = self;
        let destination = |name: &str| Destination::File(folder.join(name));
        let written =
            write_atomically(&destination("ops_perf_results.csv"), &cancel, |out| ops.write(out));
        let row_count = written.map_err(|error| Failure::from_error(&error))?;
        write_atomically(&destination("rank_skew.csv"), &cancel, |out| skew.write_csv(out))
            .map_err(|error| Failure::from_error(&error))?;
        skew.print(SKEWS_SHOWN, &mut std::io::stdout().lock())?;
        println!(
            "{}: {} of {}, {}, {}, {} in the dataset",
            folder.display(),
            counted(row_count, "op", "ops"),
            counted(host_count as u64, "host", "hosts"),
            counted(row_counts.zones, "zone", "zones"),
            counted(row_counts.markers, "marker", "markers"),
            counted(row_counts.losses, "loss", "losses"),
        );
        println!("Clocks of hosts: not related, so starts of different hosts are not compared");
        Ok(())
    }
}

/// The folder of logs, if a host left its ops there.
fn host_logs(path: &Path) -> Option<PathBuf> {
    let folders = [path.join(".logs"), path.to_owned()];
    folders.into_iter().find(|folder| folder.join("tracy_ops_data.csv").is_file())
}

/// The hosts that inputs name: `NAME=PATH`, a folder of rank folders, or anything with
/// recordings.
fn hosts_of(inputs: &[String]) -> Result<Vec<Host>, Failure> {
    let mut hosts = Vec::new();
    for input in inputs {
        let named = input.split_once('=').filter(|(name, _)| !name.contains('/'));
        if let Some((name, path)) = named.filter(|_| !Path::new(input).exists()) {
            hosts.push(Host { name: name.to_owned(), path: path.into() });
            continue;
        }
        let path = Path::new(input);
        let ranks = rank_folders(path);
        if ranks.is_empty() {
            let last = path.components().next_back().map(|part| part.as_os_str().to_owned());
            let name = Path::new(&last.unwrap_or_default()).with_extension("");
            hosts.push(Host { name: name.display().to_string(), path: path.to_owned() });
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
                ranks.push((number, Host { name, path: entry.path() }));
            }
        }
    }
    ranks.sort_by_key(|&(number, _)| number);
    ranks.into_iter().map(|(_, host)| host).collect()
}

const PROBLEMS_SHOWN: usize = 3;
const SKEWS_SHOWN: usize = 10;
