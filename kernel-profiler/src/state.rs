//! What one RISC remembers: where it writes, how much fits, what it lost.
//!
//! The fields stand here; what happens to them is in [`crate::buffer`] (markers),
//! [`crate::launch`] (zones of the firmware), [`crate::flush`] (pushes) and
//! [`crate::loss`].

use wire::{loss::LossCounts, vector};

/// The runtime of one RISC, kept in its local RAM.
///
/// All zero is a valid state: nothing fits, every probe counts a loss, until
/// [`State::init`] has run.
///
/// Between two launches and at any point within one,
/// `cursor + room + withheld + ends of open zones` is the size of the vector. So the end
/// of every open zone has its words, whatever else was recorded.
#[repr(C)]
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Place of the next free word, see [`crate::port::Port::write_own`].
    pub(crate) cursor: u32,
    /// Bytes that are neither used nor kept for the end of an open zone.
    pub(crate) room: i32,
    /// Bytes that would be room if the DRAM lane could take them.
    pub(crate) withheld: i32,
    /// What found no room since the launch began.
    pub(crate) lost: LossCounts,
    /// The accumulators of the sum zones.
    pub(crate) sums: [Sum; wire::dram::SUM_COUNT],
    /// Trace replays that this core has seen; only the aggregating RISC counts.
    pub(crate) trace_count: u32,
    /// Whether a launch is under way whose markers DRAM can take.
    pub(crate) is_recording: bool,
    /// Whether the fixed zones of this launch have gone to DRAM by a quick push.
    pub(crate) has_quick_pushed: bool,
}

/// The cycles that the zones of one accumulator took in this launch.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    /// Header of the total, 0 while nobody has used the accumulator.
    pub(crate) header: u32,
    /// Cycles, at most `u32::MAX`.
    pub(crate) cycles: u32,
    /// Whether a zone of another name wanted the accumulator too.
    pub(crate) is_contested: bool,
}

/// Bytes from the start of a vector to its first optional word.
pub(crate) const FIRST_OPTIONAL_BYTES: u32 = word_count(vector::FIRST_OPTIONAL) * 4;

/// Bytes for optional markers.
pub(crate) const OPTIONAL_BYTES: i32 = bytes(vector::VECTOR_WORDS - vector::FIRST_OPTIONAL);

/// Bytes of a number of words that lies within a vector.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "asserted to fit a vector"
)]
pub(crate) const fn bytes(words: usize) -> i32 {
    assert!(words <= vector::VECTOR_WORDS);
    (words * 4) as i32
}

/// A number of words that lies within a vector, as the control vector counts them.
#[expect(clippy::cast_possible_truncation, reason = "asserted to fit a vector")]
pub(crate) const fn word_count(words: usize) -> u32 {
    assert!(words <= vector::VECTOR_WORDS);
    words as u32
}

impl State {
    /// The state before the firmware's first launch.
    #[must_use]
    pub const fn new() -> Self {
        const UNUSED: Sum = Sum { header: 0, cycles: 0, is_contested: false };
        Self {
            cursor: 0,
            room: 0,
            withheld: 0,
            lost: NOTHING_LOST,
            sums: [UNUSED; wire::dram::SUM_COUNT],
            trace_count: 0,
            is_recording: false,
            has_quick_pushed: false,
        }
    }

    /// What this RISC lost since its launch began and has not reported yet.
    #[must_use]
    pub const fn lost(&self) -> LossCounts {
        self.lost
    }
}

pub(crate) const NOTHING_LOST: LossCounts = LossCounts { zones: 0, data: 0, events: 0, sums: 0 };
