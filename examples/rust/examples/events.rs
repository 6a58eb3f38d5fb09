//! Events: a number of 16 bits and the time.

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
