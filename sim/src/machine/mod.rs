//! Cores that run RV32IM object code: firmware and kernels as they would be on a chip.
//!
//! A machine is a core's harts with their local RAMs and devices; its L1 and clock are the
//! tile's, as for native kernels. One launch at a time is carried out on it: the launch
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
//!   that much too early or too late.
//! - A fault that holds a read of the clock back does so between its two loads: a kernel
//!   that only waits loads the low word alone.
//! - A store is visible to the host, and a kernel said to begin, when the hart enters the
//!   store, not when it leaves its queue.

mod bus;
pub mod failure;
pub mod images;
#[cfg(object_code)]
#[cfg(test)]
mod link_rules;
pub mod mailbox;
mod noc_interface;
mod run;
#[cfg(object_code)]
#[cfg(test)]
mod tests;

use crate::{
    arch::{Arch, floorplan::CorePlace},
    chip::facts::ChipFacts,
    riscv::{self, Hart, L1Front, L1Port, Timing},
    tile::l1::L1,
};
use bus::Devices;
pub use failure::{ExecutionFailure, FailureReason};
use images::{Image, Selection};
pub(crate) use noc_interface::WriteCommand;
use noc_interface::{NocInterfaces, bank_coordinates, bank_offset};
pub(crate) use run::run_launch;
use wire::CoreKind;

/// Cycles that a hart runs before the others catch up.
pub const TURN_CYCLES: u64 = 64;

/// What kernels of a simulation are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelKind {
    /// Rust functions of the simulator's own process; costs are estimates.
    Native,
    /// RV32IM object code, executed instruction by instruction.
    Riscv,
    /// The same, compiled from C++; only the kernels that have a twin there.
    Cpp,
}

impl KernelKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Native, Self::Riscv, Self::Cpp];

    /// A word for it: `native`, `riscv` or `cpp`.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Riscv => "riscv",
            Self::Cpp => "cpp",
        }
    }

    /// Texts of the zones of its kernels, see [`crate::mesh::SimulatedMesh::zone_texts`].
    pub(crate) fn zone_texts(self) -> Vec<String> {
        match self {
            Self::Native => crate::native::registered_zones(),
            Self::Riscv | Self::Cpp => images::zones(),
        }
    }

    /// The images that its kernels are in.
    const fn image_part(self) -> &'static str {
        match self {
            Self::Native | Self::Riscv => "kernels",
            Self::Cpp => "cpp_kernels",
        }
    }

    /// Object code where this build has it.
    #[must_use]
    pub const fn preferred() -> Self {
        if has_object_code() { Self::Riscv } else { Self::Native }
    }
}

/// The target that object code is built for.
pub const TARGET: &str = "riscv32im-unknown-none-elf";

/// Whether this build has object code for the RISCs: [`TARGET`] was installed.
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
    processors: Vec<Processor>,
    devices: Devices,
    front: L1Front,
    has_booted: bool,
}

/// One RISC: its hart, its memory and its code.
struct Processor {
    hart: Hart,
    local_ram: Vec<u8>,
    firmware: &'static Image,
    kernels: &'static Image,
    state: HartState,
}

/// What a hart does between turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HartState {
    InReset,
    Running,
    /// Waits until a byte of L1 has a value.
    Waiting {
        address: u32,
        value: u8,
    },
    Failed,
}

impl Machine {
    /// A machine in reset; without processors if the build has no object code.
    pub(crate) fn new(chip: &ChipFacts, place: CorePlace) -> Self {
        let kind = place.kind;
        let selection =
            Selection { arch: chip.arch, has_sums: chip.sums_enabled, is_enabled: true };
        let processors: Vec<Processor> = (0..kind.risc_count())
            .filter_map(|index| Processor::new(selection, chip.kernels, kind, index))
            .collect();
        let bounds = processors.iter().flat_map(|risc| [risc.firmware, risc.kernels]);
        let code = bounds
            .map(Image::bounds)
            .reduce(|all, (start, end)| (all.0.min(start), all.1.max(end)));
        let (start, end) = code.unwrap_or_default();
        let firmware = processors.first().map(|risc| risc.firmware);
        let mailbox = firmware.and_then(|image| image.symbol("__mailbox"));
        let mailbox = mailbox.map_or(0, |symbol| symbol.address);
        let noc = NocInterfaces::new(chip.arch, place.coord);
        Self {
            processors,
            devices: Devices::new(noc, start..end, mailbox),
            front: L1Front::new(),
            has_booted: false,
        }
    }

    /// Fills L1 with all code and with what the firmware must know about its core.
    fn load(&mut self, l1: &mut L1, chip: &ChipFacts, place: CorePlace) {
        l1.keep(u64::from(self.devices.code.end));
        for risc in &self.processors {
            for image in [risc.firmware, risc.kernels] {
                for segment in image.program.segments() {
                    write_bytes(l1, segment.address, segment.bytes);
                }
            }
        }
        let entry = self.processors.first().map_or(0, |risc| risc.firmware.program.entry());
        l1.replace_word(0, jump_to(entry));
        let words = core_words(chip, place, self.devices.mailbox);
        for (offset, word) in words {
            l1.replace_word(u64::from(self.devices.mailbox + offset), word);
        }
    }
}

impl Processor {
    fn new(
        selection: Selection,
        kernels: KernelKind,
        kind: CoreKind,
        risc_index: usize,
    ) -> Option<Self> {
        let name = images::processor(kind, risc_index);
        let timing = Timing::On(match selection.arch {
            Arch::WormholeB0 => riscv::Arch::Wormhole,
            Arch::Blackhole => riscv::Arch::Blackhole,
        });
        let port = if risc_index < 3 { L1Port::Port2 } else { L1Port::Port3 };
        Some(Self {
            hart: Hart::new(timing, port),
            local_ram: vec![0; local_ram_bytes(selection.arch, risc_index)],
            firmware: images::find(selection, "firmware", name)?,
            kernels: images::find(selection, kernels.image_part(), name)?,
            state: HartState::InReset,
        })
    }

    /// The function at an address, with the offset in it.
    fn symbol_at(&self, pc: u32) -> Option<String> {
        let images = [self.kernels, self.firmware];
        let symbol = images.iter().find_map(|image| image.program.symbol_at(pc))?;
        Some(format!("{}+{:#x}", symbol.name, pc - symbol.address))
    }
}

/// Local RAM of a RISC.
///
/// # Compatibility
/// tt-isa-documentation, `TensixTile/BabyRISCV/README.md`.
const fn local_ram_bytes(arch: Arch, risc_index: usize) -> usize {
    let kib = match (arch, risc_index) {
        (Arch::WormholeB0, 0 | 1) | (Arch::Blackhole, 2..) => 4,
        (Arch::WormholeB0, _) => 2,
        (Arch::Blackhole, _) => 8,
    };
    kib * 1024
}

/// The words of the mailbox at this address that describe the core.
fn core_words(chip: &ChipFacts, place: CorePlace, address: u32) -> Vec<(u32, u32)> {
    let bank_count = chip.arch.facts().bank_count;
    let risc_count = u32::try_from(place.kind.risc_count()).unwrap_or(0);
    let mut words = vec![
        (mailbox::RISC_COUNT, risc_count),
        (mailbox::NOC, noc_interface::FIRST),
        (mailbox::COMMAND_BUFFER, noc_interface::FIRST),
        (mailbox::LANE_WORDS, chip.lane_words),
        (mailbox::NOC_X, u32::from(place.coord.x)),
        (mailbox::NOC_Y, u32::from(place.coord.y)),
        (mailbox::BANK_COUNT, bank_count),
        (mailbox::BANK_COORDINATES_ADDRESS, address + mailbox::BANK_COORDINATES),
        (mailbox::BANK_OFFSETS_ADDRESS, address + mailbox::BANK_OFFSETS),
    ];
    for bank in 0..bank_count {
        words.push((mailbox::BANK_OFFSETS + 4 * bank, bank_offset(chip.arch, bank)));
    }
    for pair in 0..bank_count.div_ceil(2) {
        let [low, high] = [2 * pair, 2 * pair + 1].map(|bank| bank_coordinates(chip.arch, bank));
        let word = u32::from(low) | u32::from(high) << 16;
        for noc in 0..2 {
            let table = mailbox::BANK_COORDINATES + noc * 2 * mailbox::BANK_COUNT_MAX;
            words.push((table + 4 * pair, word));
        }
    }
    words
}

fn write_bytes(l1: &mut L1, address: u32, bytes: &[u8]) {
    for (index, chunk) in bytes.chunks(4).enumerate() {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        l1.replace_word(u64::from(address) + 4 * index as u64, u32::from_le_bytes(word));
    }
}

/// The instruction `jal zero, address`, to stand at address 0.
fn jump_to(address: u32) -> u32 {
    let bits = |high: u32, low: u32| address >> low & (u32::MAX >> (31 - (high - low)));
    bits(20, 20) << 31 | bits(10, 1) << 21 | bits(11, 11) << 20 | bits(19, 12) << 12 | 0x6F
}
