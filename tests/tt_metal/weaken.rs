//! Weakening: converts a firmware's ELF file to the file that kernels are linked against.
//!
//! A kernel sees the firmware's variables. It sees neither the firmware's functions nor symbols
//! outside of loaded sections. If a kernel defines a variable with the name of a firmware variable,
//! the kernel uses its own definition, and the linker reports no conflict.
//!
//! # Compatibility
//! `ElfFile::WeakenDataSymbols` in `llrt/tt_elffile.cpp` of tt-metal; the names that stay unchanged
//! are those of `JitBuildState::weaken`. The result has the same bytes as the `*_weakened.elf`
//! files that tt-metal ships with its precompiled firmware.

use crate::package::package;
use object::{
    LittleEndian as Le, SymbolIndex,
    elf::{
        FileHeader32, PT_LOAD, Rela32, SHF_ALLOC, SHT_RELA, SHT_SYMTAB, STB_GLOBAL, STB_LOCAL,
        STB_WEAK, SectionHeader32, Sym32,
    },
    read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym},
};
use sim::random::Stream;
use std::{fs, path::PathBuf};

/// Reason why a file cannot be weakened.
#[derive(Debug)]
pub(crate) struct WeakenError {
    /// The reason, as a sentence.
    reason: String,
}

impl std::fmt::Display for WeakenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "expected a linked 32-bit ELF file of a firmware: {}", self.reason)
    }
}

impl From<object::Error> for WeakenError {
    fn from(error: object::Error) -> Self {
        Self { reason: error.to_string() }
    }
}

/// Returns a firmware file with only the symbols that a kernel may see.
///
/// Variables in the file's data segment become weak, exported symbols stay unchanged, and all other
/// symbols become local.
///
/// # Errors
/// [`WeakenError`] if the file is not a 32-bit little-endian ELF file with valid tables.
pub(crate) fn weaken(file: &[u8]) -> Result<Vec<u8>, WeakenError> {
    let header = FileHeader32::<Le>::parse(file)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, file)?;
    let segments = loaded_segments(header, endian, file)?;
    let mut weakened = file.to_vec();
    for (index, section) in sections.enumerate() {
        if section.sh_type(endian) == SHT_SYMTAB && !is_allocated(section) {
            let table = Table { endian, file, sections: &sections, segments: &segments };
            let symbols = table.regrouped(section)?;
            table.write(&mut weakened, header, (index.0, section), &symbols)?;
        }
    }
    Ok(weakened)
}

/// Address and size of a loaded segment.
type Span = (u32, u32);

/// A firmware file, as needed to change one of its symbol tables.
struct Table<'a> {
    endian: Le,
    file: &'a [u8],
    sections: &'a SectionTable<'a, FileHeader32<Le>>,
    segments: &'a [Span],
}

/// A table's symbols that were not local, in their new order.
struct Regrouped {
    /// Number of symbols that were local before, which precede the others.
    first: usize,
    /// Symbols that become local; these come first.
    hidden: Vec<Sym32<Le>>,
    /// Symbols that kernels see; some of them become weak.
    visible: Vec<Sym32<Le>>,
    /// For each symbol that was not local, in the old order, its new index after the first `first`
    /// symbols.
    places: Vec<usize>,
}

impl Table<'_> {
    /// Returns the symbols of a table in the order and with the visibility that kernels need.
    fn regrouped(&self, section: &SectionHeader32<Le>) -> Result<Regrouped, WeakenError> {
        let symbols: &[Sym32<Le>] = section.data_as_array(self.endian, self.file)?;
        let strings = self.sections.strings(self.endian, self.file, section.link(self.endian))?;
        let first = section.sh_info(self.endian) as usize;
        let globals = symbols.get(first..).ok_or_else(|| WeakenError {
            reason: "its symbol table has fewer symbols than local ones".to_owned(),
        })?;
        let (mut hidden, mut visible, mut order) = (Vec::new(), Vec::new(), Vec::new());
        for symbol in globals {
            let mut symbol = *symbol;
            let name = symbol.name(self.endian, strings)?;
            let is_shared = [STB_GLOBAL, STB_WEAK].contains(&symbol.st_bind());
            let mut is_hidden = false;
            if is_shared && !stays_strong(name) {
                is_hidden = !self.is_variable(&symbol);
                let binding = if is_hidden { STB_LOCAL } else { STB_WEAK };
                symbol.set_st_info(binding, symbol.st_type());
            }
            let group = if is_hidden { &mut hidden } else { &mut visible };
            order.push((is_hidden, group.len()));
            group.push(symbol);
        }
        let visible_from = hidden.len();
        let places = order
            .into_iter()
            .map(|(is_hidden, at)| if is_hidden { at } else { visible_from + at })
            .collect();
        Ok(Regrouped { first, hidden, visible, places })
    }

    /// Returns true if a symbol is in any segment but the first one, which contains code.
    fn is_variable(&self, symbol: &Sym32<Le>) -> bool {
        let index = usize::from(symbol.st_shndx(self.endian).0);
        let section = self.sections.iter().nth(index);
        let Some(section) = section.filter(|section| is_allocated(section)) else { return false };
        let end = section.sh_addr(self.endian).wrapping_add(section.sh_size(self.endian));
        // A section belongs to the last segment that contains the section's end.
        self.segments
            .iter()
            .rposition(|&(address, size)| end.wrapping_sub(address) <= size)
            .is_some_and(|index| index > 0)
    }

    /// Writes the symbols of a table, the number of local symbols, and the relocations that refer
    /// to the table.
    fn write(
        &self,
        file: &mut [u8],
        header: &FileHeader32<Le>,
        (index, section): (usize, &SectionHeader32<Le>),
        symbols: &Regrouped,
    ) -> Result<(), WeakenError> {
        let size = size_of::<Sym32<Le>>();
        let at = section.sh_offset(self.endian) as usize + symbols.first * size;
        let all = symbols.hidden.iter().chain(&symbols.visible);
        let bytes: Vec<u8> = all.flat_map(|symbol| object::bytes_of(symbol).to_vec()).collect();
        put(file, at, &bytes)?;
        for (_, relocations) in self.sections.enumerate() {
            let links_here = relocations.sh_link(self.endian) as usize == index;
            if links_here && relocations.sh_type(self.endian) == SHT_RELA {
                self.write_relocations(file, relocations, symbols)?;
            }
        }
        let local_count = symbols.first + symbols.hidden.len();
        let local_count = u32::try_from(local_count).unwrap_or(u32::MAX);
        let headers = header.e_shoff(self.endian) as usize;
        let at = headers + index * size_of::<SectionHeader32<Le>>() + SH_INFO;
        put(file, at, &local_count.to_le_bytes())
    }

    fn write_relocations(
        &self,
        file: &mut [u8],
        section: &SectionHeader32<Le>,
        symbols: &Regrouped,
    ) -> Result<(), WeakenError> {
        let relocations: &[Rela32<Le>] = section.data_as_array(self.endian, self.file)?;
        let mut bytes = Vec::with_capacity(size_of_val(relocations));
        for relocation in relocations {
            let mut relocation = *relocation;
            let old = relocation.r_sym(self.endian) as usize;
            let place = old.checked_sub(symbols.first).and_then(|old| symbols.places.get(old));
            if let Some(place) = place {
                let symbol = SymbolIndex(symbols.first + place).0;
                let symbol = u32::try_from(symbol).unwrap_or(u32::MAX);
                relocation.set_r_info(self.endian, symbol, relocation.r_type(self.endian));
            }
            bytes.extend_from_slice(object::bytes_of(&relocation));
        }
        put(file, section.sh_offset(self.endian) as usize, &bytes)
    }
}

/// Returns true if a symbol of this name stays unchanged, whichever section it is in.
fn stays_strong(name: &[u8]) -> bool {
    name.starts_with(b"__fw_export_") || name == b"__global_pointer$"
}

fn is_allocated(section: &SectionHeader32<Le>) -> bool {
    section.sh_flags(Le).contains(SHF_ALLOC)
}

/// Returns the addresses and sizes of loaded segments, in the order of the file. The sizes are
/// rounded up to whole words.
fn loaded_segments(
    header: &FileHeader32<Le>,
    endian: Le,
    file: &[u8],
) -> Result<Vec<Span>, WeakenError> {
    let segments = header.program_headers(endian, file)?.iter();
    let loaded = segments.filter(|segment| segment.p_type(endian) == PT_LOAD);
    Ok(loaded
        .map(|segment| {
            let size = segment.p_memsz(endian).checked_next_multiple_of(4).unwrap_or(u32::MAX);
            (segment.p_vaddr(endian), size)
        })
        .collect())
}

fn put(file: &mut [u8], at: usize, bytes: &[u8]) -> Result<(), WeakenError> {
    let place = at.checked_add(bytes.len()).and_then(|end| file.get_mut(at..end));
    place
        .ok_or_else(|| WeakenError { reason: "a table lies outside of it".to_owned() })?
        .copy_from_slice(bytes);
    Ok(())
}

/// Offset within a section header of the field with the number of local symbols.
const SH_INFO: usize = 28;

/// Returns the folders of the package's precompiled firmware; `None` without a package.
fn sets() -> Option<Vec<PathBuf>> {
    let folder = package()?.root.join("tt_metal/pre-compiled");
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let sets: Vec<PathBuf> =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    assert!(!sets.is_empty(), "{folder:?} has no firmware");
    Some(sets)
}

/// Compares weakened files with the package, which contains tt-metal's own weakened version of each
/// file.
#[test]
fn weakened_files_have_the_bytes_of_the_package() {
    let Some(sets) = sets() else { return };
    let mut count = 0;
    for set in &sets {
        for entry in fs::read_dir(set).unwrap() {
            let folder = entry.unwrap().path();
            let name = folder.file_name().unwrap().to_str().unwrap();
            let file = fs::read(folder.join(format!("{name}.elf"))).unwrap();
            let expected = fs::read(folder.join(format!("{name}_weakened.elf"))).unwrap();
            assert_ne!(file, expected, "{folder:?}: nothing to do");
            assert!(weaken(&file).unwrap() == expected, "{folder:?}");
            count += 1;
        }
    }
    assert!(count >= 7 * sets.len(), "seven processors at least in each set: {count}");
}

/// Checks that no file contents cause a panic or an endless loop.
#[test]
fn damaged_files_are_refused_or_weakened() {
    let Some(sets) = sets() else { return };
    let file = fs::read(sets[0].join("trisc1/trisc1.elf")).unwrap();
    let mut random = Stream::new(0xDA11, &[]);
    let mut refused = 0;
    for _ in 0..300 {
        let mut file = file.clone();
        for _ in 0..1 + random.below(12) {
            let at = usize::try_from(random.below(file.len() as u64)).unwrap();
            file[at] = random.below(256).to_le_bytes()[0];
        }
        // Damages the headers, because parsers are most likely to trust them.
        if random.below(2) == 0 {
            let at = usize::try_from(random.below(200)).unwrap();
            file[at] = random.below(256).to_le_bytes()[0];
        }
        file.truncate(file.len() - usize::try_from(random.below(2) * random.below(9000)).unwrap());
        refused += u32::from(weaken(&file).is_err());
    }
    assert!(refused > 50, "{refused}");
}
