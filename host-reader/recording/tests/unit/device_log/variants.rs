//! Every format of the log, its peculiarities, and the messages about bad lines.

use super::{
    LogError,
    blocks::{Blocks, LINE_BYTES_MAX},
    read::read_blocks,
    read_device_log, read_device_log_file, write_device_log, write_device_log_file,
};
use reader::{
    anomaly::AnomalyKind,
    lane::{Lane, TraceReplay},
    ledger::UncountedSource,
    packed_bytes::PackedMemory,
    readout::{LogSeam, Readout},
};
use wire::{PacketKind, Risc};

const CHIP: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64";
const TITLES: &str = "PCIe slot, core_x, core_y, RISC processor type, timer_id, \
    time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, \
    source line, source file, meta data";

fn read(text: &str) -> Readout {
    read_device_log(text.as_bytes(), "test.csv").unwrap()
}

/// A log in the current format with the given lines.
fn current(lines: &[&str]) -> String {
    format!("{CHIP}\n{TITLES}\n{}\n", lines.join("\n"))
}

fn only_lane(readout: &Readout) -> &Lane {
    assert_eq!(readout.lanes().count(), 1);
    readout.lanes().next().unwrap()
}

/// Kind, name and time of each record.
fn records(readout: &Readout) -> Vec<(PacketKind, String, u64)> {
    let lanes = readout.lanes();
    let records = lanes.flat_map(Lane::records);
    let name = |zone| readout.zones.name(zone).to_owned();
    records.map(|record| (record.kind, name(record.zone), record.time)).collect()
}

#[test]
fn the_15_columns_of_today_are_read() {
    let readout = read(&current(&[
        "1,1,2,ERISC,42,11231607915136,0,3073,,,,TS_EVENT,0,,",
        "1,1,2,ERISC,22751,11231607915072,4294967298,3073,5,2,MY-DATA,TS_DATA,14,/k/r.cpp,",
    ]));
    let lane = only_lane(&readout);
    assert_eq!((lane.id.chip_id, lane.id.risc), (1, Risc::Erisc));
    assert_eq!(lane.times, [11_231_607_915_072, 11_231_607_915_136]);
    assert_eq!(lane.data, [0x0000_0001_0000_0002]);
    assert_eq!(lane.runs[0].trace, Some(TraceReplay { trace_id: 5, counter: 2 }));
    assert_eq!((lane.runs[1].trace, lane.runs[1].program.0), (None, 3073));
}

#[test]
fn the_13_columns_of_july_2025_are_read() {
    let readout = read(
        "ARCH: blackhole, CHIP_FREQ[MHz]: 1350\n\
         PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID,  zone name, type, source line, source file, meta data\n\
         0,1,2,TRISC_0,9,50,77,2048,SUM,ZONE_TOTAL,4,/k.cpp,{\"sub_device_id\":0;\"sub_device_manager_id\":1}\n",
    );
    let lane = only_lane(&readout);
    assert_eq!((lane.data.as_slice(), lane.runs[0].program.0), (&[77][..], 2048));
    assert_eq!(*lane.metadata[0].1, *r#"{"sub_device_id":0;"sub_device_manager_id":1}"#);
    assert_eq!(readout.devices[0].chip.max_compute_cores, None);
}

#[test]
fn the_14_columns_of_april_2025_are_read() {
    let readout = read(
        "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n\
         PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run ID, run host ID,  zone name, type, source line, source file, meta data\n\
         0,1,2,BRISC,9,50,0,0,1024,A,ZONE_START,4,/k.cpp,\n\
         0,1,2,BRISC,9,60,0,0,1024,A,ZONE_END,4,/k.cpp,\n\
         0,1,2,BRISC,9,70,0,1,1024,A,ZONE_START,4,/k.cpp,\n",
    );
    let runs: Vec<_> = only_lane(&readout).runs.iter().map(|run| run.first_record).collect();
    assert_eq!(runs, [0, 2], "another run ID is another run");
}

#[test]
fn the_13_columns_of_september_2024_are_read() {
    let readout = read(
        "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n\
         PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], stat value, run ID, run host ID,  zone name, zone phase, source line, source file\n\
         0,1,2,BRISC,9,50,0,3,1024,A,begin,4,/k.cpp\n\
         0,1,2,BRISC,65545,60,0,3,1024,A,end,4,/k.cpp\n\
         0,1,2,BRISC,131080,50,33,3,1024,S,sum,5,/k.cpp\n",
    );
    let expected = [
        (PacketKind::ZoneStart, "A".to_owned(), 50),
        (PacketKind::ZoneTotal, "S".to_owned(), 50),
        (PacketKind::ZoneEnd, "A".to_owned(), 60),
    ];
    assert_eq!(records(&readout), expected);
    let ids: Vec<_> = only_lane(&readout).heads.iter().map(|head| head.zone().0).collect();
    assert_eq!(ids, [9, 8, 9]);
}

#[test]
fn the_12_columns_of_the_documentation_are_read() {
    let readout = read(
        "Chip clock is at 1202 MHz\n\
         PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], stat value, Run ID, zone name, zone phase, source line, source file\n\
         0, 1, 1, BRISC, 1, 100, 0, 6, BRISC-FW, begin, 4, /fw.cc\n",
    );
    assert_eq!(only_lane(&readout).runs[0].program.0, 6, "the run ID stands for the program");
    assert_eq!(readout.devices[0].chip.aiclk_mhz, 1202);
}

#[test]
fn columns_that_nobody_knows_are_passed_over() {
    let readout = read(
        "ARCH: blackhole, CHIP_FREQ[MHz]: 1350, Max Compute Cores: 0\n\
         PCIe slot, core_x, core_y, logical_x, logical_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data\n\
         0, 1, 2, 0, 0, NCRISC, 9, 50, 0, 7, , , A, ZONE_START, 4, /k.cpp, \n",
    );
    assert_eq!(records(&readout), [(PacketKind::ZoneStart, "A".to_owned(), 50)]);
}

/// The form of the streaming profiler of TT-Metal 0.81: the process in the program's column, the
/// program in the trace's column, and logical coordinates at the end.
#[test]
fn a_streaming_log_has_its_programs_where_others_have_traces() {
    let lines: String = [(1024, "BRISC-FW"), (1024, "A"), (2048, "BRISC-FW"), (2048, "A")]
        .iter()
        .zip((100..).step_by(100))
        .flat_map(|(&(program, name), start)| {
            [(start, "ZONE_START"), (start + 50, "ZONE_END")].map(|(time, kind)| {
                format!(
                    "0, 1, 2, BRISC, 0, {time}, 0, 4242, {program}, 0, {name}, {kind}, 0, \
                     streaming, , 0, 0\n"
                )
            })
        })
        .collect();
    let readout = read(&format!(
        "ARCH: blackhole, CHIP_FREQ[MHz]: 1350, Max Compute Cores: 0\n\
         PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data, logical_x, logical_y\n\
         {lines}\
         0, 1, 2, BRISC, 4000000000, 900, 0, 4242, 2048, 0, MARK, TS_EVENT, 0, streaming, , 0, 0\n\
         0, 1, 2, BRISC, 4000000000, 950, 7, 4242, 2048, 0, , TS_DATA, 0, streaming, , 0, 0\n"
    ));
    assert_eq!(readout.devices[0].chip.max_compute_cores, None);
    let programs = only_lane(&readout).runs.iter().map(|run| (run.program.0, run.trace));
    assert_eq!(Vec::from_iter(programs), [(1024, None), (2048, None)]);
    let names: Vec<_> = records(&readout).into_iter().map(|(_, name, _)| name).collect();
    let zones = ["BRISC-FW", "BRISC-FW", "A", "A"];
    assert_eq!(names, [&zones[..], &zones[..], &["MARK"]].concat());
    // Column 1 is the first worker column that is not harvested.
    assert_eq!(readout.devices[0].chip.known_lines, [(0, 1)].into());
    // The last line is malformed: its id is a hash of a name, but it has no name.
    assert_eq!(readout.anomalies.count(AnomalyKind::MalformedLine), 1);
}

/// The third row that is not harvested is row 5, and the size of the grid is unknown. Both stay
/// true if the log is read and written again.
#[test]
fn logical_coordinates_and_an_unknown_grid_are_written_as_they_were_read() {
    let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n\
         PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data, logical_x, logical_y\n\
         0,4,5,BRISC,9,50,0,1024,,,A,ZONE_START,4,/k.cpp,,3,2\n\
         0,9,0,ERISC,9,70,0,1024,,,A,ZONE_START,4,/k.cpp,,,\n";
    let readout = read(log);
    assert_eq!(readout.devices[0].chip.known_lines, [(2, 5)].into());
    assert_eq!(readout.devices[0].lanes[0].runs[0].program.0, 1024, "no streaming log");
    let mut text = Vec::new();
    write_device_log(&readout, &mut text).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), log);
}

#[test]
fn line_ends_blank_lines_and_a_mark_in_front_do_not_matter() {
    let lines = ["", "0,1,2,BRISC,9,50,0,0,,,A,ZONE_START,4,/k.cpp,", "  ", "\t", ""];
    let text = current(&lines).replace('\n', "\r\n");
    assert_eq!(read(&format!("\u{FEFF}{text}")).record_count(), 1);
    assert_eq!(read(text.trim_end()).record_count(), 1);
    assert_eq!(read(&text).anomalies.anomaly_count(), 0);
}

#[test]
fn quoted_fields_keep_their_commas() {
    let readout = read(&current(&[
        r#""0","1","2","BRISC","9","50","0","0","","","copy a,b","ZONE_START","4","/k,1.cpp","""#,
        r#"0,1,2,BRISC,9,60,0,0,,,"copy a,b",ZONE_END,4,"/k,1.cpp","{""a"":1;""b"":2}""#,
    ]));
    assert_eq!(records(&readout)[1], (PacketKind::ZoneEnd, "copy a,b".to_owned(), 60));
    let lane = only_lane(&readout);
    assert_eq!(readout.zones.sources(lane.heads[0].zone())[0].file, "/k,1.cpp");
    assert_eq!(*lane.metadata[0].1, *r#"{"a":1;"b":2}"#);
}

#[test]
fn lines_of_several_chips_and_lanes_may_alternate() {
    let mut lines = Vec::new();
    for time in (0..50).rev() {
        for (chip, risc) in [(1, "NCRISC"), (0, "TRISC_1"), (1, "BRISC")] {
            lines.push(format!("{chip},1,2,{risc},9,{time},0,0,,,A,TS_EVENT,4,/k.cpp,"));
        }
    }
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let readout = read(&current(&lines));
    let lanes: Vec<_> = readout.lanes().map(|lane| lane.id.to_string()).collect();
    assert_eq!(
        lanes,
        ["chip 0 core (1,2) TRISC_1", "chip 1 core (1,2) BRISC", "chip 1 core (1,2) NCRISC"]
    );
    assert_eq!(readout.devices.len(), 2);
    assert!(readout.lanes().all(|lane| lane.times.iter().copied().eq(0..50)));
}

#[test]
fn joined_logs_are_one_log_that_says_where_they_meet() {
    let log = current(&["0,1,2,BRISC,9,50,0,0,,,A,ZONE_START,4,/k.cpp,"]);
    let readout = read(&[log.as_str(), log.as_str()].concat());
    assert_eq!((readout.record_count(), readout.anomalies.anomaly_count()), (2, 1));
    let [anomaly] = readout.anomalies.kept() else { panic!("{:?}", readout.anomalies) };
    assert_eq!((anomaly.kind, anomaly.position), (AnomalyKind::JoinedLog, 4));
    let seam = |first_cycle, last_cycle| vec![LogSeam { chip_id: 0, first_cycle, last_cycle }];
    assert_eq!(readout.seams, seam(50, 50));
    let other = log.replace("1000", "1350").replace(",50,", ",70,");
    let readout = read(&[log.as_str(), other.as_str()].concat());
    assert_eq!(readout.anomalies.count(AnomalyKind::MalformedLine), 1);
    assert_eq!(readout.anomalies.kept()[0].position, 4);
    assert_eq!(readout.seams, seam(50, 70));
    assert!(read(&log).seams.is_empty());
}

#[test]
fn logs_meet_where_the_records_of_one_end_and_those_of_another_begin() {
    let log = |times: &[u64]| {
        let line = |(at, time): (usize, &u64)| {
            format!("{},1,2,BRISC,9,{time},0,0,,,A,TS_EVENT,4,/k.cpp,", at % 2)
        };
        let lines: Vec<_> = times.iter().enumerate().map(line).collect();
        current(&lines.iter().map(String::as_str).collect::<Vec<_>>())
    };
    // Chip 0 has every other time: 10 to 30, then 100 to 120, and 20 to 25 after a reset.
    let joined =
        [log(&[10, 11, 30, 31]), log(&[100, 1, 120, 5]), log(&[20, 200, 25, 210])].concat();
    let seams: Vec<_> = read(&joined)
        .seams
        .iter()
        .map(|seam| (seam.chip_id, seam.first_cycle, seam.last_cycle))
        .collect();
    assert_eq!(seams, [(0, 20, 25), (0, 30, 100), (1, 5, 11), (1, 31, 200)]);
}

#[test]
fn each_bad_line_is_counted_and_kept_with_its_place() {
    let readout = read(&current(&[
        "0,1,2,BRISC,9,50,0,0,,,A,ZONE_START,4,/k.cpp,",
        "0,1,2,BRISC,9,soon,0,0,,,A,ZONE_END,4,/k.cpp,",
        "0,1,2,BRISC,9,60,0,0,,,A,ZONE_END,4,/k.cpp,",
        "0,1,2,BRISC,9,70,0,0",
    ]));
    assert_eq!(readout.record_count(), 2);
    let kept: Vec<_> = readout
        .anomalies
        .kept()
        .iter()
        .map(|anomaly| (anomaly.kind, anomaly.position, anomaly.detail.as_str()))
        .collect();
    let kind = AnomalyKind::MalformedLine;
    let number = "column `time[cycles since reset]`: expected a whole number, found `soon`";
    assert_eq!(kept, [(kind, 4, number), (kind, 6, "expected 15 columns, found 8")]);
}

#[test]
fn text_that_is_not_utf_8_is_a_bad_line() {
    let mut log = current(&["0,1,2,BRISC,9,50,0,0,,,A,ZONE_START,4,/k.cpp,"]).into_bytes();
    log.extend(b"0,1,2,BRISC,9,60,0,0,,,\xFF,ZONE_END,4,/k.cpp,\n");
    log.extend("0,1,2,BRISC,9,70,0,0,,,größe,ZONE_START,4,/k.cpp,\n".as_bytes());
    let readout = read_device_log(log.as_slice(), "test.csv").unwrap();
    assert_eq!(records(&readout)[1].1, "größe");
    assert_eq!(readout.anomalies.kept()[0].detail, "expected UTF-8 text");
}

#[test]
fn riscs_without_a_lane_are_counted_by_name() {
    let line = |risc: &str, time: u32| format!("0,1,2,{risc},9,{time},0,0,,,A,TS_EVENT,4,/k.cpp,");
    let lines = [
        line("CORE_AGG", 1),
        line("QUASAR_DM8", 2),
        line("QUASAR_NEO1_TRISC4", 3),
        line("QUASAR_DM8", 4),
    ];
    let readout = read(&current(&lines.each_ref().map(String::as_str)));
    assert_eq!(only_lane(&readout).id.risc, Risc::TensixAggregate);
    assert_eq!(readout.anomalies.count(AnomalyKind::UnknownRisc), 3);
    let details: Vec<_> =
        readout.anomalies.kept().iter().map(|a| (a.position, a.detail.as_str())).collect();
    assert_eq!(
        details,
        [
            (4, "chip 0 core (1,2) RISC `QUASAR_DM8`: 2 lines left out"),
            (5, "chip 0 core (1,2) RISC `QUASAR_NEO1_TRISC4`: 1 line left out"),
        ]
    );
}

#[test]
fn lanes_of_a_quasar_are_read_and_written_like_any_other() {
    let mut lines = Vec::new();
    let dms = (0..8).map(|index| format!("QUASAR_DM{index}"));
    let triscs = (0..16).map(|index| format!("QUASAR_NEO{}_TRISC{}", index / 4, index % 4));
    let labels: Vec<String> = dms.chain(triscs).collect();
    for (time, label) in (10_u32..).step_by(10).zip(&labels) {
        let line = |time, kind| format!("0,1,2,{label},9,{time},0,1024,,,A,{kind},4,/k.cpp,");
        lines.extend([line(time, "ZONE_START"), line(time + 5, "ZONE_END")]);
    }
    let readout = read(&current(&lines.iter().map(String::as_str).collect::<Vec<_>>()));
    assert_eq!(readout.anomalies.kept(), []);
    let found: Vec<_> =
        readout.lanes().map(|lane| (lane.id.risc.label(), lane.times.clone())).collect();
    let expected: Vec<_> = (10_u64..)
        .step_by(10)
        .zip(&labels)
        .map(|(time, label)| (label.as_str(), vec![time, time + 5]))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_value_where_none_belongs_does_not_cost_the_line() {
    let readout = read(&current(&["0,1,2,BRISC,9,50,7,0,,,A,ZONE_START,4,/k.cpp,"]));
    assert_eq!(readout.record_count(), 1);
    assert_eq!(readout.anomalies.count(AnomalyKind::StrayValue), 1);
}

#[test]
fn a_first_line_that_never_ends_is_not_read_to_its_end() {
    struct Endless(usize);
    impl std::io::Read for Endless {
        fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
            bytes.fill(0);
            self.0 += bytes.len();
            assert!(self.0 <= 2 * LINE_BYTES_MAX, "{} bytes were read", self.0);
            Ok(bytes.len())
        }
    }
    let error = read_device_log(Endless(0), "test.kprof").unwrap_err();
    assert!(matches!(error, LogError::EndlessFirstLine { .. }), "{error}");
}

#[test]
fn a_first_line_longer_than_a_block_is_said_to_be_one() {
    let text = vec![b'A'; LINE_BYTES_MAX + 1];
    let error = read_device_log(text.as_slice(), "test.csv").unwrap_err();
    assert!(matches!(error, LogError::EndlessFirstLine { .. }), "{error}");
    assert!(error.to_string().contains("more than 16777216 bytes"), "{error}");
    let error = read_device_log(b"\n \n".as_slice(), "test.csv").unwrap_err();
    assert!(matches!(error, LogError::Empty { .. }), "{error}");
}

#[test]
fn a_line_longer_than_a_block_is_one_bad_line() {
    let mut text = current(&["0,1,2,BRISC,9,50,0,0,,,A,TS_EVENT,4,/k.cpp,"]);
    text.push_str(&"x".repeat(5000));
    text.push_str("\n0,1,2,BRISC,9,60,0,0,,,A,TS_EVENT,4,/k.cpp,\nbad\n");
    let blocks = Blocks::new(text.as_bytes(), 1024, 1024);
    let log = read_blocks(blocks, "test.csv", &PackedMemory::unlimited()).unwrap();
    let readout = log.into_readout().unwrap();
    assert_eq!(readout.record_count(), 2);
    let positions: Vec<_> = readout.anomalies.kept().iter().map(|a| a.position).collect();
    assert_eq!(positions, [4, 6]);
    let detail = &readout.anomalies.kept()[0].detail;
    assert_eq!(*detail, format!("expected at most {LINE_BYTES_MAX} bytes, found more"));
}

#[test]
fn events_do_not_borrow_the_name_of_a_zone_with_their_number() {
    let readout = read(&current(&[
        "0,1,2,BRISC,42,50,0,0,,,,TS_EVENT,0,,",
        "0,1,2,BRISC,42,60,0,0,,,A,ZONE_START,4,/k.cpp,",
        "0,1,2,BRISC,43,70,0,0,,,,TS_EVENT,0,,",
    ]));
    let names: Vec<_> = records(&readout).into_iter().map(|(_, name, _)| name).collect();
    assert_eq!(names, ["", "A", ""]);
    let lane = only_lane(&readout);
    let ids: Vec<_> = lane.heads.iter().map(|head| readout.zones.id(head.zone())).collect();
    assert_eq!(ids, [42, 42, 43]);
    assert_eq!(readout.zones.label(lane.heads[2].zone()), "id 43");
}

#[test]
fn a_program_that_is_launched_again_gets_a_run_of_its_own() {
    let readout = read(&current(&[
        "0,1,2,BRISC,7,100,0,1024,,,BRISC-FW,ZONE_START,1,/fw.cc,",
        "0,1,2,BRISC,7,200,0,1024,,,BRISC-FW,ZONE_END,1,/fw.cc,",
        "0,1,2,BRISC,9,290,5,1024,,,EARLY,TS_DATA,1,/k.cpp,",
        "0,1,2,BRISC,6,300,5,1024,,,SUM,ZONE_TOTAL,1,/k.cpp,",
        "0,1,2,BRISC,7,300,0,1024,,,BRISC-FW,ZONE_START,1,/fw.cc,",
        "0,1,2,BRISC,8,310,0,1024,,,MY-FW-STEP,ZONE_START,1,/k.cpp,",
        "0,1,2,BRISC,8,320,0,1024,,,MY-FW-STEP,ZONE_END,1,/k.cpp,",
        "0,1,2,BRISC,7,400,0,1024,,,BRISC-FW,ZONE_END,1,/fw.cc,",
        "0,1,2,BRISC,7,500,0,2048,,,BRISC-FW,ZONE_START,1,/fw.cc,",
    ]));
    let runs = &only_lane(&readout).runs;
    let firsts: Vec<_> = runs.iter().map(|run| (run.program.0, run.first_record)).collect();
    assert_eq!(firsts, [(1024, 0), (1024, 2), (2048, 8)]);
    assert_eq!(runs[1].origin, 5);
}

#[test]
fn a_lost_firmware_end_does_not_join_two_launches() {
    let readout = read(&current(&[
        "0,1,2,BRISC,7,100,0,1024,,,BRISC-FW,ZONE_START,1,/fw.cc,",
        "0,1,2,BRISC,7,300,0,1024,,,BRISC-FW,ZONE_START,1,/fw.cc,",
        "0,1,2,BRISC,7,400,0,1024,,,BRISC-FW,ZONE_END,1,/fw.cc,",
    ]));
    assert_eq!(only_lane(&readout).runs.len(), 2);
}

#[test]
fn relabelled_dispatch_zones_stay_in_their_launch() {
    let readout = read(&current(&[
        "0,1,2,BRISC,7,100,0,0,,,BRISC-FW,ZONE_START,1,/fw.cc,",
        "0,1,2,BRISC,9,110,0,1024,,,CQ-DISPATCH:1024,ZONE_START,1,/d.cpp,",
        "0,1,2,BRISC,9,120,0,0,,,CQ-DISPATCH:1024,ZONE_END,1,/d.cpp,",
        "0,1,2,BRISC,9,130,0,2048,,,CQ-DISPATCH:2048,ZONE_START,1,/d.cpp,",
        "0,1,2,BRISC,9,140,0,0,,,CQ-DISPATCH:2048,ZONE_END,1,/d.cpp,",
        "0,1,2,BRISC,7,200,0,0,,,BRISC-FW,ZONE_END,1,/fw.cc,",
    ]));
    assert_eq!(only_lane(&readout).runs.len(), 1);
    assert_eq!(readout.anomalies.count(AnomalyKind::RelabelledRecord), 2);
    assert_eq!(readout.anomalies.anomaly_count(), 0, "nothing is lost");
}

/// Lines of two RISCs of a core that ran program 1024 in replay 1 of trace 7, from cycle 100 to 190. The four
/// records of NCRISC have the labels `labels`.
fn replay_with(labels: [&str; 4]) -> Vec<String> {
    let brisc = ["7,100,BRISC-FW,ZONE_START", "8,110,BRISC-KERNEL,ZONE_START"];
    let brisc = brisc.into_iter().chain(["8,180,BRISC-KERNEL,ZONE_END", "7,190,BRISC-FW,ZONE_END"]);
    let ncrisc = ["17,102,NCRISC-FW,ZONE_START", "18,112,NCRISC-KERNEL,ZONE_START"];
    let ncrisc =
        ncrisc.into_iter().chain(["18,170,NCRISC-KERNEL,ZONE_END", "17,175,NCRISC-FW,ZONE_END"]);
    let line = |(risc, record, label): (&str, &str, &str)| {
        let [id, time, zone, kind] = record.split(',').collect::<Vec<_>>().try_into().unwrap();
        format!("0,1,2,{risc},{id},{time},0,{label},{zone},{kind},1,/k.cc,")
    };
    let brisc = brisc.map(|record| ("BRISC", record, "1024,7,1"));
    let ncrisc = ncrisc.zip(labels).map(|(record, label)| ("NCRISC", record, label));
    brisc.chain(ncrisc).map(line).collect()
}

/// Program of a run, and its trace and replay.
type RunOfTrace = (u32, Option<(u64, u64)>);

/// Returns the runs of NCRISC, and the number of records that lack a trace.
fn ncrisc_runs(lines: &[String]) -> (Vec<RunOfTrace>, u64) {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let readout = read(&current(&lines));
    let lane = readout.lanes().find(|lane| lane.id.risc == wire::Risc::Ncrisc).unwrap();
    let runs = lane
        .runs
        .iter()
        .map(|run| (run.program.0, run.trace.map(|replay| (replay.trace_id, replay.counter))));
    assert_eq!(readout.anomalies.count(AnomalyKind::RelabelledRecord), 0);
    assert_eq!(readout.anomalies.anomaly_count(), 0, "a repair is no anomaly");
    (runs.collect(), readout.anomalies.count(AnomalyKind::UntracedRecord))
}

#[test]
fn a_run_in_which_some_records_lack_the_trace_id_is_one_run_of_the_replay() {
    let (with, without) = ("1024,7,1", "1024,,");
    // All mixtures in which at least one record names the replay, and one does not.
    for mixture in 1_u64..15 {
        let label = |record: u64| if mixture >> record & 1 == 0 { without } else { with };
        let found = ncrisc_runs(&replay_with([0, 1, 2, 3].map(label)));
        let untraced = u64::from(4 - mixture.count_ones());
        assert_eq!(found, (vec![(1024, Some((7, 1)))], untraced), "{mixture:04b}");
    }
    assert_eq!(ncrisc_runs(&replay_with([with; 4])), (vec![(1024, Some((7, 1)))], 0));
    // Without any trace id it is the core's other RISC that tells, not the lane.
    assert_eq!(ncrisc_runs(&replay_with([without; 4])), (vec![(1024, None)], 0));
}

#[test]
fn launches_in_a_trace_and_outside_of_it_stay_apart() {
    let line = |label: &str, record: &str| {
        let [id, time, zone, kind] = record.split(',').collect::<Vec<_>>().try_into().unwrap();
        format!("0,1,2,NCRISC,{id},{time},0,{label},{zone},{kind},1,/k.cc,")
    };
    let launch = |label: &str, start: u64| {
        [
            (17, 0, "FW", "START"),
            (18, 5, "KERNEL", "START"),
            (18, 60, "KERNEL", "END"),
            (17, 70, "FW", "END"),
        ]
        .map(|(id, after, zone, kind)| {
            let time = start + after;
            line(label, &format!("{id},{time},NCRISC-{zone},ZONE_{kind}"))
        })
        .to_vec()
    };
    let (none, first, second) = ("1024,,", "1024,7,1", "1024,7,2");
    let apart = [launch(none, 100), launch(first, 200), launch(none, 300), launch(second, 400)];
    let (before, one, two) = ((1024, None), (1024, Some((7, 1))), (1024, Some((7, 2))));
    assert_eq!(ncrisc_runs(&apart.concat()), (vec![before, one, before, two], 0));

    // The end of the first firmware zone and the start of the second are lost: two kernels are two launches.
    for (a, b, runs) in [(none, first, [before, one]), (first, none, [one, before])] {
        let (mut cut, rest) = (launch(a, 100), launch(b, 200));
        cut.truncate(3);
        cut.extend_from_slice(&rest[1..]);
        let lines: Vec<&str> = cut.iter().map(String::as_str).collect();
        let readout = read(&current(&lines));
        let lane = readout.lanes().next().unwrap();
        let found = lane
            .runs
            .iter()
            .map(|run| (run.program.0, run.trace.map(|replay| (replay.trace_id, replay.counter))));
        assert_eq!(found.collect::<Vec<_>>(), runs);
        assert_eq!(readout.anomalies.count(AnomalyKind::UntracedRecord), 0);
    }

    // Records that name two replays are of two launches.
    let mut torn = launch(first, 100);
    torn[2] = torn[2].replace("7,1", "7,2");
    torn[3] = torn[3].replace("7,1", "7,2");
    let lines: Vec<&str> = torn.iter().map(String::as_str).collect();
    assert_eq!(read(&current(&lines)).lanes().next().unwrap().runs.len(), 2);
}

#[test]
fn times_that_begin_again_within_the_log_go_on() {
    let period = 1_u64 << 44;
    let log = |times: [u64; 4]| {
        let [one, two, three, four] = times.map(|time| time % period);
        current(&[
            &format!("0,1,2,BRISC,7,{one},0,1024,,,BRISC-FW,ZONE_START,1,/fw.cc,"),
            &format!("0,1,2,BRISC,7,{two},0,1024,,,BRISC-FW,ZONE_END,1,/fw.cc,"),
            &format!("0,1,2,BRISC,7,{three},0,2048,,,BRISC-FW,ZONE_START,1,/fw.cc,"),
            &format!("0,1,2,BRISC,7,{four},0,2048,,,BRISC-FW,ZONE_END,1,/fw.cc,"),
            // A RISC that recorded nothing before.
            &format!("0,1,2,NCRISC,8,{three},0,2048,,,NCRISC-FW,ZONE_START,1,/fw.cc,"),
            &format!("0,1,2,NCRISC,8,{four},0,2048,,,NCRISC-FW,ZONE_END,1,/fw.cc,"),
            // A chip whose times do not.
            &format!("1,1,2,BRISC,7,{three},0,2048,,,BRISC-FW,ZONE_START,1,/fw.cc,"),
            &format!("1,1,2,BRISC,7,{four},0,2048,,,BRISC-FW,ZONE_END,1,/fw.cc,"),
        ])
    };
    for wrap in 0..3 {
        // The times begin again before the second, third or fourth record.
        let times = [10_u64, 20, 30, 40].map(|time| period + time - 10 * wrap - 15);
        let readout = read(&log(times));
        let found: Vec<&[u64]> = readout.lanes().map(|lane| &lane.times[..]).collect();
        let later = [times[2] % period, times[3] % period];
        let on_chip_1 = if wrap == 2 { [later[0], later[1] + period] } else { later };
        assert_eq!(found, [&times[..], &times[2..], &on_chip_1[..]], "{wrap}");
        assert!(readout.lanes().all(|lane| lane.runs.len() <= 2));
    }
}

#[test]
fn a_file_that_is_no_device_log_is_refused_with_advice() {
    let error = |text: &str| read_device_log(text.as_bytes(), "x.csv").unwrap_err().to_string();
    assert!(matches!(read_device_log(&b"\n \r\n"[..], "x.csv"), Err(LogError::Empty { .. })));
    assert!(error("").starts_with("x.csv: expected a device log, found an empty file"));
    assert_eq!(
        error("\nGLOBAL CALL COUNT,DEVICE ID\n1,2\n"),
        "x.csv, line 2: expected `ARCH: <name>, CHIP_FREQ[MHz]: <number>`, found \
         other text of 27 bytes; name the profile_log_device.csv of a run"
    );
    // A data frame writes a column of numbers before its titles.
    assert_eq!(
        error(&format!(",{TITLES}\n0,1\n")),
        format!(
            "x.csv, line 1: expected `ARCH: <name>, CHIP_FREQ[MHz]: <number>`, found the titles of {} \
             bytes; restore that line above them",
            TITLES.len() + 1
        )
    );
    assert_eq!(
        error("ARCH: x, CHIP_FREQ[MHz]: 1\na,b\n"),
        "x.csv, line 2: expected column titles with `PCIe slot`, found `a,b`; restore the title \
         line that the profiler wrote"
    );
    assert!(matches!(read_device_log(CHIP.as_bytes(), "x"), Err(LogError::Titles { .. })));
    let timers =
        format!("{CHIP}\nPCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles]\n");
    let refused = read_device_log(timers.as_bytes(), "x").unwrap_err().to_string();
    assert!(refused.contains("before 2024 have timers without zones"), "{refused}");
}

#[test]
fn a_log_without_lines_is_an_empty_readout_whose_losses_are_not_known() {
    let mut expected = Readout::default();
    expected.losses.note_uncounted(UncountedSource::TtMetalLog);
    assert_eq!(read(&current(&[])), expected);
}

#[test]
fn a_missing_file_is_named() {
    let error = read_device_log_file("no/such/log.csv").unwrap_err();
    assert_eq!(error.to_string(), "cannot open no/such/log.csv");
    let error = write_device_log_file("no/such/log.csv", &Readout::default()).unwrap_err();
    assert_eq!(error.to_string(), "cannot write no/such/log.csv");
}
