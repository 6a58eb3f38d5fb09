//! Conversion between NoC-0 coordinates and logical coordinates of cores.
//!
//! The logs of the streaming profiler have columns with the logical coordinates.
//!
//! Like translated coordinates, logical coordinates count only the worker rows and columns that are
//! not harvested. Chips are harvested along one axis; along the other axis, logical coordinates
//! count all worker rows or columns.

use reader::{
    architecture::{Arch, HarvestAxis},
    mesh::Noc0Coord,
    readout::ChipSummary,
};

/// Adds the known worker rows or columns to `chip`. They follow from the logical coordinates of
/// cores.
pub(super) fn add_lines(
    chip: &mut ChipSummary,
    cores: impl Iterator<Item = (Noc0Coord, (u16, u16))>,
) {
    let Some(arch) = Arch::from_name(&chip.arch) else { return };
    for (core, (x, y)) in cores {
        let (number, line) = match arch.facts().harvest_axis {
            HarvestAxis::Rows => (y, core.y),
            HarvestAxis::Columns => (x, core.x),
        };
        chip.known_lines.entry(number).or_insert(line);
    }
}

/// Returns the logical coordinates of a worker core, if its row or column is known.
pub(super) fn logical_coord(chip: &ChipSummary, core: Noc0Coord) -> Option<(u16, u16)> {
    let facts = Arch::from_name(&chip.arch)?.facts();
    let number_of = |line: u16| {
        let known = chip.known_lines.iter().find(|&(_, &known)| known == line);
        known.map(|(&number, _)| number)
    };
    let position = |lines: &[u16], line: u16| {
        u16::try_from(lines.iter().position(|&known| known == line)?).ok()
    };
    Some(match facts.harvest_axis {
        HarvestAxis::Rows => (position(facts.tensix_columns, core.x)?, number_of(core.y)?),
        HarvestAxis::Columns => (number_of(core.x)?, position(facts.tensix_rows, core.y)?),
    })
}
