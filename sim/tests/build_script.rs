//! Tests of the build script if the compiler target of the RISCs is missing.
//!
//! The shipped object code needs no target. A build of changed sources fails and says what to
//! install.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The build script as a program, with a fake compiler that lacks the target.
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

    fn add_tool(&self, name: &str, commands: &str) {
        let tools = self.folder.join("tools");
        std::fs::create_dir_all(&tools).unwrap();
        let tool = tools.join(name);
        std::fs::write(&tool, format!("#!/bin/sh\n{commands}\n")).unwrap();
        std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// Runs the script as cargo runs it for the package in `manifest_dir`.
    fn run(&self, manifest_dir: &Path, object_code: &str) -> Output {
        let tools = self.folder.join("tools");
        let path = format!("{}:/usr/bin:/bin", tools.display());
        let mut command = Command::new(&self.program);
        command
            .env("PATH", path)
            .env("RUSTC", tools.join("rustc"))
            .env("CARGO", tools.join("cargo"))
            .env("CARGO_MANIFEST_DIR", manifest_dir)
            .env("HOST", "a-host")
            .env("OUT_DIR", self.folder.join("out"))
            .env("KPROF_OBJECT_CODE", object_code)
            .env_remove("CI");
        command.output().unwrap()
    }

    /// Returns the number of images in the generated list.
    fn image_count(&self) -> usize {
        let list = std::fs::read_to_string(self.folder.join("out/images.rs")).unwrap();
        list.matches("EmbeddedImage").count()
    }
}

/// Number of images in Rust: for two chips and seven processors, firmware and kernels in twelve
/// variants.
const SHIPPED: usize = 2 * 7 * 2 * 12;

#[test]
fn without_the_target_the_shipped_object_code_is_used() {
    let script = BuildScript::compile("shipped");
    let output = script.run(Path::new(env!("CARGO_MANIFEST_DIR")), "");
    let lines = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!lines.contains("cargo:warning"), "{lines}");
    assert!(!lines.contains("cargo:rustc-cfg=compiled_object_code"), "{lines}");
    assert_eq!(script.image_count(), SHIPPED);
}

/// Makes a folder in which one source of the object code differs from this repository's, and
/// returns the simulator's package in it.
fn changed_package(folder: &Path) -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let repository = package.parent().unwrap();
    let copy = folder.join("repository/sim");
    std::fs::create_dir_all(copy.join("build")).unwrap();
    for name in ["Cargo.toml", "kernel-profiler", "rust-toolchain.toml", "wire"] {
        symlink(repository.join(name), copy.with_file_name(name)).unwrap();
    }
    for name in ["objects", "src"] {
        symlink(package.join(name), copy.join(name)).unwrap();
    }
    for file in std::fs::read_dir(package.join("build")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), copy.join("build").join(file.file_name())).unwrap();
    }
    let source = copy.join("build/objects.rs");
    std::fs::write(&source, std::fs::read_to_string(&source).unwrap() + "\n").unwrap();
    copy
}

#[test]
fn changed_sources_without_the_target_fail_and_one_line_says_what_to_install() {
    let script = BuildScript::compile("no-target");
    let changed = changed_package(&script.folder);
    let unchanged = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    for (package, object_code) in [(changed, ""), (unchanged, "compile")] {
        let output = script.run(&package, object_code);
        assert!(!output.status.success(), "{}", package.display());
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains("run `rustup target add riscv32im-unknown-none-elf`"), "{errors}");
    }
}

#[test]
fn a_package_without_sources_uses_the_shipped_object_code() {
    let script = BuildScript::compile("package");
    let package = script.folder.join("package");
    std::fs::create_dir_all(package.join("build")).unwrap();
    for name in ["images.txt", "images.zst"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("build").join(name);
        std::fs::copy(file, package.join("build").join(name)).unwrap();
    }
    let output = script.run(&package, "compile");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(script.image_count(), SHIPPED);
    // Cargo would rebuild every time if a missing path was announced.
    let lines = String::from_utf8(output.stdout).unwrap();
    let announced = lines.lines().filter_map(|line| line.strip_prefix("cargo:rerun-if-changed="));
    for path in announced {
        assert!(Path::new(path).exists(), "{path}");
    }
}
