//! A kernel for the simulator that adds numbers, with a zone for each pass.
//!
//! `docs/kernels.md` describes how to compile, link and run it.

#![no_std]
#![no_main]

use core::{hint::black_box, panic::PanicInfo};
use kernel_profiler::{device_timestamped_data, device_zone_scoped};

/// Runs the kernel; called by the firmware. `launch` holds the number of the launch, two words of
/// seed, the count of the runtime arguments, and the runtime arguments.
///
/// # Safety
/// `launch` must point to all of these words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernel_main(launch: *const u32, _risc: u32) {
    // SAFETY: the caller promises these words.
    let word = |index: usize| unsafe { launch.add(index).read_volatile() };
    let passes = if word(3) > 0 { word(4) } else { 3 };
    let mut total = 0;
    for _ in 0..passes {
        device_zone_scoped!("ADD");
        for number in 0..16_u32 {
            total = black_box(total + number);
        }
    }
    device_timestamped_data!("TOTAL", u64::from(total));
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {
        // SAFETY: stops the RISC, which the simulator reports.
        unsafe { core::arch::asm!("ebreak") };
    }
}
