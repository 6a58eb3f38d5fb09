//! `kprof export --format parquet`: writes a recording into a dataset.

use super::{
    location::{delta_logs, location},
    machine_clock::{machine_clock, recorded_on},
    ops_report::{ops_report, packed_ops_report},
};
use crate::{
    args::ExportArgs,
    command::{memory::launches_of, written::Written},
    failure::{Failure, OrFail, failure},
    input::{Run, joined},
    numbers::counted,
    progress::Busy,
};
use chrono::NaiveDate;
use host_reader::{
    export::{
        AddedRecording, CancelFlag, DatasetCounts, DatasetLabels, DatasetLocation, DeltaLogs,
        OpMemory, ParquetDataset, TraceFilter, TraceItems,
    },
    op_memory::usage_of,
    tables::RecordingKey,
};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Default folder of the dataset.
const DEFAULT_FOLDER: &str = "dataset";

/// The dataset to write and the labels of the recording in it, from the arguments.
pub(crate) struct Dataset {
    file: PathBuf,
    location: DatasetLocation,
    logs: DeltaLogs,
    date: Option<NaiveDate>,
    run: Option<String>,
    host: String,
    recording: RecordingName,
    filter: TraceFilter,
}

/// Name of the recording in the dataset.
enum RecordingName {
    /// The name given by the user.
    Named(String),
    /// The input file's name, to which the recording's id is appended.
    OfFile(String),
}

/// Counts of the exported data, and the labels of the recording in the dataset.
#[derive(Serialize)]
struct RecordingCounts<'a> {
    date: Option<String>,
    run: String,
    recording: &'a str,
    #[serde(flatten)]
    counts: &'a DatasetCounts,
}

/// Default name of the host to which the chips belong.
const DEFAULT_HOST: &str = "local";

impl Dataset {
    pub(crate) fn new(args: &ExportArgs) -> Result<Self, Failure> {
        let folder = args.output.clone().unwrap_or_else(|| DEFAULT_FOLDER.into());
        if folder == Path::new("-") {
            return Err(failure!(
                "a dataset is many files; expected a folder, found standard output"
            ));
        }
        let recording = match &args.recording {
            Some(name) => RecordingName::Named(name.clone()),
            None => RecordingName::OfFile(recording_of(args)),
        };
        let host = args.host.clone().unwrap_or_else(|| DEFAULT_HOST.to_owned());
        let dataset = Self {
            file: args.file.clone(),
            location: location(&folder)?,
            logs: delta_logs(args.delta_log),
            date: args.date.or_else(|| recorded_on(&args.file)),
            run: args.fleet_run.clone(),
            host,
            recording,
            filter: joined(&args.filters),
        };
        // Invalid names are refused before the input is read.
        let (RecordingName::Named(name) | RecordingName::OfFile(name)) = &dataset.recording;
        dataset.files(name, &CancelFlag::default())?;
        Ok(dataset)
    }

    fn files(&self, recording: &str, cancel: &CancelFlag) -> Result<ParquetDataset, Failure> {
        if self.host.is_empty() || recording.is_empty() {
            return Err(failure!("expected names for --host and --recording, found an empty text"));
        }
        let labels = DatasetLabels {
            date: self.date,
            run: self.run.clone().unwrap_or_else(|| recording.to_owned()),
            file: format!("{} {recording}", self.host),
            has_one_recording: true,
        };
        let files = ParquetDataset::new(&self.location, labels, cancel);
        files.map(|files| files.with_delta_logs(self.logs)).or_fail()
    }

    /// Writes the recording, and prints the counts of written rows. `is_only_run` is true if the input
    /// has no other run.
    pub(crate) fn write(
        &self,
        items: TraceItems<'_, '_>,
        (run, is_only_run): (&Run, bool),
        cancel: &CancelFlag,
        as_json: bool,
    ) -> Result<(), Failure> {
        let trace = items.trace();
        let recording = match &self.recording {
            RecordingName::Named(name) => name.clone(),
            RecordingName::OfFile(name) => format!("{name}-{}", trace.recording_id()),
        };
        let busy = Busy::new(format!("writing {}", self.location));
        let mut files = self.files(&recording, cancel)?;
        let key = RecordingKey { host: &self.host, recording: &recording };
        let machine = machine_clock(&self.file, trace);
        let report = match run {
            Run::Packed(packed) => packed_ops_report(&self.file, packed)?,
            Run::Whole(run) => ops_report(&self.file, run, self.filter.clone()),
        };
        // Launch messages do not tell the runs of a capture apart.
        let launches = if is_only_run { launches_of(&self.file)? } else { Vec::new() };
        let usage = usage_of(run.recording(), launches);
        let memory = Some(OpMemory { usage: &usage, filter: &self.filter });
        let ops_csv = Some(&*report.ops_csv);
        let added = AddedRecording { key, machine, trace, ops_csv, memory };
        files.add(&added).or_fail()?;
        if let Some(packed) = items.packed() {
            files.add_items(key, packed).or_fail()?;
        }
        let counts = files.finish().or_fail()?;
        drop(busy);
        let written = Written {
            output: self.location.to_string(),
            format: "parquet",
            counts: RecordingCounts {
                date: self.date.map(|date| date.to_string()),
                run: self.run.clone().unwrap_or_else(|| recording.clone()),
                recording: &recording,
                counts: &counts,
            },
            doubts: Some(added.doubts().into_iter().collect()),
        };
        written.print(as_json, &summary(&recording, &counts))
    }
}

/// Returns the input file's name without its extension, and the number of the run if one was
/// chosen.
fn recording_of(args: &ExportArgs) -> String {
    let of_file = args.file.file_stem().filter(|_| !args.file.is_dir());
    let name = of_file.unwrap_or("profile_log_device".as_ref()).to_string_lossy();
    args.run.map_or_else(|| name.to_string(), |run| format!("{name}-run-{run}"))
}

/// Returns the counts of the written rows as text. Counts that are usually 0 are omitted when they
/// are 0.
fn summary(recording: &str, counts: &DatasetCounts) -> String {
    let if_any = |count, one, many| (count > 0).then(|| counted(count, one, many));
    let of_host = counts.host_zones + counts.host_events > 0;
    let of_host = of_host.then(|| {
        let zones = counted(counts.host_zones, "zone", "zones");
        format!("{zones} and {} of the host", counted(counts.host_events, "event", "events"))
    });
    let parts = [
        Some(counted(counts.zones, "zone", "zones")),
        Some(counted(counts.markers, "marker", "markers")),
        Some(counted(counts.ops, "op", "ops")),
        Some(counted(counts.losses, "counted loss", "counted losses")),
        if_any(counts.counters, "hardware counter", "hardware counters"),
        if_any(counts.noc_events, "NoC event", "NoC events"),
        of_host,
        if_any(counts.buffers, "change of buffers", "changes of buffers"),
        if_any(counts.memory, "range of memory", "ranges of memory"),
    ];
    let parts = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let files = counted(counts.files, "file", "files");
    let replaced = if_any(counts.replaced_files, "file", "files")
        .map_or_else(String::new, |files| {
            format!("\n  {files} of an earlier recording of this name replaced")
        });
    format!("{parts} in {files} of {recording}{replaced}")
}
