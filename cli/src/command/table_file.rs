//! Tables in CSV files beside recordings.

use crate::{
    failure::{Failure, OrFail, note},
    numbers::counted,
};
use host_reader::tables::{CsvFile, CsvFileError, Table, write_csv};
use std::{
    fs::File,
    io::{BufReader, BufWriter},
    path::Path,
};

/// Reads all readable rows of a table, and prints how many are not.
pub(super) fn read_table<R>(
    path: &Path,
    read: fn(BufReader<File>) -> Result<CsvFile<R>, CsvFileError>,
) -> Result<Vec<R>, Failure> {
    let file = File::open(path).or_fail_at(path)?;
    let found = read(BufReader::new(file)).or_fail_at(path)?;
    if let Some(problem) = &found.first_problem {
        let count = counted(found.unreadable_count, "row", "rows");
        note!("kprof: {}: {count} skipped, the rest is used; {problem}", path.display());
    }
    Ok(found.rows)
}

/// Writes a table.
pub(super) fn write_table<T: Table>(rows: &[T::Row<'_>], path: &Path) -> Result<(), Failure> {
    let out = BufWriter::new(File::create(path).or_fail_at(path)?);
    write_csv::<T>(rows, out).or_fail_at(path)
}
