//! Iterations: the last one is explained, without the run that compiles, and what it leaves out is
//! told.

use crate::model::Numbers;
use causes::{Cause, Explanation, GainOf, SteadyRule, TimeClass, Window};
use recording::{OpenedLog, device_log::PackedLog};
use reports::perf::{PerfReport, read_ops_csv};
use std::fmt::Write;

/// Log of kernel launches on one or more cores, one after the other.
struct Log {
    text: String,
    time: u64,
}

impl Log {
    fn new() -> Self {
        let text = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n\
            PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,\
            run host ID,zone name,type\n";
        Self { text: text.to_owned(), time: 1000 }
    }

    /// Adds a launch after a gap, with the length of its kernel on each core.
    fn launch(&mut self, program: u32, gap: u64, kernels: &[u64]) {
        let start = self.time + gap;
        for (kernel, x) in kernels.iter().zip(1..) {
            for (time, edge) in [(start, "START"), (start + kernel, "END")] {
                writeln!(
                    self.text,
                    "0,{x},2,TRISC_1,{},{time},0,{},TRISC-KERNEL,ZONE_{edge}",
                    7 + u8::from(edge == "END"),
                    program * 1024
                )
                .unwrap();
            }
        }
        self.time = start + kernels.iter().max().unwrap();
    }

    fn explain(&self, window: Window) -> Explanation {
        let log = PackedLog::read(self.text.as_bytes(), "log").unwrap();
        Explanation::from_log_window(OpenedLog::from(log), window).unwrap().1
    }
}

/// Builds two programs in three iterations. The first iteration compiles for 20 ms before each
/// launch.
fn model() -> Log {
    let mut log = Log::new();
    for iteration in 0..3 {
        for (program, kernel) in [(1, 30_000), (2, 70_000)] {
            let gap = if iteration == 0 { 20_000_000 } else { 5_000 };
            log.launch(program, gap, &[kernel]);
        }
    }
    log
}

#[test]
fn the_last_iteration_of_a_log_is_told_apart_from_the_one_that_compiles() {
    let explanation = model().explain(Window::Steady);
    let steady = explanation.steady.clone().unwrap();
    assert_eq!(
        (steady.rule, steady.op_count, steady.first_launch, steady.last_launch),
        (SteadyRule::RepeatedOps, 2, Some(5), Some(6))
    );
    // Two kernels, the gap between them and the one before them, which the second iteration has, too.
    assert_eq!((steady.total_ns, explanation.devices[0].time.total_ns), (110_000.0, Some(110_000)));
    assert!((explanation.devices[0].time.percent(TimeClass::Dispatch) - 9.1).abs() < 0.01);
    assert_eq!(explanation.findings, [], "100 of 110 us are kernels without waits");
    assert_eq!(explanation.ops.len(), 6, "all launches are listed");
    // From the first start to the last end: 20.32 ms, including 20 ms of waiting minus the cost of
    // a launch.
    let sentence = explanation.window.unwrap();
    let expected = "98.4 % of 20.3 ms the chip waited for the host; 1 gap over 10 ms before the steady \
                    part is 100 % of that. In the steady part (the last iteration: launches 5 to 6 of 6, \
                    110 us) it waits 0.0 %; all below is about that part.";
    assert_eq!(sentence, expected);
}

#[test]
fn all_launches_are_explained_if_asked_for_or_if_nothing_repeats() {
    let all = model().explain(Window::All);
    assert_eq!((all.steady, all.findings[0].cause), (None, Cause::Host));
    assert_eq!(all.findings[0].gain_of, GainOf::Recording);
    assert!(all.window.unwrap().starts_with("All launches, as asked for"));
    let mut log = Log::new();
    (1..4).for_each(|program| log.launch(program, 20_000_000, &[30_000]));
    let none = log.explain(Window::Steady);
    assert!(none.window.unwrap().starts_with("No second iteration was found in these launches"));
    assert!(none.findings[0].advice.starts_with("record at least two iterations more"));
    let mut log = Log::new();
    log.launch(1, 0, &[30_000]);
    assert_eq!(log.explain(Window::Steady).window, None, "one launch");
}

#[test]
fn a_core_that_is_late_in_each_iteration_gains_what_the_last_one_takes() {
    // Core (2,2) takes 60 us, and the other three cores take 20 us: 30 us on average.
    let mut log = Log::new();
    for iteration in 0..4 {
        let gap = if iteration == 0 { 20_000_000 } else { 1_000 };
        log.launch(1, gap, &[20_000, 60_000, 20_000, 20_000]);
        log.launch(2, 1_000, &[40_000; 4]);
    }
    let explanation = log.explain(Window::Steady);
    let late = explanation.findings.iter().find(|of| of.cause == Cause::Straggler).unwrap();
    assert!(late.sentence.contains("4 of 4 launches"), "{}", late.sentence);
    // One launch of 60 us could be shortened to the mean, by half.
    assert!((late.gain_at_most_ns.unwrap() - 30_000.0).abs() < 1.0, "{late:?}");
}

/// Op of an ops CSV: name, cores, and length in nanoseconds.
type CsvOp = (&'static str, u32, u32);

fn explain_ops(ops: &[CsvOp]) -> Explanation {
    let mut text = "OP CODE,OP TYPE,DEVICE ID,CORE COUNT,DEVICE KERNEL DURATION [ns],\
        OP TO OP LATENCY [ns]\n"
        .to_owned();
    for (name, cores, ns) in ops {
        writeln!(text, "{name},tt_dnn_device,0,{cores},{ns},1500").unwrap();
    }
    let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
    let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
    Explanation::from_perf_report(&report)
}

/// Adding ops before repetitions of one op never hides them: they are in the table, unless they
/// hardly take time. Ops on other cores are no repetitions.
#[test]
fn ops_before_repetitions_of_one_op_stay_in_the_table_of_ops() {
    let names = ["Matmul", "Sdpa", "Binary"];
    for seed in 0..200_u64 {
        let mut numbers = Numbers::new(seed);
        let mut below = |limit: u64| u32::try_from(numbers.below(limit)).unwrap();
        let mut ops: Vec<CsvOp> = Vec::new();
        for _ in 0..below(6) {
            ops.push((names[below(3) as usize], 64, 1_000 + below(300_000)));
        }
        let repeated = 2 + below(6);
        for _ in 0..repeated {
            ops.push(("LayerNorm", 64, 60_000 + below(4_000)));
        }
        let explanation = explain_ops(&ops);
        let ns = |name: Option<&str>| -> u32 {
            ops.iter().filter(|op| name.is_none_or(|name| op.0 == name)).map(|op| op.2).sum()
        };
        let others_ns = ns(None) - ns(Some("LayerNorm"));
        let is_much = f64::from(others_ns) >= 0.1 * f64::from(ns(None));
        for name in names.into_iter().filter(|name| ns(Some(name)) > 0 && is_much) {
            let group = explanation.groups.iter().find(|group| group.op == name);
            let found = group.unwrap().duration_ns - f64::from(ns(Some(name)));
            assert!(found.abs() < 1e-3, "{ops:?}");
        }
        let is_steady = explanation.steady.is_some_and(|of| of.rule == SteadyRule::RepeatedOp);
        assert_eq!(is_steady, !is_much && repeated > 2, "{ops:?}");
    }
}

#[test]
fn a_slow_run_on_other_cores_is_no_first_run() {
    let grids = [(4, 2_178_000), (56, 256_000), (64, 222_000), (130, 214_000), (120, 224_000)];
    let explanation = explain_ops(&grids.map(|(cores, ns)| ("Matmul", cores, ns)));
    assert_eq!(explanation.steady, None);
    assert_eq!(explanation.groups[0].duration_ns, 3_094_000.0);
    // Runs on equal cores are repetitions, but a first run with most of the time is not left out.
    let explanation =
        explain_ops(&[("Matmul", 64, 2_000_000), ("Matmul", 64, 200_000), ("Matmul", 64, 200_000)]);
    assert_eq!(explanation.steady, None);
    let told = explanation.window.unwrap();
    let expected =
        "the first of 3 runs of one op of 2.0 ms, 10.0 times the median of the others has most";
    assert!(told.contains(expected), "{told}");
}

/// Signposts that number iterations decide where these begin and end, whatever repeats within them:
/// layers of one iteration are no iterations (tt-metal issue 50932).
#[test]
fn signposts_that_number_iterations_decide_the_iterations() {
    let pairs = [("iter_#_start", "iter_#_end"), ("Iteration #", ""), ("run-# begin", "run-# end")];
    for seed in 0..120_u64 {
        let mut numbers = Numbers::new(seed);
        let mut pick =
            |from: usize, below: u64| from + usize::try_from(numbers.below(below)).unwrap();
        let (iterations, layers, ops) = (pick(2, 3), pick(2, 5), pick(2, 3));
        let (start, end) = pairs[pick(0, 3)];
        let (has_warm_up, has_rest) = (pick(0, 2) == 1, pick(0, 2) == 1 && !end.is_empty());
        let mut text =
            "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns]\n"
                .to_owned();
        let op = |text: &mut String, at: usize| {
            writeln!(text, "Op{at},tt_dnn_device,0,40000,1500").unwrap()
        };
        let mut rows = 1_u64;
        if has_warm_up {
            text.push_str("warmup,signpost,,,\n");
            op(&mut text, 9);
            rows += 2;
        }
        let mut last = (0, 0);
        for iteration in 0..iterations {
            let name = |name: &str| name.replace('#', &iteration.to_string());
            writeln!(text, "{},signpost,,,", name(start)).unwrap();
            (0..layers * ops).for_each(|at| op(&mut text, at % ops));
            let count = u64::try_from(layers * ops).unwrap();
            last = (rows + 2, rows + 1 + count);
            rows += 1 + count;
            if !end.is_empty() {
                writeln!(text, "{},signpost,,,", name(end)).unwrap();
                rows += 1;
            }
        }
        if has_rest {
            op(&mut text, 8);
        }
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
        let found = Explanation::from_perf_report(&report);
        let steady = found.steady.unwrap();
        assert_eq!(steady.rule, SteadyRule::Signpost, "{text}");
        assert_eq!((steady.first_row, steady.last_row), (Some(last.0), Some(last.1)), "{text}");
        let window = found.window.unwrap();
        assert!(window.contains(&format!("The {iterations} iterations take")), "{window}");
    }
}
