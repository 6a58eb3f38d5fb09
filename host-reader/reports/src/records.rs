//! Records of a CSV text, with their positions. The reader can go back to the line of an unclosed
//! quote.

/// Position of a record in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Line of the record's first character, from 1.
    pub(crate) line: u64,
    pub(crate) line_count: u64,
    /// Index of the record's first byte in the text.
    start: usize,
}

/// Line of a text that forms one record without quotes.
pub(crate) struct PlainLine {
    /// Line number, from 1.
    pub(crate) line: u64,
    /// Bytes of the line, without its line end.
    pub(crate) bytes: std::ops::Range<usize>,
}

/// Lines of a text up to the first line with a quote. Blank lines are not records.
pub(crate) struct PlainLines {
    pub(crate) lines: Vec<PlainLine>,
    /// Index of the first byte after the lines.
    pub(crate) end: usize,
    /// Number of the line that begins at `end`.
    pub(crate) next_line: u64,
}

impl PlainLines {
    /// Finds the lines from byte `start` on. `first_line` is the number of the line that begins at
    /// `start`.
    pub(crate) fn from_text(text: &[u8], start: usize, first_line: u64) -> Self {
        let (mut end, mut next_line) = (start, first_line);
        let mut lines = Vec::new();
        while let Some(rest) = text.get(end..).filter(|rest| !rest.is_empty()) {
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let found = rest.get(..length).unwrap_or(rest);
            let found = found.strip_suffix(b"\r").unwrap_or(found);
            if memchr::memchr2(b'"', b'\r', found).is_some() {
                break;
            }
            if !found.is_empty() {
                lines.push(PlainLine {
                    line: next_line,
                    bytes: end..end.saturating_add(found.len()),
                });
            }
            end = end.saturating_add(length).saturating_add(1).min(text.len());
            next_line = next_line.saturating_add(1);
        }
        Self { lines, end, next_line }
    }
}

/// Records of a text. After a record, reading can resume at the record's second line. This is
/// needed if a quote in the first line is never closed.
pub(crate) struct CsvRecords<'text> {
    text: &'text [u8],
    reader: csv::Reader<&'text [u8]>,
    /// Index of the byte at which the reader started.
    base: usize,
    /// Number of lines before that byte.
    base_line: u64,
}

impl<'text> CsvRecords<'text> {
    pub(crate) fn new(text: &'text [u8]) -> Self {
        Self { text, reader: reader_of(text), base: 0, base_line: 0 }
    }

    /// Reads the next record.
    pub(crate) fn next(&mut self, record: &mut csv::ByteRecord) -> Option<Extent> {
        // Reading bytes from memory cannot fail.
        if !self.reader.read_byte_record(record).unwrap_or(false) {
            return None;
        }
        let position = record.position().cloned().unwrap_or_else(csv::Position::new);
        let start = self.offset(&position);
        let text = self.text.get(start..).unwrap_or(b"");
        // The reader's position is before the line ends that it will skip.
        let skipped = text.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
        let skipped_lines = skipped.clone().filter(|&&byte| byte == b'\n').count() as u64;
        let start = start.saturating_add(skipped.count());
        let line = self.base_line.saturating_add(position.line()).saturating_add(skipped_lines);
        let end = self.offset(self.reader.position());
        let body = self.text.get(start..end).unwrap_or(b"").trim_ascii_end();
        let line_count = (memchr::memchr_iter(b'\n', body).count() as u64).saturating_add(1);
        Some(Extent { line, line_count, start })
    }

    /// Returns a reader that starts at the byte with the index `byte`. `line_count` is the number
    /// of lines before this byte.
    pub(crate) fn from_line(text: &'text [u8], byte: usize, line_count: u64) -> Self {
        let mut records = Self::new(text);
        records.resume_at(byte, line_count);
        records
    }

    /// Returns the index of the first byte after the last record that was read, and the number of
    /// the line at that byte.
    pub(crate) fn end(&self) -> (usize, u64) {
        let position = self.reader.position();
        let (end, line) = (self.offset(position), self.base_line.saturating_add(position.line()));
        // The reader stops before the `\n` of a `\r\n`, and has not counted that line yet.
        match self.text.get(end) {
            Some(&b'\n') => (end.saturating_add(1), line.saturating_add(1)),
            _ => (end, line),
        }
    }

    /// Reads and returns the lines up to the first line that contains a quote.
    pub(crate) fn plain_lines(&mut self) -> Vec<PlainLine> {
        let (start, line) = self.end();
        let PlainLines { lines, end, next_line } = PlainLines::from_text(self.text, start, line);
        if end > start {
            self.resume_at(end, next_line.saturating_sub(1));
        }
        lines
    }

    /// Converts a position of the reader to a byte index in the text.
    fn offset(&self, position: &csv::Position) -> usize {
        self.base.saturating_add(usize::try_from(position.byte()).unwrap_or(usize::MAX))
    }

    /// Continues reading at the second line of a record.
    pub(crate) fn resume_after_line_of(&mut self, extent: &Extent) {
        let rest = self.text.get(extent.start..).unwrap_or(b"");
        let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end.saturating_add(1));
        self.resume_at(extent.start.saturating_add(length), extent.line);
    }

    /// Continues reading at a byte. `line_count` is the number of lines before that byte.
    fn resume_at(&mut self, byte: usize, line_count: u64) {
        (self.base, self.base_line) = (byte.min(self.text.len()), line_count);
        self.reader = reader_of(self.text.get(self.base..).unwrap_or(b""));
    }
}

fn reader_of(text: &[u8]) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text)
}
