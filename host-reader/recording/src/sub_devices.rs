//! Sub-devices reported by the host.

use host_events::OpMetadata;
use reader::readout::Readout;
use std::collections::BTreeMap;
use wire::RunHostId;

/// Metadata key of the number of an op's sub-device. The host's metadata and device logs use the
/// same key.
///
/// # Compatibility
/// This key and `sub_device_manager_id` occur in the column `meta data` of `profile_log_device.csv`.
pub const SUB_DEVICE_ID: &str = "sub_device_id";
/// Metadata key of the number of the sub-device manager. The manager defines how the chip is
/// divided into sub-devices.
pub const SUB_DEVICE_MANAGER_ID: &str = "sub_device_manager_id";
/// Metadata key of the number of worker cores in the sub-device. It only occurs in the host's
/// metadata.
pub const SUB_DEVICE_WORKER_CORES: &str = "sub_device_worker_cores";

/// Attaches to each record the sub-device of the record's program, as TT-Metal's logs do.
///
/// Records of programs for which the host reported no sub-device are unchanged.
pub(crate) fn attach_sub_devices(ops: &[OpMetadata], readout: &mut Readout) {
    let mut texts: BTreeMap<(u32, RunHostId), String> = BTreeMap::new();
    for op in ops {
        let ids = [SUB_DEVICE_ID, SUB_DEVICE_MANAGER_ID]
            .map(|key| op.value(key).and_then(|value| value.parse::<u64>().ok()));
        if let [Some(id), Some(manager)] = ids {
            let text = format!(r#"{{"{SUB_DEVICE_ID}":{id},"{SUB_DEVICE_MANAGER_ID}":{manager}}}"#);
            texts.entry((op.chip_id, op.run_host_id)).or_insert(text);
        }
    }
    if texts.is_empty() {
        return;
    }
    for lane in readout.devices.iter_mut().flat_map(|device| &mut device.lanes) {
        let mut lane_texts = Vec::new();
        for (index, run) in lane.runs.iter().enumerate() {
            let Some(text) = texts.get(&(lane.id.chip_id, run.program)) else { continue };
            lane_texts.extend(lane.run_records(index).map(|record| (record, text.as_str().into())));
        }
        lane.add_texts(lane_texts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reader::{
        lane::{Lane, LaneId, RecordHead, ZoneIndex},
        mesh::Noc0Coord,
        readout::{ChipSummary, DeviceReadout},
    };
    use wire::{PacketKind, Risc};

    #[test]
    fn records_of_named_programs_get_their_sub_device_and_keep_what_they_have() {
        let core = Noc0Coord { x: 1, y: 1 };
        let mut lane = Lane::new(LaneId { chip_id: 0, core, risc: Risc::Brisc });
        for program in [RunHostId(1024), RunHostId(2048)] {
            lane.begin_run(program);
            for time in [1, 2] {
                lane.push(RecordHead::new(PacketKind::TimestampedEvent, ZoneIndex(7)), time, &[]);
            }
        }
        lane.metadata.push((3, "kept".into()));
        let chip = ChipSummary {
            chip_id: 0,
            arch: "x".into(),
            aiclk_mhz: 1,
            max_compute_cores: None,
            known_lines: [].into(),
        };
        let lanes = vec![lane];
        let device = DeviceReadout { chip, lanes, pending_runs: 0, discarded_launches: 0 };
        let mut readout = Readout { devices: vec![device], ..Readout::default() };
        let ops = [
            op(1024, &[(SUB_DEVICE_ID, "1")]),
            op(2048, &[(SUB_DEVICE_ID, "1"), (SUB_DEVICE_MANAGER_ID, "4")]),
        ];
        attach_sub_devices(&ops, &mut readout);
        let text = r#"{"sub_device_id":1,"sub_device_manager_id":4}"#;
        assert_eq!(readout.devices[0].lanes[0].metadata, [(2, text.into()), (3, "kept".into())]);
    }

    fn op(base: u32, fields: &[(&str, &str)]) -> OpMetadata {
        OpMetadata {
            chip_id: 0,
            run_host_id: RunHostId(base),
            fields: fields.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
        }
    }
}
