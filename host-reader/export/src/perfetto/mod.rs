//! Perfetto's protobuf trace: chip, core and RISC as nested tracks, ops with arrows to their
//! kernels, counters, metrics of hardware counters, points, losses, and what the threads of the host did.
//!
//! Each lane is a packet sequence with interned names. Times are nanoseconds of the host's
//! clock where the trace has one, else since the trace's origin; cycles are arguments.

mod device;
mod host;
mod lane;
mod message;
mod sequence;

use super::{Trace, TraceDevice, flow::Arrows, lane_writer::write_lanes, point_words::PointWords};
use std::io::{self, Write};

/// Writes the chips, then every lane.
pub(super) fn write(
    trace: &Trace<'_>,
    out: &mut dyn Write,
    on_lanes: &mut dyn FnMut(usize),
) -> io::Result<()> {
    let base_ns = trace.origin_host_ns.and_then(|origin| u64::try_from(origin).ok()).unwrap_or(0);
    let context =
        Context { trace, arrows: Arrows::new(trace), words: PointWords::new(trace), base_ns };
    let mut first_lane = 0;
    let mut sequence_id = 1;
    for (device_index, device) in trace.devices.iter().enumerate() {
        let tracks = Tracks::new(device_index, device, first_lane);
        out.write_all(&device::packets(&context, device_index, &tracks, sequence_id))?;
        first_lane += device.lanes.len();
        sequence_id += 1;
    }
    write_lanes(trace, out, on_lanes, |placed| {
        let index = u32::try_from(placed.index).unwrap_or(u32::MAX);
        lane::packets(&placed, &context, sequence_id.saturating_add(index))
    })?;
    let lane_count = u32::try_from(trace.lane_count()).unwrap_or(u32::MAX);
    out.write_all(&host::packets(&trace.host, sequence_id.saturating_add(lane_count), base_ns))
}

/// Inputs shared by all sequences of a trace.
struct Context<'t, 'a> {
    trace: &'t Trace<'a>,
    arrows: Arrows,
    words: PointWords<'t>,
    /// Host time of the trace's origin.
    base_ns: u64,
}

/// Numbers of the tracks of a chip. Those of chips, rows, cores and lanes lie apart.
struct Tracks {
    device: u64,
    /// Parent of all others. Viewers order what lies directly in a process as they like, and
    /// only what lies in another track as it is asked for.
    content: u64,
    kernel_counter: u64,
    loss_counter: u64,
    /// Bytes over NoC 0 and NoC 1.
    noc_counters: [u64; 2],
    /// First of the metrics of hardware counters, which follow each other.
    first_metric: u64,
    row_count: u32,
    first_lane: usize,
}

const DEVICE_TRACKS: u64 = 1 << 48;

impl Tracks {
    fn new(device_index: usize, device: &TraceDevice<'_>, first_lane: usize) -> Self {
        let base = (device_index as u64 + 1) * DEVICE_TRACKS;
        Self {
            device: base,
            content: base + 3,
            kernel_counter: base + 1,
            loss_counter: base + 2,
            noc_counters: [base + 4, base + 5],
            first_metric: base + 16,
            row_count: device.ops.iter().map(|op| op.row + 1).max().unwrap_or(0),
            first_lane,
        }
    }

    fn row(&self, row: u32) -> u64 {
        self.device + (1 << 32) + u64::from(row)
    }

    const fn core(&self, core_index: usize) -> u64 {
        self.device + (2 << 32) + core_index as u64
    }

    const fn lane(&self, lane_index: usize) -> u64 {
        lane_track(self.first_lane + lane_index)
    }
}

/// Track of the lane with this index in the whole trace.
const fn lane_track(index: usize) -> u64 {
    (1 << 40) + index as u64
}
