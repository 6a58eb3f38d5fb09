//! Text and RAM of a linked program, and the addresses of its symbols.

use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, SectionFlags, elf::SHF_ALLOC,
    read::elf::ElfFile32,
};
use std::{collections::BTreeMap, path::Path};

/// A linked program.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) file: Vec<u8>,
    pub(crate) symbols: BTreeMap<String, Symbol>,
    pub(crate) sections: Vec<Section>,
}

/// A symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) address: u32,
    pub(crate) size_bytes: u32,
}

/// A range of memory or of the file.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) is_loaded: bool,
    pub(crate) size_bytes: u32,
    pub(crate) words: Vec<u32>,
}

impl Program {
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let file = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let elf = ElfFile32::<Endianness>::parse(&*file).map_err(|error| error.to_string())?;
        let word = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        let symbols = elf
            .symbols()
            .filter_map(|symbol| {
                let name = symbol.name().ok().filter(|name| !name.is_empty())?;
                let place =
                    Symbol { address: word(symbol.address()), size_bytes: word(symbol.size()) };
                Some((name.to_owned(), place))
            })
            .collect();
        let sections = elf.sections().filter_map(|section| section_of(&section)).collect();
        Ok(Self { symbols, sections, file })
    }

    fn size(&self, name: &str) -> u32 {
        self.sections.iter().find(|section| section.name == name).map_or(0, |one| one.size_bytes)
    }

    pub(crate) fn text_bytes(&self) -> u32 {
        self.size(".text")
    }

    /// Returns the size of initialised and zeroed data, in bytes.
    pub(crate) fn ram_bytes(&self) -> u32 {
        self.size(".data") + self.size(".bss")
    }

    /// Returns the limit of text in the linker script, if it has one.
    pub(crate) fn text_limit(&self) -> Option<u32> {
        let segments = self.sections.iter().find(|section| section.name == ".segments")?;
        segments.words.get(2).copied()
    }

    /// Returns the loaded sections that no rule of tt-metal's scripts names.
    pub(crate) fn orphans(&self) -> Vec<&str> {
        self.sections
            .iter()
            .filter(|section| section.is_loaded && section.size_bytes > 0)
            .map(|section| section.name.as_str())
            .filter(|name| !KNOWN_SECTIONS.contains(name))
            .collect()
    }

    pub(crate) fn has_symbol(&self, name: &str) -> bool {
        self.symbols.contains_key(name)
    }

    pub(crate) fn symbol(&self, name: &str) -> Symbol {
        *self.symbols.get(name).unwrap_or_else(|| panic!("no symbol {name}"))
    }
}

fn section_of<'file>(section: &impl ObjectSection<'file>) -> Option<Section> {
    let SectionFlags::Elf { sh_flags, .. } = section.flags() else { return None };
    let data = section.data().unwrap_or(&[]);
    let words = data
        .chunks_exact(4)
        .map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    Some(Section {
        name: section.name().ok()?.to_owned(),
        is_loaded: sh_flags.0 & SHF_ALLOC.0 != 0,
        size_bytes: u32::try_from(section.size()).ok()?,
        words: words.collect(),
    })
}

/// # Compatibility
/// `tt_metal/hw/toolchain/main.ld` and `erisc-b0-*.ld`.
const KNOWN_SECTIONS: [&str; 12] = [
    ".text",
    ".data",
    ".bss",
    ".empty.init.fini",
    ".empty.ctors.dtors",
    ".empty.init_array.fini_array",
    ".init",
    ".fini",
    ".start",
    ".rodata",
    ".sdata",
    ".sbss",
];
