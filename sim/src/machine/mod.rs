//! Cores that run RV32IM object code, firmware and kernels, as on a chip.
//!
//! A machine contains a core's harts with their local RAMs, and the core's devices; L1 and clock
//! belong to the tile. The machine runs one launch at a time: it writes the launch message and GO,
//! and runs the harts in turns until all of them wait again. [`crate::riscv`] models the harts'
//! pipelines; `stage` issues writes to DRAM.
//!
//! # Memory map
//!
//! | what | Tensix | Ethernet |
//! |---|---|---|
//! | jump to the firmware | 0x0 | 0x0 |
//! | [`mailbox`] | 0x10, Blackhole 0x60 | 0x3DD50 or, idle, 0x2000; Blackhole 0x100 |
//! | control vector, vectors | as in the description | as in the description |
//! | firmware | 0x4000 12 KiB, then 8 KiB each | 0x4000, 12 KiB |
//! | kernels | 0x10000, 32 KiB each | 0x10000, 32 KiB |
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
//! - Harts take turns of [`TURN_CYCLES`]. An effect within a turn may be visible to another hart up
//!   to one turn early or late, and a hart may use a port of L1 before another hart that needed it
//!   earlier. If waits are recorded, turns are shorter than polling intervals. With exact turns
//!   ([`MeshConfig::with_exact_turns`](crate::config::MeshConfig::with_exact_turns)), a turn is one
//!   instruction: the hart that is furthest behind goes first.
//! - A fault that delays a clock read acts between the two loads of that read. It does not affect a
//!   kernel that only waits, since such a kernel loads only the low word.
//! - A store is visible to the host, and a kernel counts as begun, when the hart executes the
//!   store, not when the store leaves its queue.
//! - The registers are those in `registers`, which has a table per architecture. An access to any
//!   other address stops the hart, since a chip would hang or behave differently. The failure
//!   reports the address, the pc and the attempted access. A register that exists but is not
//!   modelled also stops the hart, and the failure names the register.
//! - A NoC request is checked before it is sent: its coordinates on its own NoC, the tile at these
//!   coordinates, the range, the alignment, and the tile that gets the acknowledgement. A write
//!   whose acknowledgement goes to another core never completes.
//! - Tiles access each other's L1 and registers, and read and write DRAM. Tiles run in windows of
//!   time; a request may become visible to its receiver too late by up to the window's length.
//!   While tiles communicate, a window is as long as a turn; otherwise it has up to 16,384 cycles.
//! - While the hart of a kernel rests between two checks of the host's read position, in the debug
//!   dump or in streaming, time is skipped. The hart continues when the host accesses the chip
//!   again, or within 2^20 cycles.
//! - The Tensix coprocessor accepts and counts instructions; it computes nothing.

mod arrival;
mod bus;
mod clock_wait;
mod coprocessor;
pub mod core_code;
mod devices;
pub mod failure;
mod go;
mod host_push;
pub mod images;
#[cfg(object_code)]
#[cfg(test)]
#[path = "../../tests/unit/link_rules.rs"]
mod link_rules;
pub mod link_script;
pub mod mailbox;
pub(crate) mod message;
mod niu;
#[cfg(object_code)]
#[cfg(test)]
#[path = "../../tests/unit/object_rules.rs"]
mod object_rules;
mod performance;
mod polling;
mod queues;
mod registers;
mod request;
mod rest;
mod run;
mod stage;
#[cfg(object_code)]
#[cfg(test)]
mod tests;
mod tile_watch;
mod tt_metal;

use crate::{
    arch::{Arch, floorplan::CorePlace},
    chip::facts::ChipFacts,
    program::CoreUse,
    riscv::{self, Hart, L1Front, L1Port},
    tile::{Tile, l1::L1},
    tt_metal::firmware::FirmwareSet,
};
pub(crate) use arrival::{Payload, carry_out, read_bytes, write_bytes};
pub(crate) use bus::{ClockReads, Station, TileBus};
use core_code::{CoreCode, RiscCode};
pub(crate) use devices::Devices;
use devices::MailboxPlace;
pub use failure::{ExecutionFailure, FailureReason};
pub use images::KernelKind;
pub(crate) use message::Answer;
pub(crate) use niu::{Change, counter, logical_id};
pub(crate) use polling::{Watched, next_access};
pub(crate) use request::{Action, FIRST_REGISTER, Request};
use rest::Rest;
pub(crate) use run::Progress;
pub(crate) use stage::Stage;
use std::sync::Arc;
pub(crate) use tile_watch::TileWatch;
use wire::CoreKind;

/// Cycles that a hart runs before the other harts have their turns.
pub const TURN_CYCLES: u64 = 64;

/// The target that object code is built for.
pub const TARGET: &str = "riscv32im-unknown-none-elf";

/// Returns true if this build has object code for the RISCs.
///
/// This code is shipped or, if its sources have changed, compiled for [`TARGET`].
#[must_use]
pub const fn has_object_code() -> bool {
    cfg!(object_code)
}

/// Returns the version of the gcc that compiled the C++ kernels; `None` if there was no such gcc.
#[must_use]
pub const fn cpp_compiler_version() -> Option<&'static str> {
    option_env!("CPP_COMPILER_VERSION")
}

/// The harts of a core and their state.
pub(crate) struct Machine {
    code: CoreCode,
    /// tt-metal's firmware, if it replaces this project's firmware.
    set: Option<Arc<FirmwareSet>>,
    processors: Vec<Processor>,
    devices: Devices,
    clock_reads: ClockReads,
    front: L1Front,
    has_booted: bool,
}

/// One RISC: its hart, its private memory and its code.
struct Processor {
    hart: Hart,
    local_ram: Vec<u8>,
    /// This project's own code; `None` if tt-metal's firmware runs.
    code: Option<RiscCode>,
    /// Address of the loop in which this project's firmware waits for a byte, if known.
    wait_loop: Option<u32>,
    state: HartState,
    rest: Rest,
}

/// State of a hart between turns.
#[derive(Clone, Debug, PartialEq, Eq)]
enum HartState {
    InReset,
    Running,
    /// Waits until a byte of L1 has a certain value.
    Waiting {
        address: u32,
        value: u8,
    },
    /// Waits until one of the words that it polls changes.
    Polling(Watched),
    Failed,
}

impl Machine {
    /// Creates a machine in reset, with the code for a use of the core. The machine has no
    /// processors if the build has no object code.
    pub(crate) fn new(core_use: CoreUse, chip: &ChipFacts, place: CorePlace) -> Self {
        let set = chip.modes.firmware.clone().filter(|_| core_use == CoreUse::Programs);
        let code = CoreCode::new(core_use, chip, place);
        let codes: Vec<Option<RiscCode>> = match &set {
            Some(set) if place.kind == CoreKind::Tensix => vec![None; set.processors().len()],
            Some(_) => Vec::new(),
            None => code.riscs().iter().copied().map(Some).collect(),
        };
        let processors = codes.into_iter().enumerate();
        Self {
            processors: processors.map(|(index, code)| Processor::new(chip, code, index)).collect(),
            devices: devices(set.as_deref(), &code, chip, place),
            code,
            set,
            clock_reads: ClockReads::default(),
            front: L1Front::new(),
            has_booted: false,
        }
    }

    /// Stops all harts permanently.
    fn stop(&mut self) {
        for risc in &mut self.processors {
            risc.state = HartState::InReset;
        }
    }

    /// Removes and returns the completed intervals in which banks of performance counters counted.
    pub(crate) fn take_counter_windows(&mut self) -> Vec<performance::Window> {
        self.devices.take_counter_windows()
    }

    /// Returns the devices that the core's RISCs share.
    pub(crate) const fn devices_mut(&mut self) -> &mut Devices {
        &mut self.devices
    }

    /// Starts the code at address 0 on the first RISC, without firmware.
    #[cfg(object_code)]
    #[cfg(test)]
    pub(crate) fn start_bare(&mut self, chip: &ChipFacts, place: CorePlace) {
        self.devices = Devices::new(chip, place);
        self.devices.mailbox.address = u32::MAX - mailbox::SIZE_BYTES;
        self.devices.soft_reset = 0x4_7000;
        self.front.invalidate(0..u32::MAX);
        let leader = &mut self.processors[0];
        leader.hart.reset(0);
        leader.state = HartState::Running;
    }

    /// Updates the harts after other tiles or the host have accessed this tile: for changed code,
    /// for NoC reads that occupy banks of L1, and for changed bytes that harts wait for.
    pub(crate) fn follow_arrivals(&mut self, tile: &Tile) {
        for range in self.devices.overwritten.drain(..) {
            self.front.invalidate(range);
        }
        for read in self.devices.noc_reads.drain(..) {
            self.front.note_noc_read(read);
        }
        if let Some(cycle) = self.devices.signals.written_at.take() {
            self.wake(tile, cycle);
        }
    }

    /// Wakes harts whose awaited values have changed.
    fn wake(&mut self, tile: &Tile, cycle: u64) {
        for risc in &mut self.processors {
            let is_over = match &risc.state {
                HartState::Waiting { address, value } => byte(tile, *address) == *value,
                HartState::Polling(watched) => watched.has_changed(tile),
                HartState::InReset | HartState::Running | HartState::Failed => false,
            };
            if is_over {
                risc.hart.advance_to(cycle);
                risc.state = HartState::Running;
            }
        }
    }

    /// Writes all code, and the words that describe the core to the firmware, to L1.
    fn load(&self, l1: &mut L1) {
        l1.keep(u64::from(self.devices.code.end));
        for (address, words) in self.code.boot_writes() {
            l1.write_words(u64::from(address), &words);
        }
    }
}

/// Returns a tile's devices after a reset of the tile.
fn devices(
    set: Option<&FirmwareSet>,
    code: &CoreCode,
    chip: &ChipFacts,
    place: CorePlace,
) -> Devices {
    let mut devices = Devices::new(chip, place);
    (devices.code, devices.mailbox) = match set {
        Some(set) => (tt_metal::code_bounds(set), tt_metal::mailbox_place(set)),
        None => {
            let ((start, end), address) = (code.bounds(), code.mailbox());
            let mailbox = MailboxPlace {
                address,
                size_bytes: mailbox::SIZE_BYTES,
                done_address: address + mailbox::GO,
                done_value: mailbox::signal::DONE,
                stages: Some(address + mailbox::STAGE),
            };
            (start..end, mailbox)
        }
    };
    devices
}

/// Returns a byte from a tile's L1.
fn byte(tile: &Tile, address: u32) -> u8 {
    (tile.load(u64::from(address & !3)) >> (8 * (address & 3)) & 0xFF) as u8
}

impl Processor {
    fn new(chip: &ChipFacts, code: Option<RiscCode>, risc_index: usize) -> Self {
        let arch = chip.arch;
        let port = if risc_index < 3 { L1Port::Port2 } else { L1Port::Port3 };
        let wait_loop = code.and_then(|code| code.firmware.symbol("__wait_for_byte"));
        Self {
            hart: Hart::new(arch, port),
            local_ram: vec![0; local_ram_bytes(arch, risc_index)],
            code,
            wait_loop: wait_loop.map(|symbol| symbol.address),
            state: HartState::InReset,
            rest: code.map(|code| Rest::new(chip, code)).unwrap_or_default(),
        }
    }
}

/// Returns the name of the function at an address, with the address's offset in that function.
fn symbol_at(image: &riscv::Image<'_>, pc: u32) -> Option<String> {
    let symbol = image.symbol_at(pc)?;
    Some(format!("{}+{:#x}", symbol.name, pc - symbol.address))
}

/// Returns the size of a RISC's local RAM.
///
/// # Compatibility
/// tt-isa-documentation, `TensixTile/BabyRISCV/README.md`.
pub(crate) const fn local_ram_bytes(arch: Arch, risc_index: usize) -> usize {
    let kib = match (arch, risc_index) {
        (Arch::WormholeB0, 0 | 1) | (Arch::Blackhole, 2..) => 4,
        (Arch::WormholeB0, _) => 2,
        (Arch::Blackhole, _) => 8,
    };
    kib * 1024
}
