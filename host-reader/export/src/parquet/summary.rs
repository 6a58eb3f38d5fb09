//! Recordings of a dataset, each with its ops but without other records: the input of fleet
//! reports.
//!
//! Zones and markers are never read, so time and memory depend on the number of ops but not on the
//! length of the recordings.

use super::{
    MachineClock, WriteError,
    folders::{parquet_files, partitions},
    location::DatasetLocation,
    read::{self, columns_named, key_of, text},
};
use crate::op_label;
use ::tables::{Ops, OpsReportCells, Recordings, Table, Value};
use reader::clock::{DayOffset, DayProblem};
use std::collections::BTreeMap;

/// One recording of a dataset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordingSummary {
    /// Host that made the recording.
    pub host: String,
    /// Name of the recording.
    pub recording: String,
    /// Time of the first record in nanoseconds, on the host's clock; `None` if the chips were not
    /// synchronised with the host.
    pub origin_host_ns: Option<i64>,
    /// Nanoseconds from the first record to the end of the last one.
    pub end_ns: u64,
    /// The host's machine, if recorded.
    pub machine: Option<MachineClock>,
    /// Error bound of each chip's clock relative to the host's clock; `None` if there is no bound.
    pub bounds_ns: BTreeMap<u32, Option<f64>>,
    /// Launches on the recording's chips.
    pub ops: Vec<SummaryOp>,
    /// The recording's ops report as CSV; empty if the dataset has none.
    pub ops_csv: String,
}

/// One launch of one program on one chip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SummaryOp {
    /// Id of the chip.
    pub chip_id: u32,
    /// Number of the program, without the number of the chip.
    pub program: u32,
    /// Id of the trace that was replayed.
    pub trace_id: Option<u64>,
    /// Number of the trace's replay, from 1.
    pub trace_replay: Option<u64>,
    /// Number of the launch among the launches of this program in this replay, from 1.
    pub launch: u64,
    /// Name given by the host.
    pub name: Option<String>,
    /// Start in nanoseconds since the recording's first record.
    pub start_ns: u64,
    /// Duration in nanoseconds; `None` if records of the op may be missing.
    pub duration_ns: Option<u64>,
}

/// Error of reading the recordings of a dataset.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SummaryError {
    /// The location does not contain a dataset.
    #[error("{location}: expected a dataset with the table `recordings`, found none")]
    NoDataset {
        /// Location.
        location: DatasetLocation,
    },
    /// A file or folder could not be read.
    #[error(transparent)]
    File(#[from] WriteError),
}

impl SummaryOp {
    /// Returns the op's label; see [`op_label`].
    #[must_use]
    pub fn label(&self) -> String {
        op_label(self.name.as_deref(), self.program, self.trace_id.zip(self.trace_replay))
    }
}

/// Reads the recordings of a dataset without their ops, sorted by host and name.
///
/// # Errors
/// If the location does not contain a dataset, or a file of the table `recordings` cannot be read.
pub fn read_recordings(dataset: &DatasetLocation) -> Result<Vec<RecordingSummary>, SummaryError> {
    let mut found: BTreeMap<(String, String), RecordingSummary> = BTreeMap::new();
    for_each_row::<Recordings>(dataset, &RECORDING_COLUMNS, |row| {
        let summary = summary_of(row);
        found.insert((summary.host.clone(), summary.recording.clone()), summary);
    })?;
    if found.is_empty() {
        return Err(SummaryError::NoDataset { location: dataset.clone() });
    }
    Ok(found.into_values().collect())
}

/// Reads the ops and the ops reports of all recordings of a dataset.
///
/// # Errors
/// If a file with ops or with ops reports cannot be read.
///
/// # Cost
/// Memory is proportional to the number of ops plus the number of rows of ops reports.
pub fn read_ops(
    dataset: &DatasetLocation,
    recordings: &mut [RecordingSummary],
) -> Result<(), SummaryError> {
    let key = |found: &RecordingSummary| (found.host.clone(), found.recording.clone());
    let mut found: BTreeMap<_, _> =
        recordings.iter_mut().map(|recording| (key(recording), recording)).collect();
    for_each_row::<Ops>(dataset, &OP_COLUMNS, |row| {
        if let Some(summary) = found.get_mut(&key_of(row)) {
            summary.ops.push(op_of(row));
        }
    })?;
    let mut reports: BTreeMap<(String, String), ReportRows> = BTreeMap::new();
    for_each_row::<OpsReportCells>(dataset, &CELL_COLUMNS, |row| {
        reports.entry(key_of(row)).or_default().add(row);
    })?;
    for (key, report) in reports {
        if let Some(summary) = found.get_mut(&key) {
            summary.ops_csv = report.csv();
        }
    }
    Ok(())
}

/// Returns true if a location appears to contain a dataset.
///
/// # Errors
/// If the location cannot be listed.
pub fn is_dataset(dataset: &DatasetLocation) -> Result<bool, WriteError> {
    Ok(match dataset {
        DatasetLocation::Folder(folder) => folder.join(Recordings::NAME).is_dir(),
        #[cfg(feature = "object-store")]
        DatasetLocation::Objects(_) => !partitions(dataset, Recordings::NAME)?.is_empty(),
    })
}

const RECORDING_COLUMNS: [&str; 10] = [
    "host",
    "recording",
    "origin_host_ns",
    "end_ns",
    "boot_id",
    "namespace_ns",
    "day_offset_ns",
    "day_error_ns",
    "day_problem",
    "chips",
];

const OP_COLUMNS: [&str; 10] = [
    "host",
    "recording",
    "chip_id",
    "program",
    "trace_id",
    "trace_replay",
    "launch",
    "name",
    "start_ns",
    "duration_ns",
];

const CELL_COLUMNS: [&str; 5] = ["host", "recording", "row", "title", "cell"];

/// Reads some columns of each row of a table, file by file.
fn for_each_row<T: Table>(
    dataset: &DatasetLocation,
    columns: &[&str],
    mut visit: impl FnMut(&[Value<'static>]),
) -> Result<(), WriteError> {
    let columns = columns_named::<T>(columns);
    for folder in partitions(dataset, T::NAME)? {
        for stored in parquet_files(dataset, &folder)? {
            read::for_each_row(dataset, &stored.path, &columns, &mut visit)?;
        }
    }
    Ok(())
}

fn signed(row: &[Value<'static>], at: usize) -> Option<i64> {
    match row.get(at)? {
        Value::Signed64(value) => Some(*value),
        _ => None,
    }
}

fn unsigned(row: &[Value<'static>], at: usize) -> Option<u64> {
    match row.get(at)? {
        Value::Unsigned32(value) => Some((*value).into()),
        Value::Unsigned64(value) => Some(*value),
        Value::Signed64(value) => u64::try_from(*value).ok(),
        _ => None,
    }
}

fn number(row: &[Value<'static>], at: usize) -> u32 {
    unsigned(row, at).and_then(|value| u32::try_from(value).ok()).unwrap_or(0)
}

fn summary_of(row: &[Value<'static>]) -> RecordingSummary {
    let (host, recording) = key_of(row);
    RecordingSummary {
        host,
        recording,
        origin_host_ns: signed(row, 2),
        end_ns: unsigned(row, 3).unwrap_or(0),
        machine: machine_of(row),
        bounds_ns: bounds_of(&text(row, 9).unwrap_or_default()),
        ..RecordingSummary::default()
    }
}

fn machine_of(row: &[Value<'static>]) -> Option<MachineClock> {
    let boot_id = u128::from_str_radix(&text(row, 4)?, 16).ok()?;
    let day = match (signed(row, 6), unsigned(row, 7)) {
        (Some(offset_ns), Some(error_ns)) => Ok(DayOffset { offset_ns, error_ns }),
        _ => Err(text(row, 8)
            .and_then(|label| DayProblem::ALL.into_iter().find(|problem| problem.label() == label))
            .unwrap_or(DayProblem::Unbounded)),
    };
    Some(MachineClock { boot_id: Some(boot_id), namespace_ns: signed(row, 5)?, day })
}

/// Returns the clock bounds of the chips in a JSON array.
fn bounds_of(chips: &str) -> BTreeMap<u32, Option<f64>> {
    let chips: Vec<serde_json::Value> = serde_json::from_str(chips).unwrap_or_default();
    let bounds = chips.iter().filter_map(|chip| {
        let chip_id = u32::try_from(chip["chip_id"].as_u64()?).ok()?;
        Some((chip_id, chip["bound_ns"].as_f64()))
    });
    bounds.collect()
}

fn op_of(row: &[Value<'static>]) -> SummaryOp {
    SummaryOp {
        chip_id: number(row, 2),
        program: number(row, 3),
        trace_id: unsigned(row, 4),
        trace_replay: unsigned(row, 5),
        launch: unsigned(row, 6).unwrap_or(0),
        name: text(row, 7),
        start_ns: unsigned(row, 8).unwrap_or(0),
        duration_ns: unsigned(row, 9),
    }
}

/// Rows of an ops report, collected while its cells are read.
#[derive(Default)]
struct ReportRows {
    titles: Vec<String>,
    rows: BTreeMap<u32, BTreeMap<String, String>>,
}

impl ReportRows {
    fn add(&mut self, row: &[Value<'static>]) {
        let title = text(row, 3).unwrap_or_default();
        match text(row, 4) {
            None => self.titles.push(title),
            Some(cell) => {
                self.rows.entry(number(row, 2)).or_default().insert(title, cell);
            }
        }
    }

    fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        // Writing to memory cannot fail.
        let _ = writer.write_record(&self.titles);
        for row in self.rows.values() {
            let cells = self.titles.iter().map(|title| row.get(title).map_or("", String::as_str));
            let _ = writer.write_record(cells);
        }
        String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
    }
}
