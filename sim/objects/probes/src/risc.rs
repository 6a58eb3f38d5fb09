//! What the probes stand on without firmware.

#![allow(unsafe_code, reason = "exported functions, symbols that firmware has, an empty body")]

use core::{arch::asm, panic::PanicInfo};

/// Stands for what a zone measures: one store, which the probes' code must not move across.
#[inline(always)]
pub(crate) fn body() {
    // SAFETY: an instruction without effect that the compiler cannot look into.
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
    zone ".text.probe.zone"
    data ".text.probe.data"
    event ".text.probe.event"
    sum ".text.probe.sum"
    zone_sites_1 ".text.probe.zone_sites_1"
    zone_sites_8 ".text.probe.zone_sites_8"
    open_main ".text.probe.open_main"
    finish ".text.probe.finish"
    quick_push ".text.probe.quick_push"
}

#[cfg(feature = "sums")]
exported! {
    whole_launch ".text.probe.whole_launch"
}

#[cfg(feature = "enabled")]
kernel_profiler::firmware_state!();

#[panic_handler]
fn stop(_: &PanicInfo<'_>) -> ! {
    loop {
        // SAFETY: stops the core.
        unsafe { asm!("ebreak") };
    }
}
