//! Reading an ops CSV, `ops_perf_results*.csv`: text in, rows and problems out.
//!
//! A line that cannot be used costs itself alone. What rows mean is not decided here.

use super::{
    row::{OpRow, RowColumns, RowReader},
    titles::{OpsCsvFormat, Titles},
};
use crate::{
    problem::{Position, ProblemLog},
    records::{CsvRecords, Extent, PlainLine},
};
use rayon::prelude::*;
use std::{collections::HashMap, io::Read};

/// Quotes that stay open after which the rest of a file is read as it is, since each of
/// them makes the reader go back.
const MAX_OPEN_QUOTES: usize = 64;

/// Why a file is no ops CSV.
#[derive(Debug, thiserror::Error)]
pub enum OpsCsvError {
    /// It cannot be read.
    #[error("cannot read {file}")]
    Io {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// There is nothing in it.
    #[error("{file} is empty; expected an ops CSV, which begins with a line of titles")]
    Empty {
        /// The file.
        file: String,
    },
    /// Its first line has no column of ops.
    #[error(
        "{file}: line 1: expected titles with a column `OP CODE`, found {column_count} other \
         {noun}; an ops CSV is called ops_perf_results*.csv",
        noun = if *.column_count == 1 { "title" } else { "titles" }
    )]
    Titles {
        /// The file.
        file: String,
        /// Titles in the line. Their text may be a secret of another file.
        column_count: usize,
    },
}

/// Column by which the streaming profiler's programs are ordered.
const START: &str = "DEVICE KERNEL START CYCLE";

/// The rows of one file.
#[derive(Clone, Debug)]
pub struct OpsCsv {
    /// The file, as it was named by the caller.
    pub file: String,
    /// Its generation.
    pub format: OpsCsvFormat,
    /// Its rows, in the order of the file.
    pub rows: Vec<OpRow>,
    /// Lines that could not be used at all.
    pub skipped_line_count: u64,
    /// Problems in reading the file.
    pub problems: ProblemLog,
}

/// Reads an ops CSV of any generation; `file` names it in messages.
///
/// A row with too few cells is kept without its last one, which may be cut as well; one
/// with too many is left out, since its cells cannot be told apart. Memory: the file and
/// its rows.
///
/// # Errors
/// If the stream cannot be read or does not begin as an ops CSV.
///
/// ```
/// let text = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns]\nMatmul,tt_dnn_device,0,1500\n";
/// let csv = reports::perf::read_ops_csv(text.as_bytes(), "ops.csv")?;
/// assert_eq!(csv.rows[0].kernel_duration_ns, Some(1500.0));
/// // A report wants more columns than these; the missing ones are named.
/// assert!(!csv.problems.kept().is_empty());
/// # Ok::<(), reports::perf::OpsCsvError>(())
/// ```
pub fn read_ops_csv(mut input: impl Read, file: &str) -> Result<OpsCsv, OpsCsvError> {
    let mut bytes = Vec::new();
    input
        .read_to_end(&mut bytes)
        .map_err(|source| OpsCsvError::Io { file: file.to_owned(), source })?;
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
    if bytes.trim_ascii().is_empty() {
        return Err(OpsCsvError::Empty { file: file.to_owned() });
    }
    // Nearly all files are valid, which is seen several times faster than where one is not.
    let text = std::str::from_utf8(bytes)
        .map_or_else(|_| String::from_utf8_lossy(bytes), std::borrow::Cow::Borrowed);
    let mut records = CsvRecords::new(text.as_bytes());
    let first = next_record(&mut records).unwrap_or_default();
    let titles = Titles::new(&first.cells);
    if !titles.are_of_ops() {
        let column_count = first.cells.len();
        return Err(OpsCsvError::Titles { file: file.to_owned(), column_count });
    }
    let mut problems = ProblemLog::default();
    titles.check(file, first.extent.line, &mut problems);
    let rows = RowsOf { file, titles: &titles, columns: RowColumns::new(&titles) };
    let mut read = rows.read(&text, records);
    // It is in the order of programs, and has no times of the host.
    if titles.format() == OpsCsvFormat::Streaming {
        read.rows.sort_by_key(|row| read.starts.get(&row.line).copied());
    }
    problems.append(read.problems);
    Ok(OpsCsv {
        file: file.to_owned(),
        format: titles.format(),
        rows: read.rows,
        skipped_line_count: read.skipped_line_count,
        problems,
    })
}

/// Lines that are read at a time by one thread.
const LINES_AT_ONCE: usize = 128;

/// Parts of so many lines that are in memory at a time.
const PARTS_AT_ONCE: usize = 128;

/// Reader of all rows of a file.
struct RowsOf<'a> {
    file: &'a str,
    titles: &'a Titles,
    columns: RowColumns,
}

/// Rows of a part of a file.
#[derive(Default)]
struct RowsRead {
    rows: Vec<OpRow>,
    /// Start cycles by line, of files that are ordered by them.
    starts: HashMap<u64, u64>,
    skipped_line_count: u64,
    problems: ProblemLog,
}

impl RowsRead {
    fn append(&mut self, other: Self) {
        self.rows.extend(other.rows);
        self.starts.extend(other.starts);
        self.skipped_line_count = self.skipped_line_count.saturating_add(other.skipped_line_count);
        self.problems.append(other.problems);
    }
}

impl RowsOf<'_> {
    /// Reads lines without quotes several at a time, and all others record by record.
    fn read(&self, text: &str, mut records: CsvRecords<'_>) -> RowsRead {
        let mut read = RowsRead::default();
        let mut open_quotes = 0;
        loop {
            let lines = records.plain_lines();
            read.rows.reserve(lines.len());
            // Not all at once, so that the memory of parts is used again.
            for lines in lines.chunks(LINES_AT_ONCE.saturating_mul(PARTS_AT_ONCE)) {
                let parts = lines.par_chunks(LINES_AT_ONCE);
                let parts: Vec<_> = parts.map(|lines| self.plain_rows(text, lines)).collect();
                parts.into_iter().for_each(|part| read.append(part));
            }
            let Some(record) = next_record(&mut records) else { return read };
            let Extent { line, line_count, .. } = record.extent;
            let count = record.cells.len();
            if count != self.titles.count() && line_count > 1 && open_quotes < MAX_OPEN_QUOTES {
                open_quotes = open_quotes.saturating_add(1);
                self.skip(
                    line,
                    ("cells whose quotes are closed", "a quote that stays open"),
                    &mut read,
                );
                records.resume_after_line_of(&record.extent);
                continue;
            }
            self.add_row(&mut record.cells.iter().collect(), line, &mut read);
        }
    }

    fn plain_rows(&self, text: &str, lines: &[PlainLine]) -> RowsRead {
        let mut read = RowsRead { rows: Vec::with_capacity(lines.len()), ..RowsRead::default() };
        let mut cells = Vec::with_capacity(self.titles.count());
        for line in lines {
            cells.clear();
            // Bounds of lines and commas are those of characters.
            let text = text.get(line.bytes.clone()).unwrap_or("");
            let mut start = 0;
            for end in memchr::memchr_iter(b',', text.as_bytes()) {
                cells.push(text.get(start..end).unwrap_or(""));
                start = end.saturating_add(1);
            }
            cells.push(text.get(start..).unwrap_or(""));
            self.add_row(&mut cells, line.line, &mut read);
        }
        read
    }

    fn add_row(&self, cells: &mut Vec<&str>, line: u64, read: &mut RowsRead) {
        let (count, expected) = (cells.len(), self.titles.count());
        if count > expected {
            self.skip(line, (&cells_text(expected), &cells_text(count)), read);
            return;
        }
        if count < expected {
            let place = Position { file: self.file, line, column: "" };
            let effect = "the row is kept without its last cell";
            let [expected, found] = [expected, count].map(cells_text);
            read.problems.add_deviation(place, &expected, &found, effect);
            cells.truncate(count.saturating_sub(1));
        }
        if cells.iter().all(|cell| cell.trim().is_empty()) {
            self.skip(line, ("a row with an op", "blank cells only"), read);
            return;
        }
        if self.titles.format() == OpsCsvFormat::Streaming
            && let Some(start) = self.titles.index(START).and_then(|at| cells.get(at))
        {
            read.starts.insert(line, start.trim().parse::<u64>().unwrap_or(u64::MAX));
        }
        let (columns, file) = (&self.columns, self.file);
        let problems = &mut read.problems;
        let row = RowReader { columns, cells, file, line, problems }.read();
        read.rows.push(row);
    }

    fn skip(&self, line: u64, (expected, found): (&str, &str), read: &mut RowsRead) {
        read.skipped_line_count = read.skipped_line_count.saturating_add(1);
        let place = Position { file: self.file, line, column: "" };
        read.problems.add_deviation(place, expected, found, "the line is left out");
    }
}

fn cells_text(count: usize) -> String {
    match count {
        1 => "1 cell".to_owned(),
        count => format!("{count} cells"),
    }
}

/// One record and its position in the file.
#[derive(Default)]
struct Record {
    cells: csv::StringRecord,
    extent: Extent,
}

fn next_record(records: &mut CsvRecords<'_>) -> Option<Record> {
    let mut bytes = csv::ByteRecord::new();
    let extent = records.next(&mut bytes)?;
    Some(Record { cells: csv::StringRecord::from_byte_record_lossy(bytes), extent })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TITLES: &str = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES,HOST START TS,\
        DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns],CORE COUNT,INPUT_0_MEMORY";

    fn read(rows: &str) -> OpsCsv {
        read_ops_csv(format!("{TITLES}\r\n{rows}").as_bytes(), "a.csv").unwrap()
    }

    fn row(name: &str) -> String {
        format!("{name},tt_dnn_device,1024,0,{{}},5,1500,20,64,DEV_0_L1\r\n")
    }

    fn names(csv: &OpsCsv) -> Vec<&str> {
        csv.rows.iter().map(|row| row.op_code.as_str()).collect()
    }

    #[test]
    fn a_clean_file_has_no_problems_and_lines_are_counted_as_editors_do() {
        let csv = read(&format!("{}\r\n{}", row("A"), row("\"B\nC\"")));
        assert_eq!(csv.problems.kept(), []);
        assert_eq!(names(&csv), ["A", "BC"]);
        assert_eq!(csv.rows.iter().map(|row| row.line).collect::<Vec<_>>(), [2, 4]);
    }

    /// A program that ran twice, with another in between; cycles and names are those of the file.
    #[test]
    fn programs_of_the_streaming_profiler_are_in_the_order_of_their_starts() {
        let text = "DEVICE ID,GLOBAL CALL COUNT,EXECUTION,CORE COUNT,DEVICE KERNEL START CYCLE,\
            DEVICE KERNEL END CYCLE,DEVICE KERNEL DURATION [ns]\n\
            0,1024,0,64,1000,2350,1000\n0,1024,1,64,9000,10350,1000.5\n0,2048,0,8,4000,5350,1000\n";
        let csv = read_ops_csv(text.as_bytes(), "a.csv").unwrap();
        assert_eq!(csv.format.label(), "streaming");
        assert_eq!(names(&csv), ["program 1024", "program 2048", "program 1024"]);
        assert!(csv.rows.iter().all(OpRow::is_device_op));
        let [_, second, last] = csv.rows.as_slice() else { panic!("{:?}", csv.rows) };
        assert_eq!((second.core_count, second.device), (Some(8), Some(0)));
        assert_eq!((last.kernel_duration_ns, &*last.global_call_count), (Some(1000.5), "1024"));
        let [problem] = csv.problems.kept() else { panic!("{:?}", csv.problems) };
        assert_eq!(problem.column.as_deref(), Some("OP CODE"));
        assert!(read_ops_csv(&b"DEVICE ID,GLOBAL CALL COUNT,EXECUTION\n"[..], "a.csv").is_err());
    }

    #[test]
    fn a_cut_row_keeps_its_whole_cells() {
        let csv = read(&format!("{}B,tt_dnn_device,1024,0,{{}},5,15", row("A")));
        assert_eq!(names(&csv), ["A", "B"]);
        assert_eq!((csv.rows[1].host_start_ns, csv.rows[1].kernel_duration_ns), (Some(5.0), None));
        let [problem] = csv.problems.kept() else { panic!("{:?}", csv.problems) };
        assert!(
            problem.to_string().contains("line 3: expected 10 cells, found 7 cells"),
            "{problem}"
        );
    }

    #[test]
    fn a_row_with_too_many_cells_is_left_out_alone() {
        let csv = read(&format!("{}B,{}{}", row("A"), row("x"), row("C")));
        assert_eq!(names(&csv), ["A", "C"]);
        assert_eq!((csv.skipped_line_count, csv.problems.kept()[0].line), (1, Some(3)));
    }

    #[test]
    fn lines_read_at_once_are_those_read_one_by_one() {
        // Quotes around a cell make a line one that is read alone.
        let line = |number: usize, is_quoted: bool| {
            let quote = if is_quoted { "\"" } else { "" };
            row(&format!("{quote}Op{number}{quote}"))
        };
        let mixed = |is_quoted: &dyn Fn(usize) -> bool| {
            let text: String = (0..3000).map(|number| line(number, is_quoted(number))).collect();
            read(&text).rows
        };
        let alone = mixed(&|_| true);
        assert_eq!((alone.len(), alone[2999].line, &*alone[2999].op_code), (3000, 3001, "Op2999"));
        assert_eq!(mixed(&|_| false), alone);
        assert_eq!(mixed(&|number| number % 7 == 3), alone);
        assert_eq!(mixed(&|number| number > 0 && number < 2000), alone);
    }

    #[test]
    fn blank_lines_and_returns_move_no_line_number() {
        for end in ["\n", "\r\n"] {
            let rows = format!("{}\n\n{}\"B\"{}", row("A"), row("C"), &row("X")[1..]);
            let csv = read(&rows.replace("\r\n", "\n").replace('\n', end));
            let lines: Vec<_> = csv.rows.iter().map(|row| (&*row.op_code, row.line)).collect();
            assert_eq!(lines, [("A", 2), ("C", 5), ("B", 6)], "{end:?}");
        }
    }

    #[test]
    fn an_open_quote_costs_its_own_line_only() {
        let csv = read(&format!("{}\"B,tt,{}{}", row("A"), row("x"), row("C")));
        assert_eq!(names(&csv), ["A", "C"]);
        assert_eq!(csv.rows[1].line, 4);
        assert!(csv.problems.kept()[0].to_string().contains("line 3: expected cells whose quotes"));
    }

    #[test]
    fn an_odd_cell_is_left_blank_and_named_with_line_and_column() {
        let csv = read(&row("A").replace("64", "6.4e"));
        assert_eq!(csv.rows[0].core_count, None);
        let problem = &csv.problems.kept()[0];
        assert_eq!((problem.line, problem.column.as_deref()), (Some(2), Some("CORE COUNT")));
    }

    #[test]
    fn files_of_other_kinds_are_refused_with_what_was_found() {
        let refused = |text: &str| read_ops_csv(text.as_bytes(), "x").unwrap_err().to_string();
        let other = refused("ARCH: blackhole, CHIP_FREQ[MHz]: 1350\n");
        assert!(other.contains("found 2 other titles"), "{other}");
        assert!(!other.contains("blackhole"), "nothing of an unknown file is quoted: {other}");
        assert!(refused(" \r\n").contains("is empty"));
    }

    #[test]
    fn floods_of_open_quotes_end() {
        let csv = read(&"\"x,y\n".repeat(500));
        assert!(csv.skipped_line_count >= MAX_OPEN_QUOTES as u64);
    }
}
