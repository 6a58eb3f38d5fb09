//! Accumulate mode: DRAM and L1 together hold exactly what the launches recorded.

use super::{Rig, Run, TestRisc, oracle, rig::Body};
use std::{boxed::Box, vec, vec::Vec};

const VECTOR_WORDS: u32 = 512;
const SLOT_WORDS: u32 = 12;
const DEVICE_END: usize = 24;
const RUN_COUNTER: usize = 51;
const DONE: usize = 57;

fn rig(lane_words: u32) -> Rig {
    let mut rig = Rig::new(lane_words);
    for risc in &mut rig.riscs {
        risc.port.is_accumulating = true;
    }
    rig
}

impl Rig {
    /// Returns the number of words in a RISC's vector that wait for a push.
    fn waiting(&self, risc: usize) -> usize {
        let word = self.control(DEVICE_END + risc);
        assert_eq!(word & 0x7FFF_0000, 0, "{word:#x} between launches");
        (word & 0xFFFF) as usize
    }

    /// Clears the waiting words, as a host does at its last read.
    fn take_waiting(&self) {
        (0..5).for_each(|risc| self.set_control(DEVICE_END + risc, 0));
    }
}

fn zones(count: u32) -> Body {
    Box::new(move |risc: &mut TestRisc| (0..count).for_each(|_| risc.zone(1)))
}

/// Returns the runs of a RISC's launches, first from DRAM and then from L1, and how many further
/// runs hold the zone of a push.
fn runs(rig: &Rig, risc: usize) -> (Vec<Run>, u32) {
    let waiting = rig.waiting(risc);
    let in_l1 = rig.core.borrow().vectors[risc][..waiting].to_vec();
    let all = oracle::decode(&[rig.lane(risc), in_l1].concat());
    let (pushes, runs): (Vec<Run>, Vec<Run>) = all.into_iter().partition(|run| run.program_id == 0);
    for push in &pushes {
        let [start, end, none, none_either] = push.fixed;
        assert!(start < end && start.is_some() && push.records.is_empty(), "{push:?}");
        assert_eq!((none, none_either), (None, None));
    }
    (runs, pushes.len() as u32)
}

fn programs(runs: &[Run]) -> Vec<u32> {
    runs.iter().map(|run| run.program_id).collect()
}

#[test]
fn launches_share_pushes_and_keep_their_programs() {
    let mut rig = rig(12_000);
    let (mut end, mut pushes) = (0, 0);
    for program in 1..=100 {
        let count = program % 7;
        let mut bodies: Vec<(usize, Body)> = vec![(0, zones(count))];
        if program % 2 == 0 {
            bodies.push((1, zones(1)));
        }
        if program > 90 {
            bodies.push((3, zones(2)));
        }
        rig.launch(program, &mut bodies);
        end += SLOT_WORDS + 4 * count;
        if end + 128 > VECTOR_WORDS {
            (end, pushes) = (SLOT_WORDS, pushes + 1);
        }
        assert_eq!((rig.control(DONE), rig.waiting(0)), (1, end as usize), "launch {program}");
        assert_eq!(rig.control(RUN_COUNTER), pushes);
    }
    assert!(pushes > 4);
    let (brisc, push_zones) = runs(&rig, 0);
    assert_eq!((programs(&brisc), push_zones), ((1..=100).collect(), pushes));
    for run in &brisc {
        assert_eq!(run.kept().zones, run.program_id % 7);
        assert!(run.fixed.iter().all(Option::is_some));
        assert_eq!((run.risc_index, run.flat_id, run.generation), (0, 7, 1));
    }
    let (ncrisc, push_zones) = runs(&rig, 1);
    assert_eq!(programs(&ncrisc), (1..=50).map(|half| 2 * half).collect::<Vec<_>>());
    assert!(ncrisc.iter().all(|run| run.kept().zones == 1) && push_zones == 0);
    assert_eq!(programs(&runs(&rig, 3).0), (91..=100).collect::<Vec<_>>());
    assert!(runs(&rig, 2).0.is_empty() && runs(&rig, 4).0.is_empty());
    assert_eq!((rig.lost(0), rig.refused(0)), ([0; 3], [0; 2]));
}

#[test]
fn launches_that_fill_their_vector_lose_nothing() {
    let mut rig = rig(12_000);
    for program in 1..=20 {
        rig.launch(program, &mut [(0, zones(125)), (1, zones(125))]);
    }
    for risc in [0, 1] {
        let (runs, push_zones) = runs(&rig, risc);
        assert_eq!((runs.len(), push_zones, rig.lost(risc)), (20, 0, [0; 3]));
        assert!(runs.iter().all(|run| run.kept().zones == 125));
    }
    assert_eq!(rig.control(RUN_COUNTER), 20);
}

#[test]
fn what_a_lane_refuses_is_counted_by_run_and_marker() {
    let mut rig = rig(1_000);
    for program in 1..=100 {
        rig.launch(program, &mut [(0, zones(program % 5)), (4, zones(1))]);
    }
    let kept = programs(&runs(&rig, 0).0);
    let refused: Vec<u32> = (1..=100).filter(|program| !kept.contains(program)).collect();
    let markers: u32 = refused.iter().map(|program| 4 + 2 * (program % 5)).sum();
    assert_eq!(rig.refused(0), [refused.len() as u32, markers]);
    assert!(refused.len() > 20);
    assert_eq!([rig.control(19), rig.control(20)], [refused[0], *refused.last().unwrap()]);
    // A lane of 1,000 words has room for two more pushes of TRISC 2.
    let kept = runs(&rig, 4).0.len() as u32;
    assert_eq!(rig.refused(4), [100 - kept, 6 * (100 - kept)]);
    assert_eq!(rig.control(56) & 1, 1, "the dropped bit");
}

#[test]
fn a_launch_without_kernels_leaves_nothing() {
    let mut rig = rig(12_000);
    rig.launch(1, &mut [(0, zones(1)), (2, zones(1))]);
    let before = [0, 2].map(|risc| rig.waiting(risc));
    rig.launch(2, &mut []);
    assert_eq!([0, 2].map(|risc| rig.waiting(risc)), before);
    assert_eq!(rig.control(22), 1, "idle launches");
    rig.launch(3, &mut [(0, zones(1)), (2, zones(1))]);
    for risc in [0, 2] {
        assert_eq!(programs(&runs(&rig, risc).0), [1, 3]);
    }
}

#[test]
fn lanes_are_handed_back_when_nothing_waits_in_l1() {
    let mut rig = rig(12_000);
    let mut found = Vec::new();
    for program in 1..=300 {
        rig.launch(program, &mut [(0, zones(program % 9))]);
        // This host reads after each launch.
        found.extend(rig.read_on(0));
        rig.acknowledge();
    }
    let generation = rig.control(7);
    assert!(generation > 5, "{generation} generations");
    let waiting = rig.waiting(0);
    found.extend_from_slice(&rig.core.borrow().vectors[0][..waiting]);
    let runs: Vec<Run> =
        oracle::decode(&found).into_iter().filter(|run| run.program_id != 0).collect();
    assert_eq!(programs(&runs), (1..=300).collect::<Vec<_>>());
    assert!(runs.iter().all(|run| run.kept().zones == run.program_id % 9));
    assert_eq!(runs.last().unwrap().generation, generation % 8);
}

#[test]
fn kept_and_lost_zones_are_those_that_were_emitted() {
    // Park and Miller's random number generator.
    let mut state = 1_u64;
    let mut below = |limit: u64| {
        state = state * 48_271 % 0x7FFF_FFFF;
        (state % limit) as u32
    };
    for _ in 0..40 {
        let mut rig = rig(60_000);
        let mut emitted = [0; 5];
        for program in 1..=60 {
            let riscs = below(32) | 1;
            let mut bodies: Vec<(usize, Body)> = Vec::new();
            for (risc, emitted) in emitted.iter_mut().enumerate() {
                let largest = if below(5) == 0 { 150 } else { 12 };
                let count = below(largest);
                if riscs >> risc & 1 != 0 {
                    *emitted += count;
                    bodies.push((risc, zones(count)));
                }
            }
            rig.launch(program, &mut bodies);
        }
        for (risc, emitted) in emitted.into_iter().enumerate() {
            let kept: u32 = runs(&rig, risc).0.iter().map(|run| run.kept().zones).sum();
            assert_eq!(kept + rig.lost(risc)[0], emitted, "RISC {risc}");
            assert_eq!(rig.refused(risc), [0; 2]);
        }
    }
}

#[test]
fn launches_begin_anew_when_a_host_has_taken_what_waited() {
    let mut rig = rig(12_000);
    let mut found = [Vec::new(), Vec::new()];
    for program in 1..=40 {
        rig.launch(program, &mut [(0, zones(program % 4)), (1, zones(1))]);
        if program % 7 == 0 {
            for (risc, found) in found.iter_mut().enumerate() {
                found.extend(programs(&runs(&rig, risc).0));
                rig.read_on(risc);
            }
            rig.take_waiting();
            rig.acknowledge();
        }
    }
    for (risc, found) in found.iter_mut().enumerate() {
        found.extend(programs(&runs(&rig, risc).0));
        assert_eq!(*found, (1..=40).collect::<Vec<_>>(), "RISC {risc}");
    }
}

#[test]
fn replays_are_counted_in_the_runs_that_follow() {
    let mut rig = rig(12_000);
    for program in 1..=6 {
        if program % 2 == 1 {
            let brisc = &mut rig.riscs[0];
            brisc.state.increment_trace_count(&mut brisc.port);
        }
        rig.launch(program, &mut [(0, zones(1)), (4, zones(1))]);
    }
    for risc in [0, 4] {
        let counts: Vec<u32> = runs(&rig, risc).0.iter().map(|run| run.trace_count).collect();
        assert_eq!(counts, [1, 1, 2, 2, 3, 3]);
    }
}
