//! Checks whether the compiler target of the RISCs is installed.

use crate::objects::{Build, TARGET, announce};
use std::path::PathBuf;

impl Build {
    /// Returns what is missing to compile the RISCs' code, and the command that installs it;
    /// `None` if nothing is missing.
    pub(super) fn missing_target(&self) -> Option<String> {
        // Makes cargo rerun this script if the installed targets change.
        let target = self.libraries().join(TARGET);
        let components = self.libraries().join("components");
        for path in [&target, &components] {
            announce(path);
        }
        let is_there = target.is_dir() && self.linker().is_file();
        (!is_there).then(|| {
            format!("the compiler target {TARGET} is missing; run `rustup target add {TARGET}`")
        })
    }

    fn libraries(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib")
    }
}
