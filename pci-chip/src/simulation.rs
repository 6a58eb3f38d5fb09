//! The simulation that the entry points use: kprof's own, or one in another library.

use super::{Requests, forwarded::ForwardedChip, standing::unfinished, tell};
use chip::{access::NocTile, facts::ChipFacts};
use sim::{board::pci::PciChip, unfinished::to_json};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The chip that this process simulates.
pub(super) enum Simulation {
    /// kprof's own simulated chips.
    Own(OwnChips),
    /// A chip of another library.
    Forwarded(ForwardedChip),
}

/// The simulated chips of a host, each a PCI device of bus 0. A host tells them apart by their device
/// numbers and by the addresses of their BARs.
///
/// # Compatibility
/// tt-umd of tt-metal 0.81: several chips in one library are addressed by the device number in calls
/// for the configuration space, and by the BARs that it names.
pub(super) struct OwnChips(Vec<PciChip>, Requests);

/// Distance between the BARs of two chips.
const BAR_STRIDE: u64 = 1 << BAR_STRIDE_BITS;
const BAR_STRIDE_BITS: u32 = 44;
/// Offsets of the registers with the upper halves of the BARs' addresses.
const HIGH_BASES: [u32; 3] = [0x14, 0x1C, 0x24];

impl OwnChips {
    /// Joins chips, of which there is at least one.
    pub(super) const fn new(chips: Vec<PciChip>, requests: Requests) -> Self {
        Self(chips, requests)
    }

    /// Returns the chips, to be used after the simulation, and the tables that are to be written.
    pub(super) fn into_parts(self) -> (Vec<PciChip>, Requests) {
        (self.0, self.1)
    }

    /// Returns the first chip, which other processes can access.
    fn first(&mut self) -> &mut PciChip {
        self.0.first_mut().unwrap_or_else(|| unreachable!("a simulation has a chip"))
    }

    /// Returns where the RISCs stand in the launches that are open, as JSON.
    fn standing(&mut self) -> Result<String, String> {
        self.1.standing.as_ref().map_err(Clone::clone)?;
        Ok(to_json(&unfinished(&mut self.0)))
    }

    /// Returns a chip by its PCI function: its bus, its device number and its function number.
    fn at_function(&mut self, function: u32) -> Option<(u32, &mut PciChip)> {
        let device = (function.trailing_zeros() >= 3).then_some(function >> 3)?;
        Some((device, self.0.get_mut(device as usize)?))
    }

    /// Returns the chip with a BAR at this address, and the address that its first device would have.
    fn at_address(&mut self, address: u64) -> Result<(&mut PciChip, u64), String> {
        let index = usize::try_from(address / BAR_STRIDE).unwrap_or(usize::MAX);
        let chip = self.0.get_mut(index);
        let chip = chip.ok_or_else(|| format!("no chip answers at {address:#x}"))?;
        Ok((chip, address % BAR_STRIDE))
    }
}

/// True after the message that this library does not compute the results of compute kernels was
/// printed.
static HAS_TOLD_OF_VALUES: AtomicBool = AtomicBool::new(false);

impl Simulation {
    /// Returns the properties that the chip's controller would report.
    pub(super) fn facts(&mut self) -> ChipFacts {
        match self {
            Self::Own(chips) => {
                let plan = chips.first().board_mut().plan();
                let harvest_mask = plan.harvest_mask();
                let dram_harvest_mask = plan.dram_harvest_mask();
                ChipFacts { harvest_mask, dram_harvest_mask, ..ChipFacts::whole(0, plan.arch()) }
            }
            Self::Forwarded(chip) => ChipFacts::whole(0, chip.windows().arch()),
        }
    }

    pub(super) fn read_configuration(&mut self, function: u32, offset: u32) -> u32 {
        match self {
            Self::Own(chips) => match chips.at_function(function) {
                None => u32::MAX,
                Some((device, chip)) if HIGH_BASES.contains(&offset) => {
                    chip.read_configuration(offset) + (device << (BAR_STRIDE_BITS - 32))
                }
                Some((_, chip)) => chip.read_configuration(offset),
            },
            Self::Forwarded(chip) => chip.windows().library().read_config(function, offset),
        }
    }

    pub(super) fn write_configuration(&mut self, function: u32, offset: u32, value: u32) {
        match self {
            Self::Own(chips) => {
                if let Some((_, chip)) = chips.at_function(function) {
                    chip.write_configuration(offset, value);
                }
            }
            Self::Forwarded(chip) => chip.windows().host_write_config(function, offset, value),
        }
    }

    pub(super) fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), String> {
        match self {
            Self::Own(chips) => {
                let (chip, address) = chips.at_address(address)?;
                chip.read(address, bytes)?;
            }
            Self::Forwarded(chip) => chip.windows().library().read(address, bytes),
        }
        Ok(())
    }

    pub(super) fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        match self {
            Self::Own(chips) => {
                let (chip, address) = chips.at_address(address)?;
                chip.write(address, bytes)?;
            }
            Self::Forwarded(chip) => chip.windows().host_write(address, bytes),
        }
        Ok(())
    }

    pub(super) fn clock(&mut self, cycles: u32) {
        match self {
            Self::Own(chips) => {
                for chip in &mut chips.0 {
                    chip.board_mut().advance(cycles.into());
                }
            }
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
            Self::Own(chips) => chips.first().board_mut().read(coordinates(at), address, bytes),
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
            Self::Own(chips) => chips.first().board_mut().write(coordinates(at), address, bytes),
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
            Self::Own(chips) => {
                let at = (tile.x.into(), tile.y.into());
                chips.first().board_mut().read_over_noc(noc, at, address, bytes)
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
            Self::Own(chips) => {
                let at = (tile.x.into(), tile.y.into());
                chips.first().board_mut().write_over_noc(noc, at, address, bytes)
            }
            Self::Forwarded(chip) => chip.guest_write(noc, tile, address, bytes),
        }
    }

    /// Returns where the RISCs stand in the launches that are open, as JSON.
    pub(super) fn standing(&mut self) -> Result<String, String> {
        match self {
            Self::Own(chips) => chips.standing(),
            Self::Forwarded(_) => {
                Err("expected a chip of kprof's own simulator, found that of the \
                 library in KPROF_CHIP_LIBRARY, which does not tell where its RISCs stand"
                    .to_owned())
            }
        }
    }

    /// Writes the requested tables; they are not written again when the simulation ends.
    pub(super) fn write_tables(&mut self) {
        if let Self::Own(OwnChips(chips, requests)) = self {
            std::mem::take(requests).write(chips);
        }
    }

    /// Prints the accesses that kprof's own chip has refused. Another library prints its own
    /// messages.
    pub(super) fn tell_failures(&mut self) {
        let Self::Own(chips) = self else { return };
        let mut has_unknown_values = false;
        for chip in &mut chips.0 {
            chip.board_mut().take_failures().iter().for_each(|failure| tell(failure));
            has_unknown_values |= chip.board_mut().has_unknown_values();
        }
        if has_unknown_values && !HAS_TOLD_OF_VALUES.swap(true, Relaxed) {
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
