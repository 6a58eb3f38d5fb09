//! Work of `kprof run`: a built-in workload, or the user's own kernels.

use crate::{
    args::WorkloadArgs,
    failure::{Failure, OrFail, failure},
};
use sim::{
    arch::Arch,
    kernel::file::KernelFile,
    machine::{
        core_code::{fitting_image, is_linked_for},
        images::{Mode, Selection},
    },
    mesh::SimulatedMesh,
    program::{Kernel, Program},
    workload::{Plan, Workload, WorkloadOptions},
};
use std::{fs, path::Path, sync::Arc};
use wire::{CoreKind, Risc, dram::DEFAULT_PROGRAM_SUPPORT_COUNT, risc::RISCS_PER_CORE};

/// Work of a run.
pub(super) enum Work {
    Workload(&'static Workload),
    /// A program with kernels from the user's files.
    Own {
        program: Arc<Program>,
        launch_count: u32,
        args: Vec<u32>,
        /// True if the kernels are linked for firmware that writes the totals of their waits.
        has_waits: bool,
    },
}

impl Work {
    /// Returns the user's kernels if files were given; otherwise the chosen workload.
    pub(super) fn chosen(args: &WorkloadArgs, arch: Arch) -> Result<Self, Failure> {
        if let Some(own) = Self::own(args, arch)? {
            refuse_options_of_workloads(args, None)?;
            return Ok(own);
        }
        if args.own.firmware.is_some() {
            return Err(failure!(
                "--firmware runs only kernels that are linked against it; name one with --kernel or \
                 --kernel-ncrisc and so on"
            ));
        }
        if !args.own.kernel_args.is_empty() {
            return Err(failure!(
                "--kernel-args are for your own kernels; name one with --kernel or \
                 --kernel-ncrisc and so on"
            ));
        }
        let workload = Workload::named(&args.workload).or_fail()?;
        refuse_options_of_workloads(args, Some(workload.name))?;
        Ok(Self::Workload(workload))
    }

    /// Creates a program from the given kernel files, which runs instead of a workload; `None` if
    /// no file was given.
    fn own(args: &WorkloadArgs, arch: Arch) -> Result<Option<Self>, Failure> {
        let files = args.own.files();
        let Some(first) = files.into_iter().flatten().next() else { return Ok(None) };
        if args.own.firmware.is_some() {
            check_compute_kernels(files.map(|file| file.is_some()))?;
        }
        let name = first.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut program = Program::new(name);
        let kernels: Vec<(usize, KernelFile)> = files
            .into_iter()
            .enumerate()
            .filter_map(|(index, path)| Some((index, path?)))
            .map(|(index, path)| Ok((index, read_kernel(path)?)))
            .collect::<Result<_, Failure>>()?;
        let plain = Selection::new(arch, args.enable_sum_profiling);
        let with_waits = Selection { mode: Mode::WaitTotals, ..plain };
        let has_waits = args.own.firmware.is_none()
            && args.stream.is_none()
            && kernels.iter().any(|(index, file)| is_linked_for(with_waits, *index, file));
        let selection = match args.stream {
            Some(_) => Selection { mode: Mode::Stream, ..plain },
            None if has_waits => with_waits,
            None => plain,
        };
        for (index, kernel) in kernels {
            let Some(risc) = CoreKind::Tensix.risc(index) else { continue };
            if args.own.firmware.is_none() {
                fitting_image(selection, index, &kernel).map_err(Failure::Sentence)?;
            }
            program = program.with_kernel(risc, Arc::new(kernel) as Arc<dyn Kernel>);
        }
        let (program, launch_count) = (Arc::new(program), args.ops.unwrap_or(1));
        let args = args.own.kernel_args.clone();
        Ok(Some(Self::Own { program, launch_count, args, has_waits }))
    }

    /// Returns true if the work consists of the user's kernels, and these record waits.
    pub(super) const fn is_own_with_waits(&self) -> bool {
        matches!(self, Self::Own { has_waits: true, .. })
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Workload(workload) => workload.name,
            Self::Own { program, .. } => program.name(),
        }
    }

    pub(super) fn program_support_count(&self) -> u32 {
        match self {
            Self::Workload(workload) => workload.program_support_count,
            Self::Own { .. } => DEFAULT_PROGRAM_SUPPORT_COUNT,
        }
    }

    pub(super) fn plan(&self, mesh: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
        match self {
            Self::Workload(workload) => workload.plan(mesh, options),
            Self::Own { program, launch_count, args, .. } => {
                Plan::launching(program, *launch_count, args)
            }
        }
    }
}

/// Refuses kernels for some of the three compute RISCs: firmware of TT-Metal starts all of them or none.
///
/// # Compatibility
/// `run_triscs` in tt-metal's `brisc.cc`: the kernel of the first compute RISC decides.
fn check_compute_kernels(are_given: [bool; RISCS_PER_CORE]) -> Result<(), Failure> {
    let compute = [Risc::Trisc0, Risc::Trisc1, Risc::Trisc2].into_iter().zip(&are_given[2..]);
    let (given, missing): (Vec<_>, Vec<_>) = compute.partition(|(_, is_given)| **is_given);
    if given.is_empty() || missing.is_empty() {
        return Ok(());
    }
    let labels = |riscs: &[(Risc, &bool)]| {
        riscs.iter().map(|(risc, _)| risc.label()).collect::<Vec<_>>().join(" and ")
    };
    Err(failure!(
        "expected kernels for all three compute RISCs or for none with --firmware, which starts them \
         together; found one for {}, but no code for {}; add --kernel-trisc0, --kernel-trisc1 and \
         --kernel-trisc2",
        labels(&given),
        labels(&missing)
    ))
}

/// Reads a kernel's ELF file.
fn read_kernel(path: &Path) -> Result<KernelFile, Failure> {
    let file = fs::read(path)
        .map_err(|error| failure!("cannot read the kernel {}: {error}", path.display()))?;
    KernelFile::new(path.display().to_string(), file).or_fail()
}

/// Returns an error if the user gave an option that belongs to a workload other than `given`.
/// `given` is the name of the chosen workload.
fn refuse_options_of_workloads(args: &WorkloadArgs, given: Option<&str>) -> Result<(), Failure> {
    let options = [
        ("--pipeline", args.pipeline.is_some(), PIPELINE),
        ("--replays", args.replays.is_some(), TRACE_REPLAY),
    ];
    for (option, is_given, workload) in options {
        if is_given && given != Some(workload) {
            let found = given.map(|name| format!("--workload {name}"));
            let found = found.unwrap_or_else(|| "your own kernels".to_owned());
            return Err(failure!("{option} is for --workload {workload}, found {found}"));
        }
    }
    Ok(())
}

/// Name of the workload that `--pipeline` applies to.
pub(super) const PIPELINE: &str = "pipeline";

/// Name of the workload that `--replays` applies to.
const TRACE_REPLAY: &str = "trace-replay";
