//! Test that all outputs agree about zones: how many are whole, how many are open, how long they
//! took. Logs are generated with lost ends, ends without a start, overlapping runs, and filters.
//! The expected figures come from the generated zones, not from any code that reads logs.

use crate::{ExportFormat, Recording, Trace, TraceFilter, html::Reading};
use analysis::Report;
use proptest::prelude::*;
use recording::device_log::read_device_log;
use reports::diff::{MeasuredKind, Measurements};
use serde_json::Value;
use std::collections::BTreeMap;
use tables::{Rows, ZoneStatisticsTable};

/// Figures of the zones with one name on one RISC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    whole: u64,
    total_cycles: u64,
    self_cycles: u64,
    open: u64,
}

/// Sums by RISC and name.
type Sums = BTreeMap<(String, String), Sum>;

/// A generated zone. The pauses are cycles before its start and before its end.
#[derive(Clone, Debug)]
struct Zone {
    name: &'static str,
    pauses: [u64; 2],
    has_end: bool,
    has_orphan: bool,
    inner: Vec<Self>,
}

/// A generated run: zones of firmware and kernel around `inner`.
#[derive(Clone, Debug)]
struct Run {
    /// Cycles by which the run and all runs after it are moved back, into the run before.
    overlap_cycles: u64,
    firmware: Zone,
}

fn any_zone(names: [&'static str; 2], inner: BoxedStrategy<Vec<Zone>>) -> BoxedStrategy<Zone> {
    let pauses = [1_u64..40, 1_u64..40];
    let ends = proptest::bool::weighted(0.8);
    let orphans = proptest::bool::weighted(0.1);
    (0_usize..2, pauses, ends, orphans, inner)
        .prop_map(move |(name, pauses, has_end, has_orphan, inner)| Zone {
            name: names[name],
            pauses,
            has_end,
            has_orphan,
            inner,
        })
        .boxed()
}

fn any_run(kernel: &'static str, firmware: &'static str) -> BoxedStrategy<Run> {
    let none = Just(Vec::new()).boxed();
    let few = |zone: BoxedStrategy<Zone>| proptest::collection::vec(zone, 0..4).boxed();
    let leaves = few(any_zone(["STEP", "PART"], none));
    let zones = few(any_zone(["LOAD", "MATH"], leaves));
    let one = |zone: BoxedStrategy<Zone>| zone.prop_map(|zone| vec![zone]).boxed();
    let kernels = one(any_zone([kernel; 2], zones));
    let overlaps = prop_oneof![3 => Just(0), 1 => 1_u64..60];
    (overlaps, any_zone([firmware; 2], kernels))
        .prop_map(|(overlap_cycles, firmware)| Run { overlap_cycles, firmware })
        .boxed()
}

const LANES: [(&str, &str, &str, &str); 4] = [
    ("1,1", "BRISC", "BRISC-KERNEL", "BRISC-FW"),
    ("1,1", "NCRISC", "NCRISC-KERNEL", "NCRISC-FW"),
    ("1,2", "BRISC", "BRISC-KERNEL", "BRISC-FW"),
    ("2,2", "TRISC_1", "TRISC-KERNEL", "TRISC-FW"),
];

/// Runs of each lane of [`LANES`].
fn any_lanes() -> impl Strategy<Value = Vec<Vec<Run>>> {
    let lanes = LANES.map(|(.., kernel, firmware)| {
        proptest::collection::vec(any_run(kernel, firmware), 0..4).boxed()
    });
    lanes.to_vec()
}

/// Zones as they were generated, with the figures that every output should have.
#[derive(Default)]
struct Written {
    rows: String,
    zones: Vec<WrittenZone>,
}

struct WrittenZone {
    core: &'static str,
    risc: &'static str,
    run: usize,
    name: &'static str,
    /// Duration and self cycles; `None` for an open zone.
    cycles: Option<(u64, u64)>,
}

impl Written {
    fn row(&mut self, (lane, run): (usize, usize), time: u64, name: &str, kind: &str) {
        let (core, risc, ..) = LANES[lane];
        // The same name has the same id everywhere, and no two names share one.
        let names = ["STEP", "PART", "LOAD", "MATH", "STRAY"];
        let of_risc = LANES.iter().position(|(_, other, ..)| *other == risc).unwrap();
        let id = 100
            + names.iter().position(|other| *other == name).unwrap_or(5 + 2 * of_risc)
            + usize::from(name.ends_with("-FW"));
        let program = (run + 1) << 10;
        self.rows
            .push_str(&format!("0,{core},{risc},{id},{time},0,{program},{name},ZONE_{kind}\n"));
    }

    /// Writes a zone and those inside. Returns its duration; `None` if it is open.
    fn zone(&mut self, place: (usize, usize), zone: &Zone, time: &mut u64) -> Option<u64> {
        let (core, risc, ..) = LANES[place.0];
        *time += zone.pauses[0];
        let start = *time;
        self.row(place, start, zone.name, "START");
        // Cycles up to now that belong to the zone itself, as long as no open zone began.
        let (mut own, mut own_since) = (0, Some(start));
        for inner in &zone.inner {
            let begin = *time + inner.pauses[0];
            let ended = self.zone(place, inner, time);
            own += own_since.map_or(0, |since| begin - since);
            own_since = own_since.and(ended).map(|_| *time);
        }
        if zone.has_orphan {
            *time += 1;
            self.row(place, *time, "STRAY", "END");
        }
        *time += zone.pauses[1];
        own += own_since.map_or(0, |since| *time - since);
        let cycles = zone.has_end.then(|| *time - start);
        if zone.has_end {
            self.row(place, *time, zone.name, "END");
        }
        let (run, name) = (place.1, zone.name);
        let figures = cycles.map(|cycles| (cycles, own));
        self.zones.push(WrittenZone { core, risc, run, name, cycles: figures });
        cycles
    }

    fn log(lanes: &[Vec<Run>]) -> Self {
        let mut written = Self::default();
        written.rows.push_str(
            "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\nPCIe slot,core_x,core_y,RISC processor \
             type,timer_id,time[cycles since reset],data,run host ID,zone name,type\n",
        );
        for (lane, runs) in lanes.iter().enumerate() {
            let mut time = 1000;
            for (number, run) in runs.iter().enumerate() {
                written.zone((lane, number), &run.firmware, &mut time);
            }
        }
        written
    }

    /// Returns the sums of the zones that `is_wanted` selects.
    fn sums(&self, is_wanted: impl Fn(&WrittenZone) -> bool) -> Sums {
        let mut sums = Sums::new();
        for zone in self.zones.iter().filter(|zone| is_wanted(zone)) {
            let sum = sums.entry((zone.risc.to_owned(), zone.name.to_owned())).or_default();
            match zone.cycles {
                Some((cycles, own)) => {
                    sum.whole += 1;
                    sum.total_cycles += cycles;
                    sum.self_cycles += own;
                }
                None => sum.open += 1,
            }
        }
        sums
    }
}

/// Returns the rows of the table that the terminal, JSON, MCP, Python and C show.
fn table(report: &Report) -> Sums {
    let rows = Rows::<ZoneStatisticsTable>(report.zones.iter().collect());
    let Value::Array(rows) = serde_json::to_value(rows).unwrap() else { panic!("no rows") };
    let number = |row: &Value, key: &str| row[key].as_u64().unwrap_or(0);
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let sums = rows.iter().map(|row| {
        let sum = Sum {
            whole: number(row, "count"),
            total_cycles: number(row, "total_cycles"),
            self_cycles: number(row, "self_total_cycles"),
            open: number(row, "open_zone_count"),
        };
        ((text(row, "risc"), text(row, "name")), sum)
    });
    sums.collect()
}

fn written(trace: &Trace<'_>, format: ExportFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    format.write(trace, &mut bytes, &mut |_| {}).unwrap();
    bytes
}

/// Returns the sums of a page's zones over all RISCs, from its table of zones.
fn page_names(facts: &Value) -> Sums {
    let (zones, labels) = (&facts["zones"], &facts["names"]["label"]);
    let number = |key: &str, row: usize| zones[key][row].as_u64().unwrap_or(0);
    let rows = 0..zones["name"].as_array().unwrap().len();
    let sums = rows.map(|row| {
        let name = labels[usize::try_from(number("name", row)).unwrap()].as_str().unwrap();
        let sum = Sum {
            whole: number("count", row),
            total_cycles: number("total_cycles", row),
            self_cycles: number("self_cycles", row),
            open: number("open_count", row),
        };
        let lengths: Vec<_> = ["min_cycles", "median_cycles", "max_cycles"]
            .map(|key| zones[key][row].as_u64().map(|_| ()))
            .to_vec();
        assert!(lengths.iter().all(|length| length.is_some() == (sum.whole > 0)));
        ((String::new(), name.to_owned()), sum)
    });
    sums.collect()
}

/// Returns the sums of the zones that the pages about ops show.
fn page_ops(facts: &Value, page: &str) -> Sums {
    let mut sums = Sums::new();
    let op_count = facts["ops"]["program"].as_array().unwrap().len();
    if op_count == 0 {
        return sums;
    }
    let tag = "<script type=\"text/plain\" id=\"ops-0-0\">";
    let block = page.split_once(tag).unwrap().1.split_once("</script>").unwrap().0;
    let mut cells = Reading::of_base64(block);
    for _ in 0..op_count {
        for _ in 0..cells.number() {
            let (_core, mask, _start) = (cells.number(), cells.number(), cells.signed());
            cells.numbers(2 * mask.count_ones() as usize);
        }
        for _ in 0..cells.number() {
            let _field = (cells.text(), cells.text());
        }
        for _ in 0..cells.number() {
            let row = cells.numbers(10);
            let index = |at: usize| usize::try_from(row[at]).unwrap();
            let name = facts["names"]["label"][index(0)].as_str().unwrap().to_owned();
            let risc = facts["riscs"][index(1)].as_str().unwrap().to_owned();
            let sum = sums.entry((risc, name)).or_default();
            sum.whole += row[2];
            sum.open += row[3];
            sum.total_cycles += row[4];
            sum.self_cycles += row[5];
        }
    }
    assert!(cells.is_at_end());
    sums
}

/// Returns the sums of the zones in a Chrome trace, without self cycles.
fn chrome(trace: &Trace<'_>) -> Sums {
    let json: Value = serde_json::from_slice(&written(trace, ExportFormat::CHROME)).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let mut riscs: BTreeMap<u64, String> = BTreeMap::new();
    for event in events.iter().filter(|event| event["name"] == "thread_name") {
        let name = event["args"]["name"].as_str().unwrap();
        let risc = name.rsplit_once(' ').map_or(name, |(_, risc)| risc);
        riscs.insert(event["tid"].as_u64().unwrap(), risc.to_owned());
    }
    let mut sums = Sums::new();
    for event in events.iter().filter(|event| event["cat"] == "zone") {
        let risc = riscs[&event["tid"].as_u64().unwrap()].clone();
        let sum = sums.entry((risc, event["name"].as_str().unwrap().to_owned())).or_default();
        match event["ph"].as_str().unwrap() {
            "X" => {
                sum.whole += 1;
                sum.total_cycles += event["args"]["duration_cycles"].as_u64().unwrap();
            }
            _ => {
                assert!(event.get("dur").is_none() && event["args"]["open"] == true, "{event}");
                assert!(event["args"]["start_cycle"].is_u64(), "{event}");
                sum.open += 1;
            }
        }
    }
    sums
}

/// Returns the self cycles and the open zones in folded stacks. `depth` is the number of frames
/// before the RISC.
fn folded(trace: &Trace<'_>, format: ExportFormat, depth: usize) -> Sums {
    let text = String::from_utf8(written(trace, format)).unwrap();
    let mut sums = Sums::new();
    for line in text.lines().filter(|line| !line.starts_with('[')) {
        let (stack, cycles) = line.rsplit_once(' ').unwrap();
        let frames: Vec<_> = stack.split(';').collect();
        let open = frames.last().and_then(|last| last.strip_prefix("[open ")?.strip_suffix(']'));
        let name = frames[frames.len() - 1 - usize::from(open.is_some())].to_owned();
        if name == "[unknown]" {
            continue;
        }
        let sum = sums.entry((frames[depth].to_owned(), name)).or_default();
        match open {
            Some(count) => sum.open += count.parse::<u64>().unwrap(),
            None => sum.self_cycles += cycles.parse::<u64>().unwrap(),
        }
    }
    sums
}

/// Field of a protobuf message: its number, and its value or its bytes.
enum Field<'b> {
    Number(u64, u64),
    Bytes(u64, &'b [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (&first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        number |= u64::from(first & 0x7F) << shift;
        shift += 7;
        if first < 0x80 {
            return number;
        }
    }
}

fn fields(mut bytes: &[u8]) -> Vec<Field<'_>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let mut taken = |count: usize| {
            let (taken, rest) = bytes.split_at(count);
            bytes = rest;
            taken
        };
        fields.push(match tag & 7 {
            0 => Field::Number(tag >> 3, varint(&mut bytes)),
            1 => Field::Bytes(tag >> 3, taken(8)),
            5 => Field::Bytes(tag >> 3, taken(4)),
            _ => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                let (taken, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(tag >> 3, taken)
            }
        });
    }
    fields
}

fn number_in(bytes: &[u8], wanted: u64) -> Option<u64> {
    fields(bytes).iter().find_map(|field| match field {
        Field::Number(number, value) if *number == wanted => Some(*value),
        _ => None,
    })
}

fn all_in(bytes: &[u8], wanted: u64) -> Vec<&[u8]> {
    let parts = fields(bytes).into_iter().filter_map(|field| match field {
        Field::Bytes(number, bytes) if number == wanted => Some(bytes),
        _ => None,
    });
    parts.collect()
}

/// Returns the sums of the zones in a Perfetto trace over all RISCs, without self cycles. Field
/// numbers are those of Perfetto's `trace_packet.proto`, `track_event.proto` and
/// `interned_data.proto`.
fn perfetto(trace: &Trace<'_>) -> Sums {
    const BEGIN: u64 = 1;
    const END: u64 = 2;
    const INSTANT: u64 = 3;
    let bytes = written(trace, ExportFormat::PERFETTO);
    let mut names: BTreeMap<(u64, u64, u64), String> = BTreeMap::new();
    let mut zones_begun: BTreeMap<u64, Vec<(String, u64)>> = BTreeMap::new();
    let mut sums = Sums::new();
    for packet in all_in(&bytes, 1) {
        let sequence = number_in(packet, 10).unwrap_or(0);
        for data in all_in(packet, 12) {
            for kind in [1, 2, 3] {
                for entry in all_in(data, kind) {
                    let name = String::from_utf8(all_in(entry, 2)[0].to_vec()).unwrap();
                    names.insert((sequence, kind, number_in(entry, 1).unwrap()), name);
                }
            }
        }
        let Some(&event) = all_in(packet, 11).first() else { continue };
        let time = number_in(packet, 8).unwrap();
        let category = number_in(event, 3).and_then(|id| names.get(&(sequence, 1, id)));
        let begun = zones_begun.entry(sequence).or_default();
        let is_zone = category.is_some_and(|category| category == "zone");
        match number_in(event, 9).unwrap_or(0) {
            kind @ (BEGIN | INSTANT) if is_zone => {
                let name = names[&(sequence, 2, number_in(event, 10).unwrap())].clone();
                let arguments: Vec<_> = all_in(event, 4)
                    .into_iter()
                    .map(|argument| &*names[&(sequence, 3, number_in(argument, 1).unwrap())])
                    .collect();
                assert_eq!(arguments.contains(&"open"), kind == INSTANT, "{arguments:?}");
                assert_eq!(arguments.contains(&"duration_cycles"), kind == BEGIN, "{arguments:?}");
                assert!(arguments.contains(&"start_cycle"), "{arguments:?}");
                match kind {
                    BEGIN => begun.push((name, time)),
                    _ => sums.entry((String::new(), name)).or_default().open += 1,
                }
            }
            END if all_in(event, 11).is_empty() && number_in(event, 11).is_none() => {
                if let Some((name, start)) = begun.pop() {
                    let sum = sums.entry((String::new(), name)).or_default();
                    sum.whole += 1;
                    sum.total_cycles += time - start;
                }
            }
            _ => {}
        }
    }
    sums
}

#[cfg(feature = "parquet")]
fn parquet(trace: &Trace<'_>) -> Sums {
    use crate::{DeviceRows, DeviceTable};
    let recording = tables::RecordingKey { host: "host", recording: "run" };
    let mut sums = Sums::new();
    for device in &trace.devices {
        let rows = DeviceRows { trace, device, first_op: 0, recording };
        let visited = tables::Zones::for_each_row::<()>(rows, |zone| {
            let sum = sums
                .entry((zone.place.lane.risc.label().to_owned(), zone.name.to_string()))
                .or_default();
            let is_whole = !zone.has_synthetic_end;
            sum.whole += u64::from(is_whole);
            sum.open += u64::from(!is_whole);
            assert_eq!(zone.duration_ns.is_some(), is_whole);
            sum.total_cycles += zone.duration_cycles.unwrap_or(0);
            sum.self_cycles += zone.self_cycles.unwrap_or(0);
            Ok(())
        });
        visited.unwrap();
    }
    sums
}

/// Returns the sums with only some of the figures, without empty rows.
fn only(sums: &Sums, figures: impl Fn(Sum) -> Sum) -> Sums {
    let sums = sums.iter().map(|(key, sum)| (key.clone(), figures(*sum)));
    sums.filter(|(_, sum)| *sum != Sum::default()).collect()
}

fn without_riscs(sums: &Sums) -> Sums {
    let mut joined = Sums::new();
    for ((_, name), sum) in sums {
        let all = joined.entry((String::new(), name.clone())).or_default();
        all.whole += sum.whole;
        all.total_cycles += sum.total_cycles;
        all.self_cycles += sum.self_cycles;
        all.open += sum.open;
    }
    joined
}

/// Compares every output of a trace with the expected sums. Zones that overlap are drawn shorter,
/// so Perfetto's slices are compared only if none do.
fn check_trace(trace: &Trace<'_>, expected: &Sums, has_overlaps: bool) {
    let by_name = without_riscs(expected);
    let page = String::from_utf8(written(trace, ExportFormat::HTML)).unwrap();
    let tag = "<script type=\"application/json\" id=\"facts\">";
    let facts = page.split_once(tag).unwrap().1.split_once("</script>").unwrap().0;
    let facts: Value = serde_json::from_str(facts).unwrap();
    assert_eq!(page_names(&facts), by_name, "page");
    assert_eq!(page_ops(&facts, &page), *expected, "pages of ops");
    let without_self = |sum| Sum { self_cycles: 0, ..sum };
    assert_eq!(chrome(trace), only(expected, without_self), "Chrome");
    let stacks = |sum| Sum { whole: 0, total_cycles: 0, ..sum };
    let folded_cores = folded(trace, ExportFormat::FOLDED, 2);
    assert_eq!(folded_cores, only(expected, stacks), "folded");
    let folded_chips = folded(trace, ExportFormat::FOLDED_CHIP, 1);
    assert_eq!(folded_chips, only(expected, stacks), "folded-chip");
    let drawn = perfetto(trace);
    let counts = |sum| Sum { total_cycles: 0, self_cycles: 0, ..sum };
    assert_eq!(only(&drawn, counts), only(&by_name, counts), "Perfetto");
    if !has_overlaps {
        assert_eq!(drawn, only(&by_name, without_self), "Perfetto");
    }
    #[cfg(feature = "parquet")]
    assert_eq!(parquet(trace), *expected, "Parquet");
}

/// Compares the measurements of `kprof diff`: the mean in each run, of all cores and passes.
fn check_diff(recording: &Recording, of_log: &Written) {
    type Means = BTreeMap<(String, String), Vec<f64>>;
    let measurements = Measurements::from_recording(recording);
    let zones = measurements.items().filter(|item| item.kind == MeasuredKind::Zone);
    let found: Means = zones
        .map(|item| {
            let risc = item.place.strip_prefix("device 0 ").unwrap().to_owned();
            ((risc, item.name.to_string()), item.durations_ns.clone())
        })
        .collect();
    let mut expected = Means::new();
    for run in 0..4 {
        for (key, sum) in of_log.sums(|zone| zone.run == run) {
            if sum.whole > 0 {
                let mean = sum.total_cycles as f64 / sum.whole as f64;
                expected.entry(key).or_default().push(mean);
            }
        }
    }
    assert_eq!(found, expected, "diff");
    let open: u64 = of_log.sums(|_| true).values().map(|sum| sum.open).sum();
    let skipped = measurements.skipped().get("zones without an end").copied();
    assert_eq!(skipped.unwrap_or(0), open, "diff");
}

/// Reads the log. Logs hold the records of a lane in the order of time, so overlapping runs, as
/// captures can have, are made afterwards.
fn recording(of_log: &Written, lanes: &[Vec<Run>]) -> Recording {
    let mut readout = read_device_log(of_log.rows.as_bytes(), "log").unwrap();
    for lane in &mut readout.devices[0].lanes {
        let place = (format!("{},{}", lane.id.core.x, lane.id.core.y), lane.id.risc.label());
        let is_same =
            |(core, risc, ..): &(&str, &str, &str, &str)| (*core, *risc) == (&*place.0, place.1);
        let runs = &lanes[LANES.iter().position(is_same).unwrap()];
        let mut back_cycles = 0;
        for (number, run) in runs.iter().enumerate() {
            back_cycles += run.overlap_cycles;
            let records = lane.run_records(number);
            lane.times[records].iter_mut().for_each(|time| *time -= back_cycles);
        }
    }
    Recording::from_readout(readout)
}

fn check(lanes: &[Vec<Run>]) {
    let of_log = Written::log(lanes);
    if of_log.zones.is_empty() {
        return;
    }
    let has_overlaps = lanes.iter().flatten().any(|run| run.overlap_cycles > 0);
    let whole = recording(&of_log, lanes);
    let all = of_log.sums(|_| true);
    assert_eq!(table(&Report::new(&whole.readout)), all, "tables");
    check_trace(&Trace::new(&whole, &TraceFilter::default()), &all, has_overlaps);
    check_diff(&whole, &of_log);
    // Filters that both the report and the exports know.
    type Selection = (&'static str, fn(&WrittenZone) -> bool);
    let selections: [Selection; 3] = [
        ("risc=BRISC", |zone| zone.risc == "BRISC"),
        ("core=1-1", |zone| zone.core == "1,1"),
        ("op=2", |zone| zone.run == 1),
    ];
    for (filter, is_wanted) in selections {
        let filter: TraceFilter = filter.parse().unwrap();
        let expected = of_log.sums(is_wanted);
        let mut part = recording(&of_log, lanes);
        part.retain(&filter);
        assert_eq!(table(&Report::new(&part.readout)), expected, "tables, {filter:?}");
        check_trace(&Trace::new(&whole, &filter), &expected, has_overlaps);
    }
    // What a filter hides is not added to the zone around it.
    let filter: TraceFilter = "zone!=LOAD".parse().unwrap();
    let expected = of_log.sums(|zone| zone.name != "LOAD");
    check_trace(&Trace::new(&whole, &filter), &expected, has_overlaps);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn all_outputs_agree_about_zones(lanes in any_lanes()) {
        check(&lanes);
    }
}

/// A zone whose end was lost, and one before it that is whole: 10 cycles, and nothing made up.
#[test]
fn a_zone_without_an_end_has_no_duration_in_any_output() {
    let zone =
        |name, pauses, has_end, inner| Zone { name, pauses, has_end, has_orphan: false, inner };
    let loads = vec![zone("LOAD", [10, 10], true, vec![]), zone("LOAD", [10, 1], false, vec![])];
    let kernel = zone("BRISC-KERNEL", [10, 7960], true, loads);
    let run = Run { overlap_cycles: 0, firmware: zone("BRISC-FW", [1, 10], true, vec![kernel]) };
    let lanes = [vec![run], vec![], vec![], vec![]];
    let load = ("BRISC".to_owned(), "LOAD".to_owned());
    let expected = Sum { whole: 1, total_cycles: 10, self_cycles: 10, open: 1 };
    assert_eq!(Written::log(&lanes).sums(|_| true)[&load], expected);
    check(&lanes);
}
