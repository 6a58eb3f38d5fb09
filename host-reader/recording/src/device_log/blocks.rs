//! Splits a stream into blocks of whole lines, to read a log of any size with little memory.

use std::io::{self, Read};

/// Bytes per block; small enough that the text is still cached when it is parsed.
pub(super) const BLOCK_BYTES: usize = 1 << 20;

/// Maximum line length; longer lines are skipped.
pub(super) const LINE_BYTES_MAX: usize = 16 << 20;

/// Whole lines of a stream, and a flag that is true if a line before them was skipped.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) text: Vec<u8>,
    /// True if the line before `text` was too long and was skipped.
    pub(super) skipped_long_line: bool,
}

/// The blocks of a stream, in order.
pub(super) struct Blocks<R> {
    input: R,
    /// Beginning of an incomplete line.
    rest: Vec<u8>,
    block_bytes: usize,
    line_bytes_max: usize,
    is_at_end: bool,
}

impl<R: Read> Blocks<R> {
    pub(super) const fn new(input: R, block_bytes: usize, line_bytes_max: usize) -> Self {
        Self { input, rest: Vec::new(), block_bytes, line_bytes_max, is_at_end: false }
    }

    /// Reads the first block, which contains both header lines unless they are too long.
    ///
    /// Reading stops if the first line is too long: the input is then no log, and it may be very
    /// large.
    pub(super) fn first(&mut self) -> io::Result<Option<Block>> {
        let text = self.take_lines(Vec::new(), |text| filled_lines(text).nth(1).is_some())?;
        let skipped_long_line = self.is_cut_line(&text);
        Ok(self.block(text, skipped_long_line))
    }

    /// Reads the next block into `memory`, the buffer of an earlier block.
    ///
    /// Returns `None` at the end of the stream.
    pub(super) fn next(&mut self, memory: Vec<u8>) -> io::Result<Option<Block>> {
        let mut text = self.take_lines(memory, |text| memchr::memchr(b'\n', text).is_some())?;
        let skipped_long_line = self.is_cut_line(&text);
        if skipped_long_line {
            self.skip_line(&mut text)?;
        }
        Ok(self.block(text, skipped_long_line))
    }

    /// Reads until `is_enough` returns true for the text, or until a line is too long.
    fn take_lines(
        &mut self,
        mut text: Vec<u8>,
        is_enough: impl Fn(&[u8]) -> bool,
    ) -> io::Result<Vec<u8>> {
        text.clear();
        text.append(&mut self.rest);
        let mut wanted = self.block_bytes.min(self.line_bytes_max);
        self.fill(&mut text, wanted)?;
        while !self.is_at_end && !is_enough(&text) && text.len() < self.line_bytes_max {
            wanted = wanted.saturating_mul(2).min(self.line_bytes_max);
            self.fill(&mut text, wanted)?;
        }
        Ok(text)
    }

    fn is_cut_line(&self, text: &[u8]) -> bool {
        text.len() >= self.line_bytes_max && !text.contains(&b'\n')
    }

    /// Returns the complete lines of `text`, and keeps the incomplete last line for the next block.
    /// Returns `None` at the end of the stream.
    fn block(&mut self, mut text: Vec<u8>, skipped_long_line: bool) -> Option<Block> {
        if text.is_empty() && !skipped_long_line {
            return None;
        }
        let whole = memchr::memrchr(b'\n', &text).map_or(0, |end| end.saturating_add(1));
        if !self.is_at_end {
            self.rest = text.split_off(whole.min(text.len()));
        }
        Some(Block { text, skipped_long_line })
    }

    /// Reads until `text` has `wanted` bytes or the stream ends.
    fn fill(&mut self, text: &mut Vec<u8>, wanted: usize) -> io::Result<()> {
        let missing = wanted.saturating_sub(text.len());
        if self.is_at_end || missing == 0 {
            return Ok(());
        }
        text.reserve_exact(missing);
        let found = self.input.by_ref().take(missing as u64).read_to_end(text)?;
        self.is_at_end = found < missing;
        Ok(())
    }

    /// Removes the text up to and including the next line end, then reads more text.
    fn skip_line(&mut self, text: &mut Vec<u8>) -> io::Result<()> {
        while !text.is_empty() {
            match memchr::memchr(b'\n', text) {
                Some(end) => {
                    text.drain(..=end);
                    return self.fill(text, self.block_bytes);
                }
                None => {
                    text.clear();
                    self.fill(text, self.block_bytes)?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the complete lines of `text` that are not blank.
fn filled_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    lines.filter(|line| line.ends_with(b"\n") && !line.trim_ascii().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks_of(text: &[u8], bytes: usize) -> Vec<(String, bool)> {
        let mut blocks = Blocks::new(text, bytes, bytes);
        let mut all = Vec::new();
        while let Some(block) = blocks.next(Vec::new()).unwrap() {
            all.push((String::from_utf8(block.text).unwrap(), block.skipped_long_line));
        }
        all
    }

    #[test]
    fn blocks_end_at_line_ends() {
        let text = b"aa\nbbb\ncccc\ndd";
        let blocks = blocks_of(text, 8);
        let lines: Vec<_> = blocks.iter().map(|(lines, _)| lines.as_str()).collect();
        assert_eq!(lines, ["aa\nbbb\n", "cccc\ndd"]);
        assert_eq!(blocks_of(text, 100).len(), 1);
        assert_eq!(blocks_of(b"", 8), []);
    }

    #[test]
    fn a_line_longer_than_a_block_makes_its_block_longer() {
        let mut blocks = Blocks::new(b"a\n0123456789\nb\nc\n".as_slice(), 4, 16);
        let mut texts = Vec::new();
        while let Some(block) = blocks.next(Vec::new()).unwrap() {
            assert!(!block.skipped_long_line);
            texts.push(String::from_utf8(block.text).unwrap());
        }
        assert_eq!(texts, ["a\n", "0123456789\nb\nc\n"]);
    }

    #[test]
    fn the_first_block_has_two_lines_that_are_not_blank() {
        let first = |text: &[u8]| Blocks::new(text, 2, 16).first().unwrap().unwrap().text;
        assert_eq!(first(b"\n\n a\n\nbb\nccccccccccccccc"), b"\n\n a\n\nbb\n");
        assert_eq!(first(b"a\nb"), b"a\nb");
        assert_eq!(first(b"a\n0123456789abcdefgh"), b"a\n", "a second line that is too long");
    }

    #[test]
    fn the_size_of_reads_changes_nothing() {
        struct Drops<'text>(&'text [u8]);
        impl Read for Drops<'_> {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                let count = into.len().min(3);
                self.0.read(&mut into[..count])
            }
        }
        let text = b"line\nand another\n".repeat(50);
        let mut blocks = Blocks::new(Drops(&text), 64, 64);
        let mut found = Vec::new();
        while let Some(block) = blocks.next(Vec::new()).unwrap() {
            assert!(block.text.ends_with(b"\n") && block.text.len() <= 64);
            found.extend(block.text);
        }
        assert_eq!(found, text);
    }

    #[test]
    fn a_line_longer_than_the_longest_is_skipped_and_said() {
        let blocks = blocks_of(b"a\n0123456789012345678901\nb\nc\n", 8);
        let expected = [("a\n", false), ("b\nc\n", true)];
        assert_eq!(blocks, expected.map(|(lines, long)| (lines.to_owned(), long)));
        assert_eq!(
            blocks_of(b"a\n01234567890123456789", 8).last().unwrap(),
            &(String::new(), true)
        );
    }
}
