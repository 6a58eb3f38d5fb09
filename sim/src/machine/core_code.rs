//! Host writes that boot a core and that launch programs on it, with this project's firmware or with
//! tt-metal's.
//!
//! The dispatcher of this simulator uses these writes, and so does a host that runs the code in
//! another simulator. Firmware and kernels therefore read the same words in both simulators.

use super::{
    KernelKind,
    coordinates::{bank_coordinates, bank_offset, own_coordinates},
    devices::MailboxPlace,
    images::{self, Mode, ParsedImage, Selection},
    link_script,
    mailbox::{self, signal},
};
use crate::{
    arch::{Arch, floorplan::CorePlace},
    chip::facts::ChipFacts,
    kernel::file::KernelFile,
    program::{CoreUse, KernelContext, Launch},
    riscv::{self, LOCAL_RAM_BASE, jump_to},
    tt_metal::{HostWrite, boot::CoreFacts, firmware::FirmwareSet},
};
use kernel_profiler::port::WaitRecords;
use std::{ops::Range, sync::Arc};
use wire::{CoreKind, Risc, risc::RISCS_PER_CORE};

/// The code of a core, with the host writes that boot the core and launch programs on it.
///
/// While the core is in reset, a host carries out the writes of [`CoreCode::boot_writes`]. The host
/// then ends the reset of BRISC, and BRISC boots the other RISCs. To launch a program, the host
/// carries out the writes of [`CoreCode::launch_writes`], then writes the byte [`CoreCode::go`],
/// and waits until the byte at the same address is [`CoreCode::done`].
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
    /// This project's code; empty if the build has none, or if tt-metal's firmware runs instead.
    riscs: Vec<RiscCode>,
    /// tt-metal's firmware, if it replaces this project's firmware.
    set: Option<Arc<FirmwareSet>>,
    /// L1 address of the [`mailbox`] of this project's firmware.
    mailbox: u32,
}

/// An L1 address and the words that a host writes there.
pub type Write = (u32, Vec<u32>);

/// The code of one RISC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RiscCode {
    pub(crate) firmware: &'static ParsedImage,
    pub(crate) kernels: &'static ParsedImage,
}

impl CoreCode {
    /// Returns the code of a core that is used for `core_use`. The code is empty if tt-metal's
    /// firmware has no code for this kind of core, or if kernels in C++ are chosen and were not
    /// compiled.
    #[must_use]
    pub fn new(core_use: CoreUse, chip: &ChipFacts, place: CorePlace) -> Self {
        let plain = Selection::new(chip.arch, false);
        let (selection, kernels) = match core_use {
            CoreUse::Programs | CoreUse::Spare => (selection(chip), chip.modes.kernels),
            CoreUse::Dispatch => (Selection { mode: Mode::Dispatch, ..plain }, KernelKind::Riscv),
            CoreUse::Relay => (Selection { mode: Mode::Relay, ..plain }, KernelKind::Riscv),
        };
        let set = chip.modes.firmware.clone().filter(|_| core_use == CoreUse::Programs);
        let count = if set.is_some() { 0 } else { place.kind.risc_count() };
        let riscs: Vec<RiscCode> = (0..count)
            .filter_map(|index| {
                let name = images::processor(place.kind, index);
                Some(RiscCode {
                    firmware: images::find(selection, "firmware", name)?,
                    kernels: images::find(selection, kernels.image_part(), name)?,
                })
            })
            .collect();
        let mailbox = riscs.first().and_then(|risc| risc.firmware.symbol("__mailbox"));
        let mailbox = mailbox.map_or(0, |symbol| symbol.address);
        Self { chip: chip.clone(), place, riscs, set, mailbox }
    }

    /// Returns true if there is no code for this core.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.risc_count() == 0
    }

    /// Returns the number of RISCs with code.
    pub(crate) fn risc_count(&self) -> usize {
        match &self.set {
            Some(set) if self.place.kind == CoreKind::Tensix => set.processors().len(),
            Some(_) => 0,
            None => self.riscs.len(),
        }
    }

    /// Returns true if the firmware contains the profiler. Without the profiler, launches leave no
    /// records.
    #[must_use]
    pub fn has_profiler(&self) -> bool {
        self.set.as_ref().is_none_or(|set| set.has_profiler())
    }

    /// Returns the core's kind and coordinates.
    #[must_use]
    pub const fn place(&self) -> CorePlace {
        self.place
    }

    /// Returns this project's code of each RISC.
    pub(crate) fn riscs(&self) -> &[RiscCode] {
        &self.riscs
    }

    /// Returns tt-metal's firmware, if it replaces this project's firmware.
    pub(crate) fn firmware_set(&self) -> Option<&FirmwareSet> {
        self.set.as_deref()
    }

    pub(crate) const fn shared_firmware_set(&self) -> Option<&Arc<FirmwareSet>> {
        self.set.as_ref()
    }

    /// Returns the location of the mailboxes that the firmware and its host share.
    pub(crate) fn mailbox_place(&self) -> MailboxPlace {
        if let Some(set) = &self.set {
            let (done_address, done_value) = set.done_signal();
            return MailboxPlace {
                address: set.mailboxes().address,
                size_bytes: set.mailboxes().signals_end,
                done_address,
                done_value,
                stages: None,
            };
        }
        let address = self.mailbox;
        MailboxPlace {
            address,
            size_bytes: mailbox::SIZE_BYTES,
            done_address: address + mailbox::GO,
            done_value: signal::DONE,
            stages: Some(address + mailbox::STAGE),
        }
    }

    /// Returns the address range from the first byte of code to the end of all code.
    pub(crate) fn bounds(&self) -> Range<u32> {
        let processors = self.set.iter().flat_map(|set| set.processors());
        let (mut start, mut end) = (u32::MAX, 0);
        let mut add = |image: &riscv::Image<'_>| {
            let in_l1 = image.segments().iter().filter(|at| at.address < LOCAL_RAM_BASE);
            for segment in in_l1.filter(|segment| !segment.bytes.is_empty()) {
                let size_bytes = u32::try_from(segment.bytes.len()).unwrap_or(0);
                start = start.min(segment.address);
                end = end.max(segment.address.saturating_add(size_bytes));
            }
        };
        self.images().for_each(|image| add(&image.program));
        processors.filter_map(|firmware| firmware.image()).for_each(|image| add(&image));
        if start < end { start..end } else { 0..0 }
    }

    /// Returns the first address of NCRISC's kernels if they are to take the time of code in its
    /// instruction RAM, although this project's firmware executes them from L1.
    ///
    /// # Compatibility
    /// TT-Metal 0.81.1 executes a Wormhole's NCRISC kernels from the instruction RAM
    /// (`MEM_NCRISC_KERNEL_BASE` in `wormhole/dev_mem_map.h`), and all others from L1.
    pub(crate) fn uncached_from(&self) -> Option<u32> {
        if self.set.is_some()
            || self.chip.arch != Arch::WormholeB0
            || self.place.kind != CoreKind::Tensix
        {
            return None;
        }
        let kernels = &self.riscs.get(Risc::Ncrisc.index())?.kernels.program;
        let in_l1 = kernels.segments().iter().filter(|at| at.address < LOCAL_RAM_BASE);
        in_l1.map(|segment| segment.address).min()
    }

    /// Returns the images of this project's code.
    fn images(&self) -> impl Iterator<Item = &'static ParsedImage> {
        self.riscs.iter().flat_map(|risc| [risc.firmware, risc.kernels])
    }

    /// Returns the writes to L1 that a host makes before BRISC leaves reset: code, the words that
    /// describe the core, and at address 0 the jump to BRISC's firmware.
    #[must_use]
    pub fn boot_writes(&self) -> Vec<Write> {
        if let Some(set) = &self.set {
            return writes(set.boot_writes(&CoreFacts::new(&self.chip, self.place)));
        }
        let segments = self.images().flat_map(|image| image.program.segments());
        let mut writes: Vec<_> =
            segments.map(|segment| (segment.address, words(segment.bytes))).collect();
        let entry = self.riscs.first().map_or(0, |risc| risc.firmware.program.entry());
        writes.push((0, vec![jump_to(entry)]));
        let described = core_words(&self.chip, self.place);
        writes.extend(described.into_iter().map(|(offset, word)| self.word(offset, word)));
        writes.push(self.word(mailbox::GO, signal::DONE.into()));
        writes
    }

    /// Returns the address and the value of the byte that starts a launch.
    #[must_use]
    pub fn go(&self) -> (u32, u8) {
        match &self.set {
            Some(set) => set.go_signal(),
            None => (self.mailbox + mailbox::GO, signal::GO),
        }
    }

    /// Returns the address and the value of the byte that signals the end of a launch.
    #[must_use]
    pub fn done(&self) -> (u32, u8) {
        let MailboxPlace { done_address, done_value, .. } = self.mailbox_place();
        (done_address, done_value)
    }

    /// Returns the write of a word to the mailbox.
    fn word(&self, offset: u32, value: u32) -> Write {
        (self.mailbox + offset, vec![value])
    }

    /// Returns the L1 region for the kernels' data. It begins after all code, and ends at the
    /// mailbox, at the regions of kernel files or at the end of L1, whichever comes first.
    fn data_area(&self) -> Range<u32> {
        let start = self.bounds().end.next_multiple_of(16);
        let l1_bytes = self.chip.arch.facts().l1_bytes(self.place.kind);
        let l1_end = u32::try_from(l1_bytes).unwrap_or(u32::MAX);
        let end = if self.mailbox > start { self.mailbox } else { l1_end };
        start..end.min(FILE_REGIONS)
    }

    /// Returns the writes to L1 that a launch needs before its go signal.
    ///
    /// # Errors
    /// If a kernel has no object code, or if arguments or data do not fit. The error is a sentence.
    pub fn launch_writes(
        &self,
        launch: &Launch,
        context: &KernelContext,
    ) -> Result<Vec<Write>, String> {
        if let Some(set) = &self.set {
            let written = set.writes_for(launch, context);
            return written.map(writes).map_err(|error| error.to_string());
        }
        let arg_count = u32::try_from(context.args.len()).unwrap_or(u32::MAX);
        if arg_count > mailbox::ARG_COUNT_MAX {
            let most = mailbox::ARG_COUNT_MAX;
            return Err(format!("{arg_count} arguments, a launch message holds {most}"));
        }
        let seed = context.random().next_u64();
        let words = [
            (mailbox::PROGRAM_ID, context.program_id),
            (mailbox::REPLAYS_BEGUN, context.replays_begun),
            (mailbox::LATE, 0),
            (mailbox::LAUNCH_INDEX, (context.launch_index & 0xFFFF_FFFF) as u32),
            (mailbox::SEED, (seed & 0xFFFF_FFFF) as u32),
            (mailbox::SEED + 4, (seed >> 32) as u32),
            (mailbox::ARG_COUNT, arg_count),
        ];
        let mut writes: Vec<Write> =
            words.into_iter().map(|(offset, word)| self.word(offset, word)).collect();
        writes.push((self.mailbox + mailbox::ARGS, context.args.to_vec()));
        let enables = self.add_kernels(&mut writes, launch, context)?;
        writes.push(self.word(mailbox::ENABLES, enables));
        Ok(writes)
    }

    /// Returns the writes that make each listed RISC close its main zone late: the number of cycles
    /// is the time from the RISC's done signal to the end of its main zone.
    pub(crate) fn late_writes(&self, riscs: &[(usize, u64)]) -> Vec<Write> {
        let bits = riscs.iter().fold(0_u32, |bits, &(index, _)| bits | 1 << index);
        let cycles = riscs.iter().map(|&(index, cycles)| {
            let place = (0..).step_by(4).nth(index).unwrap_or(0);
            let cycles = u32::try_from(cycles).unwrap_or(u32::MAX);
            self.word(mailbox::LATE_CYCLES + place, cycles)
        });
        std::iter::once(self.word(mailbox::LATE, bits)).chain(cycles).collect()
    }

    /// Adds the code of a kernel that is a file; returns the address of its entry point.
    fn add_file(
        &self,
        writes: &mut Vec<Write>,
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
            writes.push((segment.address, words(&[segment.bytes, &zeros].concat())));
        }
        Ok(image.entry())
    }

    /// Adds the entry point and data of every kernel; returns a mask of the RISCs that have a
    /// kernel.
    fn add_kernels(
        &self,
        writes: &mut Vec<Write>,
        launch: &Launch,
        context: &KernelContext,
    ) -> Result<u32, String> {
        let (mut enables, mut free) = (0, self.data_area());
        let places = (0..).step_by(4);
        for ((index, code), place) in self.riscs.iter().enumerate().zip(places) {
            let Some(risc) = self.place.kind.risc(index) else { continue };
            let Some(kernel) = launch.program.kernel(risc) else { continue };
            let entry = match kernel.object_file() {
                Some(file) => self.add_file(writes, index, file)?,
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
            writes.push((free.start, data.into_owned()));
            let semaphores = kernel.semaphores();
            let word_count = semaphores.len() / 4;
            writes.push((semaphores.start, vec![0; word_count]));
            free.start += size_bytes;
            writes.push(self.word(mailbox::ENTRIES + place, entry));
            writes.push(self.word(mailbox::DATA + place, address));
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

/// Returns true if a kernel's file was linked for the firmware of `selection` on a processor.
///
/// A file from another linker script does not say for which firmware it was linked.
#[must_use]
pub fn is_linked_for(selection: Selection, risc_index: usize, file: &KernelFile) -> bool {
    let processor = images::processor(CoreKind::Tensix, risc_index);
    let mark = images::find(selection, "firmware", processor).map(link_script::mark);
    mark.is_some() && file.symbol(link_script::MARK) == mark
}

/// Returns the program in a kernel's file, if the file was linked for the given processor and for
/// the firmware of `selection`.
///
/// # Errors
/// If the kernel was linked for another processor or firmware, or does not fit into its L1 region;
/// the error is a sentence with the reason.
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
            match (selection.has_sums, selection.mode) {
                (true, _) => " and --enable-sum-profiling",
                (false, Mode::Stream) =>
                    " and --stream, and compile it with KERNEL_PROFILER_STREAM",
                (false, Mode::WaitTotals) =>
                    " and --waits, as other kernels of this run are linked",
                (false, _) => "",
            },
        ));
    }
    Ok(image)
}

/// Returns the address at which a RISC's kernel starts in the embedded object code.
fn embedded_entry(code: &RiscCode, risc: Risc, launch: &Launch) -> Result<u32, String> {
    let kernel = launch.program.kernel(risc).and_then(|kernel| kernel.object_name());
    let name = kernel.ok_or_else(|| {
        format!("the kernel of {risc} in {} has no object code", launch.program.name())
    })?;
    let symbol = code.kernels.symbol(name);
    Ok(symbol.ok_or_else(|| format!("{risc} has no kernel `{name}`"))?.address)
}

/// Returns the L1 region that holds kernel files for a processor of a Tensix core.
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

/// Converts host writes for tt-metal's firmware from bytes to words.
fn writes(host: Vec<HostWrite>) -> Vec<Write> {
    host.into_iter().map(|write| (write.address, write.words())).collect()
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

/// Start of the L1 regions for kernels from files; each processor has a region of its own.
const FILE_REGIONS: u32 = 0x10_0000;
const FILE_REGION_BYTES: u32 = 0x1_0000;
