//! The only folder that an agent may read.

use crate::failure::{Failure, failure};
use std::path::{Path, PathBuf};

/// Folder of the files that tools may open.
pub(super) struct Root(PathBuf);

impl Root {
    /// Restricts the reads of this process, and of all threads started later, to a folder and the
    /// user's own input.
    ///
    /// The operating system then refuses all other reads, even if a path is replaced by a symbolic
    /// link after this program has checked the path and before it opens the file. On Linux without
    /// Landlock, such a link can still lead to a file outside of the folder.
    ///
    /// # Errors
    /// If the folder cannot be opened.
    pub(super) fn confine(folder: &Path, input: Option<&Path>) -> Result<Self, Failure> {
        let root = folder.canonicalize().ok().filter(|path| path.is_dir()).ok_or_else(|| {
            failure!(
                "expected the folder of an agent's recordings at {}, found none; give an existing \
                 folder as --root",
                folder.display()
            )
        })?;
        let input = input.and_then(|path| path.canonicalize().ok());
        // A log is read together with the files in its folder.
        let input_folder = input
            .as_deref()
            .and_then(|path| if path.is_dir() { Some(path) } else { path.parent() });
        if !deny_other_reads([Some(root.as_path()), input_folder].into_iter().flatten()) {
            log::warn!(
                "this system has no Landlock: paths are checked before they are opened, which a \
                 link swapped in between can escape"
            );
        }
        Ok(Self(root))
    }

    /// Resolves the path of a recording with all its links.
    ///
    /// # Errors
    /// If the path is outside of the folder. The error does not reveal whether a file exists there.
    pub(super) fn resolve(&self, path: &Path) -> Result<PathBuf, Failure> {
        let resolved = self.0.join(path).canonicalize().ok();
        resolved.filter(|resolved| resolved.starts_with(&self.0)).ok_or_else(|| {
            failure!(
                "expected a device log, a capture, a folder or an ops CSV inside {} at {}, found \
                 nothing there; give a path inside, or another --root to kprof mcp",
                self.0.display(),
                path.display()
            )
        })
    }
}

/// Makes the operating system refuse reads outside of these folders; returns true on success.
#[cfg(target_os = "linux")]
fn deny_other_reads<'a>(folders: impl Iterator<Item = &'a Path>) -> bool {
    use landlock::{
        ABI, AccessFs, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus,
        path_beneath_rules,
    };
    let reads = AccessFs::from_read(ABI::V1);
    let status = Ruleset::default()
        .handle_access(reads)
        .and_then(Ruleset::create)
        .and_then(|rules| rules.add_rules(path_beneath_rules(folders, reads)))
        .and_then(RulesetCreated::restrict_self);
    status.is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced)
}

#[cfg(not(target_os = "linux"))]
fn deny_other_reads<'a>(_: impl Iterator<Item = &'a Path>) -> bool {
    false
}
