//! Hardware interface of the runtime: a clock, the words of a core in L1, and writes to DRAM.
//!
//! The traits separate the runtime from the chip, so that the same algorithms run on a Tensix core
//! and natively in tests. An implementation of the traits only accesses the hardware and says how
//! the runtime was configured. The runtime decides what to record and when to push.

use wire::{
    control::ControlLayout, loss::LossKind, marker::TIME_HIGH_MASK, noc_event::NocCounter,
    vector::VECTOR_WORDS, wait::SyncWindows,
};

/// The tile's wall clock.
pub trait Clock {
    /// Reads the low word only.
    fn now_low(&mut self) -> u32 {
        self.now().low
    }

    /// Reads the low word and, directly after it, the current high word.
    ///
    /// If the low word wraps between the two loads, the result is 2^32 cycles too large; the host
    /// finds the jump in the lane's times and corrects the time.
    fn now(&mut self) -> ClockWords;

    /// Waits for the result of a clock reading exactly at this point of the program. Stores before
    /// this call are thus issued while the clock's loads are in flight.
    #[inline(always)]
    fn await_reading(&mut self, reading: ClockWords) -> ClockWords {
        reading
    }

    /// Waits like [`Clock::await_reading`], and clears the bits of the high word that a marker does
    /// not contain.
    #[inline(always)]
    fn await_masked(&mut self, reading: ClockWords) -> ClockWords {
        ClockWords { high: reading.high & TIME_HIGH_MASK, ..reading }
    }
}

/// The two words of a clock reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockWords {
    /// Bits 32 to 63.
    pub high: u32,
    /// Bits 0 to 31.
    pub low: u32,
}

/// Smallest low word of a clock reading that may wrap before the high word is read. The high word
/// may then be 1 too large.
pub(crate) const NEAR_END: u32 = u32::MAX << 8;

/// Reads both words of the clock, and repeats the reading if the low word is about to wrap.
pub(crate) fn whole_time<C: Clock + ?Sized>(clock: &mut C) -> ClockWords {
    loop {
        let now = clock.now();
        if now.low < NEAR_END {
            return now;
        }
    }
}

/// The core's control vector and the L1 vectors of its RISCs.
///
/// The runtime identifies a word by its address, called *place*. A port that accesses L1 uses
/// memory addresses and overrides `control_place` and `vector_place`. In other ports, a place is a
/// byte offset in the control vector followed by the vectors, see [`word_at`].
pub trait Memory {
    /// Reads the word at the address `place`.
    fn load(&mut self, place: u32) -> u32;

    /// Writes the word at the address `place`.
    fn store(&mut self, place: u32, value: u32);

    /// Returns the address of word `index` of the control vector.
    fn control_place(&self, index: usize) -> u32 {
        word_count(index) * 4
    }

    /// Returns the address of word 0 of the L1 vector of the RISC `risc_index`. The addresses of
    /// the other words follow in steps of 4.
    fn vector_place(&self, risc_index: usize) -> u32 {
        self.control_place(CONTROL.word_count) + word_count(risc_index * VECTOR_WORDS) * 4
    }

    /// Reads word `index` of the control vector.
    #[inline(always)]
    fn control(&mut self, index: usize) -> u32 {
        self.load(self.control_place(index))
    }

    /// Writes word `index` of the control vector.
    #[inline(always)]
    fn set_control(&mut self, index: usize, value: u32) {
        self.store(self.control_place(index), value);
    }

    /// Makes writes by other RISCs, the NoC and the host visible to this RISC, in case its data
    /// cache is on.
    #[inline(always)]
    fn forget_cached(&mut self) {}
}

/// Converts the byte offset `place` of a word to the vector that contains the word, and the word's
/// index in that vector. Only for ports in which places are byte offsets, see [`Memory`].
///
/// A vector is given by the index of its RISC; `None` is the control vector.
///
/// ```
/// use kernel_profiler::port::word_at;
/// assert_eq!(word_at(8), (None, 2));
/// assert_eq!(word_at(256 + 2048 + 4), (Some(1), 1));
/// ```
#[must_use]
pub const fn word_at(place: u32) -> (Option<usize>, usize) {
    let word = place as usize / 4;
    match word.checked_sub(CONTROL.word_count) {
        None => (None, word),
        Some(word) => (Some(word / VECTOR_WORDS), word % VECTOR_WORDS),
    }
}

/// The write path from L1 to DRAM.
pub trait Noc {
    /// Returns true if a linked transaction is in progress in a command buffer used for pushes.
    /// Until that transaction ends, any other write would hang the NoC.
    fn is_linked(&mut self) -> bool;

    /// Returns true if a linked transaction is in progress in the given command buffer.
    fn is_command_buffer_linked(&mut self, command_buffer: u32) -> bool {
        let _ = command_buffer;
        self.is_linked()
    }

    /// Saves the registers of the command buffer, so that a kernel can continue to use it after a
    /// push. Pushes at the end of a launch need no saving.
    fn save_command_buffer(&mut self, saved: &mut SavedRegisters) {
        let _ = saved;
    }

    /// Restores the registers that [`Noc::save_command_buffer`] saved.
    fn restore_command_buffer(&mut self, saved: &SavedRegisters) {
        let _ = saved;
    }

    /// Waits, up to a limit, until the command buffer for pushes accepts a command. Returns true if
    /// a command is accepted.
    ///
    /// If the result is false, the NoC is stuck, and no other method for pushes may be called.
    #[inline(always)]
    fn await_idle(&mut self) -> bool {
        true
    }

    /// Prepares writes to a DRAM bank that exists. The caller has called [`Noc::await_idle`]
    /// before.
    ///
    /// Returns a value to pass to the other methods. The value stays in a register between the
    /// calls.
    fn begin_pushes(&mut self, bank: u32) -> Pushes;

    /// Starts an acknowledged write of the `word_count` words at `place` to the byte `address` of
    /// the bank.
    ///
    /// The length is a multiple of 4 words, and the address a multiple of 16 bytes. Returns true if
    /// the write has started. If the write has not started, the NoC is stuck, and no further push
    /// or wait is allowed.
    fn push(&mut self, pushes: Pushes, place: u32, word_count: u32, address: u32) -> bool;

    /// Reads a counter of this RISC's NoC. Returns 0, as the format requires, if the port has no
    /// counters.
    #[inline(always)]
    fn noc_counter(&mut self, counter: NocCounter) -> u32 {
        let _ = counter;
        0
    }

    /// Adds `count` to the counters of started writes, which the kernel's barriers compare with the
    /// NoC's counters.
    #[inline(always)]
    fn count_pushes(&mut self, count: u32) {
        let _ = count;
    }

    /// Waits, up to a limit, until DRAM has acknowledged every write since [`Noc::begin_pushes`].
    /// Does not wait for other writes. Returns true if all have been acknowledged.
    fn wait_for_pushes(&mut self, pushes: Pushes) -> bool;
}

/// Saved registers of a command buffer, in an order that each port chooses.
pub type SavedRegisters = [u32; 9];

/// Handle for writes prepared by [`Noc::begin_pushes`]; each port chooses the meaning of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pushes(pub u32);

/// The whole hardware interface of the runtime on one RISC.
pub trait Port: Clock + Memory + Noc {
    /// Returns the index of this RISC in its core: 0 for BRISC or ERISC, 1 for NCRISC, 2 to 4 for
    /// TRISCs.
    fn risc_index(&self) -> usize;

    /// Returns the number of RISCs of this core that have a vector: five on a Tensix core, one on
    /// any other.
    fn risc_count(&self) -> usize;

    /// Returns the address of control word `r`, where `r` is this RISC's index.
    ///
    /// Some values have one control word per RISC, in consecutive words. If the first of these
    /// words has the index `first`, this RISC's word is at the returned address plus `4 * first`.
    #[inline(always)]
    fn own_place(&self) -> u32 {
        self.control_place(self.risc_index())
    }

    /// Returns the address of word 0 of this RISC's own vector.
    #[inline(always)]
    fn own_vector(&self) -> u32 {
        self.vector_place(self.risc_index())
    }

    /// Increments this RISC's counter of lost records of a kind, because a record had no room.
    fn count_loss(&mut self, kind: LossKind) {
        let place = self.own_place() + word_count(kind.control_word()) * 4;
        let lost = self.load(place);
        self.store(place, lost.wrapping_add(1));
    }

    /// Returns true if sum zones (zones recorded only as a total time) are recorded.
    fn sums_enabled(&self) -> bool;

    /// Returns which kinds of records this port makes for waits.
    #[inline(always)]
    fn wait_records(&self) -> WaitRecords {
        WaitRecords::Off
    }

    /// Returns the windows of time in which individual waits and signals are recorded; `None` if
    /// they are recorded at any time.
    #[inline(always)]
    fn sync_windows(&self) -> Option<SyncWindows> {
        None
    }

    /// Returns the chip, which determines which hardware counters exist; `None` if no counters are
    /// recorded.
    #[inline(always)]
    fn counter_chip(&self) -> Option<CounterChip> {
        None
    }

    /// Reads one of the tile's debug registers, given its offset in the block of these registers.
    #[inline(always)]
    fn load_debug_register(&mut self, register: u32) -> u32 {
        let _ = register;
        0
    }

    /// Writes one of the tile's debug registers, given its offset in the block of these registers.
    #[inline(always)]
    fn store_debug_register(&mut self, register: u32, value: u32) {
        let _ = (register, value);
    }

    /// Returns the number of DRAM banks that pushes can reach. A core whose bank does not exist has
    /// no lane.
    fn bank_count(&self) -> u32 {
        u32::MAX
    }

    /// Returns the offset that is added to the addresses of pushes to a bank. The bank must exist.
    fn bank_offset(&self, bank: u32) -> u32 {
        let _ = bank;
        0
    }

    /// Returns true if this RISC may push its own markers to DRAM while its kernel runs.
    fn can_quick_push(&self) -> bool {
        self.risc_index() < 2
    }

    /// Returns true for a dispatch kernel, which leaves headroom and pushes when only the headroom
    /// is left.
    fn is_dispatch(&self) -> bool {
        false
    }

    /// Returns true in trace-only mode: for each trace replay, only the start and the end are
    /// recorded, see `kernel_profiler::trace`.
    fn is_trace_only(&self) -> bool {
        false
    }

    /// Returns true if one push transfers the runs of several launches, see
    /// `kernel_profiler::accumulate`.
    #[inline(always)]
    fn is_accumulating(&self) -> bool {
        false
    }

    /// Returns true in the debug dump, see `kernel_profiler::stall`.
    ///
    /// In this mode, a RISC with a full lane waits for the host, and a RISC with a full vector
    /// pushes.
    #[inline(always)]
    fn is_non_dropping(&self) -> bool {
        false
    }

    /// Returns true if records are streamed, see `kernel_profiler::stream`.
    #[inline(always)]
    fn is_streaming(&self) -> bool {
        false
    }

    /// Returns the maximum number of cycles that a RISC waits for the host.
    #[inline(always)]
    fn stall_cycles(&self) -> u32 {
        STALL_CYCLES
    }

    /// Pauses for some cycles between two reads of the host's progress.
    #[inline(always)]
    fn rest(&mut self) {}

    /// Returns true if both words of an unused fixed slot are to be emptied.
    ///
    /// Readers check only the first word. The second word is therefore left unchanged on chips on
    /// which a store to L1 takes several cycles.
    fn empties_both_words(&self) -> bool {
        true
    }

    /// Returns `value` unchanged, and on a RISC hides from the compiler how it was computed.
    ///
    /// The compiler then keeps the result in a register, instead of recomputing it from other
    /// values, and precomputes nothing from it. Use this where it makes code smaller.
    #[inline(always)]
    fn opaque(&self, value: u32) -> u32 {
        value
    }

    /// Returns the core's own coordinates on the NoC. If `None`, the runtime does not change the
    /// coordinates in the control vector.
    fn noc_coordinates(&self) -> Option<NocCoordinates> {
        None
    }
}

/// Maximum number of cycles that a RISC waits for the host in the debug dump: about a second at 1
/// GHz. TT-Metal's host reads once every half a second, and a read takes time, too.
pub const STALL_CYCLES: u32 = 1 << 30;

/// Kinds of wait records that a port makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitRecords {
    /// No records of waits.
    Off,
    /// Total for each object that the kernel waited for, recorded at the kernel's end.
    #[default]
    Totals,
    /// Totals as in [`Self::Totals`], and a record of each wait that blocked and of each signal.
    Events,
}

/// Chips that differ in their hardware counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterChip {
    /// Wormhole.
    Wormhole,
    /// Blackhole.
    Blackhole,
}

/// A tile's coordinates on the NoC, as its own registers show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NocCoordinates {
    /// Column.
    pub x: u32,
    /// Row.
    pub y: u32,
}

const CONTROL: ControlLayout = ControlLayout::WORDS64;

/// Converts a word count to 32 bits; the memory of a core has only some thousand words.
#[expect(clippy::cast_possible_truncation, reason = "a core's memory has some thousand words")]
const fn word_count(words: usize) -> u32 {
    words as u32
}
