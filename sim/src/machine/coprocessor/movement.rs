//! The unpackers and packers, which move data between L1 and the registers of the coprocessor.
//!
//! # Compatibility
//! tt-isa-documentation, `TensixTile`: `TensixCoprocessor/UNPACR_Regular.md`, `PACR.md`,
//! `Packers/README.md`, `L1.md`.

use super::{THREAD_COUNT, instruction::Instruction};

/// Bytes that a packer, or a `Dst` read interface of a Blackhole's packer, writes to L1 in a cycle.
/// The rate of a Blackhole's packer is not documented, and is assumed to be that of a Wormhole's four
/// packers.
const PACKED_BYTES: u64 = 16;
/// Cycles that the packers take for one write that adds to what is in L1, if it is not atomic.
const ACCUMULATION_CYCLES: u64 = 2;
/// Cycles in which an unpacker finds the address of uncompressed data.
pub(super) const ADDRESS_CYCLES: u64 = 2;

/// Counters of addresses, as far as they decide how many data an instruction moves: the first and
/// last X of each thread, for the two unpackers and the packers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AddressCounters([[[u32; 2]; 3]; THREAD_COUNT]);

/// Index of the packers in [`AddressCounters`]; 0 and 1 are the unpackers.
pub(super) const PACKERS: usize = 2;

impl AddressCounters {
    /// Executes `SETADCXX`.
    pub(super) fn set_both(&mut self, thread: usize, instruction: Instruction) {
        let ends = [instruction.field(0, 10), instruction.field(10, 10)];
        self.for_selected(thread, instruction, |counters| *counters = ends);
    }

    /// Executes `SETADC`.
    pub(super) fn set_one(&mut self, thread: usize, instruction: Instruction) {
        let thread = instruction.field(16, 2).checked_sub(1).map_or(thread, |of| of as usize);
        if instruction.field(18, 2) == 0 {
            let channel = instruction.field(20, 1) as usize;
            let value = instruction.field(0, 16);
            self.for_selected(thread, instruction, |counters| counters[channel] = value);
        }
    }

    /// Executes `SETADCXY`.
    pub(super) fn set_some(&mut self, thread: usize, instruction: Instruction) {
        let mask = instruction.field(0, 6);
        let [first, last] = [instruction.field(6, 3), instruction.field(12, 3)];
        self.for_selected(thread, instruction, |counters| {
            if mask & 1 != 0 {
                counters[0] = first;
            }
            if mask & 4 != 0 {
                counters[1] = last;
            }
        });
    }

    fn for_selected(
        &mut self,
        thread: usize,
        instruction: Instruction,
        mut action: impl FnMut(&mut [u32; 2]),
    ) {
        let mask = instruction.field(21, 3);
        for (index, counters) in self.0[thread % THREAD_COUNT].iter_mut().enumerate() {
            if mask >> index & 1 != 0 {
                action(counters);
            }
        }
    }

    /// Returns the number of data that an instruction with a thread's counters moves.
    pub(super) fn count(&self, thread: usize, user: usize) -> u64 {
        let [first, last] = self.0[thread % THREAD_COUNT][user];
        u64::from((last + 1).saturating_sub(first))
    }
}

/// The two unpackers, which share bandwidth of L1.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unpackers {
    units: [Unpacker; 2],
    /// First cycle at which an instruction can begin to find its address.
    address_from: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Unpacker {
    /// Cycle at which the unpacker has read all its data.
    done_at: u64,
    /// Bytes that it reads in a cycle if it is alone.
    rate: u64,
    /// Bytes that it could read besides its own in its last cycle.
    spare: u64,
    /// The bank of its source that it fills, if it gives it to the matrix unit at its end.
    given_bank: Option<usize>,
}

/// A bank whose data come later than was assumed: unpacker, bank and cycle.
pub(super) type Delay = (usize, usize, u64);

impl Unpackers {
    /// Returns the first cycle at which an unpacker can begin.
    pub(super) fn free_at(&self, unpacker: usize) -> u64 {
        self.units[unpacker].done_at.max(self.address_from)
    }

    /// Lets an unpacker read bytes; returns the cycle at which it has read them, and the delay that
    /// this causes to the other one, if it gives a bank away.
    pub(super) fn read(
        &mut self,
        unpacker: usize,
        cycle: u64,
        (bytes, rate): (u64, u64),
    ) -> (u64, Option<Delay>) {
        let begin = cycle + ADDRESS_CYCLES;
        self.address_from = begin;
        let other = self.units[1 - unpacker];
        let others_bytes = other.done_at.saturating_sub(begin) * other.rate;
        let others_bytes = others_bytes.saturating_sub(other.spare);
        let [mine, others] = shared_rates(unpacker, rate, other.rate);
        // Both read until one of them is done; the other one then reads alone.
        let shared_cycles = match others_bytes {
            0 => 0,
            _ => bytes.div_ceil(mine).min(others_bytes.div_ceil(others)),
        };
        let alone = |bytes: u64, shared: u64, rate: u64| {
            let left = bytes.saturating_sub(shared * shared_cycles);
            let done_at = begin + shared_cycles + left.div_ceil(rate);
            (done_at, left.next_multiple_of(rate) - left)
        };
        let (done_at, spare) = alone(bytes, mine, rate);
        self.units[unpacker] = Unpacker { done_at, rate, spare, given_bank: None };
        let mut delay = None;
        if shared_cycles > 0 {
            let later = &mut self.units[1 - unpacker];
            (later.done_at, later.spare) = alone(others_bytes, others, other.rate);
            delay = later.given_bank.map(|bank| (1 - unpacker, bank, later.done_at));
        }
        (done_at, delay)
    }

    /// Notes the bank that an unpacker gives to the matrix unit at the end of its work.
    pub(super) const fn note_bank(&mut self, unpacker: usize, bank: usize) {
        self.units[unpacker].given_bank = Some(bank);
    }
}

/// Returns the bytes that an unpacker and the other one read in a cycle while both read, from those
/// that each of them reads alone.
const fn shared_rates(unpacker: usize, mine: u64, others: u64) -> [u64; 2] {
    let [first, second] = if unpacker == 0 { [mine, others] } else { [others, mine] };
    let shared = match (first, second) {
        (_, 0..=16) => [first, 16],
        (0..=16, _) => [16, second],
        (32, 32) => [16, 16],
        (32, _) => [16, 32],
        (_, 32) => [32, 16],
        _ => [32, 32],
    };
    if unpacker == 0 { shared } else { [shared[1], shared[0]] }
}

/// Returns the cycles in which the packers, or the interfaces of a packer, write `count` data each.
pub(super) const fn packing_cycles(count: u64, (bits, adds): (u64, bool)) -> u64 {
    let writes = (count * bits).div_ceil(8 * PACKED_BYTES);
    let cycles = if adds { ACCUMULATION_CYCLES * writes } else { writes };
    if cycles == 0 { 1 } else { cycles }
}
