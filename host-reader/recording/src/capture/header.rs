//! The file header: magic, format version and identity of the capture.
//!
//! The header contains no data about devices; see the [module](super) for the byte layout.

use super::{
    error::CaptureError,
    host_clock::unix_time_ns,
    numbers::{Record, put_u16s, put_u32s, put_u64s},
};
use std::{
    fs::File,
    hash::{BuildHasher, Hasher, RandomState},
    io::Read,
    path::Path,
};

/// Version of the container, that is, of the file header and the section frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FormatVersion {
    /// Increases when older readers can no longer find sections.
    pub major: u16,
    /// Increases with additions that older readers may ignore.
    pub minor: u16,
}

impl FormatVersion {
    /// Version that this library writes.
    pub const CURRENT: Self = Self { major: 1, minor: 5 };
    /// First version with a mark at the end of a recording.
    pub(super) const WITH_END_MARK: Self = Self { major: 1, minor: 1 };
}

impl std::fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Identity of a capture, unique to each capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CaptureIdentity {
    /// Random number. Two captures have the same number only if they are copies of each other.
    pub id: u128,
    /// Creation time of the capture, in nanoseconds since the Unix epoch.
    pub created_unix_ns: u64,
}

impl CaptureIdentity {
    /// Creates a unique identity.
    #[must_use]
    pub(super) fn fresh() -> Self {
        let created_unix_ns = unix_time_ns();
        let [high, low] = [(); 2].map(|()| u128::from(random_word(created_unix_ns)));
        Self { id: high << 64 | low, created_unix_ns }
    }
}

/// Returns a number that differs between processes and between calls.
fn random_word(created_unix_ns: u64) -> u64 {
    // Each `RandomState` has its own keys, generated from random numbers of the operating system.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(created_unix_ns);
    hasher.write_u32(std::process::id());
    hasher.finish()
}

/// Decoded file header of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHeader {
    /// Version of the container.
    pub version: FormatVersion,
    /// Identity of the capture.
    pub identity: CaptureIdentity,
}

/// Size of the file header; the first section follows.
pub const FILE_HEADER_BYTES: usize = FILE_HEADER_BYTES_U32 as usize;
const FILE_HEADER_BYTES_U32: u32 = 64;

/// First eight bytes of a capture.
///
/// A byte above 0x7F and the line end `\r\n` make damage by a text-mode transfer detectable.
pub const FILE_MAGIC: [u8; 8] = *b"\x8AKPROF\r\n";

impl FileHeader {
    /// Reads the header of a file; `None` if the file cannot be read, or if it is no capture.
    ///
    /// ```
    /// use recording::capture::FileHeader;
    /// assert_eq!(FileHeader::of_file("no such file".as_ref()), None);
    /// ```
    #[must_use]
    pub fn of_file(path: &Path) -> Option<Self> {
        let mut bytes = [0; FILE_HEADER_BYTES];
        File::open(path).ok()?.read_exact(&mut bytes).ok()?;
        Self::read(&bytes)
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FILE_HEADER_BYTES);
        bytes.extend(FILE_MAGIC);
        put_u16s(&mut bytes, [self.version.major, self.version.minor]);
        put_u32s(&mut bytes, [FILE_HEADER_BYTES_U32]);
        bytes.extend(self.identity.id.to_le_bytes());
        put_u64s(&mut bytes, [self.identity.created_unix_ns]);
        bytes.resize(FILE_HEADER_BYTES - 4, 0);
        let checksum = crc32fast::hash(&bytes);
        put_u32s(&mut bytes, [checksum]);
        bytes
    }

    /// Reads the header of a file from its first [`FILE_HEADER_BYTES`]; `None` if its magic or its
    /// checksum is wrong.
    pub(super) fn read(bytes: &[u8; FILE_HEADER_BYTES]) -> Option<Self> {
        let mut fields = Record::new(bytes);
        let (checked, checksum) = bytes.split_at(FILE_HEADER_BYTES - 4);
        if fields.u8s() != FILE_MAGIC || Record::new(checksum).u32s() != [crc32fast::hash(checked)]
        {
            return None;
        }
        let [major, minor] = fields.u16s();
        let [_header_bytes] = fields.u32s();
        let id = fields.number(u128::from_le_bytes);
        let [created_unix_ns] = fields.u64s();
        Some(Self {
            version: FormatVersion { major, minor },
            identity: CaptureIdentity { id, created_unix_ns },
        })
    }

    /// Returns an error for containers in which this library cannot find sections.
    pub(super) fn check_version(&self) -> Result<(), CaptureError> {
        let known = FormatVersion::CURRENT;
        if self.version.major == known.major {
            return Ok(());
        }
        Err(CaptureError::UnknownVersion { found: self.version, known })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: FileHeader = FileHeader {
        version: FormatVersion { major: 1, minor: 3 },
        identity: CaptureIdentity { id: 7 << 100 | 9, created_unix_ns: 1_700_000_000 },
    };

    #[test]
    fn a_header_gives_back_what_was_written() {
        assert_eq!(FileHeader::read(HEADER.to_bytes().first_chunk().unwrap()), Some(HEADER));
        assert!(HEADER.check_version().is_ok(), "a newer minor version is readable");
    }

    #[test]
    fn the_header_of_a_file_is_that_in_its_first_bytes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (bytes, expected) in [
            ([HEADER.to_bytes(), vec![1; 9]].concat(), Some(HEADER)),
            (HEADER.to_bytes()[..63].to_vec(), None),
            (vec![0; 200], None),
        ] {
            std::fs::write(file.path(), bytes).unwrap();
            assert_eq!(FileHeader::of_file(file.path()), expected);
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        for bit in 0..FILE_HEADER_BYTES * 8 {
            let mut bytes = HEADER.to_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(FileHeader::read(bytes.first_chunk().unwrap()).is_none(), "bit {bit}");
        }
    }

    #[test]
    fn identities_are_distinct() {
        assert_ne!(CaptureIdentity::fresh().id, CaptureIdentity::fresh().id);
    }
}
