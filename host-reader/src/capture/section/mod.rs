//! Sections: the kinds of payload, and how each becomes bytes and comes back.
//!
//! One file per kind; each opens with its bytes as a table. All numbers are little-endian.
//! Texts are UTF-8 without an end mark; where texts and other things alternate, each is
//! padded with zeros to a multiple of eight bytes. A newer minor version may put fields
//! behind the known ones of a payload, and behind the known ones of a record whose size
//! the payload states; readers skip both.

mod boundary;
mod clock;
mod device;
mod fields;
mod host_events;
mod layout;
mod ledger;
mod ops;
mod words;
mod zones;

pub use boundary::ReadBoundary;
pub use clock::ClockSamples;
pub use host_events::HostEvents;
pub use layout::LaneLayout;
pub use ops::OpMetadata;
pub use words::{ControlWords, LaneMemory, LaneWords, LossLogWords};

use super::{
    error::CaptureError,
    frame::SectionVersion,
    problem::{MalformedPayload, ProblemKind},
};
use crate::{ledger::LossLedger, mesh::DeviceDescription, names::ZoneTable};

/// What kind of payload a section has. Kinds that this library does not know are kept as
/// numbers, skipped and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectionKind(pub u16);

impl SectionKind {
    /// A chip's [`DeviceDescription`].
    pub const DEVICE: Self = Self(1);
    /// A chip's [`LaneLayout`].
    pub const LAYOUT: Self = Self(2);
    /// Zone names, as a [`ZoneTable`].
    pub const ZONE_NAMES: Self = Self(3);
    /// [`ControlWords`] of a core.
    pub const CONTROL: Self = Self(4);
    /// [`LaneWords`] of a RISC.
    pub const LANE: Self = Self(5);
    /// [`LossLogWords`] of a RISC.
    pub const LOSS_LOG: Self = Self(6);
    /// [`ClockSamples`].
    pub const CLOCK: Self = Self(7);
    /// [`OpMetadata`].
    pub const OP_METADATA: Self = Self(8);
    /// [`HostEvents`]; reserved.
    pub const HOST_EVENTS: Self = Self(9);
    /// A [`LossLedger`].
    pub const LEDGER: Self = Self(10);
    /// A [`ReadBoundary`].
    pub const READ_BOUNDARY: Self = Self(11);

    /// Every kind that this library knows.
    pub const ALL: [Self; 11] = [
        Self::DEVICE,
        Self::LAYOUT,
        Self::ZONE_NAMES,
        Self::CONTROL,
        Self::LANE,
        Self::LOSS_LOG,
        Self::CLOCK,
        Self::OP_METADATA,
        Self::HOST_EVENTS,
        Self::LEDGER,
        Self::READ_BOUNDARY,
    ];

    /// A few words for tables; `None` for kinds that this library does not know.
    #[must_use]
    pub const fn label(self) -> Option<&'static str> {
        Some(match self {
            Self::DEVICE => "device",
            Self::LAYOUT => "lane layout",
            Self::ZONE_NAMES => "zone names",
            Self::CONTROL => "control vector",
            Self::LANE => "lane words",
            Self::LOSS_LOG => "loss log",
            Self::CLOCK => "clock samples",
            Self::OP_METADATA => "op metadata",
            Self::HOST_EVENTS => "host events",
            Self::LEDGER => "loss ledger",
            Self::READ_BOUNDARY => "read boundary",
            _ => return None,
        })
    }
}

impl std::fmt::Display for SectionKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.label() {
            Some(label) => f.pad(label),
            None => f.pad(&format!("kind {}", self.0)),
        }
    }
}

/// Something that is captured as one section.
///
/// Implemented by everything that [`CaptureWriter::append`](super::CaptureWriter::append)
/// takes, and by nothing outside of this library.
pub trait Payload<'file>: Sized + sealed::Sealed {
    /// The kind under which it is captured.
    const KIND: SectionKind;
    /// The version that is written.
    const VERSION: SectionVersion;

    /// Appends the payload's bytes to a buffer whose length is a multiple of eight.
    ///
    /// # Errors
    /// If a count or a text does not fit its field.
    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError>;

    /// Reads a payload of the same major version.
    ///
    /// # Errors
    /// If a field says what cannot be.
    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload>;
}

mod sealed {
    /// Keeps other crates from inventing kinds whose numbers would clash.
    pub trait Sealed {}
}

/// What a section holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content<'file> {
    /// A chip.
    Device(DeviceDescription),
    /// How a chip's lanes lie and are to be decoded.
    Layout(LaneLayout),
    /// Names of zones.
    ZoneNames(ZoneTable),
    /// A control vector, as read.
    Control(ControlWords<'file>),
    /// A lane's words, as read.
    Lane(LaneWords<'file>),
    /// A loss log's words, as read.
    LossLog(LossLogWords<'file>),
    /// What a clock fit is made from.
    Clock(ClockSamples),
    /// What is known of ops.
    OpMetadata(Vec<OpMetadata>),
    /// Events of the host, not yet interpreted.
    HostEvents(HostEvents<'file>),
    /// Losses of a source that has no raw words.
    Ledger(LossLedger),
    /// The end of a read.
    ReadBoundary(ReadBoundary),
    /// A kind that this library does not know.
    Unknown(&'file [u8]),
}

impl<'file> Content<'file> {
    /// Reads the payload of a section.
    pub(super) fn decode(
        kind: SectionKind,
        version: SectionVersion,
        payload: &'file [u8],
    ) -> Result<Self, ProblemKind> {
        match kind {
            SectionKind::DEVICE => read(version, payload, Self::Device),
            SectionKind::LAYOUT => read(version, payload, Self::Layout),
            SectionKind::ZONE_NAMES => read(version, payload, Self::ZoneNames),
            SectionKind::CONTROL => read(version, payload, Self::Control),
            SectionKind::LANE => read(version, payload, Self::Lane),
            SectionKind::LOSS_LOG => read(version, payload, Self::LossLog),
            SectionKind::CLOCK => read(version, payload, Self::Clock),
            SectionKind::OP_METADATA => read(version, payload, Self::OpMetadata),
            SectionKind::HOST_EVENTS => read(version, payload, Self::HostEvents),
            SectionKind::LEDGER => read(version, payload, Self::Ledger),
            SectionKind::READ_BOUNDARY => read(version, payload, Self::ReadBoundary),
            _ => Ok(Self::Unknown(payload)),
        }
    }
}

fn read<'file, P: Payload<'file>>(
    found: SectionVersion,
    payload: &'file [u8],
    content: impl FnOnce(P) -> Content<'file>,
) -> Result<Content<'file>, ProblemKind> {
    if found.major != P::VERSION.major {
        return Err(ProblemKind::UnknownSectionVersion { found, known: P::VERSION });
    }
    P::decode(payload).map(content).map_err(ProblemKind::Malformed)
}

const VERSION_1_0: SectionVersion = SectionVersion { major: 1, minor: 0 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_distinct_numbers_and_labels() {
        let numbers: std::collections::BTreeSet<_> = SectionKind::ALL.into_iter().collect();
        let labels: std::collections::BTreeSet<_> =
            SectionKind::ALL.into_iter().map(|kind| kind.label().unwrap()).collect();
        assert_eq!((numbers.len(), labels.len()), (SectionKind::ALL.len(), SectionKind::ALL.len()));
        assert_eq!(SectionKind(999).to_string(), "kind 999");
    }

    #[test]
    fn a_newer_major_version_is_refused_and_a_newer_minor_one_read() {
        let mut payload = Vec::new();
        ReadBoundary::default().encode(&mut payload).unwrap();
        payload.extend_from_slice(&[1; 24]);
        let newer_minor = SectionVersion { major: 1, minor: 9 };
        let content = Content::decode(SectionKind::READ_BOUNDARY, newer_minor, &payload);
        assert_eq!(content, Ok(Content::ReadBoundary(ReadBoundary::default())));
        let newer_major = SectionVersion { major: 2, minor: 0 };
        let content = Content::decode(SectionKind::READ_BOUNDARY, newer_major, &payload);
        let known = VERSION_1_0;
        assert_eq!(content, Err(ProblemKind::UnknownSectionVersion { found: newer_major, known }));
    }
}
