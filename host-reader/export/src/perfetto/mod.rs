//! Perfetto's protobuf trace.
//!
//! Chip, core and RISC are nested tracks. Other tracks show ops, counters, hardware counter
//! metrics, points, losses, and the activity of the host's threads. Arrows connect ops with their
//! kernels.
//!
//! Each lane is a packet sequence with interned names. Times are nanoseconds of the host's clock if
//! the chips are synchronised with it, and otherwise nanoseconds since the trace's origin. Cycles
//! are arguments of the events.

mod causes;
mod device;
mod host;
mod lane;
mod merged;
mod message;
mod modules;
mod sequence;
#[cfg(feature = "parquet")]
mod summary;

use super::{
    ExportFormat, OnLanes, Trace, TraceItems,
    flow::Arrows,
    format::{Sink, SinkWrite},
    lane_writer::write_lanes,
    point_words::PointWords,
    trace::place::PlacedLane,
};
pub use merged::{CommonTime, MergedTrace};
use std::io::{self, Write};

impl ExportFormat {
    /// Perfetto's protobuf format, for <https://ui.perfetto.dev> and its trace processor.
    pub const PERFETTO: Self = Self(&Sink {
        name: "perfetto",
        endings: &[".pftrace", ".perfetto-trace", ".perfetto"],
        help: "for ui.perfetto.dev and its trace processor",
        is_binary: true,
        shows_causes: true,
        write: SinkWrite::Parts(write),
    });
}

/// Writes a single trace.
fn write(items: TraceItems<'_, '_>, out: &mut dyn Write, on_lanes: OnLanes<'_>) -> io::Result<()> {
    let origin = items.trace().origin_host_ns;
    let base_ns = origin.and_then(|origin| u64::try_from(origin).ok()).unwrap_or(0);
    write_placed(items, &Placement { base_ns, ..Placement::default() }, out, on_lanes)
}

/// Writes one of the traces of a file: all chips, then all lanes. Long packed lanes are written in
/// parts.
fn write_placed(
    items: TraceItems<'_, '_>,
    placement: &Placement,
    out: &mut dyn Write,
    on_lanes: OnLanes<'_>,
) -> io::Result<()> {
    let context = Context::new(items, placement);
    let sequence_id = write_chips(&context, out)?;
    write_lanes(items, out, on_lanes, |placed| {
        lane::packets(placed, &context, lane_sequence(sequence_id, placed.place.index))
    })?;
    write_host(&context, sequence_id, out)
}

/// Writes all packets of the chips except their lanes. Returns the sequence id of the first lane.
fn write_chips(context: &Context<'_, '_>, out: &mut dyn Write) -> io::Result<u32> {
    let placement = context.placement;
    let mut first_lane = placement.first_lane;
    let mut sequence_id = placement.first_sequence.saturating_add(1);
    for (device_index, device) in context.trace.devices.iter().enumerate() {
        let number = placement.first_device + device_index;
        let tracks = Tracks::new(number, context.items.row_count(device_index), first_lane);
        device::write(context, device_index, &tracks, sequence_id, out)?;
        first_lane += device.lanes.len();
        sequence_id = sequence_id.saturating_add(1);
    }
    Ok(sequence_id)
}

fn lane_sequence(first: u32, lane: usize) -> u32 {
    first.saturating_add(u32::try_from(lane).unwrap_or(u32::MAX))
}

/// Writes the packets of the host's threads, which follow the packets of the lanes.
fn write_host(
    context: &Context<'_, '_>,
    first_lane_sequence: u32,
    out: &mut dyn Write,
) -> io::Result<()> {
    let sequence_id = lane_sequence(first_lane_sequence, context.trace.lane_count());
    out.write_all(&host::packets(&context.trace.host, sequence_id, context.placement))
}

/// Ids and start time with which a trace begins in a file that may contain several traces. The
/// default is for the first trace.
#[derive(Debug, Default)]
struct Placement {
    /// Time of the trace's origin on the file's time axis.
    base_ns: u64,
    /// Number of chips in all earlier traces of the file.
    first_device: usize,
    /// Number of lanes in all earlier traces of the file.
    first_lane: usize,
    /// Number of packet sequences in the file before this trace.
    first_sequence: u32,
    /// Index of the recording among all recordings in the file.
    part: u64,
    /// Process that contains chips and threads. If `None`, each chip is a separate process.
    process: Option<HostProcess>,
}

/// Process that represents one of several hosts.
#[derive(Debug)]
struct HostProcess {
    /// Track of the process.
    track: u64,
    /// Number of the recording among the host's recordings, from 1. The number is shown from the
    /// host's second recording on.
    run: usize,
    /// Relation of the host's clock to the clocks of other hosts.
    clock: String,
}

impl HostProcess {
    /// Returns a track name of this host. From the second recording on, the name contains the
    /// number of the recording.
    fn named(&self, name: String) -> String {
        if self.run > 1 { format!("{name}, recording {}", self.run) } else { name }
    }
}

/// Inputs shared by all sequences of a trace.
struct Context<'t, 'a> {
    trace: &'t Trace<'a>,
    items: TraceItems<'t, 'a>,
    /// Arrows that end on lanes in memory. The arrows that end on packed lanes are stored with
    /// these lanes.
    arrows: Arrows,
    words: PointWords<'t>,
    /// Time of the trace's origin on the file's time axis.
    base_ns: u64,
    placement: &'t Placement,
}

impl<'t, 'a> Context<'t, 'a> {
    fn new(items: TraceItems<'t, 'a>, placement: &'t Placement) -> Self {
        let trace = items.trace();
        Self {
            trace,
            items,
            arrows: Arrows::new(trace, placement.first_device),
            words: PointWords::new(trace),
            base_ns: placement.base_ns,
            placement,
        }
    }

    /// Returns the index of a lane in the whole file.
    const fn lane_index(&self, placed: &PlacedLane<'_, '_>) -> usize {
        self.placement.first_lane + placed.place.index
    }
}

/// Track ids of a chip. Ids of chips, rows, cores and lanes are in separate ranges.
struct Tracks {
    device: u64,
    /// Index of the chip in the whole file.
    number: usize,
    /// Parent of all other tracks of the chip. Viewers respect the requested order of tracks inside
    /// another track, but not directly inside a process.
    content: u64,
    kernel_counter: u64,
    loss_counter: u64,
    /// Counters of bytes over NoC 0 and NoC 1.
    noc_counters: [u64; 2],
    /// Parent of the tracks that show time by class.
    classes: u64,
    critical_path: u64,
    /// Track of the first hardware counter metric. The tracks of the other metrics follow.
    first_metric: u64,
    row_count: u32,
    first_lane: usize,
}

const DEVICE_TRACKS: u64 = 1 << 48;

impl Tracks {
    fn new(number: usize, row_count: u32, first_lane: usize) -> Self {
        let base = (number as u64 + 1) * DEVICE_TRACKS;
        Self {
            device: base,
            number,
            content: base + 3,
            kernel_counter: base + 1,
            loss_counter: base + 2,
            noc_counters: [base + 4, base + 5],
            classes: base + 8,
            critical_path: base + 9,
            first_metric: base + 16,
            row_count,
            first_lane,
        }
    }

    fn row(&self, row: u32) -> u64 {
        self.device + (1 << 32) + u64::from(row)
    }

    /// Returns the track for the modules whose ops are drawn in a row.
    fn modules(&self, row: u32) -> u64 {
        self.device + (4 << 32) + u64::from(row)
    }

    const fn core(&self, core_index: usize) -> u64 {
        self.device + (2 << 32) + core_index as u64
    }

    const fn class(&self, place: u64) -> u64 {
        self.device + (3 << 32) + place
    }

    const fn lane(&self, lane_index: usize) -> u64 {
        lane_track(self.first_lane + lane_index)
    }
}

/// Returns the track for the waits of a lane. `index` is the lane's index in the whole file.
const fn wait_track(index: usize) -> u64 {
    (1 << 41) + index as u64
}

/// Returns the track of a lane. `index` is the lane's index in the whole file.
const fn lane_track(index: usize) -> u64 {
    (1 << 40) + index as u64
}

#[cfg(test)]
mod tests {
    use super::{
        lane_track,
        message::{Packets, SLICE_BEGIN, SLICE_END},
        wait_track,
    };
    use crate::{ExportFormat, Trace, tests::readout_of};
    use prost::Message;
    use reader::{
        lane::{Lane, LaneId, RecordHead},
        mesh::Noc0Coord,
        names::ZoneSource,
    };
    use recording::{Recording, TraceFilter};
    use wire::{PacketKind, Risc, RunHostId, ZoneId, wait::WaitKind};

    #[test]
    fn a_wait_that_blocked_is_a_slice_before_its_record() {
        let core = Noc0Coord { x: 1, y: 2 };
        let mut lane = Lane::new(LaneId { chip_id: 0, core, risc: Risc::Trisc0 });
        lane.begin_run(RunHostId::encode(1, 0));
        let mut readout = readout_of(Vec::new());
        readout.devices[0].chip.aiclk_mhz = 1000;
        let source =
            ZoneSource { name: "SYNC-CB-WAIT".into(), file: "/k/compute.cpp".into(), line: 7 };
        let zone = readout.zones.intern(ZoneId(40), source);
        let head = |kind| RecordHead::new(kind, zone);
        lane.push(head(PacketKind::TimestampedEvent), 1000, &[]);
        // A wait of 250 cycles for circular buffer 3, which ends at cycle 1900, encoded as in its
        // record.
        let word = u64::from(WaitKind::CB_WAIT.0) << 32 | 3;
        lane.push(head(PacketKind::TimestampedData16B), 1900, &[word, 250]);
        readout.devices[0].lanes.push(lane);
        let recording = Recording::from_readout(readout);
        let trace = Trace::new(&recording, &TraceFilter::default());
        let mut bytes = Vec::new();
        ExportFormat::PERFETTO.write(&trace, &mut bytes, &mut |_| {}).unwrap();
        let packets = Packets::decode(bytes.as_slice()).unwrap().packet;
        let on_track = packets.iter().filter_map(|packet| {
            let event = packet.track_event.as_ref()?;
            (event.track_uuid == Some(wait_track(0)))
                .then(|| (packet.timestamp.unwrap(), event.kind.unwrap(), event.name.as_deref()))
        });
        let expected = [(650, SLICE_BEGIN, Some("CB_WAIT 3")), (900, SLICE_END, None)];
        assert_eq!(on_track.collect::<Vec<_>>(), expected);
        let mut tracks = packets.iter().filter_map(|packet| packet.track_descriptor.as_ref());
        let track = tracks.find(|track| track.uuid == Some(wait_track(0))).unwrap();
        assert_eq!(track.parent_uuid, Some(lane_track(0)));
        assert_eq!(track.name.as_deref(), Some("TRISC_0 waits"));
    }
}
