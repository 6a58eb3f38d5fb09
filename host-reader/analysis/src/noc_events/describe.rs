//! Text descriptions of the addresses of NoC events, as a device log contains them.

use crate::noc_events::{payload::trailer_text, trace::is_event};
use reader::readout::Readout;
use wire::noc_event::NocTrailer;

/// Attaches the text that TT-Metal's host writes to each event that has addresses. Returns the
/// number of attached texts.
///
/// A line of a device log has no field for the addresses; the text contains them. Events that
/// already have a text keep it.
pub fn describe_addresses(readout: &mut Readout) -> u64 {
    let Readout { devices, zones, .. } = readout;
    let lanes = devices.iter_mut().flat_map(|device| &mut device.lanes);
    let counts = lanes.map(|lane| {
        lane.attach_texts(|record| match record.data {
            [_, trailer, ..] if is_event(record, zones) => {
                Some(trailer_text(NocTrailer::unpack(*trailer)).into())
            }
            _ => None,
        })
    });
    counts.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noc_events::{NocTraces, TraceObject, TraceOptions};
    use reader::{
        lane::{Lane, LaneId, RecordHead, ZoneIndex},
        mesh::Noc0Coord,
    };
    use recording::device_log::{read_device_log, write_device_log};
    use wire::{PacketKind, Risc, RunHostId};

    fn events(readout: &Readout) -> Vec<TraceObject> {
        let traces = NocTraces::from_readout(readout, |_, _| None, &TraceOptions::default());
        traces.programs.iter().flat_map(|program| program.objects.clone()).collect()
    }

    #[test]
    fn addresses_of_a_capture_survive_a_device_log() {
        let core = Noc0Coord { x: 1, y: 2 };
        let mut lane = Lane::new(LaneId { chip_id: 0, core, risc: Risc::Brisc });
        lane.begin_run(RunHostId::encode(1, 0));
        let head = |kind| RecordHead::new(kind, ZoneIndex(12345));
        // READ from tile (3, 4) over NoC 0: 64 bytes from 0x1_0001 to 0x2_0006, with counter 0xABC.
        let read = 1 | 3 << 8 | 4 << 16 | 1 << 40 | 2 << 48;
        let addresses = 0x8001 | 2 << 22 | 0x4000 << 26 | 1 << 48 | 0xABC << 52;
        lane.push(head(PacketKind::TimestampedData16B), 10, &[read, addresses]);
        lane.push(head(PacketKind::TimestampedData), 11, &[read]);
        let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n\
            PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,\
            run host ID,zone name,type\n0,1,2,BRISC,7,5,0,1024,,TS_EVENT\n";
        let mut readout = read_device_log(log.as_bytes(), "test").unwrap();
        readout.devices[0].lanes = vec![lane];
        let capture_events = events(&readout);
        assert_eq!(describe_addresses(&mut readout), 1);
        assert_eq!(describe_addresses(&mut readout), 0);
        let mut text = Vec::new();
        write_device_log(&readout, &mut text).unwrap();
        let written = String::from_utf8(text.clone()).unwrap();
        let described = r#"{"dst_addr":131078;"noc_status_counter":2748;"src_addr":65537}"#;
        assert_eq!(written.matches(described).count(), 1, "{written}");
        let log_events = events(&read_device_log(text.as_slice(), "test").unwrap());
        assert_eq!(log_events.len(), 2);
        assert_eq!(log_events, capture_events);
        let addresses = log_events.iter().map(|one| (one.src_addr, one.dst_addr));
        assert_eq!(addresses.collect::<Vec<_>>(), [(Some(0x1_0001), Some(0x2_0006)), (None, None)]);
    }
}
