//! Model of dense matrix products.

use super::{ModelContext, Modelled, UNKNOWN_SHAPE, dram_bytes};
use crate::perf::{category::OpCategory, row::OpRow};

/// M, K, N and the sizes of the batch dimensions.
pub(super) struct MatmulShape {
    pub(super) m: u64,
    pub(super) k: u64,
    pub(super) n: u64,
    pub(super) w: u64,
    pub(super) z: u64,
}

impl MatmulShape {
    /// Returns the shape of the matmul in a row; `None` if a dimension of an input or of the output
    /// is unknown.
    pub(super) fn from_row(row: &OpRow) -> Option<Self> {
        let [first, second] = &row.inputs;
        let [w0, z0, m, k] = known(first.sides)?;
        let [w1, z1, _, n] = known(second.sides)?;
        known(row.output.sides)?;
        Some(Self { m, k, n, w: w0.max(w1), z: z0.max(z1) })
    }

    /// Returns the shape that an op multiplies which first gathers its input from other chips, of which the
    /// row has the part of one chip: its weights have all of K, and its output all of M. That of another op is
    /// left as it is.
    fn gathered(self, row: &OpRow) -> Self {
        let [_, second] = &row.inputs;
        let (Some([_, _, rows, _]), Some([_, _, m, _])) =
            (known(second.sides), known(row.output.sides))
        else {
            return self;
        };
        if !OpCategory::waits_for_chips(&row.op_code) {
            return self;
        }
        let is_part = self.k > 0 && rows.checked_rem(self.k) == Some(0);
        Self { m: self.m.max(m), k: if is_part { rows } else { self.k }, ..self }
    }

    /// Formats `M x K x N`.
    pub(super) fn text(&self) -> String {
        format!("{} x {} x {}", self.m, self.k, self.n)
    }
}

fn known(sides: [Option<u64>; 4]) -> Option<[u64; 4]> {
    let [w, z, y, x] = sides;
    Some([w?, z?, y?, x?])
}

/// Models a dense matrix product.
///
/// # Compatibility
/// As in tt-perf-report 1.4.1, the number of operations is 2 x M x K x N x batches. The bytes of
/// each tensor in DRAM count once.
pub(super) fn model(row: &OpRow, context: &ModelContext<'_>) -> Modelled {
    let shape = MatmulShape::from_row(row).map(|shape| match context.is_upstream_exact {
        true => shape,
        false => shape.gathered(row),
    });
    let suffix = shape.as_ref().map_or_else(|| UNKNOWN_SHAPE.to_owned(), suffix);
    let mut modelled = Modelled::from_matmul(suffix, row, context);
    if let Some(shape) = &shape {
        modelled.record(work(shape, row, context), row, context);
    }
    modelled
}

fn suffix(shape: &MatmulShape) -> String {
    match shape.w.saturating_mul(shape.z) {
        0 | 1 => format!(" {}", shape.text()),
        batches => format!(" b={{{batches}}} x {}", shape.text()),
    }
}

/// Returns the numbers of floating-point operations and of DRAM bytes.
fn work(shape: &MatmulShape, row: &OpRow, context: &ModelContext<'_>) -> (f64, f64) {
    let sides = [shape.m, shape.k, shape.n, shape.w, shape.z];
    let products: f64 = sides.iter().map(|&side| side as f64).product();
    let tensors = row.inputs.iter().chain([&row.output]);
    let bytes = tensors.map(|tensor| {
        let sides = tensor.sides.iter().map(|side| side.unwrap_or(0) as f64);
        dram_bytes(tensor, sides.product(), context)
    });
    (products * 2.0, bytes.sum())
}
