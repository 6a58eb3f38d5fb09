//! Cores that run RV32IM object code: firmware and kernels as they would be on a chip.
//!
//! A machine is a core's harts with their local RAMs and devices; its L1 and clock are the
//! tile's. One launch at a time is carried out on it: the launch
//! message is written, GO given, and the harts run by turns until all of them wait again.
//! The harts' own pipelines are [`crate::riscv`]'s job, what a write does to DRAM that of
//! the stage.
//!
//! # Memory map
//!
//! | what | Tensix | Ethernet |
//! |---|---|---|
//! | jump to the firmware | 0x0 | 0x0 |
//! | [`mailbox`] | 0x10, Blackhole 0x60 | 0x3DD50 or, idle, 0x2000; Blackhole 0x100 |
//! | control vector, vectors | where the description says | where the description says |
//! | firmware | 0x4000 12 KiB, then 8 KiB each | 0x4000, 12 KiB |
//! | kernels | 0x10000, 32 KiB each | 0x10000, 32 KiB |
//! | what kernels bring along | behind the kernels | behind the kernel |
//! | local RAM | 0xFFB00000 | 0xFFB00000 |
//!
//! One image per processor holds all kernels; a launch names the entry. NCRISC runs from
//! L1 on both architectures. The linker scripts in `objects/link` are this map.
//!
//! # Model
//!
//! - A hart that waits for a byte of the mailbox is not executed until somebody writes it,
//!   and then goes on at that time.
//! - Harts take turns of [`TURN_CYCLES`]; what they do to each other within one may be seen
//!   that much too early or too late. Where waits are recorded, turns are shorter than polls.
//! - A fault that holds a read of the clock back does so between its two loads: a kernel
//!   that only waits loads the low word alone.
//! - A store is visible to the host, and a kernel said to begin, when the hart enters the
//!   store, not when it leaves its queue.
//! - Registers are those of `registers`, a table per architecture: anything else stops the hart
//!   with the address, the pc and what was attempted, since a chip would hang or do something
//!   else. What exists but is not modelled stops it too, and is named.
//! - A NoC request is checked before it is sent: coordinates of its own NoC, the tile that
//!   answers there, the range, alignment, and the tile that a write is acknowledged to. A write
//!   that is acknowledged to another core never completes.
//! - Tiles reach each other's L1 and registers, and DRAM both ways. Tiles run by windows of
//!   time; what is sent within one may be seen by its receiver up to the window's length too
//!   late. A window is as long as a turn while tiles talk to each other, else up to 16,384
//!   cycles.
//! - In the debug dump, a hart that rests between two looks at what the host has read goes on when
//!   the host accesses the chip again, or within 2^20 cycles.
//! - The Tensix coprocessor takes and counts instructions; it computes nothing.

mod arrival;
mod bus;
mod clock_wait;
mod coprocessor;
pub mod core_code;
mod devices;
pub mod failure;
mod go;
pub mod images;
mod kernel_kind;
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
    riscv::{self, Hart, L1Front, L1Port, Timing},
    tile::{Tile, l1::L1},
    tt_metal::firmware::FirmwareSet,
};
pub(crate) use arrival::{Payload, carry_out, read_bytes, write_bytes};
pub(crate) use bus::{ClockReads, Station, TileBus};
use core_code::{CoreCode, RiscCode};
pub(crate) use devices::Devices;
use devices::MailboxPlace;
pub use failure::{ExecutionFailure, FailureReason};
pub(crate) use go::{Go, LaunchReport};
pub use kernel_kind::KernelKind;
pub(crate) use message::Answer;
pub(crate) use niu::{Change, counter};
use polling::Polled;
pub(crate) use request::{Action, Request};
use rest::Rest;
pub(crate) use run::Progress;
pub(crate) use stage::Stage;
use std::sync::Arc;
pub(crate) use tile_watch::{Sender, TileWatch};

/// Cycles that a hart runs before the others catch up.
pub const TURN_CYCLES: u64 = 64;

impl KernelKind {
    /// Texts of the zones of its kernels, see [`crate::mesh::SimulatedMesh::zone_texts`].
    pub(crate) fn zone_texts(self) -> Vec<String> {
        images::zones(self.image_part())
    }
}

/// The target that object code is built for.
pub const TARGET: &str = "riscv32im-unknown-none-elf";

/// Returns true if this build has object code for the RISCs: what is shipped, or compiled with
/// [`TARGET`] where its sources have changed.
#[must_use]
pub const fn has_object_code() -> bool {
    cfg!(object_code)
}

/// The version of gcc that compiled kernels in C++, `None` if it was not installed.
#[must_use]
pub const fn cpp_compiler_version() -> Option<&'static str> {
    option_env!("CPP_COMPILER_VERSION")
}

/// The harts of a core and what belongs to them.
pub(crate) struct Machine {
    code: CoreCode,
    /// tt-metal's firmware, where it runs in place of this project's own.
    set: Option<Arc<FirmwareSet>>,
    processors: Vec<Processor>,
    devices: Devices,
    clock_reads: ClockReads,
    front: L1Front,
    has_booted: bool,
}

/// One RISC: its hart, its memory and its code.
struct Processor {
    hart: Hart,
    local_ram: Vec<u8>,
    /// This project's own code, if it runs that.
    code: Option<RiscCode>,
    state: HartState,
    rest: Rest,
}

/// State of a hart between turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HartState {
    InReset,
    Running,
    /// Waits until a byte of L1 has a value.
    Waiting {
        address: u32,
        value: u8,
    },
    /// Waits until somebody changes what it looks at again and again.
    Polling(Polled),
    Failed,
}

impl Machine {
    /// A machine in reset; without processors if the build has no object code.
    pub(crate) fn new(chip: &ChipFacts, place: CorePlace) -> Self {
        if let Some(set) = &chip.modes.firmware {
            return Self::of_tt_metal(set, chip, place);
        }
        Self::of(CoreCode::new(chip, place), chip, place)
    }

    /// A machine in reset for kernels that dispatch.
    pub(crate) fn dispatching(chip: &ChipFacts, place: CorePlace) -> Self {
        Self::of(CoreCode::dispatching(chip, place), chip, place)
    }

    fn of(code: CoreCode, chip: &ChipFacts, place: CorePlace) -> Self {
        let processors: Vec<Processor> = (0..place.kind.risc_count())
            .zip(code.riscs())
            .map(|(index, &risc)| {
                let rest = Rest::of(chip, risc);
                Processor { rest, ..Processor::new(chip.arch, Some(risc), index) }
            })
            .collect();
        Self {
            devices: devices(chip, place, &code),
            code,
            set: None,
            processors,
            clock_reads: ClockReads::default(),
            front: L1Front::new(),
            has_booted: false,
        }
    }

    /// Instructions that the coprocessor has taken from each TRISC.
    pub(crate) const fn tensix_instruction_counts(&self) -> [u64; 3] {
        self.devices.coprocessor.instruction_counts()
    }

    /// Takes the times over which banks of performance counters counted.
    pub(crate) fn take_counter_windows(&mut self) -> Vec<performance::Window> {
        self.devices.take_counter_windows()
    }

    /// Returns the devices that the RISCs share.
    pub(crate) const fn devices_mut(&mut self) -> &mut Devices {
        &mut self.devices
    }

    /// Starts code that somebody has put at address 0, without firmware.
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

    /// Notices what something else than a hart has done to the tile: code that changed, bytes
    /// that harts wait for.
    pub(crate) fn follow_arrivals(&mut self, tile: &Tile) {
        for range in self.devices.overwritten.drain(..) {
            self.front.invalidate(range);
        }
        if let Some(cycle) = self.devices.signals.written_at.take() {
            self.wake(tile, cycle);
        }
    }

    /// Lets harts go on that have got what they wait for.
    fn wake(&mut self, tile: &Tile, cycle: u64) {
        for risc in &mut self.processors {
            let is_over = match &risc.state {
                HartState::Waiting { address, value } => byte(tile, *address) == *value,
                HartState::Polling(polled) => polled.has_changed(tile),
                HartState::InReset | HartState::Running | HartState::Failed => false,
            };
            if is_over {
                risc.hart.advance_to(cycle);
                risc.state = HartState::Running;
            }
        }
    }

    /// Fills L1 with all code and with what the firmware must know about its core.
    fn load(&self, l1: &mut L1) {
        l1.keep(u64::from(self.devices.code.end));
        for (address, words) in self.code.boot_writes() {
            l1.write_words(u64::from(address), &words);
        }
    }
}

/// Devices as they are after a reset of the tile.
fn devices(chip: &ChipFacts, place: CorePlace, code: &CoreCode) -> Devices {
    let (start, end) = code.bounds();
    let mut devices = Devices::new(chip, place);
    devices.code = start..end;
    let address = code.mailbox();
    devices.mailbox = MailboxPlace {
        address,
        size_bytes: mailbox::SIZE_BYTES,
        done_address: address + mailbox::GO,
        done_value: mailbox::signal::DONE,
        stages: Some(address + mailbox::STAGE),
    };
    devices
}

/// A byte of a tile's L1.
fn byte(tile: &Tile, address: u32) -> u8 {
    (tile.load(u64::from(address & !3)) >> (8 * (address & 3)) & 0xFF) as u8
}

impl Processor {
    fn new(arch: Arch, code: Option<RiscCode>, risc_index: usize) -> Self {
        let timing = Timing::On(match arch {
            Arch::WormholeB0 => riscv::Arch::Wormhole,
            Arch::Blackhole => riscv::Arch::Blackhole,
        });
        let port = if risc_index < 3 { L1Port::Port2 } else { L1Port::Port3 };
        Self {
            hart: Hart::new(timing, port),
            local_ram: vec![0; local_ram_bytes(arch, risc_index)],
            code,
            state: HartState::InReset,
            rest: Rest::default(),
        }
    }

    /// Where a name of this project's own firmware lies.
    fn firmware_symbol(&self, name: &str) -> Option<u32> {
        self.code?.firmware.symbol(name).map(|symbol| symbol.address)
    }
}

/// The function that an address lies in, with the offset in it.
fn symbol_at(image: &riscv::Image<'_>, pc: u32) -> Option<String> {
    let symbol = image.symbol_at(pc)?;
    Some(format!("{}+{:#x}", symbol.name, pc - symbol.address))
}

/// Local RAM of a RISC.
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
