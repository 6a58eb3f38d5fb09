//! What the algorithm needs from the hardware: a clock, two kinds of L1 words, a way to DRAM.
//!
//! The traits separate the runtime from the chip, so that one algorithm runs on a Tensix
//! core and in the simulator's native kernels. Nothing here decides anything.

/// The tile's wall clock.
pub trait Clock {
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
}

/// The two halves of a clock reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockWords {
    /// Bits 32 to 63.
    pub high: u32,
    /// Bits 0 to 31.
    pub low: u32,
}

/// The core's control vector and the L1 vectors of its RISCs.
pub trait Memory {
    /// Reads word `index` of the control vector.
    fn control(&mut self, index: usize) -> u32;

    /// Writes word `index` of the control vector.
    fn set_control(&mut self, index: usize, value: u32);

    /// Reads word `index` of the L1 vector of the RISC `risc_index`.
    fn vector(&mut self, risc_index: usize, index: usize) -> u32;

    /// Writes word `index` of the L1 vector of the RISC `risc_index`.
    fn set_vector(&mut self, risc_index: usize, index: usize, value: u32);
}

/// Where a push takes its words from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushSource {
    /// The first words of a RISC's L1 vector.
    Vector {
        /// Which RISC's.
        risc_index: usize,
    },
    /// The trailer staging words of the control vector.
    Trailer,
}

/// Where a push goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushDestination {
    /// DRAM bank.
    pub bank: u32,
    /// Byte address in that bank, a multiple of 16.
    pub address: u32,
}

/// The write path from L1 to DRAM.
pub trait Noc {
    /// Whether a command buffer that a push would use holds a linked transaction, so that
    /// any other write would hang the NoC.
    fn is_linked(&mut self) -> bool;

    /// Whether this one command buffer holds a linked transaction.
    fn is_command_buffer_linked(&mut self, command_buffer: u32) -> bool {
        let _ = command_buffer;
        self.is_linked()
    }

    /// Saves what the kernel has set up in the command buffer, before the first push.
    fn begin_pushes(&mut self);

    /// Starts a write of `word_count` words, a multiple of 4, with acknowledgement.
    fn push(&mut self, source: PushSource, word_count: u32, destination: PushDestination);

    /// Waits until DRAM has acknowledged every write since [`Noc::begin_pushes`].
    fn wait_for_pushes(&mut self);

    /// Puts back what [`Noc::begin_pushes`] saved.
    fn end_pushes(&mut self);
}

/// All that the runtime of one RISC stands on.
pub trait Port: Clock + Memory + Noc {
    /// Index of this RISC in its core: 0 BRISC or ERISC, 1 NCRISC, 2 to 4 TRISCs.
    fn risc_index(&self) -> usize;

    /// How many RISCs of this core have a vector.
    fn risc_count(&self) -> usize;

    /// Whether sum zones are recorded.
    fn sums_enabled(&self) -> bool;

    /// Words of a DRAM lane if the host has not said otherwise in the control vector.
    fn default_lane_words(&self) -> u32;

    /// DRAM banks that [`Noc::push`] can reach; a core dealt to a bank beyond has no lane.
    fn bank_count(&self) -> u32 {
        u32::MAX
    }

    /// Whether this RISC may push its own markers while its kernel runs.
    fn can_quick_push(&self) -> bool {
        self.risc_index() < 2
    }

    /// Whether this is a dispatch kernel, which keeps headroom and pushes when nearly full.
    fn is_dispatch(&self) -> bool {
        false
    }

    /// Whether only one envelope per trace replay is recorded.
    fn is_trace_only(&self) -> bool {
        false
    }

    /// Where the core sees itself on the NoC, `None` to leave the control words alone.
    fn noc_coordinates(&self) -> Option<NocCoordinates> {
        None
    }

    /// The place of word 0 of this RISC's own vector, see [`Port::write_own`].
    fn own_place(&self) -> u32 {
        0
    }

    /// Writes the word at `place` in this RISC's own vector.
    ///
    /// A place is [`Port::own_place`] plus four times the word's index. A port whose places
    /// are addresses so spares each marker the address arithmetic.
    fn write_own(&mut self, place: u32, value: u32) {
        let index = place.wrapping_sub(self.own_place()) / 4;
        self.set_vector(self.risc_index(), index as usize, value);
    }
}

/// A tile's place on the NoC as the tile itself sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NocCoordinates {
    /// Column.
    pub x: u32,
    /// Row.
    pub y: u32,
}
