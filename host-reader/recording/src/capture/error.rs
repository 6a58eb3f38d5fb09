//! Reasons why a capture cannot be opened or written at all.
//!
//! Damage inside a capture is not an error. It is reported as a [`Problem`](super::Problem), and
//! the undamaged sections are used.

use super::header::FormatVersion;
use std::{io, path::PathBuf};

/// Reason why a capture cannot be opened or written at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file system reported an error.
    #[error("cannot {action} the capture {path}: {source}", path = .path.display())]
    Io {
        /// Name of the operation that failed, such as `open`.
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the file system.
        source: io::Error,
    },
    /// The capture, from a file or a pipe, is shorter than a file header.
    #[error(
        "expected a capture, found the end after {found_bytes} of the {expected_bytes} bytes of \
         its header; the capture was stopped before its first record"
    )]
    TooShort {
        /// Number of bytes in the file or pipe.
        found_bytes: u64,
        /// Size of a file header, in bytes.
        expected_bytes: u64,
    },
    /// The file is not a capture.
    #[error(
        "not a capture: expected it to begin with `{}`, found other bytes{advice}",
        .expected.escape_ascii(),
        advice = advice(.found)
    )]
    NotACapture {
        /// First bytes of every capture.
        expected: [u8; 8],
        /// First bytes of the file. Messages omit these bytes, which may be a secret.
        found: [u8; 8],
    },
    /// This library cannot read the version of the container.
    #[error(
        "the capture has format version {found}, this library reads {major}.x; update it",
        major = .known.major
    )]
    UnknownVersion {
        /// The capture's version.
        found: FormatVersion,
        /// The version that this library writes.
        known: FormatVersion,
    },
    /// Another process is writing to the capture.
    #[error(
        "the capture {path} is being written by another process; wait for it or choose another \
         file",
        path = .path.display()
    )]
    InUse {
        /// Path of the file.
        path: PathBuf,
    },
    /// A section is too large for its size fields.
    #[error("a section of {size_bytes} bytes cannot be written: {limit}")]
    SectionTooLarge {
        /// Size of the payload, in bytes.
        size_bytes: u64,
        /// The limit that the size exceeds.
        limit: &'static str,
    },
}

impl CaptureError {
    pub(super) fn io(action: &'static str, path: &std::path::Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }
}

/// Returns a hint if the file is a device log, or a capture that a text-mode transfer has damaged.
/// The hint is empty for other files.
fn advice(found: &[u8; 8]) -> &'static str {
    if found.starts_with(b"\x8AKPROF") || found[1..].starts_with(b"KPROF") {
        "; a transfer in text mode has changed it, use binary mode"
    } else if found.starts_with(b"ARCH: ") {
        "; this is a device log, `kprof report` shows it"
    } else {
        ""
    }
}
