//! Builds the probes for the cost benches: each probe of the profiler in a separate function.
//!
//! Probes are built in Rust and in C++, with the profiler on and off. The benches build the probes,
//! so a build of the simulator does not depend on them.

#[path = "../sim/build/cpp.rs"]
mod cpp;
#[path = "../sim/build/objects.rs"]
mod objects;
#[path = "../sim/build/target.rs"]
mod target;

use cpp::CppCompiler;
use objects::{ARCHITECTURES, Build, Linked, PROCESSORS, Part, Result, Variant, is_gate};
use std::{fmt::Write as _, fs};

fn main() -> Result<()> {
    println!("cargo:rustc-check-cfg=cfg(cpp_code)");
    let build = Build::new()?;
    build.forget_images()?;
    build.announce_inputs(&["benches/build.rs", "benches/probes"]);
    let mut images = Vec::new();
    match build.missing_target() {
        None => {
            images.extend(rust_images(&build)?);
            images.extend(cpp_images(&build)?);
        }
        Some(missing) if is_gate() => return Err(missing.into()),
        Some(missing) => println!("cargo:warning=no probes are measured: {missing}"),
    }
    fs::write(build.out.join("images.rs"), list(&images)?)?;
    Ok(())
}

/// Returns the variant without the profiler. This variant is the same on both chips.
fn switched_off() -> Variant {
    Variant { enabled: false, ..Variant::plain(ARCHITECTURES[0]) }
}

/// Returns the variants with active probes, in both languages.
fn recording() -> impl Iterator<Item = Variant> {
    ARCHITECTURES
        .into_iter()
        .flat_map(|arch| [false, true].map(|sums| Variant { sums, ..Variant::plain(arch) }))
}

/// Links the Rust probes, and the firmware that is built without a profiler.
fn rust_images(build: &Build) -> Result<Vec<Linked>> {
    let mut images = Vec::new();
    let probes = |variant: &Variant, name| {
        let libraries = build.compile(variant, &["probes"])?;
        link_probes(build, variant, name, libraries.join("libprobes.a"))
    };
    for variant in recording().chain([switched_off()]) {
        images.push(probes(&variant, "probes")?);
    }
    let small = Variant { mode: Some("out-of-line"), ..Variant::plain(ARCHITECTURES[0]) };
    images.push(probes(&small, "probes-out-of-line")?);
    let libraries = build.compile(&switched_off(), &["firmware"])?;
    for processor in PROCESSORS {
        images.push(build.link_firmware(&switched_off(), processor, &libraries)?);
    }
    Ok(images)
}

/// Links the C++ probes, if their compiler is installed.
fn cpp_images(build: &Build) -> Result<Vec<Linked>> {
    let mut images = Vec::new();
    let Some(compiler) = CppCompiler::find(build)? else { return Ok(images) };
    let dispatch = ["-O2", "-DPROFILE_KERNEL=3", "-DDISPATCH_KERNEL"];
    for variant in recording() {
        let option = cpp::profile_kernel(&variant);
        for (name, flags) in [
            ("cpp_probes", ["-O2", option, "-DPROFILE_NOC_EVENTS=2"]),
            ("cpp_probes_small", ["-Os", option, "-DPROFILE_NOC_EVENTS"]),
            ("cpp_probes_addresses", ["-O2", option, "-DPROFILE_NOC_EVENTS=3"]),
            ("cpp_probes_dispatch", dispatch),
        ] {
            let object = compiler.object(&variant, "probes", name, &flags)?;
            images.push(link_probes(build, &variant, name, object)?);
        }
    }
    let variant = switched_off();
    compiler.object(&variant, "bad", "bad", &["-O2"])?;
    let without_header = ["-O2", "-DWITHOUT_HEADER"];
    compiler.object(&variant, "probes", "cpp_probes_without_header", &without_header)?;
    let flags = ["-O2", "-DPROFILE_NOC_EVENTS=2"];
    let object = compiler.object(&variant, "probes", "cpp_probes", &flags)?;
    images.push(link_probes(build, &variant, "cpp_probes", object)?);
    Ok(images)
}

fn link_probes(
    build: &Build,
    variant: &Variant,
    name: &str,
    input: std::path::PathBuf,
) -> Result<Linked> {
    let part = Part { name, script: "probes", entry: "nothing" };
    build.link(variant, "brisc", &part, &[input])
}

/// Formats the list of images as the source of an array.
fn list(images: &[Linked]) -> Result<String> {
    let mut list = String::from("[\n");
    for Linked { variant, part, processor, path, digest } in images {
        let Variant { arch, sums, enabled, .. } = variant;
        writeln!(
            list,
            "    ProbeImage {{ arch: {arch:?}, has_sums: {sums}, is_enabled: {enabled}, \
             part: {part:?}, processor: {processor:?}, digest: {digest:#x}, \
             elf: include_bytes!({path:?}) }},"
        )?;
    }
    list.push_str("]\n");
    Ok(list)
}
