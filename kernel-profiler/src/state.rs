//! What one RISC remembers: where it writes, how much fits, what it lost.
//!
//! The fields stand here; what happens to them is in [`crate::buffer`] (markers),
//! [`crate::launch`] (zones of the firmware), [`crate::flush`] (pushes) and
//! [`crate::loss`].

use crate::lane::Lanes;
use wire::{loss::LossCounts, vector};

/// The runtime of one RISC, kept in its local RAM.
///
/// All zero is a valid state: nothing fits, every probe counts a loss, until
/// [`State::init`] has run.
///
/// Between two launches and at any point within one,
/// `cursor + room + ends of open zones` is the size of the vector. So the end of every open
/// zone has its words, whatever else was recorded.
#[repr(C)]
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Place of the next free word, see [`crate::port::Memory`].
    pub(crate) cursor: u32,
    /// Bytes that are neither used nor kept for the end of an open zone. While nothing is
    /// recorded, [`CLOSED`] is set in it, which makes it negative.
    pub(crate) room: i32,
    /// What found no room since the launch began.
    pub(crate) lost: Counts,
    /// The accumulators of the sum zones.
    pub(crate) sums: [Sum; wire::dram::SUM_COUNT],
    /// Place of this RISC's vector while it holds a run of this launch, 0 while it does not.
    pub(crate) vector: u32,
    /// Trace replays that this core has seen; only the aggregating RISC counts.
    pub(crate) trace_count: u32,
    /// Where markers go, as the host has said before this launch.
    pub(crate) lanes: Lanes,
    /// The losses of the run that is being pushed. Kept here because stacks are small.
    pub(crate) reported: [u32; 8],
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

/// The bits of [`State::room`] that say that nothing is recorded. All above those of any room.
pub(crate) const CLOSED: i32 = -2048;

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

/// As [`word_count`], for the distance of a word from the first one of a vector, in places.
#[inline(always)]
pub(crate) const fn offset(words: usize) -> u32 {
    word_count(words) * 4
}

impl State {
    /// The state before the firmware's first launch.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            cursor: 0,
            room: 0,
            lost: NOTHING_LOST,
            sums: UNUSED_SUMS,
            vector: 0,
            trace_count: 0,
            lanes: Lanes::NONE,
            reported: [0; 8],
        }
    }

    /// What this RISC lost since its launch began and has not reported yet.
    #[must_use]
    pub const fn lost(&self) -> LossCounts {
        let [zones, data, events, sums] = self.lost;
        LossCounts { zones, data, events, sums }
    }

    /// Whether the launch has a run in the vector, be it of fixed zones alone.
    pub(crate) const fn is_recording(&self) -> bool {
        self.vector != 0
    }
}

/// Records that were lost, by [`wire::loss::LossKind`].
pub(crate) type Counts = [u32; wire::loss::LossKind::ALL.len()];

pub(crate) const NOTHING_LOST: Counts = [0; wire::loss::LossKind::ALL.len()];

pub(crate) const UNUSED_SUMS: [Sum; wire::dram::SUM_COUNT] =
    [Sum { header: 0, cycles: 0, is_contested: false }; wire::dram::SUM_COUNT];

const _: () = assert!(OPTIONAL_BYTES <= !CLOSED);
