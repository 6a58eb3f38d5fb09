//! The port of a Tensix core: every memory-mapped register and all of the crate's unsafe.
//!
//! # What the firmware must provide
//!
//! Kernels are linked against the firmware's symbols (`--just-symbols`), so that both share one
//! state. These are link-time constants of a RISC, as in its linker script:
//!
//! | symbol | what |
//! |---|---|
//! | `__kprof_control` | address of the control vector, 64 words in L1, 16-byte aligned; the vectors of the core's RISCs, 512 words each, follow it |
//! | `__kprof_own` | `__kprof_control` + 4 * index of the RISC |
//! | `__kprof_vector` | `__kprof_control` + 256 + 2048 * index of the RISC: its own vector |
//! | `__kprof_risc_count` | RISCs of the core that have a vector: 5 on a Tensix core, else 1 |
//! | `__kprof_bank_count` | DRAM banks, and so entries of the two tables below |
//!
//! These are variables in local RAM, zeroed at boot. [`crate::firmware_state!`] defines them;
//! tt-metal's firmware has them under the same names, so that C++ and Rust can be mixed:
//!
//! | symbol | what |
//! |---|---|
//! | `kernel_profiler::wIndex`, `stackSize`, `sums`, `sumIDs`, `traceCount` | see [`crate::state`] |
//! | `noc_index` | byte: the NoC of this RISC's pushes |
//! | `my_x`, `my_y` | two bytes each: the tile's coordinates on each NoC |
//! | `dram_bank_to_noc_xy` | per NoC and bank, a half word: the bank's coordinates as command buffers take them |
//! | `bank_to_dram_offset` | per bank, a word: what is added to addresses in it |
//! | `noc_nonposted_writes_num_issued`, `noc_nonposted_writes_acked` | two words each: what the kernel's barriers expect of each NoC |
//! | `__kprof_waits` | waits of the kernel so far; with the feature `waits`, which firmware and kernels must share |
//!
//! And two names say what this firmware's RISC is; the linker is told so
//! (`--defsym=__kprof_begin=kprof_begin_core`):
//!
//! | symbol | BRISC, ERISC | the others |
//! |---|---|---|
//! | `__kprof_begin` | `kprof_begin_core` | `kprof_begin_own` |
//! | `__kprof_finish` | `kprof_finish_core` | `kprof_finish_own` |
//!
//! With the first pair alone the code of pushes is linked. Until the host has written a DRAM
//! address, everything is counted as refused and nothing is pushed.
//!
//! # What kernels must keep to
//!
//! TT-Metal's loader makes kernels position independent after they are linked, and knows few
//! relocations; constants would go to the local RAM. So no tables of addresses (`-C
//! jump-tables=no`), no texts to print, no constructors, nothing that panics, and sections
//! linked with `--gc-sections`. This crate keeps to that.
//!
//! # Assumptions
//!
//! - One thread per RISC and no interrupts: baby RISCs have neither.
//! - The NoC's transaction id 15 is this runtime's: a push waits until no write with that id is
//!   outstanding, and for nothing else. So it ends whatever the kernel has sent, counted or not.
//! - Pushes use command buffer 0, that of large writes in dedicated mode, and leave its packet
//!   tag at 0, as tt-metal expects it.
//! - Firmware and kernels keep to dedicated NoCs: barriers look at the counters above. TT-Metal's
//!   dynamic-NoC mode, whose counters lie in L1, is one of its own firmware, which lacks the
//!   symbols that are named here: what links this crate does not link there. Kernels in C++ have
//!   the header for it, `kernel-profiler/include`.
//! - A Blackhole's data cache may be on: what others write is read after a `fence`.
//! - Stores to L1 become visible in program order; the runtime publishes by storing the
//!   data first. `fence` is not needed, and does nothing on a Wormhole.
//!
//! # Compatibility
//! Registers: `noc_parameters.h` of both architectures, `noc_nonblocking_api.h` (command buffers,
//! coordinates); tt-isa-documentation, `NoC/MemoryMap.md` and `NoC/Counters.md`.
//!
//! # How the unsafe blocks are watched
//!
//! Miri cannot run them: it interprets neither RV32IM assembly nor registers. In its place the
//! simulator runs the object code of this module, instruction by instruction, and stops with
//! the address at any access that is misaligned or hits nothing (`sim::riscv`, `TrapKind`). The
//! system tests hold all workloads to the same counts and words with it as with native kernels,
//! whose port has no unsafe block.

#![allow(unsafe_code, reason = "memory-mapped registers and the firmware's symbols")]

use crate::{
    lane::{CONTROL, index_word},
    port::{
        Clock, ClockWords, CounterChip, Memory, Noc, NocCoordinates, Port, Pushes, SavedRegisters,
    },
    state::offset,
    wait::{WaitRecords, WaitTotals},
};
use core::{
    arch::{asm, naked_asm},
    ptr,
};
use wire::{
    dram::SUM_COUNT, loss::LossKind, marker, noc_event::NocCounter, vector::VECTOR_WORDS,
    wait::SyncWindows,
};

/// Most banks for which [`crate::firmware_state!`] has room.
pub const BANK_COUNT_MAX: usize = 16;

/// The firmware's symbols. Those that begin with `__kprof` are numbers in place of an address.
#[allow(non_upper_case_globals, reason = "upstream's names")]
mod symbols {
    use super::{SUM_COUNT, WaitTotals};

    unsafe extern "C" {
        pub(super) static __kprof_control: u8;
        pub(super) static __kprof_own: u8;
        pub(super) static __kprof_vector: u8;
        pub(super) static __kprof_risc_count: u8;
        pub(super) static __kprof_bank_count: u8;

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

        pub(super) static noc_index: u8;
        pub(super) static my_x: [u8; 2];
        pub(super) static my_y: [u8; 2];
        pub(super) static dram_bank_to_noc_xy: [u16; 0];
        pub(super) static bank_to_dram_offset: [u32; 0];
        pub(super) static mut noc_nonposted_writes_num_issued: [u32; 2];
        pub(super) static mut noc_nonposted_writes_acked: [u32; 2];
    }

    unsafe extern "C" {
        pub(super) fn __kprof_begin();
        pub(super) fn __kprof_finish();
    }
}

// As below, of the zone that the debug dump has besides.
//
// SAFETY: as below.
#[cfg(all(target_arch = "riscv32", feature = "debug-dump"))]
core::arch::global_asm!(
    ".pushsection .kprof_zones, \"a\", @progbits",
    concat!(".asciz \"", crate::names::stall_text!(), "\""),
    ".popsection",
    options(raw)
);

// As below, of the zone that accumulate mode has besides.
//
// SAFETY: as below.
#[cfg(all(target_arch = "riscv32", feature = "accumulate"))]
core::arch::global_asm!(
    ".pushsection .kprof_zones, \"a\", @progbits",
    concat!(".asciz \"", crate::names::push_text!(), "\""),
    ".popsection",
    options(raw)
);

// The text of the runtime's own zone. Not a static as in the macros: this crate is linked
// into firmware and kernels, and kernels are linked against the firmware's symbols, where a
// second one of a name is an error. The flags are those that the statics' section has.
//
// SAFETY: nothing but bytes of a section that is not loaded.
#[cfg(target_arch = "riscv32")]
core::arch::global_asm!(
    ".pushsection .kprof_zones, \"a\", @progbits",
    concat!(".asciz \"", crate::names::quick_push_text!(), "\""),
    ".popsection",
    options(raw)
);

/// The runtime's memory of the RISC that executes this code: the firmware's variables.
#[derive(Debug)]
pub struct State(());

/// A variable of the firmware, as a pair of functions.
macro_rules! variables {
    ($($get:ident $set:ident $symbol:ident: $type:ty;)*) => {
        $(
            #[inline(always)]
            pub(crate) fn $get(&self) -> $type {
                // SAFETY: the firmware provides the variable, zeroed at boot; this RISC alone
                // reaches it, in its one thread, and nobody holds a reference to it. Volatile,
                // since the order of loads and stores that probes ask for is the fast one.
                unsafe { (&raw const symbols::$symbol).read_volatile() }
            }

            #[inline(always)]
            pub(crate) fn $set(&mut self, value: $type) {
                // SAFETY: as above.
                unsafe { (&raw mut symbols::$symbol).write_volatile(value) }
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
        let waits = &raw mut symbols::WAITS;
        // SAFETY: the firmware provides the variable, zeroed at boot, which is no waits; this RISC
        // alone reaches its local RAM, in its one thread; nothing but this function names the
        // variable, and `State` is made anew for each probe and borrowed here.
        unsafe { &mut *waits }
    }

    #[inline(always)]
    pub(crate) fn sum(&self, accumulator: usize) -> u32 {
        Word(variable(&raw mut symbols::SUMS, accumulator)).load()
    }

    #[inline(always)]
    pub(crate) fn set_sum(&mut self, accumulator: usize, cycles: u32) {
        Word(variable(&raw mut symbols::SUMS, accumulator)).store(cycles);
    }

    #[inline(always)]
    pub(crate) fn sum_header(&self, accumulator: usize) -> u32 {
        Word(variable(&raw mut symbols::SUM_HEADERS, accumulator)).load()
    }

    #[inline(always)]
    pub(crate) fn set_sum_header(&mut self, accumulator: usize, header: u32) {
        Word(variable(&raw mut symbols::SUM_HEADERS, accumulator)).store(header);
    }
}

/// Begins a launch on the aggregating RISC, see `__kprof_begin`.
#[unsafe(no_mangle)]
extern "C" fn kprof_begin_core() {
    with(|state, port| state.begin_core(port));
}

/// Begins a launch on any other RISC.
#[unsafe(no_mangle)]
extern "C" fn kprof_begin_own() {
    with(|state, port| state.begin_own(port));
}

/// Ends a launch on the aggregating RISC, see `__kprof_finish`.
#[unsafe(no_mangle)]
extern "C" fn kprof_finish_core() {
    with(|state, port| state.finish_core(port));
}

/// Ends a launch on any other RISC.
#[unsafe(no_mangle)]
extern "C" fn kprof_finish_own() {
    with(|state, port| state.finish_own(port));
}

/// Begins a launch on this RISC.
#[inline(always)]
pub(crate) fn begin() {
    if !cfg!(feature = "trace-only") {
        // SAFETY: the linker gives the name to one of the functions above.
        unsafe { symbols::__kprof_begin() };
    }
}

/// Ends a launch on this RISC.
#[inline(always)]
pub(crate) fn finish() {
    if !cfg!(feature = "trace-only") {
        // SAFETY: the linker gives the name to one of the functions above.
        unsafe { symbols::__kprof_finish() };
    }
}

/// The port of the RISC that executes this code. Only this crate can make one.
pub(crate) struct Tensix(());

/// Gives a probe the runtime's state and the port.
#[inline(always)]
pub(crate) fn with<R>(probe: impl FnOnce(&mut State, &mut Tensix) -> R) -> R {
    probe(&mut State(()), &mut Tensix(()))
}

impl Clock for Tensix {
    #[inline(always)]
    fn now(&mut self) -> ClockWords {
        // SAFETY: no instruction at all. Counts as one, so that the compiler does not take a
        // probe's beginning for so short that it copies it behind the probe before.
        unsafe { asm!("", options(nomem, nostack, preserves_flags)) };
        let low = WALL_CLOCK_LOW.read();
        let high = WALL_CLOCK_HIGH.read();
        ClockWords { high, low }
    }

    #[inline(always)]
    fn now_low(&mut self) -> u32 {
        WALL_CLOCK_LOW.read()
    }

    #[inline(always)]
    fn await_reading(&mut self, reading: ClockWords) -> ClockWords {
        let ClockWords { mut high, low } = reading;
        // SAFETY: no instruction at all. The compiler must have done all stores before it,
        // and cannot compute with `high` until after it; the core would stall at the first
        // use of `high`, with the stores behind it.
        unsafe { asm!("/* {} */", inout(reg) high, options(nostack, preserves_flags)) };
        ClockWords { high, low }
    }

    /// With the mask in a register, which a loop keeps; the compiler by itself would take two
    /// shifts each time.
    #[inline(always)]
    fn await_masked(&mut self, reading: ClockWords) -> ClockWords {
        let ClockWords { mut high, low } = reading;
        // SAFETY: one instruction between registers; what is said above holds as well.
        unsafe {
            asm!(
                "and {high}, {high}, {mask}",
                high = inout(reg) high,
                mask = in(reg) marker::TIME_HIGH_MASK,
                options(nostack, preserves_flags),
            );
        };
        ClockWords { high, low }
    }
}

impl Memory for Tensix {
    #[inline(always)]
    fn control(&mut self, index: usize) -> u32 {
        self.load(self.control_place(index))
    }

    #[inline(always)]
    fn set_control(&mut self, index: usize, value: u32) {
        self.store(self.control_place(index), value);
    }

    #[inline(always)]
    fn vector(&mut self, risc_index: usize, index: usize) -> u32 {
        self.load(self.vector_place(risc_index) + offset(index))
    }

    #[inline(always)]
    fn set_vector(&mut self, risc_index: usize, index: usize, value: u32) {
        self.store(self.vector_place(risc_index) + offset(index), value);
    }

    #[inline(always)]
    fn control_place(&self, index: usize) -> u32 {
        constant(&raw const symbols::__kprof_control) + index_word(index) * 4
    }

    #[inline(always)]
    fn vector_place(&self, risc_index: usize) -> u32 {
        self.control_place(CONTROL.word_count) + index_word(risc_index) * offset(VECTOR_WORDS)
    }

    #[inline(always)]
    fn load(&mut self, place: u32) -> u32 {
        let word = ptr::with_exposed_provenance::<u32>(place as usize);
        // SAFETY: places are made in this crate only. Each is that of a word of the control
        // vector or of a vector of one of the core's RISCs, both of which the firmware
        // provides, aligned, for as long as the program runs, outside of what the compiler
        // knows. Volatile, since other RISCs and the host write to them.
        unsafe { word.read_volatile() }
    }

    #[inline(always)]
    fn store(&mut self, place: u32, value: u32) {
        let word = ptr::with_exposed_provenance_mut::<u32>(place as usize);
        // SAFETY: as in `load`, and the program holds no reference to any of these words. A
        // next place stays within its vector: used words, room, the ends of open zones and the
        // totals of sums together are all of it.
        unsafe { word.write_volatile(value) }
    }

    /// # Compatibility
    /// `invalidate_l1_cache` of tt-metal. A Wormhole has no data cache.
    #[inline(always)]
    fn forget_cached(&mut self) {
        if cfg!(feature = "blackhole") {
            // SAFETY: empties the data cache, which holds nothing that memory does not.
            unsafe { asm!("fence", options(nostack, preserves_flags)) };
        }
    }
}

impl Noc for Tensix {
    #[inline(always)]
    fn is_linked(&mut self) -> bool {
        let mut buffer = noc();
        let (mut ctrl, mut left) = (0, 4);
        loop {
            ctrl |= Register(buffer + CTRL).read();
            buffer += COMMAND_BUFFER_STRIDE;
            left = self.opaque(left - 1);
            if left == 0 {
                break;
            }
        }
        ctrl & CTRL_LINKED != 0
    }

    #[inline(always)]
    fn is_command_buffer_linked(&mut self, command_buffer: u32) -> bool {
        let number = command_buffer & COMMAND_BUFFER_MASK;
        Register(noc() + number * COMMAND_BUFFER_STRIDE + CTRL).read() & CTRL_LINKED != 0
    }

    #[inline(always)]
    fn await_idle(&mut self) -> bool {
        is_ready(noc())
    }

    /// Coordinates stand above the address bits on a Wormhole, by themselves on a Blackhole.
    /// Addresses in DRAM banks and in L1 have 32 bits on both.
    #[inline(always)]
    fn begin_pushes(&mut self, bank: u32) -> Pushes {
        let noc = self.opaque(noc());
        Register(noc + PACKET_TAG).write(TRANSACTION_ID << TRANSACTION_ID_SHIFT);
        Register(noc + CTRL).write(CTRL_WRITE_ACKNOWLEDGED);
        let (me, dram) = (own_coordinates(), bank_coordinates(bank));
        if cfg!(feature = "blackhole") {
            Register(noc + TARG_ADDR_MID).write(0);
            Register(noc + TARG_ADDR_HI).write(me);
            Register(noc + RET_ADDR_MID).write(0);
            Register(noc + RET_ADDR_HI).write(dram);
        } else {
            Register(noc + TARG_ADDR_MID).write(me << WORMHOLE_COORDINATE_SHIFT);
            Register(noc + RET_ADDR_MID).write(dram);
        }
        Pushes(noc)
    }

    #[inline(always)]
    fn push(&mut self, pushes: Pushes, place: u32, word_count: u32, address: u32) -> bool {
        let Pushes(noc) = pushes;
        let size_bytes = word_count << 2;
        let last = self.load(place + size_bytes - 4);
        if !is_ready(noc) {
            return false;
        }
        Register(noc + TARG_ADDR_LO).write(place);
        Register(noc + RET_ADDR_LO).write(address);
        Register(noc + AT_LEN_BE).write(size_bytes);
        settle(last);
        Register(noc + CMD_CTRL).write(1);
        true
    }

    #[inline(always)]
    fn noc_counter(&mut self, counter: NocCounter) -> u32 {
        Register(noc() + STATUS + 4 * u32::from(counter as u8)).read()
    }

    #[inline(always)]
    fn count_pushes(&mut self, count: u32) {
        let index = noc_index() as usize;
        let issued = Word(variable(&raw mut symbols::noc_nonposted_writes_num_issued, index));
        issued.store(issued.load().wrapping_add(count));
        let acked = Word(variable(&raw mut symbols::noc_nonposted_writes_acked, index));
        acked.store(acked.load().wrapping_add(count));
    }

    #[inline(always)]
    fn wait_for_pushes(&mut self, pushes: Pushes) -> bool {
        let Pushes(noc) = pushes;
        let has_arrived = is_zero_soon(noc + STATUS_REQUESTS_OUTSTANDING);
        // A command buffer that is still busy belongs to its packet.
        if has_arrived || Register(noc + CMD_CTRL).read() == 0 {
            Register(noc + PACKET_TAG).write(0);
        }
        has_arrived
    }

    #[inline(always)]
    fn save_command_buffer(&mut self, saved: &mut SavedRegisters) {
        let noc = noc();
        for (register, word) in (noc..).step_by(4).zip(saved) {
            if has_register(register) {
                *word = Register(register).read();
            }
        }
    }

    #[inline(always)]
    fn restore_command_buffer(&mut self, saved: &SavedRegisters) {
        if Register(noc() + CMD_CTRL).read() != 0 {
            return; // It belongs to the packet that it still holds.
        }
        for (register, &word) in (noc()..).step_by(4).zip(saved) {
            if has_register(register) {
                Register(register).write(word);
            }
        }
    }
}

impl Port for Tensix {
    #[inline(always)]
    fn risc_index(&self) -> usize {
        ((self.own_place() - self.control_place(0)) / 4) as usize
    }

    #[inline(always)]
    fn risc_count(&self) -> usize {
        constant(&raw const symbols::__kprof_risc_count) as usize
    }

    #[inline(always)]
    fn own_place(&self) -> u32 {
        constant(&raw const symbols::__kprof_own)
    }

    #[inline(always)]
    fn own_vector(&self) -> u32 {
        constant(&raw const symbols::__kprof_vector)
    }

    /// A call with a convention of its own: a probe must not grow by saving registers for the
    /// rare case that nothing fits.
    #[inline(always)]
    fn count_loss(&mut self, kind: LossKind) {
        macro_rules! call {
            ($function:path) => {
                // SAFETY: a call that changes a word of L1, to which nobody holds a reference,
                // and the registers that are named. It uses no stack.
                unsafe {
                    asm!(
                        "jal t0, {}", sym $function,
                        out("t0") _, out("t1") _, out("t2") _,
                        options(nostack),
                    );
                }
            };
        }
        match kind {
            LossKind::Zone => call!(lose_zone),
            LossKind::Data => call!(lose_data),
            LossKind::Event => call!(lose_event),
        }
    }

    #[inline(always)]
    fn sums_enabled(&self) -> bool {
        cfg!(feature = "sums")
    }

    #[inline(always)]
    fn wait_records(&self) -> WaitRecords {
        match (cfg!(feature = "waits"), cfg!(feature = "sync-events")) {
            (_, true) => WaitRecords::Events,
            (true, false) => WaitRecords::Totals,
            (false, false) => WaitRecords::Off,
        }
    }

    #[inline(always)]
    fn sync_windows(&self) -> Option<SyncWindows> {
        cfg!(feature = "sync-windows").then_some(SyncWindows::DEFAULT)
    }

    #[inline(always)]
    fn counter_chip(&self) -> Option<CounterChip> {
        let chip = match cfg!(feature = "blackhole") {
            true => CounterChip::Blackhole,
            false => CounterChip::Wormhole,
        };
        cfg!(feature = "perf-counters").then_some(chip)
    }

    #[inline(always)]
    fn load_debug_register(&mut self, register: u32) -> u32 {
        Register(DEBUG_REGISTERS + register).read()
    }

    #[inline(always)]
    fn store_debug_register(&mut self, register: u32, value: u32) {
        Register(DEBUG_REGISTERS + register).write(value);
    }

    #[inline(always)]
    fn bank_count(&self) -> u32 {
        constant(&raw const symbols::__kprof_bank_count)
    }

    #[inline(always)]
    fn bank_offset(&self, bank: u32) -> u32 {
        let offsets = (&raw const symbols::bank_to_dram_offset).cast::<u32>();
        // SAFETY: the firmware provides a table of `bank_count` entries; callers ask for
        // banks below that.
        unsafe { offsets.wrapping_add(bank as usize).read() }
    }

    #[inline(always)]
    fn is_dispatch(&self) -> bool {
        cfg!(feature = "dispatch")
    }

    #[inline(always)]
    fn is_trace_only(&self) -> bool {
        cfg!(feature = "trace-only")
    }

    #[inline(always)]
    fn is_accumulating(&self) -> bool {
        cfg!(feature = "accumulate")
    }

    #[inline(always)]
    fn is_non_dropping(&self) -> bool {
        cfg!(feature = "debug-dump")
    }

    /// A store to L1 blocks its bank on a Wormhole for five cycles; a Blackhole merges those
    /// that lie side by side.
    ///
    /// # Compatibility
    /// tt-isa-documentation, `BabyRISCV/README.md` of both architectures.
    #[inline(always)]
    fn empties_both_words(&self) -> bool {
        cfg!(feature = "blackhole")
    }

    #[inline(always)]
    fn opaque(&self, value: u32) -> u32 {
        let mut value = value;
        // SAFETY: no instruction at all.
        unsafe { asm!("/* {} */", inout(reg) value, options(nomem, nostack, preserves_flags)) };
        value
    }

    #[inline(always)]
    fn noc_coordinates(&self) -> Option<NocCoordinates> {
        let [x, y] = coordinates_on(0);
        Some(NocCoordinates { x, y })
    }
}

/// Waits until the store before a load of the same place has reached L1; `loaded` is what was
/// loaded.
///
/// A store to a NoC register may overtake a store to L1, but not a load that has been
/// consumed, and a load waits for the earlier store to its own address.
#[inline(always)]
fn settle(loaded: u32) {
    // SAFETY: an instruction that only reads a register; it makes the core wait for the
    // load, and being opaque to the compiler it is not removed.
    unsafe { asm!("mv zero, {}", in(reg) loaded, options(nostack, preserves_flags)) }
}

/// The value of a constant that the linker knows.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "addresses have 32 bits here")]
fn constant(symbol: *const u8) -> u32 {
    symbol.addr() as u32
}

/// A word of a variable that the firmware provides.
#[inline(always)]
const fn variable<const N: usize>(variable: *mut [u32; N], index: usize) -> *mut u32 {
    variable.cast::<u32>().wrapping_add(index)
}

/// Functions that add one to this RISC's word of a block, return to `t0`, and change `t1`
/// and `t2`.
macro_rules! loss_counters {
    ($($function:ident $kind:ident)*) => {
        $(
            #[unsafe(naked)]
            extern "C" fn $function() {
                naked_asm!(
                    "lui t1, %hi({own} + {block})",
                    "lw t2, %lo({own} + {block})(t1)",
                    "addi t2, t2, 1",
                    "sw t2, %lo({own} + {block})(t1)",
                    "jr t0",
                    own = sym symbols::__kprof_own,
                    block = const offset(LossKind::$kind.control_word()),
                )
            }
        )*
    };
}

loss_counters! {
    lose_zone Zone
    lose_data Data
    lose_event Event
}

/// A word of local RAM that the firmware provides for as long as the program runs.
#[derive(Clone, Copy)]
struct Word(*mut u32);

impl Word {
    #[inline(always)]
    fn load(self) -> u32 {
        // SAFETY: aligned and in bounds of memory that is always initialised.
        unsafe { self.0.read_volatile() }
    }

    #[inline(always)]
    fn store(self, value: u32) {
        // SAFETY: as in `load`; no reference to the word exists that this could invalidate.
        unsafe { self.0.write_volatile(value) }
    }
}

/// A 32-bit register of the tile.
#[derive(Clone, Copy)]
struct Register(u32);

impl Register {
    #[inline(always)]
    fn read(self) -> u32 {
        // SAFETY: this module only makes registers that exist at their aligned addresses, on
        // Wormhole and Blackhole alike; reading one has no effect on the program's memory.
        unsafe { ptr::with_exposed_provenance::<u32>(self.0 as usize).read_volatile() }
    }

    #[inline(always)]
    fn write(self, value: u32) {
        // SAFETY: as in `read`. A write to CMD_CTRL makes the NoC read L1 and write DRAM,
        // neither of which the program holds references to.
        unsafe { ptr::with_exposed_provenance_mut::<u32>(self.0 as usize).write_volatile(value) }
    }
}

/// The registers of the NoC through which this RISC pushes. Its command buffer 0 comes first, the
/// one for large writes.
#[inline(always)]
fn noc() -> u32 {
    NOC_REGISTERS + u32::from(noc_index()) * NOC_STRIDE
}

#[inline(always)]
fn noc_index() -> u8 {
    // SAFETY: the firmware provides the byte, and changes it between launches only.
    unsafe { (&raw const symbols::noc_index).read() }
}

/// Returns true if command buffer 0 takes a command, within a bound.
#[inline(always)]
fn is_ready(noc: u32) -> bool {
    is_zero_soon(noc + CMD_CTRL)
}

/// Waits until a register is 0, within a bound.
#[inline(always)]
fn is_zero_soon(register: u32) -> bool {
    if Register(register).read() == 0 {
        return true;
    }
    let mut left = NOC_POLLS;
    loop {
        if Register(register).read() == 0 {
            return true;
        }
        left -= 1;
        if left == 0 {
            return false;
        }
    }
}

/// The tile's coordinates on a NoC.
#[inline(always)]
fn coordinates_on(noc_index: u8) -> [u32; 2] {
    let x = (&raw const symbols::my_x).cast::<u8>().wrapping_add(noc_index as usize);
    let y = (&raw const symbols::my_y).cast::<u8>().wrapping_add(noc_index as usize);
    // SAFETY: the firmware provides one byte for each of the two NoCs.
    let x = unsafe { x.read() };
    // SAFETY: as above.
    let y = unsafe { y.read() };
    [u32::from(x), u32::from(y)]
}

/// The tile's coordinates on the NoC of its pushes, which acknowledgements go to.
#[inline(always)]
fn own_coordinates() -> u32 {
    let [x, y] = coordinates_on(noc_index());
    x | y << COORDINATE_BITS
}

/// The coordinates of a DRAM bank that exists, as a command buffer takes them.
#[inline(always)]
fn bank_coordinates(bank: u32) -> u32 {
    let row = u32::from(noc_index()) * Tensix(()).bank_count();
    let coordinates = (&raw const symbols::dram_bank_to_noc_xy).cast::<u16>();
    let coordinates = coordinates.wrapping_add((row + bank) as usize);
    // SAFETY: the firmware provides a table of `bank_count` entries per NoC; `bank` is below
    // that, or 0 where the core has no lanes.
    u32::from(unsafe { coordinates.read() })
}

/// The tile's block of debug registers.
const DEBUG_REGISTERS: u32 = 0xFFB1_2000;
const WALL_CLOCK_LOW: Register = Register(0xFFB1_21F0);
const WALL_CLOCK_HIGH: Register = Register(0xFFB1_21F4);

const NOC_REGISTERS: u32 = 0xFFB2_0000;
const NOC_STRIDE: u32 = 0x1_0000;

/// How often a stuck NoC is asked: some milliseconds.
const NOC_POLLS: u32 = 1 << 18;

/// The transaction id of pushes, which kernels leave alone.
const TRANSACTION_ID: u32 = 15;
const TRANSACTION_ID_SHIFT: u32 = 10;
/// The first counter of a NoC's interface.
const STATUS: u32 = 0x200;
/// Non-posted requests with that id that nobody has acknowledged yet.
const STATUS_REQUESTS_OUTSTANDING: u32 = STATUS + 4 * (0x10 + TRANSACTION_ID);

const COMMAND_BUFFER_MASK: u32 = 3;
const COMMAND_BUFFER_STRIDE: u32 = if cfg!(feature = "blackhole") { 0x800 } else { 0x400 };

const TARG_ADDR_LO: u32 = 0x00;
const TARG_ADDR_MID: u32 = 0x04;
/// On a Blackhole alone.
const TARG_ADDR_HI: u32 = 0x08;
const RET_ADDR_LO: u32 = 0x0C;
const RET_ADDR_MID: u32 = 0x10;
/// On a Blackhole alone.
const RET_ADDR_HI: u32 = 0x14;
const PACKET_TAG: u32 = 0x18;
const CTRL: u32 = 0x1C;
const AT_LEN_BE: u32 = 0x20;
const CMD_CTRL: u32 = if cfg!(feature = "blackhole") { 0x40 } else { 0x28 };

/// Registers from the first one of a command buffer to the last one that a push changes.
const _: () = assert!(size_of::<SavedRegisters>() == AT_LEN_BE as usize + 4);

/// Returns true if the chip has a register of a command buffer.
#[inline(always)]
const fn has_register(register: u32) -> bool {
    let offset = register % COMMAND_BUFFER_STRIDE;
    cfg!(feature = "blackhole") || (offset != TARG_ADDR_HI && offset != RET_ADDR_HI)
}

const COORDINATE_BITS: u32 = 6;
const WORMHOLE_COORDINATE_SHIFT: u32 = 4;

const CTRL_LINKED: u32 = 1 << 6;

/// A write on static virtual channel 1 whose arrival is acknowledged. Many tiles that write
/// to one DRAM channel on dynamic channels get a third of its bandwidth.
const CTRL_WRITE_ACKNOWLEDGED: u32 = 1 << 1 | 1 << 4 | 1 << 7 | 1 << 13;
