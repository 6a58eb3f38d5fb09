//! Signposts as a column: the part of a program that an op belongs to.

use super::row::OpRow;
use std::sync::Arc;

/// Name of the column by which ops are grouped by the signpost before them.
pub(super) const SIGNPOST: &str = "SIGNPOST";

/// Gives each row the name of the last signpost before it.
///
/// The signposts `ZS name` and `ZE name` start and end a range: an op has the name of the innermost
/// range that is open, and none outside of all ranges.
///
/// A signpost with a message is named after both, since a program may set one for each of its parts.
///
/// # Compatibility
/// `tracy.signpost(header, message)` writes the message into the column of attributes. Models of TT-Metal
/// mark ranges by `ZS` and `ZE`, so that reports can nest them.
pub(super) fn name_signposts(rows: &mut [OpRow]) {
    let mut open: Vec<Arc<str>> = Vec::new();
    for row in rows {
        if !row.is_signpost() {
            row.signpost = open.last().cloned();
            continue;
        }
        let name = row.op_code.trim();
        if let Some(start) = name.strip_prefix("ZS ") {
            open.push(start.trim().into());
        } else if let Some(end) = name.strip_prefix("ZE ") {
            let at = open.iter().rposition(|start| **start == *end.trim());
            open.truncate(at.unwrap_or(open.len()));
        } else {
            let message = row.attributes.trim();
            open = vec![match message.is_empty() {
                true => name.into(),
                false => format!("{name}: {message}").into(),
            }];
        }
    }
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
        let mut rows = ["|block", "a", "|block", "a"].map(row);
        rows[2].attributes = "layer 1".into();
        name_signposts(&mut rows);
        assert_eq!(rows[1].signpost.as_deref(), Some("block"));
        assert_eq!(rows[3].signpost.as_deref(), Some("block: layer 1"));
        assert_eq!(named(&["|ZS l0", "|ZE other", "a"]), ["l0"], "an end without a start");
    }
}
