//! Rules, which are small functions that turn facts of a recording into findings.

mod blocked;
mod chip_starts;
mod chips;
mod cores;
mod dispatcher;
mod full_l1;
mod gaps;
mod groups;
mod late_host;
mod model;
mod pipeline;
mod setup;
mod skew;
mod starts;
mod zones;

pub(crate) use crate::duration::duration;
use crate::{
    finding::{Cause, Finding, GainOf, Place, Untold, percent},
    noc_use::NocUses,
    op::OpCauses,
    parallel::busiest_share,
    recorded::Recorded,
    threshold::{SMALL_OP, TRACED_GAP},
    time_class::{TimeClass, WaitEvidence},
    timeline::{DeviceTime, firmware_around},
};
use analysis::SyncCounts;
use reader::names::ZoneTable;
use std::collections::{BTreeMap, BTreeSet};
use wire::RunHostId;

pub(crate) use chip_starts::chip_starts;
pub(crate) use chips::{chip_op, slow_chips};
pub(crate) use dispatcher::Dispatcher;
pub(crate) use gaps::{Firmware, IterationScope, Waiting, host_ops, small_ops, waiting};
pub(crate) use groups::{conversions, op_groups};
pub(crate) use late_host::{Compilation, TracedGaps};
pub(crate) use model::{ModelFacts, follows_from_dram, modelled};
use model::{barriers, follows_from_noc, noc};
pub(crate) use skew::collective_skew;
pub(crate) use starts::start_skew_of_rows;

/// Launches with the same op name. Launches without an op name form one group for each program.
pub(crate) struct OpGroup<'a> {
    pub(crate) label: String,
    pub(crate) ops: Vec<&'a OpCauses>,
}

impl<'a> OpGroup<'a> {
    /// Returns the location of the whole group.
    pub(crate) fn place(&self) -> Place {
        let first = self.ops.first();
        let chips: BTreeSet<_> = self.ops.iter().map(|op| op.chip_id).collect();
        Place {
            chip_id: first.map(|op| op.chip_id).filter(|_| chips.len() == 1),
            op: first.and_then(|op| op.name.clone()),
            run_host_id: first.map(|op| op.run_host_id),
            ..Place::default()
        }
    }

    /// Returns the part of the group's kernel time that the busiest chip has.
    fn busiest_share(&self) -> f64 {
        busiest_share(self.ops.iter().map(|op| (Some(op.chip_id), kernel_ns(op))))
    }

    /// Returns the total kernel time in nanoseconds.
    pub(crate) fn kernel_ns(&self) -> f64 {
        self.ops.iter().map(|op| kernel_ns(op)).sum()
    }

    /// Among the launches for which `of` returns a value, returns the one with the longest kernel,
    /// with its value.
    pub(crate) fn longest<T>(
        &self,
        of: impl Fn(&'a OpCauses) -> Option<T>,
    ) -> Option<(&'a OpCauses, T)> {
        let with = self.ops.iter().filter_map(|op| Some((*op, of(op)?)));
        with.max_by(|(one, _), (other, _)| kernel_ns(one).total_cmp(&kernel_ns(other)))
    }
}

/// Returns the length of an op's kernel in nanoseconds; 0 if unknown.
pub(crate) fn kernel_ns(op: &OpCauses) -> f64 {
    op.kernel.and_then(|kernel| kernel.duration_ns).unwrap_or(0) as f64
}

/// Returns the name of a launch; without a name, its program.
pub(crate) fn label_of(op: &OpCauses) -> String {
    op.name.clone().unwrap_or_else(|| format!("program {}", RunHostId(op.run_host_id).base()))
}

/// Groups launches by name. Launches without a name are grouped by program.
fn groups<'a>(ops: &[&'a OpCauses]) -> Vec<OpGroup<'a>> {
    let mut groups: BTreeMap<String, Vec<&'a OpCauses>> = BTreeMap::new();
    for &op in ops {
        groups.entry(label_of(op)).or_default().push(op);
    }
    groups.into_iter().map(|(label, ops)| OpGroup { label, ops }).collect()
}

/// Facts about the launches of a recording.
#[derive(Clone, Copy)]
pub(crate) struct OpFacts<'a> {
    pub(crate) devices: &'a [DeviceTime],
    /// Launches that the explanation covers.
    pub(crate) ops: &'a [&'a OpCauses],
    /// All launches. They are needed to find cores or chips that are repeatedly late.
    pub(crate) all: &'a [&'a OpCauses],
    /// Gap before the first launch of each chip, as far as it is part of the covered time.
    pub(crate) gaps_ns: &'a BTreeMap<u32, f64>,
    pub(crate) sync: &'a SyncCounts,
    pub(crate) iterations: IterationScope,
    pub(crate) noc: &'a NocUses,
    pub(crate) recorded: Recorded,
}

/// Question about launches without a length.
pub(crate) const LENGTHS: &str = "how long every op took";

/// Returns the findings about launches, and the unanswered questions.
pub(crate) fn explain_ops(of: OpFacts<'_>, zone_names: &ZoneTable) -> (Vec<Finding>, Vec<Untold>) {
    let mut findings: Vec<Finding> = Vec::new();
    let is_steady = of.iterations == IterationScope::Last;
    let gain_of = if is_steady { GainOf::Steady } else { GainOf::Recording };
    let kernels = of
        .ops
        .iter()
        .filter_map(|op| op.kernel?.duration_ns.map(|ns| (Some(op.chip_id), ns as f64)));
    let durations_ns: Vec<(Option<u32>, f64)> = kernels.collect();
    let small = small_ops(&durations_ns, (wall_ns(of.devices), gain_of));
    findings.extend(small.map(|small| Finding {
        place: longest_small(of.ops).map(launch_place).unwrap_or_default(),
        ..small
    }));
    let groups = groups(of.ops);
    let kernels_ns: f64 = groups.iter().map(OpGroup::kernel_ns).sum();
    let mut noc_findings = Vec::new();
    for group in &groups {
        // What chips that run at once save together is what the busiest one saves.
        let share = group.busiest_share();
        let barriers = barriers(group, of.noc, kernels_ns);
        // Where a RISC waits at barriers, these are why it runs longest.
        let longest = match barriers {
            Some(_) => None,
            None => zones::longest_risc(group, kernels_ns),
        };
        let of_group = [setup::setup(group, zone_names), pipeline::pipeline(group)]
            .into_iter()
            .chain([zones::kernel_zone(group, kernels_ns, zone_names)])
            .chain([blocked::blocked_risc(group, kernels_ns), longest])
            .chain([starts::start_skew(group, kernels_ns), barriers]);
        findings.extend(of_group.flatten().map(|finding| finding.with_part_of_gain(share)));
        let link = noc(group, of.noc, kernels_ns);
        noc_findings.extend(link.map(|finding| finding.with_part_of_gain(share)));
    }
    findings = zones::join_programs(findings);
    findings.extend(late_ones(of.all, &groups));
    findings.retain(|finding| !follows_from_noc(finding, &noc_findings));
    findings.extend(noc_findings);
    // A finding with one of these causes already explains blocked time: it names the stage, core or
    // chip that others wait for.
    let is_explained = findings.iter().any(|finding| explains_waits(finding.cause));
    let classes = [
        TimeClass::HostLate,
        TimeClass::Dispatch,
        TimeClass::Collective,
        TimeClass::Wait,
        TimeClass::Profiler,
    ];
    let classes = classes.into_iter().filter(|class| *class != TimeClass::Wait || !is_explained);
    findings.extend(classes.filter_map(|class| waiting(&waiting_of(of, class)?)));
    let untold = untold(of, &groups);
    (findings, untold)
}

/// Finds cores and chips that are repeatedly late, considering all launches of a group. Gains are
/// scaled to the launches that the explanation covers.
fn late_ones(all: &[&OpCauses], groups: &[OpGroup<'_>]) -> Vec<Finding> {
    let chip_ops: Vec<_> = all.iter().map(|op| chip_op(op, None)).collect();
    let mut slow_chips: BTreeMap<String, Finding> = slow_chips(&chip_ops).into_iter().collect();
    let mut findings = Vec::new();
    for whole in self::groups(all) {
        let own = groups.iter().find(|group| group.label == whole.label);
        let part = own.map_or(0.0, |own| percent(own.kernel_ns(), whole.kernel_ns()) / 100.0);
        let uneven =
            cores::uneven_work(&whole).map(|of| of.with_part_of_gain(whole.busiest_share()));
        // All of these launches are of one chip, or of the chip that others wait for.
        let late_core = uneven.or_else(|| cores::straggler(&whole));
        let late = late_core.into_iter().chain(slow_chips.remove(&whole.label));
        findings.extend(late.filter(|_| part > 0.0).map(|finding| finding.with_part_of_gain(part)));
    }
    findings
}

/// Returns true if the cause makes other RISCs, cores or chips wait.
const fn explains_waits(cause: Cause) -> bool {
    cause.is_of_stage()
        || matches!(cause, Cause::Straggler | Cause::UnevenWork | Cause::SlowChip | Cause::Balanced)
}

/// Returns the time in `class` on the chip on which this class has the largest share of the time,
/// and the gaps or ops that this time consists of.
fn waiting_of(of: OpFacts<'_>, class: TimeClass) -> Option<Waiting> {
    let (most, waiting) = Waiting::on_chip(of.devices, class, of.iterations)?;
    let own = of.ops.iter().copied().filter(|op| Some(op.chip_id) == most.chip_id);
    let gaps = after_gaps(of, most.chip_id);
    let parts = gaps.iter().filter_map(|gap| {
        let AfterGap { op, gap_ns, .. } = *gap;
        let ns = match class {
            TimeClass::HostLate | TimeClass::Dispatch => {
                class.part_of_gap(gap_ns?, gap.is_in_replay())?
            }
            TimeClass::Collective if op.is_collective() => kernel_ns(op),
            TimeClass::Wait | TimeClass::Profiler => class_ns(op, class)?,
            _ => return None,
        };
        Some((ns, launch_place(op)))
    });
    Some(Waiting {
        parts: parts.collect(),
        between: between_launches(&gaps),
        traced: TracedGaps::new(
            gaps.iter()
                .filter(|gap| !gap.is_in_replay())
                .filter_map(|gap| Some((gap.op.replay.is_some(), gap.gap_ns?))),
        ),
        firmware: firmware(own),
        place: place_in_class(&gaps, class),
        ..waiting
    })
}

/// A launch of the covered part, with the launch and the gap before it.
#[derive(Clone, Copy)]
struct AfterGap<'a> {
    before: Option<&'a OpCauses>,
    op: &'a OpCauses,
    /// `None` if the gap is unknown or not part of the covered time.
    gap_ns: Option<f64>,
}

impl AfterGap<'_> {
    /// Returns true if both launches are of one replay of a trace.
    fn is_in_replay(&self) -> bool {
        let before = self.before.and_then(|before| before.replay);
        self.op.replay.is_some() && self.op.replay == before
    }
}

/// Returns the launches of a chip in the covered part, each with the gap before it.
fn after_gaps<'a>(of: OpFacts<'a>, chip_id: Option<u32>) -> Vec<AfterGap<'a>> {
    let is_of_chip = |op: &&OpCauses| Some(op.chip_id) == chip_id;
    let own = of.ops.iter().copied().filter(is_of_chip);
    let Some(first) = own.clone().next() else { return Vec::new() };
    let all = of.all.iter().copied().filter(is_of_chip);
    let before = std::iter::once(None).chain(all.clone().map(Some));
    let gaps = gaps_before(all).zip(before);
    let gaps = gaps.map(|((op, gap_ns), before)| AfterGap { before, op, gap_ns });
    let mut gaps: Vec<AfterGap<'_>> =
        gaps.skip_while(|gap| !std::ptr::eq(gap.op, first)).take(own.count()).collect();
    if let Some(gap) = gaps.first_mut() {
        gap.gap_ns = chip_id.and_then(|chip_id| of.gaps_ns.get(&chip_id)).copied();
    }
    gaps
}

/// Returns texts about the launches before and after the longest gap of a chip.
fn between_launches(gaps: &[AfterGap<'_>]) -> Option<[String; 2]> {
    let known = gaps.iter().filter_map(|gap| Some((gap.gap_ns?, gap.before?, gap.op)));
    let (_, before, after) = known.max_by(|(one, ..), (other, ..)| one.total_cmp(other))?;
    Some([before, after].map(|op| format!("launch {} of {}", op.launch, label_of(op))))
}

/// Returns the location of one launch.
pub(crate) fn launch_place(op: &OpCauses) -> Place {
    Place {
        chip_id: Some(op.chip_id),
        op: op.name.clone(),
        run_host_id: Some(op.run_host_id),
        launch: Some(op.launch),
        ..Place::default()
    }
}

/// Returns the time of a launch in a class; `None` if it has no such time, or if the clock is
/// unknown.
fn class_ns(op: &OpCauses, class: TimeClass) -> Option<f64> {
    op.time.class_ns(class).filter(|ns| *ns > 0.0)
}

/// Returns the firmware time of launches, and the number of their counter records.
fn firmware<'a>(ops: impl Iterator<Item = &'a OpCauses> + Clone) -> Firmware {
    let counts = ops.clone().map(|op| op.counter_count);
    let counters_ns: f64 = ops.clone().map(|op| op.counters_ns).sum();
    let clock = ops.clone().map(|op| &op.time).find(|time| time.total_cycles > 0);
    let cycles = firmware_around(ops);
    let [before, after] =
        cycles.map(|cycles| clock.and_then(|time| time.ns_of(cycles)).unwrap_or(0.0));
    // Counter records are written after the kernel, but their time is not a cost of the launch.
    let around_ns = [before, (after - counters_ns).max(0.0)];
    Firmware { around_ns, counter_count: counts.fold(0, u64::saturating_add) }
}

/// Returns the gap before each launch but the first, in nanoseconds: the time since all earlier
/// launches ended; `None` if it is unknown, as in the time of the chip's gaps.
pub(crate) fn gaps_before<'a>(
    ops: impl Iterator<Item = &'a OpCauses>,
) -> impl Iterator<Item = (&'a OpCauses, Option<f64>)> {
    let mut end: Option<(u64, bool)> = None;
    ops.map(move |op| {
        let is_known = |(_, is_known): &(u64, bool)| *is_known && op.has_bounds();
        let known = end.filter(is_known).filter(|_| !op.is_gap_doubted);
        let between = known.map(|(end, _)| op.window.0.saturating_sub(end));
        end = end.max(Some((op.window.1, op.has_bounds())));
        let ns = between.and_then(|cycles| op.time.ns_of(cycles));
        (op, ns.filter(|ns| *ns > 0.0))
    })
}

/// Returns the location of the launch with the most time in a class, including the gap before it.
fn place_in_class(gaps: &[AfterGap<'_>], class: TimeClass) -> Option<Place> {
    let times = gaps.iter().map(|&AfterGap { op, gap_ns, .. }| {
        let gap_ns = gap_ns.unwrap_or(0.0);
        let gap_ns = match class {
            TimeClass::Dispatch => gap_ns.min(TRACED_GAP.value * 1000.0),
            TimeClass::HostLate => gap_ns,
            _ => 0.0,
        };
        (class_ns(op, class).unwrap_or(0.0) + gap_ns, op)
    });
    let most = times.max_by(|(one, _), (other, _)| one.total_cmp(other));
    most.map(|(_, op)| launch_place(op))
}

/// Returns the longest time of any chip from its first record to its last record.
fn wall_ns(devices: &[DeviceTime]) -> f64 {
    let lengths = devices.iter().filter_map(|device| device.time.total_ns);
    lengths.max().unwrap_or(0) as f64
}

/// Returns the longest of the launches that are shorter than the limit for short ops.
fn longest_small<'a>(ops: &[&'a OpCauses]) -> Option<&'a OpCauses> {
    let small = ops.iter().copied().filter(|op| kernel_ns(op) < SMALL_OP.value * 1000.0);
    small.max_by(|one, other| kernel_ns(one).total_cmp(&kernel_ns(other)))
}

fn untold(of: OpFacts<'_>, groups: &[OpGroup<'_>]) -> Vec<Untold> {
    let mut untold = Vec::new();
    let mut add = |question, reason: String, record_with| {
        untold.push(Untold { question, reason, record_with });
    };
    let unknown = of.devices.iter().map(|device| device.time.percent(TimeClass::Unknown));
    // Launches outside the steady part count: it was chosen because its launches have lengths.
    let without = of.all.iter().filter(|op| op.kernel.is_none());
    let are_open = without.clone().all(|op| op.is_open);
    let without = without.count();
    if without > 0 {
        let (why, record_with) = of.recorded.lengths(are_open);
        add(
            LENGTHS,
            format!("{without} of {} launches have no length{why}", of.all.len()),
            record_with,
        );
    }
    if let Some((reason, record_with)) = untold_waits(of) {
        add("which stage waits for which: reader, math or writer", reason, record_with);
    }
    let of_ops = [untold_pace(groups), untold_behind_losses(of.ops)];
    for Untold { question, reason, record_with } in of_ops.into_iter().flatten() {
        add(question, reason, record_with);
    }
    if of.all.len() == 1 {
        add(
            "whether the host keeps up",
            "a single launch has no gaps between ops".to_owned(),
            "several launches",
        );
    }
    let is_partial = of.ops.iter().any(|op| op.known_percent.is_some());
    let are_known = of.ops.iter().all(|op| op.kernel.is_some());
    if unknown.clone().any(|percent| percent > 50.0) && are_known && !is_partial {
        let (reason, record_with) = uncovered(of.ops);
        add("what the chip did most of the time", reason.to_owned(), record_with);
    }
    let others = [untold_outside_of_windows(of.ops), untold_by_records(groups)];
    untold.extend(others.into_iter().chain([untold_without_clock(of.devices)]).flatten());
    untold
}

/// Reports what is open about the stage that sets the pace of the first such group.
fn untold_pace(groups: &[OpGroup<'_>]) -> Option<Untold> {
    let first = |is_open: fn(&OpGroup<'_>) -> bool| groups.iter().find(|group| is_open(group));
    if let Some(group) = first(pipeline::is_open_by_semaphores) {
        return Some(Untold {
            question: "which cores cause waits at semaphores",
            reason: format!("in {}, the cores that signal them were not recorded", group.label),
            record_with: "single waits and signals (docs/explain.md)",
        });
    }
    let question = "which stage sets the pace";
    if let Some(OpGroup { label, .. }) = first(pipeline::is_in_turn) {
        let reason = format!(
            "in {label}, no stage is always busy: stages take turns, as with buffers of one block, or the math \
             continues after its kernel's end"
        );
        let record_with =
            "buffers of two blocks, or hardware counters (TT_METAL_PROFILE_PERF_COUNTERS)";
        return Some(Untold { question, reason, record_with });
    }
    let group = first(pipeline::is_undecided)?;
    let (label, uses) = (&group.label, pipeline::uses_of(group).unwrap_or_default());
    let reason = format!(
        "in {label}, {uses}; the unpacker runs ahead of the math, so its waits are an upper bound"
    );
    let record_with = "hardware counters (TT_METAL_PROFILE_PERF_COUNTERS) or single waits";
    Some(Untold { question, reason, record_with })
}

/// Returns why no wait is known, and what to record instead; `None` if waits are known.
fn untold_waits(of: OpFacts<'_>) -> Option<(String, &'static str)> {
    let is_without = of.ops.iter().any(|op| op.time.waits == WaitEvidence::None);
    if !is_without || of.sync.has_waits() {
        return None;
    }
    Some(match (of.sync.without_cycles, of.recorded.waits()) {
        (0, (reason, record_with)) => (reason.to_owned(), record_with),
        (count, _) => (
            format!("{count} waits have no cycles: a device log has no room for them"),
            "a capture of kernels that record waits (docs/explain.md)",
        ),
    })
}

/// Reports chips whose clock is unknown, so that their times are known only in cycles.
fn untold_without_clock(devices: &[DeviceTime]) -> Option<Untold> {
    let unknown = devices.iter().filter(|device| device.time.total_ns.is_none());
    let count = unknown.filter(|device| !device.do_clocks_disagree).count();
    (count > 0).then(|| Untold {
        question: "how long anything took in nanoseconds",
        reason: format!("the clock of {count} of {} chips is not known", devices.len()),
        record_with: "a log whose first line has the clock, CHIP_FREQ[MHz]; shares of time need none",
    })
}

/// Returns why kernel records cover only a small part of a chip's time, and what to record instead.
fn uncovered(ops: &[&OpCauses]) -> (&'static str, &'static str) {
    if ops.iter().any(|op| op.is_envelope) {
        return (
            "trace-only mode records one envelope of all RISCs of a core for each replay",
            "the same program without trace-only mode (--device-trace-profiler, TT_METAL_TRACE_PROFILER)",
        );
    }
    (
        "records of kernels cover less than half of it",
        "firmware and kernels built with the profiler",
    )
}

/// Reports the part of an op's time after which records of waits are lost; `None` if no such
/// records are lost.
fn untold_behind_losses(ops: &[&OpCauses]) -> Option<Untold> {
    let all_the_time = ops.iter().filter(|op| op.windows_percent.is_none());
    let partial = all_the_time.filter_map(|op| op.known_percent);
    let least = partial.clone().min_by(f64::total_cmp)?;
    let launches = match (partial.count(), ops.len()) {
        (count, all) if count == all => String::new(),
        (count, all) => format!(" of {count} of {all} launches"),
    };
    let reason =
        format!("records of waits{launches} are lost after the first {least:.0} % of an op's time");
    Some(Untold {
        question: "what RISCs waited for in the rest of each op",
        reason,
        record_with: "only sums of waits (docs/explain.md)",
    })
}

/// Reports that writing records of individual waits takes an unknown time; `None` if that time is
/// known.
fn untold_by_records(groups: &[OpGroup<'_>]) -> Option<Untold> {
    let group = groups.iter().find(|group| pipeline::pace_includes_records(group))?;
    Some(Untold {
        question: "how much of the stages' use is the cost of recording",
        reason: format!(
            "in {}, single waits were recorded, but the cost of a record was not measured: it \
             counts as use",
            group.label
        ),
        record_with: "only sums of waits, or a capture with the cost of probes",
    })
}

/// Reports that individual waits are known only inside windows; `None` if they are known
/// everywhere.
fn untold_outside_of_windows(ops: &[&OpCauses]) -> Option<Untold> {
    let least = ops.iter().filter_map(|op| op.windows_percent).min_by(f64::total_cmp)?;
    Some(Untold {
        question: "the critical path outside of the recorded windows",
        reason: format!("the windows cover {least:.0} % of an op's time"),
        record_with: "the whole time, if the op is short enough (docs/explain.md)",
    })
}

/// Formats a percentage without decimals. A small percentage gets two significant digits.
pub(crate) fn rounded(percent: f64) -> String {
    if percent >= 9.95 || percent <= 0.0 {
        format!("{percent:.0}")
    } else {
        format!("{percent:.1}")
    }
}

/// Returns the label of a group with a capital letter, for the beginning of a sentence. Names of
/// ops are not changed.
pub(crate) fn capital(label: &str) -> String {
    match label.strip_prefix("program ") {
        Some(program) => format!("Program {program}"),
        None => label.to_owned(),
    }
}
