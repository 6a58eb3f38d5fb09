//! Compiles the kernels and probes written in C++. The compilation needs no tt-metal. The C++
//! sources include the header of this project that users' C++ kernels also include.
//!
//! These kernels and probes are for tests and measurements. Without the compiler they are not
//! built, and the tests name what must be installed. Under `CI=true`, a missing compiler is an
//! error.

use crate::objects::{Build, Result, Variant, is_gate, run};
use std::{env, fmt::Write as _, fs, path::PathBuf, process::Command};

/// Default name of the compiler; the environment variable `RISCV_CXX` overrides it.
const COMPILER: &str = "riscv64-unknown-elf-g++";
const COMPILER_VARIABLE: &str = "RISCV_CXX";

/// Compiler flags for kernels. CI treats warnings as errors, because users include the header.
/// Elsewhere they stay warnings, because later compilers may emit additional ones.
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

/// The C++ compiler, with its include paths.
pub(crate) struct CppCompiler<'a> {
    build: &'a Build,
    name: String,
}

/// Returns the compiler option that enables the profiler, with sum zones if the variant has them.
pub(crate) fn profile_kernel(variant: &Variant) -> &'static str {
    if variant.sums { "-DPROFILE_KERNEL=9" } else { "-DPROFILE_KERNEL=1" }
}

impl<'a> CppCompiler<'a> {
    /// Returns the compiler if it is installed. Also writes the header that the C++ sources
    /// include, and makes cargo rerun the build script if the compiler or the header changes.
    pub(crate) fn find(build: &'a Build) -> Result<Option<Self>> {
        println!("cargo:rerun-if-env-changed={COMPILER_VARIABLE}");
        let name = env::var(COMPILER_VARIABLE).unwrap_or_else(|_| COMPILER.to_owned());
        let Ok(output) = Command::new(&name).arg("-dumpfullversion").output() else {
            let message = format!("there is no {name}; install gcc-riscv64-unknown-elf");
            return if is_gate() { Err(message.into()) } else { Ok(None) };
        };
        let version = String::from_utf8(output.stdout)?;
        println!("cargo:rustc-env=CPP_COMPILER_VERSION={}", version.trim());
        println!("cargo:rustc-cfg=cpp_code");
        fs::write(build.out.join("twin_lines.hpp"), twin_lines(build)?)?;
        Ok(Some(Self { build, name }))
    }

    /// Compiles a source file. Zone ids are computed from the file's path, so the path must be the
    /// same on every machine.
    pub(crate) fn object(
        &self,
        variant: &Variant,
        source: &str,
        name: &str,
        flags: &[&str],
    ) -> Result<PathBuf> {
        let Build { repository, objects, out, .. } = self.build;
        let object = variant.directory(self.build)?.join(format!("{name}.o"));
        let is_blackhole = variant.arch == "blackhole";
        let mut compiler = Command::new(&self.name);
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

/// Returns C++ macros with the line numbers of the zones in the Rust kernels, and with the values
/// of the kernels' `u16` constants.
///
/// The C++ versions of these kernels use the macros to get the same zone ids and loop lengths.
fn twin_lines(build: &Build) -> Result<String> {
    let mut macros = String::new();
    for file in ["sim/src/kernel/body.rs", "benches/probes/src/launch.rs"] {
        let source = fs::read_to_string(build.repository.join(file))?;
        for (line, text) in (1..).zip(source.lines()) {
            add_macro(&mut macros, line, text)?;
        }
    }
    Ok(macros)
}

/// Adds a C++ macro for a line of Rust source. If the line has a zone, the macro's value is the
/// line's number; if it defines a `u16` constant, the macro's value is the constant's value.
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
