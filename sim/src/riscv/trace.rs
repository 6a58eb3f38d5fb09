//! A bounded record of the instructions that a hart executed, with their times.

/// One executed instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceEntry {
    /// Address of the instruction.
    pub pc: u32,
    /// The instruction word.
    pub instruction: u32,
    /// Modelled cycle in which the instruction entered the integer unit.
    pub start_cycle: u64,
}

/// The first instructions of a run, up to a capacity; further instructions are only counted.
///
/// The cycles between two consecutive entries are the cost of the first of the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    entries: Vec<TraceEntry>,
    capacity: usize,
    dropped_count: u64,
}

impl Trace {
    /// Creates an empty trace for at most `entry_count` instructions.
    pub fn with_capacity(entry_count: usize) -> Self {
        Self { entries: Vec::new(), capacity: entry_count, dropped_count: 0 }
    }

    /// Returns the recorded instructions, in the order of execution.
    pub fn entries(&self) -> &[TraceEntry] {
        &self.entries
    }

    /// Returns the number of instructions executed after the trace was full.
    pub fn dropped_count(&self) -> u64 {
        self.dropped_count
    }

    /// Removes all entries and resets the count of dropped instructions.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.dropped_count = 0;
    }
}

/// Recorder of executed instructions; the run loop is compiled once per implementation.
pub(super) trait Recorder {
    const IS_ON: bool;
    fn record(&mut self, pc: u32, instruction: u32, start_cycle: u64);
}

impl Recorder for Trace {
    const IS_ON: bool = true;

    fn record(&mut self, pc: u32, instruction: u32, start_cycle: u64) {
        if self.entries.len() < self.capacity {
            self.entries.push(TraceEntry { pc, instruction, start_cycle });
        } else {
            self.dropped_count += 1;
        }
    }
}

/// Records nothing, at no cost.
pub(super) struct Untraced;

impl Recorder for Untraced {
    const IS_ON: bool = false;

    fn record(&mut self, _: u32, _: u32, _: u64) {}
}
