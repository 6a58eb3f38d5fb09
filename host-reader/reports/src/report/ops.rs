//! Ops report: its options, and the texts of its files.

use super::{
    device_analyses::DeviceAnalyses,
    device_op::{Cells, DeviceOp},
    host_cells::{add_buffer_peaks, add_times, add_utilisation, op_cells, signpost_cells},
    inputs::{
        DeviceReader, DeviceSide, device_of_launches, device_of_readout, messages_name, read_host,
    },
    join::{JoinedOp, Joiner},
    latency::RowLatencies,
    noc::NocInput,
    per_core::{PROBE_OVERHEAD_NS, per_core_csv},
    perf_report::ProgramAnalyses,
    recorded::host_log_of,
    sheet::{Columns, sheet_csv},
};
use crate::problem::ProblemLog;
use analysis::{cycles_to_ns, noc_events::NocLanes};
use reader::{
    lane::TraceReplay,
    ledger::LossLedger,
    packed_bytes::{PackedError, PackedMemory},
};
use recording::{
    HiddenLaunches, PackedRecording, Recording, TraceFilter,
    capture::sync::MeshClock,
    host_ops::{HostLog, Signpost},
};
use std::{borrow::Cow, path::Path, sync::Arc};
use wire::RunHostId;

/// Source for the durations of ops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceData {
    /// The device log if it exists, because it contains the most data. Exact reports use the device
    /// perf report if it exists, like TT-Metal's script.
    #[default]
    Best,
    /// `profile_log_device.csv`.
    DeviceLog,
    /// `cpp_device_perf_report.csv`.
    PerfReport,
}

/// Output files that are created for a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportFiles {
    /// All files.
    #[default]
    All,
    /// All files except the device perf report.
    OpsAndCores,
    /// Only `ops_perf_results.csv`.
    Ops,
}

/// Options of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpsOptions {
    /// True to reproduce TT-Metal's known bugs for comparisons with its reports.
    pub is_exact: bool,
    /// Source of durations if a folder of logs contains both a device log and a device perf report.
    pub device_data: DeviceData,
    /// Output files that are created.
    pub files: ReportFiles,
    /// True to leave out the host's records.
    pub is_device_only: bool,
    /// Durations shown in the device perf report.
    pub analyses: ProgramAnalyses,
    /// Analyses shown in a report from a device log or a readout. A report from a device perf
    /// report always shows all analyses that the device perf report contains.
    pub device_analyses: DeviceAnalyses,
    /// True to compute the columns about the NoCs from NoC events.
    pub analyzes_noc: bool,
    /// Launches to be reported. Exact reports, and reports from a device perf report, always cover
    /// all launches.
    pub filter: TraceFilter,
}

/// Ops report: the contents of its files, and what was found while computing them.
///
/// ```
/// use recording::device_log::read_device_log;
/// use host_events::OpMetadata;
/// use recording::Recording;
/// use reports::report::{OpsOptions, OpsReport};
/// use wire::RunHostId;
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 500, Max Compute Cores: 64
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,7,100,0,1024,BRISC-FW,ZONE_START
/// 0,1,2,BRISC,7,160,0,1024,BRISC-FW,ZONE_END
/// ";
/// let readout = read_device_log(log.as_bytes(), "my log")?;
/// let op = OpMetadata {
///     chip_id: 0,
///     run_host_id: RunHostId(1024),
///     fields: [("name".to_owned(), "Matmul".to_owned())].into(),
/// };
/// let recording = Recording { ops: vec![op], ..Recording::from_readout(readout) };
/// let report = OpsReport::from_recording(&recording, &OpsOptions::default());
/// let csv = report.ops_csv;
/// assert!(csv.starts_with("OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,"));
/// assert!(csv.lines().nth(1).unwrap().starts_with("Matmul,tt_dnn_device,1024,0,wormhole_b0,"));
/// # Ok::<(), recording::device_log::LogError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpsReport {
    /// Contents of `ops_perf_results.csv`.
    pub ops_csv: String,
    /// Number of rows in `ops_csv`.
    pub row_count: u64,
    /// True if device data was read from a file or recording.
    pub has_device_data: bool,
    /// Number of launches that the device recorded.
    pub device_op_count: u64,
    /// Number of ops that the host reported.
    pub host_op_count: u64,
    /// Launches that the filter has excluded.
    pub hidden: HiddenLaunches,
    /// Records missing in the device data.
    pub losses: LossLedger,
    /// Sentence about the source of the NoC figures; `None` if there are no such figures.
    pub noc_events: Option<String>,
    /// Contents of `per_core_op_to_op_times.csv`. Only reports without data from the host have this
    /// file.
    pub per_core_csv: Option<String>,
    /// Contents of `cpp_device_perf_report.csv`, if it was computed.
    pub device_perf_csv: Option<String>,
    /// Missing inputs, and errors in inputs.
    pub problems: ProblemLog,
}

impl OpsReport {
    /// Reports on a folder of logs, such as `.logs` in TT-Metal's artifacts.
    ///
    /// Missing or unreadable inputs are listed as problems, and the rest is reported. If there are
    /// no host ops, the report covers only the device.
    ///
    /// If the records of a device log exceed the limit of `memory`, the excess is stored in the
    /// temporary file of `memory`, unless a filter or an exact report needs all records at once. If
    /// this temporary file cannot be read or written, [`PackedMemory::check`] returns the error.
    #[must_use]
    pub fn from_folder(logs: &Path, options: &OpsOptions, memory: &Arc<PackedMemory>) -> Self {
        let mut problems = ProblemLog::default();
        let mut host = if options.is_device_only {
            HostLog::default()
        } else {
            read_host(logs, options.is_exact, &mut problems)
        };
        let reader = DeviceReader { options, host: &host, memory, problems: &mut problems };
        let device = reader.folder(logs);
        let has_host = !host.ops.is_empty();
        leave_out_hidden(&mut host, &device.report.hidden, options);
        let host_file = &messages_name(logs);
        Builder { options, host: &host, has_host, host_file, clock: None, problems }.build(device)
    }

    /// Reports on a single device log, without data from the host. `memory` limits the records in
    /// memory as in [`Self::from_folder`].
    #[must_use]
    pub fn from_device_log(log: &Path, options: &OpsOptions, memory: &Arc<PackedMemory>) -> Self {
        let mut problems = ProblemLog::default();
        let (host, host_file) = (&HostLog::default(), "");
        let device = DeviceReader { options, host, memory, problems: &mut problems }.log(log);
        Builder { options, host, has_host: false, host_file, clock: None, problems }.build(device)
    }

    /// Reports on a recording: its chips, and its host if the host described ops.
    #[must_use]
    pub fn from_recording(recording: &Recording, options: &OpsOptions) -> Self {
        let mut problems = ProblemLog::default();
        let mut host = host_log_of(recording, &mut problems);
        let (wanted, hidden) = filtered(recording, &options.filter);
        let Recording { readout, ops, clock, .. } = wanted.as_ref();
        let mut device = device_of_readout(readout, ops, options, (READOUT, &mut problems));
        if options.analyzes_noc {
            let lanes = NocLanes::from_readout(&recording.readout);
            let noc = NocInput::from_lanes(&recording.readout, &lanes, READOUT, &mut problems);
            device.report.noc_events = noc.add_cells(device.ops.held(), false);
        }
        let has_host = !host.ops.is_empty();
        leave_out_hidden(&mut host, &hidden, options);
        device.report.hidden = hidden;
        let (host_file, clock) = (OPS_OF_RECORDING, clock.as_ref());
        Builder { options, host: &host, has_host, host_file, clock, problems }.build(device)
    }

    /// Reports on the ops of a packed log. The report is the same as that of
    /// [`Self::from_recording`] with [`ReportFiles::Ops`].
    ///
    /// # Errors
    /// If packed records cannot be read back from the temporary file.
    pub fn from_packed(packed: &PackedRecording) -> Result<Self, PackedError> {
        let mut problems = ProblemLog::default();
        let options = &OpsOptions { files: ReportFiles::Ops, ..OpsOptions::default() };
        let host = &host_log_of(&packed.recording, &mut problems);
        let names = &packed.recording.ops;
        let told = (READOUT, &mut problems);
        let device = device_of_launches(packed.into(), Vec::new(), names, options, told)?;
        let (has_host, host_file) = (!host.ops.is_empty(), OPS_OF_RECORDING);
        Ok(Builder { options, host, has_host, host_file, clock: None, problems }.build(device))
    }
}

/// Name used in problems for the records of a recording.
const READOUT: &str = "the readout";
/// Name used in problems for the ops of a recording.
const OPS_OF_RECORDING: &str = "the capture's ops";

/// Returns the recording without the launches that the filter excludes, and the excluded launches.
fn filtered<'recording>(
    recording: &'recording Recording,
    filter: &TraceFilter,
) -> (Cow<'recording, Recording>, HiddenLaunches) {
    if filter.is_empty() {
        return (Cow::Borrowed(recording), HiddenLaunches::default());
    }
    let mut wanted = recording.clone();
    let hidden = wanted.retain(filter);
    (Cow::Owned(wanted), hidden)
}

/// Removes host ops whose launches are hidden, and host ops whose chip or name the filter excludes.
fn leave_out_hidden(host: &mut HostLog, hidden: &HiddenLaunches, options: &OpsOptions) {
    let filter = &options.filter;
    if filter.is_empty() || options.is_exact {
        return;
    }
    host.ops.retain(|op| {
        let id = u32::try_from(op.id).unwrap_or(u32::MAX);
        let chip_id = op.device_id.map(|id| u32::try_from(id).unwrap_or(u32::MAX));
        chip_id.is_none_or(|chip_id| {
            filter.selects_device(chip_id) && !hidden.ops.contains(&(chip_id, id))
        }) && filter.selects_op(RunHostId(id).base(), op.name().as_deref())
    });
}

struct Builder<'report> {
    options: &'report OpsOptions,
    host: &'report HostLog,
    /// True if the host has ops. Ops that a filter has excluded count too.
    has_host: bool,
    host_file: &'report str,
    clock: Option<&'report MeshClock>,
    problems: ProblemLog,
}

impl Builder<'_> {
    fn build(mut self, mut device: DeviceSide) -> OpsReport {
        if !device.has_sessions {
            self.options.device_analyses.apply(&mut device);
        }
        let is_device_only = !self.has_host;
        let device_op_count = device.ops.count();
        let line_end = if self.options.is_exact { "\r\n" } else { "\n" };
        let has_per_core = is_device_only && self.options.files != ReportFiles::Ops;
        let per_core_csv = has_per_core.then(|| self.per_core(&device, line_end));
        let report = std::mem::take(&mut device.report);
        let is_quasar = device.is_quasar;
        let (ops_csv, row_count) = if is_device_only && !self.options.is_exact {
            let rows = || device.ops.iter().map(device_row);
            (sheet_csv(rows, Columns::Filled, is_quasar, line_end), device_op_count)
        } else {
            let (rows, columns) = match is_device_only {
                true => (exact_device_rows(&device), Columns::Filled),
                false => (self.joined_rows(device), Columns::All),
            };
            (sheet_csv(|| rows.iter(), columns, is_quasar, line_end), rows.len() as u64)
        };
        OpsReport {
            ops_csv,
            row_count,
            device_op_count,
            host_op_count: self.host.ops.len() as u64,
            per_core_csv,
            problems: self.problems,
            ..report
        }
    }

    fn per_core(&self, device: &DeviceSide, line_end: &str) -> String {
        // TT-Metal's script interprets cycles as nanoseconds.
        let aiclk_mhz = if self.options.is_exact { 1000 } else { device.aiclk_mhz };
        let ns_of = |cycles: u64| {
            let ns = cycles_to_ns(cycles, aiclk_mhz).map(i128::from);
            ns.map_or_else(String::new, |ns| {
                ns.saturating_sub(PROBE_OVERHEAD_NS.into()).to_string()
            })
        };
        per_core_csv(&device.marks, ns_of, line_end)
    }

    /// Returns the rows of a report in which host and device are joined.
    fn joined_rows(&mut self, mut device: DeviceSide) -> Vec<Cells> {
        let device_ops = std::mem::take(device.ops.held());
        let mut joined = Joiner {
            host: self.host,
            host_file: self.host_file,
            device_file: &device.file,
            has_sessions: device.has_sessions,
            clock: self.clock,
            problems: &mut self.problems,
        }
        .join(device_ops);
        if self.options.is_exact {
            joined.retain(|op| op.host.is_some());
        }
        let mut entries: Vec<_> = joined.iter().map(Entry::Op).collect();
        entries.extend(self.host.signposts.iter().map(Entry::Signpost));
        if self.options.is_exact {
            entries.sort_by_key(Entry::time_ns);
        } else {
            entries.sort_by_key(Entry::order);
        }
        let mut latencies = RowLatencies::default();
        let mut rows = Vec::with_capacity(entries.len());
        for entry in entries {
            rows.push(match entry {
                Entry::Signpost(signpost) => signpost_cells(signpost, self.options.is_exact),
                Entry::Op(op) => self.op_row(op, &device, &mut latencies),
            });
        }
        rows
    }

    fn op_row(
        &mut self,
        op: &JoinedOp,
        device_side: &DeviceSide,
        latencies: &mut RowLatencies,
    ) -> Cells {
        let is_exact = self.options.is_exact;
        let host = op.host.and_then(|position| self.host.ops.get(position));
        let mut cells = match host {
            None => unknown_cells(op),
            Some(host) => op_cells(host, self.host_file, &mut self.problems),
        };
        if let Some(host) = host {
            if op.session_id.is_none() || is_exact {
                add_times(&mut cells, host);
                add_buffer_peaks(&mut cells, host, &self.host.buffers);
            } else {
                cells.insert("HOST START TS".into(), op.time_ns.to_string());
            }
        }
        let shows_trace = !is_exact || op.session_id.is_some();
        add_replay(&mut cells, op.trace_id.filter(|_| shows_trace), op.session_id);
        if let Some(device) = &op.device {
            for (column, text) in &device.cells {
                let cell = cells.entry(column.clone()).or_default();
                if cell.is_empty() {
                    cell.clone_from(text);
                }
            }
            let replay = match (op.trace_id, op.session_id) {
                (Some(trace_id), Some(counter)) => Some(TraceReplay { trace_id, counter }),
                _ => None,
            };
            let key = (device.device_id, device.run_host_id, replay);
            if let Some(id) = device_side.sub_devices.get(&key) {
                cells.insert("SUB DEVICE ID".into(), id.clone());
            }
            if is_exact {
                latencies.record(&mut cells, device);
                device_side.counters.add_cells(&mut cells, device, op.session_id, true);
            }
        }
        if let Some(host) = host {
            add_utilisation(&mut cells, host);
        }
        cells
    }
}

/// Returns the rows of an exact report without data from the host.
fn exact_device_rows(device: &DeviceSide) -> Vec<Cells> {
    let mut latencies = RowLatencies::default();
    let rows = device.ops.iter().map(|op| {
        let mut cells = with_call_count(op.clone());
        // TT-Metal's script finds the sub-device only for ops outside traces.
        if let Some(id) = device.sub_devices.get(&(op.device_id, op.run_host_id, None)) {
            cells.insert("SUB DEVICE ID".into(), id.clone());
        }
        cells.remove("CORE COUNT");
        latencies.record(&mut cells, &op);
        device.counters.add_cells(&mut cells, &op, None, false);
        cells
    });
    rows.collect()
}

/// Returns the row of a launch in a report without data from the host.
fn device_row(op: DeviceOp) -> Cells {
    let DeviceOp { device_id, trace_id, session_id, .. } = op;
    let mut cells = with_call_count(op);
    cells.insert("DEVICE ID".into(), device_id.to_string());
    add_replay(&mut cells, trace_id, session_id);
    cells
}

fn with_call_count(op: DeviceOp) -> Cells {
    let mut cells = op.cells;
    cells.insert("GLOBAL CALL COUNT".into(), op.run_host_id.to_string());
    cells
}

/// Returns the cells of a launch that the host does not describe.
fn unknown_cells(op: &JoinedOp) -> Cells {
    let mut cells = Cells::new();
    cells.insert("OP CODE".into(), "UNKNOWN".to_owned());
    cells.insert("OP TYPE".into(), "tt_dnn_device".to_owned());
    if let Some(device) = &op.device {
        cells.insert("GLOBAL CALL COUNT".into(), device.run_host_id.to_string());
        cells.insert("DEVICE ID".into(), device.device_id.to_string());
    }
    cells
}

fn add_replay(cells: &mut Cells, trace_id: Option<u64>, session_id: Option<u64>) {
    for (column, number) in
        [("METAL TRACE ID", trace_id), ("METAL TRACE REPLAY SESSION ID", session_id)]
    {
        if let Some(number) = number {
            cells.insert(column.into(), number.to_string());
        }
    }
}

/// Row of the report before it is sorted.
enum Entry<'report> {
    Op(&'report JoinedOp),
    Signpost(&'report Signpost),
}

impl Entry<'_> {
    fn time_ns(&self) -> u64 {
        match self {
            Self::Op(op) => op.time_ns,
            Self::Signpost(signpost) => signpost.time_ns,
        }
    }

    /// Returns the sort key: time on the host, then time on the device. All ops of one replay have
    /// the same host time, so they are sorted by device time.
    fn order(&self) -> (u64, bool, u64, u64) {
        let device = match self {
            Self::Op(op) => op.device.as_ref(),
            Self::Signpost(_) => None,
        };
        let (device_id, begin) = device.map_or((0, 0), |op| (op.device_id, op.begin_cycle));
        (self.time_ns(), matches!(self, Self::Signpost(_)), device_id, begin)
    }
}
