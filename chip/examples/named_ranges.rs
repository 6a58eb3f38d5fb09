//! Prints the address ranges of each kind of core that hold the profiler's data, as read from a
//! firmware's ELF files.
//!
//! Usage: `named_ranges FOLDER`, where `FOLDER` contains `brisc/brisc.elf`.

use chip::layout::{FirmwareLayout, LayoutError};
use std::{env, path::Path};
use wire::CoreKind;

/// Returns one line for each kind of core for which a firmware file exists.
fn lines(folder: &Path) -> Result<Vec<String>, LayoutError> {
    let layout = FirmwareLayout::open(folder)?;
    let kinds = [CoreKind::Tensix, CoreKind::ActiveEth, CoreKind::IdleEth];
    let line = |kind| {
        let memory = layout.memory(kind)?;
        let (start, end) = (memory.control_address, memory.end());
        Some(format!("{} {kind:?}: {start:#x}..{end:#x}", layout.arch))
    };
    Ok(kinds.into_iter().filter_map(line).collect())
}

fn main() -> Result<(), LayoutError> {
    let folder = env::args_os().nth(1).unwrap_or_default();
    lines(Path::new(&folder))?.iter().for_each(|line| println!("{line}"));
    Ok(())
}

#[test]
fn a_folder_without_firmware_is_named() {
    let error = lines(Path::new("no-such-folder")).unwrap_err();
    assert!(error.to_string().starts_with("cannot read no-such-folder"), "{error}");
}
