//! Destination of an export, and atomic writing: the output is complete or does not appear.

#[cfg(feature = "object-store")]
use crate::object::{ObjectPlace, ObjectUpload};
use reader::packed_bytes::PackedError;
use recording::whole_file::{OpenFile, WholeFile};
use std::{
    fmt,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Destination of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Standard output, written as `-`.
    Stdout,
    /// A file.
    File(PathBuf),
    /// An object of an object store.
    #[cfg(feature = "object-store")]
    Object(ObjectPlace),
}

impl From<&Path> for Destination {
    fn from(path: &Path) -> Self {
        if path == Path::new("-") { Self::Stdout } else { Self::File(path.to_owned()) }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout => f.write_str("standard output"),
            Self::File(path) => path.display().fmt(f),
            #[cfg(feature = "object-store")]
            Self::Object(place) => place.fmt(f),
        }
    }
}

/// Export failure. A failed export leaves no partial file under the final name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The system reported an error.
    #[error("cannot write {destination}: {source}")]
    Io {
        /// File or output stream.
        destination: Destination,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The path is a folder.
    #[error("cannot write {}: expected the name of a file, found a folder", path.display())]
    IsFolder {
        /// The folder.
        path: PathBuf,
    },
    /// Packed records cannot be read from their temporary file.
    #[error(transparent)]
    Packed(#[from] PackedError),
    /// The write was cancelled.
    #[error("interrupted: {destination} is not written")]
    Cancelled {
        /// File or output stream.
        destination: Destination,
    },
}

/// Flag with which a signal handler or another thread cancels a write in progress.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Cancels every write that checks this flag.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns true if the export has been cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Writes an export with `write`. The file gets its final name only when it is complete and on
/// disk.
///
/// The bytes are first written to a temporary file in the same folder. If writing fails or is
/// cancelled, this temporary file is removed, and an earlier file with the final name is unchanged.
/// Symbolic links are followed. Standard output and files that are not regular, such as a pipe or a
/// device, are written directly.
///
/// # Errors
/// If the folder or file cannot be written, the disk is full, `write` fails, or the write is
/// cancelled.
///
/// ```
/// use export::{write_atomically, CancelFlag, Destination};
/// use std::io::Write;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("trace.txt");
/// let to = Destination::from(path.as_path());
/// write_atomically(&to, &CancelFlag::default(), |out| out.write_all(b"whole"))?;
/// assert_eq!(std::fs::read(&path)?, b"whole");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_atomically<T>(
    destination: &Destination,
    cancel: &CancelFlag,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> Result<T, WriteError> {
    let target = match destination {
        // If the target of a symbolic link is missing, the link itself is replaced.
        Destination::File(path) if !is_stream(path) => {
            Destination::File(std::fs::canonicalize(path).unwrap_or_else(|_| path.clone()))
        }
        other => other.clone(),
    };
    let mut file = PartFile::create_at(&target, destination.clone(), cancel)?;
    let written = write(&mut file).map_err(|source| write_error(destination.clone(), source))?;
    file.finish()?.publish()?;
    Ok(written)
}

/// Returns true for files that are not regular, such as a pipe or a device.
fn is_stream(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_dir() && !found.is_file())
}

pub(super) fn write_error(destination: Destination, source: io::Error) -> WriteError {
    let inner = source.get_ref();
    match inner.is_some_and(|inner| inner.is::<Cancelled>()) {
        true => WriteError::Cancelled { destination },
        false => WriteError::Io { destination, source },
    }
}

/// File, object or stream that is being written. Writing fails after cancellation.
pub(super) struct PartFile {
    out: PartOutput,
    destination: Destination,
    cancel: CancelFlag,
}

enum PartOutput {
    /// Standard output, a pipe or a device. Bytes that are written cannot be removed.
    Stream(BufWriter<Box<dyn Write + Send>>),
    File(OpenFile),
    #[cfg(feature = "object-store")]
    Object(ObjectUpload),
}

impl PartOutput {
    fn stream(out: impl Write + Send + 'static) -> Self {
        Self::Stream(BufWriter::with_capacity(1 << 16, Box::new(out)))
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Stream(out) => out,
            Self::File(out) => out,
            #[cfg(feature = "object-store")]
            Self::Object(out) => out,
        }
    }
}

/// Complete file, object or stream. A file or object does not have its final name yet.
pub(super) struct PreparedFile {
    whole: PreparedOutput,
    destination: Destination,
}

enum PreparedOutput {
    Stream,
    File(WholeFile),
    #[cfg(feature = "object-store")]
    Object(ObjectUpload),
}

impl PartFile {
    /// Starts a file. The file is removed unless it is published.
    #[cfg(feature = "parquet")]
    pub(super) fn create(
        destination: Destination,
        cancel: &CancelFlag,
    ) -> Result<Self, WriteError> {
        Self::create_at(&destination.clone(), destination, cancel)
    }

    /// Starts to write to `target`. Error messages name `destination` instead.
    fn create_at(
        target: &Destination,
        destination: Destination,
        cancel: &CancelFlag,
    ) -> Result<Self, WriteError> {
        if let Destination::File(path) = &destination
            && path.is_dir()
        {
            return Err(WriteError::IsFolder { path: path.clone() });
        }
        let out = match target {
            Destination::Stdout => Ok(PartOutput::stream(io::stdout())),
            Destination::File(path) if is_stream(path) => {
                std::fs::OpenOptions::new().write(true).open(path).map(PartOutput::stream)
            }
            Destination::File(path) => OpenFile::create(path).map(PartOutput::File),
            #[cfg(feature = "object-store")]
            Destination::Object(place) => Ok(PartOutput::Object(ObjectUpload::new(place.clone()))),
        };
        match out {
            Ok(out) => Ok(Self { out, destination, cancel: cancel.clone() }),
            Err(source) => Err(write_error(destination, source)),
        }
    }

    /// Writes all bytes to disk or to the stream. A file keeps its temporary name.
    pub(super) fn finish(self) -> Result<PreparedFile, WriteError> {
        let Self { out, destination, cancel } = self;
        let whole = match out {
            PartOutput::Stream(mut out) => out.flush().map(|()| PreparedOutput::Stream),
            // Last check for cancellation before the file is complete.
            _ if cancel.is_cancelled() => Err(cancelled()),
            PartOutput::File(file) => file.finish().map(PreparedOutput::File),
            #[cfg(feature = "object-store")]
            PartOutput::Object(upload) => upload.finish().map(PreparedOutput::Object),
        };
        match whole {
            Ok(whole) => Ok(PreparedFile { whole, destination }),
            Err(source) => Err(write_error(destination, source)),
        }
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(cancelled());
        }
        self.out.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.writer().flush()
    }
}

impl PreparedFile {
    /// Renames the file to its final name.
    pub(super) fn publish(self) -> Result<(), WriteError> {
        let Self { whole, destination } = self;
        let published = match whole {
            PreparedOutput::Stream => Ok(()),
            PreparedOutput::File(file) => file.publish(),
            #[cfg(feature = "object-store")]
            PreparedOutput::Object(upload) => upload.publish(),
        };
        published.map_err(|source| write_error(destination, source))
    }
}

/// Writes a whole file unless a file with this name exists. Returns true if the file was written.
#[cfg(feature = "parquet")]
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let mut file = OpenFile::create(path)?;
    file.write_all(bytes)?;
    file.finish()?.publish_new()
}

fn cancelled() -> io::Error {
    // With the kind `Interrupted`, `write_all` would repeat the write instead of failing.
    io::Error::other(Cancelled)
}

#[derive(Debug, thiserror::Error)]
#[error("cancelled")]
struct Cancelled;

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_writing_that_is_called_off_leaves_nothing_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        let to = Destination::File(path);
        let cancel = CancelFlag::default();
        let result = write_atomically(&to, &cancel, |out| {
            out.write_all(&[1; 1 << 20])?;
            cancel.cancel();
            out.write_all(&[2; 1 << 20])
        });
        assert!(matches!(result, Err(WriteError::Cancelled { .. })), "{result:?}");
        assert_eq!(entries(folder.path()), 0);
    }

    #[test]
    fn calling_off_after_the_last_byte_still_counts() {
        let folder = tempfile::tempdir().unwrap();
        let to = Destination::File(folder.path().join("trace"));
        let cancel = CancelFlag::default();
        let result = write_atomically(&to, &cancel, |out| {
            out.write_all(b"all")?;
            cancel.cancel();
            Ok(())
        });
        assert!(matches!(result, Err(WriteError::Cancelled { .. })), "{result:?}");
        assert_eq!(entries(folder.path()), 0);
    }

    #[test]
    fn a_folder_is_no_file_and_a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &Path| {
            write_atomically(&path.into(), &CancelFlag::default(), |out| out.write_all(b"x"))
        };
        let error = write(folder.path()).unwrap_err().to_string();
        assert!(error.contains("expected the name of a file, found a folder"), "{error}");
        let error = write(&folder.path().join("no/trace")).unwrap_err().to_string();
        assert!(error.contains("no/trace") && error.contains("there is no folder"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_full_disk_is_an_error_and_a_device_stays_a_device() {
        let full = Path::new("/dev/full");
        if !full.exists() {
            return;
        }
        let result =
            write_atomically(&full.into(), &CancelFlag::default(), |out| out.write_all(b"x"));
        let error = result.unwrap_err().to_string();
        assert!(error.contains("/dev/full") && error.contains("No space left"), "{error}");
        assert!(!std::fs::metadata(full).unwrap().is_file());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let to = Destination::File(link.clone());
        write_atomically(&to, &CancelFlag::default(), |out| out.write_all(b"new")).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
