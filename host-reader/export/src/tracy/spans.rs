//! Zones of threads, which have their own names and texts, unlike zones of lanes.

use super::places::PlaceNumber;
use crate::{ZoneEdge, trace::edges_of_depths};
use std::borrow::Cow;

/// A zone of a thread; it comes after the zones that enclose it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span<'a> {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// Number of enclosing zones.
    pub(super) depth: u16,
    pub(super) place: PlaceNumber,
    /// Name shown instead of the location's name; empty to use the location's name.
    pub(super) name: Cow<'a, str>,
    /// Text in the zone's details; empty if there is none.
    pub(super) text: Cow<'a, str>,
}

impl Span<'_> {
    /// Returns true if the zone has an own name or text in addition to its source location.
    pub(super) fn has_extra(&self) -> bool {
        !(self.name.is_empty() && self.text.is_empty())
    }
}

/// Returns begins and ends of a thread's zones, ordered by time.
pub(super) fn edges(spans: &[Span<'_>]) -> impl Iterator<Item = ZoneEdge> {
    edges_of_depths(spans.iter().map(|span| span.depth))
}
