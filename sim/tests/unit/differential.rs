//! Compares results of random programs on this interpreter, with the timing of each chip, and on
//! another interpreter (`rrs-lib`).

use proptest::prelude::*;
use rrs_lib::instruction_executor::InstructionExecutor;
use rrs_lib::memories::VecMemory;
use rrs_lib::{HartState, MemAccessSize, Memory};

use super::asm;
use super::tests::TestTile;
use super::{Counts, Hart, L1Front, L1Port, LOCAL_RAM_BASE, Pause, Reason, Step};
use crate::arch::Arch;
use std::collections::BTreeMap;

/// Number of instructions in a program, without those that end it.
pub(super) const LENGTH: usize = 200;
/// Size of L1 in bytes, the same for both interpreters.
const MEMORY_BYTE_COUNT: usize = 0x1000;
/// Maximum distance in bytes of loads and stores from the middle of the data window that they
/// access. A window has twice this size.
const REACH: i32 = 0x200;
const L1_WINDOW: u32 = 0x800 + REACH.cast_unsigned();
const LOCAL_WINDOW: u32 = LOCAL_RAM_BASE + REACH.cast_unsigned();
/// Maximum number of steps of both interpreters: a backward branch may create an endless loop.
const STEP_COUNT: u64 = 1_000;

/// Register that points into the program. It is never written, so the target of a register jump is
/// always known.
const CODE_POINTER: u32 = 29;
const CODE_MIDDLE: i32 = 400;
/// Register that points to the L1 window; it is never written.
const L1_POINTER: u32 = 30;
/// Register that points to the window in private RAM; it is never written.
const LOCAL_POINTER: u32 = 31;

/// Returns a strategy for destination registers: any register except the three pointers.
fn destination() -> impl Strategy<Value = u32> {
    0_u32..CODE_POINTER
}

fn source() -> impl Strategy<Value = u32> {
    0_u32..32
}

fn pointer() -> impl Strategy<Value = u32> {
    prop_oneof![Just(L1_POINTER), Just(LOCAL_POINTER)]
}

fn register_arithmetic() -> impl Strategy<Value = u32> {
    let kinds = prop_oneof![
        (0_u32..8).prop_map(|funct3| (0, funct3)),
        (0_u32..8).prop_map(|funct3| (1, funct3)),
        Just((0x20, 0)),
        Just((0x20, 5)),
    ];
    (kinds, destination(), source(), source()).prop_map(|((funct7, funct3), rd, rs1, rs2)| {
        asm::register_type(funct7, funct3, rd, rs1, rs2)
    })
}

fn immediate_arithmetic() -> impl Strategy<Value = u32> {
    let any = (prop::sample::select(vec![0_u32, 2, 3, 4, 6, 7]), -2048_i32..2048);
    let shift = (prop::sample::select(vec![(1_u32, 0), (5, 0), (5, 0x400)]), 0_i32..32)
        .prop_map(|((funct3, kind), amount)| (funct3, kind | amount));
    (prop_oneof![any, shift], destination(), source())
        .prop_map(|((funct3, i), rd, rs1)| asm::immediate_type(0x13, funct3, rd, rs1, i))
}

fn upper() -> impl Strategy<Value = u32> {
    (any::<bool>(), any::<u32>(), destination()).prop_map(|(is_lui, value, rd)| match is_lui {
        true => asm::lui(rd, value),
        false => asm::auipc(rd, value),
    })
}

fn load() -> impl Strategy<Value = u32> {
    let kinds = prop::sample::select(vec![(0_u32, 1), (1, 2), (2, 4), (4, 1), (5, 2)]);
    (kinds, destination(), pointer(), -REACH..REACH).prop_map(
        |((funct3, size), rd, base, offset)| {
            asm::immediate_type(0x03, funct3, rd, base, offset / size * size)
        },
    )
}

fn store() -> impl Strategy<Value = u32> {
    let kinds = prop::sample::select(vec![(0_u32, 1), (1, 2), (2, 4)]);
    (kinds, source(), pointer(), -REACH..REACH).prop_map(|((funct3, size), rs2, base, offset)| {
        asm::store_type(funct3, rs2, base, offset / size * size)
    })
}

/// An instruction of a program that has not been laid out at addresses yet; the distances of jumps
/// are in instructions.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Word(u32),
    Branch { funct3: u32, rs1: u32, rs2: u32, distance: i32 },
    Jump { rd: u32, distance: i32 },
    RegisterJump { rd: u32, distance: i32 },
}

pub(super) fn piece() -> impl Strategy<Value = Piece> {
    let branch =
        (prop::sample::select(vec![0_u32, 1, 4, 5, 6, 7]), source(), source(), -20..20_i32)
            .prop_map(|(funct3, rs1, rs2, distance)| Piece::Branch { funct3, rs1, rs2, distance });
    prop_oneof![
        6 => register_arithmetic().prop_map(Piece::Word),
        5 => immediate_arithmetic().prop_map(Piece::Word),
        1 => upper().prop_map(Piece::Word),
        4 => load().prop_map(Piece::Word),
        4 => store().prop_map(Piece::Word),
        3 => branch,
        1 => (destination(), 1..6_i32).prop_map(|(rd, distance)| Piece::Jump { rd, distance }),
        1 => (destination(), 1..6_i32)
            .prop_map(|(rd, distance)| Piece::RegisterJump { rd, distance }),
    ]
}

/// Lays out pieces from address 0. Jumps and branches with a target outside the program are changed
/// to go to its end.
pub(super) fn lay_out(pieces: &[Piece]) -> Vec<u32> {
    let mut words = Vec::with_capacity(LENGTH + 1);
    for piece in pieces {
        let here = i32::try_from(words.len()).unwrap();
        let last = i32::try_from(LENGTH).unwrap();
        let offset = |distance: i32| ((here + distance).clamp(0, last) - here) * 4;
        match *piece {
            Piece::Word(word) => words.push(word),
            Piece::Branch { funct3, rs1, rs2, distance } => {
                words.push(asm::branch_type(funct3, rs1, rs2, offset(distance)));
            }
            Piece::Jump { rd, distance } => words.push(asm::jal(rd, offset(distance))),
            Piece::RegisterJump { rd, distance } => {
                let target = here * 4 + offset(distance) - CODE_MIDDLE;
                words.push(asm::jalr(rd, CODE_POINTER, target));
            }
        }
    }
    words.push(asm::jal(0, 0));
    words
}

/// Memory with the layout of a tile: L1 from address 0 and private RAM at its base.
struct Oracle {
    l1: VecMemory,
    local: VecMemory,
}

impl Memory for Oracle {
    fn read_mem(&mut self, address: u32, size: MemAccessSize) -> Option<u32> {
        match address.checked_sub(LOCAL_RAM_BASE) {
            Some(offset) => self.local.read_mem(offset, size),
            None => self.l1.read_mem(address, size),
        }
    }

    fn write_mem(&mut self, address: u32, size: MemAccessSize, value: u32) -> bool {
        match address.checked_sub(LOCAL_RAM_BASE) {
            Some(offset) => self.local.write_mem(offset, size, value),
            None => self.l1.write_mem(address, size, value),
        }
    }
}

/// Final state, which must be the same for all runs.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    registers: Vec<u32>,
    pc: u32,
    l1: Vec<u8>,
    local: Vec<u8>,
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn expected(words: &[u32], registers: &[u32; 32]) -> Outcome {
    let mut l1 = words.to_vec();
    l1.resize(MEMORY_BYTE_COUNT / 4, 0);
    let mut memory =
        Oracle { l1: VecMemory::new(l1), local: VecMemory::new(vec![0; MEMORY_BYTE_COUNT / 4]) };
    let mut hart = HartState::new();
    hart.registers = *registers;
    for _ in 0..STEP_COUNT {
        InstructionExecutor { hart_state: &mut hart, mem: &mut memory }.step().unwrap();
    }
    hart.registers[0] = 0;
    Outcome {
        registers: hart.registers.to_vec(),
        pc: hart.pc,
        l1: bytes(&memory.l1.mem),
        local: bytes(&memory.local.mem),
    }
}

/// Runs a program like [`found`], and counts its instructions by address from cycle `since` on.
/// Returns the outcome, the cycle of the end, the instructions that begin from `since` on, and the
/// counts.
fn counted(
    words: &[u32],
    registers: &[u32; 32],
    (arch, since): (Arch, u64),
) -> (Outcome, u64, u64, Counts) {
    let mut tile = TestTile::new(words);
    tile.l1.truncate(MEMORY_BYTE_COUNT);
    let mut front = L1Front::new();
    let mut hart = Hart::new(arch, L1Port::Port2);
    (0..32).for_each(|index| hart.set_register(index, registers[index]));
    hart.run_until(&mut tile, &mut front, since).unwrap();
    let before = hart.counters().instruction_count;
    hart.begin_counts(since);
    while hart.counters().instruction_count < STEP_COUNT {
        let rest = STEP_COUNT - hart.counters().instruction_count;
        let until = hart.cycle() + rest;
        assert_eq!(hart.run_until(&mut tile, &mut front, until), Ok(Pause::Cycle));
    }
    let (end, begin) = (hart.cycle(), hart.counted_since());
    let executed = hart.counters().instruction_count - before;
    let counts = hart.take_counts();
    let outcome = Outcome {
        registers: hart.registers().to_vec(),
        pc: hart.pc(),
        l1: tile.l1,
        local: tile.local,
    };
    (outcome, end - begin, executed, counts)
}

/// Runs a program like [`found`], and counts its instructions; with `shows_stages`, also keeps the
/// stages of its pipeline. Returns the cycle of the end, the counts, and the steps.
fn staged(
    words: &[u32],
    registers: &[u32; 32],
    (arch, shows_stages): (Arch, bool),
) -> (u64, Counts, Vec<Step>) {
    let mut tile = TestTile::new(words);
    tile.l1.truncate(MEMORY_BYTE_COUNT);
    let mut front = L1Front::new();
    let mut hart = Hart::new(arch, L1Port::Port2);
    (0..32).for_each(|index| hart.set_register(index, registers[index]));
    hart.begin_counts(0);
    hart.show_stages(shows_stages);
    while hart.counters().instruction_count < STEP_COUNT {
        let until = hart.cycle() + STEP_COUNT - hart.counters().instruction_count;
        assert_eq!(hart.run_until(&mut tile, &mut front, until), Ok(Pause::Cycle));
    }
    let mut steps = Vec::new();
    hart.take_steps(&mut steps);
    (hart.cycle(), hart.take_counts(), steps)
}

fn found(words: &[u32], registers: &[u32; 32], arch: Arch) -> Outcome {
    let mut tile = TestTile::new(words);
    tile.l1.truncate(MEMORY_BYTE_COUNT);
    let mut front = L1Front::new();
    let mut hart = Hart::new(arch, L1Port::Port2);
    (0..32).for_each(|index| hart.set_register(index, registers[index]));
    while hart.counters().instruction_count < STEP_COUNT {
        // Every instruction takes at least one cycle, so the run executes no more than the
        // remaining steps.
        let rest = STEP_COUNT - hart.counters().instruction_count;
        let until = hart.cycle() + rest;
        assert_eq!(hart.run_until(&mut tile, &mut front, until), Ok(Pause::Cycle));
    }
    Outcome { registers: hart.registers().to_vec(), pc: hart.pc(), l1: tile.l1, local: tile.local }
}

pub(super) fn initial_registers(seeds: Vec<u32>) -> [u32; 32] {
    let mut registers = [0; 32];
    registers[1..29].copy_from_slice(&seeds);
    registers[CODE_POINTER as usize] = CODE_MIDDLE.cast_unsigned();
    registers[L1_POINTER as usize] = L1_WINDOW;
    registers[LOCAL_POINTER as usize] = LOCAL_WINDOW;
    registers
}

/// Returns the number of random programs: `KPROF_PROGRAMS_COUNT`, or 250. `.ci/run` sets more.
pub(super) fn program_count() -> u32 {
    std::env::var("KPROF_PROGRAMS_COUNT").map_or(250, |count| count.parse().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(program_count()))]

    #[test]
    fn registers_and_memory_equal_those_of_another_interpreter_under_every_timing(
        pieces in prop::collection::vec(piece(), LENGTH),
        seeds in prop::collection::vec(
            prop_oneof![any::<i32>(), -4_i32..4, Just(i32::MIN)].prop_map(i32::cast_unsigned), 28),
    ) {
        let words = lay_out(&pieces);
        let registers = initial_registers(seeds);
        let expected = expected(&words, &registers);
        for arch in Arch::ALL {
            prop_assert_eq!(&found(&words, &registers, arch), &expected);
        }
    }

    #[test]
    fn counts_by_address_add_up_to_all_cycles_and_change_none(
        pieces in prop::collection::vec(piece(), LENGTH),
        seeds in prop::collection::vec(any::<u32>(), 28),
        since in 0_u64..100,
    ) {
        let words = lay_out(&pieces);
        let registers = initial_registers(seeds);
        for arch in Arch::ALL {
            let (outcome, cycles, executed, counts) = counted(&words, &registers, (arch, since));
            prop_assert_eq!(&outcome, &expected(&words, &registers));
            prop_assert_eq!(counts.iter().map(|(_, count)| count.total_cycles()).sum::<u64>(), cycles);
            let instructions = counts.iter().map(|(_, count)| count.instructions);
            prop_assert_eq!(instructions.sum::<u64>(), executed);
            for (_, count) in &counts {
                prop_assert_eq!(count.cycles[Reason::Issue as usize], count.instructions);
            }
        }
    }

    /// Each instruction enters the integer unit once, and to keep the stages changes no time.
    #[test]
    fn stages_are_those_of_the_counted_instructions(
        pieces in prop::collection::vec(piece(), LENGTH),
        seeds in prop::collection::vec(any::<u32>(), 28),
    ) {
        let words = lay_out(&pieces);
        let registers = initial_registers(seeds);
        for arch in Arch::ALL {
            let (end, counts, none) = staged(&words, &registers, (arch, false));
            let (shown_end, shown_counts, steps) = staged(&words, &registers, (arch, true));
            prop_assert_eq!(none, []);
            prop_assert_eq!((shown_end, &shown_counts), (end, &counts));
            let (mut counted, mut entered) = (BTreeMap::new(), BTreeMap::new());
            for ((pc, _), count) in &counts {
                *counted.entry(*pc).or_insert(0) += count.instructions;
            }
            counted.retain(|_, count| *count > 0);
            steps.iter().for_each(|step| *entered.entry(step.pc).or_insert(0) += 1);
            prop_assert_eq!(entered, counted);
            for step in &steps {
                let stages = [step.decoded, step.enters, step.issue, step.leave];
                prop_assert!(stages.is_sorted() && step.enters < step.issue, "{:?}", step);
            }
            for pair in steps.windows(2) {
                prop_assert_eq!(pair[0].next_pc, pair[1].pc);
                prop_assert!(pair[0].enters < pair[1].decoded, "{:?}", pair);
                prop_assert!(pair[0].issue <= pair[1].enters && pair[0].leave <= pair[1].leave);
            }
        }
    }

    #[test]
    fn random_words_end_in_a_pause_or_a_trap(
        words in prop::collection::vec(any::<u32>(), 1..64),
        arch in prop::sample::select(Arch::ALL.to_vec()),
    ) {
        let mut tile = TestTile::new(&words);
        let mut hart = Hart::new(arch, L1Port::Port3);
        let _ = hart.run_until(&mut tile, &mut L1Front::new(), 2_000);
        prop_assert!(hart.pc().is_multiple_of(4));
    }
}
