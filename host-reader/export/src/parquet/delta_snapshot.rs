//! State of a Delta log after some of its commits.

use super::{WriteError, delta_log::DeltaLog, delta_schema::Schema, folders::unescaped};
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

/// State of a log: the files of the table, and the table's metadata.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// Number of the last commit; `None` if there is no log.
    pub(super) version: Option<u64>,
    /// Latest `metaData` action.
    pub(super) metadata: Option<Value>,
    /// Columns of the table, from `metadata`.
    pub(super) schema: Option<Schema>,
    /// Files of the table, with their lengths. The key of a file outside the table's folder is its
    /// URL.
    pub(super) live: BTreeMap<String, u64>,
    /// Files that were removed and have not been added again.
    pub(super) removed: BTreeSet<String>,
}

/// One line of a commit. Lines with actions that have no field here do not affect the state of the
/// log.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Action {
    protocol: Option<Protocol>,
    meta_data: Option<Value>,
    add: Option<NamedFile>,
    remove: Option<NamedFile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Protocol {
    min_reader_version: u32,
    min_writer_version: u32,
}

#[derive(Deserialize)]
struct NamedFile {
    path: String,
    size: Option<u64>,
}

/// Maximum length in bytes of a commit that is read.
const MAX_COMMIT_BYTES: u64 = 256 << 20;

impl Snapshot {
    pub(super) fn next_version(&self) -> u64 {
        self.version.map_or(0, |version| version.saturating_add(1))
    }

    /// Applies the commit with the next number. Returns false if there is no commit with this
    /// number.
    pub(super) fn read_commit(
        &mut self,
        log: DeltaLog<'_>,
        version: u64,
    ) -> Result<bool, WriteError> {
        let path = log.commit_path(version);
        let refuse = |source| log.dataset.refused(&path, source);
        let byte_count = match log.dataset.size_and_time(&path) {
            Ok((byte_count, _)) => byte_count,
            Err(WriteError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        if byte_count > MAX_COMMIT_BYTES {
            let text = format!("expected at most {MAX_COMMIT_BYTES} bytes, found {byte_count}");
            return Err(refuse(io::Error::other(text)));
        }
        let bytes = log.dataset.read(&path, 0..byte_count)?;
        self.add(log.table, &bytes).map_err(|text| refuse(io::Error::other(text)))?;
        self.version = Some(version);
        Ok(true)
    }

    /// Applies the actions of a commit.
    pub(super) fn add(&mut self, table: &str, commit: &[u8]) -> Result<(), String> {
        let lines = commit.split(|&byte| byte == b'\n');
        for (number, line) in (1_usize..).zip(lines) {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let action: Action = serde_json::from_slice(line)
                .map_err(|error| format!("line {number}: expected an action, found {error}"))?;
            self.add_action(table, action)?;
        }
        Ok(())
    }

    fn add_action(&mut self, table: &str, action: Action) -> Result<(), String> {
        if let Some(Protocol { min_reader_version, min_writer_version }) = action.protocol
            && (min_reader_version > 1 || min_writer_version > 2)
        {
            return Err(format!(
                "expected a Delta log of reader version 1 and writer version 2, found \
                 {min_reader_version} and {min_writer_version}"
            ));
        }
        if let Some(metadata) = action.meta_data {
            let appends_only = &metadata["configuration"]["delta.appendOnly"];
            if appends_only == "true" {
                return Err("expected a table whose files may be replaced, found the property \
                            delta.appendOnly"
                    .to_owned());
            }
            self.schema = Some(Schema::parse(&metadata)?);
            self.metadata = Some(metadata);
        }
        if let Some(NamedFile { path, size }) = action.add {
            let path = path_in_dataset(table, &path);
            self.removed.remove(&path);
            let size = size.ok_or_else(|| format!("expected the size of {path}, found none"))?;
            self.live.insert(path, size);
        }
        if let Some(NamedFile { path, .. }) = action.remove {
            let path = path_in_dataset(table, &path);
            self.live.remove(&path);
            self.removed.insert(path);
        }
        Ok(())
    }
}

/// Returns the path of a file relative to the dataset. For a file in another folder, returns the
/// URL of the file.
fn path_in_dataset(table: &str, path: &str) -> String {
    if path.starts_with('/') || path.contains("://") {
        return path.to_owned();
    }
    format!("{table}/{}", unescaped(path))
}
