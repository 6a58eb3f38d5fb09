//! Addresses of the profiler's data in a core's memory, read from the firmware's ELF files.

use reader::{
    architecture::Arch,
    firmware_elf::{
        debug_info::{DebugInfo, DebugInfoError},
        profiler::ProfilerMemory,
        tables::TableSizes,
    },
};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use wire::{CoreKind, control::ControlLayout, risc::RISCS_PER_CORE, vector::VECTOR_BYTES};

/// Addresses of the profiler's data by kind of core, and the architecture of the firmware.
///
/// Within one release, firmware builds for differently harvested chips differ, but these addresses
/// are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirmwareLayout {
    /// Architecture of the firmware.
    pub arch: Arch,
    /// Addresses on a worker core.
    pub tensix: ProfilerMemory,
    /// Addresses on an Ethernet core with a link.
    pub active_ethernet: Option<ProfilerMemory>,
    /// Addresses on an Ethernet core without a link.
    pub idle_ethernet: Option<ProfilerMemory>,
}

/// Failure to read a layout from the firmware's files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// A file cannot be read.
    #[error(
        "cannot read {}: {source}; expected a brisc.elf, or a folder with brisc/brisc.elf, as \
         tt-metal builds its firmware",
        .path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file lacks required debug information.
    #[error("{}: {source}", .path.display())]
    Silent {
        /// The file.
        path: PathBuf,
        /// The debug information that is missing.
        source: DebugInfoError,
    },
    /// The profiler's memory in this firmware has unexpected sizes.
    #[error(
        "{}: the profiler has a control vector of {} bytes and {} vectors of {} bytes; expected \
         256, {expected_processors} and 2048",
        .path.display(), .memory.control_bytes, .memory.processor_count(), .memory.vector_bytes
    )]
    OtherShape {
        /// The file.
        path: PathBuf,
        /// Addresses and sizes of the profiler's memory, as read from the file.
        memory: ProfilerMemory,
        /// The expected number of vectors.
        expected_processors: String,
    },
    /// The firmware's tables of columns and rows do not have the sizes of any known chip.
    #[error("{}: tables for {columns} columns and {rows} rows fit no known chip", .path.display())]
    UnknownChip {
        /// The file.
        path: PathBuf,
        /// Number of entries in the firmware's table of columns.
        columns: usize,
        /// Number of entries in the firmware's table of rows.
        rows: usize,
    },
}

impl FirmwareLayout {
    /// Reads the layout from `brisc.elf`, or from a folder that contains `brisc/brisc.elf`. Also
    /// reads the firmware of Ethernet cores, if present, such as `erisc/erisc.elf` next to the
    /// folder `brisc`.
    ///
    /// # Errors
    /// [`LayoutError`] if a file is missing or does not describe a known layout.
    pub fn open(path: &Path) -> Result<Self, LayoutError> {
        let (folder, brisc) = if path.is_dir() {
            (Some(path), path.join("brisc").join("brisc.elf"))
        } else {
            (path.parent().and_then(Path::parent), path.to_owned())
        };
        let file = read(&brisc)?;
        let tables = TableSizes::from_file(&file)
            .map_err(|source| LayoutError::Silent { path: brisc.clone(), source })?;
        let arch = tables.arch().ok_or_else(|| LayoutError::UnknownChip {
            path: brisc.clone(),
            columns: tables.column_count,
            rows: tables.row_count,
        })?;
        let active = match arch {
            Arch::WormholeB0 => "erisc",
            Arch::Blackhole => "active_erisc",
        };
        let beside = |name: &str, kind| {
            let path = folder.map(|folder| folder.join(name).join(format!("{name}.elf")));
            let path = path.filter(|path| path.is_file());
            path.map(|path| memory_of(&path, &read(&path)?, kind)).transpose()
        };
        Ok(Self {
            arch,
            tensix: memory_of(&brisc, &file, CoreKind::Tensix)?,
            active_ethernet: beside(active, CoreKind::ActiveEth)?,
            idle_ethernet: beside("idle_erisc", CoreKind::IdleEth)?,
        })
    }

    /// Returns the addresses on this kind of core; `None` if the firmware had no file for this
    /// kind.
    #[must_use]
    pub const fn memory(&self, kind: CoreKind) -> Option<ProfilerMemory> {
        match kind {
            CoreKind::Tensix => Some(self.tensix),
            CoreKind::ActiveEth => self.active_ethernet,
            CoreKind::IdleEth => self.idle_ethernet,
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, LayoutError> {
    fs::read(path).map_err(|source| LayoutError::Unreadable { path: path.to_owned(), source })
}

fn memory_of(path: &Path, file: &[u8], kind: CoreKind) -> Result<ProfilerMemory, LayoutError> {
    let silent = |source| LayoutError::Silent { path: path.to_owned(), source };
    let info = DebugInfo::parse(file).map_err(silent)?;
    let memory = ProfilerMemory::from_debug_info(&info).map_err(silent)?;
    let (fewest, most) = match kind {
        CoreKind::Tensix => (RISCS_PER_CORE, RISCS_PER_CORE),
        CoreKind::ActiveEth | CoreKind::IdleEth => (1, 2),
    };
    let has_processors = (fewest as u64..=most as u64).contains(&memory.processor_count());
    let is_known = memory.control_bytes == ControlLayout::WORDS64.size_bytes() as u64
        && memory.vector_bytes == VECTOR_BYTES as u64
        && has_processors;
    if is_known {
        return Ok(memory);
    }
    let expected_processors =
        if fewest == most { most.to_string() } else { format!("{fewest} or {most}") };
    Err(LayoutError::OtherShape { path: path.to_owned(), memory, expected_processors })
}
