//! Location of a dataset: a folder, or a prefix of an object store.
//!
//! Files are named relative to the location, with `/` between the parts:
//! `ops/date=2026-11-25/run=train-17/node-3~0.parquet`.

use super::{CancelFlag, Destination, WriteError};
use crate::destination::{PartFile, write_new};
#[cfg(feature = "object-store")]
use crate::object::ObjectPlace;
use std::{
    fmt,
    fs::File,
    io,
    ops::Range,
    path::{Path, PathBuf},
};

/// Location of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DatasetLocation {
    /// Folder.
    Folder(PathBuf),
    /// Prefix of an object store.
    #[cfg(feature = "object-store")]
    Objects(ObjectPlace),
}

/// Error for a text that is not the location of a dataset.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocationError {
    /// The text is a URL, but the build lacks the feature `object-store`.
    #[error("cannot open {url}: expected a folder, since this build has no object stores")]
    NoObjectStores {
        /// URL.
        url: String,
    },
    /// The object store cannot be opened.
    #[error("cannot open {url}: {source}")]
    Store {
        /// URL.
        url: String,
        /// Error in the URL or in the settings of the environment.
        source: io::Error,
    },
}

/// File of a dataset, with its length.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StoredFile {
    pub(super) path: String,
    pub(super) byte_count: u64,
}

impl StoredFile {
    /// Returns the name without folders.
    pub(super) fn name(&self) -> &str {
        file_name(&self.path)
    }
}

/// Returns the last part of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the path as text if it is a URL: it begins with letters and digits before `://`.
fn url_in(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let (scheme, _) = text.split_once("://")?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme.then_some(text)
}

impl From<PathBuf> for DatasetLocation {
    fn from(folder: PathBuf) -> Self {
        Self::Folder(folder)
    }
}

impl From<&Path> for DatasetLocation {
    fn from(folder: &Path) -> Self {
        Self::Folder(folder.to_owned())
    }
}

impl fmt::Display for DatasetLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.display().fmt(f),
            #[cfg(feature = "object-store")]
            Self::Objects(place) => place.fmt(f),
        }
    }
}

impl DatasetLocation {
    /// Parses a location: a URL such as `s3://bucket/dataset`, or a folder.
    ///
    /// # Errors
    /// If a URL cannot be opened, or the build lacks the feature `object-store`.
    pub fn parse(path: &Path) -> Result<Self, LocationError> {
        let Some(url) = url_in(path) else { return Ok(Self::from(path)) };
        #[cfg(feature = "object-store")]
        return match ObjectPlace::open(url) {
            Ok(place) => Ok(Self::Objects(place)),
            Err(source) => Err(LocationError::Store { url: url.to_owned(), source }),
        };
        #[cfg(not(feature = "object-store"))]
        Err(LocationError::NoObjectStores { url: url.to_owned() })
    }

    /// Returns the location of a file or folder below this location.
    ///
    /// # Errors
    /// If the name has parts that object names cannot have.
    pub fn join(&self, name: &str) -> io::Result<Self> {
        match self {
            Self::Folder(folder) => Ok(Self::Folder(folder.join(name))),
            #[cfg(feature = "object-store")]
            Self::Objects(place) => place.join(name).map(Self::Objects),
        }
    }

    /// Returns this location as the destination of one file.
    #[must_use]
    pub fn into_destination(self) -> Destination {
        match self {
            Self::Folder(path) => Destination::File(path),
            #[cfg(feature = "object-store")]
            Self::Objects(place) => Destination::Object(place),
        }
    }

    /// Returns true if this location contains a Parquet file of a table.
    ///
    /// # Errors
    /// If the location cannot be listed.
    pub fn has_files(&self, table: &str) -> Result<bool, WriteError> {
        for folder in super::partitions(self, table)? {
            if !super::parquet_files(self, &folder)?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the error for a failed operation on a file or folder.
    pub(super) fn refused(&self, path: &str, source: io::Error) -> WriteError {
        let destination = match self.join(path) {
            Ok(location) => location.into_destination(),
            Err(_) => self.clone().into_destination(),
        };
        WriteError::Io { destination, source }
    }

    /// Starts a file. The file gets its final name when it is published.
    pub(super) fn create(&self, path: &str, cancel: &CancelFlag) -> Result<PartFile, WriteError> {
        let location = self.join(path).map_err(|source| self.refused(path, source))?;
        PartFile::create(location.into_destination(), cancel)
    }

    /// Calls `access` with the location of a file or folder.
    fn at<T>(
        &self,
        path: &str,
        access: impl FnOnce(Self) -> io::Result<T>,
    ) -> Result<T, WriteError> {
        self.join(path).and_then(access).map_err(|source| self.refused(path, source))
    }

    /// Writes a small file unless a file with this name exists. Returns true if the file was
    /// written.
    ///
    /// The file appears only when it is complete.
    pub(super) fn create_new(&self, path: &str, bytes: &[u8]) -> Result<bool, WriteError> {
        self.at(path, |file| match file {
            Self::Folder(file) => {
                std::fs::create_dir_all(file.parent().unwrap_or(&file))?;
                write_new(&file, bytes)
            }
            #[cfg(feature = "object-store")]
            Self::Objects(place) => place.create_new(bytes),
        })
    }

    /// Returns the files in a folder, sorted; empty if the folder does not exist.
    pub(super) fn files(&self, folder: &str) -> Result<Vec<StoredFile>, WriteError> {
        let files = self.entries(folder)?.into_iter();
        let files = files
            .filter_map(|(path, byte_count)| Some(StoredFile { path, byte_count: byte_count? }));
        Ok(files.collect())
    }

    /// Returns the subfolders of a folder, sorted; empty if the folder does not exist.
    pub(super) fn folders(&self, folder: &str) -> Result<Vec<String>, WriteError> {
        let entries = self.entries(folder)?.into_iter();
        let folders = entries.filter(|(_, byte_count)| byte_count.is_none());
        Ok(folders.map(|(path, _)| path).collect())
    }

    /// Returns the paths of the entries of a folder, sorted. Files have a length, subfolders have
    /// none.
    fn entries(&self, folder: &str) -> Result<Vec<(String, Option<u64>)>, WriteError> {
        let mut entries = self.at(folder, |found| match found {
            Self::Folder(folder) => folder_entries(&folder),
            #[cfg(feature = "object-store")]
            Self::Objects(place) => place.list(),
        })?;
        entries.iter_mut().for_each(|(name, _)| *name = format!("{folder}/{name}"));
        entries.sort();
        Ok(entries)
    }

    /// Returns a file's length and its last modification in milliseconds since 1970.
    pub(super) fn size_and_time(&self, path: &str) -> Result<(u64, i64), WriteError> {
        self.at(path, |file| match file {
            Self::Folder(file) => {
                let found = std::fs::metadata(file)?;
                let since = found.modified()?.duration_since(std::time::UNIX_EPOCH);
                let since_ms = since.map_or(0, |since| since.as_millis());
                Ok((found.len(), i64::try_from(since_ms).unwrap_or(i64::MAX)))
            }
            #[cfg(feature = "object-store")]
            Self::Objects(place) => place.head(),
        })
    }

    /// Reads a range of a file's bytes.
    pub(super) fn read(&self, path: &str, range: Range<u64>) -> Result<Vec<u8>, WriteError> {
        self.at(path, |file| match file {
            Self::Folder(file) => {
                use io::{Read, Seek};
                let mut file = File::open(file)?;
                file.seek(io::SeekFrom::Start(range.start))?;
                let mut bytes = Vec::new();
                file.take(range.end.saturating_sub(range.start)).read_to_end(&mut bytes)?;
                Ok(bytes)
            }
            #[cfg(feature = "object-store")]
            Self::Objects(place) => place.read(range),
        })
    }

    /// Opens a file that will be read completely. An object is first copied to a temporary file
    /// without a name.
    pub(super) fn open(&self, path: &str) -> Result<File, WriteError> {
        self.at(path, |file| match file {
            Self::Folder(file) => File::open(file),
            #[cfg(feature = "object-store")]
            Self::Objects(place) => copied(&place),
        })
    }

    /// Removes a file.
    pub(super) fn remove(&self, path: &str) -> Result<(), WriteError> {
        self.at(path, |file| match file {
            Self::Folder(file) => std::fs::remove_file(file),
            #[cfg(feature = "object-store")]
            Self::Objects(place) => place.remove(),
        })
    }
}

#[cfg(feature = "object-store")]
fn copied(object: &ObjectPlace) -> io::Result<File> {
    use io::{Seek, Write};
    let (byte_count, _) = object.head()?;
    let mut copy = tempfile::tempfile()?;
    let mut start = 0;
    while start < byte_count {
        let end = start.saturating_add(BLOCK_BYTES).min(byte_count);
        let block = object.read(start..end)?;
        if block.is_empty() {
            return Err(io::Error::other("the object has become shorter"));
        }
        copy.write_all(&block)?;
        start = start.saturating_add(block.len() as u64);
    }
    copy.rewind()?;
    Ok(copy)
}

/// Number of bytes of an object that are copied at a time.
#[cfg(feature = "object-store")]
const BLOCK_BYTES: u64 = 8 << 20;

fn folder_entries(folder: &Path) -> io::Result<Vec<(String, Option<u64>)>> {
    let found = match std::fs::read_dir(folder) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut entries = Vec::new();
    for entry in found {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Symbolic links are followed.
        match std::fs::metadata(entry.path()) {
            Ok(found) if found.is_dir() => entries.push((name, None)),
            Ok(found) => entries.push((name, Some(found.len()))),
            // Another process has removed the file in the meantime, or the file is a link to a
            // missing target.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_scheme_makes_a_url() {
        for (text, is_url) in [
            ("s3://bucket/a", true),
            ("abfss://c@account.dfs.core.windows.net/a", true),
            ("dataset", false),
            ("a/b://c", false),
            ("://a", false),
            ("3s://a", false),
            ("/tmp/s3:/a", false),
        ] {
            assert_eq!(url_in(Path::new(text)).is_some(), is_url, "{text}");
        }
    }
}
