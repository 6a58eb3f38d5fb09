//! How our runtime says exactly what it dropped, and why.
//!
//! Upstream has one bit per RISC for "DRAM was full" and nothing for "L1 was full". Our
//! runtime leaves two kinds of record, both invisible to upstream's reader:
//!
//! A **trailer** ends a run in DRAM that itself lost markers. Each pair of words is an
//! empty marker header ([`crate::marker::EMPTY_HEADER`]), which upstream skips, and a low
//! word with a tag and a count:
//!
//! ```text
//! 31 .. 28   27 .. 0
//! +---------+---------+
//! | tag     | count   |     tag 0: plain padding, count 0
//! +---------+---------+
//! ```
//!
//! A **loss log** lies in the RISC's L1 vector, from word [`LOG_START`], where whole runs
//! found no room in DRAM. The vector is free for it: a lane that is full records no
//! markers until the host has read it. Launches that lost the same counts under ids of
//! even spacing share one [`LossExtent`], so the log stays small; when it is full, a last
//! extent without ids gathers the rest.

use crate::{marker::EMPTY_HEADER, vector};

/// What was lost, by kind of record. A zone counts once, start and end together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LossCounts {
    /// Whole zones.
    pub zones: u32,
    /// Timestamped data of both sizes.
    pub data: u32,
    /// Events.
    pub events: u32,
    /// Sum totals.
    pub sums: u32,
}

impl LossCounts {
    /// Whether nothing was lost.
    #[must_use]
    pub const fn is_zero(&self) -> bool {
        self.zones == 0 && self.data == 0 && self.events == 0 && self.sums == 0
    }

    /// Sums of the counts, kind by kind, modulo 2^32 as a device forms them.
    #[must_use]
    pub const fn wrapping_add(self, other: Self) -> Self {
        Self {
            zones: self.zones.wrapping_add(other.zones),
            data: self.data.wrapping_add(other.data),
            events: self.events.wrapping_add(other.events),
            sums: self.sums.wrapping_add(other.sums),
        }
    }
}

/// A kind of record that can be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LossKind {
    /// A zone, start and end together.
    Zone,
    /// Timestamped data.
    Data,
    /// An event.
    Event,
    /// A sum total.
    Sum,
}

impl LossKind {
    /// Every kind, in the order of their tags.
    pub const ALL: [Self; 4] = [Self::Zone, Self::Data, Self::Event, Self::Sum];
}

/// Why a record of a run was lost, as far as a trailer can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TrailerCause {
    /// The L1 vector had no room.
    L1Full,
    /// The DRAM lane had room for the guaranteed markers only.
    DramFull,
}

/// One pair of a trailer.
///
/// ```
/// use wire::loss::{LossKind, TrailerCause, TrailerPair};
/// let pair = TrailerPair { cause: TrailerCause::L1Full, kind: LossKind::Zone, count: 25 };
/// assert_eq!(pair.to_words(), [0x8000_0000, 0x1000_0019]);
/// assert_eq!(TrailerPair::from_low(0x1000_0019), Some(pair));
/// assert_eq!(TrailerPair::from_low(0), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TrailerPair {
    /// Why.
    pub cause: TrailerCause,
    /// What.
    pub kind: LossKind,
    /// How many; [`LEFT_COUNT_MAX`] and above mean "that many or more".
    pub count: u32,
}

/// Largest count of a trailer pair.
pub const TRAILER_COUNT_MAX: u32 = (1 << TAG_SHIFT) - 1;

/// Words of the trailer that our runtime writes: a pair per kind, counts of 0 included.
///
/// A run of which DRAM took the guaranteed part only lost all its other records for that
/// reason, so that one cause is enough.
pub const TRAILER_WORDS: u32 = 8;

const _: () = assert!(TRAILER_WORDS as usize == 2 * LossKind::ALL.len());

impl TrailerPair {
    /// The header and low word of this pair.
    #[must_use]
    pub const fn to_words(self) -> [u32; 2] {
        [EMPTY_HEADER, trailer_low(self.cause, self.kind as u32, self.count)]
    }

    /// Reads the low word after an empty header; `None` for padding and unknown tags.
    #[must_use]
    pub const fn from_low(low: u32) -> Option<Self> {
        let tag = low >> TAG_SHIFT;
        let count = low & TRAILER_COUNT_MAX;
        let cause = match tag {
            1..=4 => TrailerCause::L1Full,
            5..=8 => TrailerCause::DramFull,
            _ => return None,
        };
        let kind = LossKind::ALL[((tag - 1) % 4) as usize];
        Some(Self { cause, kind, count })
    }
}

/// The low word of a trailer's pair, of the kind with this number in [`LossKind::ALL`].
#[must_use]
#[inline(always)]
pub const fn trailer_low(cause: TrailerCause, kind: u32, count: u32) -> u32 {
    ((1 + kind + 4 * cause as u32) << TAG_SHIFT) | at_most(count)
}

/// What a RISC has lost, from the words in which it leaves the counts until its run is pushed.
///
/// These are ID words 0 and 1 of its vector and its control word
/// [`crate::control::ext::LEFT_EVENTS`]. The counts are in the order of [`LossKind::ALL`].
///
/// ```text
/// ID word 0     zones
/// ID word 1     data
/// control word  events (28 bits) | sums (4 bits)
/// ```
///
/// All three are 0 where nothing was lost. Counts stop near [`LEFT_COUNT_MAX`], sums at 15; a
/// launch loses at most four, two totals and two of contested accumulators.
///
/// ```
/// use wire::loss::{left_behind_counts, left_behind_words};
/// assert_eq!(left_behind_counts([25, 0, 0x31]), [25, 0, 3, 1]);
/// assert_eq!(left_behind_words([25, 0, 3, 1]), [25, 0, 0x31]);
/// ```
#[must_use]
#[inline(always)]
pub const fn left_behind_counts(words: [u32; 3]) -> [u32; 4] {
    let [zones, data, events] = words;
    [zones, data, events >> LEFT_SUM_BITS, events & LEFT_SUM_MAX]
}

/// The words of [`left_behind_counts`]; each count must fit its field.
#[must_use]
#[inline(always)]
pub const fn left_behind_words(counts: [u32; 4]) -> [u32; 3] {
    let [zones, data, events, sums] = counts;
    [zones, data, (events << LEFT_SUM_BITS) | sums]
}

#[inline(always)]
const fn at_most(count: u32) -> u32 {
    if count > TRAILER_COUNT_MAX { TRAILER_COUNT_MAX } else { count }
}

/// Where the counting of lost records stops: so low that a trailer can hold what the lane cannot
/// take of the same run as well.
pub const LEFT_COUNT_MAX: u32 = TRAILER_COUNT_MAX >> 1;
const LEFT_SUM_BITS: u32 = 4;
/// Most sums that can be left behind.
pub const LEFT_SUM_MAX: u32 = (1 << LEFT_SUM_BITS) - 1;

/// First word of the loss log in a RISC's L1 vector.
pub const LOG_START: usize = vector::FIRST_OPTIONAL;
/// Words of one extent of the log.
pub const EXTENT_WORDS: usize = 8;
/// Extents that a vector has room for, the last one kept for what fits no other.
pub const EXTENTS_MAX: usize = (vector::VECTOR_WORDS - LOG_START) / EXTENT_WORDS;
/// Words of a log before that last extent.
#[expect(clippy::cast_possible_truncation, reason = "a vector has 512 words")]
pub const REMAINDER_START: u32 = ((EXTENTS_MAX - 1) * EXTENT_WORDS) as u32;

/// Launches of one RISC that lost the same counts because its DRAM lane was full.
///
/// Launch `i` of the extent had the program id `first_program + i * program_step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LossExtent {
    /// Program id of the first launch.
    pub first_program: u32,
    /// Distance of the ids of consecutive launches, modulo 2^32.
    pub program_step: u32,
    /// Launches in the extent.
    pub launches: u32,
    /// Whether the ids are unknown: the last extent of a full log. Then
    /// `counts` is the total of all its launches, otherwise the loss of each.
    pub is_remainder: bool,
    /// What was lost.
    pub counts: LossCounts,
}

impl LossExtent {
    /// The words of this extent. The fourth is [`REMAINDER_START`] in the last one of a full log.
    #[must_use]
    pub const fn to_words(self) -> [u32; EXTENT_WORDS] {
        let LossCounts { zones, data, events, sums } = self.counts;
        let before = if self.is_remainder { REMAINDER_START } else { 0 };
        let Self { first_program, program_step, launches, .. } = self;
        [first_program, program_step, launches, before, zones, data, events, sums]
    }

    /// Reads an extent.
    #[must_use]
    pub const fn from_words(words: [u32; EXTENT_WORDS]) -> Self {
        let [first_program, program_step, launches, before, zones, data, events, sums] = words;
        Self {
            first_program,
            program_step,
            launches,
            is_remainder: before == REMAINDER_START,
            counts: LossCounts { zones, data, events, sums },
        }
    }

    /// This extent grown by one launch, if that launch continues it.
    ///
    /// ```
    /// use wire::loss::{LossCounts, LossExtent};
    /// let counts = LossCounts { zones: 2, ..LossCounts::default() };
    /// let one = LossExtent::of_launch(1001, counts);
    /// let two = one.extended(1006, counts).unwrap();
    /// assert_eq!((two.program_step, two.launches), (5, 2));
    /// assert_eq!(two.extended(1007, counts), None);
    /// ```
    #[must_use]
    pub const fn extended(self, program: u32, counts: LossCounts) -> Option<Self> {
        let same = self.counts.zones == counts.zones
            && self.counts.data == counts.data
            && self.counts.events == counts.events
            && self.counts.sums == counts.sums;
        if self.is_remainder || !same || self.launches == u32::MAX {
            return None;
        }
        if self.launches == 1 {
            let program_step = program.wrapping_sub(self.first_program);
            return Some(Self { program_step, launches: 2, ..self });
        }
        let expected =
            self.first_program.wrapping_add(self.program_step.wrapping_mul(self.launches));
        if program != expected {
            return None;
        }
        Some(Self { launches: self.launches + 1, ..self })
    }

    /// An extent of one launch.
    #[must_use]
    pub const fn of_launch(program: u32, counts: LossCounts) -> Self {
        Self { first_program: program, program_step: 0, launches: 1, is_remainder: false, counts }
    }

    /// The remainder extent grown by one launch whose program will not be known.
    #[must_use]
    pub const fn remainder_with(self, counts: LossCounts) -> Self {
        Self {
            launches: self.launches.wrapping_add(1),
            counts: self.counts.wrapping_add(counts),
            ..self
        }
    }

    /// An empty remainder extent.
    pub const EMPTY_REMAINDER: Self = Self {
        first_program: 0,
        program_step: 0,
        launches: 0,
        is_remainder: true,
        counts: LossCounts { zones: 0, data: 0, events: 0, sums: 0 },
    };
}

const TAG_SHIFT: u32 = 28;

const _: () = assert!(EXTENTS_MAX == 62);
const _: () = assert!(LOG_START + EXTENTS_MAX * EXTENT_WORDS <= vector::VECTOR_WORDS);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    #[test]
    fn counts_beyond_a_trailers_reach_stop_at_its_maximum() {
        let pair =
            TrailerPair { cause: TrailerCause::DramFull, kind: LossKind::Sum, count: u32::MAX };
        assert_eq!(pair.to_words(), [EMPTY_HEADER, 0x8FFF_FFFF]);
    }

    #[test]
    fn tags_that_nobody_writes_are_no_trailer() {
        for tag in 9..16_u32 {
            assert_eq!(TrailerPair::from_low(tag << 28 | 1), None);
        }
    }

    #[test]
    fn ids_may_repeat_or_run_backwards_in_an_extent() {
        let counts = LossCounts { zones: 1, ..LossCounts::default() };
        let same = LossExtent::of_launch(7, counts).extended(7, counts).unwrap();
        assert_eq!(same.extended(7, counts).unwrap().launches, 3);
        let back = LossExtent::of_launch(7, counts).extended(5, counts).unwrap();
        assert_eq!(back.extended(3, counts).unwrap().launches, 3);
    }

    proptest! {
        #[test]
        fn trailer_pairs_survive(cause: bool, kind in 0_usize..4, count in 0..=TRAILER_COUNT_MAX) {
            let cause = if cause { TrailerCause::L1Full } else { TrailerCause::DramFull };
            let pair = TrailerPair { cause, kind: LossKind::ALL[kind], count };
            prop_assert_eq!(TrailerPair::from_low(pair.to_words()[1]), Some(pair));
        }

        #[test]
        fn what_is_left_behind_survives(
            zones in 0..=TRAILER_COUNT_MAX, data in 0..=TRAILER_COUNT_MAX,
            events in 0..=TRAILER_COUNT_MAX, sums in 0_u32..16,
        ) {
            let counts = [zones, data, events, sums];
            prop_assert_eq!(left_behind_counts(left_behind_words(counts)), counts);
        }

        #[test]
        fn extents_survive(mut words in any::<[u32; EXTENT_WORDS]>(), is_remainder: bool) {
            if is_remainder {
                words[3] = REMAINDER_START;
            }
            let mut canonical = words;
            canonical[3] *= u32::from(words[3] == REMAINDER_START);
            prop_assert_eq!(LossExtent::from_words(words).to_words(), canonical);
        }
    }
}
