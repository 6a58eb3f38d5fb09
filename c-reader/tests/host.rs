//! Hosts in C and C++, compiled with the headers and run with simulated chips.

#![allow(clippy::unwrap_used, reason = "a panic is the report of a test")]

use serde_json::Value;
use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

/// Build products: the libraries that hosts link (the C interfaces of kprof and of the simulator),
/// and the program `kprof`.
struct Built {
    kprof: PathBuf,
    simulated_mesh: PathBuf,
    program: PathBuf,
}

/// Builds the libraries and the program.
///
/// Cargo is called for an example, without the name of a package. It then selects the same features
/// as a test of the whole workspace, and reuses the build products of such a test.
fn built() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        // The example links the library of the C interface, so Cargo builds both.
        let mut command = Command::new(env!("CARGO"));
        command.args(["build", "--example=simulated_mesh", "--bin=kprof", "--locked"]);
        if cfg!(feature = "parquet") {
            command.arg("--features=kprof/parquet");
        }
        command.arg("--message-format=json").current_dir(root());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let artifacts: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let library = |name: &str| {
            let of_target =
                artifacts.iter().find(|artifact| artifact["target"]["name"] == name).unwrap();
            let files = of_target["filenames"].as_array().unwrap().iter();
            let mut files = files.filter_map(|file| file.as_str().map(PathBuf::from));
            files.find(|file| file.extension() == Some(OsStr::new("so"))).unwrap()
        };
        let program = artifacts.iter().find_map(|artifact| artifact["executable"].as_str());
        Built {
            kprof: library("kprof_c"),
            simulated_mesh: library("simulated_mesh"),
            program: program.unwrap().into(),
        }
    })
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Compiles a host. Returns `None` if there is no compiler, except on CI, where this is a failure.
fn compile(compiler: &str, source: &str, flags: &[&str], folder: &Path) -> Option<PathBuf> {
    let program = folder.join("host");
    let Built { kprof, simulated_mesh, .. } = built();
    let mut command = Command::new(compiler);
    command
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-g"])
        .args(flags)
        .arg("-I")
        .arg(root().join("c-reader/include"))
        .arg("-I")
        .arg(root().join("c-reader/examples"))
        .arg(root().join(source))
        .arg(kprof)
        .arg(simulated_mesh)
        .arg("-o")
        .arg(&program);
    for library in [kprof, simulated_mesh] {
        command.arg(format!("-Wl,-rpath,{}", library.parent().unwrap().display()));
    }
    let Ok(output) = command.output() else {
        assert_ne!(env::var("CI").as_deref(), Ok("true"), "there is no {compiler}");
        eprintln!("skipped: install {compiler}");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

/// Declarations that the example code in the C interface's documentation needs from its host.
const HOST: &str = r#"
#include "kprof.hpp"
#include <chrono>
#include <vector>
class MyBackend : public kprof::Backend {
public:
    explicit MyBackend(int driver);
    std::vector<kprof::Chip> chips() override;
    void read_l1(std::uint32_t, std::uint16_t, std::uint16_t, std::uint64_t, std::uint32_t*, std::size_t) override;
    void write_l1(std::uint32_t, std::uint16_t, std::uint16_t, std::uint64_t, const std::uint32_t*, std::size_t) override;
    void read_dram(std::uint32_t, std::uint32_t, std::uint64_t, std::uint32_t*, std::size_t) override;
    std::uint64_t read_wall_clock(std::uint32_t, std::uint16_t, std::uint16_t) override;
    std::uint64_t host_time_ns() noexcept override;
    void wait_ns(std::uint64_t) noexcept override;
};
struct Batch { void run(); };
void run_everything();
"#;

#[test]
fn the_code_in_the_documentation_compiles() {
    let page = std::fs::read_to_string(root().join("docs/c.md")).unwrap();
    let blocks: Vec<_> = page.split("```cpp\n").skip(1).collect();
    let blocks = blocks.iter().map(|block| block.split("```").next().unwrap());
    let body: String = blocks.clone().collect();
    assert_eq!(blocks.count(), 2, "of a host, and of its thread that reads");
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("page.cpp");
    let text = format!("{HOST}void host(int driver, std::vector<Batch>& batches) {{\n{body}}}\n");
    std::fs::write(&source, text).unwrap();
    let mut command = Command::new("g++");
    command.args(["-std=c++17", "-Wall", "-Wextra", "-fsyntax-only", "-I"]);
    let Ok(output) = command.arg(root().join("c-reader/include")).arg(&source).output() else {
        assert_ne!(env::var("CI").as_deref(), Ok("true"), "there is no g++");
        eprintln!("skipped: install g++");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Compiler flags that detect memory errors, leaks and undefined behaviour.
const SANITIZED: [&str; 3] =
    ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"];

fn run(program: &Path, args: &[&str]) -> String {
    let mut command = Command::new(program);
    let output = command.args(args).env("ASAN_OPTIONS", "detect_leaks=1").output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", program.display());
    String::from_utf8(output.stdout).unwrap()
}

/// Returns true where tests have their full sizes, as in `.ci/full`: `KPROF_FULL_SIZES` requests
/// them.
fn is_full() -> bool {
    env::var_os("KPROF_FULL_SIZES").is_some()
}

/// Returns the grid of worker cores that the kernels run on: four cores in a plain run.
fn grid() -> &'static str {
    if is_full() { "4x4" } else { "2x2" }
}

/// Runs the C++ host, and has it read every `period_us`; 0 stands for reads between the phases.
///
/// At full size, the host writes all outputs. A plain run leaves the outputs other than `device-perf`
/// to the tests that check them.
fn run_with_period(program: &Path, grid: &str, of_host: &Path, period_us: &str) -> String {
    let folder = of_host.to_str().unwrap();
    let args = ["matmul", "wormhole_b0", "2", "7", grid, folder, period_us];
    let only_output: &[&str] = if is_full() { &[] } else { &["device-perf"] };
    run(program, &[&args, only_output].concat())
}

/// Returns the object that `kprof run --json` prints for the same workload, chips and seed.
fn kprof_run(workload: &str, arch: &str, chips: &str, seed: &str, folder: &Path) -> Value {
    let folder = folder.display().to_string();
    let output = kprof(&[
        "run",
        "--json",
        "--workload",
        workload,
        "--arch",
        arch,
        "--devices",
        chips,
        "--seed",
        seed,
        "--grid",
        grid(),
        "--output",
        &folder,
    ]);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Compiles the C++ host once. Returns `None` if there is no compiler.
fn read_mesh() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| {
        let flags = [&["-std=c++17", "-pthread"][..], &SANITIZED].concat();
        compile("g++", "examples/cpp/read_mesh.cpp", &flags, Path::new(env!("CARGO_TARGET_TMPDIR")))
    });
    program.as_deref()
}

/// Runs a workload on simulated chips under the C++ host and under `kprof run`, and checks that the
/// counts, the device logs and the causes are equal. Returns the numbers of lost records by cause, or
/// `None` if there is no compiler.
fn check_host_in_cpp(workload: &str, arch: &str, chips: &str, seed: &str) -> Option<Value> {
    let program = read_mesh()?;
    let outputs = tempfile::tempdir().unwrap();
    let of_host = outputs.path().join("host");
    std::fs::create_dir(&of_host).unwrap();
    let printed = run(program, &[workload, arch, chips, seed, grid(), of_host.to_str().unwrap()]);
    let found: Value = serde_json::from_str(&printed).unwrap();
    let expected = kprof_run(workload, arch, chips, seed, outputs.path());
    for part in ["kept", "anomalies", "repairs", "words_read"] {
        assert_eq!(found[part], expected[part], "{part}");
    }
    for cause in ["l1_full", "dram_full", "validate_off", "other"] {
        assert_eq!(found["lost"][cause], expected["lost"][cause], "{cause}");
    }
    assert_eq!(found["ops"], expected["ops"].as_array().unwrap().len());
    let losses = expected["losses"].as_array().unwrap().iter();
    let kinds = ["zones", "data", "events", "sums", "unknown_markers"];
    let lost: u64 = losses.flat_map(|row| kinds.map(|kind| row[kind].as_u64().unwrap())).sum();
    assert_eq!(found["lost_in_rows"], lost);
    assert!(found["zone_starts"].as_u64() > Some(1000));
    check_clock(&found);
    check_outputs(&of_host, &outputs.path().join(".logs"));
    check_causes(&of_host);
    Some(expected["lost"].clone())
}

#[test]
fn a_host_in_cpp_counts_what_kprof_run_counts() {
    check_host_in_cpp("matmul", "wormhole_b0", "2", "7");
}

#[test]
fn a_host_in_cpp_keeps_timestamped_data_and_events() {
    check_host_in_cpp("timestamped-events", "blackhole", "1", "3");
}

#[test]
fn a_host_in_cpp_counts_losses_of_several_causes() {
    let Some(lost) = check_host_in_cpp("random", "wormhole_b0", "1", "11") else { return };
    assert!(
        ["l1_full", "validate_off"].iter().all(|cause| lost[cause].as_u64() > Some(0)),
        "{lost}"
    );
}

#[test]
fn a_thread_of_the_library_reads_while_programs_run() {
    let Some(program) = read_mesh() else { return };
    let outputs = tempfile::tempdir().unwrap();
    let of_host = outputs.path().join("host");
    std::fs::create_dir(&of_host).unwrap();
    let printed = run_with_period(program, grid(), &of_host, "200");
    let found: Value = serde_json::from_str(&printed).unwrap();
    let expected = kprof_run("matmul", "wormhole_b0", "2", "7", outputs.path());
    for part in ["kept", "anomalies", "repairs"] {
        assert_eq!(found[part], expected[part], "{part}");
    }
    assert_eq!(
        (&found["lost_in_rows"], &found["ops"]),
        (&0.into(), &expected["ops"].as_array().unwrap().len().into())
    );
    check_clock(&found);
    // The capture must contain at least four reads, each with its own end mark.
    let info = kprof(&["info", of_host.join("run.kprof").to_str().unwrap(), "--json"]);
    let info: Value = serde_json::from_slice(&info.stdout).unwrap();
    let last: Vec<_> =
        info["reads"].as_array().unwrap().iter().map(|read| &read["is_last"]).collect();
    assert!(last.len() >= 4, "{last:?}");
    let (end, others) = last.split_last().unwrap();
    assert!(*end == true && others.iter().all(|is_last| **is_last == false), "{last:?}");
}

#[test]
fn figures_of_programs_after_a_read_are_those_of_the_report() {
    let Some(program) = read_mesh() else { return };
    let folder = tempfile::tempdir().unwrap();
    let of_host = folder.path().join("host-files");
    std::fs::create_dir(&of_host).unwrap();
    // All worker cores: in a shorter run, the clocks are known less precisely at the read.
    run_with_period(program, "8x8", &of_host, "0");
    check_programs(&of_host);
}

/// Checks that a simulated chip runs at 1 or 1.35 GHz, with an error below 30 parts per million.
fn check_clock(found: &Value) {
    assert_eq!(found["is_host_time"], 1);
    let ghz = found["frequency_ghz"].as_f64().unwrap();
    assert!([1.0, 1.35].iter().any(|nominal| (ghz / nominal - 1.0).abs() < 30e-6), "{ghz}");
    let bound_ns = found["bound_ns"].as_f64().unwrap();
    assert!(bound_ns > 0.0 && bound_ns < 10_000.0, "{bound_ns}");
    assert_eq!(found["first_op"], "FirstProgram");
    assert!(found["first_zone"].as_str().unwrap().contains("-FW"), "{found}");
}

/// Checks that every output exists, and that the device log equals the device log of `kprof run`.
fn check_outputs(of_host: &Path, of_kprof: &Path) {
    let log = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    let expected = log(of_kprof.join("profile_log_device.csv"));
    assert!(log(of_host.join("device-log")) == expected, "device logs differ");
    let written = [
        "perfetto",
        "chrome",
        "folded",
        "folded-chip",
        "folded-calls",
        "tracy",
        "html",
        "ops",
        "device-perf",
        "zone-log",
        "sync-info",
        "run.kprof",
    ];
    let dataset = cfg!(feature = "parquet").then_some("parquet/zones");
    for output in written.into_iter().chain(dataset) {
        let path = of_host.join(output);
        let size = std::fs::metadata(&path).unwrap_or_else(|error| panic!("{output}: {error}"));
        assert!(size.len() > 0, "{output} is empty");
    }
    let ops = std::fs::read_to_string(of_host.join("ops")).unwrap();
    assert!(ops.starts_with("OP CODE,"), "{ops:.60}");
}

/// Checks that the causes equal the causes in `kprof explain` and in pages of `kprof export` for
/// the same capture.
fn check_causes(of_host: &Path) {
    let file = |name: &str| of_host.join(name).display().to_string();
    let text = |name: &str| std::fs::read_to_string(of_host.join(name)).unwrap();
    let told: Value = serde_json::from_str(&text("explain.json")).unwrap();
    let output = kprof(&["explain", &file("run.kprof"), "--json"]);
    let mut expected: Value = serde_json::from_slice(&output.stdout).unwrap();
    for name in ["input", "run", "title"] {
        expected.as_object_mut().unwrap().remove(name).unwrap();
    }
    assert!(told == expected, "explanations differ");
    assert!(!told["ops"].as_array().unwrap().is_empty());
    kprof(&["export", &file("run.kprof"), "-o", &file("kprof.html")]);
    let causes = |page: String| {
        let (_, facts) = page.split_once(r#"<script type="application/json" id="facts">"#).unwrap();
        let (facts, _) = facts.split_once("</script>").unwrap();
        let mut facts: Value = serde_json::from_str(facts).unwrap();
        facts["causes"].take()
    };
    let of_page = causes(text("html"));
    assert!(of_page.is_object(), "the page has no causes");
    assert!(of_page == causes(text("kprof.html")), "causes in pages differ");
}

/// Checks that the programs of the only read equal the programs in the device perf report.
///
/// The report is written at the end of the recording. The tile clocks are then known slightly more
/// precisely.
fn check_programs(of_host: &Path) {
    let text = |name: &str| std::fs::read_to_string(of_host.join(name)).unwrap();
    let programs: Value = serde_json::from_str(&text("programs.json")).unwrap();
    let latest: Value = serde_json::from_str(&text("latest.json")).unwrap();
    assert_eq!(programs, latest);
    let chips = ["0", "1"].map(|chip| programs[chip].as_array().unwrap());
    let csv = text("device-perf");
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let titles = lines.next().unwrap();
    let (mut row_count, mut compared) = (0, 0);
    for (row, program) in lines.zip(chips.into_iter().flatten()) {
        row_count += 1;
        for (title, cell) in titles.iter().zip(&row) {
            match *title {
                "GLOBAL CALL COUNT" => assert_eq!(program["runtime_id"].to_string(), *cell),
                "CORE COUNT" => assert_eq!(program["core_count"].to_string(), *cell),
                title if title.ends_with("DURATION [ns]") => {
                    let found = program["results"][title]["duration_ns"].as_i64();
                    let expected = cell.parse::<i64>().ok();
                    assert_eq!(found.is_some(), expected.is_some(), "{title}: {program}");
                    if let Some((found, expected)) = found.zip(expected) {
                        assert!((found - expected).abs() <= 60, "{title}: {found} for {expected}");
                        compared += 1;
                    }
                }
                _ => {}
            }
        }
    }
    assert_eq!(row_count, csv.lines().count() - 1);
    assert_eq!(row_count, chips.iter().map(|programs| programs.len()).sum::<usize>());
    assert!(compared >= 8 * row_count, "{compared} of {row_count}");
}

/// Runs the `kprof` program, which does not use the C interface.
fn kprof(args: &[&str]) -> Output {
    let output = Command::new(&built().program).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

#[test]
fn wrong_calls_from_c_get_errors_and_break_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let flags = [&["-std=c11"][..], &SANITIZED].concat();
    if let Some(program) = compile("gcc", "c-reader/tests/misuse.c", &flags, folder.path()) {
        run(&program, &[]);
    }
}
