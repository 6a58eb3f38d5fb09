//! Layout of a table: column widths, alignment and separators.

use super::paint::Colour;
use std::io::Write;

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

/// One column: its header, minimum width and alignment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) min_width: usize,
    pub(super) is_left: bool,
}

/// Rows of cells, with their layout.
pub(super) struct Grid {
    columns: Vec<Column>,
    widths: Vec<usize>,
    is_coloured: bool,
}

impl Grid {
    /// Computes the column widths from all rows that will be written.
    pub(super) fn new<'a>(
        columns: Vec<Column>,
        rows: impl Iterator<Item = &'a Vec<Cell>>,
        is_coloured: bool,
    ) -> Self {
        let mut widths: Vec<usize> = columns
            .iter()
            .map(|column| column.title.chars().count().max(column.min_width))
            .collect();
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.chars().count());
            }
        }
        Self { columns, widths, is_coloured }
    }

    pub(super) fn write_titles(&self, out: &mut impl Write) -> std::io::Result<()> {
        let titles = self.columns.iter().zip(&self.widths).map(|(&column, &width)| {
            let title = Cell::plain(column.title.to_owned());
            self.padded(&title, width, Column { is_left: true, ..column })
        });
        writeln!(out, "{}", titles.collect::<Vec<_>>().join("  ").trim_end())
    }

    pub(super) fn write_rule(&self, out: &mut impl Write) -> std::io::Result<()> {
        let gaps = self.widths.len().saturating_sub(1).saturating_mul(2);
        writeln!(out, "{}", "-".repeat(self.widths.iter().sum::<usize>().saturating_add(gaps)))
    }

    pub(super) fn write_row(&self, row: &[Cell], out: &mut impl Write) -> std::io::Result<()> {
        let cells = row.iter().zip(&self.widths).zip(&self.columns);
        let padded: Vec<_> =
            cells.map(|((cell, &width), column)| self.padded(cell, width, *column)).collect();
        writeln!(out, "{}", padded.join("  ").trim_end())
    }

    fn padded(&self, cell: &Cell, width: usize, column: Column) -> String {
        // A name may have any length, but a format width above 65,535 panics. So the padding is
        // written as text.
        let blanks = " ".repeat(width.saturating_sub(cell.text.chars().count()));
        let text = match cell.colour {
            Some(colour) if self.is_coloured && !cell.text.is_empty() => colour.paint(&cell.text),
            _ => cell.text.clone(),
        };
        if column.is_left { text + &blanks } else { blanks + &text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_any_length_is_a_cell() {
        const LONG: usize = 70_000;
        let columns = vec![
            Column { title: "ID", min_width: 3, is_left: false },
            Column { title: "OP Code", min_width: 0, is_left: true },
        ];
        let row = vec![Cell::plain("7".to_owned()), Cell::plain("A".repeat(LONG))];
        let grid = Grid::new(columns, std::iter::once(&row), false);
        let mut text = Vec::new();
        grid.write_titles(&mut text).unwrap();
        grid.write_row(&row, &mut text).unwrap();
        grid.write_rule(&mut text).unwrap();
        let lines = [
            "ID   OP Code".to_owned(),
            format!("  7  {}", "A".repeat(LONG)),
            "-".repeat(3 + 2 + LONG),
        ];
        assert_eq!(String::from_utf8(text).unwrap(), lines.join("\n") + "\n");
    }
}
