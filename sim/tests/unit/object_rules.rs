//! The rules for objects that are linked into a kernel.
//!
//! tt-metal's loader makes kernels position-independent after linking. It reads their relocations
//! and rejects unknown ones. Constructors are never called, and constants would be copied into a
//! RISC's few KiB of local RAM.
//!
//! # Compatibility
//! `llrt/tt_elffile.cpp` and `hw/toolchain/main.ld`.

use object::{
    File, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionFlags,
    SectionKind, SymbolIndex, elf, read::archive::ArchiveFile,
};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Relocations that the loader supports, and those that are only hints for the linker.
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

/// Sections that may take memory. When a kernel is linked, the memory of the zone texts is removed.
const SECTIONS: [&str; 6] = [".text", ".bss", ".sbss", ".rodata", ".srodata", ".kprof_zones"];

/// Returns the rules that an object breaks.
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

/// Returns the relocations of a section that the loader would reject.
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

/// Returns true if a symbol is in a code section, or is defined in another object.
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

pub(crate) fn is_loaded(section: &object::Section<'_, '_>) -> bool {
    match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.contains(elf::SHF_ALLOC),
        other => panic!("not of an ELF file: {other:?}"),
    }
}

fn is_or_is_part_of(name: &str, known: &str) -> bool {
    name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns the files with this extension that a build script has left in the folders of its
/// variants.
pub(crate) fn kept_files(out: &str, ending: &str) -> Vec<PathBuf> {
    let list = |directory: &Path| {
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        entries.collect::<Vec<_>>()
    };
    let variants = list(Path::new(out));
    let is_variant = |path: &PathBuf| path.to_string_lossy().contains("-enabled-");
    let files = variants.iter().filter(|path| is_variant(path)).flat_map(|path| list(path));
    files.filter(|path| path.to_string_lossy().ends_with(ending)).collect()
}

pub(crate) fn file_name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Calls `visit` with every member of an archive that was compiled from this repository. Such
/// members are recognised by the file names that the compiler gives them.
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

/// Returns the functions that an object calls but does not define.
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

/// Findings in each object of a folder, with the number of objects checked.
pub(crate) struct Findings {
    pub(crate) object_count: usize,
    pub(crate) broken: Vec<String>,
}

impl Findings {
    const NONE: Self = Self { object_count: 0, broken: Vec::new() };

    fn add(&mut self, object: &str, broken: impl IntoIterator<Item = String>) {
        self.object_count += 1;
        self.broken.extend(broken.into_iter().map(|what| format!("{object}: {what}")));
    }
}

/// Checks the rules for objects in a build script's folder. Checks this repository's objects in
/// archives, and the C++ objects selected by `is_checked`.
pub(crate) fn broken_rules(out: &str, is_checked: impl Fn(&str) -> bool) -> Findings {
    let mut findings = check_cpp_objects(out, is_checked, violations);
    for path in kept_files(out, ".a") {
        for_each_member(&path, |name, file| {
            findings.add(&format!("{} {name}", path.display()), violations(file));
        });
    }
    findings
}

/// Finds calls in C++ objects to functions that the same object does not define.
pub(crate) fn calls_elsewhere(out: &str, is_checked: impl Fn(&str) -> bool) -> Findings {
    check_cpp_objects(out, is_checked, called_elsewhere)
}

fn check_cpp_objects<Broken: IntoIterator<Item = String>>(
    out: &str,
    is_checked: impl Fn(&str) -> bool,
    look: impl Fn(&File<'_>) -> Broken,
) -> Findings {
    let mut findings = Findings::NONE;
    for path in kept_files(out, ".o").into_iter().filter(|path| is_checked(file_name(path))) {
        let bytes = fs::read(&path).unwrap();
        findings.add(&path.display().to_string(), look(&File::parse(&*bytes).unwrap()));
    }
    findings
}
