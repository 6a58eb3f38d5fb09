//! tt-metal's own firmware on a core: boot and launch, done in the same way as by tt-metal's host.

use super::{
    FailureReason,
    devices::{MailboxPlace, Signals},
    run::Run,
};
use crate::{
    riscv::LOCAL_RAM_BASE,
    tt_metal::{boot::CoreFacts, firmware::FirmwareSet},
};

/// Returns the location of the mailboxes that the firmware and its host share.
pub(super) fn mailbox_place(set: &FirmwareSet) -> MailboxPlace {
    let (done_address, done_value) = set.done_signal();
    MailboxPlace {
        address: set.mailboxes().address,
        size_bytes: set.mailboxes().signals_end,
        done_address,
        done_value,
        stages: None,
    }
}

/// Returns the address range from the first byte of code to the end of all code.
pub(super) fn code_bounds(set: &FirmwareSet) -> std::ops::Range<u32> {
    let (mut start, mut end) = (u32::MAX, 0);
    for image in set.processors().iter().filter_map(|firmware| firmware.image()) {
        for segment in image.segments().iter().filter(|at| at.address < LOCAL_RAM_BASE) {
            let size_bytes = u32::try_from(segment.bytes.len()).unwrap_or(0);
            start = start.min(segment.address);
            end = end.max(segment.address.saturating_add(size_bytes));
        }
    }
    if start < end { start..end } else { 0..0 }
}

impl Run<'_> {
    /// Writes to the tile everything that BRISC needs before it leaves reset.
    pub(super) fn load_tt_metal(&mut self, set: &FirmwareSet) {
        let place = self.stage.context().place;
        for write in set.boot_writes(&CoreFacts::new(&self.stage.chip, place)) {
            self.write_words(write.address, &write.words(), 0);
        }
    }

    /// Returns true if a launch with this firmware is not done although none of the core's harts
    /// can continue.
    pub(super) fn is_unfinished(&self) -> bool {
        let is_done = self.machine.riscs.devices.signals.done_cycle.is_some();
        self.machine.set.is_some() && !self.has_failed() && !is_done
    }

    /// Writes the kernels, the launch message and the go signal.
    pub(super) fn give_kernels(&mut self, set: &FirmwareSet, cycle: u64) {
        if self.has_failed() {
            return;
        }
        let writes = match set.writes_for(&self.stage.launch, self.stage.context()) {
            Ok(writes) => writes,
            Err(error) => {
                let reason = error.to_string();
                return self.fail(0, FailureReason::NotLaunched { reason });
            }
        };
        self.machine.riscs.devices.signals = Signals::default();
        for write in writes.into_iter().chain([set.go_write()]) {
            self.write_words(write.address, &write.words(), cycle);
        }
        self.wake(cycle);
    }
}
