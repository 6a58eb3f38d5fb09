//! Writes a zone log in TT-Metal's format, which TT-Metal's host can read.

#![expect(clippy::arithmetic_side_effects, reason = "a count of what is in memory")]

use crate::whole_file::write_whole_file;
use reader::names::{ZoneSource, ZoneTable};
use std::{
    io::{self, Write},
    path::Path,
};
use wire::ZoneId;

/// Counts of written and omitted zones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneLogReport {
    /// Number of written zones.
    pub written_count: usize,
    /// Ids of omitted zones.
    ///
    /// A zone is omitted if its text contains a line break, or if the hash of its text differs from
    /// its id. The hash differs if invalid UTF-8 in the text was replaced, or if the name is known
    /// only from a device log.
    pub left_out: Vec<ZoneId>,
}

/// Writes one line per zone of the table.
///
/// # Compatibility
/// The format is that of `zone_src_locations.log`. From each line, TT-Metal uses the part after
/// `'#pragma message: `, except the line's last character.
///
/// # Errors
/// If `out` returns an error.
///
/// ```
/// use reader::names::{ZoneSource, ZoneTable};
/// use recording::zone_names::write_zone_log;
/// let mut zones = ZoneTable::new();
/// let source = ZoneSource { name: "A".into(), file: "/k/k.cpp".into(), line: 10 };
/// zones.add(source.id(), source);
/// let mut log = Vec::new();
/// write_zone_log(&zones, &mut log)?;
/// assert_eq!(
///     String::from_utf8(log)?,
///     "/k/k.cpp:10:1: note: '#pragma message: A,/k/k.cpp,10,KERNEL_PROFILER'\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_zone_log(zones: &ZoneTable, out: &mut impl Write) -> io::Result<ZoneLogReport> {
    let mut report = ZoneLogReport::default();
    for (id, source) in zones.places() {
        if is_writable(id, source) {
            let ZoneSource { file, line, .. } = source;
            writeln!(out, "{file}:{line}:1: note: '#pragma message: {}'", source.text())?;
            report.written_count += 1;
        } else {
            report.left_out.push(id);
        }
    }
    Ok(report)
}

/// Writes a zone log to a file. The file gets its name only after it is complete.
///
/// # Errors
/// If the folder of `path` does not exist or cannot be written to.
pub fn write_zone_log_file(path: impl AsRef<Path>, zones: &ZoneTable) -> io::Result<ZoneLogReport> {
    write_whole_file(path.as_ref(), |out| write_zone_log(zones, out))
}

fn is_writable(id: ZoneId, source: &ZoneSource) -> bool {
    let text = source.text();
    source.id() == id && !text.contains(['\n', '\r', '\0'])
}
