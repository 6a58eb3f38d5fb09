//! The debug daisychain of a Tensix tile, which shows the pipeline of one RISC, and writes what it
//! shows to L1 every few cycles, without an instruction of any RISC.
//!
//! # Compatibility
//! tt-isa-documentation, `WormholeB0/TensixTile/DebugDaisychain.md`. For Blackhole there is no such
//! document: tt-exalens uses the same registers there, and reads program counters from the group B
//! of the same signals (`blackhole/functional_worker_debug_bus_signals.py`); group A is refused. It is
//! not documented what else a tile does, so it is refused: see [`Daisychain::store`].
//!
//! Choices where the document leaves several:
//! - data are exactly five cycles old;
//! - the first sample is taken as many cycles after the trigger as the samples are apart;
//! - if N is 1, one more sample is taken than was asked for;
//! - L1 is busy if the NoC reads the sample's bank in the same cycle. Samples delay no other access:
//!   a sample takes one of 16 banks for a cycle;
//! - the front end fetches the instruction after the one in the decode stage, and has just fetched an
//!   instruction in its first cycle in the decode stage.

use crate::{arch::Arch, riscv::Step};

/// A register of the daisychain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DaisyRegister {
    /// `DBG_L1_MEM_REG0`: address of the first sample, divided by 16.
    First,
    /// `DBG_L1_MEM_REG1`: end of the samples, divided by 16.
    End,
    /// `DBG_L1_MEM_REG2`: mode, interval and trigger.
    Mode,
    /// `DBG_BUS_CNTL_REG`: what is shown.
    Control,
    /// `DBG_RD_DATA`: 32 bits of what is shown.
    Data,
}

/// The signals of a RISC that the daisychain shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signals {
    /// Index of the RISC.
    pub(crate) risc_index: usize,
    group: Group,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    /// The load/store unit and the fetch stage.
    A,
    /// The decode stage.
    B,
}

/// Samples that are being written.
#[derive(Clone, Copy, Debug)]
struct Series {
    /// Cycle of the next sample.
    next_cycle: u64,
    interval_cycles: u64,
    /// Address of the next sample, divided by 16.
    next: u32,
    /// Number of samples that are still to be taken.
    left: u32,
}

/// What is in the stages of the pipeline after the instructions that are known.
#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    /// Address of the instruction that is executed next.
    pc: u32,
    /// First cycle in which it can be decoded; `None` if the RISC executes nothing.
    decode_from: Option<u64>,
    /// Cycles of a round, if the RISC executes the same polling loop again and again, which is not
    /// simulated.
    round_cycles: Option<u64>,
}

/// State of the daisychain of a tile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Daisychain {
    control: u32,
    first: u32,
    end: u32,
    mode: u32,
    signals: Option<Signals>,
    /// Cycle in which the signals were selected.
    selected_at: u64,
    is_prepared: bool,
    series: Option<Series>,
    /// Instructions of the RISC that is shown, with their 32 bits, from some time ago on.
    steps: Vec<(Step, u32)>,
    latest: Latest,
}

impl Daisychain {
    /// Returns the RISC that is shown.
    pub(crate) const fn shown_risc(&self) -> Option<usize> {
        match self.signals {
            Some(signals) => Some(signals.risc_index),
            None => None,
        }
    }

    /// Reads a register.
    pub(crate) fn load(&self, register: DaisyRegister, cycle: u64) -> Result<u32, String> {
        Ok(match register {
            DaisyRegister::First => self.first,
            DaisyRegister::End => self.end,
            DaisyRegister::Mode => self.mode,
            DaisyRegister::Control => self.control,
            DaisyRegister::Data => {
                self.expect_signals(cycle)?;
                let shift = 32 * (self.control >> READ_SELECT_SHIFT & 3);
                (self.shown_at(cycle - STALE_CYCLES) >> shift & 0xFFFF_FFFF) as u32
            }
        })
    }

    /// Writes a register; returns true if another RISC may be shown now.
    ///
    /// # Errors
    /// If it is not documented what a tile does, or if the model lacks it.
    pub(crate) fn store(
        &mut self,
        arch: Arch,
        register: DaisyRegister,
        (value, cycle): (u32, u64),
    ) -> Result<bool, String> {
        match register {
            // The data are discarded: such stores only order accesses.
            DaisyRegister::Data => return Ok(false),
            DaisyRegister::Mode => {
                self.set_mode(value, cycle)?;
                self.mode = value;
                return Ok(false);
            }
            _ if self.series.is_some() => {
                return Err("it is written while samples are being taken".to_owned());
            }
            DaisyRegister::First => self.first = value,
            DaisyRegister::End => self.end = value,
            DaisyRegister::Control => {
                self.select(arch, value, cycle)?;
                self.control = value;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn select(&mut self, arch: Arch, value: u32, cycle: u64) -> Result<(), String> {
        if value & CONTROL_RESERVED != 0 {
            return Err(format!("{value:#x} sets reserved bits"));
        }
        let signals = match value >> ENABLED_SHIFT & 1 {
            0 => None,
            _ => Some(signals(arch, (value >> 16 & 0xFF, value & 0xFFFF))?),
        };
        // Only the choice of 32 bits may change without a wait.
        if (value ^ self.control) & !(3 << READ_SELECT_SHIFT) != 0 {
            self.selected_at = cycle;
            self.steps.clear();
        }
        self.signals = signals;
        Ok(())
    }

    fn set_mode(&mut self, value: u32, cycle: u64) -> Result<(), String> {
        let (mode, is_trigger) = (value & 0xF, value >> TRIGGER_SHIFT & 1 != 0);
        if value >> (TRIGGER_SHIFT + 1) != 0 {
            return Err(format!("{value:#x} sets reserved bits"));
        }
        match mode {
            PREPARE if value == PREPARE => {
                (self.is_prepared, self.series) = (true, None);
                return Ok(());
            }
            SERIES => {}
            0 | 1 => {
                let why = format!("mode {mode}, which writes single samples, is not modelled");
                return Err(why);
            }
            _ => return Err(format!("{value:#x} has no documented mode")),
        }
        let was_trigger = self.mode & 0xF == SERIES && self.mode >> TRIGGER_SHIFT & 1 != 0;
        if !is_trigger || was_trigger {
            return Ok(());
        }
        self.begin_series(value, cycle)
    }

    fn begin_series(&mut self, value: u32, cycle: u64) -> Result<(), String> {
        self.expect_signals(cycle)?;
        if !self.is_prepared {
            return Err("the series was not prepared by mode 15".to_owned());
        }
        let count = self.end.checked_sub(self.first).filter(|&count| count > 0);
        let count = count.filter(|_| self.end <= LIMIT_BYTES / SAMPLE_BYTES).ok_or_else(|| {
            let (first, end) = (u64::from(self.first) << 4, u64::from(self.end) << 4);
            format!(
                "samples from {first:#x} to {end:#x} are not in the first {LIMIT_BYTES:#x} bytes of L1"
            )
        })?;
        let interval_cycles = u64::from(value >> INTERVAL_SHIFT & 0xFF) + 1;
        self.is_prepared = false;
        self.series = Some(Series {
            next_cycle: cycle + interval_cycles,
            interval_cycles,
            next: self.first,
            left: count + u32::from(interval_cycles == 1),
        });
        Ok(())
    }

    /// Returns an error unless signals have been selected for long enough.
    fn expect_signals(&self, cycle: u64) -> Result<(), String> {
        if self.signals.is_none() {
            return Err("the daisychain is not enabled".to_owned());
        }
        if cycle < self.selected_at + STALE_CYCLES {
            let passed = cycle.saturating_sub(self.selected_at);
            return Err(format!(
                "the signals were selected {passed} cycles ago, and show after {STALE_CYCLES}"
            ));
        }
        Ok(())
    }

    /// Adds the instructions that the shown RISC has executed, with their 32 bits, and what it
    /// executes next: the address, and the first cycle in which it can be decoded, or `None` if the
    /// RISC executes nothing. With `round_cycles`, it repeats the last round of a polling loop, which
    /// takes so many cycles.
    pub(crate) fn follow(
        &mut self,
        steps: impl Iterator<Item = (Step, u32)>,
        (pc, decode_from): (u32, Option<u64>),
        round_cycles: Option<u64>,
    ) {
        self.steps.extend(steps);
        self.latest = Latest { pc, decode_from, round_cycles };
    }

    /// Returns the instructions that were executed last.
    pub(crate) fn last_steps(&self, count: usize) -> Vec<Step> {
        let first = self.steps.len().saturating_sub(count);
        self.steps[first..].iter().map(|(step, _)| *step).collect()
    }

    /// Forgets instructions that are shown no more: those that were over long before a cycle.
    pub(crate) fn forget(&mut self, cycle: u64) {
        if self.steps.len() > KEPT_STEPS && self.latest.round_cycles.is_none() {
            let oldest = self.series.map_or(cycle, |series| series.next_cycle.min(cycle));
            let is_over =
                |(step, _): &(Step, u32)| step.leave.max(step.enters) + KEPT_CYCLES < oldest;
            let over = self.steps.partition_point(is_over);
            self.steps.drain(..over);
        }
    }

    /// Takes the next sample of a series if its signals are known: those of cycles before `known`.
    /// Returns the cycle, the address in L1, and the sample.
    ///
    /// `is_busy` tells whether L1 is busy at an address in a cycle; the sample is then taken later.
    pub(crate) fn next_sample(
        &mut self,
        known: u64,
        is_busy: impl Fn(u32, u64) -> bool,
    ) -> Option<(u64, u32, u128)> {
        loop {
            let series = self.series.as_mut()?;
            let cycle = series.next_cycle;
            if cycle.saturating_sub(STALE_CYCLES) >= known {
                return None;
            }
            series.next_cycle += series.interval_cycles;
            let address = series.next * SAMPLE_BYTES;
            if is_busy(address, cycle) {
                continue;
            }
            series.next += 1;
            series.left -= 1;
            if series.left == 0 {
                self.series = None;
            }
            return Some((cycle, address, self.shown_at(cycle.saturating_sub(STALE_CYCLES))));
        }
    }

    /// Returns the 128 bits that are shown of a cycle.
    fn shown_at(&self, cycle: u64) -> u128 {
        let Some(Signals { group, .. }) = self.signals else { return 0 };
        let cycle = self.in_last_round(cycle).unwrap_or(cycle);
        // The instruction in the decode stage is the first one that has not yet left it.
        let at = self.steps.partition_point(|(step, _)| step.enters < cycle);
        match group {
            Group::A => self.group_a(at, cycle),
            Group::B => self.group_b(at, cycle),
        }
    }

    /// Returns the cycle of the last simulated round of a polling loop that looks like a later cycle.
    fn in_last_round(&self, cycle: u64) -> Option<u64> {
        let end = self.latest.decode_from.filter(|&end| end <= cycle)?;
        let period = self.latest.round_cycles.filter(|&period| period > 0)?;
        Some(end.checked_sub(period)? + (cycle - end) % period)
    }

    fn group_b(&self, at: usize, cycle: u64) -> u128 {
        let recent = || self.steps[..at].last().map_or(self.latest.pc, |(step, _)| step.pc);
        let (pc, can_enter) = match self.steps.get(at) {
            Some((step, _)) if step.decoded <= cycle => (Some(step.pc), step.enters == cycle),
            Some(_) => (None, false),
            None if self.latest.decode_from.is_some_and(|from| from <= cycle) => {
                (Some(self.latest.pc), false)
            }
            None => (None, false),
        };
        u128::from(pc.unwrap_or_else(recent) & PC_MASK) << 32
            | u128::from(can_enter) << 63
            | u128::from(pc.is_some()) << 103
    }

    fn group_a(&self, at: usize, cycle: u64) -> u128 {
        // Instructions leave the queue in order.
        let before = &self.steps[..at];
        let queued = before.iter().rev().take_while(|(step, _)| step.leave >= cycle);
        let queued = queued.filter(|(step, _)| step.issue <= cycle).last();
        let recent = before.last().map_or(self.latest.pc, |(step, _)| step.pc);
        let retiring = queued.map_or(recent, |(step, _)| step.pc);
        let can_retire = queued.is_some_and(|(step, _)| step.leave == cycle);
        let near = self.steps[at.saturating_sub(REQUEST_STEPS)..].iter().take(REQUEST_STEPS + 1);
        let request = near.filter_map(|(step, _)| step.request).find(|one| one.cycle == cycle);
        let (address, is_read, is_write) = request.map_or((0, false, false), |request| {
            (request.address & PC_MASK, !request.is_write, request.is_write)
        });
        let decoding = self.steps.get(at).filter(|(step, _)| step.decoded <= cycle);
        let next = match (decoding, self.steps.get(at)) {
            (Some((step, _)), _) => step.next_pc,
            (None, Some((step, _))) => step.pc,
            (None, None) => self.latest.pc,
        };
        let fetched = decoding.filter(|(step, _)| step.decoded == cycle).map(|(_, word)| *word);
        u128::from(retiring & 0x7FFF_FFFF)
            | u128::from(can_retire) << 31
            | u128::from(address) << 32
            | u128::from(is_read) << 62
            | u128::from(is_write) << 63
            | u128::from(next & PC_MASK) << 64
            | u128::from(fetched.unwrap_or(0) & 0x7FFF_FFFF) << 96
            | u128::from(fetched.is_some()) << 127
    }
}

/// Returns the signals with a number of a chain.
fn signals(arch: Arch, (chain, number): (u32, u32)) -> Result<Signals, String> {
    let is_known = chain == RISC_CHAIN;
    let place = FIRST_SIGNALS.iter().position(|&first| is_known && number & !1 == first);
    let risc_index = place.ok_or_else(|| {
        format!(
            "signal {number} of daisy {chain} is not modelled; only the groups A and B of RISCs in \
             daisy {RISC_CHAIN} are"
        )
    })?;
    let group = if number & 1 == 0 { Group::A } else { Group::B };
    if group == Group::A && arch == Arch::Blackhole {
        return Err(format!(
            "signal {number} of daisy {chain}, group A, is not documented for {arch}"
        ));
    }
    Ok(Signals { risc_index, group })
}

/// Numbers of the group A of BRISC, NCRISC and the TRISCs; group B follows.
const FIRST_SIGNALS: [u32; 5] = [10, 24, 12, 14, 16];
/// The chain with the signals of the RISCs.
const RISC_CHAIN: u32 = 7;
/// Minimum age of data in cycles.
const STALE_CYCLES: u64 = 5;
const ENABLED_SHIFT: u32 = 29;
const READ_SELECT_SHIFT: u32 = 25;
/// Bits 24, 27, 28, 30 and 31.
const CONTROL_RESERVED: u32 = 0xD900_0000;
const INTERVAL_SHIFT: u32 = 4;
const TRIGGER_SHIFT: u32 = 12;
const PREPARE: u32 = 15;
const SERIES: u32 = 4;
const SAMPLE_BYTES: u32 = 16;
/// Samples are written only below this address.
const LIMIT_BYTES: u32 = 1 << 20;
/// The low 30 bits of a program counter.
const PC_MASK: u32 = 0x3FFF_FFFF;
/// Number of instructions above which old ones are forgotten.
const KEPT_STEPS: usize = 1024;
/// Age in cycles at which an instruction can be forgotten. Turns of RISCs are shorter.
const KEPT_CYCLES: u64 = 1024;
/// Number of instructions whose stores can be in the store queue, and some more.
const REQUEST_STEPS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::riscv::MemoryRequest;
    use DaisyRegister::{Control, Data, End, First, Mode};

    /// Enables group A or B of BRISC, from the document's table of signals.
    const A_OF_BRISC: u32 = 1 << 29 | 7 << 16 | 10;
    const B_OF_BRISC: u32 = 1 << 29 | 7 << 16 | 11;

    fn store(chain: &mut Daisychain, register: DaisyRegister, value: u32, cycle: u64) {
        chain.store(Arch::WormholeB0, register, (value, cycle)).unwrap();
    }

    fn selected(control: u32) -> Daisychain {
        let mut chain = Daisychain::default();
        store(&mut chain, Control, control, 0);
        chain
    }

    fn begun(control: u32, (count, interval): (u32, u32), cycle: u64) -> Daisychain {
        let mut chain = selected(control);
        store(&mut chain, Mode, 15, 1);
        store(&mut chain, First, 0x8000 >> 4, 2);
        store(&mut chain, End, (0x8000 >> 4) + count, 3);
        store(&mut chain, Mode, 4 | (interval - 1) << 4 | 1 << 12, cycle);
        chain
    }

    fn step(pc: u32, (decoded, enters, issue, leave): (u64, u64, u64, u64)) -> (Step, u32) {
        let next_pc = pc + 4;
        (Step { pc, decoded, enters, issue, leave, next_pc, request: None }, 0x13)
    }

    /// Returns the bits from `first` on.
    fn bits(sample: u128, first: u32, count: u32) -> u128 {
        sample >> first & ((1 << count) - 1)
    }

    #[test]
    fn group_b_has_the_fields_of_the_document() {
        let mut chain = selected(B_OF_BRISC);
        // The second instruction waits for its operands in cycles 11 to 13; then nothing is decoded
        // until the third one is fetched in cycle 20.
        let steps = [
            step(0x5000_1000, (8, 10, 11, 12)),
            step(0x5000_1004, (11, 14, 15, 16)),
            step(0x5000_2000, (20, 20, 21, 22)),
        ];
        chain.follow(steps.into_iter(), (0x5000_2004, Some(21)), None);
        let fields = |cycle| {
            let sample = chain.shown_at(cycle);
            assert_eq!(sample & !(0x3FFF_FFFF << 32 | 1 << 63 | 1 << 103), 0, "reserved bits");
            (bits(sample, 32, 30), bits(sample, 63, 1), bits(sample, 103, 1))
        };
        assert_eq!(fields(9), (0x1000_1000, 0, 1));
        assert_eq!(fields(10), (0x1000_1000, 1, 1));
        assert_eq!(fields(11), (0x1000_1004, 0, 1));
        assert_eq!(fields(14), (0x1000_1004, 1, 1));
        assert_eq!(fields(17), (0x1000_1004, 0, 0));
        assert_eq!(fields(20), (0x1000_2000, 1, 1));
        assert_eq!(fields(25), (0x1000_2004, 0, 1));
        chain.follow(std::iter::empty(), (0x5000_2004, None), None);
        let sample = chain.shown_at(25);
        assert_eq!((bits(sample, 32, 30), bits(sample, 103, 1)), (0x1000_2000, 0));
    }

    #[test]
    fn group_a_has_the_fields_of_the_document() {
        let mut chain = selected(A_OF_BRISC);
        let mut load = step(0x8000_1000, (8, 10, 11, 18));
        load.0.request = Some(MemoryRequest { cycle: 11, address: 0xFFB1_21F0, is_write: false });
        let mut write = step(0x1004, (11, 11, 12, 19));
        write.0.request = Some(MemoryRequest { cycle: 14, address: 0x0001_2340, is_write: true });
        write.1 = 0x8062_A023;
        let branch =
            (Step { next_pc: 0x4000_0F00, ..step(0x1008, (12, 30, 31, 32)).0 }, 0xFE00_1EE3);
        chain.follow([load, write, branch].into_iter(), (0x4000_0F00, Some(31)), None);
        let at = |cycle| chain.shown_at(cycle);
        // Until the load's value arrives, the load retires next.
        for (cycle, pc, can_retire) in [(12, 0x1000, 0), (18, 0x1000, 1), (19, 0x1004, 1)] {
            assert_eq!(
                (bits(at(cycle), 0, 31), bits(at(cycle), 31, 1)),
                (pc, can_retire),
                "{cycle}"
            );
        }
        // The queue is empty: some recent address.
        assert_eq!((bits(at(25), 0, 31), bits(at(25), 31, 1)), (0x1004, 0));
        let requests = [
            (10, (0, 0, 0)),
            (11, (0x3FB1_21F0, 1, 0)),
            (12, (0, 0, 0)),
            (14, (0x0001_2340, 0, 1)),
        ];
        for (cycle, expected) in requests {
            let sample = at(cycle);
            let found = (bits(sample, 32, 30), bits(sample, 62, 1), bits(sample, 63, 1));
            assert_eq!(found, expected, "{cycle}");
        }
        assert_eq!([bits(at(10), 64, 30), bits(at(30), 64, 30)], [0x1004, 0xF00]);
        let fetched = |cycle| (bits(at(cycle), 96, 31), bits(at(cycle), 127, 1));
        assert_eq!(
            [fetched(11), fetched(12), fetched(13)],
            [(0x0062_A023, 1), (0x7E00_1EE3, 1), (0, 0)]
        );
    }

    #[test]
    fn samples_are_an_interval_apart_and_five_cycles_old() {
        let mut chain = begun(B_OF_BRISC, (4, 3), 100);
        // One instruction for each cycle, whose address is 4 times the cycle.
        let steps = (90..200).map(|cycle: u32| {
            let at = u64::from(cycle);
            step(4 * cycle, (at, at, at + 1, at + 2))
        });
        chain.follow(steps, (0, None), None);
        let mut found = Vec::new();
        while let Some((cycle, address, sample)) = chain.next_sample(200, |_, _| false) {
            found.push((cycle, address, bits(sample, 32, 30)));
        }
        let expected = [103, 106, 109, 112].map(|cycle: u64| {
            let place = u32::try_from((cycle - 103) / 3).unwrap();
            (cycle, 0x8000 + 16 * place, u128::from(4 * (cycle - 5)))
        });
        assert_eq!(found, expected);
    }

    /// A loop of two instructions that takes seven cycles, from cycle 100 on.
    #[test]
    fn a_polling_loop_that_is_not_simulated_is_shown_round_by_round() {
        let mut chain = selected(B_OF_BRISC);
        let steps = [
            step(0x100, (93, 94, 95, 96)),
            step(0x104, (95, 99, 100, 101)),
            step(0x100, (100, 101, 102, 103)),
            step(0x104, (102, 106, 107, 108)),
        ];
        chain.follow(steps.into_iter(), (0x100, Some(107)), Some(7));
        for round in 0..50 {
            for (cycle, pc) in [(100, 0x100), (101, 0x100), (102, 0x104), (106, 0x104)] {
                let sample = chain.shown_at(cycle + 7 * round);
                assert_eq!(bits(sample, 32, 30), pc, "{cycle} in round {round}");
            }
        }
    }

    #[test]
    fn a_sample_waits_until_its_signals_are_known() {
        let mut chain = begun(B_OF_BRISC, (4, 10), 100);
        assert_eq!(chain.next_sample(105, |_, _| false), None);
        assert!(chain.next_sample(106, |_, _| false).is_some());
        assert_eq!(chain.next_sample(106, |_, _| false), None);
    }

    #[test]
    fn where_l1_is_busy_a_sample_is_taken_an_interval_later() {
        let mut chain = begun(B_OF_BRISC, (3, 10), 100);
        let busy = |address, cycle| address == 0x8010 && cycle < 145;
        let mut cycles = Vec::new();
        while let Some((cycle, address, _)) = chain.next_sample(1000, busy) {
            cycles.push((cycle, address));
        }
        assert_eq!(cycles, [(110, 0x8000), (150, 0x8010), (160, 0x8020)]);
    }

    #[test]
    fn an_interval_of_one_takes_one_sample_more() {
        for (interval, expected) in [(1, 6), (2, 5)] {
            let mut chain = begun(B_OF_BRISC, (5, interval), 100);
            let samples = std::iter::from_fn(|| chain.next_sample(1000, |_, _| false));
            assert_eq!(samples.count(), expected, "N = {interval}");
        }
    }

    #[test]
    fn each_risc_has_the_signals_of_the_document() {
        // BRISC, NCRISC, TRISC 0 to 2: group A, group B.
        let table = [(10, 11), (24, 25), (12, 13), (14, 15), (16, 17)];
        for arch in Arch::ALL {
            for (risc_index, (a, b)) in table.into_iter().enumerate() {
                let has_a = signals(arch, (7, a)).is_ok_and(|of| of.risc_index == risc_index);
                assert_eq!(has_a, arch == Arch::WormholeB0, "{arch} {a}");
                let expected = Signals { risc_index, group: Group::B };
                assert_eq!(signals(arch, (7, b)), Ok(expected), "{arch} {b}");
            }
            for unknown in [(7, 1), (7, 9), (7, 18), (7, 23), (7, 26), (1, 12), (6, 10)] {
                assert!(signals(arch, unknown).is_err(), "{arch} {unknown:?}");
            }
        }
    }

    #[test]
    fn what_is_not_documented_is_refused() {
        let stores: [(&str, &[(DaisyRegister, u32)]); 12] = [
            ("the daisychain is not enabled", &[(Control, 0), (Mode, 15), (Mode, 0x1014)]),
            ("not prepared by mode 15", &[(Mode, 0x1014)]),
            ("are not in the first 0x100000 bytes", &[(Mode, 15), (Mode, 0x1014)]),
            (
                "samples from 0xffff0 to 0x100010 are not",
                &[(Mode, 15), (First, 0xFFFF), (End, 0x10001), (Mode, 0x1014)],
            ),
            ("samples from 0x20 to 0x10", &[(Mode, 15), (First, 2), (End, 1), (Mode, 0x1014)]),
            ("has no documented mode", &[(Mode, 5)]),
            ("has no documented mode", &[(Mode, 0x1F)]),
            ("single samples, is not modelled", &[(Mode, 0)]),
            ("reserved bits", &[(Mode, 1 << 13)]),
            ("reserved bits", &[(Control, 1 << 30)]),
            ("signal 9 of daisy 7 is not modelled", &[(Control, 1 << 29 | 7 << 16 | 9)]),
            (
                "while samples are being taken",
                &[(Mode, 15), (First, 1), (End, 2), (Mode, 0x1014), (End, 3)],
            ),
        ];
        for (expected, stores) in stores {
            let mut chain = selected(B_OF_BRISC);
            let (last, before) = stores.split_last().unwrap();
            before.iter().for_each(|&(register, value)| store(&mut chain, register, value, 100));
            let found = chain.store(Arch::WormholeB0, last.0, (last.1, 200));
            let reason = found.unwrap_err();
            assert!(reason.contains(expected), "{expected}: {reason}");
        }
    }

    #[test]
    fn signals_show_five_cycles_after_they_were_selected() {
        let chain = selected(B_OF_BRISC);
        assert!(chain.load(Data, 4).is_err());
        assert!(chain.load(Data, 5).is_ok());
        // The choice of 32 bits needs no wait.
        let mut chain = selected(B_OF_BRISC);
        store(&mut chain, Control, B_OF_BRISC | 1 << 25, 100);
        chain.follow([step(0x1000, (0, 200, 201, 202))].into_iter(), (0x1004, None), None);
        assert_eq!(chain.load(Data, 100).unwrap(), 0x1000);
        store(&mut chain, Control, B_OF_BRISC | 3 << 25, 100);
        assert_eq!(chain.load(Data, 100).unwrap(), 1 << 7, "bit 103 is bit 7 of the fourth word");
        store(&mut chain, Control, A_OF_BRISC, 100);
        assert!(chain.load(Data, 104).is_err());
    }
}
