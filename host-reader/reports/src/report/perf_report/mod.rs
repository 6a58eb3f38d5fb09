//! Device perf report: one row of durations for each launch of each program.
//!
//! # Compatibility
//! `cpp_device_perf_report.csv`. TT-Metal's host writes this file next to the device log.

mod analyses;
mod figures;
mod programs;
mod read;
mod rows;

pub use analyses::{AnalysesError, ProgramAnalyses};
pub use programs::{AnalysisResult, ProgramExecution, ProgramPerfData, ProgramsPerfData};
pub use rows::{DevicePerfReport, DevicePerfRow};

pub(super) use analyses::QUASAR_KINDS;
pub(super) use figures::{LaunchFigures, figures_of};
pub(super) use read::{OP_NAME, read_report};
