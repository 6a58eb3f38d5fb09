//! The lines of a zone log, as a compiler prints `#pragma message`.
//!
//! ```text
//! k.cpp:10:5: note: '#pragma message: NAME,FILE,LINE,KERNEL_PROFILER'
//! ```
//!
//! In a UTF-8 locale the quotes are U+2018 and U+2019. Builds that run side by side have
//! been seen to print into each other's lines, so a line may hold any number of texts, and
//! halves of them.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a position is where something was found"
)]

use super::ZoneText;
use std::io::{self, BufRead, Read};
use wire::zone::ZONE_TAG;

/// The longest line that is read as one.
pub(super) const LONGEST_LINE_BYTES: usize = 1 << 16;

const DELIMITER: &[u8] = b"#pragma message: ";

/// Quotes that may end a text: those of the C locale and of UTF-8 ones.
const CLOSING_QUOTES: [&[u8]; 2] = [b"'", "\u{2019}".as_bytes()];

/// Quotes that may precede a text.
const OPENING_QUOTES: [&[u8]; 2] = [b"'", "\u{2018}".as_bytes()];

/// Reads the next line into `line`; `false` at the end.
///
/// If a line is longer than [`LONGEST_LINE_BYTES`], one byte more is kept and the rest skipped.
pub(super) fn read_line(log: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let limit = LONGEST_LINE_BYTES as u64 + 1;
    if log.by_ref().take(limit).read_until(b'\n', line)? == 0 {
        return Ok(false);
    }
    if line.len() > LONGEST_LINE_BYTES && line.last() != Some(&b'\n') {
        log.skip_until(b'\n')?;
    }
    Ok(true)
}

/// Every text of a line; `None` for each part that should be one and is not.
///
/// A blank line has none, any other line at least one.
pub(super) fn texts(line: &[u8]) -> impl Iterator<Item = Option<ZoneText>> {
    let is_blank = line.iter().all(u8::is_ascii_whitespace);
    let first = memchr::memmem::find(line, DELIMITER);
    let is_stray = first.is_none() && !is_blank;
    let mut rest = first.map(|at| &line[at + DELIMITER.len()..]);
    let parts = std::iter::from_fn(move || {
        let part = rest?;
        let next = memchr::memmem::find(part, DELIMITER);
        rest = next.map(|at| &part[at + DELIMITER.len()..]);
        Some(text(&part[..next.unwrap_or(part.len())]))
    });
    is_stray.then_some(None).into_iter().chain(parts)
}

/// The text up to its closing quote; what follows may only be the next message.
fn text(part: &[u8]) -> Option<ZoneText> {
    let end = memchr::memmem::rfind(part, ZONE_TAG.as_bytes())? + ZONE_TAG.len();
    let rest = part[end..].trim_ascii();
    let Some(closed) = CLOSING_QUOTES.iter().find_map(|quote| rest.strip_prefix(*quote)) else {
        return if rest.is_empty() { ZoneText::parse(&part[..end]) } else { None };
    };
    // Of the next message of the line there may be its place and its opening quote.
    let is_whole = closed.is_empty() || OPENING_QUOTES.iter().any(|quote| closed.ends_with(quote));
    if is_whole { ZoneText::parse(&part[..end]) } else { None }
}
