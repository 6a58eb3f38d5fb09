//! Kernels of one's own: what docs/kernels.md says is done here, word by word, and what is wrong
//! with a file is told in one sentence.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod program;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

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

/// Linker scripts in a folder of their own; `None` after a line that says why not.
fn sdk(name: &str) -> Option<PathBuf> {
    let folder = folder(name);
    let output = kprof(&folder, &["sdk", "sdk"]);
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_ne!(env::var("CI").as_deref(), Ok("true"), "{message}");
        eprintln!("skipped: {message}");
        return None;
    }
    Some(folder)
}

/// Compiles a C++ file for a processor; `None` after a line that says why not.
fn compile(
    folder: &Path,
    arch: &str,
    processor: &str,
    source: &Path,
    name: &str,
) -> Option<PathBuf> {
    let compiler = env::var("RISCV_CXX").unwrap_or_else(|_| "riscv64-unknown-elf-g++".to_owned());
    let elf = folder.join(name);
    let mut command = Command::new(&compiler);
    command.args(["-march=rv32im", "-mabi=ilp32", "-std=c++17", "-O2", "-ffreestanding"]);
    command.args(["-nostdlib", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"]);
    command.args(["-DCOMPILE_FOR_BRISC", "-DPROFILE_KERNEL=1", "-Wall", "-Wextra", "-Werror"]);
    let is_blackhole = arch == "blackhole";
    command.arg(if is_blackhole { "-DARCH_BLACKHOLE" } else { "-DARCH_WORMHOLE" });
    command.arg("-I").arg(repository().join("kernel-profiler/include"));
    command.arg("-T").arg(folder.join("sdk").join(arch).join(format!("{processor}.ld")));
    let output = match command.arg(source).arg("-o").arg(&elf).output() {
        Ok(output) => output,
        Err(error) => {
            assert_ne!(env::var("CI").as_deref(), Ok("true"), "{compiler}: {error}");
            eprintln!("skipped: {compiler}: {error}; install gcc-riscv64-unknown-elf");
            return None;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(elf)
}

/// Zones by name, with their counts, and data, of a run on all 64 or 140 cores.
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
    let Some(folder) = sdk("cpp") else { return };
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

#[test]
fn a_kernel_in_rust_is_built_and_runs() {
    let Some(folder) = sdk("rust") else { return };
    for (arch, cores) in [("wormhole_b0", 64), ("blackhole", 140)] {
        let script = folder.join("sdk").join(arch).join("brisc.ld");
        let mut cargo = Command::new(env!("CARGO"));
        for (name, _) in env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("CARGO_") && name != "CARGO_HOME" || name.starts_with("RUSTC") {
                cargo.env_remove(name);
            }
        }
        cargo.current_dir(repository().join("examples/rust"));
        cargo.args(["rustc", "--quiet", "--release", "--locked", "--offline"]);
        cargo.args(["--target", "riscv32im-unknown-none-elf"]);
        cargo.args((arch == "blackhole").then_some("--features=blackhole"));
        cargo.arg("--target-dir").arg(folder.join(arch));
        cargo.arg("--").arg(format!("-Clink-arg=-T{}", script.display()));
        let output = cargo.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let kernel = folder.join(arch).join("riscv32im-unknown-none-elf/release/kernel");
        let report = zones(&folder, &["--arch", arch, "--kernel", kernel.to_str().unwrap()]);
        assert_eq!(zone_count(&report, "ADD"), 3 * cores);
    }
}

/// The one line that a run fails with, and that its exit code is 2.
fn complaint(folder: &Path, args: &[&str]) -> String {
    let output = kprof(folder, args);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    message
}

#[test]
fn what_is_wrong_with_a_file_is_one_sentence() {
    let Some(folder) = sdk("wrong") else { return };
    let of_host = env!("CARGO_BIN_EXE_kprof");
    let message = complaint(&folder, &["run", "--kernel", of_host]);
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.contains("32-bit"), "{message}");
    let message = complaint(&folder, &["run", "--kernel", "missing.elf"]);
    assert!(message.contains("cannot read the kernel missing.elf"), "{message}");
    let message = complaint(&folder, &["run", "--firmware", "sdk"]);
    assert!(message.contains("--kernel"), "{message}");

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
    let Some(folder) = sdk("endless") else { return };
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
