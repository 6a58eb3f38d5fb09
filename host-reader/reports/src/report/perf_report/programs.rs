//! Figures of the programs in the latest read and in all reads. Host programs can query these
//! figures while they run.

use super::{
    analyses::ProgramAnalyses,
    rows::{DevicePerfReport, DevicePerfRow},
};
use reader::readout::Readout;
use std::collections::BTreeMap;

/// One execution of a program: its id, and the trace replay if the execution was part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct ProgramExecution {
    /// Run host id, which includes the chip.
    pub runtime_id: u32,
    /// Replayed trace, if any.
    pub trace_id: Option<u64>,
    /// Number of the trace's replay, from 1; `None` if the execution was not part of a replay.
    pub trace_id_counter: Option<u64>,
}

/// Result of one analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct AnalysisResult {
    /// Cycle of the first marker.
    pub start_cycle: u64,
    /// Cycle of the last marker.
    pub end_cycle: u64,
    /// Nanoseconds from `start_cycle` to `end_cycle`; `None` if the chip's frequency is unknown.
    pub duration_ns: Option<u64>,
}

/// Figures of one execution of a program on one chip.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ProgramPerfData {
    /// Execution of the program.
    #[serde(flatten)]
    pub execution: ProgramExecution,
    /// Results by the header of their analysis, such as `DEVICE KERNEL DURATION [ns]`. An analysis
    /// with missing markers has no entry.
    pub results: BTreeMap<String, AnalysisResult>,
    /// Number of cores with a firmware zone of the program.
    pub core_count: u64,
    /// Number of worker cores available to the program, if known.
    pub available_core_count: Option<u64>,
}

/// Figures of programs, by chip. The figures of the latest read and of all reads are kept
/// separately.
///
/// ```
/// use recording::device_log::read_device_log;
/// use reports::report::ProgramsPerfData;
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 500, Max Compute Cores: 64
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,7,100,0,1024,BRISC-KERNEL,ZONE_START
/// 0,1,2,BRISC,7,160,0,1024,BRISC-KERNEL,ZONE_END
/// ";
/// let mut programs = ProgramsPerfData::default();
/// programs.add_read(&read_device_log(log.as_bytes(), "my log")?);
/// let [program] = &programs.latest()[&0][..] else { panic!("one program") };
/// assert_eq!(program.results["DEVICE KERNEL DURATION [ns]"].duration_ns, Some(120));
/// # Ok::<(), recording::device_log::LogError>(())
/// ```
///
/// # Compatibility
/// `GetLatestProgramsPerfData` and `GetAllProgramsPerfData` of TT-Metal's `profiler.hpp`. In this
/// library, several launches of one program outside replays are separate entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramsPerfData {
    analyses: ProgramAnalyses,
    latest: BTreeMap<u32, Vec<ProgramPerfData>>,
    all: BTreeMap<u32, Vec<ProgramPerfData>>,
}

impl ProgramsPerfData {
    /// Creates an empty collection that uses custom analyses instead of TT-Metal's.
    #[must_use]
    pub fn new(analyses: ProgramAnalyses) -> Self {
        Self { analyses, ..Self::default() }
    }

    /// Adds the figures of one read, which becomes the latest read.
    pub fn add_read(&mut self, readout: &Readout) {
        let report = DevicePerfReport::new(readout, self.analyses.clone(), false);
        self.latest = BTreeMap::new();
        for row in &report.rows {
            let program = program_of(&report, row);
            self.all.entry(row.device_id).or_default().push(program.clone());
            self.latest.entry(row.device_id).or_default().push(program);
        }
    }

    /// Returns the programs of the latest read, by chip.
    #[must_use]
    pub const fn latest(&self) -> &BTreeMap<u32, Vec<ProgramPerfData>> {
        &self.latest
    }

    /// Returns the programs of all reads, by chip.
    #[must_use]
    pub const fn all(&self) -> &BTreeMap<u32, Vec<ProgramPerfData>> {
        &self.all
    }
}

fn program_of(report: &DevicePerfReport, row: &DevicePerfRow) -> ProgramPerfData {
    let execution = ProgramExecution {
        runtime_id: row.run_host_id,
        trace_id: row.trace_id,
        trace_id_counter: row.trace_replay,
    };
    let spans = report.analysis_titles().zip(&row.spans).enumerate();
    let results = spans.filter_map(|(index, (title, span))| {
        let (start_cycle, end_cycle) = (*span)?;
        let duration_ns = report.duration_ns(row, index);
        Some((title.to_owned(), AnalysisResult { start_cycle, end_cycle, duration_ns }))
    });
    let DevicePerfRow { core_count, available_core_count, .. } = *row;
    ProgramPerfData { execution, results: results.collect(), core_count, available_core_count }
}
