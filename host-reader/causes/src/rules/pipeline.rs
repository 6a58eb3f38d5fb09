//! Rules about the reader, math and writer of an op.

use super::OpGroup;
use crate::{
    finding::{Basis, Cause, Finding, GainOf, Place},
    op::OpCauses,
    pace::Pace,
    stage::{Engine, Stage, StageUse},
    threshold::{BARRIERS, KNOWN_MARGIN, MARGIN, SEMAPHORES, TURNS},
};
use wire::Risc;

/// Reports the stage that sets the pace of an op; `None` if no wait was recorded, or if the pace
/// cannot be decided.
pub(crate) fn pipeline(group: &OpGroup<'_>) -> Option<Finding> {
    let (op, pace) = paced(group)?;
    if pace.is_balanced() {
        return Some(balanced(group, op, pace));
    }
    if pace.takes_turns() {
        return Some(turns(group, op, pace));
    }
    if !pace.is_certain() {
        return open_barriers(group, op, pace);
    }
    if let Some(finding) = semaphore(group, op, pace) {
        return Some(finding);
    }
    match pace.pacer {
        Stage::Reader => Some(latency(group, op, pace).unwrap_or_else(|| reader(group, op, pace))),
        Stage::Math => Some(compute(group, op, pace)),
        Stage::Writer => Some(writer(group, op, pace)),
    }
}

/// Returns the longest launch with a known pace. Launches whose waits are all known take
/// precedence.
fn paced<'a>(group: &OpGroup<'a>) -> Option<(&'a OpCauses, &'a Pace)> {
    let whole = group.longest(|op| op.pace.as_ref().filter(|_| op.known_percent.is_none()));
    whole.or_else(|| group.longest(|op| op.pace.as_ref()))
}

/// Returns true if there are waits, but the stage that sets the pace cannot be decided from them.
pub(crate) fn is_undecided(group: &OpGroup<'_>) -> bool {
    paced(group)
        .is_some_and(|(_, pace)| !pace.is_balanced() && !pace.takes_turns() && !pace.is_certain())
}

/// Returns true if the use of the stages includes an unmeasured time for writing records.
pub(crate) fn pace_includes_records(group: &OpGroup<'_>) -> bool {
    paced(group).is_some_and(|(_, pace)| pace.has_unmeasured_records)
}

/// Returns true if the pace is undecided because the RISCs that signal semaphores are unknown.
pub(crate) fn is_open_by_semaphores(group: &OpGroup<'_>) -> bool {
    is_undecided(group) && paced(group).is_some_and(|(_, pace)| pace.is_open_by_semaphores())
}

/// Returns true if the pace is undecided because no stage is known to be busy enough to set it.
pub(crate) fn is_in_turn(group: &OpGroup<'_>) -> bool {
    is_undecided(group) && paced(group).is_some_and(|(_, pace)| pace.is_in_turn())
}

fn reader(group: &OpGroup<'_>, op: &OpCauses, pace: &Pace) -> Finding {
    let waits = pace.unpack_wait_percent.map_or_else(String::new, |percent| {
        format!("; the unpacker waits {percent:.0} % of its time for tiles")
    });
    let sentence = format!("The reader sets the pace of {}{waits}", group.label);
    let advice = "read larger blocks, use both NoCs, or let the buffers hold more blocks";
    finding(Cause::Reader, group, (op, pace), sentence, advice)
}

/// Reports that the stage with the highest use waits for semaphores from other cores. These cores
/// then set the pace.
fn semaphore(group: &OpGroup<'_>, op: &OpCauses, pace: &Pace) -> Option<Finding> {
    let waited = pace.stage(pace.pacer)?.other_cores_percent;
    if waited < SEMAPHORES.value {
        return None;
    }
    let mut known = op.semaphores.iter().filter_map(|wait| Some((wait, wait.by?)));
    let (wait, by) = known.next()?;
    let others = match known.filter(|(other, _)| other.key == wait.key).count() {
        0 => String::new(),
        count => format!("; {count} other RISCs signal the others"),
    };
    let sentence = format!(
        "Cores of {} wait {waited:.0} % of the {}'s time for other cores: {} of core ({},{}) signals \
         semaphore {:#x} of {} of them{others}",
        group.label,
        pace.pacer.label(),
        by.risc,
        by.core.0,
        by.core.1,
        wait.key,
        wait.core_count,
    );
    let advice = "speed up the kernel that signals, let it run further ahead, or split its work over \
                  more cores";
    let mut finding = finding(Cause::Semaphore, group, (op, pace), sentence, advice);
    (finding.figure, finding.threshold) = (waited, SEMAPHORES.name);
    (finding.place.core, finding.place.risc) = (Some(by.core), Some(by.risc.label()));
    Some(finding)
}

/// Returns the stages that spend most of their time at NoC barriers.
fn at_barriers(pace: &Pace) -> impl Iterator<Item = &StageUse> {
    pace.stages.iter().filter(|of| of.barrier_percent >= BARRIERS.value)
}

/// Reports stages that spend most of their time at barriers, where it is open which stage sets the pace.
fn open_barriers(group: &OpGroup<'_>, op: &OpCauses, pace: &Pace) -> Option<Finding> {
    let found: Vec<&StageUse> = at_barriers(pace).collect();
    let most = found
        .iter()
        .copied()
        .max_by(|one, other| one.barrier_percent.total_cmp(&other.barrier_percent))?;
    let shares = found
        .iter()
        .map(|of| format!("the {} ({}) {:.0} %", of.stage.label(), of.risc, of.barrier_percent));
    let sentence = format!(
        "At barriers of {}, {} of its time; which stage sets the pace is open: {}",
        group.label,
        shares.collect::<Vec<_>>().join(" and "),
        uses(pace)
    );
    let place = Place {
        chip_id: Some(op.chip_id),
        launch: Some(op.launch),
        risc: Some(most.risc.label()),
        ..group.place()
    };
    let advice = "send several transfers before each barrier; the pace then shows whether another stage is as slow";
    let basis = Basis::launches(1, group.ops.len());
    Some(Finding::new(
        Cause::Latency,
        (BARRIERS, most.barrier_percent),
        sentence,
        place,
        advice,
        basis,
    ))
}

/// Returns how much each stage of an op with an open pace is in use, in words.
pub(crate) fn uses_of(group: &OpGroup<'_>) -> Option<String> {
    paced(group).map(|(_, pace)| uses(pace))
}

fn uses(pace: &Pace) -> String {
    let of_stage = |of: &StageUse| {
        let bound = if of.at_least_percent == of.at_most_percent { "" } else { "at most " };
        format!("the {} is in use {bound}{:.0} %", of.stage.label(), of.at_most_percent)
    };
    pace.stages.iter().map(of_stage).collect::<Vec<_>>().join(", ")
}

/// Reports a reader that spends its time at NoC barriers.
fn latency(group: &OpGroup<'_>, op: &OpCauses, pace: &Pace) -> Option<Finding> {
    let barriers = pace.stage(Stage::Reader)?.barrier_percent;
    (barriers >= BARRIERS.value).then(|| {
        let sentence = format!(
            "The reader sets the pace of {} and spends {barriers:.0} % of its time at barriers",
            group.label
        );
        let advice = "send several reads before each barrier; if the banks are at their peak (NoC \
                      events show this), move data to L1 instead";
        let mut finding = finding(Cause::Latency, group, (op, pace), sentence, advice);
        (finding.figure, finding.threshold) = (barriers, BARRIERS.name);
        finding
    })
}

fn compute(group: &OpGroup<'_>, op: &OpCauses, pace: &Pace) -> Finding {
    let used = pace.stage(Stage::Math).map_or(0.0, |math| math.at_least_percent);
    let label = &group.label;
    let (cause, risc, sentence, advice) = match pace.engine {
        Some(Engine::Math) => (
            Cause::Compute,
            Some(Risc::Trisc1),
            format!("The math sets the pace of {label}: it is in use {used:.0} % of the time"),
            "use more cores, a lower math fidelity, or larger subblocks",
        ),
        Some(Engine::Unpacker) => (
            Cause::Unpack,
            Some(Risc::Trisc0),
            format!(
                "The unpacker sets the pace of {label}: tiles are available, but the math waits for it"
            ),
            "use smaller element types for the inputs, use each tile in a register for more of the \
             output (larger subblocks), tilize before the op, or use more cores",
        ),
        Some(Engine::Packer) => (
            Cause::Pack,
            Some(Risc::Trisc2),
            format!(
                "The packer sets the pace of {label}: there is room for tiles, but the math waits for it"
            ),
            "use a smaller element type for the output, pack each output once (not once for each inner \
             block), untilize after the op, or use more cores",
        ),
        None => (
            Cause::Compute,
            None,
            engines(label, used, pace),
            "record hardware counters (TT_METAL_PROFILE_PERF_COUNTERS) first; then smaller element \
             types for the inputs if it is the unpacker, a lower math fidelity if it is the math, a \
             smaller element type for the output if it is the packer; or use more cores",
        ),
    };
    let mut finding = finding(cause, group, (op, pace), sentence, advice);
    finding.place.risc = risc.map(Risc::label);
    finding
}

/// Returns the sentence about engines that the recording cannot distinguish. Their use is a figure
/// only if it was measured.
fn engines(label: &str, used: f64, pace: &Pace) -> String {
    let known = if pace.is_math_assumed {
        let movers = pace.stages.iter().filter(|of| of.stage != Stage::Math);
        let most = movers.map(|of| of.at_most_percent).fold(0.0, f64::max);
        format!(
            "since reader and writer are in use at most {most:.0} % of the time; their own use was not measured"
        )
    } else {
        format!("in use {used:.0} % of the time")
    };
    format!(
        "The engines set the pace of {label}, {known}: unpacker, math or packer, which this recording \
         cannot distinguish"
    )
}

fn writer(group: &OpGroup<'_>, op: &OpCauses, pace: &Pace) -> Finding {
    let full = pace.pack_wait_percent.map_or_else(String::new, |percent| {
        format!("; the output buffer is full {percent:.0} % of the packer's time")
    });
    let sentence = format!("The writer sets the pace of {}{full}", group.label);
    let advice = "write larger blocks, flush instead of using a barrier, or let the output buffer hold \
                  more blocks";
    finding(Cause::Writer, group, (op, pace), sentence, advice)
}

fn turns(group: &OpGroup<'_>, op: &OpCauses, pace: &Pace) -> Finding {
    let used = pace.stage(pace.pacer).map_or(0.0, |of| of.at_most_percent);
    let with = pace.in_turn_with();
    let between = if with == Stage::Writer { "packer" } else { "unpacker" };
    let sentence = format!(
        "The {} and the math of {} take turns over a buffer of one block, or the {between} between them \
         is slow: no other stage is in use more than {used:.0} % of the time",
        with.label(),
        group.label
    );
    let advice = format!(
        "let the buffer between them hold two blocks or more; if it does, hardware counters \
         (TT_METAL_PROFILE_PERF_COUNTERS) tell whether it is the {between}"
    );
    let mut finding = finding(Cause::Turns, group, (op, pace), sentence, &advice);
    (finding.figure, finding.threshold) = (pace.turns_percent(), TURNS.name);
    finding.place.risc = pace.stage(pace.in_turn_with()).map(|of| of.risc.label());
    finding
}

fn balanced(group: &OpGroup<'_>, op: &OpCauses, pace: &Pace) -> Finding {
    let sentence = format!(
        "{} is balanced: no stage is ahead of the next one by {:.0} points",
        group.label, KNOWN_MARGIN.value
    );
    let at_barriers: Vec<&StageUse> = at_barriers(pace).collect();
    let advice = match &*at_barriers {
        [] => "speed up all stages together, or give the op more cores",
        _ => {
            "send several transfers before each barrier, in all stages that wait at barriers, or give the op \
             more cores"
        }
    };
    let mut finding = finding(Cause::Balanced, group, (op, pace), sentence, advice);
    let fact = |of: &&StageUse| {
        format!(
            "{} ({}) is at barriers {:.0} % of its time",
            of.risc,
            of.stage.label(),
            of.barrier_percent
        )
    };
    finding.why = at_barriers.iter().map(fact).collect();
    // Changing only one stage gains nothing.
    (finding.gain_at_most_ns, finding.gain_at_most_percent) = (Some(0.0), Some(0.0));
    finding.place.risc = None;
    finding
}

fn finding(
    cause: Cause,
    group: &OpGroup<'_>,
    (op, pace): (&OpCauses, &Pace),
    sentence: String,
    advice: &str,
) -> Finding {
    let threshold = if pace.is_math_known { KNOWN_MARGIN } else { MARGIN };
    let gain_percent = match cause {
        // With deeper buffers, the stage with the highest use would set the pace.
        Cause::Turns => pace.turns_percent(),
        Cause::Unpack | Cause::Pack => pace.gain_at_engine_percent(),
        _ => pace.gain_at_most_percent,
    };
    let gain_percent = gain_percent.clamp(0.0, 100.0);
    // Launches without records of waits are left out, because their gain is unknown.
    let paced = group.ops.iter().filter(|op| op.pace.is_some());
    let paced_ns = paced.map(|op| super::kernel_ns(op)).sum::<f64>();
    let place = Place {
        chip_id: Some(op.chip_id),
        launch: Some(op.launch),
        risc: pace.stage(pace.pacer).map(|stage| stage.risc.label()),
        ..group.place()
    };
    // The figures are those of one launch, and the gain is that of all launches with waits.
    let basis = Basis::launches(1, group.ops.len());
    Finding::new(cause, (threshold, pace.margin_at_most), sentence, place, advice, basis)
        .with_gain(paced_ns * gain_percent / 100.0, (paced_ns, GainOf::Ops))
}
