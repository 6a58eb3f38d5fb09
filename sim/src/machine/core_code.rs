//! Host writes that boot a core and that launch programs on it.
//!
//! The simulator's dispatcher uses these writes, and so does a host that drives another simulator.
//! Firmware and kernels therefore read the same words in both.

use super::{
    KernelKind,
    images::{self, Image, Mode, Selection},
    link_script, mailbox,
};
use crate::{
    arch::{Arch, TileCoord, floorplan::CorePlace},
    chip::facts::ChipFacts,
    kernel::file::KernelFile,
    program::{CoreUse, KernelContext, Launch},
    riscv,
};
use kernel_profiler::port::WaitRecords;
use std::ops::Range;
use wire::{CoreKind, Risc, risc::RISCS_PER_CORE};

/// The object code of a core, and its layout in L1.
///
/// A host writes [`CoreCode::boot_writes`] while the core is in reset, then ends the reset of
/// BRISC, which boots the other RISCs. To launch, the host writes the words of
/// [`CoreCode::message`] and then [`mailbox::signal::GO`] to the byte [`mailbox::GO`], and waits
/// until that byte is [`mailbox::signal::DONE`].
///
/// ```
/// use sim::{
///     config::MeshConfig, machine::core_code::CoreCode, mesh::SimulatedMesh, program::CoreUse,
/// };
/// let mesh = SimulatedMesh::new(&MeshConfig::wormhole(1))?;
/// let chip = mesh.chip(0).unwrap();
/// let code = CoreCode::new(CoreUse::Programs, chip.facts(), chip.plan().cores()[1]);
/// if !code.is_empty() {
///     assert!(code.boot_writes().iter().any(|(address, _)| *address == 0), "the jump");
/// }
/// # Ok::<(), sim::config::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CoreCode {
    chip: ChipFacts,
    place: CorePlace,
    riscs: Vec<RiscCode>,
}

/// The code of one RISC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RiscCode {
    pub(crate) firmware: &'static Image,
    pub(crate) kernels: &'static Image,
}

impl CoreCode {
    /// Returns the code of a core for a use of the core; empty if the build has no object code.
    #[must_use]
    pub fn new(core_use: CoreUse, chip: &ChipFacts, place: CorePlace) -> Self {
        let plain = Selection::new(chip.arch, false);
        let (selection, kernels) = match core_use {
            CoreUse::Programs => (selection(chip), chip.modes.kernels),
            CoreUse::Dispatch => (Selection { mode: Mode::Dispatch, ..plain }, KernelKind::Riscv),
            CoreUse::Relay => (Selection { mode: Mode::Relay, ..plain }, KernelKind::Riscv),
        };
        let riscs = (0..place.kind.risc_count())
            .filter_map(|index| {
                let name = images::processor(place.kind, index);
                Some(RiscCode {
                    firmware: images::find(selection, "firmware", name)?,
                    kernels: images::find(selection, kernels.image_part(), name)?,
                })
            })
            .collect();
        Self { chip: chip.clone(), place, riscs }
    }

    /// Returns true if the build has no object code for this core.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.riscs.is_empty()
    }

    /// Returns the core's place on the chip.
    #[must_use]
    pub const fn place(&self) -> CorePlace {
        self.place
    }

    pub(crate) fn riscs(&self) -> &[RiscCode] {
        &self.riscs
    }

    /// Returns the L1 address of the [`mailbox`].
    #[must_use]
    pub fn mailbox(&self) -> u32 {
        let firmware = self.riscs.first().map(|risc| risc.firmware);
        let mailbox = firmware.and_then(|image| image.symbol("__mailbox"));
        mailbox.map_or(0, |symbol| symbol.address)
    }

    /// Returns the address of the first byte of code, and the first address after all code.
    #[must_use]
    pub fn bounds(&self) -> (u32, u32) {
        let images = self.riscs.iter().flat_map(|risc| [risc.firmware, risc.kernels]);
        let all = images.map(Image::bounds);
        all.reduce(|all, (start, end)| (all.0.min(start), all.1.max(end))).unwrap_or_default()
    }

    /// Returns the contents of L1 when the core leaves reset, as pairs of an address and words.
    ///
    /// These words are all code, the words that describe the core, and at address 0 the jump to
    /// BRISC's firmware.
    #[must_use]
    pub fn boot_writes(&self) -> Vec<(u32, Vec<u32>)> {
        let images = self.riscs.iter().flat_map(|risc| [risc.firmware, risc.kernels]);
        let segments = images.flat_map(|image| image.program.segments());
        let mut writes: Vec<_> =
            segments.map(|segment| (segment.address, words(segment.bytes))).collect();
        let entry = self.riscs.first().map_or(0, |risc| risc.firmware.program.entry());
        writes.push((0, vec![jump_to(entry)]));
        let mailbox = self.mailbox();
        let described = core_words(&self.chip, self.place);
        writes.extend(described.into_iter().map(|(offset, word)| (mailbox + offset, vec![word])));
        writes
    }

    /// Returns the L1 region for the kernels' data: from the end of all code to the mailbox, to the
    /// regions of kernel files, or to the end of L1. `l1_bytes` is the size of L1.
    #[must_use]
    pub fn data_area(&self, l1_bytes: u64) -> Range<u32> {
        let start = self.bounds().1.next_multiple_of(16);
        let l1_end = u32::try_from(l1_bytes).unwrap_or(u32::MAX);
        let mailbox = self.mailbox();
        let end = if mailbox > start { mailbox } else { l1_end };
        start..end.min(FILE_REGIONS)
    }

    /// Returns the host writes of a launch that precede GO; the kernels' data is stored in
    /// `data_area`.
    ///
    /// # Errors
    /// If a kernel has no object code, or if arguments or data do not fit. The error is a sentence.
    pub fn message(
        &self,
        launch: &Launch,
        context: &KernelContext,
        data_area: Range<u32>,
    ) -> Result<LaunchMessage, String> {
        let arg_count = u32::try_from(context.args.len()).unwrap_or(u32::MAX);
        if arg_count > mailbox::ARG_COUNT_MAX {
            let most = mailbox::ARG_COUNT_MAX;
            return Err(format!("{arg_count} arguments, a launch message holds {most}"));
        }
        let mut message = LaunchMessage { mailbox: self.mailbox(), writes: Vec::new() };
        let seed = context.random().next_u64();
        for (offset, word) in [
            (mailbox::PROGRAM_ID, context.program_id),
            (mailbox::REPLAYS_BEGUN, context.replays_begun),
            (mailbox::LATE, 0),
            (mailbox::LAUNCH_INDEX, (context.launch_index & 0xFFFF_FFFF) as u32),
            (mailbox::SEED, (seed & 0xFFFF_FFFF) as u32),
            (mailbox::SEED + 4, (seed >> 32) as u32),
            (mailbox::ARG_COUNT, arg_count),
        ] {
            message.set(offset, word);
        }
        message.writes.push((message.mailbox + mailbox::ARGS, context.args.to_vec()));
        let enables = self.add_kernels(&mut message, (launch, context), data_area)?;
        message.set(mailbox::ENABLES, enables);
        Ok(message)
    }

    /// Adds the code of a kernel that is a file; returns the address of its entry point.
    fn add_file(
        &self,
        message: &mut LaunchMessage,
        index: usize,
        file: &KernelFile,
    ) -> Result<u32, String> {
        let name = file.name();
        if self.place.kind != CoreKind::Tensix {
            return Err(format!("kernel {name} is a file, which only Tensix cores run"));
        }
        let selection = selection(&self.chip);
        let image = fitting_image(selection, index, file)?;
        for segment in image.segments() {
            let zeros = vec![0; segment.zero_byte_count as usize];
            message.writes.push((segment.address, words(&[segment.bytes, &zeros].concat())));
        }
        Ok(image.entry())
    }

    /// Adds the entry point and data of every kernel; returns a mask of the RISCs that have a
    /// kernel.
    fn add_kernels(
        &self,
        message: &mut LaunchMessage,
        (launch, context): (&Launch, &KernelContext),
        data_area: Range<u32>,
    ) -> Result<u32, String> {
        let (mut enables, mut free) = (0, data_area);
        let places = (0..).step_by(4);
        for ((index, code), place) in self.riscs.iter().enumerate().zip(places) {
            let Some(risc) = self.place.kind.risc(index) else { continue };
            let Some(kernel) = launch.program.kernel(risc) else { continue };
            let entry = match kernel.object_file() {
                Some(file) => self.add_file(message, index, file)?,
                None => embedded_entry(code, risc, launch)?,
            };
            let context = KernelContext { risc, ..context.clone() };
            let data = kernel.object_data(&context);
            let room_bytes = free.end - free.start;
            let size_bytes = u32::try_from(data.len() * 4).ok().filter(|size| *size <= room_bytes);
            let size_bytes = size_bytes.ok_or_else(|| {
                let word_count = data.len();
                format!("{risc} brings {word_count} words of data, L1 has {room_bytes} bytes left")
            })?;
            let address = if data.is_empty() { 0 } else { free.start };
            message.writes.push((free.start, data.into_owned()));
            let semaphores = kernel.semaphores();
            let word_count = semaphores.len() / 4;
            message.writes.push((semaphores.start, vec![0; word_count]));
            free.start += size_bytes;
            message.set(mailbox::ENTRIES + place, entry);
            message.set(mailbox::DATA + place, address);
            enables |= 1 << index;
        }
        Ok(enables)
    }
}

/// Returns the variant of the object code that a chip's modes require.
fn selection(chip: &ChipFacts) -> Selection {
    let mode = match chip.modes.wait_records {
        _ if chip.modes.is_trace_only => Mode::TraceOnly,
        _ if chip.modes.is_non_dropping => Mode::DebugDump,
        _ if chip.modes.is_streaming => Mode::Stream,
        _ if chip.modes.is_accumulating => Mode::Accumulate,
        _ if chip.modes.counter_groups != 0 => Mode::Counters,
        WaitRecords::Totals => Mode::WaitTotals,
        WaitRecords::Events if chip.modes.has_sync_windows => Mode::WaitWindows,
        WaitRecords::Events => Mode::WaitEvents,
        WaitRecords::Off => Mode::Plain,
    };
    Selection { mode, ..Selection::new(chip.arch, chip.modes.sums_enabled) }
}

/// Returns a kernel's program if it was linked for this processor and this firmware.
///
/// # Errors
/// If it was linked for something else, or does not fit; the error is a sentence with the reason.
pub fn fitting_image(
    selection: Selection,
    risc_index: usize,
    file: &KernelFile,
) -> Result<riscv::Image<'_>, String> {
    let (name, region) = (file.name(), file_region(risc_index));
    let processor = images::processor(CoreKind::Tensix, risc_index);
    let image = file.image().map_err(|error| error.to_string())?;
    for segment in image.segments() {
        let size_bytes = segment.bytes.len() as u64 + u64::from(segment.zero_byte_count);
        let end = u64::from(segment.address) + size_bytes;
        if size_bytes == 0 {
            continue;
        }
        if segment.address < region.start || end > region.end.into() {
            return Err(format!(
                "kernel {name} has {size_bytes} bytes at {:#x}, but kernels of {processor} have \
                 {:#x} to {:#x}: link it with {processor}.ld of `kprof sdk` and make it fit",
                segment.address, region.start, region.end,
            ));
        }
    }
    let expected = images::find(selection, "firmware", processor).map(link_script::mark);
    let linked_for = file.symbol(link_script::MARK);
    if linked_for.is_some_and(|mark| Some(mark) != expected) {
        return Err(format!(
            "kernel {name} was linked for another firmware than {processor}'s of this run: link it \
             with {processor}.ld that `kprof sdk` of this version writes for {}{}",
            selection.arch,
            if selection.has_sums { " and --enable-sum-profiling" } else { "" },
        ));
    }
    Ok(image)
}

/// Returns the entry address of a RISC's kernel that is part of the embedded object code.
fn embedded_entry(code: &RiscCode, risc: Risc, launch: &Launch) -> Result<u32, String> {
    let kernel = launch.program.kernel(risc).and_then(|kernel| kernel.object_name());
    let name = kernel.ok_or_else(|| {
        format!("the kernel of {risc} in {} has no object code", launch.program.name())
    })?;
    let symbol = code.kernels.symbol(name);
    Ok(symbol.ok_or_else(|| format!("{risc} has no kernel `{name}`"))?.address)
}

/// Returns the L1 region of a Tensix core's processor for kernels from files.
///
/// ```
/// assert_eq!(sim::machine::core_code::file_region(1), 0x11_0000..0x12_0000);
/// ```
#[must_use]
pub fn file_region(risc_index: usize) -> Range<u32> {
    let index = u32::try_from(risc_index.min(RISCS_PER_CORE)).unwrap_or(0);
    let start = FILE_REGIONS + FILE_REGION_BYTES * index;
    start..start + FILE_REGION_BYTES
}

/// Host writes that precede the GO of one launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchMessage {
    mailbox: u32,
    writes: Vec<(u32, Vec<u32>)>,
}

impl LaunchMessage {
    /// Returns pairs of an L1 address and the words to write there, in order.
    #[must_use]
    pub fn writes(&self) -> &[(u32, Vec<u32>)] {
        &self.writes
    }

    /// Makes each listed RISC signal that it is done before it closes its main zone, which it
    /// closes the given number of cycles later.
    pub(crate) fn set_late(&mut self, riscs: Vec<(usize, u64)>) {
        let bits = riscs.iter().fold(0_u32, |bits, &(index, _)| bits | 1 << index);
        self.set(mailbox::LATE, bits);
        for (index, cycles) in riscs {
            let place = (0..).step_by(4).nth(index).unwrap_or(0);
            self.set(mailbox::LATE_CYCLES + place, u32::try_from(cycles).unwrap_or(u32::MAX));
        }
    }

    fn set(&mut self, offset: u32, word: u32) {
        self.writes.push((self.mailbox + offset, vec![word]));
    }
}

/// Returns the mailbox words that describe the core.
fn core_words(chip: &ChipFacts, place: CorePlace) -> Vec<(u32, u32)> {
    let bank_count = chip.arch.facts().bank_count;
    let risc_count = u32::try_from(place.kind.risc_count()).unwrap_or(0);
    let own = [0, 1].map(|noc| own_coordinates(chip, noc, place.coord));
    let mut words = vec![
        (mailbox::RISC_COUNT, risc_count),
        (mailbox::OWN_COORDINATES, own[0] | own[1] << 16),
        (mailbox::BANK_COUNT, bank_count),
        (mailbox::COUNTER_GROUPS, chip.modes.counter_groups),
    ];
    for bank in 0..bank_count {
        words.push((mailbox::BANK_OFFSETS + 4 * bank, bank_offset(chip.arch, bank)));
    }
    for pair in 0..bank_count.div_ceil(2) {
        for noc in 0..2 {
            let halves = [2 * pair, 2 * pair + 1].map(|bank| bank_coordinates(chip, noc, bank));
            let word = u32::from(halves[0]) | u32::from(halves[1]) << 16;
            let table = mailbox::BANK_COORDINATES + noc * 2 * mailbox::BANK_COUNT_MAX;
            words.push((table + 4 * pair, word));
        }
    }
    words
}

/// Returns a core's coordinates on a NoC in the format of the NoC's registers: one byte each.
pub(crate) fn own_coordinates(chip: &ChipFacts, noc: usize, tile: TileCoord) -> u32 {
    let (x, y) = match chip.arch {
        Arch::WormholeB0 => chip.translation.mirrored(noc, tile.x, tile.y),
        Arch::Blackhole => chip.translation.logical(tile).unwrap_or((tile.x, tile.y)),
    };
    u32::from(x) | u32::from(y) << 8
}

/// Returns a bank's coordinates on a NoC in the format of the NoC's request initiators.
///
/// # Compatibility
/// `dram_bank_to_noc_xy`.
pub(crate) fn bank_coordinates(chip: &ChipFacts, noc: u32, bank: u32) -> u16 {
    let tile = chip.arch.facts().bank_tile(bank);
    let place = tile.and_then(|tile| chip.translation.dram(noc as usize, tile));
    let (x, y) = place.unwrap_or((0, 0));
    let coordinates = x | y << 6;
    match chip.arch {
        Arch::WormholeB0 => coordinates << 4,
        Arch::Blackhole => coordinates,
    }
}

/// Returns the offset of a bank's addresses, which the firmware reads from a table.
pub(crate) fn bank_offset(arch: Arch, bank: u32) -> u32 {
    u32::try_from(arch.facts().bank_offset(bank)).unwrap_or(0)
}

/// Converts bytes to words; the last word is padded with zeros.
fn words(bytes: &[u8]) -> Vec<u32> {
    let (whole, rest) = bytes.as_chunks();
    let mut words: Vec<u32> = whole.iter().map(|&word| u32::from_le_bytes(word)).collect();
    if !rest.is_empty() {
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        words.push(u32::from_le_bytes(last));
    }
    words
}

/// Returns the instruction `jal zero, address`, encoded for address 0.
pub(crate) fn jump_to(address: u32) -> u32 {
    let bits = |high: u32, low: u32| address >> low & (u32::MAX >> (31 - (high - low)));
    bits(20, 20) << 31 | bits(10, 1) << 21 | bits(11, 11) << 20 | bits(19, 12) << 12 | 0x6F
}

/// Start of the L1 regions for kernels from files; each processor has a region of its own.
const FILE_REGIONS: u32 = 0x10_0000;
const FILE_REGION_BYTES: u32 = 0x1_0000;
