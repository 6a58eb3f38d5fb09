//! The simulator's kernels as object code, each as an exported function.
//!
//! Most kernels are in [`body`] and `script_body`. [`broken`] has the kernels that fail, [`tiles`]
//! those that wait for each other, and [`uncounted`] those with NoC writes that no barrier waits
//! for. With the feature `relay`, the only kernel is the relay's.

#![no_std]

#[cfg(not(feature = "relay"))]
#[path = "../../../src/kernel/body.rs"]
mod body;
#[cfg(not(feature = "relay"))]
mod broken;
#[cfg(feature = "dispatch")]
mod dispatch;
#[cfg(feature = "dispatch")]
#[path = "../../../src/dispatch/words.rs"]
mod dispatch_words;
#[path = "../../../src/machine/mailbox.rs"]
#[allow(dead_code, reason = "most words are for the firmware and the simulator")]
mod mailbox;
#[cfg(not(feature = "relay"))]
mod noc;
mod panic;
#[cfg(not(feature = "relay"))]
#[path = "../../../src/random.rs"]
#[allow(dead_code, reason = "kernels need only some of it")]
mod random;
#[cfg(not(feature = "relay"))]
mod registers;
#[cfg(feature = "relay")]
mod relay;
#[cfg(not(feature = "relay"))]
mod risc;
#[cfg(not(feature = "relay"))]
#[path = "../../../src/kernel/script_body.rs"]
mod script_body;
#[cfg(not(feature = "relay"))]
#[path = "../../../src/kernel/tile_words.rs"]
#[allow(dead_code, reason = "the number of words is for the simulator")]
mod tile_words;
#[cfg(not(feature = "relay"))]
mod tiles;
#[cfg(not(feature = "relay"))]
mod uncounted;
