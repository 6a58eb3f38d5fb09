//! The ops of all hosts in one CSV.

use crate::failure::Failure;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Reports of hosts, kept in files until the columns of all of them are known.
pub(super) struct MergedOps {
    folder: PathBuf,
    parts: Vec<(String, PathBuf)>,
    /// Columns in the order in which they came, and their places.
    columns: Vec<String>,
    places: BTreeMap<String, usize>,
}

impl MergedOps {
    pub(super) fn new(folder: &Path) -> Self {
        let (parts, columns, places) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { folder: folder.to_owned(), parts, columns, places }
    }

    /// Adds the report of a host; reports with more tensors have more columns.
    pub(super) fn add(&mut self, host: &str, csv: &str) -> Result<(), Failure> {
        let mut reader = reader(csv.as_bytes());
        let header = reader.headers().map_err(|error| Failure::from_error(&error))?;
        for column in header {
            if !self.places.contains_key(column) {
                self.places.insert(column.to_owned(), self.columns.len());
                self.columns.push(column.to_owned());
            }
        }
        let path = self.folder.join(format!(".ops-{}.part", self.parts.len()));
        self.parts.push((host.to_owned(), path.clone()));
        fs::write(&path, csv).map_err(|error| Failure::of_file(&path, &error))
    }

    /// Writes all rows, the host in the first column; returns their number.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<u64> {
        let mut writer = csv::Writer::from_writer(out);
        writer
            .write_record(std::iter::once("HOST").chain(self.columns.iter().map(String::as_str)))?;
        let mut row_count = 0;
        for (host, path) in &self.parts {
            let mut reader = reader(File::open(path)?);
            let places: Vec<Option<usize>> =
                reader.headers()?.iter().map(|column| self.places.get(column).copied()).collect();
            for record in reader.into_records() {
                let record = record?;
                let mut cells = vec![""; self.columns.len()];
                for (place, cell) in places.iter().zip(&record) {
                    if let Some(cell_of_place) = place.and_then(|place| cells.get_mut(place)) {
                        *cell_of_place = cell;
                    }
                }
                writer.write_record(std::iter::once(host.as_str()).chain(cells))?;
                row_count += 1;
            }
        }
        writer.flush()?;
        Ok(row_count)
    }
}

impl Drop for MergedOps {
    fn drop(&mut self) {
        for (_, path) in &self.parts {
            // A part that is gone already needs no removing.
            let _ = fs::remove_file(path);
        }
    }
}

fn reader<R: io::Read>(csv: R) -> csv::Reader<R> {
    csv::ReaderBuilder::new().flexible(true).from_reader(csv)
}
