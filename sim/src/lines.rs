//! Where the cycles of a launch go in its code: what each RISC has executed at each address, why it
//! took so long, and what it waited for.
//!
//! With [`MeshConfig::with_lines`](crate::config::MeshConfig::with_lines), every launch is counted
//! on every RISC that has code. The counts are exact: their cycles add up to the cycles from the
//! launch's GO message, or from the RISC's last cycle before it, to the RISC's last cycle.
//!
//! Limits that the timing model leaves out ([`crate::limits`]) are in no count.

use crate::{
    arch::{Arch, TileCoord, WALL_CLOCK_LOW},
    machine::{TileWatch, core_code::CoreCode},
    program::{Kernel, Launch},
    riscv::{AddressCount, Counts, INSTRUCTION_RAM_BASE, Image},
    tile::Tile,
    tt_metal::firmware::FirmwareSet,
};
use std::{collections::HashMap, fmt, ops::Range, sync::Arc};
use wire::{CoreKind, Risc, wait::WaitKind};

/// Counts of one RISC, summed over launches of one program.
#[derive(Clone, Debug)]
pub struct RiscLines {
    /// Number of the chip.
    pub chip_id: u32,
    /// The core.
    pub core: TileCoord,
    /// The RISC.
    pub risc: Risc,
    /// The program's id.
    pub program_id: u32,
    /// Name of the program.
    pub program: String,
    /// Launches, in the order in which they ended.
    pub launches: Vec<CountedLaunch>,
    /// Code that the RISC may have executed, at the same place in all launches.
    pub code: Vec<LoadedCode>,
    /// Counts, in order of address and polled word.
    pub counts: Vec<LineCount>,
}

/// A launch whose instructions were counted on a RISC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedLaunch {
    /// Number of the launch on its chip, from 0.
    pub launch_index: u64,
    /// First cycle that is counted, on the chip's clock.
    pub begin_cycle: u64,
    /// First cycle after those that are counted.
    pub end_cycle: u64,
}

/// Adds up the counts of launches of the same program on the same RISC, with the same code.
#[derive(Debug, Default)]
pub(crate) struct LineBook {
    riscs: Vec<RiscLines>,
    /// Indices in `riscs` by core, RISC and program id: one for each code that they executed.
    index: HashMap<(TileCoord, Risc, u32), Vec<usize>>,
}

impl LineBook {
    pub(crate) fn add(&mut self, lines: RiscLines) {
        let key = (lines.core, lines.risc, lines.program_id);
        let places = self.index.entry(key).or_default();
        let riscs = &mut self.riscs;
        match places.iter().find(|&&place| riscs[place].has_same_code(&lines)) {
            Some(&place) => riscs[place].merge(lines),
            None => {
                places.push(riscs.len());
                riscs.push(lines);
            }
        }
    }

    pub(crate) fn take(&mut self) -> Vec<RiscLines> {
        self.index.clear();
        std::mem::take(&mut self.riscs)
    }
}

impl RiscLines {
    fn has_same_code(&self, other: &Self) -> bool {
        self.program == other.program && self.code == other.code
    }

    fn merge(&mut self, other: Self) {
        self.launches.extend(other.launches);
        let known = self.counts.len();
        let mut at = 0;
        for line in other.counts {
            while at < known && self.counts[at].address < line.address {
                at += 1;
            }
            // Polled words are few, so those of one address are compared one by one.
            let same = self.counts[at.min(known)..known]
                .iter_mut()
                .take_while(|one| one.address == line.address)
                .find(|one| {
                    (&one.waits_for, one.instruction) == (&line.waits_for, line.instruction)
                });
            match same {
                Some(sum) => sum.count.add(&line.count),
                None => self.counts.push(line),
            }
        }
        if self.counts.len() > known {
            self.counts.sort_by_key(|line| line.address);
        }
    }
}

/// Counts of one instruction, for one awaited object or outside of waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineCount {
    /// Address from which the instruction was executed.
    pub address: u32,
    /// The instruction, as it was in memory when the launch had ended.
    pub instruction: u32,
    /// Object that the RISC waited for; `None` outside of waits.
    pub waits_for: Option<Awaited>,
    /// Instructions and cycles.
    pub count: AddressCount,
}

/// An object that a RISC polls.
///
/// ```
/// use sim::lines::Awaited;
/// use wire::wait::WaitKind;
/// let awaited = Awaited::Object { kind: WaitKind::CB_WAIT, key: 3 };
/// assert_eq!(awaited.to_string(), "CB_WAIT 3");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Awaited {
    /// A circular buffer, semaphore or NoC barrier, named like the waits that kernels record.
    Object {
        /// Kind of the wait.
        kind: WaitKind,
        /// Number of the circular buffer or NoC, or L1 address of the semaphore.
        key: u32,
    },
    /// A time on the wall clock.
    Clock,
    /// A message of the host or of another RISC, in the firmware's mailboxes.
    Mailbox(u32),
    /// Another word of L1.
    L1(u32),
    /// Another register, by name and address.
    Register(&'static str, u32),
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object { kind, key } => {
                let name = kind.name().unwrap_or("unknown wait");
                match *kind == WaitKind::SEM_WAIT {
                    true => write!(f, "{name} {key:#x}"),
                    false => write!(f, "{name} {key}"),
                }
            }
            Self::Clock => f.write_str("wall clock"),
            Self::Mailbox(address) => write!(f, "mailbox {address:#x}"),
            Self::L1(address) => write!(f, "L1 {address:#x}"),
            Self::Register(name, address) => write!(f, "register {name} {address:#x}"),
        }
    }
}

/// Code of one ELF file in the memory of a RISC.
#[derive(Clone, PartialEq)]
pub struct LoadedCode {
    /// True for firmware, false for a kernel.
    pub is_firmware: bool,
    /// Addresses from which the code is executed.
    pub loaded: Range<u32>,
    /// Address for which the first instruction of `loaded` was linked.
    pub linked: u32,
    file: CodeFile,
}

#[derive(Clone)]
enum CodeFile {
    Embedded(&'static str, &'static [u8]),
    Kernel(Arc<dyn Kernel>),
    Firmware(Arc<FirmwareSet>, usize),
    /// A kernel of another host, by the host's number.
    Foreign(u32),
}

impl PartialEq for CodeFile {
    /// Returns true if both are the same file in memory.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Embedded(_, a), Self::Embedded(_, b)) => std::ptr::eq(*a, *b),
            (Self::Kernel(a), Self::Kernel(b)) => Arc::ptr_eq(a, b),
            (Self::Firmware(a, index), Self::Firmware(b, other)) => {
                Arc::ptr_eq(a, b) && index == other
            }
            (Self::Foreign(a), Self::Foreign(b)) => a == b,
            _ => false,
        }
    }
}

impl LoadedCode {
    /// Returns the name of the file; kernels from files have the name that the user gave.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.file {
            CodeFile::Embedded(name, _) => name,
            CodeFile::Kernel(kernel) => kernel.object_file().map_or("", |file| file.name()),
            CodeFile::Firmware(..) => "tt-metal's firmware",
            CodeFile::Foreign(_) => "",
        }
    }

    /// Returns true if the code is part of this program.
    #[must_use]
    pub const fn is_embedded(&self) -> bool {
        matches!(self.file, CodeFile::Embedded(..))
    }

    /// Returns the contents of the ELF file.
    #[must_use]
    pub fn elf(&self) -> &[u8] {
        match &self.file {
            CodeFile::Embedded(_, elf) => elf,
            CodeFile::Kernel(kernel) => kernel.object_file().map_or(&[], |file| file.file()),
            CodeFile::Firmware(set, index) => set.file(*index).unwrap_or_default(),
            CodeFile::Foreign(_) => &[],
        }
    }

    /// Returns the number by which a host that drives the chip knows the kernel; `None` for code
    /// whose file is known.
    #[must_use]
    pub const fn foreign_kernel(&self) -> Option<u32> {
        match self.file {
            CodeFile::Foreign(id) => Some(id),
            _ => None,
        }
    }

    /// Returns the same code for all addresses below `end`, which are those in the file.
    pub(crate) fn everywhere_below(self, end: u32) -> Self {
        Self { loaded: 0..end, linked: 0, ..self }
    }

    /// Returns the code of another host's kernel. Its addresses are offsets from its first byte,
    /// from `first` on, so that they do not depend on the place at which the host has put it.
    pub(crate) const fn foreign(id: u32, first: u32) -> Self {
        let (loaded, file) = (first..u32::MAX, CodeFile::Foreign(id));
        Self { is_firmware: false, loaded, linked: 0, file }
    }
}

impl fmt::Debug for LoadedCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("LoadedCode");
        text.field("name", &self.name()).field("loaded", &self.loaded);
        text.field("linked", &self.linked).finish_non_exhaustive()
    }
}

/// Returns the code that a RISC may execute in a launch.
pub(crate) fn loaded_code(
    code: &CoreCode,
    launch: &Launch,
    (index, risc): (usize, Risc),
    tile: &Tile,
) -> Vec<LoadedCode> {
    let kernel = launch.program.kernel(risc).filter(|kernel| kernel.object_file().is_some());
    let mut loaded = Vec::new();
    if let Some(kernel) = kernel
        && let Some(file) = kernel.object_file()
        && let Ok(image) = file.image()
        && let Some(range) = code_range(&image, file.text_address())
    {
        let linked = range.start;
        let place = code.firmware_set().map_or(linked, |set| set.text_place(tile, index, linked));
        let size_bytes = range.end - range.start;
        // TT-Metal's firmware copies the kernel of a Wormhole's NCRISC to its instruction RAM.
        let copies = has_instruction_ram(code, index);
        let copy = copies.then_some(INSTRUCTION_RAM_BASE);
        for first in [Some(place), copy].into_iter().flatten() {
            let file = CodeFile::Kernel(Arc::clone(kernel));
            let loaded_at = first..first.saturating_add(size_bytes);
            loaded.push(LoadedCode { is_firmware: false, loaded: loaded_at, linked, file });
        }
    }
    if let Some(own) = code.riscs().get(index) {
        for (image, is_firmware, name) in
            [(own.kernels, false, "kprof's kernels"), (own.firmware, true, "kprof's firmware")]
        {
            let (start, end) = image.bounds();
            let file = CodeFile::Embedded(name, image.elf());
            loaded.push(LoadedCode { is_firmware, loaded: start..end, linked: start, file });
        }
    }
    loaded.extend(code.shared_firmware_set().and_then(|set| firmware_code(set, index)));
    loaded
}

/// Returns true if a processor has an instruction RAM.
fn has_instruction_ram(code: &CoreCode, risc_index: usize) -> bool {
    let is_wormhole = code.firmware_set().is_some_and(|set| set.arch() == Arch::WormholeB0);
    is_wormhole && code.place().kind.risc(risc_index) == Some(Risc::Ncrisc)
}

/// Returns the code of a processor's firmware.
pub(crate) fn firmware_code(set: &Arc<FirmwareSet>, risc_index: usize) -> Option<LoadedCode> {
    let image = set.processors().get(risc_index)?.image()?;
    let range = code_range(&image, image.entry())?;
    let (linked, file) = (range.start, CodeFile::Firmware(Arc::clone(set), risc_index));
    Some(LoadedCode { is_firmware: true, loaded: range, linked, file })
}

/// Returns the addresses of the segment that contains an address.
fn code_range(image: &Image<'_>, address: u32) -> Option<Range<u32>> {
    let segment = image.segments().iter().find(|segment| {
        let offset = address.wrapping_sub(segment.address);
        u64::from(offset) < segment.bytes.len() as u64
    })?;
    let end = u64::from(segment.address) + segment.bytes.len() as u64;
    Some(segment.address..u32::try_from(end).ok()?)
}

/// What the words that RISCs poll mean on one core.
pub(crate) struct Meaning<'a> {
    pub(crate) arch: Arch,
    /// Addresses of the firmware's mailboxes.
    pub(crate) mailboxes: Range<u32>,
    pub(crate) l1_bytes: u64,
    /// True if the code has this project's layout of semaphores.
    pub(crate) has_own_layout: bool,
    /// Returns the name of a register.
    pub(crate) register: &'a dyn Fn(u32) -> &'static str,
}

impl Meaning<'_> {
    /// Returns what a RISC that polls the word at an address waits for.
    pub(crate) fn of(&self, address: u32) -> Awaited {
        if let Some((kind, key)) = TileWatch::awaited(self.arch, address)
            && (self.has_own_layout || kind != WaitKind::SEM_WAIT)
        {
            return Awaited::Object { kind, key };
        }
        match address {
            WALL_CLOCK_LOW => Awaited::Clock,
            _ if self.mailboxes.contains(&address) => Awaited::Mailbox(address),
            _ if u64::from(address) < self.l1_bytes => Awaited::L1(address),
            _ => Awaited::Register((self.register)(address & !3), address),
        }
    }

    /// Converts a hart's counts; `word` returns the instruction at an address.
    pub(crate) fn counts(&self, counts: Counts, word: impl Fn(u32) -> u32) -> Vec<LineCount> {
        let counts = counts.into_iter().map(|((address, polled), count)| LineCount {
            address,
            instruction: word(address),
            waits_for: polled.map(|polled| self.of(polled)),
            count,
        });
        counts.collect()
    }
}

/// Returns true if a core of this kind has RISCs whose code is counted.
pub(crate) const fn is_counted(kind: CoreKind) -> bool {
    matches!(kind, CoreKind::Tensix)
}

#[cfg(test)]
#[path = "../tests/unit/lines.rs"]
mod tests;
