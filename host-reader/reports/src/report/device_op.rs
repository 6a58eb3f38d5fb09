//! Device records of one launch, as cells of a report.

use analysis::Doubt;
use std::{borrow::Cow, collections::BTreeMap};

/// Cells of a row by the title of their column; a column that is not there is empty.
pub(super) type Cells = BTreeMap<Cow<'static, str>, String>;

/// A stretch that latencies are measured between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LatencySpan {
    pub(super) start_cycle: u64,
    pub(super) end_cycle: u64,
}

/// How upstream turns cycles between two ops into nanoseconds; the ways differ in the last
/// digit of a float, and so in what a half is rounded to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Rate {
    /// Not known; latencies are then 0.
    #[default]
    Unknown,
    /// Divide by this.
    CyclesPerNs(f64),
    /// Multiply by this.
    NsPerCycle(f64),
    /// Multiply by 1000, then divide by this.
    Megahertz(f64),
}

impl Rate {
    /// The latency between two cycles.
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
    /// The op's encoded id.
    pub(super) run_host_id: u64,
    pub(super) trace_id: Option<u64>,
    /// Which replay of the trace, from 1.
    pub(super) session_id: Option<u64>,
    /// When the launch began on the device.
    pub(super) begin_cycle: u64,
    /// Why durations of the launch are not known.
    pub(super) doubt: Option<Doubt>,
    /// The cells that the device alone decides.
    pub(super) cells: Cells,
    /// The kernels of all RISCs.
    pub(super) kernel: Option<LatencySpan>,
    /// From the first kernel that moves data to the end of the last of any kind.
    pub(super) data_movement: Option<LatencySpan>,
    /// For latencies that are computed in the order of the report.
    pub(super) rate: Rate,
    /// The kernels of each kind of a Quasar's processors, with their nanoseconds.
    pub(super) quasar_kernels: [Option<(LatencySpan, u64)>; 2],
}

impl DeviceOp {
    /// Adds a cell.
    pub(super) fn set(&mut self, column: impl Into<Cow<'static, str>>, text: impl Into<String>) {
        self.cells.insert(column.into(), text.into());
    }

    /// Adds a number, if there is one.
    pub(super) fn set_number(&mut self, column: &'static str, number: Option<u64>) {
        if let Some(number) = number {
            self.set(column, number.to_string());
        }
    }
}

/// Ops of all chips, in the order in which each chip ran them.
pub(super) type DeviceOps = BTreeMap<u64, Vec<DeviceOp>>;
