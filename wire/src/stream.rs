//! Streamed lanes: cells of eight bytes that leave a core while its kernels run.
//!
//! In place of its L1 vector, a RISC has a ring of [`RING_CELLS`] cells. The RISC writes a cell
//! when a zone ends, and stores in the control vector how many cells it has written. The reader of
//! the ring, called its drain, stores in the same vector how many cells it has read. RISC and drain
//! exchange nothing else, so a drain may be a host, or a kernel on another core.
//!
//! ```text
//! cell   word 0: 31 .. 16    15 .. 0          word 1: 31 .. 0
//!        +-----------------+----------------+----------------------+
//!        | code            | field          | value                |
//!        +-----------------+----------------+----------------------+
//! zone   | zone id         | cycles         | low time of its end  |
//! ```
//!
//! The code of a cell tells what the cell contains. A code below [`FIRST_ESCAPE`] is the id of a
//! zone. Such a cell holds a whole zone: its duration in the field, and the low word of its end
//! time in the value. If the duration does not fit into the 16-bit field, or if the zone's id is
//! [`FIRST_ESCAPE`] or higher, the zone is written as [`Code::LONG_ZONE`] instead, in two cells.
//!
//! # Chunks
//! The cells of a lane are numbered from 0, and cell `n` is in slot `n % RING_CELLS`. Cells `8 k`
//! to `8 k + 7` form a chunk ([`CHUNK_CELLS`]). A record of several cells never crosses the end of
//! its chunk. So reading may begin at any chunk, and a damaged cell affects only the records of its
//! own chunk.
//!
//! # Time
//! Times are readings of the tile's wall clock, and a lane's cells are ordered by time. Cells carry
//! the clock's low word. [`Code::LAUNCH`] carries the high word.
//!
//! # Launches
//! Each launch begins with a [`Code::LAUNCH`]. If there is no room at the launch's beginning, this
//! record is written as soon as there is room. A RISC repeats the record at the beginning of a
//! chunk when the high word of the time has changed. The control word [`words::TOLD`] holds the
//! launch whose record the RISC has written last. So no cell is ever attributed to the program of
//! another launch.

use crate::{Cycles, ZoneId, risc::RISCS_PER_CORE, vector::VECTOR_WORDS};

/// Size of a cell in words.
pub const CELL_WORDS: usize = 2;
/// Number of cells in a ring: as many as fit into the vector that the ring replaces.
pub const RING_CELLS: usize = VECTOR_WORDS / CELL_WORDS;
/// Number of cells in a chunk.
pub const CHUNK_CELLS: usize = 8;
/// For a ring that overwrites its oldest cells: number of its newest cells that stay unchanged
/// until the RISC next increases its count of written cells.
///
/// These cells are the last cells before the chunk to which the next cell belongs. The RISC may
/// write cells of that chunk before it increases the count.
pub const STABLE_CELLS: usize = RING_CELLS - CHUNK_CELLS;
/// Lowest code that is not the id of a zone.
pub const FIRST_ESCAPE: u16 = 0xFFF0;
/// Maximum duration, in cycles, of a zone that fits into a single cell.
pub const ZONE_CYCLES_MAX: u32 = 0xFFFF;

const _: () = assert!(
    RING_CELLS.is_multiple_of(CHUNK_CELLS) && u32::MAX as usize % RING_CELLS == RING_CELLS - 1
);

/// Code of a cell: the upper half of its first word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Code(pub u16);

impl Code {
    /// A zone in two cells.
    ///
    /// In the first cell, the field holds the zone's id, and the value holds the low word of the
    /// zone's end time. The second cell holds the duration in cycles, low word first.
    pub const LONG_ZONE: Self = Self(FIRST_ESCAPE);
    /// Timestamped data in two cells. In the first cell, the field holds the data's id, and the
    /// value holds the low word of the time. The second cell holds 64 bits, low word first.
    pub const DATA: Self = Self(0xFFF1);
    /// Timestamped data of 128 bits in three cells: like [`Self::DATA`], but with a third cell for
    /// the second 64 bits.
    pub const DATA_16B: Self = Self(0xFFF2);
    /// An event. The cell's field holds the event's number, and its value holds the low word of the
    /// time.
    pub const EVENT: Self = Self(0xFFF3);
    /// Total of a sum zone. The cell's field holds the zone's id, and its value holds the cycles
    /// spent in the zone, modulo 2^32.
    pub const TOTAL: Self = Self(0xFFF4);
    /// A launch in two cells.
    ///
    /// In the first cell, the field holds the low half of the launch's number
    /// ([`words::LAUNCHES`]), and the value holds the low word of the time. The second cell is a
    /// [`LaunchCell`].
    pub const LAUNCH: Self = Self(0xFFF5);
    /// A mark at the position where records were lost because the ring was full. The cell's value
    /// holds the number of records that the RISC has lost so far, modulo 2^32.
    pub const LOST: Self = Self(0xFFF6);
    /// A mark at the position where the RISC skipped chunks, as its policy demands. The cell's
    /// value holds the number of cells that the RISC has skipped so far, modulo 2^32.
    pub const SKIPPED: Self = Self(0xFFF7);
    /// Padding: the rest of this chunk holds no records.
    pub const PADDING: Self = Self(0xFFFF);

    /// Returns true if this is the code of a zone that takes a single cell.
    #[must_use]
    pub const fn is_zone(self) -> bool {
        self.0 < FIRST_ESCAPE
    }

    /// Returns the number of cells of a record with this code; `None` if the code has no meaning.
    ///
    /// ```
    /// use wire::stream::Code;
    /// assert_eq!(Code(7).cell_count(), Some(1));
    /// assert_eq!(Code::DATA_16B.cell_count(), Some(3));
    /// assert_eq!(Code(0xFFFA).cell_count(), None);
    /// ```
    #[must_use]
    pub const fn cell_count(self) -> Option<usize> {
        match self {
            Self::LONG_ZONE | Self::DATA | Self::LAUNCH => Some(2),
            Self::DATA_16B => Some(3),
            Self::EVENT | Self::TOTAL | Self::LOST | Self::SKIPPED | Self::PADDING => Some(1),
            zone if zone.is_zone() => Some(1),
            _ => None,
        }
    }
}

/// A cell: two words of a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cell {
    /// First word: the code in the upper half and the field in the lower half.
    pub head: u32,
    /// Second word: the value.
    pub value: u32,
}

impl Cell {
    /// Returns a cell with a code, a field and a value.
    #[must_use]
    pub const fn new(code: Code, field: u16, value: u32) -> Self {
        Self { head: (code.0 as u32) << CODE_SHIFT | field as u32, value }
    }

    /// Returns the cell of a zone; `None` if the zone takes two cells.
    ///
    /// ```
    /// use wire::{Cycles, ZoneId, stream::Cell};
    /// let cell = Cell::from_zone(ZoneId(0xB765), Cycles(0x1_0000_1000), 0x40).unwrap();
    /// assert_eq!((cell.head, cell.value), (0xB765_0040, 0x1000));
    /// assert_eq!(Cell::from_zone(ZoneId(0xB765), Cycles(0x1_0000_1000), 0x1_0000), None);
    /// assert_eq!(Cell::from_zone(ZoneId(0xFFF3), Cycles(0x1000), 1), None);
    /// ```
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "sixteen bits, as compared")]
    pub const fn from_zone(id: ZoneId, end: Cycles, duration_cycles: u64) -> Option<Self> {
        if duration_cycles > ZONE_CYCLES_MAX as u64 || !Code(id.0).is_zone() {
            return None;
        }
        Some(Self::new(Code(id.0), duration_cycles as u16, end.low_word()))
    }

    /// Returns the code.
    #[must_use]
    pub const fn code(self) -> Code {
        Code((self.head >> CODE_SHIFT) as u16)
    }

    /// Returns the field.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is wanted")]
    pub const fn field(self) -> u16 {
        self.head as u16
    }

    /// Returns the 64 bits of data in a record's second or later cell.
    #[must_use]
    pub const fn bits(self) -> u64 {
        (self.value as u64) << 32 | self.head as u64
    }

    /// Returns a cell that holds 64 bits of data, for a record's second or later cell.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "two halves")]
    pub const fn from_bits(bits: u64) -> Self {
        Self { head: bits as u32, value: (bits >> 32) as u32 }
    }
}

/// The second cell of [`Code::LAUNCH`].
///
/// ```
/// use wire::stream::{Cell, LaunchCell};
/// let launch = LaunchCell { program: 7, trace_counter: 3, time_high: 0x12 };
/// assert_eq!(launch.to_cell(), Cell { head: 7, value: 0x0003_0012 });
/// assert_eq!(LaunchCell::from_cell(launch.to_cell()), launch);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchCell {
    /// Id of the program.
    pub program: u32,
    /// Number of trace replays that had begun on the core when the launch began, modulo 2^16.
    pub trace_counter: u16,
    /// Bits 32 to 47 of the time of the launch's record.
    pub time_high: u16,
}

impl LaunchCell {
    /// Encodes the launch as a cell.
    #[must_use]
    pub const fn to_cell(self) -> Cell {
        let value = (self.trace_counter as u32) << CODE_SHIFT | self.time_high as u32;
        Cell { head: self.program, value }
    }

    /// Decodes a launch from a cell.
    #[must_use]
    pub const fn from_cell(cell: Cell) -> Self {
        let halves = Cell { head: cell.value, value: 0 };
        Self { program: cell.head, trace_counter: halves.code().0, time_high: halves.field() }
    }
}

/// The launch that a RISC announced last, decoded from its word [`words::TOLD`].
///
/// ```
/// use wire::stream::ToldLaunch;
/// let told = ToldLaunch { number: 3, has_ended: true, time_high: 0x12 };
/// assert_eq!(told.to_word(), 0x0003_8012);
/// assert_eq!(ToldLaunch::from_word(0x0003_8012), Some(told));
/// assert_eq!(ToldLaunch::from_word(0), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ToldLaunch {
    /// Low half of the launch's number. Launches are numbered from 1.
    pub number: u16,
    /// True if the launch has ended on the RISC.
    pub has_ended: bool,
    /// Bits 32 to 46 of the time in the launch's record ([`Code::LAUNCH`]).
    pub time_high: u16,
}

impl ToldLaunch {
    /// Encodes the launch as the word [`words::TOLD`].
    #[must_use]
    pub const fn to_word(self) -> u32 {
        let ended = if self.has_ended { words::TOLD_ENDED } else { 0 };
        (self.number as u32) << CODE_SHIFT | ended | self.time_high as u32 & (words::TOLD_ENDED - 1)
    }

    /// Decodes the word [`words::TOLD`]; `None` if the RISC has announced no launch.
    #[must_use]
    pub const fn from_word(word: u32) -> Option<Self> {
        if word == 0 {
            return None;
        }
        let halves = Cell { head: word, value: 0 };
        Some(Self {
            number: halves.code().0,
            has_ended: word & words::TOLD_ENDED != 0,
            time_high: halves.field() & !(1 << words::TOLD_ENDED.trailing_zeros()),
        })
    }
}

/// Position of the code in a cell's first word.
pub const CODE_SHIFT: u32 = 16;

/// Policy for a full ring: what the RISC does, and how many chunks it keeps.
///
/// The host sets the policy in [`words::POLICY`]; 0 is [`Policy::DropNewest`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Records are lost until there is room again.
    #[default]
    DropNewest,
    /// The oldest cells are overwritten.
    ///
    /// The drain detects this: after it has read cells, it reads [`words::WRITTEN`] again. It keeps
    /// only those cells that are among the last [`STABLE_CELLS`] of the cells that the word then
    /// counts.
    OverwriteOldest,
    /// The RISC waits for room, up to a limit. After a time-out the RISC loses records, and does
    /// not wait again until the drain has read cells.
    Block {
        /// Binary logarithm of the maximum wait in cycles, at most 31.
        cycles_log2: u8,
    },
    /// The RISC keeps one of every 2^`chunks_log2` chunks, and each chunk that contains a launch.
    /// In all else this policy is like [`Policy::DropNewest`].
    KeepOneOf {
        /// Binary logarithm of the number of chunks of which the RISC keeps one; at most 15.
        chunks_log2: u8,
    },
}

impl Policy {
    /// Number of low bits of an encoded policy that hold the kind. The higher bits hold the
    /// parameter, such as `chunks_log2`.
    pub const KIND_BITS: u32 = 2;
    const KIND_MASK: u32 = (1 << Self::KIND_BITS) - 1;
    const PARAMETER_MASK: u32 = 0x1F;

    /// Encodes the policy as a word.
    ///
    /// ```
    /// use wire::stream::Policy;
    /// let block = Policy::Block { cycles_log2: 20 };
    /// assert_eq!(block.to_word(), 2 | 20 << 2);
    /// assert_eq!(Policy::from_word(block.to_word()), Some(block));
    /// ```
    #[must_use]
    pub const fn to_word(self) -> u32 {
        match self {
            Self::DropNewest => 0,
            Self::OverwriteOldest => 1,
            Self::Block { cycles_log2 } => 2 | (cycles_log2 as u32) << Self::KIND_BITS,
            Self::KeepOneOf { chunks_log2 } => 3 | (chunks_log2 as u32) << Self::KIND_BITS,
        }
    }

    /// Decodes a word; `None` if the word does not encode a policy.
    #[must_use]
    pub const fn from_word(word: u32) -> Option<Self> {
        let parameter = (word >> Self::KIND_BITS & Self::PARAMETER_MASK) as u8;
        let policy = match word & Self::KIND_MASK {
            0 => Self::DropNewest,
            1 => Self::OverwriteOldest,
            2 => Self::Block { cycles_log2: parameter },
            _ => Self::KeepOneOf { chunks_log2: parameter },
        };
        let is_possible = !matches!(policy, Self::KeepOneOf { chunks_log2: 16.. });
        if is_possible && policy.to_word() == word { Some(policy) } else { None }
    }
}

/// Words of the 64-word control vector of a core that streams.
///
/// The words are valid only if word [`crate::control::ext::SIGNATURE`] holds
/// [`words::SIGNATURE_VALUE`]. The ends of DRAM lanes, words 0 to 4, stay 0, so a host without
/// support for streams finds nothing to read.
///
/// | word | writer | meaning |
/// |---|---|---|
/// | 5 | device | signature and version |
/// | 8 | device | launches that ran no kernel on this core |
/// | 9..14 | host | policy of each RISC |
/// | 14..19 | RISC r | upper half: the launch announced last; lower half: bits 32 to 46 of the time, and bit 15 once the launch has ended; 0 before the first launch |
/// | 19..24 | RISC r | cells skipped; under [`Policy::Block`], the number of cells read at the RISC's last wait that timed out, plus 1 |
/// | 24..29 | RISC r | cells written |
/// | 29..34 | RISC r | zones that found no room in the ring |
/// | 34..39 | RISC r | data records that found no room in the ring |
/// | 39..44 | RISC r | events that found no room in the ring |
/// | 44 | device | id of the running program |
/// | 45 | device | trace replays that had begun on the core when the current launch began |
/// | 51 | device | launches that have begun, including the current one; launches without a kernel are not counted |
/// | 59..64 | drain | cells read |
///
/// All counters are modulo 2^32 and count since the host zeroed the vector.
///
/// A device that begins a launch writes words 51, 44 and 45, in this order, before any RISC
/// announces the launch in words 14 to 18. A drain reads the vector from its beginning to its end.
/// If one of words 14 to 18 names the same launch as word 51, word 44 holds the program of this
/// launch.
pub mod words {
    use super::RISCS_PER_CORE;
    use crate::control::{ControlLayout, ext};

    /// Signature of a streaming core's control vector: the ASCII letters `KS` and the version of
    /// the format.
    pub const SIGNATURE_VALUE: u32 = 0x4B53_1000;
    /// Index of the word that holds the id of the running program.
    pub const PROGRAM: usize = ext::LATE_RUNS;
    /// Index of the word that counts the trace replays that had begun on the core when the current
    /// launch began.
    pub const TRACE_COUNT: usize = PROGRAM + 1;
    /// Index of the word that counts launches that ran no kernel on this core.
    pub const IDLE_LAUNCHES: usize = 8;
    /// Index of the first of five words, one per RISC: the RISC's [`Policy`](super::Policy).
    pub const POLICY: usize = 9;
    /// Index of the first of five words, one per RISC: the launch in the RISC's last
    /// [`super::Code::LAUNCH`] record, encoded as a [`super::ToldLaunch`].
    ///
    /// The RISC sets [`TOLD_ENDED`] after it has updated [`WRITTEN`]. A drain that finds the bit
    /// and then reads [`WRITTEN`] has all cells of the launch.
    pub const TOLD: usize = POLICY + RISCS_PER_CORE;
    /// Bit of a [`TOLD`] word that is set once the launch has ended.
    pub const TOLD_ENDED: u32 = 1 << 15;
    /// Index of the first of five words, one per RISC: number of cells skipped.
    pub const SKIPPED: usize = TOLD + RISCS_PER_CORE;
    /// Under [`super::Policy::Block`], index of the first of five words, one per RISC: the value of
    /// [`READ`] at the RISC's last wait that timed out, plus 1.
    ///
    /// Under other policies, these words are [`SKIPPED`].
    pub const WAITED_IN_VAIN: usize = SKIPPED;
    /// Index of the first of five words, one per RISC: number of cells written.
    pub const WRITTEN: usize = ControlLayout::WORDS64.device_end;
    /// Index of the first of five words, one per RISC: number of zones, including totals, that
    /// found no room in the ring.
    pub const LOST_ZONES: usize = ext::LOST_ZONES;
    /// Index of the first of five words, one per RISC: number of data records, of either size, that
    /// found no room in the ring.
    pub const LOST_DATA: usize = ext::LOST_DATA;
    /// Index of the first of five words, one per RISC: number of events that found no room in the
    /// ring.
    pub const LOST_EVENTS: usize = ext::LOST_EVENTS;
    /// Index of the word that counts launches that have begun, except launches without a kernel.
    pub const LAUNCHES: usize = ControlLayout::WORDS64.run_counter;
    /// Index of the first of five words, one per RISC: number of cells that the drain has read.
    pub const READ: usize = ext::CONSUMED;

    const _: () = assert!(SKIPPED + RISCS_PER_CORE == WRITTEN);
}

/// Cells of a ring that have not been read.
///
/// ```
/// use wire::stream::Unread;
/// let unread = Unread::between(500, 510);
/// assert_eq!(unread.places().map(|range| (range.start, range.end)), [(244, 254), (0, 0)]);
/// assert_eq!(Unread::between(500, 520).places(), [244..256, 0..8]);
/// assert_eq!(Unread::between(0, 300).overwritten(), 44);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Cell number of the first cell.
    pub first: u32,
    /// Number of cells, modulo 2^32; more than [`RING_CELLS`] if some were overwritten.
    pub count: u32,
}

impl Unread {
    /// Returns the unread cells, given the numbers of cells read and written.
    #[must_use]
    pub const fn between(read: u32, written: u32) -> Self {
        Self { first: read, count: written.wrapping_sub(read) }
    }

    /// Returns how many of the cells have been overwritten.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "256")]
    pub const fn overwritten(self) -> u32 {
        self.count.saturating_sub(RING_CELLS as u32)
    }

    /// Returns these cells and the cells of the chunk that the RISC may be writing. `written` is
    /// the current number of written cells.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "8")]
    pub const fn and_in_writing(self, written: u32) -> Self {
        Self::between(self.first, written.wrapping_add(CHUNK_CELLS as u32))
    }

    /// Returns the slots of the cells that were not overwritten, in the order of the cells.
    #[must_use]
    pub const fn places(self) -> [core::ops::Range<usize>; 2] {
        let count = (self.count - self.overwritten()) as usize;
        let first = self.first.wrapping_add(self.overwritten()) as usize % RING_CELLS;
        let end = first + count;
        if end <= RING_CELLS {
            [first..end, 0..0]
        } else {
            [first..RING_CELLS, 0..end - RING_CELLS]
        }
    }
}

/// Returns the number of cells from cell `number` to the next chunk: 0 at the start of a chunk.
///
/// ```
/// assert_eq!([16, 17, 23].map(wire::stream::cells_to_next_chunk), [0, 7, 1]);
/// ```
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "8")]
pub const fn cells_to_next_chunk(number: u32) -> u32 {
    number.wrapping_neg() % CHUNK_CELLS as u32
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use proptest::prelude::{any, prop_assert_eq, proptest};
    use std::vec::Vec;

    #[test]
    fn escapes_are_no_zones_and_have_their_lengths() {
        let escapes = [
            (Code::LONG_ZONE, 2),
            (Code::DATA, 2),
            (Code::DATA_16B, 3),
            (Code::EVENT, 1),
            (Code::TOTAL, 1),
            (Code::LAUNCH, 2),
            (Code::LOST, 1),
            (Code::SKIPPED, 1),
            (Code::PADDING, 1),
        ];
        for (code, cells) in escapes {
            assert!(!code.is_zone());
            assert_eq!(code.cell_count(), Some(cells), "{code:?}");
        }
        let known = (0..=u16::MAX).filter(|&code| Code(code).cell_count().is_some()).count();
        assert_eq!(known, usize::from(FIRST_ESCAPE) + escapes.len());
    }

    #[test]
    fn words_lie_where_the_documentation_says() {
        use words::{IDLE_LAUNCHES, POLICY, PROGRAM, SKIPPED, TOLD, TRACE_COUNT, WAITED_IN_VAIN};
        assert_eq!([PROGRAM, TRACE_COUNT, IDLE_LAUNCHES, POLICY, TOLD], [44, 45, 8, 9, 14]);
        assert_eq!(words::LAUNCHES, 51);
        assert_eq!([SKIPPED, WAITED_IN_VAIN, words::WRITTEN, words::READ], [19, 19, 24, 59]);
        assert_eq!([words::LOST_ZONES, words::LOST_DATA, words::LOST_EVENTS], [29, 34, 39]);
        assert_eq!((RING_CELLS, CHUNK_CELLS), (256, 8));
    }

    proptest! {
        #[test]
        fn a_zone_is_in_its_cell(id in 0..FIRST_ESCAPE, end: u64, duration_cycles in 0_u64..0x1_0000) {
            let cell = Cell::from_zone(ZoneId(id), Cycles(end), duration_cycles).unwrap();
            prop_assert_eq!(cell.code(), Code(id));
            prop_assert_eq!(u64::from(cell.field()), duration_cycles);
            prop_assert_eq!(u64::from(cell.value), end & 0xFFFF_FFFF);
        }

        #[test]
        fn bits_of_a_cell_are_its_words(bits: u64) {
            prop_assert_eq!(Cell::from_bits(bits).bits(), bits);
        }

        #[test]
        fn a_policy_is_in_its_word(word in 0_u32..0x400, other: u32) {
            for word in [word, other] {
                if let Some(policy) = Policy::from_word(word) {
                    prop_assert_eq!(policy.to_word(), word);
                }
            }
        }

        #[test]
        fn unread_cells_are_the_last_in_the_ring(read in any::<u32>(), count in 0_u32..1000) {
            let unread = Unread::between(read, read.wrapping_add(count));
            let places: Vec<_> = unread.places().into_iter().flatten().collect();
            let kept = count.min(256);
            let expected: Vec<_> =
                (0..kept).map(|back| (read.wrapping_add(count - kept + back) % 256) as usize).collect();
            prop_assert_eq!(places, expected);
            prop_assert_eq!(unread.overwritten() + kept, count);
        }
    }
}
