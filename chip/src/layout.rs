//! The firmware's own statement of where a core keeps the profiler's words.

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

/// Places of the profiler's words, by kind of core, and the chip that the firmware was made for.
///
/// Builds of one release differ in what chips have left, but not in these places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirmwareLayout {
    /// The architecture.
    pub arch: Arch,
    /// Places on a worker core.
    pub tensix: ProfilerMemory,
    /// Places on an Ethernet core with a link.
    pub active_ethernet: Option<ProfilerMemory>,
    /// Places on an Ethernet core without one.
    pub idle_ethernet: Option<ProfilerMemory>,
}

/// Why files do not tell a layout.
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
    /// A file does not say what is needed.
    #[error("{}: {source}", .path.display())]
    Silent {
        /// The file.
        path: PathBuf,
        /// The missing statement.
        source: DebugInfoError,
    },
    /// The profiler of this firmware has another shape.
    #[error(
        "{}: the profiler has a control vector of {} bytes and {} vectors of {} bytes; expected \
         256, {expected_processors} and 2048",
        .path.display(), .memory.control_bytes, .memory.processor_count(), .memory.vector_bytes
    )]
    OtherShape {
        /// The file.
        path: PathBuf,
        /// The shape that it states.
        memory: ProfilerMemory,
        /// The expected count of vectors.
        expected_processors: String,
    },
    /// The firmware's tables fit no known chip.
    #[error("{}: tables for {columns} columns and {rows} rows fit no known chip", .path.display())]
    UnknownChip {
        /// The file.
        path: PathBuf,
        /// Entries of its table of columns.
        columns: usize,
        /// Entries of its table of rows.
        rows: usize,
    },
}

impl FirmwareLayout {
    /// Reads `brisc.elf`, or a folder with `brisc/brisc.elf` in it, and the files of the Ethernet
    /// cores beside it, as far as they are there.
    ///
    /// # Errors
    /// [`LayoutError`] if a file is missing or states no layout that is known.
    pub fn open(path: &Path) -> Result<Self, LayoutError> {
        let (folder, brisc) = if path.is_dir() {
            (Some(path), path.join("brisc").join("brisc.elf"))
        } else {
            (path.parent().and_then(Path::parent), path.to_owned())
        };
        let file = read(&brisc)?;
        let silent = |source| LayoutError::Silent { path: brisc.clone(), source };
        let tables = TableSizes::of(&file).map_err(silent)?;
        let arch = Arch::ALL.into_iter().find(|arch| tables.fit_grid(arch.facts().grid));
        let arch = arch.ok_or_else(|| LayoutError::UnknownChip {
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

    /// Places on a core of this kind, if a file told them.
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
    let memory = ProfilerMemory::of(&info).map_err(silent)?;
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
