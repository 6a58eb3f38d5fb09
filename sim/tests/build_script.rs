//! Tests of the build script if the compiler target of the RISCs is missing: the script asks rustup
//! to install it.
//!
//! If rustup cannot help, there is no object code and one warning. In CI the build fails, because
//! it would otherwise skip the tests of the object code.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The build script as a program, with a fake compiler that lacks the target, and a fake rustup.
struct BuildScript {
    program: PathBuf,
    folder: PathBuf,
}

/// Returns the folder of the libraries with which tests are linked.
fn libraries_of_tests() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// Returns the most recent library of the decompressor.
fn ruzstd() -> PathBuf {
    let files = std::fs::read_dir(libraries_of_tests()).unwrap().map(|entry| entry.unwrap().path());
    let libraries = files.filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("libruzstd-") && name.ends_with(".rlib")
    });
    libraries.max_by_key(|path| path.metadata().unwrap().modified().unwrap()).unwrap()
}

impl BuildScript {
    fn compile(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&folder);
        let libraries = folder.join("sysroot/lib/rustlib");
        std::fs::create_dir_all(&libraries).unwrap();
        std::fs::create_dir_all(folder.join("out")).unwrap();
        let program = folder.join("build-script");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("build.rs");
        let compiled = Command::new("rustc")
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["--edition", "2024", "-o"])
            .args([&program, &source])
            .arg("-L")
            .arg(format!("dependency={}", libraries_of_tests().display()))
            .arg("--extern")
            .arg(format!("ruzstd={}", ruzstd().display()))
            .status();
        assert!(compiled.unwrap().success());
        let script = Self { program, folder };
        script.add_tool("rustc", &format!("echo '{}'", script.folder.join("sysroot").display()));
        script.add_tool("cargo", "exit 1");
        script
    }

    /// Makes the toolchain look like one installed by rustup. Also puts on the PATH a rustup that
    /// logs its arguments and then runs some commands.
    fn with_rustup(self, commands: &str) -> Self {
        std::fs::write(self.libraries().join("multirust-channel-manifest.toml"), "").unwrap();
        let asked = self.folder.join("asked");
        self.add_tool("rustup", &format!("echo \"$@\" >> '{}'\n{commands}", asked.display()));
        self
    }

    fn add_tool(&self, name: &str, commands: &str) {
        let tools = self.folder.join("tools");
        std::fs::create_dir_all(&tools).unwrap();
        let tool = tools.join(name);
        std::fs::write(&tool, format!("#!/bin/sh\n{commands}\n")).unwrap();
        std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
    }

    fn run(&self, ci: &str) -> Output {
        self.command(ci).output().unwrap()
    }

    fn command(&self, ci: &str) -> Command {
        let tools = self.folder.join("tools");
        let path = format!("{}:/usr/bin:/bin", tools.display());
        let mut command = Command::new(&self.program);
        command
            .env("PATH", path)
            .env("RUSTC", tools.join("rustc"))
            .env("CARGO", tools.join("cargo"))
            .env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"))
            .env("HOST", "a-host")
            .env("OUT_DIR", self.folder.join("out"))
            .env_remove("CARGO_NET_OFFLINE")
            .env("KPROF_OBJECT_CODE", "compile")
            .env("CI", ci);
        command
    }

    fn libraries(&self) -> PathBuf {
        self.folder.join("sysroot/lib/rustlib")
    }

    fn images(&self) -> PathBuf {
        self.folder.join("out/images.rs")
    }

    /// Returns all arguments with which rustup was called.
    fn asked(&self) -> String {
        std::fs::read_to_string(self.folder.join("asked")).unwrap_or_default()
    }
}

/// Returns the warnings that cargo shows.
fn warnings(output: &Output) -> Vec<String> {
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    let warnings = said.lines().filter_map(|line| line.strip_prefix("cargo:warning="));
    warnings.map(str::to_owned).collect()
}

const ASKED: &str = "target add --toolchain sysroot riscv32im-unknown-none-elf\n";
const WHAT_TO_DO: &str = "run `rustup target add riscv32im-unknown-none-elf`";

#[test]
fn without_the_target_there_is_no_object_code_and_one_line_says_what_to_install() {
    let script = BuildScript::compile("no-target");
    let output = script.run("false");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    let warnings = warnings(&output);
    assert_eq!(warnings.len(), 1, "{said}");
    assert!(warnings[0].contains("so no kernels run"), "{said}");
    assert!(warnings[0].contains("the compiler is not one of rustup's"), "{said}");
    assert!(warnings[0].ends_with(WHAT_TO_DO), "{said}");
    assert!(!said.contains("cargo:rustc-cfg=object_code"), "{said}");
    // An empty list, in which lookups find no image.
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

#[test]
fn a_target_that_is_missing_is_asked_of_rustup() {
    let script = BuildScript::compile("refused").with_rustup("exit 1");
    let output = script.run("false");
    assert!(output.status.success());
    assert_eq!(script.asked(), ASKED);
    let warnings = warnings(&output);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("rustup could not install it"), "{warnings:?}");
    assert!(warnings[0].ends_with(WHAT_TO_DO), "{warnings:?}");
}

#[test]
fn a_target_that_rustup_installs_is_used_at_once_and_one_line_says_so() {
    let script = BuildScript::compile("installed");
    let target = script.libraries().join("riscv32im-unknown-none-elf").display().to_string();
    let linker = script.libraries().join("a-host/bin").display().to_string();
    let installs = format!("mkdir -p '{target}' '{linker}'; : > '{linker}/rust-lld'");
    let script = script.with_rustup(&installs);
    let output = script.run("false");
    assert_eq!(script.asked(), ASKED);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("cargo:rustc-cfg=object_code"), "{said}");
    let warnings = warnings(&output);
    assert_eq!(warnings.len(), 1, "{said}");
    assert!(warnings[0].contains("`rustup target add riscv32im-unknown-none-elf` was run"));
    // Compiling was started, with a cargo that fails.
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains("the code of the RISCs does not compile"), "{errors}");
    // If a file changed while the script ran, cargo would run the script again.
    assert!(!said.contains("rustlib"), "{said}");
}

#[test]
fn an_offline_build_asks_nobody() {
    let script = BuildScript::compile("offline").with_rustup("exit 1");
    let output = script.command("false").env("CARGO_NET_OFFLINE", "true").output().unwrap();
    assert!(output.status.success());
    assert_eq!(script.asked(), "");
    assert!(warnings(&output)[0].contains("cargo is offline"), "{:?}", warnings(&output));
}

#[test]
fn a_package_without_sources_of_object_code_builds_even_in_continuous_integration() {
    let script = BuildScript::compile("package").with_rustup("exit 1");
    let output = script.command("true").env("CARGO_MANIFEST_DIR", &script.folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(script.asked(), "");
    let warnings = warnings(&output);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].ends_with("so no kernels run"), "{warnings:?}");
    assert_eq!(std::fs::read_to_string(script.images()).unwrap(), "[\n]\n");
    // The repository's files do not exist here. Cargo would rebuild every time if a missing path
    // was announced.
    assert!(!String::from_utf8_lossy(&output.stdout).contains("rerun-if-changed"));
}
