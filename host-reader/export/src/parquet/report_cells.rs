//! Cells of a recording's ops report.

use super::{AddedRecording, Destination, WriteError, table_files::TableFiles};
use ::tables::{OpsReportCell, OpsReportCells, Table};
use std::io;

/// Adds the column titles, then all cells that are not empty.
pub(super) fn add(
    files: &mut TableFiles<OpsReportCells>,
    &AddedRecording { key, ops_csv, .. }: &AddedRecording<'_, '_>,
) -> Result<(), WriteError> {
    let Some(csv) = ops_csv else { return Ok(()) };
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(csv.as_bytes());
    let titles = reader.headers().map_err(unreadable)?.clone();
    let mut add = |row, title: &str, cell: Option<&str>| {
        let cell = cell.map(Into::into);
        files.add(&OpsReportCell { recording: key, row, title: title.into(), cell })
    };
    titles.iter().try_for_each(|title| add(0, title, None))?;
    for (record, row) in reader.records().zip(1_u32..) {
        let record = record.map_err(unreadable)?;
        let cells = titles.iter().zip(&record).filter(|(_, cell)| !cell.is_empty());
        for (title, cell) in cells {
            add(row, title, Some(cell))?;
        }
    }
    Ok(())
}

/// Returns the error for a report that is not valid CSV.
fn unreadable(error: csv::Error) -> WriteError {
    let destination = Destination::File(OpsReportCells::NAME.into());
    WriteError::Io { destination, source: io::Error::other(error) }
}
