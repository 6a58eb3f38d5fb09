//! Relation of each merged recording's clock to the common clock, or the reason why the two clocks
//! are unrelated.

use super::offsets::{Relation, offset_cells};
use crate::numbers::{counted, grouped};
use std::io::{self, Write};

/// Host, name and clock relation of each recording, in the order of merging.
#[derive(Default)]
pub(super) struct Clocks(Vec<(String, String, Relation)>);

impl Clocks {
    pub(super) fn add(&mut self, host: &str, recording: &str, relation: Relation) {
        self.0.push((host.to_owned(), recording.to_owned(), relation));
    }

    /// Writes a CSV with one row for each recording: the clock's offset and error bound, or the
    /// reason why the clock is unrelated.
    pub(super) fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        let titles = ["host", "recording", "offset_ns", "error_ns", "not_related_because"];
        writer.write_record(titles)?;
        for (host, recording, relation) in &self.0 {
            let [offset, error] = offset_cells(*relation);
            let reason = relation.err().unwrap_or_default();
            writer.write_record([host, recording, &offset, &error, reason])?;
        }
        writer.flush()
    }

    /// Prints the number of related clocks and, for each unrelated clock, the reason.
    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let errors = self.0.iter().filter_map(|(_, _, relation)| Some(relation.ok()?.1.error_ns));
        let Some(widest) = errors.clone().max() else {
            return writeln!(
                out,
                "Clocks of hosts: not related, so starts of different hosts are not compared"
            );
        };
        writeln!(
            out,
            "Clocks of hosts: {} of {} related, the widest bound {} ns",
            grouped(errors.count() as u64),
            counted(self.0.len() as u64, "recording", "recordings"),
            grouped(widest),
        )?;
        for (host, _, relation) in &self.0 {
            if let Err(reason) = relation {
                writeln!(out, "{host}: clock not related, because {reason}")?;
            }
        }
        Ok(())
    }
}
