//! Split of an op's time span into classes of time.

use crate::{
    op::{CoreRun, OpView},
    risc_wait::{blocked_cycles, kernel_cycles},
    time_class::{ClassTimes, Overlap, TimeClass, WaitEvidence},
    timeline::{length, merged},
};
use analysis::Span;
use wire::Risc;

/// Assigns each cycle of an op's time span to one class. Returns the times within and around the
/// kernels.
///
/// For an op with recorded waits, the time of each core is split, and the result is the mean over
/// the cores. For other ops, the split follows from the kernels of all cores.
pub(crate) fn op_times(
    view: &OpView<'_>,
    window: (u64, u64),
    math_percent: Option<f64>,
) -> [ClassTimes; 2] {
    let [mut times, mut around] = [ClassTimes::default(); 2];
    let op = &view.launch.op;
    let Some(kernel) = op.kernel.or(op.trace_kernel) else {
        times.add(TimeClass::Unknown, length(window));
        return [times, around];
    };
    // After the part of the op in which waits are known, the class of the time is unknown.
    let known = view.kernel.filter(|_| view.has_waits()).unwrap_or(kernel);
    let outside = length(window) - length((kernel.start_cycle, kernel.end_cycle));
    let counters = length((0, counter_cycles(view, kernel))).min(outside);
    around.add(TimeClass::Dispatch, outside - counters);
    around.add(TimeClass::Profiler, counters);
    let mut inside = if view.is_collective() {
        let mut inside = ClassTimes::default();
        inside.add(TimeClass::Collective, length((kernel.start_cycle, kernel.end_cycle)));
        inside
    } else if view.has_waits() {
        core_mean(view, known, math_percent)
    } else {
        kernels_alone(view, kernel)
    };
    inside.set_apart(TimeClass::Profiler, profiler_cycles(view));
    if !view.is_collective() {
        times.add(TimeClass::Unknown, length((known.end_cycle, kernel.end_cycle)));
    }
    (times.waits, times.overlap) = (inside.waits, inside.overlap);
    times.add_all(&inside, 1.0);
    [times, around]
}

/// Splits the time by the kernels that are running. If a TRISC kernel runs on any core, the time is
/// compute. If only other kernels run, the time is data movement.
fn kernels_alone(view: &OpView<'_>, kernel: Span) -> ClassTimes {
    let riscs = view.launch.op.risc_kernels;
    let compute = merged_spans(&[riscs.trisc0, riscs.trisc1, riscs.trisc2, riscs.quasar_trisc]);
    let movement = merged_spans(&[riscs.brisc, riscs.ncrisc, riscs.erisc, riscs.quasar_dm]);
    let both = intersection_length(&compute, &movement);
    let (compute, movement) = (total(&compute), total(&movement));
    let mut times = ClassTimes::default();
    times.add(TimeClass::Compute, compute);
    times.add(TimeClass::DataMovement, movement - both);
    times.add(TimeClass::Unknown, length((kernel.start_cycle, kernel.end_cycle)) - times.total());
    let whole = length((kernel.start_cycle, kernel.end_cycle));
    let is_both = compute > 0.0 && movement > 0.0 && whole > 0.0;
    times.overlap = is_both.then(|| {
        // Kernels of both kinds ran. It is unknown whether both worked at the same time.
        Overlap { at_least_percent: 0.0, at_most_percent: both / whole * 100.0 }
    });
    times
}

/// Merges spans into sorted, disjoint intervals.
fn merged_spans(spans: &[Option<Span>]) -> Vec<(u64, u64)> {
    let spans = spans.iter().flatten().map(|span| (span.start_cycle, span.end_cycle));
    merged(spans.collect())
}

fn total(intervals: &[(u64, u64)]) -> f64 {
    intervals.iter().copied().map(length).sum()
}

fn intersection_length(one: &[(u64, u64)], other: &[(u64, u64)]) -> f64 {
    let pairs = one.iter().flat_map(|a| other.iter().map(move |b| (a, b)));
    pairs.map(|(a, b)| length((a.0.max(b.0), a.1.min(b.1)))).sum()
}

fn core_mean(view: &OpView<'_>, kernel: Span, math_percent: Option<f64>) -> ClassTimes {
    let cores: Vec<ClassTimes> =
        view.cores().filter_map(|core| core_times(core, kernel, math_percent)).collect();
    let mut mean = ClassTimes::default();
    mean.waits = WaitEvidence::All;
    let count = cores.len() as f64;
    cores.iter().for_each(|times| mean.add_all(times, 1.0 / count));
    let overlaps: Vec<Overlap> = cores.iter().filter_map(|times| times.overlap).collect();
    if !overlaps.is_empty() && overlaps.len() == cores.len() {
        let at_least: f64 = overlaps.iter().map(|overlap| overlap.at_least_percent).sum();
        let at_most: f64 = overlaps.iter().map(|overlap| overlap.at_most_percent).sum();
        mean.overlap =
            Some(Overlap { at_least_percent: at_least / count, at_most_percent: at_most / count });
    }
    mean
}

/// Splits the op's kernel time on one core by class.
///
/// Compute is the time in which the unpacking TRISC is not blocked. This time is a lower bound,
/// because the math may also work while the unpacking TRISC is blocked. If the use of the math is
/// known, the larger of the two times is used.
///
/// Data movement is the time in which a data-movement RISC is not blocked by other RISCs. The sums
/// of waits do not show how much compute and data movement overlap. Time that may be data movement
/// or waiting is therefore [`TimeClass::Unknown`].
fn core_times(core: &[CoreRun<'_>], kernel: Span, math_percent: Option<f64>) -> Option<ClassTimes> {
    let bounds = core.iter().filter_map(|run| run.evidence.kernel());
    let start = bounds.clone().map(|(start, _)| start).min()?;
    let end = bounds.map(|(_, end)| end).max()?;
    let whole = length((start, end));
    let mut times = ClassTimes::default();
    times.add(TimeClass::Dispatch, length((kernel.start_cycle, start)));
    // The core has finished and waits for the slowest core.
    times.add(TimeClass::Wait, length((end, kernel.end_cycle)));
    let busy = |is_asked: fn(Risc) -> bool| {
        let runs = core.iter().filter(move |run| is_asked(run.lane.risc));
        let known = runs.filter(|run| run.evidence.kernel().is_some());
        known.map(|run| {
            let (peers, _) = blocked_cycles(run.evidence);
            length((peers, kernel_cycles(run.evidence)))
        })
    };
    let unpacking = busy(unpacks).reduce(f64::max).or_else(|| busy(packs).reduce(f64::max));
    let unpacking = unpacking.unwrap_or(0.0);
    let math = math_percent.map_or(0.0, |percent| whole * percent / 100.0);
    let compute = unpacking.max(math).min(whole);
    let longest = busy(Risc::moves_data).fold(0.0, f64::max).min(whole);
    let together = busy(Risc::moves_data).sum::<f64>().min(whole);
    let rest = whole - compute;
    let movement = (longest - compute).max(0.0);
    let possible = together.min(rest);
    times.add(TimeClass::Compute, compute);
    times.add(TimeClass::DataMovement, movement);
    times.add(TimeClass::Unknown, possible - movement);
    times.add(TimeClass::Wait, rest - possible.max(movement));
    let has_both = compute > 0.0 && longest > 0.0 && whole > 0.0;
    times.overlap = has_both.then(|| Overlap {
        at_least_percent: (longest + compute - whole).max(0.0) / whole * 100.0,
        at_most_percent: together.min(compute) / whole * 100.0,
    });
    Some(times)
}

/// Returns true for a RISC whose kernels feed the engines.
const fn unpacks(risc: Risc) -> bool {
    matches!(
        risc,
        Risc::Trisc0
            | Risc::QuasarNeo0Trisc0
            | Risc::QuasarNeo1Trisc0
            | Risc::QuasarNeo2Trisc0
            | Risc::QuasarNeo3Trisc0
    )
}

/// Returns true for a RISC whose kernels take the results of the engines.
const fn packs(risc: Risc) -> bool {
    matches!(
        risc,
        Risc::Trisc2
            | Risc::QuasarNeo0Trisc2
            | Risc::QuasarNeo1Trisc2
            | Risc::QuasarNeo2Trisc2
            | Risc::QuasarNeo3Trisc2
    )
}

/// Returns the cycles in which the firmware records hardware counters before or after the kernel.
pub(crate) fn counter_cycles(view: &OpView<'_>, kernel: Span) -> u64 {
    let bounds = (kernel.start_cycle, kernel.end_cycle);
    // Runs without a kernel hold readings of a repetition of the workload.
    let runs = view.runs.iter().filter(|run| run.evidence.kernel().is_some());
    let counters = runs.filter_map(|run| run.evidence.counters());
    counters.map(|of| of.cycles_outside(bounds)).max().unwrap_or(0)
}

/// Returns the cycles that probes take in the op: the measured cost of the op's zones plus the time
/// of the profiler's own zones, on the lane where this sum is largest.
fn profiler_cycles(view: &OpView<'_>) -> f64 {
    let runs = view.runs.iter().map(|run| {
        let cost = view.costs.cost(run.lane.chip_id, run.lane.risc);
        let zone_cycles = cost.map_or(0, |cost| cost.nested_zone_cycles);
        let probes = zone_cycles.saturating_mul(run.evidence.zone_count.into());
        probes.saturating_add(run.evidence.profiler_cycles())
    });
    length((0, runs.max().unwrap_or(0)))
}
