//! A chunk of whole lines, parsed into separate tables.
//!
//! Chunks are parsed in parallel and independently. Indices of source locations and launches are
//! local to a chunk until the chunks are joined.

use super::{
    fields::Fields,
    header::{Layout, is_header},
    packed::{ChunkRecord, Segments, has_value},
    places::Places,
    quoted::{Unquoted, has_quoted_field},
    repeats::{Recognised, Repeats},
    row::{LaunchKey, LineFault, LogLine},
    text::shown,
};
use reader::{
    anomaly::{AnomalyKind, AnomalyLog},
    mesh::Noc0Coord,
};
use std::collections::{BTreeMap, HashMap};
use wire::Risc;

/// Launches, with indices in order of first appearance.
#[derive(Default)]
pub(super) struct Launches {
    pub(super) keys: Vec<LaunchKey>,
    /// Indices of launches, by key. The keys added last to `keys` may be missing here; before a
    /// lookup, the missing keys are added.
    numbers: HashMap<LaunchKey, u32>,
    /// The greatest key in `keys`.
    greatest: Option<LaunchKey>,
    last: Option<(LaunchKey, u32)>,
}

impl Launches {
    #[inline]
    pub(super) fn number(&mut self, key: LaunchKey) -> u32 {
        match self.last {
            Some((last, number)) if last == key => number,
            _ => self.next_or_known(key),
        }
    }

    /// Returns the index of a launch that differs from the previous launch.
    ///
    /// First compares `key` with the launch whose index follows the index of the previous launch,
    /// because most lanes have the same launches in the same order.
    fn next_or_known(&mut self, key: LaunchKey) -> u32 {
        let next = self.last.map_or(0, |(_, number)| number.saturating_add(1));
        if self.keys.get(next as usize) != Some(&key) {
            return self.look_up(key);
        }
        self.last = Some((key, next));
        next
    }

    /// Returns the index of a launch that may be new.
    ///
    /// Program numbers increase, so most new launches have a greater key than all known launches.
    fn look_up(&mut self, key: LaunchKey) -> u32 {
        let known = match self.greatest {
            Some(greatest) if key <= greatest => self.known(key),
            _ => None,
        };
        let number = known.unwrap_or_else(|| {
            self.greatest = self.greatest.max(Some(key));
            self.keys.push(key);
            u32::try_from(self.keys.len().saturating_sub(1)).unwrap_or(u32::MAX)
        });
        self.last = Some((key, number));
        number
    }

    fn known(&mut self, key: LaunchKey) -> Option<u32> {
        let new = (0_u32..).zip(&self.keys).skip(self.numbers.len());
        self.numbers.extend(new.map(|(number, &key)| (key, number)));
        self.numbers.get(&key).copied()
    }
}

/// RISC names that this library does not know and has no lane for. For each of them, the number of
/// the first line with this name, and the number of such lines.
#[derive(Default)]
pub(super) struct UnknownRiscs {
    pub(super) lines: BTreeMap<(u32, Noc0Coord, String), (u64, u64)>,
}

/// Maximum number of unknown RISCs listed separately; all others share one count of lines.
const UNKNOWN_RISCS_MAX: usize = 1024;

impl UnknownRiscs {
    pub(super) fn add(&mut self, key: (u32, Noc0Coord, String), first_line: u64, count: u64) {
        let is_new = !self.lines.contains_key(&key);
        let has_room = self.lines.len() < UNKNOWN_RISCS_MAX;
        let others = || (u32::MAX, Noc0Coord { x: u16::MAX, y: u16::MAX }, "others".to_owned());
        let key = if is_new && !has_room { others() } else { key };
        let (_, known) = self.lines.entry(key).or_insert((first_line, 0));
        *known = known.saturating_add(count);
    }
}

/// Tables parsed from one chunk. Line numbers count from 0 at the beginning of the chunk.
pub(super) struct ChunkTables {
    pub(super) lanes: Segments,
    pub(super) places: Places,
    pub(super) launches: Launches,
    pub(super) line_count: u64,
    /// Lines at which another log begins.
    pub(super) seams: Vec<u64>,
    pub(super) malformed: AnomalyLog,
    /// Lines that contain a value although records of their kind have no value.
    pub(super) stray_values: AnomalyLog,
    pub(super) unknown_riscs: UnknownRiscs,
    /// Logical coordinates of cores.
    pub(super) logical: BTreeMap<(u32, Noc0Coord), (u16, u16)>,
}

impl ChunkTables {
    /// Parses all lines of `text`.
    pub(super) fn parse(text: &[u8], log: &LogShape) -> Self {
        let mut tables = Self {
            lanes: Segments::default(),
            places: Places::new(),
            launches: Launches::default(),
            line_count: 0,
            seams: Vec::new(),
            malformed: AnomalyLog::default(),
            stray_values: AnomalyLog::default(),
            unknown_riscs: UnknownRiscs::default(),
            logical: BTreeMap::new(),
        };
        let mut lines = Lines { log, fields: Fields::new(), repeats: Repeats::new(&log.layout) };
        let mut rest = text;
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let (line, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
            tables.add_line(line.strip_suffix(b"\r").unwrap_or(line), &mut lines);
            tables.line_count = tables.line_count.saturating_add(1);
            rest = after.get(1..).unwrap_or(&[]);
        }
        tables.lanes.shrink();
        tables
    }

    #[inline]
    fn add_line<'text>(&mut self, line: &'text [u8], lines: &mut Lines<'_, 'text>) {
        match lines.repeats.recognise(line) {
            Some(record) => self.add_record(&record),
            None => self.read_line(line, lines),
        }
    }

    fn read_line<'text>(&mut self, line: &'text [u8], lines: &mut Lines<'_, 'text>) {
        if line.trim_ascii().is_empty() {
            return;
        }
        if let Err(fault) = self.try_line(line, lines) {
            self.add_fault(fault);
        }
    }

    fn try_line<'text>(
        &mut self,
        line: &'text [u8],
        Lines { log, fields, repeats }: &mut Lines<'_, 'text>,
    ) -> Result<(), LineFault<'text>> {
        if std::str::from_utf8(line).is_err() {
            return Err(LineFault::NotUtf8);
        }
        if is_header(line) {
            let header = log.repeats(line);
            if header != Some(HeaderLine::Titles) {
                self.seams.push(self.line_count);
            }
            return match header {
                Some(HeaderLine::Chips) => {
                    self.add_joined_log();
                    Ok(())
                }
                Some(HeaderLine::Titles) => Ok(()),
                None => Err(LineFault::RepeatedHeader),
            };
        }
        if has_quoted_field(line) {
            self.read_quoted(line, log);
            return Ok(());
        }
        fields.split_columns(line, &log.layout);
        let row = LogLine::parse(fields, &log.layout)?;
        let record = self.add_row(&row);
        repeats.remember(line, (fields, &row), (record.lane, record.place));
        Ok(())
    }

    #[cold]
    fn read_quoted(&mut self, line: &[u8], log: &LogShape) {
        let mut unquoted = Unquoted::new();
        let fields = unquoted.split(line).ok_or(LineFault::OpenQuote);
        match fields.as_ref().map_err(|&fault| fault).and_then(|f| LogLine::parse(f, &log.layout)) {
            Ok(row) => {
                self.add_row(&row);
            }
            Err(fault) => self.add_fault(fault),
        }
    }

    #[cold]
    fn add_fault(&mut self, fault: LineFault<'_>) {
        match fault {
            LineFault::UnknownRisc { chip_id, core, label } => {
                self.unknown_riscs.add((chip_id, core, shown(label)), self.line_count, 1);
            }
            _ => self
                .malformed
                .record(AnomalyKind::MalformedLine, None, self.line_count, || fault.detail()),
        }
    }

    #[cold]
    fn add_joined_log(&mut self) {
        let detail = || {
            "the lines after this one are of another log, whose times, programs and replays need not \
             belong to the lines before; split the file here".to_owned()
        };
        self.malformed.record(AnomalyKind::JoinedLog, None, self.line_count, detail);
    }

    fn add_row(&mut self, row: &LogLine<'_>) -> Recognised {
        let record = Recognised {
            lane: self.lanes.number(row.lane),
            place: self.places.number(row.marker_id, &row.place),
            kind: row.kind,
            time: row.time,
            value: row.value,
            key: row.key,
        };
        if let Some(logical) = row.logical.filter(|_| row.lane.risc != Risc::Erisc) {
            self.logical.entry((row.lane.chip_id, row.lane.core)).or_insert(logical);
        }
        if !row.metadata.is_empty()
            && let Some(lane) = self.lanes.at(record.lane)
        {
            // The line is valid UTF-8, so nothing is replaced.
            lane.attach(String::from_utf8_lossy(row.metadata).into());
        }
        self.add_record(&record);
        record
    }

    #[inline]
    fn add_record(&mut self, record: &Recognised) {
        let Recognised { lane, place, kind, time, value, key } = *record;
        let launch = self.launches.number(key);
        if value != 0 && !has_value(kind) {
            self.add_stray_value(record);
        }
        if let Some(lane) = self.lanes.at(lane) {
            let line = self.line_count;
            lane.push(&ChunkRecord { kind, place, launch, line, time, value });
        }
    }

    #[cold]
    fn add_stray_value(&mut self, record: &Recognised) {
        let (kind, value) = (record.kind.label(), record.value);
        let detail = || format!("expected no value for {kind}, found {value}; the rest is kept");
        self.stray_values.record(AnomalyKind::StrayValue, None, self.line_count, detail);
    }
}

/// State of the parser between two lines of a chunk.
struct Lines<'log, 'text> {
    log: &'log LogShape,
    fields: Fields<'text>,
    repeats: Repeats<'text>,
}

/// Format of a log's lines, as described by the first two lines of the log.
pub(super) struct LogShape {
    pub(super) layout: Layout,
    /// Text of the first two lines. A log that was joined from several logs repeats these lines.
    pub(super) header_lines: [Box<[u8]>; 2],
}

/// One of the first two lines of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderLine {
    /// The line with architecture and clock.
    Chips,
    /// The line with the titles of columns.
    Titles,
}

impl LogShape {
    /// Returns the header line that a line repeats.
    pub(super) fn repeats(&self, line: &[u8]) -> Option<HeaderLine> {
        let both = [HeaderLine::Chips, HeaderLine::Titles];
        let headers = both.into_iter().zip(&self.header_lines);
        headers.into_iter().find(|(_, header)| ***header == *line).map(|(which, _)| which)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn launches_are_numbered_in_the_order_of_their_first_lines(
            programs in prop::collection::vec(0_u32..6, 0..40),
        ) {
            let mut launches = Launches::default();
            let mut order: Vec<u32> = Vec::new();
            for program in programs {
                let number = order.iter().position(|&known| known == program);
                let expected = number.unwrap_or_else(|| {
                    order.push(program);
                    order.len() - 1
                });
                let key = LaunchKey { program, trace: None, run_id: 0 };
                prop_assert_eq!(launches.number(key) as usize, expected);
            }
            prop_assert_eq!(launches.keys.len(), order.len());
        }
    }
}
