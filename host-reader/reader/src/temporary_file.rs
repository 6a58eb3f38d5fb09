//! Temporary files. If this process is killed, a later process removes its files.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Paths of this process's temporary files.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of this process. Signal handlers call this function before they end
/// the process.
///
/// Other threads can continue to write, but can no longer publish their files.
pub fn remove_unfinished_files() {
    for path in std::mem::take(&mut *unfinished()) {
        // Errors are ignored: the process is exiting.
        let _ = std::fs::remove_file(path);
    }
}

/// An entry in the list of unfinished files; dropping it removes the entry.
#[derive(Debug)]
struct Unfinished(PathBuf);

impl Unfinished {
    fn new(path: &Path) -> Self {
        unfinished().insert(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        unfinished().remove(&self.0);
    }
}

/// A file with a temporary name; dropping the value removes the file.
///
/// If the process is killed, the next temporary file created in the same folder removes this file.
///
/// ```
/// use reader::temporary_file::TemporaryFile;
/// use std::io::Write;
/// let folder = tempfile::tempdir()?;
/// let mut file = TemporaryFile::create(folder.path())?;
/// file.write_all(b"half")?;
/// assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
/// drop(file);
/// assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct TemporaryFile {
    file: File,
    /// Name of the file; `None` once the name is removed.
    name: Option<(tempfile::TempPath, Unfinished)>,
}

impl TemporaryFile {
    /// Creates a temporary file in a folder, and removes the folder's files of killed processes.
    ///
    /// # Errors
    /// If the folder does not exist or cannot be written to.
    pub fn create(folder: &Path) -> io::Result<Self> {
        remove_abandoned_files(folder);
        let (file, path) = temporary_file(folder)?.into_parts();
        let entry = Unfinished::new(&path);
        Ok(Self { file, name: Some((path, entry)) })
    }

    /// Unlinks the file, if the operating system can unlink open files.
    ///
    /// The system then deletes the file when it is closed, even if the process is killed.
    ///
    /// # Errors
    /// If the name cannot be removed.
    pub fn take_name_off(&mut self) -> io::Result<()> {
        if cfg!(unix)
            && let Some((path, _entry)) = self.name.take()
        {
            path.close()?;
        }
        Ok(())
    }

    /// Gives the file its final name.
    ///
    /// # Errors
    /// If the file cannot be renamed, or no longer has a name.
    pub fn persist(self, path: &Path) -> io::Result<()> {
        let Some((temporary, _entry)) = self.name else {
            return Err(io::Error::other("the file has no name"));
        };
        Ok(temporary.persist(path)?)
    }

    /// Gives the file its final name, unless a file of this name exists; returns true if it was
    /// renamed.
    ///
    /// # Errors
    /// If the file cannot be renamed, or no longer has a name.
    pub fn persist_new(self, path: &Path) -> io::Result<bool> {
        let Some((temporary, _entry)) = self.name else {
            return Err(io::Error::other("the file has no name"));
        };
        match temporary.persist_noclobber(path) {
            Ok(()) => Ok(true),
            Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(refused) => Err(refused.error),
        }
    }

    /// Returns the open file.
    #[must_use]
    pub const fn as_file(&self) -> &File {
        &self.file
    }
}

impl Write for TemporaryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

const PREFIX: &str = ".kprof-";
const SUFFIX: &str = ".tmp";

/// Creates a temporary file that stays locked while this process writes it.
fn temporary_file(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    const ATTEMPTS: usize = 8;
    for _ in 0..ATTEMPTS {
        let file = builder.tempfile_in(folder).map_err(|error| refusal(folder, &error))?;
        // On a file system without locks, abandoned files are not removed.
        let _ = file.as_file().try_lock();
        // Another process may have removed the file as abandoned before it was locked.
        if file.path().exists() {
            return Ok(file);
        }
    }
    Err(io::Error::other(format!("temporary files in {} go away", folder.display())))
}

/// Removes the temporary files of killed processes, which are the files without a lock.
///
/// Each folder is searched once.
fn remove_abandoned_files(folder: &Path) {
    static SEEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if !SEEN.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned()) {
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_temporary =
            name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_temporary && is_file {
            remove_if_abandoned(&entry.path());
        }
    }
}

fn remove_if_abandoned(path: &Path) {
    let Ok(file) = File::options().write(true).open(path) else { return };
    if file.try_lock().is_ok() {
        // Errors are ignored: the write itself reports a folder that cannot be written to.
        let _ = std::fs::remove_file(path);
    }
}

/// Returns the error of a folder in which no file can be created.
///
/// The message leaves out the temporary name, which means nothing to the user.
fn refusal(folder: &Path, error: &io::Error) -> io::Error {
    let text = error.to_string();
    let reason = match error.kind() {
        io::ErrorKind::NotFound => format!("there is no folder {}", folder.display()),
        _ => text.split(" at path ").next().unwrap_or(&text).to_owned(),
    };
    io::Error::new(error.kind(), reason)
}
