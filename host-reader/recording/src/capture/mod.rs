//! Captures: `.kprof` files with the words read from chips, unchanged.
//!
//! A later version of this library can compute all numbers of a report again from the capture. A
//! capture is append-only: no byte is ever changed or removed. If a writer is killed, at most the
//! section that it was writing is therefore lost. A capture may be read while it grows. Damaged
//! parts are reported and skipped; all other parts are used.
//!
//! This module neither decodes the words nor accesses a chip.
//!
//! # Bytes
//!
//! This is version 1.4 of the container. All numbers are little-endian. All checksums are CRC-32
//! (with the polynomial of Ethernet and zlib). The file header:
//!
//! ```text
//!  0  8 B  8A 4B 50 52 4F 46 0D 0A       16  16 B  identity: a random number
//!  8  u16  major version: 1              32  u64   created, ns since the Unix epoch
//! 10  u16  minor version: 4              40  20 B  0
//! 12  u32  bytes of this header: 64      60  u32   checksum of bytes 0 to 59
//! ```
//!
//! Sections follow, each aligned to eight bytes:
//!
//! ```text
//!  0  8 B  AB 53 45 43 54 49 4F 4E       24  u32   number of the section, from 0
//!  8  u16  kind                          28  u32   checksum of bytes 0 to 27
//! 10  u16  version: major << 8 | minor   32  ...   payload, padded with zeros
//! 12  u32  flags                         ..  u32   checksum of payload and padding
//! 16  u64  bytes of the payload          ..  u32   number of the section, again
//! ```
//!
//! Flags in the upper half change the meaning of the payload, so a reader must skip a section with
//! an unknown flag in this half. Unknown flags in the lower half may be ignored. No flag is defined
//! yet. The payloads are described in the files of the `section` module, one file per kind:
//!
//! | kind | content | type |
//! |---|---|---|
//! | 1 | a chip | [`DeviceDescription`](reader::mesh::DeviceDescription) |
//! | 2 | the beginning and options of a read | [`ReadBegin`] |
//! | 3 | words of control vectors, lanes, loss logs, clocks | [`MemoryWords`] |
//! | 4 | a failed access to a chip | [`FailedAccess`] |
//! | 5 | the end of a read | [`ReadEnd`] |
//! | 6 | zone names | [`ZoneTable`](reader::names::ZoneTable) |
//! | 7 | clock samples | [`ClockSamples`] |
//! | 8 | op metadata | [`OpMetadata`] |
//! | 9 | host events, reserved | [`HostEvents`] |
//! | 10 | losses of data without raw words | [`LossLedger`](reader::ledger::LossLedger) |
//! | 11 | costs of probes in a run | [`ProbeCosts`](reader::probe_cost::ProbeCosts) |
//! | 12 | events of the host's threads | [`HostRecording`](host_events::HostRecording) |
//! | 13 | the end mark of a recording | [`CaptureEnd`] |
//! | 14 | the host's clock: its machine, its relation to the time of day | [`HostClock`] |
//! | 15 | which limits of a chip a simulator leaves out | [`SimulatedTime`](reader::simulated_time::SimulatedTime) |
//! | 16 | options of the profiler | [`RecordedOptions`](reader::recorded_options::RecordedOptions) |
//!
//! # Reading a damaged capture
//!
//! A length is used only if the header's checksum is correct and the section ends within the file.
//! Otherwise the reader searches byte by byte for the next header with a correct checksum. A
//! payload with a wrong checksum is not used, but the reader searches it for other complete
//! sections and uses these. The reason is that a killed writer leaves a section that is shorter
//! than its header states, and the next writer appends its sections there. Gaps in the section
//! numbers show missing sections.
//!
//! # Losses
//!
//! Words missing from a capture are [losses](reader::ledger::LossLedger) of their lanes. If the
//! lane is unknown because of damage, the ledger lists the damaged capture as a source of uncounted
//! losses. If the recording was never [finished](Capture::is_finished), the ledger lists the
//! unfinished capture in the same way.
//!
//! # Versions
//!
//! Since 1.1, writers mark the end of each recording. Captures of 1.0 have no such mark, so it is
//! unknown whether they are complete. Since 1.2, events of the host have colours. Since 1.3, a
//! recording with host times from a machine's monotonic clock contains the id of that machine.
//! Since 1.4, recordings of kprof's own simulator state this.
//!
//! Sections of unknown kinds are skipped and counted. A payload of a newer minor version is decoded
//! without its additional fields. A section with a newer major version of its kind is reported as a
//! problem. A newer major version of the container is an error.

#![cfg_attr(
    not(test),
    warn(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "lengths and counts come from a file"
    )
)]

mod error;
mod frame;
mod header;
mod host_clock;
mod host_recorder;
mod kernel_time;
mod kind;
mod label;
mod mapping;
mod mesh_recorder;
mod numbers;
mod order;
mod problem;
mod record;
mod replay;
mod scan;
mod section;
mod summary;
pub mod sync;
mod writer;

#[cfg(test)]
mod tests;

pub use error::CaptureError;
pub use frame::SectionVersion;
pub use header::{CaptureIdentity, FILE_HEADER_BYTES, FILE_MAGIC, FileHeader, FormatVersion};
pub use host_clock::HostClock;
pub use kind::SectionKind;
pub use mesh_recorder::{LivePart, MeshRecorder, RecordError};
pub use problem::{MalformedPayload, Problem, ProblemKind, ProblemSection};
pub use replay::CapturedRun;
pub use section::{
    CaptureEnd, ClockSamples, Content, FailedAccess, HostEvents, MemoryWords, OpMetadata, Payload,
    ReadBegin, ReadEnd, WordsContent,
};
pub use summary::{CaptureCheck, CaptureInfo, KindTotals};
pub use writer::{CaptureWriter, SyncPolicy};

use frame::{Frame, MANDATORY_FLAGS};
use mapping::CaptureBytes;
use std::path::Path;

/// An opened capture: its sections and its problems.
#[derive(Debug)]
pub struct Capture {
    bytes: CaptureBytes,
    header: Option<FileHeader>,
    frames: Vec<Frame>,
    problems: Vec<Problem>,
}

/// A sound section: its header, payload and trailer are intact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section<'file> {
    /// Kind of the section.
    pub kind: SectionKind,
    /// Version of the payload.
    pub version: SectionVersion,
    /// Flags; see the [module](self).
    pub flags: u32,
    /// Number of the section in the file, counted from 0.
    pub number: u32,
    /// Offset of the section in the file.
    pub offset: u64,
    /// Payload, with a correct checksum.
    pub payload: &'file [u8],
}

impl Capture {
    /// Maps a capture and checks every section.
    ///
    /// The file may grow while it is open; data appended later is not included. No program may
    /// rewrite or shorten the file; writers of captures never do so. If another program might do
    /// so, read the file and use [`Capture::from_bytes`].
    ///
    /// # Errors
    /// If the file cannot be read, is not a capture, or has a newer major version. Damage is not an
    /// error: see [`Capture::problems`].
    ///
    /// # Cost
    /// One pass over the file, on all processors.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        Self::new(CaptureBytes::map(path.as_ref())?)
    }

    /// Checks every section of a capture in memory.
    ///
    /// # Errors
    /// The same as for [`Capture::open`], except for errors of the file system.
    ///
    /// ```
    /// use recording::capture::{Capture, CaptureError};
    /// let error = Capture::from_bytes(vec![b' '; 100]).unwrap_err();
    /// assert!(matches!(error, CaptureError::NotACapture { .. }));
    /// ```
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, CaptureError> {
        Self::new(CaptureBytes::Owned(bytes))
    }

    /// Returns the version of the container; `None` if the file header is damaged.
    #[must_use]
    pub fn version(&self) -> Option<FormatVersion> {
        self.header.map(|header| header.version)
    }

    /// Returns the identity of the capture; `None` if the file header is damaged.
    #[must_use]
    pub fn identity(&self) -> Option<CaptureIdentity> {
        self.header.map(|header| header.identity)
    }

    /// Returns the size of the file.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns all sound sections, ordered by number.
    ///
    /// This is the file order unless a section was moved.
    pub fn sections(&self) -> impl DoubleEndedIterator<Item = Section<'_>> + ExactSizeIterator {
        self.frames.iter().map(|frame| Section {
            kind: frame.head.kind,
            version: frame.head.version,
            flags: frame.head.flags,
            number: frame.head.number,
            offset: frame.start as u64,
            payload: self.bytes.get(frame.payload()).unwrap_or(&[]),
        })
    }

    /// Returns all host clocks in the capture; captures before 1.3 have none.
    pub fn host_clocks(&self) -> impl Iterator<Item = HostClock> {
        let clocks = self.sections().filter(|section| section.kind == SectionKind::HOST_CLOCK);
        clocks.filter_map(|section| match section.content() {
            Ok(Content::HostClock(clock)) => Some(clock),
            _ => None,
        })
    }

    /// Returns the host's metadata of the ops of all recordings in the capture. Sections that cannot be
    /// decoded are left out.
    #[must_use]
    pub fn op_metadata(&self) -> Vec<OpMetadata> {
        let sections = self.sections().filter(|section| section.kind == SectionKind::OP_METADATA);
        let ops = sections.filter_map(|section| match section.content() {
            Ok(Content::OpMetadata(ops)) => Some(ops),
            _ => None,
        });
        ops.flatten().collect()
    }

    /// Returns the problems with bytes that belong to no sound section, in file order.
    ///
    /// Sound sections with impossible values are found by [`Section::content`] and
    /// [`Capture::check`].
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns true if the last recording was finished, and false if its end mark is missing.
    ///
    /// Returns `None` if the capture's writer did not write end marks.
    #[must_use]
    pub fn is_finished(&self) -> Option<bool> {
        let last = self.sections().next_back();
        if let Some(last) = last.filter(|&last| last.kind == SectionKind::CAPTURE_END) {
            // Bytes after the mark come from a later writer.
            let is_last = self.problems.iter().all(|problem| problem.offset < last.offset);
            return Some(is_last && last.content().is_ok());
        }
        self.expects_end_marks().then_some(false)
    }

    /// Returns true if the capture's writers write end marks.
    fn expects_end_marks(&self) -> bool {
        self.version().is_some_and(|version| version >= FormatVersion::WITH_END_MARK)
            || self.sections().any(|section| section.kind == SectionKind::CAPTURE_END)
    }

    fn new(bytes: CaptureBytes) -> Result<Self, CaptureError> {
        let header = read_header(&bytes)?;
        let scan::Scan { frames, mut problems } = scan::scan(&bytes, FILE_HEADER_BYTES);
        if header.is_none() {
            let size_bytes = FILE_HEADER_BYTES as u64;
            let kind = ProblemKind::DamagedFileHeader;
            problems.insert(0, Problem { offset: 0, size_bytes, kind, section: None });
        }
        Ok(Self { bytes, header, frames, problems })
    }

    /// Returns one more than the largest section number in the capture. Incomplete sections also
    /// count.
    fn next_section_number(&self) -> u32 {
        let sound = self.frames.iter().map(|frame| frame.head.number);
        let lost = self.problems.iter().filter_map(|problem| Some(problem.section?.number));
        sound.chain(lost).max().map_or(0, |number| number.wrapping_add(1))
    }

    /// Returns one more than the largest read number in the capture.
    fn next_read_number(&self) -> u32 {
        let numbers = self.sections().filter_map(|section| section.read_number());
        numbers.max().map_or(0, |number| number.saturating_add(1))
    }
}

impl<'file> Section<'file> {
    /// Decodes the payload.
    ///
    /// # Errors
    /// If the payload has a newer major version or an impossible value.
    pub fn content(&self) -> Result<Content<'file>, Problem> {
        let content = if self.flags & MANDATORY_FLAGS == 0 {
            Content::decode(self.kind, self.version, self.payload)
        } else {
            Err(ProblemKind::UnknownFlags { flags: self.flags })
        };
        content.map_err(|kind| Problem {
            offset: self.offset,
            size_bytes: self.size_bytes(),
            kind,
            section: Some(ProblemSection { kind: self.kind, number: self.number }),
        })
    }

    /// Returns the number of the section's read; `None` if its kind of section does not belong to
    /// one read.
    #[must_use]
    pub fn read_number(&self) -> Option<u32> {
        let is_of_read = matches!(
            self.kind,
            SectionKind::READ_BEGIN
                | SectionKind::MEMORY
                | SectionKind::FAILED_ACCESS
                | SectionKind::READ_END
        );
        let number = self.payload.first_chunk().filter(|_| is_of_read)?;
        Some(u32::from_le_bytes(*number))
    }

    /// Returns the offset of the section's end in the file.
    fn end_offset(&self) -> u64 {
        self.offset.saturating_add(self.size_bytes())
    }

    fn size_bytes(&self) -> u64 {
        const AROUND: usize = frame::FRAME_HEADER_BYTES + frame::FRAME_TRAILER_BYTES;
        let padded = self.payload.len().next_multiple_of(frame::FRAME_ALIGN_BYTES);
        AROUND.saturating_add(padded) as u64
    }
}

/// Reads the file header; returns `None` if the header is damaged.
///
/// If the magic is wrong and no section follows the header, the file is not a capture, and an error
/// is returned. If a section follows, the header counts as damaged.
fn read_header(bytes: &[u8]) -> Result<Option<FileHeader>, CaptureError> {
    let Some(first) = bytes.first_chunk() else {
        let magic = bytes.get(..FILE_MAGIC.len()).unwrap_or(bytes);
        if !FILE_MAGIC.starts_with(magic) {
            return Err(not_a_capture(bytes));
        }
        let (found_bytes, expected_bytes) = (bytes.len() as u64, FILE_HEADER_BYTES as u64);
        return Err(CaptureError::TooShort { found_bytes, expected_bytes });
    };
    let rest = bytes.get(FILE_HEADER_BYTES..).unwrap_or(&[]);
    let is_followed_by_section = rest.starts_with(&frame::FRAME_MAGIC);
    match FileHeader::read(first) {
        Some(header) => header.check_version().map(|()| Some(header)),
        None if !bytes.starts_with(&FILE_MAGIC) && !is_followed_by_section => {
            Err(not_a_capture(bytes))
        }
        None => Ok(None),
    }
}

fn not_a_capture(bytes: &[u8]) -> CaptureError {
    let mut found = [0; 8];
    for (target, &byte) in found.iter_mut().zip(bytes) {
        *target = byte;
    }
    CaptureError::NotACapture { expected: FILE_MAGIC, found }
}
