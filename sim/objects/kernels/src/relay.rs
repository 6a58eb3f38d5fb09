//! The kernel of a relay, which gathers other cores' records; it runs on the relay's BRISC and
//! NCRISC. The launch's data are the words of [`wire::relay::setup`]. A RISC that has no producers
//! gets no data, and does nothing.

#![allow(unsafe_code, reason = "the launch message, and the memory that it names")]

use crate::mailbox::{DATA, LAUNCH_INDEX};
use kernel_profiler::relay::tensix;

#[unsafe(no_mangle)]
#[unsafe(link_section = ".text.kernel")]
extern "C" fn relay(message: *const u32, risc: u32) {
    let data = DATA.wrapping_sub(LAUNCH_INDEX).wrapping_add(4 * risc) as usize;
    // SAFETY: the firmware passes the message's address, and `data` is the offset of a word in it.
    let setup = unsafe { message.wrapping_byte_add(data).read_volatile() };
    if setup == 0 {
        return;
    }
    // SAFETY: the launch stored the setup at this address and runs no other kernel on the NoC.
    unsafe { tensix::run(setup) };
}
