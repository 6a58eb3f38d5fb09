//! A tile's performance counters. Each bank counts events of the coprocessor or of L1. Writes to
//! the bank's control register start and stop the count.
//!
//! The model has two kinds of events: instructions issued by a thread, and cycles in which the FPU
//! or the SFPU works. For any other event, a bank reports 0 events in 0 cycles, like a bank that
//! was never started. A reader must not treat these zeros as a measurement.
//!
//! A control bit takes effect when it changes from 0 to 1. A start clears the counts. The mode
//! register selects, at the time of a read, the event whose count is read. All this is as in
//! tt-metal's `perf_counters/hw.h`, `registers.h` and `wormhole.h` or `blackhole.h`.

use crate::truth::{CounterBank, IssuedInstructions};

/// The counter banks of a tile.
#[derive(Clone, Debug, Default)]
pub(crate) struct PerformanceCounters {
    banks: [Bank; BANK_COUNT],
    intervals: Vec<Interval>,
}

/// Completed interval in which a bank counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) bank: CounterBank,
    pub(crate) cycles: u64,
    pub(crate) issued: IssuedInstructions,
}

/// A register of a bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BankRegister {
    /// Number of cycles after which the bank stops by itself, if it is not in continuous mode.
    Period,
    /// Mode in the low byte; the selected event in the bits above.
    Mode,
    Control,
    /// Number of cycles in which the bank counted.
    Cycles,
    /// Number of events that the bank counted.
    Events,
}

/// Index of a counter bank, in the order of tt-metal's tables.
pub(crate) type BankIndex = usize;

/// Indices of the banks with modelled events.
const INSTRUCTIONS: BankIndex = 0;
const FPU: BankIndex = 1;
const BANK_COUNT: usize = 5;

#[derive(Clone, Copy, Debug, Default)]
struct Bank {
    period: u32,
    mode: u32,
    control: u32,
    span: Span,
}

/// Interval in which a bank counts or has counted.
#[derive(Clone, Copy, Debug, Default)]
enum Span {
    #[default]
    Never,
    Since(Reading),
    Over(Reading),
}

/// Cycle and instruction counts at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) cycle: u64,
    pub(crate) issued: IssuedInstructions,
}

impl Reading {
    /// Returns the difference between this reading and an earlier one.
    fn since(self, start: Self) -> Self {
        Self { cycle: self.cycle - start.cycle, issued: self.issued.since(start.issued) }
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
                match events(index, bank.mode >> SELECT_SHIFT, window.issued) {
                    None => 0,
                    Some(_) if register == BankRegister::Cycles => low_word(window.cycle),
                    Some(events) => low_word(events),
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
                    let counted = now.since(start);
                    bank.span = Span::Over(counted);
                    let Reading { cycle: cycles, issued } = counted;
                    let modelled = modelled_bank(index);
                    self.intervals.extend(modelled.map(|bank| Interval { bank, cycles, issued }));
                } else if rising & START != 0 {
                    bank.span = Span::Since(now);
                }
            }
            BankRegister::Cycles | BankRegister::Events => {}
        }
        Ok(())
    }

    /// Removes and returns the intervals in which banks have counted since the last call.
    pub(crate) fn take_intervals(&mut self) -> Vec<Interval> {
        std::mem::take(&mut self.intervals)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "registers have 32 bits")]
const fn low_word(count: u64) -> u32 {
    count as u32
}

const fn modelled_bank(index: BankIndex) -> Option<CounterBank> {
    match index {
        INSTRUCTIONS => Some(CounterBank::Instructions),
        FPU => Some(CounterBank::Fpu),
        _ => None,
    }
}

/// Returns how many times the event `select` of a bank occurred, computed from the counts of issued
/// instructions; `None` if the event is not modelled.
const fn events(bank: BankIndex, select: u32, issued: IssuedInstructions) -> Option<u64> {
    let IssuedInstructions { by_thread, fpu, sfpu } = issued;
    match (bank, select) {
        (INSTRUCTIONS, 256) => Some(by_thread[0]),
        (INSTRUCTIONS, 264) => Some(by_thread[1]),
        (INSTRUCTIONS, 272) => Some(by_thread[2]),
        (FPU, 0) => Some(fpu),
        (FPU, 1) => Some(sfpu),
        // Number of cycles in which the FPU or the SFPU works. The two counts can be added, because
        // this model never issues two instructions in one cycle.
        (FPU, 257) => Some(fpu + sfpu),
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

    const fn at(cycle: u64, by_thread: [u64; 3]) -> Reading {
        let issued = IssuedInstructions { by_thread, fpu: by_thread[1], sfpu: by_thread[2] };
        Reading { cycle, issued }
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
        // TRISC 1 writes 0, then a start. BRISC then writes a stop; the stop bit rises while the
        // start bit is already set.
        for (value, now) in [
            (0, at(90, [1, 1, 1])),
            (1, at(100, [10, 20, 30])),
            (2, at(350, [15, 20, 42])),
            // A stop bit without a rising edge has no effect.
            (2, at(400, [99; 3])),
        ] {
            for bank in [INSTRUCTIONS, FPU] {
                counters.store(bank, BankRegister::Control, value, now).unwrap();
            }
        }
        let later = at(500, [99; 3]);
        for (bank, select, expected) in [
            (INSTRUCTIONS, 256, [250, 5]),
            (INSTRUCTIONS, 264, [250, 0]),
            (INSTRUCTIONS, 272, [250, 12]),
            (INSTRUCTIONS, 24, [0; 2]),
            (FPU, 0, [250, 0]),
            (FPU, 1, [250, 12]),
            (FPU, 257, [250, 12]),
            (FPU, 256, [0; 2]),
        ] {
            assert_eq!(read(&mut counters, bank, select, later), expected, "{bank} {select}");
        }
        let issued = IssuedInstructions { by_thread: [5, 0, 12], fpu: 0, sfpu: 12 };
        let expected = [CounterBank::Instructions, CounterBank::Fpu].map(|bank| Interval {
            bank,
            cycles: 250,
            issued,
        });
        assert_eq!(counters.take_intervals(), expected);
        assert_eq!(counters.take_intervals(), []);
    }

    #[test]
    fn a_start_clears_and_what_never_started_reads_as_over_no_cycles() {
        let mut counters = PerformanceCounters::default();
        assert_eq!(read(&mut counters, INSTRUCTIONS, 256, at(9, [3; 3])), [0, 0]);
        for (value, now) in [(1, at(10, [0; 3])), (0, at(20, [4; 3])), (1, at(30, [6; 3]))] {
            counters.store(INSTRUCTIONS, BankRegister::Control, value, now).unwrap();
        }
        assert_eq!(read(&mut counters, INSTRUCTIONS, 272, at(37, [9; 3])), [7, 3]);
        assert_eq!(counters.take_intervals(), []);
        for bank in 2..BANK_COUNT {
            counters.store(bank, BankRegister::Control, 1, at(40, [9; 3])).unwrap();
            assert_eq!(read(&mut counters, bank, 256, at(50, [20; 3])), [0, 0]);
        }
        let error = counters.store(2, BankRegister::Mode, 1, at(50, [20; 3]));
        assert_eq!(error, Err("mode 1 of counters is not modelled".to_owned()));
    }
}
