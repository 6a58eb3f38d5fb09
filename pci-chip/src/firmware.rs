//! TT-Metal's firmware for the chip, which tells the layout of launch messages.

use sim::{arch::Arch, tt_metal::firmware::FirmwareSet};
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Returns the path in a variable, in which `{pid}` is replaced by the number of this process, and
/// the firmware that is needed to write this file; `None` if the variable is not set.
///
/// # Errors
/// If there is no such firmware.
pub(crate) fn requested(
    variable: &str,
    arch: Arch,
) -> Result<Option<(PathBuf, Arc<FirmwareSet>)>, String> {
    let Some(path) = std::env::var_os(variable) else { return Ok(None) };
    Ok(Some((of_process(&path), of_program(variable, arch)?)))
}

/// Replaces `{pid}` in a path by the number of this process.
pub(crate) fn of_process(path: &OsStr) -> PathBuf {
    path.to_string_lossy().replace("{pid}", &std::process::id().to_string()).into()
}

/// Returns the firmware that tells the layout of launch messages: in the folder that the environment
/// names, or in the program's copy of TT-Metal.
///
/// # Errors
/// If there is none; `variable` needs it.
pub(crate) fn of_program(variable: &str, arch: Arch) -> Result<Arc<FirmwareSet>, String> {
    let roots = ["TT_METAL_RUNTIME_ROOT", "TT_METAL_HOME"].into_iter().filter_map(std::env::var_os);
    let shipped = roots.map(|root| Path::new(&root).join("tt_metal/pre-compiled"));
    let named = std::env::var_os("KPROF_CHIP_FIRMWARE").map(PathBuf::from);
    let folder = named.or_else(|| shipped.into_iter().find(|folder| folder.is_dir()));
    let folder = folder.ok_or_else(|| {
        format!(
            "expected a folder of tt-metal's firmware in KPROF_CHIP_FIRMWARE, which {variable} \
             needs, found none"
        )
    })?;
    firmware_in(&folder, arch).map(Arc::new)
}

/// Returns the firmware for an architecture in a folder, or in a folder of it.
fn firmware_in(folder: &Path, arch: Arch) -> Result<FirmwareSet, String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort();
    folders.insert(0, folder.to_owned());
    let mut sets = folders.iter().filter_map(|folder| FirmwareSet::open(folder).ok());
    sets.find(|set| set.arch() == arch).ok_or_else(|| {
        format!("expected tt-metal's firmware for {arch} in {}, found none", folder.display())
    })
}
