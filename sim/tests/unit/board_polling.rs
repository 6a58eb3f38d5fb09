//! How soon a RISC that polls sees a change, and what the debug daisychain shows of it.

use super::{Board, BoardCore, HostMemory, WINDOW_CYCLES};
use crate::{
    arch::{Arch, floorplan::Floorplan},
    riscv::asm::{A0, A1, A2, A3, T0, ZERO, addi, beq, jal, li, lw, sw},
};
use std::collections::BTreeSet;

struct NoMemory;

impl HostMemory for NoMemory {
    fn read(&mut self, _: u64, bytes: &mut [u8]) {
        bytes.fill(0);
    }

    fn write(&mut self, _: u64, _: &[u8]) {}
}

const WORKER: (u16, u16) = (18, 18);
const SOFT_RESET: u64 = 0xFFB1_21B0;
/// The only RISC that leaves reset is BRISC.
const BRISC_ALONE: u32 = 0x0004_7000;
const WALL_CLOCK: u32 = 0xFFB1_21F0;
const FLAG: u32 = 0x2000;

const FIRST: u64 = 0xFFB1_2048;
const END: u64 = 0xFFB1_204C;
const MODE: u64 = 0xFFB1_2050;
const CONTROL: u64 = 0xFFB1_2054;
/// Group B of BRISC, from the document's table of signals.
const B_OF_BRISC: u32 = 1 << 29 | 7 << 16 | 11;
const BUFFER: u32 = 0x8000;

/// Returns a chip whose BRISC executes `adds` additions, polls a word, and notes when it sees a change.
fn polling(adds: usize) -> Board {
    let plan = Floorplan::of_product(Arch::WormholeB0, 64).unwrap();
    let mut chip = Board::new(plan, 0, Box::new(NoMemory));
    chip.cores.iter_mut().for_each(BoardCore::keep_rounds);
    let code = [li(A1, FLAG), li(T0, WALL_CLOCK)].concat();
    let additions = vec![addi(A2, A2, 1); adds];
    let poll = [lw(A0, A1, 0), beq(A0, ZERO, -4)];
    let note = [lw(A3, T0, 0), sw(A3, A1, 4), jal(ZERO, 0)];
    let code = [&code[..], &additions, &poll, &note].concat();
    let code: Vec<u8> = code.into_iter().flat_map(u32::to_le_bytes).collect();
    chip.write(WORKER, 0, &code).unwrap();
    chip.write(WORKER, SOFT_RESET, &BRISC_ALONE.to_le_bytes()).unwrap();
    chip
}

/// Returns how many cycles after the host's write BRISC sees it, if BRISC executes `adds` additions
/// before it polls, and the host writes after `written_at` cycles. At `shown_at`, the daisychain begins to
/// show BRISC.
fn seen_after(adds: usize, written_at: u64, shown_at: Option<u64>) -> u64 {
    let mut chip = polling(adds);
    chip.advance(shown_at.unwrap_or(written_at).min(written_at));
    let control = shown_at.map_or(0, |_| B_OF_BRISC);
    chip.write(WORKER, CONTROL, &control.to_le_bytes()).unwrap();
    chip.advance(written_at.saturating_sub(chip.cycle()));
    chip.write(WORKER, FLAG.into(), &1_u32.to_le_bytes()).unwrap();
    let mut clock = [0; 4];
    chip.read(WORKER, WALL_CLOCK.into(), &mut clock).unwrap();
    let written_at = u32::from_le_bytes(clock);
    chip.advance(2000);
    assert_eq!(chip.take_failures(), [""; 0]);
    chip.read(WORKER, u64::from(FLAG) + 4, &mut clock).unwrap();
    u64::from(u32::from_le_bytes(clock).checked_sub(written_at).unwrap())
}

/// Whether it polls is found out by executing instructions: that must not let a RISC pass what comes
/// meanwhile. A read of L1 and the branch after it take 10 cycles.
#[test]
fn a_risc_sees_a_change_within_two_windows_whatever_it_did_before_it_polled() {
    for adds in (0..500).step_by(25) {
        // With the flag set before, BRISC sees it as soon as it looks.
        let looks_at = seen_after(adds, 1, None) + 1;
        for written_at in (100..1200).step_by(46) {
            let seen_at = written_at + seen_after(adds, written_at, None);
            let limit = written_at.max(looks_at) + 2 * WINDOW_CYCLES;
            assert!(seen_at < limit, "{adds} additions, {written_at}: seen at {seen_at}");
        }
    }
}

#[test]
fn a_risc_that_is_shown_sees_a_change_when_it_does_otherwise() {
    for adds in [0, 7] {
        for written_at in (400..1200).step_by(171) {
            let expected = seen_after(adds, written_at, None);
            for before in [0, 1, 2, 5, 13, 65] {
                let seen = seen_after(adds, written_at, Some(written_at - before));
                assert_eq!(seen, expected, "{adds} additions, {written_at}, shown {before} before");
            }
        }
    }
}

/// A RISC that polls already is shown as one that was shown all the time.
#[test]
fn a_risc_that_polls_is_shown_from_any_cycle_on() {
    const COUNT: u32 = 60;
    let samples = |shown_at: u64, begun_at: u64, interval: u32| {
        let mut chip = polling(7);
        chip.advance(shown_at);
        let write = |chip: &mut Board, address, value: u32| {
            chip.write(WORKER, address, &value.to_le_bytes()).unwrap();
        };
        write(&mut chip, CONTROL, B_OF_BRISC);
        chip.advance(begun_at - shown_at);
        write(&mut chip, MODE, 15);
        write(&mut chip, FIRST, BUFFER >> 4);
        write(&mut chip, END, (BUFFER >> 4) + COUNT);
        write(&mut chip, MODE, 4 | (interval - 1) << 4 | 1 << 12);
        chip.advance(u64::from(interval * (COUNT + 2)));
        let mut found = vec![0; 16 * COUNT as usize];
        chip.read(WORKER, BUFFER.into(), &mut found).unwrap();
        assert_eq!(chip.take_failures(), [""; 0]);
        found
    };
    let mut kinds = BTreeSet::new();
    for interval in [2, 3, 7, 13] {
        for begun_at in (500..512).step_by(5) {
            let expected = samples(1, begun_at, interval);
            kinds.extend(expected.chunks(16).map(<[u8]>::to_vec));
            for before in [5, 6, 70, 200] {
                let found = samples(begun_at - before, begun_at, interval);
                assert_eq!(found, expected, "every {interval} from {begun_at} on, {before}");
            }
        }
    }
    assert_eq!(kinds.len(), 3, "the load, the branch, and its wait");
}
