//! tt-metal's own firmware on a machine: boot and launch as tt-metal's host does them.

use super::{
    CoreCode, Devices, FailureReason, Machine, Processor,
    bus::ClockReads,
    devices::{MailboxPlace, SOFT_RESET_OF_SUBORDINATES, Signals},
    run::Run,
};
use crate::{
    arch::floorplan::CorePlace,
    chip::facts::ChipFacts,
    riscv::{L1Front, LOCAL_RAM_BASE},
    tt_metal::{boot::CoreFacts, firmware::FirmwareSet},
};
use std::sync::Arc;
use wire::CoreKind;

impl Machine {
    /// Creates a core with tt-metal's firmware; without processors if the core is not a Tensix
    /// core.
    pub(super) fn tt_metal(set: &Arc<FirmwareSet>, chip: &ChipFacts, place: CorePlace) -> Self {
        let count = if place.kind == CoreKind::Tensix { set.processors().len() } else { 0 };
        let processors = (0..count).map(|index| Processor::new(chip.arch, None, index));
        Self {
            code: CoreCode::new(chip, place),
            processors: processors.collect(),
            devices: devices(set, chip, place),
            clock_reads: ClockReads::default(),
            front: L1Front::new(),
            has_booted: false,
            set: Some(Arc::clone(set)),
        }
    }
}

/// Returns the devices after a reset of the tile.
fn devices(set: &FirmwareSet, chip: &ChipFacts, place: CorePlace) -> Devices {
    let (done_address, done_value) = set.done_signal();
    let mut devices = Devices::new(chip, place);
    devices.code = code_bounds(set);
    devices.mailbox = MailboxPlace {
        address: set.mailboxes().address,
        size_bytes: set.mailboxes().signals_end,
        done_address,
        done_value,
        stages: None,
    };
    devices
}

/// Returns the address range from the first byte of code to the end of all code.
fn code_bounds(set: &FirmwareSet) -> std::ops::Range<u32> {
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
    /// Writes everything to the tile that BRISC needs before it leaves reset.
    pub(super) fn load_tt_metal(&mut self, set: &FirmwareSet) {
        let place = self.stage.context().place;
        for write in set.boot_writes(&CoreFacts::new(&self.stage.chip, place)) {
            self.write_words(write.address, &write.words(), 0);
        }
        self.machine.devices = devices(set, &self.stage.chip, place);
        self.machine.devices.soft_reset = SOFT_RESET_OF_SUBORDINATES;
    }

    /// Returns true if a launch with this firmware is unfinished although no hart here can
    /// continue.
    pub(super) fn is_unfinished(&self) -> bool {
        let is_done = self.machine.devices.signals.done_cycle.is_some();
        self.machine.set.is_some() && !self.has_failed() && !is_done
    }

    /// Writes kernels, the launch message and the go signal.
    pub(super) fn give_kernels(&mut self, set: &FirmwareSet, cycle: u64) {
        if self.has_failed() {
            return;
        }
        let writes = match set.writes_for(self.launch, self.stage.context()) {
            Ok(writes) => writes,
            Err(error) => {
                let reason = error.to_string();
                return self.fail(0, FailureReason::NotLaunched { reason });
            }
        };
        self.machine.devices.signals = Signals::default();
        for write in writes.into_iter().chain([set.go_write()]) {
            self.write_words(write.address, &write.words(), cycle);
        }
        self.wake(cycle);
    }
}
