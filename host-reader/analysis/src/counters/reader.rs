//! Counters that one RISC of a core read during one op.

use crate::counters::names::STALLS;

/// Bank of counters that share a cycle count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bank {
    Fpu,
    Instruction,
    Pack,
    Unpack,
    L1,
    L1Client,
}

impl Bank {
    /// Returns the bank of a counter.
    pub(crate) fn from_counter(counter: &str) -> Self {
        let begins_with = |prefixes: &[&str]| prefixes.iter().any(|p| counter.starts_with(p));
        if begins_with(&["L1_CLIENT_"]) {
            Self::L1Client
        } else if begins_with(&["L1_"]) {
            Self::L1
        } else if matches!(counter, "FPU_COUNTER" | "SFPU_COUNTER" | "MATH_COUNTER") {
            Self::Fpu
        } else if begins_with(&["THREAD_STALLS_", "THREAD_INSTRUCTIONS_", "WAITING_FOR_"])
            || counter.contains("_INSTRN_AVAILABLE_")
            || counter == "ANY_THREAD_STALL"
            || STALLS.contains(&counter)
        {
            Self::Instruction
        } else if begins_with(&["PACKER", "DEST_READ_GRANTED_"])
            || matches!(counter, "MATH_NOT_STALLED_DEST_WR_PORT" | "MATH_NOT_SCOREBOARD_STALLED")
        {
            Self::Pack
        } else {
            Self::Unpack
        }
    }

    /// Returns the counters that determine the cycles of the bank, in order of preference: the
    /// first one that was read is used. Counters of a bank that were read in different runs have
    /// different cycles.
    const fn anchors(self) -> &'static [&'static str] {
        match self {
            Self::Fpu => &["FPU_COUNTER", "SFPU_COUNTER", "MATH_COUNTER"],
            Self::Instruction => {
                &["THREAD_STALLS_0", "THREAD_STALLS_1", "THREAD_STALLS_2", "THREAD_INSTRUCTIONS_0"]
            }
            Self::Pack => &["PACKER_BUSY", "PACKER0_DEST_READ_REQ", "MATH_NOT_SCOREBOARD_STALLED"],
            Self::Unpack => &["MATH_INSTRN_AVAILABLE", "SRCA_WRITE_REQ", "UNPACK0_BUSY_THREAD0"],
            Self::L1 | Self::L1Client => &[],
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Counter {
    name: String,
    count: f64,
    cycles: f64,
}

/// Counters by name, in the order in which they were read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CounterReader(Vec<Counter>);

impl CounterReader {
    /// Adds a counter. A repeated reading replaces the earlier one.
    pub(crate) fn record(&mut self, name: String, count: f64, cycles: f64) {
        match self.0.iter_mut().find(|counter| counter.name == name) {
            Some(counter) => (counter.count, counter.cycles) = (count, cycles),
            None => self.0.push(Counter { name, count, cycles }),
        }
    }

    /// Adds the counters of another reader of the same part of a core.
    pub(crate) fn join(&mut self, other: &Self) {
        for Counter { name, count, cycles } in &other.0 {
            self.record(name.clone(), *count, *cycles);
        }
    }

    /// Returns the names of the counters, in the order in which they were read.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|counter| counter.name.as_str())
    }

    fn find(&self, name: &str) -> Option<&Counter> {
        self.0.iter().find(|counter| counter.name == name)
    }

    /// Returns the value of a counter; `None` if it was not read.
    pub(crate) fn count(&self, name: &str) -> Option<f64> {
        self.find(name).map(|counter| counter.count)
    }

    /// Returns the sum of the listed counters; counters that were not read add 0.
    pub(crate) fn total(&self, names: &[&str]) -> f64 {
        // `sum` of an empty iterator is -0.
        names.iter().filter_map(|name| self.count(name)).fold(0.0, |sum, count| sum + count)
    }

    /// Returns the value of a counter divided by the counter's own cycles.
    pub(crate) fn own_rate(&self, name: &str) -> Option<f64> {
        self.find(name).and_then(|counter| divided(counter.count, counter.cycles))
    }

    /// Returns the cycles over which a counter counted; 0 if it was not read.
    pub(crate) fn own_cycles(&self, name: &str) -> f64 {
        self.find(name).map_or(0.0, |counter| counter.cycles)
    }

    /// Returns the cycles of a bank; 0 if none of its counters was read.
    pub(crate) fn bank_cycles(&self, bank: Bank) -> f64 {
        let anchor = bank.anchors().iter().find_map(|name| self.find(name));
        anchor
            .or_else(|| self.0.iter().find(|counter| Bank::from_counter(&counter.name) == bank))
            .map_or(0.0, |counter| counter.cycles)
    }
}

/// Returns `part / whole`; `None` if the whole is 0.
pub(crate) fn divided(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}
