//! The bytes of a capture, either mapped from a file or in memory.
//!
//! This crate has two unsafe lines: one in this file, and the system call in `kernel_time`. Miri
//! cannot map files, so it cannot check the line in this file. The line is sound only if no writer
//! ever changes bytes that are mapped. Two tests check this:
//! `bytes_that_are_mapped_stay_as_they_are_while_captures_grow` and
//! `nothing_in_the_writer_can_change_or_cut_off_what_is_written`.

use super::error::CaptureError;
use std::{fs::File, io::Read, path::Path};

/// The bytes of a capture.
#[derive(Debug)]
pub(super) enum CaptureBytes {
    /// Mapped pages of a file; the system reads them on first access.
    Mapped(memmap2::Mmap),
    /// A copy in memory.
    Owned(Vec<u8>),
}

impl CaptureBytes {
    /// Maps a file.
    pub(super) fn map(path: &Path) -> Result<Self, CaptureError> {
        let mut file = File::open(path).map_err(|source| CaptureError::io("open", path, source))?;
        let metadata = file.metadata();
        let metadata = metadata.map_err(|source| CaptureError::io("examine", path, source))?;
        // A pipe cannot be mapped, and its length is unknown. An empty file cannot be mapped, either.
        if !metadata.is_file() || metadata.len() == 0 {
            let mut bytes = Vec::new();
            let read = file.read_to_end(&mut bytes);
            read.map_err(|source| CaptureError::io("read", path, source))?;
            return Ok(Self::Owned(bytes));
        }
        map_read_only(&file).map(Self::Mapped).map_err(|e| CaptureError::io("map", path, e))
    }
}

impl std::ops::Deref for CaptureBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(pages) => pages,
            Self::Owned(bytes) => bytes,
        }
    }
}

#[expect(unsafe_code, reason = "a mapping cannot be proved unchanging by its type")]
fn map_read_only(file: &File) -> std::io::Result<memmap2::Mmap> {
    // SAFETY: `Mmap::map` requires that the mapped part of the file is neither changed nor removed
    // while the mapping exists.
    // - This process: the mapping is read-only, and the only code of this crate that opens a
    //   capture for writing is `CaptureWriter`. It opens files with `append(true)`, so every byte
    //   is written after the previous end of the file. The mapped pages end no later than that,
    //   because this call fixed their length. `CaptureWriter` never calls `set_len`: it also leaves
    //   a torn tail in the file.
    // - Other processes that use this crate run the same code, so the same argument holds.
    // - Other programs might rewrite a capture while it is read. No operating system lets a reader
    //   forbid that. `Capture::open` documents that no program may do so; `Capture::from_bytes` is
    //   for files for which this cannot be guaranteed. All code that reads these bytes checks
    //   bounds against the length of the slice, which does not change, and accepts any value of any
    //   byte. The worst effects of such a program are wrong values or, if it shortens the file, a
    //   bus error that ends this process.
    unsafe { memmap2::Mmap::map(file) }
}
