//! Functions, files and lines of the addresses in an ELF file.

use crate::frame::{Frame, joined};
use addr2line::Context;
use gimli::{EndianArcSlice, RunTimeEndian, SectionId};
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SectionKind, SymbolKind};
use std::{path::Path, sync::Arc};
use tables::LineRow;
use thiserror::Error;

type Reader = EndianArcSlice<RunTimeEndian>;

/// An ELF file with code for a RISC, and its debug information.
pub struct CodeFile {
    name: String,
    context: Option<Context<Reader>>,
    /// Functions and labels in code: address, size in bytes and name, in order of address.
    symbols: Vec<(u64, u64, String)>,
    /// Code: first address and bytes.
    text: Vec<(u64, Vec<u8>)>,
}

/// Reason why a file has no code.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CodeFileError {
    /// The file is not an ELF file.
    #[error("{name}: expected an ELF file, {reason}; its addresses are shown as numbers")]
    NotElf {
        /// Name of the file.
        name: String,
        /// The parser's message.
        reason: String,
    },
}

/// What is known about an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodePlace {
    /// The function, file and line, innermost inlined function first; empty if nothing is known.
    pub frames: Vec<Frame>,
}

impl CodePlace {
    /// Returns true if the address belongs to the profiler itself: its innermost function that is
    /// not of the compiler's libraries is in the profiler's sources.
    #[must_use]
    pub fn is_profiler(&self) -> bool {
        let file = self.frames.iter().filter_map(|frame| frame.file.as_deref());
        file.into_iter().any(|file| {
            let parts: Vec<&str> = file.split(['/', '\\']).collect();
            parts.iter().any(|part| {
                ["kernel-profiler", "kernel_profiler", "kernel_profiler.hpp"].contains(part)
            })
        })
    }

    /// Writes the functions, the file and the line into a row.
    pub fn describe(self, row: &mut LineRow) {
        if self.is_profiler() {
            "profiler".clone_into(&mut row.code);
        }
        row.inlined_into = self.inlined_into();
        let frame = self.frames.into_iter().next().unwrap_or_default();
        (row.function, row.file, row.line) = (frame.function, frame.file, frame.line);
    }

    /// Returns the functions around the innermost one, as the table `lines` shows them.
    #[must_use]
    pub fn inlined_into(&self) -> Option<String> {
        self.frames.get(1..).filter(|outer| !outer.is_empty()).map(joined)
    }
}

impl CodeFile {
    /// Parses a file; `name` is its name in outputs.
    ///
    /// Damaged debug information is treated like none.
    ///
    /// ```
    /// assert!(lines::CodeFile::parse("a.elf", b"no ELF file").is_err());
    /// ```
    ///
    /// # Errors
    /// If the file is not an ELF file.
    pub fn parse(name: impl Into<String>, file: &[u8]) -> Result<Self, CodeFileError> {
        let name = name.into();
        let elf = match object::File::parse(file) {
            Ok(elf) => elf,
            Err(error) => {
                return Err(CodeFileError::NotElf { name, reason: error.to_string() });
            }
        };
        let mut symbols: Vec<_> = elf
            .symbols()
            .filter(|symbol| matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Label))
            .filter_map(|symbol| {
                let name = symbol.name().ok().filter(|name| !name.is_empty())?;
                Some((symbol.address(), symbol.size(), demangled(name)))
            })
            .collect();
        symbols.sort_unstable();
        let segments = elf.segments().filter_map(|segment| {
            let bytes = segment.data().ok().filter(|bytes| !bytes.is_empty())?;
            Some((segment.address(), bytes.to_vec()))
        });
        Ok(Self { context: debug_info(&elf), symbols, text: segments.collect(), name })
    }

    /// Returns the name of the file.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns one sentence about what the file lacks; `None` if it has debug information.
    #[must_use]
    pub fn lack(&self) -> Option<String> {
        let name = &self.name;
        match (&self.context, self.symbols.is_empty()) {
            (Some(_), _) => None,
            (None, false) => Some(format!(
                "{name} has no debug information, so its lines are unknown; compile it with -g"
            )),
            (None, true) => Some(format!(
                "{name} has neither debug information nor symbols, so its addresses are shown as \
                 numbers; compile it with -g and do not strip it"
            )),
        }
    }

    /// Returns the instruction at an address; `None` if the file has no bytes there.
    #[must_use]
    pub fn instruction(&self, address: u32) -> Option<u32> {
        let found = self.text.iter().find_map(|(first, bytes)| {
            let offset = usize::try_from(u64::from(address).checked_sub(*first)?).ok()?;
            bytes.get(offset..)?.first_chunk()
        });
        found.map(|bytes| u32::from_le_bytes(*bytes))
    }

    /// Returns the functions, file and line of an address.
    #[must_use]
    pub fn place(&self, address: u32) -> CodePlace {
        let mut frames = self.debug_frames(address.into());
        if frames.iter().all(|frame| frame.function.is_none())
            && let Some(function) = self.symbol(address.into())
        {
            match frames.first_mut() {
                Some(frame) => frame.function = Some(function),
                None => frames.push(Frame { function: Some(function), file: None, line: None }),
            }
        }
        CodePlace { frames }
    }

    fn debug_frames(&self, address: u64) -> Vec<Frame> {
        let Some(context) = &self.context else { return Vec::new() };
        let Ok(mut found) = context.find_frames(address).skip_all_loads() else {
            return Vec::new();
        };
        let mut frames = Vec::new();
        while let Ok(Some(frame)) = found.next() {
            let function = frame
                .function
                .and_then(|function| function.demangle().ok().map(std::borrow::Cow::into_owned));
            let file = frame.location.as_ref().and_then(|location| location.file);
            let line = frame.location.as_ref().and_then(|location| location.line);
            let line = line.filter(|line| *line > 0);
            frames.push(Frame { function, file: file.map(str::to_owned), line });
            if frames.len() == FRAMES_MAX {
                break;
            }
        }
        frames
    }

    fn symbol(&self, address: u64) -> Option<String> {
        let after = self.symbols.partition_point(|(first, ..)| *first <= address);
        let (first, size_bytes, name) = self.symbols.get(..after)?.last()?;
        let is_inside = *size_bytes == 0 || address.checked_sub(*first)? < *size_bytes;
        is_inside.then(|| name.clone())
    }
}

fn demangled(name: &str) -> String {
    addr2line::demangle_auto(name.into(), None).into_owned()
}

/// Returns the debug information of a file; `None` if it has none that names lines.
fn debug_info(elf: &object::File<'_>) -> Option<Context<Reader>> {
    let has_lines = elf.section_by_name(".debug_line").is_some_and(|one| one.size() > 0);
    let endian = if elf.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let load = |id: SectionId| -> Result<Reader, gimli::Error> {
        let section = elf.section_by_name(id.name());
        let bytes = section.and_then(|section| section.data().ok()).unwrap_or_default();
        Ok(EndianArcSlice::new(Arc::from(bytes), endian))
    };
    let dwarf = gimli::Dwarf::load(load).ok()?;
    Context::from_dwarf(dwarf).ok().filter(|_| has_lines && has_code(elf))
}

fn has_code(elf: &object::File<'_>) -> bool {
    elf.sections().any(|section| section.kind() == SectionKind::Text)
}

/// Maximum number of frames of an address; more are a damaged file.
const FRAMES_MAX: usize = 256;

impl std::fmt::Debug for CodeFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodeFile").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Returns the last part of a path, for short outputs.
pub(crate) fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}
