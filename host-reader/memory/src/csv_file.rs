//! The table `memory` as a CSV file with the names of the columns in its first row.

use crate::CoreSet;
use std::{
    io::{self, Read, Write},
    num::ParseIntError,
    str::FromStr,
};
use tables::{Memory, MemoryRow, Table, Value};
use thiserror::Error;

/// Rows of a file, and what could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryFile {
    /// The readable rows.
    pub rows: Vec<MemoryRow>,
    /// Number of rows that could not be read.
    pub unreadable_count: u64,
    /// Sentence about the first row that could not be read.
    pub first_problem: Option<String>,
}

/// Reason why a file is not the table `memory`.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MemoryFileError {
    /// A column is missing.
    #[error(
        "expected the table `memory` as CSV, found no column `{column}`; `kprof record --simulate \
         CHIP --device-memory-profiler` writes it"
    )]
    MissingColumn {
        /// Name of the first missing column.
        column: &'static str,
    },
    /// The file could not be read.
    #[error(transparent)]
    Csv(#[from] csv::Error),
}

/// Writes rows with all columns of the table.
///
/// # Errors
/// If `out` fails.
pub fn write_csv(rows: &[MemoryRow], out: impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(Memory::COLUMNS.iter().map(|column| column.schema.name))?;
    for row in rows {
        writer.write_record(Memory::COLUMNS.iter().map(|column| cell(&column.value(row))))?;
    }
    writer.flush()
}

fn cell(value: &Value<'_>) -> String {
    match value {
        Value::Null => String::new(),
        Value::Unsigned32(number) => number.to_string(),
        Value::Unsigned64(number) => number.to_string(),
        Value::Signed64(number) => number.to_string(),
        Value::Flag(flag) => flag.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text.to_string(),
    }
}

/// Reads rows that [`write_csv`] has written. Other columns are ignored, and rows that cannot be
/// read are counted.
///
/// ```
/// let row = tables::MemoryRow { memory: "L1".into(), size_bytes: 64, ..Default::default() };
/// let mut file = Vec::new();
/// memory::write_csv(&[row.clone()], &mut file)?;
/// assert_eq!(memory::read_csv(&file[..])?.rows, [row]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the file has no column names, or not all columns.
pub fn read_csv(file: impl Read) -> Result<MemoryFile, MemoryFileError> {
    let mut reader = csv::ReaderBuilder::new().from_reader(file);
    let headers = reader.headers()?.clone();
    let mut places = Vec::new();
    for column in Memory::COLUMNS {
        let name = column.schema.name;
        let place = headers.iter().position(|header| header == name);
        places.push(place.ok_or(MemoryFileError::MissingColumn { column: name })?);
    }
    let mut found = MemoryFile::default();
    for record in reader.records() {
        let parsed = match record {
            Ok(record) => {
                let line = record.position().map_or(0, csv::Position::line);
                Cells { record: &record, places: &places }
                    .row()
                    .map_err(|problem| format!("line {line}: {problem}"))
            }
            Err(error) if error.is_io_error() => return Err(error.into()),
            Err(error) => Err(error.to_string()),
        };
        match parsed {
            Ok(row) => found.rows.push(row),
            Err(problem) => {
                found.unreadable_count += 1;
                found.first_problem.get_or_insert(problem);
            }
        }
    }
    Ok(found)
}

/// Cells of one row, by column of the table.
struct Cells<'a> {
    record: &'a csv::StringRecord,
    places: &'a [usize],
}

impl Cells<'_> {
    fn cell(&self, name: &str) -> &str {
        let column = Memory::COLUMNS.iter().position(|column| column.schema.name == name);
        let place = column.and_then(|column| self.places.get(column));
        place.and_then(|&place| self.record.get(place)).unwrap_or_default()
    }

    fn number<N: FromStr<Err = ParseIntError>>(&self, name: &str) -> Result<N, String> {
        let text = self.cell(name);
        text.parse()
            .map_err(|error| format!("expected a number in `{name}`, found `{text}`: {error}"))
    }

    fn optional<N: FromStr<Err = ParseIntError>>(&self, name: &str) -> Result<Option<N>, String> {
        if self.cell(name).is_empty() { Ok(None) } else { self.number(name).map(Some) }
    }

    fn text(&self, name: &str) -> Option<String> {
        Some(self.cell(name)).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    fn row(&self) -> Result<MemoryRow, String> {
        let (start, size_bytes): (u64, u64) = (self.number("start")?, self.number("size_bytes")?);
        if start.checked_add(size_bytes).is_none_or(|end| end > HIGHEST) {
            return Err(format!(
                "expected a range of a memory, found {size_bytes} bytes at {start}"
            ));
        }
        let cores = self.text("core_ranges");
        if let Some(cores) = &cores {
            cores.parse::<CoreSet>().map_err(|error| error.to_string())?;
        }
        Ok(MemoryRow {
            chip_id: self.number("chip_id")?,
            run_host_id: self.number("run_host_id")?,
            op: self.text("op_name"),
            layout: self.optional("layout")?,
            launches: self.optional("launches")?,
            memory: self.cell("memory").to_owned(),
            cores,
            core_count: self.optional("core_count")?,
            kind: self.cell("kind").to_owned(),
            number: self.optional("number")?,
            content: self.text("content"),
            start,
            size_bytes,
            counted_bytes: self.number("counted_bytes")?,
            page_count: self.optional("page_count")?,
            page_bytes: self.optional("page_bytes")?,
            owner: self.text("owner"),
            last_use_run_host_id: self.optional("last_use_run_host_id")?,
        })
    }
}

/// Highest address of a memory that is accepted.
const HIGHEST: u64 = 1 << 40;

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> MemoryRow {
        let text = |text: &str| Some(text.to_owned());
        MemoryRow {
            chip_id: 1,
            run_host_id: 77,
            op: text("matmul, \"large\""),
            layout: Some(1),
            launches: Some(2),
            memory: "L1".to_owned(),
            cores: text("1-1:4-3 6-1"),
            core_count: Some(13),
            kind: MemoryRow::CIRCULAR_BUFFER.to_owned(),
            number: Some(16),
            content: text("TRISC_1"),
            start: 105_824,
            size_bytes: 8192,
            counted_bytes: 4096,
            page_count: Some(4),
            page_bytes: Some(2048),
            owner: text("ttnn.add"),
            last_use_run_host_id: Some(5120),
        }
    }

    #[test]
    fn every_column_is_the_same_after_a_file() {
        let (row, bare) = (full(), MemoryRow::default());
        let mut file = Vec::new();
        write_csv(&[row.clone(), bare.clone()], &mut file).unwrap();
        let found = read_csv(&file[..]).unwrap();
        assert_eq!(found, MemoryFile { rows: vec![row, bare], ..MemoryFile::default() });
    }

    #[test]
    fn damaged_rows_are_counted_and_the_rest_is_kept() {
        for (from, to, problem) in [
            (
                "1,77",
                "x,77",
                "expected a number in `chip_id`, found `x`: invalid digit found in string",
            ),
            (
                "8192",
                "18446744073709551615",
                "expected a range of a memory, found 18446744073709551615 bytes at 105824",
            ),
            ("1-1:4-3", "1-1:4", "expected cores such as 1-1:8-4, found `1-1:4 6-1`"),
        ] {
            let mut file = Vec::new();
            write_csv(&[full(), full(), full()], &mut file).unwrap();
            let text = String::from_utf8(file).unwrap();
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines[2] = lines[2].replacen(from, to, 1);
            let found = read_csv(lines.join("\n").as_bytes()).unwrap();
            assert_eq!((found.rows, found.unreadable_count), (vec![full(), full()], 1), "{to}");
            assert_eq!(found.first_problem, Some(format!("line 3: {problem}")));
        }
        let error = read_csv("a,b\n1,2\n".as_bytes()).unwrap_err().to_string();
        assert!(error.contains("found no column `chip_id`"), "{error}");
    }
}
