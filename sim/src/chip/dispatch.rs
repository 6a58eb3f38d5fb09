//! Dispatch times: when the dispatcher can send the next GO.

use super::DISPATCH_CYCLES;
use crate::program::SubDevice;
use std::collections::BTreeMap;

/// Times at which the dispatcher, the chip and its sub-devices become free.
#[derive(Debug, Default)]
pub(super) struct Dispatch {
    /// Cycle at which the next GO can leave.
    ready_at: u64,
    /// Cycle by which all launches of the whole chip have ended.
    chip_free_at: u64,
    /// Cycle by which all launches of each sub-device have ended, by sub-device id.
    free_at: BTreeMap<u8, u64>,
}

impl Dispatch {
    /// Returns the first cycle at which a launch may begin.
    ///
    /// A launch on a sub-device waits for earlier launches on that sub-device and on the whole
    /// chip. A launch on the whole chip waits for all earlier launches.
    pub(super) fn free_at(&self, sub_device: Option<SubDevice>) -> u64 {
        let of_sub_devices = match sub_device {
            Some(SubDevice { id, .. }) => self.free_at.get(&id).copied(),
            None => self.free_at.values().copied().max(),
        };
        self.ready_at.max(self.chip_free_at).max(of_sub_devices.unwrap_or(0))
    }

    /// Records the cycles at which a launch's GO was sent and at which the launch ended.
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
