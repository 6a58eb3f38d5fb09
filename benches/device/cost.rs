//! Cost of one pass of a probe's loop.

use crate::bare_core::BareCore;
use sim::{arch::Arch, machine::images::ParsedImage};

/// Numbers of passes of a short and a long loop. The cost of a pass follows from the difference.
const PASSES: [u32; 2] = [8, 24];

/// Returns instructions and cycles of one pass, without the loop itself.
pub(crate) fn per_pass(arch: Arch, image: &'static ParsedImage, probe: &str) -> (f64, f64) {
    let slope = |name: &str| {
        let [short, long] = PASSES.map(|passes| {
            let mut core = BareCore::new(arch, image);
            core.call("open_main", 0);
            core.call(name, passes);
            core.call("open_main", 0);
            core.call(name, passes)
        });
        let passes = f64::from(PASSES[1] - PASSES[0]);
        let difference = |long: u64, short: u64| (long - short) as f64 / passes;
        (
            difference(long.instruction_count, short.instruction_count),
            difference(long.cycle_count, short.cycle_count),
        )
    };
    let (probe, loop_alone) = (slope(probe), slope("nothing"));
    (probe.0 - loop_alone.0, probe.1 - loop_alone.1)
}
