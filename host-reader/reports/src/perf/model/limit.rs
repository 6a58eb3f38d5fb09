//! Minimum time of an op, from its FLOPs and DRAM bytes at the chip's peak rates.

use super::{
    BoundAnalysis, MathFidelity, ModelContext, Modelled, attention::least_flops, dram_bytes,
};
use crate::perf::{
    category::OpCategory,
    fidelity::sufficient_fidelity,
    row::{OpRow, Tensor},
};
use analysis::MOST_PERCENT;

reader::labelled! {
    /// What a limit says about the minimum time of an op.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum LimitKind {
        /// All FLOPs and all bytes of the op are counted.
        Exact = "exact",
        /// The op takes at least this time, and may need much more: only a part of its FLOPs or
        /// bytes is counted.
        LowerBound = "lower bound",
        /// Nothing is known.
        #[default]
        Unknown = "unknown",
    }
}

/// Minimum time of an op with a given shape on all cores of its chip.
///
/// The limit is the longer of two times: the time for the op's FLOPs, and the time for its DRAM
/// reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct ShapeLimit {
    /// Time for the op's FLOPs if all available cores compute at their peak speed, with the lowest
    /// math fidelity that its element types need; `None` if FLOPs are not modelled.
    pub flops_us: Option<f64>,
    /// Time for the op's DRAM reads and writes at the chip's bandwidth; `None` if no tensor is in
    /// DRAM or the bytes are not modelled.
    pub dram_us: Option<f64>,
    /// Time for reading and writing all of the op's tensors in DRAM; `None` unless the op may move
    /// more than the bytes of `dram_us`.
    pub dram_at_most_us: Option<f64>,
    /// Whether the limit counts all of the op's work.
    pub kind: LimitKind,
    /// True if a time comes from a column of the file: `PM IDEAL [ns]`, `PM COMPUTE [ns]`,
    /// `PM BANDWIDTH [ns]` or `DRAM BW UTIL (%)`.
    pub is_from_file: bool,
}

/// DRAM bytes that an op moves.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MovedBytes {
    at_least: f64,
    /// Bytes of all tensors; `None` if `at_least` counts all bytes.
    at_most: Option<f64>,
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
        let time_of = |flops: f64| {
            let cores = available_cores.max(row.core_count)?;
            let fidelity =
                sufficient_fidelity(row).or_else(|| MathFidelity::from_name(&row.math_fidelity))?;
            Some(flops / (arch.tflops_per_core(fidelity) * 1e6 * cores as f64))
        };
        let flops_us = modelled.flops.and_then(time_of);
        let bytes = match modelled.dram_bytes {
            Some(bytes) => Some(MovedBytes { at_least: bytes, at_most: None }),
            None => moved_bytes(row, modelled, context),
        };
        let us = |bytes: f64| bytes / (arch.dram_gb_per_s * 1e3);
        // At least no byte says nothing.
        let is_bound = |of: &MovedBytes| of.at_most.is_none() || of.at_least > 0.0;
        let dram_us = bytes.filter(is_bound).map(|bytes| us(bytes.at_least));
        let dram_at_most_us = bytes.and_then(|bytes| bytes.at_most).map(us);
        let of_file = FileModel::from_row(row, modelled);
        let used_us = row.dram_percent.zip(context.duration_ns);
        let used_us = used_us.map(|(percent, ns)| percent / 100.0 * ns / 1e3);
        let dram_of_file_us = of_file.bandwidth_us.or(used_us).filter(|_| bytes.is_none());
        let has_flops = flops_us.or(of_file.compute_us).is_some();
        let is_exact = modelled.has_all_flops(has_flops, row)
            && bytes.is_none_or(|bytes| bytes.at_most.is_none())
            && (has_flops || are_all_in_dram(row));
        let least_flops_us = least_flops(row).filter(|_| !has_flops).and_then(time_of);
        let limit = Self {
            flops_us: flops_us.or(of_file.compute_us).or(least_flops_us),
            dram_us: dram_us.or(dram_of_file_us),
            dram_at_most_us,
            kind: if is_exact { LimitKind::Exact } else { LimitKind::LowerBound },
            is_from_file: flops_us.is_none() && of_file.compute_us.is_some()
                || dram_of_file_us.is_some(),
        };
        match limit.us() {
            Some(_) => Some(limit),
            None => dram_at_most_us.map(|_| Self { kind: LimitKind::Unknown, ..limit }),
        }
    }

    /// Returns the longer of the two times, in microseconds.
    #[must_use]
    pub fn us(&self) -> Option<f64> {
        match (self.flops_us, self.dram_us) {
            (Some(flops), Some(dram)) => Some(flops.max(dram)),
            (flops, dram) => flops.or(dram),
        }
    }

    /// Returns true if the op took less than the minimum time, so that the model must be wrong.
    pub(in crate::perf) fn is_refuted(&self, duration_us: f64) -> bool {
        self.us().is_some_and(|us| us * 100.0 > duration_us * MOST_PERCENT)
    }
}

/// Times that the file gives for an op without a model.
///
/// # Compatibility
/// TT-Metal writes 1 ns if an op has no performance model. The columns of ops that move or rearrange
/// tensors are estimates: in public files they are up to 18 times the measured time. So only the
/// columns of ops that compute are used.
#[derive(Clone, Copy, Debug, Default)]
struct FileModel {
    compute_us: Option<f64>,
    bandwidth_us: Option<f64>,
}

impl FileModel {
    fn from_row(row: &OpRow, modelled: &Modelled) -> Self {
        let is_computing = OpCategory::from_op_code(&row.op_code) == OpCategory::Compute;
        if !is_computing || modelled.analysis != BoundAnalysis::None {
            return Self::default();
        }
        let known = |ns: Option<f64>| ns.filter(|ns| *ns > 1.0).map(|ns| ns / 1e3);
        let has_dram = row.tensors().any(Tensor::is_in_dram);
        // The ideal time is the longer of the two, but some writers give more than both.
        let ideal =
            row.model_ideal_ns.filter(|ns| row.model_bandwidth_ns.is_none_or(|of| *ns > of));
        let compute = [row.model_compute_ns, ideal].into_iter().flatten().max_by(f64::total_cmp);
        Self {
            compute_us: known(compute),
            bandwidth_us: known(row.model_bandwidth_ns).filter(|_| has_dram),
        }
    }
}

impl Modelled {
    /// Returns true if the op's FLOPs are known, or take no time next to its transfers.
    ///
    /// A collective also waits for links between chips, which are not modelled.
    fn has_all_flops(&self, has_flops: bool, row: &OpRow) -> bool {
        let op_code = &row.op_code;
        let category = OpCategory::from_op_code(op_code);
        if OpCategory::waits_for_chips(op_code) {
            return false;
        }
        let only_moves =
            matches!(category, OpCategory::TensorManipulation | OpCategory::DataMovement);
        let is_simple =
            ["Binary", "Unary", "Embedding"].iter().any(|name| op_code.starts_with(name));
        has_flops || only_moves || is_simple
    }
}

fn are_all_in_dram(row: &OpRow) -> bool {
    row.tensors().all(Tensor::is_in_dram)
}

/// How an op without a model uses its tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// Reads all inputs and writes all outputs.
    Whole,
    /// Reads or writes a part of its tensors: as many elements as the smaller of the first input and
    /// the output has.
    Part,
    /// Writes its second input into a part of the output, which is the first input.
    Update,
    /// Reads the ids of its first input, and the rows of a table that they name.
    Lookup,
    /// Reads its first input, and writes its output. How much it reads of its other inputs depends
    /// on their contents.
    ByContents,
    /// Unknown.
    Unknown,
}

/// Element types of tensors with ids, positions and page tables.
const INTEGERS: [&str; 4] = ["INT32", "UINT32", "UINT16", "UINT8"];

impl Access {
    fn of(row: &OpRow) -> Self {
        let op_code = &*row.op_code;
        let has = |names: &[&str]| names.iter().any(|name| op_code.contains(name));
        let begins = |names: &[&str]| names.iter().any(|name| op_code.starts_with(name));
        if has(&["UpdateCache", "FillCache", "UpdateKVCache", "IndexedFill"]) {
            return Self::Update;
        }
        if begins(&["Embedding"]) {
            return Self::Lookup;
        }
        if has(&["Sdpa", "SDPA", "ScaledDotProductAttention"]) {
            let mut others = row.inputs.iter().chain(&row.more_inputs).skip(1);
            let is_int =
                |of: &Tensor| of.datatype.as_deref().is_some_and(|of| INTEGERS.contains(&of));
            let is_by_contents = has(&["Decode"]) || others.any(is_int);
            return if is_by_contents { Self::ByContents } else { Self::Whole };
        }
        if begins(&["Slice", "PaddedSlice", "UntilizeWithUnpadding", "FillPad", "Halo"])
            || has(&["Partial"])
        {
            return Self::Part;
        }
        if begins(&["Binary", "Unary", "OptimizedConvNew", "Conv2d"]) {
            return Self::Whole;
        }
        match OpCategory::from_op_code(op_code) {
            OpCategory::TensorManipulation | OpCategory::DataMovement => Self::Whole,
            OpCategory::Compute | OpCategory::Ccl => Self::Part,
            // The gradient of an op is computed from tensors of the op's own shape.
            OpCategory::Other if has(&["Backward"]) => Self::Part,
            OpCategory::Host | OpCategory::Other => Self::Unknown,
        }
    }
}

/// Returns the number of bytes that an op without a model of its bytes moves; tensors outside DRAM
/// do not count.
fn moved_bytes(row: &OpRow, modelled: &Modelled, context: &ModelContext<'_>) -> Option<MovedBytes> {
    if modelled.analysis == BoundAnalysis::Full {
        return None;
    }
    let [input, second] = &row.inputs;
    let whole = |tensor: &Tensor| Some(dram_bytes(tensor, tensor.element_count()? as f64, context));
    let all: Option<f64> = row.tensors().map(whole).sum();
    let of_both = |count: Option<u64>| {
        let count = count? as f64;
        Some(dram_bytes(input, count, context) + dram_bytes(&row.output, count, context))
    };
    let smaller = input.element_count().zip(row.output.element_count());
    let access = Access::of(row);
    let at_least = match access {
        Access::Whole => all.filter(|_| input.datatype.is_some() && row.output.datatype.is_some()),
        Access::Part => of_both(smaller.map(|(input, output)| input.min(output))),
        Access::Update => {
            let count = second.element_count()? as f64;
            Some(dram_bytes(second, count, context) + dram_bytes(&row.output, count, context))
        }
        Access::Lookup => {
            let count = row.output.element_count()? as f64;
            let rows = dram_bytes(second, count, context);
            Some(whole(input)? + rows + dram_bytes(&row.output, count, context))
        }
        Access::ByContents => Some(whole(input)? + whole(&row.output)?),
        // Nobody knows what it reads of its tensors; only what all of them would be.
        Access::Unknown => Some(0.0),
    }?;
    let is_exact = match access {
        Access::Whole | Access::Lookup => true,
        // A slice reads the elements that it writes. Other ops may read all of their inputs.
        Access::Part => modelled.has_all_flops(false, row),
        Access::Update | Access::ByContents | Access::Unknown => false,
    };
    let has_types =
        || row.tensors().all(|tensor| !tensor.is_in_dram() || tensor.datatype.is_some());
    let at_most = all.filter(|all| !is_exact && *all > at_least && has_types());
    (at_least > 0.0 || at_most.is_some()).then_some(MovedBytes { at_least, at_most })
}

#[cfg(test)]
mod tests {
    use crate::perf::{LimitKind, PerfOptions, PerfReport, read_ops_csv};

    const TITLES: &str = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,MATH FIDELITY,CORE COUNT,\
        AVAILABLE WORKER CORE COUNT,DEVICE KERNEL DURATION [ns],\
        INPUT_0_W_PAD[LOGICAL],INPUT_0_Z_PAD[LOGICAL],INPUT_0_Y_PAD[LOGICAL],INPUT_0_X_PAD[LOGICAL],\
        INPUT_0_DATATYPE,INPUT_0_MEMORY,\
        INPUT_1_W_PAD[LOGICAL],INPUT_1_Z_PAD[LOGICAL],INPUT_1_Y_PAD[LOGICAL],INPUT_1_X_PAD[LOGICAL],\
        INPUT_1_DATATYPE,INPUT_1_MEMORY,\
        OUTPUT_0_W_PAD[LOGICAL],OUTPUT_0_Z_PAD[LOGICAL],OUTPUT_0_Y_PAD[LOGICAL],\
        OUTPUT_0_X_PAD[LOGICAL],OUTPUT_0_DATATYPE,OUTPUT_0_MEMORY\n";

    fn report(row: &str) -> PerfReport {
        let text = format!("{TITLES}{row}\n");
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        PerfReport::new(vec![csv], &PerfOptions::default()).unwrap()
    }

    fn limits(row: &str) -> Option<(Option<f64>, Option<f64>)> {
        report(row).rows[0].limit.map(|limit| (limit.flops_us, limit.dram_us))
    }

    fn near(found: Option<f64>, expected: f64) {
        assert!((found.unwrap() / expected - 1.0).abs() < 1e-9, "{found:?} {expected}");
    }

    #[test]
    fn a_matmul_on_one_core_is_held_against_all_cores_and_the_fidelity_of_its_types() {
        // 1024^3 x 2 operations with BFP8 on one core at HiFi4. HiFi2 would be enough: 148 TFLOPs
        // on 72 cores.
        let row = "Matmul,tt_dnn_device,0,wormhole_b0,HiFi4,1,64,10000000,1,1,1024,1024,BFLOAT8_B,L1,\
                   1,1,1024,1024,BFLOAT8_B,DRAM,1,1,1024,1024,BFLOAT16,L1";
        let (flops, dram) = limits(row).unwrap();
        near(flops, 2.0 * 1024.0_f64.powi(3) / (148e12 / 72.0 * 64.0) * 1e6);
        // 1,024 tiles of 1,088 bytes each, at 288 GB/s.
        near(dram, 1024.0 * 1088.0 / 288e9 * 1e6);
    }

    /// Figures of tt-metal pull request 41837: each of four chips has 896 of 3,584 columns, and gathers the rest.
    #[test]
    fn a_matmul_that_gathers_its_input_has_the_inner_side_of_its_weights() {
        let flops = |name: &str, out_rows: u64| {
            let row = format!(
                "{name},tt_dnn_device,0,wormhole_b0,HiFi2,64,64,9000000,1,1,4096,896,BFLOAT8_B,DRAM,\
                 1,1,3584,2048,BFLOAT8_B,DRAM,1,1,{out_rows},2048,BFLOAT8_B,DRAM"
            );
            let report = report(&row);
            let limit = report.rows[0].limit.unwrap();
            (limit.flops_us.unwrap(), limit.kind)
        };
        let us = |m: f64, k: f64| 2.0 * m * k * 2048.0 / (148e12 / 72.0 * 64.0) * 1e6;
        for name in ["AllGatherMinimalMatmulAsyncOp", "AllGatherMatmulDeviceOperation"] {
            let (found, kind) = flops(name, 4096);
            near(Some(found), us(4096.0, 3584.0));
            assert_eq!(kind, LimitKind::LowerBound, "{name}");
            near(Some(flops(name, 8192).0), us(8192.0, 3584.0));
        }
        near(Some(flops("MatmulDeviceOperation", 4096).0), us(4096.0, 896.0));
        // Its output is the part of one chip.
        near(Some(flops("MatmulReduceScatterAsync", 1024).0), us(4096.0, 3584.0));
    }

    fn kind(row: &str) -> Option<LimitKind> {
        report(row).rows[0].limit.map(|limit| limit.kind)
    }

    /// 8 heads of 2,048 queries and keys of 64 elements: at least half of 2 x 2 x 2,048 x 2,048 x 64 FLOPs a head.
    #[test]
    fn attention_takes_at_least_the_flops_of_half_of_its_pairs() {
        let op = |name: &str, key: &str| {
            let tensor = "1,8,2048,64,BFLOAT8_B,DRAM";
            let row = format!(
                "{name},tt_dnn_device,0,wormhole_b0,HiFi2,64,64,9000000,{tensor},{key},{tensor}"
            );
            let limit = report(&row).rows[0].limit.unwrap();
            (limit.flops_us, limit.kind)
        };
        let half_us = 8.0 * 2.0 * 2048.0 * 2048.0 * 64.0 / (148e12 / 72.0 * 64.0) * 1e6;
        let (flops, kind) = op("SDPAOperation", "1,8,2048,64,BFLOAT8_B,DRAM");
        near(flops, half_us);
        assert_eq!(kind, LimitKind::LowerBound);
        // Two key heads serve four query heads each; of 1,024 keys, half of their square is attended to.
        near(op("ScaledDotProductAttention", "1,2,2048,64,BFLOAT8_B,DRAM").0, half_us);
        near(op("SDPAOperation", "1,8,1024,64,BFLOAT8_B,DRAM").0, half_us / 4.0);
        for (name, key) in [
            ("SdpaDecodeDeviceOperation", "1,8,2048,64,BFLOAT8_B,DRAM"),
            ("SDPAOperation", "1,3,2048,64,BFLOAT8_B,DRAM"),
            ("SDPAOperation", "1,8,2048,32,BFLOAT8_B,DRAM"),
            ("RingJointSDPADeviceOperation", "1,8,2048,64,BFLOAT8_B,DRAM"),
        ] {
            assert_eq!(op(name, key).0, None, "{name} {key}");
        }
    }

    #[test]
    fn a_limit_says_whether_it_counts_all_work() {
        let op = |name: &str, memory: &str| {
            let row = format!(
                "{name},tt_dnn_device,0,wormhole_b0,,64,64,100000,1,1,64,64,BFLOAT16,DRAM,,,,,,,\
                 1,1,64,64,BFLOAT16,{memory}"
            );
            kind(&row)
        };
        assert_eq!(op("Permute", "DRAM"), Some(LimitKind::Exact));
        assert_eq!(op("UnaryDeviceOperation", "DRAM"), Some(LimitKind::Exact));
        assert_eq!(op("Permute", "L1"), Some(LimitKind::LowerBound), "L1 is not modelled");
        assert_eq!(op("Softmax", "DRAM"), Some(LimitKind::LowerBound), "nor is its arithmetic");
        assert_eq!(op("AllGather", "DRAM"), Some(LimitKind::LowerBound), "nor are links");
        assert_eq!(
            op("SomeOpOfTomorrow", "DRAM"),
            Some(LimitKind::Unknown),
            "it may write in place"
        );
        assert_eq!(op("SomeOpOfTomorrow", "L1"), Some(LimitKind::Unknown));
    }

    #[test]
    fn a_model_that_exceeds_the_peak_is_wrong() {
        // 2 x 1,048,576 bytes at 288 GB/s take 7.28 us.
        let at = |ns: u32| {
            let row = format!(
                "Permute,tt_dnn_device,0,wormhole_b0,,64,64,{ns},1,1,512,1024,BFLOAT16,DRAM,,,,,,,\
                 1,1,512,1024,BFLOAT16,DRAM"
            );
            let report = report(&row);
            let note =
                report.notes.iter().any(|note| note.contains("the model exceeds a peak rate"));
            let row = &report.rows[0];
            assert_eq!(row.is_model_refuted, note, "{:?}", report.notes);
            (row.limit.is_some(), row.is_model_refuted)
        };
        assert_eq!(at(7_000), (true, false), "104 %");
        assert_eq!(at(6_900), (false, true), "106 %");
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
