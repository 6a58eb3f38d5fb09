//! Streamed lanes under any sequence of kernels and drains: each emitted record is found unchanged
//! or counted, and no RISC waits longer than its limit.

use super::{
    Rig, TestRisc,
    rig::{Drain, FW, KERNEL},
};
use crate::{
    port::{self, ClockWords},
    state::State,
};
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use std::{vec, vec::Vec};
use wire::{ZoneId, stream::Policy};

/// RISCs under test.
const RISCS: [usize; 3] = [0, 1, 4];

#[derive(Clone, Debug)]
enum Step {
    Open(usize, u16),
    Close(usize),
    Event(usize, u16),
    Data(usize, u16, u64),
    Data16(usize, u16, [u64; 2]),
    Sum(usize, usize, u16),
    Pause(u64),
    Drain,
    NextLaunch(u64),
    IdleLaunch,
}

fn steps(drains: u32) -> impl Strategy<Value = Vec<Step>> {
    let risc = || (0_usize..3).prop_map(|index| RISCS[index]);
    // A record under the id of a stall would be mistaken for a stall.
    let is_own = |id: &u16| *id != crate::stall::STALL_ZONE.0;
    let id = || prop_oneof![any::<u16>(), 0xFFE8_u16..=0xFFFF].prop_filter("own", is_own);
    let pause = prop_oneof![20 => 1_u64..500, 2 => 60_000_u64..70_000, 1 => 1_u64 << 28..1 << 29];
    let step = prop_oneof![
        400 => (risc(), id()).prop_map(|(risc, id)| Step::Open(risc, id)),
        400 => risc().prop_map(Step::Close),
        80 => (risc(), id()).prop_map(|(risc, id)| Step::Event(risc, id)),
        60 => (risc(), id(), any::<u64>()).prop_map(|(risc, id, value)| Step::Data(risc, id, value)),
        40 => (risc(), id(), any::<[u64; 2]>())
            .prop_map(|(risc, id, values)| Step::Data16(risc, id, values)),
        10 => (risc(), 0_usize..2, id()).prop_map(|(risc, sum, id)| Step::Sum(risc, sum, id)),
        80 => pause.prop_map(Step::Pause),
        20 => (1_u64..1 << 40).prop_map(Step::NextLaunch),
        2 => Just(Step::IdleLaunch),
        drains => Just(Step::Drain),
    ];
    proptest::collection::vec(step, 1..2500)
}

/// An emitted or found record: kind, id, start, end, values.
type Told = (u16, u16, u64, u64, Vec<u64>);

const ZONE: u16 = 0;
const DATA: u16 = 1;
const EVENT: u16 = 2;
const TOTAL: u16 = 3;

/// The history of one RISC.
#[derive(Default)]
struct Lane {
    open: Vec<(u16, u32, u64)>,
    fw: Option<(ClockWords, u64)>,
    kernel: Option<(ClockWords, u64)>,
    sums: [Option<(u16, u32)>; 2],
    emitted: Vec<(u32, Told)>,
}

struct Story {
    rig: Rig,
    lanes: Vec<Lane>,
    program: u32,
}

impl Story {
    fn new(policy: Policy, (period, clock): (u64, u64), has_sums: bool) -> Self {
        let mut rig = Rig::new(64);
        for risc in &mut rig.riscs {
            risc.port.is_streaming = true;
            risc.port.sums = has_sums;
        }
        {
            let mut core = rig.core.borrow_mut();
            core.clock = clock;
            core.drain = Some(Drain { period, next: u64::MAX, ..Drain::default() });
            core.control[9..14].fill(policy.to_word());
        }
        let lanes = (0..5).map(|_| Lane::default()).collect();
        let mut story = Self { rig, lanes, program: 6 };
        story.begin();
        story
    }

    fn clock(&self) -> u64 {
        self.rig.core.borrow().clock
    }

    fn begin(&mut self) {
        self.program += 1;
        for risc_index in RISCS {
            let risc = &mut self.rig.riscs[risc_index];
            let fw = port::whole_time(&mut risc.port);
            risc.state.begin(&mut risc.port);
            if risc_index == 0 {
                risc.state.begin_streamed_launch(&mut risc.port, self.program);
            }
            let kernel = port::whole_time(&mut risc.port);
            let lane = &mut self.lanes[risc_index];
            lane.fw = Some((fw, whole(fw)));
            lane.kernel = Some((kernel, whole(kernel)));
        }
    }

    fn emit(&mut self, risc_index: usize, told: Told) {
        self.lanes[risc_index].emitted.push((self.program, told));
    }

    /// Ends a zone whose start is given by both words of the clock.
    fn end_fixed(&mut self, risc_index: usize, id: ZoneId, (begun, start): (ClockWords, u64)) {
        let risc = &mut self.rig.riscs[risc_index];
        risc.state.end_measured_zone(&mut risc.port, id, begun);
        // The clock is read several times near a wrap or if there is no room, so the end is not
        // compared.
        let end = self.clock();
        self.emit(risc_index, (ZONE, id.0, start, end, vec![]));
    }

    fn end(&mut self, has_sums: bool) {
        for risc_index in [4, 1, 0] {
            while !self.lanes[risc_index].open.is_empty() {
                self.close(risc_index);
            }
            let lane = &mut self.lanes[risc_index];
            let (kernel, fw) = (lane.kernel.take(), lane.fw.take());
            self.end_fixed(risc_index, KERNEL, kernel.unwrap());
            self.end_fixed(risc_index, FW, fw.unwrap());
            for index in 0..2 {
                if let Some((id, cycles)) = self.lanes[risc_index].sums[index].take()
                    && has_sums
                {
                    self.emit(risc_index, (TOTAL, id, 0, 0, vec![cycles.into()]));
                }
            }
            let risc = &mut self.rig.riscs[risc_index];
            risc.state.finish(&mut risc.port);
        }
    }

    fn close(&mut self, risc_index: usize) {
        let Some((id, begun, start)) = self.lanes[risc_index].open.pop() else { return };
        let end = self.clock() + 1;
        let risc = &mut self.rig.riscs[risc_index];
        risc.state.end_zone(&mut risc.port, ZoneId(id), begun);
        // A zone is measured by the low word of the clock.
        let start = end - (end - start) % (1 << 32);
        self.emit(risc_index, (ZONE, id, start, end, vec![]));
    }

    fn step(&mut self, step: &Step, has_sums: bool) {
        let now = self.clock() + 1;
        match *step {
            Step::Open(risc_index, id) => {
                let begun = crate::port::Clock::now_low(&mut self.rig.riscs[risc_index].port);
                self.lanes[risc_index].open.push((id, begun, now));
            }
            Step::Close(risc_index) => self.close(risc_index),
            Step::Event(risc_index, id) => {
                self.rig.riscs[risc_index].event(id);
                self.emit(risc_index, (EVENT, id, now, now, vec![]));
            }
            Step::Data(risc_index, id, value) => {
                self.rig.riscs[risc_index].data(id, value);
                self.emit(risc_index, (DATA, id, now, now, vec![value]));
            }
            Step::Data16(risc_index, id, values) => {
                let TestRisc { state, port } = &mut self.rig.riscs[risc_index];
                State::record_data_16b(state, port, ZoneId(id), values);
                self.emit(risc_index, (DATA, id, now, now, values.to_vec()));
            }
            Step::Sum(risc_index, index, id) => {
                self.rig.riscs[risc_index].sum(index, id, 5);
                let sum = &mut self.lanes[risc_index].sums[index];
                *sum = Some((id, sum.map_or(0, |(_, cycles)| cycles) + 5));
            }
            Step::Pause(cycles) => self.rig.core.borrow_mut().clock += cycles,
            Step::Drain => self.rig.core.borrow_mut().drain(),
            Step::NextLaunch(pause) => {
                self.end(has_sums);
                self.rig.core.borrow_mut().clock += pause;
                self.begin();
            }
            Step::IdleLaunch => {
                self.end(has_sums);
                let TestRisc { state, port } = &mut self.rig.riscs[0];
                state.begin(port);
                state.leave_streamed_launch(port);
                state.begin_streamed_launch(port, 999);
                assert!(state.is_launch_idle());
                state.finish(port);
                self.begin();
            }
        }
    }
}

fn whole(time: ClockWords) -> u64 {
    u64::from(time.high) << 32 | u64::from(time.low)
}

/// Returns the records of a lane's cells with their programs, and the number of cells that are not
/// records. Does not use `wire` for bit positions.
fn decode(cells: &[[u32; 2]], first: u32) -> (Vec<(u32, Told)>, u32) {
    let (mut records, mut others) = (Vec::new(), 0);
    let (mut program, mut now) = (0, 0_u64);
    let mut at = 0;
    let advance = |now: &mut u64, low: u32| {
        *now += u64::from(low.wrapping_sub(*now as u32));
        *now
    };
    while at < cells.len() {
        let [head, value] = cells[at];
        let (code, field) = ((head >> 16) as u16, head as u16);
        let bits = |back: usize| {
            let [low, high] = cells[at + back];
            u64::from(high) << 32 | u64::from(low)
        };
        let in_chunk = (first as usize + at) % 8;
        let length = match code {
            0xFFF0 | 0xFFF1 | 0xFFF5 => 2,
            0xFFF2 => 3,
            0xFFFF => 8 - in_chunk,
            _ => 1,
        };
        assert!(in_chunk + length <= 8, "a record of code {code:#x} crosses a chunk");
        match code {
            0xFFF0 => {
                let end = advance(&mut now, value);
                records.push((program, (ZONE, field, end - bits(1), end, vec![])));
            }
            0xFFF1 => {
                let time = advance(&mut now, value);
                records.push((program, (DATA, field, time, time, vec![bits(1)])));
            }
            0xFFF2 => {
                let time = advance(&mut now, value);
                records.push((program, (DATA, field, time, time, vec![bits(1), bits(2)])));
            }
            0xFFF3 => {
                let time = advance(&mut now, value);
                records.push((program, (EVENT, field, time, time, vec![])));
            }
            0xFFF4 => records.push((program, (TOTAL, field, 0, 0, vec![value.into()]))),
            0xFFF5 => {
                let [of, high] = cells[at + 1];
                (program, now) = (of, u64::from(high & 0xFFFF) << 32 | u64::from(value));
                others += 2;
            }
            0xFFF6 | 0xFFF7 => others += 1,
            0xFFFF => others += length as u32,
            code if code < 0xFFF0 => {
                let end = advance(&mut now, value);
                records.push((program, (ZONE, code, end - u64::from(field), end, vec![])));
            }
            code => panic!("code {code:#x}"),
        }
        at += length;
    }
    (records, others)
}

/// Returns true if two records are equal. For the firmware's zones the end is ignored, because the
/// clock is read several times.
fn are_same(emitted: &(u32, Told), found: &(u32, Told)) -> bool {
    let is_fixed = emitted.1.1 == FW.0 || emitted.1.1 == KERNEL.0;
    let (emitted, found) = ((emitted.0, &emitted.1), (found.0, &found.1));
    emitted.0 == found.0
        && emitted.1.0 == found.1.0
        && emitted.1.1 == found.1.1
        && emitted.1.2 == found.1.2
        && (is_fixed || emitted.1.3 == found.1.3)
        && emitted.1.4 == found.1.4
}

fn tell(steps: &[Step], policy: Policy, timing: (u64, u64), has_sums: bool) -> Story {
    let mut story = Story::new(policy, timing, has_sums);
    for step in steps {
        story.step(step, has_sums);
    }
    story.end(has_sums);
    story.rig.core.borrow_mut().drain();
    story
}

/// Returns the number of missing records by kind, or `None` if the found records are not a
/// subsequence of the emitted ones.
fn missing(story: &Story, risc_index: usize) -> Option<[u32; 4]> {
    let core = story.rig.core.borrow();
    let (found, _) = decode(&core.drain.as_ref().unwrap().found[risc_index], 0);
    let mut missing = [0; 4];
    let is_stall = |told: &Told| (told.0, told.1) == (ZONE, crate::stall::STALL_ZONE.0);
    let mut found = found.iter().filter(|(_, told)| !is_stall(told)).peekable();
    for emitted in &story.lanes[risc_index].emitted {
        if found.next_if(|found| are_same(emitted, found)).is_none() {
            missing[usize::from(emitted.1.0)] += 1;
        }
    }
    if let Some(found) = found.next() {
        std::eprintln!("RISC {risc_index}: {found:x?}");
        return None;
    }
    Some(missing)
}

fn lost(story: &Story, risc_index: usize) -> [u32; 3] {
    story.rig.lost(risc_index)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(super::case_count(64)))]

    #[test]
    fn what_was_emitted_was_found_or_counted(
        steps in prop_oneof![steps(60), steps(6), steps(1)],
        clock in prop_oneof![1_u64..1000, (1_u64 << 33) - 300..(1 << 33), (1_u64 << 47) - 3000..1 << 47],
        has_sums: bool,
    ) {
        let story = tell(&steps, Policy::DropNewest, (u64::MAX, clock), has_sums);
        for risc_index in RISCS {
            let [zones, data, events, totals] = missing(&story, risc_index).expect("a record that nobody emitted");
            prop_assert_eq!([zones + totals, data, events], lost(&story, risc_index));
        }
        let idle = steps.iter().filter(|step| matches!(step, Step::IdleLaunch)).count();
        prop_assert_eq!(story.rig.control(8), idle as u32);
        prop_assert_eq!(story.rig.control(5), 0x4B53_1000);
        for risc_index in RISCS {
            prop_assert!(story.rig.control(14 + risc_index) & 0x8000 != 0);
        }
        prop_assert!(story.rig.core.borrow().pushes.is_empty());
    }

    #[test]
    fn a_risc_that_waits_loses_nothing_where_the_drain_comes_in_time(
        steps in steps(1), period in 100_u64..5000,
    ) {
        let policy = Policy::Block { cycles_log2: 14 };
        let mut story = Story::new(policy, (period, 1000), false);
        story.rig.core.borrow_mut().drain.as_mut().unwrap().next = 0;
        steps.iter().for_each(|step| story.step(step, false));
        story.end(false);
        story.rig.core.borrow_mut().drain();
        for risc_index in RISCS {
            prop_assert_eq!(missing(&story, risc_index), Some([0; 4]));
            prop_assert_eq!(lost(&story, risc_index), [0; 3]);
        }
    }

    #[test]
    fn a_risc_waits_once_in_vain_where_nobody_drains(steps in steps(1)) {
        let policy = Policy::Block { cycles_log2: 14 };
        let steps: Vec<_> = steps.into_iter().filter(|step| !matches!(step, Step::Drain | Step::Pause(_) | Step::NextLaunch(_))).collect();
        let story = tell(&steps, policy, (u64::MAX, 1000), false);
        // Each RISC waits at most once; the factor 2 allows for the polls.
        prop_assert!(story.clock() < 1000 + 3 * 2 * (1 << 14) + 100 * (steps.len() as u64 + 20));
        for risc_index in RISCS {
            let [zones, data, events, totals] = missing(&story, risc_index).expect("a record that nobody emitted");
            prop_assert_eq!([zones + totals, data, events], lost(&story, risc_index));
        }
    }

    #[test]
    fn chunks_that_are_skipped_are_counted_in_cells(
        steps in prop_oneof![steps(60), steps(6)], chunks_log2 in 1_u8..4,
    ) {
        let story = tell(&steps, Policy::KeepOneOf { chunks_log2 }, (u64::MAX, 1000), false);
        for risc_index in RISCS {
            let [zones, data, events, totals] = missing(&story, risc_index).expect("a record that nobody emitted");
            let missing = zones + data + events + totals;
            let lost: u32 = lost(&story, risc_index).iter().sum();
            let skipped = story.rig.control(19 + risc_index);
            prop_assert!(missing <= lost + skipped && 3 * missing + 8 * skipped / 8 >= skipped, "{missing} {lost} {skipped}");
            prop_assert!(skipped.is_multiple_of(8));
        }
    }

    #[test]
    fn the_newest_cells_are_there_where_the_oldest_are_written_over(steps in prop_oneof![steps(6), steps(1)]) {
        let story = tell(&steps, Policy::OverwriteOldest, (u64::MAX, 1000), false);
        for risc_index in RISCS {
            prop_assert_eq!(lost(&story, risc_index), [0; 3]);
            let core = story.rig.core.borrow();
            let drain = core.drain.as_ref().unwrap();
            let found = drain.found[risc_index].len() as u32;
            prop_assert_eq!(found + drain.overwritten[risc_index], story.rig.control(24 + risc_index));
        }
    }
}
