//! Names of ops, read from the log of TT-Metal's Inspector.
//!
//! # Compatibility
//! With `TT_METAL_INSPECTOR_LOG_RUNTIME_ENTRIES=1`, TT-Metal 0.81.1 appends an entry to
//! `mesh_workloads_log.yaml` for each launch of a workload:
//!
//! ```text
//! - runtime_entry:
//!     mesh_workload_id: 7
//!     runtime_id: 1024
//!     name: ttnn::matmul
//!     parameters: 'shape, layout and so on'
//!     trace_id: 4294967295
//!     timestamp_ns: 12345
//! ```
//!
//! Neither the name nor the parameters are escaped. The file is not valid YAML if there is a colon
//! in the name or a quote in the parameters, so this module parses single lines.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
    sync::Arc,
};

/// Name of the log in the Inspector's folder.
pub const LOG_NAME: &str = "mesh_workloads_log.yaml";

/// Names of the launched programs, by runtime id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpNames {
    /// Names by runtime id. If an id was launched several times, this is the name of its last
    /// launch.
    pub names: BTreeMap<u32, Arc<str>>,
    /// Number of entries without an id or a name, or with an id too large for a record.
    pub malformed: u64,
}

impl OpNames {
    /// Reads the log in the Inspector's folder.
    ///
    /// # Errors
    /// If the log is missing or cannot be read.
    pub fn open(folder: &Path) -> io::Result<Self> {
        Self::read(BufReader::new(File::open(folder.join(LOG_NAME))?))
    }

    /// Reads a log.
    ///
    /// # Errors
    /// If reading the log fails.
    pub fn read(mut log: impl BufRead) -> io::Result<Self> {
        let mut found = Self::default();
        let mut distinct: BTreeSet<Arc<str>> = BTreeSet::new();
        let mut entry: Option<Entry> = None;
        let mut line = Vec::new();
        while next_line(&mut log, &mut line)? {
            if line.starts_with(b"- ") {
                found.close(entry.take(), &mut distinct);
                entry = (line.trim_ascii_end() == b"- runtime_entry:").then(Entry::default);
            } else if let Some(entry) = &mut entry {
                entry.add(&line);
            }
        }
        // The last entry counts only if complete: the program may still be writing it.
        if entry.as_ref().is_some_and(|entry| entry.is_whole) {
            found.close(entry, &mut distinct);
        }
        Ok(found)
    }

    fn close(&mut self, entry: Option<Entry>, distinct: &mut BTreeSet<Arc<str>>) {
        let Some(entry) = entry else { return };
        let id = entry.runtime_id.filter(|&id| id <= RUNTIME_ID_MAX);
        let Some((id, name)) = id.zip(entry.name) else {
            self.malformed = self.malformed.saturating_add(1);
            return;
        };
        let name = distinct.get(name.as_str()).cloned().unwrap_or_else(|| {
            let name: Arc<str> = name.into();
            distinct.insert(Arc::clone(&name));
            name
        });
        self.names.insert(id, name);
    }
}

/// An entry that is being parsed.
#[derive(Default)]
struct Entry {
    runtime_id: Option<u32>,
    name: Option<String>,
    /// True once the entry's last field has been read.
    is_whole: bool,
}

impl Entry {
    /// Adds a line. If a field name occurs more than once, the first occurrence counts: later ones
    /// are part of parameters that span several lines.
    fn add(&mut self, line: &[u8]) {
        let Some(field) = line.strip_prefix(b"    ") else { return };
        if let Some(id) = field.strip_prefix(b"runtime_id: ") {
            let id = std::str::from_utf8(id.trim_ascii()).ok().and_then(|id| id.parse().ok());
            self.runtime_id = self.runtime_id.or(id);
        } else if let Some(name) = field.strip_prefix(b"name: ") {
            let name = String::from_utf8_lossy(name.trim_ascii()).into_owned();
            self.name.get_or_insert(name);
        } else if field.starts_with(b"timestamp_ns: ") {
            self.is_whole = true;
        }
    }
}

/// Reads a line, truncated to the limit.
fn next_line(log: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    if log.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', line)? == 0 {
        return Ok(false);
    }
    if !line.ends_with(b"\n") {
        log.skip_until(b'\n')?;
    }
    Ok(true)
}

/// Largest runtime id: records have 21 bits for program ids.
const RUNTIME_ID_MAX: u32 = wire::RunHostId::BASE_MAX;
/// Maximum number of bytes that are kept of each line; parameters may be longer.
const LINE_BYTES_MAX: u64 = 1 << 12;

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: u64, name: &str, parameters: &str) -> String {
        format!(
            "- runtime_entry:\n    mesh_workload_id: 3\n    runtime_id: {id}\n    name: {name}\n    \
             parameters: '{parameters}'\n    trace_id: 4294967295\n    timestamp_ns: 99\n"
        )
    }

    fn names(log: &str) -> (Vec<(u32, String)>, u64) {
        let found = OpNames::read(log.as_bytes()).unwrap();
        let names = found.names.into_iter().map(|(id, name)| (id, name.to_string()));
        (names.collect(), found.malformed)
    }

    #[test]
    fn names_are_found_by_runtime_id_among_other_events() {
        let log = [
            "- mesh_workload_created:\n    mesh_workload_id: 3\n    timestamp_ns: 1\n".to_owned(),
            entry(1024, "ttnn::matmul", "a: 1"),
            "- mesh_workload_set_metadata:\n    mesh_workload_id: 3\n    name: other\n".to_owned(),
            entry(1025, "Softmax: numeric, stable", ""),
        ];
        let expected =
            vec![(1024, "ttnn::matmul".to_owned()), (1025, "Softmax: numeric, stable".to_owned())];
        assert_eq!(names(&log.concat()), (expected, 0));
    }

    #[test]
    fn parameters_are_passed_over_whatever_they_hold() {
        let lines = "shape'\n    name: false\n    runtime_id: 7\n  x";
        let long = "y".repeat(100_000);
        let log = [entry(1, "first", lines), entry(2, "second", &long), entry(3, "third", "")];
        let expected = [(1, "first"), (2, "second"), (3, "third")];
        assert_eq!(names(&log.concat()), (expected.map(|(id, n)| (id, n.to_owned())).into(), 0));
    }

    #[test]
    fn an_entry_that_is_being_written_is_left_for_later() {
        let whole = entry(1, "first", "");
        let torn = entry(2, "sec", "");
        for end in 0..torn.len() - 4 {
            let (names, malformed) = names(&format!("{whole}{}", &torn[..end]));
            assert_eq!((names, malformed), (vec![(1, "first".to_owned())], 0), "{end}");
        }
    }

    #[test]
    fn entries_without_id_or_name_are_counted() {
        let log = [
            entry(1 << 21, "id too large", ""),
            "- runtime_entry:\n    runtime_id: 5\n    timestamp_ns: 1\n".to_owned(),
            "- runtime_entry:\n    runtime_id: x\n    name: a\n    timestamp_ns: 1\n".to_owned(),
            entry(5, "kept", ""),
            entry(5, "kept later", ""),
        ];
        assert_eq!(names(&log.concat()), (vec![(5, "kept later".to_owned())], 3));
        assert_eq!(names(""), (Vec::new(), 0));
    }
}
