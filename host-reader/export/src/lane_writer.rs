//! Parallel encoding of lanes, written in order.

use super::{
    TraceItems,
    trace::place::{LanePosition, PlacedLane, lane_places},
};
use rayon::prelude::*;
use std::io::{self, Write};

/// Callback that receives the number of completed lanes.
pub type OnLanes<'a> = &'a mut dyn FnMut(usize);

/// Number of lanes in a batch, divided by the number of threads. The lanes of a batch are encoded
/// in parallel, so this number bounds the memory in use.
const LANES_PER_THREAD: usize = 4;

/// Encodes every lane and writes the encoded bytes in order. Long packed lanes are encoded in parts.
pub(super) fn write_lanes(
    items: TraceItems<'_, '_>,
    out: &mut dyn Write,
    on_lanes: OnLanes<'_>,
    encode: impl Fn(&PlacedLane<'_, '_>) -> Vec<u8> + Sync,
) -> io::Result<()> {
    for_each_lane(items, on_lanes, encode, |_, bytes| out.write_all(&bytes))
}

/// Encodes every lane in parallel, and calls `take` with the results in order. Long packed lanes
/// are encoded in parts, and `take` gets one result for each part.
pub(super) fn for_each_lane<T: Send>(
    items: TraceItems<'_, '_>,
    on_lanes: OnLanes<'_>,
    encode: impl Fn(&PlacedLane<'_, '_>) -> T + Sync,
    mut take: impl FnMut(LanePosition, T) -> io::Result<()>,
) -> io::Result<()> {
    let trace = match items {
        TraceItems::Packed(packed) => {
            return packed.for_each_batch(|parts| {
                let encoded = parts.par_iter().map(|part| encode(&part.placed()));
                let encoded: Vec<T> = encoded.collect();
                for (part, result) in parts.iter().zip(encoded) {
                    let place = part.placed().place;
                    take(place, result)?;
                    on_lanes(place.index.saturating_add(1));
                }
                Ok(())
            });
        }
        TraceItems::InMemory(trace) => trace,
    };
    let lanes = lane_places(trace).map(|place| {
        let device = &trace.devices[place.device_index];
        let lane = &device.lanes[place.lane_index];
        PlacedLane { device, lane, place, is_first: true, first_run: 0, arrow_runs: None }
    });
    let lanes: Vec<_> = lanes.collect();
    let mut done = 0;
    for batch in lanes.chunks(LANES_PER_THREAD * rayon::current_num_threads()) {
        let encoded: Vec<T> = batch.par_iter().map(&encode).collect();
        for (lane, result) in batch.iter().zip(encoded) {
            take(lane.place, result)?;
        }
        done += batch.len();
        on_lanes(done);
    }
    Ok(())
}
