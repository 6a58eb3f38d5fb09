//! Launches and names of ops, read from the log of TT-Metal's Inspector.
//!
//! # Compatibility
//! With `TT_METAL_INSPECTOR_LOG_RUNTIME_ENTRIES=1`, TT-Metal 0.81.1 appends an entry to
//! `mesh_workloads_log.yaml` whenever it enqueues a workload. An entry contains the name and the
//! parameters of an op. If `TT_METAL_INSPECTOR_CAPTURE_TENSOR_SPECS=1` is also set, the parameters
//! describe the op's tensors. An example of an entry:
//!
//! ```text
//! - runtime_entry:
//!     mesh_workload_id: 7
//!     runtime_id: 1024
//!     name: MatmulDeviceOperation
//!     parameters: '[0]: TensorSpec(logical_shape=Shape([64, 64]),...)'
//!     trace_id: 4294967295
//!     timestamp_ns: 1795486619417272607
//! ```
//!
//! Neither the name nor the parameters are escaped. A colon in the name or a quote in the
//! parameters makes the file invalid as YAML, so this module does not use a YAML parser but reads
//! the file line by line.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
    sync::Arc,
};

/// Name of the log in the Inspector's folder.
pub const LOG_NAME: &str = "mesh_workloads_log.yaml";

/// One entry of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchEntry {
    /// Program id of the launch.
    pub runtime_id: u32,
    /// Number of the workload. All launches of one program have the same workload number.
    pub workload_id: Option<u64>,
    /// Name of the op, such as `MatmulDeviceOperation`.
    pub name: String,
    /// Description of the op's tensors, as TT-Metal prints it.
    pub parameters: String,
    /// Id of the trace that the launch was captured into.
    pub trace_id: Option<u32>,
    /// Time at which the entry was written, on the system's clock; 0 if the entry contains no time.
    pub time_ns: u64,
}

/// Parser of a log that is still being written.
///
/// ```
/// use chip::inspector::LaunchLog;
/// let mut log = LaunchLog::default();
/// log.add("- runtime_entry:\n    mesh_workload_id: 0\n    runtime_id: 7\n    name: Pad");
/// assert_eq!(log.take(), []);
/// log.add("DeviceOperation\n    parameters: ''\n    trace_id: 4294967295\n    timestamp_ns: 1\n");
/// let entries = log.take();
/// assert_eq!((entries[0].runtime_id, &*entries[0].name), (7, "PadDeviceOperation"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct LaunchLog {
    /// Beginning of an incomplete line.
    rest: String,
    open: Option<Fields>,
    entries: Vec<LaunchEntry>,
    malformed_count: u64,
}

/// The fields of an incomplete entry that have been read so far.
#[derive(Clone, Debug, Default)]
struct Fields {
    runtime_id: Option<u32>,
    name: Option<String>,
    /// All other fields of the entry.
    others: LaunchEntry,
}

impl LaunchLog {
    /// Adds text that was appended to the log.
    pub fn add(&mut self, text: &str) {
        self.rest.push_str(text);
        let text = std::mem::take(&mut self.rest);
        let mut lines = text.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            if lines.peek().is_none() && !line.ends_with('\n') {
                line.clone_into(&mut self.rest);
            } else {
                self.line(line.trim_end());
            }
        }
    }

    /// Returns the entries completed since the last call.
    pub fn take(&mut self) -> Vec<LaunchEntry> {
        std::mem::take(&mut self.entries)
    }

    /// Returns the number of malformed entries. In these entries, the id or the name is missing, or
    /// the id is too large for a record.
    #[must_use]
    pub const fn malformed_count(&self) -> u64 {
        self.malformed_count
    }

    fn line(&mut self, line: &str) {
        if line.starts_with("- ") {
            self.open = (line == "- runtime_entry:").then(Fields::default);
            return;
        }
        let Some(field) = line.strip_prefix("    ") else { return };
        let Some(open) = &mut self.open else { return };
        let Some((key, value)) = field.split_once(": ") else { return };
        match key {
            // Parameters may span several lines, some of which look like fields. If a field name
            // occurs more than once, the first occurrence counts.
            "runtime_id" if open.runtime_id.is_none() => open.runtime_id = value.parse().ok(),
            "mesh_workload_id" => open.others.workload_id = value.parse().ok(),
            "name" if open.name.is_none() => open.name = Some(value.to_owned()),
            "parameters" => value.clone_into(&mut open.others.parameters),
            "trace_id" => open.others.trace_id = value.parse().ok().filter(|&id| id != NO_TRACE),
            "timestamp_ns" => self.close(value.parse().unwrap_or(0)),
            _ => {}
        }
    }

    fn close(&mut self, time_ns: u64) {
        let Some(Fields { runtime_id, name, others }) = self.open.take() else { return };
        let id = runtime_id.filter(|&id| id <= RUNTIME_ID_MAX);
        let Some((runtime_id, name)) = id.zip(name) else {
            self.malformed_count = self.malformed_count.saturating_add(1);
            return;
        };
        self.entries.push(LaunchEntry { runtime_id, name, time_ns, ..others });
    }
}

/// Names of the launched programs, by runtime id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpNames {
    /// Names by runtime id. If several programs were launched with the same id, the name of the
    /// last launched program is used.
    pub names: BTreeMap<u32, Arc<str>>,
    /// Number of malformed entries. In these entries, the id or the name is missing, or the id is
    /// too large for a record.
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
        let (mut launches, mut line) = (LaunchLog::default(), Vec::new());
        while next_line(&mut log, &mut line)? {
            launches.add(&String::from_utf8_lossy(&line));
            for LaunchEntry { runtime_id, name, .. } in launches.take() {
                let name = distinct.get(name.as_str()).cloned().unwrap_or_else(|| {
                    let name: Arc<str> = name.into();
                    distinct.insert(Arc::clone(&name));
                    name
                });
                found.names.insert(runtime_id, name);
            }
        }
        found.malformed = launches.malformed_count();
        Ok(found)
    }
}

/// Reads a line into `line`, truncated to [`LINE_BYTES_MAX`]; returns false at the end of the log.
fn next_line(log: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    if log.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', line)? == 0 {
        return Ok(false);
    }
    if line.len() as u64 == LINE_BYTES_MAX && !line.ends_with(b"\n") {
        log.skip_until(b'\n')?;
        line.push(b'\n');
    }
    Ok(true)
}

/// Trace id of a launch outside a trace.
const NO_TRACE: u32 = u32::MAX;
/// Largest runtime id that a record can contain; records have 21 bits for program ids.
const RUNTIME_ID_MAX: u32 = wire::RunHostId::BASE_MAX;
/// Maximum number of bytes that are read of a line. The rest, usually of long parameters, is
/// skipped.
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
