//! Sub-devices: parts of a chip, named in the records of a run.

use reader::lane::Lane;
use std::ops::Range;

/// Key of the sub-device's number in the metadata of a record.
///
/// # Compatibility
/// Metadata of `profile_log_device.csv`; the number is a `SubDeviceId`, which has 8 bits.
const KEY: &str = "\"sub_device_id\"";

/// Returns the first sub-device in the metadata of the records; `None` for a program that uses the
/// whole chip.
pub(super) fn sub_device_of(lane: &Lane, records: Range<usize>) -> Option<u8> {
    let first = lane.metadata.partition_point(|(record, _)| *record < records.start);
    let run_metadata =
        lane.metadata.iter().skip(first).take_while(|(record, _)| *record < records.end);
    run_metadata.map(|(_, text)| text).find_map(|text| sub_device_in(text))
}

fn sub_device_in(text: &str) -> Option<u8> {
    let (_, rest) = text.split_once(KEY)?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reader::{
        lane::{LaneId, RecordHead, ZoneIndex},
        mesh::Noc0Coord,
    };
    use wire::{PacketKind, Risc};

    #[test]
    fn a_number_is_read_as_logs_and_captures_write_it() {
        for (text, id) in [
            (r#"{"sub_device_id":3,"sub_device_manager_id":1}"#, Some(3)),
            (r#"{"sub_device_id":0;"sub_device_manager_id":1}"#, Some(0)),
            (r#"{"sub_device_manager_id": 1; "sub_device_id": 255}"#, Some(255)),
            (r#"{"sub_device_manager_id":1}"#, None),
            (r#"{"sub_device_id":256}"#, None),
            (r#"{"sub_device_id":-1}"#, None),
            (r#"{"sub_device_id"}"#, None),
            ("", None),
        ] {
            assert_eq!(sub_device_in(text), id, "{text}");
        }
    }

    #[test]
    fn only_records_of_the_run_count() {
        let core = Noc0Coord { x: 1, y: 1 };
        let mut lane = Lane::new(LaneId { chip_id: 0, core, risc: Risc::Brisc });
        for time in 0..4 {
            lane.push(RecordHead::new(PacketKind::TimestampedEvent, ZoneIndex(7)), time, &[]);
        }
        lane.metadata = vec![
            (0, sub_device_text(4)),
            (1, Box::from("{}")),
            (2, sub_device_text(5)),
            (3, sub_device_text(6)),
        ];
        assert_eq!(sub_device_of(&lane, 0..1), Some(4));
        assert_eq!(sub_device_of(&lane, 1..2), None);
        assert_eq!(sub_device_of(&lane, 1..4), Some(5));
    }

    fn sub_device_text(id: u8) -> Box<str> {
        Box::from(format!("{{\"sub_device_id\":{id}}}"))
    }
}
