//! Tests of each ready-made rule on a running mesh: its faults, side effects and log entries.

use super::{
    AppliedFault, FaultEffect,
    rules::{
        CorruptWord, DelayWrite, HostReadRule, LateSubordinate, LoseChip, LoseWrite, PushRule,
        Selection, StaleControl, WordChoice,
    },
};
use crate::{
    config::MeshConfig,
    prepared::{Bench, CONTROL, id_word},
    workload::WorkloadOptions,
};
use reader::mesh::{AccessError, Mesh};
use wire::Risc;

/// Returns a bench with three queued launches on all RISCs, each recording 16 words.
fn waiting() -> Bench {
    let mut bench = Bench::new(&MeshConfig::wormhole(6));
    let options = WorkloadOptions { ops: Some(3), ..WorkloadOptions::default() };
    let plan = bench.plan("cycle-count", options);
    bench.mesh.enqueue_phase(&plan.phases[0]);
    bench
}

fn only(bench: &Bench, worker: usize) -> Selection {
    Selection::everywhere().chip(0).core(bench.worker(worker).coord)
}

fn faults(bench: &Bench) -> Vec<AppliedFault> {
    bench.mesh.truth().faults
}

#[test]
fn a_lost_write_is_acknowledged_but_not_there() {
    let mut bench = waiting();
    let selection = only(&bench, 3).risc(Risc::Brisc).launches(1..2);
    // BRISC writes the records of all five RISCs of a core to DRAM, so five writes are lost.
    bench.mesh.add_rule(LoseWrite(selection));
    bench.mesh.run_to_completion();
    let core = bench.worker(3);
    for risc in 0..5 {
        assert_eq!(bench.lane(&core, risc, 16, 16), [0; 16]);
        assert_eq!(bench.lane(&core, risc, 32, 4), [0, 0, id_word(&core, risc), 3]);
    }
    assert_eq!(bench.control(&core)[..5], [48; 5]);
    let faults = faults(&bench);
    assert_eq!(faults.len(), 5);
    for fault in faults {
        assert!(matches!(fault.effect, FaultEffect::WriteLost { word_count: 16, .. }));
        assert_eq!((&*fault.rule, fault.site.unwrap().launch_index), ("lose-write", 1));
    }
}

#[test]
fn a_corrupted_word_differs_in_the_given_bits_only() {
    let mut bench = waiting();
    let selection = only(&bench, 0).launches(0..1);
    let word = WordChoice::At(3);
    bench.mesh.add_rule(CorruptWord { selection, word, mask: 0xF0 });
    bench.mesh.run_to_completion();
    let core = bench.worker(0);
    assert_eq!(bench.lane(&core, 2, 0, 4), [0, 0, id_word(&core, 2), 0xF1]);
    assert_eq!(bench.lane(&core, 2, 16, 4), [0, 0, id_word(&core, 2), 2]);
    let corrupted = faults(&bench).into_iter().map(|fault| fault.effect);
    let words = corrupted.map(|effect| match effect {
        FaultEffect::WordCorrupted { before, after, .. } => (before, after),
        other => panic!("{other:?}"),
    });
    assert_eq!(words.collect::<Vec<_>>(), [(1, 0xF1); 5]);
}

#[test]
fn a_delayed_write_holds_back_the_core_and_what_follows_it() {
    let ends = |cycles| {
        let mut bench = waiting();
        if cycles > 0 {
            let selection = only(&bench, 0).launches(0..1);
            bench.mesh.add_rule(DelayWrite { selection, cycles });
        }
        bench.mesh.run_to_completion();
        let core = bench.worker(0);
        assert_eq!(bench.lane(&core, 0, 32, 4)[3], 3);
        bench.mesh.now_ps()
    };
    let (prompt, delayed) = (ends(0), ends(200_000));
    assert!((150_000_000..210_000_000).contains(&(delayed - prompt)), "{}", delayed - prompt);
}

/// Runs three launches; in the second, TRISC 1 of one core is late.
fn with_a_late_subordinate(cycles: u64) -> Bench {
    let mut bench = waiting();
    let selection = only(&bench, 1).risc(Risc::Trisc1).launches(1..2);
    bench.mesh.add_rule(LateSubordinate { selection, cycles });
    bench.mesh.run_to_completion();
    let faults = faults(&bench);
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].effect, FaultEffect::SubordinateLate { delay_cycles: cycles });
    bench
}

#[test]
fn a_late_subordinate_is_waited_for() {
    let mut bench = with_a_late_subordinate(5_000);
    let core = bench.worker(1);
    for (launch, id) in (0..3).zip(1..) {
        let run = bench.lane(&core, 3, launch * 16, 16);
        assert_eq!(run[..4], [0, 0, id_word(&core, 3), id]);
        assert_eq!((run[4] >> 28, run[6] >> 28), (8, 9), "the main zone is whole");
    }
    let control = bench.control(&core);
    assert_eq!((&control[..5], &control[44..48]), (&[48; 5][..], &[0; 4][..]));
}

#[test]
fn a_subordinate_that_is_too_late_is_counted_and_never_pushed() {
    let mut bench = with_a_late_subordinate(1_000_000);
    let core = bench.worker(1);
    let programs = [0, 16].map(|at| bench.lane(&core, 3, at, 4)[3]);
    assert_eq!(programs, [1, 3]);
    let control = bench.control(&core);
    assert_eq!(control[..5], [48, 48, 48, 32, 48]);
    assert_eq!(control[44..48], [0, 0, 1, 0]);
    assert_eq!(control[CONTROL.device_end..][..5], [0; 5]);
}

#[test]
fn a_stale_control_vector_is_the_one_before_the_last_launch() {
    let mut bench = waiting();
    bench.mesh.add_rule(StaleControl(only(&bench, 2)));
    bench.mesh.run_to_completion();
    assert_eq!(bench.control(&bench.worker(2))[..5], [32; 5]);
    assert_eq!(bench.control(&bench.worker(4))[..5], [48; 5]);
    let faults = faults(&bench);
    assert!(matches!(
        faults[..],
        [AppliedFault { effect: FaultEffect::HostReadChanged { .. }, .. }]
    ));
}

#[test]
fn a_lost_chip_answers_until_then_and_starts_nothing_afterwards() {
    let mut bench = waiting();
    // This time is within the second of three launches; each launch takes some 105 microseconds.
    let at_ns = bench.mesh.now_ps() / 1_000 + 150_000;
    bench.mesh.add_rule(LoseChip { chip_id: 0, at_ns });
    bench.control(&bench.worker(0));
    bench.mesh.run_to_completion();
    let core = bench.worker(0);
    let device = bench.mesh.device(0).unwrap();
    let coord = reader::mesh::Noc0Coord { x: core.coord.x, y: core.coord.y };
    let error = device.read_l1(coord, 0, &mut [0]).unwrap_err();
    assert!(matches!(error, AccessError::Unreachable { chip_id: 0, .. }));
    assert!(device.read_dram(0, 0, &mut [0]).is_err() && device.read_wall_clock(coord).is_err());
    assert_eq!(bench.mesh.chip(0).unwrap().launch_count(), 2);
}

#[test]
fn closures_are_rules() {
    let mut bench = waiting();
    bench.mesh.add_rule(PushRule::new("second-of-launch", |push, fate, _| {
        if push.push_index == 1 {
            fate.lose();
        }
    }));
    bench.mesh.add_rule(HostReadRule::new("all-ones", |_, words, _| {
        words.fill(u32::MAX);
        true
    }));
    bench.mesh.run_to_completion();
    let core = bench.worker(7);
    assert_eq!(bench.lane(&core, 0, 0, 4)[3], 1);
    assert_eq!(bench.lane(&core, 1, 0, 16), [0; 16]);
    assert_eq!(bench.control(&core)[CONTROL.run_counter], u32::MAX);
    let faults = faults(&bench);
    assert_eq!(faults.len(), 64 * 3 + 1);
    assert!(faults.iter().any(|fault| &*fault.rule == "all-ones"));
}

#[test]
fn drawn_faults_follow_the_seed() {
    let lost = |seed| {
        let mut bench = Bench::new(&MeshConfig::wormhole(seed));
        let options = WorkloadOptions { ops: Some(10), ..WorkloadOptions::default() };
        let plan = bench.plan("multi-op", options);
        let rare = Selection::everywhere().parts_per_million(100_000);
        bench.mesh.add_rule(LoseWrite(rare));
        bench.mesh.enqueue_phase(&plan.phases[0]);
        bench.mesh.run_to_completion();
        faults(&bench)
    };
    let faults = lost(1);
    assert!((200..440).contains(&faults.len()), "a tenth of 3200: {}", faults.len());
    assert_eq!(faults, lost(1));
    assert_ne!(faults, lost(2));
}
