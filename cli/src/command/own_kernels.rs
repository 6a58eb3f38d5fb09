//! The user's own kernels and firmware, from ELF files.

use crate::{
    args::WorkloadArgs,
    failure::{Failure, OrFail, failure},
};
use sim::{
    arch::Arch,
    kernel::file::KernelFile,
    machine::{core_code::fitting_image, images::Selection},
    program::{Kernel, Program},
    tt_metal::firmware::FirmwareSet,
    workload::Plan,
};
use std::{fs, path::Path, sync::Arc};
use wire::CoreKind;

/// A program with kernels from the user's files, run instead of a workload.
pub(super) struct OwnKernels {
    program: Arc<Program>,
    launch_count: u32,
    args: Vec<u32>,
}

impl OwnKernels {
    /// Reads the given files; `None` if no file was given.
    pub(super) fn read(args: &WorkloadArgs, arch: Arch) -> Result<Option<Self>, Failure> {
        if !args.own.has_files() {
            return Ok(None);
        }
        let name = args.own.files().into_iter().flatten().next().map(|path| stem(path));
        let mut program = Program::new(name.unwrap_or_default());
        let selection = Selection::new(arch, args.enable_sum_profiling);
        for (index, path) in args.own.files().into_iter().enumerate() {
            let Some((path, risc)) = path.zip(CoreKind::Tensix.risc(index)) else { continue };
            let kernel = read_kernel(path)?;
            if args.own.firmware.is_none() {
                fitting_image(selection, index, &kernel).map_err(Failure::Sentence)?;
            }
            program = program.with_kernel(risc, Arc::new(kernel) as Arc<dyn Kernel>);
        }
        let program = Arc::new(program);
        let launch_count = args.ops.unwrap_or(1);
        Ok(Some(Self { program, launch_count, args: args.own.kernel_args.clone() }))
    }

    /// Returns the program's name.
    pub(super) fn name(&self) -> &str {
        self.program.name()
    }

    /// Returns the plan of launches.
    pub(super) fn plan(&self) -> Plan {
        Plan::launching(&self.program, self.launch_count, &self.args)
    }
}

/// Reads the given firmware; `None` if no firmware was given.
pub(super) fn read_firmware(args: &WorkloadArgs) -> Result<Option<Arc<FirmwareSet>>, Failure> {
    let Some(folder) = &args.own.firmware else { return Ok(None) };
    let set = FirmwareSet::open(folder).or_fail()?;
    Ok(Some(Arc::new(set)))
}

fn read_kernel(path: &Path) -> Result<KernelFile, Failure> {
    let file = fs::read(path)
        .map_err(|error| failure!("cannot read the kernel {}: {error}", path.display()))?;
    KernelFile::new(path.display().to_string(), file).or_fail()
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
