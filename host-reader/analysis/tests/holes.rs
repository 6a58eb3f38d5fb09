//! Tests that figures are empty, with a reason, if they depend on missing records, and that all
//! other figures are present.

use analysis::{Doubt, Op, ops_of};
use reader::{
    lane::LaneId,
    ledger::{LossCause, LossKey, LossLedger, LossTotals, LossWindow},
    mesh::Noc0Coord,
    origins::TileOrigins,
    readout::{HiddenLaunch, LogSeam, Readout},
};
use recording::device_log::read_device_log;
use std::collections::BTreeSet;
use wire::Risc;

const TITLES: &str = "PCIe slot,core_x,core_y,RISC processor type,timer_id,\
    time[cycles since reset],data,run host ID,zone name,type";

/// Builds a log of launches, each with firmware and kernel on one lane. Each element of `launches`
/// has a text with the core's `x` and the RISC, the program, the kernel's start and, if the kernel
/// ended, its end.
fn log_of(aiclk_mhz: u32, launches: &[(&str, u32, u64, Option<u64>)]) -> Readout {
    let mut log = format!("ARCH: wormhole_b0, CHIP_FREQ[MHz]: {aiclk_mhz}\n{TITLES}\n");
    for &(lane, program, start, end) in launches {
        let (x, risc) = lane.split_once(' ').unwrap();
        let kind = risc.split('_').next().unwrap();
        let mut line = |id: u32, zone: &str, time: u64, of: &str| {
            log.push_str(&format!(
                "0,{x},1,{risc},{id},{time},0,{program},{kind}-{zone},ZONE_{of}\n"
            ));
        };
        line(1, "FW", start - 10, "START");
        line(2, "KERNEL", start, "START");
        if let Some(end) = end {
            line(2, "KERNEL", end, "END");
            line(1, "FW", end + 10, "END");
        }
    }
    read_device_log(log.as_bytes(), "log").unwrap()
}

fn lane(x: u16, risc: Risc) -> LaneId {
    LaneId { chip_id: 0, core: Noc0Coord { x, y: 1 }, risc }
}

/// Builds three ops of 100 cycles, 900 cycles apart, on two cores.
fn three_ops() -> Readout {
    let mut launches = Vec::new();
    for (program, start) in [(1024, 1_000), (2048, 2_000), (3072, 3_000)] {
        launches.push(("1 BRISC", program, start, Some(start + 100)));
        launches.push(("2 BRISC", program, start + 5, Some(start + 90)));
        launches.push(("2 NCRISC", program, start + 5, Some(start + 80)));
    }
    log_of(1000, &launches)
}

fn with_window(mut readout: Readout, lane: LaneId, window: LossWindow) -> Vec<Op> {
    readout.losses.note_window(lane, window);
    ops_of(&readout)
}

fn between(after: u64, before: u64) -> LossWindow {
    LossWindow { after: Some(after), before: Some(before), may_cut_launches: false }
}

fn durations(ops: &[Op]) -> Vec<Option<u64>> {
    ops.iter().map(|op| op.kernel.map(|kernel| kernel.duration_cycles)).collect()
}

fn latencies(ops: &[Op]) -> Vec<Option<u64>> {
    ops.iter().map(|op| op.op_to_op_latency_cycles).collect()
}

fn doubts(ops: &[Op]) -> Vec<(Option<Doubt>, Option<Doubt>)> {
    ops.iter().map(|op| (op.duration_doubt, op.latency_doubt)).collect()
}

#[test]
fn a_launch_lost_between_two_ops_leaves_their_durations_and_no_latency() {
    let ops = with_window(three_ops(), lane(2, Risc::Brisc), between(1_200, 1_900));
    assert_eq!(durations(&ops), [Some(100); 3]);
    assert_eq!(latencies(&ops), [Some(0), None, Some(900)]);
    assert_eq!(doubts(&ops), [(None, None), (None, Some(Doubt::LostLaunches)), (None, None)]);
    assert_eq!(ops[1].data_movement_op_to_op_latency_ns, None);
}

#[test]
fn an_op_that_may_have_lost_a_lane_has_no_duration_and_its_neighbours_no_latency() {
    let trisc = lane(2, Risc::Trisc0);
    let ops = with_window(three_ops(), trisc, between(1_500, 2_500));
    assert_eq!(durations(&ops), [Some(100), None, Some(100)]);
    assert_eq!(latencies(&ops), [Some(0), None, None]);
    let lost = Some(Doubt::LostRecords);
    let expected = [(None, None), (lost, lost), (None, Some(Doubt::UnknownEndBefore))];
    assert_eq!(doubts(&ops), expected);
    let second = &ops[1];
    assert_eq!((second.firmware, second.data_movement_kernel), (None, None));
    assert_eq!((second.core_kernel.count, second.imbalance()), (0, None));
    assert!(second.risc_kernels.brisc.is_some(), "all of BRISC is there");
    assert_eq!(second.core_count, 2);
}

#[test]
fn a_lane_with_a_hole_elsewhere_counts() {
    let ops = with_window(three_ops(), lane(2, Risc::Brisc), between(2_500, 9_000));
    assert_eq!(durations(&ops), [Some(100); 3], "the lane's own run of each op is there");
    assert_eq!(latencies(&ops), [Some(0), Some(900), None]);
}

#[test]
fn a_run_that_is_cut_makes_its_op_doubtful() {
    let cut = LossWindow { may_cut_launches: true, ..between(1_990, 2_200) };
    let ops = with_window(three_ops(), lane(1, Risc::Brisc), cut);
    assert_eq!(durations(&ops), [Some(100), None, Some(100)]);
    assert_eq!(ops[1].risc_kernels.brisc, None);
}

#[test]
fn losses_of_no_known_time_leave_no_figure() {
    let mut readout = three_ops();
    let key = LossKey { lane: lane(1, Risc::Brisc), cause: LossCause::Damaged, program: None };
    readout.losses.record(key, LossTotals::at_least_markers(1));
    let ops = ops_of(&readout);
    assert_eq!((durations(&ops), latencies(&ops)), (vec![None; 3], vec![None; 3]));
    for cause in [LossCause::Unreadable, LossCause::Unread] {
        let mut readout = three_ops();
        readout.losses.record(LossKey { cause, ..key }, LossTotals::at_least_markers(1));
        let ops = ops_of(&readout);
        assert_eq!(durations(&ops), [Some(100); 3], "what is not read is of other launches");
        assert_eq!(latencies(&ops), [None; 3]);
    }
    let mut readout = three_ops();
    let key = LossKey { cause: LossCause::L1Full, ..key };
    readout.losses.record(key, LossTotals { zones: 5, ..LossTotals::default() });
    let ops = ops_of(&readout);
    assert_eq!(durations(&ops), [Some(100); 3], "full L1 keeps starts and ends of kernels");
    assert_eq!(latencies(&ops), [Some(0), Some(900), Some(900)]);
}

#[test]
fn a_launch_lost_before_the_first_op_leaves_it_no_latency() {
    let ops = with_window(three_ops(), lane(1, Risc::Brisc), between(100, 900));
    assert_eq!(latencies(&ops), [None, Some(900), Some(900)]);
}

#[test]
fn no_time_is_known_between_launches_of_different_logs() {
    let mut readout = three_ops();
    readout.seams.push(LogSeam { chip_id: 1, first_cycle: 1_100, last_cycle: 2_000 });
    assert_eq!(latencies(&ops_of(&readout)), [Some(0), Some(900), Some(900)], "of another chip");
    readout.seams.push(LogSeam { chip_id: 0, first_cycle: 1_100, last_cycle: 2_000 });
    let ops = ops_of(&readout);
    assert_eq!(durations(&ops), [Some(100); 3]);
    assert_eq!(latencies(&ops), [Some(0), None, Some(900)]);
    assert_eq!(ops[1].latency_doubt, Some(Doubt::JoinedLogs));
}

#[test]
fn launches_that_are_hidden_leave_no_latency_between_their_neighbours() {
    let hidden = |first_cycle, last_cycle| HiddenLaunch {
        chip_id: 0,
        is_of_profiler: false,
        cores: BTreeSet::from([lane(2, Risc::Brisc).core]),
        first_cycle,
        last_cycle,
    };
    let mut readout = three_ops();
    readout.hidden.push(HiddenLaunch { chip_id: 1, ..hidden(1_200, 1_300) });
    assert_eq!(latencies(&ops_of(&readout)), [Some(0), Some(900), Some(900)], "of another chip");
    readout.hidden.push(hidden(2_200, 2_300));
    let ops = ops_of(&readout);
    assert_eq!(durations(&ops), [Some(100); 3]);
    assert_eq!(latencies(&ops), [Some(0), Some(900), None]);
    assert_eq!(ops[2].latency_doubt, Some(Doubt::HiddenLaunches));
    assert_eq!(ops[2].data_movement_op_to_op_latency_ns, None);
    // A launch of the profiler itself is hidden by no filter.
    let own = |first, last| HiddenLaunch { is_of_profiler: true, ..hidden(first, last) };
    readout.hidden.push(own(2_200, 2_400));
    readout.hidden.push(own(1_200, 1_300));
    let ops = ops_of(&readout);
    let doubts = [None, Some(Doubt::ProfilerLaunches), Some(Doubt::HiddenLaunches)];
    assert_eq!([0, 1, 2].map(|at| ops[at].latency_doubt), doubts);
    readout.hidden.pop();
    readout.hidden.push(hidden(10, 20));
    assert_eq!(latencies(&ops_of(&readout)), [None, Some(900), None], "it was not the first");
}

#[test]
fn words_that_are_not_read_are_of_launches_after_those_that_were() {
    let mut readout = three_ops();
    let unread = |after| {
        let mut ledger = LossLedger::default();
        let totals = LossTotals::at_least_markers(1);
        ledger.add_unread(lane(2, Risc::Brisc), totals, after);
        ledger
    };
    readout.losses.append_read(&unread(Some(2_050)));
    assert_eq!(latencies(&ops_of(&readout)), [Some(0), Some(900), None]);
    readout.losses.append_read(&unread(Some(2_050)));
    readout.losses.append_read(&LossLedger::default());
    assert_eq!(latencies(&ops_of(&readout)), [Some(0), Some(900), Some(900)], "it came at last");
    readout.losses.append_read(&unread(Some(2_050)));
    readout.losses.hand_over();
    readout.losses.append_read(&LossLedger::default());
    assert_eq!(latencies(&ops_of(&readout)), [Some(0), Some(900), None], "it may be lost");
}

#[test]
fn holes_move_with_the_clocks_of_their_tiles() {
    let mut readout = three_ops();
    let core = Noc0Coord { x: 3, y: 1 };
    let far = LaneId { chip_id: 0, core, risc: Risc::Brisc };
    readout.losses.note_window(far, between(51_200, 51_900));
    let mut origins = TileOrigins::default();
    origins.set(0, core, 50_000);
    origins.align(&mut readout);
    assert_eq!(latencies(&ops_of(&readout)), [Some(0), None, Some(900)]);
}

#[test]
fn a_kernel_that_did_not_end_has_no_duration_over_its_cores() {
    let ops = ops_of(&log_of(
        1000,
        &[
            ("1 BRISC", 1024, 1_000, Some(1_100)),
            ("1 NCRISC", 1024, 1_000, None),
            ("2 BRISC", 1024, 1_000, Some(1_050)),
            ("1 BRISC", 2048, 2_000, Some(2_100)),
        ],
    ));
    assert_eq!(durations(&ops), [None, Some(100)]);
    assert_eq!(ops[0].risc_kernels.ncrisc, None);
    assert_eq!(ops[0].risc_kernels.brisc.unwrap().duration_cycles, 100);
    assert_eq!(latencies(&ops), [None, None]);
    assert_eq!(ops[0].duration_doubt, Some(Doubt::Unfinished));
    assert_eq!(ops[1].latency_doubt, Some(Doubt::UnknownEndBefore));
}

#[test]
fn clocks_that_disagree_leave_no_latencies_on_their_chip() {
    const EPOCH: u64 = 9_861_369_777_000;
    let ops = ops_of(&log_of(
        1000,
        &[
            ("1 BRISC", 1024, 1_000, Some(1_100)),
            ("2 BRISC", 1024, EPOCH, Some(EPOCH + 100)),
            ("1 BRISC", 2048, 2_000, Some(2_100)),
            ("2 BRISC", 3072, EPOCH + 5_000, Some(EPOCH + 5_100)),
        ],
    ));
    assert_eq!(durations(&ops), [None, Some(100), Some(100)]);
    assert_eq!(latencies(&ops), [None; 3]);
    assert!(ops.iter().all(|op| op.latency_doubt.is_some()));
}

#[test]
fn latencies_in_ns_are_exact_at_other_clocks() {
    // 40,602,018,269 cycles at 1350 MHz are 30,075,569,088.1 ns.
    let end = 1_027;
    let start = end + 40_602_018_269;
    let ops = ops_of(&log_of(
        1350,
        &[("1 BRISC", 1024, 1_000, Some(end)), ("1 BRISC", 2048, start, Some(start + 6_789))],
    ));
    assert_eq!(ops[1].op_to_op_latency_ns, Some(30_075_569_088));
    assert_eq!(ops[1].data_movement_op_to_op_latency_ns, Some(30_075_569_088));
}
