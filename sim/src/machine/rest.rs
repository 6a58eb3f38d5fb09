//! Harts that wait for the host, in the debug dump and streaming modes.
//!
//! Such a hart checks how far the host has read, executes a short delay loop (it "rests"), and
//! checks again. It repeats this for up to a second. Until the host or a relay writes something,
//! each check finds the same state, so the simulator skips the time until the next access by the
//! host or a relay. The checks shortly before the wait's time limit are simulated, so that a hart
//! stops waiting at the same time as on a chip.

use super::{core_code::RiscCode, images::ParsedImage, riscs::HartState, run::Run};
use crate::{chip::facts::ChipFacts, tile::Tile};
use kernel_profiler::port::STALL_CYCLES;
use std::ops::Range;
use wire::stream::{Policy, words};

/// The delay loop that a RISC executes between two checks of the host's read position, and the
/// number of cycles that were skipped.
#[derive(Clone, Debug, Default)]
pub(super) struct Rest {
    /// Address ranges of the delay loops: one in the firmware, one in the kernels.
    code: [Range<u32>; 2],
    /// Number of cycles skipped in this launch.
    pub(super) skipped_cycles: u64,
    /// The RISC's latest wait.
    wait: Option<Wait>,
}

/// A hart's wait for the host or a relay.
///
/// Waits that follow each other within [`LOOK_CYCLES`] may be mistaken for one wait. The end of the
/// later wait is then estimated too early, and more checks than necessary are simulated.
#[derive(Clone, Copy, Debug)]
struct Wait {
    /// First cycle at which the hart was seen resting.
    seen_since: u64,
    /// Last cycle at which the hart was seen resting.
    seen_until: u64,
}

impl Rest {
    /// Finds the code in which a RISC rests. Only modes in which kernels wait for the host have
    /// such code.
    pub(super) fn new(chip: &ChipFacts, risc: RiscCode) -> Self {
        if !chip.modes.waits_for_host() {
            return Self::default();
        }
        let RiscCode { firmware, kernels } = risc;
        Self { code: [firmware, kernels].map(resting_code), ..Self::default() }
    }

    fn contains(&self, pc: u32) -> bool {
        self.code.iter().any(|code| code.contains(&pc))
    }

    /// Returns the first cycle at which the hart's checks must be simulated, because the hart will
    /// soon give up waiting.
    ///
    /// The hart is in its delay loop at `cycle`; a wait takes at most `limit_cycles`.
    fn simulated_from(&mut self, cycle: u64, limit_cycles: u64) -> u64 {
        let goes_on = |wait: &Wait| {
            let latest_end = wait.seen_since.saturating_add(limit_cycles + LOOK_CYCLES);
            cycle < wait.seen_until.saturating_add(LOOK_CYCLES) && cycle < latest_end
        };
        let new = Wait { seen_since: cycle, seen_until: cycle };
        let wait = self.wait.insert(self.wait.filter(goes_on).unwrap_or(new));
        wait.seen_until = cycle;
        // The time limit counts from the clock reading at the start of the wait, before the first
        // rest.
        (wait.seen_since + limit_cycles).saturating_sub(2 * LOOK_CYCLES)
    }

    /// Records that the time up to `cycle` was skipped.
    fn skip_to(&mut self, cycle: u64, skipped_cycles: u64) {
        self.skipped_cycles += skipped_cycles;
        if let Some(wait) = &mut self.wait {
            wait.seen_until = cycle;
        }
    }
}

/// Returns the maximum duration of a RISC's wait in cycles; `None` if the RISC's policy is to lose
/// records and not to wait.
fn limit_cycles(chip: &ChipFacts, tile: &Tile, risc_index: usize) -> Option<u64> {
    if !chip.modes.is_streaming {
        return Some(STALL_CYCLES.into());
    }
    match Policy::from_word(tile.load(tile.control_word_address(words::POLICY + risc_index)))? {
        Policy::Block { cycles_log2 } => Some(1 << (cycles_log2 & 31)),
        _ => None,
    }
}

/// Returns the address range of the function in which a RISC rests; empty if the image has no such
/// function.
///
/// The function is recognised by its instructions, because shipped images contain no names of
/// functions.
fn resting_code(image: &ParsedImage) -> Range<u32> {
    let found = image.program.segments().iter().find_map(|segment| {
        let words: Vec<u32> =
            segment.bytes.as_chunks().0.iter().copied().map(u32::from_le_bytes).collect();
        let at = words.windows(3).position(is_rest)?;
        let first = segment.address + 4 * u32::try_from(at).ok()?;
        Some(first..first + REST_BYTES)
    });
    found.unwrap_or(0..0)
}

/// Returns true if three instructions set a register to [`REST_PASSES`] and count it down to 0.
fn is_rest(words: &[u32]) -> bool {
    let &[set, count, branch] = words else { return false };
    let register = set >> 7 & 31;
    // `li r, 64`, `addi r, r, -1`, `bnez r, -4`.
    set == REST_PASSES << 20 | register << 7 | 0x13
        && count == 0xFFF0_0013 | register << 15 | register << 7
        && branch == 0xFE00_1EE3 | register << 15
}

/// Number of passes of the rest loop in `kernel-profiler/src/tensix/port.rs`.
const REST_PASSES: u32 = 64;
/// Size in bytes of the rest function: `li`, the loop of two instructions, and `ret`.
const REST_BYTES: u32 = 16;

impl Run<'_> {
    /// If a hart is in its delay loop, advances it to the next time at which the host's read
    /// position can have changed.
    pub(super) fn skip_rest(&mut self, index: usize) {
        let risc = &mut self.machine.riscs.harts[index];
        let rest = &mut self.machine.processors[index].rest;
        if risc.state != HartState::Running || !rest.contains(risc.hart.pc()) {
            return;
        }
        let cycle = risc.hart.cycle();
        let tile = &self.stage.tile;
        let Some(limit_cycles) = limit_cycles(&self.stage.chip, tile, index) else { return };
        let simulated_from = rest.simulated_from(cycle, limit_cycles);
        // The host may have written since the hart's last check.
        if cycle < tile.host_wrote_at.saturating_add(LOOK_CYCLES) {
            return;
        }
        // Harts resume at multiples of [`SKIPPED_CYCLES_MAX`]. All cores thus resume together, and
        // few windows of time are needed.
        let goes_on = self.pause.min((cycle + 1).next_multiple_of(SKIPPED_CYCLES_MAX));
        let goes_on = goes_on.min(simulated_from);
        if goes_on > cycle {
            risc.hart.advance_to(goes_on);
            rest.skip_to(goes_on, goes_on - cycle);
        }
    }
}

/// Maximum number of cycles that one check and the delay loop after it take together.
const LOOK_CYCLES: u64 = 8192;
/// Maximum number of cycles skipped at once. A skip is limited because another RISC of the core may
/// end the wait during the skipped time.
const SKIPPED_CYCLES_MAX: u64 = 1 << 20;
