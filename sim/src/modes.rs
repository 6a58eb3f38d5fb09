//! Modes in which kernels and firmware are built.

use crate::{machine::KernelKind, tt_metal::firmware::FirmwareSet};
use kernel_profiler::port::WaitRecords;
use std::sync::Arc;

/// Variant of kernels and firmware, which determines the types of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelModes {
    /// True if kernels record sum zones.
    pub sums_enabled: bool,
    /// True if kernels record only one envelope for each replay of a trace.
    pub is_trace_only: bool,
    /// True if kernels collect the records of several launches in L1 before they push them.
    pub is_accumulating: bool,
    /// True if kernels are built for the debug dump: a RISC whose lane is full waits until the host
    /// has read more of it.
    pub is_non_dropping: bool,
    /// True if kernels stream their records.
    pub is_streaming: bool,
    /// Groups of hardware counters read in each launch, as the bits of [`wire::perf_counter`].
    pub counter_groups: u32,
    /// Language from which the kernels are compiled.
    pub kernels: KernelKind,
    /// tt-metal's firmware for the Tensix cores; this project's firmware if `None`.
    pub firmware: Option<Arc<FirmwareSet>>,
    /// True if the truth contains every NoC request of kernels.
    pub has_noc_truth: bool,
    /// True if the truth has the streamed cells of every RISC.
    pub has_cell_truth: bool,
    /// True if the RISCs of a core take turns instruction by instruction, in order of time.
    pub has_exact_turns: bool,
    /// Which waits kernels record.
    pub wait_records: WaitRecords,
    /// True if individual waits are recorded only in [`wire::wait::SyncWindows::DEFAULT`].
    pub has_sync_windows: bool,
    /// Maximum number of cycles of a launch on a core; a longer launch is stopped.
    pub cycle_budget: u64,
}

impl KernelModes {
    /// Returns true if kernels may wait for the host. The host then sees the chip in its current
    /// state.
    pub(crate) const fn waits_for_host(&self) -> bool {
        self.is_non_dropping || self.is_streaming
    }

    /// Modes of kernels that record zones, data and events.
    pub const PLAIN: Self = Self {
        sums_enabled: false,
        is_trace_only: false,
        is_accumulating: false,
        is_non_dropping: false,
        is_streaming: false,
        counter_groups: 0,
        kernels: KernelKind::Riscv,
        firmware: None,
        has_noc_truth: false,
        has_cell_truth: false,
        has_exact_turns: false,
        wait_records: WaitRecords::Off,
        has_sync_windows: false,
        cycle_budget: DEFAULT_CYCLE_BUDGET,
    };
}

/// Default cycle budget: a tenth of a second at 1 GHz.
const DEFAULT_CYCLE_BUDGET: u64 = 100_000_000;
