//! Cores that run firmware and kernels as RV32IM object code, as on a chip.
//!
//! `riscs` has the harts of a core with their local RAMs, and the devices of the core; L1 and clock
//! belong to the tile. [`crate::board`] runs the harts whenever its host advances the chip. A
//! machine adds the code of the harts and runs one launch at a time: it writes the launch message
//! and GO, and runs the harts in turns until all of them wait again. [`crate::riscv`] models the
//! harts' pipelines; `stage` issues writes to DRAM.
//!
//! # Memory map
//!
//! | what | Tensix | Ethernet |
//! |---|---|---|
//! | jump to the firmware | 0x0 | 0x0 |
//! | [`mailbox`] | 0x10, Blackhole 0x60 | 0x3DD50 or, idle, 0x2000; Blackhole 0x100 |
//! | control vector, then record buffers | `ArchFacts::control_address` | the same method |
//! | firmware | 0x4000: BRISC 12 KiB, then 8 KiB per other RISC | 0x4000, 12 KiB |
//! | kernels | 0x10000: 32 KiB per RISC | 0x10000, 32 KiB |
//! | data of kernels | after the kernels | after the kernel |
//! | local RAM | 0xFFB00000 | 0xFFB00000 |
//!
//! One image per processor contains all kernels; a launch gives the entry address of its kernel.
//! NCRISC runs code from L1 on both architectures. The linker scripts in `objects/link` implement
//! this map.
//!
//! # Model
//!
//! - A hart that waits for a byte of the mailbox is not executed until the byte is written; it
//!   continues at the time of the write.
//! - Harts take turns of [`TURN_CYCLES`]. A hart may see another hart's store up to one turn too
//!   early or too late. A hart may also get a port of L1 before another hart that requested the
//!   port earlier. If waits are recorded, turns are shorter than polling intervals. With exact
//!   turns ([`MeshConfig::with_exact_turns`](crate::config::MeshConfig::with_exact_turns)), a turn
//!   is one instruction: the hart with the earliest cycle runs next.
//! - A fault rule can delay the second of the two loads with which a RISC reads the clock. The
//!   delay has no effect on a loop that waits for a time, because such a loop loads only the low
//!   word.
//! - A store is visible to the host, and a kernel counts as begun, when the hart executes the
//!   store, not when the store leaves its queue.
//! - The registers are those in `registers`, which has a table per architecture. An access to any
//!   other address stops the hart, since a chip would hang or behave differently. The failure
//!   reports the address, the pc and the attempted access. A register that exists but is not
//!   modelled also stops the hart, and the failure names the register.
//! - Before a NoC request is sent, these are checked: the target's coordinates on the request's
//!   NoC, the tile at these coordinates, the address range, the alignment, and the tile that gets
//!   the acknowledgement. If the acknowledgement of a write goes to another core than the sender,
//!   the write never completes for the sender.
//! - Tiles access each other's L1 and registers, and read and write DRAM. Tiles run in windows of
//!   time; a request may become visible to its receiver too late by up to the window's length.
//!   While tiles communicate, a window is as long as a turn; otherwise it has up to 16,384 cycles.
//! - In the debug dump and streaming modes, a kernel may wait until the host has read records: it
//!   repeatedly checks how far the host has read, with a delay loop after each check. The simulator
//!   skips this time. The hart continues when the host accesses the chip again, or within 2^20
//!   cycles.
//! - The Tensix coprocessor accepts and counts instructions; it computes nothing.

mod arrival;
mod awaited;
mod bus;
mod clock_wait;
pub(crate) mod coordinates;
pub(crate) mod coprocessor;
pub mod core_code;
mod daisychain;
mod devices;
pub mod failure;
mod host_push;
pub mod images;
#[cfg(test)]
#[path = "../../tests/unit/link_rules.rs"]
mod link_rules;
pub mod link_script;
mod look;
pub mod mailbox;
pub(crate) mod message;
mod niu;
#[cfg(test)]
#[path = "../../tests/unit/object_rules.rs"]
mod object_rules;
mod performance;
mod polling;
mod queues;
mod registers;
mod request;
mod rest;
mod riscs;
mod run;
mod sampler;
mod signalling;
mod stage;
mod standing;
mod stored_records;
#[cfg(test)]
mod tests;
mod tile_watch;

use crate::{
    arch::floorplan::CorePlace, chip::facts::ChipFacts, program::CoreUse, riscv, tile::Tile,
};
pub(crate) use arrival::Payload;
pub(crate) use bus::Station;
use core_code::{CoreCode, RiscCode};
pub(crate) use devices::Devices;
pub use failure::{ExecutionFailure, FailureReason};
pub use images::KernelKind;
pub(crate) use look::{Look, polled_words};
pub(crate) use niu::logical_id;
pub(crate) use polling::{PollRules, next_access};
pub(crate) use registers::Effect;
pub(crate) use request::{Action, FIRST_REGISTER, Request};
use rest::Rest;
pub(crate) use riscs::{HartState, Riscs, Turn};
pub(crate) use run::{LaunchReport, Progress};
pub(crate) use sampler::Sampler;
pub(crate) use signalling::stored_addresses;
pub(crate) use stage::Stage;
pub(crate) use tile_watch::TileWatch;

/// Cycles that a hart runs before the other harts have their turns.
pub const TURN_CYCLES: u64 = 64;

/// Returns the version of the gcc that compiled the C++ kernels; `None` if there was no such gcc.
#[must_use]
pub const fn cpp_compiler_version() -> Option<&'static str> {
    option_env!("CPP_COMPILER_VERSION")
}

/// The RISCs of a core, and the code that they run.
pub(crate) struct Machine {
    code: CoreCode,
    riscs: Riscs,
    /// The wait loops of each RISC.
    processors: Vec<Processor>,
    has_booted: bool,
}

/// The loops, in the code of one RISC, in which the RISC waits.
#[derive(Default)]
struct Processor {
    /// Address of the loop in which this project's firmware waits for a byte, if known.
    wait_loop: Option<u32>,
    rest: Rest,
}

impl Machine {
    /// Creates a machine in reset, with the code of a core that is used for `core_use`. The machine
    /// has no processors if there is no code for the core; see [`CoreCode::new`].
    pub(crate) fn new(core_use: CoreUse, chip: &ChipFacts, place: CorePlace) -> Self {
        let code = CoreCode::new(core_use, chip, place);
        let mut riscs = Riscs::new(chip, place, code.risc_count());
        if let Some(address) = code.uncached_from() {
            riscs.run_ncrisc_uncached_from(address);
        }
        let waits = |index| code.riscs().get(index).map(|&risc| Processor::new(chip, risc));
        let processors = (0..code.risc_count()).map(|index| waits(index).unwrap_or_default());
        Self { riscs, processors: processors.collect(), code, has_booted: false }
    }

    /// Removes and returns the completed intervals in which banks of performance counters counted.
    pub(crate) fn take_counter_intervals(&mut self) -> Vec<performance::Interval> {
        self.riscs.devices.take_counter_intervals()
    }

    /// Returns the devices that the core's RISCs share.
    pub(crate) const fn devices_mut(&mut self) -> &mut Devices {
        &mut self.riscs.devices
    }

    /// Starts the core's first RISC at address 0, without firmware.
    #[cfg(test)]
    pub(crate) fn start_bare(&mut self, chip: &ChipFacts, place: CorePlace) {
        let devices = &mut self.riscs.devices;
        *devices = Devices::new(chip, place);
        devices.mailbox.address = u32::MAX - mailbox::SIZE_BYTES;
        devices.soft_reset = 0x4_7000;
        self.riscs.invalidate(0..u32::MAX);
        self.riscs.harts[0].start(0, 0);
    }

    /// Updates the harts after other tiles or the host have accessed this tile. The access may have
    /// changed code, occupied banks of L1, or changed bytes that harts wait for.
    pub(crate) fn follow_arrivals(&mut self, tile: &Tile) {
        self.riscs.follow_writes();
        self.wake_after_writes(tile);
    }

    /// Wakes the harts that wait for a word in memory, if such a word was written.
    fn wake_after_writes(&mut self, tile: &Tile) {
        if let Some(cycle) = self.riscs.devices.signals.written_at.take() {
            self.riscs.wake(tile, cycle);
        }
    }
}

/// Returns a tile's devices after a reset of the tile.
fn devices(code: &CoreCode, chip: &ChipFacts, place: CorePlace) -> Devices {
    let mut devices = Devices::new(chip, place);
    (devices.code, devices.mailbox) = (code.bounds(), code.mailbox_place());
    devices
}

impl Processor {
    fn new(chip: &ChipFacts, code: RiscCode) -> Self {
        let wait_loop = code.firmware.symbol("__wait_for_byte").map(|symbol| symbol.address);
        Self { wait_loop, rest: Rest::new(chip, code) }
    }
}

/// Returns the name of the function at an address, with the address's offset in that function.
fn symbol_at(image: &riscv::Image<'_>, pc: u32) -> Option<String> {
    let symbol = image.symbol_at(pc)?;
    Some(format!("{}+{:#x}", symbol.name, pc - symbol.address))
}
