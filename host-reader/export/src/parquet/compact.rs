//! Compaction: merges many small files of a dataset into few large files.
//!
//! Each host of a fleet writes its own files, which are as small as the host's recording. Engines
//! open every file that a query may need, so a partition of a thousand small files takes longer to
//! read than one file with the same rows. Compacted files replace the small files. A compacted file
//! gets its final name when it is complete. After this, the source files are removed. If a
//! compaction is interrupted between these two steps, the next compaction reads the names of the
//! source files from the compacted file and removes the remaining source files.

use super::{
    WriteError,
    cells::FileColumn,
    create_logs,
    delta_log::{self, Change, DeltaLog, DeltaLogs},
    folders::{parquet_files, partitions},
    location::{DatasetLocation, StoredFile, file_name},
    read::{TableFile, columns_of, key_value, read_footer},
    rows::RowFile,
    table_files::FILE_BYTES,
    write_refused,
};
use crate::{CancelFlag, destination::PartFile};
use parquet::{errors::ParquetError, file::metadata::KeyValue};
use rayon::prelude::*;
use std::io::{self, BufRead, BufReader};
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

/// Error of a compaction.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// The location does not contain a dataset.
    #[error(
        "{location}: expected a dataset, a folder with folders of tables such as `ops`, found none \
         of them"
    )]
    NoDataset {
        /// Location.
        location: DatasetLocation,
    },
    /// A file or folder could not be read or written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Merges the small files in each partition of a dataset into large files.
///
/// Files shorter than 128 MiB are merged into files of at least 256 MiB, if a partition has enough
/// data. Longer files stay unchanged. If a source file lacks a column, the column is null in the
/// rows of that file.
///
/// The Delta logs of the dataset are first brought up to date, so they contain all files of the
/// dataset.
///
/// # Errors
/// If the location does not contain a dataset, a file cannot be read or written, or the operation
/// is cancelled. Partitions that were finished before the error stay compacted; the other
/// partitions are unchanged.
///
/// # Cost
/// Partitions are compacted in parallel. Memory is bounded by one row group per partition.
pub fn compact(
    dataset: &DatasetLocation,
    logs: DeltaLogs,
    cancel: &CancelFlag,
) -> Result<CompactCounts, CompactError> {
    let has_logs = delta_log::has_logs(dataset)?;
    let partitions = partitions_of(dataset, has_logs)?;
    if partitions.is_empty() {
        return Err(CompactError::NoDataset { location: dataset.clone() });
    }
    if has_logs {
        // Source files that an interrupted compaction left behind are removed first, so that the
        // logs do not include these files.
        partitions.par_iter().try_for_each(|partition| partition.files().map(drop))?;
        // No other process writes to the dataset during a compaction. All files of unfinished
        // writes were therefore left by interrupted processes.
        for path in create_logs(dataset)? {
            dataset.remove(&path)?;
        }
    }
    let compact = |partition: &Partition<'_>| partition.compact(cancel);
    // Exports reject a recording that is already in a compacted file of the table `recordings`, so
    // this table is compacted first.
    let (recordings, others): (Vec<_>, Vec<_>) =
        partitions.iter().partition(|partition| partition.table == Recordings::NAME);
    let mut counts = CompactCounts::default();
    for some in [recordings, others] {
        let done: Vec<_> = some.into_par_iter().map(compact).collect::<Result<_, WriteError>>()?;
        counts = done.into_iter().fold(counts, CompactCounts::plus);
    }
    if logs == DeltaLogs::Create && !has_logs {
        create_logs(dataset)?;
    }
    Ok(counts)
}

/// Returns true if [`compact`] wrote the file with this name. The names of all other files contain
/// a `~`.
pub(super) fn is_compacted(name: &str) -> bool {
    name.starts_with(PREFIX) && !name.contains('~')
}

const PREFIX: &str = "compacted-";
/// Metadata key for the source files of a compacted file. The value contains the name, length in
/// bytes and checksum of each source file.
const MADE_OF: &str = "kprof.made_of";

/// Identity of a file: name, length and checksum. The name is not enough, because another file may
/// get the same name later.
type Fingerprint = (String, u64, u32);
/// Files of at least this length are not merged.
const LONG_ENOUGH_BYTES: u64 = FILE_BYTES / 2;

/// Folder with the files of one table, date and run.
struct Partition<'d> {
    dataset: &'d DatasetLocation,
    table: &'static str,
    folder: String,
    has_log: bool,
}

fn partitions_of(
    dataset: &DatasetLocation,
    has_log: bool,
) -> Result<Vec<Partition<'_>>, WriteError> {
    let mut found = Vec::new();
    for table in schemas().iter().filter(|table| !table.partitions.is_empty()) {
        for folder in partitions(dataset, table.name)? {
            found.push(Partition { dataset, table: table.name, folder, has_log });
        }
    }
    Ok(found)
}

impl Partition<'_> {
    fn compact(&self, cancel: &CancelFlag) -> Result<CompactCounts, WriteError> {
        let files = self.files()?;
        let mut counts = CompactCounts {
            files_before: files.len() as u64,
            bytes_before: files.iter().map(|file| file.byte_count).sum(),
            ..CompactCounts::default()
        };
        let short: Vec<StoredFile> =
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

    /// Returns the files of the partition. First removes source files left by an interrupted
    /// compaction.
    fn files(&self) -> Result<Vec<StoredFile>, WriteError> {
        let listed = parquet_files(self.dataset, &self.folder)?;
        let mut left = Vec::new();
        for file in listed.iter().filter(|file| is_compacted(file.name())) {
            let footer = read_footer(self.dataset, &file.path, file.byte_count)?;
            let made_of =
                key_value(&footer, MADE_OF).and_then(|text| serde_json::from_str(text).ok());
            let mut sources: Vec<Fingerprint> = made_of.unwrap_or_default();
            // Only plain names of files in this folder are accepted, whatever the metadata
            // contains.
            sources.retain(|source| listed.iter().any(|file| file.name() == source.0));
            let mut same = Vec::new();
            for source in sources {
                let path = format!("{}/{}", self.folder, source.0);
                let found = self.fingerprint(&path)?;
                if found == source {
                    same.push(path);
                }
            }
            if !same.is_empty() {
                self.replace(&file.path, &same)?;
                left.extend(same);
            }
        }
        Ok(listed.into_iter().filter(|file| !left.contains(&file.path)).collect())
    }

    /// Removes the source files of a compacted file, first from the log and then from the folder.
    fn replace(&self, compacted: &str, sources: &[String]) -> Result<(), WriteError> {
        if self.has_log {
            let log = DeltaLog::new(self.dataset, self.table);
            let snapshot = log.snapshot()?;
            log.replace(snapshot, &[compacted.to_owned()], sources, Change::Compaction)?;
        }
        sources.iter().try_for_each(|path| self.dataset.remove(path))
    }

    /// Merges files into one file. Returns the number of rows of the new file.
    fn join(&self, inputs: &[StoredFile], cancel: &CancelFlag) -> Result<u64, WriteError> {
        let mut opened = Vec::with_capacity(inputs.len());
        let mut made_of = Vec::with_capacity(inputs.len());
        for StoredFile { path, byte_count } in inputs {
            let columns = columns_of(&read_footer(self.dataset, path, *byte_count)?);
            opened.push(columns.map_err(|error| self.write_refused(path, error))?);
            made_of.push(self.fingerprint(path)?);
        }
        let columns = self.joined_columns(inputs, &opened)?;
        let path = self.free_name()?;
        let made_of = serde_json::json!(made_of).to_string();
        let key_values = vec![KeyValue::new(MADE_OF.to_owned(), made_of)];
        let out = self.dataset.create(&path, cancel)?;
        let refuse = |error: ParquetError| self.write_refused(&path, error);
        let mut out = RowFile::new(out, self.table, &columns, &[], key_values).map_err(refuse)?;
        for input in inputs {
            let file = TableFile::open(self.dataset, &input.path)?;
            append(&file, &columns, &mut out)
                .map_err(|error| self.write_refused(&input.path, error))?;
        }
        let (file, row_count) = out.finish().map_err(refuse)?;
        file.finish()?.publish()?;
        let sources: Vec<String> = inputs.iter().map(|input| input.path.clone()).collect();
        self.replace(&path, &sources)?;
        Ok(row_count)
    }

    fn free_name(&self) -> Result<String, WriteError> {
        let files = parquet_files(self.dataset, &self.folder)?;
        let named = |number: u64| format!("{}/{PREFIX}{number}.parquet", self.folder);
        let is_free = |path: &String| files.iter().all(|file| file.path != *path);
        Ok((0..).map(named).find(is_free).unwrap_or_else(|| named(u64::MAX)))
    }

    fn fingerprint(&self, path: &str) -> Result<Fingerprint, WriteError> {
        let mut file = BufReader::with_capacity(1 << 20, self.dataset.open(path)?);
        let mut read = || {
            let (mut checksum, mut byte_count) = (crc32fast::Hasher::new(), 0_u64);
            loop {
                let bytes = file.fill_buf()?;
                let length = bytes.len();
                if length == 0 {
                    return Ok((file_name(path).to_owned(), byte_count, checksum.finalize()));
                }
                checksum.update(bytes);
                byte_count = byte_count.saturating_add(length as u64);
                file.consume(length);
            }
        };
        read().map_err(|source| self.dataset.refused(path, source))
    }

    fn write_refused(&self, path: &str, error: ParquetError) -> WriteError {
        write_refused(self.dataset, path, error)
    }

    /// Returns the columns of all files in order of first appearance. A column allows nulls if any
    /// file lacks it.
    fn joined_columns(
        &self,
        inputs: &[StoredFile],
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
                        return Err(self.dataset.refused(&input.path, io::Error::other(text)));
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
}

/// Appends the rows of a file.
fn append(
    file: &TableFile,
    columns: &[FileColumn],
    out: &mut RowFile<PartFile>,
) -> Result<(), ParquetError> {
    for group in 0..file.group_count() {
        for (column, cells) in columns.iter().zip(&mut out.cells) {
            file.read(group, column, cells)?;
        }
        out.added(file.row_count(group)?)?;
    }
    Ok(())
}

/// Groups short files. The files of a group have at least [`FILE_BYTES`] in total, except possibly
/// those of the last group.
fn groups_of(files: Vec<StoredFile>) -> Vec<Vec<StoredFile>> {
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
