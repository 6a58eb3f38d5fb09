//! Counts of small programs, compared with counts that follow from the documented timing.

use super::asm::{self, A0, A1, A2, A3, T0, T1, ZERO};
use super::tests::{CLOCK_LOW, REGISTER, TestTile, step};
use super::*;
use crate::arch::Arch;
use std::collections::BTreeMap;

/// Counts by address and polled word.
type Found = BTreeMap<(u32, Option<u32>), AddressCount>;

const START: u32 = INSTRUCTION_RAM_BASE;

/// Executions and cycles by reason of one address, without cycles of issue.
type Expected<'a> = (u64, &'a [(Reason, u64)]);

/// Runs a program without a cache to its breakpoint, and returns the cycles and the counts.
fn run(words: &[u32], arch: Arch) -> (u64, Found) {
    let mut tile = TestTile::uncached(words);
    let mut hart = Hart::new(arch, L1Port::Port2);
    hart.set_pc(START);
    hart.begin_counts(0);
    let paused = hart.run_until(&mut tile, &mut L1Front::new(), 100_000);
    assert_eq!(paused, Ok(Pause::Breakpoint));
    (hart.cycle(), hart.take_counts().into_iter().collect())
}

/// Compares the counts of a program without polling, one entry for each instruction in order.
fn check(words: &[u32], arch: Arch, expected: &[Expected<'_>]) {
    let program = [words, &[asm::EBREAK]].concat();
    let (cycles, counts) = run(&program, arch);
    let wanted: Found = (START..)
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

/// A loop of 100 rounds: the branch back is unknown in the first round, then predicted, and
/// mispredicted at the end.
#[test]
fn a_loop_counts_its_rounds_and_its_mispredicted_branches() {
    let words = [
        asm::addi(A1, ZERO, 100),
        asm::add(A0, A0, A1),
        asm::addi(A1, A1, -1),
        asm::bne(A1, ZERO, -8),
    ];
    for (arch, cycles) in [(Arch::WormholeB0, 2), (Arch::Blackhole, 4)] {
        let branch: &[_] = &[(Reason::Branch, 2 * cycles)];
        check(&words, arch, &[(1, &[]), (100, &[]), (100, &[]), (100, branch)]);
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
        let rounds = [12, 16].map(|at| counts[&(START + at, Some(CLOCK_LOW))].instructions);
        assert_eq!(rounds[0], rounds[1], "only complete rounds are waits");
        assert_eq!(counts[&(START + 12, None)].instructions, 1);
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

/// A hart that is not simulated while it polls has the counts of one that is: of 100 rounds, and of the
/// beginning of another one.
#[test]
fn a_polling_loop_that_is_not_simulated_counts_as_if_it_were() {
    let [high, low] = asm::li(T0, 0x8000);
    let words = [high, low, asm::lw(A0, T0, 0), asm::beq(A0, ZERO, -4), asm::EBREAK];
    for arch in Arch::ALL {
        let counts = |rounds: u64, more: u64| {
            let (mut tile, mut front) = (TestTile::uncached(&words), L1Front::new());
            let mut hart = Hart::new(arch, L1Port::Port2);
            hart.set_pc(START);
            hart.begin_counts(0);
            let mut execute = |hart: &mut Hart, tile: &mut TestTile, instructions: u64| {
                for _ in 0..instructions {
                    assert_eq!(step(hart, tile, &mut front), Pause::Cycle);
                }
            };
            execute(&mut hart, &mut tile, 2 + 2 * 10);
            let begin = hart.cycle();
            execute(&mut hart, &mut tile, 2);
            let period = hart.cycle() - begin;
            match more {
                0 => execute(&mut hart, &mut tile, 2 * rounds),
                _ => hart.poll_until(hart.cycle() + rounds * period + more - 1, 2),
            }
            let found: Found = hart.take_counts().into_iter().collect();
            assert_eq!(found.values().map(AddressCount::total_cycles).sum::<u64>(), hart.cycle());
            found
        };
        assert_eq!(counts(100, 1), counts(100, 0), "{arch}");
        let stopped = |more: u64| {
            let stopped = |count: &AddressCount| count.cycles[Reason::Stopped as usize];
            counts(100, more).values().map(stopped).collect::<Vec<_>>()
        };
        let expected = [0, 1, 2].map(|cycles: u64| (cycles.min(1), cycles.saturating_sub(1)));
        for (more, (load, branch)) in (1..).zip(expected) {
            let found = stopped(more);
            assert_eq!(found.iter().sum::<u64>(), more - 1, "{arch}: {found:?}");
            assert!(found.contains(&load) && found.contains(&branch), "{arch}: {found:?}");
        }
    }
}

/// A loop that loads the same word again and again, but ends for another reason, works and does not
/// wait: it counts its turns, adds up the word, or computes until a value equals the word.
#[test]
fn a_loop_that_computes_does_not_wait_for_what_it_loads() {
    let [high, low] = asm::li(T0, 0x8000);
    let begin = [high, low, asm::addi(A1, ZERO, 50), asm::addi(A2, ZERO, 0)];
    let turns: &[u32] =
        &[asm::lw(A0, T0, 0), asm::addi(A1, A1, -1), asm::bne(A1, ZERO, -8), asm::EBREAK];
    // The word is 0, and the branch on it leaves the loop in no turn.
    let turns_and_word: &[u32] = &[
        asm::lw(A0, T0, 0),
        asm::bne(A0, ZERO, 12),
        asm::addi(A1, A1, -1),
        asm::bne(A1, ZERO, -12),
        asm::EBREAK,
    ];
    let sums: &[u32] = &[
        asm::lw(A0, T0, 0),
        asm::add(A2, A2, A0),
        asm::addi(A2, A2, 1),
        asm::bltu(A2, A1, -12),
        asm::EBREAK,
    ];
    let until_equal: &[u32] =
        &[asm::lw(A0, T0, 0), asm::addi(A1, A1, -1), asm::bne(A1, A0, -8), asm::EBREAK];
    for (number, body) in [turns, turns_and_word, sums, until_equal].into_iter().enumerate() {
        for arch in Arch::ALL {
            let (cycles, counts) = run(&[&begin, body].concat(), arch);
            let waits: Vec<_> = counts.keys().filter(|(_, word)| word.is_some()).collect();
            assert!(waits.is_empty(), "{arch}, loop {number}: {waits:x?}");
            let total: u64 = counts.values().map(AddressCount::total_cycles).sum();
            assert_eq!(total, cycles, "{arch}, loop {number}");
        }
    }
}

/// A wait whose operands come anew from elsewhere in each round is still a wait: here, the limit and the
/// difference that is compared with it.
#[test]
fn a_loop_that_prepares_its_comparison_waits() {
    let [high, low] = asm::li(T0, CLOCK_LOW);
    let words = [
        high,
        low,
        asm::addi(A3, ZERO, 1000),
        asm::lw(A0, T0, 0),
        asm::addi(A0, A0, -4),
        asm::addi(A1, A3, 1),
        asm::add(A2, A0, ZERO),
        asm::bltu(A2, A1, -16),
        asm::EBREAK,
    ];
    for arch in Arch::ALL {
        let (_, counts) = run(&words, arch);
        let rounds = counts[&(START + 12, Some(CLOCK_LOW))].instructions;
        assert!(rounds > 20, "{arch}: {rounds}");
        assert_eq!(counts[&(START + 12, None)].instructions, 1, "{arch}");
    }
}

/// A loop waits for the clock; then each of its rounds waits for a word, too. What was counted as a wait
/// for the clock is not counted again.
#[test]
fn a_loop_that_begins_to_wait_for_another_word_counts_each_instruction_once() {
    let words = [
        &asm::li(T0, CLOCK_LOW)[..],
        &asm::li(T1, 0x8000),
        &[asm::addi(A1, ZERO, 1000), asm::addi(A3, ZERO, 2000)],
        &[asm::lw(A0, T0, 0), asm::bltu(A0, A1, -4)],
        &[asm::lw(A2, T1, 0), asm::bltu(A3, A0, 8), asm::beq(A2, ZERO, -16), asm::EBREAK],
    ];
    for arch in Arch::ALL {
        let (cycles, counts) = run(&words.concat(), arch);
        let of_words: Vec<_> = counts.keys().filter_map(|(_, word)| *word).collect();
        assert!([CLOCK_LOW, 0x8000].iter().all(|word| of_words.contains(word)), "{of_words:x?}");
        for (place, count) in &counts {
            assert!(count.instructions < cycles / 2, "{arch}: {place:x?} {count:?}");
        }
        assert_eq!(counts.values().map(AddressCount::total_cycles).sum::<u64>(), cycles, "{arch}");
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

/// A straight run of 65 instructions in L1 waits for its first line, and then for each of the next
/// 16, of which two are on their way at a time.
#[test]
fn code_that_runs_once_waits_for_its_lines() {
    for (arch, first, others) in [(Arch::WormholeB0, 9, 8), (Arch::Blackhole, 10, 16)] {
        let words = [&[asm::addi(A0, A0, 1); 64][..], &[asm::EBREAK]].concat();
        let mut tile = TestTile::new(&words);
        let mut hart = Hart::new(arch, L1Port::Port2);
        hart.begin_counts(0);
        let paused = hart.run_until(&mut tile, &mut L1Front::new(), 100_000);
        assert_eq!(paused, Ok(Pause::Breakpoint));
        let counts: Found = hart.take_counts().into_iter().collect();
        let waits = |count: &AddressCount| count.cycles[Reason::Fetch as usize];
        let lines: Vec<_> = counts.values().map(waits).collect();
        assert!(lines.iter().skip(1).enumerate().all(|(at, wait)| *wait == 0 || at % 4 == 3));
        assert_eq!((lines[0], lines[1..].iter().sum::<u64>()), (first, others), "{arch}");
        let total: u64 = counts.values().map(AddressCount::total_cycles).sum();
        assert_eq!(total, hart.cycle());
    }
}

/// Code stays in the cache until it is emptied; a small cache is too small for a long loop.
#[test]
fn code_is_fetched_again_when_it_is_not_in_the_cache() {
    let long = [&[asm::addi(A0, A0, 1); 200][..], &[asm::jal(ZERO, -800)]].concat();
    let mut tile = TestTile::new(&long);
    let new = || Hart::new(Arch::WormholeB0, L1Port::Port3);
    let round = |hart: &mut Hart, tile: &mut TestTile| {
        let start = hart.cycle();
        let end = hart.counters().instruction_count + 201;
        while hart.counters().instruction_count < end {
            let until = hart.cycle() + 1;
            assert_eq!(hart.run_until(tile, &mut L1Front::new(), until), Ok(Pause::Cycle));
        }
        hart.cycle() - start
    };
    let mut hart = new();
    let rounds: Vec<u64> = (0..3).map(|_| round(&mut hart, &mut tile)).collect();
    assert!(rounds[0] > 201 + 20, "{rounds:?}");
    assert_eq!(rounds[1..], [201; 2], "the jump is known after its first execution");
    hart.invalidate_instructions();
    assert!(round(&mut hart, &mut tile) > 201 + 20);
    hart.reset(0);
    assert!(round(&mut hart, &mut tile) > 201 + 20);
    let mut hart = new().with_warm_code();
    assert_eq!(round(&mut hart, &mut tile), 201);
    let mut hart = new().with_small_instruction_cache();
    let rounds: Vec<u64> = (0..3).map(|_| round(&mut hart, &mut tile)).collect();
    assert!(rounds.iter().all(|&cycles| cycles > 201 + 50), "{rounds:?}");
}

/// Code from an address on is executed without the cache, from its first round on, however long it
/// is; code before that address still misses.
#[test]
fn code_that_is_executed_as_from_instruction_ram_is_never_fetched() {
    // 200 instructions of which the cache holds 128, then a jump back.
    let long = [&[asm::addi(A0, A0, 1); 200][..], &[asm::jal(ZERO, -800)]].concat();
    let round = |hart: &mut Hart, tile: &mut TestTile| {
        let start = hart.cycle();
        hart.begin_counts(start);
        let end = hart.counters().instruction_count + 201;
        while hart.counters().instruction_count < end {
            let until = hart.cycle() + 1;
            assert_eq!(hart.run_until(tile, &mut L1Front::new(), until), Ok(Pause::Cycle));
        }
        let fetched = |(place, count): ((u32, _), AddressCount)| {
            (count.cycles[Reason::Fetch as usize] > 0).then_some(place.0)
        };
        let waits: Vec<u32> = hart.take_counts().into_iter().filter_map(fetched).collect();
        (hart.cycle() - start, waits)
    };
    let small = || Hart::new(Arch::WormholeB0, L1Port::Port3).with_small_instruction_cache();
    let mut tile = TestTile::new(&long);
    let mut hart = small().with_uncached_code_from(0);
    // The jump is unknown in the first round, which costs a bubble of two cycles.
    let rounds = [round(&mut hart, &mut tile), round(&mut hart, &mut tile)];
    assert_eq!(rounds, [(203, vec![]), (201, vec![])]);
    hart.reset(0);
    assert_eq!(round(&mut hart, &mut tile), (203, vec![]), "a reset keeps where code is cached");
    // The cache has room for the first 400 bytes, which the other code does not replace.
    let mut hart = small().with_uncached_code_from(400);
    let (cycles, waits) = round(&mut hart, &mut tile);
    assert!(cycles > 203 + 20, "{cycles}");
    assert_eq!((waits.first(), waits.iter().any(|address| *address >= 400)), (Some(&0), false));
    assert_eq!(round(&mut hart, &mut tile), (201, vec![]));
}
