//! Harts that wait for the host, in the debug dump and where they stream.
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
    /// Finds where a RISC rests; nowhere, unless it was built to wait for the host.
    pub(super) fn of(chip: &ChipFacts, risc: RiscCode) -> Self {
        if !chip.modes.waits_for_host() {
            return Self::default();
        }
        let RiscCode { firmware, kernels } = risc;
        Self { code: [firmware, kernels].map(resting_code), skipped_cycles: 0 }
    }

    fn contains(&self, pc: u32) -> bool {
        self.code.iter().any(|code| code.contains(&pc))
    }
}

/// The function of an image in which a RISC rests, found by its instructions: images that are shipped
/// have no names of functions.
fn resting_code(image: &Image) -> Range<u32> {
    let found = image.program.segments().iter().find_map(|segment| {
        let words: Vec<u32> =
            segment.bytes.as_chunks().0.iter().copied().map(u32::from_le_bytes).collect();
        let at = words.windows(3).position(is_rest)?;
        let first = segment.address + 4 * u32::try_from(at).ok()?;
        Some(first..first + REST_BYTES)
    });
    found.unwrap_or(0..0)
}

/// Returns true for a register that is set to the passes of a rest and counted down to zero.
fn is_rest(words: &[u32]) -> bool {
    let &[set, count, branch] = words else { return false };
    let register = set >> 7 & 31;
    // `li r, 64`, `addi r, r, -1`, `bnez r, -4`.
    set == REST_PASSES << 20 | register << 7 | 0x13
        && count == 0xFFF0_0013 | register << 15 | register << 7
        && branch == 0xFE00_1EE3 | register << 15
}

/// Passes of a rest in the runtime, `kernel-profiler/src/tensix/port.rs`.
const REST_PASSES: u32 = 64;
/// Bytes of a rest, with the return behind it.
const REST_BYTES: u32 = 16;

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
