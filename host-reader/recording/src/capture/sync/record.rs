//! The file in which TT-Metal stores its clock synchronisation.

use crate::whole_file::write_whole_file;
use reader::clock::{ChipTree, ClockError, OneWaySession, Regression, SyncCsv};
use std::{
    io::{self, Write},
    path::Path,
};

/// Content of `sync_device_info.csv`.
///
/// ```
/// use recording::capture::sync::SyncRecord;
/// use reader::clock::{OneWaySession, Tile};
/// let words = [0, 5000, 5000, 0, 6000, 1000];
/// let session = OneWaySession::from_words(Tile::new(0, 1, 2), 700, &words, &[0, 20]).unwrap();
/// let mut record = SyncRecord::new(1.0, 0);
/// let fit = record.add_session(session)?;
/// assert!((fit.frequency_ghz() - 1000.0 / 1020.0).abs() < 1e-9);
/// let mut csv = Vec::new();
/// record.write(&mut csv)?;
/// assert_eq!(String::from_utf8(csv)?.lines().count(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SyncRecord {
    ns_per_tick: f64,
    tracy_base_time: i64,
    sessions: Vec<(OneWaySession, Regression)>,
    chips: Vec<(u32, f64, f64)>,
}

impl SyncRecord {
    /// Creates a record without rows.
    ///
    /// `ns_per_tick` is the length of a tick of the sessions' host clock in nanoseconds; it is 1
    /// for [`super::one_way_session`]. `tracy_base_time` is the host clock at the start of a Tracy
    /// client, or 0 without a client.
    #[must_use]
    pub const fn new(ns_per_tick: f64, tracy_base_time: i64) -> Self {
        Self { ns_per_tick, tracy_base_time, sessions: Vec::new(), chips: Vec::new() }
    }

    /// Adds a session. Fits it together with the earlier sessions of the same core.
    ///
    /// # Errors
    /// If no line fits; the session is then not added.
    #[expect(clippy::indexing_slicing, reason = "the session has just been added")]
    pub fn add_session(&mut self, session: OneWaySession) -> Result<&Regression, ClockError> {
        let earlier = self.sessions.iter().map(|(session, _)| session);
        let earlier_here = earlier.filter(|earlier| earlier.tile == session.tile).cloned();
        let together: Vec<_> = earlier_here.chain([session.clone()]).collect();
        let fit = Regression::fit(&together, self.ns_per_tick)?;
        let index = self.sessions.len();
        self.sessions.push((session, fit));
        Ok(&self.sessions[index].1)
    }

    /// Adds a row for every chip that is related to another chip.
    pub fn add_tree(&mut self, tree: &ChipTree) {
        let others = tree.chips().filter(|(chip_id, _)| *chip_id != tree.root());
        self.chips.extend(others.map(|(id, line)| (id, line.line().slope(), line.shift())));
    }

    /// Writes the file's text.
    ///
    /// # Errors
    /// If `out` returns an error.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut csv = SyncCsv::new(out);
        csv.write_header()?;
        for (session, fit) in &self.sessions {
            csv.write_host_rows(fit, session, self.tracy_base_time)?;
        }
        for &(chip_id, ratio, shift_cycles) in &self.chips {
            csv.write_device_row(chip_id, ratio, shift_cycles)?;
        }
        Ok(())
    }

    /// Writes the file, which appears under its name only when complete.
    ///
    /// # Errors
    /// If the folder of `path` does not exist or cannot be written to.
    pub fn write_file(&self, path: impl AsRef<Path>) -> io::Result<()> {
        write_whole_file(path.as_ref(), |out| self.write(out))
    }
}
