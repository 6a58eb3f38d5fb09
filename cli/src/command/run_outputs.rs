//! Files that a run writes.

use super::run_lines::LineCollector;
use crate::{
    derived_logs::{self, check_replaceable},
    failure::{Failure, OrFail, failure, make_folder, note},
    recording::CaptureTarget,
};
use host_reader::{
    environment::Settings,
    export::TraceFilter,
    lines::{LINES_FILE, beside_capture},
    log::{remove_unfinished_files, write_device_log_file},
    noc_events::NocTraces,
    output::{Output, OutputError},
    recording::{DEVICE_LOG, Recording},
};
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Output files of a run, each with its kind and path, and the capture.
pub(super) struct Files {
    files: Vec<(Output, PathBuf)>,
    pub(super) capture: Option<CaptureTarget>,
    /// File for the table `lines`, if it is wanted.
    pub(super) lines: Option<PathBuf>,
    /// File of an earlier run, whose table `lines` would belong to another recording.
    old_lines: Option<PathBuf>,
}

impl Files {
    /// Collects the files that the settings request. `logs` is the folder for logs; `None` if no
    /// logs are requested.
    pub(super) fn new(
        logs: Option<PathBuf>,
        capture: Option<CaptureTarget>,
        settings: &Settings,
        has_lines: bool,
    ) -> Self {
        let traces = settings.noc_events_folder.as_ref().or(logs.as_ref());
        let traces = traces.filter(|_| settings.files && settings.noc_events);
        let in_logs = [
            (settings.files, Output::DeviceLog, DEVICE_LOG),
            (settings.clock_sync, Output::SyncInfo, "sync_device_info.csv"),
            (settings.post_process, Output::DevicePerf, "cpp_device_perf_report.csv"),
        ]
        .into_iter()
        .filter(|(is_wanted, ..)| *is_wanted)
        .filter_map(|(_, output, name)| Some((output, logs.as_ref()?.join(name))));
        let traces = traces.map(|folder| (Output::NocTraces, folder.clone()));
        let lines = match &capture {
            Some(target) => Some(beside_capture(&target.path)),
            None => logs.as_ref().map(|logs| logs.join(LINES_FILE)),
        };
        let (lines, old_lines) = if has_lines { (lines, None) } else { (None, lines) };
        Self { files: in_logs.chain(traces).collect(), capture, lines, old_lines }
    }

    /// Refuses to replace files that were not written by a simulation. Call this before any work is
    /// done.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let tables = self.lines.iter().chain(&self.old_lines);
        tables.into_iter().try_for_each(|path| check_replaceable(path))?;
        self.files.iter().try_for_each(|(output, path)| match output {
            Output::NocTraces => check_traces(path),
            _ => check_replaceable(path),
        })
    }

    /// Creates the folders of the files. Call this before any work is done.
    pub(super) fn make_folders(&self) -> Result<(), Failure> {
        let capture = self.capture.as_ref().and_then(|target| target.path.parent());
        let folders = self.files.iter().filter_map(|(output, path)| match output {
            Output::NocTraces => Some(path.as_path()),
            _ => path.parent(),
        });
        let lines = self.lines.as_ref().and_then(|path| path.parent());
        let mut folders =
            folders.chain(capture).chain(lines).filter(|path| !path.as_os_str().is_empty());
        folders.try_for_each(make_folder)
    }

    /// Writes all files except the capture, which is already complete.
    pub(super) fn write(
        &self,
        recording: &Recording,
        lines: Option<LineCollector>,
    ) -> Result<(), Failure> {
        end_on_signals()?;
        if let Some(old) = self.old_lines.as_ref().filter(|path| path.exists()) {
            std::fs::remove_file(old).or_fail_at(old)?;
        }
        if let Some((lines, path)) = lines.zip(self.lines.as_ref()) {
            lines.write(path)?;
            derived_logs::note(path, &recording.readout)?;
        }
        for (output, path) in &self.files {
            let written = match output {
                Output::DeviceLog => {
                    write_device_log_file(path, &recording.readout).or_fail()?;
                    Ok(())
                }
                _ => output.write(recording, "", &TraceFilter::default(), path),
            };
            match written {
                Err(OutputError::Empty { expected }) => {
                    note!(
                        "kprof: this run recorded no {expected}, so none were written to {}",
                        path.display()
                    );
                }
                written => {
                    written.or_fail_at(path)?;
                    derived_logs::note(&marked(*output, path), &recording.readout)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the path of each file.
    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out)?;
        for (output, path) in &self.files {
            let label = match output {
                Output::DeviceLog => "Device log",
                Output::SyncInfo => "Clock samples",
                Output::DevicePerf => "Perf report",
                _ => "NoC traces",
            };
            writeln!(out, "{label}: {}", path.display())?;
        }
        if let Some(target) = &self.capture {
            writeln!(out, "Capture: {}", target.path.display())?;
        }
        if let Some(path) = &self.lines {
            writeln!(out, "Lines: {}", path.display())?;
        }
        Ok(())
    }
}

/// Returns the path of the file that is marked as simulated. The mark is a note file next to this
/// file.
fn marked(output: Output, path: &Path) -> PathBuf {
    match output {
        Output::NocTraces => path.join(NocTraces::CLUSTER_FILE),
        _ => path.to_owned(),
    }
}

/// Refuses a folder with noc_trace files that were not written by a simulation.
fn check_traces(folder: &Path) -> Result<(), Failure> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    let mut names = entries.flatten().map(|entry| entry.file_name());
    let Some(found) =
        names.find(|name| name.to_str().is_some_and(|name| name.starts_with("noc_trace_")))
    else {
        return Ok(());
    };
    let cluster = folder.join(NocTraces::CLUSTER_FILE);
    if cluster.exists() && check_replaceable(&cluster).is_ok() {
        return Ok(());
    }
    Err(failure!(
        "{} exists and may come from a chip, so NoC traces are not written there; choose another \
         folder with -o or TT_METAL_DEVICE_PROFILER_NOC_EVENTS_RPT_PATH",
        folder.join(found).display()
    ))
}

/// Installs signal handlers that end the program without leaving a partial log.
fn end_on_signals() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        remove_unfinished_files();
        std::process::exit(130)
    })
    .or_fail()
}
