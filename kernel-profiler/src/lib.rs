//! The device-side profiler runtime.

#![no_std]
#![cfg_attr(not(target_arch = "riscv32"), forbid(unsafe_code))]
#![cfg_attr(target_arch = "riscv32", deny(unsafe_code))]

#[cfg(any(test, feature = "hosted"))]
extern crate std;

#[cfg(feature = "enabled")]
pub mod buffer;
#[cfg(feature = "enabled")]
pub mod flush;
#[cfg(all(feature = "enabled", any(target_arch = "riscv32", feature = "hosted")))]
mod guard;
#[cfg(feature = "enabled")]
pub mod hazards;
#[cfg(all(feature = "hosted", not(target_arch = "riscv32")))]
pub mod hosted;
#[cfg(feature = "enabled")]
mod lane;
#[cfg(feature = "enabled")]
pub mod launch;
#[cfg(feature = "enabled")]
pub mod loss;
mod macros;
pub mod names;
pub mod port;
#[cfg(all(feature = "enabled", any(target_arch = "riscv32", feature = "hosted")))]
mod probe;
#[cfg(not(all(feature = "enabled", any(target_arch = "riscv32", feature = "hosted"))))]
#[path = "disabled.rs"]
mod probe;
#[cfg(all(feature = "hosted", not(target_arch = "riscv32")))]
use hosted as processor;
#[cfg(feature = "enabled")]
pub mod state;
#[cfg(all(feature = "enabled", target_arch = "riscv32"))]
pub mod tensix;
#[cfg(all(test, feature = "enabled"))]
mod testing;
#[cfg(feature = "enabled")]
pub mod trace;

#[cfg(all(feature = "enabled", target_arch = "riscv32"))]
use tensix as processor;

pub use probe::{finish, flush_to_dram_if_full, init, quick_push, quick_push_if_linked};

/// What the macros expand to.
#[doc(hidden)]
pub mod __private {
    pub use crate::{names::zone_id, probe::*};
}
