//! A kernel's ELF file, and the conversion of its contents to the bytes that are loaded into L1.
//!
//! tt-metal links kernels after the firmware's code, and loads them to a free location that is
//! chosen at each launch. tt-metal's loader makes kernels position-independent. The simulator knows
//! the load address, so it changes the addresses in the code instead. This requires that the linker
//! keeps relocations (`--emit-relocs`).

use crate::{
    machine::images::zone_texts,
    riscv::{INSTRUCTION_RAM_BASE, Image, ImageError, LOCAL_RAM_BASE, Segment},
};
use object::{
    Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionKind, elf,
};

/// The ELF file of a kernel.
#[derive(Clone, PartialEq, Eq)]
pub struct KernelFile {
    name: String,
    file: Vec<u8>,
    text_address: u32,
}

/// Reason why a kernel file cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelFileError {
    /// The file is not a program for these processors.
    #[error("kernel {name}: {source}")]
    NotProgram {
        /// Name of the kernel.
        name: String,
        /// The error in the file.
        source: ImageError,
    },
    /// There is no code at the entry point.
    #[error("kernel {name}: expected code at its entry {entry:#010x}, found none")]
    NoEntry {
        /// Name of the kernel.
        name: String,
        /// Address of the kernel's first instruction.
        entry: u32,
    },
    /// A segment is neither of the two that tt-metal's kernels have: one for code and one for
    /// private RAM.
    #[error(
        "kernel {name}: expected one segment of code and one of private RAM (0xffb00000), \
         found {byte_count} bytes for address {address:#010x}"
    )]
    UnexpectedSegment {
        /// Name of the kernel.
        name: String,
        /// Address of the segment.
        address: u32,
        /// Length of the segment in bytes.
        byte_count: usize,
    },
    /// The kernel contains absolute addresses, and its file has no relocations for them.
    #[error(
        "kernel {name} is linked for address {linked:#x} and has to be loaded at {place:#x}: \
         link it with --emit-relocs or for that address"
    )]
    Unmovable {
        /// Name of the kernel.
        name: String,
        /// The address that the kernel was linked for.
        linked: u32,
        /// The requested load address.
        place: u32,
    },
}

impl KernelFile {
    /// Parses a linked kernel; error messages call it `name`.
    ///
    /// # Errors
    /// [`KernelFileError`] if the file is not a program for these processors.
    pub fn new(name: impl Into<String>, file: Vec<u8>) -> Result<Self, KernelFileError> {
        let name = name.into();
        let image = Image::parse(&file);
        let image = image.map_err(|source| {
            let name = name.clone();
            KernelFileError::NotProgram { name, source }
        })?;
        let (entry, segments) = (image.entry(), image.segments());
        let holds_entry = |segment: &&Segment<'_>| {
            entry.wrapping_sub(segment.address) < narrow(segment.bytes.len())
        };
        let Some(text) = segments.iter().find(holds_entry) else {
            return Err(KernelFileError::NoEntry { name, entry });
        };
        let text_address = text.address;
        Ok(Self { name, file, text_address })
    }

    /// Returns the name of the kernel.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the ELF file.
    #[must_use]
    pub fn file(&self) -> &[u8] {
        &self.file
    }

    /// Parses the file's segments and symbols.
    ///
    /// # Errors
    /// Never: the file was parsed before.
    pub(crate) fn image(&self) -> Result<Image<'_>, KernelFileError> {
        Image::parse(&self.file)
            .map_err(|source| KernelFileError::NotProgram { name: self.name.clone(), source })
    }

    /// Returns the address of the symbol `name`, if the file has such a symbol.
    pub(crate) fn symbol(&self, name: &str) -> Option<u32> {
        let file = object::File::parse(self.file.as_slice()).ok()?;
        let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name))?;
        u32::try_from(symbol.address()).ok()
    }

    /// Returns the address for which the code was linked.
    #[must_use]
    pub const fn text_address(&self) -> u32 {
        self.text_address
    }

    /// Returns the bytes to load at the address `place`, as tt-metal's firmware expects them: the
    /// code, then the initial contents of private RAM.
    ///
    /// # Errors
    /// [`KernelFileError::UnexpectedSegment`] if the file has other segments, and
    /// [`KernelFileError::Unmovable`] if the load address differs from the linked address, and the
    /// file has no relocation entries.
    pub fn loaded_at(&self, place: u32) -> Result<Vec<u8>, KernelFileError> {
        let image = self.image()?;
        let (mut text, mut data, mut data_address) = (Vec::new(), Vec::new(), LOCAL_RAM_BASE);
        for segment in image.segments().iter().filter(|segment| !segment.bytes.is_empty()) {
            let is_private = (LOCAL_RAM_BASE..INSTRUCTION_RAM_BASE).contains(&segment.address);
            let part = if is_private { &mut data } else { &mut text };
            if !part.is_empty() {
                return Err(KernelFileError::UnexpectedSegment {
                    name: self.name.clone(),
                    address: segment.address,
                    byte_count: segment.bytes.len(),
                });
            }
            part.extend_from_slice(segment.bytes);
            if is_private {
                data_address = segment.address;
            }
        }
        text.resize(text.len().next_multiple_of(4), 0);
        let is_moved = self.text_address < INSTRUCTION_RAM_BASE && self.text_address != place;
        if is_moved {
            let text = (self.text_address, &mut text[..]);
            self.move_addresses(text, (data_address, &mut data), place)?;
        }
        text.extend(data);
        text.resize(text.len().next_multiple_of(4), 0);
        Ok(text)
    }

    /// Returns the texts of the kernel's zones in the form `name,file,line,KERNEL_PROFILER`.
    #[must_use]
    pub fn zone_texts(&self) -> Vec<String> {
        let file = object::File::parse(self.file.as_slice());
        file.map(|file| zone_texts(&file)).unwrap_or_default()
    }

    /// Relocates absolute addresses of code so that the code can run at the load address `place`.
    /// Such addresses occur in the code itself and, as jump tables and function pointers, in
    /// private RAM.
    ///
    /// # Compatibility
    /// `ElfFile::Impl::XIPify` of `llrt/tt_elffile.cpp` relocates any word that contains a code
    /// address, in any segment.
    fn move_addresses(
        &self,
        (text_address, text): (u32, &mut [u8]),
        (data_address, data): (u32, &mut [u8]),
        place: u32,
    ) -> Result<(), KernelFileError> {
        let unmovable =
            || KernelFileError::Unmovable { name: self.name.clone(), linked: text_address, place };
        let file = object::File::parse(self.file.as_slice()).map_err(|_| unmovable())?;
        let text_bytes = text.len();
        let mut relocation_count = 0;
        for section in file.sections() {
            let holder = match section.kind() {
                SectionKind::Text => (text_address, &mut *text),
                _ if within(section.address(), data_address, data.len()) => {
                    (data_address, &mut *data)
                }
                _ => continue,
            };
            let (start, bytes) = holder;
            for (at, relocation) in section.relocations() {
                relocation_count += 1;
                let RelocationTarget::Symbol(index) = relocation.target() else { continue };
                let Ok(symbol) = file.symbol_by_index(index) else { continue };
                let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
                let target = symbol.address().wrapping_add_signed(relocation.addend());
                let Ok(target) = u32::try_from(target) else { continue };
                let distance = target.wrapping_sub(text_address);
                if distance as usize > text_bytes {
                    continue;
                }
                let at = u32::try_from(at).map_err(|_| unmovable())?;
                let at = at.wrapping_sub(start) as usize;
                let value = distance.wrapping_add(place);
                let word = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut);
                let word = word.ok_or_else(unmovable)?;
                *word = patched(u32::from_le_bytes(*word), r_type, value).to_le_bytes();
            }
        }
        if relocation_count == 0 { Err(unmovable()) } else { Ok(()) }
    }
}

/// Returns true if an address is within the `byte_count` bytes that begin at `start`.
fn within(address: u64, start: u32, byte_count: usize) -> bool {
    address.checked_sub(start.into()).is_some_and(|distance| distance < byte_count as u64)
}

/// Returns an instruction or data word in which the absolute address is replaced by `value`.
fn patched(word: u32, kind: elf::RelocationType, value: u32) -> u32 {
    match kind {
        elf::R_RISCV_32 => value,
        elf::R_RISCV_HI20 => word & 0xFFF | value.wrapping_add(0x800) & !0xFFF,
        elf::R_RISCV_LO12_I => word & 0x000F_FFFF | value << 20,
        elf::R_RISCV_LO12_S => word & 0x01FF_F07F | (value >> 5 & 0x7F) << 25 | (value & 0x1F) << 7,
        _ => word,
    }
}

impl std::fmt::Debug for KernelFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = f.debug_struct("KernelFile");
        text.field("name", &self.name).field("text_address", &self.text_address);
        text.finish_non_exhaustive()
    }
}

/// Converts a length to 32 bits, which suffice for addresses and lengths in these files.
fn narrow(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
