//! The ops of all hosts in one CSV.

use crate::failure::{Failure, OrFail};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Reports of hosts, kept in files until all columns are known.
pub(super) struct MergedOps {
    folder: PathBuf,
    parts: Vec<Part>,
    /// Columns in the order of their first occurrence, and their indices.
    columns: Vec<String>,
    places: BTreeMap<String, usize>,
}

/// The report of one host.
struct Part {
    host: String,
    /// Offset of the host's clock and its bound; empty if the clock is not related to other hosts.
    clock: [String; 2],
    path: PathBuf,
}

/// Columns before the columns of the reports.
const OF_HOST: [&str; 3] = ["HOST", "HOST CLOCK OFFSET [ns]", "HOST CLOCK ERROR [ns]"];

impl MergedOps {
    pub(super) fn new(folder: &Path) -> Self {
        let (parts, columns, places) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { folder: folder.to_owned(), parts, columns, places }
    }

    /// Adds the report of a host. Reports with more tensors have more columns.
    pub(super) fn add(&mut self, host: &str, clock: [String; 2], csv: &str) -> Result<(), Failure> {
        let mut reader = reader(csv.as_bytes());
        let header = reader.headers().or_fail()?;
        for column in header {
            if !self.places.contains_key(column) {
                self.places.insert(column.to_owned(), self.columns.len());
                self.columns.push(column.to_owned());
            }
        }
        let path = self.folder.join(format!(".ops-{}.part", self.parts.len()));
        self.parts.push(Part { host: host.to_owned(), clock, path: path.clone() });
        fs::write(&path, csv).or_fail_at(&path)
    }

    /// Writes all rows, the host and its clock in the first columns; returns their number.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<u64> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(OF_HOST.into_iter().chain(self.columns.iter().map(String::as_str)))?;
        let mut row_count = 0;
        for Part { host, clock: [offset, error], path } in &self.parts {
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
                let of_host = [host.as_str(), offset, error];
                writer.write_record(of_host.into_iter().chain(cells))?;
                row_count += 1;
            }
        }
        writer.flush()?;
        Ok(row_count)
    }
}

impl Drop for MergedOps {
    fn drop(&mut self) {
        for Part { path, .. } in &self.parts {
            // A missing file needs no removal.
            let _ = fs::remove_file(path);
        }
    }
}

fn reader<R: io::Read>(csv: R) -> csv::Reader<R> {
    csv::ReaderBuilder::new().flexible(true).from_reader(csv)
}
