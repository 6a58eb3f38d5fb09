//! Exports: one model of what was recorded, and what every format needs to be written safely.
//!
//! | question | item |
//! |---|---|
//! | what does every exporter walk? | [`Trace`], made by [`Trace::new`] from a [`Recording`] |
//! | which part of it is wanted? | [`TraceFilter`] |
//! | which formats of one file are there? | [`ExportFormat`] |
//! | how does a Tracy viewer get it, as a file or live? | [`tracy`] |
//! | where do SQL engines find many recordings as one? | `ParquetDataset`, with the feature `parquet` |
//! | how does a file get its name only once it is whole? | [`write_atomically`] |
//!
//! The model is built once: lanes are paired, brought onto one clock per chip, put in
//! time order and nested properly, names are numbered densely. What had to be changed for
//! that is counted in the model, as are losses, anomalies and what a filter hides.
//! Formats are the business of the modules beside it.

#![forbid(unsafe_code)]

mod chrome;
mod counters;
mod destination;
mod flow;
mod folded;
mod format;
mod hardware_counters;
mod host_names;
mod html;
mod json_event;
mod lane_writer;
mod op_causes;
#[cfg(feature = "parquet")]
mod parquet;
mod perfetto;
mod point_words;
mod speedscope;
mod stacks;
#[cfg(test)]
mod tests;
mod trace;
pub mod tracy;
mod words;

#[cfg(feature = "parquet")]
pub use self::parquet::{
    AddedRecording, CompactCounts, CompactError, DatasetCounts, DatasetLabels, DeviceRows,
    DeviceTable, EmptyName, HostRows, HostTable, MachineClock, ParquetDataset, RecordingSummary,
    SummaryError, SummaryOp, compact, is_dataset, read_ops, read_recordings,
};
pub use destination::{CancelFlag, Destination, WriteError, write_atomically};
pub use format::{ExportFormat, UnknownFormat};
pub use html::write_ops_page;
pub use lane_writer::OnLanes;
pub use perfetto::{CommonTime, MergedTrace};
pub use recording::{DeviceClock, FilterError, HiddenLaunches, Recording, TraceFilter};
pub use trace::{
    ComparedItem, HiddenCounts, NameId, PointCategory, Trace, TraceComparison, TraceDevice,
    TraceHost, TraceHostMark, TraceHostPlot, TraceHostThread, TraceLane, TraceLoss, TraceName,
    TraceNames, TraceNoc, TraceOp, TracePoint, TracePoints, TraceRun, TraceZone, TraceZones,
    ZoneEdge, ZoneTexts,
};
