//! Chips that run unlike ops, and collectives among which one takes nearly all of the time.

use super::explain_ops;
use causes::{Cause, Explanation, Finding, GainOf};

const TITLES: &str = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,CORE COUNT,AVAILABLE WORKER CORE COUNT,\
    DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns],INPUT_0_W,INPUT_0_Z,INPUT_0_Y,INPUT_0_X,\
    INPUT_0_LAYOUT,INPUT_0_DATATYPE,INPUT_0_MEMORY";

/// Explains four iterations of ops: name, chip and microseconds.
fn explained(ops: &[(&str, u32, u32)]) -> Explanation {
    let row = |(name, chip, us): &(&str, u32, u32)| {
        format!(
            "{name},tt_dnn_device,{chip},wormhole_b0,1,64,{us}000,1000,1,1,512,512,ROW_MAJOR,BFLOAT16,\
             DEV_0_DRAM_INTERLEAVED\n"
        )
    };
    explain_ops(&format!("{TITLES}\n{}", ops.iter().map(row).collect::<String>().repeat(4)))
}

fn of_op<'a>(found: &'a Explanation, cause: Cause, text: &str) -> (usize, &'a Finding) {
    let mut findings = found.findings.iter().enumerate();
    let is_wanted = |of: &Finding| of.cause == cause && of.sentence.contains(text);
    findings.find(|(_, of)| is_wanted(of)).unwrap_or_else(|| panic!("{:#?}", found.findings))
}

/// Chip 1 is done after 700 us of 1,000: what it runs makes the iteration no shorter.
#[test]
fn a_gain_of_a_chip_that_is_done_before_another_is_of_its_own_time() {
    let matmul = ("Matmul", 0, 900);
    let found =
        explained(&[matmul, ("Add", 0, 100), ("TilizeWithValPadding", 1, 650), ("Add", 1, 50)]);
    let (at, tilize) = of_op(&found, Cause::Layout, "TilizeWithValPadding");
    assert_eq!((tilize.gain_of, tilize.place.chip_id), (GainOf::Chip, Some(1)));
    let percent = tilize.gain_at_most_percent.unwrap();
    // 650 of 700 us, and a gap of 1 us before each op.
    assert!((percent - 650.0 / 702.0 * 100.0).abs() < 0.5, "{tilize:#?}");
    assert_eq!(tilize.gain_at_most_percent_of_all, None);
    let why = "chip 0 takes longest, 1.0 ms, and another chip runs them: chip 1 takes 702 us; ";
    assert!(tilize.why[0].starts_with(why), "{tilize:#?}");
    assert_eq!(at, found.findings.len() - 1, "after what makes the iteration shorter");
    // The longest chip runs it, too; or both take as long; or one waits for the other in a collective.
    for ops in [
        &[matmul, ("TilizeWithValPadding", 0, 100), ("TilizeWithValPadding", 1, 650)][..],
        &[("Matmul", 0, 660), ("TilizeWithValPadding", 1, 650)],
        &[matmul, ("AllGather", 0, 90), ("TilizeWithValPadding", 1, 650), ("AllGather", 1, 50)],
    ] {
        let found = explained(ops);
        let (_, tilize) = of_op(&found, Cause::Layout, "TilizeWithValPadding");
        assert_eq!(tilize.gain_of, GainOf::Steady, "{ops:?}: {tilize:#?}");
    }
}

#[test]
fn a_collective_that_takes_nearly_all_of_them_is_named() {
    let told = |long_us| {
        let ops = [
            ("AllGather", 0, 40),
            ("Matmul", 0, 100),
            ("AllReduce", 0, long_us),
            ("AllGather", 0, 60),
        ];
        of_op(&explained(&ops), Cause::Collective, "Collectives take").1.sentence.clone()
    };
    let most = told(900);
    assert!(most.ends_with(": 3 ops, of which one takes 90.0 % (row 16)"), "{most}");
    assert!(!told(250).contains("of which"), "71 %");
}

/// Twelve iterations on chip 0, of 20 us of kernels each, and two long ops of another program on chip 1, which are over
/// before the last iteration.
#[test]
fn a_chip_without_an_op_in_the_steady_part_is_named_and_does_not_speak_for_it() {
    let row = |(name, chip, us): (&str, u32, u32)| {
        format!(
            "{name},tt_dnn_device,{chip},wormhole_b0,1,64,{us}000,1000,1,1,512,512,ROW_MAJOR,BFLOAT16,\
             DEV_0_DRAM_INTERLEAVED\n"
        )
    };
    let ops = [("Warm", 1, 100), ("Cool", 1, 60)].into_iter();
    let ops = ops.chain([("Matmul", 0, 15), ("Add", 0, 5)].repeat(12));
    let found = explain_ops(&format!("{TITLES}\n{}", ops.map(row).collect::<String>()));
    let told = found.window.as_deref().unwrap();
    // Of 400 us of kernels, 160 are those of chip 1.
    let outside =
        "Chip 1 has no op in it: its 2 ops take 160 us of kernels, 40.0 % of all chips' kernels.";
    assert!(told.contains(outside), "{told}");
    assert!(told.starts_with("0.0 % of 263 us chip 0 waited for the host"), "{told}");
    assert!(!told.contains("the chip waits"), "{told}");
    // Chips that all have ops in the part are not named.
    let both = explained(&[("Matmul", 0, 15), ("Add", 1, 5)]);
    assert!(!both.window.unwrap().contains("no op in it"));
}
