//! Layout of a table: column widths, alignment and separators.

use super::paint::Colour;
use std::{
    borrow::Cow,
    io::{self, Write},
};

/// One cell.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    text: String,
    colour: Option<Colour>,
}

impl Cell {
    pub(super) const fn new(text: String, colour: Option<Colour>) -> Self {
        Self { text, colour }
    }

    pub(super) const fn plain(text: String) -> Self {
        Self { text, colour: None }
    }
}

/// Rows of cells, with their layout.
pub(super) struct Grid {
    titles: Vec<Cow<'static, str>>,
    pub(super) rows: Vec<Vec<Cell>>,
    /// Row of totals, after the last separator.
    total: Option<Vec<Cell>>,
    widths: Vec<usize>,
    is_coloured: bool,
}

impl Grid {
    /// Computes the column widths from the titles and all rows.
    pub(super) fn new(
        titles: Vec<Cow<'static, str>>,
        rows: Vec<Vec<Cell>>,
        total: Option<Vec<Cell>>,
        is_coloured: bool,
    ) -> Self {
        let mut widths: Vec<usize> = titles.iter().map(|title| title.chars().count()).collect();
        for row in rows.iter().chain(&total) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.chars().count());
            }
        }
        Self { titles, rows, total, widths, is_coloured }
    }

    /// Writes the titles and all rows.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let gaps = self.widths.len().saturating_sub(1).saturating_mul(2);
        let rule = "-".repeat(self.widths.iter().sum::<usize>().saturating_add(gaps));
        let titles = self.titles.iter().zip(&self.widths);
        let titles = titles.map(|(title, &width)| title.to_string() + &blanks(title, width));
        writeln!(out, "{}\n{rule}", titles.collect::<Vec<_>>().join("  ").trim_end())?;
        for row in &self.rows {
            self.write_row(row, out)?;
        }
        writeln!(out, "{rule}")?;
        self.total.as_ref().map_or(Ok(()), |total| self.write_row(total, out))
    }

    /// Writes one row. Names of ops are on the left of their column, all other cells on the right.
    pub(super) fn write_row(&self, row: &[Cell], out: &mut impl Write) -> io::Result<()> {
        let cells = row.iter().zip(&self.widths).zip(&self.titles);
        let padded = cells.map(|((cell, &width), title)| {
            let blanks = blanks(&cell.text, width);
            let text = match cell.colour {
                Some(colour) if self.is_coloured && !cell.text.is_empty() => {
                    colour.paint(&cell.text)
                }
                _ => cell.text.clone(),
            };
            let is_left = title.eq_ignore_ascii_case("Op Code");
            if is_left { text + &blanks } else { blanks + &text }
        });
        writeln!(out, "{}", padded.collect::<Vec<_>>().join("  ").trim_end())
    }
}

/// Returns the blanks that fill a text up to a width.
///
/// A name may have any length, but Rust's formatting panics if a width is above 65,535. So the
/// padding is written as text.
fn blanks(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(text.chars().count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_any_length_is_a_cell() {
        const LONG: usize = 70_000;
        let row = vec![Cell::plain("7".to_owned()), Cell::plain("A".repeat(LONG))];
        let grid = Grid::new(vec!["ID ".into(), "OP Code".into()], vec![row], None, false);
        let mut text = Vec::new();
        grid.write(&mut text).unwrap();
        let rule = "-".repeat(3 + 2 + LONG);
        let lines = ["ID   OP Code", &rule, &format!("  7  {}", "A".repeat(LONG)), &rule]
            .map(str::to_owned);
        assert_eq!(String::from_utf8(text).unwrap(), lines.join("\n") + "\n");
    }
}
