//! Locations of the PyPI package `ttnn` and of the compiler.
//!
//! # Compatibility
//! `ttnn` 0.81.1. The tests use the folders `tt_metal/`, `runtime/hw/` and `ttnn/cpp/`.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// The package and the compiler, shared by all tests.
pub(crate) struct Package {
    pub(crate) root: PathBuf,
    pub(crate) compiler: String,
    /// Version of the compiler.
    pub(crate) version: String,
    /// The folders of libstdc++ for the compiler's version.
    pub(crate) library: [PathBuf; 2],
    /// libgcc for these processors. By default the compiler would use the libgcc of its 64-bit
    /// processors, because it has no variant for `rv32im_zicsr`.
    pub(crate) libgcc: PathBuf,
}

/// Returns the package that the tests need. If it is not installed, prints the missing part and
/// returns `None`.
pub(crate) fn package() -> Option<&'static Package> {
    static PACKAGE: OnceLock<Result<Package, String>> = OnceLock::new();
    match PACKAGE.get_or_init(find) {
        Ok(package) => Some(package),
        Err(reason) => {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{reason}");
            println!("not tested: {reason}");
            None
        }
    }
}

fn find() -> Result<Package, String> {
    let root = std::env::var_os("KPROF_TTNN").map(PathBuf::from).ok_or(
        "set KPROF_TTNN to the unpacked PyPI package ttnn 0.81.1, the folder that holds tt_metal/",
    )?;
    let upstream = root.join(UPSTREAM_HEADER);
    if !upstream.is_file() {
        return Err(format!("KPROF_TTNN: expected {}, found no such file", upstream.display()));
    }
    let ours = our_include().join("api/debug/kernel_profiler.hpp");
    if !ours.is_file() {
        return Err(format!("expected our header as {}, found no such file", ours.display()));
    }
    let compiler =
        std::env::var("RISCV_CXX").unwrap_or_else(|_| "riscv64-unknown-elf-g++".to_owned());
    let version = Command::new(&compiler).arg("-dumpversion").output().map_err(|error| {
        format!("{compiler} cannot be run ({error}); install gcc-riscv64-unknown-elf")
    })?;
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    let major = version.split('.').next().unwrap_or_default().to_owned();
    let library = library(&major).ok_or_else(|| {
        format!("{compiler} is version {version}: install libstdc++-{major}-dev for its headers")
    })?;
    let libgcc = Command::new(&compiler)
        .args(["-march=rv32im", "-mabi=ilp32", "-print-libgcc-file-name"])
        .output()
        .map_err(|error| format!("{compiler}: {error}"))?;
    let libgcc = PathBuf::from(String::from_utf8_lossy(&libgcc.stdout).trim());
    Ok(Package { root, compiler, version, library, libgcc })
}

/// Returns the C++ library's headers for a version of gcc, which Debian installs for the host.
fn library(major: &str) -> Option<[PathBuf; 2]> {
    let common = Path::new("/usr/include/c++").join(major);
    let targets = std::fs::read_dir("/usr/include").ok()?;
    let target = targets
        .filter_map(|entry| Some(entry.ok()?.path().join("c++").join(major)))
        .find(|folder| folder.join("bits/c++config.h").is_file())?;
    common.is_dir().then_some([common, target])
}

/// Returns the first folder of the include path in tests of our header.
///
/// `KPROF_HEADER` names another folder.
pub(crate) fn our_include() -> PathBuf {
    std::env::var_os("KPROF_HEADER").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel-profiler/include"),
        PathBuf::from,
    )
}

/// Returns the folder of these tests.
pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tt_metal")
}

const UPSTREAM_HEADER: &str = "tt_metal/hw/inc/api/debug/kernel_profiler.hpp";
