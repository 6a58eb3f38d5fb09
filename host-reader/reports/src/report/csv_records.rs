//! Records of a CSV file with a record in each line, so that a quote that is never closed
//! spoils its own line only.

use super::problem::ProblemLog;

/// The records of a file, and their positions.
pub(super) struct CsvRecords<'input> {
    bytes: &'input [u8],
    file: &'input str,
    reader: csv::Reader<&'input [u8]>,
    /// Where the reader began.
    offset: usize,
    line: u64,
}

impl<'input> CsvRecords<'input> {
    pub(super) fn new(bytes: &'input [u8], file: &'input str) -> Self {
        Self { bytes, file, reader: reader_of(bytes), offset: 0, line: 1 }
    }

    /// Reads the next record and gives its line; one whose quotes stay open is a problem.
    pub(super) fn next(
        &mut self,
        record: &mut csv::ByteRecord,
        problems: &mut ProblemLog,
    ) -> Option<u64> {
        while let Ok(true) = self.reader.read_byte_record(record) {
            let begin = record.position()?;
            let (from, to) = (self.place(begin), self.place(self.reader.position()));
            let text = self.bytes.get(from..to)?;
            // The end of the line before may still be there.
            let text = text.trim_ascii_start();
            let start = to.saturating_sub(text.len());
            let ended = self.bytes.get(from..start).unwrap_or(&[]);
            let lines = begin.line().saturating_sub(1).saturating_add(newline_count(ended));
            let line = self.line.saturating_add(lines);
            let Some(newline) = newline_within(text) else { return Some(line) };
            let detail = "expected a quote to be closed in its line; the line is left out";
            problems.of_line(self.file, line, detail);
            self.offset = start.saturating_add(newline).saturating_add(1);
            self.line = line.saturating_add(1);
            self.reader = reader_of(self.bytes.get(self.offset..).unwrap_or(&[]));
        }
        None
    }

    /// Where in the file the reader's position is.
    fn place(&self, position: &csv::Position) -> usize {
        let byte = usize::try_from(position.byte()).unwrap_or(usize::MAX);
        self.offset.saturating_add(byte).min(self.bytes.len())
    }
}

fn newline_count(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// The first line's end, if something follows it.
fn newline_within(record: &[u8]) -> Option<usize> {
    memchr::memchr(b'\n', record.trim_ascii_end())
}

fn reader_of(bytes: &[u8]) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new().flexible(true).has_headers(false).from_reader(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<(u64, String)>, ProblemLog) {
        let mut problems = ProblemLog::default();
        let mut records = CsvRecords::new(text.as_bytes(), "a.csv");
        let mut record = csv::ByteRecord::new();
        let mut found = Vec::new();
        while let Some(line) = records.next(&mut record, &mut problems) {
            let fields: Vec<_> = record.iter().map(String::from_utf8_lossy).collect();
            found.push((line, fields.join("|")));
        }
        (found, problems)
    }

    #[test]
    fn an_open_quote_spoils_its_own_line_only() {
        for end in ["\n", "\r\n"] {
            let text = ["a,\"b,c\",d", "e,\"f", "g,h", "i,\"j\"\"\"", "\"k", "l"].join(end) + end;
            let (found, problems) = read(&text);
            let expected = [(1, "a|b,c|d"), (3, "g|h"), (4, "i|j\""), (6, "l")];
            let expected: Vec<_> = expected.map(|(l, text)| (l, text.to_owned())).to_vec();
            assert_eq!(found, expected, "{end:?}");
            let lines: Vec<_> = problems.kept().iter().map(|problem| problem.line).collect();
            assert_eq!(lines, [Some(2), Some(5)], "{end:?}");
        }
    }

    #[test]
    fn a_quote_that_is_open_in_the_last_line_takes_nothing_with_it() {
        let (found, problems) = read("a,b\nc,\"d");
        assert_eq!(found, [(1, "a|b".to_owned()), (2, "c|d".to_owned())]);
        assert_eq!(problems.count(), 0);
    }
}
