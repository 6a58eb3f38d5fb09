//! Time of each device by class, from the rows of an ops CSV.

use crate::{
    threshold::LAUNCH_GAP,
    time_class::{ClassTimes, TimeClass, TimeSplit},
    timeline::{DeviceTime, SideBySide, Slot, alone_cycles, slot_times},
};
use reports::perf::{DurationDoubt, OpCategory, OpReport, RowKind};
use std::collections::BTreeMap;

/// Gap before the first op of an iteration on a chip that is part of the iteration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lead {
    pub(crate) gap_ns: f64,
    /// Replay of a trace that launched the op before the gap.
    pub(crate) replay: Option<u64>,
}

/// Gaps that are part of the covered time, by chip.
pub(crate) type Leads = BTreeMap<Option<u32>, Lead>;

/// Returns the time of each device: from the first start to the last end if these are known, else
/// the sum of kernels and gaps. `leads` are gaps before the first ops that count as well.
pub(crate) fn devices(rows: &[OpReport], leads: &Leads) -> Vec<DeviceTime> {
    let devices = rows_by_device(rows).into_iter().map(|(chip_id, rows)| {
        let kernels = rows.iter().filter_map(|row| row.device_time_us).sum::<f64>() * 1000.0;
        let kernel_sum_ns = Some(whole_ns(kernels));
        let lead = leads.get(&chip_id).copied();
        let of_cycles = row_slots(&rows).map(|slots| time_of_slots(chip_id, (slots, lead)));
        let device = of_cycles.unwrap_or_else(|| sum_of_rows(chip_id, &rows));
        let untimed = rows.iter().filter(|row| row.device_time_us.is_none());
        let (op_count, untimed_op_count) = (rows.len() as u64, untimed.count() as u64);
        DeviceTime { kernel_sum_ns, op_count, untimed_op_count, ..device }
    });
    devices.collect()
}

/// Returns true if the gap before an op is longer than a launch although the host had called the op before it.
pub(crate) fn is_dispatcher_gap(row: &OpReport) -> bool {
    let gap_ns = row.op_to_op_gap_us.map(|us| us * 1000.0);
    gap_ns.is_some_and(|ns| ns > LAUNCH_GAP.value * 1000.0 && row.was_called_before(ns))
}

/// Returns the ops of each device.
pub(crate) fn rows_by_device(rows: &[OpReport]) -> BTreeMap<Option<u32>, Vec<&OpReport>> {
    let mut by_device: BTreeMap<Option<u32>, Vec<&OpReport>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.kind == RowKind::Device) {
        by_device.entry(row.chip_id()).or_default().push(row);
    }
    by_device
}

#[expect(clippy::cast_possible_truncation, reason = "saturates")]
const fn whole_ns(ns: f64) -> u64 {
    ns.round() as u64
}

/// Frequency of the clock of times in nanoseconds: one cycle is one nanosecond.
const NANOSECONDS_MHZ: u32 = 1000;

/// Firmware of one op, or its kernels if the file has no firmware, in nanoseconds since the first
/// start.
struct RowSpan<'a> {
    start: u64,
    end: u64,
    row: &'a OpReport,
}

impl RowSpan<'_> {
    fn length(&self) -> f64 {
        self.end.saturating_sub(self.start) as f64
    }

    /// Returns the time of the op's kernels; `None` if unknown.
    fn kernels(&self) -> Option<f64> {
        self.row.device_time_us.map(|us| (us * 1000.0).min(self.length()))
    }
}

/// Time of a device's ops on its clock.
pub(crate) struct RowSlots {
    pub(crate) slots: Vec<Slot>,
    pub(crate) side_by_side: Option<SideBySide>,
    /// Time in which collectives ran and no other op, in nanoseconds.
    collectives_alone_ns: u64,
    has_firmware: bool,
}

/// Returns the time of ops by class, and the ops that ran side by side; `None` unless the first and
/// last cycle of each op are known, or if rows between them were removed.
fn row_slots(rows: &[&OpReport]) -> Option<RowSlots> {
    // The gap column of a file says nothing about ops side by side.
    slots_of_rows(rows).filter(|of| of.side_by_side.is_some() || are_all_there(&of.slots, rows))
}

/// Returns the slots of ops; `None` unless the first and last cycle of each op's firmware are known, or
/// those of each op's kernels.
///
/// Ops whose firmware overlaps form one slot, because the rows do not say when within the firmware
/// the kernels ran.
pub(crate) fn slots_of_rows(rows: &[&OpReport]) -> Option<RowSlots> {
    let has_firmware = rows.iter().all(|row| firmware_cycles(row).is_some());
    let cycles = rows.iter().map(|&row| {
        let kernels = || row.kernel_cycles.map(|of| sound_cycles(row, of));
        let cycles = if has_firmware { firmware_cycles(row) } else { kernels() };
        Some((cycles?, row))
    });
    let cycles = cycles.collect::<Option<Vec<_>>>()?;
    let first = cycles.iter().map(|((start, _), _)| *start).min()?;
    let clock_ghz = one_clock_ghz(rows)?;
    let at = |cycle: u64| Some(whole_ns(cycle.checked_sub(first)? as f64 / clock_ghz));
    let spans = cycles.iter().map(|&((start, end), row)| {
        let (start, end) = (at(start)?, at(end)?);
        (start <= end).then_some(RowSpan { start, end, row })
    });
    let mut spans = spans.collect::<Option<Vec<_>>>()?;
    spans.sort_by_key(|span| (span.start, span.end));
    let intervals = spans
        .iter()
        .map(|span| (class_of(span.row.category) == TimeClass::Collective, (span.start, span.end)));
    let collectives_alone_ns = alone_cycles(intervals.collect());
    let (mut slots, mut side_by_side) = (Vec::new(), SideBySide::at_least());
    let mut rest = spans.as_slice();
    while let Some(first) = rest.first() {
        let mut end = first.end;
        let mut count = 1_usize;
        while let Some(span) = rest.get(count).filter(|span| span.start < end) {
            end = end.max(span.end);
            count = count.saturating_add(1);
        }
        let (group, others) = rest.split_at_checked(count)?;
        slots.push(group_slot(group, end, &mut side_by_side));
        rest = others;
    }
    let side_by_side = Some(side_by_side).filter(|of| of.op_count > 0);
    Some(RowSlots { slots, side_by_side, collectives_alone_ns, has_firmware })
}

/// Part by which the clock of a row may differ from that of the others. The times of short ops are rounded.
const CLOCK_TOLERANCE: f64 = 0.2;

/// Returns the clock that the cycles and the durations of all rows agree on; `None` if they do not, as
/// where a spreadsheet has rounded the cycles.
fn one_clock_ghz(rows: &[&OpReport]) -> Option<f64> {
    let sound = || rows.iter().filter(|row| !has_wrong_start(row));
    let clock_ghz = sound().find_map(|row| row.clock_ghz)?;
    let is_other = |row: &&OpReport| match row.clock_ghz {
        Some(clock) => (clock / clock_ghz - 1.0).abs() > CLOCK_TOLERANCE,
        // Firmware that takes no cycle has no clock, but a duration.
        None => {
            row.firmware_start_cycle.is_some() && row.firmware_start_cycle == row.firmware_end_cycle
        }
    };
    (!sound().copied().any(|row| is_other(&row))).then_some(clock_ghz)
}

/// Returns true if the start of an op is wrong: it begins too early, or has no room. Its end is sound.
const fn has_wrong_start(row: &OpReport) -> bool {
    matches!(
        row.duration_doubt,
        Some(
            DurationDoubt::BeginsBefore(_)
                | DurationDoubt::NoRoom(_)
                | DurationDoubt::NegativeCycle
        )
    )
}

/// Returns the cycles of an op, or its end alone if its start is wrong.
const fn sound_cycles(row: &OpReport, (start, end): (u64, u64)) -> (u64, u64) {
    (if has_wrong_start(row) { end } else { start }, end)
}

/// Returns the cycles of the firmware of an op, or its end alone if its start is wrong.
pub(crate) fn firmware_cycles(row: &OpReport) -> Option<(u64, u64)> {
    let end = row.firmware_end_cycle?;
    let start = row.firmware_start_cycle.or_else(|| has_wrong_start(row).then_some(end))?;
    Some(sound_cycles(row, (start, end)))
}

/// Returns false if the gaps between the ops' cycles are much longer than the rows say: then rows
/// between them were removed, and their time is not a gap.
pub(crate) fn are_all_there(slots: &[Slot], rows: &[&OpReport]) -> bool {
    let ends = slots.iter().zip(slots.iter().skip(1));
    let by_cycles: f64 = ends.map(|(one, next)| next.start.saturating_sub(one.end) as f64).sum();
    let later = rows.iter().skip(1);
    let told: Option<f64> = later.map(|row| Some(row.op_to_op_gap_us? * 1000.0)).sum();
    let launches = LAUNCH_GAP.value * 1000.0 * rows.len() as f64;
    told.is_none_or(|told| by_cycles <= told * 1.5 + launches)
}

/// Returns the slot of ops whose firmware overlaps. If their kernels take longer than the slot, they
/// ran side by side.
fn group_slot(group: &[RowSpan<'_>], end: u64, side_by_side: &mut SideBySide) -> Slot {
    let start = group.first().map_or(end, |span| span.start);
    let length = end.saturating_sub(start) as f64;
    let mut kernels = ClassTimes::default();
    for span in group {
        match span.kernels() {
            Some(ns) => kernels.add(class_of(span.row.category), ns),
            None => kernels.add(TimeClass::Unknown, span.length()),
        }
    }
    let excess = kernels.total() - length;
    // Times are rounded to nanoseconds.
    if excess > group.len() as f64 {
        side_by_side.op_count = side_by_side.op_count.saturating_add(group.len() as u64);
        side_by_side.duration_ns = side_by_side.duration_ns.saturating_add(whole_ns(excess));
    }
    // Firmware around kernels of unknown length is unknown, and may be next to nothing.
    let firmware =
        group.iter().map(|span| span.kernels().map_or(0.0, |kernels| span.length() - kernels));
    let least_firmware = firmware.fold(length, f64::min);
    let busy = kernels.total().min(length - least_firmware);
    let mut inside = ClassTimes::default();
    if kernels.total() > 0.0 {
        inside.add_all(&kernels, busy / kernels.total());
    }
    inside.add(TimeClass::Dispatch, length - busy);
    let replay = |span: &RowSpan<'_>| span.row.trace_session.map(|session| (0, session));
    let first_replay = group.first().and_then(replay);
    Slot {
        has_bounds: true,
        start,
        end,
        kernel: (start, end),
        inside,
        around: ClassTimes::default(),
        is_gap_doubted: group.first().is_some_and(|span| span.row.duration_doubt.is_some()),
        replay: first_replay.filter(|_| group.iter().all(|span| replay(span) == first_replay)),
        queued: group.first().and_then(|span| span.row.sending.queued_ns).unwrap_or(0.0),
    }
}

fn time_of_slots(chip_id: Option<u32>, (of, lead): (RowSlots, Option<Lead>)) -> DeviceTime {
    let RowSlots { mut slots, side_by_side, collectives_alone_ns, has_firmware } = of;
    if let Some(lead) = lead {
        let gap = whole_ns(lead.gap_ns);
        for slot in &mut slots {
            for time in [&mut slot.start, &mut slot.end, &mut slot.kernel.0, &mut slot.kernel.1] {
                *time = time.saturating_add(gap);
            }
        }
        slots.push(Slot::before(lead.replay.map(|session| (0, session))));
    }
    let end = slots.iter().map(|slot| slot.end).max().unwrap_or(0);
    let times = slot_times(slots, (0, end), NANOSECONDS_MHZ);
    DeviceTime {
        chip_id,
        window: (0, end),
        op_count: 0,
        untimed_op_count: 0,
        dispatcher_gap_count: times.dispatcher_gap_count,
        time: TimeSplit::new(&times, end, NANOSECONDS_MHZ),
        busy_ns: None,
        kernel_sum_ns: None,
        side_by_side,
        collectives_alone_ns: side_by_side.map(|_| collectives_alone_ns as f64),
        has_firmware,
        do_clocks_disagree: false,
    }
}

/// Returns the time of a device as the sum of kernels and gaps. Kernels are classified by op
/// category, and gaps are divided into dispatch and waiting for the host.
fn sum_of_rows(chip_id: Option<u32>, rows: &[&OpReport]) -> DeviceTime {
    let mut times = ClassTimes::default();
    for row in rows {
        times.add(class_of(row.category), row.device_time_us.unwrap_or(0.0) * 1000.0);
        let gap = row.op_to_op_gap_us.unwrap_or(0.0) * 1000.0;
        for class in [TimeClass::Dispatch, TimeClass::HostLate] {
            let is_sent = row.was_called_before(gap);
            class.part_of_gap(gap, is_sent).into_iter().for_each(|ns| times.add(class, ns));
        }
    }
    let total = whole_ns(times.total());
    let later = rows.iter().skip(1);
    let has_gaps = later.len() == 0 || later.clone().any(|row| !row.is_gap_unknown);
    DeviceTime {
        chip_id,
        window: (0, total),
        op_count: 0,
        untimed_op_count: 0,
        dispatcher_gap_count: rows.iter().filter(|row| is_dispatcher_gap(row)).count() as u64,
        time: TimeSplit { has_gaps, ..TimeSplit::new(&times, total, NANOSECONDS_MHZ) },
        busy_ns: None,
        kernel_sum_ns: None,
        side_by_side: None,
        collectives_alone_ns: None,
        has_firmware: false,
        do_clocks_disagree: false,
    }
}

pub(crate) const fn class_of(category: Option<OpCategory>) -> TimeClass {
    match category {
        Some(OpCategory::Compute) => TimeClass::Compute,
        Some(OpCategory::Ccl) => TimeClass::Collective,
        Some(OpCategory::TensorManipulation | OpCategory::DataMovement) => TimeClass::DataMovement,
        Some(OpCategory::Host | OpCategory::Other) | None => TimeClass::Unknown,
    }
}
