//! Parses a zone log: the lines that a compiler prints for `#pragma message`.
//!
//! ```text
//! k.cpp:10:5: note: '#pragma message: NAME,FILE,LINE,KERNEL_PROFILER'
//! ```
//!
//! In a UTF-8 locale the quotes are U+2018 and U+2019. Parallel builds may mix their output within
//! a line, so a line may contain any number of texts and fragments of texts.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a position is where something was found"
)]

use super::ZoneText;
use std::io::{self, BufRead, Read};
use wire::zone::ZONE_TAG;

/// Maximum length of a line, in bytes.
pub(super) const LONGEST_LINE_BYTES: usize = 1 << 16;

const DELIMITER: &[u8] = b"#pragma message: ";

/// Quotes that may end a text: in the C locale and in UTF-8 locales.
const CLOSING_QUOTES: [&[u8]; 2] = [b"'", "\u{2019}".as_bytes()];

/// Quotes that may precede a text.
const OPENING_QUOTES: [&[u8]; 2] = [b"'", "\u{2018}".as_bytes()];

/// Reads the next line into `line`; returns `false` at the end.
///
/// If a line is longer than [`LONGEST_LINE_BYTES`], `line` contains only its first
/// [`LONGEST_LINE_BYTES`] + 1 bytes, so that the caller can see that the line was too long.
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

/// Returns every text of a line. An item is `None` if the line contains no message, or if a message
/// contains no valid text.
///
/// A blank line gives no item. Any other line gives at least one item.
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

/// Parses a text up to the closing quote. Returns `None` if anything other than the beginning of
/// the next message follows the quote.
fn text(part: &[u8]) -> Option<ZoneText> {
    let end = memchr::memmem::rfind(part, ZONE_TAG.as_bytes())? + ZONE_TAG.len();
    let rest = part[end..].trim_ascii();
    let Some(closed) = CLOSING_QUOTES.iter().find_map(|quote| rest.strip_prefix(*quote)) else {
        return if rest.is_empty() { ZoneText::parse(&part[..end]) } else { None };
    };
    // The source location and the opening quote of the next message in the line may follow.
    let is_whole = closed.is_empty() || OPENING_QUOTES.iter().any(|quote| closed.ends_with(quote));
    if is_whole { ZoneText::parse(&part[..end]) } else { None }
}
