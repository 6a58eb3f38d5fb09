//! One launch as recorded by the device, with its data as cells of a report.

use analysis::Doubt;
use std::{borrow::Cow, collections::BTreeMap};

/// Cells of a row by column header. A missing key stands for an empty cell.
pub(super) type Cells = BTreeMap<Cow<'static, str>, String>;

/// Time span of a launch's kernels. A latency is the time from the end of one launch's span to the
/// start of the next launch's span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LatencySpan {
    pub(super) start_cycle: u64,
    pub(super) end_cycle: u64,
}

/// Formula that converts the cycles between two ops to nanoseconds. TT-Metal's scripts use several
/// formulas.
///
/// The results of these formulas can differ in the last digit of the floating-point number, so the
/// rounded nanoseconds in a report can differ, too.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Rate {
    /// The rate is unknown, so latencies are 0.
    #[default]
    Unknown,
    /// The cycles are divided by this rate.
    CyclesPerNs(f64),
    /// The cycles are multiplied by this rate.
    NsPerCycle(f64),
    /// The cycles are multiplied by 1000, then divided by this rate.
    Megahertz(f64),
}

impl Rate {
    /// Returns the time from one cycle to another, in nanoseconds; negative if `to_cycle` is
    /// earlier.
    pub(super) fn latency_ns(self, from_cycle: u64, to_cycle: u64) -> f64 {
        let magnitude = from_cycle.abs_diff(to_cycle) as f64;
        let cycles = if to_cycle < from_cycle { -magnitude } else { magnitude };
        match self {
            Self::Unknown => 0.0,
            Self::CyclesPerNs(rate) => cycles / rate,
            Self::NsPerCycle(rate) => cycles * rate,
            Self::Megahertz(rate) => 1000.0 * cycles / rate,
        }
    }
}

/// One launch of one program on one chip.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DeviceOp {
    pub(super) device_id: u64,
    /// Id of the op, which includes its chip.
    pub(super) run_host_id: u64,
    pub(super) trace_id: Option<u64>,
    /// Number of the trace's replay, from 1; `None` if the op was not replayed.
    pub(super) session_id: Option<u64>,
    /// Cycle at which the launch began.
    pub(super) begin_cycle: u64,
    /// Reason why durations of the launch are unknown.
    pub(super) doubt: Option<Doubt>,
    /// Cells whose text depends only on data from the device.
    pub(super) cells: Cells,
    /// Span of the kernels of all RISCs.
    pub(super) kernel: Option<LatencySpan>,
    /// Span from the start of the first data-movement kernel to the end of the last kernel of any
    /// kind.
    pub(super) data_movement: Option<LatencySpan>,
    /// Conversion of latencies to nanoseconds. The latencies themselves are computed later, in the
    /// order of the report's rows.
    pub(super) rate: Rate,
    /// For each kind of Quasar processor, the span of its kernels and their duration in
    /// nanoseconds.
    pub(super) quasar_kernels: [Option<(LatencySpan, u64)>; 2],
}

impl DeviceOp {
    /// Sets the cell of a column.
    pub(super) fn set(&mut self, column: impl Into<Cow<'static, str>>, text: impl Into<String>) {
        self.cells.insert(column.into(), text.into());
    }

    /// Sets the cell of a column to a number. If `number` is `None`, the cell stays empty.
    pub(super) fn set_number(&mut self, column: &'static str, number: Option<u64>) {
        if let Some(number) = number {
            self.set(column, number.to_string());
        }
    }

    /// Returns the number in the cell of a column; `None` if the cell has no number.
    pub(super) fn number(&self, column: &str) -> Option<u64> {
        self.cells.get(column)?.parse().ok()
    }

    /// Returns the span whose first and last cycle are in the cells of two columns.
    pub(super) fn span(&self, start: &str, end: &str) -> Option<LatencySpan> {
        Some(LatencySpan { start_cycle: self.number(start)?, end_cycle: self.number(end)? })
    }
}

/// Ops of each chip, by chip number, in the order in which the chip ran them.
pub(super) type DeviceOps = BTreeMap<u64, Vec<DeviceOp>>;
