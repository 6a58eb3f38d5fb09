//! `kprof merge`: merges recordings of many hosts into one report, one dataset and one trace.
//!
//! Hosts are read one after the other, so that memory use does not grow with their number.

mod clocks;
mod offsets;
mod ops_csv;
mod skew;
mod sorted_launches;
mod starts;

use super::{
    location::{below, delta_logs, location},
    machine_clock::{
        KnownClock, clock_of_summary, clocks_of, known_clocks, machine_clock, recorded_on,
    },
    ops_report::{ops_report, packed_ops_report},
};
use crate::{
    args::MergeArgs,
    command::{memory::launches_of, written::cancel_on_signals},
    failure::{Failure, OrFail, failure, make_folder, note},
    file_kind::has_records,
    input::{open_packed, unpacked},
    memory::temporary_file,
    numbers::counted,
    progress::Busy,
};
use chrono::NaiveDate;
use clocks::Clocks;
use host_reader::{
    capture::HostClock,
    export::{
        AddedRecording, CancelFlag, DatasetLabels, DatasetLocation, Destination, MergedTrace,
        OpMemory, PackedTrace, ParquetDataset, RecordingSummary, Trace, TraceFilter, TraceItems,
        is_dataset, read_ops, read_recordings, write_atomically,
    },
    memory::Usage,
    op_memory::usage_of,
    packed_bytes::PackedMemory,
    recording::{Opened, OpenedLog, PackedRecording, reported_device_log},
    report::{OpsReport, ProblemLog},
    tables::RecordingKey,
};
use offsets::{HostOffsets, offset_cells, relation};
use ops_csv::MergedOps;
use skew::RankSkew;
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

/// Recordings of one host.
#[derive(Debug, PartialEq)]
struct Host {
    name: String,
    source: Source,
    clock: KnownClock,
}

/// Source of a host's recordings.
#[derive(Debug, PartialEq)]
enum Source {
    /// A capture, log or folder of logs.
    Path(PathBuf),
    /// A dataset, and the clocks of this host's recordings in the dataset. Only ops are read from
    /// the dataset.
    Dataset { location: DatasetLocation, clocks: Vec<HostClock> },
}

impl Host {
    const fn new(name: String, source: Source) -> Self {
        Self { name, source, clock: KnownClock::Unknown("no offset is given") }
    }

    /// Returns the date on which the host's earliest recording began; `None` if the date is unknown
    /// or the host's recordings are in a dataset.
    fn recorded_on(&self) -> Option<NaiveDate> {
        match &self.source {
            Source::Path(path) => recorded_on(path),
            Source::Dataset { .. } => None,
        }
    }

    /// Returns the clocks that the host's recordings contain.
    fn clocks(&self) -> Vec<HostClock> {
        match &self.source {
            Source::Path(path) => clocks_of(path),
            Source::Dataset { clocks, .. } => clocks.clone(),
        }
    }
}

/// Outputs of the merge. The hosts are added one after the other.
struct Merge<'a> {
    output: &'a DatasetLocation,
    dataset: ParquetDataset,
    cancel: CancelFlag,
    ops: MergedOps,
    skew: RankSkew,
    clocks: Clocks,
    trace: MergedTrace,
    opened: OpenedDataset,
    /// Memory for packed launches, and for the packed records of the log that is being read.
    memory: Arc<PackedMemory>,
}

/// Reads each host, and adds its data to the report, the dataset and the trace.
pub(crate) fn run(args: &MergeArgs) -> Result<ExitCode, Failure> {
    let mut hosts = hosts_of(&args.inputs)?;
    match &args.offsets {
        Some(path) => relate_by_file(&mut hosts, path)?,
        None => relate_by_captures(&mut hosts),
    }
    // Hosts with related clocks come first, so that the trace begins with them.
    hosts.sort_by_key(|host| host.clock.is_unknown());
    let output = location(&args.output)?;
    if let DatasetLocation::Folder(folder) = &output {
        make_folder(folder)?;
    }
    let cancel = cancel_on_signals()?;
    let labels = DatasetLabels {
        date: hosts.iter().filter_map(Host::recorded_on).min(),
        run: args.fleet_run.clone(),
        file: "merged".to_owned(),
        has_one_recording: false,
    };
    let dataset = ParquetDataset::new(&below(&output, DATASET)?, labels, &cancel).or_fail()?;
    let dataset = dataset.with_delta_logs(delta_logs(args.delta_log));
    let memory = args.memory.packed();
    let mut merge = Merge {
        output: &output,
        dataset,
        cancel,
        ops: MergedOps::new(temporary_file()),
        skew: RankSkew::new(&memory),
        clocks: Clocks::default(),
        trace: MergedTrace::default(),
        opened: OpenedDataset::default(),
        memory,
    };
    let trace = below(&output, TRACE)?.into_destination();
    let cancel = merge.cancel.clone();
    let mut added = Ok(0);
    let written = write_atomically(&trace, &cancel, |out| {
        added = merge.add_all(&hosts, out);
        // Returning an error keeps an incomplete trace from getting the final name.
        added.as_ref().map(|_| ()).map_err(|_| io::Error::other("merging failed"))
    });
    let left_out = added?;
    written.or_fail()?;
    merge.finish(hosts.len() - left_out)?;
    Ok(if left_out == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Relates the hosts' clocks by the offsets in a file.
fn relate_by_file(hosts: &mut [Host], path: &Path) -> Result<(), Failure> {
    let offsets = HostOffsets::read(path)?;
    for host in hosts.iter_mut() {
        if let Some(offset) = offsets.host_offset(&host.name) {
            host.clock = KnownClock::Offset(offset);
        }
    }
    for name in offsets.hosts() {
        if hosts.iter().all(|host| host.name != name) {
            note!("kprof: {}: no host `{name}` among the inputs", path.display());
        }
    }
    Ok(())
}

/// Relates the hosts' clocks by the clocks in their captures.
fn relate_by_captures(hosts: &mut [Host]) {
    let clocks: Vec<Vec<HostClock>> = hosts.iter().map(Host::clocks).collect();
    let clocks = known_clocks(&clocks);
    for (host, clock) in hosts.iter_mut().zip(clocks) {
        host.clock = clock;
    }
}

impl Merge<'_> {
    /// Adds every host to the outputs. Returns the number of hosts that could not be read.
    fn add_all(&mut self, hosts: &[Host], out: &mut dyn Write) -> Result<usize, Failure> {
        let mut left_out = 0;
        for host in hosts {
            let added = match &host.source {
                Source::Path(path) => match open_packed(path, &self.memory) {
                    Ok(opened) => self.add(host, path, opened, out).map(|()| None)?,
                    Err(failure) => Some(failure),
                },
                Source::Dataset { location, .. } => {
                    match self.opened.take_host(location, &host.name) {
                        Ok(found) => self.add_summaries(host, &found, out).map(|()| None)?,
                        Err(failure) => Some(failure),
                    }
                }
            };
            // If one host cannot be read, the others are still merged.
            if let Some::<Failure>(failure) = added {
                note!("kprof: {} is left out: {failure}", host.name);
                left_out += 1;
            }
        }
        if left_out == hosts.len() {
            return Err(failure!("none of the hosts could be read"));
        }
        Ok(left_out)
    }

    /// Adds the recordings of one host to the outputs: the runs of a capture, or a log.
    fn add(
        &mut self,
        host: &Host,
        path: &Path,
        opened: Opened,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let opened = match opened {
            Opened::Log(log) => match PackedRecording::obstacle(&log) {
                None => return self.add_packed(host, path, *log, out),
                Some(what) => {
                    self.print_obstacle(host, what);
                    Opened::Log(log)
                }
            },
            capture => capture,
        };
        let runs = unpacked(opened)?.recordings;
        // Launch messages do not tell the runs of a capture apart.
        let mut launches = if runs.len() == 1 { launches_of(path)? } else { Vec::new() };
        for run in &runs {
            // The trace needs as much memory as the report, so the report is finished first.
            let report = ops_report(path, run, TraceFilter::default());
            let trace = Trace::new(run, &TraceFilter::default());
            let memory = usage_of(run, std::mem::take(&mut launches));
            self.add_recording(host, path, (report, Some(&memory)), (&trace).into(), out)?;
        }
        Ok(())
    }

    /// Adds a log to the outputs; unpacks one lane at a time.
    fn add_packed(
        &mut self,
        host: &Host,
        path: &Path,
        log: OpenedLog,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let busy = Busy::new(format!("reading the launches of {}", host.name));
        let packed = PackedRecording::new(log).or_fail()?;
        let trace = PackedTrace::new(&packed).or_fail()?;
        // The report of a long recording is large, and building the trace reads many lanes. So the
        // report is built only after the trace.
        let report = packed_ops_report(path, &packed)?;
        drop(busy);
        self.add_recording(host, path, (report, None), (&trace).into(), out)
    }

    /// Prints a note if a log is unpacked as a whole although it is larger than the memory limit.
    fn print_obstacle(&self, host: &Host, what: &str) {
        if self.memory.written_bytes() > 0 {
            note!(
                "kprof: {}: {what} need all records at once, so --memory does not limit them",
                host.name
            );
        }
    }

    fn add_recording(
        &mut self,
        host: &Host,
        path: &Path,
        (report, usage): (OpsReport, Option<&Usage>),
        items: TraceItems<'_, '_>,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let trace = items.trace();
        let busy = Busy::new(format!("merging {}", host.name));
        let stem = path.file_stem().filter(|_| path.is_file());
        let stem = stem.map_or_else(|| "profile_log_device".into(), |stem| stem.to_string_lossy());
        let recording = format!("{stem}-{}", trace.recording_id());
        let relation = relation(trace.origin_host_ns, &host.clock, |origin_ns| {
            host.clock.offset(origin_ns, trace.end_ns())
        });
        let time = relation.ok().map(|(_, time)| time);
        let key = RecordingKey { host: &host.name, recording: &recording };
        let machine = machine_clock(path, trace);
        let ops_csv = Some(&*report.ops_csv);
        let filter = &TraceFilter::default();
        let memory = usage.map(|usage| OpMemory { usage, filter });
        let added = AddedRecording { key, machine, trace, ops_csv, memory };
        self.dataset.add(&added).or_fail()?;
        self.ops.add(&host.name, offset_cells(relation), &report.ops_csv)?;
        let problems = report.problems;
        drop(report.ops_csv);
        if let Some(packed) = items.packed() {
            self.dataset.add_items(key, packed).or_fail()?;
        }
        self.skew.add_trace(&host.name, time, items).or_fail()?;
        let traced = self.trace.add(&host.name, items, time, out);
        traced.map_err(|error| self.trace_refused(&error))?;
        drop(busy);
        print_problems(&host.name, &problems);
        self.clocks.add(&host.name, &recording, relation);
        Ok(())
    }

    /// Adds one host's recordings from a dataset to the merged reports and the merged trace. The
    /// rows of the dataset are not copied to the merged dataset.
    fn add_summaries(
        &mut self,
        host: &Host,
        recordings: &[RecordingSummary],
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        for found in recordings {
            let relation = relation(found.origin_host_ns, &host.clock, |origin_ns| {
                host.clock.offset_of_summary(found, origin_ns)
            });
            let time = relation.ok().map(|(_, time)| time);
            self.skew.add_summary(&host.name, time, found).or_fail()?;
            let traced = self.trace.add_summary(found, time, out);
            traced.map_err(|error| self.trace_refused(&error))?;
            self.ops.add(&host.name, offset_cells(relation), &found.ops_csv)?;
            self.clocks.add(&host.name, &found.recording, relation);
        }
        Ok(())
    }

    fn trace_refused(&self, error: &io::Error) -> Failure {
        Failure::from_file(&PathBuf::from(format!("{}/{TRACE}", self.output)), error)
    }

    fn finish(self, host_count: usize) -> Result<(), Failure> {
        let Self { output, cancel, dataset, ops, skew, clocks, .. } = self;
        let destination = |name: &str| -> Result<Destination, Failure> {
            Ok(below(output, name)?.into_destination())
        };
        let written =
            write_atomically(&destination("ops_perf_results.csv")?, &cancel, |out| ops.write(out));
        let row_count = written.or_fail()?;
        write_atomically(&destination("rank_skew.csv")?, &cancel, |out| skew.write_csv(out))
            .or_fail()?;
        write_atomically(&destination("hosts.csv")?, &cancel, |out| clocks.write_csv(out))
            .or_fail()?;
        let counts = dataset.finish().or_fail()?;
        let mut out = io::stdout().lock();
        skew.print(SKEWS_SHOWN, &mut out)?;
        let (ops, hosts) =
            (counted(row_count, "op", "ops"), counted(host_count as u64, "host", "hosts"));
        write!(out, "{output}: {ops} of {hosts}")?;
        // If all inputs are datasets, nothing was written to the output dataset.
        if counts.files > 0 {
            let zones = counted(counts.zones, "zone", "zones");
            let markers = counted(counts.markers, "marker", "markers");
            let losses = counted(counts.losses, "counted loss", "counted losses");
            write!(out, ", {zones}, {markers}, {losses} in the dataset")?;
        }
        writeln!(out)?;
        clocks.print(&mut out)?;
        Ok(())
    }
}

/// The input dataset that was read last. The hosts of one dataset usually follow each other, so
/// each dataset is usually read once.
#[derive(Default)]
struct OpenedDataset {
    location: Option<DatasetLocation>,
    recordings: Vec<RecordingSummary>,
}

impl OpenedDataset {
    /// Removes a host's recordings from this dataset, and returns them with their ops.
    fn take_host(
        &mut self,
        location: &DatasetLocation,
        host: &str,
    ) -> Result<Vec<RecordingSummary>, Failure> {
        if self.location.as_ref() != Some(location) {
            let mut recordings = read_recordings(location).or_fail()?;
            read_ops(location, &mut recordings).or_fail()?;
            *self = Self { location: Some(location.clone()), recordings };
        }
        Ok(self.recordings.extract_if(.., |found| found.host == host).collect())
    }
}

fn print_problems(host: &str, problems: &ProblemLog) {
    for problem in problems.kept().iter().take(PROBLEMS_SHOWN) {
        note!("kprof: {host}: {problem}");
    }
    let unshown = problems.count().saturating_sub(PROBLEMS_SHOWN as u64);
    if unshown > 0 {
        let problems = counted(unshown, "more problem", "more problems");
        note!("kprof: {host}: {problems}");
    }
}

/// Returns the hosts of a dataset.
fn hosts_of_dataset(location: &DatasetLocation) -> Result<Vec<Host>, Failure> {
    let recordings = read_recordings(location).or_fail()?;
    let mut clocks: BTreeMap<String, Vec<HostClock>> = BTreeMap::new();
    for found in recordings {
        let clock = clock_of_summary(&found);
        clocks.entry(found.host).or_default().extend(clock);
    }
    let host =
        |(name, clocks)| Host::new(name, Source::Dataset { location: location.clone(), clocks });
    Ok(clocks.into_iter().map(host).collect())
}

/// Returns the hosts in the inputs. An input is `NAME=PATH`, a dataset, a folder with rank folders,
/// or a file or folder with recordings.
fn hosts_of(inputs: &[OsString]) -> Result<Vec<Host>, Failure> {
    let mut hosts = Vec::new();
    for input in inputs {
        let path = Path::new(input);
        // A name must be UTF-8; an input that is not UTF-8 is a path without a name.
        let named = input.to_str().and_then(|input| input.split_once('='));
        let named = named.filter(|(name, _)| !name.contains('/') && !path.exists());
        if let Some((name, path)) = named {
            hosts.push(Host::new(name.to_owned(), Source::Path(path.into())));
            continue;
        }
        let found = location(path)?;
        let is_folder = matches!(found, DatasetLocation::Folder(_));
        if !is_folder || is_dataset(&found).or_fail()? {
            // A URL always refers to a dataset.
            hosts.extend(hosts_of_dataset(&found)?);
            continue;
        }
        let ranks = rank_folders(path);
        if ranks.is_empty() {
            let last = path.components().next_back().map(|part| part.as_os_str().to_owned());
            let name = Path::new(&last.unwrap_or_default()).with_extension("");
            let source = Source::Path(recording_in(path.to_owned()));
            hosts.push(Host::new(name.display().to_string(), source));
        }
        hosts.extend(ranks);
    }
    let mut names = BTreeSet::new();
    for host in &hosts {
        if host.name.is_empty() || !names.insert(&host.name) {
            return Err(failure!(
                "expected a unique name for each host, found `{}` twice or empty; name hosts \
                 as NAME=PATH",
                host.name
            ));
        }
    }
    Ok(hosts)
}

/// Returns a host for each folder of a rank in a folder or in its subfolder `ttrun`, sorted by rank.
///
/// # Compatibility
/// `tt-run --tracy` gives each rank the folder `generated/profiler/ttrun/rank<N>`. Scripts that
/// collect the folders of several hosts call them `rank_<N>` or `<host>_rank<N>`.
fn rank_folders(folder: &Path) -> Vec<Host> {
    let mut ranks = Vec::new();
    for folder in [folder.to_owned(), folder.join("ttrun")] {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let number = rank_of(&name);
            if let Some(number) = number.filter(|_| entry.path().is_dir()) {
                ranks.push((number, name, recording_in(entry.path())));
            }
        }
    }
    ranks.sort();
    ranks.into_iter().map(|(_, name, path)| Host::new(name, Source::Path(path))).collect()
}

/// Returns the number of the rank that the name of a folder ends in; `None` for other folders.
fn rank_of(name: &str) -> Option<u32> {
    let (before, number) = name.rsplit_once("rank")?;
    let is_apart = before.is_empty() || before.ends_with(['_', '-', '.']);
    let number = number.strip_prefix(['_', '-']).unwrap_or(number);
    let is_number = number.bytes().all(|digit| digit.is_ascii_digit());
    number.parse().ok().filter(|_| is_apart && is_number)
}

/// Returns the recording in a folder: the folder itself, or the newest copy of a device log among
/// its reports if nothing else is left of the recording.
fn recording_in(folder: PathBuf) -> PathBuf {
    let copy = if has_records(&folder) { None } else { reported_device_log(&folder) };
    copy.unwrap_or(folder)
}

/// Name of the trace of all hosts.
const TRACE: &str = "trace.pftrace";
/// Name of the dataset of all hosts.
const DATASET: &str = "dataset";
const PROBLEMS_SHOWN: usize = 3;
const SKEWS_SHOWN: usize = 10;

#[cfg(test)]
mod tests {
    use super::rank_of;

    #[test]
    fn folders_of_ranks_end_in_their_number() {
        for (name, rank) in [
            ("rank0", Some(0)),
            ("rank_12", Some(12)),
            ("host-a_rank3", Some(3)),
            ("host-a_rank_4", Some(4)),
            ("node1-rank-7", Some(7)),
            ("frank3", None),
            ("rank", None),
            ("rank+1", None),
            ("rank3_old", None),
            ("reports", None),
        ] {
            assert_eq!(rank_of(name), rank, "{name}");
        }
    }
}
