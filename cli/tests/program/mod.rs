//! Runs of the program in tests.

use std::{
    path::Path,
    process::{Command, Output},
};

/// Returns a `kprof` command without the profiling variables of the developer's shell.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kprof"));
    clear_variables(&mut command);
    command
}

/// Removes the variables of TT-Metal and ttnn from the environment of a command.
pub(crate) fn clear_variables(command: &mut Command) {
    let is_of_tt_metal = |name: &str| name.starts_with("TT_METAL") || name.starts_with("TTNN");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_of_tt_metal) {
            command.env_remove(name);
        }
    }
}

/// Returns the one sentence of a command that failed with exit code 2.
#[track_caller]
pub(crate) fn refusal(args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = program().args(args).current_dir(folder.path()).env_clear().output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(output.stdout.is_empty());
    errors
}

/// Runs `kprof` in the given folder.
pub(crate) fn kprof(folder: &Path, args: &[&str]) -> Output {
    program().args(args).current_dir(folder).output().unwrap()
}

/// Returns the start of a command that compiles a kernel in C++ for a RISC, with the options that
/// all kernels need.
pub(crate) fn kernel_compiler() -> Command {
    let compiler =
        std::env::var("RISCV_CXX").unwrap_or_else(|_| "riscv64-unknown-elf-g++".to_owned());
    let mut command = Command::new(compiler);
    command.args(["-march=rv32im", "-mabi=ilp32", "-std=c++17", "-O2", "-ffreestanding"]);
    command.args(["-nostdlib", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"]);
    command
}

/// Compiles a kernel. Without a compiler, returns false after printing a reason, or fails in CI.
#[track_caller]
pub(crate) fn compiles(command: &mut Command) -> bool {
    match command.output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            true
        }
        Err(error) => {
            let compiler = command.get_program().to_string_lossy();
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{compiler}: {error}");
            eprintln!("skipped: {compiler}: {error}; install gcc-riscv64-unknown-elf");
            false
        }
    }
}
