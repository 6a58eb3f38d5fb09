//! Logs that were made by a simulation or from a capture. They never replace a measured log.
//!
//! These logs have the same name as a measured log, `profile_log_device.csv`. Next to each log that
//! was made by a simulation or from a capture is a note file with the log's length and checksum.
//! Only a log that matches its note may be replaced. Further lines of the note name the limits of a
//! chip that simulated times leave out, because the log itself has no room for them.

use crate::failure::{Failure, OrFail, failure};
use host_reader::simulated_time::SimulatedTime;
use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Suffix of a note's file name.
const NOTE_ENDING: &str = ".derived";
/// Earlier suffix for notes of simulated logs; such notes are still accepted.
const EARLIER_NOTE_ENDING: &str = ".simulated";

/// First words of a note's line with a limit of a chip that simulated times leave out.
const LEAVES_OUT: &str = "simulated, leaves out: ";
/// Maximum size of a note that is read.
const NOTE_BYTES_MAX: u64 = 1 << 16;

/// Returns an error for an existing file that was not made by a simulation or from a capture.
///
/// # Errors
/// The error is one sentence that names the file.
pub(crate) fn check_replaceable(path: &Path) -> Result<(), Failure> {
    if !path.exists() {
        return Ok(());
    }
    let fingerprint = fingerprint(path).or_fail_at(path)?;
    let mut notes = [NOTE_ENDING, EARLIER_NOTE_ENDING].into_iter();
    if notes.any(|ending| read_note(path, ending).is_some_and(|(first, _)| first == fingerprint)) {
        return Ok(());
    }
    Err(failure!(
        "{} exists and was not written from a simulation or capture, so it is not replaced; choose \
         another folder with -o",
        path.display()
    ))
}

/// Returns the statement in the note of a log that the log's times are simulated; `None` if there is
/// no such note, or if the note belongs to an earlier log of this name.
pub(crate) fn simulated(path: &Path) -> Option<SimulatedTime> {
    let (first, simulated) = read_note(path, NOTE_ENDING)?;
    let simulated = simulated?;
    fingerprint(path).is_ok_and(|fingerprint| fingerprint == first).then_some(simulated)
}

/// Returns the first line of a log's note, which is the log's fingerprint, and the note's statement
/// that the log's times are simulated.
fn read_note(path: &Path, ending: &str) -> Option<(String, Option<SimulatedTime>)> {
    let mut note = String::new();
    let file = File::open(note_path(path, ending)).ok()?;
    file.take(NOTE_BYTES_MAX).read_to_string(&mut note).ok()?;
    let mut lines = note.lines();
    let first = lines.next()?.trim_end().to_owned();
    let unmodelled: Vec<String> =
        lines.filter_map(|line| line.strip_prefix(LEAVES_OUT)).map(str::to_owned).collect();
    Some((first, (!unmodelled.is_empty()).then_some(SimulatedTime { unmodelled })))
}

/// Writes the note file for a new log. `simulated` states that the log's times are simulated.
///
/// # Errors
/// If the file cannot be read, or the note cannot be written.
pub(crate) fn note(path: &Path, simulated: Option<&SimulatedTime>) -> Result<(), Failure> {
    let note = note_path(path, NOTE_ENDING);
    let limits = simulated.map_or(&[][..], |simulated| &simulated.unmodelled);
    let written = fingerprint(path).and_then(|mut text| {
        text.push('\n');
        limits.iter().for_each(|limit| text += &format!("{LEAVES_OUT}{limit}\n"));
        fs::write(&note, text)
    });
    written.or_fail_at(&note)
}

fn note_path(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}

/// Returns the length and the CRC-32 of a file as text.
fn fingerprint(path: &Path) -> io::Result<String> {
    const CHUNK_BYTES: usize = 1 << 20;
    let mut file = File::open(path)?;
    let mut hasher = crc32fast::Hasher::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut size_bytes = 0;
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(format!("{size_bytes} bytes, CRC-32 {:08x}", hasher.finalize())),
            count => {
                size_bytes += count as u64;
                hasher.update(&chunk[..count]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_replaceable_while_it_matches_a_note_of_either_ending() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("profile_log_device.csv");
        assert!(check_replaceable(&log).is_ok(), "there is none");
        fs::write(&log, "made up").unwrap();
        assert!(check_replaceable(&log).is_err(), "without a note");
        let unmodelled = vec!["NoC link rates".to_owned(), "compute time".to_owned()];
        let statement = SimulatedTime { unmodelled };
        note(&log, Some(&statement)).unwrap();
        assert!(check_replaceable(&log).is_ok());
        assert_eq!(simulated(&log), Some(statement));
        fs::rename(note_path(&log, NOTE_ENDING), note_path(&log, EARLIER_NOTE_ENDING)).unwrap();
        assert!(check_replaceable(&log).is_ok());
        fs::rename(note_path(&log, EARLIER_NOTE_ENDING), note_path(&log, NOTE_ENDING)).unwrap();
        fs::write(&log, "measured").unwrap();
        assert_eq!(simulated(&log), None, "the note is about an earlier log");
        assert!(check_replaceable(&log).is_err(), "another text");
    }
}
