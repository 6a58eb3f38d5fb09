//! The simulator's kernels as object code: one exported function each.
//!
//! [`body`] and `script_body` have most of them, [`broken`], [`tiles`] and [`uncounted`] those that
//! go wrong, wait for each other or use the NoC behind the profiler's back.

#![no_std]

#[path = "../../../src/kernel/body.rs"]
mod body;
mod broken;
#[cfg(feature = "dispatch")]
mod dispatch;
#[cfg(feature = "dispatch")]
#[path = "../../../src/dispatch/words.rs"]
mod dispatch_words;
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
#[path = "../../../src/kernel/tile_words.rs"]
#[allow(dead_code, reason = "the number of words is for the simulator")]
mod tile_words;
mod tiles;
mod uncounted;
