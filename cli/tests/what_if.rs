//! Tests of `--what-if`, and of what `kprof explain` and `kprof diff` say of it.

use crate::program::kprof;
use serde_json::Value;
use std::path::Path;

fn text(folder: &Path, args: &[&str]) -> String {
    let output = kprof(folder, args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(folder: &Path, args: &[&str]) -> Value {
    serde_json::from_str(&text(folder, args)).unwrap()
}

/// Returns the kernel durations of a recording's ops, in the order of the launches.
fn durations(folder: &Path, input: &str) -> Vec<f64> {
    let report = json(folder, &["report", input, "--json"]);
    let ops = report["ops"].as_array().unwrap();
    ops.iter().map(|op| op["kernel_ns"].as_f64().unwrap()).collect()
}

#[test]
fn explain_and_diff_say_what_each_limit_costs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for arch in ["wormhole_b0", "blackhole"] {
        let run = |name: &str, options: &[&str]| {
            let fixed = ["run", "--arch", arch, "--ops", "6", "-o", name];
            text(folder, &[&fixed[..], options].concat())
        };
        let said = run("base", &[]);
        assert!(said.contains("Simulated times leave out L1 banks.\n"), "{said}");
        let base = durations(folder, "base");
        for (what_if, limits) in [
            ("dram=free", "DRAM"),
            ("noc=free", "NoC rates"),
            ("caches=warm", "instruction caches"),
            (
                "caches=warm,compute=free,dram=free,noc=free",
                "DRAM, NoC rates, compute and instruction caches",
            ),
        ] {
            let said = run("free", &["--what-if", what_if]);
            let sentence =
                format!("Simulated times leave out L1 banks, and, as requested, {limits}.");
            assert!(said.contains(&sentence), "{said}");
            let explained = text(folder, &["explain", "free"]);
            assert!(explained.contains(&sentence), "{explained}");
            let free = durations(folder, "free");
            assert_eq!(free.len(), base.len());
            let sums = [&base, &free].map(|all| all.iter().sum::<f64>());
            // Warm code makes the RISCs of this workload meet at other times, on a Blackhole for longer.
            assert!(what_if == "caches=warm" || sums[0] > sums[1], "{arch} {what_if}: {sums:?}");
            assert_ne!(base, free, "{arch} {what_if}");
            for words in
                [["explain", "base", "--without", "free"], ["diff", "base", "free", "--all"]]
            {
                let found = json(folder, &[&words[..], &["--json"]].concat());
                let cost = if words[0] == "diff" { &found["limits"] } else { &found["limits"][0] };
                let names: Vec<&str> = cost["limits"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|it| it.as_str().unwrap())
                    .collect();
                assert_eq!(names.join(", "), limits.replace(" and ", ", "));
                // The report rounds each op to whole nanoseconds.
                for (name, sum) in [("with_ns", sums[0]), ("without_ns", sums[1])] {
                    let found = cost[name].as_f64().unwrap();
                    assert!((found - sum).abs() <= 0.5 * 6.0, "{name}: {found}, {sum}");
                }
                assert_eq!(cost["launch_count"].as_u64(), Some(base.len() as u64));
                let shown = text(folder, &words);
                let [with, without] =
                    ["with_ns", "without_ns"].map(|name| cost[name].as_f64().unwrap());
                let expected = format!(
                    "{:.3} us, {:.1} % of the {:.3} us of 6 launches",
                    (with - without) / 1e3,
                    100.0 * (with - without) / with,
                    with / 1e3
                );
                assert!(shown.contains(&expected), "{expected} in {shown}");
            }
        }
    }
}

#[test]
fn what_is_no_simulation_without_a_limit_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    text(folder, &["run", "--ops", "2", "-o", "base"]);
    text(folder, &["run", "--ops", "2", "--what-if", "dram=free", "-o", "dram"]);
    text(folder, &["run", "--ops", "2", "--what-if", "noc=free", "-o", "noc"]);
    text(folder, &["run", "--ops", "3", "--what-if", "dram=free", "-o", "longer"]);
    let log = std::fs::read(folder.join("base/.logs/profile_log_device.csv")).unwrap();
    std::fs::write(folder.join("card.csv"), log).unwrap();
    for (words, reason) in [
        (["base", "base"], "found that base lifts none, and base lifts none"),
        (["dram", "base"], "found that base lifts none, and dram lifts DRAM"),
        (["dram", "noc"], "found that noc lifts NoC rates, and dram lifts DRAM"),
        (["card.csv", "dram"], "card.csv is not known to be simulated"),
        (["base", "longer"], "record the same program with the same seed"),
        (["base", "missing"], "missing"),
    ] {
        let output = kprof(folder, &["explain", words[0], "--without", words[1]]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(reason) && said.lines().count() == 1, "{said}");
    }
    let shown = text(folder, &["diff", "dram", "noc"]);
    assert!(!shown.contains("Cost of"), "each lifts a limit that the other has: {shown}");
}

/// Kernels that hang have no length with or without the limit: they are told, and the rest has a
/// cost.
#[test]
fn launches_that_never_end_are_told_beside_the_cost_of_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let recorded = [("base.kprof", None), ("dram.kprof", Some(["--what-if", "dram=free"]))];
    for (name, limits) in recorded {
        let args = ["capture", "--workload", "broken-kernels", "-o", name];
        let args = args.into_iter().chain(limits.into_iter().flatten());
        // The run says that kernels failed.
        assert_eq!(kprof(folder, &args.collect::<Vec<_>>()).status.code(), Some(2));
    }
    let explained = json(folder, &["explain", "base.kprof", "--without", "dram.kprof", "--json"]);
    let ops = json(folder, &["report", "base.kprof", "--json"]);
    let lengths = ops["ops"].as_array().unwrap().iter().map(|op| op["kernel_ns"].as_f64());
    let (known, untimed): (Vec<_>, Vec<_>) = lengths.partition(Option::is_some);
    assert_eq!((known.len(), untimed.len()), (2, 6));
    let cost = &explained["limits"][0];
    assert_eq!((&cost["launch_count"], &cost["untimed_count"]), (&2.into(), &6.into()));
    let known_ns: f64 = known.into_iter().flatten().sum();
    assert_eq!(cost["with_ns"].as_f64(), Some(known_ns));
    let shown = text(folder, &["explain", "base.kprof", "--without", "dram.kprof"]);
    // The kernels wait for nothing in DRAM.
    let told = format!(
        "of 2 launches, which take {:.3} us without; 6 launches have no length",
        known_ns / 1000.0
    );
    assert!(shown.contains(&told), "{shown}");
}
