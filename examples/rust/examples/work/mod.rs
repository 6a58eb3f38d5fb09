//! Work, runtime arguments and panic handler of the example kernels.

use core::panic::PanicInfo;

/// Runs for at least `cycles` cycles.
#[allow(dead_code, reason = "not every example has it")]
pub fn work(cycles: u32) {
    for _ in 0..cycles {
        // SAFETY: the instruction does nothing.
        unsafe { core::arch::asm!("nop") };
    }
}

/// Returns a word of the launch: its number, two words of seed, argument count, arguments.
///
/// # Safety
/// `launch` must point to more than `index` words.
#[allow(dead_code, reason = "not every example has arguments")]
pub unsafe fn word(launch: *const u32, index: usize) -> u32 {
    // SAFETY: the caller promises these words.
    unsafe { launch.add(index).read_volatile() }
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {
        // SAFETY: stops the RISC, which the simulator reports.
        unsafe { core::arch::asm!("ebreak") };
    }
}

/// Returns the low word of the tile's clock.
#[allow(dead_code, reason = "each example includes this module")]
pub fn now() -> u32 {
    // SAFETY: the clock of a Tensix tile is at this address on both chips.
    unsafe { core::ptr::read_volatile(0xFFB1_21F0 as *const u32) }
}
