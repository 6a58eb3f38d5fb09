//! Zones of threads. Unlike a zone of a lane, a zone of a thread can have its own name and text.

use super::places::PlaceNumber;
use crate::{ZoneEdge, trace::edges_of_depths};
use std::borrow::Cow;

/// Zone of a thread. In a list of spans, a zone follows the zones that enclose it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span<'a> {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// Number of enclosing zones.
    pub(super) depth: u16,
    pub(super) place: PlaceNumber,
    /// Name shown instead of the source location's name; empty to show the source location's name.
    pub(super) name: Cow<'a, str>,
    /// Text shown in the zone's details; empty if there is none.
    pub(super) text: Cow<'a, str>,
}

impl Span<'_> {
    /// Returns true if the zone has its own name or text in addition to its source location.
    pub(super) fn has_extra(&self) -> bool {
        !(self.name.is_empty() && self.text.is_empty())
    }
}

/// Returns the starts and ends of a thread's spans. Each span ends after the spans nested in it.
pub(super) fn edges(spans: &[Span<'_>]) -> impl Iterator<Item = ZoneEdge> {
    edges_of_depths(spans.iter().map(|span| span.depth))
}
