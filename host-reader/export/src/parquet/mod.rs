//! Parquet: chip records and host events of many recordings as one dataset of tables.
//!
//! ```text
//! dataset/zones/date=2026-11-25/run=train-17/node-3%20matmul~0.parquet
//! dataset/ops/date=2026-11-25/run=train-17/node-3%20matmul~0.parquet
//! ```
//!
//! Folder names follow Hive, so DuckDB, DataFusion, Spark and Ray read all recordings of a fleet as
//! 16 tables with the columns `date` and `run`, and open only the files that a query needs. The
//! crate `tables` documents the other columns. The columns `host`, `recording`, `chip_id` and `op`
//! join ops with zones and markers. A table without rows has no file.
//!
//! Each recording has a row in the table `recordings`. The row contains what is needed to judge the
//! other rows: losses, anomalies, repairs and filtered records of the whole recording, and the
//! clocks of the host and the chips.
//!
//! | question | module |
//! |---|---|
//! | what are files and folders called? | [`folders`] |
//! | which rows does a recording have? | [`device_rows`], [`host_rows`], [`sync_rows`], [`memory_rows`], [`report_cells`], [`recording_row`] |
//! | how are rows written to files? | [`table_files`], [`rows`], [`cells`] |
//! | where are the files? | [`location`] |
//! | how are many small files merged into few? | [`compact`] |
//! | how are existing files read? | [`read`] |
//! | how do readers of Delta Lake find the files? | [`delta_log`] |

mod cells;
mod compact;
mod delta_file;
mod delta_log;
mod delta_schema;
mod delta_snapshot;
#[cfg(test)]
mod delta_tests;
mod device_rows;
mod folders;
mod host_rows;
mod location;
mod memory_rows;
mod read;
mod recording_row;
mod report_cells;
mod rows;
mod summary;
mod sync_rows;
mod table_files;
#[cfg(test)]
mod tests;

pub use compact::{CompactCounts, CompactError, compact};
pub use delta_log::DeltaLogs;
pub use device_rows::{DeviceRows, DeviceTable};
pub use host_rows::{HostRows, HostTable};
pub use location::{DatasetLocation, LocationError};
pub use memory_rows::OpMemory;
pub use recording_row::MachineClock;
pub use summary::{
    RecordingSummary, SummaryError, SummaryOp, is_dataset, read_ops, read_recordings,
};

use super::{CancelFlag, Destination, PackedTrace, Trace, WriteError, destination::write_error};
use ::tables::{
    Buffers, Counters, HostEvents, HostZones, LossRow, Losses, Markers, Memory, NocEvents,
    OpBuffers, Ops, ProfilerTime, RecordingKey, Recordings, Table, WaitSums, Waits, Zones, schemas,
};
use chrono::NaiveDate;
use delta_log::{Change, DeltaLog};
use delta_snapshot::Snapshot;
use folders::{ExportPlace, NewFolders, parquet_files, partitions};
use parquet::errors::ParquetError;
use rayon::prelude::*;
use std::{
    io,
    sync::{Arc, OnceLock},
};
use table_files::{Opening, TableFiles, Written};

/// Labels of a dataset's files: date, run and file name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatasetLabels {
    /// Date on which the recordings began; `None` if unknown.
    pub date: Option<NaiveDate>,
    /// Label of the fleet's run that the recordings belong to. All hosts of the run use the same
    /// label.
    pub run: String,
    /// Name of the files, such as the name of the host. A later export with the same name replaces
    /// the files.
    pub file: String,
    /// True if only one recording is added. If true, the files are sorted by chip, and the metadata
    /// of the files declares this order.
    pub has_one_recording: bool,
}

/// Dataset of many recordings, to which new files are added.
///
/// Files are written under temporary names. The files are renamed when all of them are complete.
///
/// ```
/// use export::*;
/// use recording::device_log::read_device_log;
/// use tables::RecordingKey;
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,7,100,0,1024,BRISC-KERNEL,ZONE_START
/// 0,1,2,BRISC,7,160,0,1024,BRISC-KERNEL,ZONE_END
/// ";
/// let readout = read_device_log(log.as_bytes(), "my log")?;
/// let recording = Recording::from_readout(readout);
/// let trace = Trace::new(&recording, &TraceFilter::default());
/// let folder = tempfile::tempdir()?;
/// let [run, file] = ["train-17", "node-3 matmul"].map(str::to_owned);
/// let labels = DatasetLabels { date: None, run, file, has_one_recording: true };
/// let mut dataset = ParquetDataset::new(&folder.path().into(), labels, &CancelFlag::default())?;
/// let key = RecordingKey { host: "node-3", recording: "matmul" };
/// dataset.add(&AddedRecording { key, machine: None, trace: &trace, ops_csv: None, memory: None })?;
/// let written = dataset.finish()?;
/// // Zones, ops, and the recording itself.
/// assert_eq!((written.zones, written.ops, written.files), (1, 1, 3));
/// let file = "zones/date=__HIVE_DEFAULT_PARTITION__/run=train-17/node-3%20matmul~0.parquet";
/// assert!(folder.path().join(file).is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ParquetDataset {
    opening: Arc<Opening>,
    tables: Vec<Box<dyn TableSink>>,
    logs: DeltaLogs,
}

/// Error for an empty run or file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the name of a {what}, found an empty text")]
pub struct EmptyName {
    what: &'static str,
}

/// Numbers of files and rows that were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct DatasetCounts {
    /// Number of files.
    pub files: u64,
    /// Number of earlier files of the same export that were replaced.
    pub replaced_files: u64,
    /// Number of rows of the table `zones`.
    pub zones: u64,
    /// Number of rows of the table `markers`.
    pub markers: u64,
    /// Number of rows of the table `ops`.
    pub ops: u64,
    /// Number of rows of the table `losses`.
    pub losses: u64,
    /// Number of rows of the table `host_zones`.
    pub host_zones: u64,
    /// Number of rows of the table `host_events`.
    pub host_events: u64,
    /// Number of rows of the table `counters`.
    pub counters: u64,
    /// Number of rows of the table `noc_events`.
    pub noc_events: u64,
    /// Number of rows of the table `waits`.
    pub waits: u64,
    /// Number of rows of the table `wait_sums`.
    pub wait_sums: u64,
    /// Number of rows of the table `profiler_time`.
    pub profiler_time: u64,
    /// Number of rows of the table `buffers`.
    pub buffers: u64,
    /// Number of rows of the table `op_buffers`.
    pub op_buffers: u64,
    /// Number of rows of the table `memory`.
    pub memory: u64,
}

/// Table of a dataset, to which recordings are added.
trait TableSink: Send {
    /// Returns the name of the table.
    fn name(&self) -> &'static str;

    /// Adds the rows of a recording.
    fn add(&mut self, recording: &AddedRecording<'_, '_>) -> Result<(), WriteError>;

    /// Adds the rows for the ops or records in `rows`, if the table has rows for this kind of item.
    fn add_part(&mut self, part: Part, rows: DeviceRows<'_, '_>) -> Result<(), WriteError>;

    /// Completes the files.
    fn finish(self: Box<Self>) -> Result<Written, WriteError>;
}

/// Kind of the items that are added in parts if a recording is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Some of a chip's ops.
    Ops,
    /// Records of a part of a lane.
    Lane,
}

/// Recording to be added to a dataset.
#[derive(Clone, Copy, Debug)]
pub struct AddedRecording<'r, 'a> {
    /// Names of the host and the recording.
    pub key: RecordingKey<'r>,
    /// Clock of the host's machine, if known.
    pub machine: Option<MachineClock>,
    /// Trace of the recording.
    pub trace: &'r Trace<'a>,
    /// The ops report as CSV; `None` leaves the report out.
    pub ops_csv: Option<&'r str>,
    /// What memory held during ops; `None` leaves it out.
    pub memory: Option<OpMemory<'r>>,
}

impl ParquetDataset {
    /// Creates a dataset without files.
    ///
    /// # Errors
    /// If a label for the run or the file is empty.
    pub fn new(
        dataset: &DatasetLocation,
        labels: DatasetLabels,
        cancel: &CancelFlag,
    ) -> Result<Self, EmptyName> {
        let DatasetLabels { date, run, file, has_one_recording } = labels;
        for (what, name) in [("run", &run), ("file", &file)] {
            if name.is_empty() {
                return Err(EmptyName { what });
            }
        }
        let (dataset, has_logs) = (dataset.clone(), OnceLock::new());
        let opening = Arc::new(Opening {
            place: ExportPlace { dataset, date, run, file, has_logs },
            folders: NewFolders::default(),
            cancel: cancel.clone(),
            has_one_recording,
        });
        Ok(Self { tables: sinks(&opening), opening, logs: DeltaLogs::default() })
    }

    /// Sets which tables get a Delta log.
    #[must_use]
    pub fn with_delta_logs(self, logs: DeltaLogs) -> Self {
        Self { logs, ..self }
    }

    /// Adds a recording.
    ///
    /// # Errors
    /// If a folder or file cannot be written, the operation is cancelled, or a file written by
    /// [`compact`] already contains the recording.
    ///
    /// # Cost
    /// Tables are written in parallel. Memory is bounded by one row group per table.
    pub fn add(&mut self, recording: &AddedRecording<'_, '_>) -> Result<(), WriteError> {
        self.refuse_compacted(recording.key)?;
        self.tables.par_iter_mut().try_for_each(|table| table.add(recording))
    }

    /// Adds the ops and lanes of a packed recording. The rest of the recording must be added first,
    /// by [`ParquetDataset::add`].
    ///
    /// # Errors
    /// See [`ParquetDataset::add`]. Also returns an error if records cannot be read from the
    /// temporary file.
    ///
    /// # Cost
    /// Each thread unpacks one lane at a time.
    pub fn add_items(
        &mut self,
        recording: RecordingKey<'_>,
        packed: &PackedTrace<'_>,
    ) -> Result<(), WriteError> {
        let trace = packed.trace();
        packed.for_each_ops(|first_op, device| {
            let rows = DeviceRows { trace, device, first_op, recording };
            self.tables.iter_mut().try_for_each(|table| table.add_part(Part::Ops, rows))
        })?;
        packed.for_each_batch(|parts| {
            self.tables.par_iter_mut().try_for_each(|table| {
                parts.iter().try_for_each(|part| {
                    let rows = DeviceRows { trace, device: &part.device, first_op: 0, recording };
                    table.add_part(Part::Lane, rows)
                })
            })
        })
    }

    /// Renames the files to their final names.
    ///
    /// Each table with rows has one file, or several files if the table is longer than 256 MiB.
    /// Earlier files with the same name are replaced or removed. If the dataset has Delta logs, the
    /// changes to each table are one commit. The table `recordings` is committed last.
    ///
    /// # Errors
    /// If a file or log cannot be written, or the operation is cancelled. No new files remain if
    /// the error occurs before the first file is renamed. After that, some new files may remain.
    pub fn finish(self) -> Result<DatasetCounts, WriteError> {
        let Self { opening, tables, logs } = self;
        let place = &opening.place;
        let finish = |table: Box<dyn TableSink>| Ok((table.name(), table.finish()?));
        let written: Vec<_> =
            tables.into_par_iter().map(finish).collect::<Result<_, WriteError>>()?;
        let has_logs = place.has_logs()?;
        // A log that cannot be continued is detected before any file gets its final name.
        let read = |(table, written): (&'static str, Written)| {
            let log = has_logs.then(|| DeltaLog::new(&place.dataset, table).snapshot());
            Ok((table, written, log.transpose()?))
        };
        let written: Vec<_> =
            written.into_par_iter().map(read).collect::<Result<_, WriteError>>()?;
        opening.folders.keep();
        let mut counts = DatasetCounts::default();
        for (name, written, log) in written {
            counts.add(name, &written);
            counts.replaced_files += publish(place, name, written, log)?;
        }
        if logs == DeltaLogs::Create && !has_logs {
            create_logs(&place.dataset)?;
        }
        Ok(counts)
    }

    /// Returns an error if a compacted file already contains the recording. Otherwise the
    /// recording's rows would exist twice after the export.
    fn refuse_compacted(&self, key: RecordingKey<'_>) -> Result<(), WriteError> {
        let place = &self.opening.place;
        let dataset = &place.dataset;
        let files = parquet_files(dataset, &place.folder(Recordings::NAME))?;
        for file in files.iter().filter(|file| compact::is_compacted(file.name())) {
            let known = read::recording_keys(dataset, &file.path)?;
            if known.iter().any(|(host, recording)| RecordingKey { host, recording } == key) {
                return Err(dataset.refused(
                    &file.path,
                    io::Error::other(format!(
                        "the recording `{}` of host `{}` is in this file, which `kprof compact` made; \
                     name the new one otherwise",
                        key.recording, key.host
                    )),
                ));
            }
        }
        Ok(())
    }
}

/// Renames the files of a table to their final names, and removes earlier files of the same export.
/// Returns the number of removed files.
fn publish(
    place: &ExportPlace,
    table: &'static str,
    written: Written,
    log: Option<Snapshot>,
) -> Result<u64, WriteError> {
    let mut old = place.own_files(table)?;
    let old_count = old.len() as u64;
    let mut new = Vec::with_capacity(written.files.len());
    for (path, file) in written.files {
        file.publish()?;
        old.retain(|(file, _)| file.path != path);
        new.push(path);
    }
    let old: Vec<String> = old.into_iter().map(|(file, _)| file.path).collect();
    if let Some(log) = log {
        DeltaLog::new(&place.dataset, table).replace(log, &new, &old, Change::Write)?;
    }
    old.iter().try_for_each(|path| place.dataset.remove(path))?;
    Ok(old_count)
}

/// Creates or updates the log of each table, so that it contains all files of the table. The table
/// `recordings` comes last. Returns the files of unfinished writes.
fn create_logs(dataset: &DatasetLocation) -> Result<Vec<String>, WriteError> {
    let mut unfinished = Vec::new();
    let tables = schemas().into_iter().filter(|table| !table.partitions.is_empty());
    let (recordings, others): (Vec<_>, Vec<_>) =
        tables.map(|table| table.name).partition(|&name| name == Recordings::NAME);
    for table in others.into_iter().chain(recordings) {
        unfinished.extend(DeltaLog::new(dataset, table).bring_up_to_date()?);
    }
    Ok(unfinished)
}

fn write_refused(dataset: &DatasetLocation, path: &str, error: ParquetError) -> WriteError {
    match dataset.refused(path, io_error(error)) {
        WriteError::Io { destination, source } => write_error(destination, source),
        other => other,
    }
}

/// Returns the tables of a dataset, the longest first.
fn sinks(opening: &Arc<Opening>) -> Vec<Box<dyn TableSink>> {
    vec![
        part_table::<Zones>(opening, Part::Lane),
        part_table::<Markers>(opening, Part::Lane),
        Sink::boxed(opening, BY_CHIP, memory_rows::add),
        Sink::boxed(opening, BY_CHIP, add_chips::<NocEvents>),
        part_table::<Waits>(opening, Part::Lane),
        part_table::<Ops>(opening, Part::Ops),
        part_table::<WaitSums>(opening, Part::Lane),
        part_table::<Counters>(opening, Part::Lane),
        part_table::<ProfilerTime>(opening, Part::Lane),
        Sink::boxed(opening, BY_RECORDING, add_losses),
        Sink::boxed(opening, BY_RECORDING, add_host::<HostZones>),
        Sink::boxed(opening, BY_RECORDING, add_host::<HostEvents>),
        Sink::boxed(opening, BY_RECORDING, add_host::<Buffers>),
        Sink::boxed(opening, BY_RECORDING, add_host::<OpBuffers>),
        Sink::boxed(opening, BY_RECORDING, report_cells::add),
        Sink::boxed(opening, BY_RECORDING, recording_row::add),
    ]
}

/// Sort order for tables whose rows are not sorted by chip.
const BY_RECORDING: &[&str] = &["host", "recording"];

/// Function that adds the rows of a recording to a table.
type AddRows<T> = fn(&mut TableFiles<T>, &AddedRecording<'_, '_>) -> Result<(), WriteError>;

/// Function that adds rows to a table, for a part of a chip's ops or for a part of a lane.
type AddPart<T> = fn(&mut TableFiles<T>, DeviceRows<'_, '_>) -> Result<(), WriteError>;

/// Files of a table, and the functions that add rows to the files.
struct Sink<T: Table> {
    files: TableFiles<T>,
    add: AddRows<T>,
    /// Kind of item that is added in parts, with the function that adds its rows; [`None`] if the
    /// table has rows for neither ops nor records of lanes.
    add_part: Option<(Part, AddPart<T>)>,
}

impl<T: Table> Sink<T> {
    /// Creates the sink of a table. The rows of one recording must be added in the order of the
    /// columns `sorted_by`.
    fn boxed(
        opening: &Arc<Opening>,
        sorted_by: &'static [&'static str],
        add: AddRows<T>,
    ) -> Box<dyn TableSink> {
        Box::new(Self { files: TableFiles::new(opening, sorted_by), add, add_part: None })
    }
}

impl<T: Table> TableSink for Sink<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn add(&mut self, recording: &AddedRecording<'_, '_>) -> Result<(), WriteError> {
        (self.add)(&mut self.files, recording)
    }

    fn add_part(&mut self, part: Part, rows: DeviceRows<'_, '_>) -> Result<(), WriteError> {
        match self.add_part {
            Some((own, add)) if own == part => add(&mut self.files, rows),
            _ => Ok(()),
        }
    }

    fn finish(self: Box<Self>) -> Result<Written, WriteError> {
        self.files.finish()
    }
}

/// Sort order for tables with rows for each chip.
const BY_CHIP: &[&str] = &["host", "recording", "chip_id"];

/// Creates a table with rows for items that are added in parts.
fn part_table<T: DeviceTable>(opening: &Arc<Opening>, part: Part) -> Box<dyn TableSink> {
    let files = TableFiles::new(opening, BY_CHIP);
    let add_part: AddPart<T> = |files, rows| T::for_each_row(rows, |row| files.add(row));
    Box::new(Sink { files, add: add_chips::<T>, add_part: Some((part, add_part)) })
}

fn add_chips<T: DeviceTable>(
    files: &mut TableFiles<T>,
    &AddedRecording { key, trace, .. }: &AddedRecording<'_, '_>,
) -> Result<(), WriteError> {
    trace.devices.iter().try_for_each(|device| {
        let rows = DeviceRows { trace, device, first_op: 0, recording: key };
        T::for_each_row(rows, |row| files.add(row))
    })
}

/// Adds the losses of a recording. Losses of chips without records come last.
fn add_losses(
    files: &mut TableFiles<Losses>,
    recording: &AddedRecording<'_, '_>,
) -> Result<(), WriteError> {
    add_chips(files, recording)?;
    let AddedRecording { key, trace, .. } = *recording;
    trace.unplaced_losses.iter().try_for_each(|&(loss, totals)| {
        files.add(&LossRow { key: loss, totals, recording: key, time_ns: None })
    })
}

fn add_host<T: HostTable>(
    files: &mut TableFiles<T>,
    &AddedRecording { key, trace, .. }: &AddedRecording<'_, '_>,
) -> Result<(), WriteError> {
    let rows = HostRows { host: &trace.host, peaks: &trace.buffers, recording: key };
    T::for_each_row(rows, |row| files.add(row))
}

impl DatasetCounts {
    fn add(&mut self, table: &str, written: &Written) {
        self.files += written.files.len() as u64;
        let count = match table {
            Zones::NAME => &mut self.zones,
            Markers::NAME => &mut self.markers,
            Ops::NAME => &mut self.ops,
            Losses::NAME => &mut self.losses,
            HostZones::NAME => &mut self.host_zones,
            HostEvents::NAME => &mut self.host_events,
            Counters::NAME => &mut self.counters,
            NocEvents::NAME => &mut self.noc_events,
            Waits::NAME => &mut self.waits,
            WaitSums::NAME => &mut self.wait_sums,
            ProfilerTime::NAME => &mut self.profiler_time,
            Buffers::NAME => &mut self.buffers,
            OpBuffers::NAME => &mut self.op_buffers,
            Memory::NAME => &mut self.memory,
            // The rows of all other tables are not counted in [`DatasetCounts`].
            _ => return,
        };
        *count += written.row_count;
    }
}

/// Returns the error of the underlying stream if there is one, otherwise wraps the Parquet error.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => *source,
            Err(source) => io::Error::other(source),
        },
        other => io::Error::other(other),
    }
}
