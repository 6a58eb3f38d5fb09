//! Writes a device log in the current format of TT-Metal's host.
//!
//! # Compatibility
//! The format is that of `profiler.cpp` of June 2026: two header lines, 15 columns, plain commas,
//! `\n`. Cores are ordered by x, then y, RISCs in the order of [`wire::Risc`], and records by time,
//! then marker id.
//!
//! A comma inside any field becomes `;`, because TT-Metal's scripts reject a log with additional
//! commas. TT-Metal replaces commas in meta data only. All records with equal time and id are
//! written; TT-Metal keeps only the first. If the size of the worker grid is unknown, the first
//! line omits the size. If the size is unknown but rows or columns of workers are known, the
//! logical coordinates are appended to each line, as in the streaming profiler's logs.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "counts and positions are of records that are in memory"
)]

use super::{error::LogError, logical};
use crate::whole_file::write_whole_file;
use reader::{
    lane::{Annotated, Lane, LaneId, Record, Run, ZoneIndex},
    names::ZoneTable,
    readout::{ChipSummary, Readout},
    role::ZoneRole,
};
use std::{
    borrow::Cow,
    io::{self, Write},
    path::Path,
};
use wire::{PacketKind, Risc};

/// Counts of written lines and of data that does not fit the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct LogWriteReport {
    /// Number of lines after the header.
    pub row_count: u64,
    /// Number of replaced characters in names, paths and meta data.
    ///
    /// The format does not allow commas (replaced by `;`), line ends (replaced by blanks) or a
    /// leading quote (replaced by an apostrophe).
    pub replaced_character_count: u64,
    /// Number of omitted second values of 16-byte data, since a line has one value.
    pub unwritten_value_count: u64,
    /// Number of chips with another architecture, clock or grid than in the first line. The format
    /// has one first line for all chips.
    pub differing_chip_count: u64,
}

/// Writes all chips of a readout as one log, in ascending order of chip id.
///
/// As in TT-Metal's logs, the second value of 16-byte data is omitted. A zone without a name has
/// empty text and line 0. A zone whose id has several names is written with all of them, as
/// `A or B (ambiguous id)`. The zones of [`Risc::TensixAggregate`] lanes are named `TRACE-FW` and
/// `TRACE-KERNEL`. The report counts changes and omissions.
///
/// # Errors
/// If `out` returns an error.
///
/// ```
/// use recording::device_log::write_device_log;
/// use reader::readout::Readout;
/// let mut text = Vec::new();
/// let report = write_device_log(&Readout::default(), &mut text)?;
/// assert_eq!(report.row_count, 0);
/// assert!(text.starts_with(b"ARCH: "));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_device_log(readout: &Readout, out: &mut impl Write) -> io::Result<LogWriteReport> {
    let mut devices: Vec<_> = readout.devices.iter().collect();
    devices.sort_by_key(|device| device.chip.chip_id);
    let first = devices.first().map(|device| &device.chip);
    let mut rows = RowWriter::new(out, &readout.zones);
    rows.has_logical = devices.iter().any(|device| has_logical(&device.chip));
    write_header(first, rows.has_logical, rows.out)?;
    for device in devices {
        let is_like_first = first.is_none_or(|first| describe_alike(first, &device.chip));
        rows.report.differing_chip_count += u64::from(!is_like_first);
        let mut lanes: Vec<_> = device.lanes.iter().collect();
        lanes.sort_by_key(|lane| lane.id);
        for lane in lanes {
            rows.set_logical(&device.chip, lane.id);
            rows.write_lane(lane)?;
        }
    }
    rows.finish()
}

/// Writes a log to a file. The file gets its name only after it is complete.
///
/// # Errors
/// If the folder of `path` does not exist or cannot be written to.
pub fn write_device_log_file(
    path: impl AsRef<Path>,
    readout: &Readout,
) -> Result<LogWriteReport, LogError> {
    let path = path.as_ref();
    let written = write_whole_file(path, |out| write_device_log(readout, out));
    written.map_err(|source| LogError::Io {
        file: path.display().to_string(),
        action: "write",
        source,
    })
}

const TITLES: &str = "PCIe slot, core_x, core_y, RISC processor type, timer_id, \
    time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, \
    source line, source file, meta data";

/// Returns true for a chip of a streaming log, which has logical coordinates and no grid size.
fn has_logical(chip: &ChipSummary) -> bool {
    chip.max_compute_cores.is_none() && !chip.known_lines.is_empty()
}

fn write_header(
    chip: Option<&ChipSummary>,
    has_logical: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let arch = chip.map_or("unknown", |chip| &chip.arch);
    let aiclk_mhz = chip.map_or(0, |chip| chip.aiclk_mhz);
    write!(out, "ARCH: {arch}, CHIP_FREQ[MHz]: {aiclk_mhz}")?;
    if let Some(cores) = chip.and_then(|chip| chip.max_compute_cores) {
        write!(out, ", Max Compute Cores: {cores}")?;
    }
    let logical = if has_logical { ", logical_x, logical_y" } else { "" };
    writeln!(out, "\n{TITLES}{logical}")
}

fn describe_alike(first: &ChipSummary, other: &ChipSummary) -> bool {
    (&first.arch, first.aiclk_mhz, first.max_compute_cores)
        == (&other.arch, other.aiclk_mhz, other.max_compute_cores)
}

/// Size in bytes at which buffered rows are written.
const FLUSH_BYTES: usize = 64 << 10;

struct RowWriter<'readout, W> {
    out: &'readout mut W,
    rows: Vec<u8>,
    number: itoa::Buffer,
    /// Texts of zones: first those of ordinary lanes, then those of aggregate lanes, where zones
    /// have other names.
    texts: [ZoneTexts<'readout>; 2],
    report: LogWriteReport,
    /// True if lines end in logical coordinates.
    has_logical: bool,
    /// Logical coordinates of the lane, each with a leading comma.
    logical: String,
}

impl<'readout, W: Write> RowWriter<'readout, W> {
    fn new(out: &'readout mut W, zones: &'readout ZoneTable) -> Self {
        let texts = [false, true];
        let texts = texts.map(|is_aggregate| ZoneTexts { zones, is_aggregate, texts: Vec::new() });
        let report = LogWriteReport::default();
        let (rows, number, logical) = (Vec::new(), itoa::Buffer::new(), String::new());
        Self { out, rows, number, texts, report, has_logical: false, logical }
    }

    /// Sets the logical coordinates at the end of the lane's lines. Unknown coordinates become
    /// empty fields.
    fn set_logical(&mut self, chip: &ChipSummary, lane: LaneId) {
        let known = logical::logical_coord(chip, lane.core).filter(|_| lane.risc != Risc::Erisc);
        self.logical = match known {
            _ if !self.has_logical => String::new(),
            Some((x, y)) => format!(",{x},{y}"),
            None => ",,".to_owned(),
        };
    }

    fn write_lane(&mut self, lane: &Lane) -> io::Result<()> {
        let texts = usize::from(lane.id.risc == Risc::TensixAggregate);
        let prefix =
            format!("{},{},{},{},", lane.id.chip_id, lane.id.core.x, lane.id.core.y, lane.id.risc);
        let zones = self.texts[texts].zones;
        let place = |one: &Annotated<'_>| (one.record.time, zones.id(one.record.zone));
        if lane.annotated_records().is_sorted_by_key(|one| place(&one)) {
            return lane
                .annotated_records()
                .try_for_each(|one| self.write_row(&prefix, lane, &one, texts));
        }
        let mut records: Vec<_> = lane.annotated_records().collect();
        records.sort_by_key(place);
        records.iter().try_for_each(|one| self.write_row(&prefix, lane, one, texts))
    }

    /// Appends the row of a record, and writes the buffered rows if there are many.
    fn write_row(
        &mut self,
        prefix: &str,
        lane: &Lane,
        &Annotated { record, run, text, .. }: &Annotated<'_>,
        texts: usize,
    ) -> io::Result<()> {
        let Record { kind, zone, time, data } = record;
        let run = run.and_then(|run| lane.runs.get(run));
        self.rows.extend_from_slice(prefix.as_bytes());
        self.push_number(self.texts[texts].zones.id(zone).into());
        self.push_number(time);
        self.push_number(data.first().copied().unwrap_or(0));
        self.push_number(run.map_or(0, |run| run.program.0.into()));
        self.push_trace(run);
        self.push_place(kind, zone, texts);
        self.push_metadata(text.unwrap_or_default());
        self.report.row_count += 1;
        self.report.unwritten_value_count += data.len().saturating_sub(1) as u64;
        if self.rows.len() >= FLUSH_BYTES { self.flush() } else { Ok(()) }
    }

    fn push_number(&mut self, number: u64) {
        self.rows.extend_from_slice(self.number.format(number).as_bytes());
        self.rows.push(b',');
    }

    fn push_trace(&mut self, run: Option<&Run>) {
        match run.and_then(|run| run.trace) {
            None => self.rows.extend_from_slice(b",,"),
            Some(trace) => {
                self.push_number(trace.trace_id);
                self.push_number(trace.counter);
            }
        }
    }

    /// Appends zone name, type, source line and source file.
    fn push_place(&mut self, kind: PacketKind, zone: ZoneIndex, texts: usize) {
        let text = self.texts[texts].text(zone);
        self.rows.extend_from_slice(&text.name);
        self.rows.push(b',');
        self.rows.extend_from_slice(kind.label().as_bytes());
        self.rows.extend_from_slice(&text.place);
        self.report.replaced_character_count += text.replaced_count;
    }

    fn push_metadata(&mut self, text: &str) {
        if !text.is_empty() {
            self.report.replaced_character_count += push_plain(&mut self.rows, text);
        }
        self.rows.extend_from_slice(self.logical.as_bytes());
        self.rows.push(b'\n');
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.rows)?;
        self.rows.clear();
        Ok(())
    }

    fn finish(mut self) -> io::Result<LogWriteReport> {
        self.flush()?;
        Ok(self.report)
    }
}

/// A zone's text in a row: `name`, and the part `,line,file,` that follows the type.
struct ZoneText {
    name: Vec<u8>,
    place: Vec<u8>,
    replaced_count: u64,
}

impl ZoneText {
    fn new(zones: &ZoneTable, zone: ZoneIndex, is_aggregate: bool) -> Self {
        let source = zones.sources(zone).first();
        let role = ZoneRole::from_name(zones.name(zone));
        let envelope = role.envelope_name().filter(|_| is_aggregate);
        let mut name = Vec::new();
        let written = envelope.map_or_else(|| written_name(zones, zone, role), Cow::Borrowed);
        let mut replaced_count = push_plain(&mut name, &written);
        let line = source.map_or(0, |source| source.line);
        let mut place = format!(",{line},").into_bytes();
        replaced_count += push_plain(&mut place, source.map_or("", |source| &source.file));
        place.push(b',');
        Self { name, place, replaced_count }
    }
}

/// Returns the name under which a zone is written: its label if its id has several names, because
/// the records may be of any of them. A name by which readers recognise a zone is kept.
fn written_name(zones: &ZoneTable, zone: ZoneIndex, role: ZoneRole) -> Cow<'_, str> {
    let name = zones.name(zone);
    let is_ambiguous = zones.sources(zone).iter().any(|source| source.name != name);
    let is_recognised = role != ZoneRole::default() || name.starts_with(SYNC_PREFIX);
    if is_ambiguous && !is_recognised { zones.label(zone) } else { Cow::Borrowed(name) }
}

/// Prefix of the names of waits and signals.
const SYNC_PREFIX: &str = "SYNC-";

/// Texts of zones, by index of the zone, created at the first use of each zone.
struct ZoneTexts<'readout> {
    zones: &'readout ZoneTable,
    is_aggregate: bool,
    texts: Vec<Option<Box<ZoneText>>>,
}

impl ZoneTexts<'_> {
    fn text(&mut self, zone: ZoneIndex) -> &ZoneText {
        let index = zone.0 as usize;
        if self.texts.len() <= index {
            self.texts.resize_with(index + 1, || None);
        }
        let new = || Box::new(ZoneText::new(self.zones, zone, self.is_aggregate));
        self.texts[index].get_or_insert_with(new)
    }
}

/// Appends text as a field that needs no quotes; returns the number of changed characters.
fn push_plain(row: &mut Vec<u8>, text: &str) -> u64 {
    let mut replaced_count = 0;
    for (index, byte) in text.bytes().enumerate() {
        let plain = match byte {
            b',' => b';',
            b'\n' | b'\r' => b' ',
            b'"' if index == 0 => b'\'',
            other => other,
        };
        replaced_count += u64::from(plain != byte);
        row.push(plain);
    }
    replaced_count
}
