//! The table `lines` of the chips, without what only the host knows: names of ops, and the files of
//! kernels. `kprof record` adds these.

use lines::{CodeFacts, CountOwner, InstructionCount, Sums};
use sim::{
    arch::Arch,
    board::{Board, UNFINISHED},
    lines::{Awaited, LineCount, LoadedCode, RiscLines},
    tt_metal::firmware::FirmwareSet,
};
use std::{
    fs::File,
    io::{self, BufWriter},
    path::PathBuf,
    sync::Arc,
};
use tables::{Lines, write_csv};

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
        let Some((path, firmware)) = super::firmware::requested("KPROF_CHIP_LINES", arch)? else {
            return Ok(None);
        };
        Ok(Some(Self { path, firmware }))
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
        write_csv::<Lines>(&rows, BufWriter::new(File::create(&self.path)?))
    }
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
