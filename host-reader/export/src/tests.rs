//! Tests of each format's content, with logs of known cycles and with arbitrary logs.

use super::{ExportFormat, Recording, Trace, TraceFilter};
use captures::read_capture;
use host_events::{HostColor, HostEvent, HostEventKind, HostRecording, HostSource, HostThread};
use proptest::prelude::*;
use reader::{
    lane::{Lane, LaneId, RecordHead, ZoneIndex},
    ledger::{LossCause, LossKey, LossTotals, UncountedSource},
    mesh::Noc0Coord,
    readout::{ChipSummary, DeviceReadout, Readout},
};
use recording::device_log::read_device_log;
use serde_json::Value;
use std::collections::BTreeMap;
use wire::{PacketKind, Risc, RunHostId};

/// A kernel that loads twice, with a name that needs escaping, a value, and a zone without an end.
pub(super) const LOG: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 500
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,trace id,trace id counter,zone name,type,source line,source file,meta data
0,1,2,BRISC,8,1001,0,1024,,,BRISC-KERNEL,ZONE_START,10,/k/a.cc,
0,1,2,BRISC,9,1010,0,1024,,,Load;x,ZONE_START,12,/k/a.cc,
0,1,2,BRISC,9,1040,0,1024,,,Load;x,ZONE_END,12,/k/a.cc,
0,1,2,BRISC,12,1045,77,1024,,,,TS_DATA,0,,
0,1,2,BRISC,9,1050,0,1024,,,Load;x,ZONE_START,12,/k/a.cc,
0,1,2,BRISC,8,1101,0,1024,,,BRISC-KERNEL,ZONE_END,10,/k/a.cc,
";

pub(super) fn exported(readout: &Readout, format: ExportFormat) -> String {
    exported_with_host(readout, &[], format)
}

pub(super) fn exported_with_host(
    readout: &Readout,
    recordings: &[HostRecording],
    format: ExportFormat,
) -> String {
    let host = recordings.to_vec();
    let recording = Recording { host, ..Recording::from_readout(readout.clone()) };
    let trace = Trace::new(&recording, &TraceFilter::default());
    let (mut out, mut lanes) = (Vec::new(), 0);
    format.write(&trace, &mut out, &mut |done| lanes = done).unwrap();
    assert_eq!(lanes, trace.lane_count());
    String::from_utf8(out).unwrap()
}

pub(super) fn readout() -> Readout {
    let mut readout = read_device_log(LOG.as_bytes(), "test").unwrap();
    let key = LossKey {
        lane: readout.devices[0].lanes[0].id,
        cause: LossCause::L1Full,
        program: Some(RunHostId(1024)),
    };
    readout.losses.record(key, LossTotals { zones: 25, ..LossTotals::default() });
    readout
}

/// Returns a thread that runs for 1000 ns, including 300 ns of enqueueing, with a message, a frame
/// and a plot. The thread's clock starts at 1000 ns. The message is orange, the inner zone is blue.
pub(super) fn host_recording() -> HostRecording {
    use HostEventKind::{FrameMark, Message, Plot, Zone};
    let event = |source, time_ns, kind, text: Option<&str>| HostEvent {
        source,
        time_ns,
        kind,
        text: text.map(Into::into),
        color: None,
    };
    let mut events = vec![
        event(3, 1_000, Plot { value: 1.5 }, None),
        event(2, 1_300, Message, Some("hello")),
        event(1, 1_200, Zone { end_ns: 1_500, depth: 1 }, Some("id:1024")),
        event(3, 1_500, Plot { value: -2.5 }, None),
        event(0, 1_000, Zone { end_ns: 2_000, depth: 0 }, None),
        event(4, 2_000, FrameMark, None),
    ];
    events[1].color = HostColor::from_rgb(0xFF_8000);
    events[2].color = HostColor::from_rgb(0x00_00AB);
    HostRecording {
        process_id: 7,
        sources: vec![
            HostSource::new("Run;all", "demo", "/h/main.rs", 3),
            HostSource::new("Enqueue", "demo", "/h/queue.rs", 4),
            HostSource::new("", "demo", "/h/queue.rs", 5),
            HostSource::from_name("queued"),
            HostSource::new("token", "demo", "/h/main.rs", 6),
        ],
        threads: vec![HostThread {
            number: 1,
            name: "main".to_owned(),
            events,
            ..HostThread::default()
        }],
        ..HostRecording::default()
    }
}

#[test]
fn folded_stacks_of_the_host_hold_nanoseconds_and_follow_those_of_lanes() {
    let alone = exported(&readout(), ExportFormat::FOLDED);
    let folded = exported_with_host(&readout(), &[host_recording()], ExportFormat::FOLDED);
    let lane_lines = alone.split_inclusive("\n").filter(|line| !line.starts_with('['));
    let host_lines = folded.strip_prefix(&lane_lines.collect::<String>()).unwrap();
    let expected = "\
host (ns);main 7.1;Run_all 700
host (ns);main 7.1;Run_all;Enqueue 300
[losses unknown] 0
[anomaly start without end 1] 0
[host is not on clock of chips 1] 0
";
    assert_eq!(host_lines, expected);
}

#[test]
fn chromes_events_of_the_host_tell_their_colours() {
    let text = exported_with_host(&readout(), &[host_recording()], ExportFormat::CHROME);
    let json: Value = serde_json::from_str(&text).unwrap();
    let events = json["traceEvents"].as_array().unwrap().iter();
    let colors: Vec<_> = events
        .filter_map(|event| Some((event["name"].as_str()?, event["args"].get("color")?.as_str()?)))
        .collect();
    assert_eq!(colors, [("Enqueue", "#0000ab"), ("hello", "#ff8000")]);
}

#[test]
fn folded_stacks_hold_the_cycles_of_the_innermost_zone() {
    let expected = "\
device 0 wormhole_b0;1-2;BRISC;BRISC-KERNEL 19
device 0 wormhole_b0;1-2;BRISC;BRISC-KERNEL;[unknown] 51
device 0 wormhole_b0;1-2;BRISC;BRISC-KERNEL;Load_x 30
device 0 wormhole_b0;1-2;BRISC;BRISC-KERNEL;Load_x;[open 1] 0
device 0 wormhole_b0;1-2;BRISC;[lost 25 zones: L1 full] 0
[losses unknown] 0
[anomaly start without end 1] 0
";
    assert_eq!(exported(&readout(), ExportFormat::FOLDED), expected);
}

/// Chips of a log have clocks of their own, which a viewer shows on one axis: their names say so.
#[test]
fn a_chip_whose_times_do_not_compare_says_so_beside_others() {
    let names = |readout: &Readout| {
        let json: Value = serde_json::from_str(&exported(readout, ExportFormat::CHROME)).unwrap();
        let own =
            json["traceEvents"].as_array().unwrap().iter().filter(|event| {
                event["name"] == "process_name" || event["name"] == "process_labels"
            });
        let texts = own.map(|event| {
            let text = event["args"]["name"].as_str().or(event["args"]["labels"].as_str());
            (event["pid"].as_u64().unwrap(), text.unwrap().to_owned())
        });
        texts.collect::<Vec<_>>()
    };
    let mut readout = readout();
    assert_eq!(names(&readout), [(0, "device 0 wormhole_b0".to_owned())]);
    let mut other = readout.devices[0].clone();
    other.chip.chip_id = 1;
    readout.devices.push(other);
    let label = "starts at its first record: times do not compare with other chips".to_owned();
    let expected = [0, 1].map(|chip| {
        [(chip, format!("device {chip} wormhole_b0 (own clock)")), (chip, label.clone())]
    });
    assert_eq!(names(&readout), expected.concat());
}

/// Returns two cores with the same activity. The first core lost zones of forty programs.
fn two_cores() -> Readout {
    let mut readout = readout();
    let device = &mut readout.devices[0];
    let mut other = device.lanes[0].clone();
    other.id.core.x += 1;
    device.lanes.push(other);
    let lane = device.lanes[0].id;
    for program in 2..42 {
        let key = LossKey { lane, cause: LossCause::L1Full, program: Some(RunHostId(program)) };
        readout.losses.record(key, LossTotals { zones: 1, ..LossTotals::default() });
    }
    let key = LossKey { lane, cause: LossCause::DramFull, program: None };
    readout.losses.record(key, LossTotals::at_least_markers(7));
    readout
}

#[test]
fn folded_stacks_of_a_chip_add_up_its_cores() {
    let expected = "\
device 0 wormhole_b0;BRISC;BRISC-KERNEL 38
device 0 wormhole_b0;BRISC;BRISC-KERNEL;[unknown] 102
device 0 wormhole_b0;BRISC;BRISC-KERNEL;Load_x 60
device 0 wormhole_b0;BRISC;BRISC-KERNEL;Load_x;[open 2] 0
[lost zones 65] 0
[lost unknown markers 7] 0
[lost counts are lower bounds 1] 0
[losses unknown] 0
[anomaly start without end 2] 0
";
    assert_eq!(exported(&two_cores(), ExportFormat::FOLDED_CHIP), expected);
}

#[test]
fn a_lane_says_once_what_it_lost_of_many_programs() {
    let label = "lost 65 zones: L1 full; lost at least 7 unknown markers: DRAM full";
    let folded = exported(&two_cores(), ExportFormat::FOLDED);
    let losses: Vec<_> = folded.lines().filter(|line| line.contains("lost")).collect();
    let expected = format!("device 0 wormhole_b0;1-2;BRISC;[{}] 0", label.replace(';', "_"));
    assert_eq!(losses, [expected]);
}

#[test]
fn folded_stacks_say_that_losses_were_not_counted() {
    let mut readout = readout();
    readout.losses.note_uncounted(UncountedSource::DamagedCapture);
    for format in [ExportFormat::FOLDED, ExportFormat::FOLDED_CHIP] {
        let folded = exported(&readout, format);
        let said = folded.lines().filter(|line| *line == "[losses unknown] 0");
        assert_eq!(said.count(), 1, "{folded}");
        // Every line is a stack followed by a count.
        for line in folded.lines() {
            let (stack, count) = line.rsplit_once(' ').unwrap();
            assert!(!stack.is_empty() && count.parse::<u64>().is_ok(), "{line}");
        }
    }
}

#[test]
fn ops_behind_hidden_ones_have_no_time_since_the_op_before() {
    let mut log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\nPCIe slot,core_x,core_y,\
        RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type\n"
        .to_owned();
    for (program, start) in [(1024, 1_000), (2048, 2_000), (3072, 3_000), (4096, 4_000)] {
        for (time, id, zone, kind) in [
            (start - 10, 1, "FW", "START"),
            (start, 2, "KERNEL", "START"),
            (start + 100, 2, "KERNEL", "END"),
            (start + 110, 1, "FW", "END"),
        ] {
            let row = format!("0,1,1,BRISC,{id},{time},0,{program},BRISC-{zone},ZONE_{kind}\n");
            log.push_str(&row);
        }
    }
    let readout = recording::device_log::read_device_log(log.as_bytes(), "log").unwrap();
    let recording = Recording::from_readout(readout);
    let trace = Trace::new(&recording, &TraceFilter::default());
    assert_eq!(latencies(&trace), [Some(0), Some(900), Some(900), Some(900)]);
    let trace = Trace::new(&recording, &"op!=2".parse().unwrap());
    assert_eq!(latencies(&trace), [Some(0), None, Some(900)]);
    let doubts: Vec<_> = trace.devices[0].ops[1].doubts().collect();
    let because = ("latency_doubt", "launches before the op are hidden by a filter");
    assert_eq!(doubts, [because]);
}

fn latencies(trace: &Trace<'_>) -> Vec<Option<u64>> {
    let ops = trace.devices[0].ops.iter();
    ops.map(|op| op.figures.op_to_op_latency_cycles).collect()
}

fn events(json: &Value, phase: &str, category: &str) -> Vec<Value> {
    let events = json["traceEvents"].as_array().unwrap().iter();
    events.filter(|event| event["ph"] == phase && event["cat"] == category).cloned().collect()
}

#[test]
fn chrome_gets_microseconds_cycles_places_and_losses() {
    let json: Value = serde_json::from_str(&exported(&readout(), ExportFormat::CHROME)).unwrap();
    let zone = serde_json::json!({
        "ph": "X", "pid": 0, "tid": 1000, "ts": 0.018, "dur": 0.06, "name": "Load;x",
        "cat": "zone", "loc": "/k/a.cc:12",
        "args": { "start_cycle": 1010, "duration_cycles": 30, "run_host_id": 1024 },
    });
    assert_eq!(events(&json, "X", "zone")[1..], [zone]);
    let open = serde_json::json!({
        "ph": "i", "s": "t", "pid": 0, "tid": 1000, "ts": 0.098, "name": "Load;x",
        "cat": "zone", "loc": "/k/a.cc:12",
        "args": { "start_cycle": 1050, "run_host_id": 1024, "open": true },
    });
    assert_eq!(events(&json, "i", "zone"), [open]);
    let op = &events(&json, "X", "op")[0];
    assert_eq!((&op["name"], &op["dur"]), (&"program 1".into(), &0.2.into()));
    let value = &events(&json, "i", "data")[0];
    assert_eq!((&value["name"], &value["ts"]), (&"id 12".into(), &0.088.into()));
    assert_eq!(value["args"], serde_json::json!({ "cycle": 1045, "value": 77 }));
    let loss = &events(&json, "i", "loss")[0];
    assert_eq!((&loss["name"], &loss["ts"]), (&"lost 25 zones: L1 full".into(), &0.2.into()));
    let doubts = serde_json::json!({
        "lost_zones": 25,
        "losses_unknown_tt_metals_logs_do_not_record_losses": 1,
        "anomaly_start_without_end": 1,
    });
    assert_eq!(json["otherData"]["doubts"], doubts);
    let (begin, end) = (events(&json, "s", "launch"), events(&json, "f", "launch"));
    assert_eq!((begin.len(), &begin[0]["id"]), (1, &end[0]["id"]));
}

#[test]
fn real_captures_keep_their_counts_in_every_format() {
    let readout = read_capture("wormhole-counters-elw");
    let json: Value = serde_json::from_str(&exported(&readout, ExportFormat::CHROME)).unwrap();
    // 79 lines: 59 counters, and a start and an end for each of 10 zones.
    assert_eq!(events(&json, "X", "zone").len(), 10);
    assert_eq!(events(&json, "i", "data").len(), 59);
    let text = events(&json, "i", "data")[0]["args"]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("CFG_INSTRN_AVAILABLE_0"), "{text}");
}

/// Generates a lane with records of any kind at any time, in runs of any length.
pub(super) fn any_lane(risc: Risc) -> impl Strategy<Value = Lane> {
    let kind = prop_oneof![
        4 => Just(PacketKind::ZoneStart),
        4 => Just(PacketKind::ZoneEnd),
        1 => Just(PacketKind::TimestampedData),
        1 => Just(PacketKind::TimestampedEvent),
        1 => Just(PacketKind::ZoneTotal),
    ];
    let record = (kind, 0_u32..4, 0_u64..200, any::<bool>());
    proptest::collection::vec(record, 0..60).prop_map(move |records| {
        let core = Noc0Coord { x: 1, y: 1 };
        let mut lane = Lane::new(LaneId { chip_id: 0, core, risc });
        for (number, (kind, zone, time, begins_run)) in (1..).zip(records) {
            if begins_run && lane.runs.len() < 5 {
                lane.begin_run(RunHostId::encode(number, 0));
            }
            let head = RecordHead::new(kind, ZoneIndex(zone));
            lane.push(head, time, &[7, 8][..head.data_count()]);
        }
        lane
    })
}

pub(super) fn readout_of(lanes: Vec<Lane>) -> Readout {
    let chip = ChipSummary {
        chip_id: 0,
        arch: "any \"chip\"".into(),
        aiclk_mhz: 1350,
        max_compute_cores: None,
        known_lines: [].into(),
    };
    let device = DeviceReadout { chip, lanes, pending_runs: 0, discarded_launches: 0 };
    Readout { devices: vec![device], ..Readout::default() }
}

proptest! {
    #[test]
    fn every_zone_of_any_lane_is_an_event_of_chrome(lane in any_lane(Risc::Brisc)) {
        let start_count = lane.heads.iter().filter(|head| head.kind() == PacketKind::ZoneStart).count();
        let readout = readout_of(vec![lane]);
        let chrome: Value = serde_json::from_str(&exported(&readout, ExportFormat::CHROME)).unwrap();
        let zones = ["X", "i"].map(|phase| events(&chrome, phase, "zone").len());
        prop_assert_eq!(zones.iter().sum::<usize>(), start_count);
    }
}

/// Returns the names of a Chrome trace's instant events, and the number of occurrences of each.
fn instant_names(capture: &str) -> BTreeMap<String, usize> {
    let json = exported(&captures::read_capture(capture), ExportFormat::CHROME);
    let json: Value = serde_json::from_str(&json).unwrap();
    let mut names = BTreeMap::new();
    for event in json["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "i") {
        *names.entry(event["name"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    names
}

#[test]
fn chrome_names_points_by_what_they_mean() {
    // 8 reads and 8 writes of 256 bytes. In the log's data, the low byte is 1 for a read and 11 for
    // a write.
    let names = instant_names("wormhole-noc-256");
    let count = |part: &str| -> usize {
        names.iter().filter(|(name, _)| name.starts_with(part)).map(|(_, count)| count).sum()
    };
    assert_eq!((count("READ 256 B "), count("WRITE_ 256 B ")), (8, 8), "{names:?}");
    assert_eq!(count("id "), 0, "{names:?}");
    let names = instant_names("wormhole-counters-elw");
    assert!(names.contains_key("CFG_INSTRN_AVAILABLE_0"), "{names:?}");
    assert!(names.keys().all(|name| !name.starts_with("id ")), "{names:?}");
}
