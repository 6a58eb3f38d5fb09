//! Zones whose id has several names: which of them a record is of, nobody knows.

use analysis::Report;
use proptest::prelude::{prop, prop_assert_eq, proptest};
use reader::{
    lane::{Lane, LaneId, RecordHead, ZoneIndex},
    mesh::Noc0Coord,
    names::{ZoneSource, ZoneTable},
    readout::{ChipSummary, DeviceReadout, Readout},
};
use recording::device_log::{read_device_log, write_device_log};
use std::collections::BTreeMap;
use wire::{PacketKind, Risc, RunHostId, ZoneId};

/// Returns a readout with one zone of 100 cycles for each id. `names` has the names of each id.
fn readout(names: &[Vec<&'static str>]) -> Readout {
    let core = Noc0Coord { x: 1, y: 2 };
    let mut lane = Lane::new(LaneId { chip_id: 0, core, risc: Risc::Brisc });
    lane.begin_run(RunHostId(1024));
    let mut zones = ZoneTable::new();
    for (id, names) in (1_u16..).zip(names) {
        for (line, name) in (1_u32..).zip(names) {
            let (name, file) = ((*name).to_owned(), "/k.cpp".to_owned());
            zones.add(ZoneId(id), ZoneSource { name, file, line });
        }
        let zone = ZoneIndex(id.into());
        let start = u64::from(id) * 1_000;
        lane.push(RecordHead::new(PacketKind::ZoneStart, zone), start, &[]);
        lane.push(RecordHead::new(PacketKind::ZoneEnd, zone), start + 100, &[]);
        lane.push(RecordHead::new(PacketKind::TimestampedData, zone), start + 200, &[7]);
    }
    let chip = ChipSummary {
        chip_id: 0,
        arch: "wormhole_b0".to_owned(),
        aiclk_mhz: 1_000,
        max_compute_cores: Some(64),
        known_lines: [].into(),
    };
    let device = DeviceReadout { chip, lanes: vec![lane], pending_runs: 0, discarded_launches: 0 };
    Readout { devices: vec![device], zones, ..Readout::default() }
}

/// Names of zones and data in a report, by id.
fn names(readout: &Readout) -> (BTreeMap<u32, String>, BTreeMap<u32, String>) {
    let report = Report::new(readout);
    let zones = report.zones.iter().map(|zone| (zone.marker_id, zone.name.clone()));
    let data = report.data.iter().map(|data| (data.marker_id, data.name.clone()));
    (zones.collect(), data.collect())
}

const NAMES: [&str; 5] = ["dram_read", "sem_wait118510", "LOAD", "DONE", "µ-wait"];

proptest! {
    #[test]
    fn a_doubt_about_a_name_is_in_the_report_and_in_the_device_log(
        names_of_ids in prop::collection::vec(
            proptest::sample::subsequence(NAMES.to_vec(), 1..=3),
            1..8,
        ),
    ) {
        let readout = readout(&names_of_ids);
        let (zones, data) = names(&readout);
        for (id, of_id) in (1_u32..).zip(&names_of_ids) {
            let expected = match of_id.as_slice() {
                [only] => (*only).to_owned(),
                several => format!("{} (ambiguous id)", several.join(" or ")),
            };
            prop_assert_eq!(&zones[&id], &expected);
            prop_assert_eq!(&data[&id], &expected);
        }
        let mut log = Vec::new();
        write_device_log(&readout, &mut log).unwrap();
        let again = read_device_log(log.as_slice(), "log").unwrap();
        prop_assert_eq!(names(&again), (zones, data));
    }
}

/// TT-Metal's scripts recognise firmware and kernels by their names.
#[test]
fn firmware_keeps_its_name_in_a_device_log() {
    let readout = readout(&[vec!["BRISC-FW", "LOAD"]]);
    let mut log = Vec::new();
    write_device_log(&readout, &mut log).unwrap();
    let log = String::from_utf8(log).unwrap();
    assert_eq!(log.matches(",BRISC-FW,").count(), 3, "{log}");
}
