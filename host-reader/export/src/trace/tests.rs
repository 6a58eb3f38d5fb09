//! Tests of traces from small logs with known figures.

use super::*;
use captures::read_capture;
use reader::{
    lane::LaneId, ledger::LossCause, mesh::Noc0Coord, origins::TileOrigins, readout::Readout,
    timeline::Timeline,
};
use recording::{Recording, TraceFilter, device_log::read_device_log};
use wire::{PacketKind, Risc, RunHostId};

const HEADER: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 500
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
";

/// Two launches on two cores. The second launch has an event, a value and a zone without an end.
const ROWS: &str = "\
0,1,2,BRISC,7,1000,0,1024,BRISC-FW,ZONE_START
0,1,2,BRISC,8,1010,0,1024,BRISC-KERNEL,ZONE_START
0,1,2,BRISC,9,1020,0,1024,Load,ZONE_START
0,1,2,BRISC,9,1050,0,1024,Load,ZONE_END
0,1,2,BRISC,8,1090,0,1024,BRISC-KERNEL,ZONE_END
0,1,2,BRISC,7,1100,0,1024,BRISC-FW,ZONE_END
0,1,2,BRISC,7,2000,0,2048,BRISC-FW,ZONE_START
0,1,2,BRISC,8,2010,0,2048,BRISC-KERNEL,ZONE_START
0,1,2,BRISC,11,2020,0,2048,,TS_EVENT
0,1,2,BRISC,12,2030,77,2048,Value,TS_DATA
0,1,2,BRISC,9,2040,0,2048,Load,ZONE_START
0,1,2,BRISC,8,2090,0,2048,BRISC-KERNEL,ZONE_END
0,1,2,BRISC,7,2100,0,2048,BRISC-FW,ZONE_END
0,3,2,NCRISC,10,1015,0,1024,NCRISC-KERNEL,ZONE_START
0,3,2,NCRISC,10,1115,0,1024,NCRISC-KERNEL,ZONE_END
";

fn readout() -> Readout {
    read_device_log(format!("{HEADER}{ROWS}").as_bytes(), "test").unwrap()
}

fn recording() -> Recording {
    Recording::from_readout(readout())
}

fn trace<'a>(recording: &'a Recording, filter: &str) -> Trace<'a> {
    let filter = if filter.is_empty() { TraceFilter::default() } else { filter.parse().unwrap() };
    Trace::new(recording, &filter)
}

fn labels<'a>(trace: &'a Trace<'_>, lane: usize) -> Vec<&'a str> {
    let zones = trace.devices[0].lanes[lane].zones.iter();
    zones.map(|zone| trace.names.label(zone.name)).collect()
}

#[test]
fn zones_carry_cycles_and_nanoseconds_since_the_first_record() {
    let recording = recording();
    let trace = trace(&recording, "");
    let lane = &trace.devices[0].lanes[0];
    // At 500 MHz, a cycle takes two nanoseconds.
    let zones = lane.zones.iter();
    let zones: Vec<_> = zones
        .map(|zone| {
            (zone.start_cycle, zone.start_ns, zone.end_ns, zone.depth, zone.has_synthetic_end)
        })
        .collect();
    assert_eq!(
        zones,
        [
            (1000, 0, 200, 0, false),
            (1010, 20, 180, 1, false),
            (1020, 40, 100, 2, false),
            (2000, 2000, 2200, 0, false),
            (2010, 2020, 2180, 1, false),
            (2040, 2080, 2180, 2, true),
        ]
    );
    let own = lane.zones.iter().map(|zone| zone.own_cycles);
    assert_eq!(own.collect::<Vec<_>>(), [20, 50, 30, 20, 30, 50]);
    assert_eq!(lane.run_kernels, [Some(1), Some(4)]);
    assert_eq!(trace.anomalies.anomaly_count(), 1);
    assert_eq!(trace.end_ns(), 2200);
}

#[test]
fn a_recording_is_known_by_its_begin_whatever_is_shown_of_it() {
    let whole = recording();
    let id = trace(&whole, "").recording_id();
    assert_eq!(id.len(), 8);
    assert_eq!(trace(&whole, "op=2").recording_id(), id);
    // The identifier stays the same without the last three rows. The identifier changes if the
    // first cycle changes.
    let cut: String = ROWS.lines().take(12).map(|row| format!("{row}\n")).collect();
    assert_eq!(trace(&Recording::from_readout(read_log(&cut)), "").recording_id(), id);
    let later = read_log(&ROWS.replace(",1000,", ",1007,"));
    assert_ne!(trace(&Recording::from_readout(later), "").recording_id(), id);
}

fn read_log(rows: &str) -> Readout {
    read_device_log(format!("{HEADER}{rows}").as_bytes(), "test").unwrap()
}

#[test]
fn points_keep_their_values_and_their_place_in_time() {
    let recording = recording();
    let trace = trace(&recording, "");
    let points: Vec<_> = trace.devices[0].lanes[0].points.iter().collect();
    let facts: Vec<_> =
        points.iter().map(|point| (point.kind, point.time_ns, point.values, point.run)).collect();
    assert_eq!(
        facts,
        [
            (PacketKind::TimestampedEvent, 2040, &[][..], Some(1)),
            (PacketKind::TimestampedData, 2060, &[77], Some(1)),
        ]
    );
    assert_eq!(trace.names.label(points[0].name), "id 11");
}

#[test]
fn ops_span_their_cores_and_know_their_runs() {
    let recording = recording();
    let trace = trace(&recording, "");
    let ops = &trace.devices[0].ops;
    let facts: Vec<_> =
        ops.iter().map(|op| (op.base_id(), op.start_cycle, op.end_cycle, op.row)).collect();
    assert_eq!(facts, [(1, 1000, 1100, 0), (2, 2000, 2100, 0)]);
    let both = [TraceRun { lane: 0, run: 0 }, TraceRun { lane: 1, run: 0 }];
    assert_eq!(ops[0].runs, both);
    assert_eq!(trace.devices[0].lanes[0].run_ops, [Some(0), Some(1)]);
}

#[test]
fn a_tile_whose_clock_is_ahead_is_brought_back() {
    let mut readout = readout();
    let mut origins = TileOrigins::default();
    origins.set(0, Noc0Coord { x: 3, y: 2 }, 15);
    origins.align(&mut readout);
    let recording = Recording::from_readout(readout);
    let trace = trace(&recording, "");
    let zones = trace.devices[0].lanes[1].zones.iter();
    assert_eq!(zones.map(|zone| zone.start_cycle).collect::<Vec<_>>(), [1000]);
}

#[test]
fn a_filter_hides_and_counts_what_it_hides() {
    let recording = recording();
    let by_zone = trace(&recording, "zone!=*-FW");
    assert_eq!(labels(&by_zone, 0), ["BRISC-KERNEL", "Load", "BRISC-KERNEL", "Load"]);
    let depths = by_zone.devices[0].lanes[0].zones.iter().map(|zone| zone.depth);
    assert_eq!(depths.collect::<Vec<_>>(), [0, 1, 0, 1]);
    assert_eq!(by_zone.devices[0].lanes[0].run_kernels, [Some(0), Some(2)]);
    assert_eq!(by_zone.hidden, HiddenCounts { zones: 2, ..HiddenCounts::default() });
    let times = |trace: &Trace<'_>| {
        let lane = &trace.devices[0].lanes[0];
        [0, 1].map(|run| Some(lane.timed_kernel(run, &trace.names)?.duration_cycles))
    };
    assert_eq!(times(&by_zone), [Some(80), Some(80)]);
    // Another zone is no kernel, although an arrow may end at it.
    let without_kernels = trace(&recording, "zone!=*-KERNEL");
    assert_eq!(without_kernels.devices[0].lanes[0].run_kernels, [Some(0), Some(2)]);
    assert_eq!(times(&without_kernels), [None, None]);

    let by_op = trace(&recording, "op=2");
    assert_eq!(labels(&by_op, 0), ["BRISC-FW", "BRISC-KERNEL", "Load"]);
    assert_eq!(by_op.devices[0].ops.len(), 1);
    assert_eq!(by_op.devices[0].lanes[0].run_ops, [None, Some(0)]);
    assert_eq!(by_op.hidden, HiddenCounts { zones: 4, ops: 1, ..HiddenCounts::default() });

    let by_risc = trace(&recording, "risc=ncrisc");
    assert_eq!(by_risc.lane_count(), 1);
    assert_eq!(by_risc.devices[0].ops[0].runs, [TraceRun { lane: 0, run: 0 }]);
    let hidden = HiddenCounts { lanes: 1, zones: 6, points: 2, ops: 1, lost_records: 0 };
    assert_eq!(by_risc.hidden, hidden);

    let by_time = trace(&recording, "time=2060..2061");
    assert_eq!(labels(&by_time, 0), ["BRISC-FW", "BRISC-KERNEL"]);
    assert_eq!(by_time.point_count(), 1);
}

#[test]
fn losses_stand_where_they_happened_even_on_lanes_without_records() {
    let mut recording = recording();
    let known = recording.readout.devices[0].lanes[0].id;
    let silent = LaneId { core: Noc0Coord { x: 2, y: 2 }, risc: Risc::Trisc1, ..known };
    let elsewhere = LaneId { chip_id: 9, ..known };
    let mut enter = |lane, program, zones| {
        let key = LossKey { lane, cause: LossCause::L1Full, program };
        recording.readout.losses.record(key, LossTotals { zones, ..LossTotals::default() });
    };
    enter(known, program(1), 25);
    enter(known, None, 5);
    enter(silent, program(2), 3);
    enter(elsewhere, None, 1);
    let trace = trace(&recording, "");
    let device = &trace.devices[0];
    let places = |lane: usize| -> Vec<_> {
        device.lanes[lane].losses.iter().map(|loss| (loss.cycle, loss.totals.zones)).collect()
    };
    assert_eq!(places(0), [(1100, 25), (2100, 5)]);
    assert_eq!(device.lanes[1].id, silent);
    assert_eq!(places(1), [(2100, 3)]);
    assert_eq!(trace.unplaced_losses.len(), 1);
    assert_eq!(trace.lost().zones, 34);
    // The runs of ops still have the right lane indices.
    assert_eq!(device.ops[0].runs[1], TraceRun { lane: 2, run: 0 });
}

fn program(base: u32) -> Option<RunHostId> {
    Some(RunHostId::encode(base, 0))
}

#[test]
fn real_captures_keep_every_zone_and_every_cycle() {
    for capture in ["blackhole-noc-256", "wormhole-counters-elw", "wormhole-noc-4096"] {
        let recording = Recording::from_readout(read_capture(capture));
        let trace = trace(&recording, "");
        let timeline = Timeline::from_readout(&recording.readout);
        for (lane, paired) in trace.lanes().zip(timeline.lanes()) {
            let durations: Vec<_> = lane.zones.iter().map(|zone| zone.duration_cycles).collect();
            let expected: Vec<_> = paired.zones.iter().map(|zone| zone.duration_cycles()).collect();
            assert_eq!(durations, expected, "{capture} {}", lane.id);
        }
        assert_eq!(2 * trace.zone_count() + trace.point_count(), recording.readout.record_count());
        assert_eq!(trace.clipped_zone_count(), 0);
    }
}

#[test]
fn counters_keep_the_text_that_a_log_gave_them() {
    let recording = Recording::from_readout(read_capture("wormhole-counters-elw"));
    let trace = trace(&recording, "");
    let first = trace.devices[0].lanes[0].points.first().unwrap();
    assert_eq!(first.values, [(4317 << 32) | 16]);
    assert!(first.text.unwrap().contains("CFG_INSTRN_AVAILABLE_0"));
}
