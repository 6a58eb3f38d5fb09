//! Builds the code of the simulated RISCs and embeds it.
//!
//! The crates of `objects/` are compiled for riscv32im into static libraries, per chip
//! architecture and with or without sum zones; each processor's firmware is linked from
//! them with the processor's memory map, and the kernels against that firmware's symbols.
//!
//! A target that is missing is asked of rustup, and a warning says so. Without it the simulator
//! has no object code and runs native kernels, and the warning says what to install; under
//! `CI=true` that is an error. A package has no sources of object code, and needs none.

#[path = "build/cpp.rs"]
mod cpp;
#[path = "build/target.rs"]
mod target;

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use target::{Hindrance, announce};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const TARGET: &str = "riscv32im-unknown-none-elf";
const ARCHITECTURES: [&str; 2] = ["wormhole_b0", "blackhole"];
const PROCESSORS: [&str; 7] =
    ["brisc", "ncrisc", "trisc0", "trisc1", "trisc2", "erisc", "idle_erisc"];

/// Features that firmware and kernels share, and what they are called in the list of images.
const MODES: [(&str, &str); 5] = [
    ("waits", "WaitTotals"),
    ("sync-events", "WaitEvents"),
    ("accumulate", "Accumulate"),
    ("perf-counters", "Counters"),
    ("trace-only", "TraceOnly"),
];

/// Processors that push the markers of their core.
const AGGREGATING: [&str; 3] = ["brisc", "erisc", "idle_erisc"];

fn main() -> Result<()> {
    println!("cargo:rustc-check-cfg=cfg(object_code, cpp_code)");
    let build = Build::new()?;
    build.forget_images()?;
    let mut list = String::from("[\n");
    let hindrance = build.hindrance();
    build.announce_inputs();
    match hindrance {
        None => {
            println!("cargo:rustc-cfg=object_code");
            build.all_images(&mut list)?;
            build.all_cpp_images(&mut list)?;
        }
        Some(Hindrance { cause, remedy: Some(remedy) }) if is_gate() => {
            return Err(format!("{cause}; {remedy}").into());
        }
        Some(Hindrance { cause, remedy }) => {
            let remedy = remedy.map_or_else(String::new, |remedy| format!("; {remedy}"));
            println!("cargo:warning={cause}, so kernels run natively only{remedy}");
        }
    }
    list.push_str("]\n");
    fs::write(build.out.join("images.rs"), list)?;
    Ok(())
}

/// Returns true in CI, where a missing or doubtful input fails the build.
fn is_gate() -> bool {
    env::var("CI").is_ok_and(|ci| ci == "true")
}

/// Where things are.
struct Build {
    repository: PathBuf,
    objects: PathBuf,
    out: PathBuf,
    sysroot: PathBuf,
    linker: PathBuf,
}

/// One way to compile the crates.
struct Variant {
    arch: &'static str,
    sums: bool,
    enabled: bool,
    /// Markers as calls, all of it as small as it can be; of the probes alone.
    out_of_line: bool,
    /// The feature of a mode, of firmware and kernels alone, with the mode's name in the list.
    mode: Option<(&'static str, &'static str)>,
}

impl Build {
    fn new() -> Result<Self> {
        let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
        let repository = manifest.parent().ok_or("the crate has no parent directory")?.to_owned();
        let mut rustc = Command::new(variable("RUSTC")?);
        let output = rustc.args(["--print", "sysroot"]).output()?;
        let sysroot = PathBuf::from(String::from_utf8(output.stdout)?.trim());
        let host = variable("HOST")?;
        let linker = sysroot.join("lib/rustlib").join(host).join("bin/rust-lld");
        Ok(Self {
            repository,
            objects: manifest.join("objects"),
            out: PathBuf::from(variable("OUT_DIR")?),
            sysroot,
            linker: linker.with_extension(env::consts::EXE_EXTENSION),
        })
    }

    /// Everything that the images are made of, so that nothing else makes them anew.
    fn announce_inputs(&self) {
        let own = [
            "sim/build.rs",
            "sim/objects",
            "sim/src/kernel/body.rs",
            "sim/src/kernel/script_body.rs",
            "sim/src/kernel/tile_words.rs",
            "sim/src/random.rs",
        ];
        let shared = ["sim/src/machine/mailbox.rs", "Cargo.toml", "rust-toolchain.toml"];
        let crates = ["wire/src", "wire/Cargo.toml"];
        let runtime = ["kernel-profiler/src", "kernel-profiler/Cargo.toml"];
        let cpp = ["sim/build", "kernel-profiler/include"];
        for input in [&own[..], &shared, &crates, &runtime, &cpp].concat() {
            announce(&self.repository.join(input));
        }
        println!("cargo:rerun-if-env-changed=CI");
    }

    /// Removes what an earlier build has kept: tests look at all that is there, and a build may
    /// keep other files than the one before.
    fn forget_images(&self) -> Result<()> {
        for entry in fs::read_dir(&self.out)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if ARCHITECTURES.iter().any(|arch| name.starts_with(arch)) {
                fs::remove_dir_all(&path)?;
            }
        }
        Ok(())
    }

    fn all_images(&self, list: &mut String) -> Result<()> {
        for arch in ARCHITECTURES {
            for sums in [false, true] {
                let variant = Variant { sums, ..Variant::plain(arch) };
                let libraries = self.compile(&variant)?;
                self.link_all(&variant, &libraries, list)?;
            }
            for mode in MODES {
                let variant = Variant { mode: Some(mode), ..Variant::plain(arch) };
                let libraries = self.compile(&variant)?;
                self.link_launched(&variant, &libraries, list)?;
            }
        }
        let disabled = Variant { enabled: false, ..Variant::plain(ARCHITECTURES[0]) };
        let libraries = self.compile(&disabled)?;
        self.link_all(&disabled, &libraries, list)?;
        let small = Variant { out_of_line: true, enabled: true, ..disabled };
        let libraries = self.compile(&small)?;
        self.link_probes(&small, &libraries, list)
    }

    /// Compiles the crates; returns where the libraries lie.
    fn compile(&self, variant: &Variant) -> Result<PathBuf> {
        let profile = if variant.out_of_line { "small" } else { "device" };
        let libraries = self.cargo(&self.objects, profile, &variant.features())?;
        let directory = variant.directory(self)?;
        for part in ["firmware", "kernels", "probes"] {
            let library = format!("lib{part}.a");
            fs::copy(libraries.join(&library), directory.join(&library))?;
        }
        Ok(directory)
    }

    /// Compiles a workspace for the RISCs; returns where its libraries lie.
    fn cargo(&self, workspace: &Path, profile: &str, features: &str) -> Result<PathBuf> {
        let name = workspace.file_name().ok_or("a workspace has a name")?;
        let target_dir = self.out.join(name);
        let mut cargo = Command::new(variable("CARGO")?);
        cargo.current_dir(workspace).args(["build", "--quiet", "--locked", "--offline"]);
        cargo.args(["--workspace", "--profile", profile, "--target", TARGET]);
        cargo.arg("--features").arg(features);
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

    /// Zone ids are computed from paths, so these must be the same on every machine and
    /// the same as in native kernels. Tables of jumps would be constants in a RISC's local RAM.
    fn flags(&self) -> String {
        let repository = self.repository.display();
        let remap = |from: &str, to: &str| format!("--remap-path-prefix={from}={to}");
        [
            "-Cjump-tables=no".to_owned(),
            // Calls and addresses of variables in one instruction where the linker sees that
            // it suffices.
            "-Ctarget-feature=+relax".to_owned(),
            remap(&repository.to_string(), ""),
            remap("firmware", "sim/objects/firmware"),
            remap("kernels", "sim/objects/kernels"),
            remap("kernels/src/../../../src", "sim/src"),
        ]
        .join("\x1f")
    }

    /// Links every image of a variant.
    fn link_all(&self, variant: &Variant, libraries: &Path, list: &mut String) -> Result<()> {
        self.link_launched(variant, libraries, list)?;
        self.link_probes(variant, libraries, list)
    }

    /// Links the firmware and kernels of a variant.
    fn link_launched(&self, variant: &Variant, libraries: &Path, list: &mut String) -> Result<()> {
        let library = |part: &str| vec![libraries.join(format!("lib{part}.a"))];
        for processor in PROCESSORS {
            let entry = format!("__{processor}_entry");
            let firmware = Part { name: "firmware", script: "firmware", entry: &entry };
            self.link(variant, processor, &firmware, &library("firmware"), list)?;
            if variant.enabled {
                let kernels = Part { name: "kernels", script: "kernels", entry: "empty" };
                self.link(variant, processor, &kernels, &library("kernels"), list)?;
            }
        }
        Ok(())
    }

    /// Links the probes of a variant.
    fn link_probes(&self, variant: &Variant, libraries: &Path, list: &mut String) -> Result<()> {
        let name = if variant.out_of_line { "probes-out-of-line" } else { "probes" };
        let probes = Part { name, script: "probes", entry: "nothing" };
        self.link(variant, "brisc", &probes, &[libraries.join("libprobes.a")], list)
    }

    /// Links a part of the code for a processor, kernels against the firmware's symbols, and
    /// adds it to the list.
    fn link(
        &self,
        variant: &Variant,
        processor: &str,
        part: &Part<'_>,
        inputs: &[PathBuf],
        list: &mut String,
    ) -> Result<()> {
        let scripts = self.objects.join("link");
        let directory = variant.directory(self)?;
        let image = directory.join(format!("{}-{processor}.elf", part.name));
        let mut linker = Command::new(&self.linker);
        linker.args(["-flavor", "gnu", "--gc-sections", "--relax-gp", "--entry", part.entry]);
        // The script names variables of the profiler, which a build without it does not have.
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
        variant.enter(list, (part.name, processor), &image)
    }
}

/// Part that is linked into an image.
struct Part<'a> {
    name: &'a str,
    /// The linker script that says where its sections go.
    script: &'a str,
    entry: &'a str,
}

/// Runs a tool that makes a file.
fn run(tool: &mut Command, made: &Path) -> Result<()> {
    let output = tool.output()?;
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} cannot be made:\n{messages}", made.display()).into());
    }
    Ok(())
}

impl Variant {
    /// The profiler switched on, and nothing beyond.
    const fn plain(arch: &'static str) -> Self {
        Self { arch, sums: false, enabled: true, out_of_line: false, mode: None }
    }

    fn features(&self) -> String {
        let mut features = Vec::new();
        for (feature, is_wanted) in [
            ("enabled", self.enabled),
            ("blackhole", self.arch == "blackhole"),
            ("sums", self.sums),
        ] {
            if is_wanted {
                let crates = ["firmware", "kernels", "probes"];
                features.extend(crates.map(|name| format!("{name}/{feature}")));
            }
        }
        if self.out_of_line {
            features.push("probes/out-of-line".to_owned());
        }
        if let Some((feature, _)) = self.mode {
            features.extend(["firmware", "kernels"].map(|name| format!("{name}/{feature}")));
        }
        features.join(",")
    }

    fn name(&self) -> String {
        let Self { arch, sums, enabled, out_of_line, mode } = self;
        let form = if *out_of_line { "-out-of-line" } else { "" };
        let mode = mode.map_or_else(String::new, |(feature, _)| format!("-{feature}"));
        format!("{arch}-sums-{sums}-enabled-{enabled}{form}{mode}")
    }

    /// Where its libraries, objects and images are kept; tests look into them too.
    fn directory(&self, build: &Build) -> Result<PathBuf> {
        let directory = build.out.join(self.name());
        fs::create_dir_all(&directory)?;
        Ok(directory)
    }

    /// Adds an image to the list of all.
    fn enter(&self, list: &mut String, what: (&str, &str), image: &Path) -> Result<()> {
        let Self { arch, sums, enabled, mode, .. } = self;
        let mode = mode.map_or("Plain", |(_, mode)| mode);
        let (part, processor) = what;
        let digest = digest(&fs::read(image)?);
        writeln!(
            list,
            "    EmbeddedImage {{ arch: {arch:?}, has_sums: {sums}, is_enabled: {enabled}, \
             mode: Mode::{mode}, part: {part:?}, processor: {processor:?}, digest: {digest:#x}, elf: include_bytes!({image:?}) }},"
        )?;
        Ok(())
    }
}

/// Changes with the file, so that an incremental build of the simulator sees new contents.
fn digest(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3);
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, step)
}

/// Returns true for a variable that the outer cargo sets for its own build and that would change
/// this one.
fn is_of_outer_build(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    let is_kept = ["CARGO_HOME", "CARGO_MAKEFLAGS", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"];
    let prefixes = ["CARGO", "RUST", "__CARGO", "CLIPPY", "DEP_"];
    !is_kept.contains(&&*name) && prefixes.iter().any(|prefix| name.starts_with(prefix))
}

fn variable(name: &str) -> Result<String> {
    env::var(name).map_err(|error| format!("{name}: {error}").into())
}
