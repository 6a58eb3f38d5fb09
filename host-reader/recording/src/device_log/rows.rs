//! Iteration over the lines of a device log, including data that lanes do not store.

use super::{
    error::LogError,
    fields::Fields,
    header::LogChip,
    quoted::{Unquoted, has_quoted_field},
    read::Header,
    row::{Row, RowFault},
};

/// A line of a log, with its values and texts unchanged.
#[derive(Clone, Copy, Debug)]
pub struct LogLine<'text> {
    /// Lane of the record.
    pub lane: reader::lane::LaneId,
    /// Marker id.
    pub marker_id: u16,
    /// Kind of the record.
    pub kind: wire::PacketKind,
    /// Timestamp.
    pub time: u64,
    /// Value, or 0 if there is none.
    pub value: u64,
    /// Run host id.
    pub program: u32,
    /// Trace replay, if the log contains it.
    pub trace: Option<reader::lane::TraceReplay>,
    /// Name of the zone.
    pub name: &'text [u8],
    /// Meta data; empty if there is none.
    pub metadata: &'text [u8],
}

/// An unreadable line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineFault {
    /// Line number, counted from 1.
    pub line: u64,
    /// Description of the fault, as a sentence.
    pub detail: String,
}

/// Calls `visit` for each record and `fault` for each unreadable line, in file order.
///
/// # Errors
/// The errors of [`super::read_device_log`].
pub fn walk_device_log(
    text: &[u8],
    file: &str,
    mut visit: impl FnMut(&LogLine<'_>),
    mut fault: impl FnMut(LineFault),
) -> Result<LogChip, LogError> {
    let mut rest = text;
    let header = Header::take(&mut rest, file)?;
    let mut fields = Fields::new();
    for (line_number, line) in
        (header.line_count.saturating_add(1)..).zip(rest.split(|&byte| byte == b'\n'))
    {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.trim_ascii().is_empty() || header.shape.repeats(line) {
            continue;
        }
        let mut unquoted = Unquoted::new();
        let row = if has_quoted_field(line) {
            let cut = unquoted.split(line).ok_or(RowFault::OpenQuote);
            cut.and_then(|fields| Row::parse(&fields, &header.shape.layout))
        } else {
            fields.split(line);
            Row::parse(&fields, &header.shape.layout)
        };
        match row {
            Ok(row) => visit(&LogLine::from_row(&row)),
            Err(found) => fault(LineFault { line: line_number, detail: found.detail() }),
        }
    }
    Ok(header.chip)
}

impl<'text> LogLine<'text> {
    fn from_row(row: &Row<'text>) -> Self {
        Self {
            lane: row.lane,
            marker_id: row.marker_id,
            kind: row.kind,
            time: row.time,
            value: row.value,
            program: row.key.program,
            trace: row.key.trace,
            name: row.place.name,
            metadata: row.metadata,
        }
    }
}
