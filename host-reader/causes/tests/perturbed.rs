//! Ops CSVs of healthy models in which one thing is made worse.
//!
//! The first or second finding must be about this change, and its gain must be the time that
//! undoing the change saves. The healthy model must not have this finding.
//!
//! Half of the seeds are new in each run. To repeat a failing seed alone, run
//!
//! ```text
//! KPROF_PERTURBED_SEED=7 cargo test -p kprof-causes --test integration perturbed
//! ```

use crate::model::Numbers;
use causes::{Cause, Explanation, Finding};
use reports::perf::{PerfReport, read_ops_csv};
use std::fmt::Write;

/// Peaks of Wormhole from tt-perf-report: DRAM in bytes per nanosecond, and FLOPs of a core per
/// nanosecond at HiFi4 and HiFi2.
const DRAM_BYTES_PER_NS: f64 = 288.0;
const HIFI4: f64 = 74e3 / 72.0;
const HIFI2: f64 = 148e3 / 72.0;
const CORES: u64 = 64;

impl Numbers {
    fn index(&mut self, low: usize, high: usize) -> usize {
        usize::try_from(self.draw(low as u64, high as u64)).unwrap()
    }

    /// Draws a number from `low` to `high` in steps of a thousandth of the range.
    fn fraction(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.draw(0, 1000) as f64 / 1000.0
    }
}

#[derive(Clone, Debug)]
struct Op {
    code: &'static str,
    fidelity: &'static str,
    cores: u64,
    kernel_ns: f64,
    gap_ns: f64,
    /// Y, X, element type and memory of both inputs and the output. The second input may be
    /// missing.
    tensors: [Option<(u64, u64, &'static str, &'static str)>; 3],
}

const DRAM: &str = "DEV_0_DRAM_INTERLEAVED";
const L1: &str = "DEV_0_L1_BLOCK_SHARDED";

/// Draws a matmul at almost the peak FLOPs of its cores.
fn matmul(numbers: &mut Numbers) -> Op {
    let [rows, inner, columns] = [0; 3].map(|_| 512 * numbers.draw(3, 5));
    let flops = 2.0 * rows as f64 * inner as f64 * columns as f64;
    let tensor = |rows, columns, memory| Some((rows, columns, "BFLOAT8_B", memory));
    Op {
        code: "MatmulDeviceOperation",
        fidelity: "HiFi2",
        cores: CORES,
        kernel_ns: flops / (HIFI2 * CORES as f64) / numbers.fraction(0.985, 1.0),
        gap_ns: 0.0,
        tensors: [tensor(rows, inner, L1), tensor(inner, columns, DRAM), tensor(rows, columns, L1)],
    }
}

/// Draws an op that reads and writes a tensor at almost the peak bandwidth.
fn mover(code: &'static str, numbers: &mut Numbers) -> Op {
    let [rows, columns] = [0; 2].map(|_| 512 * numbers.draw(3, 5));
    let bytes = 2.0 * 2.0 * rows as f64 * columns as f64;
    let tensor = Some((rows, columns, "BFLOAT16", DRAM));
    Op {
        code,
        fidelity: "HiFi4",
        cores: CORES,
        kernel_ns: bytes / DRAM_BYTES_PER_NS / numbers.fraction(0.985, 1.0),
        gap_ns: 0.0,
        tensors: [tensor, None, tensor],
    }
}

const MOVERS: [&str; 3] =
    ["LayerNormDeviceOperation", "BinaryNgDeviceOperation", "SoftmaxDeviceOperation"];

/// Iterations of one model. In the first iteration, the host compiles kernels.
#[derive(Clone, Debug)]
struct Model {
    /// First op of an iteration, which occurs in no layer.
    head: Op,
    layer: Vec<Op>,
    layers: usize,
    iterations: usize,
}

impl Model {
    /// Draws four kinds of ops, each with more than a tenth of the time.
    fn healthy(numbers: &mut Numbers) -> Self {
        let mut layer = vec![matmul(numbers)];
        layer.extend(MOVERS.map(|code| mover(code, numbers)));
        for op in &mut layer {
            op.gap_ns = numbers.fraction(600.0, 1_500.0);
        }
        // Each op takes enough time for its group to be named.
        let least = layer.iter().map(|op| op.kernel_ns).sum::<f64>() / 8.0;
        let small: Vec<Op> = layer.iter().filter(|op| op.kernel_ns < least).cloned().collect();
        layer.extend(small);
        let layers = numbers.index(3, 9);
        let head = mover("EmbeddingsDeviceOperation", numbers);
        let head = Op { kernel_ns: head.kernel_ns / 8.0, ..head };
        Self { head, layer, layers, iterations: numbers.index(2, 4) }
    }

    /// Returns the ops of one iteration.
    fn iteration(&self) -> Vec<Op> {
        let layers = (0..self.layers).flat_map(|_| self.layer.iter().cloned());
        std::iter::once(self.head.clone()).chain(layers).collect()
    }
}

const TITLES: &str = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,DEVICE ARCH,ATTRIBUTES,\
    MATH FIDELITY,CORE COUNT,AVAILABLE WORKER CORE COUNT,HOST START TS,\
    DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns]";

fn csv(iterations: &[Vec<Op>]) -> String {
    let mut text = TITLES.to_owned();
    for tensor in ["INPUT_0", "INPUT_1", "OUTPUT_0"] {
        for side in ["W", "Z", "Y", "X"] {
            write!(text, ",{tensor}_{side}_PAD[LOGICAL]").unwrap();
        }
        write!(text, ",{tensor}_DATATYPE,{tensor}_MEMORY").unwrap();
    }
    text.push('\n');
    for (number, op) in iterations.iter().flatten().enumerate() {
        write!(
            text,
            "{},tt_dnn_device,{},0,wormhole_b0,{{'program_config': 'in0_block_w=4;out_subblock_h=2;\
             out_subblock_w=4'}},{},{},{CORES},{number},{:.0},{:.0}",
            op.code,
            1024 * (number + 1),
            op.fidelity,
            op.cores,
            op.kernel_ns,
            op.gap_ns
        )
        .unwrap();
        for tensor in op.tensors {
            match tensor {
                Some((y, x, datatype, memory)) => {
                    write!(text, ",1,1,{y}[{y}],{x}[{x}],{datatype},{memory}").unwrap();
                }
                None => text.push_str(",,,,,,"),
            }
        }
        text.push('\n');
    }
    text
}

fn explain(iterations: &[Vec<Op>]) -> Explanation {
    let csv = read_ops_csv(csv(iterations).as_bytes(), "model.csv").unwrap();
    let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
    Explanation::from_perf_report(&report)
}

/// The change that was made, the expected location of its finding, and its cost per iteration.
#[derive(Debug)]
struct Worse {
    causes: &'static [Cause],
    op: Option<&'static str>,
    cost_ns: f64,
}

const KINDS: u64 = 5;

/// Makes one thing worse in each iteration.
fn perturb(model: &Model, iterations: &mut [Vec<Op>], kind: u64, numbers: &mut Numbers) -> Worse {
    let of_group: &[Cause] = &[Cause::OpGroup];
    let code = model.layer[numbers.index(0, 3)].code;
    let slowed = |iterations: &mut [Vec<Op>], code: &str, change: &dyn Fn(&mut Op)| {
        for op in iterations.iter_mut().flatten().filter(|op| op.code == code) {
            change(op);
        }
    };
    let before = iterations.last().unwrap().clone();
    let (causes, op) = match kind {
        0 => {
            // An op at its limit must take more than twice as long to count as far from it.
            slowed(iterations, code, &|op| op.kernel_ns *= 2.05);
            (of_group, Some(code))
        }
        1 => {
            // One core cannot be faster than its peak, so a matmul takes at least as many times as
            // long as there were cores.
            let factor = numbers.draw(CORES, 2 * CORES) as f64;
            slowed(iterations, code, &|op| (op.cores, op.kernel_ns) = (1, op.kernel_ns * factor));
            (of_group, Some(code))
        }
        2 => {
            let code = "MatmulDeviceOperation";
            slowed(iterations, code, &|op| {
                (op.fidelity, op.kernel_ns) = ("HiFi4", op.kernel_ns * HIFI2 / HIFI4);
            });
            (of_group, Some(code))
        }
        3 => {
            let layer_ns: f64 = model.layer.iter().map(|op| op.kernel_ns).sum();
            let change = Op {
                code: "TransposeDeviceOperation",
                kernel_ns: layer_ns * numbers.fraction(0.15, 0.9),
                ..mover("", numbers)
            };
            for ops in iterations.iter_mut() {
                let with = |op: Op| match op.code == code {
                    true => vec![op, Op { gap_ns: 900.0, ..change.clone() }],
                    false => vec![op],
                };
                *ops = std::mem::take(ops).into_iter().flat_map(with).collect();
            }
            (&[Cause::Layout][..], Some(change.code))
        }
        _ => {
            let whole: f64 = before.iter().map(|op| op.kernel_ns + op.gap_ns).sum();
            let at = numbers.index(1, before.len() - 1);
            let gap = whole * numbers.fraction(0.4, 2.0);
            iterations.last_mut().unwrap()[at].gap_ns += gap;
            (&[Cause::Host][..], None)
        }
    };
    let time = |ops: &[Op]| ops.iter().map(|op| op.kernel_ns).sum::<f64>();
    let gaps = |ops: &[Op]| ops.iter().skip(1).map(|op| op.gap_ns).sum::<f64>();
    let after = iterations.last().unwrap();
    let cost_ns = match kind {
        4 => gaps(after) - gaps(&before),
        _ => time(after) - time(&before),
    };
    Worse { causes, op, cost_ns }
}

fn names(finding: &Finding, worse: &Worse) -> bool {
    worse.causes.contains(&finding.cause)
        && worse.op.is_none_or(|op| finding.place.op.as_deref() == Some(op))
}

fn check(seed: u64) {
    let mut numbers = Numbers::new(seed);
    let model = Model::healthy(&mut numbers);
    let mut iterations = vec![model.iteration(); model.iterations];
    // In the first iteration, the host compiles kernels before each op.
    for op in &mut iterations[0] {
        op.gap_ns = numbers.fraction(5e6, 500e6);
    }
    let healthy = explain(&iterations);
    let worse = perturb(&model, &mut iterations, seed % KINDS, &mut numbers);
    let what = format!("KPROF_PERTURBED_SEED={seed} {worse:?} of {:?}", model.layer);
    let named = healthy.findings.iter().find(|finding| names(finding, &worse));
    assert_eq!(named, None, "{what}: the healthy model");
    let explanation = explain(&iterations);
    let steady = explanation.steady.as_ref().unwrap();
    assert_eq!(steady.op_count, iterations.last().unwrap().len() as u64, "{what}");
    let found = explanation.findings.iter().take(2).find(|finding| names(finding, &worse));
    let found = found.unwrap_or_else(|| panic!("{what}: {:#?}", explanation.findings));
    let last = iterations.last().unwrap();
    let whole: f64 = last.iter().map(|op| op.kernel_ns).sum::<f64>()
        + last.iter().skip(1).map(|op| op.gap_ns).sum::<f64>();
    let truth = worse.cost_ns / whole * 100.0;
    let gain = found.gain_at_most_percent.unwrap();
    assert!((gain - truth).abs() <= 2.0, "{what}: {gain} of {truth}: {found:?}");
}

#[test]
fn what_was_made_worse_is_told_first_or_second_with_what_undoing_it_gains() {
    if let Some(seed) = std::env::var_os("KPROF_PERTURBED_SEED") {
        check(seed.to_str().unwrap().parse().unwrap());
        return;
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let fresh = u64::from(now.subsec_nanos());
    (0..100).chain(fresh..fresh + 100).for_each(check);
}
