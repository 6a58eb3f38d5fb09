//! Numbers for the names of host zones, messages, signposts and frames. These numbers follow the
//! numbers of the chips' names.

use super::{NameId, Trace, TraceHostThread, TraceZone};
use host_events::HostSource;
use std::collections::HashMap;

/// Names of the host, for formats that have a single table of names.
pub(super) struct HostNames<'a> {
    /// Names with their source locations, in the order of their numbers.
    pub(super) sources: Vec<&'a HostSource>,
    numbers: HashMap<&'a HostSource, NameId>,
}

impl<'a> HostNames<'a> {
    pub(super) fn new(trace: &Trace<'a>) -> Self {
        let sources: Vec<_> = trace.host.sources().into_iter().collect();
        let first = u32::try_from(trace.names.as_slice().len()).unwrap_or(u32::MAX);
        let numbers = sources.iter().copied().zip((first..).map(NameId)).collect();
        Self { sources, numbers }
    }

    /// Returns the number of a zone's name in the table of names.
    pub(super) fn zone_name(&self, thread: &TraceHostThread<'_>, zone: &TraceZone) -> NameId {
        thread.zone_event(zone).map_or(NameId(0), |(_, source)| self.number(source))
    }

    /// Returns the number of a source's name in the table of names.
    pub(super) fn number(&self, source: &HostSource) -> NameId {
        self.numbers.get(source).copied().unwrap_or(NameId(0))
    }
}
