//! The explanation of a recording: classes of time, ops, phases, findings.

use crate::{
    evidence::{Evidence, EvidenceContext},
    finding::{Finding, Place, Untold},
    op::{OpCauses, OpView},
    ops_csv::model_facts,
    phase::{Phase, phases_of},
    rules::{self, ModelFacts, OpFacts},
    sync::SyncCounts,
    timeline::{DeviceTime, device_time},
};
use analysis::Launch;
use counters::counters_of;
use device_log::PackedLog;
use noc_events::TileMap;
use reader::readout::Readout;
use recording::Recording;
use reports::{
    perf::{OpReport, PerfOptions, PerfReport, WindowOptions, read_ops_csv},
    report::{OpsOptions, OpsReport},
};
use std::collections::BTreeMap;
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
/// use device_log::PackedLog;
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
/// # Ok::<(), device_log::LogError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Explanation {
    /// Version of this document.
    pub schema_version: u32,
    /// At most ten sentences, those with most to gain first.
    pub findings: Vec<Finding>,
    /// Questions that the recording cannot answer.
    pub untold: Vec<Untold>,
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
        let evidence = Evidence::of_readout(&recording.readout);
        Self::of_evidence(recording, evidence)
    }

    /// Explains a log with one lane unpacked for each thread at a time, where that is enough. The
    /// readout comes back, without lanes unless they were needed.
    #[must_use]
    pub fn of_log(log: PackedLog) -> (Readout, Self) {
        if log.lanes.has_marker(ZoneId::PERF_COUNTER) {
            let recording = Recording::of_readout(log.into_readout());
            let explanation = Self::of_recording(&recording);
            return (recording.readout, explanation);
        }
        let PackedLog { mut readout, lanes } = log;
        let context = EvidenceContext::new(&readout);
        let (parts, anomalies) =
            lanes.unpack(|evidence: &mut Evidence, lane| evidence.add(&context, &lane));
        readout.anomalies.merge(anomalies);
        let evidence = parts.into_iter().fold(Evidence::default(), Evidence::merged);
        let recording = Recording::of_readout(readout);
        let explanation = Self::of_evidence(&recording, evidence);
        (recording.readout, explanation)
    }

    fn of_evidence(recording: &Recording, mut evidence: Evidence) -> Self {
        let readout = &recording.readout;
        let launches = std::mem::take(&mut evidence.launch_runs).launches(readout);
        let ops = op_causes(recording, &evidence, &launches);
        let pairs: Vec<(&OpCauses, &Launch)> = ops.iter().zip(&launches).collect();
        let devices = readout.devices.iter().filter_map(|device| {
            let chip = &device.chip;
            let window = *evidence.bounds.get(&chip.chip_id)?;
            let own: Vec<_> =
                pairs.iter().filter(|(op, _)| op.chip_id == chip.chip_id).copied().collect();
            Some(device_time(&own, chip.chip_id, window, chip.aiclk_mhz))
        });
        let devices: Vec<_> = devices.collect();
        let phases = phases_of(recording, &pairs);
        let facts = OpFacts { devices: &devices, ops: &ops, sync: &evidence.counts };
        let (findings, untold) = rules::explain_ops(facts, &readout.zones);
        let mut explanation = Self {
            schema_version: SCHEMA_VERSION,
            findings,
            untold,
            devices,
            phases,
            ops,
            sync: evidence.counts,
        };
        explanation.add_modelled(&facts_of_host(recording));
        explanation
    }

    /// Adds what the host's description of the ops of a recording tells of the limits of their chip:
    /// a report on their ops. It is for recordings of chips alone, such
    /// as device logs; [`Self::of_recording`] looks at the ops that a recording holds.
    ///
    /// ```
    /// use causes::{Cause, Explanation};
    /// use reports::report::OpsReport;
    /// let sides = |name: &str| ["W", "Z", "Y", "X"].map(|side| format!("{name}_{side}_PAD[LOGICAL],"));
    /// let tensor = |name: &str| format!("{}{name}_DATATYPE,{name}_MEMORY,", sides(name).concat());
    /// let text = format!(
    ///     "{}{}{}OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,DEVICE KERNEL DURATION [ns]\n\
    ///      1,1,32,2048,BFLOAT16,DEV_0_L1,1,1,2048,2048,BFLOAT16,DEV_0_DRAM,\
    ///      1,1,32,2048,BFLOAT16,DEV_0_L1,Matmul,tt_dnn_device,0,wormhole_b0,32000\n",
    ///     tensor("INPUT_0"), tensor("INPUT_1"), tensor("OUTPUT_0"),
    /// );
    /// let mut explanation = Explanation::default();
    /// explanation.add_ops(&OpsReport { ops_csv: text, ..OpsReport::default() });
    /// // 8 MiB in 32 us are 262 GB/s, of 288.
    /// assert_eq!(explanation.findings[0].cause, Cause::Dram);
    /// ```
    pub fn add_ops(&mut self, report: &OpsReport) {
        self.add_modelled(&facts_of_report(report));
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

    /// Adds findings about modelled ops, takes away those that follow from them, and ranks all.
    pub(crate) fn add_modelled(&mut self, ops: &[ModelFacts]) {
        self.findings.retain(|finding| !rules::follows_from_dram(finding, ops));
        self.findings.extend(rules::modelled(ops));
        self.rank();
    }

    /// Puts findings in order, those with most to gain first, and keeps as many as can be read.
    fn rank(&mut self) {
        let gain = |finding: &Finding| finding.gain_at_most_ns.unwrap_or(0.0);
        self.findings.sort_by(|one, other| gain(other).total_cmp(&gain(one)));
        self.findings.truncate(MAX_FINDINGS);
    }
}

/// The ops that the host described with their tensors, against the limits of their chip.
fn facts_of_host(recording: &Recording) -> Vec<ModelFacts> {
    const TENSORS: &str = "input_tensors";
    if !recording.ops.iter().any(|op| op.value(TENSORS).is_some()) {
        return Vec::new();
    }
    facts_of_report(&OpsReport::of_recording(recording, &OpsOptions::default()))
}

/// The ops of an ops report against the limits of their chip; none if it has no rows.
fn facts_of_report(report: &OpsReport) -> Vec<ModelFacts> {
    let csv = read_ops_csv(report.ops_csv.as_bytes(), "the ops report").ok();
    let options = Explanation::report_options();
    let report = csv.and_then(|csv| PerfReport::new(vec![csv], &options).ok());
    report.map_or_else(Vec::new, |report| model_facts(&report, place_of_launch))
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
