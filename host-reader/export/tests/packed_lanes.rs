//! Compares the traces and datasets of packed logs with those of the same logs read into memory.
#![cfg(feature = "parquet")]
#![expect(clippy::unwrap_used, reason = "a panic is a test's report")]

use causes::Explanation;
use export::{
    AddedRecording, CancelFlag, DatasetLabels, DatasetLocation, ExportFormat, MergedTrace,
    PackedCounts, PackedTrace, ParquetDataset, Trace, TraceFilter, TraceItems, TraceOp,
};
use reader::packed_bytes::{PackedError, PackedMemory};
use recording::{OpenedLog, PackedRecording, device_log::PackedLog};
use reports::diff::Measurements;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};
use tables::RecordingKey;

const HEADER: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64
PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data
";

/// Returns a log of two chips. The programs overlap, are launched several times, and are replayed
/// by traces. The log also has zones without an end, and values, sums and texts.
fn varied_log() -> String {
    let mut text = HEADER.to_owned();
    for (chip, x, y, risc, lag) in [
        (0, 1, 2, "BRISC", 0),
        (0, 1, 2, "TRISC_0", 9),
        (0, 1, 3, "BRISC", 31),
        (1, 4, 4, "NCRISC", 7),
    ] {
        let zone = risc.trim_end_matches("_0");
        for number in 0..60_u64 {
            // Every fifth launch ends after the two launches that follow it. Launch 31 of the
            // second core begins at the same time as one of the first core, and is longer. Ops with
            // equal starts must therefore be sorted by length, not by program.
            let (lag, longer) = if number == 31 && y == 3 { (0, 90) } else { (lag, 0) };
            let start = 1_000_000 + number * 1_000 + lag + number * number % 7;
            let end = start + 400 + longer + if number % 5 == 0 { 2_500 } else { 0 };
            // The second core runs other programs at the same time.
            let program = (1 + number % 40 + if y == 3 { 100 } else { 0 }) << 10;
            let replay = if number % 6 == 5 { format!("3,{number}") } else { ",".to_owned() };
            let mut row = |id: u32, time: u64, data: u64, name: &str, kind: &str, note: &str| {
                text += &format!(
                    "{chip},{x},{y},{risc},{id},{time},{data},{program},{replay},{name},{kind},7,/k.cc,{note}\n"
                );
            };
            row(1, start, 0, &format!("{zone}-FW"), "ZONE_START", "");
            row(2, start + 20, 0, &format!("{zone}-KERNEL"), "ZONE_START", "");
            row(3, start + 30, 0, "Load", "ZONE_START", "first tile");
            row(4, start + 35, number, "note", "TS_DATA", "a text");
            row(5, start + 36, 0, "here", "TS_EVENT", "");
            if number % 11 != 3 {
                row(3, start + 90, 0, "Load", "ZONE_END", "");
            }
            row(6, start + 20, 77, "Sum", "ZONE_TOTAL", "");
            row(2, end - 10, 0, &format!("{zone}-KERNEL"), "ZONE_END", "");
            row(1, end, 0, &format!("{zone}-FW"), "ZONE_END", "");
        }
    }
    text
}

/// Returns logs of real chips, without their lines of NoC events and hardware counters. A log with
/// such lines is not packed, because these records need all lanes in memory.
fn captured_logs() -> Vec<(String, String)> {
    let names = [
        "blackhole-noc-256",
        "blackhole-noc-4096",
        "wormhole-counters-elw",
        "wormhole-noc-256",
        "wormhole-noc-4096",
    ];
    let log = |name: &str| {
        let text = fs::read_to_string(captures::log_path(name)).unwrap();
        let is_kept = |line: &&str| !line.contains(",12345,") && !line.contains(",9090,");
        let kept: Vec<&str> = text.lines().filter(is_kept).collect();
        assert!(kept.len() < text.lines().count(), "{name}");
        (name.to_owned(), kept.join("\n") + "\n")
    };
    names.iter().map(|name| log(name)).collect()
}

/// Returns the log with every seventh line truncated, every eleventh line removed, and the
/// remaining lines in another order.
fn damaged(log: &str) -> String {
    let (header, lines): (Vec<_>, Vec<_>) =
        log.lines().enumerate().partition(|(number, _)| *number < 2);
    let mut kept: Vec<&str> = lines
        .into_iter()
        .filter(|(number, _)| number % 11 != 0)
        .map(|(number, line)| if number % 7 == 0 { &line[..line.len() / 2] } else { line })
        .collect();
    kept.sort_by_key(|line| line.len().wrapping_mul(2_654_435_761) % 97);
    let lines = header.into_iter().map(|(_, line)| line).chain(kept);
    lines.map(|line| line.to_owned() + "\n").collect()
}

fn opened(log: &str, memory: &Arc<PackedMemory>) -> OpenedLog {
    PackedLog::read_within(log.as_bytes(), "test", memory).unwrap().into()
}

/// Returns each file in a folder, by its relative path.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    files
        .into_iter()
        .map(|(path, bytes)| {
            (path.strip_prefix(folder).map_or_else(|_| path.clone(), Path::to_owned), bytes)
        })
        .collect()
}

/// Exports of a log: a merged trace that contains the log twice, a dataset, and a file of each
/// format that is written lane by lane.
#[derive(Debug, PartialEq)]
struct Written {
    trace: Vec<u8>,
    dataset: BTreeMap<PathBuf, Vec<u8>>,
    files: BTreeMap<&'static str, Vec<u8>>,
}

/// Returns a file of each format that is written lane by lane. The lines of Chrome's events, whose
/// order means nothing, are sorted; the packets of Perfetto are compared by `packets`.
fn format_files(items: TraceItems<'_, '_>) -> BTreeMap<&'static str, Vec<u8>> {
    let formats = ExportFormat::ALL.iter().filter(|format| format.takes_packed());
    let files = formats.map(|format| {
        let (mut file, mut lanes) = (Vec::new(), 0);
        format.write(items, &mut file, &mut |done| lanes = done).unwrap();
        assert_eq!(lanes, items.trace().lane_count(), "{format}");
        if *format == ExportFormat::CHROME {
            let text = String::from_utf8(file).unwrap();
            serde_json::from_str::<serde_json::Value>(&text).unwrap();
            let mut lines: Vec<&str> = text.lines().collect();
            lines.sort_unstable();
            file = lines.join("\n").into_bytes();
        }
        (format.label(), file)
    });
    files.collect()
}

fn written(trace: &Trace<'_>, packed: Option<&PackedTrace<'_>>) -> Written {
    let (mut merged, mut file) = (MergedTrace::default(), Vec::new());
    for host in ["one", "other"] {
        let items = packed.map_or_else(|| trace.into(), TraceItems::from);
        merged.add(host, items, None, &mut file).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let [run, name] = ["run", "file"].map(str::to_owned);
    let labels = DatasetLabels { date: None, run, file: name, has_one_recording: true };
    let folder_location = DatasetLocation::from(folder.path());
    let mut dataset =
        ParquetDataset::new(&folder_location, labels, &CancelFlag::default()).unwrap();
    let key = RecordingKey { host: "one", recording: "log" };
    let added = AddedRecording { key, machine: None, trace, ops_csv: None, memory: None };
    dataset.add(&added).unwrap();
    if let Some(packed) = packed {
        dataset.add_items(key, packed).unwrap();
    }
    dataset.finish().unwrap();
    let items = packed.map_or_else(|| trace.into(), TraceItems::from);
    Written { trace: file, dataset: files(folder.path()), files: format_files(items) }
}

#[test]
fn packed_lanes_are_written_as_lanes_in_memory_are() {
    let mut logs = captured_logs();
    logs.push(("varied".to_owned(), varied_log()));
    logs.push(("random".to_owned(), random_log(7)));
    logs.push(("empty".to_owned(), HEADER.to_owned()));
    let broken = logs.iter().map(|(name, log)| (format!("damaged {name}"), damaged(log)));
    let broken: Vec<_> = broken.collect();
    logs.extend(broken);
    let folder = tempfile::tempdir().unwrap();
    for (name, log) in logs {
        let recording = opened(&log, &PackedMemory::unlimited()).into_recording().unwrap();
        let mut whole = Trace::new(&recording, &TraceFilter::default());
        let causes = Explanation::from_recording(&recording);
        whole.explanation = Some(causes.clone());
        let expected = written(&whole, None);
        assert_eq!(expected.files.len(), 5);
        for limit_bytes in [0, 1_000, u64::MAX] {
            let memory = PackedMemory::new(limit_bytes, folder.path());
            let log = opened(&log, &memory);
            assert_eq!(PackedRecording::obstacle(&log), None, "{name}");
            let packed = PackedRecording::new(log).unwrap();
            assert_eq!(Explanation::from_packed(&packed).unwrap(), causes, "{name}");
            let measured = Measurements::from_packed(&packed).unwrap();
            assert_eq!(measured, Measurements::from_recording(&recording), "{name}");
            let packed = PackedTrace::new(&packed).unwrap();
            let packed = packed.described(String::new(), Some(causes.clone()));
            let ops = whole.devices.iter().map(|device| device.ops.len()).sum();
            let (zones, points) = (whole.zone_count(), whole.point_count());
            assert_eq!(packed.counts(), PackedCounts { zones, points, ops }, "{name}");
            let trace = packed.trace();
            assert_eq!(trace.anomalies, whole.anomalies, "{name}");
            assert_eq!(trace.doubts(), whole.doubts(), "{name}");
            assert!(written(trace, Some(&packed)) == expected, "{name} within {limit_bytes}");
            if limit_bytes == 0 && whole.lane_count() > 0 {
                assert!(memory.written_bytes() > 0, "{name}");
            }
        }
    }
}

/// Returns a log with random zones, programs and times on three lanes. The rows are not sorted.
fn random_log(seed: u64) -> String {
    let mut state = seed;
    let mut random = |below: u64| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        usize::try_from((state >> 33) % below).unwrap()
    };
    let mut text = HEADER.to_owned();
    for _ in 0..120 {
        let risc = ["BRISC", "NCRISC", "TRISC_0"][random(3)];
        let (id, time, program) = (1 + random(3), 1_000 + random(60), (1 + random(3)) << 10);
        let name = ["BRISC-FW", "Outer", "Inner"][id - 1];
        let kind = ["ZONE_START", "ZONE_END"][random(2)];
        text += &format!("0,1,2,{risc},{id},{time},0,{program},,,{name},{kind},7,/k.cc,\n");
    }
    text
}

/// Packed traces do not count clipped zones. The count is always 0, because the runs of a lane in a
/// log do not overlap.
#[test]
fn no_zone_of_a_packed_log_is_clipped() {
    let mut zone_count = 0;
    for log in (0..200).map(random_log).chain([varied_log(), damaged(&varied_log())]) {
        let memory = PackedMemory::unlimited();
        let packed = PackedRecording::new(opened(&log, &memory)).unwrap();
        let packed = PackedTrace::new(&packed).unwrap();
        let visited = packed.for_each_batch(|lanes| {
            for lane in lanes {
                assert_eq!(lane.lane().zones.clipped_count(), 0, "{log}");
                zone_count += lane.lane().zones.len();
            }
            Ok::<(), PackedError>(())
        });
        visited.unwrap();
    }
    assert!(zone_count > 10_000, "{zone_count}");
}

/// Builds a log of one chip. The first lane is long enough for several parts, and the second is
/// not.
///
/// Each of the runs 8,100 to 8,149 ends at the cycle at which the next run begins. The first part
/// reaches its minimum number of records within these runs, but can end only after the last of
/// them. Every second one of these runs ends with a zone of zero length, which must precede all
/// zones of the next run.
fn long_log() -> String {
    let mut text = HEADER.to_owned();
    for (y, run_count) in [(2, 16_000_u64), (3, 100)] {
        let mut start = 1_000_000 + y;
        for number in 0..run_count {
            let end = start + 100 + number % 7;
            let program = (number + 1) << 10;
            let mut row = |id: u32, time: u64, name: &str, kind: &str, note: &str| {
                text += &format!(
                    "0,1,{y},BRISC,{id},{time},{number},{program},,,{name},{kind},7,/k.cc,{note}\n"
                );
            };
            row(1, start, "BRISC-FW", "ZONE_START", "");
            row(2, start + 1, "BRISC-KERNEL", "ZONE_START", "");
            if number % 50 == 3 {
                row(4, start + 2, "note", "TS_DATA", "a text");
                row(3, start + 3, "Open", "ZONE_START", "never ends");
            }
            row(2, end - 1, "BRISC-KERNEL", "ZONE_END", "");
            row(1, end, "BRISC-FW", "ZONE_END", "");
            let is_touched = (8_100..8_150).contains(&number);
            if is_touched && number % 2 == 0 {
                row(5, end, "Empty", "ZONE_START", "");
                row(5, end, "Empty", "ZONE_END", "");
            }
            start = if is_touched { end } else { end + 20 };
        }
    }
    text
}

/// Fields of a protobuf message: their keys and their contents.
fn fields(mut message: &[u8]) -> Vec<(u64, Vec<u8>)> {
    fn number(bytes: &mut &[u8]) -> u64 {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let (byte, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        number
    }
    let mut found = Vec::new();
    while !message.is_empty() {
        let key = number(&mut message);
        let before = message;
        let length = match key & 7 {
            0 => {
                let mut after = message;
                number(&mut after);
                message.len() - after.len()
            }
            1 => 8,
            2 => usize::try_from(number(&mut message)).unwrap(),
            other => panic!("wire type {other}"),
        };
        let (content, rest) = message.split_at(length);
        found.push((key >> 3, content.to_vec()));
        assert!(rest.len() < before.len());
        message = rest;
    }
    found
}

/// Packets of a trace regardless of their order, and the interned data of each sequence.
#[derive(Debug, PartialEq)]
struct Packets {
    events: Vec<Vec<u8>>,
    interned: BTreeSet<(Vec<u8>, u64, Vec<u8>)>,
    /// Number of packets with interned data, and the number of these packets that begin a sequence.
    heads: (usize, usize),
}

fn packets(trace: &[u8]) -> Packets {
    const SEQUENCE_ID: u64 = 10;
    const INTERNED_DATA: u64 = 12;
    const IS_FIRST: u64 = 87;
    let mut packets =
        Packets { events: Vec::new(), interned: BTreeSet::new(), heads: Default::default() };
    for (_, packet) in fields(trace) {
        let parts: BTreeMap<u64, Vec<u8>> = fields(&packet).into_iter().collect();
        let Some(interned) = parts.get(&INTERNED_DATA) else {
            packets.events.push(packet);
            continue;
        };
        packets.heads.0 += 1;
        packets.heads.1 += usize::from(parts[&IS_FIRST] == [1]);
        let sequence = &parts[&SEQUENCE_ID];
        let entries = fields(interned).into_iter();
        packets.interned.extend(entries.map(|(field, entry)| (sequence.clone(), field, entry)));
    }
    packets.events.sort_unstable();
    packets
}

#[test]
fn a_lane_in_parts_has_the_zones_points_and_arrows_of_the_whole_lane() {
    let log = long_log();
    let memory = PackedMemory::unlimited();
    let whole = opened(&log, &memory).into_recording().unwrap();
    let whole = Trace::new(&whole, &TraceFilter::default());
    let expected = written(&whole, None);
    let packed = PackedRecording::new(opened(&log, &memory)).unwrap();
    let packed = PackedTrace::new(&packed).unwrap();
    let found = written(packed.trace(), Some(&packed));
    assert!(found.dataset == expected.dataset);
    assert_eq!(packed.trace().anomalies, whole.anomalies);
    let perfetto = ExportFormat::PERFETTO.label();
    for (format, file) in &expected.files {
        let found = &found.files[format];
        match *format == perfetto {
            true => assert!(packets(found).events == packets(file).events),
            false => assert!(found == file, "{format}"),
        }
    }
    let (found, expected) = (packets(&found.trace), packets(&expected.trace));
    assert!(expected.events.len() > 4 * 2 * 16_000, "{}", expected.events.len());
    assert!(found.events == expected.events);
    assert!(found.interned == expected.interned);
    // The trace has two hosts with two lanes each, and one sequence per lane.
    assert_eq!((expected.heads, found.heads.1), ((4, 4), 4));
    let mut part_zones = Vec::new();
    let visited = packed.for_each_batch(|parts| {
        part_zones.extend(parts.iter().map(|part| part.lane().zones.len()));
        Ok::<(), PackedError>(())
    });
    visited.unwrap();
    assert_eq!((part_zones.len(), found.heads.0), (3, 6), "{part_zones:?}");
    let zones: usize = part_zones.iter().sum();
    assert_eq!(zones, whole.zone_count());
    // The first part ends after the last run that begins at the end of the previous run.
    assert!(part_zones[0] > 2 * 8_150, "{part_zones:?}");
}

#[test]
fn the_varied_log_has_what_the_comparison_is_about() {
    let log = opened(&varied_log(), &PackedMemory::unlimited()).into_recording().unwrap();
    let trace = Trace::new(&log, &TraceFilter::default());
    let ops = || trace.devices.iter().flat_map(|device| &device.ops);
    assert_eq!((trace.devices.len(), trace.lane_count()), (2, 4));
    assert!(ops().any(|op| op.row > 0) && ops().any(|op| op.figures.launch > 1));
    assert!(ops().any(|op| op.figures.trace_replay.is_some()));
    let together = |ops: &[TraceOp<'_>]| ops[0].start_cycle == ops[1].start_cycle;
    assert!(trace.devices[0].ops.windows(2).any(together));
    assert!(trace.point_count() > 3 * 60);
}

#[test]
fn events_and_counters_of_the_chip_need_all_lanes() {
    let opened = |name: &str| {
        let log = fs::read_to_string(captures::log_path(name)).unwrap();
        PackedRecording::obstacle(&opened(&log, &PackedMemory::unlimited()))
    };
    assert_eq!(opened("wormhole-noc-256"), Some("NoC events"));
    assert_eq!(opened("wormhole-counters-elw"), Some("hardware counters"));
}
