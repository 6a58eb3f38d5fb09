//! Begin and end of a launch: the entry points for firmware.

use super::{symbols, with};

/// Begins a launch on the RISC that pushes for its core, see `__kprof_begin`.
#[unsafe(no_mangle)]
extern "C" fn kprof_begin_core() {
    with(|state, port| state.begin_core(port));
}

/// Begins a launch on any other RISC.
#[unsafe(no_mangle)]
extern "C" fn kprof_begin_own() {
    with(|state, port| state.begin_own(port));
}

/// Ends a launch on the RISC that pushes for its core, see `__kprof_finish`.
#[unsafe(no_mangle)]
extern "C" fn kprof_finish_core() {
    with(|state, port| state.finish_core(port));
}

/// Ends a launch on any other RISC.
#[unsafe(no_mangle)]
extern "C" fn kprof_finish_own() {
    with(|state, port| state.finish_own(port));
}

/// Begins a launch on this RISC.
#[inline(always)]
pub(crate) fn begin() {
    if !cfg!(feature = "trace-only") {
        // SAFETY: the linker gives the name to one of the functions above.
        unsafe { symbols::__kprof_begin() };
    }
}

/// Ends a launch on this RISC.
#[inline(always)]
pub(crate) fn finish() {
    if !cfg!(feature = "trace-only") {
        // SAFETY: the linker gives the name to one of the functions above.
        unsafe { symbols::__kprof_finish() };
    }
}
