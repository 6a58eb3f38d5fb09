//! Why a device log cannot be read or written at all.

use std::io;

/// A failure that leaves nothing to report. Single bad lines are anomalies instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file has no text.
    #[error(
        "{file}: expected a device log, found an empty file; the log is written when the device \
         is closed, by a run with TT_METAL_DEVICE_PROFILER=1"
    )]
    Empty {
        /// The log, as the caller names it.
        file: String,
    },
    /// The first line does not describe a chip.
    #[error(
        "{file}, line {line}: expected `ARCH: <name>, CHIP_FREQ[MHz]: <number>`, found other text \
         of {found_bytes} bytes; give the profile_log_device.csv of a run"
    )]
    FirstLine {
        /// The log, as the caller names it.
        file: String,
        /// Line, from 1.
        line: u64,
        /// Length of the line found instead. Its text may be a secret of another file.
        found_bytes: usize,
    },
    /// The first line is longer than any line of a log.
    #[error(
        "{file}, line 1: expected `ARCH: <name>, CHIP_FREQ[MHz]: <number>`, found a line of more \
         than {longest_bytes} bytes; give the profile_log_device.csv of a run"
    )]
    EndlessFirstLine {
        /// The log, as the caller names it.
        file: String,
        /// Bytes that were looked at.
        longest_bytes: usize,
    },
    /// The line of column titles is missing or names too little.
    #[error(
        "{file}, line {line}: expected column titles with `{missing}`, found `{found}`; \
         restore the title line that the profiler wrote"
    )]
    Titles {
        /// The log, as the caller names it.
        file: String,
        /// Line, from 1.
        line: u64,
        /// The first title that is needed and absent.
        missing: &'static str,
        /// The text found instead, shortened.
        found: String,
    },
    /// The file system refused.
    #[error("cannot {action} {file}")]
    Io {
        /// The log, as the caller names it.
        file: String,
        /// The attempted action.
        action: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}
