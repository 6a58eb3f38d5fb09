//! A zone text: the parsed content, and the id that the device computes from the bytes.

use reader::names::ZoneSource;
use wire::ZoneId;

/// A zone text `name,file,line,KERNEL_PROFILER`, which may contain invalid UTF-8.
///
/// ```
/// use recording::zone_names::ZoneText;
/// let text = ZoneText::parse(b"caf\xE9,/k/k.cpp,3,KERNEL_PROFILER").unwrap();
/// assert_eq!(text.source.name, "caf\u{FFFD}");
/// assert_ne!(text.id, text.source.id());
/// assert_eq!(ZoneText::parse(b"a,b,c"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZoneText {
    /// Id that the device computes from the raw bytes.
    pub id: ZoneId,
    /// Name and source location; bytes that are not UTF-8 become replacement characters.
    pub source: ZoneSource,
}

impl ZoneText {
    /// Parses a zone text; returns `None` if the bytes are not a zone text.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > LONGEST_TEXT_BYTES {
            return None;
        }
        let source = ZoneSource::from_text(&String::from_utf8_lossy(bytes))?;
        Some(Self { id: ZoneId::from_bytes(bytes), source })
    }
}

/// Maximum length of a zone text in bytes. It exceeds the length of any real path and name.
const LONGEST_TEXT_BYTES: usize = 1 << 16;

/// Returns the beginning of the bytes as printable text, for an anomaly.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    let shown = bytes.get(..EXCERPT_BYTES).unwrap_or(bytes);
    let rest = if shown.len() < bytes.len() { "..." } else { "" };
    format!("{:?}{rest}", String::from_utf8_lossy(shown))
}

const EXCERPT_BYTES: usize = 120;
