//! The port of a Tensix core, with all registers that it uses and all of the crate's unsafe code.
//!
//! # What the firmware must provide
//!
//! Kernels are linked against the firmware's symbols (`--just-symbols`), so that firmware and
//! kernels share one state. The following symbols are link-time constants, which the linker script
//! of each RISC defines:
//!
//! | symbol | what |
//! |---|---|
//! | `__kprof_control` | address of the control vector, 64 words in L1, 16-byte aligned; the vectors of the core's RISCs, 512 words each, follow it |
//! | `__kprof_own` | `__kprof_control` + 4 * index of the RISC |
//! | `__kprof_vector` | address of the RISC's own vector: `__kprof_control` + 256 + 2048 * index of the RISC |
//! | `__kprof_risc_count` | RISCs of the core that have a vector: 5 on a Tensix core, otherwise 1 |
//! | `__kprof_bank_count` | number of DRAM banks, and of entries in the two tables below |
//!
//! The following symbols are variables in local RAM, which are zeroed at boot.
//! [`crate::firmware_state!`] defines them. TT-Metal's firmware has variables with the same names,
//! so C++ and Rust can be mixed:
//!
//! | symbol | what |
//! |---|---|
//! | `kernel_profiler::wIndex`, `stackSize`, `sums`, `sumIDs`, `traceCount` | see [`crate::state`] |
//! | `noc_index` | byte: the NoC of this RISC's pushes |
//! | `my_x`, `my_y` | two bytes each: the tile's coordinates on each NoC |
//! | `dram_bank_to_noc_xy` | per NoC and bank, a half word: the bank's coordinates in the format of command buffers |
//! | `bank_to_dram_offset` | per bank, a word: offset added to addresses in the bank |
//! | `noc_nonposted_writes_num_issued`, `noc_nonposted_writes_acked` | two words each: the counts that the kernel's barriers expect for each NoC |
//! | `__kprof_waits` | waits of the kernel so far; only with the feature `waits`, which firmware and kernels must share |
//!
//! Two linker options define the RISC's role in this firmware (such as
//! `--defsym=__kprof_begin=kprof_begin_core`):
//!
//! | symbol | BRISC, ERISC | the others |
//! |---|---|---|
//! | `__kprof_begin` | `kprof_begin_core` | `kprof_begin_own` |
//! | `__kprof_finish` | `kprof_finish_core` | `kprof_finish_own` |
//!
//! Only the values for BRISC and ERISC link the code that pushes. Until the host has written a DRAM
//! address, every record is counted as refused, and nothing is pushed.
//!
//! # Rules for kernels
//!
//! TT-Metal's loader makes kernels position-independent after they are linked. The loader supports
//! only a few kinds of relocation, and places a kernel's constants, if any, in local RAM. Kernels
//! must therefore have no tables of addresses (`-C jump-tables=no`), no strings to print, no
//! constructors and no code that panics, and must be linked with `--gc-sections`. This crate
//! follows these rules.
//!
//! # Assumptions
//!
//! - Each RISC runs only one thread, and nothing interrupts this thread.
//! - The NoC's transaction id 15 is reserved for this runtime: a push waits only until no write
//!   with that id is outstanding. So a push ends regardless of the kernel's own transactions.
//! - Pushes use command buffer 0, which dedicated mode uses for large writes, and leave its packet
//!   tag at 0, as tt-metal expects.
//! - Firmware and kernels use dedicated NoCs, whose barriers read the counters above. TT-Metal's
//!   dynamic-NoC mode keeps its counters in L1 and has its own firmware, which lacks the symbols
//!   listed here. A kernel that links this crate does not link with that firmware. With that
//!   firmware, C++ kernels can use the header in `kernel-profiler/include`.
//! - A Blackhole's data cache may be on: words written by others are read after a `fence`.
//! - Stores to L1 become visible in program order, and the runtime stores data before the word that
//!   publishes it. Publication needs no `fence`, which does nothing on a Wormhole.
//!
//! # Compatibility
//! Registers: `noc_parameters.h` of both architectures, `noc_nonblocking_api.h` (command buffers,
//! coordinates); tt-isa-documentation, `NoC/MemoryMap.md` and `NoC/Counters.md`.
//!
//! # Checks of the unsafe blocks
//!
//! Miri cannot run the unsafe blocks: it supports neither RV32IM assembly nor memory-mapped
//! registers. Instead, the simulator executes the object code of this module, instruction by
//! instruction. The simulator stops at any access that is misaligned or outside of the memory map,
//! and reports the address (`sim::riscv`, `TrapKind`). The simulator's tests compare the recorded
//! words with what the kernels were told to record, and with the words of the C++ header.

#![allow(unsafe_code, reason = "memory-mapped registers and the firmware's symbols")]

mod clock;
mod firmware;
mod launch;
mod losses;
mod memory;
mod noc;
mod port;
mod symbols;
mod zone_texts;

pub(crate) use launch::{begin, finish};

use crate::wait::WaitTotals;
use firmware::{Word, variable};
use wire::dram::SUM_COUNT;

/// Maximum number of DRAM banks for which [`crate::firmware_state!`] has room.
pub const BANK_COUNT_MAX: usize = 16;

/// Variables of the firmware that hold the runtime's state on a RISC.
mod variables {
    use super::{SUM_COUNT, WaitTotals};

    unsafe extern "C" {
        #[link_name = "_ZN15kernel_profiler6wIndexE"]
        pub(super) static mut NEXT: u32;
        #[link_name = "_ZN15kernel_profiler9stackSizeE"]
        pub(super) static mut ROOM: i32;
        #[link_name = "_ZN15kernel_profiler4sumsE"]
        pub(super) static mut SUMS: [u32; SUM_COUNT];
        #[link_name = "_ZN15kernel_profiler6sumIDsE"]
        pub(super) static mut SUM_HEADERS: [u32; SUM_COUNT];
        #[link_name = "_ZN15kernel_profiler10traceCountE"]
        pub(super) static mut TRACE_COUNT: u32;

        #[link_name = "__kprof_waits"]
        pub(super) static mut WAITS: WaitTotals;
    }
}

/// The runtime's state on the RISC that executes this code; it is in the firmware's variables.
#[derive(Debug)]
pub struct State(());

/// Defines a getter and a setter for each of the firmware's variables.
macro_rules! variables {
    ($($get:ident $set:ident $symbol:ident: $type:ty;)*) => {
        $(
            #[inline(always)]
            pub(crate) fn $get(&self) -> $type {
                // SAFETY: the firmware provides the variable, zeroed at boot. Only this RISC
                // reaches it, in its one thread, and no reference to it exists. Volatile, so that
                // the compiler keeps the order of loads and stores in the probes, which is the fast
                // one.
                unsafe { (&raw const variables::$symbol).read_volatile() }
            }

            #[inline(always)]
            pub(crate) fn $set(&mut self, value: $type) {
                // SAFETY: as above.
                unsafe { (&raw mut variables::$symbol).write_volatile(value) }
            }
        )*
    };
}

impl State {
    variables! {
        next set_next NEXT: u32;
        room set_room ROOM: i32;
        trace_count set_trace_count TRACE_COUNT: u32;
    }

    #[inline(always)]
    pub(crate) fn waits(&mut self) -> &mut WaitTotals {
        let waits = &raw mut variables::WAITS;
        // SAFETY: the firmware provides the variable and zeroes it at boot, which means that there
        // were no waits. Only this RISC accesses its local RAM, in its one thread. Only this
        // function names the variable, and its result borrows the `State`; each probe creates a
        // `State` of its own.
        unsafe { &mut *waits }
    }

    #[inline(always)]
    pub(crate) fn sum(&self, accumulator: usize) -> u32 {
        Word(variable(&raw mut variables::SUMS, accumulator)).load()
    }

    #[inline(always)]
    pub(crate) fn set_sum(&mut self, accumulator: usize, cycles: u32) {
        Word(variable(&raw mut variables::SUMS, accumulator)).store(cycles);
    }

    #[inline(always)]
    pub(crate) fn sum_header(&self, accumulator: usize) -> u32 {
        Word(variable(&raw mut variables::SUM_HEADERS, accumulator)).load()
    }

    #[inline(always)]
    pub(crate) fn set_sum_header(&mut self, accumulator: usize, header: u32) {
        Word(variable(&raw mut variables::SUM_HEADERS, accumulator)).store(header);
    }
}

/// The port of the RISC that executes this code. Only code of this crate can create it.
pub(crate) struct Tensix(());

/// Calls a probe with the runtime's state and the port.
#[inline(always)]
pub(crate) fn with<R>(probe: impl FnOnce(&mut State, &mut Tensix) -> R) -> R {
    probe(&mut State(()), &mut Tensix(()))
}
