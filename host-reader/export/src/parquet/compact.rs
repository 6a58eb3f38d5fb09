//! Compaction: merges many small files of a dataset into few large files.
//!
//! Each host of a fleet writes its own files, which are as small as its recording. Engines open
//! every file that a query may need, so a partition of a thousand small files takes longer to read
//! than one file with the same rows. Compacted files replace the small files. A compacted file gets
//! its final name once it is complete; then its source files are removed. If a compaction is
//! interrupted in between, the next compaction reads the names of the source files from the
//! compacted file and removes the rest of them.

use super::{
    WriteError, cells::FileColumn, folders::parquet_files, partitions, read::TableFile, refused,
    rows::RowFile, table_files::FILE_BYTES, write_refused,
};
use crate::{CancelFlag, destination::PartFile};
use parquet::{errors::ParquetError, file::metadata::KeyValue};
use rayon::prelude::*;
use std::{
    io,
    path::{Path, PathBuf},
};
use tables::{Recordings, Table, schemas};

/// File, byte and row counts of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct CompactCounts {
    /// Number of files of the dataset before the compaction.
    pub files_before: u64,
    /// Number of files of the dataset after the compaction.
    pub files: u64,
    /// Total bytes of the files before the compaction.
    pub bytes_before: u64,
    /// Total bytes of the files after the compaction.
    pub bytes: u64,
    /// Number of rows that were rewritten.
    pub rewritten_rows: u64,
}

/// Why a dataset could not be compacted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// The folder contains no dataset.
    #[error(
        "{}: expected a dataset, a folder with folders of tables such as `ops`, found none of them",
        folder.display()
    )]
    NoDataset {
        /// The folder.
        folder: PathBuf,
    },
    /// A file or folder could not be read or written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Merges the small files in each partition of a dataset into large files.
///
/// Files shorter than 128 MiB are merged into files of at least 256 MiB, if a partition has enough
/// data. Longer files stay unchanged. A column that a source file lacks is null in the rows of that
/// file.
///
/// # Errors
/// If the folder holds no dataset, a file cannot be read or written, or the operation is cancelled.
/// Finished partitions then stay compacted, and the other partitions are unchanged.
///
/// # Cost
/// Partitions are compacted in parallel; memory is bounded by one row group per partition.
pub fn compact(folder: &Path, cancel: &CancelFlag) -> Result<CompactCounts, CompactError> {
    let partitions = partitions_of(folder)?;
    if partitions.is_empty() {
        return Err(CompactError::NoDataset { folder: folder.to_owned() });
    }
    let compact = |partition: &Partition| partition.compact(cancel);
    // Exports refuse a recording if they find it in a compacted file of the table `recordings`, so
    // this table is compacted first.
    let (recordings, others): (Vec<_>, Vec<_>) =
        partitions.iter().partition(|partition| partition.table == Recordings::NAME);
    let mut counts = CompactCounts::default();
    for some in [recordings, others] {
        let done: Vec<_> = some.into_par_iter().map(compact).collect::<Result<_, WriteError>>()?;
        counts = done.into_iter().fold(counts, CompactCounts::plus);
    }
    Ok(counts)
}

/// Returns true if a file was made by [`compact`]. Names of other files contain a `~`.
pub(super) fn is_compacted(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.starts_with(PREFIX.as_bytes()) && !name.contains(&b'~')
}

const PREFIX: &str = "compacted-";
/// Metadata key for the source files of a compacted file: name, length in bytes and checksum of
/// each.
const MADE_OF: &str = "kprof.made_of";

/// Identity of a file by name, length and checksum: another file may get the same name later.
type Fingerprint = (String, u64, u32);
/// Files of at least this length are not merged.
const LONG_ENOUGH_BYTES: u64 = FILE_BYTES / 2;

/// A folder with files of one table, date and run.
struct Partition {
    table: &'static str,
    folder: PathBuf,
}

/// A file and its length.
struct Input {
    path: PathBuf,
    byte_count: u64,
}

fn partitions_of(dataset: &Path) -> Result<Vec<Partition>, WriteError> {
    let mut found = Vec::new();
    for table in schemas().iter().filter(|table| !table.partitions.is_empty()) {
        let folders = partitions(dataset, table.name)?;
        found.extend(folders.into_iter().map(|folder| Partition { table: table.name, folder }));
    }
    Ok(found)
}

impl Partition {
    fn compact(&self, cancel: &CancelFlag) -> Result<CompactCounts, WriteError> {
        let files = self.files()?;
        let mut counts = CompactCounts {
            files_before: files.len() as u64,
            bytes_before: files.iter().map(|file| file.byte_count).sum(),
            ..CompactCounts::default()
        };
        let short: Vec<Input> =
            files.into_iter().filter(|file| file.byte_count < LONG_ENOUGH_BYTES).collect();
        for group in groups_of(short) {
            if group.len() > 1 {
                counts.rewritten_rows += self.join(&group, cancel)?;
            }
        }
        let files = self.files()?;
        counts.files = files.len() as u64;
        counts.bytes = files.iter().map(|file| file.byte_count).sum();
        Ok(counts)
    }

    /// Returns the files, without source files that an interrupted compaction has left.
    fn files(&self) -> Result<Vec<Input>, WriteError> {
        let listed = || parquet_files(&self.folder).map_err(|source| refused(&self.folder, source));
        for path in listed()?.iter().filter(|path| is_compacted(path)) {
            let file = TableFile::open(path).map_err(|error| write_refused(path, error))?;
            let made_of = file.fact(MADE_OF).and_then(|facts| serde_json::from_str(facts).ok());
            for source in made_of.into_iter().flat_map(|sources: Vec<Fingerprint>| sources) {
                self.remove_if_same(&source)?;
            }
        }
        let input = |path: PathBuf| {
            let found = std::fs::metadata(&path).map_err(|source| refused(&path, source))?;
            Ok(Input { byte_count: found.len(), path })
        };
        listed()?.into_iter().map(input).collect()
    }

    /// Removes a source file of a compacted file, if its content is unchanged.
    fn remove_if_same(&self, source: &Fingerprint) -> Result<(), WriteError> {
        let path = self.folder.join(&source.0);
        // Only a plain file name is accepted, whatever the metadata contains: no other folder is
        // touched.
        let is_here = Path::new(&source.0).file_name().is_some_and(|name| name == &*source.0);
        if !is_here || !path.is_file() {
            return Ok(());
        }
        let found = fingerprint(&path).map_err(|error| refused(&path, error))?;
        if found == *source {
            std::fs::remove_file(&path).map_err(|error| refused(&path, error))?;
        }
        Ok(())
    }

    /// Merges files; returns the number of their rows.
    fn join(&self, inputs: &[Input], cancel: &CancelFlag) -> Result<u64, WriteError> {
        let mut opened = Vec::with_capacity(inputs.len());
        for input in inputs {
            let file = TableFile::open(&input.path);
            // Each file is closed again: a partition may have more files than a process may open.
            opened.push(file.map_err(|error| write_refused(&input.path, error))?.columns);
        }
        let columns = joined_columns(inputs, &opened)?;
        let path = self.free_name();
        let mut made_of = Vec::with_capacity(inputs.len());
        for Input { path, .. } in inputs {
            made_of.push(fingerprint(path).map_err(|source| refused(path, source))?);
        }
        let made_of = serde_json::json!(made_of).to_string();
        let facts = vec![KeyValue::new(MADE_OF.to_owned(), made_of)];
        let out = PartFile::create(&path, cancel)?;
        let refuse = |error: ParquetError| write_refused(&path, error);
        let mut out = RowFile::new(out, self.table, &columns, &[], facts).map_err(refuse)?;
        for input in inputs {
            append(&input.path, &columns, &mut out)
                .map_err(|error| write_refused(&input.path, error))?;
        }
        let (file, row_count) = out.finish().map_err(refuse)?;
        file.finish()?.publish()?;
        for input in inputs {
            std::fs::remove_file(&input.path).map_err(|source| refused(&input.path, source))?;
        }
        Ok(row_count)
    }

    fn free_name(&self) -> PathBuf {
        let named = |number: u64| self.folder.join(format!("{PREFIX}{number}.parquet"));
        (0..).map(named).find(|path| !path.exists()).unwrap_or_else(|| named(u64::MAX))
    }
}

fn fingerprint(path: &Path) -> io::Result<Fingerprint> {
    let bytes = std::fs::read(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok((name, bytes.len() as u64, crc32fast::hash(&bytes)))
}

fn append(
    path: &Path,
    columns: &[FileColumn],
    out: &mut RowFile<PartFile>,
) -> Result<(), ParquetError> {
    let file = TableFile::open(path)?;
    for group in 0..file.group_count() {
        for (column, cells) in columns.iter().zip(&mut out.cells) {
            file.read(group, column, cells)?;
        }
        out.added(file.row_count(group)?)?;
    }
    Ok(())
}

/// Groups short files; each group but the last one gives a long file.
fn groups_of(files: Vec<Input>) -> Vec<Vec<Input>> {
    let (mut groups, mut group, mut byte_count) = (Vec::new(), Vec::new(), 0_u64);
    for file in files {
        byte_count = byte_count.saturating_add(file.byte_count);
        group.push(file);
        if byte_count >= FILE_BYTES {
            groups.push(std::mem::take(&mut group));
            byte_count = 0;
        }
    }
    groups.push(group);
    groups
}

/// Returns the columns of all files in order of first appearance; a column that a file lacks allows
/// nulls.
fn joined_columns(
    inputs: &[Input],
    columns: &[Vec<FileColumn>],
) -> Result<Vec<FileColumn>, WriteError> {
    let mut joined: Vec<FileColumn> = Vec::new();
    for (input, here) in inputs.iter().zip(columns) {
        for column in here {
            match joined.iter_mut().find(|known| known.name == column.name) {
                None => joined.push(column.clone()),
                Some(known) if known.kind == column.kind => {
                    known.is_optional |= column.is_optional;
                }
                Some(known) => {
                    let text = format!(
                        "column `{}` is {} here and {} in another file of the partition",
                        column.name,
                        column.kind.sql_label(),
                        known.kind.sql_label()
                    );
                    return Err(refused(&input.path, io::Error::other(text)));
                }
            }
        }
    }
    for column in &mut joined {
        let is_everywhere =
            columns.iter().all(|here| here.iter().any(|found| found.name == column.name));
        column.is_optional |= !is_everywhere;
    }
    Ok(joined)
}

impl CompactCounts {
    const fn plus(self, other: Self) -> Self {
        Self {
            files_before: self.files_before + other.files_before,
            files: self.files + other.files,
            bytes_before: self.bytes_before + other.bytes_before,
            bytes: self.bytes + other.bytes,
            rewritten_rows: self.rewritten_rows + other.rewritten_rows,
        }
    }
}
