//! Interning of source locations: one number for each combination of marker id, name, line and
//! file.

use super::row::MarkerSource;
use reader::lane::ZoneIndex;
use std::collections::HashMap;

/// An interned source location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeptPlace {
    pub(super) marker_id: u16,
    pub(super) name: Box<[u8]>,
    pub(super) line: u32,
    pub(super) file: Box<[u8]>,
}

impl KeptPlace {
    #[inline]
    fn is(&self, marker_id: u16, place: &MarkerSource<'_>) -> bool {
        self.line == place.line
            && self.marker_id == marker_id
            && *self.name == *place.name
            && *self.file == *place.file
    }

    /// Returns true if only the id is known.
    pub(super) fn is_unnamed(&self) -> bool {
        self.name.is_empty() && self.line == 0 && self.file.is_empty()
    }

    fn as_place(&self) -> MarkerSource<'_> {
        MarkerSource { name: &self.name, line: self.line, file: &self.file }
    }
}

/// Maximum number of source locations in a table.
///
/// Zone indices of source locations are numbered from `FIRST_INTERNED`. The last 65,536 numbers,
/// one per marker id, are reserved for locations that are stored without a name because the table
/// is full.
const PLACES_MAX: usize = (ZoneIndex::MAX - ZoneIndex::FIRST_INTERNED - (1 << 16)) as usize;

/// Source locations, numbered in order of first appearance.
///
/// A log line often has the same source location as the previous line with the same marker id. So
/// this location is compared first, and the map is searched only if the locations differ.
pub(super) struct Places {
    kept: Vec<KeptPlace>,
    /// Number of the latest source location for each value of the low bits of an id.
    latest: Vec<u32>,
    numbers: HashMap<Box<[u8]>, u32>,
    scratch: Vec<u8>,
    /// Number of source locations stored without their name because the table is full.
    pub(super) nameless_count: u64,
}

const NONE: u32 = u32::MAX;
/// Number of ids for which the latest source location is cached. The number is small, because every
/// chunk has its own table.
const LATEST_COUNT: usize = 256;

fn slot_of(marker_id: u16) -> usize {
    usize::from(marker_id) % LATEST_COUNT
}

impl Places {
    pub(super) fn new() -> Self {
        Self {
            kept: Vec::new(),
            latest: vec![NONE; LATEST_COUNT],
            numbers: HashMap::new(),
            scratch: Vec::new(),
            nameless_count: 0,
        }
    }

    /// Returns all source locations, by number.
    pub(super) fn kept(&self) -> &[KeptPlace] {
        &self.kept
    }

    /// Returns the number of a source location.
    #[inline]
    pub(super) fn number(&mut self, marker_id: u16, place: &MarkerSource<'_>) -> u32 {
        let latest = self.latest.get(slot_of(marker_id)).copied().unwrap_or(NONE);
        match self.kept.get(latest as usize) {
            Some(kept) if kept.is(marker_id, place) => latest,
            _ => self.look_up(marker_id, place),
        }
    }

    /// Returns this table's number for a source location of another table.
    pub(super) fn number_of_kept(&mut self, other: &KeptPlace) -> u32 {
        self.number(other.marker_id, &other.as_place())
    }

    #[cold]
    fn look_up(&mut self, marker_id: u16, place: &MarkerSource<'_>) -> u32 {
        self.write_key(marker_id, place);
        let number = match self.numbers.get(self.scratch.as_slice()) {
            Some(&number) => number,
            None => self.add(marker_id, place),
        };
        if let Some(latest) = self.latest.get_mut(slot_of(marker_id)) {
            *latest = number;
        }
        number
    }

    fn write_key(&mut self, marker_id: u16, place: &MarkerSource<'_>) {
        self.scratch.clear();
        self.scratch.extend(marker_id.to_le_bytes());
        self.scratch.extend(place.line.to_le_bytes());
        self.scratch.extend(place.name.len().to_le_bytes());
        self.scratch.extend(place.name);
        self.scratch.extend(place.file);
    }

    fn add(&mut self, marker_id: u16, place: &MarkerSource<'_>) -> u32 {
        let nameless = MarkerSource { name: &[], line: 0, file: &[] };
        if self.kept.len() >= PLACES_MAX && *place != nameless {
            self.nameless_count = self.nameless_count.saturating_add(1);
            return self.look_up(marker_id, &nameless);
        }
        let number = u32::try_from(self.kept.len()).unwrap_or(NONE);
        self.kept.push(KeptPlace {
            marker_id,
            name: place.name.into(),
            line: place.line,
            file: place.file.into(),
        });
        self.numbers.insert(self.scratch.as_slice().into(), number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place<'a>(name: &'a str, line: u32, file: &'a str) -> MarkerSource<'a> {
        MarkerSource { name: name.as_bytes(), line, file: file.as_bytes() }
    }

    #[test]
    fn a_place_has_one_number_however_often_it_changes() {
        let mut places = Places::new();
        for _ in 0..3 {
            assert_eq!(places.number(9, &place("A", 1, "/k")), 0);
            assert_eq!(places.number(9, &place("A", 2, "/k")), 1);
            assert_eq!(places.number(8, &place("A", 1, "/k")), 2);
            assert_eq!(places.number(9, &place("", 0, "")), 3);
        }
        assert_eq!(places.kept().len(), 4);
        assert!(places.kept()[3].is_unnamed());
    }

    #[test]
    fn names_and_files_that_join_to_one_text_stay_apart() {
        let mut places = Places::new();
        let first = places.number(1, &place("ab", 1, "c"));
        assert_ne!(places.number(1, &place("a", 1, "bc")), first);
    }
}
