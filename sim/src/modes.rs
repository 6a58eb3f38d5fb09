//! Options of the compiled kernels and firmware, and options for their simulation.

use crate::{limits::LiftedLimits, machine::KernelKind, tt_metal::firmware::FirmwareSet};
use kernel_profiler::port::WaitRecords;
use std::sync::Arc;

/// Modes of the kernels and firmware of a mesh. Most of them determine which records are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelModes {
    /// True if kernels record sum zones.
    pub sums_enabled: bool,
    /// True if each core records only one zone per trace replay. The zone covers the whole replay.
    pub is_trace_only: bool,
    /// True if kernels collect the records of several launches in L1 before they write them to
    /// DRAM.
    pub is_accumulating: bool,
    /// True for the debug dump: a RISC whose DRAM buffer is full waits until the host has read part
    /// of it.
    pub is_non_dropping: bool,
    /// True if kernels stream their records.
    pub is_streaming: bool,
    /// Mask of the groups of hardware counters read in each launch; its bits are in
    /// [`wire::perf_counter`].
    pub counter_groups: u32,
    /// Language from which the kernels are compiled.
    pub kernels: KernelKind,
    /// tt-metal's firmware for the Tensix cores; this project's firmware if `None`.
    pub firmware: Option<Arc<FirmwareSet>>,
    /// True if the ground truth contains every NoC request of kernels.
    pub has_noc_truth: bool,
    /// True if the ground truth contains the cells (64-bit units of records) that every RISC has
    /// streamed.
    pub has_cell_truth: bool,
    /// True if the ground truth counts the records that each RISC stores, instead of those that its
    /// kernel declares. Launches that failed are then included.
    pub has_record_truth: bool,
    /// True if the RISCs of a core are simulated one instruction at a time: always the RISC with
    /// the earliest cycle executes next.
    pub has_exact_turns: bool,
    /// True if instructions and cycles are counted by address of code: see [`crate::lines`].
    pub has_lines: bool,
    /// Kind of the records that kernels make of their waits.
    pub wait_records: WaitRecords,
    /// True if individual waits are recorded only during [`wire::wait::SyncWindows::DEFAULT`].
    pub has_sync_windows: bool,
    /// True if a chip begins no further launch once object code has failed on it.
    pub halts_at_failure: bool,
    /// Limits of the timing model that are lifted.
    pub lifted: LiftedLimits,
    /// Maximum number of cycles of a launch on one core; a longer launch is stopped.
    pub cycle_limit: u64,
}

impl KernelModes {
    /// Returns true if kernels may wait for the host. Launches are then simulated only up to the
    /// host's next access.
    pub(crate) const fn waits_for_host(&self) -> bool {
        self.is_non_dropping || self.is_streaming
    }

    /// The modes in which kernels record only zones, data and events.
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
        has_record_truth: false,
        has_exact_turns: false,
        has_lines: false,
        wait_records: WaitRecords::Off,
        has_sync_windows: false,
        halts_at_failure: false,
        lifted: LiftedLimits::NONE,
        cycle_limit: DEFAULT_CYCLE_LIMIT,
    };
}

/// Default cycle limit: a tenth of a second at 1 GHz.
const DEFAULT_CYCLE_LIMIT: u64 = 100_000_000;
