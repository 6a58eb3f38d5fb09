//! Linked programs: the memory contents that an ELF file describes, and the function at each pc.
//!
//! All data is borrowed from the bytes of the file, which is untrusted. This module neither
//! relocates nor links.

use object::elf::{EM_RISCV, FileHeader32};
use object::read::elf::{ElfFile32, FileHeader};
use object::{LittleEndian, Object, ObjectSegment, ObjectSymbol, SymbolKind};
use thiserror::Error;

/// A linked 32-bit RISC-V program.
///
/// # Examples
///
/// ```
/// use sim::riscv::{Image, ImageError};
///
/// assert!(matches!(Image::parse(b"not an object file"), Err(ImageError::NotElf { .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image<'file> {
    entry: u32,
    segments: Vec<Segment<'file>>,
    /// Functions and labels in code, sorted by address.
    symbols: Vec<Symbol<'file>>,
}

/// A memory region whose contents a program defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'file> {
    /// First address.
    pub address: u32,
    /// Contents, starting at `address`.
    pub bytes: &'file [u8],
    /// Number of zero bytes after `bytes`.
    pub zero_byte_count: u32,
}

/// A function or label in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Symbol<'file> {
    /// First address.
    pub address: u32,
    /// Size in bytes; 0 if the file does not specify it.
    pub byte_count: u32,
    /// The name in the file, possibly mangled.
    pub name: &'file str,
}

/// Reason why a file is not a loadable program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The headers do not describe a 32-bit little-endian ELF file.
    #[error("expected a 32-bit little-endian ELF file: {reason}")]
    NotElf {
        /// The parser's message.
        reason: String,
    },
    /// The file is for another processor.
    #[error("expected ELF machine 243 (RISC-V), found {machine}; build for riscv32im")]
    NotRiscv {
        /// Machine number in the file.
        machine: u16,
    },
    /// The contents of a segment are outside the file, or its memory exceeds a 32-bit address
    /// space.
    #[error("segment {index} at address {address:#010x}: {reason}")]
    BadSegment {
        /// Index among the loadable segments.
        index: usize,
        /// Address in the file.
        address: u64,
        /// Reason why the segment is invalid, as a sentence.
        reason: String,
    },
}

impl<'file> Image<'file> {
    /// Reads the headers, loadable segments and code symbols of an ELF file.
    ///
    /// Unreadable symbols are ignored, because names are used only in messages.
    ///
    /// # Errors
    /// [`ImageError`] if the file is not a 32-bit RISC-V program with valid segments.
    pub fn parse(file: &'file [u8]) -> Result<Self, ImageError> {
        type Elf<'file> = ElfFile32<'file, LittleEndian>;
        let elf =
            Elf::parse(file).map_err(|error| ImageError::NotElf { reason: error.to_string() })?;
        let header: &FileHeader32<LittleEndian> = elf.elf_header();
        let machine = header.e_machine(LittleEndian);
        if machine != EM_RISCV {
            return Err(ImageError::NotRiscv { machine: machine.0 });
        }
        let segments = elf
            .segments()
            .enumerate()
            .map(|(index, segment)| checked_segment(index, &segment))
            .collect::<Result<_, _>>()?;
        let mut symbols: Vec<_> = elf.symbols().filter_map(|symbol| code_symbol(&symbol)).collect();
        symbols.sort_unstable();
        Ok(Self { entry: header.e_entry(LittleEndian), segments, symbols })
    }

    /// Returns the address of the first instruction.
    pub fn entry(&self) -> u32 {
        self.entry
    }

    /// Returns the segments to load, in the order of the file.
    pub fn segments(&self) -> &[Segment<'file>] {
        &self.segments
    }

    /// Returns the function or label that contains an address, if known.
    pub fn symbol_at(&self, pc: u32) -> Option<&Symbol<'file>> {
        let after = self.symbols.partition_point(|symbol| symbol.address <= pc);
        let symbol = self.symbols[..after].last()?;
        let is_inside = symbol.byte_count == 0 || pc - symbol.address < symbol.byte_count;
        is_inside.then_some(symbol)
    }
}

fn checked_segment<'file>(
    index: usize,
    segment: &impl ObjectSegment<'file>,
) -> Result<Segment<'file>, ImageError> {
    let (address, byte_count) = (segment.address(), segment.size());
    let bad = |reason: String| ImageError::BadSegment { index, address, reason };
    let bytes = segment.data().map_err(|error| bad(error.to_string()))?;
    if address + byte_count > 1 << 32 {
        return Err(bad(format!("{byte_count} bytes reach beyond 32 bits of address")));
    }
    let zero_byte_count = byte_count
        .checked_sub(bytes.len() as u64)
        .and_then(|count| u32::try_from(count).ok())
        .ok_or_else(|| bad(format!("{} bytes in the file, {byte_count} in memory", bytes.len())))?;
    let address = u32::try_from(address).map_err(|error| bad(error.to_string()))?;
    Ok(Segment { address, bytes, zero_byte_count })
}

fn code_symbol<'file>(symbol: &impl ObjectSymbol<'file>) -> Option<Symbol<'file>> {
    let is_code = matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Label);
    let name = symbol.name().ok().filter(|name| is_code && !name.is_empty())?;
    let address = u32::try_from(symbol.address()).ok()?;
    // A symbol that is larger than 32 bits allow cannot be code; its size is treated as unknown.
    let byte_count = u32::try_from(symbol.size()).unwrap_or(0);
    Some(Symbol { address, byte_count, name })
}

#[cfg(test)]
mod tests {
    use super::super::asm;
    use super::*;
    use proptest::prelude::*;

    const HEADER_BYTE_COUNT: u32 = 52;
    const PROGRAM_HEADER_BYTE_COUNT: u32 = 32;

    /// Returns a file with one loadable segment of code at `address`, laid out as in the ELF
    /// specification.
    fn file(address: u32, words: &[u32], memory_byte_count: u32) -> Vec<u8> {
        let byte_count = u32::try_from(words.len()).unwrap() * 4;
        let at = HEADER_BYTE_COUNT + PROGRAM_HEADER_BYTE_COUNT;
        let sizes = HEADER_BYTE_COUNT | PROGRAM_HEADER_BYTE_COUNT << 16;
        let header = [2 | 243 << 16, 1, address, HEADER_BYTE_COUNT, 0, 0, sizes, 1, 0];
        let segment = [1, at, address, address, byte_count, memory_byte_count, 5, 4];
        let words = header.iter().chain(&segment).chain(words);
        let identification = *b"\x7FELF\x01\x01\x01\0\0\0\0\0\0\0\0\0";
        identification.into_iter().chain(words.flat_map(|word| word.to_le_bytes())).collect()
    }

    #[test]
    fn a_segment_has_the_place_and_the_zeros_that_its_file_says() {
        let words = [asm::NOP, asm::EBREAK];
        let file = file(0x3880, &words, 16);
        let image = Image::parse(&file).unwrap();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let segment = Segment { address: 0x3880, bytes: &bytes, zero_byte_count: 8 };
        assert_eq!((image.entry(), image.segments()), (0x3880, [segment].as_slice()));
    }

    #[test]
    fn another_processor_and_other_bytes_are_refused() {
        let mut other = file(0, &[asm::NOP], 4);
        other[18] = 62;
        assert_eq!(Image::parse(&other), Err(ImageError::NotRiscv { machine: 62 }));
        assert!(matches!(Image::parse(&[]), Err(ImageError::NotElf { .. })));
        let cut = &file(0, &[asm::NOP], 4)[..86];
        assert!(matches!(Image::parse(cut), Err(ImageError::BadSegment { index: 0, .. })));
        let shrunk = file(0, &[asm::NOP], 3);
        assert!(matches!(Image::parse(&shrunk), Err(ImageError::BadSegment { index: 0, .. })));
    }

    #[test]
    fn a_pc_belongs_to_the_symbol_that_covers_it() {
        let symbol = |address, byte_count, name| Symbol { address, byte_count, name };
        let image = Image {
            entry: 0,
            segments: Vec::new(),
            symbols: vec![symbol(0x10, 8, "first"), symbol(0x20, 0, "open_ended")],
        };
        let name = |pc| image.symbol_at(pc).map(|symbol| symbol.name);
        assert_eq!([name(0xC), name(0x14), name(0x18)], [None, Some("first"), None]);
        assert_eq!(name(0x1000), Some("open_ended"));
    }

    proptest! {
        #[test]
        fn damaged_files_are_refused_or_read_but_never_crash(
            damage in prop::collection::vec((0_usize..92, any::<u8>()), 1..8),
        ) {
            let mut file = file(0x100, &[asm::NOP, asm::EBREAK], 64);
            damage.iter().for_each(|&(at, byte)| file[at] = byte);
            if let Ok(image) = Image::parse(&file) {
                let _ = image.symbol_at(0x104);
            }
        }
    }
}
