//! What an explanation says of an op is what the perf report says of it.

use crate::generated::{Numbers, seeds};
use causes::{Cause, Explanation, GroupBound, TimeClass, Window};
use reports::perf::{Bound, PerfReport, read_ops_csv};
use std::fmt::Write;

const TITLES: &str = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,ATTRIBUTES,MATH FIDELITY,CORE COUNT,\
    AVAILABLE WORKER CORE COUNT,HOST START TS,OP TO OP LATENCY [ns],DEVICE KERNEL DURATION [ns]";

/// Returns the titles of the columns of a tensor.
fn tensor_titles(tensor: &str) -> String {
    let sides = ["W", "Z", "Y", "X"].map(|side| format!(",{tensor}_{side}_PAD[LOGICAL]"));
    format!("{},{tensor}_DATATYPE,{tensor}_MEMORY", sides.concat())
}

/// Returns the report of an ops CSV with one op.
fn report_of_one(numbers: &mut Numbers) -> PerfReport {
    let mut text = TITLES.to_owned();
    for tensor in ["INPUT_0", "INPUT_1", "OUTPUT_0"] {
        text += &tensor_titles(tensor);
    }
    let op = numbers.one_of(&[
        "MatmulDeviceOperation",
        "Matmul",
        "MinimalMatmulOp",
        "InterleavedToShardedDeviceOperation",
        "TransposeDeviceOperation",
    ]);
    let attributes = numbers.one_of(&[
        "{}",
        "{'program_config': 'std::nullopt'}",
        "{'program_config': 'MatmulMultiCoreReuseMultiCast1DProgramConfig(in0_block_w=4;out_subblock_h=1;\
         out_subblock_w=1;per_core_M=1)'}",
        "{'program_config': 'MatmulMultiCoreReuseProgramConfig(in0_block_w=4;out_subblock_h=2;\
         out_subblock_w=4;per_core_M=1)'}",
    ]);
    let fidelity = numbers.one_of(&["LoFi", "HiFi2", "HiFi4"]);
    let cores = 1 + numbers.below(64);
    let kernel_ns = 1_000 << numbers.below(12);
    write!(
        text,
        "\n{op},tt_dnn_device,0,wormhole_b0,{attributes},{fidelity},{cores},64,1,0,{kernel_ns}"
    )
    .unwrap();
    let has_shapes = numbers.below(4) > 0;
    let [rows, inner, columns] = [0; 3].map(|_| 32_u64 << numbers.below(7));
    for [height, width] in [[rows, inner], [inner, columns], [rows, columns]] {
        let datatype = numbers.one_of(&["BFLOAT16", "BFLOAT8_B", "BFLOAT4_B"]);
        let memory = numbers.one_of(&["DEV_0_DRAM_INTERLEAVED", "DEV_0_L1_WIDTH_SHARDED"]);
        match has_shapes {
            true => write!(text, ",1,1,{height},{width},{datatype},{memory}").unwrap(),
            false => write!(text, ",,,,,{datatype},{memory}").unwrap(),
        }
    }
    let csv = read_ops_csv(format!("{text}\n").as_bytes(), "ops.csv").unwrap();
    PerfReport::new(vec![csv], &Explanation::report_options()).unwrap()
}

/// Words of an explanation's advice, and those of the same advice in a perf report.
const SAME_ADVICE: [(&str, &[&str]); 6] = [
    ("use more cores", &["Use more cores"]),
    (
        "pass a program_config that sets in0_block_w",
        &["Give a program_config that sets in0_block_w"],
    ),
    ("set other block sizes in its config", &["Set other block sizes in its config"]),
    ("keep input 0 in L1", &["Place input 0 in L1"]),
    ("use larger output subblocks", &["Make output subblocks of 2 tiles or more"]),
    ("use a lower math fidelity", &["Use a lower math fidelity"]),
];

#[test]
fn an_op_has_the_same_bound_and_advice_in_both() {
    let mut advised = [0; SAME_ADVICE.len()];
    for seed in seeds(1_500) {
        let report = report_of_one(&mut Numbers(seed));
        let found = Explanation::from_perf_window(&report, Window::Steady);
        let what = format!("KPROF_CLAIMS_SEED={seed}: {:?}", report.rows[0]);
        let [group] = &found.groups[..] else { panic!("{what}: {found:#?}") };
        let bound = match report.rows[0].bound {
            Some(Bound::Dram) => Some(GroupBound::Dram),
            Some(Bound::Flop) => Some(GroupBound::Compute),
            Some(Bound::Both) => Some(GroupBound::Both),
            Some(Bound::Slow) => Some(GroupBound::Neither),
            Some(Bound::Host) => panic!("{what}"),
            None => None,
        };
        assert_eq!(group.bound, bound, "{what}");
        let Some(advice) = &report.rows[0].advice else { continue };
        let Some(finding) = found.findings.iter().find(|of| of.cause == Cause::OpGroup) else {
            continue;
        };
        for ((of_explain, of_perf), count) in SAME_ADVICE.iter().zip(&mut advised) {
            if !finding.advice.contains(of_explain) {
                continue;
            }
            *count += 1;
            let is_told = advice.iter().any(|item| of_perf.iter().any(|of| item.contains(of)));
            assert!(is_told, "{what}: {}: {advice:?}", finding.advice);
        }
    }
    assert!([0, 1, 2, 4].into_iter().all(|at| advised[at] > 0), "{advised:?}");
}

/// Ops of the host lie between ops of the device.
#[test]
fn the_gaps_of_the_report_are_those_of_the_explanation() {
    for seed in seeds(200) {
        let mut numbers = Numbers(seed);
        let mut text = format!("{TITLES}\n");
        let mut gaps_ns = 0;
        let op_count = 2 + numbers.below(6);
        for number in 0..op_count {
            let gap = if number == 0 { 0 } else { numbers.below(3_000_000) };
            gaps_ns += gap;
            writeln!(
                text,
                "Op{number},tt_dnn_device,0,wormhole_b0,{{}},HiFi2,64,64,{number},{gap},9000"
            )
            .unwrap();
            for _ in 0..numbers.below(3) {
                let of_host = numbers.one_of(&["python_fallback", "tt_dnn_cpu"]);
                writeln!(text, "tilize,{of_host},,,,,,,{number},,").unwrap();
            }
        }
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        for is_by_device in [true, false] {
            let options =
                reports::perf::PerfOptions { is_by_device, ..Explanation::report_options() };
            let report = PerfReport::new(vec![csv.clone()], &options).unwrap();
            let told = report.totals.op_to_op_gap_us.unwrap_or(0.0) * 1_000.0;
            assert!(
                (told - gaps_ns as f64).abs() < 1.0,
                "seed {seed}: {told} of {gaps_ns}: {text}"
            );
            let found = Explanation::from_perf_window(&report, Window::All);
            assert_eq!(found.devices.len(), 1, "seed {seed}: no chip ran an op of the host");
            let device = &found.devices[0];
            assert_eq!(device.op_count, op_count, "seed {seed}");
            let classes = [TimeClass::HostLate, TimeClass::Dispatch];
            let waits: f64 = classes.iter().filter_map(|of| device.time.class_ns(*of)).sum();
            assert!((waits - gaps_ns as f64).abs() < 2.0, "seed {seed}: {waits} of {gaps_ns}");
        }
    }
}

/// No explanation advises to capture the ops of a trace in a trace.
#[test]
fn a_trace_is_advised_only_before_ops_that_are_in_none() {
    for seed in seeds(200) {
        let mut numbers = Numbers(seed);
        let titles = format!("{TITLES},METAL TRACE ID,METAL TRACE REPLAY SESSION ID\n");
        let [mut of_none, mut of_some, mut of_all] = [(); 3].map(|()| titles.clone());
        let (mut late_count, mut traced_count) = (0, 0);
        for number in 0..2 + numbers.below(6) {
            let gap = if number == 0 { 0 } else { numbers.below(200_000) };
            let is_traced = numbers.below(2) > 0;
            late_count += u32::from(gap > 6_500);
            traced_count += u32::from(gap > 6_500 && is_traced);
            for (text, is_traced) in
                [(&mut of_none, false), (&mut of_some, is_traced), (&mut of_all, true)]
            {
                let trace = if is_traced { format!("1,{number}") } else { ",".to_owned() };
                writeln!(
                    text,
                    "Op{number},tt_dnn_device,0,wormhole_b0,{{}},HiFi2,64,64,{number},{gap},9000,{trace}"
                )
                .unwrap();
            }
        }
        let advice = |text: &str| {
            let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
            let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
            let found = Explanation::from_perf_window(&report, Window::All);
            let late = found.findings.into_iter().find(|of| of.cause == Cause::Host);
            late.map_or_else(String::new, |finding| finding.advice)
        };
        let [none, some, all] = [&of_none, &of_some, &of_all].map(|text| advice(text));
        let (captures, replays) = ("capture the ops in a trace", "come from a trace already");
        assert!(!all.contains(captures), "seed {seed}: {all}");
        assert!(!none.contains(replays), "seed {seed}: {none}");
        if !some.is_empty() {
            assert_eq!(some.contains(captures), traced_count < late_count, "seed {seed}: {some}");
            assert_eq!(some.contains(replays), traced_count > 0, "seed {seed}: {some}");
            let count = format!("before {traced_count} of the {late_count} gaps");
            let is_part = traced_count > 0 && traced_count < late_count;
            assert_eq!(some.contains(&count), is_part, "seed {seed}: {count}: {some}");
        }
    }
}
