//! Debug dump: RISCs wait for a host that reads, and nothing is lost. Without a host, RISCs wait
//! once, and all losses are counted.

use super::{Kept, Rig, oracle, rig::Host};
use proptest::prelude::{ProptestConfig, Strategy, prop_assert, prop_assert_eq, proptest};
use std::{boxed::Box, collections::BTreeMap, vec::Vec};

/// RISCs with a kernel: the first two can push within a launch, the last cannot.
const RISCS: [usize; 3] = [0, 1, 4];
/// Number of events of a launch: more than fit into the vector of a RISC.
const MANY: usize = 1500;
const FEW: usize = 100;

/// Computes the hash of `PROFILER-DRAM-STALL,kernel-profiler/src/stall.rs,1,KERNEL_PROFILER`.
fn stall_id() -> u16 {
    let text = b"PROFILER-DRAM-STALL,kernel-profiler/src/stall.rs,1,KERNEL_PROFILER";
    let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(16_777_619);
    let hash = text.iter().fold(2_166_136_261, step);
    (hash ^ hash >> 16) as u16
}

struct Outcome {
    /// Numbers of the found events and ids of the found zones, by RISC, in the order of the
    /// records.
    found: BTreeMap<usize, Vec<u16>>,
    /// Cycles of each wait.
    stalls: Vec<u64>,
    lost: u32,
    refused: [u32; 2],
    kept: BTreeMap<usize, Kept>,
    clock: u64,
}

/// Launches kernels that record numbered events; every seventh event is nested in a zone.
fn run(lane_words: u32, launches: &[[usize; 3]], period: Option<u64>, patience: u32) -> Outcome {
    let mut rig = Rig::new(lane_words);
    let start = rig.core.borrow().clock;
    let host = period.map(|period| Host { period, next: start, found: Default::default() });
    rig.core.borrow_mut().host = host;
    for risc in &mut rig.riscs {
        risc.port.stall_cycles = Some(patience);
    }
    for (counts, program) in launches.iter().zip(1..) {
        let mut bodies: Vec<(usize, super::rig::Body)> = Vec::new();
        for (&risc_index, &count) in RISCS.iter().zip(counts) {
            bodies.push((
                risc_index,
                Box::new(move |risc| {
                    for number in 1..=count as u16 {
                        let is_open = number.is_multiple_of(7) && risc.open(number);
                        risc.event(number);
                        if is_open {
                            risc.close(number);
                        }
                    }
                }),
            ));
        }
        rig.launch(program, &mut bodies);
    }
    let mut outcome = Outcome {
        found: BTreeMap::new(),
        stalls: Vec::new(),
        lost: RISCS.iter().flat_map(|&risc| rig.lost(risc)).sum(),
        refused: [0; 2],
        kept: BTreeMap::new(),
        clock: rig.core.borrow().clock - start,
    };
    for risc in RISCS {
        let [runs, markers] = rig.refused(risc);
        outcome.refused = [outcome.refused[0] + runs, outcome.refused[1] + markers];
        let mut words = Vec::new();
        if let Some(host) = &mut rig.core.borrow_mut().host {
            words.append(&mut host.found[risc]);
        }
        words.extend(rig.read_on(risc));
        collect(&oracle::decode(&words), risc, &mut outcome);
    }
    outcome
}

fn collect(runs: &[oracle::Run], risc: usize, outcome: &mut Outcome) {
    let push_id = crate::flush::QUICK_PUSH_ZONE.0;
    let found = outcome.found.entry(risc).or_default();
    let kept = outcome.kept.entry(risc).or_default();
    let mut began = None;
    let mut last = 0;
    for (kind, id, time) in runs.iter().flat_map(|run| &run.records) {
        assert!(*time >= last, "RISC {risc}: a record of cycle {time} behind one of {last}");
        last = *time;
        match (*kind, *id) {
            (0, id) if id == stall_id() => began = Some(*time),
            (1, id) if id == stall_id() => outcome.stalls.push(time - began.take().unwrap()),
            (0 | 1, id) if id == push_id => {}
            (0, _) => kept.zones += 1,
            (1, _) => kept.ends += 1,
            _ => {
                kept.events += 1;
                found.push(*id);
            }
        }
    }
    assert_eq!(began, None, "a wait without its end");
}

fn numbers(launches: &[[usize; 3]], index: usize) -> Vec<u16> {
    launches.iter().flat_map(|counts| 1..=counts[index] as u16).collect()
}

proptest! {
    // Each case runs several thousand records.
    #![proptest_config(ProptestConfig::with_cases(super::case_count(24)))]

    #[test]
    fn a_host_that_reads_on_loses_nothing(
        lane_words in (264_u32..800).prop_map(|n| n * 4),
        launches in proptest::collection::vec([0..MANY, 0..MANY, 0..FEW], 1..5),
        period in 1_u64..5000,
    ) {
        let outcome = run(lane_words, &launches, Some(period), 1 << 29);
        prop_assert_eq!((outcome.lost, outcome.refused), (0, [0, 0]));
        for (index, risc) in RISCS.iter().enumerate() {
            prop_assert_eq!(&outcome.found[risc], &numbers(&launches, index));
            let kept = outcome.kept[risc];
            let zones = numbers(&launches, index).iter().filter(|number| **number % 7 == 0).count();
            prop_assert_eq!((kept.zones, kept.ends), (zones as u32, zones as u32));
        }
        prop_assert!(outcome.stalls.iter().all(|cycles| *cycles <= period + 64), "{:?}", outcome.stalls);
    }

    #[test]
    fn without_a_host_all_is_counted_and_little_time_is_lost(
        lane_words in (264_u32..800).prop_map(|n| n * 4),
        launches in proptest::collection::vec([0..MANY, 0..MANY, 0..FEW], 1..5),
    ) {
        const PATIENCE: u32 = 50_000;
        let outcome = run(lane_words, &launches, None, PATIENCE);
        let emitted = |risc: usize| numbers(&launches, risc);
        let zones = |risc| emitted(risc).iter().filter(|number| **number % 7 == 0).count() as u64;
        let all = |risc| emitted(risc).len() as u64 + zones(risc);
        let total: u64 = (0..3).map(all).sum();
        let kept: u64 = outcome.kept.values().map(|kept| u64::from(kept.events + kept.zones)).sum();
        // A refused run is counted only in markers, which bounds its number of records.
        let [runs, markers] = outcome.refused;
        prop_assert!(kept + u64::from(outcome.lost) <= total);
        prop_assert!(total <= kept + u64::from(outcome.lost) + u64::from(markers));
        prop_assert_eq!(markers == 0, runs == 0);
        // BRISC times out once, and NCRISC at most once before that.
        let busy = 40 * total + 4000 * launches.len() as u64;
        prop_assert!(outcome.clock <= 2 * u64::from(PATIENCE) + busy, "{}", outcome.clock);
    }
}

#[test]
fn ten_thousand_events_go_through_a_lane_of_two_thousand_words() {
    let launches = [[10_000, 10_000, 60]];
    let outcome = run(2000, &launches, Some(3000), 1 << 29);
    assert_eq!((outcome.lost, outcome.refused), (0, [0, 0]));
    assert_eq!(outcome.found[&0], numbers(&launches, 0));
    assert_eq!(outcome.found[&1], numbers(&launches, 1));
    // Each lane fills up more than ten times, and the host is late each time.
    assert!(outcome.stalls.len() > 20, "{:?}", outcome.stalls);
    let total: u64 = outcome.stalls.iter().sum();
    assert!(total < outcome.clock, "{total} of {} cycles", outcome.clock);
}

#[test]
fn a_host_that_comes_late_is_waited_for_again() {
    // The host reads only after a first wait has timed out.
    let mut rig = Rig::new(1100);
    for risc in &mut rig.riscs {
        risc.port.stall_cycles = Some(500);
    }
    rig.launch_brisc(1, |risc| (0..2000).for_each(|_| risc.event(3)));
    let lost: u32 = rig.lost(0).iter().sum();
    assert!(lost > 500, "{lost}");
    assert_ne!(rig.control(58), 0, "BRISC remembers that it waited in vain");
    let found = oracle::decode(&rig.read_on(0));
    assert!(!found.is_empty());
    let start = rig.core.borrow().clock;
    let host = Host { period: 300, next: start, found: Default::default() };
    rig.core.borrow_mut().host = Some(host);
    rig.launch_brisc(2, |risc| (1..=2000).for_each(|number| risc.event(number)));
    assert_eq!(rig.lost(0).iter().sum::<u32>(), lost);
    // The device writes its last words after the host's last read.
    let words = rig.core.borrow_mut().host.take().unwrap().found[0].clone();
    let words = [words, rig.read_on(0)].concat();
    let events = oracle::decode(&words).into_iter().filter(|run| run.program_id == 2);
    let events = events.flat_map(|run| run.records).filter(|(kind, ..)| *kind == 4).count();
    assert_eq!(events, 2000);
}
