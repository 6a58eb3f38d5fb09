//! Model of a convolution as the matrix product that implements it.

use super::{
    BoundAnalysis, ModelContext, Modelled,
    attribute::{first_number, flag, pair},
};
use crate::perf::row::OpRow;

/// Models a convolution.
///
/// # Compatibility
/// As in tt-perf-report 1.4.1, M is the output's Y, N is the weights' X, and K is the input's X
/// times the height and width of the window. DRAM is not modelled, because the halo op has already
/// read the input.
pub(super) fn model(row: &OpRow, context: &ModelContext<'_>) -> Modelled {
    let analysis = BoundAnalysis::FlopsOnly;
    let Some([m, k, n]) = shape(row) else { return Modelled::unknown_shape(analysis) };
    let suffix = format!(" {m} x {k} x {n} {}", configuration(row, context.is_upstream_exact));
    let mut modelled = Modelled { suffix, analysis, ..Modelled::default() };
    let [w, z] = batches(row).map(|side| side as f64);
    let flops = m as f64 * k as f64 * n as f64 * w * z * 2.0;
    modelled.record((flops, 0.0), row, context);
    modelled
}

fn shape(row: &OpRow) -> Option<[u64; 3]> {
    let (height, width) = pair(&row.attributes, "window_hw")?;
    let [first, second] = &row.inputs;
    let k = first.sides[3]?.checked_mul(height)?.checked_mul(width)?;
    Some([row.output.sides[2]?, k, second.sides[3]?])
}

fn batches(row: &OpRow) -> [u64; 2] {
    let [first, second] = &row.inputs;
    let ([w_a, z_a, ..], [w_b, z_b, ..]) = (first.sides, second.sides);
    [(w_a, w_b), (z_a, z_b)].map(|(a, b)| a.unwrap_or(1).max(b.unwrap_or(1)))
}

/// Formats the configuration: the block heights, and whether double buffering and split readers are
/// enabled. tt-perf-report takes a flag that the attributes do not have for enabled.
fn configuration(row: &OpRow, is_upstream_exact: bool) -> String {
    let attributes = &row.attributes;
    let per_core = first_number(attributes, "per_core_out_matrix_height_ntile").or_else(|| {
        // Attribute name used in 2024.
        let older = first_number(attributes, "per_core_out_matrix_height_ntiles");
        older.filter(|_| !is_upstream_exact)
    });
    let [per_core, block] = [per_core, first_number(attributes, "act_block_h_ntiles")]
        .map(|tiles| tiles.map_or_else(|| "x".to_owned(), |tiles| tiles.to_string()));
    let [has_double_buffer, has_split_reader] = ["enable_act_double_buffer", "enable_split_reader"]
        .map(|name| flag(attributes, name).unwrap_or(is_upstream_exact));
    format!(
        "[ABH={per_core}|{block}{}{}]",
        if has_double_buffer { " ADB" } else { "" },
        if has_split_reader { " SR" } else { "" },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_that_the_attributes_do_not_have_is_not_shown() {
        let shown = |attributes: &str, is_exact| {
            let row = OpRow { attributes: attributes.into(), ..OpRow::default() };
            configuration(&row, is_exact)
        };
        assert_eq!(shown("{'act_block_h_ntiles': 8}", false), "[ABH=x|x]");
        assert_eq!(shown("act_block_h_ntiles=8", false), "[ABH=x|8]");
        assert_eq!(shown("act_block_h_ntiles=8", true), "[ABH=x|8 ADB SR]");
        let set = "{'enable_act_double_buffer': 'true'; 'enable_split_reader': 'false'}";
        assert_eq!(shown(set, false), "[ABH=x|x ADB]");
    }
}
