//! Chips of this host, accessed through the kernel driver with Tenstorrent's `luwen` crate.
//!
//! To identify a Wormhole, this module asks the chip's controller for the harvesting and the clock,
//! with one message each. `tt-smi` sends the same messages while a program runs. A Blackhole needs
//! no message. Every access to a tile goes through [`crate::rails`], which allows access only to
//! memory ranges that are known to answer.

use crate::{
    access::{AccessFailure, ChipAccess, NocResult, NocTile},
    facts::ChipFacts,
};
use luwen::{
    api::{
        ArcMsg, ArcMsgOk, ChipImpl, TypedArcMsg,
        chip::{ArcMsgOptions, Chip, HlComms},
    },
    kmd::PciDevice,
    pci,
};
use reader::architecture::Arch;

/// A chip that luwen has opened.
pub struct LuwenChip(Chip);

impl std::fmt::Debug for LuwenChip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("LuwenChip").field(&self.0.get_arch()).finish()
    }
}

/// Failure to open a chip.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The driver lists no chip.
    #[error(
        "found no Tenstorrent chip: the kernel's driver shows no device in /dev/tenstorrent; \
         expected tt-kmd 2.0 or later and a Wormhole or Blackhole"
    )]
    NoChip,
    /// No chip has the requested number.
    #[error(
        "found chips {}, none of them is number {asked}; a chip that only Ethernet leads to, as the \
         second of an n300, cannot be read: luwen reaches it through a queue that it does not share \
         with the running program",
        list(.found)
    )]
    NoSuchChip {
        /// The requested number.
        asked: usize,
        /// Numbers of the chips that were found.
        found: Vec<usize>,
    },
    /// The driver is too old.
    #[error("chip {chip_id}: expected tt-kmd 2.0 or later, found {version}")]
    OldDriver {
        /// The chip.
        chip_id: usize,
        /// The driver's major version.
        version: u32,
    },
    /// The chip cannot be opened, or its controller does not respond.
    #[error("chip {chip_id}: {reason}")]
    Refused {
        /// The chip.
        chip_id: usize,
        /// luwen's error message.
        reason: String,
    },
    /// The controller gave an unexpected answer.
    #[error(
        "chip {chip_id}: the controller answered a question about its {question} with {answer}"
    )]
    Answer {
        /// The chip.
        chip_id: usize,
        /// Name of the requested property.
        question: &'static str,
        /// The controller's answer.
        answer: String,
    },
}

/// Returns the numbers of the chips that the driver lists. Chips that are reached only over another
/// chip's Ethernet are not included.
#[must_use]
pub fn scan() -> Vec<usize> {
    let mut chips = PciDevice::scan();
    chips.sort_unstable();
    chips
}

/// Opens the chip with the given number or, if no number is given, all chips.
///
/// # Errors
/// [`DriverError`] if there is no such chip, or if a chip cannot be used.
pub fn open(chip: Option<usize>) -> Result<Vec<(LuwenChip, ChipFacts)>, DriverError> {
    let found = scan();
    if found.is_empty() {
        return Err(DriverError::NoChip);
    }
    let chosen: Vec<usize> =
        found.iter().copied().filter(|id| chip.is_none_or(|chip| chip == *id)).collect();
    if let (Some(asked), true) = (chip, chosen.is_empty()) {
        return Err(DriverError::NoSuchChip { asked, found });
    }
    chosen.into_iter().map(open_one).collect()
}

fn open_one(chip_id: usize) -> Result<(LuwenChip, ChipFacts), DriverError> {
    // luwen panics if the driver is old.
    let version =
        PciDevice::open(chip_id).map_err(|error| refused(chip_id, &error))?.driver_version;
    if version < DRIVER_VERSION_MIN {
        return Err(DriverError::OldDriver { chip_id, version });
    }
    let chip = LuwenChip::new(pci::open(chip_id).map_err(|error| refused(chip_id, &error))?);
    let facts = chip.facts(chip_id)?;
    Ok((chip, facts))
}

impl LuwenChip {
    /// Wraps a chip that luwen has opened. The chip may be opened through any of luwen's
    /// interfaces.
    #[must_use]
    pub const fn new(chip: Chip) -> Self {
        Self(chip)
    }

    /// Asks the chip's controller for the properties of the chip.
    ///
    /// # Errors
    /// [`DriverError`] if an answer is missing or unusable.
    ///
    /// # Compatibility
    /// Wormhole: messages 0x57 and 0x34, as in tt-umd and tt-smi. In the answer to 0x57, bits 0 to
    /// 9 are rows with defective memory, and bits 10 to 19 are rows with defective logic.
    /// Blackhole: telemetry with one bit for each enabled column.
    pub fn facts(&self, chip_id: usize) -> Result<ChipFacts, DriverError> {
        let number = u32::try_from(chip_id).unwrap_or(u32::MAX);
        let arch = self.0.get_arch();
        if arch.is_wormhole() {
            let fuses = self.ask(chip_id, TypedArcMsg::GetHarvesting, "harvesting")?;
            let aiclk_mhz = self.ask(chip_id, TypedArcMsg::GetAiclk, "clock")? & 0xFFFF;
            let harvest_mask = (fuses | fuses >> WORMHOLE_ROWS) & ((1 << WORMHOLE_ROWS) - 1);
            return Ok(ChipFacts {
                harvest_mask,
                aiclk_mhz,
                ..ChipFacts::whole(number, Arch::WormholeB0)
            });
        }
        if arch.is_blackhole() {
            let telemetry = self.0.get_telemetry().map_err(|error| refused(chip_id, &error))?;
            let banks = telemetry.enabled_gddr & BLACKHOLE_DRAM;
            let columns = telemetry.tensix_enabled_col & BLACKHOLE_COLUMNS;
            let blackhole = ChipFacts::whole(number, Arch::Blackhole);
            return Ok(ChipFacts {
                // Older firmware reports no columns and no DRAM. In that case none counts as
                // harvested, as in tt-umd.
                harvest_mask: if columns == 0 { 0 } else { !columns & BLACKHOLE_COLUMNS },
                dram_harvest_mask: if banks == 0 { 0 } else { !banks & BLACKHOLE_DRAM },
                aiclk_mhz: telemetry.ai_clk(),
                is_translated: telemetry.noc_translation_enabled,
                ..blackhole
            });
        }
        let answer = format!("{arch:?}");
        Err(DriverError::Answer { chip_id, question: "architecture", answer })
    }

    /// Sends a question to the controller of a Wormhole and returns the answer.
    fn ask(
        &self,
        chip_id: usize,
        question: TypedArcMsg,
        name: &'static str,
    ) -> Result<u32, DriverError> {
        let message = ArcMsgOptions { msg: ArcMsg::Typed(question), ..ArcMsgOptions::default() };
        let answer = self.0.arc_msg(message).map_err(|error| refused(chip_id, &error))?;
        match answer {
            ArcMsgOk::Ok { rc: 0, arg } if arg != u32::MAX => Ok(arg),
            answer => {
                let answer = format!("{answer:?}");
                Err(DriverError::Answer { chip_id, question: name, answer })
            }
        }
    }
}

impl ChipAccess for LuwenChip {
    fn noc_read(&self, noc: u8, tile: NocTile, address: u64, bytes: &mut [u8]) -> NocResult {
        let read = self.0.noc_read(noc, tile.x, tile.y, address, bytes);
        read.map_err(|error| AccessFailure(first_line(&error)))
    }

    fn noc_write(&self, noc: u8, tile: NocTile, address: u64, bytes: &[u8]) -> NocResult {
        let written = self.0.noc_write(noc, tile.x, tile.y, address, bytes);
        written.map_err(|error| AccessFailure(first_line(&error)))
    }
}

fn refused(chip_id: usize, error: &dyn std::fmt::Display) -> DriverError {
    DriverError::Refused { chip_id, reason: first_line(error) }
}

/// Returns the first line of an error message. The other lines are a backtrace that luwen appends.
fn first_line(error: &dyn std::fmt::Display) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

fn list(chips: &[usize]) -> String {
    chips.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

const DRIVER_VERSION_MIN: u32 = 2;
const WORMHOLE_ROWS: u32 = 10;
/// Bits of the telemetry that stand for columns of Tensix tiles; each column has one bit.
const BLACKHOLE_COLUMNS: u32 = 0x3FFF;
/// Groups of DRAM tiles of a Blackhole, one bit each.
const BLACKHOLE_DRAM: u32 = 0xFF;
