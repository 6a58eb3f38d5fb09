//! Kernels that issue instructions to the coprocessor, for hardware counters.

use super::{Plan, WorkloadOptions};
use crate::{
    kernel::ObjectKernel,
    mesh::SimulatedMesh,
    program::{Launch, Program},
};
use std::sync::Arc;
use wire::Risc;

const DEFAULT_OPS: u32 = 5;

/// Returns launches in which only TRISC 1 issues instructions. Launch n issues 100 n instructions
/// of the FPU, 50 n of the SFPU, and 10 n of neither unit.
pub(super) fn plan(_: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
    let kernel = ObjectKernel::shared("instructions");
    let program = Arc::new(Program::new("instructions").with_kernel(Risc::Trisc1, kernel));
    Plan::new(
        (1..=options.ops.unwrap_or(DEFAULT_OPS))
            .map(|op| {
                let amounts = [100, 50, 10].map(|amount: u32| amount.saturating_mul(op));
                Launch::new(&program, op).with_args(&amounts)
            })
            .collect(),
    )
}
