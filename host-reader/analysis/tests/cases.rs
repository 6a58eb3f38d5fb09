//! Compares figures of real chips with those of other programs, and figures of small artificial
//! logs with values computed by hand.

use analysis::{Doubt, Op, Report, Span, ops_of, paired_zone_statistics, zone_statistics};
use captures::{log_of_json, log_path, read_capture};
use reader::{mesh::Noc0Coord, origins::TileOrigins, readout::Readout, timeline::Timeline};
use recording::device_log::{PackedLog, read_device_log};

fn report_of(readout: &Readout) -> Report {
    Report::new(readout)
}

/// Returns start and end in cycles, and the duration in cycles and nanoseconds.
fn parts(span: Option<Span>) -> Option<(u64, u64, u64, u64)> {
    let span = span?;
    Some((span.start_cycle, span.end_cycle, span.duration_cycles, span.duration_ns?))
}

fn cycles(span: Option<Span>) -> Option<u64> {
    span.map(|span| span.duration_cycles)
}

#[test]
fn a_wormhole_kernel_with_counters_has_the_figures_of_its_log() {
    let report = report_of(&read_capture("wormhole-counters-elw"));
    let ops: Vec<_> = report.ops.ops().collect();
    let [op] = ops.as_slice() else { panic!("{ops:?}") };
    assert_eq!((op.chip_id, op.run_host_id, op.trace_id, op.launch), (0, 0, None, 1));
    assert_eq!((op.core_count, op.recorded_core_count, op.unfinished_core_count), (1, 1, 0));
    assert_eq!(parts(op.firmware), Some((10_927_296_811, 10_927_308_028, 11_217, 11_217)));
    assert_eq!(parts(op.kernel), Some((10_927_297_403, 10_927_303_609, 6_206, 6_206)));
    assert_eq!(cycles(op.data_movement_kernel), Some(5_983));
    assert_eq!(op.kernel_first_to_last_start_cycles, Some(255));
    let riscs = op.risc_kernels;
    let of_riscs = [riscs.brisc, riscs.ncrisc, riscs.trisc0, riscs.trisc1, riscs.trisc2];
    assert_eq!(of_riscs.map(cycles), [5_951, 5_233, 5_429, 4_262, 4_894].map(Some));
    assert_eq!((riscs.erisc, op.trace_firmware), (None, None));
    assert_eq!((op.op_to_op_latency_cycles, op.op_to_op_latency_ns), (Some(0), Some(0)));
    assert_eq!((op.core_kernel.count, op.core_kernel.max_cycles), (1, 6_206));
    assert!(!op.is_spread_implausible);
}

#[test]
fn a_wormhole_kernel_with_counters_keeps_everything() {
    let report = report_of(&read_capture("wormhole-counters-elw"));
    let kept = report.summary.kept;
    assert_eq!((kept.zones, kept.data, kept.events, kept.sums), (10, 59, 0, 0));
    assert_eq!((kept.open_zones, kept.orphan_ends), (0, 0));
    assert!(report.summary.is_clean());
    assert_eq!((report.summary.lane_count, report.summary.record_count), (5, 79));
    let zones: Vec<_> = report
        .zones
        .iter()
        .map(|zone| (zone.risc.label(), zone.name.as_str(), zone.cycles.total_cycles))
        .collect();
    let expected = [
        ("BRISC", "BRISC-FW", 11_217),
        ("BRISC", "BRISC-KERNEL", 5_951),
        ("NCRISC", "NCRISC-FW", 6_014),
        ("NCRISC", "NCRISC-KERNEL", 5_233),
        ("TRISC_0", "TRISC-FW", 5_899),
        ("TRISC_0", "TRISC-KERNEL", 5_429),
        ("TRISC_1", "TRISC-FW", 5_899),
        ("TRISC_1", "TRISC-KERNEL", 4_262),
        ("TRISC_2", "TRISC-FW", 6_024),
        ("TRISC_2", "TRISC-KERNEL", 4_894),
    ];
    assert_eq!(zones, expected);
    assert_eq!(report.zones[0].self_total_cycles, 5_266);
    assert_eq!(report.zones[1].self_total_cycles, 5_951);
}

/// Log with zones without ends, ends without zones, and lanes of several chips.
const DAMAGED: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
0,1,2,BRISC,7,100,0,1024,A,ZONE_START
0,1,2,BRISC,8,170,0,1024,B,ZONE_END
0,1,3,BRISC,7,100,0,1024,A,ZONE_START
0,1,3,BRISC,7,5000000000,0,1024,A,ZONE_END
1,1,3,NCRISC,8,100,0,1024,B,ZONE_START
1,1,3,NCRISC,7,120,0,1024,A,ZONE_START
1,1,3,NCRISC,7,140,0,1024,A,ZONE_END
1,1,3,NCRISC,8,150,0,1024,B,ZONE_END
";

#[test]
fn a_log_reported_lane_by_lane_has_the_figures_of_its_readout() {
    let of_chips = ["blackhole-noc-256", "wormhole-counters-elw", "wormhole-noc-4096"];
    let mut logs = of_chips.map(|log| std::fs::read_to_string(log_path(log)).unwrap()).to_vec();
    logs.extend([log_of_json(), DAMAGED.to_owned()]);
    for log in logs {
        let packed = PackedLog::read(log.as_bytes(), "log").unwrap();
        let (recording, report) = recording::report_of_log(packed).unwrap();
        let whole = read_device_log(log.as_bytes(), "log").unwrap();
        assert_eq!(report, report_of(&whole));
        assert_eq!(recording.readout.anomalies, whole.anomalies);
    }
}

#[test]
fn statistics_without_a_timeline_are_those_of_the_timeline() {
    let damaged = read_device_log(DAMAGED.as_bytes(), "damaged").unwrap();
    for readout in [read_capture("wormhole-counters-elw"), damaged] {
        let timeline = Timeline::from_readout(&readout);
        let (zones, anomalies) = paired_zone_statistics(&readout);
        assert_eq!(zones, zone_statistics(&readout, &timeline));
        assert!(anomalies.counts().eq(timeline.anomalies.counts()));
    }
}

#[test]
fn noc_event_captures_have_the_figures_of_their_logs() {
    // Expected nanoseconds: firmware, kernel, first to last kernel start, BRISC kernel, NCRISC
    // kernel.
    for (capture, expected) in [
        ("blackhole-noc-256", [6_599, 6_136, 87, 6_048, 3_466]),
        ("blackhole-noc-4096", [7_552, 7_089, 87, 7_001, 3_995]),
        ("wormhole-noc-256", [8_710, 7_766, 29, 7_737, 3_832]),
        ("wormhole-noc-4096", [11_384, 10_422, 16, 10_406, 5_155]),
    ] {
        let report = report_of(&read_capture(capture));
        let op = report.ops.ops().next().unwrap();
        let ns = |span: Option<Span>| span.and_then(|span| span.duration_ns).unwrap();
        let skew = op.kernel_first_to_last_start_ns.unwrap();
        let riscs = op.risc_kernels;
        let found = [ns(op.firmware), ns(op.kernel), skew, ns(riscs.brisc), ns(riscs.ncrisc)];
        assert_eq!(found, expected, "{capture}");
        assert_eq!((report.ops.len(), op.core_count), (1, 1), "{capture}");
        let kept = report.summary.kept;
        assert_eq!((kept.zones, kept.data), (4, 50), "{capture}");
        assert!(report.summary.is_clean(), "{capture}");
    }
}

#[test]
fn a_log_of_three_programs_has_three_ops() {
    let readout = read_device_log(log_of_json().as_bytes(), "log").unwrap();
    let ops = ops_of(&readout);
    let figures: Vec<_> =
        ops.iter().map(|op| (op.run_host_id, cycles(op.firmware), cycles(op.kernel))).collect();
    let expected =
        [(781, Some(40_767), Some(4_840)), (782, Some(7_661), None), (783, Some(49_137), None)];
    assert_eq!(figures, expected);
    assert_eq!((ops[0].op_to_op_latency_ns, ops[1].op_to_op_latency_ns), (Some(0), None));
}

/// One launch on one lane: its program, and the start and end of firmware and kernel.
struct Launch(&'static str, u32, (u64, u64), (u64, u64));

fn log_of(launches: &[Launch]) -> Readout {
    let mut log = String::from(
        "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n\
         PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,\
         run host ID,zone name,type\n",
    );
    for Launch(lane, program, firmware, kernel) in launches {
        let risc = lane.rsplit(',').next().unwrap().split('_').next().unwrap();
        for (id, zone, time, kind) in [
            (1, "FW", firmware.0, "START"),
            (2, "KERNEL", kernel.0, "START"),
            (2, "KERNEL", kernel.1, "END"),
            (1, "FW", firmware.1, "END"),
        ] {
            let line = format!("0,{lane},{id},{time},0,{program},{risc}-{zone},ZONE_{kind}\n");
            log.push_str(&line);
        }
    }
    read_device_log(log.as_bytes(), "log").unwrap()
}

fn ops(launches: &[Launch]) -> Vec<Op> {
    ops_of(&log_of(launches))
}

#[test]
fn ops_span_all_their_cores_and_wait_for_each_other() {
    let ops = ops(&[
        Launch("1,1,BRISC", 1024, (100, 500), (120, 480)),
        Launch("1,1,BRISC", 2048, (900, 1500), (930, 1400)),
        Launch("2,1,BRISC", 1024, (105, 600), (130, 580)),
        Launch("2,1,BRISC", 2048, (890, 1300), (920, 1290)),
    ]);
    let [first, second] = ops.as_slice() else { panic!("{ops:?}") };
    assert_eq!((first.run_host_id, first.core_count), (1024, 2));
    assert_eq!((cycles(first.firmware), cycles(first.kernel)), (Some(500), Some(460)));
    assert_eq!(first.kernel_first_to_last_start_cycles, Some(10));
    assert_eq!((first.core_kernel.min_cycles, first.core_kernel.max_cycles), (360, 450));
    assert_eq!(first.imbalance(), Some(450.0 / 405.0), "longest core and mean of both");
    assert_eq!((cycles(second.firmware), cycles(second.kernel)), (Some(610), Some(480)));
    assert_eq!(second.op_to_op_latency_cycles, Some(340));
    assert_eq!(second.data_movement_op_to_op_latency_ns, Some(340));
}

#[test]
fn each_launch_of_one_program_is_an_op_of_its_own() {
    let ops = ops(&[
        Launch("1,1,BRISC", 1024, (100, 500), (120, 480)),
        Launch("1,1,BRISC", 1024, (900, 1500), (930, 1400)),
        Launch("2,1,BRISC", 1024, (105, 600), (130, 580)),
        Launch("2,1,BRISC", 1024, (890, 1300), (920, 1290)),
    ]);
    let figures: Vec<_> =
        ops.iter().map(|op| (op.launch, op.core_count, cycles(op.kernel))).collect();
    assert_eq!(figures, [(1, 2, Some(460)), (2, 2, Some(480))]);
}

#[test]
fn overlapping_ops_have_no_latency() {
    let ops = ops(&[
        Launch("1,1,BRISC", 1024, (100, 500), (120, 480)),
        Launch("2,1,BRISC", 2048, (200, 600), (220, 580)),
    ]);
    assert_eq!(ops[1].op_to_op_latency_cycles, None);
}

#[test]
fn a_risc_that_runs_in_some_launches_joins_the_right_ones() {
    let mut launches = Vec::new();
    for n in 0..10 {
        let at = 1000 * n;
        launches.push(Launch("1,1,BRISC", 1024, (at + 10, at + 900), (at + 20, at + 800)));
    }
    for n in [4, 9] {
        let at = 1000 * n;
        launches.push(Launch("1,1,TRISC_1", 1024, (at + 15, at + 850), (at + 25, at + 820)));
    }
    let ops = ops(&launches);
    let with_math: Vec<_> =
        ops.iter().filter(|op| op.risc_kernels.trisc1.is_some()).map(|op| op.launch).collect();
    assert_eq!((ops.len(), with_math), (10, vec![5, 10]));
    assert_eq!((cycles(ops[4].kernel), cycles(ops[3].kernel)), (Some(800), Some(780)));
}

#[test]
fn a_core_that_lost_launches_is_joined_by_time() {
    let mut launches = Vec::new();
    for n in 0..5 {
        let at = 10_000 * n;
        launches.push(Launch("1,1,BRISC", 1024, (at + 10, at + 900), (at + 20, at + 800)));
        if n != 1 {
            launches.push(Launch("2,1,BRISC", 1024, (at + 12, at + 950), (at + 22, at + 820)));
        }
    }
    let ops = ops(&launches);
    let cores: Vec<_> = ops.iter().map(|op| (op.core_count, op.time_matched_core_count)).collect();
    assert_eq!(cores, [(2, 1), (1, 0), (2, 1), (2, 1), (2, 1)]);
    assert!(ops.iter().all(|op| cycles(op.kernel).unwrap() <= 800));
}

#[test]
fn tiles_with_epochs_of_their_own_are_told_and_can_be_aligned() {
    const EPOCH: u64 = 15_000_000_000_000;
    let launch = |core, at| Launch(core, 1024, (at, at + 500), (at + 20, at + 480));
    let readout = log_of(&[launch("1,1,BRISC", 100), launch("11,1,BRISC", EPOCH + 107)]);
    let raw = ops_of(&readout);
    assert!(raw[0].is_spread_implausible);
    assert_eq!((raw[0].kernel, raw[0].firmware), (None, None));
    assert_eq!(raw[0].risc_kernels.brisc, None);
    assert_eq!(raw[0].kernel_first_to_last_start_ns, None);
    assert_eq!(raw[0].duration_doubt, Some(Doubt::ClocksDisagree));
    assert_eq!(raw[0].core_kernel.max_cycles, 460, "each core has one clock");
    assert_eq!(raw[0].imbalance(), None, "the durations are in doubt");
    let mut origins = TileOrigins::default();
    origins.set(0, Noc0Coord { x: 11, y: 1 }, 15_000_000_000_000);
    let mut readout = readout;
    origins.align(&mut readout);
    let aligned = ops_of(&readout);
    assert!(!aligned[0].is_spread_implausible);
    assert_eq!(cycles(aligned[0].kernel), Some(467));
    assert_eq!((aligned[0].duration_doubt, aligned[0].latency_doubt), (None, None));
    assert_eq!(aligned[0].core_kernel.max_cycles, 460);
    assert_eq!(aligned[0].imbalance(), Some(1.0));
}

#[test]
fn a_firmware_that_never_ends_is_counted() {
    let readout = read_device_log(
        "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n\
         PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type\n\
         0,1,1,BRISC,1,100,0,1024,BRISC-FW,ZONE_START\n\
         0,1,1,BRISC,3,150,0,1024,SUM,ZONE_TOTAL\n\
         0,1,1,BRISC,4,160,0,1024,,TS_EVENT\n"
            .as_bytes(),
        "log",
    )
    .unwrap();
    let report = report_of(&readout);
    let op = report.ops.ops().next().unwrap();
    assert_eq!((op.core_count, op.unfinished_core_count), (1, 1));
    assert_eq!(op.firmware, None);
    let summary = &report.summary;
    assert_eq!((summary.kept.open_zones, summary.kept.sums, summary.kept.events), (1, 1, 1));
    assert_eq!(summary.anomaly_count, 1);
    assert_eq!((report.sums[0].name.as_str(), report.sums[0].cycles.count), ("SUM", 1));
    assert_eq!((report.zones[0].cycles.count, report.zones[0].open_zone_count), (0, 1));
}

/// Two cores with two RISCs each. NCRISC of the second core lost the ends of its zones.
#[test]
fn a_launch_in_which_one_risc_of_a_core_lost_its_ends_has_no_duration() {
    let mut log = String::from(
        "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n\
         PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,\
         run host ID,zone name,type\n",
    );
    for (core, risc, zone, start, end) in [
        ("1,1", "BRISC", "BRISC-FW", 100, Some(900)),
        ("1,1", "BRISC", "BRISC-KERNEL", 150, Some(600)),
        ("1,1", "NCRISC", "NCRISC-FW", 110, Some(850)),
        ("1,1", "NCRISC", "NCRISC-KERNEL", 120, Some(800)),
        ("2,1", "BRISC", "BRISC-FW", 100, Some(700)),
        ("2,1", "BRISC", "BRISC-KERNEL", 150, Some(550)),
        ("2,1", "NCRISC", "NCRISC-FW", 110, None),
        ("2,1", "NCRISC", "NCRISC-KERNEL", 120, None),
    ] {
        log += &format!("0,{core},{risc},7,{start},0,1024,{zone},ZONE_START\n");
        if let Some(end) = end {
            log += &format!("0,{core},{risc},7,{end},0,1024,{zone},ZONE_END\n");
        }
    }
    let ops = ops_of(&read_device_log(log.as_bytes(), "log").unwrap());
    let [op] = ops.as_slice() else { panic!("{ops:?}") };
    assert_eq!((op.core_count, op.unfinished_core_count), (2, 1));
    assert_eq!((op.firmware, op.kernel, op.data_movement_kernel), (None, None, None));
    assert_eq!(op.duration_doubt, Some(Doubt::Unfinished));
    assert_eq!((cycles(op.risc_kernels.brisc), op.risc_kernels.ncrisc), (Some(450), None));
    assert_eq!(op.core_kernel.count, 0, "the slowest core is not known");
}

/// Two replays of one program. The records of NCRISC have no trace id (TT-Metal #33430).
#[test]
fn a_risc_that_names_no_replay_belongs_to_that_of_its_core() {
    let mut log = String::from(
        "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n\
         PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,\
         trace id,trace id counter,zone name,type,source line,source file,meta data\n",
    );
    for (replay, start) in [(1, 1_000), (2, 5_000)] {
        let trace = format!("7,{replay}");
        for (risc, trace, zone, start, end) in [
            ("BRISC", &*trace, "BRISC-FW", start, start + 900),
            ("BRISC", &*trace, "BRISC-KERNEL", start + 50, start + 700),
            ("NCRISC", ",", "NCRISC-FW", start + 10, start + 950),
            ("NCRISC", ",", "NCRISC-KERNEL", start + 20, start + 930),
        ] {
            log += &format!("0,1,1,{risc},7,{start},0,1024,{trace},{zone},ZONE_START,1,k.cc,\n");
            log += &format!("0,1,1,{risc},7,{end},0,1024,{trace},{zone},ZONE_END,1,k.cc,\n");
        }
    }
    let ops = ops_of(&read_device_log(log.as_bytes(), "log").unwrap());
    let found = ops.iter().map(|op| (op.trace_replay, parts(op.firmware), parts(op.kernel)));
    let found: Vec<_> = found.collect();
    let expected = [
        (Some(1), Some((1_000, 1_950, 950, 950)), Some((1_020, 1_930, 910, 910))),
        (Some(2), Some((5_000, 5_950, 950, 950)), Some((5_020, 5_930, 910, 910))),
    ];
    assert_eq!(found, expected);
    assert!(ops.iter().all(|op| op.core_count == 1 && op.risc_kernels.ncrisc.is_some()));
}

/// One op of a Quasar: firmware on DM 0, kernels on two data movers and the TRISCs of two parts.
#[test]
fn kernels_of_a_quasar_are_spans_of_its_two_kinds_of_processors() {
    let mut log = String::from(
        "ARCH: quasar, CHIP_FREQ[MHz]: 500\n\
         PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,\
         run host ID,zone name,type\n",
    );
    for (risc, zone, start, end) in [
        ("QUASAR_DM0", "DM0-FW", 100, 900),
        ("QUASAR_DM1", "DM-KERNEL", 150, 600),
        ("QUASAR_DM5", "DM-KERNEL", 160, 700),
        ("QUASAR_NEO0_TRISC0", "TRISC-KERNEL", 200, 650),
        ("QUASAR_NEO3_TRISC2", "TRISC-KERNEL", 210, 660),
    ] {
        log += &format!("0,1,2,{risc},7,{start},0,1024,{zone},ZONE_START\n");
        log += &format!("0,1,2,{risc},7,{end},0,1024,{zone},ZONE_END\n");
    }
    let whole = ops_of(&read_device_log(log.as_bytes(), "quasar").unwrap());
    let riscs = whole[0].risc_kernels;
    assert_eq!(parts(riscs.quasar_dm), Some((150, 700, 550, 1100)));
    assert_eq!(parts(riscs.quasar_trisc), Some((200, 660, 460, 920)));
    assert!(riscs.is_of_quasar() && riscs.brisc.is_none() && riscs.trisc0.is_none());
    assert_eq!(cycles(whole[0].data_movement_kernel), Some(550));
    // A kernel without an end clears only the figure for processors of the same kind.
    log += "0,2,2,QUASAR_NEO1_TRISC1,7,220,0,1024,TRISC-KERNEL,ZONE_START\n";
    let open = ops_of(&read_device_log(log.as_bytes(), "quasar").unwrap());
    let riscs = open[0].risc_kernels;
    assert_eq!((cycles(riscs.quasar_dm), riscs.quasar_trisc), (Some(550), None));
}

/// Two ops. The first has stalls on two RISCs of one core and on one RISC of another core; one
/// stall has no end. The second op has no stalls.
#[test]
fn stalls_are_added_up_by_op_and_unknown_where_none_is_recorded() {
    let mut log = String::from(
        "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 500\n\
         PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,\
         run host ID,zone name,type\n",
    );
    let mut zone = |lane: &str, program: u32, name: &str, times: (u64, Option<u64>)| {
        let (start, end) = times;
        log += &format!("0,{lane},7,{start},0,{program},{name},ZONE_START\n");
        if let Some(end) = end {
            log += &format!("0,{lane},7,{end},0,{program},{name},ZONE_END\n");
        }
    };
    const STALL: &str = "PROFILER-DRAM-STALL";
    zone("1,2,BRISC", 1024, STALL, (50, Some(90)));
    zone("1,2,BRISC", 1024, "BRISC-KERNEL", (100, Some(900)));
    zone("1,2,BRISC", 1024, STALL, (1000, None));
    zone("1,2,NCRISC", 1024, "NCRISC-KERNEL", (110, Some(600)));
    zone("1,2,NCRISC", 1024, STALL, (700, Some(1300)));
    zone("2,2,BRISC", 1024, "BRISC-KERNEL", (105, Some(800)));
    zone("2,2,BRISC", 1024, STALL, (850, Some(851)));
    zone("1,2,BRISC", 2048, "BRISC-KERNEL", (2000, Some(2500)));
    // A zone with a name that only resembles the profiler's zone.
    zone("2,2,BRISC", 2048, "MY-PROFILER-DRAM-STALL", (2000, Some(2500)));
    // An end without a start.
    log += &format!("0,1,2,NCRISC,7,1400,0,1024,{STALL},ZONE_END\n");
    let readout = read_device_log(log.as_bytes(), "stalls").unwrap();
    let ops = ops_of(&readout);
    let [first, second] = ops.as_slice() else { panic!("{ops:?}") };
    let stall = first.stall.unwrap();
    assert_eq!((stall.count, stall.cycles, stall.longest_cycles), (3, 641, 600));
    assert_eq!(first.stall_ns, Some(1282));
    assert_eq!((second.stall, second.stall_ns), (None, None));
    // The figures of the op itself are the same as without stalls.
    assert_eq!(cycles(first.kernel), Some(800));
}
