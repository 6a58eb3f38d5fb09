//! Counts of the instructions of launches, on the worker cores of a chip that a host drives.
//!
//! [`launches`](super::launches) says which launches those are.

use super::launches::{OpenLaunch, with_meaning};
use crate::{
    lines::{CountedLaunch, LineBook, LineCount, LoadedCode, RiscLines, firmware_code},
    machine::Riscs,
    riscv::{INSTRUCTION_RAM_BASE, is_code},
    tile::Tile,
    tt_metal::{firmware::FirmwareSet, launch::LaunchedKernel},
};
use std::sync::Arc;

/// Name of the program in the counts of a launch that had not ended.
pub const UNFINISHED: &str = "a launch that had not ended";

/// Counts of one core.
#[derive(Debug)]
pub(super) struct CoreLines {
    set: Arc<FirmwareSet>,
    book: LineBook,
}

impl CoreLines {
    pub(super) fn new(set: Arc<FirmwareSet>) -> Self {
        Self { set, book: LineBook::default() }
    }

    /// Takes the counts of a launch that is over; `is_done` is false if BRISC has not ended it.
    pub(super) fn end(
        &mut self,
        launch: &OpenLaunch,
        is_done: bool,
        (tile, riscs): (&Tile, &mut Riscs),
    ) {
        let program = if is_done { "" } else { UNFINISHED };
        for index in 0..riscs.harts.len() {
            if let Some(lines) = self.lines_of(launch, program, index, (tile, riscs)) {
                self.book.add(lines);
            }
        }
    }

    fn lines_of(
        &self,
        launch: &OpenLaunch,
        program: &str,
        index: usize,
        (tile, riscs): (&Tile, &mut Riscs),
    ) -> Option<RiscLines> {
        let hart = &mut riscs.harts[index].hart;
        let (counts, end_cycle) = (hart.take_counts(), hart.cycle());
        let begin_cycle = hart.counted_since();
        if counts.is_empty() {
            return None;
        }
        debug_assert_eq!(
            counts.iter().map(|(_, count)| count.total_cycles()).sum::<u64>(),
            end_cycle - begin_cycle,
            "{:?}: the counts of RISC {index} are all of its cycles",
            tile.place.coord
        );
        let devices = &riscs.devices;
        let word = |pc: u32| match pc.checked_sub(INSTRUCTION_RAM_BASE) {
            Some(offset) => devices.instruction_word(offset),
            None => tile.load(u64::from(pc)),
        };
        let mut counts =
            with_meaning((&self.set, tile, devices), |meaning| meaning.counts(counts, word));
        let kernel = launch.message.kernels.get(index).copied().flatten();
        if let Some(kernel) = kernel {
            counts = with_offsets(counts, kernel);
        }
        let kernel = kernel.map(kernel_code);
        let firmware = firmware_code(&self.set, index).map(firmware_below);
        let span = CountedLaunch { launch_index: launch.index, begin_cycle, end_cycle };
        Some(RiscLines {
            chip_id: 0,
            core: tile.place.coord,
            risc: tile.place.kind.risc(index)?,
            program_id: launch.message.run_host_id,
            program: program.to_owned(),
            launches: vec![span],
            code: kernel.into_iter().chain(firmware).collect(),
            counts,
        })
    }

    /// Removes and returns the counts of the launches that are over.
    pub(super) fn take(&mut self) -> Vec<RiscLines> {
        self.book.take()
    }
}

/// Replaces addresses of the kernel by offsets. The kernel is behind the firmware: in L1 at its
/// place, or in instruction RAM.
fn with_offsets(mut counts: Vec<LineCount>, kernel: LaunchedKernel) -> Vec<LineCount> {
    for line in &mut counts {
        line.address = offset_in_kernel(line.address, kernel);
    }
    counts.sort_by_key(|line| line.address);
    counts
}

/// Replaces an address of the kernel by an offset. There is code at the address.
pub(super) fn offset_in_kernel(address: u32, kernel: LaunchedKernel) -> u32 {
    let first = if address >= INSTRUCTION_RAM_BASE { INSTRUCTION_RAM_BASE } else { kernel.place };
    let offset = address.checked_sub(first).filter(|_| is_code(address));
    offset.and_then(|offset| OFFSETS.checked_add(offset)).unwrap_or(address)
}

/// Returns the code of a kernel, whose addresses are offsets.
pub(super) fn kernel_code(kernel: LaunchedKernel) -> LoadedCode {
    LoadedCode::foreign(kernel.id.unwrap_or(0), OFFSETS)
}

/// Returns the firmware's code at all addresses that are no offsets. The host's firmware may be longer
/// than the one that is known here.
pub(super) fn firmware_below(code: LoadedCode) -> LoadedCode {
    code.everywhere_below(OFFSETS)
}

/// Address of a kernel's first byte in counts; no memory of a RISC is there.
const OFFSETS: u32 = 0x8000_0000;
