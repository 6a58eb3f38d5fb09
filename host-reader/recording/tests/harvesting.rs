//! Harvested rows, as stated by files next to a device log.

use analysis::noc_events::{Noc, NocTraces, RawCoord, TileMap, TraceOptions};
use reader::anomaly::AnomalyKind;
use recording::Recording;
use std::{fs, path::Path};

const LOG: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,trace id,trace id counter,zone name,type,source line,source file,meta data
";
/// NoC event: a write of 256 bytes to the tile (18,21), which is in the fourth row that is not
/// harvested.
const EVENT: u64 = 0x0008_1100_0015_120B;

/// A descriptor in tt-umd's format, including keys that are not used here. Bits 3 and 9 of the mask
/// are rows 4 and 11.
const DESCRIPTOR: &str = "arch: {
   0: Wormhole,
}

ethernet_connections: [
   [{chip: 0, chan: 0}, {chip: 1, chan: 2}, {routing_enabled: true}],
]

chips_with_mmio: [
   0: 0,
]

# bit 0 = first tensix row
harvesting: {
   0: {noc_translation: true, harvest_mask: 520},
   1: {noc_translation: true, harvest_mask: 0, dram_harvesting_mask: 0},
}
";

/// A trace in TT-Metal's format. According to it, the fourth row that is not harvested is row 5.
const TRACE: &str = r#"[{"dx":1,"dy":5,"noc":"NOC_0","num_bytes":256,"proc":"BRISC",
"run_host_id":1024,"src_device_id":0,"sx":1,"sy":1,"timestamp":100,"type":"WRITE_","vc":1}]"#;

/// Loads the log with the given files next to it.
fn load(files: &[(&str, &str)], is_by_file: bool) -> Recording {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("profile_log_device.csv");
    fs::write(&log, format!("{LOG}0,1,1,BRISC,12345,100,{EVENT},1024,,,,TS_DATA,0,,\n")).unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let path: &Path = if is_by_file { &log } else { folder.path() };
    recording::load(path).unwrap().recordings.remove(0)
}

fn target_row(recording: &Recording) -> Option<i32> {
    let traces = NocTraces::from_readout(&recording.readout, |_, _| None, &TraceOptions::default());
    traces.programs[0].objects[0].dy
}

#[test]
fn a_cluster_descriptor_tells_which_rows_are_left() {
    assert_eq!(target_row(&load(&[], false)), None);
    for name in ["cluster_descriptor.yaml", "cluster_desc.yaml"] {
        for is_by_file in [false, true] {
            assert_eq!(target_row(&load(&[(name, DESCRIPTOR)], is_by_file)), Some(5));
        }
    }
    let other_chip = DESCRIPTOR.replace("   0: {noc", "   2: {noc");
    assert_eq!(target_row(&load(&[("cluster_desc.yaml", &other_chip)], false)), None);
}

#[test]
fn traces_of_the_same_run_tell_which_rows_are_left() {
    let name = "noc_trace_dev0_ID1024.json";
    for is_by_file in [false, true] {
        let recording = load(&[(name, TRACE)], is_by_file);
        assert_eq!(target_row(&recording), Some(5));
        // The trace shows that one of the rows 2 to 4 and one row after row 5 are harvested. It
        // does not show which rows these are.
        let map = TileMap::from_device(&recording.readout.devices[0]).unwrap();
        let row = |y| map.noc0(RawCoord { x: 18, y }, Noc::Noc0).map(|tile| tile.y);
        assert_eq!([row(18), row(20), row(26), row(27)], [Some(1), None, None, None]);
    }
    for other in [
        TRACE.replace("\"timestamp\":100", "\"timestamp\":101"),
        TRACE.replace("\"sy\":1", "\"sy\":2"),
        TRACE.replace("\"src_device_id\":0", "\"src_device_id\":1"),
        TRACE.replace("\"dy\":5", "\"dy\":6"),
    ] {
        assert_eq!(target_row(&load(&[(name, &other)], false)), None, "{other}");
    }
}

#[test]
fn a_descriptor_that_cannot_be_used_is_an_anomaly() {
    let too_many = DESCRIPTOR.replace("520", "1024");
    for (text, told) in [
        ("harvesting: {0: {harvest_mask: secret}}\n", "expected a cluster descriptor"),
        ("key: [secret\n", "expected a cluster descriptor"),
        (&too_many, "chip 0: expected a mask of 10 harvested lines, found 0x400"),
    ] {
        let recording = load(&[("cluster_descriptor.yaml", text)], false);
        let anomalies = &recording.readout.anomalies;
        assert_eq!(anomalies.count(AnomalyKind::MalformedLine), 1);
        let examples = format!("{anomalies:?}");
        assert!(examples.contains(told) && !examples.contains("secret"), "{examples}");
    }
}
