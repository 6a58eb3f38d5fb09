//! Zones of threads, which unlike those of lanes have names and texts of their own.

use super::places::PlaceNumber;
use crate::{ZoneEdge, trace::edges_of_depths};
use std::borrow::Cow;

/// A zone of a thread; it follows those around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span<'a> {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// Zones around it.
    pub(super) depth: u16,
    pub(super) place: PlaceNumber,
    /// Shown in place of the location's name; empty if that is the name.
    pub(super) name: Cow<'a, str>,
    /// Shown in the zone's details; empty if there is none.
    pub(super) text: Cow<'a, str>,
}

impl Span<'_> {
    /// Returns true if it has a name or text of its own besides its source location.
    pub(super) fn has_extra(&self) -> bool {
        !(self.name.is_empty() && self.text.is_empty())
    }
}

/// Begins and ends of a thread's zones, in the order of time.
pub(super) fn edges(spans: &[Span<'_>]) -> impl Iterator<Item = ZoneEdge> {
    edges_of_depths(spans.iter().map(|span| span.depth))
}
