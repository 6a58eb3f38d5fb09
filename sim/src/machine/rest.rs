//! Harts that wait for the host in the debug dump.
//!
//! Such a hart looks at what the host has read, rests for some cycles, and looks again, for up to
//! a second. As long as the host writes nothing, each look finds what the one before has found,
//! so that the time until the host's next access needs not be executed.

use super::{HartState, core_code::RiscCode, images::Image, run::Run};
use crate::chip::facts::ChipFacts;
use std::ops::Range;

/// Where a RISC rests between two looks, and for how long it was not executed.
#[derive(Clone, Debug, Default)]
pub(super) struct Rest {
    /// Code of the firmware and of the kernels.
    code: [Range<u32>; 2],
    /// Cycles of the launch that were passed over.
    pub(super) skipped_cycles: u64,
}

impl Rest {
    /// Finds where a RISC rests; nowhere, unless it was built for the debug dump.
    pub(super) fn of(chip: &ChipFacts, risc: RiscCode) -> Self {
        if !chip.modes.is_non_dropping {
            return Self::default();
        }
        let RiscCode { firmware, kernels } = risc;
        Self { code: [firmware, kernels].map(resting_code), skipped_cycles: 0 }
    }

    fn contains(&self, pc: u32) -> bool {
        self.code.iter().any(|code| code.contains(&pc))
    }
}

/// The function of an image in which a RISC rests.
fn resting_code(image: &Image) -> Range<u32> {
    let named = image.symbols().find(|(name, _)| name.contains(FUNCTION));
    named.map_or(0..0, |(_, symbol)| symbol.address..symbol.address + symbol.size_bytes)
}

/// Part of the name that the runtime's function has in an image.
const FUNCTION: &str = "rest_between_looks";

impl Run<'_> {
    /// Passes over the time in which a hart that rests would find nothing new.
    pub(super) fn skip_rest(&mut self, index: usize) {
        let risc = &mut self.machine.processors[index];
        if risc.state != HartState::Running || !risc.rest.contains(risc.hart.pc()) {
            return;
        }
        let cycle = risc.hart.cycle();
        // The host may have written since the last look.
        if cycle < self.stage.tile.host_wrote_at.saturating_add(LOOK_CYCLES) {
            return;
        }
        // To the same cycles on all cores, so that few windows of time suffice.
        let goes_on = self.pause.min((cycle + 1).next_multiple_of(SKIPPED_CYCLES_MAX));
        risc.hart.advance_to(goes_on);
        risc.rest.skipped_cycles += goes_on.saturating_sub(cycle);
    }
}

/// More cycles than a look and a rest take.
const LOOK_CYCLES: u64 = 8192;
/// Most cycles that are passed over at once: another RISC of the core may end all waits.
const SKIPPED_CYCLES_MAX: u64 = 1 << 20;
