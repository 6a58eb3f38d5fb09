//! Ops as shown in a trace: launches with their times, names and runs.

use super::TraceRun;
use analysis::{Launch, Op};
use host_events::{OpMetadata, OpTexts};
use recording::DeviceClock;
use std::cmp::Reverse;
use tables::{OpPlace, OpRow, Ops, Table, Value};

/// Columns of the table `ops` that trace viewers show for each op.
const ARGUMENTS: [&str; 16] = [
    "run_host_id",
    "launch",
    "trace_id",
    "trace_replay",
    "start_cycle",
    "duration_cycles",
    "kernel_cycles",
    "firmware_cycles",
    "core_count",
    "unfinished_core_count",
    "imbalance",
    "op_to_op_latency_cycles",
    "stall_cycles",
    "clocks_of_cores_disagree",
    "duration_doubt",
    "latency_doubt",
];

/// One launch of one program on one chip.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceOp<'a> {
    /// Id, launch number, durations and other numbers of the op.
    pub figures: Op,
    /// Metadata from the host: the op's name and other fields.
    pub metadata: Option<&'a OpMetadata>,
    /// First cycle of the op's firmware zones; if there are none, of its kernel zones; if there are
    /// none of these either, of its records.
    pub start_cycle: u64,
    /// Last cycle of the op's firmware zones; if there are none, of its kernel zones; if there are
    /// none of these either, of its records.
    pub end_cycle: u64,
    /// Start in nanoseconds since the trace's origin.
    pub start_ns: u64,
    /// End in nanoseconds since the trace's origin.
    pub end_ns: u64,
    /// Row in which the op is drawn. Ops in the same row never overlap. The row is 0 unless several
    /// ops run at the same time.
    pub row: u32,
    /// The op's runs on all lanes of the chip.
    pub runs: Vec<TraceRun>,
}

impl<'a> TraceOp<'a> {
    pub(super) fn new(
        launch: Launch,
        metadata: Option<&'a OpMetadata>,
        clock: &DeviceClock<'_>,
    ) -> Self {
        let span = launch.op.firmware.or(launch.op.kernel);
        let span_cycles = span.map(|span| (span.start_cycle, span.end_cycle));
        let (start_cycle, end_cycle) =
            span_cycles.unwrap_or((launch.first_cycle, launch.last_cycle));
        Self {
            figures: launch.op,
            metadata,
            start_cycle,
            end_cycle,
            start_ns: clock.time_ns(start_cycle),
            end_ns: clock.time_ns(end_cycle),
            row: 0,
            runs: Vec::new(),
        }
    }

    /// Returns the cycles from the op's start to its end.
    ///
    /// Returns `None` if records of the op may be missing, or if the clocks of the op's cores
    /// disagree. The op is drawn up to its last record even if its duration is unknown.
    #[must_use]
    pub const fn duration_cycles(&self) -> Option<u64> {
        match self.figures.duration_doubt {
            Some(_) => None,
            None => Some(self.end_cycle.saturating_sub(self.start_cycle)),
        }
    }

    /// Returns the nanoseconds from the op's start to its end; `None` if the duration is unknown.
    #[must_use]
    pub fn duration_ns(&self) -> Option<u64> {
        self.duration_cycles().map(|_| self.end_ns.saturating_sub(self.start_ns))
    }

    /// Calls `visit` for each known value of the op that trace viewers show. `visit` receives the
    /// value and its column name in the table `ops`.
    pub(crate) fn for_each_argument(&self, mut visit: impl FnMut(&'static str, &Value<'_>)) {
        let (start_cycle, duration_cycles) = (self.start_cycle, self.duration_cycles());
        let place = OpPlace { start_cycle, duration_cycles, ..OpPlace::default() };
        let row = OpRow { place, ..OpRow::new(&self.figures, OpTexts::default()) };
        for column in ARGUMENTS.iter().filter_map(|name| Ops::column(name)) {
            match column.value(&row) {
                Value::Null | Value::Flag(false) => {}
                value => visit(column.schema.name, &value),
            }
        }
    }

    /// Returns the reasons why the op's duration or latency is unknown. Each pair is a key, such as
    /// `latency_doubt`, and a reason.
    pub fn doubts(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let doubts = [
            ("duration_doubt", self.figures.duration_doubt),
            ("latency_doubt", self.figures.latency_doubt),
        ];
        doubts.into_iter().filter_map(|(key, doubt)| Some((key, doubt?.label())))
    }

    /// Returns the program's number, which does not contain the number of the chip.
    #[must_use]
    pub const fn base_id(&self) -> u32 {
        wire::RunHostId(self.figures.run_host_id).base()
    }

    /// Returns the op's name, if the host has reported one.
    #[must_use]
    pub fn name(&self) -> Option<&'a str> {
        self.metadata?.value(OpMetadata::NAME)
    }

    /// Returns the op's name, and where the program called it.
    #[must_use]
    pub fn texts(&self) -> OpTexts<'a> {
        self.metadata.map(OpMetadata::texts).unwrap_or_default()
    }

    /// Returns the op's label; see [`op_label`].
    #[must_use]
    pub fn label(&self) -> String {
        let replay = self.figures.trace_id.zip(self.figures.trace_replay);
        op_label(self.name(), self.base_id(), replay)
    }
}

/// Returns the label of an op: the op's name, and the program's number without the number of the
/// chip.
///
/// If the op was replayed from a captured trace, the label also contains the id of the captured
/// trace and the number of the replay.
#[must_use]
pub fn op_label(name: Option<&str>, program: u32, replay: Option<(u64, u64)>) -> String {
    let name = name.unwrap_or("program");
    match replay {
        Some((trace, replay)) => format!("{name} {program} trace {trace}.{replay}"),
        None => format!("{name} {program}"),
    }
}

/// Key by which a chip's ops are sorted: start, and end in descending order.
pub(super) type Order = (u64, Reverse<u64>);

/// Returns the sort key of an op.
pub(super) const fn order(op: &TraceOp<'_>) -> Order {
    (op.start_cycle, Reverse(op.end_cycle))
}

/// Sorts the ops of a chip, and assigns their rows.
pub(super) fn sort(ops: &mut [TraceOp<'_>]) {
    ops.sort_by_key(order);
    let mut rows = FreeRows::default();
    ops.iter_mut().for_each(|op| op.row = rows.assign(op.start_cycle, op.end_cycle));
}

/// Rows in which viewers draw a chip's ops, each with the end of the row's last op.
#[derive(Debug, Default)]
pub(crate) struct FreeRows(Vec<u64>);

impl FreeRows {
    /// Returns the number of rows.
    #[cfg(feature = "parquet")]
    pub(crate) fn count(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// Assigns an op to the first row that is free at the op's start, and returns this row. Ops
    /// must be sorted by start.
    pub(crate) fn assign(&mut self, start: u64, end: u64) -> u32 {
        let free = self.0.iter().position(|&row_end| row_end <= start);
        let row = free.unwrap_or(self.0.len());
        match self.0.get_mut(row) {
            Some(row_end) => *row_end = end,
            None => self.0.push(end),
        }
        u32::try_from(row).unwrap_or(u32::MAX)
    }
}
