//! The simulation that the entry points use: kprof's own, or one in another library.

use super::{forwarded::ForwardedChip, tell};
use chip::{access::NocTile, facts::ChipFacts};
use sim::board::pci::PciChip;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The chip that this process simulates.
pub(super) enum Simulation {
    /// kprof's own simulated chip.
    Own(Box<PciChip>),
    /// A chip of another library.
    Forwarded(ForwardedChip),
}

/// True after the message that this library does not compute the results of compute kernels was
/// printed.
static HAS_TOLD_OF_VALUES: AtomicBool = AtomicBool::new(false);

impl Simulation {
    /// Returns the properties that the chip's controller would report.
    pub(super) fn facts(&mut self) -> ChipFacts {
        let arch = match self {
            Self::Own(chip) => chip.board_mut().arch(),
            Self::Forwarded(chip) => chip.windows().arch(),
        };
        ChipFacts::whole(0, arch)
    }

    pub(super) fn read_configuration(&mut self, function: u32, offset: u32) -> u32 {
        match self {
            Self::Own(chip) if function == 0 => chip.read_configuration(offset),
            Self::Own(_) => u32::MAX,
            Self::Forwarded(chip) => chip.windows().library().read_config(function, offset),
        }
    }

    pub(super) fn write_configuration(&mut self, function: u32, offset: u32, value: u32) {
        match self {
            Self::Own(chip) if function == 0 => chip.write_configuration(offset, value),
            Self::Own(_) => {}
            Self::Forwarded(chip) => chip.windows().host_write_config(function, offset, value),
        }
    }

    pub(super) fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), String> {
        match self {
            Self::Own(chip) => chip.read(address, bytes)?,
            Self::Forwarded(chip) => chip.windows().library().read(address, bytes),
        }
        Ok(())
    }

    pub(super) fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        match self {
            Self::Own(chip) => chip.write(address, bytes)?,
            Self::Forwarded(chip) => chip.windows().host_write(address, bytes),
        }
        Ok(())
    }

    pub(super) fn clock(&mut self, cycles: u32) {
        match self {
            Self::Own(chip) => chip.board_mut().advance(cycles.into()),
            Self::Forwarded(chip) => chip.windows().clock(cycles),
        }
    }

    pub(super) fn read_tile(
        &mut self,
        at: (u32, u32),
        address: u64,
        bytes: &mut [u8],
    ) -> Result<(), String> {
        match self {
            Self::Own(chip) => chip.board_mut().read(coordinates(at), address, bytes),
            Self::Forwarded(chip) => {
                offered(chip.windows().library().read_tile(at, address, bytes))
            }
        }
    }

    pub(super) fn write_tile(
        &mut self,
        at: (u32, u32),
        address: u64,
        bytes: &[u8],
    ) -> Result<(), String> {
        match self {
            Self::Own(chip) => chip.board_mut().write(coordinates(at), address, bytes),
            Self::Forwarded(chip) => {
                offered(chip.windows().library().write_tile(at, address, bytes))
            }
        }
    }

    pub(super) fn guest_read(
        &mut self,
        noc: u8,
        tile: NocTile,
        address: u64,
        bytes: &mut [u8],
    ) -> Result<(), String> {
        match self {
            Self::Own(chip) => {
                let at = (tile.x.into(), tile.y.into());
                chip.board_mut().read_over_noc(noc, at, address, bytes)
            }
            Self::Forwarded(chip) => chip.guest_read(noc, tile, address, bytes),
        }
    }

    pub(super) fn guest_write(
        &mut self,
        noc: u8,
        tile: NocTile,
        address: u64,
        bytes: &[u8],
    ) -> Result<(), String> {
        match self {
            Self::Own(chip) => {
                let at = (tile.x.into(), tile.y.into());
                chip.board_mut().write_over_noc(noc, at, address, bytes)
            }
            Self::Forwarded(chip) => chip.guest_write(noc, tile, address, bytes),
        }
    }

    /// Prints the accesses that kprof's own chip has refused. Another library prints its own
    /// messages.
    pub(super) fn tell_failures(&mut self) {
        let Self::Own(chip) = self else { return };
        for failure in chip.board_mut().take_failures() {
            tell(&failure);
        }
        if chip.board_mut().has_unknown_values() && !HAS_TOLD_OF_VALUES.swap(true, Relaxed) {
            tell(
                "compute kernels run, but nothing is computed: values of their results are unknown",
            );
        }
    }
}

fn offered(is_offered: bool) -> Result<(), String> {
    let missing = || "the library in KPROF_CHIP_LIBRARY has no access to tiles".to_owned();
    is_offered.then_some(()).ok_or_else(missing)
}

/// Converts coordinates to 16 bits. Coordinates that do not fit become 65,535; no tile has this
/// coordinate.
fn coordinates((x, y): (u32, u32)) -> (u16, u16) {
    (u16::try_from(x).unwrap_or(u16::MAX), u16::try_from(y).unwrap_or(u16::MAX))
}
