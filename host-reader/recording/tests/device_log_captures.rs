//! Tests with logs of real chips. The expected figures were counted by hand and with other
//! programs.

use captures::{log_of_json, log_path, read_capture};
use reader::lane::RecordHead;
use recording::device_log::{read_device_log, write_device_log};
use wire::PacketKind;

/// Path of the log of each capture, and the number of lines after the header.
const LOGS: [(&str, usize); 5] = [
    ("blackhole-noc-256", 58),
    ("blackhole-noc-4096", 58),
    ("wormhole-counters-elw", 79),
    ("wormhole-noc-256", 58),
    ("wormhole-noc-4096", 58),
];

#[test]
fn every_line_of_every_capture_becomes_a_record() {
    for (capture, line_count) in LOGS {
        let readout = read_capture(capture);
        assert_eq!(readout.record_count(), line_count, "{capture}");
        assert_eq!(readout.anomalies.counts().count(), 0, "{capture}");
        let lanes = readout.lanes();
        assert!(lanes.into_iter().all(|lane| lane.runs.len() == 1), "{capture}");
    }
}

#[test]
fn a_capture_is_written_again_byte_by_byte() {
    for (capture, line_count) in LOGS {
        let mut text = Vec::new();
        let report = write_device_log(&read_capture(capture), &mut text).unwrap();
        let original = std::fs::read(log_path(capture)).unwrap();
        assert!(text == original, "{capture}: {}", String::from_utf8_lossy(&text));
        assert_eq!(report.row_count, line_count as u64);
        assert_eq!(report.replaced_character_count, 0);
    }
}

#[test]
fn chips_are_described_by_the_first_line() {
    let chip = |capture| {
        let chip = read_capture(capture).devices[0].chip.clone();
        (chip.chip_id, chip.arch, chip.aiclk_mhz, chip.max_compute_cores)
    };
    assert_eq!(chip("blackhole-noc-256"), (0, "blackhole".into(), 1350, Some(120)));
    assert_eq!(chip("wormhole-counters-elw"), (0, "wormhole_b0".into(), 1000, Some(64)));
}

#[test]
fn a_blackhole_capture_has_its_records_where_the_chip_wrote_them() {
    let readout = read_capture("blackhole-noc-256");
    let lanes = &readout.devices[0].lanes;
    let ids: Vec<_> = lanes.iter().map(|lane| lane.id.to_string()).collect();
    assert_eq!(ids, ["chip 0 core (1,2) BRISC", "chip 0 core (1,2) NCRISC"]);
    assert_eq!(lanes[0].heads[0].zone().0, 51381);
    assert_eq!(readout.zones.name(lanes[0].heads[0].zone()), "BRISC-FW");
    assert_eq!(readout.zones.sources(lanes[1].heads[1].zone())[0].line, 69);
    assert_eq!(lanes[0].times[2], 388_889_936_674);
    assert_eq!(lanes[0].data[..2], [264_982_319_071_004, 2_270_491_512_279_307]);
    // NoC events have no name.
    assert_eq!(readout.zones.label(lanes[0].heads[2].zone()), "id 12345");
}

#[test]
fn counters_keep_their_values_and_their_meta_data() {
    let readout = read_capture("wormhole-counters-elw");
    let brisc = &readout.devices[0].lanes[0];
    assert_eq!(brisc.record_count(), 63);
    assert_eq!((brisc.data.len(), brisc.metadata.len()), (59, 59));
    assert_eq!(brisc.data.iter().sum::<u64>(), 1_093_941_055_203_615);
    let (record, text) = &brisc.metadata[0];
    assert_eq!(*record, 3);
    assert_eq!(**text, *r#"{"counter type":"CFG_INSTRN_AVAILABLE_0";"ref cnt":4317;"value":16}"#);
    // 64 bits: reference count 4317, then value 16.
    assert_eq!(brisc.data[0], (4317 << 32) | 16);
    let is_counter = |head: &&RecordHead| head.kind() == PacketKind::TimestampedData;
    assert!(brisc.heads.iter().filter(is_counter).all(|head| head.zone().0 == 9090));
}

#[test]
fn a_log_with_run_ids_in_the_order_of_memory_is_brought_into_time_order() {
    let readout = read_device_log(log_of_json().as_bytes(), "mockDeviceLog").unwrap();
    assert_eq!(readout.anomalies.counts().count(), 0);
    let lane = &readout.devices[0].lanes[0];
    assert_eq!(lane.id.to_string(), "chip 0 core (18,18) BRISC");
    let runs: Vec<_> = lane.runs.iter().map(|run| (run.program.0, run.first_record)).collect();
    assert_eq!(runs, [(781, 0), (782, 4), (783, 6)]);
    // In the order of the lane, the end of the firmware is the second record. In time order, it is
    // the fourth record.
    let expected = [1_737_026_780_979, 1_737_026_782_009, 1_737_026_786_849, 1_737_026_821_746];
    assert_eq!(lane.times[..4], expected);
    let origins: Vec<_> = lane.runs.iter().map(|run| run.origin).collect();
    assert_eq!(origins, [3, 7, 9]);
}
