//! Counts of small programs, compared with counts that follow from the documented timing.

use super::asm::{self, A0, A1, A2, A3, T0, ZERO};
use super::tests::{CLOCK_LOW, REGISTER, TestTile};
use super::*;
use crate::arch::Arch;
use std::collections::BTreeMap;

/// Executions and cycles by reason of one address, without cycles of issue.
type Expected<'a> = (u64, &'a [(Reason, u64)]);

/// Counts by address of code and polled word.
type Counts = BTreeMap<(u32, Option<u32>), AddressCount>;

/// Runs a program from address 0 to its breakpoint, and returns the cycles and the counts.
fn run(words: &[u32], arch: Arch) -> (u64, Counts) {
    let mut tile = TestTile::new(words);
    let mut hart = Hart::new(arch, L1Port::Port2);
    hart.begin_counts(0);
    let paused = hart.run_until(&mut tile, &mut L1Front::new(), 100_000);
    assert_eq!(paused, Ok(Pause::Breakpoint));
    let counts = hart.take_counts();
    assert!(counts.is_sorted_by_key(|(place, _)| *place), "{arch}: {counts:?}");
    (hart.cycle(), counts.into_iter().collect())
}

/// Compares the counts of a program without polling, one entry for each instruction in order.
fn check(words: &[u32], arch: Arch, expected: &[Expected<'_>]) {
    let program = [words, &[asm::EBREAK]].concat();
    let (cycles, counts) = run(&program, arch);
    let wanted: Counts = (0..)
        .step_by(4)
        .zip(expected)
        .map(|(address, &(instructions, reasons))| {
            let mut count = AddressCount { instructions, ..AddressCount::default() };
            count.cycles[Reason::Issue as usize] = instructions;
            reasons.iter().for_each(|&(reason, cycles)| count.cycles[reason as usize] = cycles);
            ((address, None), count)
        })
        .collect();
    assert_eq!(counts, wanted, "{arch}");
    let total: u64 = counts.values().map(AddressCount::total_cycles).sum();
    assert_eq!(total, cycles, "{arch}");
}

/// A loop of 100 rounds: the branch back is predicted, and mispredicted once, at the end.
#[test]
fn a_loop_counts_its_rounds_and_its_mispredicted_end() {
    let words = [
        asm::addi(A1, ZERO, 100),
        asm::add(A0, A0, A1),
        asm::addi(A1, A1, -1),
        asm::bne(A1, ZERO, -8),
    ];
    for (arch, cycles) in [(Arch::WormholeB0, 2), (Arch::Blackhole, 4)] {
        let end: &[_] = &[(Reason::Branch, cycles)];
        check(&words, arch, &[(1, &[]), (100, &[]), (100, &[]), (100, end)]);
    }
}

/// A dividend of 12 bits takes 14 cycles, all of them at the division.
#[test]
fn a_division_costs_its_cycles_where_it_stands() {
    let words = [
        asm::lui(A0, 0x1000),
        asm::addi(A0, A0, -1),
        asm::addi(A1, ZERO, 3),
        asm::divu(A2, A0, A1),
        asm::addi(A3, A2, 1),
    ];
    for arch in Arch::ALL {
        let divide: &[_] = &[(Reason::Arithmetic, 13)];
        check(&words, arch, &[(1, &[]), (1, &[]), (1, &[]), (1, divide), (1, &[])]);
    }
}

/// A value from L1 takes 8 cycles, one from a register of the tile 7, and one from private RAM 2.
/// The instruction that uses the value waits for it.
#[test]
fn the_user_of_a_value_waits_for_its_load() {
    let load = |address: u32| {
        let [high, low] = asm::li(T0, address);
        [high, low, asm::lw(A0, T0, 0), asm::addi(A1, A0, 1)]
    };
    let waits: [(u32, Reason, u64); 3] = [
        (0x8000, Reason::L1Load, 7),
        (REGISTER, Reason::RegisterLoad, 6),
        (0xFFB0_0000, Reason::PrivateLoad, 1),
    ];
    for (address, reason, cycles) in waits {
        for arch in Arch::ALL {
            let waits: &[_] = &[(reason, cycles)];
            check(&load(address), arch, &[(1, &[]), (1, &[]), (1, &[]), (1, waits)]);
        }
    }
}

/// A store of a word to L1 blocks the port for 5 cycles, so the queue of four stores fills up. Then
/// each further store waits until one has left: 5 cycles, one of them its issue.
#[test]
fn stores_wait_for_the_queue() {
    const STORES: usize = 40;
    let stores: Vec<u32> = (0..STORES).map(|_| asm::sw(ZERO, T0, 0)).collect();
    let words = [&asm::li(T0, 0x8000)[..], &stores, &[asm::EBREAK]].concat();
    let (cycles, counts) = run(&words, Arch::WormholeB0);
    let stores: Vec<_> = counts.values().skip(2).collect();
    let reasons = |count: &AddressCount| {
        (count.cycles[Reason::Issue as usize], count.cycles[Reason::Store as usize])
    };
    assert_eq!(stores.len(), STORES);
    for store in &stores[8..] {
        assert_eq!((store.total_cycles(), reasons(store)), (5, (1, 4)));
    }
    let total: u64 = counts.values().map(AddressCount::total_cycles).sum();
    assert_eq!(total, cycles);
}

/// A RISC polls a register until the clock has advanced: each complete round is a wait.
#[test]
fn rounds_of_a_polling_loop_are_waits_for_the_polled_word() {
    let [high, low] = asm::li(T0, CLOCK_LOW);
    let words = [
        high,
        low,
        asm::addi(A1, ZERO, 1000),
        asm::lw(A0, T0, 0),
        asm::bltu(A0, A1, -4),
        asm::addi(A2, ZERO, 0),
        asm::EBREAK,
    ];
    for arch in Arch::ALL {
        let (cycles, counts) = run(&words, arch);
        let total = |is_wait: bool| -> u64 {
            let chosen = counts.iter().filter(|((_, word), _)| word.is_some() == is_wait);
            chosen.map(|(_, count)| count.total_cycles()).sum()
        };
        assert_eq!(total(true) + total(false), cycles);
        let words: Vec<_> = counts.keys().filter_map(|(_, word)| *word).collect();
        assert!(words.iter().all(|word| *word == CLOCK_LOW), "{words:x?}");
        // Before the loop 3 cycles; the last round and the instruction after it take less than 20.
        assert!((3..23).contains(&total(false)), "{}", total(false));
        let rounds = [12, 16].map(|pc| counts[&(pc, Some(CLOCK_LOW))].instructions);
        assert_eq!(rounds[0], rounds[1], "only complete rounds are waits");
        assert_eq!(counts[&(12, None)].instructions, 1);
    }
}

/// Counts may be taken in the middle of a polling loop: the rounds before are in the first counts,
/// those after in the second ones, and nothing is counted twice.
#[test]
fn counts_that_are_taken_while_a_hart_polls_add_up() {
    let [high, low] = asm::li(T0, CLOCK_LOW);
    let words = [
        high,
        low,
        asm::addi(A1, ZERO, 2000),
        asm::lw(A0, T0, 0),
        asm::bltu(A0, A1, -4),
        asm::EBREAK,
    ];
    for arch in Arch::ALL {
        for middle in 20..60 {
            let (mut tile, mut front) = (TestTile::new(&words), L1Front::new());
            let mut hart = Hart::new(arch, L1Port::Port2);
            hart.begin_counts(0);
            let mut from = 0;
            for until in [middle, 100_000] {
                hart.run_until(&mut tile, &mut front, until).unwrap();
                let counts = hart.take_counts();
                let total: u64 = counts.iter().map(|(_, count)| count.total_cycles()).sum();
                assert_eq!(total, hart.cycle() - from, "{arch}, {middle}");
                from = hart.cycle();
            }
        }
    }
}

/// A loop that stores its result between two loads of the same word works and does not wait.
#[test]
fn a_loop_that_stores_does_not_poll() {
    let [high, low] = asm::li(T0, 0x8000);
    let words = [
        high,
        low,
        asm::addi(A1, ZERO, 50),
        asm::lw(A0, T0, 0),
        asm::addi(A1, A1, -1),
        asm::sw(A1, T0, 64),
        asm::bne(A1, ZERO, -12),
        asm::EBREAK,
    ];
    for arch in Arch::ALL {
        let (_, counts) = run(&words, arch);
        assert!(counts.keys().all(|(_, word)| word.is_none()), "{arch}: {counts:?}");
    }
}
