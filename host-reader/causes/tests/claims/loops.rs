//! The time that a chip waits between two iterations of a loop is part of the loop.

use super::{explain_log, explain_ops};
use crate::generated::{Numbers, seeds};
use causes::{Cause, Explanation, TimeClass};
use std::fmt::Write;

/// A loop of ops, of which each chip runs all. The first iteration compiles.
#[derive(Debug)]
struct Loop {
    chips: u64,
    /// Lengths of the kernels in ns.
    kernels: Vec<u64>,
    iterations: u64,
    /// Gap before an iteration in ns.
    gap_ns: u64,
    has_cycles: bool,
}

/// Gap between two ops of an iteration, which is that of a launch.
const INNER_NS: u64 = 1_000;

impl Loop {
    fn of_two_ops(chips: u64, iterations: u64, gap_ns: u64) -> Self {
        Self { chips, kernels: vec![50_000, 70_000], iterations, gap_ns, has_cycles: false }
    }

    fn any(numbers: &mut Numbers) -> Self {
        let count = 1 + numbers.below(4);
        Self {
            chips: 1 + numbers.below(3),
            kernels: (0..count).map(|at| 50_000 + 1_000 * at + numbers.below(200_000)).collect(),
            iterations: 3 + numbers.below(6),
            gap_ns: 10_000 + numbers.below(40_000_000),
            has_cycles: numbers.below(2) == 0,
        }
    }

    /// Returns the start and the length of each op, and the gap before it.
    fn ops(&self) -> Vec<(u64, u64, u64)> {
        let (mut at, mut ops) = (0, Vec::new());
        for iteration in 0..self.iterations {
            for (op, kernel) in self.kernels.iter().enumerate() {
                let gap = match (iteration, op) {
                    (0, 0) => 0,
                    (0, _) => 900_000_000,
                    (_, 0) => self.gap_ns,
                    _ => INNER_NS,
                };
                ops.push((at + gap, *kernel, gap));
                at += gap + kernel;
            }
        }
        ops
    }

    /// Returns the time of one iteration with the gap before it.
    fn iteration_ns(&self) -> u64 {
        let inner = INNER_NS * (self.kernels.len() as u64 - 1);
        self.kernels.iter().sum::<u64>() + inner + self.gap_ns
    }

    fn csv(&self) -> String {
        let mut text = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,HOST START TS,DEVICE FW START CYCLE,\
            DEVICE FW END CYCLE,OP TO OP LATENCY [ns],DEVICE FW DURATION [ns],\
            DEVICE KERNEL DURATION [ns],INPUT_0_X_PAD[LOGICAL],INPUT_0_DATATYPE\n"
            .to_owned();
        for (number, (start, kernel, gap)) in self.ops().into_iter().enumerate() {
            let shape = 32 * (1 + number % self.kernels.len());
            for chip in 0..self.chips {
                let [first, last] = match self.has_cycles {
                    true => [start, start + kernel].map(|at| (at + 1_000).to_string()),
                    false => [String::new(), String::new()],
                };
                writeln!(
                    text,
                    "Op{shape},tt_dnn_device,{chip},wormhole_b0,{},{first},{last},{gap},{kernel},\
                     {kernel},{shape},BFLOAT16",
                    number as u64 * 100 + chip
                )
                .unwrap();
            }
        }
        text
    }

    fn log(&self) -> String {
        let mut text = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n\
            PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,\
            run host ID,zone name,type\n"
            .to_owned();
        for chip in 0..self.chips {
            for (number, (start, kernel, _)) in self.ops().into_iter().enumerate() {
                let program = 1024 * (1 + number % self.kernels.len());
                let end = start + kernel;
                let rows = [
                    (5, "FW", start, "START"),
                    (7, "KERNEL", start, "START"),
                    (8, "KERNEL", end, "END"),
                    (6, "FW", end, "END"),
                ];
                for (timer, zone, at, edge) in rows {
                    let at = at + 1_000;
                    writeln!(
                        text,
                        "{chip},1,2,TRISC_1,{timer},{at},0,{program},TRISC-{zone},ZONE_{edge}"
                    )
                    .unwrap();
                }
            }
        }
        text
    }
}

/// Asserts that the waiting of one iteration is told. A run of single ops is one part, so its figures are
/// those of `count` iterations.
fn assert_waits(of: &Loop, found: &Explanation, count: u64, what: &str) {
    let whole_ns = of.iteration_ns() * count;
    let host_ns = (of.gap_ns - 6_000) * count;
    let share = host_ns as f64 / whole_ns as f64 * 100.0;
    assert_eq!(found.devices.len() as u64, of.chips, "{what}");
    for device in &found.devices {
        let total_ns = device.time.total_ns.unwrap();
        assert!(total_ns.abs_diff(whole_ns) < 20, "{what}: {total_ns}, not {whole_ns}");
        let late_ns = device.time.class_ns(TimeClass::HostLate).unwrap();
        assert!((late_ns - host_ns as f64).abs() < 20.0, "{what}: {late_ns}, not {host_ns}");
    }
    let steady = found.steady.as_ref().unwrap();
    assert_eq!(steady.gap_before_ns.map(f64::round), Some(of.gap_ns as f64), "{what}");
    let told = found.window.as_deref().unwrap();
    // Half of a tenth more or less is rounding.
    let rounded = [share - 0.05, share, share + 0.05].map(|share| format!("waits {share:.1} %"));
    assert!(rounded.iter().any(|text| told.contains(text)), "{what}: {share:.1}: {told}");
    let host = found.findings.iter().find(|finding| finding.cause == Cause::Host);
    // From a fifth of the time on, waiting is a finding.
    assert!((19.9..20.1).contains(&share) || host.is_some() == (share >= 20.0), "{what}: {host:?}");
}

#[test]
fn the_gaps_between_iterations_are_part_of_the_loop() {
    for seed in seeds(200) {
        let of = Loop::any(&mut Numbers(seed));
        let what = format!("KPROF_CLAIMS_SEED={seed}: {of:?}");
        let is_of_one_op = of.kernels.len() == 1;
        // Rows of several chips alternate, so that an iteration is one row of each.
        let runs = if is_of_one_op && of.chips == 1 { of.iterations - 1 } else { 1 };
        assert_waits(&of, &explain_ops(&of.csv()), runs, &what);
        let runs = if is_of_one_op { of.iterations - 1 } else { 1 };
        assert_waits(&of, &explain_log(&of.log()), runs, &what);
    }
}

/// Of two iterations, the gap before the second may be the end of the compilation.
#[test]
fn a_single_gap_between_iterations_shows_no_loop() {
    let of = Loop::of_two_ops(1, 2, 900_000);
    for found in [explain_ops(&of.csv()), explain_log(&of.log())] {
        let told = found.window.as_deref().unwrap();
        let expected = "121 us, without the gap of 900 us before it, as no other shows whether each \
                        iteration has one) it waits 0.0 %";
        assert!(told.contains(expected), "{told}");
        assert_eq!(found.steady.unwrap().gap_before_ns, None);
    }
}

/// The host stops once before the last of six iterations.
#[test]
fn of_an_unusual_gap_only_what_others_have_counts() {
    let mut of = Loop::of_two_ops(1, 6, 90_000);
    let csv = of.csv();
    let last = csv.rfind(",90000,").unwrap();
    let csv = format!("{},7000000,{}", &csv[..last], &csv[last + ",90000,".len()..]);
    let told = explain_ops(&csv).window.unwrap();
    // 121 us of ops and 90 us of 7 ms.
    let expected =
        "211 us, with 90 us of the 7.0 ms before it, the median before 4 others) it waits 39.8 %";
    assert!(told.contains(expected), "{told}");
    of.gap_ns = 5_000;
    assert!(!explain_ops(&of.csv()).window.unwrap().contains("the gap of"), "a launch is no wait");
}

/// The profiler's own kernel runs once on one core, long after the loop; a user's zone of that name in a
/// program is the user's.
#[test]
fn the_kernel_that_synchronises_clocks_is_none_of_the_program() {
    for seed in seeds(20) {
        let log = Loop::any(&mut Numbers(seed)).log();
        let rows = |program: u32| {
            let begin = 90_000_000_000_u64;
            let rows = [
                (1, "BRISC-KERNEL", 0, "START"),
                (90, "SYNC-MAIN", 100, "START"),
                (90, "SYNC-MAIN", 10_000_000, "END"),
                (1, "BRISC-KERNEL", 10_000_100, "END"),
            ];
            let rows = rows.iter().map(|(timer, name, at, edge)| {
                format!("0,1,1,BRISC,{timer},{},0,{program},{name},ZONE_{edge}\n", begin + at)
            });
            rows.collect::<String>()
        };
        let (without, with) = (explain_log(&log), explain_log(&format!("{log}{}", rows(0))));
        let what = format!("KPROF_CLAIMS_SEED={seed}");
        assert_eq!(with.devices, without.devices, "{what}");
        assert_eq!((&with.findings, &with.window), (&without.findings, &without.window), "{what}");
        let told =
            with.not_used.iter().any(|of| of.contains("1 launch of the profiler's own kernel"));
        assert!(told, "{what}: {:?}", with.not_used);
        let own = explain_log(&format!("{log}{}", rows(7 * 1024)));
        assert_ne!(own.devices, without.devices, "{what}");
    }
}

/// Of three chips, the last lacks the last launch of the last program.
#[test]
fn a_chip_with_fewer_launches_than_others_is_named() {
    let of = Loop::of_two_ops(3, 3, 90_000);
    let log = of.log();
    let lines: Vec<&str> = log.lines().collect();
    let cut = lines[..lines.len() - 4].join("\n") + "\n";
    let expected = "chip 2 has 2 of the 3 launches of program 2 that 2 of 3 chips have";
    let found = explain_log(&cut);
    assert!(found.not_used.iter().any(|of| of == expected), "{:?}", found.not_used);
    assert!(!explain_log(&log).not_used.iter().any(|of| of.contains("launches of program")));
}
