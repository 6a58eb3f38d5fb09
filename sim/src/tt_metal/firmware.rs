//! A firmware set: the ELF files of a Tensix core's five processors, and the data layouts that
//! their debug information describes.

use crate::{
    arch::Arch,
    machine::images,
    riscv::{Image, ImageError, narrow},
};
use reader::firmware_elf::{
    debug_info::{DebugInfo, DebugInfoError, Part},
    profiler::ProfilerMemory,
    tables::{TableSizes, symbol_bytes},
};
use std::{fmt, fs, io, path::Path};
use wire::{CoreKind, risc::RISCS_PER_CORE};

/// The firmware of all processors of a Tensix core, from one build of tt-metal.
#[derive(Clone, PartialEq, Eq)]
pub struct FirmwareSet {
    arch: Arch,
    processors: Vec<Firmware>,
    pub(super) mailboxes: Mailboxes,
    pub(super) tables: Tables,
}

/// The firmware of one processor.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Firmware {
    file: Vec<u8>,
    /// L1 address to which the host writes the initial contents of the processor's private RAM.
    pub(super) data_image_address: u32,
}

/// Locations of the data that host and firmware share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mailboxes {
    /// L1 address of the mailboxes.
    pub(crate) address: u32,
    pub(crate) size_bytes: u32,
    /// Memory of the profiler, which starts with the control vector.
    pub(crate) profiler: ProfilerMemory,
    /// Offset of the end of the words in which firmware and host signal their progress.
    pub(crate) signals_end: u32,
    pub(crate) go_signal: Part,
    pub(super) go_index: Part,
    /// Distance in bytes from one go message to the next.
    pub(super) go_stride: u32,
    /// First byte of the signals of the processors that BRISC starts; `None` for releases of tt-metal
    /// without them.
    pub(super) subordinate_signals: Option<Part>,
    pub(super) watcher_enable: Part,
    pub(super) logical_x: Part,
    pub(super) logical_y: Part,
    pub(super) core_magic: Part,
    pub(super) worker_magic: u32,
    pub(super) launch: LaunchParts,
    pub(crate) signals: Signals,
}

/// Values of the signal in a go message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signals {
    pub(crate) init: u32,
    pub(crate) go: u32,
    pub(crate) done: u32,
}

/// Locations of a launch message's fields, relative to the start of the mailboxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LaunchParts {
    pub(super) whole: Part,
    /// Number of the launch message that is next.
    pub(super) next: Part,
    /// Distance in bytes from one launch message to the next.
    pub(super) stride: u32,
    /// Numbers of the kernels, by which the host finds their files.
    pub(super) kernel_ids: Vec<Part>,
    pub(super) config_base: Part,
    pub(super) mode: Part,
    pub(super) host_mode: u32,
    pub(super) min_remote_cb: Part,
    pub(super) circular_buffer_count: u32,
    pub(super) program_id: Part,
    pub(super) enables: Part,
    pub(super) ncrisc_size16: Part,
    pub(super) text_offsets: Vec<Part>,
    /// Sizes of the kernels; empty for releases of tt-metal whose messages lack them.
    pub(super) text_sizes: Vec<Part>,
    /// Fields of circular buffers; `None` for releases of tt-metal whose messages lack them.
    pub(super) circular_buffers: Option<CircularBufferParts>,
    /// Fields for the offsets of optional regions. For each region that a launch lacks, the host
    /// sets the field to `NO_OFFSET`.
    pub(super) absent: Vec<Part>,
}

/// Locations of a launch message's fields on circular buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CircularBufferParts {
    pub(super) local_mask: Part,
    pub(super) local_offset: Part,
    pub(super) remote_offset: Part,
}

/// Addresses and sizes of the tables that the host writes for the firmware.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tables {
    pub(super) banks_address: u32,
    pub(super) sizes: TableSizes,
    pub(super) virtual_address: u32,
}

/// Reason why some files are not a firmware set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FirmwareError {
    /// A file cannot be read.
    #[error(
        "cannot read {path}: {source}; expected a folder with brisc/brisc.elf and so on, as tt-metal builds its firmware"
    )]
    Unreadable {
        /// Path of the file.
        path: String,
        /// Error from the operating system.
        source: io::Error,
    },
    /// A file is not a program for these processors.
    #[error("the firmware of {processor}: {source}")]
    NotFirmware {
        /// Processor that the file is for.
        processor: &'static str,
        /// The error in the file.
        source: ImageError,
    },
    /// A file lacks the required debug information.
    #[error("the firmware of {processor}: {source}")]
    Silent {
        /// Processor that the file is for.
        processor: &'static str,
        /// The missing debug information.
        source: DebugInfoError,
    },
    /// The firmware is for a chip that the simulator does not support.
    #[error("expected firmware for a NoC of 10 or 17 columns, found a table for {columns}")]
    UnknownChip {
        /// Number of columns in the firmware's table of translated coordinates.
        columns: usize,
    },
}

impl FirmwareSet {
    /// Reads `brisc/brisc.elf` and the files of the other processors from a folder in which
    /// tt-metal has built or shipped them.
    ///
    /// # Errors
    /// [`FirmwareError`] if a file is missing or is not valid firmware.
    pub fn open(folder: &Path) -> Result<Self, FirmwareError> {
        let mut files = Vec::new();
        for index in 0..RISCS_PER_CORE {
            let name = images::processor(CoreKind::Tensix, index);
            let path = folder.join(name).join(format!("{name}.elf"));
            files.push(fs::read(&path).map_err(|source| {
                let path = path.display().to_string();
                FirmwareError::Unreadable { path, source }
            })?);
        }
        Self::from_files(files.try_into().unwrap_or_default())
    }

    /// Parses the ELF files of BRISC, NCRISC and the three TRISCs.
    ///
    /// # Errors
    /// [`FirmwareError`] if a file is not valid firmware.
    pub fn from_files(files: [Vec<u8>; RISCS_PER_CORE]) -> Result<Self, FirmwareError> {
        let mut processors = Vec::new();
        let mut leader = None;
        for (index, file) in files.into_iter().enumerate() {
            let processor = images::processor(CoreKind::Tensix, index);
            Image::parse(&file)
                .map_err(|source| FirmwareError::NotFirmware { processor, source })?;
            let silent = |source| FirmwareError::Silent { processor, source };
            let info = DebugInfo::parse(&file).map_err(silent)?;
            let data_image_address = address(&info, "do_crt1", "data_image").map_err(silent)?;
            if index == 0 {
                let tables = Tables::new(&file, &info).map_err(silent)?;
                let mailboxes = Mailboxes::from_debug_info(&info).map_err(silent)?;
                leader = Some((tables, mailboxes));
            }
            processors.push(Firmware { file, data_image_address });
        }
        let (tables, mailboxes) = leader.ok_or_else(|| FirmwareError::Silent {
            processor: "brisc",
            source: DebugInfoError::Missing { kind: "file of", name: "brisc".to_owned() },
        })?;
        let arch = tables
            .sizes
            .arch()
            .ok_or(FirmwareError::UnknownChip { columns: tables.sizes.column_count });
        Ok(Self { arch: arch?, processors, mailboxes, tables })
    }

    /// Returns the architecture that the firmware was built for.
    #[must_use]
    pub const fn arch(&self) -> Arch {
        self.arch
    }

    /// Returns the L1 address of the profiler's control vector; the processors' record buffers
    /// follow it.
    #[must_use]
    pub fn control_address(&self) -> u32 {
        narrow(self.mailboxes.profiler.control_address)
    }

    /// Returns the L1 address of BRISC's record buffer.
    #[must_use]
    pub fn vector_address(&self) -> u32 {
        narrow(self.mailboxes.profiler.vector_address())
    }

    /// Returns the ELF file of a processor, given the processor's index.
    #[must_use]
    pub fn file(&self, risc_index: usize) -> Option<&[u8]> {
        self.processors.get(risc_index).map(|firmware| firmware.file.as_slice())
    }

    /// Returns true if BRISC's firmware was compiled with a device profiler.
    #[must_use]
    pub fn has_profiler(&self) -> bool {
        let file = self.file(0).unwrap_or_default();
        symbol_bytes(file, PROFILER_STATE).is_some()
    }

    pub(crate) const fn mailboxes(&self) -> &Mailboxes {
        &self.mailboxes
    }

    pub(crate) fn processors(&self) -> &[Firmware] {
        &self.processors
    }
}

impl Firmware {
    /// Parses the file and returns the program to load; always succeeds, because
    /// [`FirmwareSet::from_files`] has already parsed the file.
    pub(crate) fn image(&self) -> Option<Image<'_>> {
        Image::parse(&self.file).ok()
    }
}

impl fmt::Debug for FirmwareSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("FirmwareSet");
        text.field("arch", &self.arch).field("mailboxes", &self.mailboxes.address);
        text.finish_non_exhaustive()
    }
}

/// # Compatibility
/// Names are those in `hostdev/dev_msgs.h`; layouts are read from the ELF file.
impl Mailboxes {
    fn from_debug_info(info: &DebugInfo) -> Result<Self, DebugInfoError> {
        let part = |path: &str| info.part("mailboxes", path);
        let word = |name: &str| info.constant(name).map(narrow);
        let watcher_enable = part("watcher.enable")?;
        Ok(Self {
            address: word("mailboxes")?,
            size_bytes: part("")?.size_bytes,
            profiler: ProfilerMemory::from_debug_info(info)?,
            signals_end: watcher_enable.offset,
            go_signal: part("go_messages[0].signal")?,
            go_stride: part("go_messages[0]")?.size_bytes,
            go_index: part("go_message_index")?,
            subordinate_signals: part("subordinate_sync").ok(),
            watcher_enable,
            logical_x: part("core_info.absolute_logical_x")?,
            logical_y: part("core_info.absolute_logical_y")?,
            core_magic: part("core_info.core_magic_number")?,
            worker_magic: word("WORKER")?,
            launch: LaunchParts::from_debug_info(info)?,
            signals: Signals {
                init: word("RUN_MSG_INIT")?,
                go: word("RUN_MSG_GO")?,
                done: word("RUN_MSG_DONE")?,
            },
        })
    }
}

impl LaunchParts {
    fn from_debug_info(info: &DebugInfo) -> Result<Self, DebugInfoError> {
        let config =
            |path: &str| info.part("mailboxes", &format!("launch[0].kernel_config.{path}"));
        let all = info.part("cb_interface", "")?.size_bytes;
        let one = info.part("cb_interface", "[0]")?.size_bytes;
        // Releases of tt-metal without such regions do not have these fields.
        let absent = ["cross_node_dfb_offset", "prefetcher_pipe_offset"];
        Ok(Self {
            whole: info.part("mailboxes", "launch[0]")?,
            next: info.part("mailboxes", "launch_msg_rd_ptr")?,
            stride: info.part("mailboxes", "launch[0]")?.size_bytes,
            kernel_ids: (0..RISCS_PER_CORE)
                .filter_map(|index| config(&format!("watcher_kernel_ids[{index}]")).ok())
                .collect(),
            config_base: config("kernel_config_base")?,
            mode: config("mode")?,
            host_mode: narrow(info.constant("DISPATCH_MODE_HOST")?),
            min_remote_cb: config("min_remote_cb_start_index")?,
            circular_buffer_count: all / one.max(1),
            program_id: config("host_assigned_id")?,
            enables: config("enables")?,
            ncrisc_size16: config("ncrisc_kernel_size16")?,
            text_offsets: (0..RISCS_PER_CORE)
                .map(|index| config(&format!("kernel_text_offset[{index}]")))
                .collect::<Result<_, _>>()?,
            text_sizes: (0..RISCS_PER_CORE)
                .filter_map(|index| config(&format!("kernel_text_size[{index}]")).ok())
                .collect(),
            circular_buffers: config("local_cb_mask")
                .and_then(|local_mask| {
                    let local_offset = config("local_cb_offset")?;
                    let remote_offset = config("remote_cb_offset")?;
                    Ok(CircularBufferParts { local_mask, local_offset, remote_offset })
                })
                .ok(),
            absent: absent.iter().filter_map(|name| config(name).ok()).collect(),
        })
    }
}

impl Tables {
    fn new(file: &[u8], info: &DebugInfo) -> Result<Self, DebugInfoError> {
        Ok(Self {
            banks_address: address(info, "noc_bank_table_init", "mem_bank_to_noc_addr")?,
            sizes: TableSizes::from_file(file)?,
            virtual_address: address(
                info,
                "noc_worker_logical_to_virtual_map_init",
                "worker_logical_to_virtual_map_addr",
            )?,
        })
    }

    /// Returns the first address after everything that the host writes before the firmware starts.
    pub(super) fn end(&self) -> u32 {
        let size_bytes =
            u32::try_from(self.sizes.column_count + self.sizes.row_count).unwrap_or(u32::MAX);
        self.virtual_address.saturating_add(size_bytes)
    }
}

/// Mangled name of `kernel_profiler::wIndex`, a symbol in every version of tt-metal's device
/// profiler.
const PROFILER_STATE: &str = "_ZN15kernel_profiler6wIndexE";

fn address(info: &DebugInfo, function: &str, parameter: &str) -> Result<u32, DebugInfoError> {
    info.argument(function, parameter).map(narrow)
}
