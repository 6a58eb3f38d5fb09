//! Builds kernels and probes that are written in C++, with the header that C++ kernels of users
//! have, outside of tt-metal.
//!
//! They are for tests and measurements. Without the compiler there are none, and the tests
//! say what to install; under `CI=true` that is an error.

use crate::{ARCHITECTURES, Build, PROCESSORS, Part, Result, Variant, is_gate, run};
use std::{env, fmt::Write as _, fs, path::PathBuf, process::Command};

/// The compiler's name, unless the environment gives another.
const COMPILER: &str = "riscv64-unknown-elf-g++";
const COMPILER_VARIABLE: &str = "RISCV_CXX";

/// As kernels are compiled. The gate takes no warnings, since users include the header; later
/// compilers may have further ones.
const FLAGS: [&str; 16] = [
    "-march=rv32im",
    "-mabi=ilp32",
    "-std=c++17",
    "-ffreestanding",
    "-nostdlib",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-fno-asynchronous-unwind-tables",
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-jump-tables",
    "-DCOMPILE_FOR_BRISC",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
];

impl Build {
    /// Builds everything in C++, if the compiler is there.
    pub(super) fn all_cpp_images(&self, list: &mut String) -> Result<()> {
        println!("cargo:rerun-if-env-changed={COMPILER_VARIABLE}");
        let compiler = env::var(COMPILER_VARIABLE).unwrap_or_else(|_| COMPILER.to_owned());
        let Ok(output) = Command::new(&compiler).arg("-dumpfullversion").output() else {
            let message = format!("there is no {compiler}; install gcc-riscv64-unknown-elf");
            return if is_gate() { Err(message.into()) } else { Ok(()) };
        };
        let version = String::from_utf8(output.stdout)?;
        println!("cargo:rustc-env=CPP_COMPILER_VERSION={}", version.trim());
        println!("cargo:rustc-cfg=cpp_code");
        fs::write(self.out.join("twin_lines.hpp"), self.twin_lines()?)?;
        for arch in ARCHITECTURES {
            for sums in [false, true] {
                let variant = Variant { sums, ..Variant::plain(arch) };
                CppBuild { build: self, variant, compiler: &compiler }.recording(list)?;
            }
        }
        let variant = Variant { enabled: false, ..Variant::plain(ARCHITECTURES[0]) };
        CppBuild { build: self, variant, compiler: &compiler }.switched_off(list)
    }

    /// Source lines of the zones of the twins in Rust and lengths of their loops, as macros.
    fn twin_lines(&self) -> Result<String> {
        let mut macros = String::new();
        for file in ["sim/src/kernel/body.rs", "sim/objects/probes/src/launch.rs"] {
            let source = fs::read_to_string(self.repository.join(file))?;
            for (line, text) in (1..).zip(source.lines()) {
                add_macro(&mut macros, line, text)?;
            }
        }
        Ok(macros)
    }
}

/// Adds what a line of a kernel says to the macros.
fn add_macro(macros: &mut String, line: u32, text: &str) -> Result<()> {
    let zone = text.split_once("!(\"").and_then(|(_, name)| name.split_once('"'));
    if let Some((name, _)) = zone {
        writeln!(macros, "#define LINE_{} {line}", name.replace('-', "_"))?;
    }
    let constant = text.strip_prefix("pub const ").and_then(|text| text.split_once(": u16 = "));
    if let Some((name, value)) = constant {
        writeln!(macros, "#define {name} {}", value.trim_end_matches(';'))?;
    }
    Ok(())
}

/// One variant, in C++.
struct CppBuild<'a> {
    build: &'a Build,
    variant: Variant,
    compiler: &'a str,
}

impl CppBuild<'_> {
    /// Kernels and probes that record.
    fn recording(&self, list: &mut String) -> Result<()> {
        let options =
            format!("-DPROFILE_KERNEL={}", if self.variant.sums { 1 | 1 << 3 } else { 1 });
        let counters = "-DPROFILE_PERF_COUNTERS=33";
        let kernels = self.object("kernels", "kernels", &["-O2", &options, counters])?;
        for processor in PROCESSORS {
            let part = Part { name: "cpp_kernels", script: "kernels", entry: "empty" };
            let inputs = [kernels.clone()];
            self.build.link(&self.variant, processor, &part, &inputs, list)?;
        }
        for (name, flags) in [
            ("cpp_probes", &["-O2", &options, "-DPROFILE_NOC_EVENTS=2"][..]),
            ("cpp_probes_small", &["-Os", &options, "-DPROFILE_NOC_EVENTS"]),
            ("cpp_probes_addresses", &["-O2", &options, "-DPROFILE_NOC_EVENTS=3"]),
            ("cpp_probes_dispatch", &["-O2", "-DPROFILE_KERNEL=3", "-DDISPATCH_KERNEL"]),
        ] {
            let object = self.object("probes", name, flags)?;
            let part = Part { name, script: "probes", entry: "nothing" };
            self.build.link(&self.variant, "brisc", &part, &[object], list)?;
        }
        Ok(())
    }

    /// Probes without PROFILE_KERNEL, and the same source that has never heard of the header.
    fn switched_off(&self, list: &mut String) -> Result<()> {
        self.object("bad", "bad", &["-O2"])?;
        let flags = ["-O2", "-DPROFILE_NOC_EVENTS=2"];
        let object = self.object("probes", "cpp_probes", &flags)?;
        self.object("probes", "cpp_probes_without_header", &["-O2", "-DWITHOUT_HEADER"])?;
        let part = Part { name: "cpp_probes", script: "probes", entry: "nothing" };
        self.build.link(&self.variant, "brisc", &part, &[object], list)
    }

    /// Compiles a source file. Zone ids are computed from its path, so that must be the same on
    /// every machine.
    fn object(&self, source: &str, name: &str, flags: &[&str]) -> Result<PathBuf> {
        let Build { repository, objects, out, .. } = self.build;
        let object = self.variant.directory(self.build)?.join(format!("{name}.o"));
        let is_blackhole = self.variant.arch == "blackhole";
        let mut compiler = Command::new(self.compiler);
        compiler.args(FLAGS).args(flags).args(is_gate().then_some("-Werror"));
        compiler.arg(if is_blackhole { "-DARCH_BLACKHOLE" } else { "-DARCH_WORMHOLE" });
        compiler.arg(format!("-fmacro-prefix-map={}/=", repository.display()));
        for directory in [repository.join("kernel-profiler/include"), out.clone()] {
            compiler.arg("-I").arg(directory);
        }
        let source = objects.join("cpp").join(format!("{source}.cpp"));
        run(compiler.arg("-c").arg(source).arg("-o").arg(&object), &object)?;
        Ok(object)
    }
}
