//! Every probe of the profiler in a function of its own, to read and to count.
//!
//! Loops are where kernels spend their time, so each probe stands in one; `nothing` is the
//! loop without a probe. Functions come in ones and eights, so that the difference is what
//! seven more call sites take.

#![no_std]

#[cfg(feature = "sums")]
mod launch;
mod risc;

use kernel_profiler::{
    device_record_event, device_timestamped_data, device_zone_scoped, device_zone_scoped_sum1,
};
#[cfg(feature = "sums")]
use launch::whole_launch;
use risc::body;

/// A function that does something so many times.
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
    /// The loop alone.
    nothing {}
    /// A zone.
    zone { device_zone_scoped!("ZONE"); }
    /// Data with a time.
    data { device_timestamped_data!("DATA", 0x1122_3344_5566_7788); }
    /// An event.
    event { device_record_event!(7); }
    /// A sum zone; nothing where sums are not recorded.
    sum { device_zone_scoped_sum1!("SUM"); }
}

/// One call site.
pub(crate) fn zone_sites_1(_: u32) {
    {
        device_zone_scoped!("SITE");
        body();
    }
}

/// Eight call sites.
pub(crate) fn zone_sites_8(_: u32) {
    {
        device_zone_scoped!("SITE-1");
        body();
    }
    {
        device_zone_scoped!("SITE-2");
        body();
    }
    {
        device_zone_scoped!("SITE-3");
        body();
    }
    {
        device_zone_scoped!("SITE-4");
        body();
    }
    {
        device_zone_scoped!("SITE-5");
        body();
    }
    {
        device_zone_scoped!("SITE-6");
        body();
    }
    {
        device_zone_scoped!("SITE-7");
        body();
    }
    {
        device_zone_scoped!("SITE-8");
        body();
    }
}

/// Opens the main zone of a launch and leaves it open.
pub(crate) fn open_main(_: u32) {
    kernel_profiler::init();
}

/// Closes what a launch has recorded.
pub(crate) fn finish(_: u32) {
    kernel_profiler::finish();
}

/// Pushes what has been recorded so far.
pub(crate) fn quick_push(_: u32) {
    kernel_profiler::quick_push();
}
