//! Categories of ops: compute, data movement, communication between chips, tensor manipulation.
//!
//! The category of each op comes from `op_categories.csv` next to this file.

use std::{collections::HashMap, sync::LazyLock};

static BUILT_IN: LazyLock<HashMap<&'static str, OpCategory>> = LazyLock::new(|| {
    let lines = include_str!("op_categories.csv").lines().skip(1);
    lines.filter_map(parse_line).collect()
});

/// Text in the op code of each op that ran on the host.
const HOST_MARK: &str = "(torch)";

/// Suffix of the names of ops in newer ops CSVs.
const ENDING: &str = "DeviceOperation";

reader::labelled! {
    /// Category of an op.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
    pub enum OpCategory {
        /// Arithmetic.
        Compute = "Compute",
        /// Collective communication between chips.
        #[serde(rename = "CCL")]
        Ccl = "CCL",
        /// Tensor manipulation: layout and shape.
        #[serde(rename = "TM")]
        TensorManipulation = "TM",
        /// Data movement between memories.
        #[serde(rename = "DM")]
        DataMovement = "DM",
        /// Op that runs on the host.
        Host = "Host",
        /// Op that is not in `op_categories.csv`.
        Other = "Other",
    }
}

impl OpCategory {
    /// Returns the category of an op code. Only the first word of the op code is used.
    ///
    /// # Compatibility
    /// The categories are those of tt-perf-report 1.4.1.
    ///
    /// ```
    /// use reports::perf::OpCategory;
    /// assert_eq!(OpCategory::from_op_code("ReshapeDeviceOperation"), OpCategory::TensorManipulation);
    /// assert_eq!(OpCategory::from_op_code("Matmul 32 x 32 x 32"), OpCategory::Compute);
    /// assert_eq!(OpCategory::from_op_code("(torch) contiguous"), OpCategory::Host);
    /// assert_eq!(OpCategory::from_op_code("tt::tt_metal::LayerNorm"), OpCategory::Compute);
    /// assert_eq!(OpCategory::from_op_code("NewOp"), OpCategory::Other);
    /// ```
    #[must_use]
    pub fn from_op_code(op_code: &str) -> Self {
        if is_host_op(op_code) {
            return Self::Host;
        }
        let name = op_code.split_whitespace().next().unwrap_or("");
        // Until 2024, names had namespaces: `tt::tt_metal::LayerNorm`.
        let name = name.rsplit("::").next().unwrap_or(name);
        let known = BUILT_IN.get(name).or_else(|| BUILT_IN.get(name.strip_suffix(ENDING)?));
        known.copied().unwrap_or(Self::Other)
    }
}

/// Returns true if an op code belongs to an op on the host.
pub(super) fn is_host_op(op_code: &str) -> bool {
    op_code.contains(HOST_MARK)
}

fn parse_line(line: &'static str) -> Option<(&'static str, OpCategory)> {
    let (name, category) = line.split_once(',')?;
    let category = OpCategory::ALL.into_iter().find(|known| known.label() == category)?;
    Some((name, category))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_used_once() {
        let line_count = include_str!("op_categories.csv").lines().count() - 1;
        assert_eq!(BUILT_IN.len(), line_count);
        assert!(line_count > 90);
    }

    #[test]
    fn the_ending_of_newer_producers_changes_no_category() {
        for (name, category) in BUILT_IN.iter() {
            assert_eq!(OpCategory::from_op_code(name), *category, "{name}");
            assert_eq!(OpCategory::from_op_code(&format!("{name} 1 x 2")), *category, "{name}");
        }
        assert_eq!(OpCategory::from_op_code("HaloDeviceOperation"), OpCategory::DataMovement);
        assert_eq!(OpCategory::from_op_code("Pad"), OpCategory::Other);
    }
}
