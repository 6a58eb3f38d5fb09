//! Names and folders of a dataset.

use super::{
    WriteError, delta_log,
    location::{DatasetLocation, StoredFile, file_name},
};
use chrono::NaiveDate;
use std::{
    fmt::Write,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError},
};

/// Text that replaces an unknown value in the name of a folder, such as `date=<value>`. Hive uses
/// the same text.
const NO_VALUE: &str = "__HIVE_DEFAULT_PARTITION__";

/// Folder and file names of one export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExportPlace {
    pub(super) dataset: DatasetLocation,
    pub(super) date: Option<NaiveDate>,
    pub(super) run: String,
    pub(super) file: String,
    /// True if the dataset has Delta logs; empty until the dataset has been checked.
    pub(super) has_logs: OnceLock<bool>,
}

impl ExportPlace {
    /// Returns the folder for the files of a table.
    pub(super) fn folder(&self, table: &str) -> String {
        let date = self.date.map_or_else(|| NO_VALUE.to_owned(), |date| date.to_string());
        format!("{table}/date={date}/run={}", escaped(&self.run))
    }

    /// Returns the name of the export's file with the number `number`. The `~` before the number is
    /// the only `~` in the name, because [`escaped`] escapes every other `~`.
    pub(super) fn file_name(&self, number: usize) -> String {
        format!("{}~{number}.parquet", escaped(&self.file))
    }

    /// Returns true if the dataset has Delta logs. The dataset is only checked in the first call.
    pub(super) fn has_logs(&self) -> Result<bool, WriteError> {
        if let Some(&has_logs) = self.has_logs.get() {
            return Ok(has_logs);
        }
        let has_logs = delta_log::has_logs(&self.dataset)?;
        Ok(*self.has_logs.get_or_init(|| has_logs))
    }

    /// Returns the files of this export in a table's folder, with their numbers.
    pub(super) fn own_files(&self, table: &str) -> Result<Vec<(StoredFile, usize)>, WriteError> {
        let files = parquet_files(&self.dataset, &self.folder(table))?;
        let numbered = files.into_iter().filter_map(|file| {
            let (export, number) = export_and_number(file.name())?;
            (export == escaped(&self.file)).then_some((file, number))
        });
        Ok(numbered.collect())
    }
}

/// Returns the name of the export and the number in a file's name; `None` for files that no export
/// has written.
pub(super) fn export_and_number(path: &str) -> Option<(&str, usize)> {
    let (export, number) = file_name(path).strip_suffix(".parquet")?.rsplit_once('~')?;
    Some((export, number.parse().ok()?))
}

/// Returns the unescaped value of `key` in the folder names of a path; `None` if the path has no
/// such folder, or if the folder is for rows whose value is unknown.
pub(super) fn partition_value(path: &str, key: &str) -> Option<String> {
    let value = path.split('/').find_map(|part| part.strip_prefix(key)?.strip_prefix('='))?;
    (value != NO_VALUE).then(|| unescaped(value))
}

/// Returns the Parquet files in a folder, sorted; empty if the folder does not exist.
pub(super) fn parquet_files(
    dataset: &DatasetLocation,
    folder: &str,
) -> Result<Vec<StoredFile>, WriteError> {
    let mut files = dataset.files(folder)?;
    files.retain(|file| !file.name().starts_with('.') && file.name().ends_with(".parquet"));
    Ok(files)
}

/// Returns the folders of a table, one for each date and run, sorted.
pub(super) fn partitions(
    dataset: &DatasetLocation,
    table: &str,
) -> Result<Vec<String>, WriteError> {
    let mut partitions = Vec::new();
    for date in partition_folders(dataset, table, "date=")? {
        partitions.extend(partition_folders(dataset, &date, "run=")?);
    }
    Ok(partitions)
}

fn partition_folders(
    dataset: &DatasetLocation,
    folder: &str,
    prefix: &str,
) -> Result<Vec<String>, WriteError> {
    let mut found = dataset.folders(folder)?;
    found.retain(|folder| file_name(folder).starts_with(prefix));
    Ok(found)
}

/// Escapes a text as part of a path, like Hive: characters with a special meaning in paths become
/// `%XX`.
///
/// Leading dots and underscores are escaped too, because engines skip files whose names begin with
/// them.
pub(super) fn escaped(text: &str) -> String {
    percent_encoded(text, |at, letter| {
        letter.is_alphanumeric() || letter == '-' || (at > 0 && matches!(letter, '.' | '_'))
    })
}

/// Replaces each byte of a character by `%XX`, unless `is_kept` returns true for the character.
/// `is_kept` receives the position and the character.
pub(super) fn percent_encoded(text: &str, is_kept: impl Fn(usize, char) -> bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for (at, letter) in text.char_indices() {
        if is_kept(at, letter) {
            encoded.push(letter);
            continue;
        }
        for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
            // Writing to a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Reverses [`escaped`], and decodes `%XX` in URLs. Bytes that are not valid text are kept escaped.
pub(super) fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(decoded) if byte == b'%' => {
                bytes.push(decoded);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Folders created for a dataset. Dropping the value removes the folders, unless `keep` was called.
#[derive(Default)]
pub(super) struct NewFolders {
    made: Mutex<Vec<PathBuf>>,
}

impl NewFolders {
    /// Creates a folder of a dataset and its missing parents. Does nothing on an object store,
    /// because object stores have no folders.
    pub(super) fn make(&self, dataset: &DatasetLocation, folder: &str) -> io::Result<()> {
        match dataset {
            DatasetLocation::Folder(root) => self.make_path(&root.join(folder)),
            #[cfg(feature = "object-store")]
            DatasetLocation::Objects(_) => Ok(()),
        }
    }

    fn make_path(&self, path: &Path) -> io::Result<()> {
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
            // If another process has put files into the folder in the meantime, the removal fails
            // and the folder stays.
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
    fn escapes_are_reversed_and_other_percent_signs_kept() {
        for text in ["a/b=c d%~", ".._x", "Zürich 100 %", "%zz", "%"] {
            assert_eq!(unescaped(&escaped(text)), text);
        }
        assert_eq!(unescaped("50%zz%"), "50%zz%");
        assert_eq!(unescaped("%FF"), "%FF");
    }

    #[test]
    fn a_name_knows_its_own_files() {
        let root = tempfile::tempdir().unwrap();
        let place = ExportPlace {
            dataset: root.path().into(),
            date: NaiveDate::from_ymd_opt(2026, 3, 9),
            run: "a b".to_owned(),
            file: "n1 r".to_owned(),
            has_logs: OnceLock::new(),
        };
        let folder = "ops/date=2026-03-09/run=a%20b";
        assert_eq!(place.folder("ops"), folder);
        assert_eq!(place.file_name(7), "n1%20r~7.parquet");
        std::fs::create_dir_all(root.path().join(folder)).unwrap();
        for name in [
            "n1%20r~0.parquet",
            "n1%20r~12.parquet",
            "n1%20r~.parquet",
            "n1%20r2~0.parquet",
            "n1%20r~x.parquet",
            "n1%20r~0.parquet.tmp",
            "compacted-0.parquet",
        ] {
            std::fs::write(root.path().join(folder).join(name), "1").unwrap();
        }
        let own = |(file, number): (StoredFile, usize)| (file.path, file.byte_count, number);
        let own: Vec<_> = place.own_files("ops").unwrap().into_iter().map(own).collect();
        assert_eq!(
            own,
            [
                (format!("{folder}/n1%20r~0.parquet"), 1, 0),
                (format!("{folder}/n1%20r~12.parquet"), 1, 12),
            ]
        );
        let undated = ExportPlace { date: None, ..place };
        assert_eq!(undated.folder("ops"), "ops/date=__HIVE_DEFAULT_PARTITION__/run=a%20b");
    }

    #[test]
    fn values_of_partitions_are_those_that_the_folders_were_made_of() {
        let path = "ops/date=2026-03-09/run=a%2F%C3%A4/n~0.parquet";
        assert_eq!(partition_value(path, "date").as_deref(), Some("2026-03-09"));
        assert_eq!(partition_value(path, "run").as_deref(), Some("a/\u{e4}"));
        assert_eq!(partition_value("ops/date=__HIVE_DEFAULT_PARTITION__/n", "date"), None);
        assert_eq!(partition_value("ops/n~0.parquet", "date"), None);
    }

    #[test]
    fn folders_that_are_not_kept_are_taken_away_and_others_stay() {
        let root = tempfile::tempdir().unwrap();
        let old = root.path().join("old");
        std::fs::create_dir(&old).unwrap();
        let folders = NewFolders::default();
        folders.make_path(&old.join("a/b")).unwrap();
        folders.make_path(&old.join("a/c")).unwrap();
        assert!(old.join("a/c").is_dir());
        drop(folders);
        assert_eq!(std::fs::read_dir(&old).unwrap().count(), 0);
    }
}
