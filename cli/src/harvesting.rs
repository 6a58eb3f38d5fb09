//! `--harvesting`: harvested rows or columns of worker tiles.

use crate::failure::{Failure, failure};
use host_reader::{noc_events::lines_without, readout::Readout};
use std::str::FromStr;

/// Harvested rows or columns ("lines") of one chip or, without a chip id, of all chips.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Harvesting {
    chip_id: Option<u32>,
    lines: Vec<u16>,
}

impl FromStr for Harvesting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (chip_id, lines) = match text.split_once(':') {
            None => (None, text),
            Some((chip, lines)) => {
                let chip_id = chip.trim().parse();
                (Some(chip_id.map_err(|_| format!("expected a chip, found `{chip}`"))?), lines)
            }
        };
        if lines.trim() == "none" {
            return Ok(Self { chip_id, lines: Vec::new() });
        }
        let lines = lines
            .split(',')
            .map(|line| {
                let number = line.trim().parse();
                number.map_err(|_| format!("expected rows or columns as in 3,9, found `{line}`"))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { chip_id, lines })
    }
}

impl Harvesting {
    /// Sets the harvested lines of each chip in a readout. Lines given for one chip take precedence
    /// over lines given for all chips.
    ///
    /// # Errors
    /// If a chip cannot have these lines harvested, or is not in the recording.
    pub(crate) fn apply(all: &[Self], readout: &mut Readout) -> Result<(), Failure> {
        if let Some(chip) = all
            .iter()
            .filter_map(|one| one.chip_id)
            .find(|chip| !readout.devices.iter().any(|one| one.chip.chip_id == *chip))
        {
            return Err(failure!(
                "--harvesting: expected a chip of the recording, found chip {chip}"
            ));
        }
        for device in &mut readout.devices {
            let own = all.iter().rfind(|one| one.chip_id == Some(device.chip.chip_id));
            let Some(one) = own.or_else(|| all.iter().rfind(|one| one.chip_id.is_none())) else {
                continue;
            };
            let lines = lines_without(&device.chip.arch, &one.lines);
            device.chip.known_lines = lines
                .map_err(|error| failure!("--harvesting: chip {}: {error}", device.chip.chip_id))?;
        }
        Ok(())
    }
}
