//! Launches of ops, read from the log of TT-Metal's Inspector.
//!
//! # Compatibility
//! With `TT_METAL_INSPECTOR_LOG_RUNTIME_ENTRIES=1`, TT-Metal 0.81.1 appends an entry to
//! `mesh_workloads_log.yaml` whenever it enqueues a workload. The entry includes parameters if
//! `TT_METAL_INSPECTOR_CAPTURE_TENSOR_SPECS=1` is also set:
//!
//! ```text
//! - runtime_entry:
//!     mesh_workload_id: 7
//!     runtime_id: 3
//!     name: MatmulDeviceOperation
//!     parameters: '[0]: TensorSpec(logical_shape=Shape([64, 64]),...)'
//!     trace_id: 4294967295
//!     timestamp_ns: 1795486619417272607
//! ```
//!
//! The log does not escape characters, so it may not be valid YAML. This module parses single lines
//! instead.

use serde_json::{Value, json};

/// Name of the log in the Inspector's folder.
pub const LOG_NAME: &str = "mesh_workloads_log.yaml";

/// One entry of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchEntry {
    /// Program id that the launch carried.
    pub runtime_id: u32,
    /// Number of the workload; all launches of one program have the same number.
    pub workload_id: Option<u64>,
    /// Name of the op, such as `MatmulDeviceOperation`.
    pub name: String,
    /// Input tensors of the op, in the format of ops reports.
    pub inputs: Vec<Value>,
    /// Id of the trace that the launch was captured into.
    pub trace_id: Option<u32>,
    /// Time of the entry on the system's clock; 0 if the entry has none.
    pub time_ns: u64,
}

/// Parser of a log that is still being written.
///
/// ```
/// use ttnn::launches::LaunchLog;
/// let mut log = LaunchLog::default();
/// log.add("- runtime_entry:\n    mesh_workload_id: 0\n    runtime_id: 7\n    name: Pad");
/// assert_eq!(log.take(), []);
/// log.add("DeviceOperation\n    parameters: ''\n    trace_id: 4294967295\n    timestamp_ns: 1\n");
/// let entries = log.take();
/// assert_eq!((entries[0].runtime_id, &*entries[0].name), (7, "PadDeviceOperation"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct LaunchLog {
    /// Text after the last complete line.
    rest: String,
    open: Option<Fields>,
    entries: Vec<LaunchEntry>,
    malformed_count: u64,
}

#[derive(Clone, Debug, Default)]
struct Fields {
    runtime_id: Option<u32>,
    workload_id: Option<u64>,
    name: Option<String>,
    parameters: String,
    trace_id: Option<u32>,
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

    /// Returns the complete entries that were not returned before.
    pub fn take(&mut self) -> Vec<LaunchEntry> {
        std::mem::take(&mut self.entries)
    }

    /// Returns the number of entries without an id or a name, or with an id too large for a record.
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
            "mesh_workload_id" => open.workload_id = value.parse().ok(),
            "name" if open.name.is_none() => open.name = Some(value.to_owned()),
            "parameters" => value.clone_into(&mut open.parameters),
            "trace_id" => open.trace_id = value.parse().ok().filter(|&id| id != NO_TRACE),
            "timestamp_ns" => self.close(value.parse().unwrap_or(0)),
            _ => {}
        }
    }

    fn close(&mut self, time_ns: u64) {
        let Some(fields) = self.open.take() else { return };
        let id = fields.runtime_id.filter(|&id| id <= wire::RunHostId::BASE_MAX);
        let Some((runtime_id, name)) = id.zip(fields.name) else {
            self.malformed_count = self.malformed_count.saturating_add(1);
            return;
        };
        self.entries.push(LaunchEntry {
            runtime_id,
            workload_id: fields.workload_id,
            name,
            inputs: tensors(&fields.parameters),
            trace_id: fields.trace_id,
            time_ns,
        });
    }
}

/// Returns descriptions of all tensors in a text, one for each `TensorSpec(...)` in it.
///
/// ```
/// use ttnn::launches::tensors;
/// let text = "TensorSpec(logical_shape=Shape([1, 40]),tensor_layout=TensorLayout(dtype=\
///     DataType::BFLOAT16,page_config=PageConfig(config=TilePageConfig(tile=Tile(tile_shape=\
///     {32, 32}))),memory_config=MemoryConfig(memory_layout=TensorMemoryLayout::INTERLEAVED,\
///     buffer_type=BufferType::L1),alignment=Alignment([32, 32])))";
/// let tensors = tensors(text);
/// assert_eq!(tensors[0]["shape"]["X"], "64[40]");
/// assert_eq!(tensors[0]["shape"]["Z"], "1[1]");
/// assert_eq!((&tensors[0]["layout"], &tensors[0]["dtype"]), (&"TILE".into(), &"BFLOAT16".into()));
/// assert_eq!(tensors[0]["storage_type"], "DEV_0_L1_INTERLEAVED");
/// ```
#[must_use]
pub fn tensors(text: &str) -> Vec<Value> {
    text.split("TensorSpec(").skip(1).map(tensor).collect()
}

fn tensor(spec: &str) -> Value {
    let shape = numbers(spec, "logical_shape=Shape([");
    let alignment = numbers(spec, "alignment=Alignment([");
    let mut tensor = json!({ "shape": shape_of(&shape, &alignment) });
    let is_tiled = spec.contains("TilePageConfig(");
    let fields = [
        ("layout", Some((if is_tiled { "TILE" } else { "ROW_MAJOR" }).to_owned())),
        ("dtype", word(spec, "DataType::").map(str::to_owned)),
        ("storage_type", memory(spec)),
    ];
    for (key, value) in fields {
        if let (Some(object), Some(value)) = (tensor.as_object_mut(), value) {
            object.insert(key.to_owned(), value.into());
        }
    }
    tensor
}

/// Returns the padded and logical lengths of the last four dimensions, in the format of ops
/// reports.
fn shape_of(shape: &[u64], alignment: &[u64]) -> Value {
    let mut described = serde_json::Map::new();
    for (name, from_last) in [("W", 3), ("Z", 2), ("Y", 1), ("X", 0)] {
        let [length, step] =
            [shape, alignment].map(|list| list.iter().rev().nth(from_last).copied());
        let length = length.unwrap_or(1);
        let step = step.filter(|&step| step > 0).unwrap_or(1);
        let padded = length.checked_next_multiple_of(step).unwrap_or(length);
        described.insert(name.to_owned(), format!("{padded}[{length}]").into());
    }
    described.into()
}

/// Returns the memory of a tensor in the format of ops reports. A tensor is in the same memory on
/// all chips of a mesh, so the result names the first chip.
fn memory(spec: &str) -> Option<String> {
    let buffer = word(spec, "BufferType::")?;
    let layout = word(spec, "TensorMemoryLayout::")?;
    Some(format!("DEV_0_{buffer}_{layout}"))
}

/// Returns the word that follows the text `before`.
fn word<'a>(spec: &'a str, before: &str) -> Option<&'a str> {
    let (_, rest) = spec.split_once(before)?;
    Some(rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or(rest))
        .filter(|word| !word.is_empty())
}

/// Returns the numbers in the list that follows the text `before`.
fn numbers(spec: &str, before: &str) -> Vec<u64> {
    let list = spec.split_once(before).and_then(|(_, rest)| rest.split_once(']'));
    let items = list.map_or("", |(list, _)| list).split(',');
    items.filter_map(|item| item.trim().parse().ok()).collect()
}

/// Trace id that means "no trace".
const NO_TRACE: u32 = u32::MAX;
