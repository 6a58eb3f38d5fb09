//! Reports known to tt-metal users: the device perf report and the ops report.
//!
//! | question | item |
//! |---|---|
//! | how is a folder of logs, a device log or a readout reported? | [`OpsReport`] |
//! | how many bytes did buffers hold? | [`BufferPeaks`] |
//! | which files of the host do TT-Metal's own scripts read? | [`HostFiles`] |
//! | which durations did programs have in the latest read? | [`ProgramsPerfData`] |
//! | which durations does the device perf report contain? | [`ProgramAnalyses`] |
//! | what was missing or wrong in the inputs? | [`ProblemLog`] |
//!
//! The ops report joins the host's ops with the device's records. The figures come from
//! [`analysis`]. This module does not pair or measure records, and writes no files.
//!
#![doc = include_str!("mistakes.md")]

mod available_cores;
mod buffer_peaks;
mod counters;
mod csv_line;
mod device_analyses;
mod device_op;
mod dispatch;
mod dispatch_launches;
mod exact;
mod host_cells;
mod host_files;
mod host_times;
mod inputs;
mod join;
mod latency;
mod launched;
mod line_records;
mod marks;
mod measured;
mod noc;
mod ops;
mod per_core;
mod perf_report;
mod recorded;
mod sheet;

use recording::host_ops::value;
pub(crate) use sheet::{
    CACHE_CLEARED, CALL_FUNCTION, CALL_LOCATION, DISPATCHER, DISPATCHER_WAIT, HOST_BUILD,
    HOST_DISPATCH, MODULE, is_known_column,
};

pub use crate::problem::{Detail, KEPT_PROBLEMS, Problem, ProblemLog};
pub use buffer_peaks::{BufferPeaks, OpPeaks, PoolPeak};
pub use device_analyses::{DeviceAnalyses, UnknownAnalysis};
pub use host_files::HostFiles;
pub use ops::{DeviceData, OpsOptions, OpsReport, ReportFiles};
pub use perf_report::{
    AnalysesError, AnalysisResult, DevicePerfReport, DevicePerfRow, ProgramAnalyses,
    ProgramExecution, ProgramPerfData, ProgramsPerfData,
};
