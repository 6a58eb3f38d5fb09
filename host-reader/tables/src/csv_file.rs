//! Tables as CSV files with the names of the columns in the first row.

use crate::{Table, Value};
use std::{
    io::{self, Read, Write},
    marker::PhantomData,
    num::ParseIntError,
    str::FromStr,
};
use thiserror::Error;

/// Rows of a file, and what could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvFile<R> {
    /// The readable rows.
    pub rows: Vec<R>,
    /// Number of rows that could not be read.
    pub unreadable_count: u64,
    /// Sentence about the first row that could not be read.
    pub first_problem: Option<String>,
}

/// Reason why a file is not the expected table.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CsvFileError {
    /// A column is missing.
    #[error(
        "expected the table `{table}` as CSV, found no column `{column}`; `{written_by}` writes it"
    )]
    MissingColumn {
        /// Name of the table.
        table: &'static str,
        /// Name of the first missing column.
        column: &'static str,
        /// Command that writes the table.
        written_by: &'static str,
    },
    /// The file could not be read.
    #[error(transparent)]
    Csv(#[from] csv::Error),
}

/// Reads the CSV files of one table.
pub struct CsvReader<T: Table> {
    /// Command that writes the table, for the error about a file that is another.
    pub written_by: &'static str,
    /// True if the file may lack nullable columns; their values are null then.
    pub may_lack_nullable_columns: bool,
    /// Makes a row of its cells; an error is a sentence about the first cell that is wrong.
    pub row: fn(&CsvCells<'_, T>) -> Result<T::Row<'static>, String>,
}

/// Cells of one row, by the names of the table's columns.
pub struct CsvCells<'a, T> {
    record: &'a csv::StringRecord,
    /// Places of the table's columns in the file.
    places: &'a [Option<usize>],
    table: PhantomData<T>,
}

/// Writes rows with all columns except those that only datasets have; null is an empty cell.
///
/// ```
/// use tables::{Column, LineRow, Lines, Table, write_csv};
/// let mut file = Vec::new();
/// write_csv::<Lines>(&[LineRow { chip_id: 3, ..LineRow::default() }], &mut file)?;
/// assert!(file.starts_with(b"chip_id,core_x,"));
/// assert!(String::from_utf8(file)?.lines().nth(1).unwrap().starts_with("3,,,"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If `out` fails.
pub fn write_csv<T: Table>(rows: &[T::Row<'_>], out: impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(T::report_columns().map(|column| column.schema.name))?;
    for row in rows {
        writer.write_record(T::report_columns().map(|column| cell(&column.value(row))))?;
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

impl<T: Table> CsvReader<T> {
    /// Reads rows that [`write_csv`] has written. Other columns are ignored, and rows that cannot be
    /// read are counted.
    ///
    /// ```
    /// use tables::{CsvReader, LineRow, Lines};
    /// let reader = CsvReader::<Lines> {
    ///     written_by: "kprof run --lines",
    ///     may_lack_nullable_columns: true,
    ///     row: |cells| Ok(LineRow { chip_id: cells.number("chip_id")?, ..LineRow::default() }),
    /// };
    /// let error = reader.read("chip_id\n3\n".as_bytes()).unwrap_err().to_string();
    /// assert!(error.starts_with("expected the table `lines` as CSV, found no column `core_count`"));
    /// ```
    ///
    /// # Errors
    /// If the file has no column names, or not all columns.
    pub fn read(&self, file: impl Read) -> Result<CsvFile<T::Row<'static>>, CsvFileError> {
        let mut reader = csv::ReaderBuilder::new().from_reader(file);
        let headers = reader.headers()?.clone();
        let mut places = Vec::new();
        for column in T::report_columns() {
            let name = column.schema.name;
            let place = headers.iter().position(|header| header == name);
            if place.is_none() && !(self.may_lack_nullable_columns && column.schema.is_optional()) {
                return Err(CsvFileError::MissingColumn {
                    table: T::NAME,
                    column: name,
                    written_by: self.written_by,
                });
            }
            places.push(place);
        }
        let mut found = CsvFile { rows: Vec::new(), unreadable_count: 0, first_problem: None };
        for record in reader.records() {
            let parsed = match record {
                Ok(record) => {
                    let line = record.position().map_or(0, csv::Position::line);
                    let cells = CsvCells { record: &record, places: &places, table: PhantomData };
                    (self.row)(&cells).map_err(|problem| format!("line {line}: {problem}"))
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
}

impl<T: Table> CsvCells<'_, T> {
    /// Returns the text of a cell; empty if the file lacks the column.
    #[must_use]
    pub fn cell(&self, name: &str) -> &str {
        let column = T::report_columns().position(|column| column.schema.name == name);
        let place = column.and_then(|column| *self.places.get(column)?);
        place.and_then(|place| self.record.get(place)).unwrap_or_default()
    }

    /// Returns a number.
    ///
    /// # Errors
    /// If the cell is no number of this type.
    pub fn number<N: FromStr<Err = ParseIntError>>(&self, name: &str) -> Result<N, String> {
        let text = self.cell(name);
        text.parse()
            .map_err(|error| format!("expected a number in `{name}`, found `{text}`: {error}"))
    }

    /// Returns a number; `None` for an empty cell.
    ///
    /// # Errors
    /// If the cell is neither empty nor a number of this type.
    pub fn optional<N: FromStr<Err = ParseIntError>>(
        &self,
        name: &str,
    ) -> Result<Option<N>, String> {
        if self.cell(name).is_empty() { Ok(None) } else { self.number(name).map(Some) }
    }

    /// Returns a text; `None` for an empty cell.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        Some(self.cell(name)).filter(|text| !text.is_empty()).map(str::to_owned)
    }
}
