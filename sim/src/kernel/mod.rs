//! Kernels of the simulator's object code, and the number of records that each kernel makes if its
//! buffers have room.
//!
//! The kernels' bodies are in [`body`] and [`script_body`], which are compiled by
//! `sim/objects/kernels`.

pub mod body;
pub mod file;
mod object;
pub mod script;
pub mod script_body;
pub mod tile_words;

use crate::program::{Emission, KernelContext};
pub use object::ObjectKernel;

/// Returns `each` multiplied by the kernel's first argument, which is its number of passes.
fn times(context: &KernelContext, each: Emission) -> Emission {
    each * u64::from(context.arg(0))
}

/// Returns the NoC events of a kernel's transfers; none on a RISC without a NoC. The number of
/// transfers is the runtime argument with the index `argument`.
fn transfers(context: &KernelContext, argument: usize) -> Emission {
    DATA * (events_of_transfer(context) * u64::from(context.arg(argument)))
}

/// Returns the number of NoC events per transfer: one for the transfer and, if waits for the NoC
/// are recorded, one for the wait.
pub(crate) const fn events_of_transfer(context: &KernelContext) -> u64 {
    match (context.noc(), context.records_noc_waits) {
        (None, _) => 0,
        (Some(_), false) => 1,
        (Some(_), true) => 2,
    }
}

/// Returns one total for each of `accumulators` sum zones, if such zones are recorded.
fn sums(context: &KernelContext, accumulators: u64) -> Emission {
    let is_recorded = context.sums_enabled && context.arg(0) > 0;
    Emission { sums: if is_recorded { accumulators } else { 0 }, ..Emission::NONE }
}

const EVENT: Emission = Emission { events: 1, ..Emission::NONE };
const DATA: Emission = Emission { data: 1, ..Emission::NONE };

const ALL: &[ObjectKernel] = &[
    ObjectKernel::ready("empty", |_| Emission::NONE),
    ObjectKernel::ready("short", |_| Emission::NONE),
    ObjectKernel::ready("work", |_| Emission::zones(1)),
    ObjectKernel::ready("full_buffer", |_| Emission::zones(body::FULL_BUFFER_ZONES.into())),
    ObjectKernel::ready("timestamped_events", |_| {
        (Emission::zones(1) + DATA + EVENT) * body::EVENT_PASSES.into()
    }),
    ObjectKernel::ready("wide_data", |context| times(context, DATA)),
    ObjectKernel::ready("instructions", |_| Emission::zones(1)),
    ObjectKernel::ready("cycle_count", |_| Emission::zones(1)),
    ObjectKernel::ready("steps", |_| Emission::zones(body::STEPS.into())),
    ObjectKernel::ready("paced", |context| times(context, Emission::zones(1))),
    ObjectKernel::ready("calibration", |_| {
        (Emission::zones(6) + DATA + DATA + EVENT) * body::CALIBRATION_PASSES.into()
    }),
    ObjectKernel::ready("reads", |context| times(context, Emission::zones(1))),
    ObjectKernel::ready("numbers", |context| times(context, Emission::zones(1) + DATA)),
    ObjectKernel::ready("sums", |context| sums(context, 2)),
    ObjectKernel::ready("matmul_reader", |context| {
        times(context, Emission::zones(1) + DATA) + sums(context, 1)
    }),
    ObjectKernel::ready("matmul_tile_reader", |context| {
        times(context, Emission::zones(1) + DATA + transfers(context, 1)) + sums(context, 1)
    }),
    ObjectKernel::ready("matmul_tile_writer", |context| {
        Emission::zones(2) + DATA + transfers(context, 2)
    }),
    ObjectKernel::ready("matmul_unpack", |context| {
        times(context, Emission::zones(1)) + sums(context, 1)
    }),
    ObjectKernel::ready("matmul_math", |context| {
        Emission::zones(1) + times(context, Emission::zones(1) + EVENT) + sums(context, 2)
    }),
    ObjectKernel::ready("matmul_pack", |context| Emission::zones(1) + sums(context, 1)),
    ObjectKernel::ready("matmul_writer", |_| Emission::zones(2) + DATA),
];
