//! Figures of programs between two reads, for hosts that query them at run time.

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
    /// Replay number of the trace, from 1.
    pub trace_id_counter: Option<u64>,
}

/// Result of one analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct AnalysisResult {
    /// Cycle of the first marker.
    pub start_cycle: u64,
    /// Cycle of the last marker.
    pub end_cycle: u64,
    /// Nanoseconds between the two cycles; `None` if the chip's frequency is unknown.
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

/// Figures of programs by chip: for the latest read, and for all reads.
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

    /// Adds the results of one read, which becomes the latest read.
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

    /// Summarises the kernel durations of the latest read.
    #[must_use]
    pub fn latest_kernel_durations(&self, options: HistogramOptions) -> KernelDurationSummary {
        KernelDurationSummary::from_programs(&self.latest, options)
    }

    /// Summarises the kernel durations of all reads.
    #[must_use]
    pub fn all_kernel_durations(&self, options: HistogramOptions) -> KernelDurationSummary {
        KernelDurationSummary::from_programs(&self.all, options)
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
    let (core_count, available_core_count) = row.core_counts();
    ProgramPerfData { execution, results: results.collect(), core_count, available_core_count }
}

/// Range of a histogram, and number of its buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistogramOptions {
    /// Lower end of the range. By default, it is the minimum of the durations.
    pub min_ns: Option<u64>,
    /// Upper end of the range. By default, it is the maximum of the durations.
    pub max_ns: Option<u64>,
    /// Number of buckets, limited to [`HistogramOptions::MOST_BUCKETS`].
    pub buckets: usize,
}

impl HistogramOptions {
    /// Maximum number of buckets of a histogram.
    pub const MOST_BUCKETS: usize = 1 << 16;
}

impl Default for HistogramOptions {
    fn default() -> Self {
        Self { min_ns: None, max_ns: None, buckets: 10 }
    }
}

/// Summary of all kernel durations above 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelDurationSummary {
    /// Number of durations.
    pub count: u64,
    /// Minimum duration; `None` without durations.
    pub min_ns: Option<u64>,
    /// Maximum duration.
    pub max_ns: Option<u64>,
    /// Mean duration.
    pub mean_ns: Option<f64>,
    /// Histogram of the durations; `None` without durations.
    pub histogram: Option<DurationHistogram>,
}

/// Histogram with buckets of equal width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DurationHistogram {
    /// Edges of the buckets, one more than there are buckets.
    pub edges_ns: Vec<u64>,
    /// Number of durations in each bucket. A bucket includes its lower edge and excludes its upper
    /// edge; the last bucket includes both.
    pub counts: Vec<u64>,
    /// Number of durations below the first edge.
    pub underflow: u64,
    /// Number of durations above the last edge.
    pub overflow: u64,
}

impl KernelDurationSummary {
    fn from_programs(
        programs: &BTreeMap<u32, Vec<ProgramPerfData>>,
        options: HistogramOptions,
    ) -> Self {
        let kernel = |program: &ProgramPerfData| program.results.get(KERNEL_DURATION)?.duration_ns;
        let durations = programs.values().flatten().filter_map(kernel).filter(|&ns| ns > 0);
        let durations: Vec<u64> = durations.collect();
        let (Some(&min), Some(&max)) = (durations.iter().min(), durations.iter().max()) else {
            return Self::default();
        };
        let total: u128 = durations.iter().map(|&ns| u128::from(ns)).sum();
        let count = durations.len() as u64;
        #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
        let mean_ns = total as f64 / count as f64;
        let range = (options.min_ns.unwrap_or(min), options.max_ns.unwrap_or(max));
        Self {
            count,
            min_ns: Some(min),
            max_ns: Some(max),
            mean_ns: Some(mean_ns),
            histogram: Some(DurationHistogram::from_durations(&durations, range, options.buckets)),
        }
    }
}

/// Header of the analysis for kernel durations.
const KERNEL_DURATION: &str = "DEVICE KERNEL DURATION [ns]";
/// Unit of bucket widths: each width is a multiple of it.
const QUANTUM_NS: u64 = 100;

impl DurationHistogram {
    /// Counts the durations in buckets that cover the range from `min` to `max`.
    ///
    /// # Compatibility
    /// TT-Metal's summary: the width is a multiple of 100 ns, and the first edge is a multiple of
    /// the width.
    fn from_durations(durations: &[u64], (min, max): (u64, u64), buckets: usize) -> Self {
        let buckets = buckets.clamp(1, HistogramOptions::MOST_BUCKETS);
        let exact = max.saturating_sub(min).div_ceil(buckets as u64);
        let width = exact.div_ceil(QUANTUM_NS).max(1).saturating_mul(QUANTUM_NS);
        let first = min.checked_div(width).unwrap_or(0).saturating_mul(width);
        let edge = |index: usize| first.saturating_add(width.saturating_mul(index as u64));
        let edges_ns: Vec<u64> = (0..=buckets).map(edge).collect();
        let last = edge(buckets);
        let mut histogram = Self { edges_ns, counts: vec![0; buckets], underflow: 0, overflow: 0 };
        for &ns in durations {
            let bucket = ns.checked_sub(first).and_then(|above| above.checked_div(width));
            let index = bucket.map(|bucket| {
                usize::try_from(bucket).unwrap_or(usize::MAX).min(buckets.saturating_sub(1))
            });
            let count = match index.and_then(|index| histogram.counts.get_mut(index)) {
                None => &mut histogram.underflow,
                Some(_) if ns > last => &mut histogram.overflow,
                Some(count) => count,
            };
            *count = count.saturating_add(1);
        }
        histogram
    }
}
