//! Workloads about time: long kernels, long pauses, and clock wraps.

use super::{Phase, Plan, WorkloadOptions};
use crate::{
    arch::TileCoord,
    fault::{
        ClockPlacement, Rule,
        rules::{Selection, TearClock, WrapClock},
    },
    kernel::ObjectKernel,
    mesh::SimulatedMesh,
    program::{Launch, Program},
};
use std::sync::Arc;
use wire::{Risc, cycles::TIMESTAMP_BITS};

pub(super) fn cycle_count(_: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
    let kernel = ObjectKernel::shared("cycle_count");
    let program = Arc::new(Program::new("cycle-count").with_kernel_on_all(&kernel));
    Plan::launching(&program, options.ops.unwrap_or(1), &[])
}

const NS_PER_MINUTE: u64 = 60_000_000_000;
const TWO_HOURS_MINUTES: u64 = 120;
const TWO_HOUR_LAUNCHES: u32 = 24;

/// Returns a plan of launches spread over two hours, in which the clocks of two cores wrap.
///
/// After an hour, the low 44 bits of one core's clock wrap during a launch. After half an hour, the
/// low word of another core's clock wraps between the two loads of a clock reading.
pub(super) fn two_hour(mesh: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
    let ops = options.ops.unwrap_or(TWO_HOUR_LAUNCHES);
    let spacing_ns = TWO_HOURS_MINUTES * NS_PER_MINUTE / u64::from(ops.max(1));
    let program =
        Arc::new(Program::new("two-hour").with_kernel_on_all(&ObjectKernel::shared("steps")));
    let launches = (0..ops)
        .map(|op| {
            let start_ns = u64::from(op) * spacing_ns;
            Launch::new(&program, op + 1).not_before_ns(start_ns)
        })
        .collect();
    // A launch lasts about 100 us, so it is in progress 40 us after its start.
    let [wrap_ns, tear_ns] = [ops / 2, ops / 4].map(|op| u64::from(op) * spacing_ns + 40_000);
    let rules = clock_rules(mesh, wrap_ns, tear_ns);
    Plan { phases: vec![Phase { launches }], rules }
}

fn clock_rules(mesh: &SimulatedMesh, wrap_ns: u64, tear_ns: u64) -> Vec<Arc<dyn Rule>> {
    let mut rules: Vec<Arc<dyn Rule>> = Vec::new();
    for chip in mesh.chips() {
        let coords: Vec<TileCoord> = chip.workers().map(|core| core.coord).collect();
        let everywhere = || Selection::everywhere().chip(chip.facts().chip_id);
        if let [wrapping, torn, ..] = coords[..] {
            let selection = everywhere().core(wrapping);
            let placement = ClockPlacement { bits: TIMESTAMP_BITS, at_ns: wrap_ns };
            rules.push(Arc::new(WrapClock { selection, placement }));
            let selection = everywhere().core(torn).risc(Risc::Brisc);
            rules.push(Arc::new(TearClock { selection, at_ns: tear_ns, within_us: 2 }));
        }
    }
    rules
}
