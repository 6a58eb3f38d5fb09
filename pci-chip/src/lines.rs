//! The table `lines` of the chips, without what only the host knows: names of ops, and the files of
//! kernels. `kprof record` adds these.

use lines::{CodeFacts, CountOwner, InstructionCount, Sums, write_csv};
use sim::{
    arch::Arch,
    board::{Board, UNFINISHED},
    lines::{Awaited, LineCount, LoadedCode, RiscLines},
    tt_metal::firmware::FirmwareSet,
};
use std::{
    fs::File,
    io::{self, BufWriter},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Where the table is written, and what is in it.
pub(crate) struct LinesRequest {
    path: PathBuf,
    firmware: Arc<FirmwareSet>,
}

/// Code of an address; a kernel has the host's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Code {
    Kernel(u32),
    Firmware,
    Unknown,
}

impl LinesRequest {
    /// Returns the request in the environment; `None` if there is none.
    pub(crate) fn from_environment(arch: Arch) -> Result<Option<Self>, String> {
        let Some(path) = std::env::var_os("KPROF_CHIP_LINES") else { return Ok(None) };
        let name = path.to_string_lossy().replace("{pid}", &std::process::id().to_string());
        let folder = std::env::var_os("KPROF_CHIP_FIRMWARE").ok_or(
            "expected a folder of tt-metal's firmware in KPROF_CHIP_FIRMWARE, which \
             KPROF_CHIP_LINES needs, found none",
        )?;
        let firmware = firmware_in(Path::new(&folder), arch)?;
        Ok(Some(Self { path: name.into(), firmware: Arc::new(firmware) }))
    }

    /// Makes a chip count.
    pub(crate) fn count_on(&self, board: &mut Board) {
        board.count_lines(&self.firmware);
    }

    /// Writes the counts of the chips.
    pub(crate) fn write(&self, counts: impl Iterator<Item = RiscLines>) -> io::Result<()> {
        let mut sums = Sums::new(false);
        for risc in counts {
            add(&mut sums, &risc);
        }
        let rows = sums.finish(|(code, _), _| match code {
            Code::Kernel(id) => {
                CodeFacts { code: "kernel", elf: Some(id.to_string()), ..CodeFacts::default() }
            }
            Code::Firmware => CodeFacts { code: "firmware", ..CodeFacts::default() },
            Code::Unknown => CodeFacts { code: "unknown", ..CodeFacts::default() },
        });
        write_csv(&rows, BufWriter::new(File::create(&self.path)?))
    }
}

/// Returns the firmware for an architecture in a folder, or in a folder of it.
fn firmware_in(folder: &Path, arch: Arch) -> Result<FirmwareSet, String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort();
    folders.insert(0, folder.to_owned());
    let mut sets = folders.iter().filter_map(|folder| FirmwareSet::open(folder).ok());
    sets.find(|set| set.arch() == arch).ok_or_else(|| {
        format!("expected tt-metal's firmware for {arch} in {}, found none", folder.display())
    })
}

fn add(sums: &mut Sums<(Code, bool), Awaited>, risc: &RiscLines) {
    let launches: Vec<u64> = risc.launches.iter().map(|launch| launch.launch_index).collect();
    let is_unfinished = risc.program == UNFINISHED;
    let owner = CountOwner {
        chip_id: risc.chip_id,
        core: (risc.core.x.into(), risc.core.y.into()),
        run_host_id: risc.program_id,
        op: is_unfinished.then_some(UNFINISHED),
        risc: risc.risc.label(),
        launches: &launches,
    };
    let owner_of = |line: &LineCount| -> Option<&LoadedCode> {
        risc.code.iter().find(|code| code.loaded.contains(&line.address))
    };
    let mut codes: Vec<Option<&LoadedCode>> = risc.code.iter().map(Some).collect();
    codes.push(None);
    for own in codes {
        let code = match own {
            Some(own) => own.foreign_kernel().map_or(Code::Firmware, Code::Kernel),
            None => Code::Unknown,
        };
        let counted = risc.counts.iter().filter(|line| owner_of(line) == own).map(|line| {
            let offset = own.map_or(0, |own| own.linked.wrapping_sub(own.loaded.start));
            InstructionCount {
                address: line.address.wrapping_add(offset),
                instruction: line.instruction,
                waits_for: line.waits_for.clone(),
                instructions: line.count.instructions,
                cycles: line.count.cycles,
            }
        });
        sums.add(&owner, (code, is_unfinished), counted);
    }
}
