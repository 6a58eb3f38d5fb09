//! Device records of one launch, as cells of a report.

use analysis::Doubt;
use std::{borrow::Cow, collections::BTreeMap};

/// Cells of a row by column header. A missing key is an empty cell.
pub(super) type Cells = BTreeMap<Cow<'static, str>, String>;

/// Span between which latencies are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LatencySpan {
    pub(super) start_cycle: u64,
    pub(super) end_cycle: u64,
}

/// Conversion of cycles between two ops to nanoseconds, as TT-Metal's scripts do it.
///
/// The variants differ in the last digit of a float, and so in the rounding of halves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Rate {
    /// Unknown rate; latencies are then 0.
    #[default]
    Unknown,
    /// Divide by this rate.
    CyclesPerNs(f64),
    /// Multiply by this rate.
    NsPerCycle(f64),
    /// Multiply by 1000, then divide by this rate.
    Megahertz(f64),
}

impl Rate {
    /// Returns the latency between two cycles.
    pub(super) fn latency_ns(self, from_cycle: u64, to_cycle: u64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "upstream computes in floats")]
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
    /// Encoded id of the op.
    pub(super) run_host_id: u64,
    pub(super) trace_id: Option<u64>,
    /// Replay number of the trace, from 1.
    pub(super) session_id: Option<u64>,
    /// Cycle at which the launch began.
    pub(super) begin_cycle: u64,
    /// Reason why durations of the launch are unknown.
    pub(super) doubt: Option<Doubt>,
    /// Cells that depend on the device only.
    pub(super) cells: Cells,
    /// Span of the kernels of all RISCs.
    pub(super) kernel: Option<LatencySpan>,
    /// Span from the first kernel that moves data to the end of the last kernel of any kind.
    pub(super) data_movement: Option<LatencySpan>,
    /// Rate for latencies that are computed in the order of the report.
    pub(super) rate: Rate,
    /// Kernel spans of each kind of Quasar processor, with their nanoseconds.
    pub(super) quasar_kernels: [Option<(LatencySpan, u64)>; 2],
}

impl DeviceOp {
    /// Adds a cell.
    pub(super) fn set(&mut self, column: impl Into<Cow<'static, str>>, text: impl Into<String>) {
        self.cells.insert(column.into(), text.into());
    }

    /// Adds a number, unless it is `None`.
    pub(super) fn set_number(&mut self, column: &'static str, number: Option<u64>) {
        if let Some(number) = number {
            self.set(column, number.to_string());
        }
    }
}

/// Ops of all chips, in the order in which each chip ran them.
pub(super) type DeviceOps = BTreeMap<u64, Vec<DeviceOp>>;
