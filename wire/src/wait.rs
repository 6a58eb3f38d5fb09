//! Records of waits and of signals.
//!
//! A wait's record names the object for which a RISC waited, and holds the number of cycles for
//! which the RISC was blocked. A signal is an action that may end a wait.
//!
//! There are three kinds of records. All records are timestamped data whose id is the hash of a
//! name:
//!
//! | record | name | data |
//! |---|---|---|
//! | [`WaitTotal`] | [`WAIT_TOTAL_ZONE`] | 16 bytes: number and cycles of one kernel's waits that blocked on one object |
//! | [`BlockedWait`] | [`WaitKind::zone_name`] | 16 bytes: one wait that blocked; the record's time is the wait's end |
//! | [`Signal`] | [`SignalKind::label`] | 8 bytes: an action that may end a wait elsewhere |
//!
//! ```text
//! first u64   63 .. 40     39 .. 32     31 .. 0
//!            +------------+------------+------------+
//!            | 0          | kind       | key        |
//!            +------------+------------+------------+
//! second u64  63 .. 32                  31 .. 0
//!            +-------------------------+------------+
//!            | waits (of a total) or 0 | cycles     |
//!            +-------------------------+------------+
//! ```
//!
//! If blocked waits and signals are recorded only in windows of time ([`SyncWindows`]), the upper
//! half of a blocked wait's second u64 describes the windows: the record is a [`WindowedWait`].
//!
//! The key identifies the object. It is the index of a circular buffer, the L1 address of a
//! semaphore or the index of a NoC, depending on [`WaitKind::object`].
//!
//! # Compatibility
//! Names and keys of signals are those of `synchronization_event_profiler.hpp` in tt-metal 0.81.
//! TT-Metal records a wait as a zone with the name that [`WaitKind::zone_name`] returns. The zone
//! contains data called `<name>-KEY` ([`KEY_SUFFIX`]).

/// Name of the records of [`WaitTotal`].
pub const WAIT_TOTAL_ZONE: &str = "SYNC-WAIT-TOTAL";
/// Name of waits for tiles in a circular buffer.
pub const CB_WAIT_ZONE: &str = "SYNC-CB-WAIT";
/// Name of waits for room in a circular buffer.
pub const CB_RESERVE_ZONE: &str = "SYNC-CB-RESERVE";
/// Name of waits for a semaphore.
pub const SEM_WAIT_ZONE: &str = "SYNC-SEM-WAIT";
/// Name of waits at a NoC barrier; the record's kind identifies the barrier.
pub const NOC_BARRIER_ZONE: &str = "SYNC-NOC-BARRIER";
/// Name of records that report tiles put into a circular buffer.
pub const CB_PUSH_ZONE: &str = "SYNC-CB-PUSH";
/// Name of records that report tiles taken from a circular buffer.
pub const CB_POP_ZONE: &str = "SYNC-CB-POP";
/// Name of records of changes to a semaphore of the tile itself.
pub const SEM_SET_ZONE: &str = "SYNC-SEM-SET";
/// Name of records of changes to a semaphore of other tiles.
pub const SEM_SET_REMOTE_ZONE: &str = "SYNC-SEM-SET-REMOTE";
/// Suffix of the name under which TT-Metal records a wait's key, inside the wait's zone.
pub const KEY_SUFFIX: &str = "-KEY";

/// Kind of a wait, as the number that wait records contain. Numbers of unknown kinds are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct WaitKind(pub u8);

/// Kind of the object that a wait's key identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitObject {
    /// Circular buffer; the key is its index.
    CircularBuffer,
    /// Semaphore; the key is its L1 address.
    Semaphore,
    /// NoC; the key is its index.
    Noc,
}

impl WaitKind {
    /// Wait for tiles in a circular buffer (`cb_wait_front`, `llk_wait_tiles`).
    pub const CB_WAIT: Self = Self(1);
    /// Wait for room in a circular buffer (`cb_reserve_back`, `llk_wait_for_free_tiles`).
    pub const CB_RESERVE: Self = Self(2);
    /// Wait for the value of a semaphore.
    pub const SEM_WAIT: Self = Self(3);
    /// Wait for the data of reads.
    pub const NOC_READ_BARRIER: Self = Self(4);
    /// Wait for the acknowledgements of writes.
    pub const NOC_WRITE_BARRIER: Self = Self(5);
    /// Wait for the acknowledgements of atomic operations.
    pub const NOC_ATOMIC_BARRIER: Self = Self(6);
    /// Wait for all outstanding transfers of a NoC.
    pub const NOC_FULL_BARRIER: Self = Self(7);
    /// Wait until writes have left the tile.
    pub const NOC_WRITE_FLUSH: Self = Self(8);

    /// Every known kind, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::CB_WAIT,
        Self::CB_RESERVE,
        Self::SEM_WAIT,
        Self::NOC_READ_BARRIER,
        Self::NOC_WRITE_BARRIER,
        Self::NOC_ATOMIC_BARRIER,
        Self::NOC_FULL_BARRIER,
        Self::NOC_WRITE_FLUSH,
    ];

    /// Returns the kind's name; `None` if the kind is unknown.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::CB_WAIT => "CB_WAIT",
            Self::CB_RESERVE => "CB_RESERVE",
            Self::SEM_WAIT => "SEM_WAIT",
            Self::NOC_READ_BARRIER => "NOC_READ_BARRIER",
            Self::NOC_WRITE_BARRIER => "NOC_WRITE_BARRIER",
            Self::NOC_ATOMIC_BARRIER => "NOC_ATOMIC_BARRIER",
            Self::NOC_FULL_BARRIER => "NOC_FULL_BARRIER",
            Self::NOC_WRITE_FLUSH => "NOC_WRITE_FLUSH",
            _ => return None,
        })
    }

    /// Returns the kind of object that the key identifies; `None` if the kind of wait is unknown.
    #[must_use]
    pub const fn object(self) -> Option<WaitObject> {
        match self {
            Self::CB_WAIT | Self::CB_RESERVE => Some(WaitObject::CircularBuffer),
            Self::SEM_WAIT => Some(WaitObject::Semaphore),
            _ if self.name().is_some() => Some(WaitObject::Noc),
            _ => None,
        }
    }

    /// Returns the name under which single waits of this kind are recorded; `None` if the kind is
    /// unknown.
    ///
    /// This project records a single wait as a [`BlockedWait`], TT-Metal as a zone.
    #[must_use]
    pub const fn zone_name(self) -> Option<&'static str> {
        match self {
            Self::CB_WAIT => Some(CB_WAIT_ZONE),
            Self::CB_RESERVE => Some(CB_RESERVE_ZONE),
            Self::SEM_WAIT => Some(SEM_WAIT_ZONE),
            _ if self.name().is_some() => Some(NOC_BARRIER_ZONE),
            _ => None,
        }
    }
}

/// Number and cycles of one kernel's waits that blocked on one object.
///
/// ```
/// use wire::wait::{WaitKind, WaitTotal};
/// let total = WaitTotal { kind: WaitKind::CB_WAIT, key: 3, cycles: 1000, waits: 2 };
/// assert_eq!(total.to_data(), [0x1_0000_0003, 0x2_0000_03E8]);
/// assert_eq!(WaitTotal::from_data(total.to_data()), Some(total));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct WaitTotal {
    /// Kind of the wait.
    pub kind: WaitKind,
    /// Index or address of the object, depending on [`WaitKind::object`].
    pub key: u32,
    /// Number of blocked cycles; saturates at `u32::MAX`.
    pub cycles: u32,
    /// Number of waits that blocked; saturates at `u32::MAX`.
    pub waits: u32,
}

impl WaitTotal {
    /// Encodes the total as the data of a record.
    #[must_use]
    pub const fn to_data(self) -> [u64; 2] {
        [first_word(self.kind, self.key), self.cycles as u64 | (self.waits as u64) << 32]
    }

    /// Returns the total in a record's data; `None` if reserved bits are set.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "halves of the word")]
    pub const fn from_data(data: [u64; 2]) -> Option<Self> {
        match split_first_word(data[0]) {
            Some((kind, key)) => {
                let (cycles, waits) = (data[1] as u32, (data[1] >> 32) as u32);
                Some(Self { kind, key, cycles, waits })
            }
            None => None,
        }
    }
}

/// One wait that blocked. The record's time is the end of the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockedWait {
    /// Kind of the wait.
    pub kind: WaitKind,
    /// Index or address of the object, depending on [`WaitKind::object`].
    pub key: u32,
    /// Number of blocked cycles; saturates at `u32::MAX`.
    pub cycles: u32,
}

impl BlockedWait {
    /// Encodes the wait as the data of a record.
    #[must_use]
    pub const fn to_data(self) -> [u64; 2] {
        [first_word(self.kind, self.key), self.cycles as u64]
    }

    /// Returns the wait in a record's data; `None` if reserved bits are set.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the other half is 0")]
    pub const fn from_data(data: [u64; 2]) -> Option<Self> {
        match split_first_word(data[0]) {
            Some((kind, key)) if data[1] >> 32 == 0 => {
                Some(Self { kind, key, cycles: data[1] as u32 })
            }
            _ => None,
        }
    }
}

/// Windows of time in which blocked waits and signals are recorded.
///
/// With windows, the vector of a long kernel holds samples from the whole kernel. Without windows,
/// the vector holds all waits and signals from the kernel's beginning until there is no room left.
///
/// A window opens whenever the low word of the tile's clock reaches a multiple of the period. So
/// all RISCs of a tile have the same windows without exchanging data.
///
/// ```
/// use wire::wait::SyncWindows;
/// let windows = SyncWindows::new(4, 6).unwrap();
/// assert!(windows.is_open(0x40) && windows.is_open(0x4F) && !windows.is_open(0x50));
/// // A wait that spans a window is recorded; a wait between two windows is not.
/// assert!(windows.has_wait(0x3F, 0x50) && !windows.has_wait(0x50, 0x7F));
/// assert_eq!(SyncWindows::new(6, 6), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SyncWindows {
    length_log2: u8,
    period_log2: u8,
}

impl SyncWindows {
    /// Windows of 16,384 cycles every 131,072 cycles.
    ///
    /// These windows are sufficient to estimate how the time of a critical path is divided among
    /// its parts.
    pub const DEFAULT: Self = Self { length_log2: 14, period_log2: 17 };
    /// Largest binary logarithm of a period.
    pub const PERIOD_LOG2_MAX: u8 = 20;

    /// Returns windows of `1 << length_log2` cycles every `1 << period_log2` cycles; `None` if the
    /// windows are not shorter than the period, or the period is too long.
    #[must_use]
    pub const fn new(length_log2: u8, period_log2: u8) -> Option<Self> {
        let is_possible = length_log2 < period_log2 && period_log2 <= Self::PERIOD_LOG2_MAX;
        if is_possible { Some(Self { length_log2, period_log2 }) } else { None }
    }

    /// Returns the length of a window in cycles.
    #[must_use]
    pub const fn length(self) -> u32 {
        1 << self.length_log2
    }

    /// Returns the cycles from the opening of one window to the opening of the next.
    #[must_use]
    pub const fn period(self) -> u32 {
        1 << self.period_log2
    }

    /// Returns the number of cycles from the last opening of a window to this time; `clock_low` is
    /// the low word of the tile's clock.
    #[must_use]
    pub const fn phase(self, clock_low: u32) -> u32 {
        clock_low & (self.period() - 1)
    }

    /// Returns true if a signal at this time is recorded; `clock_low` is the low word of the tile's
    /// clock.
    #[must_use]
    pub const fn is_open(self, clock_low: u32) -> bool {
        self.phase(clock_low) >> self.length_log2 == 0
    }

    /// Returns true if any part of a wait is in a window. Only such waits are recorded.
    ///
    /// `begun` and `ended` are low words of the tile's clock.
    #[must_use]
    pub const fn has_wait(self, begun: u32, ended: u32) -> bool {
        self.is_open(begun) || (begun ^ ended) >> self.period_log2 != 0
    }
}

/// One wait that blocked, in a kernel that records waits only in windows of time.
///
/// The upper half of the second u64 holds the [phase](SyncWindows::phase) of the wait's end in bits
/// 0 to 19, the binary logarithm of a window's length in bits 20 to 24, and the binary logarithm of
/// the period in bits 25 to 29.
///
/// ```
/// use wire::wait::{BlockedWait, SyncWindows, WaitKind, WindowedWait};
/// let wait = BlockedWait { kind: WaitKind::CB_WAIT, key: 3, cycles: 1000 };
/// let windowed = WindowedWait { wait, windows: SyncWindows::DEFAULT, phase: 0x123 };
/// assert_eq!(windowed.to_data(), [0x1_0000_0003, 0x22E0_0123_0000_03E8]);
/// assert_eq!(WindowedWait::from_data(windowed.to_data()), Some(windowed));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowedWait {
    /// The wait.
    pub wait: BlockedWait,
    /// The windows.
    pub windows: SyncWindows,
    /// Cycles from the last opening of a window to the wait's end.
    pub phase: u32,
}

const LENGTH_SHIFT: u32 = 20;
const PERIOD_SHIFT: u32 = 25;
const LOG2_MASK: u32 = 31;

impl WindowedWait {
    /// Encodes the wait as the data of a record.
    #[must_use]
    pub const fn to_data(self) -> [u64; 2] {
        let SyncWindows { length_log2, period_log2 } = self.windows;
        let upper = self.windows.phase(self.phase)
            | (length_log2 as u32) << LENGTH_SHIFT
            | (period_log2 as u32) << PERIOD_SHIFT;
        let [first, second] = self.wait.to_data();
        [first, second | (upper as u64) << 32]
    }

    /// Returns the wait in a record's data; `None` if the data contains no valid description of
    /// windows, or if reserved bits are set.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "halves of the word, and 5 bits of one")]
    pub const fn from_data(data: [u64; 2]) -> Option<Self> {
        let upper = (data[1] >> 32) as u32;
        let phase = upper & ((1 << LENGTH_SHIFT) - 1);
        let length_log2 = (upper >> LENGTH_SHIFT & LOG2_MASK) as u8;
        let Some(windows) = SyncWindows::new(length_log2, (upper >> PERIOD_SHIFT) as u8) else {
            return None;
        };
        match BlockedWait::from_data([data[0], data[1] as u32 as u64]) {
            Some(wait) if phase < windows.period() => Some(Self { wait, windows, phase }),
            _ => None,
        }
    }
}

const KIND_SHIFT: u32 = 32;

const fn first_word(kind: WaitKind, key: u32) -> u64 {
    key as u64 | (kind.0 as u64) << KIND_SHIFT
}

#[expect(clippy::cast_possible_truncation, reason = "the bits above are 0")]
const fn split_first_word(word: u64) -> Option<(WaitKind, u32)> {
    let kind = word >> KIND_SHIFT;
    if kind > u8::MAX as u64 { None } else { Some((WaitKind(kind as u8), word as u32)) }
}

crate::labelled! {
    /// Kind of a signal: an action that may end a wait of a RISC. Labels are the names of the
    /// records.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum SignalKind {
        /// Tiles were put into a circular buffer.
        CbPush = CB_PUSH_ZONE,
        /// Tiles were taken from a circular buffer.
        CbPop = CB_POP_ZONE,
        /// A semaphore of the tile itself was changed.
        SemSet = SEM_SET_ZONE,
        /// A semaphore of other tiles was changed over a NoC.
        SemSetRemote = SEM_SET_REMOTE_ZONE,
    }
}

impl SignalKind {
    /// Returns the kind whose records have this name.
    #[must_use]
    pub fn from_zone_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.label() == name)
    }
}

/// The object that a signal record refers to, encoded in the record's 64 bits of data.
///
/// ```
/// use wire::wait::Signal;
/// assert_eq!(Signal::from_data(16), Signal::Local { key: 16 });
/// let remote = Signal::Remote { noc: 1, address: 0x41_0000_A000 };
/// assert_eq!(remote.to_data(), 0xC000_0041_0000_A000);
/// assert_eq!(Signal::from_data(remote.to_data()), remote);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signal {
    /// An object of the tile itself: a circular buffer by its index, or a semaphore by its L1
    /// address.
    Local {
        /// Index or address; 63 bits at most.
        key: u64,
    },
    /// A semaphore at a NoC address.
    Remote {
        /// Number of the NoC.
        noc: u8,
        /// NoC address, coordinates included; 62 bits at most.
        address: u64,
    },
}

impl Signal {
    /// Encodes the signal as the data of a record.
    #[must_use]
    pub const fn to_data(self) -> u64 {
        match self {
            Self::Local { key } => key & !IS_REMOTE,
            Self::Remote { noc, address } => {
                IS_REMOTE | ((noc & 1) as u64) << NOC_SHIFT | address & ADDRESS_MASK
            }
        }
    }

    /// Returns the object that a record's data names.
    #[must_use]
    pub const fn from_data(data: u64) -> Self {
        if data & IS_REMOTE == 0 {
            return Self::Local { key: data };
        }
        Self::Remote { noc: (data >> NOC_SHIFT & 1) as u8, address: data & ADDRESS_MASK }
    }
}

const IS_REMOTE: u64 = 1 << 63;
const NOC_SHIFT: u32 = 62;
const ADDRESS_MASK: u64 = (1 << NOC_SHIFT) - 1;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    /// Compares encoded waits with words that were assembled by hand from the table in
    /// docs/wire-extensions.md.
    #[test]
    fn waits_have_the_words_of_the_specification() {
        let sem = WaitKind(3);
        let total = WaitTotal { kind: sem, key: 0xA010, cycles: 0x1234_5678, waits: 0x9ABC };
        assert_eq!(total.to_data(), [0x0000_0003_0000_A010, 0x0000_9ABC_1234_5678]);
        let wait = BlockedWait { kind: WaitKind(8), key: 1, cycles: u32::MAX };
        assert_eq!(wait.to_data(), [0x0000_0008_0000_0001, 0x0000_0000_FFFF_FFFF]);
        assert_eq!(BlockedWait::from_data([0xFF_0000_0000, 7]), {
            Some(BlockedWait { kind: WaitKind(0xFF), key: 0, cycles: 7 })
        });
    }

    #[test]
    fn reserved_bits_make_a_record_no_wait() {
        for bit in 40..64 {
            assert_eq!(WaitTotal::from_data([1 << 32 | 1 << bit, 0]), None, "bit {bit}");
            assert_eq!(BlockedWait::from_data([1 << 32 | 1 << bit, 0]), None, "bit {bit}");
        }
        for bit in 32..64 {
            assert_eq!(BlockedWait::from_data([1 << 32, 1 << bit]), None, "bit {bit}");
            assert!(WaitTotal::from_data([1 << 32, 1 << bit]).is_some(), "bit {bit}");
        }
    }

    /// Compares an encoded windowed wait with words that were assembled by hand from the table in
    /// docs/wire-extensions.md.
    ///
    /// Also checks that `from_data` returns `None` for words with invalid windows.
    #[test]
    fn windows_stand_in_the_upper_half_of_a_waits_second_word() {
        let data = [0x0000_0003_0000_A010, 0x22E1_2345_0000_0077];
        let wait = BlockedWait { kind: WaitKind(3), key: 0xA010, cycles: 0x77 };
        let windows = SyncWindows { length_log2: 14, period_log2: 17 };
        let windowed = WindowedWait { wait, windows, phase: 0x1_2345 };
        assert_eq!((windowed.to_data(), WindowedWait::from_data(data)), (data, Some(windowed)));
        assert_eq!((windows.length(), windows.period()), (16_384, 131_072));
        // Invalid second words: reserved bits, a phase beyond the period, a window as long as its
        // period, and no windows at all.
        for second in
            [data[1] | 1 << 63, data[1] | 1 << 62, data[1] | 1 << 49, 17 << 52 | 17 << 57, 5]
        {
            assert_eq!(WindowedWait::from_data([data[0], second]), None, "{second:x}");
        }
    }

    /// Compares `is_open` and `has_wait` near the edges of windows with a reference that checks
    /// each cycle.
    #[test]
    fn windows_hold_what_touches_them() {
        for (length_log2, period_log2) in [(0, 1), (2, 4), (3, 5), (1, 5)] {
            let windows = SyncWindows::new(length_log2, period_log2).unwrap();
            let (length, period) = (1_u32 << length_log2, 1 << period_log2);
            let base = u32::MAX - 70;
            let is_open = |after: u32| base.wrapping_add(after) % period < length;
            for begun in 0..140 {
                assert_eq!(windows.is_open(base.wrapping_add(begun)), is_open(begun));
                for ended in begun..140 {
                    let has = windows.has_wait(base.wrapping_add(begun), base.wrapping_add(ended));
                    assert_eq!(has, (begun..=ended).any(is_open), "{windows:?} {begun} {ended}");
                }
            }
        }
        assert!(SyncWindows::new(19, 20).is_some() && SyncWindows::new(20, 21).is_none());
    }

    #[test]
    fn kinds_have_their_numbers_names_and_objects() {
        use WaitObject::{CircularBuffer, Noc, Semaphore};
        let expected = [
            (1, "CB_WAIT", CircularBuffer, "SYNC-CB-WAIT"),
            (2, "CB_RESERVE", CircularBuffer, "SYNC-CB-RESERVE"),
            (3, "SEM_WAIT", Semaphore, "SYNC-SEM-WAIT"),
            (4, "NOC_READ_BARRIER", Noc, "SYNC-NOC-BARRIER"),
            (5, "NOC_WRITE_BARRIER", Noc, "SYNC-NOC-BARRIER"),
            (6, "NOC_ATOMIC_BARRIER", Noc, "SYNC-NOC-BARRIER"),
            (7, "NOC_FULL_BARRIER", Noc, "SYNC-NOC-BARRIER"),
            (8, "NOC_WRITE_FLUSH", Noc, "SYNC-NOC-BARRIER"),
        ];
        for ((number, name, object, zone), kind) in expected.into_iter().zip(WaitKind::ALL) {
            assert_eq!(kind, WaitKind(number));
            assert_eq!((kind.name(), kind.object()), (Some(name), Some(object)));
            assert_eq!(kind.zone_name(), Some(zone));
        }
        for unknown in [0, 9, 255].map(WaitKind) {
            assert_eq!((unknown.name(), unknown.object(), unknown.zone_name()), (None, None, None));
        }
    }

    #[test]
    fn signals_are_found_by_upstreams_names() {
        let names = ["SYNC-CB-PUSH", "SYNC-CB-POP", "SYNC-SEM-SET", "SYNC-SEM-SET-REMOTE"];
        for (name, kind) in names.into_iter().zip(SignalKind::ALL) {
            assert_eq!((kind.label(), SignalKind::from_zone_name(name)), (name, Some(kind)));
        }
        assert_eq!(SignalKind::from_zone_name("SYNC-CB-WAIT"), None);
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(kind: u8, key: u32, cycles: u32, waits: u32) {
            let kind = WaitKind(kind);
            let total = WaitTotal { kind, key, cycles, waits };
            prop_assert_eq!(WaitTotal::from_data(total.to_data()), Some(total));
            let wait = BlockedWait { kind, key, cycles };
            prop_assert_eq!(BlockedWait::from_data(wait.to_data()), Some(wait));
        }

        #[test]
        fn encoding_undoes_decoding(first in any::<u64>(), second: u64) {
            for first in [first, first & 0xFF_FFFF_FFFF] {
                let windowed = [first & 0xFF_FFFF_FFFF, second & 0x2FFF_FFFF_FFFF_FFFF];
                if let Some(wait) = WindowedWait::from_data(windowed) {
                    prop_assert_eq!(wait.to_data(), windowed);
                    prop_assert_eq!(BlockedWait::from_data(windowed), None);
                }
                for data in [[first, second], [first, second & 0xFFFF_FFFF]] {
                    if let Some(total) = WaitTotal::from_data(data) {
                        prop_assert_eq!(total.to_data(), data);
                    }
                    if let Some(wait) = BlockedWait::from_data(data) {
                        prop_assert_eq!(wait.to_data(), data);
                    }
                }
                prop_assert_eq!(Signal::from_data(first).to_data(), first);
            }
        }
    }
}
