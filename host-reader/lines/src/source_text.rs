//! Text of source lines, read when the table is made: later, the source may have changed.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Read,
    path::Path,
    time::SystemTime,
};
use tables::LineRow;

/// Largest source file that is read; a larger one is no source that somebody has written.
const LARGEST_BYTES: u64 = 16 << 20;
/// Characters of a line that are kept.
const LONGEST_LINE: usize = 500;

/// Writes the text of each row's source line into the row.
///
/// Debug information names the file, and does not say what was in it. A file that was changed after
/// the code was compiled has other lines, so its text is left out.
pub fn add_source_text(rows: &mut [LineRow]) {
    let mut compiled: BTreeMap<String, Option<SystemTime>> = BTreeMap::new();
    let mut sources: BTreeMap<String, Option<Source>> = BTreeMap::new();
    for row in rows {
        let (Some(elf), Some(file), Some(line)) = (&row.elf, &row.file, row.line) else { continue };
        let compiled = compiled.entry(elf.clone()).or_insert_with_key(|elf| modified(elf));
        let Some(compiled) = *compiled else { continue };
        let source = sources.entry(file.clone()).or_insert_with_key(|file| Source::read(file));
        let Some(source) = source.as_ref().filter(|source| source.modified <= compiled) else {
            continue;
        };
        let index = usize::try_from(line).ok().and_then(|line| line.checked_sub(1));
        row.source_text = index.and_then(|index| source.lines.get(index)).cloned();
    }
}

struct Source {
    modified: SystemTime,
    lines: Vec<String>,
}

impl Source {
    fn read(path: &str) -> Option<Self> {
        let found = fs::metadata(path).ok().filter(|found| found.is_file())?;
        let mut bytes = Vec::new();
        File::open(path).ok()?.take(LARGEST_BYTES).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let shortened = |line: &str| line.trim_end().chars().take(LONGEST_LINE).collect();
        Some(Self {
            modified: found.modified().ok()?,
            lines: text.lines().map(shortened).collect(),
        })
    }
}

fn modified(path: &str) -> Option<SystemTime> {
    fs::metadata(Path::new(path)).and_then(|found| found.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn only_a_source_older_than_its_code_has_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let written = |name: &str, text: &[u8], seconds| {
            fs::write(path(name), text).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            File::options().write(true).open(path(name)).unwrap().set_modified(time).unwrap();
        };
        written("kernel.elf", b"", 100);
        written("old.cpp", b"int a;\n\tint b; \n", 99);
        written("new.cpp", b"int a;\nint b;\n", 101);
        written("binary.cpp", b"\xFF\nint b;\n", 99);
        let row = |elf: &str, file: &str, line| LineRow {
            elf: Some(path(elf)),
            file: Some(path(file)),
            line: Some(line),
            ..LineRow::default()
        };
        let mut rows = [
            row("kernel.elf", "old.cpp", 1),
            row("kernel.elf", "old.cpp", 2),
            row("kernel.elf", "old.cpp", 3),
            row("kernel.elf", "new.cpp", 1),
            row("kernel.elf", "binary.cpp", 2),
            row("kernel.elf", "", 1),
            row("gone.elf", "old.cpp", 1),
            row("kernel.elf", "old.cpp", 0),
        ];
        add_source_text(&mut rows);
        let found = rows.each_ref().map(|row| row.source_text.as_deref());
        let expected = [Some("int a;"), Some("\tint b;"), None, None, None, None, None, None];
        assert_eq!(found, expected);
    }
}
