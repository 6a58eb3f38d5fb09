//! Modes that kernels and firmware are built in.

use crate::{machine::KernelKind, tt_metal::firmware::FirmwareSet};
use kernel_profiler::port::WaitRecords;
use std::sync::Arc;

/// Form of the kernels and of the firmware, and what they record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelModes {
    /// True if kernels are built to record sum zones.
    pub sums_enabled: bool,
    /// True if kernels are built to record one envelope for each replay of a trace, and nothing
    /// else.
    pub is_trace_only: bool,
    /// True if kernels are built to gather several launches in L1 before they are pushed.
    pub is_accumulating: bool,
    /// True if kernels are built for the debug dump: a RISC whose lane is full waits for the host to
    /// read on.
    pub is_non_dropping: bool,
    /// Groups of hardware counters that are read in each launch, as the bits of
    /// [`wire::perf_counter`].
    pub counter_groups: u32,
    /// Language that the kernels are compiled from.
    pub kernels: KernelKind,
    /// Firmware of tt-metal for the Tensix cores; this project's own if `None`.
    pub firmware: Option<Arc<FirmwareSet>>,
    /// True if the truth holds every request of kernels to the NoCs.
    pub has_noc_truth: bool,
    /// Records of waits that kernels make.
    pub wait_records: WaitRecords,
    /// True if single waits are recorded in [`wire::wait::SyncWindows::DEFAULT`] alone.
    pub has_sync_windows: bool,
    /// Most cycles that a launch may take on a core; beyond, it is stopped.
    pub cycle_budget: u64,
}

impl KernelModes {
    /// Kernels that record zones, data and events.
    pub const PLAIN: Self = Self {
        sums_enabled: false,
        is_trace_only: false,
        is_accumulating: false,
        is_non_dropping: false,
        counter_groups: 0,
        kernels: KernelKind::Riscv,
        firmware: None,
        has_noc_truth: false,
        wait_records: WaitRecords::Off,
        has_sync_windows: false,
        cycle_budget: DEFAULT_CYCLE_BUDGET,
    };
}

/// A tenth of a second at 1 GHz.
const DEFAULT_CYCLE_BUDGET: u64 = 100_000_000;
