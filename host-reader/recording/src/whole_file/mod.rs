//! Files that have their name only once they are whole.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Temporary files of this process that are still to get their names.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of all writes in progress, for a process that is about to end:
/// a handler of signals, before it ends the process.
///
/// The writes themselves go on until then, and fail to publish what they write.
pub fn remove_unfinished_files() {
    for path in std::mem::take(&mut *unfinished()) {
        // Whoever ends the process has nobody to tell.
        let _ = std::fs::remove_file(path);
    }
}

/// An entry in the list of unfinished files, for as long as it lives.
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

/// A file that is whole and on disk, under a temporary name.
#[derive(Debug)]
pub struct WholeFile {
    file: tempfile::NamedTempFile,
    path: PathBuf,
    entry: Unfinished,
}

impl WholeFile {
    /// Gives it its name.
    ///
    /// # Errors
    /// If the system refuses it.
    pub fn publish(self) -> io::Result<()> {
        let Self { file, path, entry } = self;
        file.persist(path)?;
        drop(entry);
        Ok(())
    }
}

/// A file that is being written under a temporary name; it goes away again unless it is finished and
/// published.
#[derive(Debug)]
pub struct OpenFile {
    out: BufWriter<tempfile::NamedTempFile>,
    path: PathBuf,
    entry: Unfinished,
}

impl OpenFile {
    /// Begins a file that is to be `path`, in the same folder.
    ///
    /// # Errors
    /// If the folder does not exist or cannot be written to.
    pub fn create(path: &Path) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        remove_abandoned_files(folder);
        let file = temporary_file(folder)?;
        let entry = Unfinished::new(file.path());
        Ok(Self { out: BufWriter::new(file), path: path.to_owned(), entry })
    }

    /// Brings all of it to disk.
    ///
    /// # Errors
    /// If the system cannot write it.
    pub fn finish(self) -> io::Result<WholeFile> {
        let Self { out, path, entry } = self;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        Ok(WholeFile { file, path, entry })
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

/// Writes a file under a temporary name beside `path`, then gives it that name.
///
/// # Errors
/// If the folder does not exist or cannot be written to, or `write` fails; what stood at
/// `path` before is then untouched.
pub fn write_whole_file<T>(
    path: &Path,
    write: impl FnOnce(&mut OpenFile) -> io::Result<T>,
) -> io::Result<T> {
    let (file, result) = prepare_whole_file(path, write)?;
    file.publish()?;
    Ok(result)
}

/// Writes a file under a temporary name beside `path`; without [`WholeFile::publish`] it
/// goes away again.
///
/// # Errors
/// As [`write_whole_file`].
pub fn prepare_whole_file<T>(
    path: &Path,
    write: impl FnOnce(&mut OpenFile) -> io::Result<T>,
) -> io::Result<(WholeFile, T)> {
    let mut file = OpenFile::create(path)?;
    let result = write(&mut file)?;
    Ok((file.finish()?, result))
}

const PREFIX: &str = ".kprof-";
const SUFFIX: &str = ".tmp";

/// Makes a temporary file that is locked for as long as this process writes it.
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
        // A file system without locks keeps its abandoned files.
        let _ = file.as_file().try_lock();
        // Another process may have taken it for abandoned before it was locked.
        if file.path().exists() {
            return Ok(file);
        }
    }
    Err(io::Error::other(format!("temporary files in {} go away", folder.display())))
}

/// Removes the temporary files of processes that were killed: those that nobody has locked.
/// Looks into each folder once.
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
        // Nobody asked for this; the write itself reports a folder that cannot be written to.
        let _ = std::fs::remove_file(path);
    }
}

/// The error of a folder that takes no file, without the temporary name, which tells nothing.
fn refusal(folder: &Path, error: &io::Error) -> io::Error {
    let text = error.to_string();
    let reason = match error.kind() {
        io::ErrorKind::NotFound => format!("there is no folder {}", folder.display()),
        _ => text.split(" at path ").next().unwrap_or(&text).to_owned(),
    };
    io::Error::new(error.kind(), reason)
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
