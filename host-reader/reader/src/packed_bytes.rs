//! Packed records of many lanes, stored in memory up to a limit and then in a temporary file.
//!
//! ```
//! use reader::packed_bytes::PackedMemory;
//! let folder = tempfile::tempdir()?;
//! let memory = PackedMemory::new(4, folder.path());
//! let near = memory.keep(vec![1, 2, 3]);
//! let far = memory.keep(vec![4, 5]);
//! assert_eq!((near.read()?.as_ref(), far.read()?.as_ref()), (&[1, 2, 3][..], &[4, 5][..]));
//! assert_eq!(memory.written_bytes(), 2);
//! memory.check()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::packed_numbers::take;
use std::{
    borrow::Cow,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Error of the temporary file for packed records.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "expected room for a temporary file in {}, where records beyond --memory are kept, found: \
     {reason}; free some, name another folder by TMPDIR, or raise --memory",
    folder.display()
)]
pub struct PackedError {
    folder: PathBuf,
    reason: String,
}

impl From<PackedError> for io::Error {
    fn from(error: PackedError) -> Self {
        Self::other(error)
    }
}

/// Store for packed bytes: in memory up to a limit, then in one temporary file.
///
/// After the first error of the file, nothing more is read from the file or written to it. Code
/// that has read bytes must therefore call [`Self::check`]. That method returns the first error.
#[derive(Debug)]
pub struct PackedMemory {
    limit_bytes: u64,
    used_bytes: AtomicU64,
    folder: PathBuf,
    written: Mutex<Written>,
}

/// The temporary file, if there is one. If the operating system allows it, the file has no name, so
/// it disappears even if the process is killed.
#[derive(Debug, Default)]
struct Written {
    file: Option<File>,
    end: u64,
    error: Option<PackedError>,
}

impl PackedMemory {
    /// Creates a store whose temporary file is in `folder`.
    #[must_use]
    pub fn new(limit_bytes: u64, folder: &Path) -> Arc<Self> {
        Arc::new(Self {
            limit_bytes,
            used_bytes: AtomicU64::new(0),
            folder: folder.to_owned(),
            written: Mutex::default(),
        })
    }

    /// Creates a store without a limit, which needs no file.
    #[must_use]
    pub fn unlimited() -> Arc<Self> {
        Self::new(u64::MAX, Path::new(""))
    }

    /// Returns true if `more_bytes` more bytes in memory would exceed the limit.
    #[must_use]
    pub fn is_too_small_for(&self, more_bytes: u64) -> bool {
        self.used_bytes.load(Ordering::Relaxed).saturating_add(more_bytes) > self.limit_bytes
    }

    /// Counts `byte_count` bytes as used until the returned guard is dropped. The caller keeps
    /// these bytes in memory.
    #[must_use]
    pub fn hold(self: &Arc<Self>, byte_count: u64) -> HeldBytes {
        self.used_bytes.fetch_add(byte_count, Ordering::Relaxed);
        HeldBytes { memory: Arc::clone(self), byte_count }
    }

    /// Stores bytes in memory if the limit allows it, otherwise in the temporary file.
    #[must_use]
    pub fn keep(self: &Arc<Self>, bytes: Vec<u8>) -> PackedBytes {
        let byte_count = bytes.len() as u64;
        if self.is_too_small_for(byte_count) {
            return self.write(&bytes);
        }
        PackedBytes { storage: Storage::Memory(bytes), held: self.hold(byte_count) }
    }

    /// Stores bytes in the temporary file.
    #[must_use]
    pub fn write(self: &Arc<Self>, bytes: &[u8]) -> PackedBytes {
        let mut written = self.written();
        let offset = written.end;
        match written.append(bytes, &self.folder) {
            Ok(()) => written.end = offset.saturating_add(bytes.len() as u64),
            Err(error) => self.note(&mut written, &error),
        }
        let storage = Storage::File { offset, byte_count: bytes.len() };
        PackedBytes { storage, held: self.hold(0) }
    }

    /// Returns the number of bytes in the temporary file.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        self.written().end
    }

    /// Checks that the temporary file has had no error.
    ///
    /// # Errors
    /// Returns the first error of writing the file or reading it back.
    pub fn check(&self) -> Result<(), PackedError> {
        self.written().error.clone().map_or(Ok(()), Err)
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, written: &mut Written, error: &io::Error) {
        written.error.get_or_insert_with(|| PackedError {
            folder: self.folder.clone(),
            reason: error.to_string(),
        });
    }

    /// Fills `bytes` from the file; returns false after an error.
    fn fill(&self, bytes: &mut [u8], offset: u64) -> bool {
        let mut written = self.written();
        if written.error.is_some() {
            return false;
        }
        let Err(error) = written.read(bytes, offset) else { return true };
        self.note(&mut written, &error);
        false
    }
}

impl Written {
    fn append(&mut self, bytes: &[u8], folder: &Path) -> io::Result<()> {
        if self.error.is_some() {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let file = tempfile::tempfile_in(folder);
                self.file.insert(file.map_err(|error| refusal(folder, &error))?)
            }
        };
        file.seek(SeekFrom::Start(self.end))?;
        file.write_all(bytes)
    }

    fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let Some(mut file) = self.file.as_ref() else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(bytes)
    }
}

/// Returns the error to report if no temporary file can be created in a folder.
///
/// The message leaves out the file's random name, which means nothing to the user.
#[must_use]
pub fn refusal(folder: &Path, error: &io::Error) -> io::Error {
    let text = error.to_string();
    let reason = match error.kind() {
        io::ErrorKind::NotFound => format!("there is no folder {}", folder.display()),
        _ => text.split(" at path ").next().unwrap_or(&text).to_owned(),
    };
    io::Error::new(error.kind(), reason)
}

/// Guard for bytes counted as used in a [`PackedMemory`].
#[derive(Debug)]
pub struct HeldBytes {
    memory: Arc<PackedMemory>,
    byte_count: u64,
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.memory.used_bytes.fetch_sub(self.byte_count, Ordering::Relaxed);
    }
}

/// Bytes in memory or in the temporary file.
#[derive(Debug)]
pub struct PackedBytes {
    storage: Storage,
    held: HeldBytes,
}

#[derive(Debug)]
enum Storage {
    Memory(Vec<u8>),
    File { offset: u64, byte_count: usize },
}

/// Number of bytes read from the file at once.
const WINDOW_BYTES: usize = 1 << 14;

impl PackedBytes {
    /// Returns all bytes.
    ///
    /// # Errors
    /// If the file cannot be read, or an earlier write has failed.
    pub fn read(&self) -> Result<Cow<'_, [u8]>, PackedError> {
        let (offset, byte_count) = match &self.storage {
            Storage::Memory(bytes) => return Ok(Cow::Borrowed(bytes)),
            Storage::File { offset, byte_count } => (*offset, *byte_count),
        };
        let memory = &self.held.memory;
        memory.check()?;
        let mut bytes = vec![0; byte_count];
        if !memory.fill(&mut bytes, offset) {
            memory.check()?;
        }
        Ok(Cow::Owned(bytes))
    }

    /// Returns the number of bytes.
    #[must_use]
    pub const fn byte_count(&self) -> usize {
        match &self.storage {
            Storage::Memory(bytes) => bytes.len(),
            Storage::File { byte_count, .. } => *byte_count,
        }
    }

    /// Returns a window that reads the bytes in order. Bytes in the temporary file are read a few
    /// at a time.
    #[must_use]
    pub fn window(&self) -> PackedWindow<'_> {
        match &self.storage {
            Storage::Memory(bytes) => PackedWindow::new(bytes),
            Storage::File { offset, byte_count } => PackedWindow {
                memory: Some(&self.held.memory),
                bytes: Cow::Owned(Vec::new()),
                at: 0,
                next: *offset,
                left: *byte_count,
            },
        }
    }
}

/// Maximum length of a packed 64-bit number, in bytes.
const LONGEST_NUMBER_BYTES: usize = 10;

/// Reader that advances through [`PackedBytes`]. It keeps only a window of the bytes in the
/// temporary file in memory.
#[derive(Debug)]
pub struct PackedWindow<'bytes> {
    /// The store whose file contains the packed bytes; `None` if no file is used, because the field
    /// `bytes` contains all of them.
    memory: Option<&'bytes PackedMemory>,
    bytes: Cow<'bytes, [u8]>,
    /// Index of the next byte in `bytes`.
    at: usize,
    /// File offset of the byte after `bytes`. From this offset on, `left` bytes are still to be
    /// read.
    next: u64,
    left: usize,
}

impl<'bytes> PackedWindow<'bytes> {
    /// Returns a window over bytes in memory.
    #[must_use]
    pub const fn new(bytes: &'bytes [u8]) -> Self {
        Self { memory: None, bytes: Cow::Borrowed(bytes), at: 0, next: 0, left: 0 }
    }

    /// Returns the next bytes without advancing: at least `least` bytes, or all remaining bytes if
    /// there are fewer.
    #[inline]
    pub fn ahead(&mut self, least: usize) -> &[u8] {
        if self.left > 0 && self.bytes.len().saturating_sub(self.at) < least {
            self.fill(least);
        }
        self.bytes.get(self.at..).unwrap_or(&[])
    }

    /// Advances past `count` bytes.
    #[inline]
    pub const fn advance(&mut self, count: usize) {
        self.at = self.at.saturating_add(count);
    }

    /// Reads the next `COUNT` packed numbers; `None` at the end of the bytes.
    pub fn numbers<const COUNT: usize>(&mut self) -> Option<[u64; COUNT]> {
        let ahead = self.ahead(LONGEST_NUMBER_BYTES.saturating_mul(COUNT));
        if ahead.is_empty() {
            return None;
        }
        let mut bytes = ahead.iter();
        let numbers = std::array::from_fn(|_| take(&mut bytes));
        let taken = ahead.len().saturating_sub(bytes.len());
        self.advance(taken);
        Some(numbers)
    }

    #[cold]
    fn fill(&mut self, least: usize) {
        let bytes = self.bytes.to_mut();
        bytes.drain(..self.at.min(bytes.len()));
        self.at = 0;
        let known = bytes.len();
        let more = WINDOW_BYTES.max(least).saturating_sub(known).min(self.left);
        bytes.resize(known.saturating_add(more), 0);
        let new = bytes.get_mut(known..).zip(self.memory);
        let is_read = new.is_some_and(|(new, memory)| memory.fill(new, self.next));
        if !is_read {
            bytes.clear();
            self.left = 0;
            return;
        }
        self.next = self.next.saturating_add(more as u64);
        self.left = self.left.saturating_sub(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_beyond_the_limit_go_to_a_file_and_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let memory = PackedMemory::new(10_000, folder.path());
        let parts: Vec<Vec<u8>> =
            (0..40_u8).map(|part| vec![part; 1000 * usize::from(part)]).collect();
        let kept: Vec<PackedBytes> = parts.iter().map(|part| memory.keep(part.clone())).collect();
        assert_eq!(memory.used_bytes.load(Ordering::Relaxed), 10_000);
        assert_eq!(memory.written_bytes(), 780_000 - 10_000);
        for (part, kept) in parts.iter().zip(&kept) {
            assert_eq!(kept.read().unwrap().as_ref(), part);
            let mut window = kept.window();
            let mut read = Vec::new();
            loop {
                let ahead = window.ahead(7);
                if ahead.is_empty() {
                    break;
                }
                assert!(ahead.len() >= 7.min(part.len() - read.len()));
                let taken = ahead.len().min(5);
                read.extend_from_slice(&ahead[..taken]);
                window.advance(taken);
            }
            assert_eq!(&read, part);
        }
        drop(kept);
        assert_eq!(memory.used_bytes.load(Ordering::Relaxed), 0);
        memory.check().unwrap();
        // On Unix an open file has no name, so nothing remains even if the process is killed.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), usize::from(!cfg!(unix)));
        drop(memory);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_without_room_is_one_sentence_and_no_wrong_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("none");
        let memory = PackedMemory::new(0, &missing);
        let kept = memory.keep(vec![1, 2, 3]);
        let error = kept.read().unwrap_err().to_string();
        assert!(error.starts_with("expected room for a temporary file in "), "{error}");
        assert!(error.contains("there is no folder"), "{error}");
        assert_eq!(kept.window().ahead(1), &[] as &[u8]);
        assert!(memory.check().is_err());
    }
}
