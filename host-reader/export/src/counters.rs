//! Counters over time: the number of kernels that a chip runs, its lost records and its moved
//! bytes.

use super::{Trace, TraceDevice, TraceNames, trace::kind_of};
use analysis::noc_events::{Noc, TraceObject};
use rayon::prelude::*;

/// Nanoseconds since the trace's origin, and the value from that time on; each time appears once.
pub(super) type CounterPoints = Vec<(u64, i64)>;

/// Returns the number of kernels that run at the same time, over all lanes of a chip.
pub(super) fn kernels_running(device: &TraceDevice<'_>, names: &TraceNames<'_>) -> CounterPoints {
    let is_kernel: Vec<bool> = names.as_slice().iter().map(|name| name.is_kernel).collect();
    let mut steps = Vec::new();
    for lane in &device.lanes {
        let zones = &lane.zones;
        let times = zones.start_ns().iter().zip(zones.end_ns());
        for (name, (&start, &end)) in zones.names().iter().zip(times) {
            if is_kernel.get(name.index()).copied().unwrap_or(false) {
                steps.extend([(start, 1), (end, -1)]);
            }
        }
    }
    running_sum(steps)
}

/// Returns the cumulative number of lost records, over all lanes of a chip.
pub(super) fn records_lost(device: &TraceDevice<'_>) -> CounterPoints {
    let losses = device.lanes.iter().flat_map(|lane| &lane.losses);
    let step = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    running_sum(losses.map(|loss| (loss.time_ns, step(loss.totals.record_count()))).collect())
}

/// Returns the cumulative bytes of reads and writes that cores recorded over one NoC; empty without
/// transfers.
///
/// Each transfer is rounded up to 32 bytes.
pub(super) fn bytes_moved(trace: &Trace<'_>, device: &TraceDevice<'_>, noc: Noc) -> CounterPoints {
    let events = trace.noc.events(device.chip.chip_id);
    let of_noc = events.filter(|(_, object)| object.noc.as_deref() == Some(noc.name()));
    let is_transfer = |object: &TraceObject| {
        kind_of(object).is_some_and(|kind| kind.is_read() || kind.is_write())
    };
    let steps = of_noc.filter(|(_, object)| is_transfer(object)).map(|(_, object)| {
        let bytes = i64::try_from(object.num_bytes.unwrap_or(0)).unwrap_or(i64::MAX);
        (device.clock.time_ns(object.timestamp), bytes)
    });
    running_sum(steps.collect())
}

/// Returns the cumulative sum at each time, after all steps of that time.
fn running_sum(mut steps: Vec<(u64, i64)>) -> CounterPoints {
    steps.par_sort_unstable();
    let mut sum = 0_i64;
    let after = |instant: &[(u64, i64)]| {
        sum = instant.iter().fold(sum, |sum, &(_, step)| sum.saturating_add(step));
        Some((instant.first()?.0, sum))
    };
    steps.chunk_by(|one, other| one.0 == other.0).filter_map(after).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_has_one_value_for_each_instant() {
        let steps = vec![(30, -1), (10, 1), (20, 1), (20, -1), (10, 1)];
        assert_eq!(running_sum(steps), [(10, 2), (20, 2), (30, 1)]);
    }
}
