//! Native kernels: Rust functions that run on simulated RISCs.
//!
//! `stage` holds the tile that this thread is running, `port` is what the profiler's
//! runtime stands on there, `firmware` is what starts kernels and ends them, `dataflow` has the
//! objects by which they wait for each other, and `exchange` carries signals between cores. A
//! kernel itself needs only the functions of this module, besides the profiler's macros.

pub mod dataflow;
pub(crate) mod envelope;
pub(crate) mod exchange;
pub(crate) mod firmware;
pub(crate) mod port;
pub mod script;
pub(crate) mod stage;
pub mod sync;

use crate::{kernel::body::Transfer, program::KernelContext};
use wire::Cycles;

/// Lets a number of cycles pass on the RISC that runs on this thread.
///
/// # Panics
/// Outside of a kernel.
pub fn spin(cycles: u64) {
    stage::with(|stage| stage.spin(cycles));
}

/// Returns the chip's cycle at which the RISC that runs on this thread is.
///
/// # Panics
/// Outside of a kernel.
pub(crate) fn chip_cycle() -> u64 {
    stage::with(|stage| stage.cycle_of(stage.context().risc.index()))
}

/// Lets the RISC that runs on this thread wait until a cycle of the chip.
///
/// # Panics
/// Outside of a kernel.
pub(crate) fn wait_until(chip_cycle: u64) {
    stage::with(|stage| stage.wait_until(stage.context().risc.index(), chip_cycle));
}

/// Returns the present value of the tile's wall clock, read without cost.
///
/// # Panics
/// Outside of a kernel.
#[must_use]
pub fn now() -> Cycles {
    stage::with(|stage| stage.wall_clock())
}

/// Coordinates of a tile as the NoC of the RISC takes them, the column's six bits below the row's:
/// target 0 is the tile itself, the others are those in front of DRAM banks, around and around.
///
/// # Panics
/// Outside of a kernel.
#[must_use]
pub fn tile(target: u32) -> u32 {
    stage::with(|stage| stage.coordinates(target))
}

/// Hands a transfer to the NoC of the RISC: it takes its time and is in the truth, but moves no
/// bytes, since native kernels have none. A RISC without a NoC of its own does nothing.
///
/// # Panics
/// Outside of a kernel.
pub fn transfer(transfer: &Transfer) {
    stage::with(|stage| stage.transfer_natively(transfer));
}

/// Texts of the zones that native kernels have opened so far: `name,file,line,tag`.
#[must_use]
pub fn registered_zones() -> Vec<String> {
    kernel_profiler::hosted::registered_zones()
}

/// Where and as what the kernel on this thread runs.
///
/// # Panics
/// Outside of a kernel.
#[must_use]
pub fn context() -> KernelContext {
    stage::with(|stage| stage.context().clone())
}

/// Number of the launch on its chip, from 0.
///
/// # Panics
/// Outside of a kernel.
#[must_use]
pub fn launch_index() -> u64 {
    stage::with(|stage| stage.context().launch_index)
}
