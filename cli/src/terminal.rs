//! Width and colours of the terminal, and text that is safe to print on a terminal.

use std::io::{IsTerminal, stdout};

/// Returns the maximum width of tables in characters; `None` if the width is unlimited, as in a
/// file or pipe.
///
/// The variable `COLUMNS` overrides the width of the terminal.
pub(crate) fn width() -> Option<usize> {
    let given = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    given.filter(|&columns| columns > 0).or_else(|| {
        let (width, _) = terminal_size::terminal_size_of(stdout().is_terminal().then(stdout)?)?;
        Some(width.0.into())
    })
}

/// Returns true if `NO_COLOR` disables colour (<https://no-color.org>).
pub(crate) fn has_no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Returns true if standard output uses colours.
///
/// A terminal gets colours unless `NO_COLOR` is set. With `CLICOLOR_FORCE`, files and pipes get
/// colours too.
pub(crate) fn is_coloured() -> bool {
    let is_forced = std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    !has_no_color() && (is_forced || stdout().is_terminal())
}

/// Style of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Bold,
    Good,
    Bad,
    Doubtful,
}

/// Returns the text in a style, if standard output uses colours.
pub(crate) fn styled(text: &str, style: Style) -> String {
    let code = match style {
        Style::Bold => "1",
        Style::Good => "32",
        Style::Bad => "31",
        Style::Doubtful => "33",
    };
    if is_coloured() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Maximum number of characters for a name in a table.
pub(crate) const LONGEST_NAME: usize = 60;

/// Returns an untrusted text as one line of at most `longest` characters.
///
/// Characters that could move the cursor, hide text or change the direction of text are replaced.
/// The middle of a long text is omitted.
pub(crate) fn printable(text: &str, longest: usize) -> String {
    let count = text.chars().count();
    if count <= longest {
        return text.chars().map(shown).collect();
    }
    let kept = longest.saturating_sub(1);
    let (front, back) = (kept.div_ceil(2), kept / 2);
    let mut short: String = text.chars().take(front).map(shown).collect();
    short.push('…');
    short.extend(text.chars().skip(count - back).map(shown));
    short
}

/// Returns the character, or a replacement if it is harmful.
fn shown(c: char) -> char {
    if is_harmful(c) { char::REPLACEMENT_CHARACTER } else { c }
}

/// Returns true for control characters, characters without width, and characters that set a text
/// direction.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_are_one_short_line() {
        assert_eq!(printable("Load data", 60), "Load data");
        assert_eq!(printable("a\x1b[2Jb\nc\u{202e}d", 60), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d");
        let long = printable(&format!("begin{}end", "x".repeat(10_000)), 11);
        assert_eq!(long, "begin…xxend");
        assert_eq!(printable("日本語の名前", 3), "日…前");
    }
}
