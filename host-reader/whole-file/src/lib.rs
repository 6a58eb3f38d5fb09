//! Files that have their name only once they are whole.

#![forbid(unsafe_code)]

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

/// A file that is whole and on disk, under a temporary name.
#[derive(Debug)]
pub struct WholeFile {
    file: tempfile::NamedTempFile,
    path: PathBuf,
}

impl WholeFile {
    /// Gives it its name.
    ///
    /// # Errors
    /// If the system refuses it.
    pub fn publish(self) -> io::Result<()> {
        self.file.persist(self.path)?;
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
    let file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    let mut out = BufWriter::new(file.as_file());
    let result = write(&mut out)?;
    out.flush()?;
    drop(out);
    file.as_file().sync_all()?;
    Ok((WholeFile { file, path: path.to_owned() }, result))
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
}
