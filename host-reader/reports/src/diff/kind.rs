//! Kinds of ops, with the names of different versions folded.

/// Returns the kind of an op: its name without what differs between versions of TT-Metal.
///
/// Namespaces, adapters around an operation, the endings `DeviceOperation`, `Operation`, `DeviceOp`
/// and `Op`, capitals and underscores are left out.
///
/// # Compatibility
/// Versions of TT-Metal until 2024 name an op `Matmul` or `tt::operations::primary::Matmul`, later
/// ones `MatmulDeviceOperation`, and some write the adapter's template around it. Elementwise ops
/// were called `EltwiseBinary` and `EltwiseUnary`; `BinaryNg` took the place of `Binary`, `Conv2d` that
/// of `OptimizedConv` and `OptimizedConvNew`, and `SDPA` and `SdpaDecode` stand for the older names of attention.
///
/// ```
/// use reports::diff::kind_of;
/// assert_eq!(kind_of("MatmulDeviceOperation"), kind_of("tt::operations::primary::Matmul"));
/// assert_eq!(kind_of("MeshDeviceOperationAdapter<ttnn::prim::SoftmaxDeviceOperation>"), "softmax");
/// assert_eq!(kind_of("BinaryNgDeviceOperation"), kind_of("EltwiseBinary"));
/// assert_ne!(kind_of("SparseMatmulDeviceOperation"), kind_of("Matmul"));
/// ```
#[must_use]
pub fn kind_of(name: &str) -> String {
    // The innermost argument of a template is the operation itself.
    let inner = name.rsplit('<').next().unwrap_or(name);
    let inner = inner.trim_end_matches(['>', ' ']);
    let last = inner.rsplit("::").next().unwrap_or(inner).trim();
    let folded: String = last.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect();
    let endings = ["deviceoperation", "operation", "deviceop", "op"];
    let bare = endings.iter().find_map(|ending| folded.strip_suffix(ending));
    let bare = bare.filter(|bare| !bare.is_empty()).unwrap_or(&folded);
    match bare {
        "eltwisebinary" | "binaryng" => "binary".to_owned(),
        "eltwiseunary" => "unary".to_owned(),
        "optimizedconv" | "optimizedconvnew" => "conv2d".to_owned(),
        "scaleddotproductattention" => "sdpa".to_owned(),
        "scaleddotproductattentiondecode" => "sdpadecode".to_owned(),
        _ => bare.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_versions_are_one_kind_and_other_ops_another() {
        for (name, kind) in [
            ("Matmul", "matmul"),
            ("MatmulDeviceOperation", "matmul"),
            ("ttnn::operations::matmul::MatmulDeviceOperation", "matmul"),
            ("LayerNorm", "layernorm"),
            ("layer_norm", "layernorm"),
            ("MinimalMatmulOp", "minimalmatmul"),
            ("SDPAOperation", "sdpa"),
            ("ScaledDotProductAttention", "sdpa"),
            ("ScaledDotProductAttentionDecode", "sdpadecode"),
            ("SdpaDecodeDeviceOperation", "sdpadecode"),
            ("OptimizedConvNew", "conv2d"),
            ("tt::tt_metal::OptimizedConv", "conv2d"),
            ("(torch) contiguous", "(torch) contiguous"),
            ("program 7", "program 7"),
            ("Op", "op"),
            ("", ""),
        ] {
            assert_eq!(kind_of(name), kind, "{name}");
        }
    }
}
