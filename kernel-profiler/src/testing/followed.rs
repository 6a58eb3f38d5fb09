//! A host that reads during a sequence of launches: lanes wrap around, and nothing is lost.

use super::{Rig, oracle};
use crate::launch::Scope;
use proptest::prelude::{Strategy, prop_assert, prop_assert_eq, proptest};
use std::{vec, vec::Vec};

/// Launches kernels in sequence on BRISC, each with the given number of events.
///
/// The host reads during each `read_every`-th kernel, so some words are always unread at the
/// beginning of a launch.
fn follow(lane_words: u32, launches: &[usize], read_every: usize) -> (Vec<(u32, usize)>, [u32; 2]) {
    let mut rig = Rig::new(lane_words);
    let mut found = Vec::new();
    let mut read = |rig: &Rig| {
        let runs = oracle::decode(&rig.read_on(0));
        found.extend(runs.iter().map(|run| (run.program_id, run.records.len())));
    };
    for (&events, program) in launches.iter().zip(1..) {
        rig.begin(program);
        let brisc = &mut rig.riscs[0];
        brisc.open_scope(Scope::MainChild);
        (0..events).for_each(|_| brisc.event(3));
        if (program as usize).is_multiple_of(read_every) {
            read(&rig);
        }
        let brisc = &mut rig.riscs[0];
        brisc.close_scope(Scope::MainChild);
        brisc.close_scope(Scope::Main);
    }
    read(&rig);
    (found, rig.refused(0))
}

proptest! {
    /// The smallest lane has 516 words, enough for two launches of 212 words and their slots.
    #[test]
    fn a_host_that_keeps_up_loses_nothing(
        lane_words in (129_u32..200).prop_map(|n| n * 4),
        launches in proptest::collection::vec(0_usize..=100, 1..300),
    ) {
        let (found, refused) = follow(lane_words, &launches, 1);
        let emitted: Vec<_> = (1..).zip(launches.iter().copied()).collect();
        prop_assert_eq!(refused, [0, 0]);
        prop_assert_eq!(found, emitted);
    }

    /// The host finds each stored run exactly once and in order, even if it reads so seldom that
    /// other runs are lost.
    #[test]
    fn a_host_that_is_late_finds_what_was_kept(
        lane_words in (3_u32..200).prop_map(|n| n * 4),
        launches in proptest::collection::vec(0_usize..=250, 1..200),
        read_every in 2_usize..40,
    ) {
        let (found, [runs, markers]) = follow(lane_words, &launches, read_every);
        prop_assert!(found.is_sorted_by(|(one, _), (other, _)| one < other));
        let slots = |records: usize| records as u32 + 4;
        let kept: u32 = found.iter().map(|&(_, records)| slots(records)).sum();
        prop_assert_eq!(kept + markers, launches.iter().map(|&events| slots(events)).sum::<u32>());
        let whole = found.iter().filter(|&&(id, events)| launches[id as usize - 1] == events);
        prop_assert_eq!(whole.count() + runs as usize, launches.len());
    }
}

#[test]
fn a_lane_that_no_host_reads_is_filled_once() {
    let (found, [runs, _]) = follow(516, &[4; 100], usize::MAX);
    // Each run has twenty words. After the last stored run, fixed slots of another run still fit.
    assert_eq!((found.len(), runs), (26, 75));
    let (found, refused) = follow(516, &vec![4; 100], 20);
    assert_eq!((found.len(), refused), (100, [0, 0]));
}
