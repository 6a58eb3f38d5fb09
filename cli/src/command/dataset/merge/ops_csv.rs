//! CSV with the ops of all hosts.

use crate::failure::{Failure, OrFail};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Ops reports of hosts, which are kept in files until all columns are known.
pub(super) struct MergedOps {
    folder: PathBuf,
    parts: Vec<Part>,
    /// Names of columns in the order of their first occurrence. `places` contains their indices.
    columns: Vec<String>,
    places: BTreeMap<String, usize>,
}

/// The ops report of one host.
struct Part {
    host: String,
    /// Offset of the host's clock and its bound; empty if the clock is not related to other hosts.
    clock: [String; 2],
    path: PathBuf,
}

/// Columns for the host, which precede the columns of the reports.
const OF_HOST: [&str; 3] = ["HOST", "HOST CLOCK OFFSET [ns]", "HOST CLOCK ERROR [ns]"];

impl MergedOps {
    pub(super) fn new(folder: &Path) -> Self {
        let (parts, columns, places) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { folder: folder.to_owned(), parts, columns, places }
    }

    /// Adds the ops report of a host. Reports differ in their columns: ops with more tensors need
    /// more.
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

    /// Writes the rows of all reports, with the host and its clock in the first columns; returns
    /// the number of rows.
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
            // An error is ignored: the file may be missing.
            let _ = fs::remove_file(path);
        }
    }
}

fn reader<R: io::Read>(csv: R) -> csv::Reader<R> {
    csv::ReaderBuilder::new().flexible(true).from_reader(csv)
}
