//! The memory of the chips' launches, without what only the host knows: names of ops. `kprof record`
//! adds these.

use memory::{CoreSet, read_csv};
use sim::{
    arch::{Arch, TileCoord},
    board::Board,
    launch_memory::{L1Range, L1Use, LaunchMemory},
    tt_metal::firmware::FirmwareSet,
};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufWriter},
    path::PathBuf,
    sync::Arc,
};
use tables::{Memory, MemoryRow, write_csv};

/// Where the memory of launches is written, and the layout of launch messages.
pub(crate) struct MemoryRequest {
    path: PathBuf,
    firmware: Arc<FirmwareSet>,
}

/// Launches of one program with the same ranges on some cores.
type Launches = BTreeMap<(u32, u32), BTreeMap<(Vec<L1Range>, u64), Vec<TileCoord>>>;

impl MemoryRequest {
    /// Returns the request in the environment; `None` if there is none.
    pub(crate) fn from_environment(arch: Arch) -> Result<Option<Self>, String> {
        let Some((path, firmware)) = super::firmware::requested("KPROF_CHIP_MEMORY", arch)? else {
            return Ok(None);
        };
        Ok(Some(Self { path, firmware }))
    }

    /// Makes a chip record.
    pub(crate) fn record_on(&self, board: &mut Board) {
        board.record_memory(&self.firmware);
    }

    /// Adds the memory of the launches of the chips, which are counted from 0, to the file.
    pub(crate) fn write(&self, chips: impl Iterator<Item = Vec<LaunchMemory>>) -> io::Result<()> {
        let mut programs = Launches::new();
        for (chip, launches) in (0..).zip(chips) {
            for launch in launches {
                let layouts = programs.entry((chip, launch.program_id)).or_default();
                layouts.entry((launch.ranges, launch.launches)).or_default().push(launch.core);
            }
        }
        // A process may start the chip several times, and unload the library in between.
        let mut rows = match File::open(&self.path) {
            Ok(file) => read_csv(file).map_err(io::Error::other)?.rows,
            Err(_) => Vec::new(),
        };
        for ((chip, program), layouts) in programs {
            for (layout, ((ranges, launches), cores)) in (0..).zip(layouts) {
                let cores: CoreSet =
                    cores.into_iter().map(|core| (core.x.into(), core.y.into())).collect();
                let of_layout = MemoryRow {
                    chip_id: chip,
                    run_host_id: program,
                    layout: Some(layout),
                    launches: Some(launches),
                    memory: "L1".to_owned(),
                    cores: Some(cores.to_string()),
                    core_count: u32::try_from(cores.len()).ok(),
                    ..MemoryRow::default()
                };
                rows.extend(ranges.iter().map(|range| row(&of_layout, range)));
            }
        }
        write_csv::<Memory>(&rows, BufWriter::new(File::create(&self.path)?))
    }
}

fn row(of_layout: &MemoryRow<'static>, range: &L1Range) -> MemoryRow<'static> {
    let (kind, number, content) = match range.usage {
        L1Use::CircularBuffer(number) => (MemoryRow::CIRCULAR_BUFFER, Some(number), None),
        L1Use::RemoteCircularBuffer(number) => {
            (MemoryRow::REMOTE_CIRCULAR_BUFFER, Some(number), None)
        }
        L1Use::Kernel(risc) => (MemoryRow::KERNEL, None, Some(risc.label().to_owned())),
        L1Use::Configuration => (MemoryRow::CONFIGURATION, None, None),
        L1Use::Profiler => (MemoryRow::PROFILER, None, None),
    };
    MemoryRow {
        kind: kind.to_owned(),
        number,
        content,
        start: range.start.into(),
        size_bytes: range.size_bytes.into(),
        // Counted when it is known what else is there.
        counted_bytes: range.size_bytes.into(),
        page_count: range.pages.map(|(count, _)| count),
        page_bytes: range.pages.map(|(_, bytes)| bytes),
        ..of_layout.clone()
    }
}
