//! All data recorded in one run of a program, and filters to select a part of it.
//!
//! | question | item |
//! |---|---|
//! | what was recorded? | [`Recording`] |
//! | how is a recording loaded from a log, a capture or a folder? | [`load`] |
//! | how is a log's report, or its NoC events, made with little memory? | [`open`], [`report_of_log`], [`noc_of_log`] |
//! | how is a whole log read lane by lane with little memory? | [`PackedRecording`] |
//! | how does the same code read packed lanes and lanes in memory? | [`Lanes`] |
//! | which ops did the host announce next to a log? | [`host_ops`] |
//! | which replays of traces did the host report? | [`traces_of_host`], [`trace_messages`] |
//! | where was an op called? | [`OpCalls`] |
//! | which buffers were there when an op was launched? | [`OpBufferTexts`] |
//! | how is a part of a recording selected? | [`TraceFilter`], [`Recording::retain`] |
//! | which commands did dispatch cores execute? | [`name_dispatch_commands`] |
//! | how are cycles converted to one clock for all chips? | [`DeviceClock`] |

#![deny(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "numbers come from outside"
    )
)]

mod buffers;
mod calls;
pub mod capture;
mod clock;
pub mod derived_log;
pub mod device_log;
mod dispatch;
mod envelopes;
mod filter;
mod harvesting;
pub mod host_ops;
mod lanes;
mod load;
mod noc;
mod packed_recording;
pub mod problem;
mod selection;
mod sub_devices;
mod traces;
pub mod whole_file;
pub mod zone_names;

pub use buffers::{BUFFERS, OpBufferTexts};
pub use calls::{CALL, CallFrame, OF_CALL, OpCall, OpCalls, UNKNOWN_CALL};
pub use clock::{DeviceClock, clocks_of};
pub use dispatch::name_dispatch_commands;
pub use filter::{FilterError, TraceFilter};
pub use harvesting::noc_trace_files;
pub use lanes::Lanes;
pub use load::{
    Collected, DEVICE_CAPTURE_PREFIX, DEVICE_LOG, DEVICE_PERF_REPORT, LoadError, Loaded, Opened,
    OpenedLog, device_captures, device_log, device_perf_report, is_capture, load, logs_folder,
    newest_ops_csv, noc_of_log, open, open_log, open_within, other_ops_csvs, report_of_log,
    reported_device_log,
};
pub use packed_recording::PackedRecording;
pub use selection::HiddenLaunches;
pub use sub_devices::{SUB_DEVICE_ID, SUB_DEVICE_MANAGER_ID, SUB_DEVICE_WORKER_CORES};
pub use traces::{UnreplayedTrace, trace_messages, traces_of_host, unreplayed_traces};

use crate::capture::{
    CapturedRun,
    sync::{MeshClock, MeshSamples},
};
use analysis::counters::merge_passes;
use host_events::{HostEventKind, HostRecording, OpMetadata, OpTexts};
use reader::readout::Readout;
use std::{collections::BTreeMap, path::PathBuf};
use wire::RunHostId;

/// Everything that was recorded in one run of a program. All times of a chip are those of one
/// clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Records, names, losses and anomalies; times are on the clock of each chip's reference
    /// core.
    pub readout: Readout,
    /// The host's clock, if it was sampled.
    pub clock: Option<MeshClock>,
    /// Clock samples from which `clock` was fitted.
    pub samples: MeshSamples,
    /// The host's metadata of the ops, in no particular order.
    pub ops: Vec<OpMetadata>,
    /// Calls of the ops in the user's program.
    pub calls: OpCalls,
    /// Buffers that the ops' host allocated and freed.
    pub buffers: OpBufferTexts,
    /// Events recorded by the threads of the host.
    pub host: Vec<HostRecording>,
    /// Number of launches that the profiler itself used to read the chips. The recording omits
    /// these launches.
    pub profiler_launch_count: u64,
    /// Newest ops CSV in the recording's folder. The file may belong to another run: its rows have
    /// not been compared with the recorded launches.
    pub ops_csv: Option<PathBuf>,
    /// TT-Metal's NoC traces in the folder of a device log.
    pub noc_traces: NocTraceFiles,
    /// Traces that the host captured and never replayed.
    pub unreplayed_traces: Vec<UnreplayedTrace>,
}

/// TT-Metal's `noc_trace_*.json` in the folder of a device log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NocTraceFiles {
    /// Paths, sorted by name.
    pub paths: Vec<PathBuf>,
    /// True if the log itself has NoC events. The files then contain the same events.
    pub repeat_log: bool,
}

impl NocTraceFiles {
    /// Returns the files with NoC events that are not in the log.
    #[must_use]
    pub fn unrepeated(&self) -> &[PathBuf] {
        if self.repeat_log { &[] } else { &self.paths }
    }

    /// Returns a sentence for the user if the log has the NoC events and the trace files next to
    /// the log are therefore not used.
    ///
    /// ```
    /// let one = recording::NocTraceFiles { paths: vec!["noc_trace_dev0_ID0.json".into()], repeat_log: true };
    /// let expected = "NoC events: from the device log; 1 noc_trace file next to it has the same";
    /// assert_eq!(one.sentence_of_log().as_deref(), Some(expected));
    /// assert_eq!(recording::NocTraceFiles::default().sentence_of_log(), None);
    /// ```
    #[must_use]
    pub fn sentence_of_log(&self) -> Option<String> {
        let files = match self.paths.len() {
            0 => return None,
            1 => "1 noc_trace file next to it has the same".to_owned(),
            count => format!("{count} noc_trace files next to it have the same"),
        };
        self.repeat_log.then(|| format!("NoC events: from the device log; {files}"))
    }
}

/// Metadata key of an op with launches of program 0 that the profiler itself has made.
///
/// The profiler uses these launches to read chips that it cannot read in another way.
pub const PROFILER_LAUNCHES: &str = "kprof_launches";

impl Recording {
    /// Creates a recording of chips only.
    ///
    /// The chips' times must already be on one clock per chip, as in device logs.
    #[must_use]
    pub fn from_readout(readout: Readout) -> Self {
        Self { readout, ..Self::default() }
    }

    /// Creates a recording of a captured run.
    ///
    /// Fits clocks to the clock samples and aligns the records with these clocks. Adds the trace
    /// replays and the sub-devices that the host reported. Adds the names of commands to the zones
    /// of dispatch cores. In trace-only mode, also names the zones that cover the work of all RISCs
    /// of a core.
    #[must_use]
    pub fn from_captured_run(run: CapturedRun) -> Self {
        let CapturedRun { mut readout, samples, mut ops, host, .. } = run;
        let calls = OpCalls::take_from(&mut ops);
        let buffers = OpBufferTexts::take_from(&mut ops);
        let traces = traces_of_host(&host);
        if !traces.is_empty() {
            traces.name_runs(&mut readout);
        }
        sub_devices::attach_sub_devices(&ops, &mut readout);
        name_dispatch_commands(&mut readout);
        envelopes::name_envelopes(&mut readout);
        let clock = samples.fit();
        clock.tile_origins(&readout).align(&mut readout);
        let unreplayed_traces = unreplayed_traces(&host);
        let mut recording = Self {
            readout,
            clock: Some(clock),
            samples,
            ops,
            calls,
            buffers,
            host,
            unreplayed_traces,
            ..Self::default()
        };
        recording.leave_out_profiler();
        recording
    }

    /// Removes launches of program 0 if the capture states that they are the profiler's own.
    ///
    /// Losses are kept, because losses of an unknown program may be losses of the user's programs.
    fn leave_out_profiler(&mut self) {
        let before = self.ops.len();
        self.ops.retain(|op| op.value(PROFILER_LAUNCHES).is_none());
        if self.ops.len() == before {
            return;
        }
        let losses = self.readout.losses.clone();
        self.profiler_launch_count = self.retain(&TraceFilter::without_program(0)).launch_count;
        self.readout.losses = losses;
        for launch in &mut self.readout.hidden {
            launch.is_of_profiler = true;
        }
    }

    /// Creates recordings of captured runs. Repetitions of a run for other hardware counters become
    /// part of that run's recording.
    ///
    /// The combined recording has the counters and the losses of all repetitions.
    #[must_use]
    pub fn from_captured_runs(runs: Vec<CapturedRun>) -> Vec<Self> {
        let mut recordings: Vec<Self> = Vec::new();
        let mut later = Vec::new();
        for run in runs {
            let is_counter_pass = run.is_counter_pass && !recordings.is_empty();
            let recording = Self::from_captured_run(run);
            if is_counter_pass {
                later.push(recording.readout);
            } else {
                Self::add_counters(&mut recordings, &mut later);
                recordings.push(recording);
            }
        }
        Self::add_counters(&mut recordings, &mut later);
        recordings
    }

    fn add_counters(recordings: &mut [Self], later: &mut Vec<Readout>) {
        if let Some(Self { readout, .. }) = recordings.last_mut() {
            merge_passes(readout, later);
            later.clear();
        }
    }

    /// Returns the name that the host gave to each program, by chip id and run host id. If a
    /// program has several names, the first name is used.
    ///
    /// ```
    /// use host_events::OpMetadata;
    /// use recording::Recording;
    /// use wire::RunHostId;
    /// let op = |name: &str| OpMetadata {
    ///     chip_id: 0,
    ///     run_host_id: RunHostId(1024),
    ///     fields: [(OpMetadata::NAME.to_owned(), name.to_owned())].into(),
    /// };
    /// let recording = Recording { ops: vec![op("Matmul"), op("Add")], ..Recording::default() };
    /// assert_eq!(recording.op_names()[&(0, RunHostId(1024))], "Matmul");
    /// ```
    #[must_use]
    pub fn op_names(&self) -> BTreeMap<(u32, RunHostId), &str> {
        names_of(&self.ops)
    }

    /// Returns the host's metadata of each program, by chip id and run host id.
    #[must_use]
    pub fn metadata_by_program(&self) -> BTreeMap<(u32, RunHostId), &OpMetadata> {
        metadata_by_program(&self.ops)
    }

    /// Returns what the host said of each program, by chip id and run host id.
    #[must_use]
    pub fn op_texts(&self) -> BTreeMap<(u32, RunHostId), OpTexts<'_>> {
        let all = self.metadata_by_program().into_iter();
        all.map(|(program, op)| (program, op.texts())).collect()
    }

    /// Returns the names of the signposts that the host set, in no particular order.
    pub fn signpost_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.signposts().map(|(_, name)| name)
    }

    /// Returns the times and names of the signposts that the host set, in no particular order.
    fn signposts(&self) -> impl Iterator<Item = (u64, &str)> + Clone {
        self.host.iter().flat_map(|recording| {
            let signposts =
                recording.events().filter(|event| event.kind == HostEventKind::Signpost);
            signposts.map(move |event| (event.time_ns, recording.name(event)))
        })
    }

    /// Returns the time of the host's first event, in ns on the host's clock.
    #[must_use]
    pub fn first_host_event_ns(&self) -> Option<u64> {
        self.host.iter().flat_map(HostRecording::events).map(|event| event.time_ns).min()
    }
}

/// Returns the names of ops by chip id and run host id.
fn names_of(ops: &[OpMetadata]) -> BTreeMap<(u32, RunHostId), &str> {
    let all = metadata_by_program(ops).into_iter();
    all.filter_map(|(program, op)| Some((program, op.value(OpMetadata::NAME)?))).collect()
}

/// Returns the host's metadata of each program, by chip id and run host id. If a program has several
/// entries, the first one with a name is used.
#[must_use]
pub fn metadata_by_program(ops: &[OpMetadata]) -> BTreeMap<(u32, RunHostId), &OpMetadata> {
    let mut found = BTreeMap::new();
    for op in ops {
        let first = found.entry((op.chip_id, op.run_host_id)).or_insert(op);
        if first.value(OpMetadata::NAME).is_none() && op.value(OpMetadata::NAME).is_some() {
            *first = op;
        }
    }
    found
}
