//! Parsing of one line of a device log.

use super::{
    fields::Fields,
    header::{Column, Layout},
    text::{packet_kind, parse_number, shown, trimmed},
};
use reader::{
    lane::{LaneId, TraceReplay},
    mesh::Noc0Coord,
};
use wire::{PacketKind, Risc};

/// Key that distinguishes the launches to which lines belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaunchKey {
    /// Run host id.
    pub program: u32,
    /// Trace replay, if the log contains it.
    pub trace: Option<TraceReplay>,
    /// Run counter in logs before July 2025, or number of the writing process in a streaming log;
    /// otherwise 0.
    pub(super) run_id: u64,
}

impl LaunchKey {
    /// Returns the key of a line of a streaming log, or `None` if the program's number is too
    /// large.
    ///
    /// In such a log, the program column contains the process, and the trace column contains the
    /// program.
    pub(super) fn from_streaming(process: u64, trace: Option<TraceReplay>) -> Option<Self> {
        let program = trace.map_or(0, |trace| trace.trace_id);
        Some(Self { program: u32::try_from(program).ok()?, trace: None, run_id: process })
    }

    /// Returns true if the line of a streaming log names no program.
    pub(super) const fn is_unlabelled(&self) -> bool {
        self.program == 0 && self.trace.is_none() && self.run_id != 0
    }
}

/// Name and source location of a marker, as given in a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkerSource<'text> {
    /// Name of the zone.
    pub name: &'text [u8],
    pub(super) line: u32,
    pub(super) file: &'text [u8],
}

/// A parsed line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine<'text> {
    /// Lane of the record.
    pub lane: LaneId,
    /// Marker id.
    pub marker_id: u16,
    /// Kind of the record.
    pub kind: PacketKind,
    /// Time of the record, in cycles of the tile's clock.
    pub time: u64,
    /// Value, or 0 if there is none.
    pub value: u64,
    /// Launch to which the line belongs.
    pub key: LaunchKey,
    /// Name and source location.
    pub place: MarkerSource<'text>,
    /// Meta data; empty if there is none.
    pub metadata: &'text [u8],
    /// Column and row of the core in the grid of usable workers, if the log contains them.
    pub(super) logical: Option<(u16, u16)>,
}

/// Reason why a line cannot be parsed as a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineFault<'text> {
    ColumnCount { expected: usize, found: usize },
    Field { column: Column, expected: &'static str, found: &'text [u8] },
    OpenQuote,
    NotUtf8,
    RepeatedHeader,
    UnknownRisc { chip_id: u32, core: Noc0Coord, label: &'text [u8] },
}

impl LineFault<'_> {
    /// Returns the fault as text for a message.
    pub(super) fn detail(&self) -> String {
        match *self {
            Self::ColumnCount { expected, found } => {
                format!("expected {expected} columns, found {found}")
            }
            Self::Field { column, expected, found } => {
                format!(
                    "column `{}`: expected {expected}, found `{}`",
                    column.title(),
                    shown(found)
                )
            }
            Self::OpenQuote => "expected fields with closed quotes".into(),
            Self::NotUtf8 => "expected UTF-8 text".into(),
            Self::RepeatedHeader => "a header that differs from the log's first one".into(),
            Self::UnknownRisc { chip_id, core, label } => {
                format!("chip {chip_id} core {core} RISC `{}` is unknown", shown(label))
            }
        }
    }
}

/// Maximum timer id of a log: 16 bits of id and 3 bits of packet type.
const TYPED_ID_MAX: u64 = (1 << 19) - 1;
/// Value with which TT-Metal represents "no trace". Some logs contain this value in fields that
/// should be empty.
pub(super) const NO_TRACE: u64 = 1 << 63;

impl<'text> LogLine<'text> {
    /// Parses the fields of one line.
    pub(super) fn parse(fields: &Fields<'text>, layout: &Layout) -> Result<Self, LineFault<'text>> {
        let expected = layout.column_count();
        if fields.count() != expected {
            return Err(LineFault::ColumnCount { expected, found: fields.count() });
        }
        let cells = Cells { fields, layout };
        let kind = cells.kind()?;
        Ok(Self {
            lane: cells.lane()?,
            marker_id: cells.marker_id(kind)?,
            kind,
            time: cells.number(Column::Time)?,
            value: cells.optional_number(Column::Data)?.unwrap_or(0),
            key: cells.launch_key()?,
            place: cells.place()?,
            metadata: cells.text(Column::Metadata),
            logical: cells.logical()?,
        })
    }
}

/// The fields of a line, by column.
struct Cells<'line, 'text> {
    fields: &'line Fields<'text>,
    layout: &'line Layout,
}

impl<'text> Cells<'_, 'text> {
    #[inline]
    fn text(&self, column: Column) -> &'text [u8] {
        self.layout.position(column).map_or(&[], |position| trimmed(self.fields.at(position)))
    }

    fn fault(&self, column: Column, expected: &'static str) -> LineFault<'text> {
        LineFault::Field { column, expected, found: self.text(column) }
    }

    #[inline]
    fn number(&self, column: Column) -> Result<u64, LineFault<'text>> {
        parse_number(self.text(column)).ok_or_else(|| self.fault(column, "a whole number"))
    }

    #[inline]
    fn number_of<T: TryFrom<u64>>(&self, column: Column) -> Result<T, LineFault<'text>> {
        let number = self.number(column)?;
        T::try_from(number).map_err(|_| self.fault(column, "a smaller number"))
    }

    #[inline]
    fn optional_number(&self, column: Column) -> Result<Option<u64>, LineFault<'text>> {
        if self.text(column).is_empty() { Ok(None) } else { self.number(column).map(Some) }
    }

    fn logical(&self) -> Result<Option<(u16, u16)>, LineFault<'text>> {
        if self.text(Column::LogicalX).is_empty() || self.text(Column::LogicalY).is_empty() {
            return Ok(None);
        }
        Ok(Some((self.number_of(Column::LogicalX)?, self.number_of(Column::LogicalY)?)))
    }

    fn kind(&self) -> Result<PacketKind, LineFault<'text>> {
        packet_kind(self.text(Column::Kind)).ok_or_else(|| {
            self.fault(Column::Kind, "ZONE_START, ZONE_END, ZONE_TOTAL, TS_DATA or TS_EVENT")
        })
    }

    fn lane(&self) -> Result<LaneId, LineFault<'text>> {
        let chip_id = self.number_of(Column::Chip)?;
        let core =
            Noc0Coord { x: self.number_of(Column::CoreX)?, y: self.number_of(Column::CoreY)? };
        let label = self.text(Column::Risc);
        let risc = std::str::from_utf8(label).ok().and_then(risc_of);
        let risc = risc.ok_or(LineFault::UnknownRisc { chip_id, core, label })?;
        Ok(LaneId { chip_id, core, risc })
    }

    /// Returns the 16-bit id. Until 2024, the bits above the id contained the packet type.
    fn marker_id(&self, kind: PacketKind) -> Result<u16, LineFault<'text>> {
        let number = self.number(Column::MarkerId)?;
        if let Ok(id) = u16::try_from(number) {
            return Ok(id);
        }
        // This number is not a 16-bit id but a hash of the zone's name. The line also contains the
        // name.
        let is_name_hash = self.layout.is_streaming() && number <= u64::from(u32::MAX);
        if is_name_hash && !self.text(Column::ZoneName).is_empty() {
            return Ok(0);
        }
        let [low, high, packet_type, ..] = number.to_le_bytes();
        let is_typed = number <= TYPED_ID_MAX && packet_type == kind.packet_type().0;
        if is_typed {
            Ok(u16::from_le_bytes([low, high]))
        } else {
            Err(self.fault(Column::MarkerId, "at most 65535"))
        }
    }

    fn launch_key(&self) -> Result<LaunchKey, LineFault<'text>> {
        let run_id = self.optional_number(Column::RunId)?.unwrap_or(0);
        let has_program = self.layout.position(Column::RunHostId).is_some();
        let column = if has_program { Column::RunHostId } else { Column::RunId };
        let program = self.optional_number(column)?.unwrap_or(0);
        if self.layout.is_streaming() {
            let key = LaunchKey::from_streaming(program, self.trace()?);
            return key.ok_or_else(|| self.fault(Column::TraceId, "at most 32 bits"));
        }
        let program = u32::try_from(program).map_err(|_| self.fault(column, "at most 32 bits"))?;
        Ok(LaunchKey { program, trace: self.trace()?, run_id })
    }

    fn trace(&self) -> Result<Option<TraceReplay>, LineFault<'text>> {
        let trace_id = self.optional_number(Column::TraceId)?.filter(|&id| id != NO_TRACE);
        let counter = self.optional_number(Column::TraceCounter)?.filter(|&id| id != NO_TRACE);
        match (trace_id, counter) {
            (Some(trace_id), Some(counter)) => Ok(Some(TraceReplay { trace_id, counter })),
            (None, None) => Ok(None),
            (Some(_), None) => {
                Err(self.fault(Column::TraceCounter, "a number, as the trace id is given"))
            }
            (None, Some(_)) => {
                Err(self.fault(Column::TraceId, "a number, as its counter is given"))
            }
        }
    }

    fn place(&self) -> Result<MarkerSource<'text>, LineFault<'text>> {
        let line = self.optional_number(Column::SourceLine)?.unwrap_or(0);
        let line = u32::try_from(line).map_err(|_| self.fault(Column::SourceLine, "a line"))?;
        let [name, file] = [Column::ZoneName, Column::SourceFile].map(|column| self.text(column));
        let name = if name.is_empty() { self.sync_name() } else { name };
        Ok(MarkerSource { name, line, file })
    }

    /// Returns the name of data about waits and signals, which a streaming log writes without its
    /// name; empty for other lines.
    fn sync_name(&self) -> &'text [u8] {
        let has_sync_ids =
            self.layout.is_streaming() && matches!(self.kind(), Ok(PacketKind::TimestampedData));
        if !has_sync_ids {
            return &[];
        }
        let id = self.number(Column::MarkerId).unwrap_or(0);
        let found = SYNC_NAMES.iter().find(|&&(known, _)| known == id);
        found.map_or(&[], |(_, name)| name.as_bytes())
    }
}

/// Ids of data about waits and signals in a streaming log, with the names by which kernels recorded
/// the data.
///
/// # Compatibility
/// `zone_csv.cpp` of TT-Metal's streaming profiler. It no longer writes the ids of the two ends of a
/// wait, because a wait is a zone.
const SYNC_NAMES: [(u64, &str); 11] = [
    (1000, "SYNC-CB-PUSH"),
    (1001, "SYNC-CB-WAIT-START"),
    (1002, "SYNC-CB-WAIT-END"),
    (1003, "SYNC-SEM-SET"),
    (1004, "SYNC-SEM-SET-REMOTE"),
    (1005, "SYNC-SEM-WAIT-START"),
    (1006, "SYNC-SEM-WAIT-END"),
    (1007, "SYNC-SEM-WAIT-KEY"),
    (1008, "SYNC-CB-WAIT-KEY"),
    (1009, "SYNC-CB-RESERVE-KEY"),
    (1010, "SYNC-CB-POP"),
];

/// Returns the RISC of a label. Logs of other programs than TT-Metal also write `TRISC0`.
fn risc_of(label: &str) -> Option<Risc> {
    match label {
        "TRISC0" => Some(Risc::Trisc0),
        "TRISC1" => Some(Risc::Trisc1),
        "TRISC2" => Some(Risc::Trisc2),
        _ => Risc::from_label(label),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TITLES: &str = "PCIe slot, core_x, core_y, RISC processor type, timer_id, \
        time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, \
        source line, source file, meta data";

    /// Parses a line and calls `check` with the result.
    fn with_row<T>(line: &str, check: impl FnOnce(Result<LogLine<'_>, LineFault<'_>>) -> T) -> T {
        let layout = Layout::parse(TITLES.as_bytes()).unwrap();
        let mut fields = Fields::new();
        fields.split(line.as_bytes());
        check(LogLine::parse(&fields, &layout))
    }

    #[test]
    fn a_current_line_gives_every_field() {
        with_row(
            "1,18,2,TRISC_2,77,1737,9,3073,5,2,A,ZONE_TOTAL,12,/k.cpp,{\"a\":1;\"b\":2}",
            |row| {
                let row = row.unwrap();
                assert_eq!(row.lane.to_string(), "chip 1 core (18,2) TRISC_2");
                assert_eq!((row.marker_id, row.time, row.value), (77, 1737, 9));
                assert_eq!(row.key.program, 3073);
                assert_eq!(row.key.trace, Some(TraceReplay { trace_id: 5, counter: 2 }));
                assert_eq!((row.place.name, row.place.line), (&b"A"[..], 12));
                assert_eq!(row.metadata, br#"{"a":1;"b":2}"#);
            },
        );
    }

    #[test]
    fn blanks_around_fields_do_not_matter() {
        let line = "0, 1, 2, BRISC, 7, 8, 0, 0, , , A b , ZONE_START, 1, /k.cpp, ";
        with_row(line, |row| assert_eq!(row.unwrap().place.name, b"A b"));
    }

    #[test]
    fn packet_type_bits_are_taken_off_the_id_if_they_fit_the_type() {
        let line = |id: u32, kind: &str| format!("0,1,2,BRISC,{id},8,0,0,,,A,{kind},1,/k,");
        with_row(&line(65_536 + 7, "end"), |row| assert_eq!(row.unwrap().marker_id, 7));
        with_row(&line(65_536 + 7, "begin"), |row| {
            assert_eq!(
                row.unwrap_err().detail(),
                "column `timer_id`: expected at most 65535, found `65543`"
            );
        });
    }

    #[test]
    fn each_fault_names_its_column_and_text() {
        for (line, expected) in [
            ("0,1,2,BRISC", "expected 15 columns, found 4"),
            (
                "0,x,2,BRISC,7,8,0,0,,,A,TS_EVENT,1,/k,",
                "column `core_x`: expected a whole number, found `x`",
            ),
            (
                "0,99999,2,BRISC,7,8,0,0,,,A,TS_EVENT,1,/k,",
                "column `core_x`: expected a smaller number, found `99999`",
            ),
            (
                "0,1,2,BRISC,7,,0,0,,,A,TS_EVENT,1,/k,",
                "column `time[cycles since reset]`: expected a whole number, found ``",
            ),
            (
                "0,1,2,BRISC,7,8,0,0,3,,A,TS_EVENT,1,/k,",
                "column `trace id counter`: expected a number, as the trace id is given, found ``",
            ),
            (
                "0,1,2,QUASAR_DM8,7,8,0,0,,,A,TS_EVENT,1,/k,",
                "chip 0 core (1,2) RISC `QUASAR_DM8` is unknown",
            ),
        ] {
            with_row(line, |row| assert_eq!(row.unwrap_err().detail(), expected));
        }
    }
}
