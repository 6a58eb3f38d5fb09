//! The port of a Tensix core: every memory-mapped register and all of the crate's unsafe.
//!
//! # What the firmware must provide
//!
//! The firmware's image defines these symbols; kernels link against it
//! (`--just-symbols`), so that firmware and kernel share one state.
//!
//! | symbol | where | what |
//! |---|---|---|
//! | `__kprof_control` | L1, 16-byte aligned | the control vector, 64 words |
//! | `__kprof_vectors` | L1, 16-byte aligned | the vectors of the core's RISCs, 512 words each, back to back |
//! | `__kprof_state` | local RAM, 4-byte aligned | [`STATE_BYTES`] bytes, zeroed at boot |
//! | `__kprof_tile` | local RAM, 4-byte aligned | a [`Tile`], filled before the first probe |
//!
//! The last two are per RISC. Firmware and kernels must be built by one compiler from one
//! version of this crate, since they share the state's layout. Until `__kprof_tile` is filled no probe may run; until the
//! host has written a DRAM address, everything is counted as lost and nothing is pushed.
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
    lane::CONTROL,
    port::{Clock, ClockWords, Memory, Noc, NocCoordinates, Port, PushDestination, PushSource},
    state::State,
};
use core::{arch::asm, ptr};
use wire::{control::ext, risc::RISCS_PER_CORE, vector::VECTOR_WORDS};

/// What the firmware knows about the RISC that runs, as 32-bit words.
#[repr(C)]
#[derive(Debug)]
pub struct Tile {
    /// Index of this RISC in its core: 0 BRISC or ERISC, 1 NCRISC, 2 to 4 TRISCs.
    pub risc_index: u32,
    /// RISCs of this core that have a vector.
    pub risc_count: u32,
    /// The NoC through which this RISC pushes, 0 or 1.
    pub noc_index: u32,
    /// The command buffer of that NoC for large writes, 0 to 3.
    pub command_buffer: u32,
    /// Words of a DRAM lane unless the host says otherwise.
    pub lane_words: u32,
    /// The tile's own NoC column.
    pub noc_x: u32,
    /// The tile's own NoC row.
    pub noc_y: u32,
    /// Entries of the two tables that follow.
    pub bank_count: u32,
    /// Per DRAM bank, its coordinates as the return coordinate register takes them.
    ///
    /// # Compatibility
    /// The row of `dram_bank_to_noc_xy` for `noc_index`.
    pub bank_coordinates: *const u16,
    /// Per DRAM bank, what is added to addresses in it.
    ///
    /// # Compatibility
    /// `bank_to_dram_offset`.
    pub bank_offsets: *const u32,
    /// Counts acknowledged writes as they are issued; the kernel's barrier reads it too.
    ///
    /// # Compatibility
    /// The entry of `noc_nonposted_writes_num_issued` for `noc_index`.
    pub writes_issued: *mut u32,
    /// Counts the acknowledgements to expect; the kernel's barrier reads it too.
    ///
    /// # Compatibility
    /// The entry of `noc_nonposted_writes_acked` for `noc_index`.
    pub writes_acked: *mut u32,
}

/// Bytes of `__kprof_state`.
pub const STATE_BYTES: usize = size_of::<LocalRam>();

/// Where the state lies in `__kprof_state`.
#[cfg(feature = "c-abi")]
pub(crate) const STATE_OFFSET: usize = core::mem::offset_of!(LocalRam, state);

/// Where the counts of lost zones, data and events lie in `__kprof_state`.
#[cfg(feature = "c-abi")]
pub(crate) const LOST_OFFSETS: [usize; 3] = [
    STATE_OFFSET + core::mem::offset_of!(State, lost.zones),
    STATE_OFFSET + core::mem::offset_of!(State, lost.data),
    STATE_OFFSET + core::mem::offset_of!(State, lost.events),
];

/// They are words, as those that count them take them for.
#[cfg(feature = "c-abi")]
const _: fn(&State) -> [&u32; 3] =
    |state| [&state.lost.zones, &state.lost.data, &state.lost.events];

/// The runtime's part of the local RAM.
#[repr(C)]
struct LocalRam {
    state: State,
    /// What the kernel had in the registers of [`SAVED`].
    saved: [u32; SAVED.len()],
}

unsafe extern "C" {
    static mut __kprof_control: [u32; CONTROL.word_count];
    static mut __kprof_vectors: [[u32; VECTOR_WORDS]; RISCS_PER_CORE];
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
///
/// Its fields serve a series of pushes; a probe that pushes nothing leaves no trace of them.
pub(crate) struct Tensix {
    /// The command buffer of this series.
    buffer: CommandBuffer,
    /// The bank whose coordinates the buffer holds.
    bank: u32,
    /// What is added to addresses in that bank.
    bank_offset: u32,
    /// Pushes that the firmware's counters do not know yet.
    uncounted: u32,
}

impl Tensix {
    #[inline(always)]
    const fn new() -> Self {
        let buffer = CommandBuffer(Register(NOC_0));
        Self { buffer, bank: NO_BANK, bank_offset: 0, uncounted: 0 }
    }

    /// Makes the buffer point to a bank; `None` if the bank does not exist.
    #[inline(always)]
    fn turn_to(&mut self, bank: u32) -> Option<()> {
        if bank != self.bank {
            let (coordinates, offset) = bank_place(bank)?;
            self.buffer.write_return_coordinates(coordinates);
            (self.bank, self.bank_offset) = (bank, offset);
        }
        Some(())
    }
}

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
    probe(state, &mut Tensix::new())
}

impl Clock for Tensix {
    #[inline(always)]
    fn now(&mut self) -> ClockWords {
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
        Word::of_control(index).map_or(0, Word::load)
    }

    #[inline(always)]
    fn set_control(&mut self, index: usize, value: u32) {
        if let Some(word) = Word::of_control(index) {
            word.store(value);
        }
    }

    #[inline(always)]
    fn vector(&mut self, risc_index: usize, index: usize) -> u32 {
        Word::of_vector(risc_index, index).map_or(0, Word::load)
    }

    #[inline(always)]
    fn set_vector(&mut self, risc_index: usize, index: usize, value: u32) {
        if let Some(word) = Word::of_vector(risc_index, index) {
            word.store(value);
        }
    }
}

impl Noc for Tensix {
    fn is_linked(&mut self) -> bool {
        let noc = Register::of_noc(CTRL).0;
        let ctrl = |number| Register(noc + number * COMMAND_BUFFER_STRIDE).read();
        (ctrl(0) | ctrl(1) | ctrl(2) | ctrl(3)) & CTRL_LINKED != 0
    }

    fn is_command_buffer_linked(&mut self, command_buffer: u32) -> bool {
        CommandBuffer::numbered(command_buffer).register(CTRL).read() & CTRL_LINKED != 0
    }

    fn begin_pushes(&mut self) {
        *self = Self { buffer: CommandBuffer::numbered(tile().command_buffer), ..Self::new() };
        self.buffer.wait_until_ready();
        for (slot, offset) in SAVED.into_iter().enumerate() {
            if let Some(word) = Word::of_saved(slot) {
                word.store(self.buffer.register(offset).read());
            }
        }
        self.buffer.register(PACKET_TAG).write(0);
        self.buffer.register(CTRL).write(CTRL_WRITE_ACKNOWLEDGED);
    }

    fn push(&mut self, source: PushSource, word_count: u32, destination: PushDestination) {
        let last = (word_count as usize).wrapping_sub(1);
        let (first, last) = match source {
            PushSource::Vector { risc_index } => {
                (Word::of_vector(risc_index, 0), Word::of_vector(risc_index, last))
            }
            PushSource::Trailer => {
                (Word::of_control(ext::TRAILER), Word::of_control(ext::TRAILER + 3))
            }
        };
        let (Some(first), Some(last)) = (first, last) else { return };
        last.settle();
        self.buffer.wait_until_ready();
        let Some(()) = self.turn_to(destination.bank) else { return };
        let address = destination.address.wrapping_add(self.bank_offset);
        self.buffer.register(TARG_ADDR_LO).write(first.address());
        self.buffer.register(RET_ADDR_LO).write(address);
        self.buffer.register(AT_LEN_BE).write(word_count << 2);
        self.buffer.register(CMD_CTRL).write(1);
        self.uncounted = self.uncounted.wrapping_add(1);
    }

    fn wait_for_pushes(&mut self) {
        let uncounted = core::mem::take(&mut self.uncounted);
        let issued = Word(tile().writes_issued);
        issued.store(issued.load().wrapping_add(uncounted));
        let acked = Word(tile().writes_acked);
        let expected = acked.load().wrapping_add(uncounted);
        acked.store(expected);
        let received = Register::of_noc(STATUS_WRITE_ACKS_RECEIVED);
        while received.read() != expected {}
    }

    fn end_pushes(&mut self) {
        self.buffer.wait_until_ready();
        for (slot, offset) in SAVED.into_iter().enumerate() {
            if let Some(word) = Word::of_saved(slot) {
                self.buffer.register(offset).write(word.load());
            }
        }
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
    fn is_dispatch(&self) -> bool {
        cfg!(feature = "dispatch")
    }

    #[inline(always)]
    fn is_trace_only(&self) -> bool {
        cfg!(feature = "trace-only")
    }

    fn noc_coordinates(&self) -> Option<NocCoordinates> {
        Some(NocCoordinates { x: tile().noc_x, y: tile().noc_y })
    }

    #[inline(always)]
    fn own_place(&self) -> u32 {
        Word::of_vector(self.risc_index(), 0).map_or(0, Word::address)
    }

    #[inline(always)]
    fn write_own(&mut self, place: u32, value: u32) {
        let word = ptr::with_exposed_provenance_mut::<u32>(place as usize);
        // SAFETY: only `State` holds places of a `Tensix`. They lie at or behind its cursor,
        // for which it has taken room, and used words, room and the ends of open zones
        // together never exceed the vector that begins at `own_place()`, whose provenance
        // `Word::address` has exposed. So this is an aligned word of this RISC's vector,
        // to which the program holds no reference.
        unsafe { word.write_volatile(value) }
    }
}

/// A word of memory that the firmware provides for as long as the program runs: aligned,
/// in bounds, and reached through pointers only.
#[derive(Clone, Copy)]
struct Word(*mut u32);

impl Word {
    #[inline(always)]
    fn of_control(index: usize) -> Option<Self> {
        let first = (&raw mut __kprof_control).cast::<u32>();
        (index < CONTROL.word_count).then(|| Self(first.wrapping_add(index)))
    }

    #[inline(always)]
    fn of_vector(risc_index: usize, index: usize) -> Option<Self> {
        let first = (&raw mut __kprof_vectors).cast::<u32>();
        let is_inside = risc_index < RISCS_PER_CORE && index < VECTOR_WORDS;
        is_inside.then(|| Self(first.wrapping_add(risc_index * VECTOR_WORDS + index)))
    }

    #[inline(always)]
    fn of_saved(slot: usize) -> Option<Self> {
        let ram = (&raw mut __kprof_state).cast::<LocalRam>();
        // SAFETY: the firmware provides `__kprof_state` as large as `LocalRam`, so that the
        // field is in bounds; no reference to anything is made.
        let first = unsafe { &raw mut (*ram).saved }.cast::<u32>();
        (slot < SAVED.len()).then(|| Self(first.wrapping_add(slot)))
    }

    #[inline(always)]
    fn load(self) -> u32 {
        // SAFETY: by the invariant of `Word` the pointer is aligned and in bounds of memory
        // that is always initialised. Volatile, since other RISCs and the host write to it.
        unsafe { self.0.read_volatile() }
    }

    #[inline(always)]
    fn store(self, value: u32) {
        // SAFETY: as in `load`; no reference to the word exists that this could invalidate.
        unsafe { self.0.write_volatile(value) }
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "addresses have 32 bits here")]
    fn address(self) -> u32 {
        self.0.expose_provenance() as u32
    }

    /// Waits until earlier stores to this word have reached L1.
    ///
    /// A store to a NoC register may overtake a store to L1, but not a load that has been
    /// consumed, and a load waits for the earlier store to its own address.
    #[inline(always)]
    fn settle(self) {
        let value = self.load();
        // SAFETY: an instruction that only reads a register; it makes the core wait for the
        // load, and being opaque to the compiler it is not removed.
        unsafe { asm!("mv zero, {}", in(reg) value, options(nostack, preserves_flags)) }
    }
}

/// A 32-bit register of the tile.
#[derive(Clone, Copy)]
struct Register(u32);

impl Register {
    /// A register of this RISC's NoC interface.
    #[inline(always)]
    fn of_noc(offset: u32) -> Self {
        Self(NOC_0 + (tile().noc_index & 1) * NOC_STRIDE + offset)
    }

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
struct CommandBuffer(Register);

impl CommandBuffer {
    #[inline(always)]
    fn numbered(number: u32) -> Self {
        Self(Register::of_noc((number & COMMAND_BUFFER_MASK) * COMMAND_BUFFER_STRIDE))
    }

    #[inline(always)]
    const fn register(self, offset: u32) -> Register {
        Register(self.0.0 + offset)
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

/// The coordinates and the address offset of a DRAM bank, `None` if it does not exist.
fn bank_place(bank: u32) -> Option<(u32, u32)> {
    let tile = tile();
    if bank >= tile.bank_count {
        return None;
    }
    let coordinates = tile.bank_coordinates.wrapping_add(bank as usize);
    let offset = tile.bank_offsets.wrapping_add(bank as usize);
    // SAFETY: the firmware provides a table of `bank_count` entries; `bank` is below that.
    let coordinates = unsafe { coordinates.read() };
    // SAFETY: as above.
    let offset = unsafe { offset.read() };
    Some((u32::from(coordinates), offset))
}

const WALL_CLOCK_LOW: Register = Register(0xFFB1_21F0);
const WALL_CLOCK_HIGH: Register = Register(0xFFB1_21F4);

const NOC_0: u32 = 0xFFB2_0000;
const NOC_STRIDE: u32 = 0x1_0000;
/// No bank has this number.
const NO_BANK: u32 = u32::MAX;

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

/// The registers that a push changes.
const SAVED: [u32; 7] =
    [TARG_ADDR_LO, RET_ADDR_LO, RET_ADDR_MID, RET_ADDR_HI, PACKET_TAG, CTRL, AT_LEN_BE];

const CTRL_LINKED: u32 = 1 << 6;

/// A write on static virtual channel 1 whose arrival is acknowledged. Many tiles that write
/// to one DRAM channel on dynamic channels get a third of its bandwidth.
const CTRL_WRITE_ACKNOWLEDGED: u32 = 1 << 1 | 1 << 4 | 1 << 7 | 1 << 13;
