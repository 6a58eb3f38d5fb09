//! The rules for what is linked into a kernel, held against the objects and images that
//! `build.rs` has made.
//!
//! Upstream's loader makes kernels position independent after they are linked: it reads
//! their relocations, and refuses those that it does not know. Nobody calls constructors,
//! and constants would be copied into a RISC's few KiB of local RAM.
//!
//! # Compatibility
//! `llrt/tt_elffile.cpp` and `hw/toolchain/main.ld`.

use super::images::{self, Selection, Symbol};
use crate::arch::Arch;
use object::{
    File, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionFlags,
    SectionKind, SymbolIndex, elf, read::archive::ArchiveFile,
};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Relocations that the loader knows, and the linker's own hints.
const ALLOWED: [elf::RelocationType; 16] = [
    elf::R_RISCV_NONE,
    elf::R_RISCV_32,
    elf::R_RISCV_BRANCH,
    elf::R_RISCV_JAL,
    elf::R_RISCV_CALL,
    elf::R_RISCV_CALL_PLT,
    elf::R_RISCV_PCREL_HI20,
    elf::R_RISCV_PCREL_LO12_I,
    elf::R_RISCV_PCREL_LO12_S,
    elf::R_RISCV_HI20,
    elf::R_RISCV_LO12_I,
    elf::R_RISCV_LO12_S,
    elf::R_RISCV_ADD32,
    elf::R_RISCV_SUB32,
    elf::R_RISCV_ALIGN,
    elf::R_RISCV_RELAX,
];

/// Sections that may take memory; the zone texts lose theirs when they are linked.
const SECTIONS: [&str; 6] = [".text", ".bss", ".sbss", ".rodata", ".srodata", ".kprof_zones"];

/// Lists the rules that an object breaks.
fn violations(file: &File<'_>) -> Vec<String> {
    let mut violations = Vec::new();
    for section in file.sections().filter(|section| is_loaded(section) && section.size() > 0) {
        let name = section.name().unwrap();
        if !SECTIONS.iter().any(|known| is_or_is_part_of(name, known)) {
            violations.push(format!("{name}: a section that nobody fills or calls"));
        }
        if name == ".text" {
            violations.push(format!("{name}: functions without a section of their own"));
        }
        let has_relocations = section.relocations().next().is_some();
        if section.kind() == SectionKind::ReadOnlyData && has_relocations {
            violations.push(format!("{name}: a table of addresses"));
        }
        violations.extend(wrong_relocations(file, &section));
    }
    violations
}

/// Relocations of a section that the loader would refuse.
fn wrong_relocations(file: &File<'_>, section: &object::Section<'_, '_>) -> Vec<String> {
    let mut relocations: Vec<_> = section
        .relocations()
        .map(|(offset, relocation)| (offset, kind(relocation.flags()), relocation.target()))
        .collect();
    relocations.sort_by_key(|(offset, ..)| *offset);
    let name = section.name().unwrap();
    let (mut high_halves, mut relative_high_halves) = (BTreeSet::new(), BTreeSet::new());
    let mut wrong = Vec::new();
    for (offset, kind, target) in relocations {
        let RelocationTarget::Symbol(symbol) = target else { continue };
        let is_wrong = match kind {
            elf::R_RISCV_HI20 => {
                high_halves.insert(symbol.0);
                None
            }
            elf::R_RISCV_PCREL_HI20 => {
                relative_high_halves.insert(offset);
                None
            }
            elf::R_RISCV_LO12_I | elf::R_RISCV_LO12_S => {
                (!high_halves.contains(&symbol.0)).then_some("a low half before its high half")
            }
            elf::R_RISCV_PCREL_LO12_I | elf::R_RISCV_PCREL_LO12_S => {
                let label = file.symbol_by_index(symbol).unwrap().address();
                let is_before = relative_high_halves.contains(&label);
                (!is_before).then_some("a low half before its relative high half")
            }
            elf::R_RISCV_CALL | elf::R_RISCV_CALL_PLT | elf::R_RISCV_JAL => {
                (!may_be_called(file, symbol)).then_some("a call to what is no code")
            }
            known if ALLOWED.contains(&known) => None,
            _ => Some("a relocation that the loader does not know"),
        };
        wrong.extend(is_wrong.map(|what| format!("{name}+{offset:#x}: {what} ({kind:?})")));
    }
    wrong
}

/// Returns true if a symbol lies in code or in another object.
fn may_be_called(file: &File<'_>, symbol: SymbolIndex) -> bool {
    let symbol = file.symbol_by_index(symbol).unwrap();
    let section = symbol.section_index().map(|index| file.section_by_index(index).unwrap());
    section.is_none_or(|section| section.kind() == SectionKind::Text)
}

fn kind(flags: RelocationFlags) -> elf::RelocationType {
    match flags {
        RelocationFlags::Elf { r_type } => r_type,
        other => panic!("not of an ELF file: {other:?}"),
    }
}

fn is_loaded(section: &object::Section<'_, '_>) -> bool {
    match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.contains(elf::SHF_ALLOC),
        other => panic!("not of an ELF file: {other:?}"),
    }
}

fn is_or_is_part_of(name: &str, known: &str) -> bool {
    name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Files of every variant that `build.rs` has kept, with this ending.
fn kept_files(ending: &str) -> Vec<PathBuf> {
    let list = |directory: &Path| {
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        entries.collect::<Vec<_>>()
    };
    let variants = list(Path::new(env!("OUT_DIR")));
    let is_variant = |path: &PathBuf| path.to_string_lossy().contains("-enabled-");
    let files = variants.iter().filter(|path| is_variant(path)).flat_map(|path| list(path));
    files.filter(|path| path.to_string_lossy().ends_with(ending)).collect()
}

fn file_name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Calls `visit` with every member of an archive that was compiled from this repository, by
/// the names that the compiler gives them.
fn for_each_member(path: &Path, mut visit: impl FnMut(&str, &File<'_>)) {
    const OURS: [&str; 5] = ["firmware-", "kernels-", "probes-", "kernel_profiler-", "wire-"];
    let bytes = fs::read(path).unwrap();
    let archive = ArchiveFile::parse(&*bytes).unwrap();
    for member in archive.members() {
        let member = member.unwrap();
        let name = String::from_utf8_lossy(member.name()).into_owned();
        if OURS.iter().any(|ours| name.starts_with(ours)) {
            visit(&name, &File::parse(member.data(&*bytes).unwrap()).unwrap());
        }
    }
}

#[test]
fn objects_of_kernels_and_firmware_keep_the_rules() {
    let mut count = 0;
    for path in kept_files(".a") {
        for_each_member(&path, |name, file| {
            assert_eq!(violations(file), [""; 0], "{} {name}", path.display());
            count += 1;
        });
    }
    assert!(count >= 3 * 5, "an object each of firmware, kernels and probes: {count}");
}

#[test]
fn images_of_kernels_have_neither_constants_nor_variables_nor_texts_in_memory() {
    let kernels = kept_files(".elf").into_iter().filter(|path| file_name(path).contains("kernels"));
    let mut count = 0;
    for path in kernels {
        let bytes = fs::read(&path).unwrap();
        let file = File::parse(&*bytes).unwrap();
        let loaded = file.sections().filter(|section| is_loaded(section) && section.size() > 0);
        let names: Vec<String> = loaded.map(|section| section.name().unwrap().to_owned()).collect();
        assert_eq!(names, [".text"], "{}", path.display());
        let texts = file.section_by_name(kernel_profiler::names::SECTION).unwrap();
        assert!(texts.size() > 0 && !is_loaded(&texts), "{}", path.display());
        count += 1;
    }
    assert!(count >= 8 * 7, "kernels of seven processors in eight variants: {count}");
}

/// A few words that the compiler compares with are no table; they cost that much local RAM.
#[test]
fn images_of_firmware_have_next_to_no_constants() {
    let mut count = 0;
    for path in kept_files(".elf") {
        if file_name(&path).starts_with("firmware") {
            let bytes = fs::read(&path).unwrap();
            let file = File::parse(&*bytes).unwrap();
            let constants = file.section_by_name(".rodata").map_or(0, |section| section.size());
            assert!(constants <= 64, "{}: {constants} bytes", path.display());
            count += 1;
        }
    }
    assert_eq!(count, 15 * 7);
}

/// Without records of waits, a wait is the loop that polls, whether the profiler is on or off.
#[test]
fn a_wait_that_nobody_records_is_the_loop_alone() {
    for is_enabled in [true, false] {
        let selection = Selection { is_enabled, ..Selection::new(Arch::WormholeB0, false) };
        let image = images::find(selection, "probes", "brisc").unwrap();
        let code = |name| {
            let Symbol { address, size_bytes } = image.symbol(name).unwrap();
            let segments = image.program.segments().iter();
            let mut bytes = segments.filter_map(|segment| {
                let start = address.checked_sub(segment.address)? as usize;
                segment.bytes.get(start..start + size_bytes as usize)
            });
            bytes.next().unwrap()
        };
        assert!(code("unrecorded_wait").len() >= 3 * 4);
        assert_eq!(code("recorded_wait"), code("unrecorded_wait"), "enabled: {is_enabled}");
    }
}

#[cfg(cpp_code)]
mod cpp {
    use super::*;

    fn check_objects(is_checked: impl Fn(&str) -> bool) -> Vec<Vec<String>> {
        let paths = kept_files(".o").into_iter().filter(|path| is_checked(file_name(path)));
        paths
            .map(|path| {
                let bytes = fs::read(&path).unwrap();
                violations(&File::parse(&*bytes).unwrap())
            })
            .collect()
    }

    #[test]
    fn objects_from_cpp_keep_the_rules() {
        let found = check_objects(|name| name != "bad.o");
        assert!(found.len() >= 4 * 4, "kernels and three kinds of probes in four variants");
        assert_eq!(found.concat(), [""; 0]);
    }

    /// Lists what the linker reads of an object: bytes and relocations by section, symbols with
    /// sizes.
    fn contents(path: &Path) -> Vec<String> {
        let bytes = fs::read(path).unwrap();
        let file = File::parse(&*bytes).unwrap();
        let sections = file.sections().filter(is_loaded).map(|section| {
            let relocations: Vec<_> = section.relocations().collect();
            format!("{} {:x?} {relocations:?}", section.name().unwrap(), section.data().unwrap())
        });
        let symbols = file
            .symbols()
            .filter(|symbol| symbol.is_global())
            .map(|symbol| format!("{} {}", symbol.name().unwrap(), symbol.size()));
        sections.chain(symbols).collect()
    }

    #[test]
    fn without_the_option_an_object_is_that_of_a_source_without_probes() {
        let object = |name| Path::new(env!("OUT_DIR")).join(DISABLED).join(name);
        let switched_off = contents(&object("cpp_probes.o"));
        assert!(switched_off.len() > 20, "{switched_off:#?}");
        assert_eq!(switched_off, contents(&object("cpp_probes_without_header.o")));
    }

    /// The variant without the profiler.
    const DISABLED: &str = "wormhole_b0-sums-false-enabled-false";

    #[test]
    fn an_object_that_breaks_every_rule_is_found_out() {
        let found = check_objects(|name| name == "bad.o").concat().join("\n");
        for expected in [
            ".init_array: a section that nobody",
            ".tbss.of_thread: a section that nobody",
            ".srodata.names: a table of addresses",
            ".text.late_high_half+0x4: a low half before its high half",
            ".text.calls_data+0x0: a call to what is no code",
            "a relocation that the loader does not know",
            ".text: functions without a section",
        ] {
            assert!(found.contains(expected), "{expected} is not in\n{found}");
        }
    }

    /// Functions that an object calls and does not have.
    fn called_elsewhere(file: &File<'_>) -> BTreeSet<String> {
        let relocations = file.sections().flat_map(|section| {
            section.relocations().map(|(_, relocation)| relocation).collect::<Vec<_>>()
        });
        let called = relocations.filter_map(|relocation| {
            let is_call = [elf::R_RISCV_CALL, elf::R_RISCV_CALL_PLT, elf::R_RISCV_JAL]
                .contains(&kind(relocation.flags()));
            let RelocationTarget::Symbol(symbol) = relocation.target() else { return None };
            let symbol = file.symbol_by_index(symbol).unwrap();
            (is_call && symbol.is_undefined()).then(|| symbol.name().unwrap().to_owned())
        });
        called.collect()
    }

    /// The header needs nothing on the link line, and a call into the firmware would break: the loader
    /// moves a kernel, but not the distance of the call.
    #[test]
    fn what_includes_the_header_calls_nothing_elsewhere() {
        let paths = kept_files(".o").into_iter().filter(|path| file_name(path) != "bad.o");
        let mut count = 0;
        for path in paths {
            let bytes = fs::read(&path).unwrap();
            let called = called_elsewhere(&File::parse(&*bytes).unwrap());
            assert_eq!(called, BTreeSet::new(), "{}", path.display());
            count += 1;
        }
        assert!(count >= 4 * 4, "kernels and three kinds of probes in four variants: {count}");
    }
}
