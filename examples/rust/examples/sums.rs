//! Two sum zones: the cycles of two parts of a loop, each added up over all passes into one record.
//!
//! Needs the feature `sums` and `kprof run --enable-sum-profiling`.

#![no_std]
#![no_main]

mod work;

use kernel_profiler::{device_zone_scoped_sum1, device_zone_scoped_sum2};

/// Runs the kernel; called by the firmware.
///
/// # Safety
/// `launch` must point to the launch's words: see `work::word`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernel_main(_launch: *const u32, _risc: u32) {
    for _ in 0..8 {
        {
            device_zone_scoped_sum1!("AccumulatedCompute");
            work::work(300);
        }
        {
            device_zone_scoped_sum2!("AccumulatedStore");
            work::work(100);
        }
    }
}
