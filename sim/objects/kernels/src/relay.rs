//! The relay as a kernel of BRISC. Its launch brings the words of [`wire::relay::setup`] as data.

#![allow(unsafe_code, reason = "the launch message, and the memory that it names")]

use crate::mailbox::{DATA, LAUNCH_INDEX, OWN_COORDINATES};
use kernel_profiler::relay::tensix;

#[unsafe(no_mangle)]
#[unsafe(link_section = ".text.kernel")]
extern "C" fn relay(message: *const u32, _: u32) {
    let word = |offset: u32| {
        let word = message.wrapping_byte_add(offset.wrapping_sub(LAUNCH_INDEX) as usize);
        // SAFETY: the firmware passes the address of the message, of which these are words.
        unsafe { word.read_volatile() }
    };
    let own = word(OWN_COORDINATES);
    let own_tile = own & 0x3F | (own >> 8 & 0x3F) << 6;
    // SAFETY: the launch has brought such words, and runs nothing else on the core.
    unsafe { tensix::run(word(DATA), own_tile) };
}
