//! Names of a trace, numbered without gaps in the order of their zone indices.

use rayon::prelude::*;
use reader::{lane::ZoneIndex, readout::Readout, role::ZoneRole};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

/// Number of a name in [`TraceNames`]. Numbers begin at 0 and have no gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub u32);

impl NameId {
    /// Returns the number as an index into a table of names.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Name and source location of a zone, event, value or sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceName<'a> {
    /// Readable name. If the name is unknown, this is the marker id; if the id has several names,
    /// this is all of them.
    pub label: Cow<'a, str>,
    /// Marker id.
    pub marker_id: u32,
    /// Source file; empty if unknown.
    pub file: &'a str,
    /// Source line, from 1; 0 if unknown.
    pub line: u32,
    /// True if the id belongs to several source locations; `file` and `line` are those of the first
    /// one.
    pub is_ambiguous: bool,
    /// True for the zone around a kernel, such as `BRISC-KERNEL`.
    pub is_kernel: bool,
    /// True for a zone of the firmware, such as `BRISC-FW`.
    pub is_firmware: bool,
}

/// All names used by the lanes of a readout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceNames<'a> {
    names: Vec<TraceName<'a>>,
    /// For each zone index, the index of its name in `names`; `NO_NAME` if no record refers to the
    /// zone.
    numbers: Vec<u32>,
}

const NO_NAME: u32 = u32::MAX;

impl<'a> TraceNames<'a> {
    /// Numbers the names that records of the readout use.
    pub(super) fn from_readout(readout: &'a Readout) -> Self {
        let lanes: Vec<_> = readout.lanes().collect();
        let is_used = lanes
            .par_iter()
            // Each thread collects the names of many lanes in one list, because a list may have
            // 65,536 entries.
            .fold(Vec::new, |mut is_used, lane| {
                for head in &lane.heads {
                    let index = head.zone().0 as usize;
                    if index >= is_used.len() {
                        is_used.resize(index + 1, false);
                    }
                    is_used[index] = true;
                }
                is_used
            })
            .reduce(Vec::new, either);
        Self::new(readout, &is_used)
    }

    /// Numbers the names of the zones with these indices.
    pub(super) fn from_zones(readout: &'a Readout, used_zones: &BTreeSet<u32>) -> Self {
        let count = used_zones.last().map_or(0, |&last| last as usize + 1);
        let mut is_used = vec![false; count];
        used_zones.iter().for_each(|&zone| is_used[zone as usize] = true);
        Self::new(readout, &is_used)
    }

    fn new(readout: &'a Readout, is_used: &[bool]) -> Self {
        let mut table = Self { names: Vec::new(), numbers: vec![NO_NAME; is_used.len()] };
        let mut envelopes = BTreeMap::new();
        for (zone, number) in
            (0_u32..).zip(&mut table.numbers).filter(|(zone, _)| is_used[*zone as usize])
        {
            let next = u32::try_from(table.names.len()).unwrap_or(NO_NAME);
            let name = readout.zones.name(ZoneIndex(zone));
            // A zone that several RISCs of a core may begin has a separate id for each RISC. All
            // ids of such a zone share one number.
            let is_envelope = ZoneRole::from_name(name).envelope_name() == Some(name);
            *number = if is_envelope { *envelopes.entry(name).or_insert(next) } else { next };
            if *number == next {
                table.names.push(name_of(readout, ZoneIndex(zone)));
            }
        }
        table
    }

    /// Returns the number of a zone's name; 0 if no record has the name.
    #[inline]
    pub(super) fn number(&self, zone: ZoneIndex) -> NameId {
        let number = self.numbers.get(zone.0 as usize).copied().filter(|&number| number != NO_NAME);
        NameId(number.unwrap_or(0))
    }

    /// Returns the name that has the given number.
    #[must_use]
    pub fn get(&self, id: NameId) -> Option<&TraceName<'a>> {
        self.names.get(id.index())
    }

    /// Returns the label with this number; empty if no name has the number.
    #[must_use]
    pub fn label(&self, id: NameId) -> &str {
        self.get(id).map_or("", |name| &name.label)
    }

    /// Returns all names in the order of their numbers.
    #[must_use]
    pub fn as_slice(&self) -> &[TraceName<'a>] {
        &self.names
    }
}

fn either(mut one: Vec<bool>, mut other: Vec<bool>) -> Vec<bool> {
    if one.len() < other.len() {
        std::mem::swap(&mut one, &mut other);
    }
    for (one, other) in one.iter_mut().zip(other) {
        *one |= other;
    }
    one
}

fn name_of(readout: &Readout, zone: ZoneIndex) -> TraceName<'_> {
    let sources = readout.zones.sources(zone);
    let first = sources.first();
    let role = ZoneRole::from_name(readout.zones.name(zone));
    TraceName {
        label: readout.zones.label(zone),
        marker_id: readout.zones.id(zone),
        file: first.map_or("", |source| &source.file),
        line: first.map_or(0, |source| source.line),
        is_ambiguous: sources.len() > 1,
        is_kernel: role.is_kernel(),
        is_firmware: role.is_firmware(),
    }
}
