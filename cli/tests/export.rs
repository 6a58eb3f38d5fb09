//! Tests of `kprof export` as a user runs it: formats, filters, runs and refused arguments.

use crate::{counted, program};
use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = program::program();
    command.args(args).current_dir(folder);
    command
}

fn kprof(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn assert_refused(output: &Output, sentence: &str) {
    let errors = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains(sentence), "{errors}");
}

fn log_folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures/mesham-tt-sim").join(name)
}

fn entries(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

#[test]
fn the_name_of_the_output_tells_the_format() {
    let folder = tempfile::tempdir().unwrap();
    let log = log_folder("wormhole-noc-256");
    let log = log.to_str().unwrap();
    for (name, format) in [
        ("a.pftrace", "perfetto"),
        ("a.json", "chrome"),
        ("a.folded", "folded"),
        ("a.html", "html"),
    ] {
        let output = kprof(folder.path(), &["export", log, "-o", name, "--json"]);
        let told: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!((&told["format"], &told["output"]), (&format.into(), &name.into()));
        // 58 records: 2 zones on each of 2 RISCs and 50 values, as `wc` and `grep` count them.
        assert_eq!((&told["zones"], &told["points"]), (&4.into(), &50.into()));
    }
    let default = stdout(&kprof(folder.path(), &["export", log]));
    assert!(default.starts_with("profile_log_device.pftrace: 4 zones"), "{default}");
    assert_eq!(entries(folder.path()).len(), 5);
}

#[test]
fn formats_go_to_standard_output_and_through_a_filter() {
    let folder = tempfile::tempdir().unwrap();
    let log = log_folder("wormhole-counters-elw");
    let args = ["export", log.to_str().unwrap(), "-f", "folded", "-o", "-"];
    let all = stdout(&kprof(folder.path(), &args));
    assert!(all.contains(";BRISC;BRISC-FW;BRISC-KERNEL ") && all.contains(";TRISC_0;"), "{all}");
    let brisc = stdout(&kprof(folder.path(), &[&args[..], &["--filter", "risc=brisc"]].concat()));
    let mut stacks = brisc.lines().filter(|line| !line.starts_with('[')).peekable();
    assert!(stacks.peek().is_some() && stacks.all(|line| line.contains(";BRISC;")), "{brisc}");
    assert!(brisc.contains("[hidden by filter lanes "), "{brisc}");
    assert!(all.contains("[losses unknown] 0\n"), "{all}");
    assert!(entries(folder.path()).is_empty());
}

#[test]
fn logs_of_upstream_are_written_back_byte_for_byte_and_captures_keep_their_counts() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "blackhole-noc-256",
        "blackhole-noc-4096",
        "wormhole-counters-elw",
        "wormhole-noc-256",
        "wormhole-noc-4096",
    ] {
        let log = log_folder(name);
        let args = ["export", log.to_str().unwrap(), "-o", "profile_log_device.csv"];
        let output = kprof(folder.path(), &args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let written = std::fs::read(folder.path().join("profile_log_device.csv")).unwrap();
        let original = std::fs::read(log.join("profile_log_device.csv")).unwrap();
        assert!(written == original, "{name}");
        let piped =
            stdout(&kprof(folder.path(), &["export", args[1], "-f", "device-log", "-o", "-"]));
        assert!(piped.as_bytes() == original, "{name}");
    }
    let captured = ["capture", "--ops", "2", "-o", "c.kprof"];
    assert!(kprof(folder.path(), &captured).status.success());
    let args = ["export", "c.kprof", "-o", "profile_log_device.csv", "--json"];
    let written: serde_json::Value =
        serde_json::from_str(&stdout(&kprof(folder.path(), &args))).unwrap();
    let report = |file: &str| -> serde_json::Value {
        let text = stdout(&kprof(folder.path(), &["report", file, "--json"]));
        serde_json::from_str(&text).unwrap()
    };
    let (from_capture, from_log) = (report("c.kprof"), report("profile_log_device.csv"));
    assert_eq!(from_capture["kept"], from_log["kept"]);
    assert_eq!(from_capture["zones"], from_log["zones"]);
    assert!(written["rows"].as_u64().unwrap() > 1000, "{written}");
}

#[test]
fn what_cannot_be_written_or_understood_is_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let log = log_folder("wormhole-noc-256");
    let log = log.to_str().unwrap();
    for (args, sentence) in [
        (
            &["-o", "a.csv"][..],
            "expected --format, profile_log_device.csv, or a name that ends in .pftrace",
        ),
        (&["-o", "no/a.folded"], "cannot write no/a.folded: there is no folder no"),
        (&["-o", "/dev/full", "-f", "perfetto"], "No space left on device"),
        (&["-o", ".", "-f", "folded"], "expected the name of a file, found a folder"),
        (&["--recording", "a", "-f", "html"], "--recording is only for --format parquet"),
        (&["--recording", "a", "-f", "device-log"], "--recording is only for --format"),
        (&["--host", "a"], "--host is only for --format parquet"),
        (&["--host", "a", "-f", "device-log"], "--host is only for --format parquet"),
        (&["--compare", "c.kprof", "-f", "device-log"], "--compare is only for --format html"),
        (&["-f", "svg"], "there is no format `svg`; choose from perfetto, chrome"),
        (&["--filter", "core=1"], "expected a core as x-y"),
        (&["--run", "2"], "holds 1 run, found --run 2"),
    ] {
        let output = kprof(folder.path(), &[&["export", log], args].concat());
        assert_refused(&output, sentence);
        assert!(entries(folder.path()).is_empty(), "{args:?}");
    }
    assert_refused(&kprof(folder.path(), &["export", "."]), "expected profile_log_device.csv");
}

#[test]
fn a_run_of_several_must_be_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let capture = ["capture", "--ops", "1", "-o", "c.kprof"];
    stdout(&kprof(folder.path(), &capture));
    stdout(&kprof(folder.path(), &[&capture[..], &["--append", "--seed", "1"]].concat()));
    let refused = kprof(folder.path(), &["export", "c.kprof"]);
    assert_refused(&refused, "holds 2 runs; choose one by --run 1 to --run 2");
    let second = kprof(folder.path(), &["export", "c.kprof", "--run", "2", "-o", "c.json"]);
    assert!(stdout(&second).contains("1 op on 320 lanes"));
    let trace = std::fs::read_to_string(folder.path().join("c.json")).unwrap();
    assert!(trace.contains("\"name\":\"matmul 1\""));
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_nothing_and_ends_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let capture = ["capture", "--ops", "40", "--grid", "4x4", "-o", "c.kprof"];
    stdout(&kprof(folder.path(), &capture));
    // Nothing reads the pipe, so the pipe fills and the write blocks. The signal then arrives
    // during the write.
    let args = ["export", "c.kprof", "-f", "chrome", "-o", "-"];
    let mut child = command(folder.path(), &args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdout.take().unwrap();
    // The first bytes show that the export has started to write.
    std::io::Read::read_exact(&mut pipe, &mut [0; 1000]).unwrap();
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let drain = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        std::io::copy(&mut pipe, &mut std::io::sink())
    });
    let output = child.wait_with_output().unwrap();
    drain.join().unwrap().unwrap();
    assert_refused(&output, "interrupted: standard output is not written");
    assert_eq!(entries(folder.path()), ["c.kprof"]);
}

#[test]
fn shells_learn_the_commands() {
    let folder = tempfile::tempdir().unwrap();
    for (shell, word) in
        [("bash", "_kprof"), ("zsh", "#compdef kprof"), ("fish", "complete -c kprof")]
    {
        let script = stdout(&kprof(folder.path(), &["completions", shell]));
        assert!(script.contains(word) && script.contains("export"), "{shell}");
    }
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(kprof(folder.path(), &["man", "man1"]).status.code(), Some(0));
    let page = std::fs::read_to_string(folder.path().join("man1/kprof-export.1")).unwrap();
    assert!(page.contains(".TH kprof-export 1") && page.contains("Ranges include both ends"));
    assert!(folder.path().join("man1/kprof.1").exists());
}

#[test]
fn every_command_explains_itself_at_length() {
    let folder = tempfile::tempdir().unwrap();
    for (command, sentence) in [
        ("check", "Exit code: 0 if all of it is usable"),
        ("diff", "Significance is adjusted"),
        ("export", "appears under its name only when it is complete"),
        ("ops", "Nothing is ever deleted"),
        ("perf", "One file per host"),
        ("serve", "Tenstorrent's fork"),
    ] {
        let help = stdout(&kprof(folder.path(), &[command, "--help"]));
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        assert!(help.contains(&sentence.to_lowercase()), "{command}: {help}");
    }
}

#[test]
fn the_examples_of_the_help_are_there_to_be_copied() {
    let folder = tempfile::tempdir().unwrap();
    let help = stdout(&kprof(folder.path(), &["export", "--help"]));
    for wanted in ["kprof export generated/profiler/.logs", "core=1-1..4-8", "Exit code: 0"] {
        assert!(help.contains(wanted), "{wanted} is missing in\n{help}");
    }
}

/// Returns a log of a Quasar. Firmware runs on DM 0, and kernels on DM 1 and two TRISCs. One line
/// is of a processor that no Quasar has.
fn quasar_log() -> String {
    let mut log = "ARCH: quasar, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 32\n\
        PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, \
        run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data\n"
        .to_owned();
    for (risc, id, name, start, end) in [
        ("QUASAR_DM0", 1, "DM0-FW", 100, 900),
        ("QUASAR_DM1", 2, "DM-KERNEL", 150, 700),
        ("QUASAR_NEO0_TRISC0", 3, "TRISC-KERNEL", 200, 650),
        ("QUASAR_NEO3_TRISC2", 3, "TRISC-KERNEL", 210, 660),
        ("QUASAR_NEO3_TRISC4", 3, "TRISC-KERNEL", 210, 660),
    ] {
        for (time, kind) in [(start, "ZONE_START"), (end, "ZONE_END")] {
            log += &format!("0,1,2,{risc},{id},{time},0,1024,,,{name},{kind},7,/k.cpp,\n");
        }
    }
    log
}

#[test]
fn processors_of_a_quasar_keep_their_names_in_every_format() {
    const LABELS: [&str; 4] =
        ["QUASAR_DM0", "QUASAR_DM1", "QUASAR_NEO0_TRISC0", "QUASAR_NEO3_TRISC2"];
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("quasar.csv"), quasar_log()).unwrap();
    let shown = kprof(folder.path(), &["report", "quasar.csv"]);
    let shown = stdout(&shown);
    for text in LABELS.into_iter().chain(["RISC `QUASAR_NEO3_TRISC4`: 2 lines left out"]) {
        assert!(shown.contains(text), "{text} is not in\n{shown}");
    }
    // The firmware runs from cycle 150 to 700, and the kernels run from cycle 200 to 660, at 1 GHz.
    let op = shown.lines().find(|line| line.contains(" 800 ")).unwrap();
    assert!(shown.contains("DMs") && shown.contains("TRISCs") && !shown.contains("NCRISC"));
    assert!(op.contains(" 550 ") && op.contains(" 460 "), "{op}");
    for name in ["a.pftrace", "a.json", "a.folded", "a.html", "profile_log_device.csv"] {
        stdout(&kprof(folder.path(), &["export", "quasar.csv", "-o", name]));
        let bytes = std::fs::read(folder.path().join(name)).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for label in LABELS {
            assert!(text.contains(label), "{label} is not in {name}");
        }
    }
    // The page has a bar for each processor with a kernel, labelled with its number. DM 0 has no
    // kernel.
    let page = std::fs::read_to_string(folder.path().join("a.html")).unwrap();
    let facts = page.split_once("<script type=\"application/json\" id=\"facts\">").unwrap().1;
    let facts: serde_json::Value =
        serde_json::from_str(facts.split_once("</script>").unwrap().0).unwrap();
    let kernels = facts["ops"]["processor_kernel_cycles"][0].as_array().unwrap().iter();
    // Six RISCs have their own columns.
    let labels = facts["riscs"].as_array().unwrap()[6..].iter();
    let bars: Vec<_> = kernels.zip(labels).filter(|(cycles, _)| !cycles.is_null()).collect();
    let expected = [("QUASAR_DM1", 550), ("QUASAR_NEO0_TRISC0", 450), ("QUASAR_NEO3_TRISC2", 450)];
    let bars: Vec<_> = bars
        .iter()
        .map(|(cycles, label)| (label.as_str().unwrap(), cycles.as_u64().unwrap()))
        .collect();
    assert_eq!(bars, expected);
    // The log contains every byte that could be read.
    let back = std::fs::read_to_string(folder.path().join("profile_log_device.csv")).unwrap();
    let log = quasar_log();
    let known: Vec<&str> =
        log.split_inclusive('\n').filter(|line| !line.contains("TRISC4")).collect();
    assert_eq!(back, known.concat());
}

#[test]
fn counters_of_a_run_are_on_the_page_with_their_true_values() {
    for arch in sim::arch::Arch::ALL {
        let folder = tempfile::tempdir().unwrap();
        let counted = counted::run(folder.path(), arch);
        stdout(&kprof(
            folder.path(),
            &["export", "out/.logs/profile_log_device.csv", "-o", "a.html"],
        ));
        let page = std::fs::read_to_string(folder.path().join("a.html")).unwrap();
        let facts = page.split_once("<script type=\"application/json\" id=\"facts\">").unwrap().1;
        let facts: serde_json::Value =
            serde_json::from_str(facts.split_once("</script>").unwrap().0).unwrap();
        let cores = counted.len() / counted::OPS as usize;
        let columns = &facts["counters"]["counters"];
        let names = columns["name"].as_array().unwrap();
        assert_eq!(names.len(), counted::OPS as usize * counted::COUNTERS, "{arch}");
        let mut known = 0;
        for (row, name) in names.iter().enumerate() {
            let program = u32::try_from(columns["op"][row].as_u64().unwrap() + 1).unwrap();
            assert_eq!(columns["samples"][row], cores, "{arch} {name}");
            let readings = counted.iter().filter(|((of, ..), _)| *of == program);
            let readings: Vec<(u64, u64)> =
                readings.filter_map(|(_, all)| all.get(name.as_str().unwrap()).copied()).collect();
            let extremes =
                |values: &[u64]| (*values.iter().min().unwrap(), *values.iter().max().unwrap());
            if readings.is_empty() {
                // A counter that was never started has a null value, not 0.
                assert_eq!(columns["counts"][row], serde_json::Value::Null, "{arch} {name}");
                continue;
            }
            known += 1;
            assert_eq!(readings.len(), cores);
            let events: Vec<u64> = readings.iter().map(|(events, _)| *events).collect();
            let cycles: Vec<u64> = readings.iter().map(|(_, cycles)| *cycles).collect();
            let ((least, most), total) = (extremes(&events), events.iter().sum::<u64>());
            assert_eq!(columns["counts"][row], serde_json::json!([least, most, total]), "{name}");
            assert_eq!(columns["cycles"][row], serde_json::json!(extremes(&cycles)), "{name}");
        }
        assert_eq!(known, counted::OPS as usize * counted::METRICS.len());
        check_metrics(&facts["counters"]["metrics"], &counted, cores);
        assert_eq!(facts["counters"]["problems"], serde_json::json!([]));
    }
}

fn check_metrics(metrics: &serde_json::Value, counted: &counted::Counted, cores: usize) {
    let labels = metrics["label"].as_array().unwrap();
    let overlaps = labels.iter().zip(metrics["values"].as_array().unwrap());
    let overlaps: Vec<_> = overlaps.filter(|(label, _)| *label == counted::OVERLAP).collect();
    assert_eq!(labels.len(), counted::OPS as usize * (counted::METRICS.len() + 1), "{labels:?}");
    assert_eq!(overlaps.len(), counted::OPS as usize);
    assert!(overlaps.iter().all(|(_, values)| **values == serde_json::json!([0.0, 0.0, 0.0, 0.0])));
    let others = labels.iter().enumerate().filter(|(_, label)| **label != counted::OVERLAP);
    for (row, label) in others {
        let program = u32::try_from(metrics["op"][row].as_u64().unwrap() + 1).unwrap();
        let of_label = counted::METRICS.iter().find(|(known, _)| label == known);
        let (_, counter) =
            of_label.unwrap_or_else(|| panic!("{label}: nothing was counted for it"));
        let rates = counted::rates(counted, program, counter);
        let median = (rates[(cores - 1) / 2] + rates[cores / 2]) / 2.0;
        let mean = rates.iter().sum::<f64>() / cores as f64;
        let expected = [rates[0], median, rates[cores - 1], mean];
        assert_eq!(metrics["cores"][row], cores);
        for (found, expected) in metrics["values"][row].as_array().unwrap().iter().zip(expected) {
            let found = found.as_f64().unwrap();
            assert!((found - expected).abs() < 1e-9, "{label}: {found}, expected {expected}");
        }
    }
}

#[test]
fn an_ops_csv_becomes_a_page_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let csv = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/captures/tt-forge-fe/ops_perf_results.csv");
    std::fs::copy(csv, folder.path().join("ops.csv")).unwrap();
    let output = kprof(folder.path(), &["export", "ops.csv", "-o", "page.html", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(
        (&told["format"], &told["ops"], &told["problems"]),
        (&"html".into(), &6.into(), &0.into())
    );
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    let facts = page.split_once("id=\"facts\">").unwrap().1.split_once("</script>").unwrap().0;
    let facts: serde_json::Value = serde_json::from_str(facts).unwrap();
    // Values of DEVICE KERNEL DURATION, OP TO OP LATENCY and CORE COUNT in the file.
    let ops = &facts["ops"];
    assert_eq!(
        ops["time_ns"],
        serde_json::json!([20924.0, 2567.0, 3088.0, 4777.0, 2383.0, 4195.0])
    );
    let gaps = [607_543_610.0, 540_034_843.0, 670_267_308.0, 2_034_032.0, 888_906_286.0];
    assert_eq!(ops["gap_ns"].as_array().unwrap()[1..], gaps.map(serde_json::Value::from));
    assert_eq!(ops["core_count"], serde_json::json!([8, 64, 8, 1, 64, 64]));
    assert_eq!(facts["causes"]["findings"][0]["cause"], "host");
    assert_eq!(facts["comparison"], serde_json::Value::Null);
    // The third op takes twice as long in the other file.
    let text = std::fs::read_to_string(folder.path().join("ops.csv")).unwrap();
    std::fs::write(folder.path().join("slow.csv"), text.replace(",3088,", ",6176,")).unwrap();
    kprof(folder.path(), &["export", "ops.csv", "-o", "page.html", "--compare", "slow.csv"]);
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    let facts = page.split_once("id=\"facts\">").unwrap().1.split_once("</script>").unwrap().0;
    let facts: serde_json::Value = serde_json::from_str(facts).unwrap();
    let comparison = &facts["comparison"];
    assert_eq!(comparison["title"], "slow.csv");
    let changes = comparison["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 5, "two of six ops are repetitions: {comparison:#}");
    let slower: Vec<_> =
        changes.iter().filter(|change| change["ratio"].as_f64().unwrap() > 1.0).collect();
    let [slower] = slower[..] else { panic!("{comparison:#}") };
    assert!((slower["ratio"].as_f64().unwrap() - 2.0).abs() < 1e-9, "{slower:#}");
    assert!((slower["a_ns"].as_f64().unwrap() - 3088.0).abs() < 1e-6, "{slower:#}");
    for (args, expected) in [
        (&["-o", "page.pftrace"][..], "`kprof export ops.csv -o page.html` writes a page about it"),
        (&["-o", "page.html", "--run", "1"], "an ops CSV has one run"),
        (&["-o", "page.html", "--filter", "zone=x"], "expected --filter with device or op"),
    ] {
        let output = kprof(folder.path(), &[&["export", "ops.csv"][..], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(expected), "{args:?}: {said}");
    }
}
