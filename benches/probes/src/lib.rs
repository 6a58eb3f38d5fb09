//! Every probe of the profiler in its own function, for inspection and cost measurement.
//!
//! Kernels spend their time in loops, so each probe is in a loop; `nothing` is the loop without a
//! probe. Some functions have one call site of a probe, others eight: the difference is the cost of
//! seven more call sites.

#![no_std]

#[cfg(feature = "sums")]
mod launch;
mod risc;
mod waits;

use kernel_profiler::{
    device_record_event, device_timestamped_data, device_timestamped_data_16b, device_zone_scoped,
    device_zone_scoped_sum1, record_noc_event_with_addr,
};
#[cfg(feature = "sums")]
use launch::{kernel_zone, whole_launch};
use risc::body;

/// NoC address of a tile.
const TILE: u64 = 18 << 36 | 25 << 42 | 0x1000;

/// Defines a function that repeats an action a number of times.
macro_rules! looped {
    ($($(#[$doc:meta])* $name:ident { $($probe:tt)* })*) => {
        $(
            $(#[$doc])*
            pub(crate) fn $name(count: u32) {
                for _ in 0..count {
                    $($probe)*
                    body();
                }
            }
        )*
    };
}

looped! {
    /// The loop without a probe.
    nothing {}
    /// The start of a zone.
    open { open_zone(); }
    /// A zone.
    zone { device_zone_scoped!("ZONE"); }
    /// Timestamped data.
    data { device_timestamped_data!("DATA", 0x1122_3344_5566_7788); }
    /// Timestamped data of 128 bits.
    data_16b { device_timestamped_data_16b!("DATA", 1, 2); }
    /// An event.
    event { device_record_event!(7); }
    /// A write of 2048 bytes to a tile.
    noc_event { record_noc_event_with_addr!(Write, 0_u32, TILE, 2048, 1, false, 0); }
    /// A sum zone; does nothing if sums are not recorded.
    sum { device_zone_scoped_sum1!("SUM"); }
}

/// Defines a function with one call site of a probe and a function with eight call sites.
macro_rules! sites {
    ($($one:ident $eight:ident { $($probe:tt)* })*) => {
        $(
            /// One call site.
            pub(crate) fn $one(_: u32) {
                { $($probe)* body(); }
            }

            /// Eight call sites.
            pub(crate) fn $eight(_: u32) {
                { $($probe)* body(); }
                { $($probe)* body(); }
                { $($probe)* body(); }
                { $($probe)* body(); }
                { $($probe)* body(); }
                { $($probe)* body(); }
                { $($probe)* body(); }
                { $($probe)* body(); }
            }
        )*
    };
}

sites! {
    nothing_sites_1 nothing_sites_8 {}
    zone_sites_1 zone_sites_8 { device_zone_scoped!("ZONE"); }
    open_sites_1 open_sites_8 { open_zone(); }
    data_sites_1 data_sites_8 { device_timestamped_data!("DATA", 0x1122_3344_5566_7788); }
    data_16b_sites_1 data_16b_sites_8 { device_timestamped_data_16b!("DATA", 1, 2); }
    event_sites_1 event_sites_8 { device_record_event!(7); }
    noc_event_sites_1 noc_event_sites_8 {
        record_noc_event_with_addr!(Write, 0_u32, TILE, 2048, 1, false, 0);
    }
    sum_sites_1 sum_sites_8 { device_zone_scoped_sum1!("SUM"); }
}

/// Opens a zone that no guard closes.
#[inline(always)]
fn open_zone() {
    core::mem::forget(kernel_profiler::__private::open_zone::<7>());
}

/// Opens the main zone of a launch and leaves it open.
pub(crate) fn open_main(_: u32) {
    kernel_profiler::init();
}

/// Ends a launch and its recording.
pub(crate) fn finish(_: u32) {
    kernel_profiler::finish();
}

/// Pushes the records made so far.
pub(crate) fn quick_push(_: u32) {
    kernel_profiler::quick_push();
}
