//! A kernel whose NoC writes are not counted by the counters that barriers read, as in tt-metal's
//! fabric.

use crate::{
    body::Environment,
    noc::{CTRL_ANSWERED_WRITE, CTRL_POSTED_WRITE, Initiator, Remote},
    risc::Launch,
};
use kernel_profiler::{device_zone_scoped, quick_push};

/// Sends `arg(0)` uncounted writes of 16 bytes each; the writes are posted if `arg(1)` is not 0.
///
/// Each write copies the first 16 data bytes to a higher L1 address. A zone precedes and follows.
pub(crate) fn uncounted_writes(launch: &mut Launch) {
    {
        device_zone_scoped!("BEFORE-WRITES");
    }
    let noc = Initiator::from_risc(launch.risc());
    let data = launch.data_address();
    let control = if launch.arg(1) != 0 { CTRL_POSTED_WRITE } else { CTRL_ANSWERED_WRITE };
    for write in 0..launch.arg(0) {
        let to = Remote { tile: noc.own_tile(), address: data + 16 * (write + 1) };
        noc.write(data, to, 16, control);
    }
    quick_push();
    device_zone_scoped!("AFTER-WRITES");
}
