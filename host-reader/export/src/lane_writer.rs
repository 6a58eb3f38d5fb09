//! Parallel encoding of lanes, written in order.

use super::{Trace, TraceDevice, TraceLane};
use rayon::prelude::*;
use std::io::{self, Write};

/// Callback that receives the number of completed lanes.
pub type OnLanes<'a> = &'a mut dyn FnMut(usize);

/// Number of lanes in a batch, divided by the number of threads. The lanes of a batch are encoded
/// in parallel, so this number bounds the memory in use.
const LANES_PER_THREAD: usize = 4;

/// Position of a lane in its trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct LanePosition {
    /// Index of the device in the trace.
    pub(super) device_index: usize,
    /// Index of the lane in its device.
    pub(super) lane_index: usize,
    /// Index of the lane in the whole trace.
    pub(super) index: usize,
}

/// Lane with its position in its trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedLane<'t, 'a> {
    pub(super) device: &'t TraceDevice<'a>,
    pub(super) lane: &'t TraceLane<'a>,
    pub(super) place: LanePosition,
    /// Index of the first run of `lane` in the whole lane; not 0 if `lane` is a later part of a
    /// divided lane.
    pub(super) first_run: usize,
}

/// Returns the positions of all lanes of a trace, in order.
pub(super) fn lane_places<'t>(trace: &'t Trace<'_>) -> impl Iterator<Item = LanePosition> + 't {
    let devices = trace.devices.iter().enumerate();
    let lanes = devices.flat_map(|(device_index, device)| {
        (0..device.lanes.len()).map(move |lane_index| (device_index, lane_index))
    });
    let lanes = lanes.enumerate();
    lanes.map(|(index, (device_index, lane_index))| LanePosition {
        device_index,
        lane_index,
        index,
    })
}

/// Encodes every lane and writes the encoded bytes in order.
pub(super) fn write_lanes<'t, 'a>(
    trace: &'t Trace<'a>,
    out: &mut dyn Write,
    on_lanes: OnLanes<'_>,
    encode: impl Fn(PlacedLane<'t, 'a>) -> Vec<u8> + Sync,
) -> io::Result<()> {
    let lanes = lane_places(trace).map(|place| {
        let device = &trace.devices[place.device_index];
        PlacedLane { device, lane: &device.lanes[place.lane_index], place, first_run: 0 }
    });
    let lanes: Vec<_> = lanes.collect();
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
