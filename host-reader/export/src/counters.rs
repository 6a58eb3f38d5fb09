//! Counters over time: running kernels of a chip, lost records and moved bytes.

use super::{
    Trace, TraceDevice, TraceLane, TraceNames, ZoneEdge, time_order::TimeOrder, trace::kind_of,
};
use analysis::noc_events::Noc;
use rayon::prelude::*;

/// Points of a counter: nanoseconds since the trace's origin, and the value from then on. No time
/// occurs twice.
pub(super) type CounterPoints = Vec<(u64, i64)>;

/// Returns the number of concurrently running kernels over time, for all lanes of a chip.
///
/// # Cost
/// The changes of all lanes are merged while they are read, so they are not stored.
pub(super) fn kernels_running<'t>(
    device: &'t TraceDevice<'_>,
    names: &'t TraceNames<'_>,
) -> impl Iterator<Item = (u64, i64)> + 't {
    summed_steps(device.lanes.iter().map(|lane| kernel_steps(lane, names)))
}

/// Changes of a counter on one lane, ordered by time: nanoseconds since the trace's origin, and the
/// change.
pub(super) type LaneSteps<'t> = Box<dyn Iterator<Item = (u64, i64)> + 't>;

/// Returns the changes of a lane's number of running kernels: +1 at each kernel's start, -1 at its
/// end.
pub(super) fn kernel_steps<'t>(
    lane: &'t TraceLane<'_>,
    names: &'t TraceNames<'_>,
) -> LaneSteps<'t> {
    // Changes must be sorted by time if a clock with several linear pieces has converted a later
    // cycle to a time that is one nanosecond earlier.
    if steps_in_record_order(lane, names).is_sorted_by_key(|(time_ns, _)| time_ns) {
        return Box::new(steps_in_record_order(lane, names));
    }
    let mut steps: Vec<_> = steps_in_record_order(lane, names).collect();
    steps.sort_unstable();
    Box::new(steps.into_iter())
}

fn steps_in_record_order<'t>(
    lane: &'t TraceLane<'_>,
    names: &'t TraceNames<'_>,
) -> impl Iterator<Item = (u64, i64)> + 't {
    let zones = &lane.zones;
    zones.timed_edges().filter_map(move |(time_ns, edge)| {
        let (index, step) = match edge {
            ZoneEdge::Begin(index) => (index, 1),
            ZoneEdge::End(index) => (index, -1),
        };
        names.get(zones[index].name)?.is_kernel.then_some((time_ns, step))
    })
}

/// Merges the changes of many lanes, and returns their running sum at each time with a change.
pub(super) fn summed_steps(
    lanes: impl IntoIterator<Item = impl Iterator<Item = (u64, i64)>>,
) -> impl Iterator<Item = (u64, i64)> {
    let mut steps = TimeOrder::new(lanes).peekable();
    let mut sum = 0_i64;
    std::iter::from_fn(move || {
        let (time_ns, _, step) = steps.next()?;
        sum = sum.saturating_add(step);
        while let Some((_, _, step)) = steps.next_if(|&(next_ns, ..)| next_ns == time_ns) {
            sum = sum.saturating_add(step);
        }
        Some((time_ns, sum))
    })
}

/// Returns the cumulative number of lost records over time, for all lanes of a chip.
pub(super) fn records_lost(device: &TraceDevice<'_>) -> CounterPoints {
    let losses = device.lanes.iter().flat_map(|lane| &lane.losses);
    running_sum(
        losses
            .map(|loss| {
                (loss.time_ns, i64::try_from(loss.totals.record_count()).unwrap_or(i64::MAX))
            })
            .collect(),
    )
}

/// Returns the cumulative number of bytes that cores read and wrote over one NoC; empty if no
/// transfer was recorded.
///
/// The size of each transfer is rounded up to 32 bytes.
pub(super) fn bytes_moved(trace: &Trace<'_>, device: &TraceDevice<'_>, noc: Noc) -> CounterPoints {
    let events = trace.noc.events(device.chip.chip_id);
    let transfers = events.filter(|(_, object)| {
        object.noc.as_deref() == Some(noc.label())
            && kind_of(object).is_some_and(|kind| kind.is_read() || kind.is_write())
    });
    let steps = transfers.map(|(_, object)| {
        let bytes = i64::try_from(object.num_bytes.unwrap_or(0)).unwrap_or(i64::MAX);
        (device.clock.time_ns(object.timestamp), bytes)
    });
    running_sum(steps.collect())
}

/// Returns the running sum of changes at each time with a change. The sum at a time includes all
/// changes at that time.
fn running_sum(mut steps: Vec<(u64, i64)>) -> CounterPoints {
    steps.par_sort_unstable();
    let mut sum = 0_i64;
    steps
        .chunk_by(|one, other| one.0 == other.0)
        .filter_map(|instant| {
            sum = instant.iter().fold(sum, |sum, &(_, step)| sum.saturating_add(step));
            Some((instant.first()?.0, sum))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{Just, prop, prop_assert_eq, prop_oneof, proptest};

    proptest! {
        #[test]
        fn steps_of_lanes_are_those_of_all_together(
            mut lanes in prop::collection::vec(
                prop::collection::vec((0_u64..20, prop_oneof![Just(1_i64), Just(-1)]), 0..12),
                0..5,
            ),
        ) {
            lanes.iter_mut().for_each(|steps| steps.sort_unstable());
            let all = lanes.concat();
            let merged: Vec<_> = summed_steps(lanes.into_iter().map(Vec::into_iter)).collect();
            prop_assert_eq!(merged, running_sum(all));
        }
    }

    #[test]
    fn a_counter_has_one_value_for_each_instant() {
        let steps = vec![(30, -1), (10, 1), (20, 1), (20, -1), (10, 1)];
        assert_eq!(running_sum(steps), [(10, 2), (20, 2), (30, 1)]);
    }
}
