//! `kprof export --format parquet`: a recording as part of a dataset.

use super::{
    location::{delta_logs, location},
    machine_clock::{machine_clock, recorded_on},
    ops_report::ops_report,
};
use crate::{
    args::ExportArgs,
    command::written::{print_json, write_doubts},
    failure::{Failure, OrFail},
    input::joined,
    numbers::counted,
    progress::Busy,
};
use chrono::NaiveDate;
use host_reader::{
    export::{
        AddedRecording, CancelFlag, DatasetCounts, DatasetLabels, DatasetLocation, DeltaLogs,
        ParquetDataset, Trace, TraceFilter,
    },
    recording::Recording,
    tables::RecordingKey,
};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    io::Write,
    path::{Path, PathBuf},
};

/// Default folder of the dataset.
const DEFAULT_FOLDER: &str = "dataset";

/// The dataset to write, from the arguments.
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
    /// The file's name; the recording's id is appended.
    OfFile(String),
}

/// Counts of the exported data, printed after the export.
#[derive(Serialize)]
struct Written<'a> {
    output: String,
    format: &'static str,
    date: Option<String>,
    run: String,
    recording: String,
    #[serde(flatten)]
    counts: &'a DatasetCounts,
    doubts: BTreeMap<String, u64>,
}

/// Default name of the host that owns the chips.
const DEFAULT_HOST: &str = "local";

impl Dataset {
    pub(crate) fn new(args: &ExportArgs) -> Result<Self, Failure> {
        let folder = args.output.clone().unwrap_or_else(|| DEFAULT_FOLDER.into());
        if folder == Path::new("-") {
            let sentence = "a dataset is many files; expected a folder, found standard output";
            return Err(Failure::Sentence(sentence.to_owned()));
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
        // Invalid names are refused before anything is read.
        let (RecordingName::Named(name) | RecordingName::OfFile(name)) = &dataset.recording;
        dataset.files(name, &CancelFlag::default())?;
        Ok(dataset)
    }

    fn files(&self, recording: &str, cancel: &CancelFlag) -> Result<ParquetDataset, Failure> {
        if self.host.is_empty() || recording.is_empty() {
            let sentence = "expected names for --host and --recording, found an empty text";
            return Err(Failure::Sentence(sentence.to_owned()));
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

    /// Writes the recording, and prints counts of what was written.
    pub(crate) fn write(
        &self,
        trace: &Trace<'_>,
        run: &Recording,
        cancel: &CancelFlag,
        as_json: bool,
    ) -> Result<(), Failure> {
        let recording = match &self.recording {
            RecordingName::Named(name) => name.clone(),
            RecordingName::OfFile(name) => format!("{name}-{}", trace.recording_id()),
        };
        let busy = Busy::new(format!("writing {}", self.location));
        let mut files = self.files(&recording, cancel)?;
        let key = RecordingKey { host: &self.host, recording: &recording };
        let machine = machine_clock(&self.file, trace);
        let report = ops_report(&self.file, run, self.filter.clone());
        let ops_csv = Some(&*report.ops_csv);
        let added = files.add(&AddedRecording { key, machine, trace, ops_csv });
        let counts = added.and_then(|()| files.finish()).or_fail()?;
        drop(busy);
        Written {
            output: self.location.to_string(),
            format: "parquet",
            date: self.date.map(|date| date.to_string()),
            run: self.run.clone().unwrap_or_else(|| recording.clone()),
            recording,
            counts: &counts,
            doubts: trace.doubts().into_iter().collect(),
        }
        .print(as_json)
    }
}

/// Returns the name of the file, with the number of the run if one was chosen.
fn recording_of(args: &ExportArgs) -> String {
    let of_file = args.file.file_stem().filter(|_| !args.file.is_dir());
    let name = of_file.unwrap_or("profile_log_device".as_ref()).to_string_lossy();
    args.run.map_or_else(|| name.to_string(), |run| format!("{name}-run-{run}"))
}

/// Returns the count of hardware counters; empty if there are none.
fn counters_text(counts: &DatasetCounts) -> String {
    match counts.counters {
        0 => String::new(),
        count => format!(", {}", counted(count, "hardware counter", "hardware counters")),
    }
}

/// Returns the count of NoC events; empty if there are none.
fn nocs_text(counts: &DatasetCounts) -> String {
    match counts.noc_events {
        0 => String::new(),
        count => format!(", {}", counted(count, "NoC event", "NoC events")),
    }
}

/// Returns the count of changes of buffers; empty if there are none.
fn buffers_text(counts: &DatasetCounts) -> String {
    match counts.buffers {
        0 => String::new(),
        count => format!(", {}", counted(count, "change of buffers", "changes of buffers")),
    }
}

/// Returns the counts of the host's zones and events; empty if there are none.
fn host_text(counts: &DatasetCounts) -> String {
    if counts.host_zones + counts.host_events == 0 {
        return String::new();
    }
    let zones = counted(counts.host_zones, "zone", "zones");
    let events = counted(counts.host_events, "event", "events");
    format!(", {zones} and {events} of the host")
}

impl Written<'_> {
    fn print(&self, as_json: bool) -> Result<(), Failure> {
        if as_json {
            return print_json(self);
        }
        let mut out = std::io::stdout().lock();
        let counts = self.counts;
        writeln!(
            out,
            "{}: {}, {}, {}, {}{}{}{}{} in {} of {}",
            self.output,
            counted(counts.zones, "zone", "zones"),
            counted(counts.markers, "marker", "markers"),
            counted(counts.ops, "op", "ops"),
            counted(counts.losses, "loss", "losses"),
            counters_text(counts),
            nocs_text(counts),
            host_text(counts),
            buffers_text(counts),
            counted(counts.files, "file", "files"),
            self.recording,
        )?;
        if counts.replaced_files > 0 {
            let replaced = counted(counts.replaced_files, "file", "files");
            writeln!(out, "  {replaced} of an earlier recording of this name replaced")?;
        }
        write_doubts(&self.doubts, &mut out)?;
        Ok(())
    }
}
