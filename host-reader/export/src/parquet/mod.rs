//! Parquet: zones, markers, ops, losses, counters, NoC events and waits, and what the host did, as one
//! dataset of many recordings.
//!
//! ```text
//! dataset/zones/host=node-3/device=0/matmul.parquet
//! dataset/markers/host=node-3/device=0/matmul.parquet
//! dataset/ops/host=node-3/device=0/matmul.parquet
//! dataset/losses/host=node-3/device=0/matmul.parquet
//! dataset/counters/host=node-3/device=0/matmul.parquet
//! dataset/noc_events/host=node-3/device=0/matmul.parquet
//! dataset/waits/host=node-3/device=0/matmul.parquet
//! dataset/wait_sums/host=node-3/device=0/matmul.parquet
//! dataset/profiler_time/host=node-3/device=0/matmul.parquet
//! dataset/host_zones/host=node-3/matmul.parquet
//! dataset/host_events/host=node-3/matmul.parquet
//! dataset/buffers/host=node-3/matmul.parquet
//! dataset/op_buffers/host=node-3/matmul.parquet
//! ```
//!
//! Folders are named as Hive does it, so that DuckDB, DataFusion, Spark and Ray read all
//! recordings of a fleet as 13 tables with the columns `host` and `device`, and open
//! only the files that a query needs. [`DATASET_TABLES`] says what the other columns are; ops are
//! joined to zones and markers by host, device, `recording` and `op`.
//!
//! Everything that is to be known before the rows are trusted is kept beside them, as
//! key-value metadata of each file: `kprof.doubts` counts losses, anomalies, repairs and
//! what a filter hid, over the whole recording; `kprof.clock` describes the device's clock.

mod folders;
mod host_rows;
mod rows;
mod schema;
mod sync_rows;
mod tables;
#[cfg(test)]
mod tests;
mod words;

pub use rows::{Cells, ColumnCells, TableRows};
pub use schema::{ColumnKind, ColumnSchema, DATASET_TABLES, TableKind, TableSchema};

use super::{
    CancelFlag, Destination, Trace, TraceDevice, WriteError,
    destination::{PreparedFile, prepare_file},
};
use folders::{NewFolders, escaped};
use host_rows::{HostRows, write_op_buffers};
use parquet::{errors::ParquetError, file::metadata::KeyValue};
use rayon::prelude::*;
use rows::{RowSink, TableWriter};
use std::{
    collections::BTreeSet,
    io::{self, Write},
    path::{Path, PathBuf},
};
use tables::{DeviceRows, LossRow};
use words::Words;

/// Where the files of one recording go in a dataset of many.
///
/// ```
/// use recording::device_log::read_device_log;
/// use export::*;
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,7,100,0,1024,BRISC-KERNEL,ZONE_START
/// 0,1,2,BRISC,7,160,0,1024,BRISC-KERNEL,ZONE_END
/// ";
/// let readout = read_device_log(log.as_bytes(), "my log")?;
/// let recording = Recording::of_readout(readout);
/// let trace = Trace::new(&recording, &TraceFilter::default());
/// let folder = tempfile::tempdir()?;
/// let dataset = ParquetDataset::new(folder.path(), "node-3", "matmul")?;
/// let written = dataset.write(&trace, &CancelFlag::default(), &mut |_| ())?;
/// assert_eq!((written.zones, written.ops, written.files), (1, 1, 13));
/// assert!(folder.path().join("zones/host=node-3/device=0/matmul.parquet").is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParquetDataset {
    folder: PathBuf,
    host: String,
    recording: String,
    clock_of_host: Option<String>,
}

/// A name that files of a dataset cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the name of a {what}, found an empty text")]
pub struct EmptyName {
    what: &'static str,
}

/// Numbers of files and rows written for one recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct DatasetCounts {
    /// Files.
    pub files: u64,
    /// Files that replaced an existing file.
    pub replaced_files: u64,
    /// Rows of `zones`.
    pub zones: u64,
    /// Rows of `markers`.
    pub markers: u64,
    /// Rows of `ops`.
    pub ops: u64,
    /// Rows of `losses`.
    pub losses: u64,
    /// Rows of `host_zones`.
    pub host_zones: u64,
    /// Rows of `host_events`.
    pub host_events: u64,
    /// Rows of `counters`.
    pub counters: u64,
    /// Rows of `noc_events`.
    pub noc_events: u64,
    /// Rows of `waits`.
    pub waits: u64,
    /// Rows of `wait_sums`.
    pub wait_sums: u64,
    /// Rows of `profiler_time`.
    pub profiler_time: u64,
    /// Rows of `buffers`.
    pub buffers: u64,
    /// Rows of `op_buffers`.
    pub op_buffers: u64,
}

/// One file that is to be written.
#[derive(Clone, Copy)]
struct Part<'t, 'a> {
    table: &'static TableSchema,
    subject: Subject<'t, 'a>,
}

/// Source of a file's rows.
#[derive(Clone, Copy)]
enum Subject<'t, 'a> {
    Device(&'t TraceDevice<'a>),
    /// The chip with this number, which has nothing but losses.
    LostChip(u32),
    Host,
}

impl ParquetDataset {
    /// The files of a recording of a host; the same recording again replaces them.
    ///
    /// # Errors
    /// If a name is empty.
    pub fn new(folder: &Path, host: &str, recording: &str) -> Result<Self, EmptyName> {
        for (what, name) in [("host", host), ("recording", recording)] {
            if name.is_empty() {
                return Err(EmptyName { what });
            }
        }
        let (host, recording) = (host.to_owned(), recording.to_owned());
        Ok(Self { folder: folder.to_owned(), host, recording, clock_of_host: None })
    }

    /// Adds to the metadata of each file how the host's clock is related to those of others.
    #[must_use]
    pub fn with_clock_of_host(mut self, relation: &str) -> Self {
        self.clock_of_host = Some(relation.to_owned());
        self
    }

    /// How many files [`ParquetDataset::write`] writes of a trace.
    #[must_use]
    pub fn file_count(trace: &Trace<'_>) -> usize {
        parts_of(trace).len()
    }

    /// Writes nine files for each device and four of the host; `on_files` learns how many
    /// are done.
    ///
    /// All files are written under other names first, and get theirs once all are whole.
    ///
    /// # Errors
    /// If a folder or file cannot be written, or the writing is called off. Nothing is left
    /// then, unless the system refuses to rename a file that it has just written.
    ///
    /// # Cost
    /// Files are written many at a time; memory is bounded by a row group for each.
    pub fn write(
        &self,
        trace: &Trace<'_>,
        cancel: &CancelFlag,
        on_files: &mut dyn FnMut(usize),
    ) -> Result<DatasetCounts, WriteError> {
        let words = Words::new(&self.recording, &trace.names);
        let mut folders = NewFolders::default();
        let parts = parts_of(trace);
        for part in &parts {
            let folder = self.folder_of(part);
            folders.make(&folder).map_err(|source| refused(&folder, source))?;
        }
        let write = |part: &Part<'_, '_>| self.prepare(trace, &words, part, cancel);
        let mut prepared = Vec::with_capacity(parts.len());
        for some in parts.chunks(rayon::current_num_threads().max(DATASET_TABLES.len())) {
            prepared.extend(some.par_iter().map(write).collect::<Result<Vec<_>, _>>()?);
            on_files(prepared.len());
        }
        let mut counts = DatasetCounts::default();
        folders.keep();
        for (part, (file, row_count)) in parts.iter().zip(prepared) {
            counts.replaced_files += u64::from(self.path_of(part).exists());
            file.publish()?;
            counts.add(part.table, row_count);
        }
        Ok(counts)
    }

    fn folder_of(&self, part: &Part<'_, '_>) -> PathBuf {
        let host = format!("host={}", escaped(&self.host));
        let of_host = self.folder.join(part.table.name).join(host);
        match part.subject.chip_id() {
            Some(chip_id) => of_host.join(format!("device={chip_id}")),
            None => of_host,
        }
    }

    fn path_of(&self, part: &Part<'_, '_>) -> PathBuf {
        self.folder_of(part).join(format!("{}.parquet", escaped(&self.recording)))
    }

    fn prepare(
        &self,
        trace: &Trace<'_>,
        words: &Words,
        part: &Part<'_, '_>,
        cancel: &CancelFlag,
    ) -> Result<(PreparedFile, u64), WriteError> {
        prepare_file(&self.path_of(part), cancel, |out| {
            let clock_of_host = self.clock_of_host.as_deref();
            part.write(trace, words, clock_of_host, out).map_err(io_error)
        })
    }
}

fn refused(path: &Path, source: io::Error) -> WriteError {
    WriteError::Io { destination: Destination::File(path.to_owned()), source }
}

/// The files of a trace, the longest first.
fn parts_of<'t, 'a>(trace: &'t Trace<'a>) -> Vec<Part<'t, 'a>> {
    let mut parts = Vec::new();
    for table in &DATASET_TABLES {
        if table.is_of_host() {
            parts.push(Part { table, subject: Subject::Host });
        } else {
            let subjects = trace.devices.iter().map(Subject::Device);
            parts.extend(subjects.map(|subject| Part { table, subject }));
        }
    }
    let known: BTreeSet<u32> = trace.devices.iter().map(|device| device.chip.chip_id).collect();
    let lost: BTreeSet<u32> =
        trace.unplaced_losses.iter().map(|(key, _)| key.lane.chip_id).collect();
    let of_losses =
        |&chip_id: &u32| Part { table: &schema::LOSSES, subject: Subject::LostChip(chip_id) };
    parts.extend(lost.difference(&known).map(of_losses));
    parts
}

impl Subject<'_, '_> {
    const fn chip_id(&self) -> Option<u32> {
        match self {
            Self::Device(device) => Some(device.chip.chip_id),
            Self::LostChip(chip_id) => Some(*chip_id),
            Self::Host => None,
        }
    }
}

impl<'a> Part<'_, 'a> {
    fn write(
        &self,
        trace: &Trace<'a>,
        words: &Words,
        clock_of_host: Option<&str>,
        out: &mut (dyn Write + Send),
    ) -> Result<u64, ParquetError> {
        let mut facts = self.facts(trace);
        facts.extend(
            clock_of_host.map(|relation| {
                KeyValue::new("kprof.clock_of_host".to_owned(), relation.to_owned())
            }),
        );
        let mut table = TableWriter::new(out, self.table, facts)?;
        match self.subject {
            Subject::Device(device) => {
                let rows = DeviceRows { trace, device, words };
                match self.table.kind {
                    TableKind::Zones => rows.write_zones(&mut table)?,
                    TableKind::Markers => rows.write_markers(&mut table)?,
                    TableKind::Ops => rows.write_ops(&mut table)?,
                    TableKind::NocEvents => rows.write_noc_events(&mut table)?,
                    TableKind::Counters => rows.write_counters(&mut table)?,
                    TableKind::Waits => rows.write_waits(&mut table)?,
                    TableKind::WaitSums => rows.write_wait_sums(&mut table)?,
                    TableKind::ProfilerTime => rows.write_profiler_time(&mut table)?,
                    _ => rows.write_losses(&mut table)?,
                }
            }
            Subject::LostChip(chip_id) => write_unplaced(chip_id, trace, words, &mut table)?,
            Subject::Host => {
                let rows = HostRows::new(&trace.host, &words.recording);
                match self.table.kind {
                    TableKind::HostZones => rows.write_zones(&mut table)?,
                    TableKind::Buffers => rows.write_buffers(&mut table)?,
                    TableKind::OpBuffers => {
                        write_op_buffers(&trace.buffers, &words.recording, &mut table)?;
                    }
                    _ => rows.write_events(&mut table)?,
                }
            }
        }
        table.finish()
    }
    /// Returns the key-value metadata of the file.
    fn facts(&self, trace: &Trace<'_>) -> Vec<KeyValue> {
        let doubts: serde_json::Map<_, _> =
            trace.doubts().into_iter().map(|(key, count)| (key, count.into())).collect();
        let mut facts = vec![
            KeyValue::new("kprof.schema".to_owned(), "1".to_owned()),
            KeyValue::new("kprof.doubts".to_owned(), serde_json::Value::Object(doubts).to_string()),
        ];
        facts.extend(
            self.clock(trace)
                .map(|clock| KeyValue::new("kprof.clock".to_owned(), clock.to_string())),
        );
        facts
    }

    fn clock(&self, trace: &Trace<'_>) -> Option<serde_json::Value> {
        match self.subject {
            Subject::Device(device) => Some(serde_json::json!({
                "arch": device.chip.arch,
                "frequency_ghz": device.clock.frequency_ghz(),
                "is_host_time": device.clock.is_host_time(),
                "bound_ns": device.clock.bound_ns(),
                "first_cycle": device.clock.first_cycle(),
                "origin_host_ns": trace.origin_host_ns,
            })),
            Subject::Host => Some(serde_json::json!({
                "is_on_clock_of_chips": trace.host.is_on_clock_of_chips,
                "origin_host_ns": trace.host.origin_ns,
            })),
            Subject::LostChip(_) => None,
        }
    }
}

/// Losses of a chip of which there is nothing else.
fn write_unplaced(
    chip_id: u32,
    trace: &Trace<'_>,
    words: &Words,
    table: &mut TableWriter<impl Write + Send>,
) -> Result<(), ParquetError> {
    for (key, totals) in &trace.unplaced_losses {
        if key.lane.chip_id == chip_id {
            let cause = key.cause.label();
            let loss = LossRow { lane: key.lane, cause, program: key.program };
            table.row(|row| loss.fill(row, words, totals, None))?;
        }
    }
    Ok(())
}

impl DatasetCounts {
    fn add(&mut self, table: &TableSchema, row_count: u64) {
        self.files += 1;
        *match table.kind {
            TableKind::Zones => &mut self.zones,
            TableKind::Markers => &mut self.markers,
            TableKind::Ops => &mut self.ops,
            TableKind::Losses => &mut self.losses,
            TableKind::HostZones => &mut self.host_zones,
            TableKind::HostEvents => &mut self.host_events,
            TableKind::Counters => &mut self.counters,
            TableKind::NocEvents => &mut self.noc_events,
            TableKind::Waits => &mut self.waits,
            TableKind::WaitSums => &mut self.wait_sums,
            TableKind::ProfilerTime => &mut self.profiler_time,
            TableKind::Buffers => &mut self.buffers,
            TableKind::OpBuffers => &mut self.op_buffers,
        } += row_count;
    }
}

/// The error of the stream, if that is what is behind it.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => *source,
            Err(source) => io::Error::other(source),
        },
        other => io::Error::other(other),
    }
}
