//! A tile's performance counters: banks that count events of the coprocessor and of L1 between two
//! writes to their control registers.
//!
//! This simulator knows one sort of events, the instructions that each thread has issued. Any other
//! reads as counted over no cycles, as a bank does that was never started: a reader must take that
//! for no reading.
//!
//! # Compatibility
//! tt-metal's `perf_counters/hw.h`, `registers.h` and `wormhole.h` or `blackhole.h`: the bits of
//! control act as they rise, a start clears, and the event is chosen when it is read.

use super::coprocessor::THREAD_COUNT;

/// The banks of a tile.
#[derive(Clone, Debug, Default)]
pub(crate) struct PerformanceCounters {
    banks: [Bank; BANK_COUNT],
    windows: Vec<Window>,
}

/// Time over which the threads' instructions were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) cycles: u64,
    pub(crate) thread_instructions: [u64; THREAD_COUNT],
}

/// A register of a bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BankRegister {
    /// Cycles after which a bank stops by itself in a mode that is not continuous.
    Period,
    /// Mode in the low byte, and above it the event that is read.
    Mode,
    Control,
    /// Cycles.
    Cycles,
    /// Events.
    Events,
}

/// Number of a bank, in the order of tt-metal's tables.
pub(crate) type BankIndex = usize;

/// The bank that counts instructions.
pub(crate) const INSTRUCTIONS: BankIndex = 0;
const BANK_COUNT: usize = 5;

#[derive(Clone, Copy, Debug, Default)]
struct Bank {
    period: u32,
    mode: u32,
    control: u32,
    span: Span,
}

/// State of a bank's counting.
#[derive(Clone, Copy, Debug, Default)]
enum Span {
    #[default]
    Never,
    Since(Reading),
    Over(Window),
}

/// Cycle and counts at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) cycle: u64,
    pub(crate) thread_instructions: [u64; THREAD_COUNT],
}

impl Reading {
    /// Returns the counts since an earlier reading.
    fn since(self, start: Self) -> Window {
        Window {
            cycles: self.cycle - start.cycle,
            thread_instructions: std::array::from_fn(|thread| {
                self.thread_instructions[thread] - start.thread_instructions[thread]
            }),
        }
    }
}

impl PerformanceCounters {
    /// Reads a register of a bank.
    pub(crate) fn load(&self, index: BankIndex, register: BankRegister, now: Reading) -> u32 {
        let bank = &self.banks[index];
        match register {
            BankRegister::Period => bank.period,
            BankRegister::Mode => bank.mode,
            BankRegister::Control => bank.control,
            BankRegister::Cycles | BankRegister::Events => {
                let window = match bank.span {
                    Span::Never => return 0,
                    Span::Since(start) => now.since(start),
                    Span::Over(window) => window,
                };
                match thread_of(index, bank.mode >> SELECT_SHIFT) {
                    None => 0,
                    Some(_) if register == BankRegister::Cycles => low_word(window.cycles),
                    Some(thread) => low_word(window.thread_instructions[thread]),
                }
            }
        }
    }

    /// Writes a register of a bank.
    pub(crate) fn store(
        &mut self,
        index: BankIndex,
        register: BankRegister,
        value: u32,
        now: Reading,
    ) -> Result<(), String> {
        let bank = &mut self.banks[index];
        match register {
            BankRegister::Period => bank.period = value,
            BankRegister::Mode if value & MODE_MASK != CONTINUOUS => {
                return Err(format!("mode {} of counters is not modelled", value & MODE_MASK));
            }
            BankRegister::Mode => bank.mode = value,
            BankRegister::Control => {
                let rising = value & !bank.control;
                bank.control = value;
                if rising & STOP != 0
                    && let Span::Since(start) = bank.span
                {
                    let window = now.since(start);
                    bank.span = Span::Over(window);
                    self.windows.extend((index == INSTRUCTIONS).then_some(window));
                } else if rising & START != 0 {
                    bank.span = Span::Since(now);
                }
            }
            BankRegister::Cycles | BankRegister::Events => {}
        }
        Ok(())
    }

    /// Takes the times over which instructions were counted since the last call.
    pub(crate) fn take_windows(&mut self) -> Vec<Window> {
        std::mem::take(&mut self.windows)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "registers have 32 bits")]
const fn low_word(count: u64) -> u32 {
    count as u32
}

/// The thread whose issued instructions are the event.
const fn thread_of(bank: BankIndex, select: u32) -> Option<usize> {
    match (bank, select) {
        (INSTRUCTIONS, 256) => Some(0),
        (INSTRUCTIONS, 264) => Some(1),
        (INSTRUCTIONS, 272) => Some(2),
        _ => None,
    }
}

const START: u32 = 1;
const STOP: u32 = 2;
const MODE_MASK: u32 = 0xFF;
const CONTINUOUS: u32 = 0;
const SELECT_SHIFT: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(cycle: u64, thread_instructions: [u64; 3]) -> Reading {
        Reading { cycle, thread_instructions }
    }

    fn read(
        counters: &mut PerformanceCounters,
        bank: usize,
        select: u32,
        now: Reading,
    ) -> [u32; 2] {
        counters.store(bank, BankRegister::Mode, select << 8, now).unwrap();
        [BankRegister::Cycles, BankRegister::Events].map(|one| counters.load(bank, one, now))
    }

    #[test]
    fn a_bank_counts_from_its_start_to_its_stop() {
        let mut counters = PerformanceCounters::default();
        let mut control = |value, now| {
            counters.store(INSTRUCTIONS, BankRegister::Control, value, now).unwrap();
        };
        // As TRISC 1 does: 0, then a start; and BRISC a stop, whose bit rises over the start's.
        control(0, at(90, [1, 1, 1]));
        control(1, at(100, [10, 20, 30]));
        control(2, at(350, [15, 20, 42]));
        // A stop that does not rise changes nothing.
        control(2, at(400, [99; 3]));
        let later = at(500, [99; 3]);
        for (select, expected) in [(256, [250, 5]), (264, [250, 0]), (272, [250, 12]), (24, [0; 2])]
        {
            assert_eq!(read(&mut counters, INSTRUCTIONS, select, later), expected, "{select}");
        }
        let window = Window { cycles: 250, thread_instructions: [5, 0, 12] };
        assert_eq!(counters.take_windows(), [window]);
        assert_eq!(counters.take_windows(), []);
    }

    #[test]
    fn a_start_clears_and_what_never_started_reads_as_over_no_cycles() {
        let mut counters = PerformanceCounters::default();
        assert_eq!(read(&mut counters, INSTRUCTIONS, 256, at(9, [3; 3])), [0, 0]);
        for (value, now) in [(1, at(10, [0; 3])), (0, at(20, [4; 3])), (1, at(30, [6; 3]))] {
            counters.store(INSTRUCTIONS, BankRegister::Control, value, now).unwrap();
        }
        assert_eq!(read(&mut counters, INSTRUCTIONS, 272, at(37, [9; 3])), [7, 3]);
        assert_eq!(counters.take_windows(), []);
        for bank in 1..BANK_COUNT {
            counters.store(bank, BankRegister::Control, 1, at(40, [9; 3])).unwrap();
            assert_eq!(read(&mut counters, bank, 256, at(50, [20; 3])), [0, 0]);
        }
        let error = counters.store(1, BankRegister::Mode, 1, at(50, [20; 3]));
        assert_eq!(error, Err("mode 1 of counters is not modelled".to_owned()));
    }
}
