//! Categories of ops: compute, data movement, communication between chips, tensor manipulation.
//!
//! Words of an op's name tell collectives; the category of other ops comes from `op_categories.csv` next
//! to this file.

use std::{collections::HashMap, sync::LazyLock};

static BUILT_IN: LazyLock<HashMap<&'static str, OpCategory>> = LazyLock::new(|| {
    let lines = include_str!("op_categories.csv").lines().skip(1);
    lines.filter_map(parse_line).collect()
});

/// The same categories by names as ttnn writes its functions: `layernorm` for `ttnn.layer_norm`.
static BY_FUNCTION: LazyLock<HashMap<String, OpCategory>> = LazyLock::new(|| {
    let of_ops = BUILT_IN.iter().map(|(name, category)| {
        (name.strip_suffix(ENDING).unwrap_or(name).to_lowercase(), *category)
    });
    let of_functions = FUNCTIONS
        .iter()
        .flat_map(|(category, names)| names.iter().map(|name| (name.replace('_', ""), *category)));
    of_ops.chain(of_functions).collect()
});

/// Functions of ttnn that have another name than their ops.
///
/// # Compatibility
/// ttnn's Python functions; compilers of models, such as tt-mlir, name ops by them.
const FUNCTIONS: [(OpCategory, &[&str]); 3] = [
    (
        OpCategory::Compute,
        &[
            "abs",
            "add",
            "avg_pool2d",
            "clamp",
            "cos",
            "divide",
            "embedding",
            "eq",
            "erf",
            "exp",
            "ge",
            "gelu",
            "gt",
            "le",
            "leaky_relu",
            "linear",
            "log",
            "logical_and",
            "logical_not",
            "logical_or",
            "lt",
            "max",
            "max_pool2d",
            "maximum",
            "mean",
            "min",
            "minimum",
            "multiply",
            "ne",
            "neg",
            "pow",
            "prod",
            "reciprocal",
            "relu",
            "rms_norm",
            "rsqrt",
            "scaled_dot_product_attention_decode",
            "sigmoid",
            "silu",
            "sin",
            "sqrt",
            "sub",
            "subtract",
            "sum",
            "tanh",
            "topk",
        ],
    ),
    (OpCategory::TensorManipulation, &["pad", "squeeze", "to_layout", "unsqueeze"]),
    (OpCategory::DataMovement, &["to_memory_config"]),
];

/// Words of a name, in their order, that tell a collective.
///
/// # Compatibility
/// Ops of TT-Metal's `ttnn/cpp/ttnn/operations/ccl` and `experimental/ccl`. An op that another one is
/// fused with has the words of both: `RMSAllGather`, `LlamaReduceScatterCreateHeads`.
const COLLECTIVE_WORDS: [&[&str]; 11] = [
    &["all", "gather"],
    &["all", "reduce"],
    &["all", "to", "all"],
    &["all", "broadcast"],
    &["reduce", "scatter"],
    &["reduce", "to", "all"],
    &["reduce", "to", "root"],
    &["point", "to", "point"],
    &["neighbor", "pad"],
    // Attention that passes keys and values around a ring of chips within the op.
    &["ring", "joint"],
    &["ring", "attention"],
];

/// Words of a name that tell an op that computes, if the table does not know it.
///
/// # Compatibility
/// Ops of ttnn whose names vary: `SDPAForwardDeviceOperation`, `MinimalMatmulDeviceOperation`.
const COMPUTE_WORDS: [&[&str]; 8] = [
    &["matmul"],
    &["sdpa"],
    &["scaled", "dot", "product", "attention"],
    &["layer", "norm"],
    &["layernorm"],
    &["rms", "norm"],
    &["rmsnorm"],
    &["rotary", "embedding"],
];

/// Ends of names behind an underscore that abbreviate a collective, as in `Matmul_RS`.
const COLLECTIVE_ENDS: [&str; 3] = ["AG", "AR", "RS"];

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
    /// The categories are those of tt-perf-report 1.4.1, except for collectives that it does not know, for
    /// ops that compute and communicate in one, and for names of ttnn's functions.
    ///
    /// ```
    /// use reports::perf::OpCategory;
    /// assert_eq!(OpCategory::from_op_code("ReshapeDeviceOperation"), OpCategory::TensorManipulation);
    /// assert_eq!(OpCategory::from_op_code("Matmul 32 x 32 x 32"), OpCategory::Compute);
    /// assert_eq!(OpCategory::from_op_code("(torch) contiguous"), OpCategory::Host);
    /// assert_eq!(OpCategory::from_op_code("tt::tt_metal::LayerNorm"), OpCategory::Compute);
    /// assert_eq!(OpCategory::from_op_code("RMSAllGather"), OpCategory::Ccl);
    /// assert_eq!(OpCategory::from_op_code("ttnn.matmul"), OpCategory::Compute);
    /// assert_eq!(OpCategory::from_op_code("NewOp"), OpCategory::Other);
    /// ```
    #[must_use]
    pub fn from_op_code(op_code: &str) -> Self {
        if is_host_op(op_code) {
            return Self::Host;
        }
        let name = name_of(op_code);
        match (is_collective(name), computes(name)) {
            (true, false) => return Self::Ccl,
            // What it sends is a part of its work.
            (true, true) => return Self::Compute,
            (false, _) => {}
        }
        let function = || {
            let name = name.rsplit('.').next().unwrap_or(name);
            let is_function = !name.chars().any(char::is_uppercase);
            BY_FUNCTION.get(&name.replace('_', "")).filter(|_| is_function)
        };
        let known = in_table(name).or_else(function).copied();
        known.unwrap_or_else(|| if computes(name) { Self::Compute } else { Self::Other })
    }

    /// Returns true if an op waits for other chips within itself: a collective, or an op that computes and
    /// communicates in one.
    ///
    /// ```
    /// use reports::perf::OpCategory;
    /// for name in ["AllGatherDeviceOperation", "RingJointSDPADeviceOperation", "MatmulReduceScatterAsync"] {
    ///     assert!(OpCategory::waits_for_chips(name));
    /// }
    /// assert_eq!(OpCategory::from_op_code("MatmulReduceScatterAsync"), OpCategory::Compute);
    /// assert!(!OpCategory::waits_for_chips("MatmulDeviceOperation"));
    /// ```
    #[must_use]
    pub fn waits_for_chips(op_code: &str) -> bool {
        !is_host_op(op_code) && is_collective(name_of(op_code))
    }

    /// Returns the category that tt-perf-report gives an op code.
    pub(super) fn of_tt_perf_report(op_code: &str) -> Self {
        match is_host_op(op_code) {
            true => Self::Host,
            false => in_table(name_of(op_code)).copied().unwrap_or(Self::Other),
        }
    }
}

/// Returns the first word of an op code without its namespaces, which names had until 2024:
/// `tt::tt_metal::LayerNorm`.
fn name_of(op_code: &str) -> &str {
    let name = op_code.split_whitespace().next().unwrap_or("");
    name.rsplit("::").next().unwrap_or(name)
}

fn in_table(name: &str) -> Option<&'static OpCategory> {
    BUILT_IN.get(name).or_else(|| BUILT_IN.get(name.strip_suffix(ENDING)?))
}

/// Returns true if the words of a name tell an op that computes.
fn computes(name: &str) -> bool {
    let words = words_of(name);
    COMPUTE_WORDS.iter().any(|of| place_of(of, &words).is_some())
}

fn is_collective(name: &str) -> bool {
    let words = words_of(name);
    let has = |of: &&[&str]| {
        let before = place_of(of, &words).map(|at| at.checked_sub(1).and_then(|at| words.get(at)));
        // `LayerNormPreAllGather` computes what another op gathers.
        before.is_some_and(|word| word.is_none_or(|word| word != "pre" && word != "post"))
    };
    let end = name.strip_suffix(ENDING).unwrap_or(name).rsplit_once('_');
    COLLECTIVE_WORDS.iter().any(has) || end.is_some_and(|(_, end)| COLLECTIVE_ENDS.contains(&end))
}

/// Returns the index at which words stand in a name, in their order.
fn place_of(words: &[&str], name: &[String]) -> Option<usize> {
    name.windows(words.len()).position(|part| part.iter().eq(words.iter()))
}

/// Splits a name at underscores, points and capitals into words in lower case: `MoEAllGather` into `mo`, `e`,
/// `all` and `gather`.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let letters: Vec<char> = name.chars().collect();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| letters.get(at));
        let after = at.checked_add(1).and_then(|at| letters.get(at));
        let begins = letter.is_uppercase()
            && (before.is_some_and(|of| !of.is_uppercase())
                || after.is_some_and(|of| of.is_lowercase()));
        if begins || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
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
    fn words_of_a_name_tell_collectives() {
        let collectives = "RMSAllGather LlamaReduceScatterDeviceOperation \
            LlamaReduceScatterCreateHeadsDeviceOperation ttnn.all_gather ttnn.reduce_scatter \
            RingAttentionAllGatherAsync AllToAllDispatchDeviceOperation all_to_all_combine \
            DeepseekMoEReduceScatter AllBroadcast AllReduceCreateQkvHeads PointToPoint \
            ttnn::experimental::all_reduce_async NeighborPadAsync ReduceToRootOp";
        for name in collectives.split_whitespace() {
            assert_eq!(OpCategory::from_op_code(name), OpCategory::Ccl, "{name}");
            assert!(OpCategory::waits_for_chips(name), "{name}");
        }
        let fused = "AllGatherMatmul Matmul_RS MatmulReduceScatterAsyncDeviceOperation \
            LlamaReduceScatterMatmul RingJointSDPADeviceOperation ring_joint_scaled_dot_product_attention";
        for name in fused.split_whitespace() {
            assert_eq!(OpCategory::from_op_code(name), OpCategory::Compute, "{name}");
            assert!(OpCategory::waits_for_chips(name), "{name}");
        }
        let others = "Gather GatherDeviceOperation Scatter Reduce AllClose ReduceScatterless \
            ScatterReduce BroadcastTo Matmul_RSQRT Matmul_rs CARS wall_gathering \
            LayerNormPreAllGatherDeviceOperation LayerNormPostAllGather rms_norm_pre_all_gather";
        for name in others.split_whitespace() {
            assert_ne!(OpCategory::from_op_code(name), OpCategory::Ccl, "{name}");
            assert!(!OpCategory::waits_for_chips(name), "{name}");
        }
        assert_eq!(OpCategory::of_tt_perf_report("RMSAllGather"), OpCategory::Compute);
        assert_eq!(OpCategory::of_tt_perf_report("Matmul_RS"), OpCategory::Other);
    }

    #[test]
    fn functions_of_ttnn_have_the_categories_of_their_ops() {
        let of = OpCategory::from_op_code;
        for name in ["ttnn.matmul", "ttnn.layer_norm", "ttnn.add", "ttnn.softmax", "ttnn.conv2d"] {
            assert_eq!(of(name), OpCategory::Compute, "{name}");
        }
        for name in [
            "RingDistributedSDPADeviceOperation",
            "MinimalMatmulDeviceOperation",
            "rms_norm_pre_all_gather",
        ] {
            assert_eq!(of(name), OpCategory::Compute, "{name}");
        }
        assert_eq!(of("ttnn.permute"), OpCategory::TensorManipulation);
        assert_eq!(of("ttnn.pad"), OpCategory::TensorManipulation);
        assert_eq!(of("ttnn.to_memory_config"), OpCategory::DataMovement);
        assert_eq!([of("ttnn.no_such_op"), of("Add"), of("")], [OpCategory::Other; 3]);
    }

    #[test]
    fn the_ending_of_newer_producers_changes_no_category() {
        for (name, category) in BUILT_IN.iter() {
            assert_eq!(OpCategory::of_tt_perf_report(name), *category, "{name}");
            let own = OpCategory::from_op_code(name);
            assert!(own == *category || own == OpCategory::Ccl, "{name}");
            for code in [format!("{name} 1 x 2"), format!("{name}{ENDING}")] {
                assert_eq!(OpCategory::from_op_code(&code), own, "{name}");
            }
        }
        assert_eq!(OpCategory::from_op_code("HaloDeviceOperation"), OpCategory::DataMovement);
        assert_eq!(OpCategory::from_op_code("Pad"), OpCategory::Other);
    }
}
