//! Cells in columns: widths, sides and rules.

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

/// One column: its title, least width and side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) min_width: usize,
    pub(super) is_left: bool,
}

/// Rows of cells, and how they are shown.
pub(super) struct Grid {
    columns: Vec<Column>,
    widths: Vec<usize>,
    is_coloured: bool,
}

impl Grid {
    /// Measures every row that is going to be written.
    pub(super) fn new<'a>(
        columns: Vec<Column>,
        rows: impl Iterator<Item = &'a Vec<Cell>>,
        is_coloured: bool,
    ) -> Self {
        let title_width = |column: &Column| column.title.chars().count().max(column.min_width);
        let mut widths: Vec<usize> = columns.iter().map(title_width).collect();
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.chars().count());
            }
        }
        Self { columns, widths, is_coloured }
    }

    pub(super) fn write_titles(&self, out: &mut impl Write) -> std::io::Result<()> {
        let titles = self.columns.iter().zip(&self.widths);
        let padded: Vec<_> =
            titles.map(|(column, width)| format!("{:<width$}", column.title)).collect();
        writeln!(out, "{}", padded.join("  ").trim_end())
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
        let blanks = " ".repeat(width.saturating_sub(cell.text.chars().count()));
        let text = match cell.colour {
            Some(colour) if self.is_coloured && !cell.text.is_empty() => colour.paint(&cell.text),
            _ => cell.text.clone(),
        };
        if column.is_left { text + &blanks } else { blanks + &text }
    }
}
