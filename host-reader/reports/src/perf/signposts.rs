//! Signposts as a column: the part of a program that an op belongs to.

use super::row::OpRow;
use std::{collections::HashSet, sync::Arc};

/// Name of the column by which ops are grouped by the signpost before them.
pub(super) const SIGNPOST: &str = "SIGNPOST";

/// Gives each row the name of the last signpost before it.
///
/// Two signposts that [start and end a range](signpost_half) name the ops between them: an op has the name
/// of the innermost range that is open, and none outside of all ranges.
///
/// A signpost with a message is named after both, since a program may set one for each of its parts.
///
/// # Compatibility
/// `tracy.signpost(header, message)` writes the message into the column of attributes.
pub(super) fn name_signposts(rows: &mut [OpRow]) {
    let mut open: Vec<Arc<str>> = Vec::new();
    let paired = paired_ranges(rows);
    for row in rows {
        if !row.is_signpost() {
            row.signpost = open.last().cloned();
            continue;
        }
        let name = row.op_code.trim();
        let half = signpost_half(name).filter(|(range, _)| paired.contains(range));
        if let Some((range, is_start)) = half {
            if is_start {
                open.push(range.into());
            } else {
                let at = open.iter().rposition(|start| **start == *range);
                open.truncate(at.unwrap_or(open.len()));
            }
        } else {
            let message = row.attributes.trim();
            open = vec![match message.is_empty() {
                true => name.into(),
                false => format!("{name}: {message}").into(),
            }];
        }
    }
}

/// Returns the names of ranges of which the file has the start, and those of `ZS` and `ZE`, which are
/// ranges even if the file is cut. Plain words such as `start` mark no range of a name.
fn paired_ranges(rows: &[OpRow]) -> HashSet<String> {
    let mut halves = [HashSet::new(), HashSet::new()];
    let mut ranges = HashSet::new();
    for row in rows.iter().filter(|row| row.is_signpost()) {
        let name = row.op_code.trim();
        let Some((range, is_start)) = signpost_half(name) else { continue };
        if name.starts_with("ZS ") || name.starts_with("ZE ") {
            ranges.insert(range);
        } else if range != UNNAMED {
            let [starts, ends] = &mut halves;
            if is_start {
                starts.insert(range)
            } else {
                ends.insert(range)
            };
        }
    }
    let [starts, ends] = halves;
    ranges.extend(starts.into_iter().filter(|range| ends.contains(range)));
    ranges
}

/// Ends of the names of signposts that open a range, and of those that close one.
const OPENING: [&str; 2] = ["start", "begin"];
const CLOSING: [&str; 4] = ["end", "stop", "finish", "done"];

/// Name of a range whose signposts are plain words, such as `start`.
const UNNAMED: &str = "phase";

/// Returns the name of the range that a signpost starts or ends, and true if it starts it; `None` for
/// other signposts.
///
/// # Compatibility
/// Models of TT-Metal mark ranges by `name_start` and `name_end`, by `ZS name` and `ZE name`, and by
/// `M3_ZONE_START name` and `M3_ZONE_END name` (TT-Metal #51776, #55175) with any prefix.
///
/// ```
/// use reports::perf::signpost_half;
/// assert_eq!(signpost_half("M3_ZONE_START attn"), Some(("attn".to_owned(), true)));
/// assert_eq!(signpost_half("MLA_END"), Some(("MLA".to_owned(), false)));
/// assert_eq!(signpost_half("warmup"), None);
/// ```
#[must_use]
pub fn signpost_half(name: &str) -> Option<(String, bool)> {
    let name = name.trim();
    for (prefix, is_start) in [("ZS ", true), ("ZE ", false)] {
        if let Some(range) = name.strip_prefix(prefix) {
            return Some((range.trim().to_owned(), is_start));
        }
    }
    let halves = || {
        let closing = CLOSING.into_iter().map(|end| (end, false));
        OPENING.into_iter().map(|end| (end, true)).chain(closing)
    };
    if let Some((word, range)) = name.split_once(char::is_whitespace) {
        let word = word.to_ascii_lowercase();
        let of_word =
            |end: &str| word.strip_suffix(end).is_some_and(|prefix| prefix.ends_with(['_', '-']));
        if let Some((_, is_start)) = halves().find(|(end, _)| of_word(end)) {
            return Some((range.trim().to_owned(), is_start));
        }
    }
    let lower = name.to_ascii_lowercase();
    let stem = |end: &str| {
        let length = lower.strip_suffix(end)?.len();
        let stem = name.get(..length)?.trim_end_matches(['-', '_', ' ', ':', '.', '/']);
        Some(if stem.is_empty() { UNNAMED.to_owned() } else { stem.to_owned() })
    };
    halves().find_map(|(end, is_start)| Some((stem(end)?, is_start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_op_has_the_innermost_range_or_the_last_signpost() {
        let row = |text: &str| match text.strip_prefix('|') {
            Some(name) => {
                OpRow { op_type: "signpost".into(), op_code: name.into(), ..OpRow::default() }
            }
            None => OpRow { op_code: text.into(), ..OpRow::default() },
        };
        let named = |texts: &[&str]| {
            let mut rows: Vec<OpRow> = texts.iter().map(|text| row(text)).collect();
            name_signposts(&mut rows);
            let ops = rows.iter().filter(|row| !row.is_signpost());
            ops.map(|row| row.signpost.as_deref().unwrap_or("-").to_owned()).collect::<Vec<_>>()
        };
        let nested = ["a", "|ZS l0", "a", "|ZS l0/x", "a", "|ZE l0/x", "a", "|ZE l0", "a"];
        assert_eq!(named(&nested), ["-", "l0", "l0/x", "l0", "-"]);
        assert_eq!(named(&["|warmup", "a", "|start", "a", "a"]), ["warmup", "start", "start"]);
        // The habit of any model: a prefix of its own, and the name behind or before the word.
        for prefix in ["M3_ZONE", "GPT_OSS", "x"] {
            let texts = ["a", "l0 S", "a", "x S", "a", "x E", "a", "l0 E", "a"].map(|text| {
                match text.split_once(' ') {
                    Some((name, "S")) => format!("|{prefix}_START {name}"),
                    Some((name, _)) => format!("|{prefix}_END {name}"),
                    None => text.to_owned(),
                }
            });
            let texts = texts.each_ref().map(String::as_str);
            assert_eq!(named(&texts), ["-", "l0", "x", "l0", "-"], "{prefix}");
        }
        assert_eq!(named(&["|MLA_START", "a", "|MLA_END", "a"]), ["MLA", "-"]);
        assert_eq!(named(&["|perf_start", "a", "a"]), ["perf_start"; 2], "no range without an end");
        assert_eq!(named(&["|start", "a", "|stop", "a"]), ["start", "stop"], "no name");
        let mut rows = ["|block", "a", "|block", "a"].map(row);
        rows[2].attributes = "layer 1".into();
        name_signposts(&mut rows);
        assert_eq!(rows[1].signpost.as_deref(), Some("block"));
        assert_eq!(rows[3].signpost.as_deref(), Some("block: layer 1"));
        assert_eq!(named(&["|ZS l0", "|ZE other", "a"]), ["l0"], "an end without a start");
    }
}
