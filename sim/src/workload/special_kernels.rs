//! Workloads with unusual kernels: some measure the cost of probes, some issue instructions of the
//! coprocessor so that hardware counters count them, others fail.

use super::{Phase, Plan, WorkloadOptions};
use crate::{
    arch::TileCoord,
    chip::Chip,
    kernel::ObjectKernel,
    mesh::SimulatedMesh,
    program::{CoreSelection, Kernel, Launch, Program},
};
use std::sync::Arc;
use wire::Risc;

/// Returns launches of the kernel `calibration` on every RISC of the Tensix and Ethernet cores.
pub(super) fn probe_cost(_: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
    let program = Arc::new(on_every_risc("probe-cost", "calibration"));
    let ops = options.ops.unwrap_or(1);
    Plan::new((1..=ops).map(|id| Launch::new(&program, id).on(CoreSelection::All)))
}

const INSTRUCTION_LAUNCHES: u32 = 5;

/// Returns launches in which only TRISC 1 issues instructions to the coprocessor. Launch n issues
/// 100 n instructions of the FPU, 50 n of the SFPU, and 10 n of neither unit.
pub(super) fn instructions(_: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
    let kernel = ObjectKernel::shared("instructions");
    let program = Arc::new(Program::new("instructions").with_kernel(Risc::Trisc1, kernel));
    Plan::new((1..=options.ops.unwrap_or(INSTRUCTION_LAUNCHES)).map(|op| {
        let amounts = [100, 50, 10].map(|amount: u32| amount.saturating_mul(op));
        Launch::new(&program, op).with_args(&amounts)
    }))
}

/// Returns one launch per broken kernel, each on TRISC 1 of a different worker core. A launch of
/// correct kernels on the other worker cores follows, then, after a read, one on all worker cores.
pub(super) fn broken_kernels(mesh: &SimulatedMesh, _: &WorkloadOptions) -> Plan {
    let sound = on_every_risc("sound", "steps");
    let mut cores = worker_coords(mesh);
    let others = cores.split_off(ObjectKernel::BROKEN.len().min(cores.len()));
    let broken = ObjectKernel::BROKEN.into_iter().zip(cores).map(|(kernel, core)| {
        let program = sound.clone().named(kernel.object_name().unwrap_or_default());
        let program = program.with_kernel(Risc::Trisc1, Arc::new(kernel));
        (program, CoreSelection::At(vec![core]))
    });
    let programs = broken.chain([(sound.clone(), CoreSelection::At(others))]);
    let launches = (1..).zip(programs);
    let mut plan =
        Plan::new(launches.map(|(id, (program, at))| Launch::new(&Arc::new(program), id).on(at)));
    let last_id = u32::try_from(plan.launch_count()).unwrap_or(u32::MAX).saturating_add(1);
    let last = Launch::new(&Arc::new(sound), last_id).on(CoreSelection::AllTensix);
    plan.phases.push(Phase { launches: vec![last] });
    plan
}

fn on_every_risc(name: &str, kernel: &str) -> Program {
    let kernel = ObjectKernel::shared(kernel);
    Program::new(name).with_kernel_on_all(&kernel).with_kernel(Risc::Erisc, kernel)
}

/// Returns the worker cores of the first chip.
fn worker_coords(mesh: &SimulatedMesh) -> Vec<TileCoord> {
    mesh.chip(0).into_iter().flat_map(Chip::workers).map(|core| core.coord).collect()
}
