//! Files that get their final name only after they are complete.

use reader::temporary_file::TemporaryFile;
pub use reader::temporary_file::remove_unfinished_files;
use std::{
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

/// A complete file on disk, under a temporary name.
#[derive(Debug)]
pub struct WholeFile {
    file: TemporaryFile,
    path: PathBuf,
}

impl WholeFile {
    /// Gives the file its final name.
    ///
    /// # Errors
    /// If the file cannot be renamed.
    pub fn publish(self) -> io::Result<()> {
        let Self { file, path } = self;
        file.persist(&path)
    }

    /// Gives the file its final name, unless a file of this name exists; returns true if it was
    /// renamed.
    ///
    /// # Errors
    /// If the file cannot be renamed.
    pub fn publish_new(self) -> io::Result<bool> {
        let Self { file, path } = self;
        file.persist_new(&path)
    }
}

/// A file that is being written under a temporary name.
///
/// The file is removed unless it is finished and published.
#[derive(Debug)]
pub struct OpenFile {
    out: BufWriter<TemporaryFile>,
    path: PathBuf,
}

impl OpenFile {
    /// Creates a temporary file in the folder of `path`, its final name.
    ///
    /// # Errors
    /// If the folder does not exist or cannot be written to.
    pub fn create(path: &Path) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let file = TemporaryFile::create(folder)?;
        Ok(Self { out: BufWriter::new(file), path: path.to_owned() })
    }

    /// Writes all data to disk.
    ///
    /// # Errors
    /// If the data cannot be written.
    pub fn finish(self) -> io::Result<WholeFile> {
        let Self { out, path } = self;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        Ok(WholeFile { file, path })
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
/// If the folder does not exist or cannot be written to, or if `write` fails. An older file at
/// `path` is then unchanged.
pub fn write_whole_file<T>(
    path: &Path,
    write: impl FnOnce(&mut OpenFile) -> io::Result<T>,
) -> io::Result<T> {
    let mut file = OpenFile::create(path)?;
    let result = write(&mut file)?;
    file.finish()?.publish()?;
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

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
