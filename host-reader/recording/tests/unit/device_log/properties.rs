//! Properties that hold for every log and every readout.

use super::{
    LogLine, blocks::Blocks, read::read_blocks, read_device_log, walk_device_log, write_device_log,
    write_device_log_file,
};
use captures::read_capture;
use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, proptest};
use reader::{
    anomaly::AnomalyKind,
    lane::{Lane, LaneId, RecordHead, Run, TraceReplay, ZoneIndex},
    mesh::Noc0Coord,
    names::{ZoneSource, ZoneTable},
    packed_bytes::PackedMemory,
    readout::{ChipSummary, DeviceReadout, Readout},
};
use wire::{PacketKind, Risc, RunHostId, ZoneId};

/// Names as in readouts of chips: found by id, with some ids unnamed.
fn zone_table() -> ZoneTable {
    let mut zones = ZoneTable::new();
    for (id, name) in [(1, "BRISC-FW"), (2, "BRISC-KERNEL"), (3, "load"), (4, "größe")] {
        zones.add(
            ZoneId(id),
            ZoneSource { name: name.into(), file: "/k/k.cpp".into(), line: id.into() },
        );
    }
    zones
}

/// Launches of a few programs on one lane, each from firmware start to end.
fn any_lane() -> impl Strategy<Value = Lane> {
    let kind = prop::sample::select(PacketKind::ALL[..5].to_vec());
    let records = prop::collection::vec((kind, 2_u32..7, 1_u64..9, any::<u64>()), 0..8);
    let run = (1_u32..4, any::<bool>(), records);
    let risc = prop::sample::select(Risc::ALL[..6].to_vec());
    let id = (0_u32..2, 0_u16..2, 0_u16..2, risc);
    (id, prop::collection::vec(run, 1..5)).prop_map(|((chip_id, x, y, risc), runs)| {
        let mut lane = Lane::new(LaneId { chip_id, core: Noc0Coord { x, y }, risc });
        let mut time = 1000;
        for (program, is_replay, records) in runs {
            lane.runs.push(Run {
                program: RunHostId::encode(program, chip_id),
                trace_counter: 0,
                trace: is_replay.then_some(TraceReplay { trace_id: 9, counter: 1 }),
                first_record: lane.record_count(),
                origin: 0,
                is_unfinished: false,
            });
            lane.push(RecordHead::new(PacketKind::ZoneStart, ZoneIndex(1)), time, &[]);
            for (kind, zone, pause, value) in records {
                time += pause;
                let head = RecordHead::new(kind, ZoneIndex(zone));
                lane.push(head, time, &[value, value][..head.data_count()]);
            }
            lane.push(RecordHead::new(PacketKind::ZoneEnd, ZoneIndex(1)), time + 1, &[]);
            time += 2;
        }
        lane
    })
}

fn any_readout() -> impl Strategy<Value = Readout> {
    prop::collection::vec(any_lane(), 1..8).prop_map(|mut lanes| {
        lanes.sort_by_key(|lane| lane.id);
        lanes.dedup_by_key(|lane| lane.id);
        let chip_lanes = lanes.chunk_by(|one, other| one.id.chip_id == other.id.chip_id);
        let device = |lanes: &[Lane]| DeviceReadout {
            chip: ChipSummary {
                chip_id: lanes[0].id.chip_id,
                arch: "wormhole_b0".into(),
                aiclk_mhz: 1000,
                max_compute_cores: Some(64),
                known_lines: [].into(),
            },
            lanes: lanes.to_vec(),
            pending_runs: 0,
            discarded_launches: 0,
        };
        Readout {
            devices: chip_lanes.map(device).collect(),
            zones: zone_table(),
            ..Readout::default()
        }
    })
}

fn written(readout: &Readout) -> Vec<u8> {
    let mut text = Vec::new();
    write_device_log(readout, &mut text).unwrap();
    text
}

/// Returns the devices without the line numbers at which a log's runs begin.
fn without_origins(readout: &Readout) -> Vec<DeviceReadout> {
    let mut devices = readout.devices.clone();
    for run in
        devices.iter_mut().flat_map(|device| &mut device.lanes).flat_map(|lane| &mut lane.runs)
    {
        run.origin = 0;
    }
    devices
}

/// A record with all fields of its line.
type FullRecord = (LaneId, u64, PacketKind, u32, u64, u32, Option<TraceReplay>, String, String);

/// Returns the records of each line that [`walk_device_log`] can read, by lane and time.
///
/// Also returns the number of lines that it cannot read.
fn read_line_by_line(log: &[u8]) -> (Vec<FullRecord>, u64) {
    let (mut records, mut fault_count) = (Vec::new(), 0);
    let add = |line: &LogLine<'_>| {
        let has_value = RecordHead::new(line.kind, ZoneIndex(0)).data_count() > 0;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        records.push((
            line.lane,
            line.time,
            line.kind,
            line.marker_id.into(),
            if has_value { line.value } else { 0 },
            line.key.program,
            line.key.trace,
            text(line.place.name),
            text(line.metadata),
        ));
    };
    walk_device_log(log, "log", add, |_, _| fault_count += 1).unwrap();
    records.sort_by_key(|record| (record.0, record.1));
    (records, fault_count)
}

/// Returns the records of a readout, lane by lane.
fn all_records(readout: &Readout) -> Vec<FullRecord> {
    let mut all = Vec::new();
    for lane in readout.lanes() {
        for (number, record) in lane.records().enumerate() {
            let run = lane.runs.iter().rfind(|run| run.first_record <= number).unwrap();
            let text = lane.metadata.iter().find(|(of, _)| *of == number);
            all.push((
                lane.id,
                record.time,
                record.kind,
                readout.zones.id(record.zone),
                record.data.first().copied().unwrap_or(0),
                run.program.0,
                run.trace,
                readout.zones.name(record.zone).to_owned(),
                text.map_or_else(String::new, |(_, text)| text.to_string()),
            ));
        }
    }
    all
}

/// A change to a log's bytes.
#[derive(Clone, Debug)]
enum Mutation {
    Replace(prop::sample::Index, u8),
    Remove(prop::sample::Index, usize),
    Insert(prop::sample::Index, Vec<u8>),
}

impl Mutation {
    fn apply(&self, text: &mut Vec<u8>) {
        match self {
            Self::Replace(at, byte) => *at.get_mut(text.as_mut_slice()) = *byte,
            Self::Remove(at, count) => {
                let at = at.index(text.len());
                text.drain(at..(at + count).min(text.len()));
            }
            Self::Insert(at, bytes) => {
                let at = at.index(text.len());
                text.splice(at..at, bytes.iter().copied());
            }
        }
    }
}

fn any_mutation() -> impl Strategy<Value = Mutation> {
    let telling = prop::sample::select(b",\n\r\"0-.9{;\xFF\0Z ".to_vec());
    let at = any::<prop::sample::Index>;
    proptest::prop_oneof![
        (at(), telling.clone()).prop_map(|(at, byte)| Mutation::Replace(at, byte)),
        (at(), 1_usize..40).prop_map(|(at, count)| Mutation::Remove(at, count)),
        (at(), prop::collection::vec(telling, 1..30))
            .prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
    ]
}

proptest! {
    #[test]
    fn a_readout_survives_its_log(readout in any_readout()) {
        let read = read_device_log(written(&readout).as_slice(), "log").unwrap();
        prop_assert_eq!(read.anomalies.counts().count(), 0);
        prop_assert_eq!(without_origins(&read), without_origins(&readout));
        for head in readout.lanes().flat_map(|lane| &lane.heads) {
            prop_assert_eq!(read.zones.sources(head.zone()), readout.zones.sources(head.zone()));
        }
    }

    #[test]
    fn a_log_that_was_written_is_written_again_alike(readout in any_readout()) {
        let text = written(&readout);
        let read = read_device_log(text.as_slice(), "log").unwrap();
        prop_assert!(written(&read) == text);
    }

    #[test]
    fn the_size_of_blocks_changes_nothing(readout in any_readout(), block_bytes in 1_usize..3000) {
        let text = written(&readout);
        let whole = read_device_log(text.as_slice(), "log").unwrap();
        let blocks = Blocks::new(text.as_slice(), block_bytes, 3000);
        let log = read_blocks(blocks, "log", &PackedMemory::unlimited()).unwrap();
        prop_assert_eq!(log.into_readout().unwrap(), whole);
    }

    #[test]
    fn lines_that_are_recognised_say_what_they_say_in_full(
        readout in any_readout(), mutations in prop::collection::vec(any_mutation(), 0..6),
    ) {
        let text = written(&readout);
        let body = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0 + 1;
        // The lines are repeated twice, so that changed lines come after lines that the reader has
        // cached.
        let mut lines = text[body..].repeat(3);
        for mutation in &mutations {
            if !lines.is_empty() {
                mutation.apply(&mut lines);
            }
        }
        // `read_line_by_line`, which gives the expected records, requires valid UTF-8.
        let lines = String::from_utf8_lossy(&lines).into_owned();
        let log = [&text[..body], lines.as_bytes()].concat();
        let (expected, fault_count) = read_line_by_line(&log);
        let read = read_device_log(log.as_slice(), "log").unwrap();
        let faults = [AnomalyKind::MalformedLine, AnomalyKind::UnknownRisc];
        let found_faults: u64 = faults.iter().map(|&kind| read.anomalies.count(kind)).sum();
        prop_assert_eq!(found_faults, fault_count);
        let mut found = all_records(&read);
        let mut expected = expected;
        let repairs = [AnomalyKind::RelabelledRecord, AnomalyKind::UntracedRecord];
        if repairs.iter().any(|&kind| read.anomalies.count(kind) > 0) {
            // The reader assigns records inside another program's firmware zone to that program, and
            // records without a trace id to the replay around them, so programs and traces cannot be
            // compared.
            found.iter_mut().chain(&mut expected).for_each(|r| (r.5, r.6) = (0, None));
        }
        prop_assert!(found == expected);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = read_device_log(bytes.as_slice(), "log");
        let header = b"ARCH: x, CHIP_FREQ[MHz]: 1\nPCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,type\n";
        let log = [header.as_slice(), &bytes].concat();
        prop_assert!(read_device_log(log.as_slice(), "log").is_ok());
    }

    #[test]
    fn a_damaged_log_loses_no_more_than_the_lines_that_were_hit(
        mutations in prop::collection::vec(any_mutation(), 1..6),
    ) {
        let intact = written(&read_capture("wormhole-counters-elw"));
        let body = intact.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0 + 1;
        let mut lines = intact[body..].to_vec();
        for mutation in &mutations {
            if !lines.is_empty() {
                mutation.apply(&mut lines);
            }
        }
        let log = [&intact[..body], &lines].concat();
        let readout = read_device_log(log.as_slice(), "log").unwrap();
        let untouched = intact[body..].split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        let present: std::collections::BTreeSet<_> = lines.split(|&byte| byte == b'\n').collect();
        let kept = untouched.filter(|line| present.contains(line)).count();
        prop_assert!(readout.record_count() >= kept);
        let _ = written(&readout);
    }
}

/// A Blackhole with one lane.
fn blackhole_of(lane: Lane) -> DeviceReadout {
    let chip = ChipSummary {
        chip_id: 0,
        arch: "blackhole".into(),
        aiclk_mhz: 1350,
        max_compute_cores: None,
        known_lines: [].into(),
    };
    DeviceReadout { chip, lanes: vec![lane], pending_runs: 0, discarded_launches: 0 }
}

#[test]
fn what_a_line_cannot_hold_is_counted() {
    let mut zones = ZoneTable::new();
    zones.add(ZoneId(1), ZoneSource { name: "a,b".into(), file: "/k,1.cpp".into(), line: 3 });
    let mut lane =
        Lane::new(LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 2 }, risc: Risc::Brisc });
    lane.push(RecordHead::new(PacketKind::TimestampedData16B, ZoneIndex(1)), 5, &[6, 7]);
    lane.metadata.push((0, "{\"a\":1,\"b\":2}".into()));
    let readout = Readout { devices: vec![blackhole_of(lane)], zones, ..Readout::default() };
    let mut text = Vec::new();
    let report = write_device_log(&readout, &mut text).unwrap();
    assert_eq!((report.replaced_character_count, report.unwritten_value_count), (3, 1));
    let row = String::from_utf8(text).unwrap().lines().nth(2).unwrap().to_owned();
    assert_eq!(row, "0,1,2,BRISC,1,5,6,0,,,a;b,TS_DATA,3,/k;1.cpp,{\"a\":1;\"b\":2}");
}

#[test]
fn lanes_of_all_riscs_name_their_zones_as_traces() {
    let mut lane = Lane::new(LaneId {
        chip_id: 0,
        core: Noc0Coord { x: 1, y: 2 },
        risc: Risc::TensixAggregate,
    });
    lane.push(RecordHead::new(PacketKind::ZoneStart, ZoneIndex(1)), 5, &[]);
    lane.push(RecordHead::new(PacketKind::ZoneStart, ZoneIndex(2)), 6, &[]);
    let readout =
        Readout { devices: vec![blackhole_of(lane)], zones: zone_table(), ..Readout::default() };
    let text = String::from_utf8(written(&readout)).unwrap();
    let names: Vec<_> = text.lines().skip(2).map(|row| row.split(',').nth(10).unwrap()).collect();
    assert_eq!(names, ["TRACE-FW", "TRACE-KERNEL"]);
}

#[test]
fn a_file_appears_whole_and_nothing_is_left_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile_log_device.csv");
    std::fs::write(&path, "old").unwrap();
    let readout = read_capture("blackhole-noc-256");
    write_device_log_file(&path, &readout).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), written(&readout));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
