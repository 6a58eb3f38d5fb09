//! Host writes that launch kernels on a core, as in tt-metal's slow dispatch mode.
//!
//! # Compatibility
//! `dev_msgs.h` for the launch message, `llrt.cpp` for the order: kernels and arguments, then the
//! message, then the go signal.

use super::{
    HostWrite,
    boot::{put, whole_words},
    firmware::FirmwareSet,
};
use crate::{
    kernel::file::{KernelFile, KernelFileError},
    program::{KernelContext, Launch},
    riscv::{INSTRUCTION_RAM_BASE, narrow},
    tile::Tile,
};
use reader::firmware_elf::debug_info::Part;
use std::ops::Range;
use wire::{CoreKind, Risc, risc::RISCS_PER_CORE};

/// One launch on one core.
#[derive(Clone, Copy, Debug)]
pub struct CoreLaunch<'a> {
    /// Program id in the profiler's records.
    pub program_id: u32,
    /// Runtime arguments, which are the same for all kernels.
    pub args: &'a [u32],
    /// The kernel of each processor, by the processor's index.
    pub kernels: [Option<&'a KernelFile>; RISCS_PER_CORE],
}

/// What a launch message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LaunchMessage {
    /// The host's id of the program.
    pub(crate) run_host_id: u32,
    /// The kernel of each processor, by the processor's index.
    pub(crate) kernels: Vec<Option<LaunchedKernel>>,
}

/// A kernel of a launch message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaunchedKernel {
    /// The host's number of the kernel.
    pub(crate) id: Option<u32>,
    /// Address of the kernel in L1.
    pub(crate) place: u32,
    /// Size of the kernel; `None` if the host's launch messages lack it.
    pub(crate) size_bytes: Option<u32>,
}

/// The signal of a processor that BRISC starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SubordinateSignal {
    /// L1 address of the signal's byte.
    pub(crate) address: u32,
    /// True if the processor has nothing to do, or has ended its kernel.
    pub(crate) is_done: bool,
}

/// Reason why a launch is impossible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// A kernel cannot be loaded.
    #[error(transparent)]
    Kernel(#[from] KernelFileError),
    /// A kernel of the program has no ELF file: it is embedded object code for this project's
    /// firmware.
    #[error("the kernel of {risc} in {program} is no file that was linked against this firmware")]
    NoFile {
        /// Processor of the kernel.
        risc: Risc,
        /// Name of the program.
        program: String,
    },
    /// The kernels need more bytes than L1 has free.
    #[error("the kernels of a launch need {needed_bytes} bytes, L1 has room for {room_bytes}")]
    TooLarge {
        /// Size of kernels and arguments in bytes.
        needed_bytes: u32,
        /// Number of free bytes up to the end of L1.
        room_bytes: u32,
    },
}

impl FirmwareSet {
    /// Returns the writes of arguments, kernels and launch message, in the order in which a host
    /// makes them. The go signal must follow: see [`FirmwareSet::go_signal`].
    ///
    /// # Errors
    /// [`LaunchError`] if a kernel cannot be loaded or does not fit.
    pub fn launch_writes(&self, launch: &CoreLaunch<'_>) -> Result<Vec<HostWrite>, LaunchError> {
        let parts = &self.mailboxes.launch;
        let base = self.tables.end().next_multiple_of(ALIGN_BYTES);
        let mut writes = Vec::new();
        let mut message = vec![0; (parts.whole.offset + parts.whole.size_bytes) as usize];
        put(&mut message, parts.mode, parts.host_mode);
        put(&mut message, parts.min_remote_cb, parts.circular_buffer_count);
        put(&mut message, parts.program_id, launch.program_id);
        put_words(&mut message, parts.config_base, base);
        for &part in &parts.absent {
            put(&mut message, part, NO_OFFSET);
        }
        let args: Vec<u8> = launch.args.iter().flat_map(|arg| arg.to_le_bytes()).collect();
        let mut next = (base + narrow(args.len() as u64)).next_multiple_of(ALIGN_BYTES);
        if !args.is_empty() {
            writes.push(HostWrite { address: base, bytes: args });
        }
        let mut enables = 0;
        for (index, kernel) in launch.kernels.into_iter().enumerate() {
            let Some(kernel) = kernel else { continue };
            let is_linked_here = (next..self.l1_end()).contains(&kernel.text_address());
            let place = if is_linked_here { kernel.text_address() } else { next };
            let bytes = kernel.loaded_at(place)?;
            let size_bytes = narrow(bytes.len() as u64);
            enables |= 1 << index;
            put(&mut message, parts.text_offsets[index], place - base);
            if index == NCRISC {
                put(&mut message, parts.ncrisc_size16, size_bytes.div_ceil(16));
            }
            next = place.saturating_add(size_bytes).next_multiple_of(ALIGN_BYTES);
            writes.push(HostWrite { address: place, bytes });
        }
        if next > self.l1_end() {
            let room_bytes = self.l1_end() - base;
            return Err(LaunchError::TooLarge { needed_bytes: next - base, room_bytes });
        }
        put(&mut message, parts.enables, enables);
        let bytes = whole_words(message.split_off(parts.whole.offset as usize));
        writes.push(HostWrite { address: self.mailboxes.address_of(parts.whole), bytes });
        Ok(writes)
    }

    /// Returns the writes of [`FirmwareSet::launch_writes`] for the launch of a program on the core
    /// in `context`.
    ///
    /// # Errors
    /// The errors of `launch_writes`, and an error if a kernel of the program has no ELF file.
    pub fn writes_for(
        &self,
        launch: &Launch,
        context: &KernelContext,
    ) -> Result<Vec<HostWrite>, LaunchError> {
        let mut kernels = [None; RISCS_PER_CORE];
        for (index, place) in kernels.iter_mut().enumerate() {
            let Some(risc) = CoreKind::Tensix.risc(index) else { continue };
            let Some(kernel) = launch.program.kernel(risc) else { continue };
            let program = launch.program.name();
            *place = Some(
                kernel
                    .object_file()
                    .ok_or_else(|| LaunchError::NoFile { risc, program: program.to_owned() })?,
            );
        }
        let (program_id, args) = (context.program_id, &*context.args);
        self.launch_writes(&CoreLaunch { program_id, args, kernels })
    }

    /// Returns the L1 address of BRISC's signal byte, and the value that starts a launch.
    #[must_use]
    pub const fn go_signal(&self) -> (u32, u8) {
        let (address, _) = self.done_signal();
        (address, (self.mailboxes.signals.go & 0xFF) as u8)
    }

    /// Returns the L1 address of BRISC's signal byte, and the byte's value once a launch is over.
    #[must_use]
    pub const fn done_signal(&self) -> (u32, u8) {
        let mailboxes = &self.mailboxes;
        (mailboxes.address_of(mailboxes.go_signal), (mailboxes.signals.done & 0xFF) as u8)
    }

    /// Returns the address from which a processor executes a kernel that was linked for the address
    /// `linked`, according to the launch message in the tile's L1. Instruction RAM has only one
    /// place for code.
    pub(crate) fn text_place(&self, tile: &Tile, risc_index: usize, linked: u32) -> u32 {
        let parts = &self.mailboxes.launch;
        let Some(&offset) = parts.text_offsets.get(risc_index) else { return linked };
        if linked >= INSTRUCTION_RAM_BASE {
            return linked;
        }
        let word = |part: Part| tile.load(u64::from(self.mailboxes.address_of(part)));
        word(parts.config_base).wrapping_add(word(offset))
    }

    /// Returns the L1 address of the byte of the go message that the core obeys.
    pub(crate) fn go_address(&self, tile: &Tile) -> u32 {
        let mailboxes = &self.mailboxes;
        let index = tile.load(u64::from(mailboxes.address_of(mailboxes.go_index)));
        let offset = index.wrapping_mul(mailboxes.go_stride);
        mailboxes.address_of(mailboxes.go_signal).wrapping_add(offset)
    }

    /// Returns true if a write to these addresses has made the core begin a launch.
    pub(crate) fn is_go(&self, tile: &Tile, written: &Range<u64>) -> bool {
        let address = self.go_address(tile);
        let word = tile.load(u64::from(address & !3)) >> (8 * (address & 3));
        let (_, go) = self.go_signal();
        written.contains(&u64::from(address)) && word & 0xFF == u32::from(go)
    }

    /// Returns the value of a field of the launch message that a core obeys next: its lower 32 bits.
    pub(super) fn field(&self, tile: &Tile, part: Part) -> u32 {
        let parts = &self.mailboxes.launch;
        let next = tile.load(u64::from(self.mailboxes.address_of(parts.next)));
        let offset = next.wrapping_mul(parts.stride);
        let address = self.mailboxes.address_of(part).wrapping_add(offset);
        let word = tile.load(u64::from(address & !3)) >> (8 * (address & 3));
        if part.size_bytes < 4 { word & ((1 << (8 * part.size_bytes)) - 1) } else { word }
    }

    /// Returns the launch message that a core obeys next.
    pub(crate) fn message(&self, tile: &Tile) -> LaunchMessage {
        let parts = &self.mailboxes.launch;
        let field = |part: Part| self.field(tile, part);
        let (base, enables) = (field(parts.config_base), field(parts.enables));
        let kernels = parts.text_offsets.iter().enumerate().map(|(index, &text)| {
            let id = parts.kernel_ids.get(index).map(|&id| field(id));
            let is_enabled = enables >> index & 1 != 0;
            let size_bytes = parts.text_sizes.get(index).map(|&size| field(size));
            let place = base.wrapping_add(field(text));
            is_enabled.then_some(LaunchedKernel { id, place, size_bytes })
        });
        LaunchMessage { run_host_id: field(parts.program_id), kernels: kernels.collect() }
    }

    /// Returns the signals of the processors that BRISC starts, from the second processor on; `None` for
    /// releases of tt-metal without them.
    ///
    /// # Compatibility
    /// `subordinate_sync_msg_t`: one byte for each processor; it is `RUN_SYNC_MSG_DONE`, 0, unless the
    /// processor has something to do.
    pub(crate) fn subordinate_signals(&self, tile: &Tile) -> Option<Vec<SubordinateSignal>> {
        let first = self.mailboxes.address_of(self.mailboxes.subordinate_signals?);
        let count = u32::try_from(RISCS_PER_CORE).ok()? - 1;
        let signals = (first..first + count).map(|address| {
            let word = tile.load(u64::from(address & !3));
            SubordinateSignal { address, is_done: word >> (8 * (address & 3)) & 0xFF == 0 }
        });
        Some(signals.collect())
    }

    fn l1_end(&self) -> u32 {
        u32::try_from(self.arch().facts().tensix_l1_bytes).unwrap_or(u32::MAX)
    }
}

/// Writes the same word to every element of an array in the launch message.
fn put_words(bytes: &mut [u8], part: Part, value: u32) {
    for offset in (part.offset..part.offset + part.size_bytes).step_by(4) {
        put(bytes, Part { offset, size_bytes: 4 }, value);
    }
}

const ALIGN_BYTES: u32 = 16;
/// Value of the offset field of a region that does not exist.
///
/// # Compatibility
/// `REMOTE_DFB_OFFSET_NONE`.
const NO_OFFSET: u32 = 0xFF;
const NCRISC: usize = 1;
