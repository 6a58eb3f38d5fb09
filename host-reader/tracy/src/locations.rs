//! Source locations. If a location is a constant in the program, the client sends its address, and
//! the server requests its contents. Other locations are sent before the items that use them.

use crate::{
    fields::Fields,
    protocol::Query,
    queries::Queries,
    recording::TracyLocation,
    texts::{TextRef, Texts},
};
use std::collections::{HashMap, VecDeque};

/// A location whose texts may not have arrived yet.
#[derive(Clone, Debug)]
struct Pending {
    name: TextRef,
    function: TextRef,
    file: TextRef,
    line: u32,
    color: u32,
}

/// Locations in order of first appearance.
#[derive(Debug, Default)]
pub(crate) struct Locations {
    /// Locations by index; `None` until the answer arrives.
    met: Vec<Option<Pending>>,
    by_address: HashMap<u64, u32>,
    by_payload: HashMap<Box<[u8]>, u32>,
    /// Indices of requested locations, in the order of the requests.
    ///
    /// Answers do not contain the address, but arrive in the order of the requests.
    asked: VecDeque<u32>,
    /// Index of the last payload's location, which belongs to the next item.
    next: Option<u32>,
}

impl Locations {
    /// Returns the index of the constant location at an address. If the location is new, requests
    /// it.
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

    /// Processes the answer to the oldest request.
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

    /// Reads a location from a payload. The location belongs to the next item.
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

    /// Removes and returns the location of the last payload.
    pub(crate) const fn take_next(&mut self) -> Option<u32> {
        self.next.take()
    }

    fn push(&mut self, location: Option<Pending>) -> Option<u32> {
        let index = u32::try_from(self.met.len()).ok()?;
        self.met.push(location);
        Some(index)
    }

    /// Returns the locations with their texts. Adds to `missing` the number of locations and texts
    /// that were never received.
    pub(crate) fn resolve(self, texts: &Texts, missing: &mut u64) -> Vec<TracyLocation> {
        let lost = self.met.iter().filter(|pending| pending.is_none());
        *missing = missing.saturating_add(lost.count() as u64);
        let mut resolved = |text| {
            texts.resolve(text).unwrap_or_else(|| {
                *missing = missing.saturating_add(1);
                Box::default()
            })
        };
        let locations = self.met.into_iter().map(|pending| {
            let Some(Pending { name, function, file, line, color }) = pending else {
                return TracyLocation::default();
            };
            let [name, function, file] = [name, function, file].map(&mut resolved);
            TracyLocation { name, function, file, line, color }
        });
        locations.collect()
    }
}
