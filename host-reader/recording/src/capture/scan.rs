//! Scan of a file for sound sections. All other bytes are classified as problems.
//!
//! ```text
//! walk from header to header; if a header is missing, search for the next
//! check all payloads, on all processors
//! if a payload is wrong, its section may be torn, and another writer may have appended
//!   sections within its stated length: walk again inside of it
//! bytes between the sound sections are unusable, and are reported as problems
//! sections are put in the order of their numbers, each number once
//! ```
//!
//! Payloads are not decoded here.

use super::{
    frame::{FRAME_HEADER_BYTES, FRAME_MAGIC, Frame, FrameFault, FrameHead, PayloadFault},
    header::{FILE_HEADER_BYTES, FILE_MAGIC, FileHeader},
    order::{SectionPosition, positions, put_in_order},
    problem::{Problem, ProblemKind, ProblemSection},
};
use rayon::prelude::*;
use std::ops::Range;

/// Sections and problems of a file, starting at its first section.
pub(super) struct Scan {
    /// Sound sections, ordered by number.
    pub(super) frames: Vec<Frame>,
    /// Unusable bytes between the sections, in file order.
    pub(super) problems: Vec<Problem>,
}

/// Finds all sound sections after `start`, in time linear in the size of the file.
pub(super) fn scan(bytes: &[u8], start: usize) -> Scan {
    let mut search = Search { bytes, frames: Vec::new(), unsound: Vec::new() };
    search.region(start.min(bytes.len())..bytes.len(), 0);
    search.frames.sort_unstable_by_key(|frame| frame.start);
    // The search after a damaged section and the search inside the section may both find the same
    // torn section.
    search.unsound.sort_unstable_by_key(|unsound| unsound.start);
    search.unsound.dedup_by_key(|unsound| unsound.start);
    let other = search.leave_out_other_capture(start);
    let positions = positions(&search.frames);
    let mut problems = search.problems(start, &positions);
    problems.extend(other);
    Scan { frames: put_in_order(search.frames, &positions), problems }
}

/// Maximum nesting depth of incomplete sections. An incomplete section contains another section
/// that begins within the length that its header states.
///
/// Sections at a deeper level are not found. Each level is a pass over the same bytes, so the limit
/// bounds the time for a malicious file.
const NESTING_MAX: u32 = 16;

/// Minimum total size of payloads that are checked on several threads, in bytes. For less data,
/// starting threads takes longer than the checks.
const PARALLEL_BYTES_MIN: usize = 1 << 20;

/// A section with an intact header but a damaged or incomplete payload.
struct Unsound {
    start: usize,
    head: FrameHead,
    cause: Cause,
}

enum Cause {
    Torn { expected_bytes: u64 },
    Payload(PayloadFault),
}

struct Search<'file> {
    bytes: &'file [u8],
    frames: Vec<Frame>,
    unsound: Vec<Unsound>,
}

impl Search<'_> {
    fn region(&mut self, region: Range<usize>, nesting: u32) {
        let candidates = self.walk(region.clone());
        let verdicts = verify(self.bytes, &candidates);
        let nexts = candidates.iter().skip(1).map(|frame| frame.start).chain([region.end]);
        for ((&frame, verdict), next) in candidates.iter().zip(verdicts).zip(nexts) {
            let Err(fault) = verdict else {
                self.frames.push(frame);
                continue;
            };
            let cause = Cause::Payload(fault);
            self.unsound.push(Unsound { start: frame.start, head: frame.head, cause });
            if nesting < NESTING_MAX {
                let payload = frame.start.saturating_add(FRAME_HEADER_BYTES);
                self.region(payload..next, nesting.saturating_add(1));
            }
        }
    }

    /// Walks from header to header, and returns the sections that end within the region.
    fn walk(&mut self, region: Range<usize>) -> Vec<Frame> {
        let bytes = self.bytes.get(..region.end).unwrap_or(self.bytes);
        let mut frames = Vec::new();
        let mut at = region.start;
        while at < region.end {
            let search_from = match Frame::read(bytes, at) {
                Ok(frame) => {
                    frames.push(frame);
                    at = frame.end();
                    continue;
                }
                Err(FrameFault::Torn { head, payload_bytes }) => {
                    let cause = Cause::Torn { expected_bytes: payload_bytes };
                    self.unsound.push(Unsound { start: at, head, cause });
                    at.saturating_add(FRAME_HEADER_BYTES)
                }
                Err(FrameFault::Header) => at.saturating_add(1),
            };
            at = next_header(bytes, search_from).unwrap_or(region.end);
        }
        frames
    }

    /// Excludes another capture that was appended to this capture, including the other capture's
    /// file header.
    fn leave_out_other_capture(&mut self, start: usize) -> Option<Problem> {
        let ends = std::iter::once(start).chain(self.frames.iter().map(Frame::end));
        let mut gaps = ends.zip(self.frames.iter().map(|frame| frame.start));
        let offset = gaps.find_map(|(end, next)| file_header(self.bytes, end..next))?;
        self.frames.retain(|frame| frame.start < offset);
        self.unsound.retain(|unsound| unsound.start < offset);
        let size_bytes = self.bytes.len().saturating_sub(offset) as u64;
        self.bytes = self.bytes.get(..offset).unwrap_or(self.bytes);
        let kind = ProblemKind::OtherCapture;
        Some(Problem { offset: offset as u64, size_bytes, kind, section: None })
    }

    /// Returns a problem for each gap between sound sections and for each misplaced section.
    fn problems(&self, start: usize, positions: &[SectionPosition]) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut unsound = self.unsound.as_slice();
        let mut end = start;
        for (frame, position) in self.frames.iter().zip(positions) {
            let inside = unsound.partition_point(|unsound| unsound.start < frame.start);
            let (lost, rest) = unsound.split_at(inside);
            let gap = Gap { range: end..frame.start, lost };
            gap.describe(Some(position.missing_before), &mut problems);
            problems.extend(position.problem(frame));
            (unsound, end) = (rest, frame.end());
        }
        Gap { range: end..self.bytes.len(), lost: unsound }.describe(None, &mut problems);
        problems
    }
}

/// The bytes between two sound sections.
struct Gap<'search> {
    range: Range<usize>,
    lost: &'search [Unsound],
}

impl Gap<'_> {
    /// Adds the problems of the gap; `missing` is the number of sections missing in the gap.
    fn describe(&self, missing: Option<u32>, problems: &mut Vec<Problem>) {
        let before = problems.len();
        let first = self.lost.first().map_or(self.range.end, |unsound| unsound.start);
        if first > self.range.start {
            let size_bytes = first.saturating_sub(self.range.start) as u64;
            let offset = self.range.start as u64;
            let kind = ProblemKind::NoSection;
            problems.push(Problem { offset, size_bytes, kind, section: None });
        }
        let ends = self.lost.iter().skip(1).map(|unsound| unsound.start).chain([self.range.end]);
        problems.extend(self.lost.iter().zip(ends).map(|(lost, end)| lost.problem(end)));
        let named = u32::try_from(problems.len().saturating_sub(before)).unwrap_or(u32::MAX);
        if let Some(count @ 1..) = missing.map(|missing| missing.saturating_sub(named)) {
            let offset = self.range.end as u64;
            let kind = ProblemKind::MissingSections { count };
            problems.push(Problem { offset, size_bytes: 0, kind, section: None });
        }
    }
}

impl Unsound {
    fn problem(&self, end: usize) -> Problem {
        let behind_header =
            end.saturating_sub(self.start).saturating_sub(FRAME_HEADER_BYTES) as u64;
        let kind = match self.cause {
            Cause::Torn { expected_bytes } => {
                ProblemKind::TornSection { expected_bytes, found_bytes: behind_header }
            }
            Cause::Payload(PayloadFault { expected, found }) => {
                ProblemKind::DamagedPayload { expected, found }
            }
        };
        let FrameHead { kind: section_kind, number, .. } = self.head;
        Problem {
            offset: self.start as u64,
            size_bytes: end.saturating_sub(self.start) as u64,
            kind,
            section: Some(ProblemSection { kind: section_kind, number }),
        }
    }
}

fn verify(bytes: &[u8], frames: &[Frame]) -> Vec<Result<(), PayloadFault>> {
    let total_bytes: usize = frames.iter().map(|frame| frame.payload_bytes).sum();
    if total_bytes < PARALLEL_BYTES_MIN {
        return frames.iter().map(|frame| frame.verify(bytes)).collect();
    }
    frames.par_iter().map(|frame| frame.verify(bytes)).collect()
}

/// Returns the first offset of a sound file header within a gap.
fn file_header(bytes: &[u8], gap: Range<usize>) -> Option<usize> {
    let mut headers = bytes.get(gap.clone())?.windows(FILE_HEADER_BYTES);
    Some(gap.start.saturating_add(headers.position(|window| {
        window.starts_with(&FILE_MAGIC)
            && window.first_chunk().is_some_and(|header| FileHeader::read(header).is_some())
    })?))
}

/// Returns the next offset of a frame header with a correct checksum.
///
/// Searches at every byte, because a damaged file may have lost bytes.
fn next_header(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(rest) = bytes.get(at..) {
        let offset = rest.iter().position(|&byte| byte == FRAME_MAGIC[0])?;
        at = at.saturating_add(offset);
        let has_magic = rest.get(offset..).is_some_and(|rest| rest.starts_with(&FRAME_MAGIC));
        if has_magic && Frame::read(bytes, at) != Err(FrameFault::Header) {
            return Some(at);
        }
        at = at.saturating_add(1);
    }
    None
}
