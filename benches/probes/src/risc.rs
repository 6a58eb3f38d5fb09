//! Runtime environment in which probes run without firmware.

#![allow(unsafe_code, reason = "exported functions, symbols that firmware has, an empty body")]

use core::{arch::asm, panic::PanicInfo};

/// Placeholder for the code that a zone measures: one `nop`. The compiler does not move code of the
/// probes across this `nop`.
#[inline(always)]
pub(crate) fn body() {
    // SAFETY: `nop` has no effect.
    unsafe { asm!("nop") };
}

macro_rules! exported {
    ($($name:ident $section:literal)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(link_section = $section)]
            extern "C" fn $name(count: u32) {
                crate::$name(count);
            }
        )*
    };
}

exported! {
    nothing ".text.probe.nothing"
    open ".text.probe.open"
    zone ".text.probe.zone"
    data ".text.probe.data"
    data_16b ".text.probe.data_16b"
    event ".text.probe.event"
    noc_event ".text.probe.noc_event"
    sum ".text.probe.sum"
    nothing_sites_1 ".text.probe.nothing_sites_1"
    nothing_sites_8 ".text.probe.nothing_sites_8"
    open_sites_1 ".text.probe.open_sites_1"
    open_sites_8 ".text.probe.open_sites_8"
    zone_sites_1 ".text.probe.zone_sites_1"
    zone_sites_8 ".text.probe.zone_sites_8"
    data_sites_1 ".text.probe.data_sites_1"
    data_sites_8 ".text.probe.data_sites_8"
    data_16b_sites_1 ".text.probe.data_16b_sites_1"
    data_16b_sites_8 ".text.probe.data_16b_sites_8"
    event_sites_1 ".text.probe.event_sites_1"
    event_sites_8 ".text.probe.event_sites_8"
    noc_event_sites_1 ".text.probe.noc_event_sites_1"
    noc_event_sites_8 ".text.probe.noc_event_sites_8"
    sum_sites_1 ".text.probe.sum_sites_1"
    sum_sites_8 ".text.probe.sum_sites_8"
    open_main ".text.probe.open_main"
    finish ".text.probe.finish"
    quick_push ".text.probe.quick_push"
}

#[cfg(feature = "sums")]
exported! {
    kernel_zone ".text.probe.kernel_zone"
    whole_launch ".text.probe.whole_launch"
}

#[cfg(feature = "enabled")]
mod others {
    kernel_profiler::firmware_state!();

    unsafe extern "C" {
        fn kprof_begin_own();
        fn kprof_finish_own();
    }

    /// Begins a launch as a RISC that does not push for its core.
    #[unsafe(no_mangle)]
    #[unsafe(link_section = ".text.probe.begin_own")]
    extern "C" fn begin_own(_: u32) {
        // SAFETY: the firmware of a RISC that does not push for its core calls the same function.
        unsafe { kprof_begin_own() };
    }

    /// Ends the launch of a RISC that does not push for its core.
    #[unsafe(no_mangle)]
    #[unsafe(link_section = ".text.probe.finish_own")]
    extern "C" fn finish_own(_: u32) {
        // SAFETY: as above.
        unsafe { kprof_finish_own() };
    }
}

#[panic_handler]
fn stop(_: &PanicInfo<'_>) -> ! {
    loop {
        // SAFETY: `ebreak` only stops the core.
        unsafe { asm!("ebreak") };
    }
}
