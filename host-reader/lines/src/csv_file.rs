//! The table `lines` as a CSV file with the names of the columns in its first row.

use std::{
    io::{self, Read, Write},
    num::ParseIntError,
    path::{Path, PathBuf},
};
use tables::{LineRow, Lines, REASONS, Table, Value};
use thiserror::Error;

/// Name of the file with the table in the folder of a recording.
pub const LINES_FILE: &str = "kprof_lines.csv";

/// Returns the path of the table that belongs to a capture.
#[must_use]
pub fn beside_capture(capture: &Path) -> PathBuf {
    capture.with_extension("lines.csv")
}

/// Returns the path of the table that belongs to a recording: a capture, a device log, or a folder
/// with one. The table may not exist.
#[must_use]
pub fn beside_recording(recording: &Path) -> PathBuf {
    if recording.is_dir() {
        let in_logs = recording.join(".logs").join(LINES_FILE);
        return if in_logs.exists() { in_logs } else { recording.join(LINES_FILE) };
    }
    match recording.extension().is_some_and(|extension| extension == "kprof") {
        true => beside_capture(recording),
        false => recording.with_file_name(LINES_FILE),
    }
}

/// Rows of a file, and what could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinesFile {
    /// The readable rows.
    pub rows: Vec<LineRow>,
    /// Number of rows that could not be read.
    pub unreadable_count: u64,
    /// Sentence about the first row that could not be read.
    pub first_problem: Option<String>,
}

/// Reason why a file is not the table `lines`.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LinesFileError {
    /// A column is missing.
    #[error(
        "expected the table `lines` as CSV, found no column `{column}`; `kprof run --lines` writes it"
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
pub fn write_csv(rows: &[LineRow], out: impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(Lines::COLUMNS.iter().map(|column| column.schema.name))?;
    for row in rows {
        writer.write_record(Lines::COLUMNS.iter().map(|column| cell(&column.value(row))))?;
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
/// let row = tables::LineRow { risc: "BRISC".into(), address: 64, ..Default::default() };
/// let mut file = Vec::new();
/// lines::write_csv(&[row.clone()], &mut file)?;
/// assert_eq!(lines::read_csv(&file[..])?.rows, [row]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the file has no column names, or not all columns.
pub fn read_csv(file: impl Read) -> Result<LinesFile, LinesFileError> {
    let mut reader = csv::ReaderBuilder::new().from_reader(file);
    let headers = reader.headers()?.clone();
    let mut places = Vec::new();
    for column in Lines::COLUMNS {
        let name = column.schema.name;
        let place = headers.iter().position(|header| header == name);
        // Tables of earlier versions lack the columns that were added since.
        if place.is_none() && !column.schema.is_optional() {
            return Err(LinesFileError::MissingColumn { column: name });
        }
        places.push(place);
    }
    let mut found = LinesFile::default();
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
    places: &'a [Option<usize>],
}

impl Cells<'_> {
    fn cell(&self, name: &str) -> &str {
        let column = Lines::COLUMNS.iter().position(|column| column.schema.name == name);
        let place = column.and_then(|column| *self.places.get(column)?);
        place.and_then(|place| self.record.get(place)).unwrap_or_default()
    }

    fn number<N: std::str::FromStr<Err = ParseIntError>>(&self, name: &str) -> Result<N, String> {
        let text = self.cell(name);
        text.parse()
            .map_err(|error| format!("expected a number in `{name}`, found `{text}`: {error}"))
    }

    fn optional<N: std::str::FromStr<Err = ParseIntError>>(
        &self,
        name: &str,
    ) -> Result<Option<N>, String> {
        if self.cell(name).is_empty() { Ok(None) } else { self.number(name).map(Some) }
    }

    fn text(&self, name: &str) -> Option<String> {
        Some(self.cell(name)).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    fn row(&self) -> Result<LineRow, String> {
        let mut cycles = [0; REASONS];
        for (cycles, name) in cycles.iter_mut().zip(REASON_COLUMNS) {
            *cycles = self.number(name)?;
        }
        let total = cycles.iter().try_fold(0_u64, |sum, &cycles| sum.checked_add(cycles));
        let stated: u64 = self.number("total_cycles")?;
        if total != Some(stated) {
            return Err(format!("`total_cycles` is {stated}, which is not the sum of the reasons"));
        }
        let core = self.optional("core_x")?.zip(self.optional("core_y")?);
        Ok(LineRow {
            chip_id: self.number("chip_id")?,
            core,
            cores: self.number("core_count")?,
            run_host_id: self.number("run_host_id")?,
            op: self.text("op_name"),
            launches: self.number("launches")?,
            risc: self.cell("risc").to_owned(),
            code: self.cell("code").to_owned(),
            elf: self.text("elf"),
            address: self.number("address")?,
            instruction: self.number("instruction")?,
            function: self.text("function"),
            file: self.text("file"),
            line: self.optional("line")?,
            source_text: self.text("source_text"),
            inlined_into: self.text("inlined_into"),
            waits_for: self.text("waits_for"),
            instructions: self.number("instructions")?,
            core_cycles: [
                self.number("min_core_cycles")?,
                self.number("median_core_cycles")?,
                self.number("max_core_cycles")?,
            ],
            cycles,
        })
    }
}

/// Names of the columns with the cycles of one reason.
pub(crate) const REASON_COLUMNS: [&str; REASONS] = [
    "issue_cycles",
    "arithmetic_cycles",
    "private_load_cycles",
    "l1_load_cycles",
    "register_load_cycles",
    "store_cycles",
    "branch_cycles",
    "l1_port_cycles",
    "stopped_cycles",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_reasons_are_the_last_ones_in_order() {
        let names: Vec<_> = Lines::COLUMNS.iter().map(|column| column.schema.name).collect();
        assert_eq!(names[names.len() - REASONS..], REASON_COLUMNS);
    }

    #[test]
    fn every_column_is_the_same_after_a_file() {
        let text = |text: &str| Some(text.to_owned());
        let row = LineRow {
            chip_id: 1,
            core: Some((3, 4)),
            cores: 1,
            run_host_id: 77,
            op: text("matmul, \"large\""),
            launches: 2,
            risc: "TRISC_1".to_owned(),
            code: "kernel".to_owned(),
            elf: text("a b/kernel.elf"),
            address: 0x1_0040,
            instruction: 0x0000_0013,
            function: text("f(int)"),
            file: text("src/kernel.cpp"),
            line: Some(12),
            source_text: text("    x = \"a,b\"; // "),
            inlined_into: text("g at src/kernel.cpp:30 < main at src/main.cpp"),
            waits_for: text("CB_WAIT 3"),
            instructions: 9,
            core_cycles: [45, 45, 45],
            cycles: [1, 2, 3, 4, 5, 6, 7, 8, 9],
        };
        let bare = LineRow { core: None, ..LineRow::default() };
        let mut file = Vec::new();
        write_csv(&[row.clone(), bare.clone()], &mut file).unwrap();
        let found = read_csv(&file[..]).unwrap();
        assert_eq!(found, LinesFile { rows: vec![row, bare], ..LinesFile::default() });
    }

    #[test]
    fn damaged_rows_are_counted_and_the_rest_is_kept() {
        let good = LineRow { address: 8, ..LineRow::default() };
        let mut file = Vec::new();
        write_csv(&[good.clone(), good.clone(), good.clone()], &mut file).unwrap();
        let text = String::from_utf8(file).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines[2] = lines[2].replacen('0', "x", 1);
        let found = read_csv(lines.join("\n").as_bytes()).unwrap();
        assert_eq!((found.rows.len(), found.unreadable_count), (2, 1));
        let problem = found.first_problem.unwrap();
        assert!(
            problem.starts_with("line 3: expected a number in `chip_id`, found `x`"),
            "{problem}"
        );
        let error = read_csv("a,b\n1,2\n".as_bytes()).unwrap_err().to_string();
        assert!(error.contains("found no column `chip_id`"), "{error}");
    }
}
