//! Rows of a recording as C structs. They are built once for each recording.

use host_reader::{
    analysis::{Report, Unfinished},
    anomaly::Anomaly,
    lane::Lane,
    recording::Recording,
};
use std::ffi::c_char;

/// A text without a terminating zero byte. Its memory belongs to the recording, the session or the
/// library.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofText {
    /// The text in UTF-8.
    pub bytes: *const c_char,
    /// Number of bytes.
    pub size: usize,
}

impl KprofText {
    pub(crate) const EMPTY: Self = Self::from_text("");

    pub(crate) const fn from_text(text: &str) -> Self {
        Self { bytes: text.as_ptr().cast(), size: text.len() }
    }
}

/// A launch of a program on one RISC.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofRun {
    /// Id of the program, combined with the id of the chip.
    pub run_host_id: u32,
    /// 1 if the launch was part of a trace's replay and the trace is known, else 0.
    pub has_trace: u32,
    /// Id of the trace.
    pub trace_id: u64,
    /// Number of the replay among the replays of the trace, from 1.
    pub trace_replay: u64,
    /// Index of the launch's first record in the lane.
    pub first_record: usize,
}

/// An anomaly or a repair, and its position.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofAnomaly {
    /// Short description of the kind.
    pub kind: KprofText,
    /// Details; may be empty.
    pub detail: KprofText,
    /// 1 if the data was repaired, else 0.
    pub is_repair: u32,
    /// 1 if the anomaly belongs to the lane that the next fields identify, else 0.
    pub has_lane: u32,
    /// Number of the chip.
    pub chip_id: u32,
    /// Column of the core.
    pub core_x: u16,
    /// Row of the core.
    pub core_y: u16,
    /// Name of the RISC.
    pub risc: KprofText,
    /// Position of the anomaly: the index of a word in the lane, the number of a line in the log,
    /// or the index of a word in the control vector.
    pub position: u64,
}

/// Open zones with the same name, in launches that had not ended when they were read.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofOpenZones {
    /// Name of the zones; empty if unknown.
    pub name: KprofText,
    /// Number of RISCs on which it is the innermost open zone.
    pub risc_count: u64,
    /// Earliest start, in cycles of the recording's clock.
    pub first_start_cycle: u64,
}

/// All rows of a recording.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Launches of each lane, in the order of the readout's lanes.
    pub(super) runs: Vec<Vec<KprofRun>>,
    pub(super) uncounted: Vec<KprofText>,
    pub(super) anomalies: Vec<KprofAnomaly>,
    /// Texts of `open_zones` point into `unfinished`.
    pub(super) open_zones: Vec<KprofOpenZones>,
    pub(super) unfinished: Unfinished,
}

impl Rows {
    /// Builds rows. Texts in the rows point into the recording and into the report, so both must
    /// outlive the rows.
    pub(super) fn new(recording: &Recording, report: &Report) -> Self {
        let readout = &recording.readout;
        let anomalies = readout.anomalies.kept().iter().chain(report.pairing.kept());
        let unfinished = Unfinished::from_readout(readout);
        let open_zones = unfinished.open_zones.iter().map(|zones| KprofOpenZones {
            name: KprofText::from_text(&zones.name),
            risc_count: zones.risc_count,
            first_start_cycle: zones.first_start_cycle,
        });
        Self {
            open_zones: open_zones.collect(),
            unfinished,
            runs: readout.lanes().map(runs_of).collect(),
            uncounted: readout
                .losses
                .uncounted()
                .map(|source| KprofText::from_text(source.label()))
                .collect(),
            anomalies: anomalies.map(anomaly).collect(),
        }
    }
}

fn runs_of(lane: &Lane) -> Vec<KprofRun> {
    lane.runs
        .iter()
        .map(|run| KprofRun {
            run_host_id: run.program.0,
            has_trace: run.trace.is_some().into(),
            trace_id: run.trace.map_or(0, |trace| trace.trace_id),
            trace_replay: run.trace.map_or(0, |trace| trace.counter),
            first_record: run.first_record,
        })
        .collect()
}

fn anomaly(anomaly: &Anomaly) -> KprofAnomaly {
    let lane = anomaly.lane;
    KprofAnomaly {
        kind: KprofText::from_text(anomaly.kind.label()),
        detail: KprofText::from_text(&anomaly.detail),
        is_repair: anomaly.kind.is_repair().into(),
        has_lane: lane.is_some().into(),
        chip_id: lane.map_or(0, |lane| lane.chip_id),
        core_x: lane.map_or(0, |lane| lane.core.x),
        core_y: lane.map_or(0, |lane| lane.core.y),
        risc: lane.map_or(KprofText::EMPTY, |lane| KprofText::from_text(lane.risc.label())),
        position: anomaly.position,
    }
}
