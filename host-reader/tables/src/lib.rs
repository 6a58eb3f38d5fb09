//! The schema of all outputs. Each table is declared once, with the name, unit, meaning and value
//! of each column, and the meaning of null.
//!
//! The terminal, JSON, Parquet, Arrow in Python, the C interface, the MCP server and the HTML page
//! read the same [`Table`]. A column that is added here therefore appears in all of these outputs.
//!
//! ```
//! use analysis::Op;
//! use host_events::OpTexts;
//! use tables::{OpRow, Ops, Table, Value};
//! let op = Op { core_count: 4, ..Op::default() };
//! let row = OpRow::new(&op, OpTexts::default());
//! let column = Ops::column("core_count").unwrap();
//! assert_eq!(column.value(&row), Value::Unsigned64(4));
//! assert_eq!(column.schema.unit(), None);
//! ```

#![forbid(unsafe_code)]

mod column;
#[cfg(feature = "csv")]
mod csv_file;
mod dataset;
mod lines;
mod losses;
mod memory;
mod objects;
mod ops;
mod rows;
mod schema;
mod standing;
mod statistics;
mod zone_statistics;

pub use column::{Column, Value};
#[cfg(feature = "csv")]
pub use csv_file::{CsvCells, CsvFile, CsvFileError, CsvReader, write_csv};
pub use dataset::{
    BufferRow, Buffers, CounterRow, Counters, HostEventRow, HostEvents, HostZoneRow, HostZones,
    LanePlace, MarkerRow, Markers, NocEventRow, NocEvents, OpBufferRow, OpBuffers, OpsReportCell,
    OpsReportCells, ProfilerTime, ProfilerTimeRow, RecordingRow, Recordings, WaitRow, WaitSumRow,
    WaitSums, Waits, ZoneRow, Zones,
};
pub use lines::{LineRow, LineSamples, Lines, NORMAL_QUANTILE, REASONS, SampleShare};
pub use losses::{LossGroups, LossRow, Losses};
pub use memory::{Memory, MemoryRow};
pub use objects::{Arrays, Field, Object, Objects};
pub use ops::{OpObjects, OpPlace, OpRow, Ops, op_rows};
pub use rows::{Columns, Rows};
pub use schema::{ColumnKind, ColumnSchema, Scope, TableSchema, schemas};
pub use standing::{Standing, StandingRow};
pub use statistics::{SumStatisticsTable, WaitStatisticsTable};
pub use zone_statistics::ZoneStatisticsTable;

const HOST: &str = "host that made the recording";
const RECORDING: &str = "name of the capture or log";
const CHIP_ID: &str = "number of the chip";
const CORE_X: &str = "NoC-0 x of the core";
const CORE_Y: &str = "NoC-0 y of the core";
const RISC: &str = "BRISC, NCRISC, TRISC_0 to TRISC_2, ERISC";
const RUN_HOST_ID: &str = "id of the program, with the chip encoded in it";
const FILE: &str = "source file";
const LINE: &str = "source line";
const START_NS: &str = "start, relative to the recording's first record";
const START_HOST_NS: &str = "start on the host's clock";
const NO_HOST_CLOCK: &str = "the chip was not synchronised with the host";
const UNKNOWN: &str = "unknown";
const WAIT_KIND: &str = "CB_WAIT, CB_RESERVE, SEM_WAIT, NOC_READ_BARRIER, NOC_WRITE_BARRIER, \
                         NOC_ATOMIC_BARRIER, NOC_FULL_BARRIER or NOC_WRITE_FLUSH";
const WAIT_KEY: &str = "number of the circular buffer or NoC, or L1 address of the semaphore";

/// Columns that a Parquet dataset stores as folders: the day on which a row's recording began, and
/// the name of its fleet run. A fleet run groups the recordings of several hosts.
pub const DATASET_FOLDERS: &[&str] = &["date", "run"];

/// A recording and the host that made it. The fields of this key are the first columns of each
/// dataset table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordingKey<'a> {
    /// Name of the host; empty outside of a dataset.
    pub host: &'a str,
    /// Name of the capture or log.
    pub recording: &'a str,
}

/// One table of the schema.
pub trait Table: Sized + 'static {
    /// A row, from which columns read their values.
    type Row<'a>;
    /// Name of the table and of its folder in a Parquet dataset.
    const NAME: &'static str;
    /// Meaning of one row.
    const ROW: &'static str;
    /// Columns that a Parquet dataset stores as folders, outermost first, in addition to
    /// [`Table::COLUMNS`].
    ///
    /// The value is [`DATASET_FOLDERS`], or an empty list for a table that is not part of a
    /// dataset.
    const PARTITIONS: &'static [&'static str];
    /// Columns, in the order in which outputs show them.
    const COLUMNS: &'static [Column<Self>];

    /// Finds a column by its name.
    #[must_use]
    fn column(name: &str) -> Option<&'static Column<Self>> {
        Self::COLUMNS.iter().find(|column| column.schema.name == name)
    }

    /// Returns all columns except those that only datasets have.
    fn report_columns() -> impl Iterator<Item = &'static Column<Self>> {
        Self::COLUMNS.iter().filter(|column| column.schema.scope != Scope::Dataset)
    }

    /// Returns the columns for the two narrow outputs: the terminal, and the answers of the MCP
    /// server.
    fn summary_columns() -> impl Iterator<Item = &'static Column<Self>> {
        Self::COLUMNS.iter().filter(|column| column.schema.scope == Scope::Summary)
    }
}
