//! The build script without the target of the RISCs: native kernels and one line, or a
//! failure where continuous integration would lose its tests.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The build script as a program, and a compiler whose sysroot has no target.
struct BuildScript {
    program: PathBuf,
    compiler: PathBuf,
    out: PathBuf,
}

impl BuildScript {
    fn compile(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let program = folder.join("build-script");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("build.rs");
        let compiled = Command::new("rustc")
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["--edition", "2024", "-o"])
            .args([&program, &source])
            .status();
        assert!(compiled.unwrap().success());
        let compiler = folder.join("rustc-without-target");
        let sysroot = folder.join("sysroot");
        std::fs::create_dir_all(&sysroot).unwrap();
        std::fs::write(&compiler, format!("#!/bin/sh\necho '{}'\n", sysroot.display())).unwrap();
        std::fs::set_permissions(&compiler, PermissionsExt::from_mode(0o755)).unwrap();
        Self { program, compiler, out: folder }
    }

    fn run(&self, ci: &str) -> Output {
        let _ = std::fs::remove_file(self.images());
        Command::new(&self.program)
            .env("RUSTC", &self.compiler)
            .env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"))
            .env("HOST", "a-host")
            .env("OUT_DIR", &self.out)
            .env("CI", ci)
            .output()
            .unwrap()
    }

    fn images(&self) -> PathBuf {
        self.out.join("images.rs")
    }
}

const WHAT_TO_DO: &str = "run `rustup target add riscv32im-unknown-none-elf`";

#[test]
fn without_the_target_there_is_no_object_code_and_one_line_says_what_to_install() {
    let script = BuildScript::compile("native-only");
    let output = script.run("false");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    let warnings: Vec<_> = said.lines().filter(|line| line.starts_with("cargo:warning=")).collect();
    assert_eq!(warnings.len(), 1, "{said}");
    assert!(warnings[0].contains("kernels run natively only"), "{said}");
    assert!(warnings[0].ends_with(WHAT_TO_DO), "{said}");
    assert!(!said.contains("cargo:rustc-cfg=object_code"), "{said}");
    // An empty list, so that what looks for an image finds none.
    assert_eq!(std::fs::read_to_string(script.images()).unwrap(), "[\n]\n");
}

#[test]
fn in_continuous_integration_a_missing_target_is_a_failure() {
    let script = BuildScript::compile("in-ci");
    let output = script.run("true");
    assert!(!output.status.success());
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains(WHAT_TO_DO), "{errors}");
    assert!(!script.images().exists());
}
