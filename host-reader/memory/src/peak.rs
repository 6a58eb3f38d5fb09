//! The op during which a memory is fullest.

use crate::{lifetimes::Lifetime, makers::Maker, usage::Usage};
use serde::Serialize;

/// The op during which a chip's L1 or DRAM is fullest. Figures of L1 are those of the fullest core,
/// figures of DRAM those of each bank. A figure with `None` is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Peak {
    /// Number of the chip.
    pub chip_id: u32,
    /// `L1` or `DRAM`.
    pub memory: &'static str,
    /// Id of the op's program, with the chip encoded in it.
    pub run_host_id: u32,
    /// Name of the op.
    pub op_name: Option<String>,
    /// Path of the module of the model that called the op; `None` if there was none.
    pub module: Option<String>,
    /// File and line of the op's call.
    pub location: Option<String>,
    /// The cores that are as full as the fullest one; `None` for all of them.
    pub core_ranges: Option<String>,
    /// Bytes in use that are known.
    pub used_bytes: u64,
    /// True if other bytes may be in use.
    pub is_lower_bound: bool,
    /// Bytes that tt-metal keeps for itself, with kernels and their configuration.
    pub reserved_bytes: Option<u64>,
    /// Bytes of kernels and their configuration, which are part of `reserved_bytes`.
    pub kernel_bytes: Option<u64>,
    /// Bytes of circular buffers outside of tensors.
    pub circular_buffer_bytes: Option<u64>,
    /// Bytes of tensors and other buffers of the allocator.
    pub buffer_bytes: Option<u64>,
    /// Bytes of tensors that no later op has as a tensor.
    pub outlived_bytes: u64,
    /// Bytes of the memory.
    pub capacity_bytes: Option<u64>,
    /// Bytes that are free.
    pub free_bytes: Option<u64>,
    /// Bytes of the largest free range.
    pub largest_free_bytes: Option<u64>,
}

impl Usage {
    /// Returns the peaks of all chips among some ops, by index: of each chip first the one of L1, then
    /// the one of DRAM.
    #[must_use]
    pub fn peaks(&self, ops: &[usize]) -> Vec<Peak> {
        self.peaks_and_makers(ops).into_iter().map(|(peak, _)| peak).collect()
    }

    /// Returns the peaks of all chips among some ops, each with what keeps that memory in use, most bytes
    /// first.
    #[must_use]
    pub fn peaks_and_makers(&self, ops: &[usize]) -> Vec<(Peak, Vec<Maker>)> {
        let of_chip = |chip: u32| {
            let own: Vec<usize> = ops.iter().copied().filter(|&op| self.is_of(op, chip)).collect();
            let l1 = self.l1_peak(&own).and_then(|index| Some((index, self.peak_of_l1(index)?)));
            let dram =
                self.dram_peak(&own).and_then(|index| Some((index, self.peak_of_dram(index)?)));
            [l1, dram].into_iter().flatten()
        };
        let peaks = self.chips().into_iter().flat_map(of_chip);
        peaks
            .map(|(index, peak)| {
                let mut makers = self.makers(index);
                makers.retain(|maker| maker.memory == peak.memory);
                (peak, makers)
            })
            .collect()
    }

    fn is_of(&self, index: usize, chip_id: u32) -> bool {
        self.ops.get(index).is_some_and(|op| op.chip_id == chip_id)
    }

    /// Returns the tensors in `memory`, `L1` or `DRAM`, that were there when an op was launched and that
    /// no later op has as a tensor, largest first.
    #[must_use]
    pub fn outlived(&self, index: usize, memory: &str) -> Vec<&Lifetime> {
        let live = self.live(index).into_iter();
        let outlived = live.filter(|one| one.memory() == memory && one.outlives_its_use(index));
        let mut outlived: Vec<&Lifetime> = outlived.collect();
        outlived.sort_by_key(|one| std::cmp::Reverse(one.size_bytes));
        outlived
    }

    /// Returns the bytes of the tensors that [`Self::outlived`] returns.
    #[must_use]
    pub fn outlived_bytes(&self, index: usize, memory: &str) -> u64 {
        self.outlived(index, memory).iter().map(|one| one.size_bytes).sum()
    }

    fn peak_of_l1(&self, index: usize) -> Option<Peak> {
        let op = self.ops.get(index)?;
        let l1 = &op.l1;
        Some(Peak {
            chip_id: op.chip_id,
            memory: "L1",
            run_host_id: op.run_host_id,
            op_name: op.name.clone(),
            module: op.place.module.clone(),
            location: op.place.location.clone(),
            core_ranges: (!l1.cores.is_empty()).then(|| l1.cores.to_string()),
            used_bytes: l1.known_bytes(),
            is_lower_bound: l1.is_lower_bound(),
            reserved_bytes: l1.reserved_bytes,
            kernel_bytes: l1.kernel_bytes,
            circular_buffer_bytes: l1.circular_buffer_bytes,
            buffer_bytes: l1.buffer_bytes,
            outlived_bytes: self.outlived_bytes(index, "L1"),
            capacity_bytes: l1.l1_bytes,
            free_bytes: l1.free_bytes(),
            largest_free_bytes: l1.largest_free_bytes,
        })
    }

    fn peak_of_dram(&self, index: usize) -> Option<Peak> {
        let op = self.ops.get(index)?;
        let used_bytes = op.dram_bytes?;
        Some(Peak {
            chip_id: op.chip_id,
            memory: "DRAM",
            run_host_id: op.run_host_id,
            op_name: op.name.clone(),
            module: op.place.module.clone(),
            location: op.place.location.clone(),
            core_ranges: None,
            used_bytes,
            is_lower_bound: false,
            reserved_bytes: None,
            kernel_bytes: None,
            circular_buffer_bytes: None,
            buffer_bytes: Some(used_bytes),
            outlived_bytes: self.outlived_bytes(index, "DRAM"),
            capacity_bytes: op.dram_bank_bytes,
            free_bytes: op.dram_bank_bytes.and_then(|bytes| bytes.checked_sub(used_bytes)),
            largest_free_bytes: None,
        })
    }
}
