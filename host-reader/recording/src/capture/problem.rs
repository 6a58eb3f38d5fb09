//! Problems: unusable bytes of a capture, and why they are unusable.

use super::{frame::SectionVersion, kind::SectionKind};

/// Unusable bytes of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Number of unusable bytes; 0 if sections or a mark are missing at the offset.
    pub size_bytes: u64,
    /// Kind of the problem.
    pub kind: ProblemKind,
    /// Section to which the bytes belong, if its header is intact.
    pub section: Option<ProblemSection>,
}

/// The section lost to a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProblemSection {
    /// Kind of the section.
    pub kind: SectionKind,
    /// Number of the section in the file, from 0.
    pub number: u32,
}

/// Kind of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The file header's magic or checksum is wrong; version and identity are unknown.
    DamagedFileHeader,
    /// The bytes contain no section, because a section's header is damaged or truncated.
    NoSection,
    /// A section ends before its payload is complete, at the end of the file or at the next
    /// section.
    ///
    /// The cause is a writer that was stopped.
    TornSection {
        /// Number of payload bytes stated in the header.
        expected_bytes: u64,
        /// Number of bytes after the header.
        found_bytes: u64,
    },
    /// The payload has changed since it was written.
    DamagedPayload {
        /// Checksum stored after the payload.
        expected: u32,
        /// Checksum computed from the payload.
        found: u32,
    },
    /// Sections are missing: there is a gap in the section numbers.
    MissingSections {
        /// Number of missing sections.
        count: u32,
    },
    /// A section with the number of an earlier section; this copy is not used.
    RepeatedSection,
    /// A section with a lower number than the section before it.
    ///
    /// Sections are used in the order of their numbers.
    MovedSection,
    /// Another capture begins after the end of this capture.
    ///
    /// The other capture is not used, because its reads and losses would be attributed to this
    /// capture.
    OtherCapture,
    /// The payload is intact, but this library does not know this version of the section's kind.
    UnknownSectionVersion {
        /// Version of the section.
        found: SectionVersion,
        /// Version that this library writes.
        known: SectionVersion,
    },
    /// A flag changes the payload's meaning in an unknown way.
    UnknownFlags {
        /// All flags of the section.
        flags: u32,
    },
    /// The payload is intact, but a field has an impossible value.
    Malformed(MalformedPayload),
    /// A read has no end: the writer was stopped, or the end is lost.
    ///
    /// The data of the read is used.
    OpenRead {
        /// Number of the read.
        read_number: u32,
    },
    /// The last recording has no end mark.
    ///
    /// The writer was stopped or is still running, or the mark is lost.
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

impl std::fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::DamagedFileHeader => f.write_str("the file header is damaged"),
            Self::NoSection => f.write_str("no section, or one whose header is damaged"),
            Self::TornSection { expected_bytes, found_bytes } => {
                write!(f, "torn: {expected_bytes} bytes of payload expected, {found_bytes} found")
            }
            Self::DamagedPayload { expected, found } => {
                write!(f, "damaged: checksum {expected:#010x} expected, {found:#010x} found")
            }
            Self::MissingSections { count } => write!(f, "{count} sections are missing"),
            Self::RepeatedSection => f.write_str("a copy of a section before it, not used"),
            Self::MovedSection => {
                f.write_str("a section in the wrong place; it is used where its number puts it")
            }
            Self::OtherCapture => f.write_str("another capture begins here, which is not used"),
            Self::UnknownSectionVersion { found, known } => {
                write!(f, "version {found}; this library reads {}.x, update it", known.major)
            }
            Self::UnknownFlags { flags } => {
                write!(f, "flags {flags:#010x} are not known; update this library")
            }
            Self::Malformed(fault) => write!(f, "malformed: {fault}"),
            Self::OpenRead { read_number } => {
                write!(f, "read {read_number} has no end; what it left is used")
            }
            Self::Unfinished => f.write_str("the capture was never finished"),
        }
    }
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
