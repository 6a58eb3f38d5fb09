//! Iteration over the lines of a device log, including data that lanes do not store.

use super::{
    error::LogError,
    fields::Fields,
    header::LogChip,
    quoted::{Unquoted, has_quoted_field},
    read::LogHeader,
    row::{LineFault, LogLine},
};

/// Calls `visit` for each record and `fault` for each unreadable line, in file order. `fault` gets
/// the number of the line, counted from 1, and a description of the fault.
///
/// # Errors
/// The errors of [`super::read_device_log`].
pub fn walk_device_log(
    text: &[u8],
    file: &str,
    mut visit: impl FnMut(&LogLine<'_>),
    mut fault: impl FnMut(u64, String),
) -> Result<LogChip, LogError> {
    let mut rest = text;
    let header = LogHeader::take(&mut rest, file)?;
    let mut fields = Fields::new();
    for (line_number, line) in
        (header.line_count.saturating_add(1)..).zip(rest.split(|&byte| byte == b'\n'))
    {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.trim_ascii().is_empty() || header.shape.repeats(line).is_some() {
            continue;
        }
        let mut unquoted = Unquoted::new();
        let row = if has_quoted_field(line) {
            let cut = unquoted.split(line).ok_or(LineFault::OpenQuote);
            cut.and_then(|fields| LogLine::parse(&fields, &header.shape.layout))
        } else {
            fields.split_columns(line, &header.shape.layout);
            LogLine::parse(&fields, &header.shape.layout)
        };
        match row {
            Ok(row) => visit(&row),
            Err(found) => fault(line_number, found.detail()),
        }
    }
    Ok(header.chip)
}
