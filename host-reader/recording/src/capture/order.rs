//! Order of sections by their numbers, which may differ from their order in the file.

use super::{
    frame::Frame,
    problem::{Problem, ProblemKind, ProblemSection},
};

/// Position of a sound section relative to the other sections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SectionPosition {
    /// Number of sections missing between this section and the section with the next lower number.
    pub(super) missing_before: u32,
    /// True if a section that comes earlier in the file has the same number.
    is_repeated: bool,
    /// True if the section before it in the file has a higher number.
    is_moved: bool,
}

impl SectionPosition {
    /// Returns the problem with the position, if there is one.
    pub(super) fn problem(self, frame: &Frame) -> Option<Problem> {
        let (kind, size_bytes) = match self {
            Self { is_repeated: true, .. } => {
                let size_bytes = frame.end().saturating_sub(frame.start) as u64;
                (ProblemKind::RepeatedSection, size_bytes)
            }
            Self { is_moved: true, .. } => (ProblemKind::MovedSection, 0),
            _ => return None,
        };
        let section = ProblemSection { kind: frame.head.kind, number: frame.head.number };
        Some(Problem { offset: frame.start as u64, size_bytes, kind, section: Some(section) })
    }
}

/// Returns the position of each section. `frames` must be in file order.
pub(super) fn positions(frames: &[Frame]) -> Vec<SectionPosition> {
    let mut positions = vec![SectionPosition::default(); frames.len()];
    let mut by_number: Vec<_> = frames.iter().zip(&mut positions).collect();
    // The sort is stable, so sections with equal numbers keep their order in the file.
    by_number.sort_by_key(|(frame, _)| frame.head.number);
    let mut next_number = 0;
    for (frame, position) in by_number {
        let number = frame.head.number;
        position.is_repeated = number < next_number;
        position.missing_before = number.saturating_sub(next_number);
        next_number = number.saturating_add(1).max(next_number);
    }
    let pairs = frames.iter().zip(frames.iter().skip(1));
    for ((before, frame), position) in pairs.zip(positions.iter_mut().skip(1)) {
        position.is_moved = frame.head.number < before.head.number;
    }
    positions
}

/// Sorts sections by their numbers and removes repeated sections.
pub(super) fn put_in_order(frames: Vec<Frame>, positions: &[SectionPosition]) -> Vec<Frame> {
    let once = frames.into_iter().zip(positions).filter(|(_, position)| !position.is_repeated);
    let mut frames: Vec<_> = once.map(|(frame, _)| frame).collect();
    frames.sort_by_key(|frame| frame.head.number);
    frames
}
