//! Random kernels on random cores, for tests that compare a reader's results with the truth.

use super::{Plan, WorkloadOptions};
use crate::{
    arch::TileCoord,
    kernel::script::{Script, ScriptShape},
    mesh::SimulatedMesh,
    program::{CoreSelection, Launch, Program},
    random::Stream,
};
use std::sync::Arc;
use wire::{CoreKind, Risc};

const DEFAULT_OPS: u32 = 20;

pub(super) fn random(mesh: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
    scripts(mesh, options, false)
}

pub(super) fn quick_push(mesh: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
    scripts(mesh, options, true)
}

fn scripts(mesh: &SimulatedMesh, options: &WorkloadOptions, has_pushes: bool) -> Plan {
    let coords = all_coords(mesh);
    let mut random = Stream::new(options.seed, &[SCRIPT_STREAM]);
    Plan::new((1..=options.ops.unwrap_or(DEFAULT_OPS)).map(|id| {
        let program = Arc::new(random_program(&mut random, has_pushes));
        let launch = Launch::new(&program, id).on(random_cores(&mut random, &coords));
        if random.chance(100_000) { launch.beginning_trace_replay() } else { launch }
    }))
}

fn all_coords(mesh: &SimulatedMesh) -> Vec<TileCoord> {
    let cores = mesh.chips().flat_map(|chip| chip.plan().cores());
    let coords: std::collections::BTreeSet<TileCoord> = cores.map(|core| core.coord).collect();
    coords.into_iter().collect()
}

/// Returns a program that has, on each RISC, a different random script or no kernel.
fn random_program(random: &mut Stream, has_pushes: bool) -> Program {
    let riscs = (0..5).filter_map(|index| CoreKind::Tensix.risc(index)).chain([Risc::Erisc]);
    riscs.fold(Program::new("random"), |program, risc| {
        if random.chance(250_000) {
            return program;
        }
        // Most scripts are short, so that many launches fit in DRAM; some make more records than
        // fit in L1.
        let step_max = if random.chance(50_000) { 600 } else { 60 };
        let depth_max = random.between(1, 12);
        let script = Script::random(random, &ScriptShape { step_max, depth_max, has_pushes });
        program.with_kernel(risc, Arc::new(script))
    })
}

fn random_cores(random: &mut Stream, coords: &[TileCoord]) -> CoreSelection {
    match random.below(4) {
        0 => CoreSelection::All,
        1 => CoreSelection::AllTensix,
        _ => {
            let share = u32::try_from(random.between(50_000, 900_000)).unwrap_or(0);
            let chosen = coords.iter().copied().filter(|_| random.chance(share));
            CoreSelection::At(chosen.collect())
        }
    }
}

const SCRIPT_STREAM: u64 = 0x5C;
