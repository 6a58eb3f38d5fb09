//! TT-Metal's firmware for the chip, which tells the layout of launch messages.

use sim::{arch::Arch, tt_metal::firmware::FirmwareSet};
use std::{
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
    let name = path.to_string_lossy().replace("{pid}", &std::process::id().to_string());
    let folder = std::env::var_os("KPROF_CHIP_FIRMWARE").ok_or_else(|| {
        format!(
            "expected a folder of tt-metal's firmware in KPROF_CHIP_FIRMWARE, which {variable} \
             needs, found none"
        )
    })?;
    let firmware = firmware_in(Path::new(&folder), arch)?;
    Ok(Some((name.into(), Arc::new(firmware))))
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
