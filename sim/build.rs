//! Embeds the object code of the simulated RISCs as ELF images.
//!
//! The build compiles the images if their sources have changed or `KPROF_OBJECT_CODE=compile` is
//! set; otherwise it uses the shipped images.
//!
//! The crates of `objects/` are compiled for riscv32im into static libraries, per chip architecture
//! and set of features. Each processor's firmware is linked from these libraries; a linker script
//! gives the processor's memory map. The processor's kernels are linked against the symbols of its
//! firmware.
//!
//! If the images must be compiled and the compiler target is missing, the build fails and names the
//! command that installs the target.

#[path = "build/archive.rs"]
mod archive;
#[path = "build/cpp.rs"]
mod cpp;
#[path = "build/objects.rs"]
mod objects;
#[path = "build/target.rs"]
mod target;

use archive::Archive;
use cpp::CppCompiler;
use objects::{ARCHITECTURES, Build, Linked, PROCESSORS, Part, Result, Variant};
use std::{fmt::Write as _, fs, path::PathBuf, thread};

/// Pairs of a cargo feature, which selects a mode of firmware and kernels, and the name of that
/// mode in the generated list of images.
const MODES: [(&str, &str); 10] = [
    ("waits", "WaitTotals"),
    ("sync-events", "WaitEvents"),
    ("sync-windows", "WaitWindows"),
    ("accumulate", "Accumulate"),
    ("perf-counters", "Counters"),
    ("trace-only", "TraceOnly"),
    ("debug-dump", "DebugDump"),
    ("dispatch", "Dispatch"),
    ("stream", "Stream"),
    ("relay", "Relay"),
];

fn main() -> Result<()> {
    println!("cargo:rustc-check-cfg=cfg(compiled_object_code, cpp_code)");
    let build = Build::new()?;
    build.forget_images()?;
    let inputs = build.input_digest()?;
    println!("cargo:rustc-env=OBJECT_CODE_INPUTS={:016x}", inputs.unwrap_or_default());
    let images = match Archive::find(inputs)? {
        Some(archive) => shipped_images(&build, &archive)?,
        None => compiled_images(&build)?,
    };
    build.announce_inputs(&["sim/build.rs"]);
    fs::write(build.out.join("images.rs"), list(&images)?)?;
    Ok(())
}

/// Unpacks the shipped images. Also builds the images of kernels written in C++ if a C++ compiler
/// for RISC-V is installed.
fn shipped_images(build: &Build, archive: &Archive) -> Result<Vec<Linked>> {
    let mut images = archive.unpack(build)?;
    if build.objects.is_dir() && build.linker().is_file() {
        images.extend(cpp_images(build)?);
    }
    Ok(images)
}

/// Builds all images from their sources, with the installed tools.
fn compiled_images(build: &Build) -> Result<Vec<Linked>> {
    if let Some(missing) = build.missing_target() {
        return Err(format!("the object code of the RISCs cannot be compiled: {missing}").into());
    }
    println!("cargo:rustc-cfg=compiled_object_code");
    let mut images = rust_images(build)?;
    images.extend(cpp_images(build)?);
    Ok(images)
}

/// Links all variants of the firmware and kernels that are written in Rust.
///
/// The builds for the chips run in parallel, because they take most of the time of a first build
/// and do not depend on each other.
fn rust_images(build: &Build) -> Result<Vec<Linked>> {
    let images: Result<Vec<_>> = thread::scope(|scope| {
        let chips = ARCHITECTURES.map(|arch| scope.spawn(move || images_of_chip(build, arch)));
        let finished = chips.map(|chip| chip.join().map_err(|_| "a build has panicked")?);
        finished.into_iter().collect()
    });
    Ok(images?.concat())
}

/// Compiles and links all variants of the Rust firmware and kernels for one chip architecture.
fn images_of_chip(build: &Build, arch: &'static str) -> Result<Vec<Linked>> {
    let mut images = Vec::new();
    let plain = Variant::plain(arch);
    let modes = MODES.map(|(feature, _)| plain.in_mode(Some(feature)));
    for variant in [plain, Variant { sums: true, ..plain }].into_iter().chain(modes) {
        let libraries = build.compile(&variant, &["firmware", "kernels"])?;
        for processor in PROCESSORS {
            images.push(build.link_firmware(&variant, processor, &libraries)?);
        }
        images.extend(kernels(build, &variant, "kernels", libraries.join("libkernels.a"))?);
    }
    Ok(images)
}

/// For each processor, links the kernels in `input` against that processor's firmware of the
/// variant.
fn kernels(build: &Build, variant: &Variant, name: &str, input: PathBuf) -> Result<Vec<Linked>> {
    let entry = if variant.mode == Some("relay") { "relay" } else { "empty" };
    let part = Part { name, script: "kernels", entry };
    let input = [input];
    PROCESSORS.iter().map(|processor| build.link(variant, processor, &part, &input)).collect()
}

/// Compiles and links the kernels written in C++, if their compiler is installed.
fn cpp_images(build: &Build) -> Result<Vec<Linked>> {
    let mut images = Vec::new();
    let Some(compiler) = CppCompiler::find(build)? else { return Ok(images) };
    for arch in ARCHITECTURES {
        for sums in [false, true] {
            let variant = Variant { sums, ..Variant::plain(arch) };
            let options = [cpp::profile_kernel(&variant), "-DPROFILE_PERF_COUNTERS=33"];
            let flags = [&["-O2"][..], &options].concat();
            let object = compiler.object(&variant, "kernels", "kernels", &flags)?;
            images.extend(kernels(build, &variant, "cpp_kernels", object)?);
        }
    }
    Ok(images)
}

/// Returns Rust source code for an array of all images.
fn list(images: &[Linked]) -> Result<String> {
    let mut list = String::from("[\n");
    for Linked { variant, part, processor, path, digest } in images {
        let named = MODES.iter().find(|(feature, _)| Some(*feature) == variant.mode);
        let mode = named.map_or("Plain", |(_, name)| name);
        let Variant { arch, sums, .. } = variant;
        writeln!(
            list,
            "    EmbeddedImage {{ arch: {arch:?}, has_sums: {sums}, mode: Mode::{mode}, \
             part: {part:?}, processor: {processor:?}, digest: {digest:#x}, \
             elf: include_bytes!({path:?}) }},"
        )?;
    }
    list.push_str("]\n");
    Ok(list)
}
