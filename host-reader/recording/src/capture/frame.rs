//! Frames: the header and the trailer around a section's payload. Because each section has its own
//! frame, damage in one section does not affect the other sections.
//!
//! Frames do not depend on the payload's meaning; see the [module](super) for the byte layout.

use super::{
    kind::SectionKind,
    numbers::{Record, put_u16s, put_u32s, put_u64s},
};
use std::ops::Range;

/// Version of one kind of section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SectionVersion {
    /// Increases when older readers would misread the payload. Older readers skip such sections.
    pub major: u8,
    /// Increases when fields are added after the fields that older readers know.
    pub minor: u8,
}

impl SectionVersion {
    const fn to_word(self) -> u16 {
        (self.major as u16) << 8 | self.minor as u16
    }

    const fn from_word(word: u16) -> Self {
        let [minor, major] = word.to_le_bytes();
        Self { major, minor }
    }
}

impl std::fmt::Display for SectionVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Header fields that describe the payload of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHead {
    pub(super) kind: SectionKind,
    pub(super) version: SectionVersion,
    pub(super) flags: u32,
    pub(super) number: u32,
}

/// A frame with an intact header, which ends within the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) head: FrameHead,
    /// Offset of the frame in its file.
    pub(super) start: usize,
    /// Size of the payload, without padding.
    pub(super) payload_bytes: usize,
}

/// Reason why the bytes at an offset are not a complete frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameFault {
    /// There is no frame header.
    Header,
    /// The header is intact, but the frame is longer than the available bytes.
    Torn { head: FrameHead, payload_bytes: u64 },
}

pub(super) const FRAME_HEADER_BYTES: usize = 32;
pub(super) const FRAME_TRAILER_BYTES: usize = 8;
pub(super) const FRAME_ALIGN_BYTES: usize = 8;

/// First bytes of a frame. They are not valid UTF-8, so no text contains them.
pub(super) const FRAME_MAGIC: [u8; 8] = *b"\xABSECTION";

/// Mask of the flags that change the payload's meaning. A reader must skip a section if one of
/// these flags is set and unknown.
///
/// Readers may ignore unknown flags outside this mask.
pub(super) const MANDATORY_FLAGS: u32 = 0xFFFF_0000;

impl Frame {
    /// Reads the frame at `start` without trusting its length.
    pub(super) fn read(bytes: &[u8], start: usize) -> Result<Self, FrameFault> {
        let rest = bytes.get(start..).ok_or(FrameFault::Header)?;
        let header = rest.first_chunk().ok_or(FrameFault::Header)?;
        let mut fields = Record::new(header);
        let magic = fields.u8s();
        let [kind, version] = fields.u16s();
        let [flags] = fields.u32s();
        let [payload_bytes] = fields.u64s();
        let [number, checksum] = fields.u32s();
        if magic != FRAME_MAGIC || checksum != header_checksum(header) {
            return Err(FrameFault::Header);
        }
        let version = SectionVersion::from_word(version);
        let head = FrameHead { kind: SectionKind(kind), version, flags, number };
        match usize::try_from(payload_bytes).ok().filter(|&size| fits(size, rest.len())) {
            Some(payload_bytes) => Ok(Self { head, start, payload_bytes }),
            None => Err(FrameFault::Torn { head, payload_bytes }),
        }
    }

    /// Returns the range of the payload, without padding.
    pub(super) const fn payload(&self) -> Range<usize> {
        let start = self.start.saturating_add(FRAME_HEADER_BYTES);
        start..start.saturating_add(self.payload_bytes)
    }

    /// Returns the offset of the frame's end, including padding and trailer.
    pub(super) const fn end(&self) -> usize {
        self.trailer().saturating_add(FRAME_TRAILER_BYTES)
    }

    /// Checks the payload's checksum and the section number in the trailer.
    ///
    /// The error contains the expected and the actual checksum.
    pub(super) fn verify(&self, bytes: &[u8]) -> Result<(), PayloadFault> {
        let covered = bytes.get(self.payload().start..self.trailer()).unwrap_or(&[]);
        let found = crc32fast::hash(covered);
        let Some(trailer) = bytes.get(self.trailer()..self.end()) else {
            return Err(PayloadFault { expected: 0, found });
        };
        let [expected, number] = Record::new(trailer).u32s();
        if expected != found || number != self.head.number {
            return Err(PayloadFault { expected, found });
        }
        Ok(())
    }

    const fn trailer(&self) -> usize {
        let padded = self.payload_bytes.next_multiple_of(FRAME_ALIGN_BYTES);
        self.start.saturating_add(FRAME_HEADER_BYTES).saturating_add(padded)
    }
}

/// A payload with a wrong checksum, or a trailer with a wrong section number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PayloadFault {
    pub(super) expected: u32,
    pub(super) found: u32,
}

/// Clears a buffer and begins a frame in it. The caller then appends the payload.
pub(super) fn begin_frame(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.resize(FRAME_HEADER_BYTES, 0);
}

/// Completes a frame that [`begin_frame`] began.
pub(super) fn finish_frame(buffer: &mut Vec<u8>, head: FrameHead) {
    let payload_bytes = buffer.len().saturating_sub(FRAME_HEADER_BYTES);
    let mut header = Vec::with_capacity(FRAME_HEADER_BYTES);
    header.extend(FRAME_MAGIC);
    put_u16s(&mut header, [head.kind.0, head.version.to_word()]);
    put_u32s(&mut header, [head.flags]);
    put_u64s(&mut header, [payload_bytes as u64]);
    put_u32s(&mut header, [head.number]);
    let checksum = crc32fast::hash(&header);
    put_u32s(&mut header, [checksum]);
    buffer.resize(buffer.len().next_multiple_of(FRAME_ALIGN_BYTES), 0);
    let (place, covered) = buffer.split_at_mut(FRAME_HEADER_BYTES);
    place.copy_from_slice(&header);
    let checksum = crc32fast::hash(covered);
    put_u32s(buffer, [checksum, head.number]);
}

/// Returns the checksum of the header fields that precede the checksum field.
fn header_checksum(header: &[u8; FRAME_HEADER_BYTES]) -> u32 {
    let (covered, _) = header.split_at(FRAME_HEADER_BYTES.saturating_sub(4));
    crc32fast::hash(covered)
}

/// Returns true if a frame with this payload fits into `available` bytes.
fn fits(payload_bytes: usize, available: usize) -> bool {
    payload_bytes
        .checked_next_multiple_of(FRAME_ALIGN_BYTES)
        .and_then(|padded| padded.checked_add(FRAME_HEADER_BYTES + FRAME_TRAILER_BYTES))
        .is_some_and(|total| total <= available)
}

const _: () = assert!(FRAME_HEADER_BYTES.is_multiple_of(FRAME_ALIGN_BYTES));

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: FrameHead = FrameHead {
        kind: SectionKind(5),
        version: SectionVersion { major: 1, minor: 2 },
        flags: 0,
        number: 77,
    };

    fn frame(payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        begin_frame(&mut bytes);
        bytes.extend_from_slice(payload);
        finish_frame(&mut bytes, HEAD);
        bytes
    }

    #[test]
    fn a_frame_gives_back_its_head_and_payload() {
        for length in 0..17 {
            let payload: Vec<u8> = (0..length).collect();
            let bytes = frame(&payload);
            let read = Frame::read(&bytes, 0).unwrap();
            assert_eq!((read.head, &bytes[read.payload()]), (HEAD, payload.as_slice()));
            assert_eq!(read.end(), bytes.len());
            assert_eq!(read.verify(&bytes), Ok(()));
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let whole = frame(b"thirteen bytes");
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let is_sound = Frame::read(&bytes, 0).is_ok_and(|frame| frame.verify(&bytes).is_ok());
            assert!(!is_sound, "bit {bit}");
        }
    }

    #[test]
    fn lengths_that_no_file_has_are_torn_and_not_believed() {
        for payload_bytes in [15_u64, 1 << 40, u64::MAX - 7, u64::MAX] {
            let mut bytes = frame(b"x");
            bytes[16..24].copy_from_slice(&payload_bytes.to_le_bytes());
            let checksum = header_checksum(bytes.first_chunk().unwrap());
            bytes[28..32].copy_from_slice(&checksum.to_le_bytes());
            let fault = Frame::read(&bytes, 0).unwrap_err();
            assert_eq!(fault, FrameFault::Torn { head: HEAD, payload_bytes });
        }
    }
}
