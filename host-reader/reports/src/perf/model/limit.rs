//! Minimum time of an op, from its FLOPs and DRAM bytes at the chip's peak rates.

use super::{MathFidelity, ModelContext, Modelled, dram_bytes};
use crate::perf::{fidelity::sufficient_fidelity, row::OpRow};

/// Minimum time of an op with a given shape on all cores of its chip.
///
/// The limit is the longer of two times: the time for the op's FLOPs, and the time for its DRAM
/// reads and writes. It is a lower bound, because it leaves out bytes that are read twice and
/// operations of ops without a model.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct ShapeLimit {
    /// Time for the op's FLOPs if all available cores compute at their peak speed, with the lowest
    /// math fidelity that its element types need; `None` if FLOPs are not modelled.
    pub flops_us: Option<f64>,
    /// Time for the op's DRAM reads and writes at the chip's bandwidth; `None` if no tensor is in
    /// DRAM or the bytes are not modelled.
    pub dram_us: Option<f64>,
}

impl ShapeLimit {
    /// Computes the limit of an op; returns `None` if neither the time for its FLOPs nor the
    /// time for its DRAM bytes is known.
    pub(in crate::perf) fn from_row(
        row: &OpRow,
        modelled: &Modelled,
        available_cores: Option<u64>,
        context: &ModelContext<'_>,
    ) -> Option<Self> {
        let arch = context.arch?;
        let flops_us = modelled.flops.and_then(|flops| {
            let cores = available_cores.max(row.core_count)?;
            let fidelity =
                sufficient_fidelity(row).or_else(|| MathFidelity::from_name(&row.math_fidelity))?;
            Some(flops / (arch.tflops_per_core(fidelity) * 1e6 * cores as f64))
        });
        let bytes = modelled.dram_bytes.or_else(|| moved_bytes(row, modelled, context));
        let dram_us = bytes.map(|bytes| bytes / (arch.dram_gb_per_s * 1e3));
        let limit = Self { flops_us, dram_us };
        limit.us().is_some().then_some(limit)
    }

    /// Returns the longer of the two times, in microseconds.
    #[must_use]
    pub fn us(&self) -> Option<f64> {
        match (self.flops_us, self.dram_us) {
            (Some(flops), Some(dram)) => Some(flops.max(dram)),
            (flops, dram) => flops.or(dram),
        }
    }
}

/// Returns the minimum number of bytes that an op without a model moves.
///
/// The op reads its first input and writes its output; tensors outside DRAM do not count. Both
/// tensors are assumed to have as many elements as the smaller one, because slices read only a part
/// of their input, and updates write only a part of their output.
fn moved_bytes(row: &OpRow, modelled: &Modelled, context: &ModelContext<'_>) -> Option<f64> {
    if modelled.analysis != super::BoundAnalysis::None {
        return None;
    }
    let [input, _] = &row.inputs;
    let count = input.element_count()?.min(row.output.element_count()?) as f64;
    let bytes = dram_bytes(input, count, context) + dram_bytes(&row.output, count, context);
    (bytes > 0.0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use crate::perf::{PerfOptions, PerfReport, read_ops_csv};

    const TITLES: &str = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,MATH FIDELITY,CORE COUNT,\
        AVAILABLE WORKER CORE COUNT,DEVICE KERNEL DURATION [ns],\
        INPUT_0_W_PAD[LOGICAL],INPUT_0_Z_PAD[LOGICAL],INPUT_0_Y_PAD[LOGICAL],INPUT_0_X_PAD[LOGICAL],\
        INPUT_0_DATATYPE,INPUT_0_MEMORY,\
        INPUT_1_W_PAD[LOGICAL],INPUT_1_Z_PAD[LOGICAL],INPUT_1_Y_PAD[LOGICAL],INPUT_1_X_PAD[LOGICAL],\
        INPUT_1_DATATYPE,INPUT_1_MEMORY,\
        OUTPUT_0_W_PAD[LOGICAL],OUTPUT_0_Z_PAD[LOGICAL],OUTPUT_0_Y_PAD[LOGICAL],\
        OUTPUT_0_X_PAD[LOGICAL],OUTPUT_0_DATATYPE,OUTPUT_0_MEMORY\n";

    fn limits(row: &str) -> Option<(Option<f64>, Option<f64>)> {
        let text = format!("{TITLES}{row}\n");
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        let report = PerfReport::new(vec![csv], &PerfOptions::default()).unwrap();
        report.rows[0].limit.map(|limit| (limit.flops_us, limit.dram_us))
    }

    fn near(found: Option<f64>, expected: f64) {
        assert!((found.unwrap() / expected - 1.0).abs() < 1e-9, "{found:?} {expected}");
    }

    #[test]
    fn a_matmul_on_one_core_is_held_against_all_cores_and_the_fidelity_of_its_types() {
        // 1024^3 x 2 operations with BFP8 on one core at HiFi4. HiFi2 would be enough: 148 TFLOPs
        // on 72 cores.
        let row = "Matmul,tt_dnn_device,0,wormhole_b0,HiFi4,1,64,1000,1,1,1024,1024,BFLOAT8_B,L1,\
                   1,1,1024,1024,BFLOAT8_B,DRAM,1,1,1024,1024,BFLOAT16,L1";
        let (flops, dram) = limits(row).unwrap();
        near(flops, 2.0 * 1024.0_f64.powi(3) / (148e12 / 72.0 * 64.0) * 1e6);
        // 1,024 tiles of 1,088 bytes each, at 288 GB/s.
        near(dram, 1024.0 * 1088.0 / 288e9 * 1e6);
    }

    #[test]
    fn ops_without_a_model_move_the_smaller_tensor_in_and_out_of_dram() {
        let (flops, dram) = op_limits("Permute", "1,1,64,64,BFLOAT16,DRAM").unwrap();
        assert_eq!(flops, None);
        near(dram, 2.0 * 64.0 * 64.0 * 2.0 / 288e9 * 1e6);
        let (_, dram) = op_limits("Slice", "1,1,32,64,BFLOAT16,DRAM").unwrap();
        near(dram, 2.0 * 32.0 * 64.0 * 2.0 / 288e9 * 1e6);
        let (_, dram) = op_limits("Permute", "1,1,64,64,BFLOAT16,L1").unwrap();
        near(dram, 64.0 * 64.0 * 2.0 / 288e9 * 1e6);
        assert_eq!(op_limits("Permute", ",,,,,"), None, "no output");
    }

    fn op_limits(name: &str, output: &str) -> Option<(Option<f64>, Option<f64>)> {
        let row = format!(
            "{name},tt_dnn_device,0,wormhole_b0,,64,64,1000,1,1,64,64,BFLOAT16,DRAM,,,,,,,{output}"
        );
        limits(&row)
    }
}
