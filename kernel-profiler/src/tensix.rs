//! The port of a Tensix core: every memory-mapped register and all of the crate's unsafe.
//!
//! # What the firmware must provide
//!
//! The firmware's image defines these symbols; kernels link against it
//! (`--just-symbols`), so that firmware and kernel share one state.
//!
//! | symbol | where | what |
//! |---|---|---|
//! | `__kprof_control` | L1, 16-byte aligned | the control vector, 64 words, and right behind it the vectors of the core's RISCs, 512 words each |
//! | `__kprof_state` | local RAM, 4-byte aligned | [`STATE_BYTES`] bytes, zeroed at boot |
//! | `__kprof_tile` | local RAM, 4-byte aligned | a [`Tile`], filled before the first probe |
//!
//! The last two are per RISC; [`crate::firmware_state!`] defines them. Firmware and kernels
//! must be built by one compiler from one version of this crate, since they share the
//! state's layout. Until `__kprof_tile` is filled no probe may run; until the host has
//! written a DRAM address, everything is counted as lost and nothing is pushed.
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
//! - The NoC has counters of its own for this RISC (dedicated mode): a push waits until
//!   [`Tile::writes_acked`] equals the NoC's count of acknowledgements. Firmware that
//!   shares a NoC must bring the counters up to date before the main zone closes, as
//!   upstream's does.
//! - L1 is not cached. A Blackhole's data cache must be off, as TT-Metal leaves it, or the
//!   words of other RISCs and of the host would be seen late.
//! - Stores to L1 become visible in program order; the runtime publishes by storing the
//!   data first. `fence` is not needed, and does nothing on a Wormhole.
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
    port::{Clock, ClockWords, Memory, Noc, NocCoordinates, Port},
    state::{State, offset},
};
use core::{
    arch::{asm, naked_asm},
    ptr,
};
use wire::{loss, risc::RISCS_PER_CORE, vector::VECTOR_WORDS};

/// What the firmware knows about the RISC that runs, as 32-bit words.
#[repr(C)]
#[derive(Debug)]
pub struct Tile {
    /// Index of this RISC in its core: 0 BRISC or ERISC, 1 NCRISC, 2 to 4 TRISCs.
    pub risc_index: u32,
    /// RISCs of this core that have a vector: one to five.
    pub risc_count: u32,
    /// Address of the registers of the NoC interface through which this RISC pushes.
    pub noc: u32,
    /// Address of the registers of that interface's command buffer for large writes.
    pub command_buffer: u32,
    /// Words of a DRAM lane unless the host says otherwise.
    pub lane_words: u32,
    /// The tile's own NoC column.
    pub noc_x: u32,
    /// The tile's own NoC row.
    pub noc_y: u32,
    /// Entries of each of the two tables that follow.
    pub bank_count: u32,
    /// Address of a table: per DRAM bank a half word, its coordinates as the return coordinate
    /// register takes them.
    ///
    /// # Compatibility
    /// The row of `dram_bank_to_noc_xy` for this RISC's NoC.
    pub bank_coordinates: u32,
    /// Address of a table: per DRAM bank a word, what is added to addresses in it.
    ///
    /// # Compatibility
    /// `bank_to_dram_offset`.
    pub bank_offsets: u32,
    /// Counts acknowledged writes as they are issued; the kernel's barrier reads it too.
    ///
    /// # Compatibility
    /// The entry of `noc_nonposted_writes_num_issued` for this RISC's NoC.
    pub writes_issued: *mut u32,
    /// Counts the acknowledgements to expect; the kernel's barrier reads it too.
    ///
    /// # Compatibility
    /// The entry of `noc_nonposted_writes_acked` for this RISC's NoC.
    pub writes_acked: *mut u32,
}

impl Tile {
    /// What stands there until the firmware has filled it.
    pub const UNKNOWN: Self = Self {
        risc_index: 0,
        risc_count: 0,
        noc: 0,
        command_buffer: 0,
        lane_words: 0,
        noc_x: 0,
        noc_y: 0,
        bank_count: 0,
        bank_coordinates: 0,
        bank_offsets: 0,
        writes_issued: ptr::null_mut(),
        writes_acked: ptr::null_mut(),
    };
}

/// Bytes of `__kprof_state`.
pub const STATE_BYTES: usize = size_of::<LocalRam>();

/// Where the state lies in `__kprof_state`.
#[cfg(feature = "c-abi")]
pub(crate) const STATE_OFFSET: usize = core::mem::offset_of!(LocalRam, state);

/// Where the count of lost zones lies in `__kprof_state`; those of data and events follow.
#[cfg(feature = "c-abi")]
pub(crate) const LOST_OFFSET: usize = STATE_OFFSET + core::mem::offset_of!(State, lost);

/// They are words, as those that count them take them for.
#[cfg(feature = "c-abi")]
const _: fn(&State) -> &[u32; 4] = |state| &state.lost;

/// The runtime's part of the local RAM.
#[repr(C)]
struct LocalRam {
    state: State,
    /// What the kernel had in the registers up to [`AT_LEN_BE`].
    saved: [u32; SAVED_WORDS as usize],
}

unsafe extern "C" {
    static mut __kprof_control: [u32; CONTROL.word_count + VECTOR_WORDS * RISCS_PER_CORE];
    static mut __kprof_state: [u32; STATE_BYTES / 4];
    static mut __kprof_tile: Tile;
}

// The text of the runtime's own zone. Not a static as in the macros: this crate is linked
// into firmware and kernels, and kernels are linked against the firmware's symbols, where a
// second one of a name is an error. The flags are those that the statics' section has.
//
// SAFETY: nothing but bytes of a section that is not loaded.
core::arch::global_asm!(
    ".pushsection .kprof_zones, \"a\", @progbits",
    concat!(".asciz \"", crate::names::quick_push_text!(), "\""),
    ".popsection",
    options(raw)
);

/// The port of the RISC that executes this code. Only this crate can make one.
pub(crate) struct Tensix(());

/// Gives a probe the runtime's state and the port.
#[inline(always)]
pub(crate) fn with<R>(probe: impl FnOnce(&mut State, &mut Tensix) -> R) -> R {
    let ram = (&raw mut __kprof_state).cast::<LocalRam>();
    // SAFETY: the firmware provides `__kprof_state`, of the size and alignment of `LocalRam`
    // and zeroed at boot, so that the field is in bounds.
    let state = unsafe { &raw mut (*ram).state };
    // SAFETY: a zeroed `State` is valid, since its fields are integers and `bool`s.
    // The reference is the only one to the field: the RISC has one thread and no
    // interrupts, the symbol is used in this module alone, `saved` is another field, and
    // no probe within this crate runs a caller's code, so that no two probes nest.
    let state = unsafe { &mut *state };
    probe(state, &mut Tensix(()))
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
    fn await_reading(&mut self, reading: ClockWords) -> ClockWords {
        let ClockWords { mut high, low } = reading;
        // SAFETY: no instruction at all. The compiler must have done all stores before it,
        // and cannot compute with `high` until after it; the core would stall at the first
        // use of `high`, with the stores behind it.
        unsafe { asm!("/* {} */", inout(reg) high, options(nostack, preserves_flags)) };
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
        let first = (&raw mut __kprof_control).cast::<u32>();
        address(first.wrapping_add(index))
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
        // provides, aligned, for as long as the program runs; `address` has exposed their
        // provenance. Volatile, since other RISCs and the host write to them.
        unsafe { word.read_volatile() }
    }

    #[inline(always)]
    fn store(&mut self, place: u32, value: u32) {
        let word = ptr::with_exposed_provenance_mut::<u32>(place as usize);
        // SAFETY: as in `load`, and the program holds no reference to any of these words. A
        // cursor stays within its vector: used words, room and the ends of open zones
        // together never exceed it.
        unsafe { word.write_volatile(value) }
    }
}

impl Noc for Tensix {
    #[inline(always)]
    fn is_linked(&mut self) -> bool {
        let mut buffer = tile().noc;
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
        let ctrl = Register(tile().noc + number * COMMAND_BUFFER_STRIDE + CTRL);
        ctrl.read() & CTRL_LINKED != 0
    }

    #[inline(always)]
    fn begin_pushes(&mut self, bank: u32) {
        let buffer = CommandBuffer::of_pushes();
        buffer.wait_until_ready();
        buffer.register(PACKET_TAG).write(0);
        buffer.register(CTRL).write(CTRL_WRITE_ACKNOWLEDGED);
        buffer.write_return_coordinates(bank_coordinates(bank));
    }

    #[inline(always)]
    fn push(&mut self, place: u32, word_count: u32, address: u32) {
        let size_bytes = word_count << 2;
        self.settle(place + size_bytes - 4);
        let buffer = CommandBuffer::of_pushes();
        buffer.wait_until_ready();
        buffer.register(TARG_ADDR_LO).write(place);
        buffer.register(RET_ADDR_LO).write(address);
        buffer.register(AT_LEN_BE).write(size_bytes);
        buffer.register(CMD_CTRL).write(1);
        Word(tile().writes_issued).increment();
        Word(tile().writes_acked).increment();
    }

    #[inline(always)]
    fn wait_for_pushes(&mut self) {
        let expected = Word(tile().writes_acked).load();
        let received = Register(tile().noc + STATUS_WRITE_ACKS_RECEIVED);
        while received.read() != expected {}
    }

    #[inline(always)]
    fn save_command_buffer(&mut self) {
        let buffer = CommandBuffer::of_pushes();
        buffer.wait_until_ready();
        copy_words(buffer.0, saved());
    }

    #[inline(always)]
    fn restore_command_buffer(&mut self) {
        copy_words(saved(), CommandBuffer::of_pushes().0);
    }
}

impl Port for Tensix {
    #[inline(always)]
    fn risc_index(&self) -> usize {
        tile().risc_index as usize
    }

    #[inline(always)]
    fn risc_count(&self) -> usize {
        tile().risc_count as usize
    }

    #[inline(always)]
    fn sums_enabled(&self) -> bool {
        cfg!(feature = "sums")
    }

    #[inline(always)]
    fn default_lane_words(&self) -> u32 {
        tile().lane_words
    }

    #[inline(always)]
    fn bank_count(&self) -> u32 {
        tile().bank_count
    }

    #[inline(always)]
    fn bank_offset(&self, bank: u32) -> u32 {
        let offset = tile().bank_offsets + 4 * bank;
        // SAFETY: the firmware provides a table of `bank_count` entries; callers ask for
        // banks below that.
        unsafe { ptr::with_exposed_provenance::<u32>(offset as usize).read() }
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
    fn opaque(&self, value: u32) -> u32 {
        let mut value = value;
        // SAFETY: no instruction at all.
        unsafe { asm!("/* {} */", inout(reg) value, options(nomem, nostack, preserves_flags)) };
        value
    }

    #[inline(always)]
    fn noc_coordinates(&self) -> Option<NocCoordinates> {
        Some(NocCoordinates { x: tile().noc_x, y: tile().noc_y })
    }
}

impl Tensix {
    /// Waits until earlier stores to a place have reached L1.
    ///
    /// A store to a NoC register may overtake a store to L1, but not a load that has been
    /// consumed, and a load waits for the earlier store to its own address.
    #[inline(always)]
    fn settle(&mut self, place: u32) {
        let value = self.load(place);
        // SAFETY: an instruction that only reads a register; it makes the core wait for the
        // load, and being opaque to the compiler it is not removed.
        unsafe { asm!("mv zero, {}", in(reg) value, options(nostack, preserves_flags)) }
    }
}

/// The address of a word, which may be turned into a pointer again.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "addresses have 32 bits here")]
fn address(word: *mut u32) -> u32 {
    word.expose_provenance() as u32
}

/// Counts up to the largest count that a RISC leaves behind.
///
/// A call with a convention of its own: a probe must not grow by saving registers for the
/// rare case that nothing fits.
#[inline(always)]
pub(crate) fn increment(count: &mut u32) {
    let count = ptr::from_mut(count);
    // SAFETY: a call that changes `count`, which it is given exclusively, and the registers
    // that are named. It uses no stack.
    unsafe {
        asm!(
            "jal t0, {increment}",
            increment = sym increment_at_t1,
            inout("t1") count => _,
            out("t0") _, out("t2") _, out("t3") _,
            options(nostack),
        );
    }
}

/// Returns to `t0`; changes `t2` and `t3`.
#[unsafe(naked)]
extern "C" fn increment_at_t1() {
    const _: () = assert!(loss::LEFT_COUNT_MAX == (1 << 27) - 1);
    naked_asm!(
        "lw t2, 0(t1)",
        "addi t2, t2, 1",
        "srli t3, t2, 27",
        "bnez t3, 2f",
        "sw t2, 0(t1)",
        "2: jr t0",
    )
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

    #[inline(always)]
    fn increment(self) {
        self.store(self.load().wrapping_add(1));
    }
}

/// The address where the registers of the command buffer are saved.
#[inline(always)]
fn saved() -> u32 {
    let ram = (&raw mut __kprof_state).cast::<LocalRam>();
    // SAFETY: the firmware provides `__kprof_state` as large as `LocalRam`, so that the
    // field is in bounds; no reference to anything is made.
    address(unsafe { &raw mut (*ram).saved }.cast::<u32>())
}

/// Copies [`SAVED_WORDS`] words, between the command buffer's registers and local RAM.
#[inline(always)]
fn copy_words(mut from: u32, mut to: u32) {
    let end = from + 4 * SAVED_WORDS;
    loop {
        Register(to).write(Register(from).read());
        from += 4;
        to += 4;
        if from == end {
            break;
        }
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

/// One of the four command buffers of this RISC's NoC interface.
#[derive(Clone, Copy)]
struct CommandBuffer(u32);

impl CommandBuffer {
    #[inline(always)]
    fn of_pushes() -> Self {
        Self(tile().command_buffer)
    }

    #[inline(always)]
    const fn register(self, offset: u32) -> Register {
        Register(self.0 + offset)
    }

    #[inline(always)]
    fn wait_until_ready(self) {
        while self.register(CMD_CTRL).read() != 0 {}
    }

    /// A Wormhole keeps the coordinates above the address bits, a Blackhole by themselves.
    /// Addresses in DRAM banks have 32 bits on both.
    #[inline(always)]
    fn write_return_coordinates(self, coordinates: u32) {
        if cfg!(feature = "blackhole") {
            self.register(RET_ADDR_MID).write(0);
            self.register(RET_ADDR_HI).write(coordinates);
        } else {
            self.register(RET_ADDR_MID).write(coordinates);
        }
    }
}

/// What the firmware has filled in.
#[inline(always)]
fn tile() -> &'static Tile {
    let tile = &raw const __kprof_tile;
    // SAFETY: the firmware provides `__kprof_tile`, aligned and filled before the first
    // probe, and never changes it afterwards.
    unsafe { &*tile }
}

/// The coordinates of a DRAM bank that exists.
#[inline(always)]
fn bank_coordinates(bank: u32) -> u32 {
    let coordinates = tile().bank_coordinates + 2 * bank;
    let coordinates = ptr::with_exposed_provenance::<u16>(coordinates as usize);
    // SAFETY: the firmware provides a table of `bank_count` entries; `bank` is below that, or
    // 0 where the core has no lanes.
    u32::from(unsafe { coordinates.read() })
}

const WALL_CLOCK_LOW: Register = Register(0xFFB1_21F0);
const WALL_CLOCK_HIGH: Register = Register(0xFFB1_21F4);

const STATUS_WRITE_ACKS_RECEIVED: u32 = 0x200 + 4;

const COMMAND_BUFFER_MASK: u32 = 3;
const COMMAND_BUFFER_STRIDE: u32 = if cfg!(feature = "blackhole") { 0x800 } else { 0x400 };

const TARG_ADDR_LO: u32 = 0x00;
const RET_ADDR_LO: u32 = 0x0C;
const RET_ADDR_MID: u32 = 0x10;
const RET_ADDR_HI: u32 = 0x14;
const PACKET_TAG: u32 = 0x18;
const CTRL: u32 = 0x1C;
const AT_LEN_BE: u32 = 0x20;
const CMD_CTRL: u32 = if cfg!(feature = "blackhole") { 0x40 } else { 0x28 };

/// Registers from the first one to the last one that a push changes. They lie side by side
/// and keep what is written to them, so that one loop saves them all.
const SAVED_WORDS: u32 = AT_LEN_BE / 4 + 1;

const CTRL_LINKED: u32 = 1 << 6;

/// A write on static virtual channel 1 whose arrival is acknowledged. Many tiles that write
/// to one DRAM channel on dynamic channels get a third of its bandwidth.
const CTRL_WRITE_ACKNOWLEDGED: u32 = 1 << 1 | 1 << 4 | 1 << 7 | 1 << 13;
