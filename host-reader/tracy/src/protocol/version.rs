//! Versions of the protocol.

use crate::protocol::item::{Form, ItemKind};
use std::sync::LazyLock;

/// A program that implements the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Program {
    /// Tracy itself.
    #[default]
    Stock,
    /// Tenstorrent's fork, with 16-bit context numbers.
    Fork,
}

/// One version of the live protocol.
#[derive(Debug, PartialEq, Eq)]
pub struct TracyProtocol {
    /// Number that a server sends when it connects.
    pub number: u32,
    /// Program that implements the version.
    pub program: Program,
    /// Releases that implement the version.
    pub releases: &'static str,
    /// Type that a device context must have so that viewers of this version show its lanes.
    pub context_type: u8,
    kinds: Vec<ItemKind>,
    codes: Vec<Option<u8>>,
}

/// Context type of Vulkan. Every viewer shows one lane for each thread of such a context.
const VULKAN: u8 = 2;

static PROTOCOLS: LazyLock<Vec<TracyProtocol>> = LazyLock::new(|| {
    vec![
        stock(66, "Tracy 0.11.0"),
        stock(67, "Tracy of August 2024"),
        stock(68, "Tracy of August 2024"),
        stock(69, "Tracy 0.11.1"),
        stock(70, "Tracy of autumn 2024"),
        stock(71, "Tracy of autumn 2024"),
        stock(72, "Tracy of late 2024, and IREE's capture tool"),
        stock(73, "Tracy of spring 2025"),
        stock(74, "Tracy 0.12"),
        stock(75, "Tracy of July 2025"),
        stock(76, "Tracy 0.13"),
        stock(77, "Tracy of early 2026"),
        stock(78, "Tracy of May 2026"),
        stock(79, "Tracy of June 2026"),
        stock(80, "Tracy of June 2026"),
        stock(81, "Tracy of June 2026"),
        stock(82, "Tracy 0.14"),
        fork(66, "Tenstorrent's fork until August 2025", 6),
        fork(76, "Tenstorrent's fork on Tracy 0.12.4", 10),
        fork(79, "Tenstorrent's fork of early 2026", 10),
        fork(83, "Tenstorrent's fork on Tracy 0.14", 11),
    ]
});

impl TracyProtocol {
    fn new(number: u32, program: Program, releases: &'static str, context_type: u8) -> Self {
        let is_fork = program == Program::Fork;
        let kinds: Vec<ItemKind> = ItemKind::ALL
            .iter()
            .copied()
            .filter(|kind| kind.rule().is_in(number, is_fork))
            .collect();
        let codes = ItemKind::ALL
            .iter()
            .map(|kind| {
                let position = kinds.iter().position(|known| known == kind)?;
                u8::try_from(position).ok()
            })
            .collect();
        Self { number, program, releases, context_type, kinds, codes }
    }

    /// Returns all known versions: those of Tracy, then those of Tenstorrent's fork, each ordered
    /// by number.
    ///
    /// ```
    /// use tracy::protocol::TracyProtocol;
    /// let numbers: Vec<u32> = TracyProtocol::all().iter().map(|known| known.number).collect();
    /// assert!((66..=83).all(|number| numbers.contains(&number)));
    /// ```
    #[must_use]
    pub fn all() -> &'static [Self] {
        &PROTOCOLS
    }

    /// Returns the version with this number.
    ///
    /// If Tracy and the fork use the number for different versions, `program` selects one.
    #[must_use]
    pub fn with_number(number: u32, program: Program) -> Option<&'static Self> {
        let mut known = Self::all().iter().filter(|known| known.number == number);
        known.clone().find(|known| known.program == program).or_else(|| known.next())
    }

    /// Returns the kind with this code; `None` if no item has the code.
    #[must_use]
    pub fn kind(&self, code: u8) -> Option<ItemKind> {
        self.kinds.get(usize::from(code)).copied()
    }

    /// Returns the code of a kind; `None` if this version does not have the kind.
    #[must_use]
    pub fn code(&self, kind: ItemKind) -> Option<u8> {
        self.codes.get(kind as usize).copied().flatten()
    }

    /// Returns the encoding of items of this kind.
    #[must_use]
    pub const fn form(&self, kind: ItemKind) -> Form {
        kind.rule().form(self.number, matches!(self.program, Program::Fork))
    }

    /// Returns the length of a context number in bytes.
    #[must_use]
    pub const fn context_bytes(&self) -> usize {
        match self.program {
            Program::Stock => 1,
            Program::Fork => 2,
        }
    }

    /// Returns the length of the welcome in bytes. Up to version 74, the welcome includes the cost
    /// of a zone.
    #[must_use]
    pub const fn welcome_bytes(&self) -> usize {
        if self.welcome_has_delay() { 1178 } else { 1170 }
    }

    /// Returns true if the welcome contains the cost of a zone.
    #[must_use]
    pub const fn welcome_has_delay(&self) -> bool {
        self.number < 75
    }

    /// Returns true if messages contain a severity.
    #[must_use]
    pub const fn message_has_severity(&self) -> bool {
        self.number >= 77
    }

    /// Returns true if zones have separate items for times of 16 and 32 bits.
    ///
    /// In versions with such items, [`FAR_NS`](crate::protocol::FAR_NS) is subtracted from 64-bit
    /// times.
    #[must_use]
    pub const fn has_short_times(&self) -> bool {
        self.number >= 78
    }

    /// Returns true if short texts have a separate kind of item.
    #[must_use]
    pub fn has_short_texts(&self) -> bool {
        self.code(ItemKind::SingleStringData8).is_some()
    }

    /// Splits a field into the address of a constant text and the byte that is packed with the
    /// address. Returns `None` for the byte if fields of this version contain only an address.
    ///
    /// ```
    /// use tracy::protocol::{Program, TracyProtocol};
    /// let packed = |number| TracyProtocol::with_number(number, Program::Stock);
    /// assert_eq!(packed(76).map(|known| known.untagged(0x1234)), Some((0x1234, None)));
    /// assert_eq!(packed(78).map(|known| known.untagged(0x20 << 56 | 9)), Some((9, Some(0x20))));
    /// assert_eq!(packed(82).map(|known| known.untagged(9 << 8 | 0x20)), Some((9, Some(0x20))));
    /// ```
    #[must_use]
    pub const fn untagged(&self, packed: u64) -> (u64, Option<u8>) {
        match self.number {
            ..77 => (packed, None),
            77 | 78 => (packed & (u64::MAX >> 8), Some(packed.to_be_bytes()[0])),
            _ => (packed >> 8, Some(packed.to_le_bytes()[0])),
        }
    }
}

fn fork(number: u32, releases: &'static str, context_type: u8) -> TracyProtocol {
    TracyProtocol::new(number, Program::Fork, releases, context_type)
}

fn stock(number: u32, releases: &'static str) -> TracyProtocol {
    TracyProtocol::new(number, Program::Stock, releases, VULKAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ItemKind as Kind;

    /// Codes in Tracy's headers. Each row is a protocol version, a program, a kind of item and the
    /// item's code.
    const CODES: [(u32, Program, Kind, u8); 32] = [
        (66, Program::Stock, Kind::ZoneEnd, 17),
        (66, Program::Stock, Kind::GpuTime, 48),
        (66, Program::Stock, Kind::Terminate, 57),
        (66, Program::Stock, Kind::StringData, 99),
        (66, Program::Fork, Kind::FrameName, 105),
        (67, Program::Stock, Kind::StringData, 100),
        (69, Program::Stock, Kind::FrameName, 106),
        (72, Program::Stock, Kind::GpuZoneBeginAllocSrcLocSerial, 42),
        (72, Program::Stock, Kind::ThreadContext, 61),
        (74, Program::Stock, Kind::FrameName, 108),
        (75, Program::Stock, Kind::GpuAnnotationName, 52),
        (76, Program::Stock, Kind::GpuZoneAnnotation, 103),
        (76, Program::Fork, Kind::GpuNewContext, 82),
        (76, Program::Stock, Kind::FrameName, 110),
        (78, Program::Stock, Kind::ZoneEnd16, 27),
        (79, Program::Fork, Kind::Terminate, 72),
        (79, Program::Fork, Kind::ZoneValidation, 80),
        (79, Program::Fork, Kind::FrameMarkMsg, 83),
        (79, Program::Fork, Kind::StringData, 117),
        (82, Program::Stock, Kind::ZoneEnd, 25),
        (82, Program::Stock, Kind::GpuAnnotationName, 62),
        (82, Program::Stock, Kind::Terminate, 73),
        (82, Program::Stock, Kind::GpuTimeSync, 77),
        (82, Program::Stock, Kind::PlotConfig, 106),
        (82, Program::Stock, Kind::SingleStringData, 112),
        (82, Program::Stock, Kind::SingleStringData8, 114),
        (82, Program::Stock, Kind::GpuZoneAnnotation, 118),
        (82, Program::Stock, Kind::FrameName, 125),
        (83, Program::Fork, Kind::Terminate, 75),
        (83, Program::Fork, Kind::ZoneValidation, 83),
        (83, Program::Fork, Kind::SingleStringData8, 117),
        (83, Program::Fork, Kind::FrameName, 128),
    ];

    fn version(number: u32, program: Program) -> &'static TracyProtocol {
        let found = TracyProtocol::with_number(number, program).unwrap();
        assert_eq!((found.number, found.program), (number, program));
        found
    }

    #[test]
    fn codes_are_those_of_the_headers() {
        for (number, program, kind, code) in CODES {
            let version = version(number, program);
            assert_eq!(version.code(kind), Some(code), "{number} {program:?} {kind:?}");
            assert_eq!(version.kind(code), Some(kind), "{number} {program:?} {code}");
        }
    }

    #[test]
    fn each_version_has_as_many_items_as_its_header() {
        // `NUM_TYPES` of Tracy's `QueueType` in each version.
        let counts = [
            (66, 112),
            (67, 113),
            (68, 113),
            (69, 113),
            (70, 113),
            (71, 113),
            (72, 115),
            (73, 115),
            (74, 115),
            (75, 117),
            (76, 117),
            (77, 117),
            (78, 127),
            (79, 127),
            (80, 129),
            (81, 131),
            (82, 132),
        ];
        for (number, count) in counts {
            let version = version(number, Program::Stock);
            assert_eq!(version.kinds.len(), count, "{number}");
            assert_eq!(version.kind(u8::try_from(count).unwrap()), None, "{number}");
        }
        for (number, count) in [(66, 112), (76, 117)] {
            assert_eq!(version(number, Program::Fork).kinds.len(), count, "{number}");
        }
    }

    #[test]
    fn sizes_change_where_the_headers_changed_them() {
        let bytes = |number, program, kind| match version(number, program).form(kind) {
            Form::Fixed(bytes) => bytes,
            form => panic!("{form:?}"),
        };
        for (kind, sizes) in [
            (Kind::Message, [(66, 8), (76, 8), (77, 9), (82, 9)]),
            (Kind::ContextSwitch, [(66, 19), (72, 19), (73, 22), (82, 22)]),
            (Kind::FiberEnter, [(66, 20), (67, 20), (68, 24), (82, 24)]),
            (Kind::CpuTopology, [(66, 12), (68, 12), (69, 16), (82, 16)]),
            (Kind::GpuZoneAnnotation, [(75, 19), (75, 19), (76, 23), (82, 23)]),
            (Kind::SectionEnter, [(81, 12), (81, 12), (82, 14), (82, 14)]),
        ] {
            for (number, expected) in sizes {
                assert_eq!(bytes(number, Program::Stock, kind), expected, "{number} {kind:?}");
            }
        }
        for (kind, stock, fork) in [
            (Kind::GpuNewContext, 27, 28),
            (Kind::GpuZoneBeginSerial, 23, 24),
            (Kind::GpuTime, 11, 12),
            (Kind::GpuContextName, 1, 2),
            (Kind::GpuCalibration, 25, 26),
            (Kind::ZoneBegin, 16, 16),
        ] {
            for number in [66, 76] {
                assert_eq!(bytes(number, Program::Stock, kind), stock, "{kind:?}");
                assert_eq!(bytes(number, Program::Fork, kind), fork, "{kind:?}");
            }
        }
    }

    #[test]
    fn a_number_that_two_programs_use_is_decided_by_the_program() {
        let releases = |number, program| {
            TracyProtocol::with_number(number, program).map(|known| known.releases)
        };
        assert_eq!(releases(82, Program::Fork), Some("Tracy 0.14"));
        assert_eq!(releases(83, Program::Stock), Some("Tenstorrent's fork on Tracy 0.14"));
        assert_eq!(releases(65, Program::Stock), None);
        assert_eq!(version(66, Program::Stock).context_bytes(), 1);
        assert_eq!(version(66, Program::Fork).context_bytes(), 2);
    }
}
