//! The embedded object code: memory contents and symbols of the images that `build.rs` lists.

use crate::{
    arch::Arch,
    riscv::{self, narrow},
};
use object::{Object, ObjectSection, ObjectSymbol};
use std::{collections::BTreeMap, sync::OnceLock};
use wire::CoreKind;

/// A linked ELF file, as listed by `build.rs`.
#[derive(Debug)]
struct EmbeddedImage {
    arch: &'static str,
    has_sums: bool,
    mode: Mode,
    part: &'static str,
    processor: &'static str,
    digest: u64,
    elf: &'static [u8],
}

static EMBEDDED: &[EmbeddedImage] = &include!(concat!(env!("OUT_DIR"), "/images.rs"));

/// Code for one processor: its memory contents, its symbols, and its zones.
///
/// ```
/// use sim::machine::images::{self, Selection};
/// use sim::arch::Arch;
/// let selection = Selection::new(Arch::Blackhole, false);
/// let image = images::find(selection, "firmware", "brisc").unwrap();
/// assert!(image.symbol("__wait_for_byte").is_some());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedImage {
    /// Segments to load, entry point, and names of the functions.
    pub program: riscv::Image<'static>,
    /// Hash of the file; equal hashes mean equal code.
    pub digest: u64,
    /// Texts of the code's zones in the form `name,file,line,KERNEL_PROFILER`.
    pub zones: Vec<String>,
    elf: &'static [u8],
    symbols: BTreeMap<&'static str, SymbolRange>,
}

/// Address and size of a symbol in an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymbolRange {
    /// Address of the symbol.
    pub address: u32,
    /// Size in bytes; 0 if the linker script defines only an address.
    pub size_bytes: u32,
}

/// Selects a variant of the object code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Architecture.
    pub arch: Arch,
    /// True if the code records sum zones.
    pub has_sums: bool,
    /// Mode of the profiler; sum zones can be recorded only in the plain mode.
    pub mode: Mode,
}

/// Source language of the kernels in a simulation; all kernels are compiled to RV32IM object code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelKind {
    /// Rust.
    Riscv,
    /// C++; only some of the kernels exist in this language.
    Cpp,
}

impl KernelKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Riscv, Self::Cpp];

    /// Returns the name of the image part that contains these kernels.
    pub(super) const fn image_part(self) -> &'static str {
        match self {
            Self::Riscv => "kernels",
            Self::Cpp => "cpp_kernels",
        }
    }

    /// Returns the texts of zones in firmware and kernels of this kind; see
    /// [`crate::mesh::SimulatedMesh::zone_texts`].
    pub(crate) fn zone_texts(self) -> Vec<String> {
        zones(self.image_part())
    }
}

/// Mode of the profiler; firmware and kernels are built separately for each mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Records zones, data and events.
    #[default]
    Plain,
    /// Like [`Self::Plain`], and also records the total time of the waits for each synchronisation
    /// object.
    WaitTotals,
    /// Like [`Self::WaitTotals`], and also records each wait that blocked.
    WaitEvents,
    /// Like [`Self::WaitTotals`], and during the time windows of [`wire::wait::SyncWindows`] also
    /// records each wait that blocked.
    WaitWindows,
    /// Collects the records of several launches before writing them to DRAM.
    Accumulate,
    /// Like [`Self::Plain`], and also records hardware counters in each launch.
    Counters,
    /// Records only one zone per core and trace replay; the zone covers the whole replay.
    TraceOnly,
    /// Debug dump: RISCs whose DRAM buffers are full wait for the host; NoC events include
    /// addresses.
    DebugDump,
    /// Profiles dispatch kernels. A dispatch kernel reserves part of its record buffer, and writes
    /// the buffer to DRAM when everything but the reserved part is full.
    Dispatch,
    /// Streams records: the host or a relay reads them while kernels run.
    Stream,
    /// Runs a relay (a core that gathers other cores' records); the firmware has no profiler.
    Relay,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 11] = [
        Self::Plain,
        Self::WaitTotals,
        Self::WaitEvents,
        Self::WaitWindows,
        Self::Accumulate,
        Self::Counters,
        Self::TraceOnly,
        Self::DebugDump,
        Self::Dispatch,
        Self::Stream,
        Self::Relay,
    ];
}

impl Selection {
    /// Selects the plain mode for an architecture, with or without sum zones.
    #[must_use]
    pub const fn new(arch: Arch, has_sums: bool) -> Self {
        Self { arch, has_sums, mode: Mode::Plain }
    }
}

/// Returns the name of a processor in images, given the kind of its core and its index in the core.
#[must_use]
pub fn processor(kind: CoreKind, risc_index: usize) -> &'static str {
    const TENSIX: [&str; 5] = ["brisc", "ncrisc", "trisc0", "trisc1", "trisc2"];
    match kind {
        CoreKind::Tensix => TENSIX.get(risc_index).copied().unwrap_or(""),
        CoreKind::ActiveEth => "erisc",
        CoreKind::IdleEth => "idle_erisc",
    }
}

/// Returns the image of one part of the code for one processor; `None` if there is no such image.
///
/// `part` is `firmware`, `kernels` or `cpp_kernels`. `cpp_kernels` exists only in the plain mode,
/// and only if a C++ compiler was installed at build time.
#[must_use]
pub fn find(selection: Selection, part: &str, processor: &str) -> Option<&'static ParsedImage> {
    let index = EMBEDDED.iter().position(|image| {
        image.arch == selection.arch.facts().name
            && image.has_sums == selection.has_sums
            && image.mode == selection.mode
            && (image.part, image.processor) == (part, processor)
    })?;
    parsed().get(index)
}

/// Returns the texts of all zones in the embedded firmware and in the given kernels (a part of the
/// images), sorted and without duplicates. Zones of dispatch kernels are excluded.
#[must_use]
pub fn zones(kernels: &str) -> Vec<String> {
    zones_of(|image| [kernels, "firmware"].contains(&image.part) && image.mode != Mode::Dispatch)
}

/// Returns the texts of all zones in firmware and kernels of dispatch cores, sorted and without
/// duplicates.
pub(crate) fn dispatch_zones() -> Vec<String> {
    zones_of(|image| image.mode == Mode::Dispatch)
}

fn zones_of(is_chosen: impl Fn(&EmbeddedImage) -> bool) -> Vec<String> {
    let images = EMBEDDED.iter().zip(parsed()).filter(|(embedded, _)| is_chosen(embedded));
    let mut zones: Vec<String> = images.flat_map(|(_, image)| image.zones.clone()).collect();
    zones.sort();
    zones.dedup();
    zones
}

fn parsed() -> &'static [ParsedImage] {
    static PARSED: OnceLock<Vec<ParsedImage>> = OnceLock::new();
    PARSED.get_or_init(|| {
        EMBEDDED.iter().map(|embedded| ParsedImage::parse(embedded.elf, embedded.digest)).collect()
    })
}

impl ParsedImage {
    /// Parses an ELF file that was linked and hashed by a build script.
    ///
    /// # Panics
    /// If the bytes are not an ELF file. Only a faulty build can cause this.
    #[must_use]
    pub fn parse(elf: &'static [u8], digest: u64) -> Self {
        let program = riscv::Image::parse(elf).expect("the linker wrote a program for RISC-V");
        let file = object::File::parse(elf).expect("the linker wrote an ELF file");
        Self {
            program,
            digest,
            elf,
            zones: zone_texts(&file),
            symbols: file
                .symbols()
                .filter_map(|symbol| {
                    let size_bytes = narrow(symbol.size());
                    let place = SymbolRange { address: narrow(symbol.address()), size_bytes };
                    symbol.name().ok().map(|name| (name, place))
                })
                .collect(),
        }
    }

    /// Returns the symbol with a name.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<SymbolRange> {
        self.symbols.get(name).copied()
    }

    /// Returns the ELF file.
    #[must_use]
    pub const fn elf(&self) -> &'static [u8] {
        self.elf
    }

    /// Returns every symbol with its name.
    pub fn symbols(&self) -> impl Iterator<Item = (&'static str, SymbolRange)> {
        self.symbols.iter().map(|(name, symbol)| (*name, *symbol))
    }

    /// Returns the size in bytes of code and constants.
    #[must_use]
    pub fn loaded_bytes(&self) -> usize {
        self.program.segments().iter().map(|segment| segment.bytes.len()).sum()
    }

    /// Returns the address of the first byte of code and constants, and the first address after
    /// them.
    #[must_use]
    pub fn bounds(&self) -> (u32, u32) {
        let loaded = self.program.segments().iter().filter(|segment| !segment.bytes.is_empty());
        let ends =
            loaded.clone().map(|segment| segment.address + narrow(segment.bytes.len() as u64));
        (loaded.map(|segment| segment.address).min().unwrap_or(0), ends.max().unwrap_or(0))
    }
}

pub(crate) fn zone_texts(file: &object::File<'_>) -> Vec<String> {
    let section = file.section_by_name(kernel_profiler::names::SECTION);
    let bytes = section.and_then(|section| section.data().ok()).unwrap_or_default();
    let texts = bytes.split(|&byte| byte == 0).filter(|text| !text.is_empty());
    texts.map(|text| String::from_utf8_lossy(text).into_owned()).collect()
}

#[cfg(compiled_object_code)]
#[cfg(test)]
#[path = "../../tests/unit/shipped_images.rs"]
mod shipped_images;
#[cfg(test)]
mod tests {
    use super::*;
    use wire::{control::ControlLayout, vector::VECTOR_BYTES};

    fn selections() -> impl Iterator<Item = Selection> {
        Arch::ALL.into_iter().flat_map(|arch| {
            let plain = Selection::new(arch, false);
            let all = Mode::ALL.map(|mode| Selection { mode, ..plain });
            all.into_iter().chain([Selection::new(arch, true)])
        })
    }

    const KINDS: [CoreKind; 3] = [CoreKind::Tensix, CoreKind::ActiveEth, CoreKind::IdleEth];

    #[test]
    fn linker_scripts_and_simulator_agree_on_the_profilers_memory() {
        for selection in selections() {
            for kind in KINDS {
                for index in 0..kind.risc_count() {
                    let image = find(selection, "firmware", processor(kind, index)).unwrap();
                    let at = |name| u64::from(image.symbol(name).unwrap().address);
                    let control = selection.arch.facts().control_address(kind);
                    assert_eq!(at("__kprof_control"), control);
                    assert_eq!(at("__kprof_own"), control + 4 * index as u64);
                    let vectors = control + ControlLayout::WORDS64.size_bytes() as u64;
                    let vector = vectors + (VECTOR_BYTES * index) as u64;
                    assert_eq!(at("__kprof_vector"), vector);
                    assert_eq!(at("__kprof_risc_count"), kind.risc_count() as u64);
                    let bank_count = selection.arch.facts().bank_count;
                    assert_eq!(at("__kprof_bank_count"), u64::from(bank_count));
                    let mailbox_end =
                        at("__mailbox") + u64::from(crate::machine::mailbox::SIZE_BYTES);
                    assert!(mailbox_end <= control);
                }
            }
        }
    }

    #[test]
    fn images_of_one_tile_do_not_overlap() {
        for selection in selections() {
            for kind in KINDS {
                let mut bounds = Vec::new();
                for index in 0..kind.risc_count() {
                    for part in ["firmware", "kernels"] {
                        let image = find(selection, part, processor(kind, index)).unwrap();
                        bounds.push(image.bounds());
                    }
                }
                bounds.sort_unstable();
                assert!(bounds.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{bounds:x?}");
            }
        }
    }

    #[test]
    fn zone_texts_name_their_sources_and_take_no_memory() {
        let zones = zones("kernels");
        let text = |name| zones.iter().find(|text| text.starts_with(name)).unwrap().as_str();
        assert!(text("TEST-FULL,").starts_with("TEST-FULL,sim/src/kernel/body.rs,"));
        assert!(text("BRISC-FW,").starts_with("BRISC-FW,sim/objects/firmware/src/lib.rs,"));
        let pushes = zones.iter().filter(|text| text.starts_with("PROFILER-NOC-QUICK-PUSH,"));
        assert_eq!(
            pushes.filter(|text| text.contains(",kernel-profiler/src/flush.rs,")).count(),
            1,
            "{zones:?}"
        );
        for image in parsed() {
            assert!(
                !image
                    .program
                    .segments()
                    .iter()
                    .any(|segment| segment.bytes.windows(9).any(|part| part == b"KERNEL_PR"))
            );
        }
    }
}
