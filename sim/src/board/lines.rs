//! Counts of the instructions of launches, on the worker cores of a chip that a host drives.
//!
//! A launch begins when the host or its dispatcher writes GO to a core, and ends when BRISC writes
//! that it is done. The launch message tells which program and which kernels it is.

use crate::{
    arch::Arch,
    lines::{CountedLaunch, LineBook, LineCount, LoadedCode, Meaning, RiscLines, firmware_code},
    machine::Riscs,
    riscv::INSTRUCTION_RAM_BASE,
    tile::Tile,
    tt_metal::{
        firmware::FirmwareSet,
        launch::{LaunchMessage, LaunchedKernel},
    },
};
use std::{collections::HashMap, ops::Range, sync::Arc};

/// Name of the program in the counts of a launch that had not ended.
pub const UNFINISHED: &str = "a launch that had not ended";

/// Counts of one core.
#[derive(Debug)]
pub(super) struct CoreLines {
    arch: Arch,
    set: Arc<FirmwareSet>,
    open: Option<OpenLaunch>,
    /// True if BRISC has written that the launch is done.
    is_done: bool,
    /// Number of launches of each program.
    launches: HashMap<u32, u64>,
    book: LineBook,
}

#[derive(Debug)]
struct OpenLaunch {
    index: u64,
    message: LaunchMessage,
}

impl CoreLines {
    pub(super) fn new(arch: Arch, set: Arc<FirmwareSet>) -> Self {
        let (launches, book) = (HashMap::new(), LineBook::default());
        Self { arch, set, open: None, is_done: false, launches, book }
    }

    /// Follows a write of another tile or of the host; it may begin a launch.
    pub(super) fn written(
        &mut self,
        (tile, riscs): (&Tile, &mut Riscs),
        range: Range<u64>,
        cycle: u64,
    ) {
        if !self.set.is_go(tile, &range) {
            return;
        }
        self.end(tile, riscs);
        let message = self.set.message(tile);
        if message.kernels.iter().all(Option::is_none) {
            return;
        }
        let count = self.launches.entry(message.run_host_id).or_default();
        let index = *count;
        *count += 1;
        self.open = Some(OpenLaunch { index, message });
        riscs.harts.iter_mut().for_each(|risc| risc.hart.begin_counts(cycle));
    }

    /// Follows a store of a RISC; it may end the launch.
    #[inline]
    pub(super) fn stored(&mut self, tile: &Tile, risc_index: usize, (address, value): (u64, u32)) {
        if risc_index == 0 && self.open.is_some() {
            let go = self.set.go_address(tile);
            let (_, done) = self.set.done_signal();
            let is_go = address == u64::from(go & !3);
            self.is_done |= is_go && (value >> (8 * (go & 3)) & 0xFF) == u32::from(done);
        }
    }

    /// Takes the counts if the launch is done.
    pub(super) fn end_if_done(&mut self, tile: &Tile, riscs: &mut Riscs) {
        if self.is_done {
            self.end(tile, riscs);
        }
    }

    fn end(&mut self, tile: &Tile, riscs: &mut Riscs) {
        let is_done = std::mem::take(&mut self.is_done);
        let Some(launch) = self.open.take() else { return };
        let program = if is_done { "" } else { UNFINISHED };
        for index in 0..riscs.harts.len() {
            if let Some(lines) = self.lines_of(&launch, program, index, (tile, riscs)) {
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
        let mailboxes = self.set.mailboxes();
        let meaning = Meaning {
            arch: self.arch,
            mailboxes: mailboxes.address..mailboxes.address + mailboxes.size_bytes,
            l1_bytes: tile.l1.size_bytes(),
            has_own_layout: false,
            register: &|address| devices.register_name(address),
        };
        let word = |pc: u32| match pc.checked_sub(INSTRUCTION_RAM_BASE) {
            Some(offset) => devices.instruction_word(offset),
            None => tile.load(u64::from(pc)),
        };
        let mut counts = meaning.counts(counts, word);
        let kernel = launch.message.kernels.get(index).copied().flatten();
        if let Some(kernel) = kernel {
            counts = with_offsets(counts, kernel);
        }
        let kernel = kernel.map(|kernel| LoadedCode::foreign(kernel.id.unwrap_or(0), OFFSETS));
        // The host's firmware may be longer than the one that is known here.
        let firmware = firmware_code(&self.set, index).map(|code| code.everywhere_below(OFFSETS));
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

    /// Removes and returns all counts, also those of a launch that has not ended.
    pub(super) fn take(&mut self, tile: &Tile, riscs: &mut Riscs) -> Vec<RiscLines> {
        self.end(tile, riscs);
        self.book.take()
    }
}

/// Replaces addresses of the kernel by offsets. The kernel is behind the firmware: in L1 at its
/// place, or in instruction RAM.
fn with_offsets(mut counts: Vec<LineCount>, kernel: LaunchedKernel) -> Vec<LineCount> {
    for line in &mut counts {
        let first =
            if line.address >= INSTRUCTION_RAM_BASE { INSTRUCTION_RAM_BASE } else { kernel.place };
        if line.address >= first {
            line.address = OFFSETS + (line.address - first);
        }
    }
    counts.sort_by_key(|line| line.address);
    counts
}

/// Address of a kernel's first byte in counts; no memory of a RISC is there.
const OFFSETS: u32 = 0x8000_0000;
