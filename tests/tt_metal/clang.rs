//! Our header under clang, in tt-metal's own sources: it causes no error and no warning.
//!
//! tt-metal itself is built with gcc. Parts of its headers that clang rejects are removed from the
//! preprocessed sources; none of them is in our header.

use crate::{
    package::{Package, package, sources},
    toolchain::{Chip, Header, Processor, Target, folder, in_parallel, run},
};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// A pragma that clang rejects, and that has no effect in gcc.
const REFUSED_PRAGMA: &str = "#pragma GCC unroll 0";

/// Returns the sources to compile, each with its processor.
fn list(package: &Package) -> Vec<(Chip, Processor, PathBuf)> {
    let firmware = package.root.join("tt_metal/hw/firmware/src/tt-1xx");
    let mut list = Vec::new();
    for chip in Chip::ALL {
        for processor in [Processor::Brisc, Processor::Ncrisc] {
            list.push((chip, processor, sources().join("probes.cpp")));
        }
        for processor in [Processor::Brisc, Processor::Ncrisc, Processor::IdleErisc] {
            list.push((chip, processor, firmware.join(format!("{processor}.cc"))));
        }
    }
    list
}

/// Returns the major version of clang, if it is installed and supports these processors.
fn version() -> Option<u32> {
    let targets = Command::new(CLANG).arg("--print-targets").output().ok()?;
    let knows_riscv = String::from_utf8_lossy(&targets.stdout).contains("riscv32");
    let version = Command::new(CLANG).arg("-dumpversion").output().ok()?;
    let major = String::from_utf8_lossy(&version.stdout).split('.').next()?.parse().ok()?;
    knows_riscv.then_some(major)
}

/// Compiles one source; returns clang's messages as an error.
fn compile(
    package: &Package,
    chip: Chip,
    processor: Processor,
    source: &Path,
    major: u32,
) -> Result<(), String> {
    let target = Target::new(chip, processor, Header::Ours);
    let name = source.file_stem().unwrap_or_default().to_string_lossy();
    let folder = folder("clang");
    let file = |extension| folder.join(format!("{chip}-{processor}-{name}.{extension}"));
    let (text, object) = (file("ii"), file("o"));
    let mut preprocess = target.clang(package, CLANG, major);
    preprocess.args(["-E", "-x", "c++"]).arg(source).arg("-o").arg(&text);
    run(&mut preprocess)?;
    let preprocessed = std::fs::read_to_string(&text).map_err(|error| error.to_string())?;
    let is_kept = |line: &&str| line.trim() != REFUSED_PRAGMA;
    let kept: Vec<_> = preprocessed.lines().filter(is_kept).collect();
    std::fs::write(&text, kept.join("\n")).map_err(|error| error.to_string())?;
    let mut compile = target.clang(package, CLANG, major);
    // Each zone prints its text as a message, as tt-metal requires.
    compile.args(["-Werror", "-Wno-#pragma-messages", "-Wno-unused-command-line-argument"]);
    compile.args(["-x", "c++-cpp-output", "-c"]);
    run(compile.arg(&text).arg("-o").arg(&object)).map(drop)
}

#[test]
fn clang_compiles_firmware_and_probes_without_a_warning() {
    let Some(package) = package() else { return };
    let Some(major) = version() else {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "there is no {CLANG} for riscv32");
        println!("not tested: install clang");
        return;
    };
    let list = list(package);
    let faults: Vec<String> = in_parallel(&list, |(chip, processor, source)| {
        let error = compile(package, *chip, *processor, source, major).err()?;
        Some(format!("{chip} {processor} {}: {error}", source.display()))
    })
    .into_iter()
    .flatten()
    .collect();
    println!("clang {major}: {} of {} compile", list.len() - faults.len(), list.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

const CLANG: &str = "clang++";
