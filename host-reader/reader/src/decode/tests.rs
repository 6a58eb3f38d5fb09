//! Tests: words of lanes, and the records, losses and anomalies expected from them.

use super::*;
use crate::{lane::LaneId, mesh::Noc0Coord};
use wire::{Generation, Risc, ZoneId, generation, marker::HeaderLayout, run::IdPacking};

fn context() -> LaneContext {
    let core = Noc0Coord { x: 1, y: 2 };
    LaneContext {
        lane: LaneId { chip_id: 0, core, risc: Risc::Brisc },
        risc_index: 0,
        flat_id: 7,
        generation: generation::CURRENT,
        lane_generation: None,
        mode: CaptureMode::Workers,
        host_ids: HostIdForm::Base,
        read_at: None,
    }
}

fn decode(words: &[u32], context: &LaneContext) -> DecodedLane {
    let mut decoder = LaneDecoder::new(context, LaneState::default());
    decoder.feed(words, 0);
    decoder.finish().0
}

fn rows(decoded: &DecodedLane) -> Vec<(&str, u32, u64, Vec<u64>)> {
    decoded.lane.records().map(|r| (r.kind.label(), r.zone.0, r.time, r.data.to_vec())).collect()
}

/// Returns a run whose firmware zone begins at `start` and lasts 900 cycles. The kernel zone begins
/// ten cycles later and ends ten cycles earlier than the firmware zone.
fn run(program: u32, start: u32, optional: &[[u32; 2]]) -> Vec<u32> {
    let mut words = vec![0, 0, 7 << 5, program];
    let slots = [(0x8FC0_D001, 0), (0x9FC0_D001, 900), (0x8E42_7001, 10), (0x9E42_7001, 890)];
    words.extend(slots.iter().flat_map(|&(header, offset)| [header, start + offset]));
    words.extend(optional.iter().flatten());
    words
}

const FW: u32 = ZoneId::from_text(
    "BRISC-FW,/proj/tt_metal/hw/firmware/src/tt-1xx/brisc.cc,438,KERNEL_PROFILER",
)
.0 as u32;
const KERNEL: u32 = ZoneId::from_text(
    "BRISC-KERNEL,/proj/tt_metal/hw/firmware/src/tt-1xx/brisck.cc,51,KERNEL_PROFILER",
)
.0 as u32;

/// The example of the format description: all packet types, in the older packing.
const EXAMPLE: [u32; 26] = [
    0,
    0,
    0x38,
    3,
    0x80fc_2a37,
    0x1000_0000,
    0x90fc_2a37,
    0x1000_1000,
    0x8a23_9a37,
    0x1000_0100,
    0x9a23_9a37,
    0x1000_0f00,
    0x82b6_9a37,
    0x1000_0200,
    0xb58d_fa37,
    0x1000_0240,
    1,
    2,
    0xc002_aa37,
    0x1000_0280,
    0x92b6_9a37,
    0x1000_0300,
    0xaf85_e000,
    0x4d2,
    0x8000_0000,
    0,
];

#[test]
fn the_worked_example_decodes_to_its_rows() {
    let legacy = LaneContext { generation: generation::LEGACY, ..context() };
    let decoded = decode(&EXAMPLE, &legacy);
    let base = 11_231_607_914_496;
    let expected = vec![
        ("ZONE_START", FW, base, vec![]),
        ("ZONE_START", KERNEL, base + 256, vec![]),
        ("ZONE_START", 11113, base + 512, vec![]),
        ("TS_DATA", 22751, base + 576, vec![4_294_967_298]),
        ("TS_EVENT", 42, base + 640, vec![]),
        ("ZONE_END", 11113, base + 768, vec![]),
        ("ZONE_TOTAL", 63582, base, vec![1234]),
        ("ZONE_END", KERNEL, base + 3840, vec![]),
        ("ZONE_END", FW, base + 4096, vec![]),
    ];
    assert_eq!(rows(&decoded), expected);
    assert_eq!(decoded.lane.runs[0].program, RunHostId(3072));
    assert!(decoded.losses.is_empty());
    assert_eq!(decoded.anomalies.counts().count(), 0);
}

#[test]
fn the_other_packing_is_a_foreign_run() {
    let decoded = decode(&EXAMPLE, &context());
    assert_eq!(decoded.anomalies.count(AnomalyKind::ForeignRun), 1);
    assert_eq!(decoded.losses.by_cause(LossCause::Damaged).unknown_markers, 13);
    assert_eq!(decoded.lane.record_count(), 0);
}

#[test]
fn pushes_within_a_launch_are_one_run_with_one_fw_start() {
    let mut first = run(3, 100, &[[0x8000_1001, 200], [0x9000_1001, 210]]);
    (first[6], first[7], first[10], first[11]) = (1 << 31, 1 << 31, 1 << 31, 1 << 31);
    let last = run(3, 100, &[[0x8000_1001, 300], [0x9000_1001, 310]]);
    let decoded = decode(&[first, last].concat(), &context());
    let base = 1 << 32;
    assert_eq!(decoded.lane.runs.len(), 1);
    let offsets: Vec<u64> = decoded.lane.times.iter().map(|time| time - base).collect();
    assert_eq!(offsets, [100, 110, 200, 210, 300, 310, 990, 1000]);
    assert_eq!(decoded.anomalies.count(AnomalyKind::DuplicateGuaranteedMarker), 2);
    assert_eq!(decoded.anomalies.anomaly_count(), 0);
}

#[test]
fn a_run_that_is_left_over_is_no_data() {
    let words = [run(3, 5000, &[]), run(2, 3000, &[]), run(4, 7000, &[])].concat();
    let decoded = decode(&words, &context());
    let programs: Vec<u32> = decoded.lane.runs.iter().map(|run| run.program.base()).collect();
    assert_eq!(programs, [3, 4]);
    assert_eq!(decoded.anomalies.count(AnomalyKind::StaleRun), 1);
    assert_eq!(decoded.losses.by_cause(LossCause::NeverArrived).unknown_markers, 6);
}

#[test]
fn a_risc_that_took_no_part_does_not_count_its_records_twice() {
    let first = run(3, 100, &[[0x8000_1001, 200], [0x9000_1001, 210]]);
    let mut again = first.clone();
    again[3] = 4;
    for slot in [4, 6, 8, 10] {
        (again[slot], again[slot + 1]) = (1 << 31, 1 << 31);
    }
    let decoded = decode(&[first, again].concat(), &context());
    assert_eq!((decoded.lane.runs.len(), decoded.lane.record_count()), (1, 6));
    assert_eq!(decoded.anomalies.count(AnomalyKind::StaleRun), 1);
}

#[test]
fn zeros_between_runs_are_a_push_that_never_arrived() {
    for program in [0, 3] {
        let words = [run(1, 100, &[]), vec![0; 24], run(program, 5000, &[])].concat();
        let decoded = decode(&words, &context());
        assert_eq!(decoded.lane.runs.len(), 2, "{program}");
        assert_eq!(decoded.lane.runs[1].origin, 36);
        assert_eq!(decoded.anomalies.count(AnomalyKind::MissingRun), 1);
        assert_eq!(decoded.losses.by_cause(LossCause::NeverArrived).unknown_markers, 12);
    }
}

#[test]
fn damage_costs_the_rest_of_its_run_and_no_other() {
    let zones = [[0x8000_1001, 200], [0x7000_1001, 210], [0x8000_1001, 220], [0x9000_1001, 9]];
    let words = [run(1, 100, &zones), run(2, 5000, &[])].concat();
    let decoded = decode(&words, &context());
    assert_eq!(decoded.lane.record_count(), 5 + 4);
    assert_eq!(decoded.anomalies.count(AnomalyKind::NotAMarker), 1);
    let key = LossKey {
        lane: context().lane,
        cause: LossCause::Damaged,
        program: Some(RunHostId::encode(1, 0)),
    };
    let entries: Vec<_> = decoded.losses.entries().map(|(k, t)| (*k, t.unknown_markers)).collect();
    assert_eq!(entries, [(key, 3)]);
}

#[test]
fn a_type_that_swallows_the_next_run_is_found_out() {
    let mut first = run(1, 100, &[[0x8000_1001, 200], [0x9000_1001, 210]]);
    first[14] |= 0x2000_0000;
    let decoded = decode(&[first, run(2, 5000, &[])].concat(), &context());
    assert_eq!(decoded.lane.runs.len(), 2);
    assert_eq!(decoded.anomalies.count(AnomalyKind::TruncatedRecord), 1);
    assert_eq!(decoded.losses.total().unknown_markers, 1);
}

/// Returns the context of a lane of this project's runtime, with lane generation 5.
fn ours() -> LaneContext {
    LaneContext { lane_generation: Some(5), ..context() }
}

fn with_generation(generation: u32, mut run: Vec<u32>) -> Vec<u32> {
    run[2] |= generation << 29;
    run
}

fn entries(decoded: &DecodedLane) -> Vec<(LossCause, Option<u32>, LossTotals)> {
    decoded
        .losses
        .entries()
        .map(|(key, totals)| (key.cause, key.program.map(RunHostId::base), *totals))
        .collect()
}

#[test]
fn a_run_of_another_generation_is_a_lost_write() {
    let old = with_generation(4, run(2, 5000, &[[0x8000_1001, 5200], [0x9000_1001, 5210]]));
    let words = [with_generation(5, run(1, 100, &[])), old, with_generation(5, run(3, 9000, &[]))];
    let decoded = decode(&words.concat(), &ours());
    let programs: Vec<_> = decoded.lane.runs.iter().map(|run| run.program.base()).collect();
    assert_eq!((programs, decoded.lane.record_count()), (vec![1, 3], 8));
    assert_eq!(decoded.anomalies.count(AnomalyKind::StaleRun), 1);
    let lost = LossTotals::at_least_markers(1);
    assert_eq!(entries(&decoded), [(LossCause::NeverArrived, None, lost)]);
}

#[test]
fn markers_that_a_lost_write_left_uncovered_are_of_no_run() {
    // The first half of an older run was overwritten by a new run; the second half remains.
    let old = [[0x8000_1001, 50], [0x9000_1001, 60], [0x8000_1001, 70], [0x9000_1001, 80]];
    let words = [with_generation(5, run(1, 100, &old)), with_generation(5, run(2, 5000, &[]))];
    let decoded = decode(&words.concat(), &ours());
    assert_eq!((decoded.lane.runs.len(), decoded.lane.record_count()), (2, 8));
    assert_eq!(decoded.anomalies.count(AnomalyKind::StaleRun), 1);
    assert_eq!(decoded.anomalies.count(AnomalyKind::BackwardTime), 0);
    assert_eq!(decoded.losses.total(), LossTotals::at_least_markers(0));
    let one_odd_stamp = [[0x8000_1001, 50], [0x9000_1001, 160]];
    let decoded = decode(&with_generation(5, run(1, 100, &one_odd_stamp)), &ours());
    assert_eq!(decoded.lane.record_count(), 6, "damage costs no record");
}

#[test]
fn leftover_words_may_begin_with_a_payload_that_looks_like_a_marker_of_the_future() {
    let after = with_generation(5, run(3, 9_000, &[]));
    // The payload's time is 0xABC << 32; the words after it are older than the run.
    let old = [[0x8000_1ABC, 7], [0x9000_1001, 60], [0x8000_1001, 70], [0x9000_1001, 80]];
    for read_at in [Some((1 << 32) + 20_000), Some((1 << 44) + (1 << 32) + 20_000)] {
        let words = [with_generation(5, run(1, 100, &old)), after.clone()].concat();
        let decoded = decode(&words, &LaneContext { read_at, ..ours() });
        assert_eq!(decoded.lane.record_count(), 8, "{read_at:?}");
        let last = decoded.lane.times.iter().max().copied();
        assert!(last <= read_at, "{last:x?} is later than {read_at:x?}");
        assert_eq!(decoded.anomalies.count(AnomalyKind::StaleRun), 1);
        assert_eq!(decoded.anomalies.count(AnomalyKind::TimestampWrap), 0);
        assert!(decoded.losses.total().is_lower_bound);
    }
}

#[test]
fn a_torn_stamp_makes_no_run_stale() {
    let read_at = Some((1 << 32) + 6_000);
    let mut torn = with_generation(5, run(2, 5000, &[]));
    torn[4] += 1;
    let words = [with_generation(5, run(1, 100, &[])), torn, with_generation(5, run(3, 5950, &[]))];
    let decoded = decode(&words.concat(), &LaneContext { read_at, ..ours() });
    assert_eq!(decoded.lane.runs.len(), 3);
    assert!(decoded.losses.is_empty());
}

#[test]
fn a_full_vector_of_a_runtime_that_does_not_count_may_have_lost_records() {
    let zones: Vec<_> = (0..250).map(|i| [0x8000_1001 | (i & 1) << 28, 200 + i]).collect();
    let decoded = decode(&run(3, 100, &zones), &context());
    let lost = LossTotals::at_least_markers(1);
    assert_eq!(entries(&decoded), [(LossCause::L1Full, Some(3), lost)]);
    assert!(decode(&run(3, 100, &zones[..248]), &context()).losses.is_empty());
    assert!(decode(&with_generation(5, run(3, 100, &zones)), &ours()).losses.is_empty());
}

fn lost_by(words: &[u32], loss: LaneLoss) -> Vec<(LossCause, Option<u32>, LossTotals)> {
    let lane = UndecodedLane {
        context: ours(),
        state: LaneState::default(),
        pieces: vec![(0, words)],
        unpushed: None,
        loss,
    };
    entries(&lane.decode(Lane::new(context().lane)).0)
}

#[test]
fn what_l1_did_not_take_is_of_the_only_run_that_was_full() {
    let counts = wire::loss::LossCounts { zones: 7, data: 1, events: 2 };
    let loss = LaneLoss { counts, ..LaneLoss::default() };
    let lost = LossTotals { zones: 7, data: 1, events: 2, ..LossTotals::default() };
    let cause = LossCause::L1Full;
    assert_eq!(lost_by(&small_run(1), loss), [(cause, Some(1), lost)]);
    let words = [small_run(1), full_run(2), small_run(3)].concat();
    assert_eq!(lost_by(&words, loss), [(cause, Some(2), lost)]);
    let [first, last] = [1, 3].map(|id| RunHostId::encode(id, 0));
    let span = LossTotals { programs: Some(crate::ledger::ProgramSpan { first, last }), ..lost };
    let words = [full_run(1), full_run(2), small_run(3)].concat();
    assert_eq!(lost_by(&words, loss), [(cause, None, span)]);
    // In a launch with several pushes, each push may have filled the vector, because room is
    // reserved for the ends of open zones.
    let part = |time| with_generation(5, run(2, 10_000, &[[0x8000_1001, time]]));
    let pushes = [part(10_300), part(10_600)].concat();
    assert_eq!(lost_by(&[small_run(1), pushes.clone()].concat(), loss), [(cause, Some(2), lost)]);
    let words = [small_run(1), pushes, full_run(3)].concat();
    assert_eq!(lost_by(&words, loss), [(cause, None, span)]);
    let words = [small_run(1), full_run(2), small_run(3)].concat();
    let others = LaneLoss { has_other_launches: true, ..loss };
    assert_eq!(lost_by(&words, others), [(cause, None, span)]);
}

fn full_run(program: u32) -> Vec<u32> {
    with_generation(5, run(program, 5_000 * program, &many_zones(5_000 * program)))
}

fn small_run(program: u32) -> Vec<u32> {
    with_generation(5, run(program, 5_000 * program, &[]))
}

fn many_zones(start: u32) -> Vec<[u32; 2]> {
    (0..250).map(|i| [0x8000_1001 | (i & 1) << 28, start + 200 + i]).collect()
}

#[test]
fn data_before_the_first_run_belongs_to_it() {
    let early = vec![0xB000_1001, 50, 0, 9, 0xD000_2001, 60, 0, 1, 0, 2];
    let decoded = decode(&[early, run(3, 100, &[])].concat(), &context());
    assert_eq!(decoded.lane.data, [9, 1, 2]);
    assert_eq!(decoded.lane.runs[0].first_record, 0);
    assert_eq!(decoded.anomalies.anomaly_count(), 0);
}

#[test]
fn slots_of_the_push_before_come_first() {
    // Accumulate mode: the slots hold the zones of the last push, which have already ended.
    let mut words = run(3, 100, &[[0x8000_1001, 2000], [0x9000_1001, 2100]]);
    words[7] = 400;
    words[11] = 300;
    let decoded = decode(&words, &context());
    let offsets: Vec<u64> = decoded.lane.times.iter().map(|time| time & 0xFFFF).collect();
    assert_eq!(offsets, [100, 110, 300, 400, 2000, 2100]);
}

#[test]
fn a_wait_for_the_host_follows_the_zones_that_had_ended_before_it() {
    // Debug dump of this project's runtime: the firmware's zone ends at 1000, the kernel's zone at
    // 990.
    const BEGIN: u32 = 0x10_0000;
    let optional =
        [(0x8000_2001, 200), (0x9000_2001, 300), (0x8000_1001, 1010), (0x9000_1001, 5000)];
    let words = run(3, BEGIN + 100, &optional.map(|(header, offset)| [header, BEGIN + offset]));
    let ours = LaneContext { lane_generation: Some(0), ..context() };
    let decoded = decode(&words, &ours);
    let offsets: Vec<u64> = decoded.lane.times.iter().map(|time| time & 0xFFFF).collect();
    assert_eq!(offsets, [100, 110, 200, 300, 990, 1000, 1010, 5000]);
    let kinds: Vec<bool> = decoded.lane.heads.iter().map(|head| head.is_endpoint()).collect();
    assert_eq!((kinds, decoded.anomalies.anomaly_count()), (vec![true; 8], 0));
    // Other runtimes record nothing after their firmware's zone.
    let foreign = decode(&words, &context());
    assert_eq!(foreign.anomalies.count(AnomalyKind::BackwardTime), 1);
}

#[test]
fn trace_counters_are_read_from_workers_only() {
    let mut words = run(3, 100, &[]);
    words[2] |= 5 << 13;
    assert_eq!(decode(&words, &context()).lane.runs[0].trace_counter, 5);
    for mode in [CaptureMode::DispatchCores, CaptureMode::TraceOnly] {
        let context = LaneContext { mode, ..context() };
        assert_eq!(decode(&words, &context).lane.runs[0].trace_counter, 0);
    }
}

#[test]
fn another_split_of_id_and_time_is_only_another_layout() {
    let generation = Generation {
        header: HeaderLayout::ID18_TIME10,
        id_packing: IdPacking::RISC5,
        ..generation::CURRENT
    };
    let wide = LaneContext { generation, ..context() };
    let mut words = run(3, 100, &[]);
    words[4] = 0x8000_0000 | 0x2_1234 << 10 | 0x3FF;
    let decoded = decode(&words, &wide);
    assert_eq!(decoded.lane.heads[0].zone(), ZoneIndex(0x2_1234));
    assert_eq!(decoded.lane.times[0], 0x3FF << 32 | 100);
}

#[test]
fn half_a_marker_at_the_end_is_counted() {
    let mut words = run(3, 100, &[[0x8000_1001, 200]]);
    words.pop();
    let decoded = decode(&words, &context());
    assert_eq!(decoded.anomalies.count(AnomalyKind::TruncatedRecord), 1);
    assert_eq!(decoded.losses.total().unknown_markers, 1);
}

/// Returns a record of hardware counters with 16 bytes of data.
fn counter_record(stamp: u32) -> [[u32; 2]; 3] {
    [[0xD238_2001, stamp], [0, 1], [0, 2]]
}

#[test]
fn counters_that_the_firmware_reads_after_the_kernel_follow_its_end() {
    // The kernel ends at 990. Before its end, the kernel itself read one group of counters.
    let zone = [[0x8000_1001, 200], [0x9000_1001, 210]];
    let optional: Vec<[u32; 2]> =
        [&counter_record(150)[..], &zone, &counter_record(993), &counter_record(996)].concat();
    let base = 1 << 32;
    let inside = [100, 110, 150, 200, 210, 990, 993, 996, 1000];
    let words = run(3, 100, &optional);
    let decoded = decode(&words, &context());
    let offsets: Vec<u64> = decoded.lane.times.iter().map(|time| time - base).collect();
    assert_eq!(offsets, inside);
    let kinds: Vec<&str> = rows(&decoded).iter().map(|row| row.0).collect();
    let (start, end, data) = ("ZONE_START", "ZONE_END", "TS_DATA");
    assert_eq!(kinds, [start, start, data, start, end, end, data, data, end]);
    assert_eq!(decoded.anomalies.counts().count(), 0);

    // A later launch has its own KERNEL end.
    let next = run(4, 2000, &counter_record(2895));
    let decoded = decode(&[words, next].concat(), &context());
    let offsets: Vec<u64> = decoded.lane.times.iter().map(|time| time - base).collect();
    assert_eq!(offsets[9..], [2000, 2010, 2890, 2895, 2900]);
}
