//! Row of a recording in the table `recordings`: its clocks, and the reliability of the recording.

use super::{AddedRecording, WriteError, device_rows::signed, table_files::TableFiles};
use crate::{Trace, words::clock_json};
use ::tables::{RecordingRow, Recordings};
use reader::clock::{DayOffset, DayProblem};

/// Relation of a host's clock to the clock of its machine and to wall-clock time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineClock {
    /// Boot id of the machine's kernel; `None` if the recording does not contain it.
    pub boot_id: Option<u128>,
    /// Nanoseconds by which the host's clock is ahead of the machine's clock, because of a Linux
    /// time namespace.
    pub namespace_ns: i64,
    /// Offset of wall-clock time from the host's clock. The offset applies to the whole recording.
    pub day: Result<DayOffset, DayProblem>,
}

/// Adds the row of a recording.
pub(super) fn add(
    files: &mut TableFiles<Recordings>,
    recording: &AddedRecording<'_, '_>,
) -> Result<(), WriteError> {
    let &AddedRecording { key, machine, trace, .. } = recording;
    let day = machine.map(|machine| machine.day);
    let boot_id = machine.and_then(|machine| machine.boot_id);
    files.add(&RecordingRow {
        recording: key,
        kprof_version: env!("CARGO_PKG_VERSION").into(),
        end_ns: signed(trace.end_ns()),
        origin_host_ns: trace.origin_host_ns,
        boot_id: boot_id.map(|boot_id| format!("{boot_id:032x}").into()),
        namespace_ns: machine.map(|machine| machine.namespace_ns),
        day_offset_ns: day.and_then(|day| Some(day.ok()?.offset_ns)),
        day_error_ns: day.and_then(|day| Some(day.ok()?.error_ns)),
        day_problem: match day {
            None => Some(UNTOLD.into()),
            Some(day) => day.err().map(|problem| problem.label().into()),
        },
        chip_count: u32::try_from(trace.devices.len()).unwrap_or(u32::MAX),
        chips: chips(trace).into(),
        doubts: doubts(recording).into(),
    })
}

/// Returns the id, architecture and clock of each chip as JSON.
fn chips(trace: &Trace<'_>) -> String {
    let chips = trace.devices.iter().map(|device| clock_json(device, "chip_id"));
    serde_json::Value::Array(chips.collect()).to_string()
}

fn doubts(recording: &AddedRecording<'_, '_>) -> String {
    let doubts = recording.doubts().into_iter().map(|(key, count)| (key, count.into()));
    serde_json::Value::Object(doubts.collect()).to_string()
}

const UNTOLD: &str = "the recording does not tell on which machine it was made";
