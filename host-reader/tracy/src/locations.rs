//! Source locations: constant ones, which the server asks for, and those that items carry.

use crate::{
    fields::Fields,
    protocol::Query,
    queries::Queries,
    recording::TracyLocation,
    texts::{TextRef, Texts},
};
use std::collections::{HashMap, VecDeque};

/// A location whose texts may still be on their way.
#[derive(Clone, Debug)]
struct Pending {
    name: TextRef,
    function: TextRef,
    file: TextRef,
    line: u32,
    color: u32,
}

/// Locations by the order in which they were met.
#[derive(Debug, Default)]
pub(crate) struct Locations {
    /// `None` as long as the answer has not come.
    met: Vec<Option<Pending>>,
    by_address: HashMap<u64, u32>,
    by_payload: HashMap<Box<[u8]>, u32>,
    /// Indices of those asked for: answers name no address, but come in order.
    asked: VecDeque<u32>,
    /// Index of the location that the next item is about.
    next: Option<u32>,
}

impl Locations {
    /// Index of the constant location at this address, which is asked for once.
    pub(crate) fn at(&mut self, address: u64, queries: &mut Queries) -> Option<u32> {
        if let Some(known) = self.by_address.get(&address) {
            return Some(*known);
        }
        let index = self.push(None)?;
        self.by_address.insert(address, index);
        self.asked.push_back(index);
        queries.ask(Query::SourceLocation, address);
        Some(index)
    }

    /// Takes the answer to the oldest question.
    pub(crate) fn answer(
        &mut self,
        mut fields: Fields<'_>,
        texts: &mut Texts,
        queries: &mut Queries,
    ) -> Option<()> {
        let index = self.asked.pop_front()?;
        let [name, function, file] = [fields.u64()?, fields.u64()?, fields.u64()?];
        let line = fields.u32()?;
        let color = fields.color()?;
        let [name, function, file] = [name, function, file].map(|at| texts.at(at, queries));
        let slot = self.met.get_mut(usize::try_from(index).ok()?)?;
        *slot = Some(Pending { name, function, file, line, color });
        Some(())
    }

    /// Takes a location for the item that follows.
    pub(crate) fn take_payload(&mut self, payload: Fields<'_>) -> Option<()> {
        let mut whole = payload;
        let bytes = whole.bytes(whole.len())?;
        if let Some(known) = self.by_payload.get(bytes) {
            self.next = Some(*known);
            return Some(());
        }
        let mut fields = payload;
        let color = fields.u32()? & 0x00FF_FFFF;
        let line = fields.u32()?;
        let [function, file] = [fields.terminated_text()?, fields.terminated_text()?];
        let name = fields.rest_as_text();
        let [name, function, file] = [name, function, file].map(TextRef::Here);
        let index = self.push(Some(Pending { name, function, file, line, color }))?;
        self.by_payload.insert(bytes.into(), index);
        self.next = Some(index);
        Some(())
    }

    /// The location that the last payload gave.
    pub(crate) const fn take_next(&mut self) -> Option<u32> {
        self.next.take()
    }

    fn push(&mut self, location: Option<Pending>) -> Option<u32> {
        let index = u32::try_from(self.met.len()).ok()?;
        self.met.push(location);
        Some(index)
    }

    /// The locations with their texts; texts that never came are counted.
    pub(crate) fn resolve(self, texts: &Texts, missing: &mut u64) -> Vec<TracyLocation> {
        let mut resolved = |text| {
            texts.resolve(text).unwrap_or_else(|| {
                *missing = missing.saturating_add(1);
                Box::default()
            })
        };
        let mut locations = Vec::with_capacity(self.met.len());
        let mut lost = 0_u64;
        for pending in self.met {
            locations.push(match pending {
                Some(Pending { name, function, file, line, color }) => TracyLocation {
                    name: resolved(name),
                    function: resolved(function),
                    file: resolved(file),
                    line,
                    color,
                },
                None => {
                    lost = lost.saturating_add(1);
                    TracyLocation::default()
                }
            });
        }
        *missing = missing.saturating_add(lost);
        locations
    }
}
