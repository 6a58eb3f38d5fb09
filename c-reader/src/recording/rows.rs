//! Rows of a recording in the form of C, made once.

use host_reader::{
    analysis::{Op, Report, Span},
    anomaly::Anomaly,
    lane::Lane,
    ledger::{LossKey, LossTotals},
    recording::Recording,
};
use std::{collections::BTreeMap, ffi::c_char};
use wire::RunHostId;

/// A text without an end mark. It belongs to the recording, or to the library.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofText {
    /// Its bytes, UTF-8.
    pub bytes: *const c_char,
    /// How many bytes there are.
    pub size: usize,
}

impl KprofText {
    pub(crate) const EMPTY: Self = Self::of("");

    pub(crate) const fn of(text: &str) -> Self {
        Self { bytes: text.as_ptr().cast(), size: text.len() }
    }
}

/// A launch on one lane.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofRun {
    /// The program, encoded with its chip.
    pub run_host_id: u32,
    /// 1 if it was a replay of a trace that is known, else 0.
    pub has_trace: u32,
    /// The trace.
    pub trace_id: u64,
    /// Which replay of it, from 1.
    pub trace_replay: u64,
    /// Index of the launch's first record in the lane.
    pub first_record: usize,
}

/// Records that are missing, of one lane, cause and program.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofLoss {
    /// Number of the chip.
    pub chip_id: u32,
    /// Column of the core.
    pub core_x: u16,
    /// Row of the core.
    pub core_y: u16,
    /// Name of the RISC.
    pub risc: KprofText,
    /// Cause in a few words.
    pub cause: KprofText,
    /// 1 if the chip was told to leave the records out, else 0.
    pub is_intended: u32,
    /// 1 if more may be missing, else 0.
    pub is_lower_bound: u32,
    /// 1 if the program is known, else 0.
    pub has_program: u32,
    /// The program, encoded with its chip.
    pub run_host_id: u32,
    /// Whole zones.
    pub zones: u64,
    /// Timestamped data.
    pub data: u64,
    /// Events.
    pub events: u64,
    /// Totals of sum zones.
    pub sums: u64,
    /// Marker slots whose kind cannot be known.
    pub unknown_markers: u64,
    /// Launches of which records are missing; 0 if the chip does not count them.
    pub runs: u64,
}

/// An anomaly or a repair, and its place.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofAnomaly {
    /// Kind in a few words.
    pub kind: KprofText,
    /// Words, text or numbers with details; may be empty.
    pub detail: KprofText,
    /// 1 if the data was repaired, else 0.
    pub is_repair: u32,
    /// 1 if it belongs to one lane, which is then named below, else 0.
    pub has_lane: u32,
    /// Number of the chip.
    pub chip_id: u32,
    /// Column of the core.
    pub core_x: u16,
    /// Row of the core.
    pub core_y: u16,
    /// Name of the RISC.
    pub risc: KprofText,
    /// Word of the lane, line of the log, or index of the control word.
    pub position: u64,
}

/// A span on the clock of a chip's reference tile.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct KprofSpan {
    /// 1 if it is known; everything else is 0 if not.
    pub is_known: u32,
    /// 1 if nanoseconds are known, else 0.
    pub has_ns: u32,
    /// First cycle.
    pub start_cycle: u64,
    /// Last cycle.
    pub end_cycle: u64,
    /// Cycles between them.
    pub duration_cycles: u64,
    /// The same in nanoseconds.
    pub duration_ns: u64,
}

impl KprofSpan {
    fn of(span: Option<Span>) -> Self {
        span.map_or_else(Self::default, |span| Self {
            is_known: 1,
            has_ns: span.duration_ns.is_some().into(),
            start_cycle: span.start_cycle,
            end_cycle: span.end_cycle,
            duration_cycles: span.duration_cycles,
            duration_ns: span.duration_ns.unwrap_or(0),
        })
    }
}

/// A launch of a program on a chip.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofOp {
    /// Number of the chip.
    pub chip_id: u32,
    /// The program, encoded with its chip.
    pub run_host_id: u32,
    /// Name that the host gave to the program; empty if none.
    pub name: KprofText,
    /// Which launch of this program and replay, from 1.
    pub launch: u64,
    /// 1 if it was a replay of a trace, else 0.
    pub has_trace: u32,
    /// 1 if the latency is known, else 0.
    pub has_latency: u32,
    /// The trace.
    pub trace_id: u64,
    /// Which replay of it, from 1.
    pub trace_replay: u64,
    /// Cores with a firmware zone.
    pub core_count: u64,
    /// First firmware start to last firmware end.
    pub firmware: KprofSpan,
    /// First kernel start to last kernel end.
    pub kernel: KprofSpan,
    /// Cycles from the end of the previous op's kernel to the start of this one's.
    pub op_to_op_latency_cycles: u64,
    /// Why durations are not known that could be computed; empty if there is no reason.
    pub duration_doubt: KprofText,
}

/// Every row that a recording has.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Launches of each lane, in the order of the readout's lanes.
    pub(super) runs: Vec<Vec<KprofRun>>,
    pub(super) losses: Vec<KprofLoss>,
    pub(super) uncounted: Vec<KprofText>,
    pub(super) anomalies: Vec<KprofAnomaly>,
    pub(super) ops: Vec<KprofOp>,
}

impl Rows {
    /// Rows whose texts lie in the recording and its report, which must live as long.
    pub(super) fn new(recording: &Recording, report: &Report) -> Self {
        let readout = &recording.readout;
        let names = recording.op_names();
        let anomalies = readout.anomalies.kept().iter().chain(report.pairing.kept());
        Self {
            runs: readout.lanes().map(runs_of).collect(),
            losses: readout.losses.entries().map(|(key, totals)| loss(key, totals)).collect(),
            uncounted: readout
                .losses
                .uncounted()
                .map(|source| KprofText::of(source.label()))
                .collect(),
            anomalies: anomalies.map(anomaly).collect(),
            ops: report.ops.iter().map(|found| op(found, &names)).collect(),
        }
    }
}

fn runs_of(lane: &Lane) -> Vec<KprofRun> {
    let run = |run: &host_reader::lane::Run| KprofRun {
        run_host_id: run.program.0,
        has_trace: run.trace.is_some().into(),
        trace_id: run.trace.map_or(0, |trace| trace.trace_id),
        trace_replay: run.trace.map_or(0, |trace| trace.counter),
        first_record: run.first_record,
    };
    lane.runs.iter().map(run).collect()
}

fn loss(key: &LossKey, totals: &LossTotals) -> KprofLoss {
    KprofLoss {
        chip_id: key.lane.chip_id,
        core_x: key.lane.core.x,
        core_y: key.lane.core.y,
        risc: KprofText::of(key.lane.risc.label()),
        cause: KprofText::of(key.cause.label()),
        is_intended: key.cause.is_intended().into(),
        is_lower_bound: totals.is_lower_bound.into(),
        has_program: key.program.is_some().into(),
        run_host_id: key.program.map_or(0, |program| program.0),
        zones: totals.zones,
        data: totals.data,
        events: totals.events,
        sums: totals.sums,
        unknown_markers: totals.unknown_markers,
        runs: totals.runs,
    }
}

fn anomaly(anomaly: &Anomaly) -> KprofAnomaly {
    let lane = anomaly.lane;
    KprofAnomaly {
        kind: KprofText::of(anomaly.kind.label()),
        detail: KprofText::of(&anomaly.detail),
        is_repair: anomaly.kind.is_repair().into(),
        has_lane: lane.is_some().into(),
        chip_id: lane.map_or(0, |lane| lane.chip_id),
        core_x: lane.map_or(0, |lane| lane.core.x),
        core_y: lane.map_or(0, |lane| lane.core.y),
        risc: lane.map_or(KprofText::EMPTY, |lane| KprofText::of(lane.risc.label())),
        position: anomaly.position,
    }
}

fn op(op: &Op, names: &BTreeMap<(u32, RunHostId), &str>) -> KprofOp {
    let name = names.get(&(op.chip_id, RunHostId(op.run_host_id)));
    KprofOp {
        chip_id: op.chip_id,
        run_host_id: op.run_host_id,
        name: name.map_or(KprofText::EMPTY, |name| KprofText::of(name)),
        launch: op.launch,
        has_trace: op.trace_id.is_some().into(),
        has_latency: op.op_to_op_latency_cycles.is_some().into(),
        trace_id: op.trace_id.unwrap_or(0),
        trace_replay: op.trace_replay.unwrap_or(0),
        core_count: op.core_count,
        firmware: KprofSpan::of(op.firmware),
        kernel: KprofSpan::of(op.kernel),
        op_to_op_latency_cycles: op.op_to_op_latency_cycles.unwrap_or(0),
        duration_doubt: op
            .duration_doubt
            .map_or(KprofText::EMPTY, |doubt| KprofText::of(doubt.label())),
    }
}
