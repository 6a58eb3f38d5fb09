//! Results of a recording, printed as lines or as JSON.

use super::watch::Taken;
use crate::numbers::{counted, grouped};
use host_reader::{
    tables::{Rows, Standing, StandingRow},
    tracy::{RecordingEnd, TracyRecording},
};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::PathBuf,
};

/// Summary of a run of `kprof record`.
#[derive(Serialize)]
pub(super) struct Summary {
    /// Processes that were recorded.
    processes: Vec<Process>,
    /// Messages about clients that could not be recorded.
    not_recorded: Vec<String>,
    /// Files that were written.
    files: Vec<PathBuf>,
    /// The program's exit code.
    pub(super) exit_code: i32,
    /// Where the RISCs of a simulated chip stood in launches that had not ended, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    standing: Option<Rows<'static, Standing>>,
}

#[derive(Serialize)]
struct Process {
    program: String,
    process_id: u64,
    protocol: u32,
    threads: usize,
    zones: usize,
    messages: usize,
    plots: usize,
    device_zones: usize,
    /// Reason why data at the end of the recording is missing; `None` if no data is missing there.
    end: Option<String>,
    /// Counts of missing or inconsistent data, by kind.
    damage: BTreeMap<&'static str, u64>,
    /// Numbers of received items that were not stored, by kind.
    left_out: BTreeMap<String, u64>,
}

impl Process {
    fn new(recording: &TracyRecording) -> Self {
        let devices = recording.devices.iter().map(|device| device.zones.len());
        let left_out = &recording.left_out;
        let damage = recording.damage.counts();
        Self {
            program: recording.program.name.clone(),
            process_id: recording.program.process_id,
            protocol: recording.program.protocol,
            threads: recording.threads.len(),
            zones: recording.zone_count(),
            messages: recording.messages.len(),
            plots: recording.plots.len(),
            device_zones: devices.sum(),
            end: end(&recording.end),
            damage: damage.into_iter().filter(|(_, count)| *count > 0).collect(),
            left_out: left_out.iter().map(|(kind, count)| (format!("{kind:?}"), *count)).collect(),
        }
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "{} (process {}, Tracy's protocol {}): {} of {}, {}, {}",
            self.program,
            self.process_id,
            self.protocol,
            counted(self.zones as u64, "zone", "zones"),
            counted(self.threads as u64, "thread", "threads"),
            counted(self.messages as u64, "message", "messages"),
            counted(self.plots as u64, "plot", "plots"),
        )?;
        if self.device_zones > 0 {
            let zones = grouped(self.device_zones as u64);
            writeln!(out, "  device zones, as threads named after their devices: {zones}")?;
        }
        if let Some(end) = &self.end {
            writeln!(out, "  {end}")?;
        }
        for (what, count) in &self.damage {
            writeln!(out, "  {what}: {}", grouped(*count))?;
        }
        Ok(())
    }
}

fn end(end: &RecordingEnd) -> Option<String> {
    match end {
        RecordingEnd::Complete => None,
        RecordingEnd::Stopped => {
            Some("the process still runs: its data after the program's end is missing".to_owned())
        }
        RecordingEnd::Cut => Some(
            "the program ended before it had sent all data: an unknown part is missing".to_owned(),
        ),
        RecordingEnd::Silent => Some("the program stopped sending data".to_owned()),
        RecordingEnd::Unreadable { frame, found } => {
            Some(format!("expected items in frame {frame}, found {found}; the rest is missing"))
        }
    }
}

impl Summary {
    pub(super) fn new(taken: &[Taken], files: Vec<PathBuf>, exit_code: i32) -> Self {
        let processes = taken.iter().flatten().map(Process::new).collect();
        let refused = taken.iter().filter_map(|taken| taken.as_ref().err());
        Self {
            processes,
            not_recorded: refused.map(ToString::to_string).collect(),
            files,
            exit_code,
            standing: None,
        }
    }

    /// Adds where RISCs stood in launches that had not ended.
    pub(super) fn with_standing(self, rows: Vec<StandingRow>) -> Self {
        Self { standing: (!rows.is_empty()).then_some(Rows(rows)), ..self }
    }

    /// Writes the summary as lines. `out` must not be standard output, which belongs to the
    /// program.
    pub(super) fn write(&self, is_verbose: bool, out: &mut impl Write) -> io::Result<()> {
        for process in &self.processes {
            process.write(out)?;
            if is_verbose {
                for (kind, count) in &process.left_out {
                    writeln!(out, "  not stored, {kind}: {}", grouped(*count))?;
                }
            }
        }
        for sentence in &self.not_recorded {
            writeln!(out, "not recorded: {sentence}")?;
        }
        if self.processes.is_empty() && self.not_recorded.is_empty() {
            writeln!(out, "no host zones: no process of the program had a Tracy client")?;
        }
        for file in &self.files {
            writeln!(out, "written: {}", file.display())?;
        }
        Ok(())
    }
}
