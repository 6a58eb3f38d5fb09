//! Workloads that overfill the profiler's buffers: they make more markers, or run more launches,
//! than the buffers hold.
//!
//! # Compatibility
//! `tests/tt_metal/tools/profiler/test_device_profiler.py` and the programs it runs.

use super::{Phase, Plan, WorkloadOptions};
use crate::{
    kernel::ObjectKernel,
    mesh::SimulatedMesh,
    program::{CoreSelection, Kernel, Launch, Program},
};
use std::sync::Arc;
use wire::{Risc, vector::FIRST_OPTIONAL};

const FULL_BUFFER_LAUNCHES: u32 = 23;

pub(super) fn full_buffer(_: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
    let kernel = ObjectKernel::shared("full_buffer");
    let ops = options.ops.unwrap_or(FULL_BUFFER_LAUNCHES);
    same_kernel("full-buffer", &kernel, ops, options)
}

const EVENT_LAUNCHES: u32 = 2;

pub(super) fn timestamped_events(_: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
    let kernel = ObjectKernel::shared("timestamped_events");
    let ops = options.ops.unwrap_or(EVENT_LAUNCHES);
    same_kernel("timestamped-events", &kernel, ops, options)
}

const LONG_KERNEL_ZONES: u32 = 5000;

pub(super) fn long_kernel(_: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
    let kernel = ObjectKernel::shared("numbers");
    let program = Program::new("long-kernel").with_kernel(Risc::Brisc, Arc::clone(&kernel));
    let program = Arc::new(program.with_kernel(Risc::Ncrisc, kernel));
    Plan::launching(&program, options.ops.unwrap_or(1), &[LONG_KERNEL_ZONES])
}

/// Returns launches that run the same kernel on every RISC.
fn same_kernel(name: &str, kernel: &Arc<dyn Kernel>, ops: u32, options: &WorkloadOptions) -> Plan {
    let mut program = Program::new(name).with_kernel_on_all(kernel);
    let mut cores = CoreSelection::AllTensix;
    if options.has_ethernet {
        program = program.with_kernel(Risc::Erisc, Arc::clone(kernel));
        cores = CoreSelection::All;
    }
    let program = Arc::new(program);
    Plan::new((1..=ops).map(|id| Launch::new(&program, id).on(cores.clone())))
}

const MULTI_OP_ROUNDS: u32 = 2;
const MULTI_OP_LAUNCHES: u32 = 1000;

pub(super) fn multi_op(_: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
    let ops = options.ops.unwrap_or(MULTI_OP_LAUNCHES);
    let program = Arc::new(data_movement().with_compute());
    Plan {
        phases: (0..MULTI_OP_ROUNDS)
            .map(|round| {
                let ids = (1..=ops).map(|op| round * ops + op);
                Phase { launches: ids.map(|id| Launch::new(&program, id)).collect() }
            })
            .collect(),
        rules: Vec::new(),
    }
}

const OVERFLOW_LAUNCHES: u32 = 1400;
const OVERFLOW_COMPUTE_EVERY: u32 = 5;

pub(super) fn multi_op_overflow(_: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
    let ops = options.ops.unwrap_or(OVERFLOW_LAUNCHES);
    let (plain, computing) = (Arc::new(data_movement()), Arc::new(data_movement().with_compute()));
    Plan::new((0..ops).map(|op| {
        let is_computing = op.is_multiple_of(OVERFLOW_COMPUTE_EVERY);
        Launch::new(if is_computing { &computing } else { &plain }, op + 1)
    }))
}

pub(super) fn op_support_count(mesh: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
    let lane_words = mesh.chip(0).map_or(0, |chip| chip.facts().lane_words);
    let supported = lane_words / u32::try_from(FIRST_OPTIONAL).unwrap_or(1);
    let ops = options.ops.unwrap_or(supported + supported / 4);
    let program = Arc::new(Program::new("one-kernel").with_kernel(Risc::Brisc, short_kernel()));
    Plan::launching(&program, ops, &[])
}

/// Returns a program with a kernel on each of the two RISCs that move data.
fn data_movement() -> Program {
    let program = Program::new("multi-op").with_kernel(Risc::Brisc, short_kernel());
    program.with_kernel(Risc::Ncrisc, short_kernel())
}

impl Program {
    fn with_compute(self) -> Self {
        let riscs = [Risc::Trisc0, Risc::Trisc1, Risc::Trisc2];
        riscs.into_iter().fold(self, |program, risc| program.with_kernel(risc, short_kernel()))
    }
}

/// Returns a short kernel without zones of its own.
fn short_kernel() -> Arc<dyn Kernel> {
    ObjectKernel::shared("short")
}
