//! Detects that a core has no more records of a launch to write. The core has then written all
//! records to DRAM, or has published them all in its rings.
//!
//! BRISC signals the end of a launch to the host before its own main zone ends. Therefore, BRISC
//! may still write records after the signal.

use crate::{runner::TtsimMesh, simulator::TtsimError};
use wire::{
    control::{ControlLayout, ext},
    risc::RISCS_PER_CORE,
    stream::{Policy, ToldLaunch, words},
};

/// A core's control vector.
type Control = [u32; ControlLayout::WORDS64.word_count];

impl TtsimMesh {
    /// Returns true if all cores have written all records of their finished launches to DRAM, or
    /// published them in their rings.
    pub(crate) fn has_closed(&mut self) -> Result<bool, TtsimError> {
        while let Some((&index, &done_at)) = self.closing.first_key_value() {
            let core = &self.cores[index];
            if core.code.has_profiler() {
                let mut control: Control = [0; _];
                let address = core.control_address;
                self.device.simulator.read_words(core.tile, address, &mut control)?;
                let clocks = self.device.simulator.clock() - done_at;
                if !is_over(&control, clocks) {
                    let limit = CLOCKS_MAX + longest_wait(&control);
                    let what = "has not pushed or published its last records";
                    return if clocks > limit { Err(core.stuck(what, clocks)) } else { Ok(false) };
                }
            }
            self.closing.remove(&index);
        }
        Ok(true)
    }
}

/// Returns true if a core will deliver no more records of its last launch. `clocks` is the number
/// of clocks since the core signalled the end of the launch.
fn is_over(control: &Control, clocks: u64) -> bool {
    if control[ext::SIGNATURE] != words::SIGNATURE_VALUE {
        return control[ControlLayout::WORDS64.profiler_done] == 1;
    }
    let launch = control[words::LAUNCHES];
    let told = |risc: usize| {
        let told = ToldLaunch::from_word(control[words::TOLD + risc]);
        told.filter(|told| u32::from(told.number) == launch & 0xFFFF)
    };
    let has_ended = |risc| told(risc).is_none_or(|told| told.has_ended);
    // If its ring was full, BRISC could not announce the launch, and does not announce the end of
    // the launch either. In that case BRISC waits at most once more for room in its ring.
    let is_silent = launch != 0 && told(0).is_none();
    let least = CLOSING_CLOCKS + if is_silent { longest_wait(control) } else { 0 };
    clocks >= least && (0..RISCS_PER_CORE).all(has_ended)
}

/// Returns the maximum number of clocks that BRISC waits for room in its ring.
fn longest_wait(control: &Control) -> u64 {
    match Policy::from_word(control[words::POLICY]) {
        Some(Policy::Block { cycles_log2 }) => 1 << cycles_log2,
        _ => 0,
    }
}

/// Maximum number of clocks from the end signal to the end of BRISC's main zone, if BRISC does not
/// wait for room.
const CLOSING_CLOCKS: u64 = 2000;
/// Maximum number of clocks that a core takes to write its records to DRAM.
const CLOCKS_MAX: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn streaming(launch: u32, told: [u32; 2], policy: u32) -> Control {
        let mut control = [0; _];
        control[5] = 0x4B53_1000;
        control[51] = launch;
        control[14..16].copy_from_slice(&told);
        control[9] = policy;
        control
    }

    #[test]
    fn a_push_is_over_when_it_is_told() {
        let mut control = [0; _];
        assert!(!is_over(&control, u64::MAX));
        control[57] = 1;
        assert!(is_over(&control, 0));
    }

    #[test]
    fn streamed_records_are_over_when_every_risc_that_announced_the_launch_ended_it() {
        const ENDED: u32 = 0x3_8000;
        let cases = [
            (streaming(3, [ENDED, ENDED], 0), 1999, false),
            (streaming(3, [ENDED, ENDED], 0), 2000, true),
            (streaming(3, [0x3_0000, ENDED], 0), 9_000_000, false),
            (streaming(3, [ENDED, 0x3_0000], 0), 9_000_000, false),
            // NCRISC ran no kernel, or found its ring full.
            (streaming(3, [ENDED, 0x2_8000], 0), 2000, true),
            // BRISC found its ring full, and may wait 2^12 cycles at its end.
            (streaming(3, [0x2_8000, ENDED], 2 | 12 << 2), 2000 + 4095, false),
            (streaming(3, [0x2_8000, ENDED], 2 | 12 << 2), 2000 + 4096, true),
            (streaming(3, [0x2_8000, ENDED], 0), 2000, true),
            // No launch has run a kernel on this core.
            (streaming(0, [0, 0], 2 | 12 << 2), 2000, true),
        ];
        for (index, (control, clocks, expected)) in cases.iter().enumerate() {
            assert_eq!(is_over(control, *clocks), *expected, "case {index}");
        }
    }
}
