//! Rows of a device perf report: computation and CSV output.

use super::{
    analyses::ProgramAnalyses,
    figures::{LaunchFigures, figures_of},
};
use crate::report::{
    available_cores::AvailableCores, csv_line::push_line, launched::Launched, value::whole_text,
};
use analysis::{LaneRuns, Op, cycles_to_ns};
use reader::{
    from_lanes::FromLanes,
    packed_bytes::PackedMemory,
    readout::{ChipSummary, Readout},
};
use recording::Lanes;
use std::collections::BTreeMap;

const FIXED_TITLES: [&str; 8] = [
    "GLOBAL CALL COUNT",
    "METAL TRACE ID",
    "METAL TRACE REPLAY SESSION ID",
    "DEVICE ID",
    "DEVICE ARCH",
    "OP NAME",
    "CORE COUNT",
    "AVAILABLE WORKER CORE COUNT",
];
/// Analyses for which latencies are measured.
const LATENCY_ANALYSES: [&str; 2] =
    ["DEVICE KERNEL DURATION [ns]", "DEVICE KERNEL DURATION DM START [ns]"];
const LATENCY_TITLES: [&str; 2] = ["OP TO OP LATENCY [ns]", "OP TO OP LATENCY BR/NRISC START [ns]"];

/// One launch of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DevicePerfRow {
    /// Number of the chip.
    pub device_id: u32,
    /// Id of the program, which includes its chip.
    pub run_host_id: u32,
    /// Replayed trace, if any.
    pub trace_id: Option<u64>,
    /// Number of the trace's replay, from 1; `None` if the launch was not part of a replay.
    pub trace_replay: Option<u64>,
    /// First and last cycle of each analysis.
    pub spans: Vec<Option<(u64, u64)>>,
    /// Latencies in nanoseconds from the previous op: to this op's kernels, and to its first
    /// data-movement kernel.
    pub latencies_ns: [Option<i64>; 2],
    /// Number of cores with a firmware zone.
    pub core_count: u64,
    /// Number of worker cores available to the program; `None` if unknown.
    pub available_core_count: Option<u64>,
}

/// Device perf report.
///
/// ```
/// use recording::device_log::read_device_log;
/// use reports::report::{DevicePerfReport, ProgramAnalyses};
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 500, Max Compute Cores: 64
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,7,100,0,1024,BRISC-FW,ZONE_START
/// 0,1,2,BRISC,7,160,0,1024,BRISC-FW,ZONE_END
/// ";
/// let readout = read_device_log(log.as_bytes(), "my log")?;
/// let analyses = ProgramAnalyses::default();
/// let report = DevicePerfReport::new(&readout, analyses, false);
/// let csv = report.to_csv(|_, _| String::new());
/// assert!(csv.lines().nth(1).unwrap().starts_with("1024,,,0,wormhole_b0,,1,64,,,,120,100,160,"));
/// # Ok::<(), recording::device_log::LogError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DevicePerfReport {
    analyses: ProgramAnalyses,
    chips: Vec<ChipSummary>,
    /// Rows sorted by chip, program, trace and replay.
    pub rows: Vec<DevicePerfRow>,
}

impl DevicePerfReport {
    /// Computes the rows of a readout.
    ///
    /// With `is_exact`, all launches of one program outside trace replays share a row, as in
    /// TT-Metal's report. The row covers the time from the first start to the last end of these
    /// launches.
    #[must_use]
    pub fn new(readout: &Readout, analyses: ProgramAnalyses, is_exact: bool) -> Self {
        let memory = PackedMemory::unlimited();
        let runs = LaneRuns::from_parts(LaneRuns::parts_of_readout(readout));
        let launches = &runs.numbered_launches(readout, &memory);
        let launched = Launched { lanes: Lanes::in_memory(readout), launches };
        // Lanes in memory are read without a file, so without errors.
        let figures = figures_of(launched, &analyses).unwrap_or_default();
        Self::from_launches(launched, (&figures, &AvailableCores::default()), analyses, is_exact)
    }

    pub(in crate::report) fn from_launches(
        Launched { lanes: Lanes { readout, .. }, launches }: Launched<'_>,
        (figures, available): (&[LaunchFigures], &AvailableCores),
        analyses: ProgramAnalyses,
        is_exact: bool,
    ) -> Self {
        let chips: Vec<_> = readout.devices.iter().map(|device| device.chip.clone()).collect();
        let latency_positions = LATENCY_ANALYSES.map(|title| analyses.position(title));
        let mut gathered: BTreeMap<_, (LaunchFigures, DevicePerfRow)> = BTreeMap::new();
        for (op, figures) in launches.launches.ops().zip(figures) {
            let ordinal = if is_exact { 0 } else { op.launch };
            let key = (op.chip_id, op.run_host_id, op.trace_id, op.trace_replay, ordinal);
            let (known, row) = gathered.entry(key).or_default();
            let chip = chips.iter().find(|chip| chip.chip_id == op.chip_id);
            *row = DevicePerfRow {
                device_id: op.chip_id,
                run_host_id: op.run_host_id,
                trace_id: op.trace_id,
                trace_replay: op.trace_replay,
                spans: Vec::new(),
                latencies_ns: if is_exact {
                    [None; 2]
                } else {
                    latencies_ns(&op, latency_positions)
                },
                core_count: row.core_count.max(op.core_count),
                available_core_count: available.op_cores(&op, chip),
            };
            // If records may be missing, the result is unknown.
            if is_exact || op.duration_doubt.is_none() {
                known.join(figures);
            }
        }
        let analysis_count = analyses.0.len();
        let rows = gathered.into_values().map(|(figures, row)| {
            let mut spans: Vec<_> = figures.bounds.iter().map(|bounds| bounds.span()).collect();
            spans.resize(analysis_count, None);
            DevicePerfRow { spans, ..row }
        });
        let rows = rows.collect();
        let mut report = Self { analyses, chips, rows };
        for (which, position) in latency_positions.into_iter().enumerate().filter(|_| is_exact) {
            report.add_latencies(which, position);
        }
        report
    }

    /// Returns the nanoseconds of a row's analysis.
    #[must_use]
    pub fn duration_ns(&self, row: &DevicePerfRow, analysis: usize) -> Option<u64> {
        let (start, end) = row.spans.get(analysis).copied().flatten()?;
        cycles_to_ns(end.saturating_sub(start), self.aiclk_mhz(row.device_id))
    }

    /// Formats the whole file. `name_of` returns the name of a chip's program.
    #[must_use]
    pub fn to_csv(&self, name_of: impl Fn(u32, u32) -> String) -> String {
        let mut out = String::new();
        let titles = FIXED_TITLES.into_iter().chain(self.analyses.titles()).chain(LATENCY_TITLES);
        push_line(&mut out, titles, "\n");
        for row in &self.rows {
            push_line(&mut out, self.cells(row, name_of(row.device_id, row.run_host_id)), "\n");
        }
        out
    }

    fn chip(&self, device_id: u32) -> Option<&ChipSummary> {
        self.chips.iter().find(|chip| chip.chip_id == device_id)
    }

    /// Returns the headers of the durations, without those of the cycles, in the order of
    /// [`DevicePerfRow::spans`].
    pub(super) fn analysis_titles(&self) -> impl Iterator<Item = &str> {
        self.analyses.0.iter().map(|analysis| analysis.title.as_str())
    }

    fn aiclk_mhz(&self, device_id: u32) -> u32 {
        self.chip(device_id).map_or(0, |chip| chip.aiclk_mhz)
    }

    fn cells(&self, row: &DevicePerfRow, name: String) -> Vec<String> {
        let chip = self.chip(row.device_id);
        let mut cells = vec![
            row.run_host_id.to_string(),
            optional(row.trace_id),
            optional(row.trace_replay),
            row.device_id.to_string(),
            chip.map_or_else(String::new, |chip| chip.arch.clone()),
            name,
            row.core_count.to_string(),
            optional(row.available_core_count),
        ];
        for (index, analysis) in self.analyses.0.iter().enumerate() {
            cells.push(optional(self.duration_ns(row, index)));
            if analysis.cycle_titles.is_some() {
                let span = row.spans.get(index).copied().flatten();
                cells.push(optional(span.map(|(start, _)| start)));
                cells.push(optional(span.map(|(_, end)| end)));
            }
        }
        cells.extend(row.latencies_ns.map(optional));
        cells
    }

    /// Adds latencies from one analysis, as TT-Metal computes them: 0 for a chip's first row, and
    /// no latency if ops overlap.
    ///
    /// To convert a latency to nanoseconds, its cycles are multiplied by the row's rounded duration
    /// in nanoseconds and divided by the row's duration in cycles.
    #[expect(clippy::indexing_slicing, reason = "indices are those of the rows themselves")]
    fn add_latencies(&mut self, which: usize, position: Option<usize>) {
        let Some(position) = position else { return };
        let span = |row: &DevicePerfRow| row.spans.get(position).copied().flatten();
        let mut order: Vec<_> =
            (0..self.rows.len()).filter(|&i| span(&self.rows[i]).is_some()).collect();
        order.sort_by_key(|&i| (self.rows[i].device_id, span(&self.rows[i])));
        let mut previous: Option<(u32, u64)> = None;
        for index in order {
            let row = &self.rows[index];
            let Some((start, end)) = span(row) else { continue };
            let before = previous.filter(|&(chip, _)| chip == row.device_id).map(|(_, end)| end);
            previous = Some((row.device_id, end));
            let duration_ns = self.duration_ns(row, position);
            self.rows[index].latencies_ns[which] = match before {
                None => Some(0),
                Some(before) => latency(before, (start, end), duration_ns),
            };
        }
    }
}

/// Returns the latencies of an op, exact to the nanosecond. A latency is `None` if the report does
/// not contain the analysis that the latency is based on.
fn latencies_ns(op: &Op, [kernel, data_movement]: [Option<usize>; 2]) -> [Option<i64>; 2] {
    let kernel_ns = kernel.and(op.op_to_op_latency_ns);
    let data_movement_ns = data_movement.and(op.data_movement_op_to_op_latency_ns);
    [kernel_ns, data_movement_ns].map(|ns| i64::try_from(ns?).ok())
}

fn optional(number: Option<impl ToString>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

fn latency(before: u64, (start, end): (u64, u64), duration_ns: Option<u64>) -> Option<i64> {
    let cycles = start.checked_sub(before)?;
    let length = end.checked_sub(start).filter(|&length| length > 0)? as f64;
    let ns = cycles as f64 * (duration_ns? as f64 / length);
    whole_text(ns).parse().ok()
}
