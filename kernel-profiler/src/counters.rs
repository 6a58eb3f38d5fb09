//! Hardware counters: activity of a tile's coprocessor and L1 between a start and a stop.
//!
//! A tile has five banks of counters. Each bank counts all of its events at once, but only one of
//! these counts can be read at a time; the runtime selects a count before it reads the count. The
//! L1 banks of [`wire::perf_counter`] share one hardware bank through a multiplexer, so only one of
//! these L1 banks can count at a time.
//!
//! Each counter becomes one record of 16 bytes of data with the id 9090. A bank that was never
//! started reports 0 cycles; hosts ignore such records.
//!
//! # Compatibility
//! TT-Metal's `perf_counters.hpp` and its `perf_counters/` (`registers.h`, `hw.h`, `wormhole.h`,
//! `blackhole.h`).

use crate::{
    port::{CounterChip, Port},
    state::{State, word_count},
};
use wire::{
    PacketKind, ZoneId,
    loss::LossKind,
    perf_counter::{FPU, INSTRUCTIONS, L1, PACK, UNPACK, countable, pack},
};

/// A series of counters, given by its first counter, the step to the next counter, and its length.
///
/// Each counter has a number, which its records contain, and a selection value, which the runtime
/// writes to a register to select the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterRun {
    /// Number and selection value of the first counter.
    pub first: (u16, u16),
    /// Increments of the number and of the selection value from one counter to the next.
    pub step: (u16, u16),
    /// Number of counters.
    pub count: u16,
}

/// Returns counters with consecutive numbers and consecutive selection values.
const fn side_by_side(number: u16, select: u16, count: u16) -> CounterRun {
    CounterRun { first: (number, select), step: (1, 1), count }
}

/// Calls `visit` with all counters of a group, in the order in which they are recorded.
#[inline(always)]
pub fn for_each_run(group: u32, chip: CounterChip, mut visit: impl FnMut(CounterRun)) {
    let mut side_by_side = |number, select, count| visit(side_by_side(number, select, count));
    match (group, chip) {
        (FPU, _) => {
            side_by_side(1, 0, 2);
            side_by_side(3, 257, 1);
        }
        (UNPACK, _) => {
            side_by_side(4, 0, 2);
            side_by_side(7, 3, 8);
            side_by_side(113, 259, 1);
            side_by_side(116, 260, 1);
            side_by_side(114, 261, 2);
            side_by_side(117, 263, 4);
        }
        (PACK, CounterChip::Wormhole) => {
            side_by_side(18, 11, 1);
            side_by_side(121, 12, 6);
            side_by_side(19, 18, 1);
            side_by_side(127, 267, 5);
            side_by_side(20, 272, 1);
        }
        (PACK, CounterChip::Blackhole) => {
            side_by_side(18, 11, 1);
            side_by_side(19, 18, 1);
            side_by_side(127, 267, 1);
            side_by_side(131, 271, 1);
            side_by_side(20, 272, 1);
        }
        (INSTRUCTIONS, _) => for_each_instruction_run(chip, visit),
        _ => for_each_l1_run(group, chip, visit),
    }
}

/// Calls `visit` with the instruction counters. The numbers of one thread's wait counters are three
/// apart, although these counters are adjacent in hardware.
#[inline(always)]
fn for_each_instruction_run(chip: CounterChip, mut visit: impl FnMut(CounterRun)) {
    let waits = |number, select, count| CounterRun { first: (number, select), step: (3, 1), count };
    visit(side_by_side(21, 0, 9));
    match chip {
        CounterChip::Wormhole => {
            visit(side_by_side(30, 12, 16));
            visit(CounterRun { first: (46, 30), step: (1, 3), count: 4 });
            visit(waits(52, 40, 8));
            visit(waits(50, 48, 9));
            visit(waits(51, 57, 9));
        }
        CounterChip::Blackhole => {
            visit(side_by_side(30, 12, 20));
            visit(waits(52, 32, 8));
            visit(waits(50, 40, 9));
            visit(waits(51, 49, 9));
        }
    }
    visit(CounterRun { first: (110, 256), step: (1, 8), count: 3 });
    visit(side_by_side(180, 283, 1));
}

/// Calls `visit` with the counters of an L1 group: the requests of its ports, then their grants.
#[inline(always)]
fn for_each_l1_run(group: u32, chip: CounterChip, mut visit: impl FnMut(CounterRun)) {
    let mut side_by_side = |number, select, count| visit(side_by_side(number, select, count));
    match (L1.iter().position(|bit| *bit == group), chip) {
        (Some(0), CounterChip::Wormhole) => {
            side_by_side(76, 0, 8);
            side_by_side(94, 256, 8);
        }
        (Some(1), CounterChip::Wormhole) => {
            side_by_side(84, 0, 8);
            side_by_side(102, 256, 8);
        }
        (Some(0), CounterChip::Blackhole) => {
            side_by_side(76, 0, 1);
            side_by_side(185, 1, 1);
            side_by_side(78, 2, 6);
            side_by_side(94, 256, 1);
            side_by_side(190, 257, 1);
            side_by_side(96, 258, 6);
        }
        (Some(1), CounterChip::Blackhole) => {
            side_by_side(186, 0, 4);
            side_by_side(88, 4, 4);
            side_by_side(191, 256, 4);
            side_by_side(106, 260, 4);
        }
        (Some(2), CounterChip::Blackhole) => {
            side_by_side(148, 0, 8);
            side_by_side(156, 256, 8);
        }
        (Some(3), CounterChip::Blackhole) => {
            side_by_side(164, 0, 8);
            side_by_side(172, 256, 8);
        }
        (Some(4), CounterChip::Blackhole) => {
            side_by_side(132, 0, 8);
            side_by_side(140, 256, 8);
        }
        (Some(5), CounterChip::Blackhole) => {
            side_by_side(181, 0, 2);
            side_by_side(183, 256, 2);
        }
        _ => {}
    }
}

/// Registers of a bank, as offsets in the tile's block of debug registers.
///
/// `setup` is the offset of the first of three registers that configure the bank. `readings` is the
/// offset of the first of two registers from which the bank's counts are read.
#[derive(Clone, Copy)]
struct Bank {
    setup: u32,
    readings: u32,
}

impl Bank {
    const fn from_group(group: u32) -> Self {
        match group {
            FPU => Self { setup: 0x018, readings: 0x120 },
            PACK => Self { setup: 0x0F0, readings: 0x110 },
            UNPACK => Self { setup: 0x00C, readings: 0x108 },
            INSTRUCTIONS => Self { setup: 0x000, readings: 0x100 },
            _ => Self { setup: 0x030, readings: 0x118 },
        }
    }

    const fn period(self) -> u32 {
        self.setup
    }

    const fn mode(self) -> u32 {
        self.setup + 4
    }

    const fn control(self) -> u32 {
        self.setup + 8
    }

    const fn cycles(self) -> u32 {
        self.readings
    }

    const fn events(self) -> u32 {
        self.readings + 4
    }
}

/// Calls `visit` with each of the groups that can be counted.
#[inline(always)]
fn for_each_group(groups: u32, mut visit: impl FnMut(u32)) {
    let mut left = countable(groups) & ALL_GROUPS;
    while left != 0 {
        let group = left & left.wrapping_neg();
        visit(group);
        left ^= group;
    }
}

impl State {
    /// Resets and starts groups of counters, if the port has counters.
    pub fn start_perf_counters<P: Port + ?Sized>(port: &mut P, groups: u32) {
        let Some(chip) = port.counter_chip() else { return };
        for_each_group(groups, |group| {
            if let Some(index) = L1.iter().position(|bit| *bit == group) {
                // The other bits of this register select what the debug bus shows, and are kept.
                let mask = l1_choice_mask(chip);
                let others = port.load_debug_register(L1_CHOICE) & !mask;
                let choice = word_count(index) << L1_CHOICE_SHIFT & mask;
                port.store_debug_register(L1_CHOICE, others | choice);
            }
            let bank = Bank::from_group(group);
            port.store_debug_register(bank.period(), u32::MAX);
            port.store_debug_register(bank.mode(), 0);
            // The control bits act on a rising edge.
            port.store_debug_register(bank.control(), 0);
            port.store_debug_register(bank.control(), START);
        });
    }

    /// Stops all banks of these groups before any of them is read, so that reading is not counted.
    pub fn stop_perf_counters<P: Port + ?Sized>(port: &mut P, groups: u32) {
        if port.counter_chip().is_some() {
            for_each_group(groups, |group| {
                port.store_debug_register(Bank::from_group(group).control(), STOP);
            });
        }
    }

    /// Records each counter of these groups. If there is no room for a record, pushes first, if
    /// possible.
    pub fn read_perf_counters<P: Port + ?Sized>(&mut self, port: &mut P, groups: u32) {
        let Some(chip) = port.counter_chip() else { return };
        for_each_group(groups, |group| {
            let bank = Bank::from_group(group);
            for_each_run(group, chip, |run| self.record_counters(port, bank, run));
        });
    }

    #[inline(never)]
    fn record_counters<P: Port + ?Sized>(&mut self, port: &mut P, bank: Bank, run: CounterRun) {
        let (mut number, mut select) = run.first;
        for _ in 0..run.count {
            self.record_counter(port, bank, (number, select));
            number = number.wrapping_add(run.step.0);
            select = select.wrapping_add(run.step.1);
        }
    }

    fn record_counter<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        bank: Bank,
        (number, select): (u16, u16),
    ) {
        const WORDS: u32 = word_count(PacketKind::TimestampedData16B.record_words());
        let mode = u32::from(select) << SELECT_SHIFT;
        port.store_debug_register(bank.mode(), mode);
        let mut polls = SELECT_POLLS;
        while port.load_debug_register(bank.mode()) != mode {
            polls -= 1;
            if polls == 0 {
                // The selection has not taken effect, so another counter would be read.
                return port.count_loss(LossKind::Data);
            }
        }
        let cycles = port.load_debug_register(bank.cycles());
        let events = port.load_debug_register(bank.events());
        if port.can_quick_push() {
            self.flush_to_dram_if_full(port, WORDS);
        }
        let data = pack(events, cycles, u32::from(number));
        self.record_data_16b(port, ZoneId::PERF_COUNTER, data);
    }
}

const ALL_GROUPS: u32 =
    FPU | PACK | UNPACK | INSTRUCTIONS | L1[0] | L1[1] | L1[2] | L1[3] | L1[4] | L1[5];

const START: u32 = 1;
const STOP: u32 = 2;
/// Bit position of the selection value in the mode register. The bits below are the mode; mode 0
/// counts until a stop.
const SELECT_SHIFT: u32 = 8;
/// Maximum number of times that the runtime reads the mode register to see whether a selection has
/// taken effect.
const SELECT_POLLS: u32 = 1024;

/// Register that selects which L1 ports are counted.
const L1_CHOICE: u32 = 0x218;
const L1_CHOICE_SHIFT: u32 = 4;

/// Returns the mask of the bits that select the L1 ports.
const fn l1_choice_mask(chip: CounterChip) -> u32 {
    match chip {
        CounterChip::Wormhole => 1 << L1_CHOICE_SHIFT,
        CounterChip::Blackhole => 7 << L1_CHOICE_SHIFT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeSet, vec::Vec};

    const GROUPS: [u32; 10] =
        [FPU, PACK, UNPACK, L1[0], L1[1], INSTRUCTIONS, L1[2], L1[3], L1[4], L1[5]];

    fn counters(group: u32, chip: CounterChip) -> Vec<(u16, u16)> {
        let mut all = Vec::new();
        for_each_run(group, chip, |run| {
            let steps = 0..run.count;
            all.extend(
                steps
                    .map(|step| (run.first.0 + step * run.step.0, run.first.1 + step * run.step.1)),
            );
        });
        all
    }

    #[test]
    fn groups_have_as_many_counters_as_upstreams() {
        // The expected number is the length N of `std::array<Entry, N>` in TT-Metal's `wormhole.h`
        // and `blackhole.h`.
        for (chip, expected) in [
            (CounterChip::Wormhole, [3, 14, 18, 16, 16, 59, 0, 0, 0, 0]),
            (CounterChip::Blackhole, [3, 5, 18, 16, 16, 59, 16, 16, 16, 4]),
        ] {
            let all = GROUPS.map(|group| counters(group, chip));
            assert_eq!(all.each_ref().map(Vec::len), expected);
            let numbers: BTreeSet<u16> = all.iter().flatten().map(|(number, _)| *number).collect();
            assert_eq!(numbers.len(), expected.iter().sum::<usize>(), "each number once");
            for of_group in &all {
                let selects: BTreeSet<u16> = of_group.iter().map(|(_, select)| *select).collect();
                assert_eq!(selects.len(), of_group.len(), "each selection once");
            }
        }
    }

    #[test]
    fn one_bank_of_l1_is_counted() {
        let groups = |groups| {
            let mut all = Vec::new();
            for_each_group(groups, |group| all.push(group));
            all
        };
        assert_eq!(groups(u32::MAX), [FPU, PACK, UNPACK, L1[0], INSTRUCTIONS]);
        assert_eq!(groups(L1[5] | L1[2]), [L1[2]]);
        assert_eq!(groups(0), [0_u32; 0]);
    }
}
