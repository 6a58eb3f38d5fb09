//! The simulator's kernels as object code: one exported function each.
//!
//! Their bodies are in the simulator's `kernel::body` and `kernel::script_body`, which native
//! kernels share. [`broken`], [`tiles`] and [`uncounted`] have no native twins, since no native
//! kernel can do what they do.

#![no_std]

#[path = "../../../src/kernel/body.rs"]
mod body;
mod broken;
#[cfg(feature = "dispatch")]
mod dispatch;
#[path = "../../../src/machine/mailbox.rs"]
#[allow(dead_code, reason = "most words are for the firmware and the simulator")]
mod mailbox;
mod noc;
#[path = "../../../src/random.rs"]
#[allow(dead_code, reason = "kernels need only some of it")]
mod random;
mod registers;
mod risc;
#[path = "../../../src/kernel/script_body.rs"]
mod script_body;
#[cfg(feature = "waits")]
#[path = "../../../src/kernel/tile_words.rs"]
#[allow(dead_code, reason = "the number of words is for the simulator")]
mod tile_words;
#[cfg(feature = "waits")]
mod tiles;
mod uncounted;
