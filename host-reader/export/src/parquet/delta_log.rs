//! Delta Lake logs. A log lists the files that contain the current rows of a table, and the columns
//! of the table.
//!
//! Each table of a dataset is a separate Delta table. The log of a table is the folder
//! `_delta_log`, with a numbered file for each commit. A commit adds and removes files in one
//! atomic step, because a file with the next number is created only if no other process has created
//! it. Readers of the log therefore see either all files of an export or none, and a killed export
//! leaves the table unchanged.
//!
//! | question | module |
//! |---|---|
//! | what does a log contain? | [`delta_snapshot`](super::delta_snapshot) |
//! | what does a log contain about a file? | [`delta_file`](super::delta_file) |
//! | which types do the columns have? | [`delta_schema`](super::delta_schema) |
//!
//! # Compatibility
//! `PROTOCOL.md` of the Delta Lake project: reader version 1, writer version 2. Checkpoints are
//! neither written nor read.

use super::{
    WriteError,
    delta_file::{AddedFile, encoded_path, partition_values},
    delta_schema::{Schema, schema_of},
    delta_snapshot::Snapshot,
    folders::{export_and_number, parquet_files, partitions},
    location::DatasetLocation,
    rows::SCHEMA_VERSION,
};
use ::tables::{Recordings, Table as _};
use chrono::Utc;
use rayon::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

/// Choice of the tables of a dataset that get a Delta log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeltaLogs {
    /// Existing logs of the dataset are continued.
    #[default]
    Continue,
    /// All tables get a log.
    Create,
}

/// Effect of a commit on a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Rows are added or replaced.
    Write,
    /// The same rows move to other files.
    Compaction,
}

/// Log of one table.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeltaLog<'d> {
    pub(super) dataset: &'d DatasetLocation,
    pub(super) table: &'static str,
}

/// Folder of a table's log.
pub(super) const LOG_FOLDER: &str = "_delta_log";
/// Maximum number of commits by other processes while this process tries to make one commit.
const MAX_ATTEMPTS: usize = 10_000;

/// Returns true if a dataset has logs.
///
/// The table `recordings` gets its log after all other tables, so only the log of this table is
/// looked up.
pub(super) fn has_logs(dataset: &DatasetLocation) -> Result<bool, WriteError> {
    let log = DeltaLog::new(dataset, Recordings::NAME);
    Ok(log.commits()?.is_some())
}

impl<'d> DeltaLog<'d> {
    pub(super) const fn new(dataset: &'d DatasetLocation, table: &'static str) -> Self {
        Self { dataset, table }
    }

    /// Makes a commit that adds the files `added` and removes the files `removed`, which were
    /// replaced.
    ///
    /// If the table has no log yet, creates a log of all files of the table.
    pub(super) fn replace(
        self,
        snapshot: Snapshot,
        added: &[String],
        removed: &[String],
        change: Change,
    ) -> Result<(), WriteError> {
        let added = match snapshot.version {
            Some(_) => added.to_vec(),
            None => {
                let files = self.files()?.into_keys();
                files.filter(|file| !removed.contains(file)).collect()
            }
        };
        self.commit(snapshot, &added, removed, change)
    }

    /// Commits the differences between the log and the files of the table.
    ///
    /// Returns the paths of files of unfinished writes, which are not added to the log. A file
    /// counts as unfinished if a commit in the log has removed the file, or if the log contains
    /// other files of the same export but not this file.
    pub(super) fn bring_up_to_date(self) -> Result<Vec<String>, WriteError> {
        let snapshot = self.snapshot()?;
        let files = self.files()?;
        let exports: BTreeSet<_> = snapshot
            .live
            .keys()
            .filter(|path| files.contains_key(*path))
            .filter_map(|path| export(path))
            .collect();
        let is_unfinished = |path: &String| {
            let is_live = snapshot.live.contains_key(path);
            let is_replaced = export(path).is_some_and(|export| exports.contains(&export));
            !is_live && (snapshot.removed.contains(path) || is_replaced)
        };
        let (unfinished, current): (Vec<_>, Vec<_>) =
            files.iter().partition(|(path, _)| is_unfinished(path));
        let added: Vec<String> = current
            .into_iter()
            .filter(|&(path, byte_count)| snapshot.live.get(path) != Some(byte_count))
            .map(|(path, _)| path.clone())
            .collect();
        let own = snapshot.live.keys().filter(|path| self.is_own(path));
        let removed = own.filter(|path| !files.contains_key(*path)).cloned();
        let removed: Vec<String> = removed.collect();
        let unfinished: Vec<String> =
            unfinished.into_iter().map(|(path, _)| path.clone()).collect();
        self.commit(snapshot, &added, &removed, Change::Write)?;
        Ok(unfinished)
    }

    /// Returns true if a path in the log is in the table's folder.
    fn is_own(self, path: &str) -> bool {
        path.strip_prefix(self.table).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Returns the table's files and their lengths.
    pub(super) fn files(self) -> Result<BTreeMap<String, u64>, WriteError> {
        let mut files = BTreeMap::new();
        for folder in partitions(self.dataset, self.table)? {
            let found = parquet_files(self.dataset, &folder)?;
            files.extend(found.into_iter().map(|file| (file.path, file.byte_count)));
        }
        Ok(files)
    }

    fn commit(
        self,
        mut snapshot: Snapshot,
        added: &[String],
        removed: &[String],
        change: Change,
    ) -> Result<(), WriteError> {
        let described = added.par_iter().map(|path| AddedFile::read(self.dataset, path));
        let described: Vec<AddedFile> = described.collect::<Result<_, WriteError>>()?;
        for _ in 0..MAX_ATTEMPTS {
            let actions = self.actions(&snapshot, &described, removed, change)?;
            let Some(actions) = actions else { return Ok(()) };
            let version = snapshot.next_version();
            if self.dataset.create_new(&self.commit_path(version), actions.as_bytes())? {
                return Ok(());
            }
            // Another process has made a commit with this number. The other commit may have added
            // the same columns or removed the same files.
            if !snapshot.read_commit(self, version)? {
                return Err(self.refused("the store says that a commit exists, and has none"));
            }
        }
        Err(self.refused("other processes write commits faster than this one"))
    }

    /// Returns the lines of a commit; `None` if nothing has changed.
    fn actions(
        self,
        snapshot: &Snapshot,
        added: &[AddedFile],
        removed: &[String],
        change: Change,
    ) -> Result<Option<String>, WriteError> {
        let now_ms = Utc::now().timestamp_millis();
        let is_data_change = change == Change::Write;
        let mut actions = Vec::new();
        let mut schema = snapshot.schema.clone().unwrap_or_else(|| schema_of(self.table));
        let known = schema.len();
        for file in added {
            schema.add_columns(&file.columns).map_err(|text| self.refused(&text))?;
        }
        match snapshot.metadata.clone() {
            None => {
                actions.push(json!({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}));
                actions.push(json!({"metaData": self.new_metadata(&schema, now_ms)}));
            }
            Some(mut metadata) if schema.len() > known => {
                metadata["schemaString"] = schema.to_text().into();
                actions.push(json!({ "metaData": metadata }));
            }
            Some(_) => {}
        }
        let added =
            added.iter().filter(|file| snapshot.live.get(&file.path) != Some(&file.byte_count));
        actions.extend(added.map(|file| file.action(self.table, is_data_change)));
        for path in removed {
            if let Some(byte_count) = snapshot.live.get(path) {
                actions.push(json!({"remove": {
                    "path": encoded_path(self.table, path),
                    "deletionTimestamp": now_ms,
                    "dataChange": is_data_change,
                    "extendedFileMetadata": true,
                    "partitionValues": partition_values(path),
                    "size": byte_count,
                }}));
            }
        }
        if actions.is_empty() {
            return Ok(None);
        }
        let operation = match (change, snapshot.version) {
            (_, None) => "CREATE TABLE",
            (Change::Write, Some(_)) => "WRITE",
            (Change::Compaction, Some(_)) => "OPTIMIZE",
        };
        let info = json!({"commitInfo": {
            "timestamp": now_ms,
            "operation": operation,
            "operationParameters": {},
            "engineInfo": concat!("kprof ", env!("CARGO_PKG_VERSION")),
        }});
        actions.insert(0, info);
        Ok(Some(actions.iter().map(|action| format!("{action}\n")).collect()))
    }

    fn new_metadata(self, schema: &Schema, now_ms: i64) -> Value {
        json!({
            "id": self.new_id(now_ms),
            "name": self.table,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema.to_text(),
            "partitionColumns": ["date", "run"],
            "configuration": {"kprof.schema": SCHEMA_VERSION.to_string()},
            "createdTime": now_ms,
        })
    }

    /// Returns an id for a new table: a UUID of version 8.
    fn new_id(self, now_ms: i64) -> String {
        let seed = format!("{} {} {now_ms} {}", self.dataset, self.table, std::process::id());
        let digest = Sha256::digest(seed.as_bytes());
        let mut bytes = [0_u8; 16];
        bytes.iter_mut().zip(digest.iter()).for_each(|(byte, &digest)| *byte = digest);
        let id = (u128::from_be_bytes(bytes) & !(0xF << 76 | 0x3 << 62)) | 0x8 << 76 | 0x2 << 62;
        let digits = format!("{id:032x}");
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32];
        let parts = parts.map(|part| digits.get(part).unwrap_or_default());
        parts.join("-")
    }

    /// Reads the log.
    pub(super) fn snapshot(self) -> Result<Snapshot, WriteError> {
        let mut snapshot = Snapshot::default();
        let Some(last) = self.commits()? else { return Ok(snapshot) };
        for version in 0..=last {
            if !snapshot.read_commit(self, version)? {
                return Err(self.refused(&format!(
                    "expected commit {version} of a Delta log, found a log without it; kprof does \
                     not read checkpoints"
                )));
            }
        }
        Ok(snapshot)
    }

    /// Returns the number of the last commit; `None` if there is no commit.
    fn commits(self) -> Result<Option<u64>, WriteError> {
        let folder = format!("{}/{LOG_FOLDER}", self.table);
        let files = self.dataset.files(&folder)?;
        Ok(files.iter().filter_map(|file| commit_number(file.name())).max())
    }

    pub(super) fn commit_path(self, version: u64) -> String {
        format!("{}/{LOG_FOLDER}/{version:020}.json", self.table)
    }

    fn refused(self, text: &str) -> WriteError {
        let folder = format!("{}/{LOG_FOLDER}", self.table);
        self.dataset.refused(&folder, io::Error::other(text.to_owned()))
    }
}

/// Returns the commit number in a file name of 20 digits.
fn commit_number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".json")?;
    let is_number = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

/// Returns the folder of a file, and the name of the export that wrote the file.
fn export(path: &str) -> Option<(&str, &str)> {
    let (folder, _) = path.rsplit_once('/')?;
    let (export, _) = export_and_number(path)?;
    Some((folder, export))
}
