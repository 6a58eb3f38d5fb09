//! Records of a CSV file with one record per line. An unclosed quote invalidates only its own line.

use crate::{problem::ProblemLog, records};

/// Reader of a file's records.
pub(super) struct LineRecords<'input> {
    file: &'input str,
    records: records::CsvRecords<'input>,
}

impl<'input> LineRecords<'input> {
    pub(super) fn new(bytes: &'input [u8], file: &'input str) -> Self {
        Self { file, records: records::CsvRecords::new(bytes) }
    }

    /// Reads the next record and returns its line number. An unclosed quote is logged as a problem.
    pub(super) fn next(
        &mut self,
        record: &mut csv::ByteRecord,
        problems: &mut ProblemLog,
    ) -> Option<u64> {
        loop {
            let extent = self.records.next(record)?;
            if extent.line_count == 1 {
                return Some(extent.line);
            }
            let detail = "expected a quote to be closed in its line; the line is left out";
            problems.add_to_line(self.file, extent.line, detail);
            self.records.resume_after_line_of(&extent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<(u64, String)>, ProblemLog) {
        let mut problems = ProblemLog::default();
        let mut records = LineRecords::new(text.as_bytes(), "a.csv");
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
