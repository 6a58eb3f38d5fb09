//! The two CSV files that TT-Metal's scripts read: zones and messages of the host.
//!
//! # Compatibility
//! The files are `tracy_ops_times.csv` and `tracy_ops_data.csv`, as written by csvexport of
//! Tenstorrent's fork. For a zone without text, csvexport repeats the text of an earlier zone; this
//! module leaves the field empty.

use crate::recording::{TracyLocation, TracyRecording, TracyThread, TracyZone};
use std::io::{self, Write};

/// Substring of the names of parent zones. The rows of child zones repeat the parent's text in the
/// column `special_parent_text`.
const PARENT: &str = "TT_";

/// Writes one row for each zone of nonzero duration, thread by thread.
///
/// If the name of a zone is in `children`, the zone's row repeats the text of the zone's parent.
/// The parent is the innermost enclosing zone with a name that contains `TT_`. The thread column
/// contains the thread's index in [`TracyRecording::threads`].
///
/// # Errors
/// If writing fails.
///
/// ```
/// use tracy::{TracyRecording, write_op_times};
/// let mut csv = Vec::new();
/// write_op_times(&TracyRecording::default(), &[], &mut csv)?;
/// assert!(csv.starts_with(b"name,src_file,src_line,zone_name,zone_text,ns_since_start,"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_op_times(
    recording: &TracyRecording,
    children: &[&str],
    writer: impl Write,
) -> io::Result<()> {
    let mut rows = csv::Writer::from_writer(writer);
    rows.write_record(host_events::OP_TIMES_TITLES)?;
    for (number, thread) in recording.threads.iter().enumerate() {
        write_thread(recording, thread, number, children, &mut rows)?;
    }
    rows.flush()
}

fn write_thread(
    recording: &TracyRecording,
    thread: &TracyThread,
    number: usize,
    children: &[&str],
    rows: &mut csv::Writer<impl Write>,
) -> io::Result<()> {
    // Zones that enclose the current zone, outermost first.
    let mut around: Vec<&TracyZone> = Vec::new();
    let number = number.to_string();
    let nowhere = TracyLocation::default();
    for zone in &thread.zones {
        around.truncate(zone.depth.into());
        let location = recording.location(zone.location).unwrap_or(&nowhere);
        let name = location.zone_name();
        let lasted = zone.duration_ns().filter(|duration| *duration > 0);
        if let Some(duration_ns) = lasted {
            let parent = if children.contains(&name) {
                around
                    .iter()
                    .rev()
                    .find(|outer| {
                        let place = recording.location(outer.location);
                        place.is_some_and(|place| place.zone_name().contains(PARENT))
                    })
                    .and_then(|outer| outer.text())
            } else {
                None
            };
            let own_name = zone.extra.as_ref().and_then(|extra| extra.name.as_deref());
            rows.write_record([
                name,
                &location.file,
                &location.line.to_string(),
                own_name.unwrap_or_default(),
                zone.text().unwrap_or_default(),
                &zone.start_ns.to_string(),
                &duration_ns.to_string(),
                &number,
                parent.unwrap_or_default(),
            ])?;
        }
        around.push(zone);
    }
    Ok(())
}

/// Writes one row for each message: the unchanged text, `;`, and the time in ns.
///
/// TT-Metal's texts are already quoted with backticks.
///
/// # Errors
/// If writing fails.
pub fn write_op_messages(recording: &TracyRecording, mut writer: impl Write) -> io::Result<()> {
    writeln!(writer, "{}", host_events::OP_MESSAGES_TITLES.join(";"))?;
    for message in &recording.messages {
        writeln!(writer, "{};{}", message.text, message.time_ns)?;
    }
    writer.flush()
}
