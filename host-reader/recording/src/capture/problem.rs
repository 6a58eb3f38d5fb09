//! Problems: unusable bytes of a capture, and why they are unusable.

use super::{frame::SectionVersion, kind::SectionKind};

/// Unusable bytes of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Number of unusable bytes; 0 if the problem is that sections or an end mark are missing at
    /// this offset.
    pub size_bytes: u64,
    /// Kind of the problem.
    pub kind: ProblemKind,
    /// Section to which the bytes belong, if its header is intact.
    pub section: Option<ProblemSection>,
}

/// Kind and number of the section to which unusable bytes belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProblemSection {
    /// Kind of the section.
    pub kind: SectionKind,
    /// Number of the section in the file, counted from 0.
    pub number: u32,
}

/// Kind of a problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The file header's magic or checksum is wrong; version and identity are unknown.
    #[error("the file header is damaged")]
    DamagedFileHeader,
    /// The bytes contain no section, because a section's header is damaged or truncated.
    #[error("no section header, or a damaged one")]
    NoSection,
    /// A section ends before its payload is complete, at the end of the file or at the next
    /// section.
    ///
    /// The cause is a writer that was stopped.
    #[error("torn: {expected_bytes} bytes of payload expected, {found_bytes} found")]
    TornSection {
        /// Number of payload bytes stated in the header.
        expected_bytes: u64,
        /// Number of bytes after the header.
        found_bytes: u64,
    },
    /// The payload has changed since it was written.
    #[error("damaged: checksum {expected:#010x} expected, {found:#010x} found")]
    DamagedPayload {
        /// Checksum stored after the payload.
        expected: u32,
        /// Checksum computed from the payload.
        found: u32,
    },
    /// Sections are missing: there is a gap in the section numbers.
    #[error("{count} sections are missing")]
    MissingSections {
        /// Number of missing sections.
        count: u32,
    },
    /// A section with the number of an earlier section; this copy is not used.
    #[error("a copy of an earlier section, ignored")]
    RepeatedSection,
    /// A section with a lower number than the section before it.
    ///
    /// Sections are used in the order of their numbers.
    #[error("a section out of order; it is used in the order of section numbers")]
    MovedSection,
    /// Another capture begins after the end of this capture.
    ///
    /// The other capture is not used, because its reads and losses would be attributed to this
    /// capture.
    #[error("another capture begins here, which is ignored")]
    OtherCapture,
    /// The payload is intact, but this library does not know this version of the section's kind.
    #[error("version {found}; this library reads {}.x, update it", .known.major)]
    UnknownSectionVersion {
        /// Version of the section.
        found: SectionVersion,
        /// Version that this library writes.
        known: SectionVersion,
    },
    /// A flag changes the payload's meaning in an unknown way.
    #[error("unknown flags {flags:#010x}; update this library")]
    UnknownFlags {
        /// All flags of the section.
        flags: u32,
    },
    /// The payload is intact, but a field has an impossible value.
    #[error("malformed: {0}")]
    Malformed(MalformedPayload),
    /// The section that ends a read is missing: the writer was stopped, or the section is lost.
    ///
    /// The data of the read is used.
    #[error("read {read_number} has no end; its data up to here is used")]
    OpenRead {
        /// Number of the read.
        read_number: u32,
    },
    /// The last recording has no end mark.
    ///
    /// The writer was stopped or is still running, or the mark is lost.
    #[error("the capture was never finished")]
    Unfinished,
}

/// Impossible value in a field of an undamaged section.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} at byte {offset} of the payload: expected {expected}, found {found}")]
pub struct MalformedPayload {
    /// Name of the field.
    pub field: &'static str,
    /// Byte offset of the field in the payload.
    pub offset: u64,
    /// Expected values.
    pub expected: String,
    /// Value found.
    pub found: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "byte {}, {} bytes", self.offset, self.size_bytes)?;
        if let Some(section) = self.section {
            write!(f, ", section {} ({})", section.number, section.kind)?;
        }
        write!(f, ": {}", self.kind)
    }
}
