//! Names and folders of a dataset.

use chrono::NaiveDate;
use std::{
    fmt::Write,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// Name of the folder for rows without a value, as in Hive.
const NO_VALUE: &str = "__HIVE_DEFAULT_PARTITION__";

/// Folder and name of the files of one export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) dataset: PathBuf,
    pub(super) date: Option<NaiveDate>,
    pub(super) run: String,
    pub(super) file: String,
}

impl Place {
    /// Returns the folder for the files of a table.
    pub(super) fn folder(&self, table: &str) -> PathBuf {
        let date = self.date.map_or_else(|| NO_VALUE.to_owned(), |date| date.to_string());
        let of_table = self.dataset.join(table).join(format!("date={date}"));
        of_table.join(format!("run={}", escaped(&self.run)))
    }

    /// Returns the name of the file with a number. The `~` before the number is the only one:
    /// [`escaped`] removes others.
    pub(super) fn file_name(&self, number: usize) -> String {
        format!("{}~{number}.parquet", escaped(&self.file))
    }

    /// Returns true if a file belongs to this export, whatever its number.
    pub(super) fn is_own(&self, file: &Path) -> bool {
        let name = file.file_name().and_then(|name| name.to_str());
        let rest = name.and_then(|name| name.strip_prefix(&escaped(&self.file))?.strip_prefix('~'));
        let number = rest.and_then(|rest| rest.strip_suffix(".parquet"));
        number.is_some_and(|number| number.parse::<usize>().is_ok())
    }
}

/// Returns the Parquet files in a folder, sorted; empty if the folder does not exist.
pub(super) fn parquet_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    entries(folder, |path, name| {
        !name.starts_with('.') && path.extension().is_some_and(|ending| ending == "parquet")
    })
}

/// Returns the subfolders for the values of a column, sorted; empty if the folder does not exist.
pub(super) fn partition_folders(folder: &Path, key: &str) -> io::Result<Vec<PathBuf>> {
    entries(folder, |path, name| {
        name.strip_prefix(key).is_some_and(|value| value.starts_with('=')) && path.is_dir()
    })
}

fn entries(folder: &Path, is_wanted: impl Fn(&Path, &str) -> bool) -> io::Result<Vec<PathBuf>> {
    let found = match std::fs::read_dir(folder) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut wanted = Vec::new();
    for entry in found {
        let entry = entry?;
        if is_wanted(&entry.path(), &entry.file_name().to_string_lossy()) {
            wanted.push(entry.path());
        }
    }
    wanted.sort();
    Ok(wanted)
}

/// Escapes a text as part of a path, as Hive does: characters with a meaning in paths become `%XX`.
///
/// Dots and underscores at the beginning are escaped as well, since engines skip such files.
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

/// Folders created for a dataset; dropping the value removes them unless they are kept.
#[derive(Default)]
pub(super) struct NewFolders {
    made: Mutex<Vec<PathBuf>>,
}

impl NewFolders {
    /// Creates a folder and its missing parents.
    pub(super) fn make(&self, path: &Path) -> io::Result<()> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let missing: Vec<_> = path
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
            .map(Path::to_owned)
            .collect();
        made.extend(missing.into_iter().rev());
        std::fs::create_dir_all(path)
    }

    pub(super) fn keep(&self) {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        for folder in self.made.get_mut().unwrap_or_else(PoisonError::into_inner).iter().rev() {
            // Removal fails if another process has put files there meanwhile; the folder then
            // stays.
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
        assert_eq!(escaped("a/b=c d%~"), "a%2Fb%3Dc%20d%25%7E");
        assert_eq!(escaped(".._x"), "%2E._x");
        assert_eq!(escaped("_x"), "%5Fx");
    }

    #[test]
    fn a_name_knows_its_own_files() {
        let place = Place {
            dataset: "d".into(),
            date: NaiveDate::from_ymd_opt(2026, 3, 9),
            run: "a b".to_owned(),
            file: "n1 r".to_owned(),
        };
        assert_eq!(place.folder("ops"), Path::new("d/ops/date=2026-03-09/run=a%20b"));
        assert_eq!(place.file_name(7), "n1%20r~7.parquet");
        for (name, is_own) in [
            ("n1%20r~0.parquet", true),
            ("n1%20r~12.parquet", true),
            ("n1%20r~.parquet", false),
            ("n1%20r2~0.parquet", false),
            ("n1%20r~x.parquet", false),
            ("n1%20r~0.parquet.tmp", false),
            ("compacted-0.parquet", false),
        ] {
            assert_eq!(place.is_own(Path::new(name)), is_own, "{name}");
        }
        let undated = Place { date: None, ..place };
        let folder = "d/ops/date=__HIVE_DEFAULT_PARTITION__/run=a%20b";
        assert_eq!(undated.folder("ops"), Path::new(folder));
    }

    #[test]
    fn folders_that_are_not_kept_are_taken_away_and_others_stay() {
        let root = tempfile::tempdir().unwrap();
        let old = root.path().join("old");
        std::fs::create_dir(&old).unwrap();
        let folders = NewFolders::default();
        folders.make(&old.join("a/b")).unwrap();
        folders.make(&old.join("a/c")).unwrap();
        assert!(old.join("a/c").is_dir());
        drop(folders);
        assert_eq!(std::fs::read_dir(&old).unwrap().count(), 0);
    }
}
