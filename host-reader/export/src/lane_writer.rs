//! Encoding lanes many at a time and writing them in order.

use super::{Trace, TraceDevice, TraceLane};
use rayon::prelude::*;
use std::io::{self, Write};

/// Receiver of the number of lanes that are done.
pub type OnLanes<'a> = &'a mut dyn FnMut(usize);

/// Lanes in the works for each thread. Bounds what is held in memory.
const LANES_PER_THREAD: usize = 4;

/// A lane and its position in its trace.
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
}

/// Every lane of a trace with its place.
pub(super) fn placed_lanes<'t, 'a>(trace: &'t Trace<'a>) -> Vec<PlacedLane<'t, 'a>> {
    let mut placed = Vec::with_capacity(trace.lane_count());
    for (device_index, device) in trace.devices.iter().enumerate() {
        for (lane_index, lane) in device.lanes.iter().enumerate() {
            let index = placed.len();
            placed.push(PlacedLane { device, lane, device_index, lane_index, index });
        }
    }
    placed
}

/// Encodes every lane and writes what came of it, in order.
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
