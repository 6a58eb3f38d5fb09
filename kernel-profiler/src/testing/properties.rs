//! Properties under any sequence of kernels, hosts and NoC faults: no write goes to a wrong
//! location, no end of an open zone is lost, and each emitted record is kept or counted.
//!
//! The ports themselves assert that all writes stay within vectors and lanes.

use super::{
    Rig, Run, TestRisc, oracle,
    rig::{C, Trouble},
};
use crate::launch::Scope;
use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use std::{collections::BTreeMap, vec::Vec};

/// RISCs under test: the first two can push within a launch, the last cannot.
const RISCS: [usize; 3] = [0, 1, 4];
/// Maximum depth of zones. Deeper nesting would leave no room for the zone of a quick push.
const DEPTH_MAX: usize = 100;

#[derive(Clone, Debug)]
enum Step {
    Open { risc: usize, times: usize },
    Close { risc: usize, times: usize },
    Data { risc: usize, times: usize },
    Data16B { risc: usize },
    Event { risc: usize, times: usize },
    Flush { risc: usize },
    QuickPush { risc: usize },
    NextLaunch { trouble: Trouble, runs_on: [bool; 2] },
    HostReads,
    HostReadsOn,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let risc = || (0_usize..3).prop_map(|i| RISCS[i]);
    let trouble = || {
        prop_oneof![
            8 => Just(Trouble::Nothing),
            1 => Just(Trouble::Busy),
            1 => Just(Trouble::Silent),
        ]
    };
    let step = prop_oneof![
        4 => (risc(), 1..60_usize).prop_map(|(risc, times)| Step::Open { risc, times }),
        4 => (risc(), 1..60_usize).prop_map(|(risc, times)| Step::Close { risc, times }),
        2 => (risc(), 1..40_usize).prop_map(|(risc, times)| Step::Data { risc, times }),
        1 => risc().prop_map(|risc| Step::Data16B { risc }),
        2 => (risc(), 1..10_usize).prop_map(|(risc, times)| Step::Event { risc, times }),
        1 => risc().prop_map(|risc| Step::Flush { risc }),
        2 => risc().prop_map(|risc| Step::QuickPush { risc }),
        3 => (trouble(), any::<[bool; 2]>())
            .prop_map(|(trouble, runs_on)| Step::NextLaunch { trouble, runs_on }),
        1 => Just(Step::HostReads),
        3 => Just(Step::HostReadsOn),
    ];
    proptest::collection::vec(step, 0..60)
}

/// Records emitted by one RISC, and records found by the host.
#[derive(Default)]
struct Lane {
    /// Numbers of zones, data records and events.
    emitted: [u64; 3],
    /// Number of word pairs that the records took in the vector, including fixed slots and push
    /// zones.
    recorded_slots: u64,
    found: [u64; 3],
    found_slots: u64,
    open: Vec<u16>,
    is_running: bool,
    /// Numbers of zone starts and ends that the host has found, for each complete launch.
    balance: BTreeMap<u32, (u32, u32)>,
}

struct Story {
    rig: Rig,
    lanes: BTreeMap<usize, Lane>,
    program: u32,
}

impl Story {
    fn new(lane_words: u32, is_dispatch: bool) -> Self {
        let mut rig = Rig::new(lane_words);
        rig.riscs.iter_mut().for_each(|risc| risc.port.is_dispatch = is_dispatch);
        let lanes = RISCS.map(|risc| (risc, Lane::default())).into();
        let mut story = Self { rig, lanes, program: 1 };
        story.begin([true; 2]);
        story
    }

    fn begin(&mut self, runs_on: [bool; 2]) {
        self.rig.enables = 1 | u32::from(runs_on[0]) << 1 | u32::from(runs_on[1]) << 4;
        self.rig.begin(self.program);
        for (risc, is_running) in RISCS.into_iter().zip([true, runs_on[0], runs_on[1]]) {
            self.lane(risc).is_running = is_running;
            if is_running {
                if risc != 0 {
                    self.rig.riscs[risc].open_scope(Scope::Main);
                }
                self.rig.riscs[risc].open_scope(Scope::MainChild);
                self.lane(risc).recorded_slots += 4;
            }
        }
    }

    fn end(&mut self, trouble: Trouble) {
        for risc in [4, 1, 0] {
            if !self.lane(risc).is_running {
                continue;
            }
            while !self.lane(risc).open.is_empty() {
                self.close(risc);
            }
            self.rig.core.borrow_mut().trouble = trouble;
            self.rig.riscs[risc].close_scope(Scope::MainChild);
            self.rig.riscs[risc].close_scope(Scope::Main);
            self.rig.core.borrow_mut().trouble = Trouble::Nothing;
        }
        self.program += 1;
    }

    fn lane(&mut self, risc: usize) -> &mut Lane {
        self.lanes.get_mut(&risc).unwrap()
    }

    /// Runs a probe. If the probe pushes, accounts for the fixed slots of one more run and for the
    /// push's zone.
    fn probe<R>(&mut self, risc: usize, probe: impl FnOnce(&mut TestRisc) -> R) -> R {
        let before = self.rig.control(C.host_end + risc);
        let result = probe(&mut self.rig.riscs[risc]);
        if self.rig.control(C.host_end + risc) != before {
            self.lane(risc).recorded_slots += 4 + 2;
        }
        result
    }

    /// Runs a probe that either records `slots` word pairs or counts one loss of its kind.
    fn record(&mut self, risc: usize, kind: usize, slots: u64, probe: impl FnOnce(&mut TestRisc)) {
        self.lane(risc).emitted[kind] += 1;
        let before = self.rig.lost(risc);
        self.probe(risc, probe);
        let mut expected = before;
        expected[kind] += 1;
        match self.rig.lost(risc) {
            lost if lost == before => self.lane(risc).recorded_slots += slots,
            lost => assert_eq!(lost, expected),
        }
    }

    fn open(&mut self, risc: usize) {
        if self.lane(risc).open.len() < DEPTH_MAX {
            let mut is_open = false;
            self.record(risc, 0, 2, |risc| is_open = risc.open(1));
            if is_open {
                self.lane(risc).open.push(1);
            }
        }
    }

    fn close(&mut self, risc: usize) {
        if let Some(id) = self.lane(risc).open.pop() {
            self.probe(risc, |risc| risc.close(id));
        }
    }

    fn take(&mut self, step: Step) {
        let on = |story: &mut Self, risc, times, probe: fn(&mut Self, usize)| {
            if story.lane(risc).is_running {
                (0..times).for_each(|_| probe(story, risc));
            }
        };
        const DATA: u64 = 0xFFFF_FFFF_8000_0000;
        match step {
            Step::Open { risc, times } => on(self, risc, times, Self::open),
            Step::Close { risc, times } => on(self, risc, times, Self::close),
            Step::Data { risc, times } => on(self, risc, times, |story, risc| {
                story.record(risc, 1, 2, |risc| risc.data(2, DATA));
            }),
            Step::Data16B { risc } => on(self, risc, 1, |story, risc| {
                story.record(risc, 1, 3, |risc| {
                    risc.state.record_data_16b(&mut risc.port, wire::ZoneId(2), [DATA, 0]);
                });
            }),
            Step::Event { risc, times } => on(self, risc, times, |story, risc| {
                story.record(risc, 2, 1, |risc| risc.event(3));
            }),
            Step::Flush { risc } => on(self, risc, 1, |story, risc| {
                story.probe(risc, |risc| risc.state.flush_to_dram_if_full(&mut risc.port, 4));
            }),
            Step::QuickPush { risc } => {
                on(self, risc, 1, |story, risc| story.probe(risc, TestRisc::quick_push));
            }
            Step::NextLaunch { trouble, runs_on } => {
                self.end(trouble);
                self.begin(runs_on);
            }
            Step::HostReads => {
                self.end(Trouble::Nothing);
                self.host_reads();
                self.rig.acknowledge();
                self.begin([true; 2]);
            }
            Step::HostReadsOn => self.host_reads(),
        }
    }

    fn host_reads(&mut self) {
        for risc in RISCS {
            let runs = oracle::decode(&self.rig.read_on(risc));
            let is_whole = self.rig.refused(risc) == [0, 0];
            let generation = self.rig.control(7);
            let lane = self.lane(risc);
            for run in &runs {
                assert_eq!(run.generation, generation % 8);
                lane.find(run, is_whole);
            }
        }
    }
}

impl Lane {
    /// Adds a run that the host has read. Counts zones by their start markers, because an end
    /// marker is missing if the lane had no room for it.
    fn find(&mut self, run: &Run, is_whole: bool) {
        let kept = run.kept();
        let zones = [kept.zones - run.push_zones(), kept.data, kept.events];
        for (sum, kept) in self.found.iter_mut().zip(zones) {
            *sum += u64::from(kept);
        }
        self.found_slots += u64::from(run.slots);
        let balance = self.balance.entry(run.program_id).or_default();
        if is_whole && run.fixed[1].is_some() {
            let (starts, ends) = (balance.0 + kept.zones, balance.1 + kept.ends);
            assert_eq!(starts, ends, "program {}", run.program_id);
        }
        *balance = (balance.0 + kept.zones, balance.1 + kept.ends);
    }
}

proptest! {
    #[test]
    fn what_was_emitted_was_kept_or_counted(
        lane_words in prop_oneof![3_u32..40, 100_u32..400].prop_map(|n| n * 4),
        is_dispatch in proptest::bool::weighted(0.2),
        steps in steps(),
    ) {
        let mut story = Story::new(lane_words, is_dispatch);
        for step in steps {
            story.take(step);
        }
        story.end(Trouble::Nothing);
        story.host_reads();
        let Story { rig, lanes, .. } = story;
        for (risc, lane) in lanes {
            let [runs, markers] = rig.refused(risc);
            prop_assert_eq!(
                lane.found_slots + u64::from(markers),
                lane.recorded_slots,
                "RISC {}", risc
            );
            if runs == 0 {
                prop_assert_eq!(markers, 0);
                for ((found, lost), emitted) in
                    lane.found.into_iter().zip(rig.lost(risc)).zip(lane.emitted)
                {
                    prop_assert_eq!(found + u64::from(lost), emitted, "RISC {}", risc);
                }
            }
        }
    }
}
