//! CSV with the ops of all hosts.

use crate::failure::{Failure, OrFail};
use host_reader::packed_bytes::{PackedBytes, PackedMemory};
use std::{
    collections::BTreeMap,
    io::{self, Write},
    sync::Arc,
};

/// Ops reports of hosts, which are kept in a temporary file until all columns are known.
pub(super) struct MergedOps {
    file: Arc<PackedMemory>,
    parts: Vec<Part>,
    /// Names of columns in the order of their first occurrence. `places` maps each name to its
    /// index.
    columns: Vec<String>,
    places: BTreeMap<String, usize>,
}

/// The ops report of one host.
struct Part {
    host: String,
    /// Offset of the host's clock and its error bound, as text; empty if the clock is unrelated to
    /// those of other hosts.
    clock: [String; 2],
    csv: PackedBytes,
}

/// Columns about the host. They precede the columns of the ops reports.
const OF_HOST: [&str; 3] = ["HOST", "HOST CLOCK OFFSET [ns]", "HOST CLOCK ERROR [ns]"];

impl MergedOps {
    pub(super) const fn new(file: Arc<PackedMemory>) -> Self {
        Self { file, parts: Vec::new(), columns: Vec::new(), places: BTreeMap::new() }
    }

    /// Adds the ops report of a host. Reports differ in their columns, because an op with more
    /// tensors needs more columns.
    pub(super) fn add(&mut self, host: &str, clock: [String; 2], csv: &str) -> Result<(), Failure> {
        let mut reader = reader(csv.as_bytes());
        let header = reader.headers().or_fail()?;
        for column in header {
            if !self.places.contains_key(column) {
                self.places.insert(column.to_owned(), self.columns.len());
                self.columns.push(column.to_owned());
            }
        }
        let csv = self.file.write(csv.as_bytes());
        self.parts.push(Part { host: host.to_owned(), clock, csv });
        self.file.check().or_fail()
    }

    /// Writes the rows of all reports, with the host and its clock in the first columns. Returns
    /// the number of rows.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<u64> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(OF_HOST.into_iter().chain(self.columns.iter().map(String::as_str)))?;
        let mut row_count = 0;
        for Part { host, clock: [offset, error], csv } in &self.parts {
            let csv = csv.read()?;
            let mut reader = reader(&csv);
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

fn reader(csv: &[u8]) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new().flexible(true).from_reader(csv)
}
