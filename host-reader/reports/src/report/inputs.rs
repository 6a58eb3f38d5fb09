//! Inputs of a report, collected from TT-Metal's files or from a readout.
//!
//! A missing or unreadable input is logged as a problem. Other modules join and display the inputs.

use super::{
    available_cores::AvailableCores,
    device_op::DeviceOp,
    dispatch::has_dispatch,
    dispatch_launches::{attach_dispatch, attach_equal},
    exact::{ExactCounters, ExactLog, SUMS, SubDevices, read_exactly},
    host_times::read_times,
    launched::Launched,
    marks::KernelMarks,
    measured::{MeasuredOps, Ops, measured_marks},
    noc::NocInput,
    ops::{DeviceData, OpsOptions, OpsReport, ReportFiles},
    per_core::CoreMarks,
    perf_report::{DevicePerfReport, LaunchFigures, OP_NAME, figures_of, read_report},
};
use crate::problem::ProblemLog;
use analysis::{LaneRuns, noc_events::NocLanes};
use host_events::{BufferUsage, OpMetadata};
use reader::{
    anomaly::AnomalyKind,
    from_lanes::FromLanes,
    ledger::UncountedSource,
    packed_bytes::{PackedError, PackedMemory},
    readout::Readout,
};
use recording::{
    Collected, DEVICE_LOG, DEVICE_PERF_REPORT, Lanes, OpenedLog, Recording,
    device_log::PackedLog,
    host_ops::{HostLog, OP_MESSAGES, OP_TIMES, read_messages},
};
use std::{collections::HashMap, path::Path, sync::Arc};
use wire::ZoneId;

/// Name of TT-Metal's device perf report in `.logs`.
/// Name of the file in `.logs` with the host's events. `kprof record` adds this file.
const HOST_CAPTURE: &str = "tracy_profile_log_host.kprof";

fn name(logs: &Path, file: &str) -> String {
    logs.join(file).display().to_string()
}

/// Returns the file name used in problems about the host's messages.
pub(super) fn messages_name(logs: &Path) -> String {
    name(logs, OP_MESSAGES)
}

/// Reads a whole input file. If the file cannot be read, adds a problem; `needed` is the end of the
/// problem's text, and states the consequence.
fn read_input(path: &Path, needed: &str, problems: &mut ProblemLog) -> Option<Vec<u8>> {
    let read = std::fs::read(path).map_err(|error| {
        let detail = format!("cannot be read ({error}); {needed}");
        problems.add_to_file(&path.display().to_string(), detail);
    });
    read.ok()
}

/// Takes the name of an op from the device perf report. Reports with a host have the host's name.
fn name_by_device(op: &mut DeviceOp) {
    if let Some(name) = op.cells.remove(OP_NAME) {
        op.set("OP CODE", name);
        op.set("OP TYPE", "tt_dnn_device");
    }
}

pub(super) fn read_host(logs: &Path, is_exact: bool, problems: &mut ProblemLog) -> HostLog {
    let [messages_path, times_path] = [OP_MESSAGES, OP_TIMES].map(|file| logs.join(file));
    if !messages_path.exists() && !times_path.exists() {
        return HostLog::default();
    }
    let needed = "ops have no names then, and the report is of the device alone";
    let Some(messages) = read_input(&messages_path, needed, problems) else {
        return HostLog::default();
    };
    let mut log = read_messages(&messages, &name(logs, OP_MESSAGES), is_exact, problems);
    let needed = "ops have no host times then, and stand in the order of their messages";
    if let Some(times) = read_input(&times_path, needed, problems) {
        let file = name(logs, OP_TIMES);
        read_times(&times, &file, &mut log, problems);
        for op in log.ops.iter().filter(|op| op.time.is_none()) {
            let detail = format!("op {} has no host time in {file}; its cells are empty", op.id);
            problems.add_to_line(&name(logs, OP_MESSAGES), op.line, detail);
        }
    }
    if !is_exact {
        log.buffers = read_buffers(logs, problems);
    }
    log
}

/// Reads how much memory on the chips was used by buffers. Only `kprof record` records this.
fn read_buffers(logs: &Path, problems: &mut ProblemLog) -> BufferUsage {
    let path = logs.join(HOST_CAPTURE);
    if !path.exists() {
        return BufferUsage::default();
    }
    match recording::load(&path) {
        Ok(loaded) => {
            let host: Vec<_> =
                loaded.recordings.into_iter().flat_map(|recording| recording.host).collect();
            BufferUsage::from_host(&host)
        }
        Err(error) => {
            let detail = format!("{error}; peaks of buffers are empty then");
            problems.add_to_file(&path.display().to_string(), detail);
            BufferUsage::default()
        }
    }
}

/// Device data about the ops of a mesh.
#[derive(Default)]
pub(super) struct DeviceSide {
    pub(super) file: String,
    pub(super) ops: Ops,
    /// True if the ops come from a device perf report, which numbers replays.
    pub(super) has_sessions: bool,
    pub(super) sub_devices: SubDevices,
    pub(super) counters: ExactCounters,
    pub(super) marks: Vec<(u64, Vec<CoreMarks>)>,
    pub(super) aiclk_mhz: u32,
    /// True if the chips are Quasars, which need additional columns.
    pub(super) is_quasar: bool,
    /// The report so far. Only the fields that do not depend on data from the host are set.
    pub(super) report: OpsReport,
}

impl DeviceSide {
    /// Returns device data without ops, for a file that TT-Metal wrote. Such files contain no
    /// losses.
    fn from_tt_metal(file: String, has_device_data: bool) -> Self {
        let mut report = OpsReport { has_device_data, ..OpsReport::default() };
        report.losses.note_uncounted(UncountedSource::TtMetalLog);
        Self { file, report, ..Self::default() }
    }
}

/// Reader of the device data about a report's ops.
pub(super) struct DeviceReader<'a> {
    pub(super) options: &'a OpsOptions,
    pub(super) host: &'a HostLog,
    /// Memory for the records of a device log. Records that exceed its limit are stored in its
    /// temporary file.
    pub(super) memory: &'a Arc<PackedMemory>,
    pub(super) problems: &'a mut ProblemLog,
}

impl DeviceReader<'_> {
    /// Reads a folder of logs. If there are no noc_trace files, NoC events are read from the device
    /// log.
    pub(super) fn folder(mut self, logs: &Path) -> DeviceSide {
        if !self.options.analyzes_noc {
            return self.log_or_report(logs);
        }
        let noc = NocInput::from_folder(logs, self.problems);
        let options = &OpsOptions { analyzes_noc: noc.is_empty(), ..self.options.clone() };
        let Self { host, memory, problems, .. } = self;
        let mut side = DeviceReader { options, host, memory, problems }.log_or_report(logs);
        let noc_events = noc.add_cells(side.ops.held(), options.is_exact);
        side.report.noc_events = noc_events.or(side.report.noc_events);
        side
    }

    /// Reads the device log or the device perf report in a folder.
    fn log_or_report(&mut self, logs: &Path) -> DeviceSide {
        let options = self.options;
        let is_device_only = self.host.ops.is_empty();
        let [log, report] = [DEVICE_LOG, DEVICE_PERF_REPORT].map(|file| logs.join(file));
        let takes_report = report.exists()
            && match options.device_data {
                // Without a host, TT-Metal makes its report from the device log.
                DeviceData::Best => (options.is_exact && !is_device_only) || !log.exists(),
                DeviceData::DeviceLog => false,
                DeviceData::PerfReport => !is_device_only || !log.exists(),
            };
        let mut note = |path: &Path, detail: &str| {
            self.problems.add_to_file(&path.display().to_string(), detail);
        };
        let cannot_select = takes_report || options.is_exact;
        if cannot_select && !options.filter.is_empty() {
            let file = if takes_report { &report } else { &log };
            note(file, "no launches can be left out of reports on this file; all are there");
        }
        if cannot_select && options.analyzes_noc {
            note(logs, "expected noc_trace files, found none; NoC figures are empty then");
        }
        for name in options.filter.unknown_signposts(std::iter::empty()) {
            let detail =
                format!("a device log has no clock to place signpost `{name}` by; captures have");
            note(&log, &detail);
        }
        if !takes_report {
            return self.log(&log);
        }
        if !options.device_analyses.is_all() {
            let detail = "its durations are all shown; --force-legacy-device-logs takes a subset";
            note(&report, detail);
        }
        let bytes = read_input(&report, "ops have no durations then", self.problems);
        let is_read = bytes.is_some();
        let file = report.display().to_string();
        let mut ops = read_report(&bytes.unwrap_or_default(), &file, self.problems);
        if is_device_only {
            ops.values_mut().flatten().for_each(name_by_device);
        }
        let ops = ops.into();
        // Only the device log contains sub-devices.
        let DeviceSide { sub_devices, is_quasar, .. } =
            if log.exists() { self.log_exactly(&log) } else { DeviceSide::default() };
        DeviceSide {
            ops,
            has_sessions: true,
            sub_devices,
            is_quasar,
            ..DeviceSide::from_tt_metal(file, is_read)
        }
    }

    /// Reads a device log.
    pub(super) fn log(&mut self, log: &Path) -> DeviceSide {
        if self.options.is_exact {
            return self.log_exactly(log);
        }
        let file = log.display().to_string();
        let side = match PackedLog::open_within(log, self.memory) {
            Ok(packed) => {
                let mut opened = OpenedLog::from(packed);
                opened.add_note(log);
                if opened.changed_log.is_some() {
                    let detail =
                        "has changed since a simulation wrote it, so its losses are unknown";
                    self.problems.add_to_file(&file, detail.to_owned());
                }
                let read = self.packed_log(opened, log);
                read.map_err(|error| error.to_string())
            }
            Err(error) if log.exists() => Err(without_file(&error.to_string(), &file).to_owned()),
            Err(_) => Err("cannot be read, there is no such file".to_owned()),
        };
        side.unwrap_or_else(|detail| {
            self.problems.add_to_file(&file, format!("{detail}; ops have no durations then"));
            DeviceSide::from_tt_metal(file, false)
        })
    }

    fn log_exactly(&mut self, log: &Path) -> DeviceSide {
        let is_device_only = self.host.ops.is_empty();
        let file = log.display().to_string();
        let bytes = read_input(log, "ops have no durations then", self.problems);
        let exact =
            bytes.and_then(|bytes| read_exactly(&bytes, &file, is_device_only, self.problems));
        let Some(exact) = exact else { return DeviceSide::from_tt_metal(file, false) };
        let ExactLog { mut ops, sub_devices, counters, marks, aiclk_mhz, is_quasar, dispatch } =
            exact;
        // TT-Metal's reports without a host do not contain dispatch times.
        if !is_device_only {
            let told = (&*file, &mut *self.problems);
            attach_equal(&mut ops, &dispatch, f64::from(aiclk_mhz), told);
        }
        DeviceSide {
            ops: ops.into(),
            sub_devices,
            counters,
            marks,
            aiclk_mhz,
            is_quasar: is_quasar && !is_device_only,
            ..DeviceSide::from_tt_metal(file, true)
        }
    }

    fn packed_log(&mut self, log: OpenedLog, path: &Path) -> Result<DeviceSide, PackedError> {
        let Self { options, host, problems, .. } = self;
        let file = &path.display().to_string();
        let mut noc_of = |lanes: Lanes<'_>| -> Result<_, PackedError> {
            let noc = NocLanes::from_parts(lanes.collect()?);
            let noc = NocInput::from_lanes(lanes.readout, &noc, file, problems);
            Ok(noc.with_board_of(path.parent()))
        };
        let (mut side, noc) = if options.filter.is_empty() {
            let has_marks = host.ops.is_empty() && options.files != ReportFiles::Ops;
            let (runs, collected) = runs_and_marks(log, has_marks)?;
            let Collected { recording: Recording { readout, .. }, lanes, parts: marks } = collected;
            let launches = &runs.numbered_launches(&readout, lanes.memory());
            let lanes = Lanes::packed(&readout, &lanes);
            let noc = options.analyzes_noc.then(|| noc_of(lanes)).transpose()?;
            let launched = Launched { lanes, launches };
            (device_of_launches(launched, marks, &[], options, (file, problems))?, noc)
        } else {
            // Whether a launch is selected depends on all its lanes.
            let mut recording = log.into_recording()?;
            recording.ops = host.op_metadata();
            // The NoC figures are computed before the filter removes cores, because they apply to
            // whole launches.
            let lanes = Lanes::in_memory(&recording.readout);
            let noc = options.analyzes_noc.then(|| noc_of(lanes)).transpose()?;
            let hidden = recording.retain(&options.filter);
            let mut side = device_of_readout(&recording.readout, &[], options, (file, problems));
            side.report.hidden = hidden;
            (side, noc)
        };
        if let Some(noc) = noc {
            side.report.noc_events = noc.add_cells(side.ops.held(), false);
        }
        Ok(side)
    }
}

/// Reads the runs of all lanes and, if `has_marks`, the starts and ends of kernels.
fn runs_and_marks(
    log: OpenedLog,
    has_marks: bool,
) -> Result<(LaneRuns, Collected<KernelMarks>), PackedError> {
    if !has_marks {
        let Collected { recording, lanes, parts } = log.collect_and_keep()?;
        return Ok((
            LaneRuns::from_parts(parts),
            Collected { recording, lanes, parts: Vec::new() },
        ));
    }
    let Collected { recording, lanes, parts } = log.collect_and_keep()?;
    let (runs, parts) = parts.into_iter().unzip();
    Ok((LaneRuns::from_parts(runs), Collected { recording, lanes, parts }))
}

/// If a sentence about a problem begins with the name of the file, removes this name.
fn without_file<'sentence>(sentence: &'sentence str, file: &str) -> &'sentence str {
    let rest = sentence.strip_prefix(file).and_then(|rest| rest.strip_prefix([':', ',']));
    rest.map_or(sentence, str::trim_start)
}

/// Converts a readout whose lanes are in memory to the device data of a report.
pub(super) fn device_of_readout(
    readout: &Readout,
    names: &[OpMetadata],
    options: &OpsOptions,
    (file, problems): (&str, &mut ProblemLog),
) -> DeviceSide {
    let (runs, marks) = <(LaneRuns, KernelMarks)>::parts_of_readout(readout).into_iter().unzip();
    let runs = LaneRuns::from_parts(runs);
    let launches = &runs.numbered_launches(readout, &PackedMemory::unlimited());
    let launched = Launched { lanes: Lanes::in_memory(readout), launches };
    let side = device_of_launches(launched, marks, names, options, (file, problems));
    // Reading lanes in memory accesses no file, so it cannot fail.
    side.unwrap_or_else(|_| DeviceSide::from_tt_metal(file.to_owned(), false))
}

/// Converts launches to the device data of a report.
pub(super) fn device_of_launches(
    launched: Launched<'_>,
    marks: Vec<KernelMarks>,
    names: &[OpMetadata],
    options: &OpsOptions,
    (file, problems): (&str, &mut ProblemLog),
) -> Result<DeviceSide, PackedError> {
    let Launched { lanes: Lanes { readout, .. }, launches } = launched;
    add_anomalies(readout, file, problems);
    let figures = match needs_figures(launched, options) {
        true => figures_of(launched, &options.analyses)?,
        false => Vec::new(),
    };
    let unnamed_count: u64 = figures.iter().map(|figures| figures.unnamed_counter_count).sum();
    if unnamed_count > 0 {
        let detail = format!("{unnamed_count} values of hardware counters do not say of which");
        problems.add_to_file(file, detail);
    }
    let available = AvailableCores::from_host(names);
    let device_perf_csv = (options.files == ReportFiles::All)
        .then(|| device_perf_csv(launched, (&figures, &available), names, options));
    let mut ops = Ops::from(MeasuredOps {
        chips: readout.devices.iter().map(|device| device.chip.clone()).collect(),
        launches: launches.launches.clone(),
        figures,
        analyses: options.analyses.clone(),
        available,
    });
    if !readout.devices.is_sorted_by_key(|device| device.chip.chip_id) {
        ops.held();
    }
    if has_dispatch(&readout.zones) {
        attach_dispatch(ops.held(), launched, (file, problems))?;
    }
    let losses = readout.losses.clone();
    let report =
        OpsReport { has_device_data: true, device_perf_csv, losses, ..OpsReport::default() };
    Ok(DeviceSide {
        file: file.to_owned(),
        ops,
        marks: measured_marks(readout, marks),
        aiclk_mhz: readout.devices.first().map_or(0, |device| device.chip.aiclk_mhz),
        is_quasar: is_quasar(readout),
        report,
        ..DeviceSide::default()
    })
}

/// Returns true if the report needs data of launches that is computed from all records, such as the
/// values of hardware counters.
fn needs_figures(Launched { lanes, .. }: Launched<'_>, options: &OpsOptions) -> bool {
    let readout = lanes.readout;
    let mut names = readout.zones.places().map(|(_, zone)| &*zone.name);
    options.files == ReportFiles::All
        || is_quasar(readout)
        || lanes.may_have_marker(ZoneId::PERF_COUNTER)
        || names.any(|name| SUMS.iter().any(|&(_, _, zone)| zone == name))
}

fn is_quasar(readout: &Readout) -> bool {
    readout.devices.iter().any(|device| device.chip.arch.contains("quasar"))
}

fn device_perf_csv(
    launched: Launched<'_>,
    figures: (&[LaunchFigures], &AvailableCores),
    names: &[OpMetadata],
    options: &OpsOptions,
) -> String {
    let analyses = options.analyses.clone();
    let report = DevicePerfReport::from_launches(launched, figures, analyses, options.is_exact);
    let names: HashMap<_, _> = names
        .iter()
        .filter_map(|op| Some(((op.chip_id, op.run_host_id.0), op.value(OpMetadata::NAME)?)))
        .collect();
    report.to_csv(|chip_id, program| {
        names.get(&(chip_id, program)).map_or_else(String::new, |&name| name.to_owned())
    })
}

/// Adds a problem for the unreadable lines of a log.
pub(super) fn add_anomalies(readout: &Readout, file: &str, problems: &mut ProblemLog) {
    let is_line = |kind| {
        matches!(
            kind,
            AnomalyKind::MalformedLine
                | AnomalyKind::UnknownRisc
                | AnomalyKind::StrayValue
                | AnomalyKind::JoinedLog
        )
    };
    for anomaly in readout.anomalies.kept().iter().filter(|anomaly| is_line(anomaly.kind)) {
        problems.add_to_log_line(file, anomaly.position, &anomaly.detail);
    }
    for (kind, count) in readout.anomalies.counts() {
        let kept = readout.anomalies.kept().iter().filter(|anomaly| anomaly.kind == kind).count();
        let unkept = count.saturating_sub(kept as u64);
        if is_line(kind) && unkept > 0 {
            problems.add_to_file(file, format!("{unkept} more times: {}", kind.label()));
        } else if !is_line(kind) && !kind.is_repair() {
            problems.add_to_file(file, format!("{count} times: {}", kind.label()));
        }
    }
}
