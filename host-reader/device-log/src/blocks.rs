//! Reading a stream block by block, each cut at a line end, so that a log of any size
//! needs the memory of one block, and a small one no more than its own size.

use std::io::{self, Read};

/// Bytes that are read at once; also the longest line that is looked at.
pub(super) const BLOCK_BYTES: usize = 16 << 20;

/// Whole lines, and what was left out before them.
pub(super) struct Block<'buffer> {
    pub(super) lines: &'buffer [u8],
    /// True if a line before these was too long for a block and was skipped.
    pub(super) skipped_long_line: bool,
}

/// A stream's blocks in order.
pub(super) struct Blocks<R> {
    input: R,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that were handed out.
    taken: usize,
    /// Bytes of `buffer` that are read.
    filled: usize,
    /// Bytes that the buffer may grow to.
    block_bytes: usize,
    is_at_end: bool,
}

/// Bytes of the buffer before anything is known of the stream.
const FIRST_BYTES: usize = 64 << 10;

impl<R: Read> Blocks<R> {
    pub(super) fn new(input: R, block_bytes: usize) -> Self {
        let buffer = vec![0; block_bytes.min(FIRST_BYTES)];
        Self { input, buffer, taken: 0, filled: 0, block_bytes, is_at_end: false }
    }

    /// The next block; `None` at the end of the stream.
    pub(super) fn next(&mut self) -> io::Result<Option<Block<'_>>> {
        self.refill()?;
        let skipped_long_line = self.is_one_cut_line() && self.skip_line()?;
        if self.filled == 0 && !skipped_long_line {
            return Ok(None);
        }
        let whole = memchr::memrchr(b'\n', &self.buffer[..self.filled]).map_or(0, |at| at + 1);
        self.taken = if self.is_at_end { self.filled } else { whole };
        Ok(Some(Block { lines: &self.buffer[..self.taken], skipped_long_line }))
    }

    /// Moves what was not handed out to the front and fills up the rest.
    fn refill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.taken..self.filled, 0);
        self.filled -= self.taken;
        self.taken = 0;
        while !self.is_at_end && self.filled < self.block_bytes {
            if self.filled == self.buffer.len() {
                self.buffer.resize((2 * self.filled).min(self.block_bytes), 0);
            }
            match self.input.read(&mut self.buffer[self.filled..]) {
                Ok(0) => self.is_at_end = true,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn is_one_cut_line(&self) -> bool {
        let lines = &self.buffer[..self.filled];
        self.filled == self.block_bytes && memchr::memchr(b'\n', lines).is_none()
    }

    /// Throws away everything up to and with the next line end.
    fn skip_line(&mut self) -> io::Result<bool> {
        while self.filled > 0 {
            match memchr::memchr(b'\n', &self.buffer[..self.filled]) {
                Some(end) => {
                    self.taken = end + 1;
                    self.refill()?;
                    break;
                }
                None => {
                    self.taken = self.filled;
                    self.refill()?;
                }
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks_of(text: &[u8], block_bytes: usize) -> Vec<(String, bool)> {
        let mut blocks = Blocks::new(text, block_bytes);
        let mut all = Vec::new();
        while let Some(block) = blocks.next().unwrap() {
            let lines = String::from_utf8(block.lines.to_vec()).unwrap();
            all.push((lines, block.skipped_long_line));
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
    fn the_buffer_grows_with_the_stream_up_to_a_block() {
        for (text_bytes, buffer_bytes) in [(10, 64 << 10), (70_000, 128 << 10), (999_999, 200_000)]
        {
            let text = b"line\n".repeat(text_bytes / 5);
            let mut blocks = Blocks::new(text.as_slice(), 200_000);
            let mut found = 0;
            while let Some(block) = blocks.next().unwrap() {
                found += block.lines.len();
            }
            assert_eq!((found, blocks.buffer.len()), (text.len(), buffer_bytes));
        }
    }

    #[test]
    fn a_line_longer_than_a_block_is_skipped_and_said() {
        let blocks = blocks_of(b"a\n0123456789012345678901\nb\nc\n", 8);
        let expected = [("a\n", false), ("b\nc\n", true)];
        assert_eq!(blocks, expected.map(|(lines, long)| (lines.to_owned(), long)));
        assert_eq!(
            blocks_of(b"a\n01234567890123456789", 8).last().unwrap(),
            &(String::new(), true)
        );
    }
}
