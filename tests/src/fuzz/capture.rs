//! Checks of the capture reader.

use super::{check_anomalies, check_columns};
use host_reader::capture::{Capture, FILE_HEADER_BYTES};

/// Reads bytes as a capture, first as they are and then with all checksums corrected.
///
/// With a wrong checksum, the reader would reject a changed payload before parsing it.
///
/// # Panics
/// If the reader violates a property.
pub fn capture(data: &[u8]) {
    check(data.to_vec());
    let resealed = resealed(data);
    if resealed != data {
        check(resealed);
    }
}

fn check(bytes: Vec<u8>) {
    let size = bytes.len();
    let Ok(capture) = Capture::from_bytes(bytes) else { return };
    assert_eq!(capture.size_bytes(), size as u64);
    check_extents(&capture);
    let info = capture.info();
    assert!(info.marker_words() <= size as u64 / 4, "{} words", info.marker_words());
    for run in capture.runs().unwrap_or_default() {
        run.readout.lanes().for_each(check_columns);
        check_anomalies(&run.readout.anomalies);
    }
}

/// Checks that sections and problems are within the file, and that every section is counted once.
fn check_extents(capture: &Capture) {
    let check = capture.check();
    let payloads: usize = capture.sections().map(|section| section.payload.len()).sum();
    assert!(payloads as u64 <= capture.size_bytes());
    assert!(capture.problems().len() as u64 <= capture.size_bytes());
    for problem in &check.problems {
        let end = problem.offset.checked_add(problem.size_bytes);
        assert!(end.is_some_and(|end| end <= capture.size_bytes()), "{problem:?}");
    }
    let malformed = capture.sections().filter(|section| section.content().is_err()).count() as u64;
    let counted = check.usable_count + check.unknown_count + malformed;
    assert_eq!(counted, capture.sections().count() as u64);
}

/// Returns a copy with correct checksums of the file and of each section.
#[must_use]
pub fn resealed(data: &[u8]) -> Vec<u8> {
    let mut bytes = data.to_vec();
    seal(&mut bytes, 0, FILE_HEADER_BYTES - 4);
    let mut at = FILE_HEADER_BYTES;
    while let Some(start) = next_section(&bytes, at) {
        at = seal_section(&mut bytes, start).unwrap_or(start + SECTION_MAGIC.len());
    }
    bytes
}

const SECTION_MAGIC: [u8; 8] = *b"\xABSECTION";
/// Size of a section header in bytes. The last four bytes are the header's checksum.
const SECTION_HEADER_BYTES: usize = 32;

fn next_section(bytes: &[u8], from: usize) -> Option<usize> {
    let found = bytes.get(from..)?.windows(8).position(|window| window == SECTION_MAGIC)?;
    Some(from + found)
}

/// Corrects a section's checksums; returns the section's end, or `None` if it is truncated.
fn seal_section(bytes: &mut [u8], start: usize) -> Option<usize> {
    seal(bytes, start, start + SECTION_HEADER_BYTES - 4);
    let header = bytes.get(start..start + SECTION_HEADER_BYTES)?;
    let payload_bytes = u64::from_le_bytes(*header.get(16..24)?.first_chunk()?);
    let number: [u8; 4] = *header.get(24..28)?.first_chunk()?;
    let payload = start + SECTION_HEADER_BYTES;
    let padded = usize::try_from(payload_bytes).ok()?.checked_next_multiple_of(8)?;
    let trailer = payload.checked_add(padded)?;
    let end = trailer.checked_add(8)?;
    bytes.get_mut(trailer..end)?.get_mut(4..)?.copy_from_slice(&number);
    seal(bytes, payload, trailer);
    Some(end)
}

/// Writes the checksum of the range `start..end` directly after the range, if both fit into
/// `bytes`.
fn seal(bytes: &mut [u8], start: usize, end: usize) {
    let Some(covered) = bytes.get(start..end) else { return };
    let checksum = crc32fast::hash(covered).to_le_bytes();
    if let Some(place) = bytes.get_mut(end..end + 4) {
        place.copy_from_slice(&checksum);
    }
}
