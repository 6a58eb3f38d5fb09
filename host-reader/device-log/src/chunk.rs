//! A stretch of whole lines, read into columns of its own.
//!
//! Chunks are read in parallel and know nothing of each other; numbers of places and
//! launches are local until the chunks are joined.

use super::{
    fields::Fields,
    header::{Layout, is_header},
    places::Places,
    quoted::{Unquoted, has_quoted_field},
    row::{LaunchKey, Row, RowFault},
    text::shown,
};
use reader::{
    anomaly::KEPT_PER_LANE_AND_KIND,
    lane::{LaneId, RecordHead, ZoneIndex},
    mesh::Noc0Coord,
};
use std::collections::{BTreeMap, HashMap};

/// Records of one lane, in the order of their lines.
pub(super) struct LaneColumns {
    pub(super) id: LaneId,
    /// Kinds, with the number of the place instead of a zone.
    pub(super) heads: Vec<RecordHead>,
    pub(super) times: Vec<u64>,
    pub(super) data: Vec<u64>,
    pub(super) metadata: Vec<(usize, Box<str>)>,
    /// Number of the launch of each record.
    pub(super) launches: Vec<u32>,
    /// Line of each record.
    pub(super) lines: Vec<u64>,
}

impl LaneColumns {
    pub(super) const fn new(id: LaneId) -> Self {
        Self {
            id,
            heads: Vec::new(),
            times: Vec::new(),
            data: Vec::new(),
            metadata: Vec::new(),
            launches: Vec::new(),
            lines: Vec::new(),
        }
    }
}

/// Lanes by id; the lane of the last line is found without a look-up.
#[derive(Default)]
pub(super) struct LaneTable {
    pub(super) lanes: Vec<LaneColumns>,
    index: HashMap<LaneId, usize>,
    last: usize,
}

impl LaneTable {
    #[inline]
    pub(super) fn lane(&mut self, id: LaneId) -> &mut LaneColumns {
        if self.lanes.get(self.last).is_none_or(|lane| lane.id != id) {
            self.last = self.position(id);
        }
        &mut self.lanes[self.last]
    }

    fn position(&mut self, id: LaneId) -> usize {
        *self.index.entry(id).or_insert_with(|| {
            self.lanes.push(LaneColumns::new(id));
            self.lanes.len() - 1
        })
    }
}

/// Numbers launches in the order in which they first appear.
#[derive(Default)]
pub(super) struct Launches {
    pub(super) keys: Vec<LaunchKey>,
    numbers: HashMap<LaunchKey, u32>,
    last: Option<(LaunchKey, u32)>,
}

impl Launches {
    #[inline]
    pub(super) fn number(&mut self, key: LaunchKey) -> u32 {
        match self.last {
            Some((last, number)) if last == key => number,
            _ => self.look_up(key),
        }
    }

    fn look_up(&mut self, key: LaunchKey) -> u32 {
        let number = *self.numbers.entry(key).or_insert_with(|| {
            self.keys.push(key);
            u32::try_from(self.keys.len() - 1).unwrap_or(u32::MAX)
        });
        self.last = Some((key, number));
        number
    }
}

/// Something counted in full, and kept in part with its line.
#[derive(Default)]
pub(super) struct Faults {
    pub(super) count: u64,
    pub(super) kept: Vec<(u64, String)>,
}

impl Faults {
    pub(super) fn enter(&mut self, line: u64, detail: impl FnOnce() -> String) {
        self.count += 1;
        if (self.kept.len() as u64) < KEPT_PER_LANE_AND_KIND {
            self.kept.push((line, detail()));
        }
    }
}

/// RISCs that have no lane: how many lines each had, and the first of them.
#[derive(Default)]
pub(super) struct UnknownRiscs {
    pub(super) lines: BTreeMap<(u32, Noc0Coord, String), (u64, u64)>,
}

/// Unknown RISCs that are told apart; the rest are counted together.
const UNKNOWN_RISCS_MAX: usize = 1024;

impl UnknownRiscs {
    pub(super) fn enter(&mut self, key: (u32, Noc0Coord, String), first_line: u64, count: u64) {
        let is_new = !self.lines.contains_key(&key);
        let has_room = self.lines.len() < UNKNOWN_RISCS_MAX;
        let others = || (u32::MAX, Noc0Coord { x: u16::MAX, y: u16::MAX }, "others".to_owned());
        let key = if is_new && !has_room { others() } else { key };
        self.lines.entry(key).or_insert((first_line, 0)).1 += count;
    }
}

/// Tables parsed from one chunk of lines. Lines count from 0 at the chunk's begin.
pub(super) struct ChunkTables {
    pub(super) lanes: LaneTable,
    pub(super) places: Places,
    pub(super) launches: Launches,
    pub(super) line_count: u64,
    pub(super) malformed: Faults,
    /// Lines with a value where their kind has none.
    pub(super) stray_values: Faults,
    pub(super) unknown_riscs: UnknownRiscs,
}

impl ChunkTables {
    /// Reads all lines of `text`.
    pub(super) fn parse(text: &[u8], log: &LogShape) -> Self {
        let mut tables = Self {
            lanes: LaneTable::default(),
            places: Places::new(),
            launches: Launches::default(),
            line_count: 0,
            malformed: Faults::default(),
            stray_values: Faults::default(),
            unknown_riscs: UnknownRiscs::default(),
        };
        let traits = TextTraits::of(text);
        let mut fields = Fields::new();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', text).chain([text.len()]) {
            if start < text.len() {
                tables.enter_line(&text[start..end], log, traits, &mut fields);
                tables.line_count += 1;
            }
            start = end + 1;
        }
        tables
    }

    #[inline]
    fn enter_line<'text>(
        &mut self,
        line: &'text [u8],
        log: &LogShape,
        traits: TextTraits,
        fields: &mut Fields<'text>,
    ) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return;
        }
        if let Err(fault) = self.try_line(line, log, traits, fields) {
            self.enter_fault(fault);
        }
    }

    #[inline]
    fn try_line<'text>(
        &mut self,
        line: &'text [u8],
        log: &LogShape,
        traits: TextTraits,
        fields: &mut Fields<'text>,
    ) -> Result<(), RowFault<'text>> {
        if !traits.is_ascii && std::str::from_utf8(line).is_err() {
            return Err(RowFault::NotUtf8);
        }
        if is_header(line) {
            return if log.repeats(line) { Ok(()) } else { Err(RowFault::RepeatedHeader) };
        }
        if traits.has_quotes && has_quoted_field(line) {
            self.enter_quoted(line, log);
            return Ok(());
        }
        fields.split(line);
        let row = Row::parse(fields, &log.layout)?;
        self.enter_row(&row);
        Ok(())
    }

    #[cold]
    fn enter_quoted(&mut self, line: &[u8], log: &LogShape) {
        let mut unquoted = Unquoted::new();
        let fields = unquoted.split(line).ok_or(RowFault::OpenQuote);
        match fields.as_ref().map_err(|&fault| fault).and_then(|f| Row::parse(f, &log.layout)) {
            Ok(row) => self.enter_row(&row),
            Err(fault) => self.enter_fault(fault),
        }
    }

    #[cold]
    fn enter_fault(&mut self, fault: RowFault<'_>) {
        match fault {
            RowFault::UnknownRisc { chip_id, core, label } => {
                self.unknown_riscs.enter((chip_id, core, shown(label)), self.line_count, 1);
            }
            _ => self.malformed.enter(self.line_count, || fault.detail()),
        }
    }

    #[inline]
    fn enter_row(&mut self, row: &Row<'_>) {
        let place = self.places.number(row.marker_id, &row.place);
        let head = RecordHead::new(row.kind, ZoneIndex(place));
        let launch = self.launches.number(row.key);
        if head.data_count() == 0 && row.value != 0 {
            self.enter_stray_value(row);
        }
        let lane = self.lanes.lane(row.lane);
        if !row.metadata.is_empty() {
            // The line was found to be UTF-8, so nothing is replaced.
            let text = String::from_utf8_lossy(row.metadata);
            lane.metadata.push((lane.heads.len(), text.into()));
        }
        if head.data_count() != 0 {
            lane.data.push(row.value);
        }
        lane.heads.push(head);
        lane.times.push(row.time);
        lane.launches.push(launch);
        lane.lines.push(self.line_count);
    }

    #[cold]
    fn enter_stray_value(&mut self, row: &Row<'_>) {
        let (kind, value) = (row.kind.label(), row.value);
        let detail = || format!("expected no value for {kind}, found {value}; the rest is kept");
        self.stray_values.enter(self.line_count, detail);
    }
}

/// Properties of the whole text, so that they need not be checked for each line.
#[derive(Clone, Copy)]
struct TextTraits {
    is_ascii: bool,
    has_quotes: bool,
}

impl TextTraits {
    fn of(text: &[u8]) -> Self {
        Self { is_ascii: text.is_ascii(), has_quotes: memchr::memchr(b'"', text).is_some() }
    }
}

/// Shape of the log's lines, from its first two lines.
pub(super) struct LogShape {
    pub(super) layout: Layout,
    /// The two lines themselves, which joined logs repeat.
    pub(super) header_lines: [Box<[u8]>; 2],
}

impl LogShape {
    pub(super) fn repeats(&self, line: &[u8]) -> bool {
        self.header_lines.iter().any(|header| **header == *line)
    }
}

/// Cuts `text` into at most `count` pieces of whole lines.
pub(super) fn pieces_of(text: &[u8], count: usize) -> Vec<&[u8]> {
    let target = text.len().div_ceil(count.max(1)).max(1);
    let mut pieces = Vec::with_capacity(count);
    let mut rest = text;
    while !rest.is_empty() {
        let from = target.min(rest.len());
        let end = memchr::memchr(b'\n', &rest[from..]).map_or(rest.len(), |at| from + at + 1);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_whole_lines_and_join_to_the_text() {
        let text = b"one\ntwo\n\nthree\nfour, the last without end";
        for count in 0..20 {
            let pieces = pieces_of(text, count);
            assert_eq!(pieces.concat(), text);
            let (_, whole) = pieces.split_last().unwrap();
            assert!(whole.iter().all(|piece| piece.ends_with(b"\n")));
        }
    }
}
