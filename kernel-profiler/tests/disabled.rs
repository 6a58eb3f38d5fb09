//! With the profiler switched off, every macro type-checks its arguments and evaluates none of
//! them.
#![cfg(not(feature = "enabled"))]

use kernel_profiler::{
    FabricRoute, device_increment_trace_count, device_profiler_init, device_record_event,
    device_timestamped_data, device_timestamped_data_16b, device_trace_only_profiler_init,
    device_validate_profiler, device_zone_scoped, device_zone_scoped_if, device_zone_scoped_main,
    device_zone_scoped_main_child, device_zone_scoped_sum1, device_zone_scoped_sum2,
    device_zone_set_counter, noc_trace_quick_push_if_linked, record_fabric_event,
    record_fabric_route, record_fabric_scatter_event, record_noc_event, record_noc_event_with_addr,
    src_loc_name_to_hash,
};

fn never<T>() -> T {
    panic!("an argument was evaluated")
}

#[test]
fn no_argument_is_evaluated() {
    device_profiler_init!();
    device_increment_trace_count!();
    device_trace_only_profiler_init!();
    device_zone_scoped_main!("FW");
    device_validate_profiler!(never::<bool>());
    device_zone_set_counter!(never::<u32>());
    device_zone_scoped_main_child!("KERNEL");
    device_zone_scoped!("A");
    device_zone_scoped_if!("B", never::<bool>());
    device_zone_scoped_sum1!("S1");
    device_zone_scoped_sum2!("S2");
    device_timestamped_data!("D", never::<u64>());
    device_timestamped_data_16b!("E", never::<u64>(), never::<u64>());
    device_record_event!(never::<u16>());
    record_noc_event!(FullBarrier, never::<bool>(), never::<u8>());
    record_noc_event_with_addr!(Write, never::<u32>(), never::<u64>(), 1, 1, false, 0);
    noc_trace_quick_push_if_linked!(never::<u32>(), never::<bool>());
    record_fabric_event!(FabricUnicastWrite, never::<FabricRoute>(), never::<u64>(), 0);
    record_fabric_scatter_event!(FabricRoute::Regular, never::<u64>(), never::<u16>(), 1, 0);
    record_fabric_route!(line never::<u32>());
    record_fabric_route!(unavailable);
}

#[test]
fn functions_are_there_and_do_nothing() {
    kernel_profiler::init();
    kernel_profiler::quick_push();
    kernel_profiler::quick_push_if_linked(0, true);
    kernel_profiler::flush_to_dram_if_full(4);
    kernel_profiler::finish();
}

#[test]
fn ids_stay_what_they_are() {
    #[rustfmt::skip]
    let (text, id) = (concat!("A,", file!(), ",", line!(), ",KERNEL_PROFILER"), src_loc_name_to_hash!("A"));
    assert_eq!(wire::ZoneId(id), wire::ZoneId::from_text(text));
}
