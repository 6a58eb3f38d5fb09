//! The order of sections by their numbers, whatever their order in the file.

use super::{
    frame::Frame,
    kind::SectionKind,
    problem::{Problem, ProblemKind, ProblemSection},
};

/// Place of a sound section among the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Numbers between that of this section and the next lower one.
    pub(super) missing_before: u32,
    /// True if a section before it has its number.
    is_repeated: bool,
    /// True if the section directly before it has a higher number.
    is_moved: bool,
}

impl Place {
    /// What is wrong with the place, if anything is.
    pub(super) fn problem(self, frame: &Frame) -> Option<Problem> {
        let (kind, size_bytes) = match self {
            Self { is_repeated: true, .. } => {
                let size_bytes = frame.end().saturating_sub(frame.start) as u64;
                (ProblemKind::RepeatedSection, size_bytes)
            }
            Self { is_moved: true, .. } => (ProblemKind::MovedSection, 0),
            _ => return None,
        };
        let section =
            ProblemSection { kind: SectionKind(frame.head.kind), number: frame.head.number };
        Some(Problem { offset: frame.start as u64, size_bytes, kind, section: Some(section) })
    }
}

/// Places of sections that are given in the order of the file.
pub(super) fn places(frames: &[Frame]) -> Vec<Place> {
    let mut places = vec![Place::default(); frames.len()];
    let mut by_number: Vec<_> = frames.iter().zip(&mut places).collect();
    // Stable: of several with one number, the first in the file comes first.
    by_number.sort_by_key(|(frame, _)| frame.head.number);
    let mut next_number = 0;
    for (frame, place) in by_number {
        let number = frame.head.number;
        place.is_repeated = number < next_number;
        place.missing_before = number.saturating_sub(next_number);
        next_number = number.saturating_add(1).max(next_number);
    }
    let pairs = frames.iter().zip(frames.iter().skip(1));
    for ((before, frame), place) in pairs.zip(places.iter_mut().skip(1)) {
        place.is_moved = frame.head.number < before.head.number;
    }
    places
}

/// Puts sections in the order of their numbers, without those that are repeated.
pub(super) fn put_in_order(frames: Vec<Frame>, places: &[Place]) -> Vec<Frame> {
    let once = frames.into_iter().zip(places).filter(|(_, place)| !place.is_repeated);
    let mut frames: Vec<_> = once.map(|(frame, _)| frame).collect();
    frames.sort_by_key(|frame| frame.head.number);
    frames
}
