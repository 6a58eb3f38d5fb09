//! Lines of a report. Cells are formatted and quoted as in TT-Metal's scripts.

/// Appends a line of cells. Commas in cells become `;`, because many readers split at every comma.
pub(super) fn push_line<T: AsRef<str>>(
    out: &mut String,
    cells: impl IntoIterator<Item = T>,
    line_end: &str,
) {
    for (index, cell) in cells.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_cell(out, cell.as_ref());
    }
    out.push_str(line_end);
}

fn push_cell(out: &mut String, cell: &str) {
    let is_quoted = cell.contains(['"', '\n', '\r']);
    if is_quoted {
        out.push('"');
    }
    for character in cell.chars() {
        match character {
            ',' => out.push(';'),
            '"' => out.push_str("\"\""),
            other => out.push(other),
        }
    }
    if is_quoted {
        out.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_give_way_and_quotes_are_doubled() {
        let mut line = String::new();
        push_line(&mut line, ["a,b", "", "say \"x\"", "two\nlines"], "\r\n");
        assert_eq!(line, "a;b,,\"say \"\"x\"\"\",\"two\nlines\"\r\n");
    }
}
