//! A zone text: the id that the device computes from its bytes, and its parsed content.

use reader::names::ZoneSource;
use wire::ZoneId;

/// A zone text `name,file,line,KERNEL_PROFILER`, valid UTF-8 or not.
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

/// Maximum length of a zone text: more than the longest path and name.
const LONGEST_TEXT_BYTES: usize = 1 << 16;

/// Returns a printable beginning of the bytes, for an anomaly.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    let shown = bytes.get(..EXCERPT_BYTES).unwrap_or(bytes);
    let rest = if shown.len() < bytes.len() { "..." } else { "" };
    format!("{:?}{rest}", String::from_utf8_lossy(shown))
}

const EXCERPT_BYTES: usize = 120;
