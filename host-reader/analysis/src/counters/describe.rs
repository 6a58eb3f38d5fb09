//! Text descriptions of hardware counters, as a device log contains them.

use crate::counters::{
    sample::Sample,
    table::{is_counter_id, is_data},
};
use reader::{lane::Lane, names::ZoneTable, readout::Readout};

/// Attaches a text to each 16-byte counter record: the text that TT-Metal's host writes for such a
/// record. Returns the number of texts added.
///
/// A line of a device log has room only for the first 8 bytes of the record; the text contains the
/// rest. Counters that already have a text keep it. Counters that cannot be decoded get none.
pub fn describe_counters(readout: &mut Readout) -> u64 {
    let Readout { devices, zones, .. } = readout;
    let lanes = devices.iter_mut().flat_map(|device| &mut device.lanes);
    lanes.map(|lane| describe_lane(lane, zones)).fold(0, u64::saturating_add)
}

fn describe_lane(lane: &mut Lane, zones: &ZoneTable) -> u64 {
    let is_quasar = lane.id.risc.is_quasar();
    lane.attach_texts(|record| {
        let is_wide = is_data(record.kind) && record.data.len() > 1;
        if !is_wide || !is_counter_id(zones, record.zone) {
            return None;
        }
        let mut sample = Sample::decode(record.data, None).ok()?;
        if is_quasar {
            // TT-Metal's texts always state the part of a Quasar core, from 0 to 3.
            sample.neo.get_or_insert(0);
        }
        Some(sample.to_text().into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use reader::{
        lane::{LaneId, RecordHead, ZoneIndex},
        mesh::Noc0Coord,
    };
    use recording::device_log::{read_device_log, write_device_log};
    use wire::{PacketKind, Risc, RunHostId};

    #[test]
    fn a_counter_of_a_capture_survives_a_device_log() {
        let core = Noc0Coord { x: 1, y: 2 };
        let mut lane = Lane::new(LaneId { chip_id: 0, core, risc: Risc::Brisc });
        lane.begin_run(RunHostId::encode(1, 0));
        let head = |kind| RecordHead::new(kind, ZoneIndex(9090));
        lane.push(head(PacketKind::TimestampedData16B), 10, &[100 << 32 | 25, 0x3_00B4]);
        lane.push(head(PacketKind::TimestampedData16B), 11, &[7, 0]);
        lane.push(head(PacketKind::TimestampedData), 12, &[8]);
        let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n\
            PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,\
            run host ID,zone name,type\n0,1,2,BRISC,7,5,0,1024,,TS_EVENT\n";
        let mut readout = read_device_log(log.as_bytes(), "test").unwrap();
        readout.devices[0].lanes = vec![lane];
        assert_eq!(describe_counters(&mut readout), 1);
        assert_eq!(describe_counters(&mut readout), 0);
        let mut text = Vec::new();
        write_device_log(&readout, &mut text).unwrap();
        let read = read_device_log(text.as_slice(), "test").unwrap();
        let lane = &read.devices[0].lanes[0];
        assert_eq!(lane.metadata.len(), 1);
        let sample = Sample::decode(&lane.data[..1], Some(&lane.metadata[0].1)).unwrap();
        let expected =
            Sample { name: "ANY_THREAD_STALL".into(), neo: Some(3), count: 25, cycles: Some(100) };
        assert_eq!(sample, expected);
    }
}
