//! Models of several kinds of ops: operations and bytes, derived from the ops' shapes.

mod attention;
mod attribute;
mod conv;
mod halo;
mod limit;
mod matmul;
mod sparse;

pub(super) use attribute::{first_number, has_program_config, value as attribute_value};
pub use limit::{LimitKind, ShapeLimit};

use super::{
    arch::{ArchLimits, MathFidelity},
    row::{OpRow, Tensor},
};
use analysis::MOST_PERCENT;

reader::labelled! {
    /// Limits to which an op is compared.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum BoundAnalysis {
        /// FLOPs and DRAM.
        Full = "full",
        /// FLOPs only.
        FlopsOnly = "flops_only",
        /// No limit, because there is no model of the op.
        #[default]
        None = "none",
    }
}

/// Inputs of a model, except the op's row.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModelContext<'a> {
    pub(super) arch: Option<&'a ArchLimits>,
    /// Number of active experts for each group of inputs of a sparse matmul.
    pub(super) active_experts: Option<u64>,
    /// True to reproduce known bugs of tt-perf-report.
    pub(super) is_upstream_exact: bool,
    /// Duration of the row's op in nanoseconds; `None` if it is missing or invalid.
    pub(super) duration_ns: Option<f64>,
}

/// Result of an op's model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Modelled {
    /// Text appended to the op code.
    pub(super) suffix: String,
    pub(super) analysis: BoundAnalysis,
    /// Floating-point operations; `None` if they are not modelled or the op has no duration.
    pub(super) flops: Option<f64>,
    /// Speed in 10^12 floating-point operations per second.
    pub(super) tflops: Option<f64>,
    pub(super) flops_percent: Option<f64>,
    pub(super) dram_bytes: Option<f64>,
    /// Bandwidth in 10^9 bytes per second.
    pub(super) dram_gb_per_s: Option<f64>,
    pub(super) dram_percent: Option<f64>,
    /// Number of cores that the model assumes; `None` if it is the number in the row.
    pub(super) cores: Option<u64>,
    pub(super) is_dram_sharded: bool,
    /// True for a sparse matmul with an unknown number of active experts.
    pub(super) is_active_unknown: bool,
}

/// Computes the modelled values of an op. Without a model for the op, no values are set.
pub(super) fn model_of(row: &OpRow, context: &ModelContext<'_>) -> Modelled {
    let op_code = &row.op_code;
    if op_code.contains("SparseMatmul") {
        sparse::model(row, context)
    } else if op_code.contains("Matmul") {
        matmul::model(row, context)
    } else if op_code.contains("OptimizedConvNew") || op_code.contains("Conv2d") {
        conv::model(row, context)
    } else if op_code.contains("HaloDeviceOperation") {
        Modelled { suffix: halo::suffix(row, context.is_upstream_exact), ..Modelled::default() }
    } else {
        Modelled::default()
    }
}

/// Returns the number of cores that read one DRAM bank in a matmul with DRAM-sharded weights.
///
/// # Compatibility
/// `num_workers_per_dram_bank` of TT-Metal's program configuration (pull request 54242). tt-perf-report
/// counts one core for each bank.
fn workers_per_bank(row: &OpRow, context: &ModelContext<'_>) -> u64 {
    let known = attribute::first_number(&row.attributes, "num_workers_per_dram_bank");
    known.filter(|count| *count > 0 && !context.is_upstream_exact).unwrap_or(1)
}

/// Text appended to the op code of an op whose shape is unknown.
pub(super) const UNKNOWN_SHAPE: &str = " unknown shape";

impl Modelled {
    fn unknown_shape(analysis: BoundAnalysis) -> Self {
        Self { suffix: UNKNOWN_SHAPE.to_owned(), analysis, ..Self::default() }
    }

    /// Returns the model of a matrix product, without speeds.
    fn from_matmul(suffix: String, row: &OpRow, context: &ModelContext<'_>) -> Self {
        let is_dram_sharded = attribute::is_dram_sharded(&row.attributes);
        let arch = context.arch.filter(|_| is_dram_sharded);
        Self {
            suffix,
            analysis: BoundAnalysis::Full,
            is_dram_sharded,
            cores: arch
                .map(|arch| arch.dram_sharded_cores.saturating_mul(workers_per_bank(row, context))),
            ..Self::default()
        }
    }

    /// Sets the numbers of operations and bytes, and the speeds that are computed from these
    /// numbers and the op's duration.
    fn record(&mut self, (flops, dram_bytes): (f64, f64), row: &OpRow, context: &ModelContext<'_>) {
        let Some(duration_ns) = context.duration_ns.filter(|&ns| ns > 0.0) else { return };
        let seconds = duration_ns * 1e-9;
        let flops_per_s = flops / seconds;
        self.flops = Some(flops);
        self.tflops = Some(flops_per_s / 1e12);
        let cores = self.cores.or(row.core_count);
        let fidelity = MathFidelity::from_name(&row.math_fidelity);
        if let (Some(arch), Some(cores), Some(fidelity)) = (context.arch, cores, fidelity) {
            let peak = arch.tflops_per_core(fidelity) * 1e12 * cores as f64;
            self.flops_percent = Some(flops_per_s / peak * 100.0);
        }
        if self.analysis == BoundAnalysis::Full && dram_bytes > 0.0 {
            let gb_per_s = dram_bytes / seconds / 1e9;
            self.dram_bytes = Some(dram_bytes);
            self.dram_gb_per_s = Some(gb_per_s);
            self.dram_percent = context.arch.map(|arch| gb_per_s / arch.dram_gb_per_s * 100.0);
        }
    }
}

impl Modelled {
    /// Returns true if the op would have been faster than the chip's peak, so that the model must be
    /// wrong.
    pub(super) fn is_refuted(&self) -> bool {
        [self.flops_percent, self.dram_percent].into_iter().flatten().any(|of| of > MOST_PERCENT)
    }

    /// Sets the DRAM figures of an op whose transfers take this time at the chip's bandwidth.
    pub(super) fn record_dram(&mut self, dram_us: f64, context: &ModelContext<'_>) {
        let duration_us = context.duration_ns.map(|ns| ns / 1e3);
        let (Some(arch), Some(us)) = (context.arch, duration_us) else { return };
        if us > 0.0 {
            let share = dram_us / us;
            self.dram_bytes = Some(dram_us * arch.dram_gb_per_s * 1e3);
            self.dram_gb_per_s = Some(share * arch.dram_gb_per_s);
            self.dram_percent = Some(share * 100.0);
        }
    }

    /// Removes all figures, because the model does not fit the op.
    pub(super) fn remove_figures(&mut self) {
        (self.flops, self.tflops, self.flops_percent) = (None, None, None);
        (self.dram_bytes, self.dram_gb_per_s, self.dram_percent) = (None, None, None);
    }
}

/// Returns the bytes of one element.
///
/// Tiles of block floats contain one 8-bit exponent for every 16 elements.
///
/// # Compatibility
/// tt-perf-report 1.4.1 counts BFLOAT8_B as one byte and BFLOAT4_B as half a byte.
pub(super) fn element_bytes(datatype: &str, is_upstream_exact: bool) -> f64 {
    const EXPONENT_BITS: f64 = 8.0 / 16.0;
    let digits: String = datatype
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    let Ok(bits) = digits.parse::<u32>() else { return 4.0 };
    let has_exponents = !is_upstream_exact && matches!(datatype, "BFLOAT8_B" | "BFLOAT4_B");
    let exponent_bits = if has_exponents { EXPONENT_BITS } else { 0.0 };
    (f64::from(bits) + exponent_bits) / 8.0
}

/// Returns the bytes that `element_count` elements of a tensor occupy in DRAM.
fn dram_bytes(tensor: &Tensor, element_count: f64, context: &ModelContext<'_>) -> f64 {
    if !tensor.is_in_dram() {
        return 0.0;
    }
    let datatype = tensor.datatype.as_deref().unwrap_or("");
    element_count * element_bytes(datatype, context.is_upstream_exact)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::{OpReport, PerfOptions, PerfReport, read_ops_csv};

    /// The figures of pull request 54242: BFP4 weights of 4096 x 14336 in 71.7 us with two cores a bank.
    #[test]
    fn cores_of_dram_sharded_weights_are_those_that_read_a_bank() {
        let report = |workers: &str, is_upstream_exact: bool| -> OpReport {
            let text = format!(
                "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,ATTRIBUTES,MATH FIDELITY,CORE COUNT,\
                 DEVICE KERNEL DURATION [ns],\
                 INPUT_0_W_PAD[LOGICAL],INPUT_0_Z_PAD[LOGICAL],INPUT_0_Y_PAD[LOGICAL],INPUT_0_X_PAD[LOGICAL],\
                 INPUT_0_DATATYPE,INPUT_0_MEMORY,\
                 INPUT_1_W_PAD[LOGICAL],INPUT_1_Z_PAD[LOGICAL],INPUT_1_Y_PAD[LOGICAL],INPUT_1_X_PAD[LOGICAL],\
                 INPUT_1_DATATYPE,INPUT_1_MEMORY,\
                 OUTPUT_0_W_PAD[LOGICAL],OUTPUT_0_Z_PAD[LOGICAL],OUTPUT_0_Y_PAD[LOGICAL],\
                 OUTPUT_0_X_PAD[LOGICAL],OUTPUT_0_DATATYPE,OUTPUT_0_MEMORY\n\
                 MatmulDeviceOperation,tt_dnn_device,0,blackhole,{{'program_config': \
                 'MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig(in0_block_w=4{workers})'}},LoFi,16,\
                 71700,1,1,32,4096,BFLOAT16,L1,1,1,4096,14336,BFLOAT4_B,DRAM,\
                 1,1,32,14336,BFLOAT16,L1\n"
            );
            let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
            let options = PerfOptions { is_upstream_exact, ..PerfOptions::default() };
            PerfReport::new(vec![csv], &options).unwrap().rows.remove(0)
        };
        let known = report(";num_workers_per_dram_bank=2", false);
        assert_eq!(known.core_count, Some(16));
        // 2 x 32 x 4096 x 14336 operations in 71.7 us, of 4096 a cycle on 16 cores of 1.35 GHz.
        let flops_percent = 2.0 * 32.0 * 4096.0 * 14336.0 / 71.7e3 / (4096.0 * 1.35 * 16.0) * 100.0;
        assert!((known.flops_percent.unwrap() / flops_percent - 1.0).abs() < 1e-9, "{known:?}");
        let unknown = report("", false);
        assert_eq!(
            (unknown.core_count, unknown.flops_percent),
            (Some(8), None),
            "too fast for 8 cores"
        );
        assert_eq!(report(";num_workers_per_dram_bank=2", true).core_count, Some(8));
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "sums of powers of two are exact")]
    fn tiles_of_block_floats_are_as_large_as_in_memory() {
        // A tile of 32 x 32 has 1024 mantissas and 64 exponents, of one byte each.
        assert_eq!(element_bytes("BFLOAT8_B", false) * 1024.0, 1088.0);
        assert_eq!(element_bytes("BFLOAT4_B", false) * 1024.0, 576.0);
        assert_eq!(element_bytes("BFLOAT8_B", true), 1.0);
        assert_eq!(element_bytes("BFLOAT4_B", true), 0.5);
        assert_eq!(element_bytes("BFLOAT16", false), 2.0);
        assert_eq!(element_bytes("UINT32", false), 4.0);
        assert_eq!(element_bytes("odd", false), 4.0);
    }
}
