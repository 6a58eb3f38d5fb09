//! Reports on ops CSVs: the duration of each op, the resource that limits it, and possible
//! optimisations.
//!
//! This module provides the functions of `tt-perf-report`. Rows come from `ops_perf_results*.csv`,
//! which TT-Metal's scripts and this library write.
//!
//! | question | item |
//! |---|---|
//! | how is an ops CSV read? | [`read_ops_csv`], [`OpsCsv`], [`OpRow`] |
//! | what was wrong with the file? | [`Problem`] |
//! | how is a report computed from the file? | [`PerfReport`], with [`PerfOptions`] |
//! | what are the limits of a chip? | [`ArchTable`], [`ArchLimits`] |
//! | what do the ops of each module, or of any other column, take? | [`ops_by_column`] |
//! | which calls built programs, and why again? | [`ProgramBuilds`], in [`PerfReport::builds`] |
//! | how much did the durations of an op vary? | [`Iterations`] |
//! | how is a report written? | [`write_table`], [`write_ops_csv`], [`write_stacked_csv`], [`write_stacked_picture`] |
//!
//! This module opens no files: it only reads from and writes to streams.
//!
//! # Compatibility
//! The figures are those of tt-perf-report 1.4.1, without its bugs.
//! [`PerfOptions::is_upstream_exact`] reproduces the known bugs:
//!
//! - elements of block floats are counted without their exponents;
//! - files that do not name their architecture are treated as Wormhole's;
//! - if no op follows the signpost after which the default window begins, the report is empty;
//! - if each device is reported separately, the summary lacks the ops whose device is unknown;
//! - a convolution whose attributes lack a flag is shown as if it were set.
//!
//! Rows with the same host start keep the order of the file. In tt-perf-report their order is
//! arbitrary.

mod advice;
mod arch;
mod argument_change;
mod by_column;
mod category;
mod cell;
mod chip;
mod core_cycles;
mod csv_out;
mod devices;
mod fidelity;
mod grid;
mod hosts;
mod iterations;
mod joined_runs;
mod latency;
mod model;
mod no_room;
mod number;
mod op;
mod ops_csv;
mod paint;
mod passes;
mod peak_share;
mod picture;
mod programs;
#[cfg(test)]
mod properties;
mod queue;
mod report;
mod row;
mod sending;
mod side_by_side;
mod signposts;
mod spread;
mod stacked;
mod table;
mod text_pool;
mod titles;
mod tried_changes;
mod variant;
mod window;

pub use crate::problem::{Detail, Problem, ProblemLog};
pub use advice::Advice;
pub use arch::{ArchLimits, ArchTable, ArchTableError, MathFidelity};
pub use argument_change::ArgumentChange;
pub(crate) use argument_change::{argument_changes, attribute_parts};
pub use by_column::{ColumnGroup, OpsByColumn, module_parts, ops_by_column};
pub use category::OpCategory;
pub use chip::{ChipFacts, UnknownArch};
pub use csv_out::{CsvOptions, write_ops_csv, write_stacked_csv};
pub use fidelity::{FidelityAdvice, FidelityVerdict, judge_fidelity};
pub use iterations::{Iterations, OpStatistics, RepetitionRule, prefix_matches, repeated_end};
pub(crate) use iterations::{Repetitions, repeated_sequence};
pub use model::{BoundAnalysis, LimitKind, ShapeLimit};
pub use no_room::NoRoom;
pub use op::{Bound, DurationDoubt, OpReport, ProgramBlocks, RecordedOp, RowKind};
pub use ops_csv::{OpsCsv, OpsCsvError, read_ops_csv, read_ops_csv_with};
pub use peak_share::peak_share_text;
pub use picture::{Palette, write_stacked_picture};
pub use programs::{BuildSums, CallSite, ProgramBuilds, Rebuild, RebuildReason};
pub use report::{PerfOptions, PerfReport, Totals};
pub use row::{CoreTimes, OpRow, OtherCell, Tensor};
pub use sending::Sending;
pub(crate) use side_by_side::OpSpan;
pub use side_by_side::SideBySide;
pub use signposts::signpost_half;
pub use spread::Spread;
pub use stacked::{StackBy, StackedOps};
pub use table::{TableOptions, write_table};
pub use titles::{KernelColumn, OpsCsvFormat};
pub use tried_changes::TriedChanges;
pub(crate) use variant::{variants, without_numbers};
pub use window::WindowOptions;
