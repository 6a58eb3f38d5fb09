//! Files that get their final name only after they are complete.
//!
//! Until then they have temporary names. If a process is killed while it writes, its temporary
//! files are removed by the next process that writes to the same folder.

use reader::packed_bytes::refusal;
use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};
use tempfile::{NamedTempFile, TempPath};

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

/// Path of a temporary file in [`UNFINISHED`]; dropping this value removes the path from the set.
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

/// Temporary and final name of a file; dropping this value removes the temporary file.
#[derive(Debug)]
struct Names {
    temporary: TempPath,
    last: PathBuf,
    entry: Unfinished,
}

/// A complete file on disk, under a temporary name.
#[derive(Debug)]
pub struct WholeFile {
    names: Names,
    /// The open file, which is locked.
    _file: File,
}

impl WholeFile {
    /// Gives the file its final name.
    ///
    /// # Errors
    /// If the file cannot be renamed.
    pub fn publish(self) -> io::Result<()> {
        let Names { temporary, last, entry: _entry } = self.names;
        Ok(temporary.persist(&last)?)
    }

    /// Gives the file its final name, unless a file of this name exists; returns true if it was
    /// renamed.
    ///
    /// # Errors
    /// If the file cannot be renamed.
    pub fn publish_new(self) -> io::Result<bool> {
        let Names { temporary, last, entry: _entry } = self.names;
        match temporary.persist_noclobber(&last) {
            Ok(()) => Ok(true),
            Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(refused) => Err(refused.error),
        }
    }
}

/// A file that is being written under a temporary name.
///
/// The file is removed unless it is finished and published.
#[derive(Debug)]
pub struct OpenFile {
    out: BufWriter<File>,
    names: Names,
}

impl OpenFile {
    /// Creates a temporary file in the folder of `path`. The file gets the name `path` when it is
    /// complete. Removes temporary files of killed processes from the folder.
    ///
    /// # Errors
    /// If the folder does not exist or cannot be written to.
    pub fn create(path: &Path) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        remove_abandoned_files(folder);
        let (file, temporary) = temporary_file(folder)?.into_parts();
        let entry = Unfinished::new(&temporary);
        let names = Names { temporary, last: path.to_owned(), entry };
        Ok(Self { out: BufWriter::new(file), names })
    }

    /// Writes all data to disk.
    ///
    /// # Errors
    /// If the data cannot be written.
    pub fn finish(self) -> io::Result<WholeFile> {
        let Self { out, names } = self;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok(WholeFile { names, _file: file })
    }
}

impl Write for OpenFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes a file under a temporary name in the folder of `path`, then renames it to `path`.
///
/// # Errors
/// If the folder does not exist or cannot be written to, or if `write` fails. After an error,
/// an older file at `path` is unchanged.
pub fn write_whole_file<T>(
    path: &Path,
    write: impl FnOnce(&mut OpenFile) -> io::Result<T>,
) -> io::Result<T> {
    let mut file = OpenFile::create(path)?;
    let result = write(&mut file)?;
    file.finish()?.publish()?;
    Ok(result)
}

const PREFIX: &str = ".kprof-";
const SUFFIX: &str = ".tmp";

/// Creates a temporary file that stays locked while this process writes it.
fn temporary_file(folder: &Path) -> io::Result<NamedTempFile> {
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
        // Errors are ignored: a file system without locks only keeps abandoned files.
        let _ = file.as_file().try_lock();
        // Another process may have removed the file as abandoned before it was locked.
        if file.path().exists() {
            return Ok(file);
        }
    }
    Err(io::Error::other(format!("temporary files in {} were deleted", folder.display())))
}

/// Removes the temporary files of killed processes, which are the files without a lock.
///
/// Each process searches a folder only once.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        write_whole_file(&path, |out| out.write_all(b"old")).unwrap();
        let failed = write_whole_file(&path, |out| {
            out.write_all(b"new")?;
            Err::<(), _>(io::Error::other("no"))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn files_of_killed_processes_go_away_and_those_of_running_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let [killed, running, other] =
            [".kprof-a.tmp", ".kprof-b.tmp", "kprof.tmp"].map(|name| folder.path().join(name));
        for path in [&killed, &running, &other] {
            std::fs::write(path, "half").unwrap();
        }
        let lock = File::open(&running).unwrap();
        lock.lock().unwrap();
        write_whole_file(&folder.path().join("a.csv"), |out| {
            let temporary = std::fs::read_dir(folder.path())
                .unwrap()
                .flatten()
                .filter(|entry| File::open(entry.path()).unwrap().try_lock().is_err());
            assert_eq!(temporary.count(), 2, "that of the other process, and this one");
            out.write_all(b"whole")
        })
        .unwrap();
        assert!(!killed.exists() && running.exists() && other.exists());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_folder_that_takes_no_file_is_named_and_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("none");
        let error = write_whole_file(&missing.join("a.csv"), |_| Ok(())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert_eq!(error.to_string(), format!("there is no folder {}", missing.display()));
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = write_whole_file(&file.join("a.csv"), |_| Ok(())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
        assert!(!error.to_string().contains(".kprof-"), "{error}");
    }
}
