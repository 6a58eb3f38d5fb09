//! Inputs of a report, collected from TT-Metal's files or from a readout.
//!
//! A missing or unreadable input is logged as a problem. Other modules join and display the inputs.

use super::{
    available_cores::AvailableCores,
    dispatch::has_dispatch,
    dispatch_launches::{attach_dispatch, attach_equal},
    exact::{ExactCounters, ExactLog, SUMS, SubDevices, read_exactly},
    host::{HostLog, OP_MESSAGES, OP_TIMES, read_input, read_messages, read_times},
    launched::Launched,
    marks::KernelMarks,
    measured::{MeasuredOps, Ops, measured_marks},
    noc::NocInput,
    ops::{DeviceData, OpsOptions, OpsReport, ReportFiles},
    per_core::CoreMarks,
    perf_report::{DevicePerfReport, LaunchFigures, figures_of, read_report},
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
use recording::{Collected, DEVICE_LOG, Lanes, OpenedLog, Recording, device_log::PackedLog};
use std::{collections::HashMap, path::Path, sync::Arc};
use wire::ZoneId;

/// Name of TT-Metal's device perf report in `.logs`.
const PERF_REPORT: &str = "cpp_device_perf_report.csv";
/// Name of the file in `.logs` with the host's events. `kprof record` adds this file.
const HOST_CAPTURE: &str = "tracy_profile_log_host.kprof";

fn name(logs: &Path, file: &str) -> String {
    logs.join(file).display().to_string()
}

/// Returns the file name used in problems about the host's messages.
pub(super) fn messages_name(logs: &Path) -> String {
    name(logs, OP_MESSAGES)
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
    pub(super) has_sessions: bool,
    pub(super) sub_devices: SubDevices,
    pub(super) counters: ExactCounters,
    pub(super) marks: Vec<(u64, Vec<CoreMarks>)>,
    pub(super) aiclk_mhz: u32,
    /// True if the chips are Quasars, which need additional columns.
    pub(super) is_quasar: bool,
    /// True if durations come from a device perf report.
    pub(super) is_perf_report: bool,
    /// Report in which only the fields that depend on device data alone are filled.
    pub(super) report: OpsReport,
}

impl DeviceSide {
    /// Returns empty device data for a file of TT-Metal, which does not record losses.
    fn of_tt_metal(file: String, has_device_data: bool) -> Self {
        let mut report = OpsReport { has_device_data, ..OpsReport::default() };
        report.losses.note_uncounted(UncountedSource::TtMetalLog);
        Self { file, report, ..Self::default() }
    }

    /// Returns the device data for an unreadable file.
    fn unread(file: String) -> Self {
        Self::of_tt_metal(file, false)
    }
}

/// Reads the device's records. If there are no noc_trace files, NoC events are read from the device
/// log.
pub(super) fn read_device(
    logs: &Path,
    options: &OpsOptions,
    host: &HostLog,
    (memory, problems): (&Arc<PackedMemory>, &mut ProblemLog),
) -> DeviceSide {
    if !options.analyzes_noc {
        return read_device_data(logs, options, host, (memory, problems));
    }
    let noc = NocInput::from_folder(logs, problems);
    let options = &OpsOptions { analyzes_noc: noc.is_empty(), ..options.clone() };
    let mut side = read_device_data(logs, options, host, (memory, problems));
    let of_files = noc.add_cells(side.ops.held(), options.is_exact);
    side.report.noc_events = of_files.or(side.report.noc_events);
    side
}

fn read_device_data(
    logs: &Path,
    options: &OpsOptions,
    host: &HostLog,
    (memory, problems): (&Arc<PackedMemory>, &mut ProblemLog),
) -> DeviceSide {
    let is_device_only = host.ops.is_empty();
    let [log, report] = [DEVICE_LOG, PERF_REPORT].map(|file| logs.join(file));
    let takes_report = !is_device_only
        && report.exists()
        && match options.device_data {
            DeviceData::Best => options.is_exact || !log.exists(),
            DeviceData::DeviceLog => false,
            DeviceData::PerfReport => true,
        };
    if !options.filter.is_empty() && (takes_report || options.is_exact) {
        let file = if takes_report { &report } else { &log };
        let detail = "no launches can be left out of reports on this file; all are there";
        problems.add_to_file(&file.display().to_string(), detail);
    }
    if options.analyzes_noc && (takes_report || options.is_exact) {
        let detail = "expected noc_trace files, found none; NoC figures are empty then";
        problems.add_to_file(&logs.display().to_string(), detail);
    }
    for name in options.filter.unknown_signposts(std::iter::empty()) {
        let detail =
            format!("a device log has no clock to place signpost `{name}` by; captures have");
        problems.add_to_file(&log.display().to_string(), detail);
    }
    if !takes_report {
        return if options.is_exact {
            device_of_log_exactly(&log, is_device_only, problems)
        } else {
            device_of_log(&log, options, host, (memory, problems))
        };
    }
    if !options.device_analyses.is_all() {
        let detail = "its durations are all shown; --force-legacy-device-logs takes a subset";
        problems.add_to_file(&report.display().to_string(), detail);
    }
    let bytes = read_input(&report, "ops have no durations then", problems);
    let is_read = bytes.is_some();
    let bytes = bytes.unwrap_or_default();
    let file = report.display().to_string();
    let ops = read_report(&bytes, &file, problems).into();
    // Only the device log contains sub-devices.
    let in_log = log.exists().then(|| device_of_log_exactly(&log, is_device_only, problems));
    let in_log = in_log.unwrap_or_default();
    let DeviceSide { sub_devices, is_quasar, .. } = in_log;
    DeviceSide {
        ops,
        has_sessions: true,
        sub_devices,
        is_quasar,
        is_perf_report: true,
        ..DeviceSide::of_tt_metal(file, is_read)
    }
}

pub(super) fn device_of_log_exactly(
    log: &Path,
    is_device_only: bool,
    problems: &mut ProblemLog,
) -> DeviceSide {
    let file = log.display().to_string();
    let Some(bytes) = read_input(log, "ops have no durations then", problems) else {
        return DeviceSide::unread(file);
    };
    let Some(exact) = read_exactly(&bytes, &file, is_device_only, problems) else {
        return DeviceSide::unread(file);
    };
    let ExactLog { mut ops, sub_devices, counters, marks, aiclk_mhz, is_quasar, dispatch } = exact;
    // TT-Metal's reports without a host do not contain dispatch times.
    if !is_device_only {
        let told = (&*file, problems);
        attach_equal(&mut ops, &dispatch, f64::from(aiclk_mhz), told);
    }
    DeviceSide {
        ops: ops.into(),
        sub_devices,
        counters,
        marks,
        aiclk_mhz,
        is_quasar: is_quasar && !is_device_only,
        ..DeviceSide::of_tt_metal(file, true)
    }
}

/// Reads a device log. Records that exceed the limit of `memory` are stored in its temporary file.
pub(super) fn device_of_log(
    log: &Path,
    options: &OpsOptions,
    host: &HostLog,
    (memory, problems): (&Arc<PackedMemory>, &mut ProblemLog),
) -> DeviceSide {
    let file = log.display().to_string();
    let side = match PackedLog::open_within(log, memory) {
        Ok(packed) => {
            let read = device_of_packed_log(packed.into(), log, options, (host, &mut *problems));
            read.map_err(|error| error.to_string())
        }
        Err(error) if log.exists() => Err(without_file(&error.to_string(), &file).to_owned()),
        Err(_) => Err("cannot be read, there is no such file".to_owned()),
    };
    side.unwrap_or_else(|detail| {
        problems.add_to_file(&file, format!("{detail}; ops have no durations then"));
        DeviceSide::unread(file)
    })
}

fn device_of_packed_log(
    log: OpenedLog,
    path: &Path,
    options: &OpsOptions,
    (host, problems): (&HostLog, &mut ProblemLog),
) -> Result<DeviceSide, PackedError> {
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

/// Removes the file name at the beginning of a sentence.
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
    side.unwrap_or_else(|_| DeviceSide::unread(file.to_owned()))
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

/// Returns true if launches may have figures that must be computed from all records.
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
            AnomalyKind::MalformedLine | AnomalyKind::UnknownRisc | AnomalyKind::StrayValue
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
