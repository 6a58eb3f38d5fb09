//! Model of sparse matrix products, in which only some batches are active.

use super::{
    BoundAnalysis, ModelContext, Modelled,
    attribute::{flag, value},
    dram_bytes,
    matmul::MatmulShape,
};
use crate::perf::{cell, row::OpRow};

/// Number of batches, and number of input groups. Each input group selects some of the batches.
struct Batches {
    groups: u64,
    dense: u64,
}

/// Models a sparse matrix product.
///
/// # Compatibility
/// As in tt-perf-report 1.4.1, the attribute `nnz` is the number of active batches. Without this
/// attribute, the number is `--active-experts` times the number of input groups.
pub(super) fn model(row: &OpRow, context: &ModelContext<'_>) -> Modelled {
    let Some(shape) = MatmulShape::from_row(row) else {
        return Modelled::unknown_shape(BoundAnalysis::Full);
    };
    let batches = Batches::from_row(row);
    let named = value(&row.attributes, "nnz").and_then(cell::whole);
    let active = named.or_else(|| Some(context.active_experts?.saturating_mul(batches.groups)));
    let shown = active.map_or_else(|| "?".to_owned(), |active| active.to_string());
    let suffix = format!(" active={shown}/{} x {}", batches.dense, shape.text());
    let mut modelled = Modelled::from_matmul(suffix, row, context);
    modelled.is_active_unknown = active.is_none();
    if let Some(active) = active {
        modelled.record(work(&shape, active, row, context), row, context);
    }
    modelled
}

impl Batches {
    fn from_row(row: &OpRow) -> Self {
        let [batches_a, batches_b] = row.inputs.each_ref().map(|input| {
            let [w, z, ..] = input.sides;
            w.unwrap_or(1).saturating_mul(z.unwrap_or(1))
        });
        let is_a_sparse = flag(&row.attributes, "is_input_a_sparse").unwrap_or(false);
        let is_b_sparse = flag(&row.attributes, "is_input_b_sparse").unwrap_or(true);
        match (is_a_sparse, is_b_sparse) {
            (true, true) => Self { groups: 1, dense: batches_b },
            (true, false) => {
                let groups = batches_a.checked_div(batches_b).unwrap_or(1).max(1);
                Self { groups, dense: groups.saturating_mul(batches_b) }
            }
            (false, true) => Self { groups: batches_a, dense: batches_a.saturating_mul(batches_b) },
            (false, false) => Self { groups: batches_a, dense: batches_a.max(batches_b) },
        }
    }
}

/// Returns the numbers of floating-point operations and of DRAM bytes for the active batches.
fn work(shape: &MatmulShape, active: u64, row: &OpRow, context: &ModelContext<'_>) -> (f64, f64) {
    let [m, k, n, active] = [shape.m, shape.k, shape.n, active].map(|side| side as f64);
    let [first, second] = &row.inputs;
    let bytes = dram_bytes(first, m * k * active, context)
        + dram_bytes(second, k * n * active, context)
        + dram_bytes(&row.output, m * n * active, context);
    (m * k * n * active * 2.0, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::{ArchTable, row::Tensor};

    fn row(attributes: &str) -> OpRow {
        OpRow {
            op_code: "SparseMatmul".into(),
            attributes: attributes.into(),
            math_fidelity: "LoFi".into(),
            core_count: Some(64),
            inputs: [tensor(1, 4, 32, 64), tensor(1, 8, 64, 96)],
            output: tensor(1, 32, 32, 96),
            ..OpRow::default()
        }
    }

    fn tensor(w: u64, z: u64, y: u64, x: u64) -> Tensor {
        Tensor {
            sides: [Some(w), Some(z), Some(y), Some(x)],
            datatype: Some("BFLOAT16".into()),
            memory: Some("DEV_0_DRAM_INTERLEAVED".into()),
            layout: Some("TILE".into()),
            ..Tensor::default()
        }
    }

    fn modelled(attributes: &str, active_experts: Option<u64>) -> Modelled {
        let arch = ArchTable::default();
        let context = ModelContext {
            arch: arch.find("wormhole"),
            active_experts,
            is_upstream_exact: false,
            duration_ns: Some(1000.0),
        };
        model(&row(attributes), &context)
    }

    #[test]
    fn the_number_of_active_batches_comes_from_the_op_then_from_the_user() {
        assert_eq!(modelled("{'nnz': '5'}", Some(2)).suffix, " active=5/32 x 32 x 64 x 96");
        assert_eq!(modelled("{}", Some(2)).suffix, " active=8/32 x 32 x 64 x 96");
        let unknown = modelled("{'nnz': 'std::nullopt'}", None);
        assert_eq!(unknown.suffix, " active=?/32 x 32 x 64 x 96");
        assert_eq!((unknown.tflops, unknown.is_active_unknown), (None, true));
    }

    #[test]
    fn only_active_batches_count() {
        let modelled = modelled("{'nnz': 5}", None);
        // 32 * 64 * 96 products in each of 5 batches in one microsecond.
        let tflops = 32.0 * 64.0 * 96.0 * 5.0 * 2.0 / 1e-6 / 1e12;
        assert!((modelled.tflops.unwrap() / tflops - 1.0).abs() < 1e-12);
        let bytes = f64::from((32 * 64 + 64 * 96 + 32 * 96) * 5 * 2);
        assert!((modelled.dram_bytes.unwrap() - bytes).abs() < 1e-9);
    }

    #[test]
    fn sparse_inputs_change_what_dense_means() {
        let dense = |attributes: &str| modelled(attributes, Some(1)).suffix;
        let a = "'is_input_a_sparse': 'true'";
        assert_eq!(dense(&format!("{{{a}}}")), " active=1/8 x 32 x 64 x 96");
        let only_a = format!("{{{a}; 'is_input_b_sparse': 'false'}}");
        assert_eq!(dense(&only_a), " active=1/8 x 32 x 64 x 96");
        assert_eq!(dense("{'is_input_b_sparse': 'false'}"), " active=4/8 x 32 x 64 x 96");
    }
}
