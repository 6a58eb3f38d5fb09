//! When the dispatcher may send the next GO.

use super::DISPATCH_CYCLES;
use crate::program::SubDevice;
use std::collections::BTreeMap;

/// Sub-devices that run, and the dispatcher itself.
#[derive(Debug, Default)]
pub(super) struct Dispatch {
    /// When the next GO can leave.
    ready_at: u64,
    /// When launches of the whole chip have ended.
    chip_free_at: u64,
    /// When those of sub-devices have ended, by id.
    free_at: BTreeMap<u8, u64>,
}

impl Dispatch {
    /// Returns the first cycle at which a launch may begin: a sub-device waits for its own launches
    /// and for those of the whole chip, the whole chip for all.
    pub(super) fn free_at(&self, sub_device: Option<SubDevice>) -> u64 {
        let of_sub_devices = match sub_device {
            Some(SubDevice { id, .. }) => self.free_at.get(&id).copied(),
            None => self.free_at.values().copied().max(),
        };
        self.ready_at.max(self.chip_free_at).max(of_sub_devices.unwrap_or(0))
    }

    /// Notes a launch whose GO left at a cycle and that was over at another.
    pub(super) fn note(&mut self, sub_device: Option<SubDevice>, go_cycle: u64, done_cycle: u64) {
        self.ready_at = self.ready_at.max(go_cycle + DISPATCH_CYCLES);
        let free_at = done_cycle + DISPATCH_CYCLES;
        match sub_device {
            Some(SubDevice { id, .. }) => {
                self.free_at.insert(id, free_at);
            }
            None => self.chip_free_at = free_at,
        }
    }
}
