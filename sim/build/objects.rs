//! Builds images from the crates and linker scripts of `sim/objects`.
//!
//! The crates are compiled for riscv32im into static libraries, per chip architecture and mode. The
//! images are linked from these libraries; linker scripts give each processor's memory map.
//!
//! The build scripts of the simulator and of the benches share this module.

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

pub(crate) const TARGET: &str = "riscv32im-unknown-none-elf";
pub(crate) const ARCHITECTURES: [&str; 2] = ["wormhole_b0", "blackhole"];
pub(crate) const PROCESSORS: [&str; 7] =
    ["brisc", "ncrisc", "trisc0", "trisc1", "trisc2", "erisc", "idle_erisc"];

/// Sources of the firmware and kernels in Rust, and the files that determine how these are built.
pub(crate) const SOURCES: [&str; 17] = [
    "kernel-profiler/Cargo.toml",
    "kernel-profiler/src",
    "rust-toolchain.toml",
    "sim/build/objects.rs",
    "sim/objects/Cargo.lock",
    "sim/objects/Cargo.toml",
    "sim/objects/firmware",
    "sim/objects/kernels",
    "sim/objects/link",
    "sim/src/dispatch/words.rs",
    "sim/src/kernel/body.rs",
    "sim/src/kernel/script_body.rs",
    "sim/src/kernel/tile_words.rs",
    "sim/src/machine/mailbox.rs",
    "sim/src/random.rs",
    "wire/Cargo.toml",
    "wire/src",
];

/// The mode of size-optimized code in which markers are function calls; used only by the probes of
/// the benches.
const OUT_OF_LINE: &str = "out-of-line";

/// Processors that write the records of all RISCs of their core to DRAM.
const AGGREGATING: [&str; 3] = ["brisc", "erisc", "idle_erisc"];

/// Returns true in CI, where a missing tool or a compiler warning fails the build.
pub(crate) fn is_gate() -> bool {
    env::var("CI").is_ok_and(|ci| ci == "true")
}

/// Paths and tools of a build.
pub(crate) struct Build {
    pub(crate) repository: PathBuf,
    pub(crate) objects: PathBuf,
    pub(crate) out: PathBuf,
    pub(crate) sysroot: PathBuf,
    host: String,
}

/// Chip architecture and cargo features for one compilation of the crates.
#[derive(Clone, Copy)]
pub(crate) struct Variant {
    pub(crate) arch: &'static str,
    pub(crate) sums: bool,
    pub(crate) enabled: bool,
    /// The cargo feature that selects the mode; `None` in the default mode.
    pub(crate) mode: Option<&'static str>,
}

/// A crate or object file that is linked into an image.
pub(crate) struct Part<'a> {
    pub(crate) name: &'a str,
    /// The linker script that places the part's sections.
    pub(crate) script: &'a str,
    pub(crate) entry: &'a str,
}

/// A linked image.
#[derive(Clone)]
pub(crate) struct Linked {
    pub(crate) variant: Variant,
    pub(crate) part: String,
    pub(crate) processor: &'static str,
    pub(crate) path: PathBuf,
    /// Digest of the file's contents, by which an incremental build notices a change.
    pub(crate) digest: u64,
}

impl Build {
    /// Returns the paths and tools for the package that cargo is building. The parent of the
    /// package's directory must be the repository.
    pub(crate) fn new() -> Result<Self> {
        let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
        let repository = manifest.parent().ok_or("the crate has no parent directory")?.to_owned();
        let mut rustc = Command::new(variable("RUSTC")?);
        let output = rustc.args(["--print", "sysroot"]).output()?;
        let sysroot = PathBuf::from(String::from_utf8(output.stdout)?.trim());
        Ok(Self {
            objects: repository.join("sim/objects"),
            repository,
            out: PathBuf::from(variable("OUT_DIR")?),
            sysroot,
            host: variable("HOST")?,
        })
    }

    /// Returns the path of the linker that comes with the compiler.
    pub(crate) fn linker(&self) -> PathBuf {
        let tools = self.sysroot.join("lib/rustlib").join(&self.host).join("bin");
        tools.join("rust-lld").with_extension(env::consts::EXE_EXTENSION)
    }

    /// Makes cargo rerun the build script if an input of the images changes, and ignore other
    /// files. `own` lists the inputs of this build script, as paths in the repository.
    pub(crate) fn announce_inputs(&self, own: &[&str]) {
        let others = ["Cargo.toml", "kernel-profiler/include", "sim/build", "sim/objects/cpp"];
        for input in [own, &SOURCES, &others].concat() {
            announce(&self.repository.join(input));
        }
        println!("cargo:rerun-if-env-changed=CI");
    }

    /// Removes the images of an earlier build. Tests read all files in the folder, and this build
    /// may write fewer files than the previous build.
    pub(crate) fn forget_images(&self) -> Result<()> {
        for entry in fs::read_dir(&self.out)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if ARCHITECTURES.iter().any(|arch| name.starts_with(arch)) {
                fs::remove_dir_all(&path)?;
            }
        }
        Ok(())
    }

    /// Compiles crates and copies their libraries to the variant's folder; returns that folder.
    pub(crate) fn compile(&self, variant: &Variant, crates: &[&str]) -> Result<PathBuf> {
        let profile = if variant.mode == Some(OUT_OF_LINE) { "small" } else { "device" };
        let libraries = self.cargo(variant, profile, crates)?;
        let directory = variant.directory(self)?;
        for name in crates {
            let library = format!("lib{name}.a");
            fs::copy(libraries.join(&library), directory.join(&library))?;
        }
        Ok(directory)
    }

    /// Compiles crates for the RISCs; returns cargo's output folder with the libraries.
    fn cargo(&self, variant: &Variant, profile: &str, crates: &[&str]) -> Result<PathBuf> {
        // One folder per chip: a build locks its folder, and builds for the chips run in parallel.
        let target_dir = self.out.join("objects").join(variant.arch);
        let mut cargo = Command::new(variable("CARGO")?);
        cargo.current_dir(&self.objects).args(["build", "--quiet", "--locked", "--offline"]);
        cargo.args(["--profile", profile, "--target", TARGET]);
        cargo.args(crates.iter().flat_map(|name| ["--package", name]));
        cargo.arg("--features").arg(variant.features(crates));
        cargo.arg("--target-dir").arg(&target_dir);
        for (name, _) in env::vars_os().filter(|(name, _)| is_of_outer_build(name)) {
            cargo.env_remove(name);
        }
        cargo.env("CARGO_ENCODED_RUSTFLAGS", self.flags());
        let output = cargo.output()?;
        if !output.status.success() {
            let messages = String::from_utf8_lossy(&output.stderr);
            return Err(format!("the code of the RISCs does not compile:\n{messages}").into());
        }
        Ok(target_dir.join(TARGET).join(profile))
    }

    /// Returns the compiler flags. Zone ids are computed from paths, so the paths must be the same
    /// on every machine. Jump tables are disabled, because they would occupy a RISC's local RAM as
    /// constants.
    fn flags(&self) -> String {
        let repository = self.repository.display();
        let remap = |from: &str, to: &str| format!("--remap-path-prefix={from}={to}");
        [
            "-Cjump-tables=no".to_owned(),
            // With linker relaxation, the linker reduces a call, or loading the address of a
            // variable, to one instruction where one is enough.
            "-Ctarget-feature=+relax".to_owned(),
            remap(&repository.to_string(), ""),
            remap("firmware", "sim/objects/firmware"),
            remap("kernels", "sim/objects/kernels"),
            remap("kernels/src/../../../src", "sim/src"),
            remap(&format!("{repository}/benches/probes"), "probes"),
        ]
        .join("\x1f")
    }

    /// Links one [`Part`] (the firmware or the kernels) into an image for one processor. Kernels
    /// are linked against the firmware's symbols.
    pub(crate) fn link(
        &self,
        variant: &Variant,
        processor: &'static str,
        part: &Part<'_>,
        inputs: &[PathBuf],
    ) -> Result<Linked> {
        let scripts = self.objects.join("link");
        let directory = variant.directory(self)?;
        let image = directory.join(format!("{}-{processor}.elf", part.name));
        let mut linker = Command::new(self.linker());
        linker.args(["-flavor", "gnu", "--gc-sections", "--relax-gp", "--entry", part.entry]);
        // Removes the names of Rust functions, which depend on the repository's folder.
        linker.arg("--discard-all");
        // One thread, because starting more threads takes longer than linking such a small image.
        linker.arg("--threads=1");
        // The script names variables of the profiler, which do not exist in a build without the
        // profiler.
        linker.arg("--undefined-version");
        linker.arg("--script").arg(scripts.join(variant.arch).join(format!("{processor}.ld")));
        linker.arg("--script").arg(scripts.join(format!("{}.ld", part.script)));
        let is_rust = !part.name.starts_with("cpp_");
        if part.script != "kernels" && variant.enabled && is_rust {
            let suffix = if AGGREGATING.contains(&processor) { "core" } else { "own" };
            for step in ["begin", "finish"] {
                linker.arg(format!("--defsym=__kprof_{step}=kprof_{step}_{suffix}"));
            }
        }
        if part.script == "kernels" {
            let firmware = directory.join(format!("firmware-{processor}.elf"));
            linker.arg("--just-symbols").arg(firmware);
        }
        run(linker.args(inputs).arg("-o").arg(&image), &image)?;
        let digest = digest(&fs::read(&image)?);
        let part = part.name.to_owned();
        Ok(Linked { variant: *variant, part, processor, path: image, digest })
    }

    /// Links a processor's firmware from the library of a variant.
    pub(crate) fn link_firmware(
        &self,
        variant: &Variant,
        processor: &'static str,
        libraries: &Path,
    ) -> Result<Linked> {
        let entry = format!("__{processor}_entry");
        let firmware = Part { name: "firmware", script: "firmware", entry: &entry };
        self.link(variant, processor, &firmware, &[libraries.join("libfirmware.a")])
    }
}

/// Runs a tool that writes a file. `made` is the file's path, for the error message.
pub(crate) fn run(tool: &mut Command, made: &Path) -> Result<()> {
    let output = tool.output()?;
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} cannot be made:\n{messages}", made.display()).into());
    }
    Ok(())
}

/// Makes cargo rerun the script if a path changes. Skips a missing path, because announcing it
/// would make the script run in every build.
pub(crate) fn announce(path: &Path) {
    if fs::exists(path).unwrap_or(false) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
}

impl Variant {
    /// Returns the variant with the profiler and no other features.
    pub(crate) const fn plain(arch: &'static str) -> Self {
        Self { arch, sums: false, enabled: true, mode: None }
    }

    fn features(&self, crates: &[&str]) -> String {
        let wanted = [
            ("enabled", self.enabled),
            ("blackhole", self.arch == "blackhole"),
            ("sums", self.sums),
        ];
        let wanted = wanted.iter().filter(|(_, is_wanted)| *is_wanted).map(|(name, _)| *name);
        let of_crate =
            |feature: &str| crates.iter().map(|name| format!("{name}/{feature}")).collect();
        let features: Vec<Vec<String>> = wanted.chain(self.mode).map(of_crate).collect();
        features.concat().join(",")
    }

    fn name(&self) -> String {
        let Self { arch, sums, enabled, mode } = self;
        let mode = mode.map_or_else(String::new, |feature| format!("-{feature}"));
        format!("{arch}-sums-{sums}-enabled-{enabled}{mode}")
    }

    /// Returns the folder of the variant's libraries, objects and images, which tests also read.
    pub(crate) fn directory(&self, build: &Build) -> Result<PathBuf> {
        let directory = build.out.join(self.name());
        fs::create_dir_all(&directory)?;
        Ok(directory)
    }
}

pub(crate) fn digest(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3);
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, step)
}

/// Returns true if cargo sets the environment variable `name` for this build script, and the
/// variable would affect another cargo process that the script starts.
fn is_of_outer_build(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    let is_kept = ["CARGO_HOME", "CARGO_MAKEFLAGS", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"];
    let prefixes = ["CARGO", "RUST", "__CARGO", "CLIPPY", "DEP_"];
    !is_kept.contains(&&*name) && prefixes.iter().any(|prefix| name.starts_with(prefix))
}

pub(crate) fn variable(name: &str) -> Result<String> {
    env::var(name).map_err(|error| format!("{name}: {error}").into())
}
