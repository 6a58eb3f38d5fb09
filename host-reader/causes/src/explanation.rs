//! Explanation of a recording: a breakdown of the chips' time, the ops, the phases and the
//! findings.

use crate::{
    clock_syncs::ClockSyncs,
    counter_sentence::counter_sentence,
    counter_shares::counter_shares,
    evidence::Evidence,
    finding::{Cause, Finding, GainOf, Untold, percent},
    host_time::{add_host_facts, built_again},
    kernel_sentence::kernel_sentence,
    launch_rows::{LaunchRows, are_described},
    missing_launches::missing_launches,
    no_cause::NoCause,
    noc_use::{BarrierRecords, NocEvidence, NocUses},
    op::{CoreRun, OpCauses, OpView},
    op_code_group::{OpCodeGroup, op_code_groups},
    ops_csv::{self, model_facts},
    parallel::{ChipOp, measure_on_own_chip},
    phase::{Phase, phases_of},
    recorded::Recorded,
    routers::Routers,
    rules::{self, IterationScope, OpFacts},
    steady::{Scope, SteadyPart, Window},
    steady_launches::{Explained, SteadyLaunches},
    threshold::LEAST_GAIN,
    time_sum::time_sums,
    timeline::{DeviceTime, device_time, whole_window},
};
use analysis::{FullBuffer, Launch, SyncCounts, counters::counters_of, noc_events::TileMap};
use rayon::prelude::*;
use reader::{
    anomaly::AnomalyKind, from_lanes::FromLanes, lane::ZoneIndex, names::ZoneTable,
    packed_bytes::PackedError, readout::Readout,
};
use recording::{
    DeviceClock, OpenedLog, PackedRecording, Recording, UnreplayedTrace, clocks_of,
    problem::counted,
};
use reports::perf::{
    OpReport, OpsByColumn, PerfOptions, PerfReport, RowKind, WindowOptions, ops_by_column,
};
use std::{collections::BTreeMap, sync::Arc};
use wire::{Risc, RunHostId, ZoneId};

/// Version of the serialised [`Explanation`]. It increases when a field is removed or changes its
/// meaning, but not when a field is added.
pub const SCHEMA_VERSION: u32 = 1;

/// Maximum number of findings in one explanation.
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
/// let (_, explanation) = Explanation::from_log(PackedLog::read(log.as_bytes(), "my log")?)?;
/// let time = &explanation.devices[0].time;
/// assert_eq!(time.percent(causes::TimeClass::DataMovement), 100.0);
/// // One launch without waits does not tell why it takes so long.
/// assert!(explanation.findings.is_empty() && !explanation.untold.is_empty());
/// # Ok::<(), recording::device_log::LogError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Explanation {
    /// Version of the serialised format.
    pub schema_version: u32,
    /// At most ten findings, sorted by descending gain.
    pub findings: Vec<Finding>,
    /// Statement that replaces the findings if there are none; `None` if there are findings.
    pub no_cause: Option<NoCause>,
    /// Questions that cannot be answered, because the recording lacks the necessary records.
    pub untold: Vec<Untold>,
    /// The steady part of the recording, which is its last iteration.
    ///
    /// The findings, `groups` and `devices` are computed from this part; `None` if they are
    /// computed from the whole recording.
    pub steady: Option<SteadyPart>,
    /// Sentence about the rows or launches that the explanation covers; `None` for a single launch.
    pub window: Option<String>,
    /// Sentences that divide each chip's time into kernels, waiting for the host, and other time;
    /// empty if no op has a known duration. If the clocks of several chips are related, the last
    /// sentence says how far apart they start an op.
    pub time_sums: Vec<String>,
    /// Sentence that names the ops CSV in the recording's folder from which the descriptions of the
    /// launches were read; `None` if there is no such CSV.
    pub described_by: Option<String>,
    /// Sentence that the times are simulated, and which limits of a chip they leave out; `None` if
    /// this is not known.
    pub simulated: Option<String>,
    /// Sentences about the NoC traces next to the log; `None` if there are no such files.
    pub noc_events: Option<String>,
    /// Sentence about the hardware counters of the longest op that has some; `None` without counters.
    pub counters: Option<String>,
    /// Sentence about the RISCs and the zones in kernels of the longest launch that has some, or about the zones
    /// of launches without zones of kernels; `None` without such zones.
    pub kernels: Option<String>,
    /// Device ops grouped by op code, sorted by descending time; empty if the tensors of the ops
    /// are unknown.
    pub groups: Vec<OpCodeGroup>,
    /// Ops grouped by the column that [`Scope::by`] asks for; `None` if none is asked for, or if no
    /// row has it.
    pub by: Option<OpsByColumn>,
    /// Time of each chip by class.
    pub devices: Vec<DeviceTime>,
    /// Phases. Parents come before their children.
    pub phases: Vec<Phase>,
    /// Launches sorted by chip and time; empty for ops CSVs.
    pub ops: Vec<OpCauses>,
    /// Numbers of usable and of unusable records of waits and signals.
    pub sync: SyncCounts,
    /// Sentences about traces that were captured and never replayed.
    pub unreplayed_traces: Vec<String>,
    /// Sentences about what could not be used: problems of an ops CSV, or anomalies of a recording
    /// by kind, each with the first.
    pub not_used: Vec<String>,
    /// RISCs with runs whose zones fill a buffer, if the log does not count its losses. `not_used` has their
    /// sentences.
    #[serde(skip)]
    pub full_buffers: Vec<FullBuffer>,
    /// True if the recording has NoC barriers, which are waits that no class of time counts.
    #[serde(skip)]
    pub has_noc_barriers: bool,
}

impl Explanation {
    /// Explains a recording. All times of a chip must use the same clock.
    #[must_use]
    pub fn from_recording(recording: &Recording) -> Self {
        Self::from_recording_window(recording, Window::Steady)
    }

    /// Explains a part of a recording.
    #[must_use]
    pub fn from_recording_window<'a>(recording: &Recording, scope: impl Into<Scope<'a>>) -> Self {
        let (scope, options) = (scope.into(), Self::report_options());
        let parts = Evidence::parts_of_readout(&recording.readout);
        let report = are_described(&recording.ops)
            .then(|| PerfReport::from_recording(recording, scope.by, &options));
        Self::from_evidence(recording, Evidence::from_parts(parts), (scope, report.flatten()))
    }

    /// Explains a packed log. Each thread unpacks one lane at a time.
    ///
    /// # Errors
    /// If packed records cannot be read back from the temporary file.
    pub fn from_packed(packed: &PackedRecording) -> Result<Self, PackedError> {
        Self::from_packed_window(packed, Window::Steady)
    }

    /// Explains a part of a packed log, like [`Self::from_packed`].
    ///
    /// # Errors
    /// See [`Self::from_packed`].
    pub fn from_packed_window<'a>(
        packed: &PackedRecording,
        scope: impl Into<Scope<'a>>,
    ) -> Result<Self, PackedError> {
        let scope = scope.into();
        let evidence = Evidence::from_parts(packed.collect()?);
        let report = match are_described(&packed.recording.ops) {
            true => PerfReport::from_packed(packed, scope.by, &Self::report_options())?,
            false => None,
        };
        packed.lanes.memory().check()?;
        Ok(Self::from_evidence(&packed.recording, evidence, (scope, report)))
    }

    /// Explains a log. Each thread unpacks one lane at a time, unless the log has
    /// hardware counters or NoC events, or has described ops and an
    /// [obstacle](PackedRecording::obstacle). Only in the latter cases does the returned recording
    /// contain its lanes.
    ///
    /// # Errors
    /// Returns an error if records beyond the memory limit cannot be written to the temporary file
    /// or read back.
    pub fn from_log(log: impl Into<OpenedLog>) -> Result<(Recording, Self), PackedError> {
        Self::from_log_window(log.into(), Window::Steady)
    }

    /// Explains a part of a log, like [`Self::from_log`].
    ///
    /// # Errors
    /// See [`Self::from_log`].
    pub fn from_log_window<'a>(
        log: OpenedLog,
        scope: impl Into<Scope<'a>>,
    ) -> Result<(Recording, Self), PackedError> {
        let scope = scope.into();
        let is_described = are_described(&log.host.ops);
        let markers = [ZoneId::PERF_COUNTER, ZoneId::NOC_TRACING];
        let needs_lanes = markers.into_iter().any(|id| log.log.lanes.has_marker(id));
        if needs_lanes || is_described && PackedRecording::obstacle(&log).is_some() {
            let recording = log.into_recording()?;
            let explanation = Self::from_recording_window(&recording, scope);
            return Ok((recording, explanation));
        }
        if is_described {
            let packed = PackedRecording::new(log)?;
            let explanation = Self::from_packed_window(&packed, scope)?;
            return Ok((packed.recording, explanation));
        }
        let memory = Arc::clone(log.log.lanes.memory());
        let (recording, parts) = log.collect()?;
        let explanation =
            Self::from_evidence(&recording, Evidence::from_parts(parts), (scope, None));
        memory.check()?;
        Ok((recording, explanation))
    }

    /// Explains what the lanes of a recording hold. `report` is about the ops that the host
    /// described.
    fn from_evidence(
        recording: &Recording,
        mut evidence: Evidence,
        (scope, report): (Scope<'_>, Option<PerfReport>),
    ) -> Self {
        let (window, readout) = (scope.window, &recording.readout);
        let (launches, aside) = Aside::take_from(&mut evidence, readout);
        let described = LaunchRows::from_recording(recording, &launches, (report, scope.by));
        let ops = op_causes(recording, &evidence, (&launches, &described));
        let pairs: Vec<Explained<'_>> = ops.iter().zip(&launches).collect();
        let found = SteadyLaunches::new(recording, (&pairs, &described), window);
        let (found, doubt) = (found.as_ref().ok(), found.as_ref().err().and_then(Option::as_deref));
        let all = whole_times(recording, &pairs, (&evidence, &aside));
        let full_buffers = evidence.full_buffers.found(&readout.losses);
        let noc = NocEvidence::new(recording, &launches, evidence.has_noc_events);
        let not_used = doubts(readout, (&ops, &all), (&aside, &full_buffers, &noc));
        let is_own =
            |index, op: &OpCauses| found.is_none_or(|steady| steady.contains(op.chip_id, index));
        let own = pairs.iter().enumerate().filter(|(index, (op, _))| is_own(*index, op));
        let own: Vec<Explained<'_>> = own.map(|(_, pair)| *pair).collect();
        let devices = match found {
            Some(steady) => part_times(recording, (&pairs, &own), steady),
            None => all.clone(),
        };
        let part = found.and_then(|steady| steady.part(&pairs, [&all, &devices]));
        let iterations = IterationScope::new(part.is_some(), doubt.is_some(), window);
        let phases = phases_of(recording, &pairs);
        let [own_ops, all_ops] =
            [&own, &pairs].map(|of| of.iter().map(|(op, _)| *op).collect::<Vec<&OpCauses>>());
        let recorded = Recorded::new(readout, &evidence, &noc);
        let facts = OpFacts {
            devices: &devices,
            gaps_ns: &found.map(SteadyLaunches::gaps_ns).unwrap_or_default(),
            ops: &own_ops,
            all: &all_ops,
            sync: &evidence.counts,
            iterations,
            noc: &noc.uses,
            recorded,
        };
        let (mut findings, mut untold) = rules::explain_ops(facts, &readout.zones);
        let ([own, all], error_ns) = chip_ops(recording, [&own_ops, &all_ops]);
        findings.extend(rules::collective_skew(&own, &all, error_ns));
        let (starts, unknown) = rules::chip_starts(&all, error_ns);
        untold.extend(unknown);
        let rows = described.reports(|index| ops.get(index).is_some_and(|op| is_own(index, op)));
        let (steady, sentence) = part.unzip();
        let mut explanation = Self {
            schema_version: SCHEMA_VERSION,
            findings,
            no_cause: None,
            untold,
            steady,
            window: sentence.or_else(|| sentence_without_part(&ops, (window, doubt))),
            time_sums: time_sums(&devices).into_iter().chain(starts).collect(),
            described_by: described.described_by.clone(),
            simulated: readout.simulated.as_ref().map(ToString::to_string),
            noc_events: noc.sentences.clone(),
            counters: counter_sentence(&own_ops),
            kernels: kernel_sentence(&own_ops, readout),
            groups: Vec::new(),
            by: described.by.as_deref().map(|column| ops_by_column(&rows, column)),
            devices,
            phases,
            ops,
            sync: evidence.counts,
            unreplayed_traces: sentences(&recording.unreplayed_traces),
            not_used,
            has_noc_barriers: noc.barriers == BarrierRecords::Some,
            full_buffers,
        };
        explanation.add_rows(&described, &rows, &noc.uses);
        add_host_facts(&mut explanation.findings, &rows, &described.rows);
        explanation.rank_or_say_why_none((&noc.uses, recorded));
        explanation
    }

    fn rank_or_say_why_none(&mut self, evidence: (&NocUses, Recorded)) {
        self.rank();
        let is_empty = self.findings.is_empty();
        self.no_cause = is_empty.then(|| NoCause::from_launches(self, evidence));
    }

    /// Returns the options of the ops reports from which causes are derived.
    ///
    /// All rows are kept. Devices are not merged, because a gap belongs to the time of its own
    /// device, regardless of other devices.
    #[must_use]
    pub fn report_options() -> PerfOptions {
        PerfOptions {
            is_by_device: true,
            window: WindowOptions::all_rows(),
            ..PerfOptions::default()
        }
    }

    /// Adds findings from rows that describe the ops, removes findings that follow from the added
    /// findings, and ranks all findings.
    fn add_rows(&mut self, described: &LaunchRows, rows: &[OpReport], uses: &NocUses) {
        let facts = model_facts(rows, |row| described.place(row));
        self.findings.retain(|finding| !rules::follows_from_dram(finding, &facts));
        self.groups = op_code_groups(rows, uses);
        let mut findings = rules::op_groups(&self.groups);
        let modelled = rules::modelled(&facts, &findings);
        findings.extend(rules::conversions(&self.groups, rows));
        let whole = match &self.steady {
            Some(steady) => (steady.total_ns, GainOf::Steady),
            None => (ops_csv::busiest_ns(&self.groups), GainOf::Kernels),
        };
        for finding in &mut findings {
            finding.measure_against(whole);
            measure_on_own_chip(finding, &self.devices);
            if !described.is_of_file {
                // These rows come from the report and not from a file, so they have no row numbers.
                (finding.place.row, finding.rows) = (None, Vec::new());
            }
        }
        findings.into_iter().for_each(|finding| self.add_of_shapes(finding));
        self.findings.extend(modelled);
        self.findings.extend(host_ops(described, rows));
        let again = built_again(rows, &described.builds, |row| described.place(row));
        self.findings.extend(again.map(|finding| match described.is_of_file {
            true => finding,
            false => Finding { rows: Vec::new(), ..finding },
        }));
        self.untold.extend(described.untold.clone());
    }

    /// Adds a finding that is derived from the tensor shapes of an op.
    ///
    /// If there already is a finding from the waits of the same op, that finding is kept, and the
    /// sentence of the new finding is added to its reasons.
    fn add_of_shapes(&mut self, finding: Finding) {
        let is_outranked = finding.cause == Cause::OpGroup && finding.place.op.is_some();
        let wait_finding = self.findings.iter_mut().find(|told| {
            let gains = told.gain_at_most_percent.is_some_and(|of| of >= LEAST_GAIN.value);
            told.cause.is_of_stage() && gains && told.place.op == finding.place.op
        });
        match wait_finding.filter(|_| is_outranked) {
            Some(told) => {
                told.why.push(finding.sentence);
                told.why.extend(finding.why);
                told.rows = finding.rows;
                told.place.row = finding.place.row;
                told.advice = format!("{}; {}", told.advice, finding.advice);
            }
            None => self.findings.push(finding),
        }
    }

    /// Returns the length of the explained time in nanoseconds; 0 if unknown.
    ///
    /// The length is that of the steady part or, if there is no steady part, the longest time of
    /// any chip whose gaps between ops are known.
    #[must_use]
    pub fn all_time(&self) -> (f64, GainOf) {
        if let Some(steady) = &self.steady {
            return (steady.total_ns, GainOf::Steady);
        }
        let devices = self.devices.iter().filter(|device| device.time.has_gaps);
        let times = devices.filter_map(|device| Some(device.time.total_ns? as f64));
        (times.fold(0.0, f64::max), GainOf::Recording)
    }

    /// Returns a text about the gain of one of this explanation's findings.
    #[must_use]
    pub fn gain_text(&self, finding: &Finding) -> String {
        finding.gain_text(self.all_time().1)
    }

    /// Says of findings about some ops of a code which finding is about all of them.
    fn number_groups_of_parts(&mut self) {
        let is_whole = |of: &Finding| of.rests_on.count == of.rests_on.of;
        let groups = self.findings.iter().enumerate().filter(|(_, of)| of.cause == Cause::OpGroup);
        let wholes = groups.filter(|(_, of)| is_whole(of));
        let wholes: Vec<_> =
            wholes.map(|(index, of)| (of.place.op.clone(), index.saturating_add(1))).collect();
        let parts =
            self.findings.iter_mut().filter(|of| of.cause == Cause::OpGroup && !is_whole(of));
        for part in parts {
            let whole = wholes.iter().find(|(op, _)| *op == part.place.op);
            part.part_of = whole.map(|(_, number)| *number);
        }
    }

    /// Sorts findings by descending gain, those of chips that are done before another last, and limits their number. Findings with hardly any gain are
    /// removed.
    pub(crate) fn rank(&mut self) {
        let (all_ns, all) = self.all_time();
        // Ops that ran side by side may save more time together than passed.
        for finding in self.findings.iter_mut().filter(|_| all_ns > 0.0) {
            finding.limit_gain(all_ns);
        }
        self.findings.retain(|finding| {
            // "The stages are balanced" is a useful answer even though its gain is 0.
            finding.cause == Cause::Balanced
                || finding.gain_at_most_percent.is_none_or(|percent| percent >= LEAST_GAIN.value)
        });
        // What may make the explained time no shorter comes last.
        let is_beside = |of: &Finding| of.gain_of == GainOf::Chip;
        self.findings.sort_by(|one, other| {
            let gains = [one, other].map(|of| of.gain_at_most_ns.unwrap_or(0.0));
            is_beside(one).cmp(&is_beside(other)).then(gains[1].total_cmp(&gains[0]))
        });
        self.findings.truncate(MAX_FINDINGS);
        let layout = self.findings.iter().position(|of| of.cause == Cause::Layout);
        let number = layout.map(|index| index.saturating_add(1));
        for finding in self.findings.iter_mut().filter(|of| of.is_in_layout) {
            finding.part_of = number;
        }
        self.number_groups_of_parts();
        for finding in &mut self.findings {
            finding.location = finding.place.text(&finding.rows);
            let is_of_part = finding.gain_of != all && finding.gain_of != GainOf::Chip;
            let ns = finding.gain_at_most_ns.filter(|_| is_of_part && all_ns > 0.0);
            finding.gain_at_most_percent_of_all = ns.map(|ns| percent(ns, all_ns));
        }
    }
}

/// Returns two lists of launches as ops of their chips, and the error of their starts on a clock that
/// all chips share; `None` if there is no such clock.
fn chip_ops<'a>(
    recording: &Recording,
    ops: [&[&'a OpCauses]; 2],
) -> ([Vec<ChipOp<'a>>; 2], Option<f64>) {
    let (clocks, origin_ns) = clocks_of(recording);
    let chips = recording.readout.devices.iter().map(|device| device.chip.chip_id);
    let clocks: BTreeMap<u32, _> = chips.zip(clocks).collect();
    let bounds: Option<Vec<f64>> = clocks.values().map(DeviceClock::bound_ns).collect();
    // The errors of two chips add up.
    let error_ns = bounds.filter(|_| origin_ns.is_some()).map(|mut bounds| {
        bounds.sort_by(f64::total_cmp);
        bounds.iter().rev().take(2).sum()
    });
    let chip_op = |op: &&'a OpCauses| {
        let clock = clocks.get(&op.chip_id).filter(|_| error_ns.is_some());
        let start = clock.zip(op.kernel).map(|(clock, of)| clock.time_ns(of.start_cycle) as f64);
        rules::chip_op(op, start)
    };
    (ops.map(|ops| ops.iter().map(chip_op).collect()), error_ns)
}

/// Returns the sentences about traces that were never replayed.
pub(crate) fn sentences(traces: &[UnreplayedTrace]) -> Vec<String> {
    traces.iter().map(|trace| format!("{trace}.")).collect()
}

/// Returns a sentence about lost records, and one about each kind of anomaly that is not a repair,
/// with the first of the kind.
fn unused(readout: &Readout) -> Vec<String> {
    let anomalies = &readout.anomalies;
    let lost = match readout.losses.known_losses() {
        (Some(count), is_lower_bound) if count > 0 => {
            let least = if is_lower_bound { "at least " } else { "" };
            let records = counted(count, "record was", "records were");
            Some(format!(
                "{least}{records} lost (kprof report shows where): shares of zones and waits are of those \
                 that are left"
            ))
        }
        _ => None,
    };
    let kinds = anomalies.counts().filter(|(kind, _)| !kind.is_repair());
    let sentences = kinds.map(|(kind, count)| {
        let of_kind = anomalies.kept().iter().filter(|kept| kept.kind == kind);
        let first = of_kind.min_by_key(|kept| (kept.lane, kept.position));
        let first = first.map_or_else(|| kind.label().to_owned(), ToString::to_string);
        if count == 1 { first } else { format!("{first}; the first of {count}") }
    });
    lost.into_iter().chain(sentences).collect()
}

/// Returns a sentence about records without the trace id that others of their run have.
fn without_trace(readout: &Readout) -> Option<String> {
    let count = readout.anomalies.count(AnomalyKind::UntracedRecord);
    (count > 0).then(|| {
        format!(
            "{} without the trace id that others of the same run have: taken as records of that replay",
            counted(count, "record", "records")
        )
    })
}

/// Returns sentences about what is not used or in doubt.
fn doubts(
    readout: &Readout,
    (ops, devices): (&[OpCauses], &[DeviceTime]),
    (aside, full, noc): (&Aside, &[FullBuffer], &NocEvidence),
) -> Vec<String> {
    let mut sentences = unused(readout);
    sentences.extend(without_trace(readout));
    sentences.extend(full.iter().map(FullBuffer::sentence));
    sentences.extend(aside.routers.sentences().chain(aside.syncs.sentences()));
    sentences.extend(missing_launches(ops));
    sentences.extend(long_sums(ops, &readout.zones));
    let disagreeing = devices.iter().filter(|device| device.do_clocks_disagree);
    sentences.extend(disagreeing.filter_map(|device| device.chip_id).map(clocks_sentence));
    sentences.extend(noc.unread.iter().cloned());
    sentences
}

/// Returns a sentence about each sum of zones that is longer than the kernels that it is in.
fn long_sums(ops: &[OpCauses], names: &ZoneTable) -> Vec<String> {
    let mut sums: BTreeMap<(Risc, ZoneIndex), (u64, (u64, u64))> = BTreeMap::new();
    for of in ops.iter().flat_map(|op| &op.long_sums) {
        let (count, longest) = sums.entry((of.risc, of.zone)).or_default();
        *count = count.saturating_add(1);
        *longest = (*longest).max(of.cycles);
    }
    let sentences = sums.into_iter().map(|((risc, zone), (count, (cycles, kernel)))| {
        format!(
            "the sum zone {} of {risc} is longer than the kernel that it is in, {}: {cycles} cycles in \
             {kernel}; one of both is wrong, so it is no share of the kernel",
            names.label(zone),
            counted(count, "time", "times"),
        )
    });
    sentences.collect()
}

fn clocks_sentence(chip_id: u32) -> String {
    format!(
        "chip {chip_id}: the clocks of its cores disagree, and their origins were not measured, so no time \
         over several cores is known"
    )
}

/// Returns the finding about ops on the host. Its location lists the rows of these ops. If the rows
/// are not from a file, the location is the launch after the first of these ops.
fn host_ops(described: &LaunchRows, rows: &[OpReport]) -> Option<Finding> {
    let finding = ops_csv::host_ops(rows)?;
    if described.is_of_file {
        return Some(finding);
    }
    let after = rows.iter().skip_while(|row| row.kind != RowKind::Host);
    let place =
        after.filter(|row| row.kind == RowKind::Device).map(|row| described.place(row)).next();
    Some(Finding { place: place.unwrap_or_default(), rows: Vec::new(), ..finding })
}

/// Sentence which states that no sequence of launches repeats.
const NOTHING_REPEATS: &str =
    "No second iteration was found in these launches: times include any compilation.";

/// Sentence about an explanation that covers all launches.
const ALL_LAUNCHES: &str =
    "All launches, as asked for: warm-up and compilation are part of the time.";

/// Returns the sentence for launches without a steady part; `None` for a single launch.
fn sentence_without_part(
    ops: &[OpCauses],
    (window, doubt): (Window, Option<&str>),
) -> Option<String> {
    let sentence = match window {
        Window::Steady | Window::Last => doubt.unwrap_or(NOTHING_REPEATS),
        Window::All => ALL_LAUNCHES,
    };
    (ops.len() > 1).then(|| sentence.to_owned())
}

/// Launches that are no ops of the program.
struct Aside {
    routers: Routers,
    syncs: ClockSyncs,
}

impl Aside {
    /// Returns the launches of the program, and those that are none of it.
    fn take_from(evidence: &mut Evidence, readout: &Readout) -> (Vec<Launch>, Self) {
        let mut launches = std::mem::take(&mut evidence.launch_runs).launches(readout);
        let syncs = ClockSyncs::take_from(&mut launches, evidence, &readout.zones);
        let routers = Routers::take_from(&mut launches);
        (launches, Self { routers, syncs })
    }
}

/// Returns the time of each chip from its first to its last record.
fn whole_times(
    recording: &Recording,
    launches: &[Explained<'_>],
    (evidence, aside): (&Evidence, &Aside),
) -> Vec<DeviceTime> {
    device_times(recording, launches, |chip_id, own| {
        let window = match aside.syncs.has(chip_id) {
            true => whole_window(own),
            false => aside.routers.window(evidence, chip_id, own),
        };
        Some((window?, None))
    })
}

/// Returns the time of each chip in the steady part, whose launches are `own`.
fn part_times(
    recording: &Recording,
    (all, own): (&[Explained<'_>], &[Explained<'_>]),
    steady: &SteadyLaunches,
) -> Vec<DeviceTime> {
    device_times(recording, own, |chip_id, launches| {
        let (start, end) = whole_window(launches)?;
        let begin = steady.begin(all, chip_id);
        let (start, before) = begin.map_or((start, None), |(at, of)| (at, Some(of)));
        Some(((start, end), before))
    })
}

/// First and last cycle of a chip's covered time, and the launch before it if the gap after that is part of
/// the time.
type ChipWindow<'a> = ((u64, u64), Option<Explained<'a>>);

/// Returns the time of each chip, computed from its launches in the covered part.
///
/// Cycles of cores whose clocks disagree are no time, so the length of such a chip's time is unknown.
fn device_times<'a>(
    recording: &Recording,
    launches: &[Explained<'a>],
    window_of: impl Fn(u32, &[Explained<'a>]) -> Option<ChipWindow<'a>>,
) -> Vec<DeviceTime> {
    let devices = recording.readout.devices.iter().filter_map(|device| {
        let chip = &device.chip;
        let own: Vec<_> =
            launches.iter().filter(|(op, _)| op.chip_id == chip.chip_id).copied().collect();
        let (window, before) = window_of(chip.chip_id, &own)?;
        let do_clocks_disagree = own.iter().any(|(_, launch)| launch.op.is_spread_implausible);
        let aiclk_mhz = if do_clocks_disagree { 0 } else { chip.aiclk_mhz };
        let time = device_time((before, &own), chip.chip_id, window, aiclk_mhz);
        Some(DeviceTime { do_clocks_disagree, ..time })
    });
    devices.collect()
}

fn op_causes(
    recording: &Recording,
    evidence: &Evidence,
    (launches, described): (&[Launch], &LaunchRows),
) -> Vec<OpCauses> {
    let readout = &recording.readout;
    let names = recording.op_names();
    let clocks: BTreeMap<u32, u32> =
        readout.devices.iter().map(|device| (device.chip.chip_id, device.chip.aiclk_mhz)).collect();
    let tiles: BTreeMap<u32, TileMap> = readout
        .devices
        .iter()
        .filter_map(|device| Some((device.chip.chip_id, TileMap::from_device(device)?)))
        .collect();
    let clock_bounds = recording.clock.as_ref().map(|clock| {
        let bounds = clock.offsets().map(|(chip, core, offset)| {
            #[expect(clippy::cast_possible_truncation, reason = "saturates")]
            let cycles = offset.bound_cycles.ceil() as u64;
            ((chip, core), cycles)
        });
        bounds.collect::<BTreeMap<_, _>>()
    });
    let counted = counters_of(readout, launches);
    let launches = launches.par_iter().enumerate();
    launches
        .map(|(number, launch)| {
            let op = &launch.op;
            // The op code of a row is preferred to the name of the launch, because it also names
            // the group.
            let op_code = described.row(number).map(|row| &*row.raw_op_code);
            let name = op_code
                .filter(|name| !name.is_empty())
                .or_else(|| names.get(&(op.chip_id, RunHostId(op.run_host_id))).copied());
            let counters = counted.binary_search_by_key(&number, |of| of.launch).ok();
            let counters = counters.and_then(|at| counted.get(at));
            let shares = counters.map(|of| counter_shares(&of.counters)).unwrap_or_default();
            OpCauses::new(&OpView {
                launch,
                name,
                aiclk_mhz: clocks.get(&op.chip_id).copied().unwrap_or(0),
                costs: &readout.probe_costs,
                tiles: tiles.get(&op.chip_id),
                clock_bounds: clock_bounds.as_ref(),
                counter_shares: &shares,
                kernel: op.kernel,
                runs: CoreRun::from_launch(launch, evidence),
            })
        })
        .collect()
}
