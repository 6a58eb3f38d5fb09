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

/// Writes a file under a temporary name beside `path`, then gives it that name.
///
/// # Errors
/// If the folder does not exist or cannot be written to, or `write` fails; what stood at
/// `path` before is then untouched.
pub fn write_whole_file<T>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<T>,
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
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<T>,
) -> io::Result<(WholeFile, T)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".kprof-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let folder = folder.unwrap_or(Path::new("."));
    let file = builder.tempfile_in(folder).map_err(|error| refusal(folder, &error))?;
    let entry = Unfinished::new(file.path());
    let mut out = BufWriter::new(file.as_file());
    let result = write(&mut out)?;
    out.flush()?;
    drop(out);
    file.as_file().sync_all()?;
    Ok((WholeFile { file, path: path.to_owned(), entry }, result))
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
