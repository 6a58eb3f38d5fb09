//! The bytes of a capture, either mapped from a file or in memory.
//!
//! Apart from the system call in `kernel_time`, this file has the only unsafe line of this crate.
//! Miri cannot map files, so it cannot check the line. The line relies on writers never changing
//! mapped bytes. Two tests check this: `bytes_that_are_mapped_stay_as_they_are_while_captures_grow`
//! and `nothing_in_the_writer_can_change_or_cut_off_what_is_written`.

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
    // SAFETY: `Mmap::map` asks for one thing: that the mapped part of the file is neither
    // changed nor cut off while the mapping lives.
    // - This process: the mapping is read-only, and the only code of this crate that opens a
    //   capture for writing is `CaptureWriter`. It opens with `append(true)`, so every byte
    //   lands behind the end that the file had, hence behind the pages mapped here, whose
    //   length was fixed by this call; it never calls `set_len`, and for that reason leaves
    //   a torn tail where it is.
    // - Other processes of ours: the same code, the same argument.
    // - Foreign programs that rewrite a capture while it is read: no operating system lets a
    //   reader forbid that. It is the documented precondition of `Capture::open`, and
    //   `Capture::from_bytes` is there for files that do not meet it. Every reader of these
    //   bytes checks bounds against the length of the slice, which does not change, and
    //   takes any value of any byte, so the worst that such a program does is to give wrong
    //   values or, by cutting pages off, to end this process with a bus error.
    unsafe { memmap2::Mmap::map(file) }
}
