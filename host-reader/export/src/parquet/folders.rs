//! Names and folders of a dataset.

use std::{
    fmt::Write,
    io,
    path::{Path, PathBuf},
};

/// A text as part of a path, as Hive writes it: letters with a meaning in paths become `%XX`.
///
/// So do dots and low lines at the beginning, since engines skip files that begin so.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (at, letter) in text.char_indices() {
        if letter.is_alphanumeric() || letter == '-' || (at > 0 && matches!(letter, '.' | '_')) {
            escaped.push(letter);
            continue;
        }
        for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

/// Folders that were made for a dataset; taken away again unless they are kept.
#[derive(Default)]
pub(super) struct NewFolders {
    made: Vec<PathBuf>,
}

impl NewFolders {
    /// Makes a folder and those above it.
    pub(super) fn make(&mut self, path: &Path) -> io::Result<()> {
        let missing: Vec<_> = path
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
            .map(Path::to_owned)
            .collect();
        self.made.extend(missing.into_iter().rev());
        std::fs::create_dir_all(path)
    }

    pub(super) fn keep(mut self) {
        self.made.clear();
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        for folder in self.made.iter().rev() {
            // What somebody else has put there meanwhile stays.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_paths_and_engines_would_misread_is_escaped() {
        assert_eq!(escaped("node-3.lab_7"), "node-3.lab_7");
        assert_eq!(escaped("a/b=c d%"), "a%2Fb%3Dc%20d%25");
        assert_eq!(escaped(".._x"), "%2E._x");
        assert_eq!(escaped("_x"), "%5Fx");
    }

    #[test]
    fn folders_that_are_not_kept_are_taken_away_and_others_stay() {
        let root = tempfile::tempdir().unwrap();
        let old = root.path().join("old");
        std::fs::create_dir(&old).unwrap();
        let mut folders = NewFolders::default();
        folders.make(&old.join("a/b")).unwrap();
        folders.make(&old.join("a/c")).unwrap();
        assert!(old.join("a/c").is_dir());
        drop(folders);
        assert_eq!(std::fs::read_dir(&old).unwrap().count(), 0);
    }
}
