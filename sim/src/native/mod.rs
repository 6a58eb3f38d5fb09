//! Native kernels: Rust functions that run on simulated RISCs.
//!
//! `stage` holds the tile that this thread is running, `port` is what the profiler's
//! runtime stands on there, `firmware` is what starts kernels and ends them. A kernel
//! itself needs only the functions of this module, besides the profiler's macros.

pub(crate) mod firmware;
pub(crate) mod port;
pub mod script;
pub(crate) mod stage;
pub mod sync;

use crate::program::KernelContext;
use wire::Cycles;

/// Lets a number of cycles pass on the RISC that runs on this thread.
///
/// # Panics
/// Outside of a kernel.
pub fn spin(cycles: u64) {
    stage::with(|stage| stage.spin(cycles));
}

/// Returns the present value of the tile's wall clock, read without cost.
///
/// # Panics
/// Outside of a kernel.
#[must_use]
pub fn now() -> Cycles {
    stage::with(|stage| stage.wall_clock())
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
