//! Mapping from translated line numbers to lines of worker tiles, derived from the known harvested
//! lines. A line is a row on Wormhole and a column on Blackhole.
//!
//! # Compatibility
//! tt-umd, `coordinate_manager.cpp`: the lines that are not harvested are numbered first, in
//! ascending order, and then the harvested lines. Bit i of `harvest_mask` in a cluster descriptor
//! is the i-th row (Wormhole) or column (Blackhole) in ascending order.

use crate::noc_events::{
    lanes::NocLanes,
    object::TraceObject,
    programs::NocPrograms,
    tile::{TileMap, harvestable, harvests_rows, line_number},
    trace::{ProgramTrace, TraceNotes, TraceOptions},
};
use reader::{
    architecture::{Arch, floorplan::Floorplan},
    lane::LaneId,
    readout::{ChipSummary, Readout},
};
use std::collections::{BTreeMap, BTreeSet};
use wire::Risc;

/// Error for harvested lines that do not exist on a chip of this architecture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HarvestingError {
    /// The architecture is unknown.
    #[error("expected harvested lines of wormhole_b0 or blackhole, found another architecture")]
    Arch,
    /// The chip has no such line of worker tiles.
    #[error("expected harvested lines among {}, found {line}", list(.possible))]
    Line {
        /// Row or column.
        line: u16,
        /// Rows or columns of worker tiles that can be harvested.
        possible: &'static [u16],
    },
    /// The mask has bits that do not correspond to a line.
    #[error("expected a mask of {possible} harvested lines, found {mask:#x}")]
    Mask {
        /// Mask.
        mask: u32,
        /// Number of rows or columns of worker tiles.
        possible: usize,
    },
}

fn list(lines: &[u16]) -> String {
    lines.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")
}

/// Maps each translated number to its line on a chip with the given harvested lines. Lines are rows
/// on Wormhole and columns on Blackhole.
///
/// # Errors
/// Returns an error if the architecture is unknown or a line has no worker tiles.
///
/// ```
/// let lines = analysis::noc_events::lines_without("wormhole_b0", &[3])?;
/// assert_eq!((lines[&1], lines[&2], lines[&9]), (2, 4, 3));
/// # Ok::<(), analysis::noc_events::HarvestingError>(())
/// ```
pub fn lines_without(arch: &str, harvested: &[u16]) -> Result<BTreeMap<u16, u16>, HarvestingError> {
    let possible = lines_of(arch)?;
    if let Some(&line) = harvested.iter().find(|line| !possible.contains(line)) {
        return Err(HarvestingError::Line { line, possible });
    }
    Ok((0..).zip(order(possible, |_, line| harvested.contains(&line))).collect())
}

/// Returns lines in the order of their translated numbers: lines that are not harvested, then the
/// harvested ones. `is_harvested` gets the index and the number of a line.
fn order(lines: &[u16], is_harvested: impl Fn(usize, u16) -> bool) -> Vec<u16> {
    let lines = lines.iter().copied().enumerate();
    let (gone, left): (Vec<_>, Vec<_>) = lines.partition(|&(bit, line)| is_harvested(bit, line));
    left.into_iter().chain(gone).map(|(_, line)| line).collect()
}

/// Like [`lines_without`], with the harvested lines given as the mask of a cluster descriptor.
///
/// # Errors
/// Returns an error if the architecture is unknown or a bit does not correspond to a line.
pub fn lines_without_mask(arch: &str, mask: u32) -> Result<BTreeMap<u16, u16>, HarvestingError> {
    let possible = lines_of(arch)?;
    if mask >> possible.len() != 0 {
        return Err(HarvestingError::Mask { mask, possible: possible.len() });
    }
    let harvested = possible.iter().enumerate().filter(|&(bit, _)| mask >> bit & 1 != 0);
    let harvested: Vec<u16> = harvested.map(|(_, &line)| line).collect();
    lines_without(arch, &harvested)
}

fn lines_of(arch: &str) -> Result<&'static [u16], HarvestingError> {
    Arch::from_name(arch).map(harvestable).ok_or(HarvestingError::Arch)
}

/// Derives, for each chip, the line of each translated number from TT-Metal's traces of the same
/// run.
///
/// A record contains translated coordinates. TT-Metal's trace contains the same event with the
/// coordinates of the tile. Translated numbers that occur in no event are missing in the result.
#[must_use]
pub fn lines_of_traces(
    readout: &Readout,
    lanes: &NocLanes,
    traces: &[ProgramTrace],
) -> BTreeMap<u32, BTreeMap<u16, u16>> {
    let tiles = traces.iter().flat_map(|trace| {
        trace.objects.iter().map(|object| (event_key(trace.chip_id, object), object))
    });
    let tiles: BTreeMap<EventKey<'_>, &TraceObject> = tiles.collect();
    let ours = NocPrograms::new(lanes, readout, &TraceOptions::default());
    let arches: BTreeMap<u32, Arch> = (readout.devices.iter())
        .filter_map(|device| Some((device.chip.chip_id, Arch::from_name(&device.chip.arch)?)))
        .collect();
    let mut lines: BTreeMap<u32, BTreeMap<u16, u16>> = BTreeMap::new();
    for trace in ours.traces(|_, _| None, &mut TraceNotes::default()) {
        let Some(&arch) = arches.get(&trace.chip_id) else { continue };
        for object in &trace.objects {
            let theirs = tiles.get(&event_key(trace.chip_id, object));
            if let Some((number, line)) = theirs.and_then(|theirs| shown_line(arch, object, theirs))
            {
                lines.entry(trace.chip_id).or_default().entry(number).or_insert(line);
            }
        }
    }
    lines
}

/// Key that identifies an event: chip, time, core, RISC and kind.
type EventKey<'a> = (u32, u64, (u16, u16), &'a str, Option<&'a str>);

fn event_key(chip_id: u32, object: &TraceObject) -> EventKey<'_> {
    let (core, kind) = ((object.sx, object.sy), object.event_type.as_deref());
    (chip_id, object.timestamp, core, &object.proc, kind)
}

/// Returns the translated number and the line of a target. Only `theirs`, the object of TT-Metal's
/// trace, contains the tile of the target.
fn shown_line(arch: Arch, ours: &TraceObject, theirs: &TraceObject) -> Option<(u16, u16)> {
    let number = line_number(arch, ours.unplaced_target?)?;
    let line = if harvests_rows(arch) { theirs.dy } else { theirs.dx };
    let line = u16::try_from(line?).ok()?;
    harvestable(arch).contains(&line).then_some((number, line))
}

/// Returns the line of each translated number of a chip; `None` if the number is ambiguous.
///
/// A number is ambiguous if it maps to different lines, depending on which lines are harvested. A
/// set of harvested lines is possible if it agrees with the size of the worker grid, and with the
/// lines that the host's files state. A possible set contains no line of `lanes`, because lines
/// with records are not harvested.
pub(super) fn known_lines(
    arch: Arch,
    chip: &ChipSummary,
    lanes: impl Iterator<Item = LaneId>,
) -> Vec<Option<u16>> {
    let lines = harvestable(arch);
    let tensix = lanes.filter(|lane| lane.risc != Risc::Erisc).map(|lane| lane.core);
    let seen: BTreeSet<u16> =
        tensix.map(|core| if harvests_rows(arch) { core.y } else { core.x }).collect();
    // If no product has this number of cores, the number may exclude dispatch cores. It is then not
    // used.
    let cores = chip.max_compute_cores;
    let count = cores.and_then(|cores| Floorplan::harvested_line_count(arch, cores).ok());
    let possible = (0..1_u32 << lines.len()).filter_map(|set| {
        if count.is_some_and(|count| count != set.count_ones() as usize) {
            return None;
        }
        let is_harvested = |bit: usize, _| set >> bit & 1 != 0;
        if lines
            .iter()
            .enumerate()
            .any(|(bit, line)| is_harvested(bit, *line) && seen.contains(line))
        {
            return None;
        }
        let order = order(lines, is_harvested);
        let mut stated = chip.known_lines.iter();
        stated
            .all(|(&number, line)| order.get(usize::from(number)) == Some(line))
            .then(|| order.into_iter().map(Some).collect::<Vec<_>>())
    });
    let known = possible.reduce(|mut known, order| {
        for (known, line) in known.iter_mut().zip(order) {
            *known = known.filter(|_| *known == line);
        }
        known
    });
    known.unwrap_or_else(|| vec![None; lines.len()])
}

impl TileMap {
    /// Returns true if every line of worker tiles is known.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.columns.iter().chain(&self.rows).all(Option::is_some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows 3 and 11 are the third and the last of ten rows. Columns 2 and 16 are the second and
    /// the last of fourteen columns.
    #[test]
    fn a_mask_counts_lines_in_ascending_order() {
        let wormhole = lines_without_mask("wormhole_b0", 0b10_0000_0100).unwrap();
        assert_eq!(Vec::from_iter(wormhole.into_values()), [1, 2, 4, 5, 7, 8, 9, 10, 3, 11]);
        let blackhole = lines_without_mask("blackhole", 0b10_0000_0000_0010).unwrap();
        let expected = [1, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 2, 16];
        assert_eq!(Vec::from_iter(blackhole.into_values()), expected);
    }

    #[test]
    fn lines_that_a_chip_does_not_have_are_refused() {
        assert_eq!(
            error_text(lines_without("wormhole_b0", &[6])),
            "expected harvested lines among 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, found 6"
        );
        assert_eq!(
            error_text(lines_without_mask("wormhole_b0", 1 << 10)),
            "expected a mask of 10 harvested lines, found 0x400"
        );
        assert_eq!(lines_without("grayskull", &[]), Err(HarvestingError::Arch));
    }

    fn error_text(lines: Result<BTreeMap<u16, u16>, HarvestingError>) -> String {
        lines.unwrap_err().to_string()
    }
}
