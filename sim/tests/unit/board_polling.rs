//! How soon a RISC that polls sees a change.

use super::{Board, HostMemory, WINDOW_CYCLES};
use crate::{
    arch::{Arch, floorplan::Floorplan},
    riscv::asm::{A0, A1, A2, A3, T0, ZERO, addi, beq, jal, li, lw, sw},
};

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

/// Returns how many cycles after the host's write BRISC sees it, if BRISC executes `adds` additions
/// before it polls, and the host writes after `written_at` cycles.
fn seen_after(adds: usize, written_at: u64) -> u64 {
    let plan = Floorplan::of_product(Arch::WormholeB0, 64).unwrap();
    let mut chip = Board::new(plan, 0, Box::new(NoMemory));
    let code = [li(A1, FLAG), li(T0, WALL_CLOCK)].concat();
    let additions = vec![addi(A2, A2, 1); adds];
    let poll = [lw(A0, A1, 0), beq(A0, ZERO, -4)];
    let note = [lw(A3, T0, 0), sw(A3, A1, 4), jal(ZERO, 0)];
    let code = [&code[..], &additions, &poll, &note].concat();
    let code: Vec<u8> = code.into_iter().flat_map(u32::to_le_bytes).collect();
    chip.write(WORKER, 0, &code).unwrap();
    chip.write(WORKER, SOFT_RESET, &BRISC_ALONE.to_le_bytes()).unwrap();
    chip.advance(written_at);
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
        let looks_at = seen_after(adds, 1) + 1;
        for written_at in (100..1200).step_by(46) {
            let seen_at = written_at + seen_after(adds, written_at);
            let limit = written_at.max(looks_at) + 2 * WINDOW_CYCLES;
            assert!(seen_at < limit, "{adds} additions, {written_at}: seen at {seen_at}");
        }
    }
}
