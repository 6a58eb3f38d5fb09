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
    /// Number of ops of an ops CSV whose length is unknown; 0 for launches.
    #[serde(skip)]
    pub(crate) untimed_op_count: u64,
    /// Number of gaps between ops that are longer than a launch although the host had called the op before the
    /// gap, so that the chip waited for its dispatcher.
    pub dispatcher_gap_count: u64,
    /// Time by class. Ops that overlap, for example on sub-devices, count once.
    pub time: TimeSplit,
    /// Time in which at least one kernel ran, in nanoseconds; `None` if no length of a kernel is
    /// known.
    pub busy_ns: Option<u64>,
    /// Sum of all kernel lengths in nanoseconds. It is larger than `busy_ns` if ops overlap.
    pub kernel_sum_ns: Option<u64>,
    /// Ops that ran at the same time, as on sub-devices; `None` if no ops overlapped, or if it is
    /// unknown when ops ran.
    pub side_by_side: Option<SideBySide>,
    /// Time in which collectives ran and no other op, in nanoseconds; `None` if it is that of their
    /// class.
    #[serde(skip)]
    pub(crate) collectives_alone_ns: Option<f64>,
    /// True if the time of launches includes recorded firmware.
    #[serde(skip)]
    pub(crate) has_firmware: bool,
    /// True if the clocks of the chip's cores have no common origin.
    #[serde(skip)]
    pub(crate) do_clocks_disagree: bool,
}

/// Ops of one chip that ran at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SideBySide {
    /// Number of ops that overlap another op.
    pub op_count: u64,
    /// Time in which several ops ran, in nanoseconds.
    pub duration_ns: u64,
    /// True if `duration_ns` is a lower bound, because it is unknown when the kernels of ops ran.
    pub is_lower_bound: bool,
}

impl SideBySide {
    /// Returns the lower bound 0.
    pub(crate) const fn at_least() -> Self {
        Self { op_count: 0, duration_ns: 0, is_lower_bound: true }
    }

    /// Finds the intervals that overlap others; the times are in cycles.
    fn new(mut intervals: Vec<(u64, u64)>, aiclk_mhz: u32) -> Option<Self> {
        intervals.retain(|(start, end)| start < end);
        intervals.sort_unstable();
        let mut op_count = 0_u64;
        let mut shared: Vec<(u64, u64)> = Vec::new();
        // Interval that ends last so far, and whether it is counted.
        let mut longest: Option<((u64, u64), bool)> = None;
        for (start, end) in intervals {
            let overlaps = longest.is_some_and(|((_, last), _)| start < last);
            if let Some(((_, last), is_counted)) = longest.as_mut().filter(|_| overlaps) {
                op_count = op_count.saturating_add(1).saturating_add(u64::from(!*is_counted));
                *is_counted = true;
                shared.push((start, end.min(*last)));
            }
            if longest.is_none_or(|((_, last), _)| end > last) {
                longest = Some(((start, end), overlaps));
            }
        }
        let cycles = merged(shared).into_iter().map(|(start, end)| end.saturating_sub(start));
        let duration_ns = analysis::cycles_to_ns(cycles.sum(), aiclk_mhz)?;
        (op_count > 0).then_some(Self { op_count, duration_ns, is_lower_bound: false })
    }
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

/// Removes intervals from other intervals. Both lists are sorted and disjoint.
fn without(intervals: &[(u64, u64)], removed: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut rest = Vec::new();
    let mut from = 0;
    for &(start, end) in intervals {
        let mut start = start;
        // Intervals that end before this one begins cannot overlap a later one either.
        while removed.get(from).is_some_and(|(_, last)| *last <= start) {
            from = from.saturating_add(1);
        }
        for &(first, last) in removed.iter().skip(from).take_while(|(first, _)| *first < end) {
            if start < first {
                rest.push((start, first));
            }
            start = start.max(last);
        }
        if start < end {
            rest.push((start, end));
        }
    }
    rest
}

/// Returns the cycles in which firmware runs before and after the kernels of launches, and no kernel
/// of any of the launches runs. Overlapping cycles count once.
pub(crate) fn firmware_around<'a>(ops: impl Iterator<Item = &'a OpCauses> + Clone) -> [u64; 2] {
    let ops = ops.filter(|op| op.has_firmware);
    let spans = ops.filter_map(|op| Some((op.window, op.kernel?)));
    let kernels = merged(spans.clone().map(|(_, of)| (of.start_cycle, of.end_cycle)).collect());
    let before = spans.clone().map(|((start, _), kernel)| (start, kernel.start_cycle));
    let after = spans.map(|((_, end), kernel)| (kernel.end_cycle, end));
    let before = without(&merged(before.filter(|(start, end)| start < end).collect()), &kernels);
    let after = without(&merged(after.filter(|(start, end)| start < end).collect()), &kernels);
    let after = without(&after, &before);
    [before, after].map(|of| of.iter().map(|(start, end)| end.saturating_sub(*start)).sum())
}

/// A launch with its causes.
type LaunchOf<'a> = (&'a OpCauses, &'a Launch);

/// One launch on a chip's timeline.
pub(crate) struct Slot {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Start and end of the kernels, or of the whole slot if they are unknown.
    pub(crate) kernel: (u64, u64),
    /// Time of the kernels by class.
    pub(crate) inside: ClassTimes,
    /// Time around the kernels by class.
    pub(crate) around: ClassTimes,
    /// True if launches may be missing in the gap before this launch.
    pub(crate) is_gap_doubted: bool,
    /// True if zones of firmware or kernels show when the launch began and ended. Other zones lie
    /// somewhere within it.
    pub(crate) has_bounds: bool,
    /// Id of the trace and number of its replay, if the launch was replayed.
    pub(crate) replay: Option<(u64, u64)>,
    /// Time for which the host had called the op before its start, at least, in cycles; 0 if unknown.
    pub(crate) queued: f64,
}

impl Slot {
    /// Returns the end of the launch before a window that begins at 0.
    pub(crate) fn before(replay: Option<(u64, u64)>) -> Self {
        Self {
            start: 0,
            end: 0,
            kernel: (0, 0),
            inside: ClassTimes::default(),
            around: ClassTimes::default(),
            is_gap_doubted: false,
            has_bounds: true,
            replay,
            queued: 0.0,
        }
    }
}

/// Returns the time of one chip within a window, from its launches in any order. `before` is the launch
/// before the window, if the gap after it is part of the window.
pub(crate) fn device_time(
    (before, ops): (Option<LaunchOf<'_>>, &[LaunchOf<'_>]),
    chip_id: u32,
    window: (u64, u64),
    aiclk_mhz: u32,
) -> DeviceTime {
    let with_before: Vec<_> = before.into_iter().chain(ops.iter().copied()).collect();
    let times = window_times(&with_before, window, aiclk_mhz);
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
    let side_by_side = SideBySide::new(kernels.clone(), aiclk_mhz);
    let collectives_alone_ns = side_by_side.and_then(|_| {
        let ops = ops.iter().filter_map(|(op, _)| {
            let kernel = op.kernel?;
            Some((op.is_collective(), (kernel.start_cycle, kernel.end_cycle)))
        });
        let alone = alone_cycles(ops.collect());
        Some(analysis::cycles_to_ns(alone, aiclk_mhz)? as f64)
    });
    DeviceTime {
        chip_id: Some(chip_id),
        window,
        op_count: ops.len() as u64,
        untimed_op_count: 0,
        dispatcher_gap_count: 0,
        time: TimeSplit::new(&times, window.1.saturating_sub(window.0), aiclk_mhz),
        kernel_sum_ns: sum_ns(&kernels),
        busy_ns: sum_ns(&merged(kernels)),
        side_by_side,
        collectives_alone_ns,
        has_firmware: ops.iter().any(|(op, _)| op.has_firmware),
        do_clocks_disagree: false,
    }
}

/// Returns the length of the intervals of collectives in which no other op ran. Each interval is paired
/// with whether it is that of a collective.
pub(crate) fn alone_cycles(ops: Vec<(bool, (u64, u64))>) -> u64 {
    let (collectives, others): (Vec<_>, Vec<_>) = ops.into_iter().partition(|(is, _)| *is);
    let [collectives, others] = [collectives, others]
        .map(|of| merged(of.into_iter().map(|(_, interval)| interval).collect()));
    let alone = without(&collectives, &others);
    alone.iter().map(|(start, end)| end.saturating_sub(*start)).sum()
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
    slot_times(ops.iter().map(|&(op, launch)| slot(op, launch)).collect(), window, aiclk_mhz)
}

/// Splits a window of a chip's time into classes, from launches in any order. A launch that ended before
/// the window tells what the time before the first launch in it is.
pub(crate) fn slot_times(slots: Vec<Slot>, window: (u64, u64), aiclk_mhz: u32) -> ClassTimes {
    let (earlier, mut slots): (Vec<Slot>, Vec<Slot>) =
        slots.into_iter().partition(|slot| slot.end <= window.0);
    slots.retain(|slot| slot.start < window.1);
    slots.sort_by_key(|slot| (slot.start, slot.end));
    let mut times = ClassTimes::default();
    let mut previous: Option<&Slot> = earlier.iter().max_by_key(|slot| slot.end);
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

fn slot(op: &OpCauses, launch: &Launch) -> Slot {
    let of = &launch.op;
    let kernel = op.kernel.map(|kernel| (kernel.start_cycle, kernel.end_cycle));
    Slot {
        start: op.window.0,
        end: op.window.1,
        kernel: kernel.unwrap_or(op.window),
        inside: op.times,
        around: op.times_around,
        is_gap_doubted: op.is_gap_doubted,
        has_bounds: op.has_bounds(),
        replay: of.trace_id.zip(of.trace_replay),
        queued: 0.0,
    }
}

/// Returns the launches before the first gap between launches. Each launch except the first one
/// overlaps an earlier launch.
fn group_of(slots: &[Slot]) -> &[Slot] {
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
/// host sends nothing, and so it is if the host had called the op before the gap. The time next to a launch whose bounds are unknown may belong to its kernels.
fn add_gap(
    times: &mut ClassTimes,
    gap: (u64, u64),
    previous: Option<&Slot>,
    next: &Slot,
    aiclk_mhz: u32,
) {
    let cycles = length(gap);
    let is_known = |previous: &&Slot| {
        previous.has_bounds && next.has_bounds && !next.is_gap_doubted && aiclk_mhz != 0
    };
    let Some(previous) = previous.filter(is_known) else {
        times.add(TimeClass::Unknown, cycles);
        return;
    };
    let is_replay = next.replay.is_some() && next.replay == previous.replay;
    let [launch_gap, dispatch] =
        [LAUNCH_GAP, TRACED_GAP].map(|gap| gap.value * f64::from(aiclk_mhz));
    let was_called = next.queued > 0.0 && next.queued >= cycles;
    if was_called && !is_replay && cycles > launch_gap {
        times.dispatcher_gap_count = times.dispatcher_gap_count.saturating_add(1);
    }
    if is_replay || was_called || cycles <= launch_gap {
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

/// Adds launches that overlap each other. Launches whose kernels run at the same time share the time
/// equally; while a kernel runs, the firmware of other launches does not count.
fn add_group(times: &mut ClassTimes, group: &[Slot], window: (u64, u64)) {
    let cuts = group.iter().flat_map(|slot| [slot.start, slot.kernel.0, slot.kernel.1, slot.end]);
    let mut cuts: Vec<u64> = cuts.map(|cut| cut.clamp(window.0, window.1)).collect();
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
        let active = candidates.filter(|slot| slot.start <= from && slot.end >= to);
        let active: Vec<&Slot> = active.collect();
        let in_kernel = |slot: &&Slot| slot.kernel.0 <= from && slot.kernel.1 >= to;
        let kernels: Vec<&Slot> = active.iter().copied().filter(in_kernel).collect();
        let (running, is_inside) =
            if kernels.is_empty() { (active, false) } else { (kernels, true) };
        let part = length((from, to)) / running.len() as f64;
        for slot in running {
            let of = if is_inside { &slot.inside } else { &slot.around };
            let whole = of.total();
            if whole > 0.0 {
                times.add_all(of, part / whole);
            } else {
                times.add(TimeClass::Unknown, part);
            }
        }
    }
}

/// Combines two facts about launches: whether their waits were recorded, and how much their compute
/// and data movement overlap. The overlap is weighted by the launches' lengths.
fn add_evidence(times: &mut ClassTimes, slots: &[Slot]) {
    let with = slots.iter().filter(|slot| slot.inside.waits == WaitEvidence::All).count();
    times.waits = match with {
        0 => WaitEvidence::None,
        _ if with == slots.len() => WaitEvidence::All,
        _ => WaitEvidence::Some,
    };
    let mut whole = 0.0;
    let (mut least, mut most) = (0.0, 0.0);
    for slot in slots {
        let Some(overlap) = slot.inside.overlap else { continue };
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
