//! Parquet: zones, markers, ops, losses, counters, NoC events and waits, and what the host did, as one
//! dataset of many recordings.
//!
//! ```text
//! dataset/zones/host=node-3/chip_id=0/matmul.parquet
//! dataset/ops/host=node-3/chip_id=0/matmul.parquet
//! dataset/host_zones/host=node-3/matmul.parquet
//! ```
//!
//! Folders are named as Hive does it, so that DuckDB, DataFusion, Spark and Ray read all
//! recordings of a fleet as 13 tables with the columns `host` and `chip_id`, and open
//! only the files that a query needs. The crate `tables` says what the other columns are; ops are
//! joined to zones and markers by host, chip, `recording` and `op`.
//!
//! Everything that is to be known before the rows are trusted is kept beside them, as
//! key-value metadata of each file: `kprof.doubts` counts losses, anomalies, repairs and
//! what a filter hid, over the whole recording; `kprof.clock` describes the device's clock.

mod device_rows;
mod folders;
mod host_rows;
mod rows;
mod sync_rows;
#[cfg(test)]
mod tests;

pub use device_rows::{DeviceRows, DeviceTable};
pub use host_rows::{HostRows, HostTable};

use super::{
    CancelFlag, Destination, Trace, TraceDevice, WriteError,
    destination::{PreparedFile, prepare_file},
};
use ::tables::{
    Buffers, Counters, HostEvents, HostZones, LossRow, Losses, Markers, NocEvents, OpBuffers, Ops,
    ProfilerTime, Table, WaitSums, Waits, Zones,
};
use folders::{NewFolders, escaped};
use parquet::{errors::ParquetError, file::metadata::KeyValue};
use rayon::prelude::*;
use rows::TableWriter;
use std::{
    collections::BTreeSet,
    io::{self, Write},
    path::{Path, PathBuf},
};

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
/// assert!(folder.path().join("zones/host=node-3/chip_id=0/matmul.parquet").is_file());
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
    table: &'static str,
    subject: Subject<'t, 'a>,
    write: WritePart,
}

/// Writes the rows of a part, and returns how many there are.
type WritePart = fn(
    &Part<'_, '_>,
    &Trace<'_>,
    &str,
    Vec<KeyValue>,
    &mut (dyn Write + Send),
) -> Result<u64, ParquetError>;

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
        let mut folders = NewFolders::default();
        let parts = parts_of(trace);
        for part in &parts {
            let folder = self.folder_of(part);
            folders.make(&folder).map_err(|source| refused(&folder, source))?;
        }
        let write = |part: &Part<'_, '_>| self.prepare(trace, part, cancel);
        let mut prepared = Vec::with_capacity(parts.len());
        for some in parts.chunks(rayon::current_num_threads().max(TABLE_COUNT)) {
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
        let of_host = self.folder.join(part.table).join(host);
        match part.subject.chip_id() {
            Some(chip_id) => of_host.join(format!("chip_id={chip_id}")),
            None => of_host,
        }
    }

    fn path_of(&self, part: &Part<'_, '_>) -> PathBuf {
        self.folder_of(part).join(format!("{}.parquet", escaped(&self.recording)))
    }

    fn prepare(
        &self,
        trace: &Trace<'_>,
        part: &Part<'_, '_>,
        cancel: &CancelFlag,
    ) -> Result<(PreparedFile, u64), WriteError> {
        prepare_file(&self.path_of(part), cancel, |out| {
            let mut facts = part.facts(trace);
            facts.extend(
                self.clock_of_host.as_ref().map(|relation| {
                    KeyValue::new("kprof.clock_of_host".to_owned(), relation.clone())
                }),
            );
            (part.write)(part, trace, &self.recording, facts, out).map_err(io_error)
        })
    }
}

fn refused(path: &Path, source: io::Error) -> WriteError {
    WriteError::Io { destination: Destination::File(path.to_owned()), source }
}

/// Tables of a dataset.
const TABLE_COUNT: usize = 13;

/// The files of a trace, the longest first.
fn parts_of<'t, 'a>(trace: &'t Trace<'a>) -> Vec<Part<'t, 'a>> {
    let of_devices = [
        Part::of_devices::<Zones>,
        Part::of_devices::<Markers>,
        Part::of_devices::<Ops>,
        Part::of_devices::<Losses>,
        Part::of_devices::<Counters>,
        Part::of_devices::<NocEvents>,
        Part::of_devices::<Waits>,
        Part::of_devices::<WaitSums>,
        Part::of_devices::<ProfilerTime>,
    ];
    let mut parts: Vec<_> = of_devices.iter().flat_map(|of| of(trace)).collect();
    parts.extend([
        Part::of_host::<HostZones>(),
        Part::of_host::<HostEvents>(),
        Part::of_host::<Buffers>(),
        Part::of_host::<OpBuffers>(),
    ]);
    let known: BTreeSet<u32> = trace.devices.iter().map(|device| device.chip.chip_id).collect();
    let lost: BTreeSet<u32> =
        trace.unplaced_losses.iter().map(|(key, _)| key.lane.chip_id).collect();
    parts.extend(lost.difference(&known).map(|&chip_id| Part {
        table: Losses::NAME,
        subject: Subject::LostChip(chip_id),
        write: write_unplaced,
    }));
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

impl<'t, 'a> Part<'t, 'a> {
    fn of_devices<T: DeviceTable>(trace: &'t Trace<'a>) -> Vec<Self> {
        let subjects = trace.devices.iter().map(Subject::Device);
        subjects.map(|subject| Self { table: T::NAME, subject, write: write_device::<T> }).collect()
    }

    const fn of_host<T: HostTable>() -> Self {
        Self { table: T::NAME, subject: Subject::Host, write: write_host::<T> }
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

fn write_device<T: DeviceTable>(
    part: &Part<'_, '_>,
    trace: &Trace<'_>,
    recording: &str,
    facts: Vec<KeyValue>,
    out: &mut (dyn Write + Send),
) -> Result<u64, ParquetError> {
    let mut table = TableWriter::<T, _>::new(out, facts)?;
    if let Subject::Device(device) = part.subject {
        T::for_each_row(DeviceRows { trace, device, recording }, |row| table.add(row))?;
    }
    table.finish()
}

fn write_host<T: HostTable>(
    _: &Part<'_, '_>,
    trace: &Trace<'_>,
    recording: &str,
    facts: Vec<KeyValue>,
    out: &mut (dyn Write + Send),
) -> Result<u64, ParquetError> {
    let mut table = TableWriter::<T, _>::new(out, facts)?;
    let rows = HostRows { host: &trace.host, peaks: &trace.buffers, recording };
    T::for_each_row(rows, |row| table.add(row))?;
    table.finish()
}

/// Writes the losses of a chip that has no records.
fn write_unplaced(
    part: &Part<'_, '_>,
    trace: &Trace<'_>,
    recording: &str,
    facts: Vec<KeyValue>,
    out: &mut (dyn Write + Send),
) -> Result<u64, ParquetError> {
    let mut table = TableWriter::<Losses, _>::new(out, facts)?;
    for &(key, totals) in &trace.unplaced_losses {
        if Some(key.lane.chip_id) == part.subject.chip_id() {
            table.add(&LossRow { key, totals, recording, time_ns: None })?;
        }
    }
    table.finish()
}

impl DatasetCounts {
    fn add(&mut self, table: &str, row_count: u64) {
        self.files += 1;
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
            _ => &mut self.op_buffers,
        };
        *count += row_count;
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
