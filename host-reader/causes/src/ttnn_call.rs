//! ttnn calls that launch ops for rearranging or converting tensors.

/// Op codes without the suffix `DeviceOperation`, each with the ttnn call that launches the op.
///
/// # Compatibility
/// TT-Metal's `ttnn/cpp/ttnn/operations`: `core/to_layout/to_layout_op.cpp` chooses among the four
/// tilize and untilize ops, `sliding_window/op_slicing` runs `padded_slice` and `slice_write`
/// around each slice of a convolution, and `core/to_memory_config` chooses among the ops for
/// shards.
const CALLS: [(&str, &str); 20] = [
    ("Tilize", "ttnn.to_layout(x, ttnn.TILE_LAYOUT)"),
    ("TilizeWithValPadding", "ttnn.to_layout(x, ttnn.TILE_LAYOUT) of a shape that needs padding"),
    ("Untilize", "ttnn.to_layout(x, ttnn.ROW_MAJOR_LAYOUT)"),
    ("UntilizeWithUnpadding", "ttnn.to_layout(x, ttnn.ROW_MAJOR_LAYOUT) of a padded shape"),
    ("Transpose", "ttnn.transpose, or a part of ttnn.permute"),
    ("Permute", "ttnn.permute"),
    ("Reshape", "ttnn.reshape"),
    ("ReshapeView", "ttnn.reshape"),
    ("Slice", "ttnn.slice, or indexing such as x[:, 0]"),
    ("PaddedSlice", "ttnn.conv2d that slices its input in DRAM"),
    ("SliceWrite", "ttnn.conv2d that slices its input in DRAM"),
    ("Pad", "ttnn.pad"),
    ("Concat", "ttnn.concat"),
    ("Typecast", "ttnn.typecast"),
    ("Copy", "ttnn.copy, or ttnn.to_memory_config"),
    ("Clone", "ttnn.clone"),
    ("Move", "ttnn.move"),
    ("InterleavedToSharded", "ttnn.to_memory_config to a sharded memory"),
    ("ShardedToInterleaved", "ttnn.to_memory_config to an interleaved memory"),
    ("Reshard", "ttnn.to_memory_config from one sharding to another"),
];

/// Returns the ttnn call that launches an op; `None` if the op is not in the list.
pub(crate) fn ttnn_call(op_code: &str) -> Option<&'static str> {
    let name = op_code.strip_suffix("DeviceOperation").unwrap_or(op_code);
    CALLS.into_iter().find(|(of, _)| *of == name).map(|(_, call)| call)
}

#[cfg(test)]
mod tests {
    use super::ttnn_call;

    #[test]
    fn old_and_new_op_codes_have_the_same_call() {
        let tilize = Some("ttnn.to_layout(x, ttnn.TILE_LAYOUT)");
        assert_eq!([ttnn_call("Tilize"), ttnn_call("TilizeDeviceOperation")], [tilize; 2]);
        assert_eq!(ttnn_call("PermuteDeviceOperation"), Some("ttnn.permute"));
        assert_eq!([ttnn_call("Tilizer"), ttnn_call("Matmul")], [None; 2]);
    }
}
