//! Whatever kernels and hosts do: nothing is written where it does not belong, no end of an
//! open zone is lost, and what was emitted was kept or counted.
//!
//! That no vector and no lane is left is asserted by the ports themselves.

use super::{Rig, Run, TestRisc, rig::C};
use crate::launch::Scope;
use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use std::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

/// RISCs that take part: two that push quickly, one that does not.
const RISCS: [usize; 3] = [0, 1, 4];
/// Deeper nesting would leave no room for the zone of a quick push.
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
    NextLaunch { is_linked: bool, runs_on: [bool; 2] },
    HostReads,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let risc = || (0_usize..3).prop_map(|i| RISCS[i]);
    let step = prop_oneof![
        4 => (risc(), 1..60_usize).prop_map(|(risc, times)| Step::Open { risc, times }),
        4 => (risc(), 1..60_usize).prop_map(|(risc, times)| Step::Close { risc, times }),
        2 => (risc(), 1..40_usize).prop_map(|(risc, times)| Step::Data { risc, times }),
        1 => risc().prop_map(|risc| Step::Data16B { risc }),
        2 => (risc(), 1..10_usize).prop_map(|(risc, times)| Step::Event { risc, times }),
        1 => risc().prop_map(|risc| Step::Flush { risc }),
        2 => risc().prop_map(|risc| Step::QuickPush { risc }),
        3 => (proptest::bool::weighted(0.2), any::<[bool; 2]>())
            .prop_map(|(is_linked, runs_on)| Step::NextLaunch { is_linked, runs_on }),
        1 => Just(Step::HostReads),
    ];
    proptest::collection::vec(step, 0..60)
}

/// Zones, data and events.
type Tally = [u64; 3];

#[derive(Default)]
struct Lane {
    emitted: Tally,
    accounted: Tally,
    open: Vec<u16>,
    is_running: bool,
    /// Launches whose FW and KERNEL zones the host has seen.
    programs: [BTreeSet<u32>; 2],
    /// Starts and ends that the host has seen, for launches that are whole.
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
        self.rig.begin(self.program);
        for (risc, is_running) in RISCS.into_iter().zip([true, runs_on[0], runs_on[1]]) {
            self.lane(risc).is_running = is_running;
            if is_running {
                if risc != 0 {
                    self.rig.riscs[risc].open_scope(Scope::Main);
                }
                self.rig.riscs[risc].open_scope(Scope::MainChild);
                self.lane(risc).emitted[0] += 2;
            }
        }
    }

    fn end(&mut self, is_linked: bool) {
        for risc in [4, 1, 0] {
            if !self.lane(risc).is_running {
                continue;
            }
            while !self.lane(risc).open.is_empty() {
                self.close(risc);
            }
            self.rig.set_linked(is_linked);
            self.rig.riscs[risc].close_scope(Scope::MainChild);
            self.rig.riscs[risc].close_scope(Scope::Main);
            self.rig.set_linked(false);
        }
        self.program += 1;
    }

    fn lane(&mut self, risc: usize) -> &mut Lane {
        self.lanes.get_mut(&risc).unwrap()
    }

    fn probe<R>(&mut self, risc: usize, probe: impl FnOnce(&mut TestRisc) -> R) -> R {
        probe(&mut self.rig.riscs[risc])
    }

    fn open(&mut self, risc: usize) {
        if self.lane(risc).open.len() < DEPTH_MAX {
            self.lane(risc).emitted[0] += 1;
            if self.probe(risc, |risc| risc.open(1)) {
                self.lane(risc).open.push(1);
            }
        }
    }

    fn close(&mut self, risc: usize) {
        if let Some(id) = self.lane(risc).open.pop() {
            self.probe(risc, |risc| risc.close(id));
        }
    }

    fn data(&mut self, risc: usize, is_wide: bool) {
        self.lane(risc).emitted[1] += 1;
        let data = 0xFFFF_FFFF_8000_0000;
        self.probe(risc, |risc| match is_wide {
            true => risc.state.record_data_16b(&mut risc.port, wire::ZoneId(2), [data, 0]),
            false => risc.data(2, data),
        });
    }

    fn take(&mut self, step: Step) {
        let on = |story: &mut Self, risc, times, probe: fn(&mut Self, usize)| {
            if story.lane(risc).is_running {
                (0..times).for_each(|_| probe(story, risc));
            }
        };
        match step {
            Step::Open { risc, times } => on(self, risc, times, Self::open),
            Step::Close { risc, times } => on(self, risc, times, Self::close),
            Step::Data { risc, times } => on(self, risc, times, |s, risc| s.data(risc, false)),
            Step::Data16B { risc } => on(self, risc, 1, |s, risc| s.data(risc, true)),
            Step::Event { risc, times } => on(self, risc, times, |story, risc| {
                story.lane(risc).emitted[2] += 1;
                story.probe(risc, |risc| risc.event(3));
            }),
            Step::Flush { risc } => on(self, risc, 1, |story, risc| {
                story.probe(risc, |risc| risc.state.flush_to_dram_if_full(&mut risc.port, 4));
            }),
            Step::QuickPush { risc } => {
                on(self, risc, 1, |story, risc| story.probe(risc, TestRisc::quick_push));
            }
            Step::NextLaunch { is_linked, runs_on } => {
                self.end(is_linked);
                self.begin(runs_on);
            }
            Step::HostReads => {
                // The host of these tests reads between launches only.
                self.end(false);
                self.host_reads();
                self.begin([true; 2]);
            }
        }
    }

    fn host_reads(&mut self) {
        for risc in RISCS {
            let runs = self.rig.runs(risc);
            let log = self.rig.loss_log(risc);
            let has_dropped = self.rig.control(C.dropped_zones) >> risc & 1 != 0;
            let lane = self.lane(risc);
            for run in &runs {
                lane.account(run, has_dropped);
            }
            for extent in log {
                let launches = if extent.is_remainder { 1 } else { extent.launches };
                let counts = extent.counts;
                for (sum, lost) in
                    lane.accounted.iter_mut().zip([counts.zones, counts.data, counts.events])
                {
                    *sum += u64::from(lost) * u64::from(launches);
                }
            }
        }
        self.rig.acknowledge();
    }
}

impl Lane {
    /// Enters a run. In a lane that was full, ends may be missing: a zone counts by its start.
    fn account(&mut self, run: &Run, has_dropped: bool) {
        let kept = run.kept();
        let lost = run.lost();
        let zones = [kept.zones - run.push_zones(), kept.data, kept.events];
        for (sum, (kept, lost)) in self.accounted.iter_mut().zip(zones.into_iter().zip(lost)) {
            *sum += u64::from(kept + lost);
        }
        for (slot, programs) in [0, 2].into_iter().zip(&mut self.programs) {
            let is_new = run.fixed[slot].is_some() && programs.insert(run.program_id);
            self.accounted[0] += u64::from(is_new);
        }
        let balance = self.balance.entry(run.program_id).or_default();
        if !has_dropped && run.fixed[1].is_some() {
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
        story.end(false);
        story.host_reads();
        for (risc, lane) in story.lanes {
            prop_assert_eq!(lane.accounted, lane.emitted, "RISC {}", risc);
        }
    }
}
