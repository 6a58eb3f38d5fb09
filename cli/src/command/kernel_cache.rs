//! The kernels in TT-Metal's cache, which has the files of what a chip has executed.

use host_reader::lines::{CodeFile, FoundKernel, KernelFiles};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

/// Kernels that were built below some folders, and what they lack.
#[derive(Default)]
pub(super) struct KernelCache {
    folders: Vec<PathBuf>,
    by_risc: BTreeMap<String, Vec<KernelFiles>>,
    parsed: BTreeMap<PathBuf, Option<CodeFile>>,
    pub(super) notes: BTreeSet<String>,
}

/// A kernel's file that was found.
pub(super) struct CachedKernel<'a> {
    /// The file's path.
    pub(super) name: String,
    /// Address of the first instruction.
    pub(super) first_address: u32,
    /// `None` if the file cannot be read.
    pub(super) file: Option<&'a CodeFile>,
}

impl KernelCache {
    /// Uses the builds in folders of TT-Metal's cache.
    pub(super) fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders, ..Self::default() }
    }

    /// Returns the file of the kernel for a RISC with these instructions at these offsets from its
    /// first one; notes it if there is none.
    pub(super) fn find(
        &mut self,
        risc: &str,
        instructions: &[(u32, u32)],
    ) -> Option<CachedKernel<'_>> {
        let (folders, processor) = (&self.folders, risc.to_lowercase().replace('_', ""));
        let kernels = self.by_risc.entry(processor).or_insert_with_key(|name| {
            folders.iter().map(|folder| KernelFiles::below(folder, name)).collect()
        });
        let found = kernels.iter().find_map(|kernels| kernels.find(instructions));
        let Some(FoundKernel { path, first_address }) = found else {
            let folders: Vec<_> =
                folders.iter().map(|folder| folder.display().to_string()).collect();
            self.notes.insert(format!(
                "no file below {} has the code of some kernels; their addresses are offsets",
                folders.join(", ")
            ));
            return None;
        };
        let notes = &mut self.notes;
        let name = path.display().to_string();
        let file = self.parsed.entry(path).or_insert_with_key(|path| {
            let file = CodeFile::parse(&name, &fs::read(path).ok()?);
            let lack = match &file {
                Ok(file) => file.lack(),
                Err(error) => Some(error.to_string()),
            };
            notes.extend(lack);
            file.ok()
        });
        Some(CachedKernel { name, first_address, file: file.as_ref() })
    }
}
