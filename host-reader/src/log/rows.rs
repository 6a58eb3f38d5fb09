//! The lines of a device log one by one, for those who need what lanes leave out.

use super::{
    error::LogError,
    fields::Fields,
    quoted::{Unquoted, has_quoted_field},
    read::Header,
    row::{Row, RowFault},
};

/// What a line of a log says, in the words of the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogLine<'text> {
    pub(crate) lane: crate::lane::LaneId,
    pub(crate) marker_id: u16,
    pub(crate) kind: wire::PacketKind,
    pub(crate) time: u64,
    pub(crate) value: u64,
    pub(crate) program: u32,
    pub(crate) trace: Option<crate::lane::TraceReplay>,
    pub(crate) name: &'text [u8],
    pub(crate) metadata: &'text [u8],
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LineFault {
    pub(crate) line: u64,
    pub(crate) detail: String,
}

/// What the first line says of the chips.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogChip {
    pub(crate) arch: String,
    pub(crate) aiclk_mhz: u32,
    pub(crate) max_compute_cores: Option<u32>,
}

/// Walks the lines in the order of the file.
///
/// # Errors
/// As [`super::read_device_log`].
pub(crate) fn walk_device_log(
    text: &[u8],
    file: &str,
    mut visit: impl FnMut(&LogLine<'_>),
    mut fault: impl FnMut(LineFault),
) -> Result<LogChip, LogError> {
    let mut rest = text;
    let header = Header::take(&mut rest, file)?;
    let mut fields = Fields::new();
    for (line_number, line) in (header.line_count + 1..).zip(rest.split(|&byte| byte == b'\n')) {
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
            Ok(row) => visit(&LogLine::of_row(&row)),
            Err(found) => fault(LineFault { line: line_number, detail: found.detail() }),
        }
    }
    let chip = header.chip;
    Ok(LogChip {
        arch: chip.arch,
        aiclk_mhz: chip.aiclk_mhz,
        max_compute_cores: chip.max_compute_cores,
    })
}

impl<'text> LogLine<'text> {
    fn of_row(row: &Row<'text>) -> Self {
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
