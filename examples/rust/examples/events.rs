//! Events: a 16-bit number, and the time at which it was recorded.

#![no_std]
#![no_main]

mod work;

use kernel_profiler::device_record_event;

/// Runs the kernel; called by the firmware.
///
/// # Safety
/// `launch` must point to the launch's words: see `work::word`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernel_main(_launch: *const u32, _risc: u32) {
    device_record_event!(1);
    work::work(100);
    device_record_event!(2);
}
