//! Launches that are measured as a whole. These launches have separate images, because another
//! caller would change which functions the compiler inlines into the measured end of a launch.

use kernel_profiler::{
    device_increment_trace_count, device_profiler_init, device_record_event,
    device_timestamped_data, device_validate_profiler, device_zone_scoped, device_zone_scoped_main,
    device_zone_scoped_main_child, device_zone_set_counter, src_loc_name_to_hash,
};

/// Runs the calls that firmware makes around a launch, with a kernel of nested zones inside.
pub(crate) fn whole_launch(count: u32) {
    device_profiler_init!();
    device_zone_scoped_main!("FW");
    device_validate_profiler!(u32::from(count != 0));
    device_zone_set_counter!(0x400 + count);
    device_increment_trace_count!();
    device_zone_scoped_main_child!("KERNEL");
    for pass in 0..count {
        device_zone_scoped!("OUTER");
        device_zone_scoped!("INNER");
        device_timestamped_data!("PASS", u64::from(pass));
        device_record_event!(src_loc_name_to_hash!("EVENT"));
    }
}

/// Repeats the kernel's main zone, which a real launch has only once.
pub(crate) fn kernel_zone(count: u32) {
    for _ in 0..count {
        device_zone_scoped_main_child!("LONE-KERNEL");
        crate::risc::body();
    }
}
