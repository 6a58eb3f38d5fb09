//! Zone names: collects them from kernels and logs, and writes them to a log.
//!
//! This project's kernels store their zone texts in an ELF section that is never loaded. TT-Metal's
//! build copies zone texts from compiler output to `zone_src_locations.log`. Texts from both
//! sources are collected in one [`ZoneTable`]. If several texts have the same id, all of them are
//! kept, and the id is counted as an anomaly, because the zone's name is then ambiguous.
//!
//! # Which hash
//!
//! The device hashes the unsigned bytes of a text. This module hashes the raw bytes in the same
//! way. A text that is not UTF-8 therefore has the right id, even though it is shown with
//! replacement characters. TT-Metal's x86 host hashes signed bytes, so it searches for a different
//! id if a byte is above 0x7F. Markers and logs never contain this id, because they contain the id
//! that the device computes. If the host's id were accepted as a second id of the text, it could
//! only collide with the ids of other texts.
//!
//! # Order of names with the same id
//!
//! If several source locations share an id, the most likely locations come first: locations from an
//! ELF, then from the log of the latest build, then from the log that all builds share.

#![cfg_attr(
    not(test),
    warn(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "numbers come from outside"
    )
)]

mod elf;
mod log_lines;
mod text;
mod write;

pub use text::ZoneText;
pub use write::{ZoneLogReport, write_zone_log, write_zone_log_file};

use reader::{
    anomaly::{AnomalyKind, AnomalyLog},
    names::{ZoneSource, ZoneTable},
};
use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader},
    path::Path,
};
use text::excerpt;
use wire::ZoneId;

/// Log of the latest build, in TT-Metal's log folder.
pub const NEW_LOG_FILE: &str = "new_zone_src_locations.log";

/// Log that all builds share, in TT-Metal's log folder.
pub const LOG_FILE: &str = "zone_src_locations.log";

/// Reason why no names could be collected from a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ZoneNamesError {
    /// The file cannot be read.
    #[error("cannot read zone names from {file}: {source}")]
    Io {
        /// Name of the file.
        file: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file is not an ELF, or its headers are invalid.
    #[error("expected an ELF with zone names in {origin}, found something else: {reason}")]
    NotAnElf {
        /// Origin of the bytes.
        origin: String,
        /// Cause, as a sentence.
        reason: String,
    },
}

/// Origin of a source location. The earlier the variant, the more likely the location belongs to
/// the kernels that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NameAge {
    /// The kernel itself.
    Kernel,
    /// The log of the latest build.
    LatestBuild,
    /// The log that all builds share.
    AnyBuild,
}

/// Collection of names from any number of kernels and logs, for one table.
///
/// ```
/// use reader::lane::ZoneIndex;
/// use recording::zone_names::{NameAge, ZoneNames};
/// let log = b"k.cpp:10:1: note: '#pragma message: A,/k/k.cpp,10,KERNEL_PROFILER'\nwhat?\n";
/// let mut names = ZoneNames::new();
/// assert_eq!(names.add_log("zones.log", NameAge::AnyBuild, &log[..])?, 1);
/// let (table, anomalies) = names.finish();
/// assert_eq!(table.name(ZoneIndex(0xB765)), "A");
/// assert_eq!(anomalies.anomaly_count(), 1);
/// # Ok::<(), recording::zone_names::ZoneNamesError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ZoneNames {
    found: BTreeMap<ZoneText, (NameAge, usize)>,
    anomalies: AnomalyLog,
}

impl ZoneNames {
    /// Creates an empty collection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the texts of a kernel's ELF; returns the number of new texts.
    ///
    /// `origin` is the name of the ELF in anomalies. Texts that are not valid zone texts are
    /// counted as anomalies.
    ///
    /// # Errors
    /// If the bytes are not an ELF.
    pub fn add_elf(&mut self, origin: &str, bytes: &[u8]) -> Result<usize, ZoneNamesError> {
        let sections = elf::zone_sections(bytes).map_err(|error| ZoneNamesError::NotAnElf {
            origin: origin.to_owned(),
            reason: error.to_string(),
        })?;
        let before = self.found.len();
        for section in sections {
            match section {
                Ok(section) => self.add_section(origin, section),
                Err(reason) => self.malformed_text(origin, 0, reason.as_bytes()),
            }
        }
        Ok(self.found.len().saturating_sub(before))
    }

    /// Adds the texts of a kernel's ELF file; returns the number of new texts.
    ///
    /// # Errors
    /// If the file cannot be read or is not an ELF.
    pub fn add_elf_file(&mut self, path: impl AsRef<Path>) -> Result<usize, ZoneNamesError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(io_error(path))?;
        self.add_elf(&path.display().to_string(), &bytes)
    }

    /// Adds the lines of a zone log; returns the number of new texts.
    ///
    /// `origin` is the name of the log in anomalies. The position of an anomaly is the line number,
    /// counted from 1.
    ///
    /// # Errors
    /// If reading fails. The lines that were read before are kept.
    pub fn add_log(
        &mut self,
        origin: &str,
        age: NameAge,
        mut log: impl BufRead,
    ) -> Result<usize, ZoneNamesError> {
        let before = self.found.len();
        let mut line = Vec::new();
        for line_number in 1.. {
            if !log_lines::read_line(&mut log, &mut line)
                .map_err(|source| ZoneNamesError::Io { file: origin.to_owned(), source })?
            {
                break;
            }
            self.add_line(origin, age, line_number, &line);
        }
        Ok(self.found.len().saturating_sub(before))
    }

    /// Adds the lines of a zone log file; returns the number of new texts.
    ///
    /// # Errors
    /// If the file cannot be opened or read.
    pub fn add_log_file(
        &mut self,
        path: impl AsRef<Path>,
        age: NameAge,
    ) -> Result<usize, ZoneNamesError> {
        let path = path.as_ref();
        let file = std::fs::File::open(path).map_err(io_error(path))?;
        self.add_log(&path.display().to_string(), age, BufReader::new(file))
    }

    /// Adds both zone logs of TT-Metal's log folder, if they exist; returns the number of new
    /// texts.
    ///
    /// # Compatibility
    /// The folder is `generated/profiler/.logs`, and the files are [`NEW_LOG_FILE`] and
    /// [`LOG_FILE`].
    ///
    /// # Errors
    /// If a file exists but cannot be read.
    pub fn add_log_folder(&mut self, folder: impl AsRef<Path>) -> Result<usize, ZoneNamesError> {
        let logs = [(NEW_LOG_FILE, NameAge::LatestBuild), (LOG_FILE, NameAge::AnyBuild)];
        let mut added = 0;
        for (file, age) in logs {
            let path = folder.as_ref().join(file);
            if path.exists() {
                added = self.add_log_file(path, age)?.saturating_add(added);
            }
        }
        Ok(added)
    }

    /// Returns the table of all names, and the anomalies found.
    ///
    /// An id is an anomaly if it has several source locations, or if the marker format reserves
    /// this id. The position of the anomaly is the id.
    #[must_use]
    pub fn finish(self) -> (ZoneTable, AnomalyLog) {
        let Self { found, mut anomalies } = self;
        let mut ordered: Vec<_> = found.into_iter().collect();
        ordered.sort_by_key(|(_, rank)| *rank);
        let mut table = ZoneTable::new();
        for (text, _) in ordered {
            table.add(text.id, text.source);
        }
        report_collisions(&table, &mut anomalies);
        (table, anomalies)
    }

    fn add(&mut self, text: ZoneText, age: NameAge) {
        let rank = (age, self.found.len());
        let found = self.found.entry(text).or_insert(rank);
        *found = rank.min(*found);
    }

    fn add_section(&mut self, origin: &str, section: &[u8]) {
        for (offset, bytes) in elf::texts(section) {
            match ZoneText::parse(bytes) {
                Some(text) => self.add(text, NameAge::Kernel),
                None => self.malformed_text(origin, offset, bytes),
            }
        }
    }

    fn add_line(&mut self, origin: &str, age: NameAge, line_number: u64, line: &[u8]) {
        let mut is_malformed = line.len() > log_lines::LONGEST_LINE_BYTES;
        for text in log_lines::texts(line) {
            match text {
                Some(text) => self.add(text, age),
                None => is_malformed = true,
            }
        }
        if is_malformed {
            self.anomalies.record(AnomalyKind::MalformedLine, None, line_number, || {
                format!("{origin}: expected '#pragma message: TEXT', found {}", excerpt(line))
            });
        }
    }

    fn malformed_text(&mut self, origin: &str, offset: u64, bytes: &[u8]) {
        self.anomalies.record(AnomalyKind::MalformedZoneText, None, offset, || {
            format!("{origin}: expected name,file,line,KERNEL_PROFILER, found {}", excerpt(bytes))
        });
    }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> ZoneNamesError {
    move |source| ZoneNamesError::Io { file: path.display().to_string(), source }
}

fn report_collisions(table: &ZoneTable, anomalies: &mut AnomalyLog) {
    for (id, sources) in table.collisions() {
        anomalies.record(AnomalyKind::ZoneIdCollision, None, u64::from(id), || {
            format!("id {id} stands for {}", listed(sources))
        });
    }
    for (id, source) in table.places().filter(|(id, _)| id.is_reserved() || *id == ZoneId(0)) {
        anomalies.record(AnomalyKind::ZoneIdCollision, None, u64::from(id.0), || {
            format!("id {} has a fixed meaning, but is also the id of {}", id.0, place(source))
        });
    }
}

/// Maximum number of source locations that an anomaly lists for an id.
const LISTED_PLACES: usize = 4;

fn listed(sources: &[ZoneSource]) -> String {
    let places: Vec<_> = sources.iter().take(LISTED_PLACES).map(place).collect();
    let more = sources.len().saturating_sub(LISTED_PLACES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    places.join(", ") + &more
}

fn place(source: &ZoneSource) -> String {
    format!("{} ({}:{})", source.name, source.file, source.line)
}

#[cfg(test)]
mod tests;
