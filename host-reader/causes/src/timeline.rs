//! A chip's time from its first record to its last record: the union of its ops, and the gaps
//! between ops.

use crate::{
    op::OpCauses,
    threshold::{LAUNCH_GAP, TRACED_GAP},
    time_class::{ClassTimes, Overlap, TimeClass, TimeSplit, WaitEvidence},
};
use analysis::Launch;

/// Time of one chip by class.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct DeviceTime {
    /// Number of the chip; `None` for rows of an ops CSV without a device number.
    pub chip_id: Option<u32>,
    /// Times of the chip's first and last record, in cycles.
    pub window: (u64, u64),
    /// Number of launches in the window.
    pub op_count: u64,
    /// Time by class. Ops that overlap, for example on sub-devices, count once.
    pub time: TimeSplit,
    /// Time in which at least one kernel ran, in nanoseconds; `None` if no length of a kernel is
    /// known.
    pub busy_ns: Option<u64>,
    /// Sum of all kernel lengths in nanoseconds. It is larger than `busy_ns` if ops overlap.
    pub kernel_sum_ns: Option<u64>,
}

/// Merges intervals into sorted, disjoint intervals.
pub(crate) fn merged(mut intervals: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    intervals.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (start, end) in intervals {
        match merged.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    merged
}

/// One launch on a chip's timeline.
struct Slot<'a> {
    start: u64,
    end: u64,
    times: &'a ClassTimes,
    /// True if launches may be missing in the gap before this launch.
    is_gap_doubted: bool,
    /// Id of the trace and number of its replay, if the launch was replayed.
    replay: Option<(u64, u64)>,
}

/// Returns the time of one chip within a window, from its launches in any order.
pub(crate) fn device_time(
    ops: &[(&OpCauses, &Launch)],
    chip_id: u32,
    window: (u64, u64),
    aiclk_mhz: u32,
) -> DeviceTime {
    let times = window_times(ops, window, aiclk_mhz);
    let kernels: Vec<_> = ops
        .iter()
        .filter_map(|(op, _)| op.kernel)
        .map(|kernel| (kernel.start_cycle.max(window.0), kernel.end_cycle.min(window.1)))
        .filter(|(start, end)| start < end)
        .collect();
    let sum_ns = |intervals: &[(u64, u64)]| {
        let sum = intervals.iter().map(|(start, end)| end.saturating_sub(*start));
        let sum = sum.reduce(u64::saturating_add)?;
        analysis::cycles_to_ns(sum, aiclk_mhz)
    };
    DeviceTime {
        chip_id: Some(chip_id),
        window,
        op_count: ops.len() as u64,
        time: TimeSplit::new(&times, window.1.saturating_sub(window.0), aiclk_mhz),
        kernel_sum_ns: sum_ns(&kernels),
        busy_ns: sum_ns(&merged(kernels)),
    }
}

/// Returns the first start and the last end of launches.
pub(crate) fn whole_window(launches: &[(&OpCauses, &Launch)]) -> Option<(u64, u64)> {
    let start = launches.iter().map(|(op, _)| op.window.0).min()?;
    Some((start, launches.iter().map(|(op, _)| op.window.1).max()?))
}

/// Splits a window of a chip's time into classes.
pub(crate) fn window_times(
    ops: &[(&OpCauses, &Launch)],
    window: (u64, u64),
    aiclk_mhz: u32,
) -> ClassTimes {
    let mut slots: Vec<Slot<'_>> = ops.iter().map(|&(op, launch)| slot(op, launch)).collect();
    slots.retain(|slot| slot.start < window.1 && slot.end > window.0);
    slots.sort_by_key(|slot| (slot.start, slot.end));
    let mut times = ClassTimes::default();
    let mut previous: Option<&Slot<'_>> = None;
    let mut begin = 0_usize;
    let mut covered = window.0;
    while let Some(first) = slots.get(begin) {
        let group = group_of(slots.get(begin..).unwrap_or(&[]));
        add_gap(&mut times, (covered.min(first.start), first.start), previous, first, aiclk_mhz);
        add_group(&mut times, group, window);
        previous = group.iter().max_by_key(|slot| slot.end);
        covered = previous.map_or(covered, |slot| slot.end.max(covered));
        begin = begin.saturating_add(group.len());
    }
    add_evidence(&mut times, &slots);
    times
}

fn slot<'a>(op: &'a OpCauses, launch: &'a Launch) -> Slot<'a> {
    let of = &launch.op;
    Slot {
        start: op.window.0,
        end: op.window.1,
        times: &op.times,
        is_gap_doubted: of.latency_doubt.is_some() || of.duration_doubt.is_some(),
        replay: of.trace_id.zip(of.trace_replay),
    }
}

/// Returns the launches before the first gap between launches. Each launch except the first one
/// overlaps an earlier launch.
fn group_of<'a, 'slot>(slots: &'a [Slot<'slot>]) -> &'a [Slot<'slot>] {
    let mut end = 0;
    let mut count = 0_usize;
    for slot in slots {
        if count > 0 && slot.start >= end {
            break;
        }
        end = end.max(slot.end);
        count = count.saturating_add(1);
    }
    slots.get(..count).unwrap_or(slots)
}

/// Adds the time between two launches: the cost of a launch counts as dispatch, the rest as
/// [`TimeClass::HostLate`]. Within one replay of a trace, all of this time is dispatch, because the
/// host sends nothing.
fn add_gap(
    times: &mut ClassTimes,
    gap: (u64, u64),
    previous: Option<&Slot<'_>>,
    next: &Slot<'_>,
    aiclk_mhz: u32,
) {
    let cycles = length(gap);
    let Some(previous) = previous.filter(|_| !next.is_gap_doubted && aiclk_mhz != 0) else {
        times.add(TimeClass::Unknown, cycles);
        return;
    };
    let is_replay = next.replay.is_some() && next.replay == previous.replay;
    let [launch_gap, dispatch] =
        [LAUNCH_GAP, TRACED_GAP].map(|gap| gap.value * f64::from(aiclk_mhz));
    if is_replay || cycles <= launch_gap {
        times.add(TimeClass::Dispatch, cycles);
    } else {
        times.add(TimeClass::Dispatch, dispatch);
        times.add(TimeClass::HostLate, cycles - dispatch);
    }
}

/// Returns the length of an interval.
pub(crate) fn length((start, end): (u64, u64)) -> f64 {
    end.saturating_sub(start) as f64
}

/// Adds launches that overlap each other. Launches that run at the same time share the time
/// equally.
fn add_group(times: &mut ClassTimes, group: &[Slot<'_>], window: (u64, u64)) {
    let cuts = group.iter().flat_map(|slot| [slot.start.max(window.0), slot.end.min(window.1)]);
    let mut cuts: Vec<u64> = cuts.collect();
    cuts.sort_unstable();
    cuts.dedup();
    // Slots are sorted by start. Only slots from `first` on can still be active.
    let mut first = 0;
    for cut in cuts.windows(2) {
        let &[from, to] = cut else { continue };
        while group.get(first).is_some_and(|slot| slot.end <= from) {
            first = first.saturating_add(1);
        }
        let candidates = group.get(first..).unwrap_or(&[]);
        let candidates = candidates.iter().take_while(|slot| slot.start < to);
        let active: Vec<_> =
            candidates.filter(|slot| slot.start <= from && slot.end >= to).collect();
        let part = length((from, to)) / active.len() as f64;
        for slot in active {
            let whole = slot.times.total();
            if whole > 0.0 {
                times.add_all(slot.times, part / whole);
            } else {
                times.add(TimeClass::Unknown, part);
            }
        }
    }
}

/// Combines two facts about launches: whether their waits were recorded, and how much their compute
/// and data movement overlap. The overlap is weighted by the launches' lengths.
fn add_evidence(times: &mut ClassTimes, slots: &[Slot<'_>]) {
    let with = slots.iter().filter(|slot| slot.times.waits == WaitEvidence::All).count();
    times.waits = match with {
        0 => WaitEvidence::None,
        _ if with == slots.len() => WaitEvidence::All,
        _ => WaitEvidence::Some,
    };
    let mut whole = 0.0;
    let (mut least, mut most) = (0.0, 0.0);
    for slot in slots {
        let Some(overlap) = slot.times.overlap else { continue };
        let cycles = length((slot.start, slot.end));
        whole += cycles;
        least += overlap.at_least_percent * cycles;
        most += overlap.at_most_percent * cycles;
    }
    if whole > 0.0 {
        times.overlap =
            Some(Overlap { at_least_percent: least / whole, at_most_percent: most / whole });
    }
}
