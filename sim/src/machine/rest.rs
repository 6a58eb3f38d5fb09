//! Harts that wait for the host, in the debug dump and in streaming.
//!
//! Such a hart checks how far the host has read, rests for some cycles, and checks again, for up to
//! a second. Until the host writes something, each check finds the same state, so the time until
//! the host's next access need not be simulated.

use super::{HartState, core_code::RiscCode, images::Image, run::Run};
use crate::chip::facts::ChipFacts;
use std::ops::Range;

/// Code in which a RISC rests between two checks, and the number of cycles skipped there.
#[derive(Clone, Debug, Default)]
pub(super) struct Rest {
    /// Address ranges of such code in the firmware and in the kernels.
    code: [Range<u32>; 2],
    /// Cycles skipped in this launch.
    pub(super) skipped_cycles: u64,
}

impl Rest {
    /// Finds the code in which a RISC rests; empty unless the code was built to wait for the host.
    pub(super) fn new(chip: &ChipFacts, risc: RiscCode) -> Self {
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

/// Returns the function of an image in which a RISC rests.
///
/// The function is recognised by its instructions, since shipped images contain no function names.
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

/// Returns true if the instructions set a register to [`REST_PASSES`] and count it down to zero.
fn is_rest(words: &[u32]) -> bool {
    let &[set, count, branch] = words else { return false };
    let register = set >> 7 & 31;
    // `li r, 64`, `addi r, r, -1`, `bnez r, -4`.
    set == REST_PASSES << 20 | register << 7 | 0x13
        && count == 0xFFF0_0013 | register << 15 | register << 7
        && branch == 0xFE00_1EE3 | register << 15
}

/// Number of passes of the rest loop in the runtime, `kernel-profiler/src/tensix/port.rs`.
const REST_PASSES: u32 = 64;
/// Bytes of the rest code, including the return after the loop.
const REST_BYTES: u32 = 16;

impl Run<'_> {
    /// Skips the time in which a resting hart would find no change.
    pub(super) fn skip_rest(&mut self, index: usize) {
        let risc = &mut self.machine.processors[index];
        if risc.state != HartState::Running || !risc.rest.contains(risc.hart.pc()) {
            return;
        }
        let cycle = risc.hart.cycle();
        // The host may have written since the last check.
        if cycle < self.stage.tile.host_wrote_at.saturating_add(LOOK_CYCLES) {
            return;
        }
        // All cores continue at the same cycles, so few windows of time are needed.
        let goes_on = self.pause.min((cycle + 1).next_multiple_of(SKIPPED_CYCLES_MAX));
        risc.hart.advance_to(goes_on);
        risc.rest.skipped_cycles += goes_on.saturating_sub(cycle);
    }
}

/// Upper limit for the cycles of one check and one rest.
const LOOK_CYCLES: u64 = 8192;
/// Maximum cycles skipped at once: another RISC of the core may release the waiting harts.
const SKIPPED_CYCLES_MAX: u64 = 1 << 20;
