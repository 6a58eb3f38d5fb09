//! Behaviour of a hart as seen by its caller.

use super::asm::{self, A0, A1, A2, A3, RA, T0, T1, ZERO};
use super::*;
use crate::arch::Arch;
use tile::{Registers, Tile};

#[path = "../../tests/unit/tile.rs"]
pub(crate) mod tile;

/// A tile with 64 KiB of L1, 4 KiB of private RAM, the wall clock, a mailbox and a log of stores.
pub(super) type TestTile = Tile<LoggedRegisters>;

#[derive(Default)]
pub(super) struct LoggedRegisters {
    pub(super) stores: Vec<(u32, Width, u32, u64)>,
    pub(super) mailbox: Option<u32>,
}

pub(super) const CLOCK_LOW: u32 = 0xFFB1_21F0;
pub(super) const MAILBOX: u32 = 0xFFEC_0000;
pub(super) const REGISTER: u32 = 0xFFB2_0000;
const YIELDING_REGISTER: u32 = 0xFFB1_21B0;

impl TestTile {
    pub(super) fn new(program: &[u32]) -> Self {
        let mut tile = Self {
            l1: vec![0; 0x1_0000],
            local: vec![0; 0x1000],
            instruction_ram: Vec::new(),
            registers: LoggedRegisters::default(),
        };
        tile.place(0, program);
        tile
    }

    /// Creates a tile with the program in the instruction RAM, which needs no cache: no instruction
    /// waits until it is fetched.
    pub(super) fn uncached(program: &[u32]) -> Self {
        let instruction_ram = program.iter().flat_map(|word| word.to_le_bytes()).collect();
        Self { instruction_ram, ..Self::new(&[]) }
    }

    pub(super) fn place(&mut self, address: usize, program: &[u32]) {
        for (index, word) in program.iter().enumerate() {
            let at = address + index * 4;
            self.l1[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
    }
}

impl Registers for LoggedRegisters {
    fn load(&mut self, address: u32, width: Width, cycle: u64) -> Result<u32, Refusal> {
        match (address, width) {
            (0xFFB1_21F4, Width::Word) => Ok((cycle >> 32) as u32),
            (CLOCK_LOW, Width::Word) => Ok((cycle & 0xFFFF_FFFF) as u32),
            (CLOCK_LOW, _) => Err(Refusal::Unsupported),
            (MAILBOX, _) => self.mailbox.take().ok_or(Refusal::Busy),
            (REGISTER..=0xFFB2_FFFF, _) => Ok(0x8081_8283),
            _ => Err(Refusal::Unmapped),
        }
    }
    fn store(
        &mut self,
        _: &[u8],
        address: u32,
        (width, value): (Width, u32),
        cycle: u64,
    ) -> StoreResult {
        self.stores.push((address, width, value, cycle));
        match address {
            YIELDING_REGISTER => Ok(Flow::Yield),
            REGISTER..=0xFFB2_FFFF | MAILBOX => Ok(Flow::Continue),
            _ => Err(Refusal::Unmapped),
        }
    }
}

fn program(parts: &[&[u32]]) -> Vec<u32> {
    parts.concat()
}

/// Runs a program from address 0 to its end, once per architecture with that architecture's timing.
fn run_all(words: &[u32], check: impl Fn(&Hart, &TestTile, Result<Pause, Trap>)) {
    for arch in Arch::ALL {
        let mut tile = TestTile::new(words);
        let mut hart = Hart::new(arch, L1Port::Port2);
        let result = hart.run_until(&mut tile, &mut L1Front::new(), 10_000);
        check(&hart, &tile, result);
    }
}

/// Executes one instruction.
pub(super) fn step(hart: &mut Hart, tile: &mut TestTile, front: &mut L1Front) -> Pause {
    hart.run_until(tile, front, hart.cycle() + 1).unwrap()
}

fn trap_of(words: &[u32]) -> Trap {
    let mut tile = TestTile::new(words);
    let mut hart = Hart::new(Arch::WormholeB0, L1Port::Port2);
    hart.run_until(&mut tile, &mut L1Front::new(), 10_000).unwrap_err()
}

#[test]
fn a_loop_computes_its_sum_under_every_timing() {
    let words = [
        asm::addi(A0, ZERO, 0),
        asm::addi(A1, ZERO, 100),
        asm::add(A0, A0, A1),
        asm::addi(A1, A1, -1),
        asm::bne(A1, ZERO, -8),
        asm::EBREAK,
    ];
    run_all(&words, |hart, _, result| {
        assert_eq!(result, Ok(Pause::Breakpoint));
        assert_eq!(hart.register(10), 5050);
        assert_eq!(hart.pc(), 20);
        assert_eq!(hart.counters().instruction_count, 302);
        assert_eq!(hart.counters().cycle_count, hart.cycle());
    });
}

#[test]
fn a_call_returns_to_its_caller() {
    let words = [
        asm::jal(RA, 12),
        asm::addi(A0, A0, 1),
        asm::ECALL,
        asm::addi(A0, ZERO, 41),
        asm::jalr(ZERO, RA, 0),
    ];
    run_all(&words, |hart, _, result| {
        assert_eq!(result, Ok(Pause::EnvironmentCall));
        assert_eq!((hart.register(10), hart.register(1), hart.pc()), (42, 4, 8));
    });
}

#[test]
fn what_is_written_to_the_zero_register_is_lost() {
    let words = program(&[
        &[asm::addi(ZERO, ZERO, 5), asm::lui(T0, LOCAL_RAM_BASE), asm::lw(ZERO, T0, 0)],
        &[asm::jal(ZERO, 4), asm::add(A0, ZERO, ZERO), asm::EBREAK],
    ]);
    run_all(&words, |hart, _, result| {
        assert_eq!(result, Ok(Pause::Breakpoint));
        assert_eq!((hart.register(0), hart.register(10)), (0, 0));
    });
}

#[test]
fn loads_narrower_than_a_word_extend_as_told_from_memory_and_registers() {
    let words = program(&[
        &asm::li(T0, REGISTER),
        &[asm::lb(A0, T0, 0), asm::lbu(A1, T0, 0), asm::lh(A2, T0, 0), asm::FENCE, asm::EBREAK],
    ]);
    run_all(&words, |hart, _, _| {
        let values = [hart.register(10), hart.register(11), hart.register(12)];
        assert_eq!(values, [0xFFFF_FF83, 0x83, 0xFFFF_8283]);
        assert_eq!(hart.counters().mmio_load_count, 3);
    });
}

#[test]
fn stores_to_registers_carry_width_and_cut_value() {
    let words = program(&[
        &asm::li(T0, REGISTER),
        &asm::li(A0, 0x1234_5678),
        &[asm::sb(A0, T0, 4), asm::sh(A0, T0, 8), asm::sw(A0, T0, 12), asm::EBREAK],
    ]);
    run_all(&words, |hart, tile, _| {
        let stores: Vec<_> =
            tile.registers.stores.iter().map(|store| (store.0, store.1, store.2)).collect();
        let expected = [
            (REGISTER + 4, Width::Byte, 0x78),
            (REGISTER + 8, Width::Half, 0x5678),
            (REGISTER + 12, Width::Word, 0x1234_5678),
        ];
        assert_eq!(stores, expected);
        assert!(
            tile.registers.stores.is_sorted_by(|a, b| a.3 < b.3),
            "{:?}",
            tile.registers.stores
        );
        assert_eq!(hart.counters().mmio_store_count, 3);
    });
}

#[test]
fn every_wrong_access_traps_with_its_address_and_pc() {
    let at = |base: u32, access: u32| program(&[&asm::li(T0, base), &[access]]);
    let cases = [
        (at(0x1_0000, asm::lw(A0, T0, 0)), TrapKind::LoadOutside, 0x1_0000),
        (at(0x1_0000, asm::sw(A0, T0, -2)), TrapKind::StoreMisaligned, 0xFFFE),
        (at(0x100, asm::lh(A0, T0, 1)), TrapKind::LoadMisaligned, 0x101),
        (at(0xFFB0_1000, asm::lw(A0, T0, 0)), TrapKind::LoadOutside, 0xFFB0_1000),
        (at(0xFFB1_2000, asm::sw(A0, T0, 0)), TrapKind::StoreOutside, 0xFFB1_2000),
        (at(0xFFC0_0000, asm::lw(A0, T0, 0)), TrapKind::LoadOutside, 0xFFC0_0000),
        (at(CLOCK_LOW, asm::lbu(A0, T0, 0)), TrapKind::LoadUnsupported, CLOCK_LOW),
        (at(0x106, asm::jalr(RA, T0, 0)), TrapKind::FetchMisaligned, 0x106),
        (at(0, 0x0000_0404), TrapKind::IllegalInstruction, 8),
    ];
    for (words, kind, address) in cases {
        let expected = Trap { kind, pc: 8, address, instruction: words[2] };
        assert_eq!(trap_of(&words), expected);
    }
}

#[test]
fn running_out_of_memory_traps_where_the_code_ends() {
    let mut tile = TestTile::new(&[]);
    tile.place(0xFFF8, &[asm::NOP, asm::NOP]);
    let mut hart = Hart::new(Arch::WormholeB0, L1Port::Port2);
    hart.set_pc(0xFFF8);
    let trap = hart.run_until(&mut tile, &mut L1Front::new(), 100).unwrap_err();
    assert_eq!((trap.kind, trap.pc, trap.instruction), (TrapKind::FetchOutside, 0x1_0000, 0));
    assert_eq!(hart.counters().instruction_count, 2);
    let jump_away = trap_of(&program(&[&asm::li(T0, 0x8000_0000), &[asm::jalr(ZERO, T0, 0)]]));
    assert_eq!((jump_away.kind, jump_away.pc), (TrapKind::FetchOutside, 0x8000_0000));
}

#[test]
fn code_runs_from_the_instruction_ram() {
    let mut tile =
        TestTile::new(&program(&[&asm::li(T0, INSTRUCTION_RAM_BASE), &[asm::jalr(RA, T0, 0)]]));
    tile.instruction_ram =
        [asm::addi(A0, ZERO, 7), asm::EBREAK].iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut hart = Hart::new(Arch::WormholeB0, L1Port::Port2);
    assert_eq!(hart.run_until(&mut tile, &mut L1Front::new(), 100), Ok(Pause::Breakpoint));
    assert_eq!((hart.register(10), hart.pc()), (7, INSTRUCTION_RAM_BASE + 4));
}

#[test]
fn a_store_into_code_ahead_changes_what_runs_next() {
    let words = program(&[
        &asm::li(A1, asm::addi(A0, A0, 2)),
        // The words at addresses 20 and 28 are decoded together with the stores that change them.
        &[asm::addi(A2, ZERO, 2), asm::sw(A1, ZERO, 20), asm::NOP],
        &[asm::addi(A0, A0, 1), asm::sw(A1, ZERO, 28), asm::addi(A0, A0, 1), asm::EBREAK],
    ]);
    run_all(&words, |hart, _, result| {
        assert_eq!(result, Ok(Pause::Breakpoint));
        assert_eq!(hart.register(10), 4);
    });
}

#[test]
fn a_store_by_another_hart_or_the_host_changes_what_runs_next() {
    for arch in Arch::ALL {
        let spin = [asm::addi(A0, ZERO, 1), asm::jal(ZERO, -4)];
        let mut tile = TestTile::new(&spin);
        let writer =
            program(&[&asm::li(A1, asm::addi(A0, ZERO, 2)), &[asm::sw(A1, ZERO, 0), asm::EBREAK]]);
        tile.place(0x1000, &writer);
        let mut front = L1Front::new();
        let mut spinner = Hart::new(arch, L1Port::Port2);
        let mut other = Hart::new(arch, L1Port::Port3);
        other.set_pc(0x1000);

        assert_eq!(spinner.run_until(&mut tile, &mut front, 100), Ok(Pause::Cycle));
        assert_eq!(spinner.register(10), 1);
        assert_eq!(other.run_until(&mut tile, &mut front, 100), Ok(Pause::Breakpoint));
        assert_eq!(spinner.run_until(&mut tile, &mut front, 200), Ok(Pause::Cycle));
        assert_eq!(spinner.register(10), 2);

        tile.place(0, &[asm::addi(A0, ZERO, 3)]);
        front.invalidate(0..4);
        assert_eq!(spinner.run_until(&mut tile, &mut front, 300), Ok(Pause::Cycle));
        assert_eq!(spinner.register(10), 3);
    }
}

#[test]
fn a_busy_device_holds_the_hart_until_it_answers() {
    for arch in Arch::ALL {
        let words = program(&[&asm::li(T0, MAILBOX), &[asm::lw(A0, T0, 0), asm::EBREAK]]);
        let mut tile = TestTile::new(&words);
        let mut front = L1Front::new();
        let mut hart = Hart::new(arch, L1Port::Port2);
        let blocked = Ok(Pause::Blocked { address: MAILBOX });
        assert_eq!(hart.run_until(&mut tile, &mut front, 100), blocked);
        hart.advance_to(50);
        assert_eq!(hart.run_until(&mut tile, &mut front, 100), blocked);
        assert_eq!((hart.pc(), hart.cycle()), (8, 50));
        assert_eq!(hart.counters().instruction_count, 2);
        tile.registers.mailbox = Some(9);
        assert_eq!(hart.run_until(&mut tile, &mut front, 100), Ok(Pause::Breakpoint));
        assert_eq!((hart.register(10), hart.counters().instruction_count), (9, 3));
    }
}

#[test]
fn a_device_can_take_control_after_a_store() {
    let words = program(&[
        &asm::li(T0, YIELDING_REGISTER),
        &[asm::sw(ZERO, T0, 0), asm::addi(A0, ZERO, 1), asm::EBREAK],
    ]);
    for arch in Arch::ALL {
        let mut tile = TestTile::new(&words);
        let mut front = L1Front::new();
        let mut hart = Hart::new(arch, L1Port::Port2);
        assert_eq!(hart.run_until(&mut tile, &mut front, 100), Ok(Pause::Yielded));
        assert_eq!((hart.pc(), hart.counters().instruction_count), (12, 3));
        assert_eq!(hart.run_until(&mut tile, &mut front, 100), Ok(Pause::Breakpoint));
        assert_eq!(hart.register(10), 1);
    }
}

#[test]
fn steps_and_one_long_run_arrive_at_the_same_cycle() {
    let words = program(&[
        &asm::li(T0, CLOCK_LOW),
        &[asm::lui(T1, LOCAL_RAM_BASE), asm::addi(A1, ZERO, 50)],
        &[asm::lw(A0, T0, 0), asm::sw(A0, T1, 0), asm::lw(A2, T1, 0), asm::mul(A3, A2, A1)],
        &[asm::sw(A3, ZERO, 0x200), asm::addi(A1, A1, -1), asm::bne(A1, ZERO, -24), asm::EBREAK],
    ]);
    for arch in Arch::ALL {
        let mut whole = Hart::new(arch, L1Port::Port2);
        let mut tile = TestTile::new(&words);
        whole.run_until(&mut tile, &mut L1Front::new(), u64::MAX).unwrap();

        let mut stepped = Hart::new(arch, L1Port::Port2);
        let mut tile = TestTile::new(&words);
        let mut front = L1Front::new();
        let mut count = 0;
        while step(&mut stepped, &mut tile, &mut front) == Pause::Cycle {
            let executed = stepped.counters().instruction_count - count;
            assert!(executed <= 1, "a step waits for an instruction, or executes one");
            count += executed;
        }
        assert_eq!(stepped.cycle(), whole.cycle());
        assert_eq!(stepped.registers(), whole.registers());
        assert_eq!(stepped.counters(), whole.counters());
    }
}

#[test]
fn reset_keeps_clock_and_counters_and_clears_the_rest() {
    let mut tile = TestTile::new(&[asm::addi(A0, ZERO, 1), asm::EBREAK]);
    let mut front = L1Front::new();
    let mut hart = Hart::new(Arch::Blackhole, L1Port::Port3);
    hart.run_until(&mut tile, &mut front, 100).unwrap();
    let (cycle, counters) = (hart.cycle(), hart.counters());
    hart.reset(0);
    assert_eq!((hart.cycle(), hart.counters(), hart.pc()), (cycle, counters, 0));
    assert_eq!(hart.registers(), &[0; 32]);
}
