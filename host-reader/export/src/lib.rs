//! Exports: one model of a recording, and safe writing for all formats.
//!
//! | question | item |
//! |---|---|
//! | which model do all formats share? | [`Trace`], made by [`Trace::new`] from a [`Recording`] |
//! | how is the model filtered? | [`TraceFilter`] |
//! | which formats write a single file? | [`ExportFormat`] |
//! | how does a Tracy viewer get a trace, as a file or live? | [`tracy`] |
//! | how do SQL engines query many recordings as one? | `ParquetDataset`, with the feature `parquet` |
//! | how is a file written either completely or not at all? | [`write_atomically`] |
//!
//! The model is built once: start and end records are paired into zones, times are converted to one
//! clock per chip, zones are sorted by time and properly nested, and names are numbered without
//! gaps. The model counts the corrections that were necessary, and also losses, anomalies and
//! filtered items. Each format has its own module.

#![forbid(unsafe_code)]

#[cfg(test)]
mod call_tests;
mod called_ops;
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
mod module_spans;
#[cfg(feature = "object-store")]
mod object;
mod op_causes;
#[cfg(feature = "parquet")]
mod parquet;
mod perfetto;
mod point_words;
mod stacks;
#[cfg(test)]
mod tests;
mod time_order;
mod trace;
pub mod tracy;
mod words;
#[cfg(test)]
mod zone_agreement;

#[cfg(feature = "parquet")]
pub use self::parquet::{
    AddedRecording, CompactCounts, CompactError, DatasetCounts, DatasetLabels, DatasetLocation,
    DeltaLogs, DeviceRows, DeviceTable, EmptyName, HostRows, HostTable, LocationError,
    MachineClock, OpMemory, ParquetDataset, RecordingSummary, SummaryError, SummaryOp, compact,
    is_dataset, read_ops, read_recordings,
};
pub use destination::{CancelFlag, Destination, WriteError, write_atomically};
pub use format::{ExportFormat, UnknownFormat};
pub use html::write_ops_page;
pub use lane_writer::OnLanes;
#[cfg(feature = "object-store")]
pub use object::ObjectPlace;
pub use perfetto::{CommonTime, MergedTrace};
pub use recording::{DeviceClock, FilterError, HiddenLaunches, Recording, TraceFilter};
pub use trace::{
    HiddenCounts, LanePart, NameId, PackedCounts, PackedTrace, PointCategory, ProgramSource,
    SourceLine, Trace, TraceComparison, TraceDevice, TraceHost, TraceHostMark, TraceHostPlot,
    TraceHostThread, TraceItems, TraceLane, TraceLoss, TraceMemory, TraceName, TraceNames,
    TraceNoc, TraceOp, TracePlotPoint, TracePoint, TraceRun, TraceZone, TraceZones, ZoneEdge,
    ZoneTexts, op_label,
};
pub use words::doubt_text;
