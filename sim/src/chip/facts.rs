//! What every part of one simulated chip knows about it.

use crate::{arch::Arch, machine::KernelKind};

/// Constants of one chip of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChipFacts {
    /// Number of the chip in its mesh.
    pub chip_id: u32,
    /// Architecture.
    pub arch: Arch,
    /// Whether kernels are built to record sum zones.
    pub sums_enabled: bool,
    /// DRAM words of a RISC's lane, as kernels are built for.
    pub lane_words: u32,
    /// Bytes kept for the profiler in each DRAM bank.
    pub region_bytes: u64,
    /// What kernels are made of.
    pub kernels: KernelKind,
    /// Most cycles that a launch of object code may take on a core.
    pub cycle_budget: u64,
    /// Seed of the simulation.
    pub seed: u64,
}

impl ChipFacts {
    /// Whether a write of `word_count` words at `address` lies in a bank.
    #[must_use]
    pub const fn bank_holds(&self, address: u64, word_count: usize) -> bool {
        let end = address.saturating_add(4 * word_count as u64);
        address.is_multiple_of(4) && end <= self.arch.facts().bank_bytes
    }
}
