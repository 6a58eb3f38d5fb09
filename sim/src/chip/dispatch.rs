//! Earliest times of the dispatcher's next GO.

use super::DISPATCH_CYCLES;
use crate::program::SubDevice;
use std::collections::BTreeMap;

/// Times at which the dispatcher, the chip and its sub-devices become free.
#[derive(Debug, Default)]
pub(super) struct Dispatch {
    /// Cycle at which the next GO can leave.
    ready_at: u64,
    /// Cycle at which launches of the whole chip have ended.
    chip_free_at: u64,
    /// Cycle at which the launches of each sub-device have ended, by id.
    free_at: BTreeMap<u8, u64>,
}

impl Dispatch {
    /// Returns the first cycle at which a launch may begin.
    ///
    /// A launch of a sub-device waits for the launches of that sub-device and for those of the
    /// whole chip. A launch of the whole chip waits for all launches.
    pub(super) fn free_at(&self, sub_device: Option<SubDevice>) -> u64 {
        let of_sub_devices = match sub_device {
            Some(SubDevice { id, .. }) => self.free_at.get(&id).copied(),
            None => self.free_at.values().copied().max(),
        };
        self.ready_at.max(self.chip_free_at).max(of_sub_devices.unwrap_or(0))
    }

    /// Records a launch: when its GO left, and when the launch ended.
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
