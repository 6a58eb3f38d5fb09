//! The profiler's runtime on the device: kernels link it to record where their cycles go.
//!
//! ```
//! use kernel_profiler::{device_timestamped_data, device_zone_scoped};
//!
//! fn kernel(tiles: u64) {
//!     device_zone_scoped!("Kernel body");
//!     for tile in 0..tiles {
//!         device_zone_scoped!("LoadTile");
//!         device_timestamped_data!("Tile", tile);
//!     }
//! }
//! # kernel(2);
//! ```
//!
//! A kernel only calls the macros that record something; the firmware makes all other calls to the
//! profiler. The firmware opens the main zone ([`device_zone_scoped_main!`]) around every launch,
//! and sets the program id and the set of RISCs that run a kernel. When the main zone closes, the
//! markers of all RISCs of the core are pushed to DRAM, from where the host reads them. The words
//! have the format of tt-metal's own profiler, see [`wire`], so tt-metal's host can also read them.
//!
//! # Map
//!
//! | question | where |
//! |---|---|
//! | What can I put into a kernel? | the macros below |
//! | What does a probe do? | [`buffer`] |
//! | Which state does a RISC keep? | [`state`] |
//! | What does a wait record? | [`wait`] |
//! | How are hardware counters read? | [`counters`] |
//! | When are records pushed to DRAM? | [`launch`], [`flush`], [`trace`] |
//! | How do I make a RISC wait instead of dropping records? | [`stall`] |
//! | How do records leave while a kernel runs? | [`stream`] |
//! | Which core gathers streamed records on the chip? | [`relay`] |
//! | What if there is no room? | [below](#when-there-is-no-room) |
//! | How does the host get the names of zones? | [`names`] |
//! | What must the firmware provide? | `tensix` (for riscv32) |
//! | How do I run kernels natively? | [`port`], `hosted` (feature `hosted`) |
//! | How do I use it in a C++ kernel? | [below](#c-kernels) |
//! | Which known failures cannot happen here, and why? | [`hazards`] |
//!
//! # Cost
//!
//! The figures are for RV32IM at `-O3` with fat LTO, with this crate at `opt-level = "s"`, and with
//! zones and data in a loop. Cycles are those of the modelled pipelines of Wormhole and Blackhole,
//! without the time of the NoC.
//!
//! TT-Metal's header, compiled by gcc 12 and run on the same model, takes 30 instructions for a
//! zone, 17 for data, 71 for the beginning of a launch and 690 for its end. These instructions take
//! 52, 28, 212 and 1054 cycles on Wormhole, and 49, 28, 83 and 1017 on Blackhole.
//!
//! | probe | L1 words | instructions | cycles, Wormhole | cycles, Blackhole |
//! |---|---|---|---|---|
//! | zone, open and close | 4 | 22 | 29 | 27 |
//! | 64 bits of data | 4 | 15 | 18 | 16 |
//! | 128 bits of data | 6 | 17 | 27 | 18 |
//! | event | 2 | 13 | 16 | 14 |
//! | NoC event | 4 | 17 | 23 | 19 |
//! | sum zone | 0 | 7 | 11 | 11 |
//! | kernel's zone, open and close | 0 | 12 | 23 | 23 |
//! | beginning of a launch | | 40 | 104 | 65 |
//! | beginning, other RISCs | | 6 | 6 | 6 |
//! | end of a launch, five RISCs | | 304 | 448 | 418 |
//! | end, other RISCs | | 13 | 20 | 21 |
//!
//! | memory | bytes |
//! |---|---|
//! | bytes of a zone's call site | 108 |
//! | bytes of a marker out of line | 10 |
//! | bytes of stack, at most | 172 |
//! | bytes in BRISC's firmware | 2832 |
//! | bytes in NCRISC's firmware | 488 |
//!
//! The bytes in a firmware are the bytes by which the firmware is larger than the same firmware
//! with the profiler switched off. The stack is measured with full vectors, full lanes and late
//! runs.
//!
//! Set `opt-level = "s"` for this crate in the profile of firmware and kernels
//! (`[profile.release.package.kernel-profiler]`). Code that is inlined into a kernel still has the
//! kernel's own optimisation level, and the rest of the code runs only twice per launch.
//!
//! With the profiler off, a probe costs nothing: its arguments are type-checked but not evaluated.
//!
//! # Markers as calls
//!
//! The feature `out-of-line` turns every marker into a function call. A zone is then some 20 cycles
//! slower. The feature suits kernels whose code must be small, and kernels that have hundreds of
//! zones in rarely executed code. The words in L1 are the same.
//!
//! # C++ kernels
//!
//! The folder `include` has the probes in C++ under tt-metal's names, as one header that needs no
//! library. In tt-metal, put the folder first on the include path, so that this header replaces
//! tt-metal's. To compile a kernel without tt-metal, include the header and run these commands:
//!
//! ```text
//! #include "kernel_profiler.hpp"
//! ...
//! DeviceZoneScopedN("LoadTile");
//! ```
//!
//! ```text
//! riscv64-unknown-elf-g++ -march=rv32im -mabi=ilp32 -O2 -std=c++17 -ffreestanding \
//!     -fno-exceptions -fno-rtti -ffunction-sections -DPROFILE_KERNEL=1 -DARCH_WORMHOLE \
//!     -I kernel-profiler/include -c kernel.cpp
//! riscv64-unknown-elf-ld -m elf32lriscv -T kernel.ld --just-symbols=firmware.elf kernel.o -o kernel.elf
//! ```
//!
//! `include/kernel_profiler/header.hpp` has the details. Firmware and kernels may mix Rust and C++:
//! both write the same words and share one state, see [`state`].
//!
//! | probe in C++, gcc 12 | instructions | cycles on Wormhole | on Blackhole |
//! |---|---|---|---|
//! | zone, open and close, `-O2` | 23 | 29 | 27 |
//! | 64 bits of data, `-O2` | 15 | 20 | 16 |
//! | event, `-O2` | 13 | 18 | 14 |
//!
//! # When there is no room
//!
//! | full | what happens | how it is counted |
//! |---|---|---|
//! | the RISC's L1 vector, which has 500 words for records (125 zones) | the record is dropped; ends of open zones and totals of sums always fit | by RISC and kind of record |
//! | the DRAM lane, but a run's ID words and fixed slots still fit | the fixed markers are pushed, the optional markers are refused | by RISC in markers, and the RISC's bit of `DROPPED_ZONES` |
//! | the DRAM lane, and not even the fixed slots fit | nothing is pushed | in the same way |
//! | room for all, but the NoC is stuck | the push ends after a time limit, and nothing of it counts as arrived | in the same way, and as a push that timed out |
//! | room for all, but a RISC publishes its run too late | the push leaves this run out | number of such runs of each RISC |
//!
//! The counters are words of the control vector ([`wire::control::ext`]) and are never reset. Every
//! probe that finds no room counts one record of its kind; a zone counts once, at its start. Kept
//! records and lost records therefore add up to the emitted records.
//!
//! # Features
//!
//! | feature | effect |
//! |---|---|
//! | `accumulate` | riscv32: the runs of several launches share a push, see [`accumulate`] |
//! | `enabled` (default) | markers are recorded; without it the macros do nothing |
//! | `hosted` | native kernels for tests, needs std |
//! | `blackhole` | riscv32: Blackhole's NoC registers instead of Wormhole's |
//! | `dispatch` | riscv32: a dispatch kernel, see [`port::Port::is_dispatch`] |
//! | `debug-dump` | riscv32: a RISC whose lane is full waits for the host, see [`stall`] |
//! | `noc-events` | NoC events are recorded, except waits and operations on single words |
//! | `noc-events-all` | waits and operations on single words are recorded, too |
//! | `noc-addresses` | all NoC events are recorded, each with two addresses and a counter of the NoC; includes `scoped-locks` |
//! | `perf-counters` | riscv32: hardware counters are started, stopped and recorded, see [`counters`] |
//! | `out-of-line` | markers are calls, see [above](#markers-as-calls) |
//! | `scoped-locks` | locks of memory are recorded |
//! | `stream` | riscv32: records are drained while kernels run, see [`stream`] |
//! | `sums` | riscv32: sum zones are recorded |
//! | `waits` | riscv32: the cycles of blocked waits are added up by object, see [`wait`] |
//! | `sync-events` | riscv32: each blocked wait and each signal is recorded, too |
//! | `sync-windows` | riscv32: blocked waits and signals are recorded only in windows of time, see [`wait`] |
//! | `trace-only` | riscv32: only the start and the end of each trace replay are recorded, see [`trace`] |
//!
//! A native build without `hosted` has no core to act on, so its macros do nothing.
//!
//! # Limits
//!
//! - The main zone must be the outermost zone of its RISC.
//! - A launch that runs no kernel on the core ([`device_validate_profiler!`] with 0) is only
//!   counted.
//! - Kernels must not use the NoC's transaction id 15.

#![no_std]
// With the profiler switched off, some modules that the map links to do not exist.
#![cfg_attr(not(feature = "enabled"), allow(rustdoc::broken_intra_doc_links))]
// A native build without `hosted` has no port, so nothing calls these items.
#![cfg_attr(not(any(target_arch = "riscv32", feature = "hosted")), allow(dead_code))]
#![cfg_attr(not(any(target_arch = "riscv32", doc)), forbid(unsafe_code))]
#![cfg_attr(any(target_arch = "riscv32", doc), deny(unsafe_code))]

#[cfg(any(test, feature = "hosted"))]
extern crate std;

#[cfg(feature = "enabled")]
pub mod accumulate;
#[cfg(feature = "enabled")]
pub mod buffer;
#[cfg(all(feature = "enabled", any(target_arch = "riscv32", feature = "hosted")))]
mod call;
#[cfg(feature = "enabled")]
pub mod counters;
#[cfg(feature = "cpp-header")]
pub mod cpp_header;
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
mod macros;
pub mod names;
#[cfg(feature = "enabled")]
mod noc_event;
pub mod port;
#[cfg(all(feature = "enabled", any(target_arch = "riscv32", feature = "hosted")))]
mod probe;
#[cfg(not(all(feature = "enabled", any(target_arch = "riscv32", feature = "hosted"))))]
#[path = "disabled.rs"]
mod probe;
#[cfg(all(feature = "hosted", not(target_arch = "riscv32")))]
use hosted as processor;
#[cfg(any(target_arch = "riscv32", doc))]
#[cfg_attr(not(feature = "enabled"), allow(dead_code))]
mod registers;
pub mod relay;
#[cfg(feature = "enabled")]
pub mod stall;
#[cfg(feature = "enabled")]
pub mod state;
#[cfg(feature = "enabled")]
pub mod stream;
// The documentation contains this module on every host.
#[cfg(all(feature = "enabled", any(target_arch = "riscv32", doc)))]
pub mod tensix;
#[cfg(all(test, feature = "enabled"))]
mod testing;
#[cfg(any(target_arch = "riscv32", doc))]
#[cfg_attr(not(feature = "enabled"), allow(dead_code))]
mod tile;
#[cfg(feature = "enabled")]
pub mod trace;
#[cfg(feature = "enabled")]
pub mod wait;

#[cfg(all(feature = "enabled", target_arch = "riscv32"))]
use tensix as processor;

pub use wire::{
    noc_event::{FabricRoute, NocEventKind, NocTarget},
    perf_counter as counter_group,
    scoped_lock::LockEventKind,
};

pub use probe::{finish, flush_to_dram_if_full, init, quick_push, quick_push_if_linked};

/// Items to which the macros expand.
#[doc(hidden)]
pub mod __private {
    pub use crate::{
        names::{is_of_launch, zone_id},
        probe::*,
    };
    pub use wire::noc_event::{
        FABRIC_ROUTE_UNAVAILABLE, LocalNocEvent, pack_fabric, pack_fabric_line, pack_fabric_scatter,
    };
    pub use wire::scoped_lock::LockEvent;
    pub use wire::wait::WaitKind;
}
