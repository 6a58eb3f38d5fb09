//! Parallel encoding of lanes, written in order.

use super::{Trace, TraceDevice, TraceLane};
use rayon::prelude::*;
use std::io::{self, Write};

/// Callback that receives the number of completed lanes.
pub type OnLanes<'a> = &'a mut dyn FnMut(usize);

/// Number of lanes in progress per thread. It bounds the memory in use.
const LANES_PER_THREAD: usize = 4;

/// Lane with its position in its trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedLane<'t, 'a> {
    pub(super) device: &'t TraceDevice<'a>,
    pub(super) lane: &'t TraceLane<'a>,
    /// Index of the device in the trace.
    pub(super) device_index: usize,
    /// Index of the lane in its device.
    pub(super) lane_index: usize,
    /// Index of the lane in the whole trace.
    pub(super) index: usize,
    /// Index, in the whole lane, of the first run in `lane`; not 0 if `lane` is a later part of the
    /// lane.
    pub(super) first_run: usize,
}

/// Returns every lane of a trace with its position.
pub(super) fn placed_lanes<'t, 'a>(trace: &'t Trace<'a>) -> Vec<PlacedLane<'t, 'a>> {
    let mut placed = Vec::with_capacity(trace.lane_count());
    for (device_index, device) in trace.devices.iter().enumerate() {
        for (lane_index, lane) in device.lanes.iter().enumerate() {
            let index = placed.len();
            placed.push(PlacedLane { device, lane, device_index, lane_index, index, first_run: 0 });
        }
    }
    placed
}

/// Encodes every lane and writes the encoded bytes in order.
pub(super) fn write_lanes<'t, 'a>(
    trace: &'t Trace<'a>,
    out: &mut dyn Write,
    on_lanes: OnLanes<'_>,
    encode: impl Fn(PlacedLane<'t, 'a>) -> Vec<u8> + Sync,
) -> io::Result<()> {
    let lanes = placed_lanes(trace);
    let mut done = 0;
    for batch in lanes.chunks(LANES_PER_THREAD * rayon::current_num_threads()) {
        let encoded: Vec<Vec<u8>> = batch.par_iter().map(|&lane| encode(lane)).collect();
        for bytes in encoded {
            out.write_all(&bytes)?;
        }
        done += batch.len();
        on_lanes(done);
    }
    Ok(())
}
