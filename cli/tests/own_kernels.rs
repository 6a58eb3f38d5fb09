//! Tests of the user's own kernels: the steps of docs/kernels.md work as written, and a faulty file
//! is reported in one sentence.

use crate::program;
use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};
use tests::sizes::is_full;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("own-kernels").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn kprof(folder: &Path, args: &[&str]) -> Output {
    program::kprof(folder, args)
}

/// Writes the linker scripts into a folder, and returns that folder.
fn sdk(name: &str) -> PathBuf {
    let folder = folder(name);
    for args in [
        &["sdk", "sdk"][..],
        &["sdk", "sdk-sums", "--enable-sum-profiling"],
        &["sdk", "sdk-waits", "--waits"],
    ] {
        let output = kprof(&folder, args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    folder
}

/// Compiles a C++ file for a processor; returns `None` after printing a reason.
fn compile(
    folder: &Path,
    arch: &str,
    processor: &str,
    source: &Path,
    name: &str,
) -> Option<PathBuf> {
    compile_with(folder, (arch, processor), source, name, PLAIN)
}

/// Scripts and options for kernels that record zones, data and events.
const PLAIN: (&str, &[&str]) = ("sdk", &["-DPROFILE_KERNEL=1"]);
/// Scripts and options for kernels with sum zones.
const SUMS: (&str, &[&str]) = ("sdk-sums", &["-DPROFILE_KERNEL=9"]);

/// Like [`compile`], with the linker scripts in a folder and these options.
fn compile_with(
    folder: &Path,
    (arch, processor): (&str, &str),
    source: &Path,
    name: &str,
    (scripts, options): (&str, &[&str]),
) -> Option<PathBuf> {
    let elf = folder.join(name);
    let mut command = program::kernel_compiler();
    command.args(["-DCOMPILE_FOR_BRISC", "-Wall", "-Wextra", "-Werror"]);
    command.args(options);
    let is_blackhole = arch == "blackhole";
    command.arg(if is_blackhole { "-DARCH_BLACKHOLE" } else { "-DARCH_WORMHOLE" });
    command.arg("-I").arg(repository().join("kernel-profiler/include"));
    command.arg("-T").arg(folder.join(scripts).join(arch).join(format!("{processor}.ld")));
    program::compiles(command.arg(source).arg("-o").arg(&elf)).then_some(elf)
}

/// Runs `kprof run --json` with these arguments, and returns its JSON document. The run uses all 64
/// or 140 cores.
fn zones(folder: &Path, args: &[&str]) -> serde_json::Value {
    let output = kprof(folder, &[&["run", "--json"], args].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn zone_count(report: &serde_json::Value, name: &str) -> u64 {
    let zones = report["zones"].as_array().unwrap();
    let of_name = zones.iter().filter(|zone| zone["name"] == name);
    of_name.map(|zone| zone["count"].as_u64().unwrap()).sum()
}

#[test]
fn a_kernel_in_cpp_runs_on_every_processor_of_both_chips() {
    let folder = sdk("cpp");
    let source = repository().join("examples/cpp/kernel.cpp");
    for (arch, cores) in [("wormhole_b0", 64), ("blackhole", 140)] {
        let build = |processor| {
            compile(&folder, arch, processor, &source, &format!("{arch}-{processor}.elf"))
        };
        let Some(brisc) = build("brisc") else { return };
        let (ncrisc, math) = (build("ncrisc").unwrap(), build("trisc1").unwrap());
        let path = |path: &PathBuf| path.to_str().unwrap().to_owned();
        let (brisc, ncrisc, math) = (path(&brisc), path(&ncrisc), path(&math));
        let alone = zones(&folder, &["--arch", arch, "--kernel", &brisc]);
        assert_eq!(zone_count(&alone, "ADD"), 3 * cores, "three passes without arguments");
        let report = zones(
            &folder,
            &[
                "--arch",
                arch,
                "--ops",
                "2",
                "--kernel-args",
                "5",
                "--kernel",
                &brisc,
                "--kernel-ncrisc",
                &ncrisc,
                "--kernel-trisc1",
                &math,
            ],
        );
        assert_eq!(zone_count(&report, "ADD"), 2 * 5 * 3 * cores);
        assert_eq!(zone_count(&report, "BRISC-KERNEL"), 2 * cores);
    }
}

/// A kernel that polls the clock in loops of its own: in each of four passes, until 1,000 cycles
/// have passed for each earlier pass. It measures the same time itself, as data. The first pass
/// waits for nothing.
const POLLING: &str = r#"
#include "kernel_profiler.hpp"
static uint32_t now() { return *reinterpret_cast<volatile uint32_t*>(0xFFB121F0); }
extern "C" void kernel_main(const volatile uint32_t*, uint32_t) {
    uint32_t waited = 0, blocked = 0;
    for (uint32_t pass = 0; pass < 4; ++pass) {
        uint32_t begun = now();
        DeviceWait(SEM_WAIT, 0x1234, now() - begun >= 1000 * pass);
        waited += now() - begun;
        begun = now();
        if (pass == 2) {
            DeviceBlockedWait(CB_RESERVE, 7);
            while (now() - begun < 5000) {
            }
            blocked = now() - begun;
        }
    }
    DeviceTimestampedData("WAITED", waited);
    DeviceTimestampedData("BLOCKED", blocked);
}
"#;

/// A kernel that fills the L1 that docs/kernels.md calls free, and reads it back.
const FILLING: &str = r#"
#include "kernel_profiler.hpp"
extern "C" void kernel_main(const volatile uint32_t* launch, uint32_t) {
    const uint32_t key = launch[4];
    uint32_t wrong = 0;
    for (uint32_t place = 0x40000; place < 0x100000; place += 64) {
        *reinterpret_cast<volatile uint32_t*>(place) = place ^ key;
    }
    for (uint32_t place = 0x40000; place < 0x100000; place += 64) {
        wrong += *reinterpret_cast<volatile uint32_t*>(place) != (place ^ key);
    }
    DeviceTimestampedData("WRONG", wrong);
    DeviceTimestampedData("KEY", launch[4]);
}
"#;

/// The free L1 holds what a kernel writes, and neither other kernels nor their arguments lie there.
#[test]
fn the_l1_that_is_called_free_is_free() {
    let page = fs::read_to_string(repository().join("docs/kernels.md")).unwrap();
    assert!(page.contains("`0x40000` to `0xFFFFF` (768 KiB) are free on both chips"));
    let folder = sdk("free-l1");
    let source = folder.join("filling.cpp");
    fs::write(&source, FILLING).unwrap();
    let others = repository().join("examples/cpp/kernel.cpp");
    for arch in ["wormhole_b0", "blackhole"] {
        let Some(filling) = compile(&folder, arch, "brisc", &source, "filling.elf") else { return };
        let other = compile(&folder, arch, "trisc2", &others, "other.elf").unwrap();
        let [filling, other] = [&filling, &other].map(|path| path.to_str().unwrap());
        let args = ["--arch", arch, "--ops", "2", "--grid", "1x1", "--kernel-args", "7,1,2,3"];
        let report =
            zones(&folder, &[&args[..], &["--kernel", filling, "--kernel-trisc2", other]].concat());
        assert_eq!(zone_count(&report, "ADD"), 2 * 7, "{arch}");
        assert_eq!(data_of(&folder, "WRONG"), BTreeMap::from([("BRISC".to_owned(), 0)]));
        assert_eq!(data_of(&folder, "KEY"), BTreeMap::from([("BRISC".to_owned(), 7)]));
    }
}

/// Returns the data that a kernel recorded under a name, of each RISC, from the log of a run.
fn data_of(folder: &Path, name: &str) -> BTreeMap<String, u64> {
    let log = folder.join("generated/kprof/.logs/profile_log_device.csv");
    let log = fs::read_to_string(log).unwrap();
    let rows = log.lines().skip(2).map(|line| line.split(',').collect::<Vec<_>>());
    let rows = rows.filter(|row| row[10] == name && row[11] == "TS_DATA");
    rows.map(|row| (row[3].to_owned(), row[6].parse().unwrap())).collect()
}

/// Waits of loops that an author wrote are recorded on every RISC, with the cycles that the kernel
/// itself measured.
#[test]
fn waits_of_ones_own_loops_are_recorded_on_every_processor() {
    let folder = sdk("own-waits");
    let source = folder.join("polling.cpp");
    fs::write(&source, POLLING).unwrap();
    let processors = ["brisc", "ncrisc", "trisc0", "trisc1", "trisc2"];
    for (arch, records) in [
        ("wormhole_b0", "-DKERNEL_PROFILER_WAITS=1"),
        ("blackhole", "-DKERNEL_PROFILER_WAITS=1"),
        ("wormhole_b0", "-DPROFILE_SYNC_EVENTS"),
    ] {
        let options = ("sdk-waits", &["-DPROFILE_KERNEL=1", records][..]);
        let mut args = vec!["--arch".to_owned(), arch.to_owned(), "--grid".into(), "1x1".into()];
        for processor in processors {
            let name = format!("{arch}-{processor}.elf");
            let Some(elf) = compile_with(&folder, (arch, processor), &source, &name, options)
            else {
                return;
            };
            let option = if processor == "brisc" { "" } else { processor };
            let option = format!("--kernel-{option}");
            args.push(option.trim_end_matches('-').to_owned());
            args.push(elf.to_str().unwrap().to_owned());
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let report = zones(&folder, &args);
        let waits = report["waits"].as_array().unwrap();
        assert_eq!(waits.len(), 10, "two objects on five RISCs: {waits:?}");
        for (kind, key, count, data) in
            [("SEM_WAIT", 0x1234, 3, "WAITED"), ("CB_RESERVE", 7, 1, "BLOCKED")]
        {
            let truth = data_of(&folder, data);
            assert_eq!(truth.len(), 5, "{truth:?}");
            for (risc, cycles) in truth {
                let is_it = |wait: &&serde_json::Value| {
                    wait["kind"] == kind && wait["risc"] == risc.as_str()
                };
                let found: Vec<_> = waits.iter().filter(is_it).collect();
                assert_eq!(found.len(), 1, "{risc} {kind}: {waits:?}");
                assert_eq!((&found[0]["key"], &found[0]["count"]), (&key.into(), &count.into()));
                // The kernel's own readings lie outside of those of the wait, by at most 300 cycles,
                // and it also measures the pass that does not wait.
                let total = found[0]["total_cycles"].as_u64().unwrap();
                let expected = cycles.saturating_sub(300 * (count + 1))..=cycles;
                assert!(expected.contains(&total), "{arch} {risc} {kind}: {total} of {cycles}");
            }
        }
        assert_eq!(report["losses"], serde_json::json!([]), "{arch} {records}");
    }
}

/// The same loop in both languages: three waits, of 1,000, 2,000 and 3,000 cycles.
#[test]
fn the_example_of_waits_records_what_it_says_in_both_languages() {
    let folder = sdk("example-waits");
    let source = repository().join("examples/cpp/probes/waits.cpp");
    let options = ("sdk-waits", &["-DPROFILE_KERNEL=1", "-DKERNEL_PROFILER_WAITS=1"][..]);
    for (arch, cores) in [("wormhole_b0", 64), ("blackhole", 140)] {
        let cpp = compile_with(&folder, (arch, "brisc"), &source, "waits.elf", options);
        let rust = has_target().then(|| {
            let target = cargo_folder("waits", arch);
            let script = folder.join("sdk-waits").join(arch).join("brisc.ld");
            let features = if arch == "blackhole" { "waits,blackhole" } else { "waits" };
            let mut cargo = cargo(&target);
            cargo.args(["build", "--quiet", "--release", "--locked", "--offline", "--target"]);
            cargo.args([RISCV, "--features", features, "--example", "waits"]);
            cargo.env("RUSTFLAGS", format!("-Clink-arg=-T{}", script.display()));
            let output = cargo.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            target.join(RISCV).join("release/examples/waits")
        });
        for kernel in [cpp, rust].into_iter().flatten() {
            let kernel = kernel.to_str().unwrap();
            let report = zones(&folder, &["--arch", arch, "--kernel", kernel]);
            let waits = report["waits"].as_array().unwrap();
            assert_eq!(waits.len(), 1, "{waits:?}");
            let found = ["risc", "kind", "key", "count", "core_count"].map(|name| &waits[0][name]);
            let expected: [serde_json::Value; 5] = [
                "BRISC".into(),
                "SEM_WAIT".into(),
                0x1234.into(),
                (3 * cores).into(),
                cores.into(),
            ];
            assert_eq!(found, expected.each_ref(), "{arch} {kernel}");
            let total = waits[0]["total_cycles"].as_u64().unwrap();
            // A wait lacks its first poll, and may end up to one poll late.
            let polls = 3 * cores * 60;
            assert!(total.abs_diff(cores * 6_000) <= polls, "{arch} {kernel}: {total}");
        }
    }
}

/// A kernel linked without its waits beside one that records them is refused in one sentence.
#[test]
fn kernels_with_and_without_waits_do_not_mix() {
    let folder = sdk("mixed-waits");
    let source = repository().join("examples/cpp/kernel.cpp");
    let arch = "wormhole_b0";
    let Some(plain) = compile(&folder, arch, "brisc", &source, "plain.elf") else { return };
    let options = ("sdk-waits", &["-DPROFILE_KERNEL=1", "-DKERNEL_PROFILER_WAITS=1"][..]);
    let waits = compile_with(&folder, (arch, "ncrisc"), &source, "waits.elf", options).unwrap();
    let [plain, waits] = [plain, waits].map(|path| path.to_str().unwrap().to_owned());
    let text = complaint(&folder, &["--kernel", &plain, "--kernel-ncrisc", &waits]);
    assert!(text.contains("plain.elf was linked for another firmware"), "{text}");
    assert!(text.contains("wormhole_b0 and --waits, as other kernels of this run"), "{text}");
}

/// `explain` sends an author whose loops record nothing to the macro for them, and no further once
/// the kernel has it.
#[test]
fn advice_for_ones_own_loops_names_the_macro_until_it_is_there() {
    let folder = sdk("advised-waits");
    let source = folder.join("polling.cpp");
    fs::write(&source, POLLING).unwrap();
    let said = |options: (&str, &[&str])| {
        let arch = "wormhole_b0";
        let elf = compile_with(&folder, (arch, "ncrisc"), &source, "polling.elf", options)?;
        let args = ["capture", "--grid", "1x1", "--kernel-ncrisc", elf.to_str().unwrap()];
        let capture = format!("{}.kprof", options.0);
        let made = kprof(&folder, &[&args[..], &["-o", &capture]].concat());
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let output = kprof(&folder, &["explain", &capture]);
        Some(String::from_utf8(output.stdout).unwrap())
    };
    let Some(without) = said(PLAIN) else { return };
    assert!(without.contains("DeviceWait in C++"), "{without}");
    let with = said(("sdk-waits", &["-DPROFILE_KERNEL=1", "-DKERNEL_PROFILER_WAITS=1"])).unwrap();
    assert!(!with.contains("DeviceWait"), "{with}");
    assert!(with.contains("Waits: 2 sums, 0 single waits, 0 signals"), "{with}");
}

/// A kernel with a finished zone, then one in which `stop` stops it.
fn stopping(stop: &str) -> String {
    format!(
        "#include \"kernel_profiler.hpp\"\n\
         extern \"C\" void kernel_main(const volatile uint32_t*, uint32_t) {{\n\
             {{ DeviceZoneScopedN(\"BEFORE\"); }}\n\
             {{ DeviceZoneScopedN(\"STUCK\"); {stop} }}\n\
             {{ DeviceZoneScopedN(\"AFTER\"); }}\n\
         }}\n"
    )
}

/// A kernel that hangs or crashes leaves its records in L1: they are kept, the report and the
/// capture name the open zone, and no further launch runs.
#[test]
fn what_a_kernel_had_recorded_when_it_hung_or_crashed_is_kept() {
    let folder = sdk("stopping");
    for (name, stop) in [
        ("hang", "volatile int x = 0; while (x == 0) {}"),
        ("trap", "__asm__ volatile(\"ebreak\");"),
    ] {
        let source = folder.join(format!("{name}.cpp"));
        fs::write(&source, stopping(stop)).unwrap();
        let elf = compile(&folder, "wormhole_b0", "brisc", &source, &format!("{name}.elf"));
        let Some(elf) = elf else { return };
        let kernel = elf.to_str().unwrap();
        let args = ["--kernel", kernel, "--ops", "3", "--cycle-limit", "200000", "--grid", "2x1"];
        let output = kprof(&folder, &[&["run", "--json"], &args[..]].concat());
        assert_eq!(output.status.code(), Some(2));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(zone_count(&report, "BEFORE"), 2);
        assert_eq!((zone_count(&report, "STUCK"), zone_count(&report, "AFTER")), (0, 0));
        // The firmware's zone, the kernel's zone and STUCK are open on both cores.
        assert_eq!(
            (&report["kept"]["zones"], &report["kept"]["open_zones"]),
            (&8.into(), &6.into())
        );
        assert_eq!(report["losses"].as_array().map(Vec::len), Some(0));
        let unfinished = &report["unfinished"];
        assert_eq!(unfinished["run_count"], 2);
        assert_eq!(unfinished["open_zones"][0]["name"], "STUCK");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains("2 launches did not run"), "{errors}");
        assert!(errors.contains("core (1,1), BRISC, launch 0"), "{errors}");
        assert!(errors.contains("; its zone STUCK is open since cycle "), "{errors}");

        let capture = folder.join(format!("{name}.kprof"));
        let path = capture.to_str().unwrap();
        let output = kprof(&folder, &[&["capture", "--output", path], &args[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
        let output = kprof(&folder, &["report", path, "--json"]);
        let again: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        for key in ["kept", "unfinished", "losses"] {
            assert_eq!(again[key], report[key], "{key} of the capture");
        }
        let explained = kprof(&folder, &["explain", path]).stdout;
        let explained = String::from_utf8(explained).unwrap();
        assert!(explained.contains(" had not ended: BRISC in STUCK on 2 cores."), "{explained}");
    }
}

/// A streamed zone is written when it ends, so a ring has no open zone: what a kernel that hung had
/// not published is unknown, and not "nothing".
#[test]
fn kernels_of_ones_own_stream_and_what_a_hung_one_holds_back_is_unknown() {
    let folder = folder("own-streams");
    assert!(kprof(&folder, &["sdk", "sdk", "--stream"]).status.success());
    let zones = "for (int i = 0; i < 700; ++i) { DeviceZoneScopedN(\"ROUND\"); }";
    let hang = "volatile int x = 0; while (x == 0) {}";
    for (name, stop, has_hung) in [("ends", "", false), ("hangs", hang, true)] {
        let source = folder.join(format!("{name}.cpp"));
        let text =
            format!("#define KERNEL_PROFILER_STREAM 1\n{}", stopping(&format!("{zones} {stop}")));
        fs::write(&source, text).unwrap();
        let elf = compile(&folder, "wormhole_b0", "brisc", &source, &format!("{name}.elf"));
        let Some(elf) = elf else { return };
        let kernel = elf.to_str().unwrap();
        let capture = folder.join(format!("{name}.kprof"));
        let args = ["capture", "--stream", "--kernel", kernel, "--cycle-limit", "20000000"];
        let output = kprof(
            &folder,
            &[&args[..], &["--grid", "2x1", "-o", capture.to_str().unwrap()]].concat(),
        );
        assert_eq!(output.status.code(), Some(if has_hung { 2 } else { 0 }), "{output:?}");
        let output = kprof(&folder, &["report", capture.to_str().unwrap(), "--json"]);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(zone_count(&report, "BEFORE"), 2);
        let (rounds, uncounted) = (zone_count(&report, "ROUND"), &report["lost"]["uncounted"]);
        let nothing = if has_hung { serde_json::Value::Null } else { 0.into() };
        assert_eq!(report["lost"]["records"], nothing);
        if has_hung {
            // A chunk has eight cells; those of the last one are not published.
            assert!((2 * 692..2 * 700).contains(&rounds), "{rounds}");
            assert_eq!(report["unfinished"]["run_count"], 2);
            let told = uncounted[0].as_str().unwrap();
            assert!(told.starts_with("streaming kernels had not ended; "), "{told}");
        } else {
            assert_eq!((rounds, zone_count(&report, "STUCK")), (2 * 700, 2));
            assert_eq!((uncounted, report.get("unfinished")), (&serde_json::json!([]), None));
        }
        let output = kprof(&folder, &["report", capture.to_str().unwrap()]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            text.contains("Lost: unknown; streaming kernels had not ended"),
            has_hung,
            "{text}"
        );
        assert_eq!(text.contains("Lost: nothing\n"), !has_hung, "{text}");
    }
    let plain = sdk("own-streams-plain");
    let elf =
        compile(&plain, "wormhole_b0", "brisc", &folder.join("ends.cpp"), "plain.elf").unwrap();
    let complaint = complaint(&plain, &["run", "--stream", "--kernel", elf.to_str().unwrap()]);
    let way =
        "`kprof sdk` of this version writes for wormhole_b0 and --stream, and compile it with";
    assert!(complaint.contains(way), "{complaint}");
}

/// Compiler target of kernels in Rust.
const RISCV: &str = "riscv32im-unknown-none-elf";

/// Returns true if the compiler has the target of kernels; otherwise prints what to install, and
/// fails in CI.
fn has_target() -> bool {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap().stdout;
    let sysroot = String::from_utf8(sysroot).unwrap();
    let has_target = Path::new(sysroot.trim()).join("lib/rustlib").join(RISCV).is_dir();
    if !has_target {
        let line = format!("skipped: run `rustup target add {RISCV}`");
        assert_ne!(env::var("CI").as_deref(), Ok("true"), "{line}");
        println!("{line}");
    }
    has_target
}

/// Returns the folder into which a test has cargo build `examples/rust` for a chip.
///
/// The crates that it depends on stay built. `examples/rust` is removed from the folder, because
/// cargo does not see whether a linker script has changed.
fn cargo_folder(test: &str, arch: &str) -> PathBuf {
    let name = format!("own-kernels-built/{test}-{arch}");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if target.exists() {
        let mut cargo = cargo(&target);
        // Without its profile and target, nothing of it is removed.
        let built = ["--package", "kernel", "--release", "--target", RISCV];
        cargo.args(["clean", "--quiet", "--locked", "--offline"]).args(built);
        let output = cargo.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let examples = target.join(RISCV).join("release/examples");
        let left = std::fs::read_dir(examples).map_or(0, |files| files.count());
        assert_eq!(left, 0, "kernels linked with an earlier script");
    }
    target
}

/// Returns a cargo command that builds `examples/rust` into a folder, without the environment of
/// the cargo that runs the tests.
fn cargo(target: &Path) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CARGO_") && name != "CARGO_HOME" || name.starts_with("RUSTC") {
            cargo.env_remove(name);
        }
    }
    cargo.current_dir(repository().join("examples/rust"));
    cargo.env("CARGO_TARGET_DIR", target);
    cargo
}

#[test]
fn a_kernel_in_rust_is_built_and_runs() {
    if !has_target() {
        return;
    }
    let folder = sdk("rust");
    for (arch, cores) in [("wormhole_b0", 64), ("blackhole", 140)] {
        let script = folder.join("sdk").join(arch).join("brisc.ld");
        let target = cargo_folder("kernel", arch);
        let mut cargo = cargo(&target);
        cargo.args(["rustc", "--quiet", "--release", "--locked", "--offline"]);
        cargo
            .args(["--target", RISCV])
            .args((arch == "blackhole").then_some("--features=blackhole"));
        cargo.arg("--").arg(format!("-Clink-arg=-T{}", script.display()));
        let output = cargo.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let kernel = target.join(RISCV).join("release/kernel");
        let report = zones(&folder, &["--arch", arch, "--kernel", kernel.to_str().unwrap()]);
        assert_eq!(zone_count(&report, "ADD"), 3 * cores);
    }
}

/// Returns the one line of a run that failed, and asserts that its exit code is 2.
fn complaint(folder: &Path, args: &[&str]) -> String {
    let output = kprof(folder, args);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    message
}

#[test]
fn what_is_wrong_with_a_file_is_one_sentence() {
    let folder = sdk("wrong");
    let of_host = env!("CARGO_BIN_EXE_kprof");
    let message = complaint(&folder, &["run", "--kernel", of_host]);
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.contains("32-bit"), "{message}");
    let message = complaint(&folder, &["run", "--kernel", "missing.elf"]);
    assert!(message.contains("cannot read the kernel missing.elf"), "{message}");
    let message = complaint(&folder, &["run", "--firmware", "sdk"]);
    assert!(message.contains("--kernel"), "{message}");
    // TT-Metal's firmware would start the other compute RISCs without code, or not start this one.
    for (options, missing) in [
        (
            vec!["--kernel-trisc0", of_host],
            "found one for TRISC_0, but no code for TRISC_1 and TRISC_2",
        ),
        (
            vec!["--kernel", of_host, "--kernel-trisc1", of_host, "--kernel-trisc2", of_host],
            "found one for TRISC_1 and TRISC_2, but no code for TRISC_0",
        ),
    ] {
        let args = [vec!["run", "--firmware", "sdk"], options].concat();
        let message = complaint(&folder, &args);
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.contains(missing), "{message}");
    }

    let source = repository().join("examples/cpp/kernel.cpp");
    let Some(kernel) = compile(&folder, "blackhole", "ncrisc", &source, "ncrisc.elf") else {
        return;
    };
    let kernel = kernel.to_str().unwrap();
    let message = complaint(&folder, &["run", "--arch", "blackhole", "--kernel", kernel]);
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.contains("link it with brisc.ld"), "another processor's: {message}");
    let message = complaint(&folder, &["run", "--kernel-ncrisc", kernel]);
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.contains("another firmware"), "another chip's: {message}");
}

#[test]
fn a_kernel_that_never_returns_is_stopped() {
    let folder = sdk("endless");
    let source = folder.join("endless.cpp");
    let text = "extern \"C\" void kernel_main(const unsigned*, unsigned) { for (;;) { asm volatile(\"\"); } }";
    fs::write(&source, text).unwrap();
    let Some(kernel) = compile(&folder, "wormhole_b0", "brisc", &source, "endless.elf") else {
        return;
    };
    let kernel = kernel.to_str().unwrap();
    let message = complaint(&folder, &["run", "--cycle-limit", "20000", "--kernel", kernel]);
    assert!(message.contains("still running after 20000 cycles"), "{message}");
    assert!(message.contains("in kernel_main"), "{message}");
}

/// One record of a run: type, data and time.
#[derive(Debug)]
struct Row {
    kind: String,
    data: String,
    time: u64,
    file: String,
}

/// Records by lane (core and RISC) and name, in recorded order.
type Rows = BTreeMap<(String, String), BTreeMap<String, Vec<Row>>>;

/// Number of cores in the grid on which `rows` runs kernels.
const CORES: usize = 8;

/// Runs kernels, each with the option that names its processor. Returns the log's records by core,
/// RISC and name, without the firmware's own zones.
fn rows(folder: &Path, arch: &str, kernels: &[(String, PathBuf)], more: &[&str]) -> Rows {
    let mut args = vec!["run", "--arch", arch, "--grid", "4x2", "-o", "out"];
    args.extend(more);
    args.extend(kernels.iter().flat_map(|(option, path)| [option, path.to_str().unwrap()]));
    let output = kprof(folder, &args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let log = fs::read_to_string(folder.join("out/.logs/profile_log_device.csv")).unwrap();
    let mut rows = Rows::new();
    for line in log.lines().skip(2) {
        let cells: Vec<_> = line.split(',').map(str::trim).collect();
        let name = cells[10];
        if name.ends_with("-FW")
            || ["BRISC", "NCRISC", "TRISC"].iter().any(|risc| name == format!("{risc}-KERNEL"))
        {
            continue;
        }
        let lane = (format!("{},{}", cells[1], cells[2]), cells[3].to_owned());
        let row = Row {
            kind: cells[11].to_owned(),
            // For an event, the number of the event is in the column of the zone id.
            data: cells[if cells[11] == "TS_EVENT" { 4 } else { 6 }].to_owned(),
            time: cells[5].parse().unwrap(),
            file: cells[13].to_owned(),
        };
        rows.entry(lane).or_default().entry(name.to_owned()).or_default().push(row);
    }
    rows
}

/// Records that an example must leave on each RISC: name, type and data.
type Expected = [(&'static str, &'static [(&'static str, Option<&'static str>)])];

const ZONE: &[(&str, Option<&str>)] = &[("ZONE_START", Some("0")), ("ZONE_END", Some("0"))];

/// Minimum cycles of the zones of an example, which `work` spends in each zone.
const LEAST_CYCLES: [(&str, u64); 6] = [
    ("MyKernelOperation", 100),
    ("LoadData", 100),
    ("Compute", 300),
    ("StoreData", 200),
    ("KERNEL-MAIN", 100),
    ("KERNEL-INNER-LOOP", 100),
];

#[track_caller]
fn assert_rows(rows: &Rows, lanes: usize, example: &str, expected: &Expected) {
    assert_eq!(rows.len(), if expected.is_empty() { 0 } else { lanes }, "{example}");
    for (lane, of_name) in rows {
        let names: Vec<_> = of_name.keys().map(String::as_str).collect();
        let mut expected_names: Vec<_> = expected.iter().map(|(name, _)| *name).collect();
        expected_names.sort_unstable();
        assert_eq!(names, expected_names, "{example} {lane:?}");
        for (name, expected) in expected {
            let found = &of_name[*name];
            assert_eq!(found.len(), expected.len(), "{example} {lane:?} {name}: {found:?}");
            for (row, (kind, data)) in found.iter().zip(*expected) {
                assert_eq!(row.kind, *kind, "{example} {lane:?} {name}");
                assert!(data.is_none_or(|data| row.data == data), "{example} {lane:?} {row:?}");
                let has_file = row.kind != "TS_EVENT";
                assert_eq!(row.file.contains(&format!("/{example}.")), has_file, "{row:?}");
            }
            assert!(found.is_sorted_by_key(|row| row.time), "{example} {lane:?} {name}");
            if let Some((_, cycles)) = LEAST_CYCLES.iter().find(|(of, _)| of == name) {
                let took = found[1].time - found[0].time;
                assert!(
                    (*cycles..20 * cycles).contains(&took),
                    "{example} {lane:?} {name}: {took}"
                );
            }
        }
    }
}

const SUM: &[(&str, Option<&str>)] = &[("ZONE_TOTAL", None)];
const ITERATIONS: &[(&str, Option<&str>)] = &[
    ("TS_DATA", Some("0")),
    ("TS_DATA", Some("1")),
    ("TS_DATA", Some("2")),
    ("TS_DATA", Some("3")),
];

/// Examples with their runtime arguments, and the records that they must leave.
const PROBES: [(&str, &str, &Expected); 9] = [
    ("zone", "", &[("MyKernelOperation", ZONE)]),
    ("zones", "", &[("LoadData", ZONE), ("Compute", ZONE), ("StoreData", ZONE)]),
    ("main_zone", "", &[("KERNEL-MAIN", ZONE)]),
    ("child_zone", "", &[("KERNEL-MAIN", ZONE), ("KERNEL-INNER-LOOP", ZONE)]),
    ("sums", "", &[("AccumulatedCompute", SUM), ("AccumulatedStore", SUM)]),
    ("data", "4", &[("IterationData", ITERATIONS)]),
    ("events", "", &[("", &[("TS_EVENT", Some("1")), ("TS_EVENT", Some("2"))])]),
    ("validity", "0", &[]),
    ("validity", "1", &[("MyKernelOperation", ZONE)]),
];

/// Checks sums and the nesting of zones, which the comparison of names does not cover.
fn assert_figures(rows: &Rows, example: &str) {
    for (lane, of_name) in rows {
        if example == "sums" {
            let cycles = |name: &str| of_name[name][0].data.parse::<u64>().unwrap();
            let (compute, store) = (cycles("AccumulatedCompute"), cycles("AccumulatedStore"));
            assert!((8 * 300..8 * 3000).contains(&compute), "{lane:?} {compute}");
            assert!((8 * 100..8 * 1000).contains(&store), "{lane:?} {store}");
            assert!(compute > 2 * store, "{lane:?}: {compute} of three times the work of {store}");
        }
        if example == "child_zone" {
            let (outer, inner) = (&of_name["KERNEL-MAIN"], &of_name["KERNEL-INNER-LOOP"]);
            assert!(
                outer[0].time + 50 <= inner[0].time && inner[1].time <= outer[1].time,
                "{lane:?}"
            );
        }
    }
}

const PROCESSORS: [(&str, &str); 5] = [
    ("brisc", "--kernel"),
    ("ncrisc", "--kernel-ncrisc"),
    ("trisc0", "--kernel-trisc0"),
    ("trisc1", "--kernel-trisc1"),
    ("trisc2", "--kernel-trisc2"),
];

fn run_probe(
    folder: &Path,
    arch: &str,
    kernels: &[(String, PathBuf)],
    (example, args, expected): (&str, &str, &Expected),
) {
    let mut more = vec![];
    if example == "sums" {
        more.push("--enable-sum-profiling");
    }
    if !args.is_empty() {
        more.extend(["--kernel-args", args]);
    }
    let rows = rows(folder, arch, kernels, &more);
    assert_rows(&rows, CORES * kernels.len(), example, expected);
    assert_figures(&rows, example);
}

/// Returns the processors for which each probe is compiled. At full size these are all processors. In
/// a plain run, each probe has one processor, and each processor of both chips has some probes.
fn processors_of_probes(arch: &str) -> Vec<&'static [(&'static str, &'static str)]> {
    if is_full() {
        return vec![&PROCESSORS; PROBES.len()];
    }
    let first = if arch == "blackhole" { 2 } else { 0 };
    let places = (0..PROBES.len()).map(|probe| {
        // Both runs of the last example, `validity`, have the same kernels.
        (first + probe.min(PROBES.len() - 2)) % PROCESSORS.len()
    });
    places.map(|place| &PROCESSORS[place..=place]).collect()
}

#[test]
fn every_probe_in_cpp_records_what_its_example_says() {
    let folder = sdk("probes-cpp");
    for arch in ["wormhole_b0", "blackhole"] {
        let compile =
            |example: &str, processors: &[(&str, &str)]| -> Option<Vec<(String, PathBuf)>> {
                let source = repository().join(format!("examples/cpp/probes/{example}.cpp"));
                let mut kernels = vec![];
                for &(processor, option) in processors {
                    let name = format!("{arch}-{example}-{processor}.elf");
                    let elf = compile_with(
                        &folder,
                        (arch, processor),
                        &source,
                        &name,
                        if example == "sums" { SUMS } else { PLAIN },
                    )?;
                    kernels.push((option.to_owned(), elf));
                }
                Some(kernels)
            };
        let mut built: Option<(&str, Vec<(String, PathBuf)>)> = None;
        for (probe, processors) in PROBES.into_iter().zip(processors_of_probes(arch)) {
            // The two runs of `validity` differ in their arguments only.
            let kernels = match built.take() {
                Some((example, kernels)) if example == probe.0 => kernels,
                _ => match compile(probe.0, processors) {
                    Some(kernels) => kernels,
                    None => return,
                },
            };
            run_probe(&folder, arch, &kernels, probe);
            built = Some((probe.0, kernels));
        }
        let expected: &Expected =
            &[("DATAFLOW-KERNEL", ZONE), ("ReadFromDRAM", ZONE), ("WriteToDRAM", ZONE)];
        // Each processor uses its own NoC. On a Wormhole, banks have different coordinates on each
        // NoC.
        for processor in [&PROCESSORS[..1], &PROCESSORS[1..2]] {
            let kernels = compile("dataflow", processor).unwrap();
            let mut durations = vec![];
            for tiles in [2, 8] {
                let args = format!("0x10000000,0x10800000,{tiles}");
                let rows = rows(&folder, arch, &kernels, &["--kernel-args", &args]);
                assert_rows(&rows, CORES, "dataflow", expected);
                let least = |name: &str| {
                    rows.values().map(|lane| lane[name][1].time - lane[name][0].time).min().unwrap()
                };
                durations.push([least("ReadFromDRAM"), least("WriteToDRAM")]);
            }
            // A NoC round trip takes some hundred cycles.
            for (few, many) in durations[0].iter().zip(durations[1]) {
                assert!(*few > 2 * 100 && many > 2 * few, "{arch}: {durations:?}");
            }
        }
    }
}

#[test]
fn every_probe_in_rust_records_what_its_example_says() {
    if !has_target() {
        return;
    }
    let folder = sdk("probes-rust");
    for (arch, processor) in [("wormhole_b0", PROCESSORS[0]), ("blackhole", PROCESSORS[1])] {
        let target = cargo_folder("probes", arch);
        for has_sums in [false, true] {
            let scripts = folder.join(if has_sums { SUMS.0 } else { PLAIN.0 });
            let script = scripts.join(arch).join(format!("{}.ld", processor.0));
            let mut cargo = cargo(&target);
            cargo.args([
                "build",
                "--quiet",
                "--release",
                "--locked",
                "--offline",
                "--target",
                RISCV,
            ]);
            let mut features = vec![];
            features.extend((arch == "blackhole").then_some("blackhole"));
            features.extend(has_sums.then_some("sums"));
            cargo.args(["--features", &features.join(",")]);
            let examples = if has_sums { vec!["--example", "sums"] } else { vec!["--examples"] };
            cargo.args(examples);
            cargo.env("RUSTFLAGS", format!("-Clink-arg=-T{}", script.display()));
            let output = cargo.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            for probe in PROBES.into_iter().filter(|probe| (probe.0 == "sums") == has_sums) {
                let kernel = target.join(RISCV).join("release/examples").join(probe.0);
                run_probe(&folder, arch, &[(processor.1.to_owned(), kernel)], probe);
            }
        }
    }
}

/// Source of a kernel with the sum zones of tt-metal's `llk_io_unpack.h` and `llk_io_pack.h`.
///
/// tt-metal's ops report shows these sums, and `TestOpSupportCountWithSumProfilingEnabled` requires
/// them in every row.
const COMPUTE_WAITS: &str = r#"
#include "tools/profiler/kernel_profiler.hpp"

extern "C" void kernel_main(const volatile uint32_t* launch, uint32_t /* risc */) {
    {
        DeviceZoneScopedSumN1("CB-COMPUTE-WAIT-FRONT");
        for (uint32_t poll = 0; poll < 200; ++poll) {
            static_cast<void>(launch[3]);
        }
    }
    DeviceZoneScopedSumN2("CB-COMPUTE-RESERVE-BACK");
    for (uint32_t poll = 0; poll < 100; ++poll) {
        static_cast<void>(launch[3]);
    }
}
"#;

#[test]
fn sums_of_compute_waits_are_in_every_row_that_dram_had_room_for() {
    let folder = sdk("compute-waits");
    let source = folder.join("waits.cpp");
    fs::write(&source, COMPUTE_WAITS).unwrap();
    for arch in ["wormhole_b0", "blackhole"] {
        let build = |processor: &str| {
            let name = format!("{arch}-{processor}.elf");
            compile_with(&folder, (arch, processor), &source, &name, SUMS)
        };
        let Some(unpack) = build("trisc0") else { return };
        let pack = build("trisc2").unwrap();
        let [unpack, pack] = [&unpack, &pack].map(|path| path.to_str().unwrap());
        let args = ["run", "--arch", arch, "-o", arch, "--ops", "300", "--enable-sum-profiling"];
        let args = [&args[..], &["--grid", "4x2"]].concat();
        let args = [&args[..], &["--op-support-count", "200"]].concat();
        let args = [&args[..], &["--kernel-trisc0", unpack, "--kernel-trisc2", pack]].concat();
        for args in [args, vec!["ops", arch]] {
            let output = kprof(&folder, &args);
            // Exit code 1 means losses, and 2 wrong arguments.
            assert_ne!(
                output.status.code(),
                Some(2),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        let report = folder.join(arch).join("reports/ops_perf_results.csv");
        let mut report = csv::Reader::from_path(report).unwrap();
        let titles = report.headers().unwrap().clone();
        let columns = ["DEVICE COMPUTE CB WAIT FRONT [ns]", "DEVICE COMPUTE CB RESERVE BACK [ns]"];
        let columns =
            columns.map(|column| titles.iter().position(|title| title == column).unwrap());
        let rows: Vec<_> = report.records().map(Result::unwrap).collect();
        // Movers take 48 of the 64 bytes for each of 200 programs. The two sums are recorded by
        // different RISCs, and one sum fills the 64 bytes of a RISC. Later programs have no sums,
        // so they have no figure.
        assert_eq!(rows.len(), 266, "{arch}");
        let (with_sums, without) = rows.split_at(200);
        for row in with_sums {
            let [wait, reserve] = columns.map(|column| row[column].parse::<f64>().unwrap());
            assert!(wait > 200.0 && (1.5..2.5).contains(&(wait / reserve)), "{arch}: {row:?}");
        }
        for row in without {
            assert_eq!(columns.map(|column| &row[column]), ["", ""], "{arch}");
        }
    }
}
