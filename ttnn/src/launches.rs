//! Launches of ops from the log of TT-Metal's Inspector, and the tensors that the log describes.

pub use chip::inspector::{LaunchEntry, LaunchLog, OpNames};
use serde_json::{Value, json};

/// Returns a description of each tensor in a text, one for each `TensorSpec(...)`.
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

/// Returns the padded and the logical length of each of the last four dimensions, in the format of
/// ops reports.
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

/// Returns the memory that holds a tensor, in the format of ops reports. A tensor is in the same
/// memory on all chips of a mesh, so the result names the first chip.
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
