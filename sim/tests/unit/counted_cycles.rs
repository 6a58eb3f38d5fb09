//! Counted cycles of random programs, whose harts stop, wait, poll and are reset at random, compared
//! with the cycles of a hart that is neither counted nor shown, and that executes step by step.

use proptest::prelude::*;

use super::asm::{self, A0, A1, T0};
use super::differential::{LENGTH, Piece, initial_registers, lay_out, piece, program_count};
use super::tests::{CLOCK_LOW, MAILBOX, REGISTER, TestTile};
use super::*;
use crate::arch::Arch;

/// What happens to a hart.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// It runs for some cycles, or until something stops it.
    Run(u64),
    Wait(u64, Option<u32>),
    /// A polling loop of some instructions is not simulated for some cycles.
    Poll(u64, usize),
    /// Its cycles are counted from a cycle on, which is up to 50 cycles ago, or still to come.
    Count(u64),
    Reset,
    EmptyCache,
    /// The device that is busy answers.
    Answer,
    Show(bool),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (1_u64..20).prop_map(Event::Run),
        4 => (1_u64..400).prop_map(Event::Run),
        2 => (0_u64..60, prop::option::of(Just(MAILBOX))).prop_map(|(cycles, word)| Event::Wait(cycles, word)),
        2 => (0_u64..200, 0_usize..12).prop_map(|(cycles, count)| Event::Poll(cycles, count)),
        3 => (0_u64..150).prop_map(Event::Count),
        1 => Just(Event::Reset),
        1 => Just(Event::EmptyCache),
        1 => Just(Event::Answer),
        2 => any::<bool>().prop_map(Event::Show),
    ]
}

/// Instructions that other programs of random instructions lack: accesses to registers, loops that poll,
/// and what ends a run.
fn special() -> impl Strategy<Value = Vec<u32>> {
    let poll = |address: u32, limit: i32| {
        let [high, low] = asm::li(T0, address);
        let wait = [asm::lw(A0, T0, 0), asm::bltu(A0, A1, -4)];
        [&[high, low, asm::addi(A1, 0, limit)][..], &wait].concat()
    };
    let access = |address: u32, is_store: bool| {
        let [high, low] = asm::li(T0, address);
        vec![high, low, if is_store { asm::sw(A0, T0, 0) } else { asm::lw(A0, T0, 0) }]
    };
    prop_oneof![
        (1_i32..2000).prop_map(move |limit| poll(CLOCK_LOW, limit)),
        (0_i32..2).prop_map(move |limit| poll(0x900, limit)),
        (prop::sample::select(vec![REGISTER, MAILBOX, CLOCK_LOW]), any::<bool>())
            .prop_map(move |(address, is_store)| access(address, is_store)),
        prop::sample::select(vec![asm::EBREAK, asm::ECALL]).prop_map(|word| vec![word]),
    ]
}

fn program() -> impl Strategy<Value = Vec<Piece>> {
    let one = prop_oneof![
        9 => piece().prop_map(|piece| vec![piece]),
        1 => special().prop_map(|words| words.into_iter().map(Piece::Word).collect()),
    ];
    prop::collection::vec(one, LENGTH).prop_map(|parts| {
        let mut pieces = parts.concat();
        pieces.truncate(LENGTH);
        pieces
    })
}

/// A hart with everything that it needs.
struct Machine {
    hart: Hart,
    tile: TestTile,
    front: L1Front,
}

impl Machine {
    fn new(words: &[u32], registers: &[u32; 32], arch: Arch, has_small_cache: bool) -> Self {
        let mut hart = Hart::new(arch, L1Port::Port2);
        if has_small_cache {
            hart = hart.with_small_instruction_cache();
        }
        let mut machine = Self { hart, tile: TestTile::new(words), front: L1Front::new() };
        machine.set(registers);
        machine
    }

    fn set(&mut self, registers: &[u32; 32]) {
        (0..32).for_each(|index| self.hart.set_register(index, registers[index]));
    }

    fn run(&mut self, until: u64) -> Result<Pause, Trap> {
        self.hart.run_until(&mut self.tile, &mut self.front, until)
    }

    /// Runs instruction by instruction. `counts_from`, a cycle, becomes the start of the first step that
    /// does not begin before it.
    fn step(&mut self, until: u64, counts_from: &mut u64) -> Result<Pause, Trap> {
        while self.hart.cycle() < until {
            let before = self.hart.cycle();
            let result = self.run(before + 1);
            if before < *counts_from {
                *counts_from = self.hart.cycle().max(*counts_from);
            }
            if result != Ok(Pause::Cycle) {
                return result;
            }
        }
        Ok(Pause::Cycle)
    }

    /// Returns the sum of the counted cycles, of which no instruction has more.
    fn counted(&self) -> u64 {
        let counts = self.hart.clone().take_counts();
        let sum = counts.iter().map(|(_, count)| count.total_cycles()).sum();
        assert!(counts.iter().all(|(_, count)| count.instructions <= sum), "{counts:x?}");
        sum
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(program_count()))]

    #[test]
    fn counted_cycles_are_those_that_passed_however_a_run_ends(
        pieces in program(),
        seeds in prop::collection::vec(any::<u32>(), 28),
        events in prop::collection::vec(event(), 1..60),
        has_small_cache in any::<bool>(),
    ) {
        let words = lay_out(&pieces);
        let registers = initial_registers(seeds);
        for arch in Arch::ALL {
            let new = || Machine::new(&words, &registers, arch, has_small_cache);
            let (mut counted, mut plain) = (new(), new());
            // The first cycle that is counted.
            let mut since = u64::MAX;
            for (number, event) in events.iter().enumerate() {
                let now = plain.hart.cycle();
                match *event {
                    Event::Run(cycles) => {
                        let result = counted.run(now + cycles);
                        prop_assert_eq!(&result, &plain.step(now + cycles, &mut since), "{}", number);
                        // What ends a program is not executed again.
                        if !matches!(result, Ok(Pause::Cycle | Pause::Blocked { .. })) {
                            let pc = (plain.hart.pc() + 4) % 0x400;
                            counted.hart.set_pc(pc);
                            plain.hart.set_pc(pc);
                        }
                    }
                    Event::Wait(cycles, word) => {
                        counted.hart.wait_until(now + cycles, word);
                        plain.hart.advance_to(now + cycles);
                    }
                    Event::Poll(cycles, instructions) => {
                        counted.hart.poll_until(now + cycles, instructions);
                        plain.hart.advance_to(now + cycles);
                    }
                    Event::Count(cycle) => {
                        let from = (now + cycle).saturating_sub(50);
                        counted.hart.begin_counts(from);
                        since = from.max(now);
                    }
                    Event::Reset => for machine in [&mut counted, &mut plain] {
                        machine.hart.reset(0);
                        machine.set(&registers);
                    },
                    Event::EmptyCache => for machine in [&mut counted, &mut plain] {
                        machine.hart.invalidate_instructions();
                    },
                    Event::Answer => for machine in [&mut counted, &mut plain] {
                        machine.tile.registers.mailbox = Some(7);
                    },
                    Event::Show(is_shown) => counted.hart.show_stages(is_shown),
                }
                let now = plain.hart.cycle();
                prop_assert_eq!(counted.hart.cycle(), now, "{} {:?}", number, event);
                prop_assert_eq!(counted.counted(), now.saturating_sub(since), "{} {:?}", number, event);
                if since != u64::MAX {
                    prop_assert_eq!(counted.hart.counted_since(), since, "{} {:?}", number, event);
                }
            }
            prop_assert_eq!(counted.hart.registers(), plain.hart.registers());
            prop_assert_eq!(counted.tile.l1, plain.tile.l1);
        }
    }
}

/// A load whose address has not arrived traps, and a branch that is mispredicted is executed in its place.
#[test]
fn what_an_unfinished_instruction_would_have_waited_for_is_no_wait() {
    for arch in Arch::ALL {
        for is_reset in [false, true] {
            let unmapped = 0x1000_0000;
            let load = [asm::lw(A0, 0, 20), asm::lw(A1, A0, 0)];
            let words =
                [&load[..], &[asm::bne(T0, 0, 8), asm::NOP, asm::EBREAK, unmapped]].concat();
            let mut machine = Machine::new(&words, &[1; 32], arch, false);
            machine.hart.begin_counts(0);
            machine.run(1000).unwrap_err();
            if is_reset {
                machine.hart.reset(8);
                machine.set(&[1; 32]);
            } else {
                machine.hart.set_pc(8);
            }
            assert_eq!(machine.run(1000), Ok(Pause::Breakpoint), "{arch:?}");
            assert_eq!(machine.counted(), machine.hart.cycle(), "{arch:?} {is_reset}");
        }
    }
}
