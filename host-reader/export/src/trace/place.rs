//! Position of a lane, or of a part of it, in its trace.

use super::{Trace, TraceDevice, TraceLane};

/// Position of a lane in its trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LanePosition {
    /// Index of the device in the trace.
    pub(crate) device_index: usize,
    /// Index of the lane in its device.
    pub(crate) lane_index: usize,
    /// Index of the lane in the whole trace.
    pub(crate) index: usize,
}

/// Lane, or a part of it, with its position in its trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedLane<'t, 'a> {
    pub(crate) device: &'t TraceDevice<'a>,
    pub(crate) lane: &'t TraceLane<'a>,
    pub(crate) place: LanePosition,
    /// True unless `lane` is a later part of a divided lane.
    pub(crate) is_first: bool,
    /// Index of the first run of `lane` in the whole lane; 0 for the first part.
    pub(crate) first_run: usize,
    /// For a lane that was packed, the indices in `lane` of the runs at whose kernel an arrow ends.
    /// `None` for a lane in memory, whose arrows are found from the ops.
    pub(crate) arrow_runs: Option<&'t [usize]>,
}

/// Returns the positions of all lanes of a trace, in order.
pub(crate) fn lane_places<'t>(trace: &'t Trace<'_>) -> impl Iterator<Item = LanePosition> + 't {
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
