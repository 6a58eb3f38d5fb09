//! The steady part stands for most of the kernels' time, and hides no op that takes much of it.

use super::explain_ops;
use crate::generated::{Numbers, seeds};
use causes::{Cause, Explanation, SteadyRule};
use std::{collections::BTreeMap, fmt::Write};

/// Row of a generated ops CSV.
#[derive(Clone, Debug, PartialEq)]
struct Op {
    name: &'static str,
    cores: u64,
    fidelity: &'static str,
    memory: &'static str,
    attributes: &'static str,
    kernel_ns: u64,
    /// Names of signposts before the op, separated by semicolons.
    signpost: String,
}

impl Op {
    const fn new(name: &'static str, kernel_ns: u64) -> Self {
        let (fidelity, memory) = ("HiFi2", "DEV_0_DRAM_INTERLEAVED");
        let attributes = "{}";
        Self { name, cores: 64, fidelity, memory, attributes, kernel_ns, signpost: String::new() }
    }

    /// Returns what two repetitions of an op have in common.
    fn identity(&self) -> (&str, u64, &str, &str, &str) {
        (self.name, self.cores, self.fidelity, self.memory, self.attributes)
    }
}

/// Returns the ops CSV of ops that follow each other after 1,500 ns.
fn csv_of(ops: &[Op]) -> String {
    let mut text = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,ATTRIBUTES,MATH FIDELITY,CORE COUNT,\
        AVAILABLE WORKER CORE COUNT,HOST START TS,OP TO OP LATENCY [ns],DEVICE KERNEL DURATION [ns],\
        INPUT_0_W_PAD[LOGICAL],INPUT_0_Z_PAD[LOGICAL],INPUT_0_Y_PAD[LOGICAL],\
        INPUT_0_X_PAD[LOGICAL],INPUT_0_DATATYPE,INPUT_0_MEMORY\n"
        .to_owned();
    for (number, op) in ops.iter().enumerate() {
        let start = number * 1_000;
        for signpost in op.signpost.split(';').filter(|name| !name.is_empty()) {
            writeln!(text, "{signpost},signpost,,,,,,,{start},,,,,,,,").unwrap();
        }
        let gap = if number == 0 { 0 } else { 1_500 };
        let Op { name, cores, fidelity, memory, attributes, kernel_ns, .. } = op;
        writeln!(
            text,
            "{name},tt_dnn_device,0,wormhole_b0,{attributes},{fidelity},{cores},64,{},{gap},\
             {kernel_ns},1,1,256,512,BFLOAT16,{memory}",
            start + 1
        )
        .unwrap();
    }
    text
}

/// Returns the time of the kernels that an explanation covers, by op code.
fn explained_ns(found: &Explanation) -> BTreeMap<&str, f64> {
    let mut times = BTreeMap::new();
    for group in &found.groups {
        *times.entry(group.op.as_str()).or_default() += group.duration_ns;
    }
    times
}

/// Returns the ops of the steady part: without signposts, the first op is in row 2.
fn steady_ops<'a>(found: &Explanation, ops: &'a [Op]) -> Option<&'a [Op]> {
    let steady = found.steady.as_ref()?;
    let [first, last] = [steady.first_row?, steady.last_row?]
        .map(|row| usize::try_from(row).unwrap().checked_sub(2).unwrap());
    Some(&ops[first..=last])
}

fn sum_ns(ops: &[Op]) -> u64 {
    ops.iter().map(|op| op.kernel_ns).sum()
}

/// Asserts what holds for any steady part that repetitions of ops show.
fn assert_stands_for_the_whole(ops: &[Op], what: &str) {
    let found = explain_ops(&csv_of(ops));
    let told = found.window.clone().unwrap_or_default();
    let explained: f64 = explained_ns(&found).values().sum();
    let Some(steady) = steady_ops(&found, ops) else {
        assert!((explained - sum_ns(ops) as f64).abs() < 1.0, "{what}: {told}: {ops:#?}");
        return;
    };
    assert!((explained - sum_ns(steady) as f64).abs() < 1.0, "{what}: {told}");
    // How often the sequence of the part, or an op of it if all are equal, is in the file.
    let is_of_one_op = steady.iter().all(|op| op.identity() == steady[0].identity());
    let (sequence, length) = match is_of_one_op {
        true => (&steady[..1], sum_ns(steady) as f64 / steady.len() as f64),
        false => (steady, sum_ns(steady) as f64),
    };
    let is_like = |window: &[Op]| {
        window.iter().zip(sequence).all(|(one, other)| one.identity() == other.identity())
    };
    let count = ops.windows(sequence.len()).filter(|window| is_like(window)).count();
    let stands_for = length * count as f64;
    assert!(stands_for >= sum_ns(ops) as f64 * 0.5, "{what}: {stands_for}: {told}: {ops:#?}");
    if is_of_one_op {
        let others: Vec<Op> =
            ops.iter().filter(|op| op.identity() != steady[0].identity()).cloned().collect();
        assert!(sum_ns(&others) as f64 <= sum_ns(ops) as f64 * 0.1, "{what}: {told}: {ops:#?}");
    }
    // What is left out is told.
    let in_iterations: u64 = if is_of_one_op {
        let own = ops.iter().rev().take_while(|op| op.identity() == steady[0].identity());
        own.map(|op| op.kernel_ns).sum()
    } else {
        let mut passes = ops.rchunks(steady.len());
        let equal = passes.by_ref().take_while(|pass| pass.len() == steady.len() && is_like(pass));
        equal.map(sum_ns).sum()
    };
    let percent = in_iterations as f64 / sum_ns(ops) as f64 * 100.0;
    let kernel_percent = found.steady.as_ref().unwrap().kernel_percent;
    assert!((kernel_percent - percent).abs() < 0.1, "{what}: {kernel_percent}, not {percent}");
    let share = format!("have {percent:.1} % of the kernels' time");
    assert!(percent >= 99.94 || told.contains(&share), "{what}: {share}: {told}");
}

const NAMES: [&str; 4] = ["MatmulDeviceOperation", "SDPAOperation", "LayerNorm", "OpOfTomorrow"];

/// Returns ops of different settings, in a sequence that repeats after others, or hardly.
fn any_ops(numbers: &mut Numbers) -> Vec<Op> {
    let any = |numbers: &mut Numbers| Op {
        cores: [1, 8, 64][usize::try_from(numbers.below(3)).unwrap()],
        fidelity: numbers.one_of(&["HiFi2", "LoFi"]),
        memory: numbers.one_of(&["DEV_0_DRAM_INTERLEAVED", "DEV_0_L1_INTERLEAVED"]),
        attributes: numbers.one_of(&[
            "{}",
            "{'program_config': 'A(in0_block_w=2)'}",
            "{'at': '3'}",
        ]),
        ..Op::new(numbers.one_of(&NAMES), 1_000 + numbers.below(4) * numbers.below(100_000))
    };
    let before = numbers.below(4);
    let mut ops: Vec<Op> = (0..before).map(|_| any(numbers)).collect();
    let length = 1 + numbers.below(3);
    let sequence: Vec<Op> = (0..length).map(|_| any(numbers)).collect();
    let slow_first = 1 + numbers.below(2) * numbers.below(12);
    for pass in 0..1 + numbers.below(6) {
        let factor = if pass == 0 { slow_first } else { 1 };
        ops.extend(
            sequence.iter().map(|op| Op {
                kernel_ns: op.kernel_ns * factor + numbers.below(200),
                ..op.clone()
            }),
        );
    }
    ops
}

#[test]
fn a_steady_part_stands_for_most_of_the_kernels_time() {
    for seed in seeds(300) {
        let ops = any_ops(&mut Numbers(seed));
        assert_stands_for_the_whole(&ops, &format!("KPROF_CLAIMS_SEED={seed}"));
    }
}

/// A sweep over one property of an op: the runs are no repetitions, whatever differs.
#[test]
fn ops_of_different_settings_are_no_repetitions_of_each_other() {
    let op = Op::new("MatmulDeviceOperation", 100_000);
    let others = [
        Op { cores: 4, ..op.clone() },
        Op { fidelity: "HiFi4", ..op.clone() },
        Op { memory: "DEV_0_L1_WIDTH_SHARDED", ..op.clone() },
        Op { attributes: "{'program_config': 'B(in0_block_w=4)'}", ..op.clone() },
        Op { attributes: "{'transpose_b': 'true'}", ..op.clone() },
    ];
    let equal = explain_ops(&csv_of(&vec![op.clone(); 5])).steady.unwrap();
    assert_eq!((equal.rule, equal.first_row), (SteadyRule::RepeatedOp, Some(3)));
    for other in others {
        for at in 0..5 {
            let mut ops = vec![op.clone(); 5];
            ops[at] = other.clone();
            let found = explain_ops(&csv_of(&ops));
            let told = format!("{at}: {other:?}: {found:#?}");
            assert_eq!(found.steady, None, "{told}");
            assert!((explained_ns(&found).values().sum::<f64>() - 5e5).abs() < 1.0, "{told}");
        }
    }
}

/// A matmul with five grids; the first is of 4 of 64 cores and takes ten times as long.
#[test]
fn the_slow_op_of_a_sweep_is_no_warm_up() {
    let grids = [(4, 2_178_300), (56, 220_700), (60, 214_200), (64, 225_700), (48, 255_600)];
    let ops =
        grids.map(|(cores, kernel_ns)| Op { cores, ..Op::new("MatmulDeviceOperation", kernel_ns) });
    let found = explain_ops(&csv_of(&ops));
    assert_eq!(found.steady, None, "{found:#?}");
    let cores = found.findings.iter().find(|of| of.cause == Cause::OpGroup).unwrap();
    let why = cores.why.join("; ");
    assert!(why.contains("on 4 of 64"), "{found:#?}");
}

/// 4 matmuls of 100 us, attention of 300 us, 5 equal layer norms of 60 us.
#[test]
fn other_ops_before_equal_ones_do_not_vanish() {
    let mut ops = vec![Op::new("MatmulDeviceOperation", 100_000); 4];
    ops.push(Op::new("SDPAOperation", 300_000));
    ops.extend(vec![Op::new("LayerNormDeviceOperation", 60_000); 5]);
    let found = explain_ops(&csv_of(&ops));
    let expected = [
        ("LayerNormDeviceOperation", 300_000.0),
        ("MatmulDeviceOperation", 400_000.0),
        ("SDPAOperation", 300_000.0),
    ];
    assert_eq!(explained_ns(&found), BTreeMap::from(expected));
    assert_eq!(
        found.window.as_deref().unwrap(),
        "All rows are explained, with any compilation: 5 runs of one op have 30.0 % of the kernels' \
         time. --window last explains only rows 8 to 11. Gains of kernels are shares of the kernels' time."
    );
    // With little before them, they are the program.
    let mut ops = vec![Op::new("TilizeDeviceOperation", 20_000)];
    ops.extend(vec![Op::new("LayerNormDeviceOperation", 60_000); 5]);
    let steady = explain_ops(&csv_of(&ops)).steady.unwrap();
    assert_eq!((steady.first_row, steady.last_row), (Some(4), Some(7)));
    assert!((steady.kernel_percent - 93.75).abs() < 1e-9, "{steady:?}");
}

/// Five equal runs; the first takes longer.
#[test]
fn a_first_run_that_is_left_out_is_told_with_its_time() {
    let found = |first_ns| {
        let mut ops = vec![Op::new("LayerNormDeviceOperation", 60_000); 5];
        ops[0].kernel_ns = first_ns;
        explain_ops(&csv_of(&ops))
    };
    let told = |first_ns| found(first_ns).window.unwrap();
    assert!(
        told(61_000).contains("without its first run of 61 us: rows 3 to 6"),
        "{}",
        told(61_000)
    );
    let slower = "without its first run of 120 us, 2.0 times the median of the others: rows 3 to 6";
    assert!(told(120_000).contains(slower), "{}", told(120_000));
    let slow = found(600_000);
    assert_eq!(slow.steady, None);
    let all = slow.window.as_deref().unwrap();
    let expected =
        "the first of 5 runs of one op of 600 us, 10.0 times the median of the others has most";
    assert!(all.contains(expected), "{all}");
    assert!((explained_ns(&slow)["LayerNormDeviceOperation"] - 840_000.0).abs() < 1.0);
}

/// Two layers of two ops each, with a signpost before each layer.
fn layers(signposts: [&str; 2]) -> Explanation {
    let layer = |signpost: &str| {
        let first = Op::new("MatmulDeviceOperation", 200_000);
        [Op { signpost: signpost.to_owned(), ..first }, Op::new("SDPAOperation", 300_000)]
    };
    let mut ops = vec![Op { signpost: "begin".to_owned(), ..Op::new("Embedding", 10_000) }];
    ops.extend(signposts.into_iter().flat_map(layer));
    explain_ops(&csv_of(&ops))
}

#[test]
fn repetitions_that_signposts_name_as_parts_are_no_iterations() {
    let found = layers(["ZS layer00/attn", "ZS layer01/attn"]);
    assert_eq!(found.steady, None);
    let window = found.window.unwrap();
    let expected = "signposts mark the repetitions as parts of one iteration (ZS layer00/attn, ZS \
                    layer01/attn)";
    assert!(window.contains(expected), "{window}");
    // Marks that end a part come before the next op, too.
    assert_eq!(layers(["ZS layer00", "ZE layer00;ZS layer01"]).steady, None);
    for (signposts, rule) in [
        (["iteration 0", "iteration 1"], SteadyRule::Signpost),
        (["warmup", "start"], SteadyRule::RepeatedOps),
        (["", ""], SteadyRule::RepeatedOps),
    ] {
        assert_eq!(layers(signposts).steady.unwrap().rule, rule, "{signposts:?}");
    }
}
