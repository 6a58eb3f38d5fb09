//! Reason why a device log cannot be read or written at all.

use reader::packed_bytes::PackedError;
use std::io;

/// Reason why a device log cannot be read or written at all. Single unreadable lines are anomalies
/// instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file has no text.
    #[error(
        "{file}: expected a device log, found an empty file; the log is written when the device \
         is closed, by a run with TT_METAL_DEVICE_PROFILER=1"
    )]
    Empty {
        /// Name of the log, as the caller gave it.
        file: String,
    },
    /// The first line does not describe a chip.
    #[error(
        "{file}, line {line}: expected `ARCH: <name>, CHIP_FREQ[MHz]: <number>`, found {found} of \
         {found_bytes} bytes; {advice}"
    )]
    FirstLine {
        /// Name of the log, as the caller gave it.
        file: String,
        /// Line number, counted from 1.
        line: u64,
        /// What the line is.
        found: &'static str,
        /// Length of the line found instead. Its text is not shown, since it may be a secret from
        /// another file.
        found_bytes: usize,
        /// What to do.
        advice: &'static str,
    },
    /// The first line is longer than the maximum.
    #[error(
        "{file}, line 1: expected `ARCH: <name>, CHIP_FREQ[MHz]: <number>`, found a line of more \
         than {longest_bytes} bytes; name the profile_log_device.csv of a run"
    )]
    EndlessFirstLine {
        /// Name of the log, as the caller gave it.
        file: String,
        /// Maximum length of a line, in bytes.
        longest_bytes: usize,
    },
    /// The line of column titles is missing or incomplete.
    #[error(
        "{file}, line {line}: expected column titles with `{missing}`, found `{found}`; {advice}"
    )]
    Titles {
        /// Name of the log, as the caller gave it.
        file: String,
        /// Line number, counted from 1.
        line: u64,
        /// The first required title that is missing.
        missing: &'static str,
        /// The text found instead, truncated.
        found: String,
        /// What to do.
        advice: &'static str,
    },
    /// The file system reported an error.
    #[error("cannot {action} {file}")]
    Io {
        /// Name of the log, as the caller gave it.
        file: String,
        /// The action that failed.
        action: &'static str,
        /// Cause of the failure.
        source: io::Error,
    },
    /// Records beyond the memory limit cannot be kept in the temporary file.
    #[error(transparent)]
    Packed(#[from] PackedError),
}
