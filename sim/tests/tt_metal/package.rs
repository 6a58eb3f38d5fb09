//! Location of the package, and its firmware sets.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// Returns the folders of the precompiled sets, sorted; `None` if `KPROF_TTNN` is not set.
///
/// # Panics
/// If `CI` is `true` and `KPROF_TTNN` is not set.
pub(crate) fn sets() -> Option<Vec<PathBuf>> {
    let Some(package) = env::var_os("KPROF_TTNN") else {
        let is_gate = env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!is_gate, "KPROF_TTNN must name the folder of the package ttnn");
        eprintln!("skipped: KPROF_TTNN names no folder of the package ttnn");
        return None;
    };
    let folder = Path::new(&package).join("tt_metal/pre-compiled");
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut sets: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    sets.retain(|path| path.is_dir());
    sets.sort();
    assert!(!sets.is_empty(), "{folder:?} has no firmware");
    Some(sets)
}
