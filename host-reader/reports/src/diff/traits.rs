//! What is known of an op besides its name: shapes, and what else may differ between two
//! recordings.

use std::{collections::BTreeMap, sync::Arc};

reader::labelled! {
    /// Property of an op in which two recordings can differ.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Aspect {
        /// Name as recorded; versions of TT-Metal name the same op differently.
        Name = "name",
        /// Device that ran the op.
        Device = "device",
        /// File of the source of a zone.
        Source = "source file",
        /// Sizes of the tensors.
        Shape = "shape",
        /// Element type of a tensor.
        Datatype = "datatype",
        /// Memory of a tensor: DRAM or L1, interleaved or sharded.
        Memory = "memory",
        /// Layout of a tensor: tiles or rows.
        Layout = "layout",
        /// Number of cores.
        Cores = "cores",
        /// Math fidelity.
        Fidelity = "fidelity",
        /// Program configuration.
        ProgramConfig = "program config",
        /// Any other attribute. Both values begin with its name.
        Attribute = "attribute",
    }
}

/// One property of an op that has different values in the two recordings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Difference {
    /// The property.
    pub aspect: Aspect,
    /// Tensor that has the property, such as `input 0`; empty for a property of the op.
    pub tensor: &'static str,
    /// Value in A.
    pub a: Arc<str>,
    /// Value in B.
    pub b: Arc<str>,
}

/// Properties of an op. What is unknown is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OpTraits {
    /// Sizes of the first two inputs and the first output; `None` if unknown.
    pub shapes: Option<String>,
    /// Function of an elementwise op, such as `ADD`; `None` if unknown.
    pub function: Option<String>,
    /// Values of the other properties, by property and tensor.
    pub values: BTreeMap<(Aspect, &'static str), Arc<str>>,
}

/// Tensors whose properties are compared. Ops CSVs of every version have them.
pub(super) const COMPARED_TENSORS: [&str; 3] = ["input 0", "input 1", "output 0"];

impl OpTraits {
    /// Sets a property, unless its text is empty, which means that it is unknown.
    pub(super) fn set(&mut self, aspect: Aspect, tensor: &'static str, value: &str) {
        if !value.is_empty() {
            self.values.insert((aspect, tensor), value.into());
        }
    }

    /// Adds the sizes of a tensor to the shapes.
    pub(super) fn add_shape(&mut self, sides: &[String]) {
        let shapes = self.shapes.get_or_insert_default();
        shapes.push_str(if shapes.is_empty() { "" } else { " " });
        // Most tensors have two dimensions, after ones.
        let ones = sides.iter().take(2).take_while(|side| *side == "1").count();
        shapes.push_str(&sides.get(ones..).unwrap_or(sides).join("x"));
    }

    /// Returns the properties that are known in both ops and differ.
    pub(super) fn differences(&self, other: &Self) -> Vec<Difference> {
        let shapes = self.shapes.as_deref().zip(other.shapes.as_deref());
        let shape = shapes.filter(|(a, b)| a != b).map(|(a, b)| Difference {
            aspect: Aspect::Shape,
            tensor: "",
            a: a.into(),
            b: b.into(),
        });
        let others = self.values.iter().filter_map(|(&(aspect, tensor), a)| {
            let b = other.values.get(&(aspect, tensor)).filter(|b| *b != a)?;
            Some(Difference { aspect, tensor, a: a.clone(), b: b.clone() })
        });
        shape.into_iter().chain(others).collect()
    }
}

/// Returns the name of a memory without the number of its device: `DRAM_INTERLEAVED`.
pub(super) fn memory_name(memory: &str) -> &str {
    let numbered = memory.strip_prefix("DEV_").and_then(|rest| rest.split_once('_'));
    numbered.map_or(memory, |(_, place)| place)
}

/// Returns a value without the names of its type: `TILE` of `Layout::TILE`.
pub(super) fn bare(value: &str) -> &str {
    value.rsplit("::").next().unwrap_or(value)
}
