//! Traces of many hosts in one file, with one process for each host.

use super::{
    HostProcess, Placement,
    device::{describe, process},
    message::TracePacket,
    sequence::Sequence,
    write_placed,
};
use crate::TraceItems;
use std::{
    collections::BTreeMap,
    io::{self, Write},
};

/// First process number of hosts. It is above all real process numbers.
const FIRST_PID: i32 = 1_000_000;
/// First track id of hosts. It is below the track ids of lanes.
const FIRST_TRACK: u64 = 1 << 36;
/// Maximum number of recordings in one file.
const MOST_PARTS: u64 = 1 << 14;
/// Maximum number of chips in one file.
const MOST_DEVICES: usize = (1 << 15) - 1;
/// Latest time that a trace's origin may have. It leaves enough range for the times after the
/// origin.
const LATEST_ORIGIN_NS: i128 = 1 << 62;

/// Start of a trace on a clock that several hosts share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommonTime {
    /// Time of the trace's origin, in nanoseconds.
    pub origin_ns: u64,
    /// Error bound of the origin, without the error of the chips' own clocks.
    pub error_ns: u64,
}

impl CommonTime {
    /// Converts a recording's origin from the host's clock to the common clock. `offset_ns` is the
    /// time of the common clock minus the time of the host's clock.
    ///
    /// Returns `None` if `origin_host_ns` is `None`, because the chips' times could not be
    /// converted to the host's clock. Also returns `None` if the origin is before the start of the
    /// common clock.
    #[must_use]
    pub fn new(origin_host_ns: Option<i64>, offset_ns: i64, error_ns: u64) -> Option<Self> {
        let origin_ns = i128::from(origin_host_ns?) + i128::from(offset_ns);
        let is_in_range = (0..=LATEST_ORIGIN_NS).contains(&origin_ns);
        let origin_ns = u64::try_from(origin_ns).ok().filter(|_| is_in_range)?;
        Some(Self { origin_ns, error_ns })
    }

    /// Returns a sentence about how the host's clock relates to the common clock.
    fn sentence(self) -> String {
        format!("on the clock that hosts share, within {} ns", self.error_ns)
    }
}

/// One Perfetto trace of many hosts. Recordings are written one after the other, so memory does not
/// grow with their number.
///
/// ```
/// use export::{CommonTime, MergedTrace, Recording, Trace, TraceFilter};
/// use recording::device_log::read_device_log;
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,7,100,0,1024,BRISC-KERNEL,ZONE_START
/// 0,1,2,BRISC,7,160,0,1024,BRISC-KERNEL,ZONE_END
/// ";
/// let mut merged = MergedTrace::default();
/// let mut file = Vec::new();
/// for host in ["rank0", "rank1"] {
///     let recording = Recording::from_readout(read_device_log(log.as_bytes(), host)?);
///     let trace = Trace::new(&recording, &TraceFilter::default());
///     // The log has no clock of its host, so that it cannot be related to another host's.
///     assert_eq!(CommonTime::new(trace.origin_host_ns, 0, 50), None);
///     merged.add(host, &trace, None, &mut file)?;
/// }
/// assert!(!file.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct MergedTrace {
    /// Index of each host, and the number of recordings of the host.
    hosts: BTreeMap<String, (usize, usize)>,
    /// Ids and start time with which the next recording begins.
    next: Placement,
    /// Start of the first recording. Recordings without a common time also start at this time.
    first_ns: Option<u64>,
}

impl MergedTrace {
    /// Writes one more recording of a host.
    ///
    /// Without a common time, the recording starts at the same time as the first recording, and the
    /// host's name states that its clock is not shared. Recordings with a common time must
    /// therefore be added first.
    ///
    /// # Errors
    /// If `out` fails, packed items cannot be read from the temporary file, or there are more than
    /// 16,384 recordings or 32,767 chips.
    ///
    /// # Cost
    /// Packed items are unpacked and written lane by lane.
    pub fn add<'t, 'a: 't>(
        &mut self,
        host: &str,
        items: impl Into<TraceItems<'t, 'a>>,
        time: Option<CommonTime>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let items = items.into();
        let trace = items.trace();
        self.begin(host, trace.devices.len(), time, out)?;
        write_placed(items, &self.next, out, &mut |_| ())?;
        self.next.first_lane += trace.lane_count();
        // One packet sequence for each chip and each lane, and one for the host's threads.
        self.advance(trace.devices.len(), trace.devices.len() + trace.lane_count() + 1);
        Ok(())
    }

    /// Writes the ops of one more recording, which was read from a dataset.
    ///
    /// # Errors
    /// See [`MergedTrace::add`].
    #[cfg(feature = "parquet")]
    pub fn add_summary(
        &mut self,
        summary: &crate::RecordingSummary,
        time: Option<CommonTime>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.begin(&summary.host, summary.bounds_ns.len(), time, out)?;
        out.write_all(&super::summary::packets(summary, &self.next))?;
        self.advance(summary.bounds_ns.len(), 1);
        Ok(())
    }

    /// Starts the next recording, and the process of its host if this is the host's first
    /// recording.
    fn begin(
        &mut self,
        host: &str,
        device_count: usize,
        time: Option<CommonTime>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let device_count = self.next.first_device.saturating_add(device_count);
        if self.next.part >= MOST_PARTS || device_count > MOST_DEVICES {
            return Err(io::Error::other(format!(
                "expected at most {MOST_PARTS} recordings and {MOST_DEVICES} chips in one trace"
            )));
        }
        let next = self.hosts.len();
        let (number, run_count) = self.hosts.entry(host.to_owned()).or_insert((next, 0));
        *run_count += 1;
        let (number, run) = (*number, *run_count);
        let clock = time.map_or_else(|| UNRELATED.to_owned(), CommonTime::sentence);
        let base_ns = time.map_or_else(|| self.first_ns.unwrap_or(0), |time| time.origin_ns);
        self.first_ns.get_or_insert(base_ns);
        self.next.base_ns = base_ns;
        let track = FIRST_TRACK + number as u64;
        self.next.first_sequence = self.next.first_sequence.saturating_add(1);
        if run == 1 {
            let is_own = if time.is_none() { " (own clock)" } else { "" };
            let pid = i32::try_from(number).ok().map(|number| FIRST_PID.saturating_add(number));
            let id = self.next.first_sequence;
            let mut sequence = Sequence::begin(id, TracePacket::default(), 256);
            describe(&mut sequence, process(track, pid, format!("{host}{is_own}"), clock.clone()));
            out.write_all(&sequence.into_bytes())?;
        }
        self.next.process = Some(HostProcess { track, run, clock });
        Ok(())
    }

    /// Advances `next` past a recording that has `device_count` chips and `sequence_count` packet
    /// sequences.
    fn advance(&mut self, device_count: usize, sequence_count: usize) {
        let sequence_count = u32::try_from(sequence_count).unwrap_or(u32::MAX);
        self.next.first_sequence = self.next.first_sequence.saturating_add(sequence_count);
        self.next.first_device += device_count;
        self.next.part += 1;
    }
}

/// Text about a host's clock that is not related to the clocks of other hosts.
const UNRELATED: &str = "not related to the clocks of other hosts: durations can be compared, \
                         starts cannot";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Trace, TraceFilter,
        perfetto::message::{Packets, SEQUENCE_CLEARED, TracePacket},
        tests::{host_recording, readout},
    };
    use prost::Message;
    use recording::Recording;
    use std::collections::BTreeSet;

    fn packets(hosts: &[&str], time: Option<CommonTime>) -> Vec<TracePacket> {
        let host = vec![host_recording(), host_recording()];
        let recording = Recording { host, ..Recording::from_readout(readout()) };
        let trace = Trace::new(&recording, &TraceFilter::default());
        let (mut merged, mut file) = (MergedTrace::default(), Vec::new());
        for host in hosts {
            merged.add(host, &trace, time, &mut file).unwrap();
        }
        Packets::decode(file.as_slice()).unwrap().packet
    }

    #[test]
    fn hosts_share_no_track_no_sequence_and_no_arrow() {
        let alone = packets(&["a"], None);
        let packets = packets(&["a", "b", "a"], None);
        let descriptors = packets.iter().filter_map(|packet| packet.track_descriptor.as_ref());
        let tracks: Vec<u64> = descriptors.clone().map(|track| track.uuid.unwrap()).collect();
        assert_eq!(tracks.len(), tracks.iter().collect::<BTreeSet<_>>().len());
        let begun = packets.iter().filter(|packet| packet.sequence_flags == Some(SEQUENCE_CLEARED));
        let sequences: Vec<u32> =
            begun.map(|packet| packet.trusted_packet_sequence_id.unwrap()).collect();
        assert_eq!(sequences.len(), sequences.iter().collect::<BTreeSet<_>>().len());
        assert_eq!((arrow_count(&alone), arrow_count(&packets)), (1, 3));
        // Every track that is not a process has a parent with a descriptor.
        let known: BTreeSet<u64> = tracks.into_iter().collect();
        let mut processes = Vec::new();
        let mut chips = Vec::new();
        for track in descriptors {
            match track.parent_uuid {
                Some(parent) => assert!(known.contains(&parent), "{track:?}"),
                None => processes.push(track.name.clone().unwrap()),
            }
            chips.extend(track.name.clone().filter(|name| name.starts_with("device")));
        }
        assert_eq!(processes, ["a (own clock)", "b (own clock)"]);
        let chip = "device 0 wormhole_b0";
        assert_eq!(chips, [chip, chip, &format!("{chip}, recording 2")]);
    }

    fn arrow_count(packets: &[TracePacket]) -> usize {
        let events = packets.iter().filter_map(|packet| packet.track_event.as_ref());
        events.flat_map(|event| event.flow_ids.clone()).collect::<BTreeSet<_>>().len()
    }

    #[test]
    fn events_of_the_host_tell_their_colours() {
        let mut colors = BTreeSet::new();
        for packet in packets(&["a"], None) {
            let Some(event) = packet.track_event else { continue };
            for argument in event.debug_annotations {
                if argument.name.as_deref() == Some("color") {
                    colors.insert((event.name.clone().unwrap(), argument.string_value.unwrap()));
                }
            }
        }
        let expected = [("Enqueue", "#0000ab"), ("hello", "#ff8000")];
        assert_eq!(colors, expected.map(|(name, color)| (name.into(), color.into())).into());
    }

    #[test]
    fn a_common_time_is_where_a_host_begins() {
        let time = CommonTime { origin_ns: 7_000_000, error_ns: 40 };
        let (own, common) = (packets(&["a"], None), packets(&["a"], Some(time)));
        assert_eq!(first_timestamp(&common), first_timestamp(&own) + 7_000_000);
        let process = common.iter().find_map(|packet| packet.track_descriptor.as_ref()).unwrap();
        assert_eq!(process.name.as_deref(), Some("a"));
        assert!(process.description.as_ref().unwrap().ends_with("within 40 ns"), "{process:?}");
    }

    fn first_timestamp(packets: &[TracePacket]) -> u64 {
        packets.iter().filter_map(|packet| packet.timestamp).min().unwrap()
    }
}
