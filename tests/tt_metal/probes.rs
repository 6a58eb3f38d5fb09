//! `probes.cpp`, compiled with a header and linked for each RISC of a core.

use crate::{
    package::{Package, sources},
    program::Program,
    toolchain::{
        self, Builds, Chip, Header, Mode, Processor, Target, first_error, folder, in_parallel, run,
    },
};
use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
};

/// The programs of a core's RISCs, BRISC first.
pub(crate) struct Probes {
    pub(crate) chip: Chip,
    pub(crate) header: Header,
    pub(crate) has_sums: bool,
    pub(crate) programs: Vec<Program>,
}

/// Build variant of the probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// As firmware, -O2.
    Plain,
    /// As firmware, with sums recorded.
    Sums,
    /// In the debug dump; the number is the limit of a wait in cycles.
    DebugDump(u32),
    /// In TT-Metal's debug dump, for which our header includes TT-Metal's.
    UpstreamsDump,
    /// As firmware, with addresses of NoC events and hardware counters.
    Wide,
    /// As a dispatch kernel.
    Dispatch,
    /// As a kernel with recorded waits and signals.
    SyncEvents,
    /// As a kernel in dynamic-NoC mode that writes on the given NoC.
    DynamicNoc(usize),
    /// With records streamed, in either header's own mode.
    Stream,
    /// With records streamed and sums recorded.
    StreamSums,
    /// With records streamed and sums recorded; only the firmware of the first RISC has a lane.
    StreamKernels,
    /// With records streamed, and call sites that call a function.
    StreamCalls,
}

impl Variant {
    const fn mode(self) -> Mode {
        match self {
            Self::Sums => Mode::Sums,
            Self::Stream | Self::StreamCalls => Mode::Stream,
            Self::StreamSums | Self::StreamKernels => Mode::StreamSums,
            Self::Dispatch => Mode::Dispatch,
            _ => Mode::Plain,
        }
    }

    const fn source(self) -> &'static str {
        match self {
            Self::Stream | Self::StreamSums | Self::StreamKernels | Self::StreamCalls => {
                "streams.cpp"
            }
            _ => "probes.cpp",
        }
    }
}

/// Builds the probes of BRISC and of the requested number of other RISCs.
pub(crate) fn build(
    package: &Package,
    chip: Chip,
    header: Header,
    variant: Variant,
    riscs: usize,
) -> Result<Probes, String> {
    let list: Vec<_> = Processor::TENSIX.into_iter().take(riscs).enumerate().collect();
    let programs = in_parallel(&list, |&(risc, processor)| {
        let target = target(chip, processor, header, variant);
        program(package, &target, variant, risc)
    });
    let programs = programs.into_iter().collect::<Result<_, _>>()?;
    Ok(Probes { chip, header, has_sums: variant.mode().has_sums(), programs })
}

/// Builds the probes that leave every kind of record, for both chips: for all RISCs, and with sums
/// for one. Returns the faults that `judge` finds, or the reason why nothing could be built.
pub(crate) fn faults_of_recording(
    package: &Package,
    judge: impl Fn(Chip, &Probes) -> Vec<String> + Sync,
) -> Vec<String> {
    let list = Chip::ALL.map(|chip| [(chip, Variant::Plain, 5), (chip, Variant::Sums, 1)]);
    let faults = in_parallel(list.as_flattened(), |&(chip, variant, riscs)| {
        let faults = match build(package, chip, Header::Ours, variant, riscs) {
            Ok(probes) => judge(chip, &probes),
            Err(error) => vec![first_error(&error).to_owned()],
        };
        faults.into_iter().map(|fault| format!("{chip}, {variant:?}, {fault}")).collect::<Vec<_>>()
    });
    faults.concat()
}

pub(crate) fn target(chip: Chip, processor: Processor, header: Header, variant: Variant) -> Target {
    let mut target = Target {
        mode: variant.mode(),
        is_kernel: matches!(variant, Variant::DynamicNoc(_) | Variant::SyncEvents),
        optimisation: Some("O2"),
        ..Target::new(chip, processor, header)
    };
    match variant {
        // The definition has an effect only in probes that use it.
        Variant::Plain => target.defines = vec!["PROFILE_NOC_EVENTS=1".to_owned()],
        Variant::Sums => {}
        Variant::Dispatch => target.defines = vec!["DISPATCH_KERNEL".to_owned()],
        Variant::DebugDump(cycles) => {
            target.defines = vec![
                "PROFILE_NOC_EVENTS=1".to_owned(),
                "KERNEL_PROFILER_DEBUG_DUMP".to_owned(),
                // TT-Metal's functions record barriers only in its debug dump.
                "DEVICE_DEBUG_DUMP=1".to_owned(),
                format!("KERNEL_PROFILER_STALL_CYCLES={cycles}u"),
            ];
        }
        Variant::UpstreamsDump => {
            target.defines =
                ["PROFILE_NOC_EVENTS=1", "DEVICE_DEBUG_DUMP=1"].map(str::to_owned).into();
        }
        Variant::Wide => {
            let forms: &[&str] = match header {
                Header::Ours => &["PROFILE_NOC_EVENTS=3"],
                _ => &["PROFILE_NOC_EVENTS=1", "DEVICE_DEBUG_DUMP=1"],
            };
            target.defines = forms.iter().map(|&define| define.to_owned()).collect();
            target.defines.push("PROFILE_PERF_COUNTERS=32".to_owned());
        }
        Variant::SyncEvents => {
            let defines = ["NOC_MODE=0", "NOC_INDEX=0", "PROFILE_SYNC_EVENTS"];
            target.defines = defines.map(str::to_owned).into();
        }
        Variant::StreamSums => {
            target.defines = vec!["KERNEL_PROFILER_STREAM_FIRMWARE".to_owned()];
        }
        Variant::StreamKernels => {}
        // TT-Metal's call sites call a function by default.
        Variant::Stream => {
            let defines = ["PROFILE_INLINE_ENABLED", "KERNEL_PROFILER_STREAM_FIRMWARE"];
            target.defines = defines.map(str::to_owned).into();
        }
        Variant::StreamCalls => {
            target.defines = vec!["KERNEL_PROFILER_STREAM_CALLS".to_owned()];
        }
        Variant::DynamicNoc(noc) => {
            target.defines = vec!["NOC_MODE=1".to_owned(), format!("NOC_INDEX={noc}")];
        }
    }
    target
}

/// Returns the texts of the zones of BRISC's probes, from the compiler's log.
pub(crate) fn zone_texts(package: &Package, chip: Chip, variant: Variant) -> Vec<String> {
    let target = target(chip, Processor::Brisc, Header::Ours, variant);
    let mut command = target.compiler(package);
    let source = sources().join(variant.source());
    let output = run(command.args(["-fsyntax-only", "-x", "c++"]).arg(source)).unwrap();
    toolchain::zone_texts(&output)
}

/// Compiles a source for a target and links it for the tests' core.
pub(crate) fn program_of(
    package: &Package,
    target: &Target,
    source: &str,
    name: &str,
    risc: usize,
) -> Result<Program, String> {
    // Tests that run in parallel build the same probes, so each build has its own files.
    static BUILDS: AtomicUsize = AtomicUsize::new(0);
    let name = format!("{name}-{}", BUILDS.fetch_add(1, Ordering::Relaxed));
    let folder = folder("probes");
    let object = folder.join(format!("{name}.o"));
    target.object_without_layouts(package, &sources().join(source), &object)?;
    let program: PathBuf = folder.join(format!("{name}.elf"));
    link(package, target, &object, risc, &program)?;
    Program::read(&program)
}

/// Links an object for the tests' core, with no library except the compiler's own.
pub(crate) fn link(
    package: &Package,
    target: &Target,
    object: &Path,
    risc: usize,
    program: &Path,
) -> Result<(), String> {
    let base = 0x2_0000 + 0x8000 * risc;
    let mut command = Command::new(&package.compiler);
    command.args(target.code_flags()).args(["-flto", "-Werror", "-nostartfiles", "-nostdlib"]);
    command.arg(format!("-Wl,--defsym=TEXT_BASE={base:#x}"));
    command.arg("-T").arg(sources().join("probes.ld"));
    command.arg(object).arg("-lgcc").arg("-o").arg(program);
    run(&mut command).map(drop)
}

fn program(
    package: &Package,
    target: &Target,
    variant: Variant,
    risc: usize,
) -> Result<Program, String> {
    static PROGRAMS: Builds<String, Program> = Builds::new();
    let name = format!("{}-{variant:?}", target.stem());
    PROGRAMS.get(name.clone(), || program_of(package, target, variant.source(), &name, risc))
}
