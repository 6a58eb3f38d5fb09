//! Reader for an ops CSV, `ops_perf_results*.csv`. It returns rows and problems.
//!
//! An invalid line does not affect other lines. Other modules interpret the rows.

use super::{
    core_cycles::{correct_core_times, note_too_many_cores},
    hosts::separate_hosts,
    row::{OpRow, RowColumns, RowReader},
    text_pool::TextPool,
    titles::{KernelColumn, LATENCY, OpsCsvFormat, Titles, find_title},
};
use crate::{
    problem::{Position, ProblemLog, counted},
    records::{CsvRecords, Extent, PlainLine, PlainLines},
};
use rayon::prelude::*;
use std::{
    borrow::Cow,
    collections::HashMap,
    io::{self, Read},
    sync::Arc,
};

/// Maximum number of times that the reader goes back in a file because a quote is never closed.
///
/// Each time, the line with the quote is left out and reading continues at the next line. After
/// that, the remaining lines are read without going back.
const MAX_OPEN_QUOTES: usize = 64;

/// Reason why a file cannot be read as an ops CSV.
#[derive(Debug, thiserror::Error)]
pub enum OpsCsvError {
    /// The file cannot be read.
    #[error("cannot read {file}")]
    Io {
        /// Name of the file.
        file: String,
        /// Error of the input stream.
        source: std::io::Error,
    },
    /// The file is empty.
    #[error("{file} is empty; expected an ops CSV, which begins with a line of titles")]
    Empty {
        /// Name of the file.
        file: String,
    },
    /// The first line lacks the column `OP CODE`.
    #[error(
        "{file}: line 1: expected titles with a column `OP CODE`, found {column_count} other \
         {noun}; an ops CSV is called ops_perf_results*.csv",
        noun = if *.column_count == 1 { "title" } else { "titles" }
    )]
    Titles {
        /// Name of the file.
        file: String,
        /// Number of headers in the first line. The error does not contain the headers themselves:
        /// if the user passed a wrong file, they may be secret.
        column_count: usize,
    },
}

/// Headers of the columns by which rows without data from the host are sorted. The first column
/// that the file has is used.
const START: [&str; 2] = ["DEVICE KERNEL START CYCLE", "DEVICE FW START CYCLE"];

/// Rows of one file.
#[derive(Clone, Debug)]
pub struct OpsCsv {
    /// Name of the file, as given by the caller.
    pub file: String,
    /// Format version of the file.
    pub format: OpsCsvFormat,
    /// Column with the kernel durations of ops.
    pub kernel_column: KernelColumn,
    /// Headers of all columns, in the order of the file.
    pub titles: Vec<Arc<str>>,
    /// Rows in the order of the file.
    pub rows: Vec<OpRow>,
    /// Number of lines without any usable content.
    pub skipped_line_count: u64,
    /// Number of lines that begin with `#` before the titles.
    pub comment_line_count: u64,
    /// Problems found while reading the file.
    pub problems: ProblemLog,
}

impl OpsCsv {
    /// Returns the header of the column that a user means by `asked`. Upper and lower case, blanks
    /// and underscores are alike, and the prefix `CALL ` may be left out.
    #[must_use]
    pub fn column(&self, asked: &str) -> Option<Arc<str>> {
        find_title(&self.titles, asked)
    }
}

/// Reads an ops CSV of any format version. Messages use `file` as the file's name.
///
/// A row with too few cells is kept up to its last cell, which may be truncated. A row with too
/// many cells is left out, because its cells cannot be assigned to columns. All rows are kept in
/// memory. If a line contains a quote, the text from this line to the end of the file is read into
/// memory as well.
///
/// # Errors
/// Returns an error if the stream cannot be read, or if it does not begin like an ops CSV.
///
/// ```
/// let text = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns]\nMatmul,tt_dnn_device,0,1500\n";
/// let csv = reports::perf::read_ops_csv(text.as_bytes(), "ops.csv")?;
/// assert_eq!(csv.rows[0].kernel_duration_ns, Some(1500.0));
/// // A report wants more columns than these; the missing ones are named.
/// assert!(!csv.problems.kept().is_empty());
/// # Ok::<(), reports::perf::OpsCsvError>(())
/// ```
pub fn read_ops_csv(input: impl Read, file: &str) -> Result<OpsCsv, OpsCsvError> {
    read_ops_csv_with(input, file, None)
}

/// Reads an ops CSV like [`read_ops_csv`], and keeps the cells of the column `asked` as texts. The
/// cells of columns that no report of TT-Metal has are always kept.
///
/// # Errors
/// See [`read_ops_csv`].
///
/// ```
/// let text = "OP CODE,OP TYPE,DEVICE ID,LOC\nMatmul,tt_dnn_device,0,layer1\n";
/// let csv = reports::perf::read_ops_csv_with(text.as_bytes(), "ops.csv", Some("op code"))?;
/// let others: Vec<_> = csv.rows[0].others.iter().map(|(title, cell)| (&**title, &**cell)).collect();
/// assert_eq!(others, [("OP CODE", "Matmul"), ("LOC", "layer1")]);
/// # Ok::<(), reports::perf::OpsCsvError>(())
/// ```
pub fn read_ops_csv_with(
    input: impl Read,
    file: &str,
    asked: Option<&str>,
) -> Result<OpsCsv, OpsCsvError> {
    let failed = |source| OpsCsvError::Io { file: file.to_owned(), source };
    let mut part = FilePart::first(input).map_err(failed)?;
    if part.bytes.trim_ascii().is_empty() {
        return Err(OpsCsvError::Empty { file: file.to_owned() });
    }
    let text = part.text();
    let (start, comment_line_count) = after_comments(text.as_bytes());
    let mut records = CsvRecords::from_line(text.as_bytes(), start, comment_line_count);
    let (first, extent) = next_record(&mut records).unwrap_or_default();
    let (mut start, mut line) = records.end();
    let titles = Titles::new(&first);
    if !titles.are_of_ops() {
        let column_count = first.len();
        return Err(OpsCsvError::Titles { file: file.to_owned(), column_count });
    }
    let mut problems = ProblemLog::default();
    titles.check(file, extent.line, &mut problems);
    let titles_line = extent.line;
    let rows = RowsOf { file, titles: &titles, columns: RowColumns::new(&titles, asked) };
    let mut read = RowsRead::default();
    let mut pools: Vec<TextPool> = std::iter::repeat_with(TextPool::default).take(PARTS).collect();
    drop(text);
    while !part.is_last
        && let Ok(text) = std::str::from_utf8(part.whole_lines())
    {
        let found = PlainLines::from_text(text.as_bytes(), start, line);
        let is_plain = found.end > 0 && found.end >= text.len();
        rows.read_plain(text, &found.lines, &mut pools, &mut read);
        (start, line) = (0, found.next_line);
        part.take(found.end);
        part.read_more(if is_plain { BYTES_AT_ONCE } else { u64::MAX }).map_err(failed)?;
    }
    part.read_more(u64::MAX).map_err(failed)?;
    let text = part.text();
    let records = CsvRecords::from_line(text.as_bytes(), start, line.saturating_sub(1));
    rows.read(&text, records, &mut pools, &mut read);
    if read.has_more_titles {
        rows.skip_copies(&mut read);
    }
    if read.rows.is_empty() && read.skipped_line_count == 0 {
        let place = Position { file, line: titles_line, column: "" };
        let expected = "rows of ops after the titles";
        problems.add_deviation(place, expected, "the end of the file", "there are no ops");
    }
    separate_hosts(&mut read.rows, file, &mut problems);
    // Rows without data from the host are in the order of programs, and have no host times. They
    // are sorted by start here.
    if titles.has_only_device_data() {
        read.rows.sort_by_key(|row| read.starts.get(&row.line).copied());
        if titles.index(LATENCY).is_none() {
            add_latencies(&mut read.rows);
        }
    }
    problems.append(read.problems);
    correct_core_times(&mut read.rows, file, &mut problems);
    note_too_many_cores(&read.rows, file, &mut problems);
    Ok(OpsCsv {
        file: file.to_owned(),
        format: titles.format,
        kernel_column: titles.kernel_column(),
        titles: titles.all().to_vec(),
        rows: read.rows,
        skipped_line_count: read.skipped_line_count,
        comment_line_count,
        problems,
    })
}

/// Computes the time between the kernels of an op and the op before on the same device, which tables
/// of the streaming profiler lack. The rows are sorted by start.
fn add_latencies(rows: &mut [OpRow]) {
    let mut ends: HashMap<Option<u64>, u64> = HashMap::new();
    for row in rows {
        let Some((start, end)) = row.kernel_cycles else { continue };
        let before = ends.entry(row.device).or_insert(start);
        let clock_ghz = row.clock_ghz;
        let [from, to] = [*before, start].map(|cycle| cycle as f64);
        row.op_to_op_latency_ns = clock_ghz.map(|clock_ghz| ((to - from) / clock_ghz).round());
        *before = end.max(*before);
    }
}

/// Returns the number of bytes and of lines that begin with `#` before the line of titles.
fn after_comments(text: &[u8]) -> (usize, u64) {
    let (mut bytes, mut lines) = (0_usize, 0_u64);
    while let Some(rest) = text.get(bytes..).filter(|rest| rest.starts_with(b"#")) {
        let Some(end) = memchr::memchr(b'\n', rest) else { break };
        bytes = bytes.saturating_add(end).saturating_add(1);
        lines = lines.saturating_add(1);
    }
    (bytes, lines)
}

/// Number of bytes of a file that are read at a time. Blocks that fit into the processor's caches
/// are faster to read.
const BYTES_AT_ONCE: u64 = 2 << 20;

/// Byte order mark that spreadsheets write at the start of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Block of a file in memory.
struct FilePart<R> {
    input: R,
    bytes: Vec<u8>,
    /// True if this is the last block of the file.
    is_last: bool,
}

impl<R: Read> FilePart<R> {
    /// Reads the first block of the file. If the complete lines of this block contain a quote, are
    /// blank or are not UTF-8, reads the whole file.
    fn first(input: R) -> io::Result<Self> {
        let mut part = Self { input, bytes: Vec::new(), is_last: false };
        part.read_more(BYTES_AT_ONCE)?;
        if part.bytes.starts_with(BYTE_ORDER_MARK) {
            part.take(BYTE_ORDER_MARK.len());
        }
        let lines = part.whole_lines();
        let has_quotes = memchr::memchr(b'"', lines).is_some();
        if has_quotes || lines.trim_ascii().is_empty() || std::str::from_utf8(lines).is_err() {
            part.read_more(u64::MAX)?;
        }
        Ok(part)
    }

    /// Reads up to `count` more bytes.
    fn read_more(&mut self, count: u64) -> io::Result<()> {
        if !self.is_last {
            let found = self.input.by_ref().take(count).read_to_end(&mut self.bytes)?;
            self.is_last = (found as u64) < count;
        }
        Ok(())
    }

    /// Removes bytes from the start of the block.
    fn take(&mut self, count: usize) {
        self.bytes.drain(..count.min(self.bytes.len()));
    }

    /// Returns the lines that are completely in memory.
    fn whole_lines(&self) -> &[u8] {
        let end = memchr::memrchr(b'\n', &self.bytes).map_or(0, |at| at.saturating_add(1));
        self.bytes.get(..end).unwrap_or(&self.bytes)
    }

    /// Returns the text of the complete lines in memory or, at the end of the file, all text in
    /// memory.
    fn text(&self) -> Cow<'_, str> {
        let bytes = if self.is_last { &self.bytes } else { self.whole_lines() };
        // Nearly all files are valid UTF-8, and checking is several times faster than a lossy
        // conversion.
        std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
    }
}

/// Maximum number of lines that are converted in one step, before their rows are joined.
const LINES_AT_ONCE: usize = 16_384;

/// Number of groups into which the lines of one step are divided. The groups are read in parallel,
/// each with its own pool of shared texts.
const PARTS: usize = 16;

/// Reader of a file's rows.
struct RowsOf<'a> {
    file: &'a str,
    titles: &'a Titles,
    columns: RowColumns,
}

/// Result of reading a block of a file.
#[derive(Default)]
struct RowsRead {
    rows: Vec<OpRow>,
    /// Start cycle of each row by line, for files that must be sorted by start.
    starts: HashMap<u64, u64>,
    skipped_line_count: u64,
    /// True if a line was the line of titles again, as where files were joined.
    has_more_titles: bool,
    problems: ProblemLog,
}

impl RowsRead {
    fn append(&mut self, other: Self) {
        self.rows.extend(other.rows);
        self.starts.extend(other.starts);
        self.skipped_line_count = self.skipped_line_count.saturating_add(other.skipped_line_count);
        self.has_more_titles |= other.has_more_titles;
        self.problems.append(other.problems);
    }
}

impl RowsOf<'_> {
    /// Reads lines without quotes in parallel, and all other lines one by one.
    fn read(
        &self,
        text: &str,
        mut records: CsvRecords<'_>,
        pools: &mut [TextPool],
        read: &mut RowsRead,
    ) {
        let mut open_quotes = 0;
        loop {
            self.read_plain(text, &records.plain_lines(), pools, read);
            let Some((record, extent)) = next_record(&mut records) else { return };
            let Extent { line, line_count, .. } = extent;
            let count = record.len();
            if count != self.titles.count && line_count > 1 && open_quotes < MAX_OPEN_QUOTES {
                open_quotes = open_quotes.saturating_add(1);
                self.skip(line, "cells whose quotes are closed", "a quote that stays open", read);
                records.resume_after_line_of(&extent);
                continue;
            }
            let mut cells = record.iter().collect();
            if let Some(texts) = pools.first_mut() {
                self.add_row(&mut cells, line, texts, read);
            }
        }
    }

    /// Reads lines without quotes, each of which is one record.
    fn read_plain(
        &self,
        text: &str,
        lines: &[PlainLine],
        pools: &mut [TextPool],
        read: &mut RowsRead,
    ) {
        read.rows.reserve(lines.len());
        // The lines are read in steps, in order to reuse the memory of the groups.
        for lines in lines.chunks(LINES_AT_ONCE) {
            let parts = lines.par_chunks(lines.len().div_ceil(PARTS).max(1));
            let parts = parts.zip(pools.par_iter_mut());
            let parts: Vec<_> =
                parts.map(|(lines, texts)| self.plain_rows(text, lines, texts)).collect();
            parts.into_iter().for_each(|part| read.append(part));
        }
    }

    fn plain_rows(&self, text: &str, lines: &[PlainLine], texts: &mut TextPool) -> RowsRead {
        let mut read = RowsRead { rows: Vec::with_capacity(lines.len()), ..RowsRead::default() };
        let mut cells = Vec::with_capacity(self.titles.count);
        for line in lines {
            cells.clear();
            // Lines and commas begin and end between characters, so slicing cannot fail.
            let text = text.get(line.bytes.clone()).unwrap_or("");
            let mut start = 0;
            for end in memchr::memchr_iter(b',', text.as_bytes()) {
                cells.push(text.get(start..end).unwrap_or(""));
                start = end.saturating_add(1);
            }
            cells.push(text.get(start..).unwrap_or(""));
            self.add_row(&mut cells, line.line, texts, &mut read);
        }
        read
    }

    fn add_row(&self, cells: &mut Vec<&str>, line: u64, texts: &mut TextPool, read: &mut RowsRead) {
        let (count, expected) = (cells.len(), self.titles.count);
        if count > expected {
            self.skip(line, &cells_text(expected), &cells_text(count), read);
            return;
        }
        if count < expected {
            let place = Position { file: self.file, line, column: "" };
            let effect = "the row is kept up to the cell in which it ends, which may be cut";
            let [expected, found] = [expected, count].map(cells_text);
            read.problems.add_deviation(place, &expected, &found, effect);
            cells.truncate(count.saturating_sub(1));
        }
        if cells.iter().all(|cell| cell.trim().is_empty()) {
            self.skip(line, "a row with an op", "blank cells only", read);
            return;
        }
        if self.are_titles(cells) {
            read.has_more_titles = true;
            self.skip(line, "a row with an op", "the titles again, as in joined files", read);
            return;
        }
        let start = START.iter().find_map(|title| self.titles.index(title));
        if self.titles.has_only_device_data()
            && let Some(start) = start.and_then(|at| cells.get(at))
        {
            read.starts.insert(line, start.trim().parse::<u64>().unwrap_or(u64::MAX));
        }
        let (columns, file) = (&self.columns, self.file);
        let problems = &mut read.problems;
        let row = RowReader { columns, cells, file, line, texts, problems }.read();
        read.rows.push(row);
    }

    /// Returns true if the first cells are the titles of their columns.
    fn are_titles(&self, cells: &[&str]) -> bool {
        let mut titled = cells.iter().zip(self.titles.all());
        titled.by_ref().take(2).all(|(cell, title)| cell.trim() == &**title)
    }

    /// Leaves out rows that say the same as an earlier one: a launch has cycles of its own.
    fn skip_copies(&self, read: &mut RowsRead) {
        let mut known: HashMap<(Option<u64>, u64), OpRow> = HashMap::new();
        let mut copies = Vec::new();
        read.rows.retain(|row| {
            let Some(start) = row.firmware_start_cycle else { return true };
            let earlier = known.entry((row.device, start)).or_insert_with(|| row.clone());
            let is_copy =
                earlier.line != row.line && OpRow { line: row.line, ..earlier.clone() } == *row;
            if is_copy {
                copies.push((row.line, earlier.line));
            }
            !is_copy
        });
        for (line, earlier) in copies {
            self.skip(
                line,
                "a launch of its own",
                &format!("the same row as line {earlier}"),
                read,
            );
        }
    }

    fn skip(&self, line: u64, expected: &str, found: &str, read: &mut RowsRead) {
        read.skipped_line_count = read.skipped_line_count.saturating_add(1);
        let place = Position { file: self.file, line, column: "" };
        read.problems.add_deviation(place, expected, found, "the line is left out");
    }
}

fn cells_text(count: usize) -> String {
    counted(count as u64, "cell", "cells")
}

/// Returns the next record: its cells, and its position in the file.
fn next_record(records: &mut CsvRecords<'_>) -> Option<(csv::StringRecord, Extent)> {
    let mut bytes = csv::ByteRecord::new();
    let extent = records.next(&mut bytes)?;
    Some((csv::StringRecord::from_byte_record_lossy(bytes), extent))
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
        csv.rows.iter().map(|row| &*row.op_code).collect()
    }

    #[test]
    fn a_clean_file_has_no_problems_and_lines_are_counted_as_editors_do() {
        let csv = read(&format!("{}\r\n{}", row("A"), row("\"B\nC\"")));
        assert_eq!(csv.problems.kept(), []);
        assert_eq!(names(&csv), ["A", "BC"]);
        assert_eq!(csv.rows.iter().map(|row| row.line).collect::<Vec<_>>(), [2, 4]);
    }

    /// A program that ran twice, with another program in between. Cycles and names are from a real
    /// file.
    #[test]
    fn programs_of_the_streaming_profiler_are_in_the_order_of_their_starts() {
        let text = "DEVICE ID,GLOBAL CALL COUNT,EXECUTION,CORE COUNT,DEVICE KERNEL START CYCLE,\
            DEVICE KERNEL END CYCLE,DEVICE KERNEL DURATION [ns]\n\
            0,1024,0,64,1000,2350,1000\n0,1024,1,64,9000,10350,1000.5\n0,2048,0,8,4000,5350,1000\n";
        let csv = read_ops_csv(text.as_bytes(), "a.csv").unwrap();
        assert_eq!(csv.format.label(), "streaming");
        assert_eq!(names(&csv), ["program 1", "program 2", "program 1"]);
        assert!(csv.rows.iter().all(OpRow::is_device_op));
        let [_, second, last] = csv.rows.as_slice() else { panic!("{:?}", csv.rows) };
        assert_eq!((second.core_count, second.device), (Some(8), Some(0)));
        assert_eq!((last.kernel_duration_ns, &*last.global_call_count), (Some(1000.5), "1024"));
        let [problem] = csv.problems.kept() else { panic!("{:?}", csv.problems) };
        assert_eq!(problem.column.as_deref(), Some("OP CODE"));
        assert!(read_ops_csv(&b"DEVICE ID,GLOBAL CALL COUNT,EXECUTION\n"[..], "a.csv").is_err());
    }

    #[test]
    fn titles_of_joined_files_are_no_op_and_rows_count_once() {
        let titles = format!("{TITLES},DEVICE FW START CYCLE,DEVICE FW END CYCLE");
        let row = |name: &str, start: u64| format!("{},{start},9000\n", row(name).trim_end());
        let one = format!("{titles}\n{}{}", row("A", 100), row("B", 200));
        let other = format!("{titles}\n{}{}", row("A", 300), row("B", 200));
        let csv = read_ops_csv((one + &other).as_bytes(), "a.csv").unwrap();
        assert_eq!(names(&csv), ["A", "B", "A"]);
        assert_eq!(csv.rows.iter().map(|row| row.line).collect::<Vec<_>>(), [2, 3, 5]);
        assert_eq!(csv.skipped_line_count, 2);
        let problems: Vec<String> = csv.problems.kept().iter().map(ToString::to_string).collect();
        let said = ["found the titles again, as in joined files", "found the same row as line 3"];
        for text in said {
            assert!(problems.iter().any(|problem| problem.contains(text)), "{text}: {problems:#?}");
        }
        // Rows without cycles may be alike.
        let alike = [TITLES, row("A", 1).rsplitn(3, ',').last().unwrap()].join("\n");
        let twice = format!("{alike}\n{alike}\n");
        assert_eq!(names(&read_ops_csv(twice.as_bytes(), "a.csv").unwrap()), ["A", "A"]);
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
        // If a cell of a line has quotes, the line is read separately.
        let alone = mixed_rows(&|_| true);
        assert_eq!((alone.len(), alone[2999].line, &*alone[2999].op_code), (3000, 3001, "Op2999"));
        assert_eq!(mixed_rows(&|_| false), alone);
        assert_eq!(mixed_rows(&|number| number % 7 == 3), alone);
        assert_eq!(mixed_rows(&|number| number > 0 && number < 2000), alone);
    }

    fn mixed_rows(is_quoted: &dyn Fn(usize) -> bool) -> Vec<OpRow> {
        let text: String = (0..3000).map(|number| quoted_row(number, is_quoted(number))).collect();
        read(&text).rows
    }

    fn quoted_row(number: usize, is_quoted: bool) -> String {
        let quote = if is_quoted { "\"" } else { "" };
        row(&format!("{quote}Op{number}{quote}"))
    }

    /// Tests a file that is read in several blocks. The blocks end in the middle of lines.
    #[test]
    fn a_file_of_many_parts_is_read_as_one() {
        const LINES: usize = 80_000;
        let name = |number: usize| format!("Op{number}{}", "x".repeat(number % 31));
        let written = |odd: &dyn Fn(usize) -> Option<String>| {
            format!(
                "{TITLES}\r\n{}",
                (0..LINES)
                    .map(|number| odd(number).unwrap_or_else(|| row(&name(number))))
                    .collect::<String>()
            )
            .into_bytes()
        };
        let read = |bytes: &[u8]| {
            assert!(bytes.len() > 2 * usize::try_from(BYTES_AT_ONCE).unwrap());
            let csv = read_ops_csv(bytes, "a.csv").unwrap();
            let rows = csv.rows.iter().map(|row| (row.line, row.op_code.to_string()));
            (rows.collect::<Vec<_>>(), csv.skipped_line_count)
        };
        let plain: Vec<_> = (0..LINES).map(|number| (number as u64 + 2, name(number))).collect();
        assert_eq!(read(&written(&|_| None)), (plain.clone(), 0));
        // From the first line with a quote, a file is read one record after the other. In the first
        // case, this is the whole file.
        for at in [0, 50_000] {
            assert_eq!(
                read(&written(
                    &|number| (number == at).then(|| row(&format!("\"{}\"", name(number))))
                )),
                (plain.clone(), 0)
            );
        }
        let others: Vec<_> = plain.iter().filter(|(line, _)| *line != 50_002).cloned().collect();
        assert_eq!(
            read(&written(&|number| (number == 50_000).then(|| format!("\"{}", row("B"))))),
            (others, 1)
        );
        // A byte that is not valid UTF-8, and a blank line.
        let mut bytes = written(&|number| (number == 40_000).then(|| "\r\n".to_owned()));
        let at = bytes.len() - row(&name(LINES - 1)).len();
        bytes[at] = 0xFF;
        let mut odd: Vec<_> = plain.into_iter().filter(|(line, _)| *line != 40_002).collect();
        odd.last_mut().unwrap().1.replace_range(..1, "\u{FFFD}");
        assert_eq!(read(&bytes), (odd, 0));
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
