//! Header of an ops CSV: the index of each column, and the format version.

use crate::problem::{Position, ProblemLog};
use std::collections::HashMap;

/// Suffix of the headers of shape columns in ops CSVs since September 2025.
const PADDED: &str = "_PAD[LOGICAL]";

/// Header of the column with the kernel durations of ops.
pub(super) const KERNEL_DURATION: &str = "DEVICE KERNEL DURATION [ns]";

/// Columns that a complete report needs, each with the effect if the column is missing.
const WANTED: [(&str, &str); 9] = [
    ("OP TYPE", "signposts and device ops cannot be told from other rows"),
    ("DEVICE ID", "devices are blank, and not merged"),
    ("GLOBAL CALL COUNT", "left blank"),
    ("ATTRIBUTES", "program configurations are unknown"),
    ("HOST START TS", "rows stay in the order of the file"),
    (KERNEL_DURATION, "device times are blank"),
    ("OP TO OP LATENCY [ns]", "gaps are blank"),
    ("CORE COUNT", "cores are blank, and matmuls have no FLOPs %"),
    ("INPUT_0_MEMORY", "the summary cannot tell where input 0 lies"),
];

/// Columns needed in files from the streaming profiler, which contain no data from the host.
const WANTED_OF_STREAMING: &[(&str, &str)] = &[
    ("OP CODE", "ops have the names of their programs"),
    (KERNEL_DURATION, "device times are blank"),
    ("CORE COUNT", "cores are blank"),
];

reader::labelled! {
    /// Format versions of the ops CSV.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
    pub enum OpsCsvFormat {
        /// Programs without names, as written by the streaming profiler of TT-Metal 0.81.
        #[serde(rename = "streaming")]
        Streaming = "streaming",
        /// Plain shape columns.
        #[serde(rename = "v1")]
        V1 = "v1",
        /// Shapes as `physical[logical]`.
        #[serde(rename = "v2")]
        V2 = "v2",
        /// With columns for the architecture and the worker cores.
        #[serde(rename = "v2.1")]
        V2_1 = "v2.1",
    }
}

/// Header of a column, with the column's index in a file.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) title: String,
    /// Index of the column; `None` if the file has no such column.
    pub(super) at: Option<usize>,
}

/// Index of each column by its header.
#[derive(Clone, Debug)]
pub(super) struct Titles {
    index: HashMap<String, usize>,
    /// Number of columns.
    pub(super) count: usize,
    pub(super) format: OpsCsvFormat,
}

impl Titles {
    /// Reads a header. If several columns have the same name, the first one is used.
    pub(super) fn new(record: &csv::StringRecord) -> Self {
        let mut index = HashMap::new();
        for (at, title) in record.iter().enumerate() {
            index.entry(title.trim().to_owned()).or_insert(at);
        }
        let format = format_of(&index);
        Self { index, count: record.len(), format }
    }

    pub(super) fn index(&self, title: &str) -> Option<usize> {
        self.index.get(title).copied()
    }

    /// Returns true if the header belongs to a table of ops.
    pub(super) fn are_of_ops(&self) -> bool {
        self.index.contains_key("OP CODE") || self.format == OpsCsvFormat::Streaming
    }

    /// Returns the column with this header. The result is valid for all rows of the file.
    pub(super) fn column(&self, title: &str) -> Column {
        Column { title: title.to_owned(), at: self.index(title) }
    }

    /// Returns the header of the column with the size of one dimension of a tensor.
    pub(super) fn shape_title(&self, tensor: &str, side: &str) -> String {
        match self.format {
            OpsCsvFormat::Streaming | OpsCsvFormat::V1 => format!("{tensor}_{side}"),
            OpsCsvFormat::V2 | OpsCsvFormat::V2_1 => format!("{tensor}_{side}{PADDED}"),
        }
    }

    /// Adds a problem for each missing column.
    pub(super) fn check(&self, file: &str, line: u64, problems: &mut ProblemLog) {
        let is_streaming = self.format == OpsCsvFormat::Streaming;
        let wanted = if is_streaming { WANTED_OF_STREAMING } else { &WANTED };
        for &(column, effect) in wanted {
            if !self.index.contains_key(column) {
                let place = Position { file, line, column };
                problems.add_deviation(place, "a column of this title", "none", effect);
            }
        }
    }
}

/// Columns that together occur only in the streaming profiler's table.
///
/// # Compatibility
/// `streaming_profiler_ops_csv.cpp` of TT-Metal 0.81.
const STREAMING: [&str; 4] =
    ["DEVICE ID", "GLOBAL CALL COUNT", "EXECUTION", "DEVICE KERNEL START CYCLE"];

fn format_of(index: &HashMap<String, usize>) -> OpsCsvFormat {
    let has_streaming = STREAMING.into_iter().all(|title| index.contains_key(title));
    if has_streaming && !index.contains_key("OP CODE") {
        OpsCsvFormat::Streaming
    } else if index.contains_key("DEVICE ARCH") || index.contains_key("AVAILABLE WORKER CORE COUNT")
    {
        OpsCsvFormat::V2_1
    } else if index.keys().any(|title| title.contains(PADDED)) {
        OpsCsvFormat::V2
    } else {
        OpsCsvFormat::V1
    }
}
