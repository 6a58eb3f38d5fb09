//! The work of `kprof run`: a built-in workload or the user's kernels.

use super::{own_kernels::OwnKernels, run::sentence};
use crate::{args::WorkloadArgs, failure::Failure};
use sim::{
    arch::Arch,
    mesh::SimulatedMesh,
    workload::{Plan, Workload, WorkloadOptions},
};

/// The work of a run.
pub(super) enum Work {
    Workload(&'static Workload),
    Own(OwnKernels),
}

impl Work {
    /// Returns the kernels that were given as files, or else the workload.
    pub(super) fn chosen(args: &WorkloadArgs, arch: Arch) -> Result<Self, Failure> {
        if let Some(kernels) = OwnKernels::read(args, arch)? {
            refuse_options_of_workloads(args, None)?;
            return Ok(Self::Own(kernels));
        }
        if args.own.firmware.is_some() {
            return Err(Failure::Sentence(
                "--firmware runs kernels that are linked against it; give one with --kernel or \
                 --kernel-ncrisc and so on"
                    .to_owned(),
            ));
        }
        if !args.own.kernel_args.is_empty() {
            return Err(Failure::Sentence(
                "--kernel-args are for kernels of your own; give one with --kernel or \
                 --kernel-ncrisc and so on"
                    .to_owned(),
            ));
        }
        let workload = Workload::named(&args.workload).map_err(sentence)?;
        refuse_options_of_workloads(args, Some(workload.name))?;
        Ok(Self::Workload(workload))
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Workload(workload) => workload.name,
            Self::Own(kernels) => kernels.name(),
        }
    }

    pub(super) fn program_support_count(&self) -> u32 {
        match self {
            Self::Workload(workload) => workload.program_support_count,
            Self::Own(_) => wire::dram::DEFAULT_PROGRAM_SUPPORT_COUNT,
        }
    }

    pub(super) fn plan(&self, mesh: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
        match self {
            Self::Workload(workload) => workload.plan(mesh, options),
            Self::Own(kernels) => kernels.plan(),
        }
    }
}

/// Returns an error if an option of a workload is given, but this workload is not selected.
fn refuse_options_of_workloads(args: &WorkloadArgs, given: Option<&str>) -> Result<(), Failure> {
    let options = [
        ("--pipeline", args.pipeline.is_some(), PIPELINE),
        ("--replays", args.replays.is_some(), TRACE_REPLAY),
    ];
    for (option, is_given, workload) in options {
        if is_given && given != Some(workload) {
            let found = given.map(|name| format!("--workload {name}"));
            let found = found.unwrap_or_else(|| "kernels of your own".to_owned());
            return Err(Failure::Sentence(format!(
                "{option} is for --workload {workload}, found {found}"
            )));
        }
    }
    Ok(())
}

/// Name of the workload that `--pipeline` applies to.
pub(super) const PIPELINE: &str = "pipeline";

/// Name of the workload that `--replays` applies to.
const TRACE_REPLAY: &str = "trace-replay";
