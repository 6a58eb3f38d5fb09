//! Logs that were made by a simulation or from a capture. They never replace a measured log.
//!
//! These logs have the same name as a measured log, `profile_log_device.csv`. Next to each log that
//! was made by a simulation or from a capture is a note file with the log's length and checksum.
//! Only a log that matches its note may be replaced.

use crate::failure::{Failure, OrFail, failure};
use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Suffix of a note's file name.
const NOTE_ENDING: &str = ".derived";
/// Earlier suffix for notes of simulated logs; such notes are still accepted.
const EARLIER_NOTE_ENDING: &str = ".simulated";

/// Returns an error for an existing file that was not made by a simulation or from a capture.
///
/// # Errors
/// The error is one sentence that names the file.
pub(crate) fn check_replaceable(path: &Path) -> Result<(), Failure> {
    if !path.exists() {
        return Ok(());
    }
    let fingerprint = fingerprint(path).or_fail_at(path)?;
    let mut notes =
        [NOTE_ENDING, EARLIER_NOTE_ENDING].map(|ending| note_path(path, ending)).into_iter();
    if notes.any(|note| fs::read_to_string(note).is_ok_and(|note| note.trim_end() == fingerprint)) {
        return Ok(());
    }
    Err(failure!(
        "{} exists and was not written from a simulation or capture, so it is not replaced; choose \
         another folder with -o",
        path.display()
    ))
}

/// Writes the note file for a new log.
///
/// # Errors
/// If the file cannot be read, or the note cannot be written.
pub(crate) fn note(path: &Path) -> Result<(), Failure> {
    let note = note_path(path, NOTE_ENDING);
    let written = fingerprint(path).and_then(|text| fs::write(&note, format!("{text}\n")));
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
        note(&log).unwrap();
        assert!(check_replaceable(&log).is_ok());
        fs::rename(note_path(&log, NOTE_ENDING), note_path(&log, EARLIER_NOTE_ENDING)).unwrap();
        assert!(check_replaceable(&log).is_ok());
        fs::write(&log, "measured").unwrap();
        assert!(check_replaceable(&log).is_err(), "another text");
    }
}
