//! Tests of the `.tracy` file.

use super::{
    reader::{self, TracyFile},
    recorded::{Recorded, Records},
};
use host_reader::{
    export::tracy::{TracyNotes, TracyOptions, write_tracy_file},
    lane::LaneId,
    mesh::Noc0Coord,
};
use proptest::{collection::vec, prelude::*};
use std::collections::BTreeMap;
use wire::{PacketKind, Risc};

pub(crate) fn written(recorded: &Recorded) -> (TracyFile, TracyNotes) {
    recorded.with_trace(|trace| {
        let mut file = Vec::new();
        let notes = write_tracy_file(trace, &TracyOptions::default(), &mut file).unwrap();
        (reader::read(&file), notes)
    })
}

/// Returns the encoding of all sections after the plots, each empty.
fn empty_rest() -> Vec<u8> {
    let allocations = [1, 0, 0, 0, 0, 0, 0, u64::MAX, 0, 0];
    let call_stacks = [0; 3];
    let mut rest: Vec<u8> =
        allocations.iter().chain(&call_stacks).flat_map(|word| word.to_le_bytes()).collect();
    rest.extend([0; 4 + 8]); // frame images
    rest.extend([0; 8 * (2 + 256)]); // context switches
    rest.extend([0; 8 * 9]); // processes, symbols, sources
    rest
}

#[test]
fn counts_and_durations_of_every_lane_are_those_recorded_however_many_cores_there_are() {
    for core_count in [1, 64, 140, 400] {
        let recorded = Recorded::cores(core_count, 3, 20);
        let (file, notes) = written(&recorded);
        recorded.assert_shown_by(&file);
        assert_eq!(file.contexts.len(), core_count as usize);
        assert_eq!(notes.zones, u64::from(core_count) * 5 * 3 * 22);
        assert_eq!(notes.lanes, u64::from(core_count) * 5);
        assert_eq!(file.rest, empty_rest());
    }
}

#[test]
fn a_zone_bears_its_name_place_colour_depth_and_op() {
    let (file, _) = written(&Recorded::cores(1, 2, 1));
    let context = &file.contexts[0];
    assert_eq!((context.name.as_str(), context.kind), ("Device: 0, Core (0,0)", 2));
    // The low three bits of a lane's id order the lanes like the labels in Tenstorrent's fork.
    let riscs: Vec<u64> = context.lanes.keys().map(|id| id & 7).collect();
    assert_eq!(riscs, [0, 1, 2, 3, 4]);
    let colours = [0xEE9A00, 0x43CD80, 0x6CA6CD, 0x00E5EE, 0x98F5FF];
    for (zones, rgb) in context.lanes.values().zip(colours) {
        let shown: Vec<_> = zones
            .iter()
            .map(|zone| (zone.depth, zone.place.name.as_str(), zone.place.function.as_str()))
            .collect();
        let of_op = |op| [(0, "BRISC-FW", op), (1, "BRISC-KERNEL", ""), (2, "LOAD", "")];
        assert_eq!(shown, [of_op("OP ID:1"), of_op("OP ID:2")].concat());
        assert!(zones.iter().all(|zone| zone.place.rgb == rgb && zone.place.file == "/k/load.cpp"));
        assert_eq!(zones[2].place.line, 13);
    }
}

#[test]
fn ops_are_a_thread_and_kernels_that_run_at_once_a_plot() {
    let (file, _) = written(&Recorded::cores(2, 2, 1));
    let ops = file.threads.iter().find(|thread| file.thread_names[&thread.id] == "Device 0: ops");
    let names: Vec<&str> = ops.unwrap().zones.iter().map(|zone| zone.name.as_str()).collect();
    assert_eq!(names, ["program 1", "program 2"]);
    assert!(ops.unwrap().zones[0].text.contains("lanes: 10"), "{}", ops.unwrap().zones[0].text);
    let (name, points) = &file.plots[0];
    assert_eq!(name, "Device 0: kernels running");
    assert_eq!(points.iter().map(|&(_, value)| value).fold(0.0, f64::max), 10.0);
    assert_eq!(points.last().unwrap().1, 0.0);
}

#[test]
fn events_values_losses_and_doubts_are_messages() {
    let mut recorded = Recorded::cores(1, 1, 1);
    let id = LaneId { chip_id: 0, core: Noc0Coord { x: 5, y: 6 }, risc: Risc::Brisc };
    use PacketKind::{TimestampedData, TimestampedEvent, ZoneEnd, ZoneStart};
    let records = [(ZoneStart, 12), (TimestampedEvent, 13), (TimestampedData, 11), (ZoneEnd, 12)];
    let timed = records.iter().zip(7_000..).map(|(&(kind, zone), time)| (kind, zone, time));
    recorded.push_lane(id, &[timed.collect()]);
    recorded.lose();
    let (file, notes) = written(&recorded);
    let texts: Vec<&str> = file
        .threads
        .iter()
        .flat_map(|thread| &thread.messages)
        .map(|message| message.text.as_str())
        .collect();
    for text in ["LOAD", "BRISC-FW = 48879 (0xbeef)", "lost 25 zones: L1 full", "lost zones: 25"] {
        assert!(texts.contains(&text), "{text} is not among {texts:?}");
    }
    assert_eq!(notes.messages, texts.len() as u64);
    assert!(file.plots.iter().any(|(name, points)| {
        name == "Device 0: lost records" && points.last().unwrap().1 == 25.0
    }));
}

#[test]
fn more_source_locations_than_tracy_knows_share_some_and_every_zone_stays() {
    let recorded = Recorded::names(40_000);
    let (file, notes) = written(&recorded);
    recorded.assert_shown_by(&file);
    assert_eq!(file.place_count, 32_767);
    // Of 32,767 source locations, one is reserved for ops, and seven for the unnamed zones of the
    // seven kinds of RISC.
    assert_eq!(notes.vague_zones, 40_000 - (32_767 - 8));
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for zone in file.contexts[0].lanes.values().flatten() {
        *names.entry(&zone.place.name).or_default() += 1;
    }
    assert_eq!(names["ZONE-1"], 1);
    assert_eq!(names["(one name too many for Tracy)"], 40_000 - (32_767 - 8));
}

#[test]
fn more_ops_than_there_are_source_locations_lose_their_number_and_nothing_else() {
    let recorded = Recorded::cores(1, 8_000, 0);
    let (file, notes) = written(&recorded);
    recorded.assert_shown_by(&file);
    assert_eq!(file.place_count, 32_767);
    // There are 40,000 firmware zones. 8 reserved locations and 10 plain locations are not
    // available for them.
    assert_eq!(notes.vague_zones, 40_000 - (32_767 - 8 - 10));
}

#[test]
fn a_clock_that_began_anew_breaks_neither_order_nor_nesting() {
    let mut recorded = Recorded::cores(1, 1, 1);
    use PacketKind::{ZoneEnd, ZoneStart};
    let run = |start: u64| vec![(ZoneStart, 12, start), (ZoneEnd, 12, start + 50)];
    let id = LaneId { chip_id: 0, core: Noc0Coord { x: 7, y: 7 }, risc: Risc::Ncrisc };
    // Times jump forward by forty seconds, back before all others, and forward again.
    recorded.push_lane(id, &[run(40_000_000_000), run(100), run(60_000), run(40_000_000_500)]);
    let (file, _) = written(&recorded);
    recorded.assert_shown_by(&file);
    let last_ns = file.last_ns;
    let zones = file.contexts.iter().flat_map(|context| context.lanes.values().flatten());
    assert!(zones.clone().all(|zone| zone.start_ns >= 0 && zone.end_ns <= last_ns));
    assert_eq!(zones.map(|zone| zone.start_ns).min(), Some(0));
}

#[test]
fn times_past_the_end_of_tracys_time_are_drawn_there_and_counted() {
    let mut recorded = Recorded::empty();
    use PacketKind::{ZoneEnd, ZoneStart};
    let id = LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 1 }, risc: Risc::Brisc };
    let end = 1_u64 << 60;
    let records = vec![(ZoneStart, 1, 0), (ZoneEnd, 1, 5), (ZoneStart, 2, 9), (ZoneEnd, 2, end)];
    recorded.push_lane(id, &[records]);
    let (file, notes) = written(&recorded);
    assert_eq!(notes.late_zones, 1);
    let ends: Vec<i64> =
        file.contexts[0].lanes.values().flatten().map(|zone| zone.end_ns).collect();
    assert_eq!(ends, [5, (1 << 47) - 1]);
}

#[test]
fn an_empty_trace_is_a_whole_file() {
    let (file, notes) = written(&Recorded::empty());
    assert_eq!((file.program.as_str(), file.version), ("kprof", [0, 10, 0]));
    assert_eq!(notes, TracyNotes::default());
    assert_eq!(file.rest, empty_rest());
}

#[test]
fn the_strict_reader_reads_a_file_that_tenstorrents_fork_wrote() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/captures/tracy/");
    let file = reader::read(&std::fs::read(format!("{folder}spmm_demo_1ctx.tracy")).unwrap());
    let listed =
        std::fs::read_to_string(format!("{folder}spmm_demo_1ctx.device_zones.csv")).unwrap();
    let mut lines = 0;
    for line in listed.lines().skip(1) {
        let (context, fields) = line.trim_start_matches('"').split_once('"').unwrap();
        // ctx_type, period, ctx_time_diff, thread, depth, zone, file, line, start, end
        let fields: Vec<&str> = fields.trim_start_matches(',').split(',').collect();
        let number = |field: usize| fields[field].parse::<i64>().unwrap();
        let found = &file.contexts[0].lanes[&u64::try_from(number(3)).unwrap()];
        assert!(
            found.iter().any(|zone| i64::try_from(zone.depth) == Ok(number(4))
                && fields[5].trim_matches('"') == zone.place.name
                && fields[6].trim_matches('"') == zone.place.file
                && number(7) == i64::from(zone.place.line)
                && (number(8), number(9)) == (zone.start_ns, zone.end_ns)),
            "{line}"
        );
        assert_eq!(context, file.contexts[0].name);
        lines += 1;
    }
    let zones: usize = file.contexts[0].lanes.values().map(Vec::len).sum();
    assert_eq!((lines, zones, file.contexts[0].kind), (110, 110, 6));
}

/// Returns the records of a launch that opens and closes zones by `steps`, and closes all at its
/// end.
fn nested(steps: &[(bool, u64)], time: &mut u64) -> Records {
    let (mut records, mut open) = (Records::new(), Vec::new());
    *time += 1;
    for &(opens, pause) in steps {
        *time += pause;
        if opens || open.is_empty() {
            let zone = u16::try_from(open.len()).unwrap() + 1;
            open.push(zone);
            records.push((PacketKind::ZoneStart, zone, *time));
        } else {
            records.push((PacketKind::ZoneEnd, open.pop().unwrap(), *time));
        }
    }
    records.extend(open.into_iter().rev().map(|zone| (PacketKind::ZoneEnd, zone, *time)));
    records
}

/// Returns launches of one lane in any order. The launches do not overlap.
fn any_launches() -> impl Strategy<Value = Vec<Records>> {
    let steps = vec((any::<bool>(), 0_u64..5_000_000_000), 1..40);
    let launches = vec(steps, 1..5).prop_map(|launches| {
        let mut time = 0;
        launches.iter().map(|steps| nested(steps, &mut time)).collect::<Vec<_>>()
    });
    launches.prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_nests_is_shown_as_it_was_recorded(lanes in vec(any_launches(), 1..6)) {
        let mut recorded = Recorded::empty();
        for (lane, risc) in lanes.iter().zip(Risc::ALL) {
            recorded.push_lane(LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 1 }, risc }, lane);
        }
        let (file, notes) = written(&recorded);
        recorded.assert_shown_by(&file);
        prop_assert_eq!(notes.late_zones, 0);
    }
}
