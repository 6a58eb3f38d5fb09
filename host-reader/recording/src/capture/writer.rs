//! Writing of captures: each section is completely written before the next begins.
//!
//! The caller decides what to capture, and when.

use super::{
    Capture,
    error::CaptureError,
    frame::{FRAME_ALIGN_BYTES, FrameHead, begin_frame, finish_frame},
    header::{CaptureIdentity, FILE_HEADER_BYTES, FileHeader, FormatVersion},
    host_clock::unix_time_ns,
    kind::SectionKind,
    section::{CaptureEnd, Payload, ReadEnd},
};
use std::{
    fs::{File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Policy for flushing written sections to disk.
///
/// When `append` has returned, the section is in the operating system's cache, not in a buffer of
/// this process. The section is therefore kept under every policy if this process ends, even if a
/// signal kills the process. The policy only matters if the machine crashes or loses power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncPolicy {
    /// After each read.
    #[default]
    EachRead,
    /// After each section. Slow.
    EachSection,
    /// Never by this library; the operating system decides when to write the data to disk.
    Never,
}

/// Writer that appends sections to a capture.
///
/// Only one process at a time can write to a capture; other writers get an error.
///
/// # Examples
///
/// ```
/// use recording::capture::{Capture, CaptureWriter, ReadEnd};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("example.kprof");
/// let mut writer = CaptureWriter::create(&path)?;
/// writer.append(&ReadEnd { words_read: 640, ..ReadEnd::default() })?;
/// writer.finish()?;
///
/// let capture = Capture::open(&path)?;
/// assert_eq!(capture.sections().count(), 2);
/// assert!(capture.problems().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CaptureWriter {
    file: File,
    path: PathBuf,
    sync: SyncPolicy,
    encoder: SectionEncoder,
    next_read_number: u32,
    is_end_unknown: bool,
}

impl CaptureWriter {
    /// Creates a new capture.
    ///
    /// # Errors
    /// If the file cannot be written, or if it exists: measured data is never overwritten.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        let path = path.as_ref();
        let file = File::options().read(true).append(true).create_new(true).open(path);
        let file = file.map_err(|source| CaptureError::io("create", path, source))?;
        lock(&file, path)?;
        let mut writer = Self::new(file, path);
        writer.write_header(CaptureIdentity::fresh())?;
        Ok(writer)
    }

    /// Continues an existing capture. The numbers of reads and sections continue.
    ///
    /// An incomplete section at the end and any other damage stay in the file, for two reasons: the
    /// damaged bytes may be the only copy of words that were read from a chip, and the file must
    /// not become shorter while a reader has mapped it. New sections begin after the damage.
    /// Readers skip and report the damage.
    ///
    /// # Errors
    /// If the file is not a capture, has another major version, is being written by another process
    /// or cannot be written.
    pub fn append_to(path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        let path = path.as_ref();
        let file = File::options().read(true).append(true).open(path);
        let file = file.map_err(|source| CaptureError::io("open", path, source))?;
        lock(&file, path)?;
        let mut writer = Self::new(file, path);
        let metadata = writer.file.metadata();
        let metadata = metadata.map_err(|source| CaptureError::io("examine", path, source))?;
        if metadata.len() == 0 {
            // The file is empty: its writer was stopped after creating the file and before writing
            // the first byte.
            writer.write_header(CaptureIdentity::fresh())?;
            return Ok(writer);
        }
        let capture = Capture::open(path)?;
        writer.encoder.next_number = capture.next_section_number();
        writer.next_read_number = capture.next_read_number();
        writer.is_end_unknown = true;
        Ok(writer)
    }

    /// Sets the policy for flushing written data to disk.
    #[must_use]
    pub const fn with_sync(mut self, sync: SyncPolicy) -> Self {
        self.sync = sync;
        self
    }

    /// Returns the number of the next read: one more than the last read number in the capture.
    #[must_use]
    pub const fn next_read_number(&self) -> u32 {
        self.next_read_number
    }

    /// Returns the path of the capture.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a section. After this method has returned, the section survives the end of the
    /// process.
    ///
    /// # Errors
    /// If a count does not fit its field, or the disk reports an error. The capture is then
    /// unchanged except for a torn section at its end, and more sections can be appended.
    ///
    /// # Cost
    /// One copy of the payload and one system call.
    pub fn append<'file, P: Payload<'file>>(&mut self, payload: &P) -> Result<(), CaptureError> {
        if self.is_end_unknown {
            self.align_end()?;
        }
        let bytes = self.encoder.encode(payload)?;
        if let Err(source) = self.file.write_all(bytes) {
            self.is_end_unknown = true;
            return Err(CaptureError::io("append to", &self.path, source));
        }
        let must_sync = match self.sync {
            SyncPolicy::EachRead => P::KIND == SectionKind::READ_END,
            SyncPolicy::EachSection => true,
            SyncPolicy::Never => false,
        };
        if must_sync { self.sync() } else { Ok(()) }
    }

    /// Appends the end of a read and increments the read number.
    ///
    /// # Errors
    /// The errors of [`CaptureWriter::append`].
    pub fn finish_read(&mut self, end: &ReadEnd) -> Result<(), CaptureError> {
        self.next_read_number = self.next_read_number.max(end.read_number.saturating_add(1));
        self.append(end)
    }

    /// Marks the end of the recording.
    ///
    /// Without the mark, a reader assumes that the writer was stopped and that further data may be
    /// lost. Waits until all data is on disk, unless the policy is [`SyncPolicy::Never`].
    ///
    /// # Errors
    /// The errors of [`CaptureWriter::append`].
    ///
    /// ```
    /// use recording::capture::{Capture, CaptureWriter};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("example.kprof");
    /// let writer = CaptureWriter::create(&path)?;
    /// assert_eq!(Capture::open(&path)?.is_finished(), Some(false));
    /// writer.finish()?;
    /// assert_eq!(Capture::open(&path)?.is_finished(), Some(true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(mut self) -> Result<(), CaptureError> {
        self.append(&CaptureEnd { unix_time_ns: unix_time_ns() })?;
        if self.sync == SyncPolicy::EachRead { self.sync() } else { Ok(()) }
    }

    /// Waits until all appended data is on disk.
    ///
    /// # Errors
    /// If the disk reports an error.
    pub fn sync(&mut self) -> Result<(), CaptureError> {
        self.file.sync_data().map_err(|source| CaptureError::io("sync", &self.path, source))
    }

    fn new(file: File, path: &Path) -> Self {
        Self {
            file,
            path: path.to_owned(),
            sync: SyncPolicy::default(),
            encoder: SectionEncoder::default(),
            next_read_number: 0,
            is_end_unknown: false,
        }
    }

    fn write_header(&mut self, identity: CaptureIdentity) -> Result<(), CaptureError> {
        let header = FileHeader { version: FormatVersion::CURRENT, identity };
        let written = self.file.write_all(&header.to_bytes());
        written.map_err(|source| CaptureError::io("write to", &self.path, source))
    }

    /// Appends 0xFF bytes after an incomplete section, up to a multiple of eight bytes. Later words
    /// are then aligned and can be read without a copy.
    fn align_end(&mut self) -> Result<(), CaptureError> {
        let padded = self.file.metadata().and_then(|metadata| {
            let end = metadata.len();
            const ALIGN_BYTES: u64 = FRAME_ALIGN_BYTES as u64;
            // The filler is not zero: if only the last bytes of a section are missing, zeros could
            // complete the section.
            let filler = [0xFF; FRAME_ALIGN_BYTES];
            let present = usize::try_from(end % ALIGN_BYTES).unwrap_or(0);
            let padding = if present == 0 { None } else { filler.get(present..) };
            self.file.write_all(padding.unwrap_or_default())
        });
        padded.map_err(|source| CaptureError::io("append to", &self.path, source))?;
        self.is_end_unknown = false;
        Ok(())
    }
}

impl Drop for CaptureWriter {
    fn drop(&mut self) {
        // Closing the file would be sufficient, but a child process that is just being started may
        // have inherited the open file. If unlocking fails, the system unlocks the file later.
        let _ = self.file.unlock();
    }
}

/// Encoder of payloads as sections with ascending numbers.
#[derive(Debug, Default)]
pub(super) struct SectionEncoder {
    next_number: u32,
    buffer: Vec<u8>,
}

impl SectionEncoder {
    /// Returns the bytes of the next section.
    pub(super) fn encode<'file, P: Payload<'file>>(
        &mut self,
        payload: &P,
    ) -> Result<&[u8], CaptureError> {
        begin_frame(&mut self.buffer);
        payload.encode(&mut self.buffer)?;
        let (number, version) = (self.next_number, P::VERSION);
        finish_frame(&mut self.buffer, FrameHead { kind: P::KIND, version, flags: 0, number });
        self.next_number = self.next_number.wrapping_add(1);
        Ok(&self.buffer)
    }
}

/// Locks the file against other writers. The lock ends when the file is closed.
///
/// The system closes the file at the latest when the process ends.
fn lock(file: &File, path: &Path) -> Result<(), CaptureError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(CaptureError::InUse { path: path.to_owned() }),
        // Some network file systems do not support locks. An error here would make such file
        // systems unusable.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(source)) => Err(CaptureError::io("lock", path, source)),
    }
}

const _: () = assert!(FILE_HEADER_BYTES.is_multiple_of(FRAME_ALIGN_BYTES));
