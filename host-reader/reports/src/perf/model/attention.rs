//! FLOPs that an attention op cannot do without.

use super::attribute::{flag, value};
use crate::perf::row::{OpRow, Tensor};

/// Returns the FLOPs that scaled dot-product attention takes at least; `None` for other ops, and where the
/// file does not tell which keys each query attends to.
///
/// Each query is multiplied with the keys, and the weights with the values: 2 x 2 FLOPs for each element of
/// both. With a causal mask, or if it is not known whether there is one, the lower half of the pairs remains.
pub(super) fn least_flops(row: &OpRow) -> Option<f64> {
    let op_code = &*row.op_code;
    let is_attention = op_code.contains("SDPA") || op_code.contains("ScaledDotProductAttention");
    // They attend to positions, parts of a ring or tensors that their shapes do not tell.
    let others = ["Decode", "Ring", "Joint", "Backward", "Chunked", "Windowed", "Flash", "MLA"];
    if !is_attention || others.iter().any(|other| op_code.contains(other)) {
        return None;
    }
    let is_none =
        |name| value(&row.attributes, name).is_none_or(|of| of.contains("nullopt") || of == "None");
    if !["sliding_window_size", "window_size", "chunk_start_idx"].into_iter().all(is_none) {
        return None;
    }
    let [query, key] = &row.inputs;
    let [batch, heads, queries, width] = sides(query)?;
    let [key_batch, key_heads, keys, key_width] = sides(key)?;
    let [out_batch, out_heads, out_queries, value_width] = sides(&row.output)?;
    let is_alike = [batch, queries] == [out_batch, out_queries]
        && [batch, width] == [key_batch, key_width]
        && heads == out_heads
        && key_heads > 0.0
        && heads % key_heads == 0.0;
    // A causal mask of queries that begin behind the first key leaves more pairs.
    let causal_pairs = queries.min(keys) * queries.min(keys) / 2.0;
    let is_causal = flag(&row.attributes, "is_causal").unwrap_or(true);
    let pairs = if is_causal { causal_pairs } else { queries * keys };
    is_alike.then_some(2.0 * batch * heads * pairs * (width + value_width))
}

/// Returns the sides of a tensor without padding where they are known; `None` if any is unknown.
fn sides(tensor: &Tensor) -> Option<[f64; 4]> {
    let mut sides = [0.0; 4];
    for (side, (logical, padded)) in
        sides.iter_mut().zip(tensor.logical_sides.iter().zip(&tensor.sides))
    {
        *side = logical.or(*padded)? as f64;
    }
    Some(sides)
}
