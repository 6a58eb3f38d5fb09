//! Table of zone names: for each marker id, the zone's name and source location.
//!
//! This module only contains the table. The modules that read ELF files and logs collect the names.
//! If two source locations share an id, both are kept and the id is ambiguous. This is not an
//! error.

use crate::lane::ZoneIndex;
use std::{borrow::Cow, collections::BTreeMap};
use wire::{ZoneId, zone::ZONE_TAG};

/// Source location of a zone in a kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZoneSource {
    /// The name given to the profiler macro; may contain commas.
    pub name: String,
    /// Source file, as recorded by the compiler.
    pub file: String,
    /// Line in the source file, from 1; 0 if unknown.
    pub line: u32,
}

impl ZoneSource {
    /// Parses a zone text, `name,file,line,KERNEL_PROFILER`; returns `None` for any other text.
    ///
    /// The text is split from the right, since a name may contain commas.
    ///
    /// ```
    /// use reader::names::ZoneSource;
    /// let source = ZoneSource::from_text("copy a,b,/k/copy.cpp,12,KERNEL_PROFILER").unwrap();
    /// assert_eq!((source.name.as_str(), source.line), ("copy a,b", 12));
    /// ```
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let mut fields = text.rsplitn(4, ',');
        let tag = fields.next()?;
        let line = fields.next()?.parse().ok()?;
        let file = fields.next()?.to_owned();
        let name = fields.next()?.to_owned();
        (tag == ZONE_TAG).then_some(Self { name, file, line })
    }

    /// Returns the text whose hash is this zone's id on the device.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{},{},{},{ZONE_TAG}", self.name, self.file, self.line)
    }

    /// Returns this zone's id on the device: the hash of its text.
    #[must_use]
    pub fn id(&self) -> ZoneId {
        ZoneId::from_text(&self.text())
    }
}

/// Error: a text does not have the form `name,file,line,KERNEL_PROFILER`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a zone as `name,file,line,{ZONE_TAG}`, found `{text}`")]
pub struct NotAZoneText {
    /// The rejected text.
    pub text: String,
}

/// Names of all zones of a readout or a log.
///
/// ```
/// use reader::{lane::ZoneIndex, names::{ZoneSource, ZoneTable}};
/// let mut zones = ZoneTable::new();
/// let source = ZoneSource { name: "A".into(), file: "/k/k.cpp".into(), line: 10 };
/// zones.add(source.id(), source);
/// assert_eq!(zones.name(ZoneIndex(0xB765)), "A");
/// assert_eq!(zones.name(ZoneIndex(1)), "");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneTable {
    by_id: BTreeMap<u32, Vec<ZoneSource>>,
    interned: Vec<(ZoneId, ZoneSource)>,
    interned_index: BTreeMap<(ZoneId, ZoneSource), u32>,
}

impl ZoneTable {
    /// Returns a table without names.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a table from zone texts, `name,file,line,KERNEL_PROFILER`. The id of each zone is the
    /// hash of the zone's text.
    ///
    /// # Errors
    /// If a text has another format.
    ///
    /// ```
    /// use reader::{lane::ZoneIndex, names::ZoneTable};
    /// let zones = ZoneTable::from_texts(["A,/k/k.cpp,10,KERNEL_PROFILER"])?;
    /// assert_eq!(zones.name(ZoneIndex(0xB765)), "A");
    /// assert!(ZoneTable::from_texts(["A"]).is_err());
    /// # Ok::<(), reader::names::NotAZoneText>(())
    /// ```
    pub fn from_texts<T: AsRef<str>>(
        texts: impl IntoIterator<Item = T>,
    ) -> Result<Self, NotAZoneText> {
        let mut zones = Self::new();
        for text in texts {
            let text = text.as_ref();
            let source = ZoneSource::from_text(text);
            let source = source.ok_or_else(|| NotAZoneText { text: text.to_owned() })?;
            zones.add(source.id(), source);
        }
        Ok(zones)
    }

    /// Adds a source location under `id`. A second, different location makes the id ambiguous.
    pub fn add(&mut self, id: ZoneId, source: ZoneSource) {
        let known = self.by_id.entry(id.0.into()).or_default();
        if !known.contains(&source) {
            known.push(source);
        }
    }

    /// Adds the source locations of another table under their ids. Indices that
    /// [`ZoneTable::intern`] assigned in the other table are not valid in this one.
    pub fn merge(&mut self, other: &Self) {
        for (id, source) in other.places() {
            self.add(id, source.clone());
        }
    }

    /// Returns the index of the zone with this id and this location. If necessary, adds the zone to
    /// the table.
    ///
    /// A log contains the source location of each record. So a record from a log has only one
    /// possible location, even if several locations share its id.
    ///
    /// The first location of an id has the id as its index. Each further location gets a new index.
    pub fn intern(&mut self, id: ZoneId, source: ZoneSource) -> ZoneIndex {
        let direct = u32::from(id.0);
        match self.by_id.get(&direct).map(Vec::as_slice) {
            None => {
                self.by_id.insert(direct, vec![source]);
                return ZoneIndex(direct);
            }
            Some([only]) if *only == source => return ZoneIndex(direct),
            Some(_) => {}
        }
        let next = ZoneIndex::FIRST_INTERNED
            .saturating_add(u32::try_from(self.interned.len()).unwrap_or(u32::MAX));
        if next > ZoneIndex::MAX {
            return ZoneIndex(direct);
        }
        let key = (id, source);
        if let Some(&index) = self.interned_index.get(&key) {
            return ZoneIndex(index);
        }
        self.interned.push(key.clone());
        self.interned_index.insert(key, next);
        ZoneIndex(next)
    }

    /// Returns all source locations for the index: none if the zone is unknown, several if its id
    /// is ambiguous.
    #[must_use]
    pub fn sources(&self, zone: ZoneIndex) -> &[ZoneSource] {
        match self.interned(zone) {
            Some((_, source)) => std::slice::from_ref(source),
            None => self.by_id.get(&zone.0).map_or(&[], Vec::as_slice),
        }
    }

    /// Returns the marker id for an index.
    #[must_use]
    pub fn id(&self, zone: ZoneIndex) -> u32 {
        self.interned(zone).map_or(zone.0, |(id, _)| u32::from(id.0))
    }

    /// Returns the zone's name as TT-Metal prints it: empty if the zone is unknown, the first name
    /// if its id is ambiguous.
    #[must_use]
    pub fn name(&self, zone: ZoneIndex) -> &str {
        self.sources(zone).first().map_or("", |source| &source.name)
    }

    /// Returns a label for display: the id if there is no name, all names if the id is ambiguous.
    ///
    /// ```
    /// use reader::{lane::ZoneIndex, names::ZoneTable};
    /// assert_eq!(ZoneTable::new().label(ZoneIndex(77)), "id 77");
    /// ```
    #[must_use]
    pub fn label(&self, zone: ZoneIndex) -> Cow<'_, str> {
        let mut names: Vec<_> = self.sources(zone).iter().map(|s| s.name.as_str()).collect();
        names.retain(|name| !name.is_empty());
        match names.as_slice() {
            [] => Cow::Owned(format!("id {}", self.id(zone))),
            [only] => Cow::Borrowed(only),
            several => Cow::Owned(format!("{} (ambiguous id)", several.join(" or "))),
        }
    }

    /// Iterates over the ids that have more than one source location, with their locations.
    pub fn collisions(&self) -> impl Iterator<Item = (u32, &[ZoneSource])> {
        let ambiguous = self.by_id.iter().filter(|(_, sources)| sources.len() > 1);
        ambiguous.map(|(&id, sources)| (id, sources.as_slice()))
    }

    /// Iterates over all pairs of an id and a source location, ordered by id, then by insertion.
    ///
    /// Locations to which [`ZoneTable::intern`] assigned a new index come last.
    pub fn places(&self) -> impl Iterator<Item = (ZoneId, &ZoneSource)> {
        let direct = self.by_id.iter().flat_map(|(&id, sources)| {
            let id = u16::try_from(id).map(ZoneId);
            sources.iter().filter_map(move |source| Some((id.ok()?, source)))
        });
        direct.chain(self.interned.iter().map(|(id, source)| (*id, source)))
    }

    /// Iterates over the indices that have a source location, each with the name that
    /// [`Self::name`] returns.
    pub fn named_indices(&self) -> impl Iterator<Item = (ZoneIndex, &str)> {
        let interned = (ZoneIndex::FIRST_INTERNED..).take(self.interned.len());
        let indices = self.by_id.keys().copied().chain(interned);
        indices.map(ZoneIndex).map(|zone| (zone, self.name(zone)))
    }

    fn interned(&self, zone: ZoneIndex) -> Option<&(ZoneId, ZoneSource)> {
        let position = zone.0.checked_sub(ZoneIndex::FIRST_INTERNED)?;
        self.interned.get(usize::try_from(position).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, line: u32) -> ZoneSource {
        ZoneSource { name: name.into(), file: "/k.cpp".into(), line }
    }

    #[test]
    fn two_places_with_one_id_are_both_shown() {
        let mut zones = ZoneTable::new();
        zones.add(ZoneId(9), source("A", 1));
        zones.add(ZoneId(9), source("A", 1));
        assert_eq!(zones.label(ZoneIndex(9)), "A");
        zones.add(ZoneId(9), source("B", 2));
        assert_eq!(zones.label(ZoneIndex(9)), "A or B (ambiguous id)");
        assert_eq!(zones.name(ZoneIndex(9)), "A");
        assert_eq!(zones.collisions().count(), 1);
    }

    #[test]
    fn a_log_keeps_apart_the_places_that_share_an_id() {
        let mut zones = ZoneTable::new();
        let first = zones.intern(ZoneId(9), source("A", 1));
        let second = zones.intern(ZoneId(9), source("B", 2));
        assert_eq!(first, ZoneIndex(9));
        assert_ne!(first, second);
        assert_eq!(zones.intern(ZoneId(9), source("B", 2)), second);
        assert_eq!((zones.name(first), zones.name(second)), ("A", "B"));
        assert_eq!((zones.id(first), zones.id(second)), (9, 9));
    }

    #[test]
    fn a_merge_keeps_every_place_of_both_tables() {
        let mut log = ZoneTable::new();
        log.intern(ZoneId(9), source("A", 1));
        log.intern(ZoneId(9), source("B", 2));
        let mut zones = ZoneTable::new();
        zones.add(ZoneId(9), source("A", 1));
        zones.merge(&log);
        assert_eq!(zones.label(ZoneIndex(9)), "A or B (ambiguous id)");
    }

    #[test]
    fn a_record_without_a_name_is_shown_by_its_id_though_others_have_names() {
        let mut zones = ZoneTable::new();
        let named = zones.intern(ZoneId(9), source("A", 1));
        let nameless = zones.intern(ZoneId(9), source("", 0));
        assert_eq!((zones.label(named), zones.label(nameless)), ("A".into(), "id 9".into()));
        zones.add(ZoneId(7), source("", 0));
        assert_eq!(zones.label(ZoneIndex(7)), "id 7");
        zones.add(ZoneId(7), source("B", 1));
        assert_eq!(zones.label(ZoneIndex(7)), "B");
    }

    #[test]
    fn texts_of_another_form_are_no_source() {
        for text in ["", "a,b,c", "a,b,x,KERNEL_PROFILER", "a,b,1,OTHER"] {
            assert_eq!(ZoneSource::from_text(text), None, "{text}");
        }
    }
}
