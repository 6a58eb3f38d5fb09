//! Steps before markers are read: compute layouts, read control vectors, detect the format
//! generation, and find the unread words.

use super::{
    ReadError, ReadOptions,
    control::{self, ControlVector, CoreWords, WORDS},
    memory::CoreMemory,
    plan::{self, CoreRead},
    session::Session,
};
use crate::mesh::{DeviceDescription, Mesh, Noc0Coord};
use std::collections::BTreeMap;
use wire::{Generation, control::ControlLayout, dram::DramGeometry};

/// A core of a mesh: chip and coordinate.
pub(super) type CoreId = (u32, Noc0Coord);

/// A chip whose control vectors have been read.
pub(super) struct Planned {
    pub(super) chip: DeviceDescription,
    pub(super) generation: Generation,
    pub(super) cores: Vec<CoreRead>,
    /// Cores that stream their records, so they have no lanes in DRAM.
    pub(super) streams: Vec<CoreWords>,
    /// Cores that run a relay: they gather the cells of other cores.
    pub(super) relays: Vec<CoreWords>,
}

/// Way of reading control vectors: once, or repeatedly until they are consistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// Vectors are read once, which is sufficient for fill levels.
    Quick,
    /// Vectors are read again if the device may have changed them during the read.
    Whole,
}

/// Control vectors that were already read earlier in the same read, by coordinate.
pub(super) type KnownVectors = BTreeMap<Noc0Coord, [u32; WORDS]>;

/// Reads the control vectors of the selected cores, except those in `known`, and finds the unread
/// words.
pub(super) fn plan(
    session: &mut Session<'_>,
    geometry: &DramGeometry,
    (care, known): (Care, &KnownVectors),
    remembered: impl Fn(CoreId) -> Option<CoreMemory>,
) -> Result<Planned, ReadError> {
    let chip = session.device.description().clone();
    let vectors = read_vectors(session, &chip, known)?;
    let generation = choose_generation(session, &chip, geometry, &vectors)?;
    let mut cores = Vec::with_capacity(vectors.len());
    let (mut streams, mut relays) = (Vec::new(), Vec::new());
    for vector in vectors {
        if control::streams(&vector.words) && generation == wire::generation::CURRENT {
            streams.push(vector);
            continue;
        }
        if control::relays(&vector.words) {
            relays.push(vector);
            continue;
        }
        let CoreWords { core, words } = vector;
        let control = ControlVector { words, layout: generation.control };
        let control = match care {
            Care::Quick => Ok(control),
            Care::Whole => plan::settle(session, &core, control),
        };
        match control {
            Ok(control) => {
                let memory = (geometry, remembered((chip.chip_id, core.noc0)));
                cores.push(CoreRead::plan(session, &chip, &core, control, memory));
            }
            Err(error) => session.note_unreadable(&core, &error),
        }
    }
    Ok(Planned { chip, generation, cores, streams, relays })
}

/// Returns the DRAM layout of each chip with selected cores, by index in the mesh. No chip is
/// accessed.
pub(super) fn geometries<M: Mesh + ?Sized>(
    mesh: &mut M,
    options: &ReadOptions,
) -> Result<Vec<(usize, DramGeometry)>, ReadError> {
    let mut geometries = Vec::new();
    for index in 0..mesh.device_count() {
        let Some(device) = mesh.device(index) else { continue };
        let chip = device.description();
        if !chip.cores.iter().any(|core| options.cores.contains(chip.chip_id, core)) {
            continue;
        }
        let geometry = chip
            .geometry(options.program_support_count, options.sums_enabled)
            .map_err(|source| ReadError::Geometry { chip_id: chip.chip_id, source })?;
        geometries.push((index, geometry));
    }
    Ok(geometries)
}

/// Returns the control vectors of all selected cores. Vectors in `known` are not read again.
fn read_vectors(
    session: &mut Session<'_>,
    chip: &DeviceDescription,
    known: &KnownVectors,
) -> Result<Vec<CoreWords>, ReadError> {
    let chosen = session.options.generation.generation();
    let layout = chosen.map_or(ControlLayout::WORDS64, |generation| generation.control);
    let mut vectors = Vec::new();
    let mut first = None;
    for core in &chip.cores {
        if !session.options.cores.contains(chip.chip_id, core) {
            continue;
        }
        let words = match known.get(&core.noc0) {
            Some(words) => Ok(*words),
            None => session.read_control_vector(core, layout.word_count),
        };
        match words {
            Ok(words) => vectors.push(CoreWords { core: core.clone(), words }),
            Err(error) => {
                session.note_unreadable(core, &error);
                first.get_or_insert(error);
            }
        }
    }
    match first {
        Some(first) if vectors.is_empty() => Err(ReadError::NoCoreReadable { first }),
        _ => Ok(vectors),
    }
}

fn choose_generation(
    session: &Session<'_>,
    chip: &DeviceDescription,
    geometry: &DramGeometry,
    vectors: &[CoreWords],
) -> Result<Generation, ReadError> {
    let found = || control::detect(chip, geometry, vectors);
    let generation = session.options.generation.generation().or_else(found);
    if let Some(generation) = generation {
        return Ok(plan::with_layout(generation, session));
    }
    let (expected, [as_current, as_legacy]) = match vectors.first() {
        Some(CoreWords { core, words }) => (
            control::expected_words(chip, geometry, core),
            [ControlLayout::WORDS64, ControlLayout::WORDS32]
                .map(|layout| control::host_words(words, &layout)),
        ),
        None => Default::default(),
    };
    Err(ReadError::UnknownGeneration {
        chip_id: chip.chip_id,
        expected: format!("{expected:#x?}").replace(['\n', ' '], ""),
        as_current: format!("{as_current:#x?}").replace(['\n', ' '], ""),
        as_legacy: format!("{as_legacy:#x?}").replace(['\n', ' '], ""),
    })
}
