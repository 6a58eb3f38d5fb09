//! The user's own kernels and firmware, from ELF files.

use crate::{
    args::WorkloadArgs,
    failure::{Failure, OrFail, failure},
};
use sim::{kernel::file::KernelFile, tt_metal::firmware::FirmwareSet};
use std::{fs, path::Path, sync::Arc};

/// Reads the firmware in the folder of `--firmware`; `None` without this option.
pub(super) fn read_firmware(args: &WorkloadArgs) -> Result<Option<Arc<FirmwareSet>>, Failure> {
    let Some(folder) = &args.own.firmware else { return Ok(None) };
    let set = FirmwareSet::open(folder).or_fail()?;
    Ok(Some(Arc::new(set)))
}

/// Reads a kernel's ELF file.
pub(super) fn read_kernel(path: &Path) -> Result<KernelFile, Failure> {
    let file = fs::read(path)
        .map_err(|error| failure!("cannot read the kernel {}: {error}", path.display()))?;
    KernelFile::new(path.display().to_string(), file).or_fail()
}
