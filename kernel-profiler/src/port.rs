//! Interface of the algorithm to the hardware: a clock, two kinds of L1 words, a way to DRAM.
//!
//! The traits separate the runtime from the chip, so that one algorithm runs on a Tensix
//! core and natively, in tests. Nothing here decides anything.

use wire::{
    control::ControlLayout, loss::LossKind, marker::TIME_HIGH_MASK, noc_event::NocCounter,
    vector::VECTOR_WORDS, wait::SyncWindows,
};

/// The tile's wall clock.
pub trait Clock {
    /// Reads the low word alone.
    fn now_low(&mut self) -> u32 {
        self.now().low
    }

    /// Reads the low and the live high word, back to back, low first.
    ///
    /// A pair that is torn by a wrap of the low word is 2^32 cycles too large; the host
    /// sees the step within the lane and repairs it.
    fn now(&mut self) -> ClockWords;

    /// Called before a reading is used: what the program has stored until here is stored
    /// while the clock's loads are under way.
    #[inline(always)]
    fn await_reading(&mut self, reading: ClockWords) -> ClockWords {
        reading
    }

    /// As [`Clock::await_reading`], with as much of the high word as a marker keeps.
    #[inline(always)]
    fn await_masked(&mut self, reading: ClockWords) -> ClockWords {
        ClockWords { high: reading.high & TIME_HIGH_MASK, ..reading }
    }
}

/// The two halves of a clock reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockWords {
    /// Bits 32 to 63.
    pub high: u32,
    /// Bits 0 to 31.
    pub low: u32,
}

/// The core's control vector and the L1 vectors of its RISCs.
///
/// The runtime reaches a word by its *place*. A port whose places are addresses overrides the
/// methods on places, and so spares every access the address arithmetic; in the places
/// of any other port the control vector comes first and the vectors follow, four per word.
pub trait Memory {
    /// Reads word `index` of the control vector.
    fn control(&mut self, index: usize) -> u32;

    /// Writes word `index` of the control vector.
    fn set_control(&mut self, index: usize, value: u32);

    /// Reads word `index` of the L1 vector of the RISC `risc_index`.
    fn vector(&mut self, risc_index: usize, index: usize) -> u32;

    /// Writes word `index` of the L1 vector of the RISC `risc_index`.
    fn set_vector(&mut self, risc_index: usize, index: usize, value: u32);

    /// The place of word `index` of the control vector.
    fn control_place(&self, index: usize) -> u32 {
        word_count(index) * 4
    }

    /// The place of word 0 of the L1 vector of the RISC `risc_index`. The other words follow,
    /// four places apart.
    fn vector_place(&self, risc_index: usize) -> u32 {
        self.control_place(CONTROL.word_count) + word_count(risc_index * VECTOR_WORDS) * 4
    }

    /// Reads the word at a place.
    fn load(&mut self, place: u32) -> u32 {
        match word_at(place) {
            (None, index) => self.control(index),
            (Some(risc_index), index) => self.vector(risc_index, index),
        }
    }

    /// Writes the word at a place.
    fn store(&mut self, place: u32, value: u32) {
        match word_at(place) {
            (None, index) => self.set_control(index, value),
            (Some(risc_index), index) => self.set_vector(risc_index, index, value),
        }
    }

    /// Lets later loads see what others have written until now, where a data cache may be on.
    #[inline(always)]
    fn forget_cached(&mut self) {}
}

/// The RISC, if any, in whose vector a place lies where places are no addresses, and the
/// index of the word in that vector or in the control vector.
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
    /// Returns true if a command buffer that a push would use holds a linked transaction, so that
    /// any other write would hang the NoC.
    fn is_linked(&mut self) -> bool;

    /// Returns true if this one command buffer holds a linked transaction.
    fn is_command_buffer_linked(&mut self, command_buffer: u32) -> bool {
        let _ = command_buffer;
        self.is_linked()
    }

    /// Saves what a kernel that goes on after the pushes has set up in the command buffer. At the
    /// end of a launch there is no such kernel.
    fn save_command_buffer(&mut self, saved: &mut SavedRegisters) {
        let _ = saved;
    }

    /// Puts back what [`Noc::save_command_buffer`] saved.
    fn restore_command_buffer(&mut self, saved: &SavedRegisters) {
        let _ = saved;
    }

    /// Waits until the command buffer of pushes takes a command. Returns whether it does, within a
    /// bound; if not, the NoC is stuck, and no other method for pushes may be called.
    #[inline(always)]
    fn await_idle(&mut self) -> bool {
        true
    }

    /// Prepares writes to a DRAM bank that exists, after [`Noc::await_idle`]. Returns what the
    /// other methods ask for, so that it stays in a register meanwhile.
    fn begin_pushes(&mut self, bank: u32) -> Pushes;

    /// Starts a write, with acknowledgement, of `word_count` words from `place` on to the byte
    /// `address` of the bank. A multiple of 4 words, to a multiple of 16 bytes.
    ///
    /// Returns whether it has started; if not, the NoC is stuck, and nothing more is to be pushed
    /// or waited for.
    fn push(&mut self, pushes: Pushes, place: u32, word_count: u32, address: u32) -> bool;

    /// Reads a counter of the NoC of this RISC; 0 where a port has none, as the format has it.
    #[inline(always)]
    fn noc_counter(&mut self, counter: NocCounter) -> u32 {
        let _ = counter;
        0
    }

    /// Counts `count` writes that have started where the kernel's barriers look.
    #[inline(always)]
    fn count_pushes(&mut self, count: u32) {
        let _ = count;
    }

    /// Waits until DRAM has acknowledged every write since [`Noc::begin_pushes`], and for nothing
    /// else. Returns whether it has, within a bound.
    fn wait_for_pushes(&mut self, pushes: Pushes) -> bool;
}

/// Registers of a command buffer, in an order of the port's own.
pub type SavedRegisters = [u32; 9];

/// Writes to one DRAM bank that are prepared, as a port knows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pushes(pub u32);

/// All that the runtime of one RISC stands on.
pub trait Port: Clock + Memory + Noc {
    /// Index of this RISC in its core: 0 BRISC or ERISC, 1 NCRISC, 2 to 4 TRISCs.
    fn risc_index(&self) -> usize;

    /// How many RISCs of this core have a vector: five on a Tensix core, else one.
    fn risc_count(&self) -> usize;

    /// The place of the control word with the index of this RISC. From it, the RISC's word in
    /// any block that has one per RISC is as far as that of RISC 0 from word 0.
    #[inline(always)]
    fn own_place(&self) -> u32 {
        self.control_place(self.risc_index())
    }

    /// The place of word 0 of this RISC's own vector.
    #[inline(always)]
    fn own_vector(&self) -> u32 {
        self.vector_place(self.risc_index())
    }

    /// Counts one record that found no room, in this RISC's word of its kind.
    fn count_loss(&mut self, kind: LossKind) {
        let place = self.own_place() + word_count(kind.control_word()) * 4;
        let lost = self.load(place);
        self.store(place, lost.wrapping_add(1));
    }

    /// Returns true if sum zones are recorded.
    fn sums_enabled(&self) -> bool;

    /// Records of waits that are made.
    #[inline(always)]
    fn wait_records(&self) -> WaitRecords {
        WaitRecords::Off
    }

    /// The windows in which waits and signals are recorded one by one; `None` for all of the time.
    #[inline(always)]
    fn sync_windows(&self) -> Option<SyncWindows> {
        None
    }

    /// Chip whose hardware counters can be reached; `None` where none are recorded.
    #[inline(always)]
    fn counter_chip(&self) -> Option<CounterChip> {
        None
    }

    /// Reads one of the tile's debug registers, by its offset in their block.
    #[inline(always)]
    fn load_debug_register(&mut self, register: u32) -> u32 {
        let _ = register;
        0
    }

    /// Writes one of the tile's debug registers, by its offset in their block.
    #[inline(always)]
    fn store_debug_register(&mut self, register: u32, value: u32) {
        let _ = (register, value);
    }

    /// DRAM banks that pushes can reach; a core dealt to a bank beyond has no lane.
    fn bank_count(&self) -> u32 {
        u32::MAX
    }

    /// Returns the offset that is added to the addresses of pushes to a bank that exists.
    fn bank_offset(&self, bank: u32) -> u32 {
        let _ = bank;
        0
    }

    /// Returns true if this RISC may push its own markers while its kernel runs.
    fn can_quick_push(&self) -> bool {
        self.risc_index() < 2
    }

    /// Returns true for a dispatch kernel, which keeps headroom and pushes when nearly full.
    fn is_dispatch(&self) -> bool {
        false
    }

    /// Returns true if only one envelope per trace replay is recorded.
    fn is_trace_only(&self) -> bool {
        false
    }

    /// Returns true if the runs of several launches share a push, see
    /// `kernel_profiler::accumulate`.
    #[inline(always)]
    fn is_accumulating(&self) -> bool {
        false
    }

    /// Returns true in the debug dump: a RISC whose lane is full waits for the host, see
    /// `kernel_profiler::stall`, and one whose ring is full pushes.
    #[inline(always)]
    fn is_non_dropping(&self) -> bool {
        false
    }

    /// Returns true if records are streamed, see `kernel_profiler::stream`.
    #[inline(always)]
    fn is_streaming(&self) -> bool {
        false
    }

    /// Cycles that a RISC waits for the host at most.
    #[inline(always)]
    fn stall_cycles(&self) -> u32 {
        STALL_CYCLES
    }

    /// Lets some cycles pass between two looks at how far the host has read.
    #[inline(always)]
    fn rest(&mut self) {}

    /// Returns true if unused guaranteed slots are emptied by both of their words. Where each store
    /// to L1 takes its time, the first one is enough: a reader looks at no other.
    fn empties_both_words(&self) -> bool {
        true
    }

    /// The value itself, which a compiler for a RISC must not look through: it keeps this value in
    /// a register instead of others from which it can compute it, and makes nothing of it in
    /// advance. The runtime asks for that where the code gets smaller.
    #[inline(always)]
    fn opaque(&self, value: u32) -> u32 {
        value
    }

    /// Where the core sees itself on the NoC, `None` to leave the control words alone.
    fn noc_coordinates(&self) -> Option<NocCoordinates> {
        None
    }
}

/// Cycles that a RISC waits for the host at most in the debug dump: a second at 1 GHz. TT-Metal's
/// host reads every half a second, and a read takes time, too.
pub const STALL_CYCLES: u32 = 1 << 30;

/// Records of waits that are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitRecords {
    /// None.
    Off,
    /// A total for each object, at the kernel's end.
    #[default]
    Totals,
    /// Totals, blocked waits and signals.
    Events,
}

/// Chips, as far as hardware counters differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterChip {
    /// Wormhole.
    Wormhole,
    /// Blackhole.
    Blackhole,
}

/// A tile's place on the NoC as the tile itself sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NocCoordinates {
    /// Column.
    pub x: u32,
    /// Row.
    pub y: u32,
}

const CONTROL: ControlLayout = ControlLayout::WORDS64;

/// Words of a core's memory, of which there are some thousand.
#[expect(clippy::cast_possible_truncation, reason = "a core's memory has some thousand words")]
const fn word_count(words: usize) -> u32 {
    words as u32
}
