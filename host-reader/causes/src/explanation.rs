//! The explanation of a recording: classes of time, ops, phases, findings.

use crate::{
    evidence::{Evidence, EvidenceContext},
    finding::{Cause, Finding, GainOf, Place, Untold},
    op::{OpCauses, OpView},
    op_code_group::{OpCodeGroup, op_code_groups},
    ops_csv::model_facts,
    phase::{Phase, phases_of},
    rules::{self, Iterations, OpFacts},
    steady::{SteadyPart, Window},
    steady_launches::{Explained, SteadyLaunches},
    threshold::LEAST_GAIN,
    timeline::{DeviceTime, device_time},
};
use analysis::{Launch, SyncCounts, counters::counters_of, noc_events::TileMap};
use host_events::OpMetadata;
use recording::{OpenedLog, Recording, device_log::PackedLog, host_ops::LaunchedPrograms};
use reports::{
    perf::{OpReport, PerfOptions, PerfReport, WindowOptions, read_ops_csv},
    report::{OpsOptions, OpsReport},
};
use std::collections::{BTreeMap, BTreeSet};
use wire::{RunHostId, ZoneId};

/// Version of the document that an [`Explanation`] is serialised to. It grows when a field
/// changes its meaning or goes away, not when one is added.
pub const SCHEMA_VERSION: u32 = 1;

/// Most findings of one explanation.
const MAX_FINDINGS: usize = 10;

/// Causes of slowness in one recording, with their evidence.
///
/// ```
/// use causes::Explanation;
/// use recording::device_log::PackedLog;
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,7,100,0,1024,BRISC-KERNEL,ZONE_START
/// 0,1,2,BRISC,7,160,0,1024,BRISC-KERNEL,ZONE_END
/// ";
/// let (_, explanation) = Explanation::of_log(PackedLog::read(log.as_bytes(), "my log")?);
/// let time = &explanation.devices[0].time;
/// assert_eq!(time.percent(causes::TimeClass::DataMovement), 100.0);
/// // One launch without waits does not tell why it takes so long.
/// assert!(explanation.findings.is_empty() && !explanation.untold.is_empty());
/// # Ok::<(), recording::device_log::LogError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Explanation {
    /// Version of this document.
    pub schema_version: u32,
    /// At most ten sentences, those with most to gain first.
    pub findings: Vec<Finding>,
    /// Questions that the recording cannot answer.
    pub untold: Vec<Untold>,
    /// The steady part, which findings, `groups` and `devices` are about; `None` if they are about all.
    pub steady: Option<SteadyPart>,
    /// Sentence about the rows or launches that it is about; `None` of a single launch.
    pub window: Option<String>,
    /// Device ops by op code, those with most time first; empty where the host described no tensors.
    pub groups: Vec<OpCodeGroup>,
    /// Time of each chip.
    pub devices: Vec<DeviceTime>,
    /// Phases, parents first.
    pub phases: Vec<Phase>,
    /// Launches, by chip and time; empty of ops CSVs.
    pub ops: Vec<OpCauses>,
    /// Records of waits and signals.
    pub sync: SyncCounts,
}

impl Explanation {
    /// Explains a recording, whose times are on one clock per chip.
    #[must_use]
    pub fn of_recording(recording: &Recording) -> Self {
        Self::of_recording_window(recording, Window::Steady)
    }

    /// The same over a window of its time.
    #[must_use]
    pub fn of_recording_window(recording: &Recording, window: Window) -> Self {
        let evidence = Evidence::of_readout(&recording.readout);
        Self::of_evidence(recording, evidence, window)
    }

    /// Explains a log with one lane unpacked for each thread at a time, where that is enough. The
    /// recording comes back, without lanes unless they were needed.
    #[must_use]
    pub fn of_log(log: impl Into<OpenedLog>) -> (Recording, Self) {
        Self::of_log_window(log.into(), Window::Steady)
    }

    /// The same over a window of its time.
    #[must_use]
    pub fn of_log_window(log: OpenedLog, window: Window) -> (Recording, Self) {
        let has_counters = log.log.lanes.has_marker(ZoneId::PERF_COUNTER);
        if has_counters || are_described(&log.host.ops) {
            let recording = log.into_recording();
            let explanation = Self::of_recording_window(&recording, window);
            return (recording, explanation);
        }
        let OpenedLog { log: PackedLog { mut readout, lanes }, host, .. } = log;
        let context = EvidenceContext::new(&readout);
        let (parts, anomalies) =
            lanes.unpack(|(evidence, launched): &mut (Evidence, LaunchedPrograms), lane| {
                evidence.add(&context, &lane);
                launched.add(&lane);
            });
        readout.anomalies.merge(anomalies);
        let (parts, launched): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let evidence = parts.into_iter().fold(Evidence::default(), Evidence::merged);
        let recording = host.attach(readout, launched);
        let explanation = Self::of_evidence(&recording, evidence, window);
        (recording, explanation)
    }

    fn of_evidence(recording: &Recording, mut evidence: Evidence, window: Window) -> Self {
        let readout = &recording.readout;
        let launches = std::mem::take(&mut evidence.launch_runs).launches(readout);
        let ops = op_causes(recording, &evidence, &launches);
        let pairs: Vec<Explained<'_>> = ops.iter().zip(&launches).collect();
        let found = (window == Window::Steady && ops.len() > 1)
            .then(|| SteadyLaunches::of(recording, &pairs))
            .flatten();
        let all = device_times(recording, &pairs, |chip_id, _| evidence.bounds_of(chip_id));
        let is_own = |index, op: &OpCauses| {
            found.as_ref().is_none_or(|steady| steady.contains(op.chip_id, index))
        };
        let own = pairs.iter().enumerate().filter(|(index, (op, _))| is_own(*index, op));
        let own: Vec<Explained<'_>> = own.map(|(_, pair)| *pair).collect();
        let devices = match &found {
            Some(_) => device_times(recording, &own, |_, ops| whole_window(ops)),
            None => all.clone(),
        };
        let part = found.as_ref().and_then(|steady| steady.part(&pairs, [&all, &devices]));
        let iterations = match (&part, window) {
            (Some(_), _) => Iterations::Last,
            (None, Window::Steady) => Iterations::None,
            (None, Window::All) => Iterations::All,
        };
        let phases = phases_of(recording, &pairs);
        let [own_ops, all_ops] =
            [&own, &pairs].map(|of| of.iter().map(|(op, _)| *op).collect::<Vec<&OpCauses>>());
        let facts = OpFacts {
            devices: &devices,
            ops: &own_ops,
            all: &all_ops,
            sync: &evidence.counts,
            iterations,
        };
        let (findings, untold) = rules::explain_ops(facts, &readout.zones);
        let rows = rows_of_launches(rows_of_host(recording), &own_ops);
        let (steady, sentence) = part.unzip();
        let mut explanation = Self {
            schema_version: SCHEMA_VERSION,
            findings,
            untold,
            steady,
            window: sentence.or_else(|| sentence_without_part(&ops, window)),
            groups: Vec::new(),
            devices,
            phases,
            ops,
            sync: evidence.counts,
        };
        explanation.add_host_rows(&rows);
        explanation
    }

    /// A sentence for a recording without findings: a recording without ops says nothing of causes.
    ///
    /// ```
    /// use causes::Explanation;
    /// let sentence = Explanation::default().without_findings();
    /// assert_eq!(sentence, "Nothing was recorded, so there is nothing to explain.");
    /// ```
    #[must_use]
    pub fn without_findings(&self) -> &'static str {
        if self.devices.is_empty() {
            "Nothing was recorded, so there is nothing to explain."
        } else if self.devices.iter().all(|device| device.op_count == 0) {
            "No op was recorded, so there is nothing to explain."
        } else {
            "No cause stands out."
        }
    }

    /// Options of the reports on ops that causes are found in: every row, and each device on its own,
    /// since a gap is the time of its own device, whatever the others did.
    #[must_use]
    pub fn report_options() -> PerfOptions {
        PerfOptions {
            merges_devices: false,
            window: WindowOptions { ignores_signposts: true, ..WindowOptions::default() },
            ..PerfOptions::default()
        }
    }

    /// Adds findings about ops that the host described, takes away those that follow from them, and ranks
    /// all. What waits tell of an op outranks what its shapes tell.
    fn add_host_rows(&mut self, rows: &[OpReport]) {
        let facts = model_facts(rows, place_of_launch);
        self.findings.retain(|finding| !rules::follows_from_dram(finding, &facts));
        let told_by_waits: Vec<Option<String>> =
            self.findings.iter().map(|finding| finding.place.op.clone()).collect();
        self.groups = op_code_groups(rows);
        let kernels_ns = self.groups.iter().map(|group| group.duration_ns).sum();
        let mut groups = rules::op_groups(&self.groups);
        groups.retain(|finding| !told_by_waits.contains(&finding.place.op));
        groups.extend(rules::layout(&self.groups));
        groups.extend(rules::round_trips(rows, kernels_ns));
        let whole = match &self.steady {
            Some(steady) => (steady.total_ns, GainOf::Steady),
            None => (kernels_ns, GainOf::Kernels),
        };
        for finding in &mut groups {
            finding.measure_against(whole);
            // The report's rows are no rows of a file.
            (finding.place.row, finding.rows) = (None, Vec::new());
        }
        self.findings.extend(groups);
        self.findings.extend(rules::modelled(&facts));
        self.rank();
    }

    /// Puts findings in order, those with most to gain first, and keeps as many as can be read. What
    /// gains next to nothing is left out.
    pub(crate) fn rank(&mut self) {
        self.findings.retain(|finding| {
            // That stages are balanced is an answer, whose gain is 0.
            finding.cause == Cause::Balanced
                || finding.gain_at_most_percent.is_none_or(|percent| percent >= LEAST_GAIN.value)
        });
        let gain = |finding: &Finding| finding.gain_at_most_ns.unwrap_or(0.0);
        self.findings.sort_by(|one, other| gain(other).total_cmp(&gain(one)));
        self.findings.truncate(MAX_FINDINGS);
    }
}

/// Sentence about launches of which none repeat.
const NOTHING_REPEATS: &str = "Nothing repeats in these launches, so warm-up and compilation cannot be \
    told from the model: all of the time is explained.";

/// Sentence about a window of all launches.
const ALL_LAUNCHES: &str =
    "All launches, as asked for: warm-up and compilation are part of the time.";

/// The sentence about launches without a steady part; `None` of a single one.
fn sentence_without_part(ops: &[OpCauses], window: Window) -> Option<String> {
    let sentence = match window {
        Window::Steady => NOTHING_REPEATS,
        Window::All => ALL_LAUNCHES,
    };
    (ops.len() > 1).then(|| sentence.to_owned())
}

/// Time of each chip, from its launches and the window that they are in.
fn device_times(
    recording: &Recording,
    launches: &[Explained<'_>],
    window_of: impl Fn(u32, &[Explained<'_>]) -> Option<(u64, u64)>,
) -> Vec<DeviceTime> {
    let devices = recording.readout.devices.iter().filter_map(|device| {
        let chip = &device.chip;
        let own: Vec<_> =
            launches.iter().filter(|(op, _)| op.chip_id == chip.chip_id).copied().collect();
        let window = window_of(chip.chip_id, &own)?;
        Some(device_time(&own, chip.chip_id, window, chip.aiclk_mhz))
    });
    devices.collect()
}

/// From the first start of launches to their last end.
fn whole_window(launches: &[Explained<'_>]) -> Option<(u64, u64)> {
    let start = launches.iter().map(|(op, _)| op.window.0).min()?;
    Some((start, launches.iter().map(|(op, _)| op.window.1).max()?))
}

/// The rows of some launches: rows of one program are its launches, in their order.
fn rows_of_launches(rows: Vec<OpReport>, ops: &[&OpCauses]) -> Vec<OpReport> {
    let own: BTreeSet<(u32, u32, u64)> =
        ops.iter().map(|op| (op.chip_id, RunHostId(op.run_host_id).base(), op.launch)).collect();
    let mut seen: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    let is_own = |row: &OpReport| {
        let place = place_of_launch(row);
        let Some((chip_id, id)) = place.chip_id.zip(place.run_host_id) else { return true };
        let id = RunHostId(id).base();
        let launch = seen.entry((chip_id, id)).or_default();
        *launch = launch.saturating_add(1);
        own.contains(&(chip_id, id, *launch))
    };
    let mut is_own = is_own;
    rows.into_iter().filter(|row| is_own(row)).collect()
}

/// The ops that the host described with their tensors, as rows of an ops report.
fn rows_of_host(recording: &Recording) -> Vec<OpReport> {
    if !are_described(&recording.ops) {
        return Vec::new();
    }
    let report = OpsReport::of_recording(recording, &OpsOptions::default());
    let csv = read_ops_csv(report.ops_csv.as_bytes(), "the ops report").ok();
    let options = Explanation::report_options();
    let report = csv.and_then(|csv| PerfReport::new(vec![csv], &options).ok());
    report.map_or_else(Vec::new, |report| report.rows)
}

/// Returns true if the host described an op with its tensors.
fn are_described(ops: &[OpMetadata]) -> bool {
    ops.iter().any(|op| op.value("input_tensors").is_some())
}

/// The launch that a row of an ops report is about.
fn place_of_launch(row: &OpReport) -> Place {
    Place {
        chip_id: row.device.and_then(|device| u32::try_from(device).ok()),
        op: Some(row.raw_op_code.clone()).filter(|name| !name.is_empty()),
        run_host_id: row.global_call_count.parse().ok(),
        ..Place::default()
    }
}

fn op_causes(recording: &Recording, evidence: &Evidence, launches: &[Launch]) -> Vec<OpCauses> {
    let readout = &recording.readout;
    let names = recording.op_names();
    let clocks: BTreeMap<u32, u32> =
        readout.devices.iter().map(|device| (device.chip.chip_id, device.chip.aiclk_mhz)).collect();
    let tiles: BTreeMap<u32, TileMap> = readout
        .devices
        .iter()
        .filter_map(|device| Some((device.chip.chip_id, TileMap::of_device(device)?)))
        .collect();
    let clock_bounds = recording.clock.as_ref().map(|clock| {
        let bounds = clock.offsets().map(|(chip, core, offset)| {
            let chip_core = (chip, core);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "saturates"
            )]
            let cycles = offset.bound_cycles.ceil() as u64;
            (chip_core, cycles)
        });
        bounds.collect::<BTreeMap<_, _>>()
    });
    let mut counted = counters_of(readout, launches).into_iter().peekable();
    let cause = |(number, launch): (usize, &Launch)| {
        let op = &launch.op;
        let name = names.get(&(op.chip_id, RunHostId(op.run_host_id))).copied();
        let clock = clocks.get(&op.chip_id).copied().unwrap_or(0);
        let mut view = OpView::new(launch, evidence, (name, clock), &readout.probe_costs);
        view.tiles = tiles.get(&op.chip_id);
        view.clock_bounds = clock_bounds.as_ref();
        let counters = counted.next_if(|counters| counters.launch == number);
        view.fpu_percent = counters.and_then(|of| {
            let mut summaries = of.counters.summaries(false);
            summaries.find(|summary| summary.metric.label() == "FPU Util").map(|fpu| fpu.mean)
        });
        OpCauses::new(&view)
    };
    launches.iter().enumerate().map(cause).collect()
}
