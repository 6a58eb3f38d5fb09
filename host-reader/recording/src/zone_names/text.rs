//! One zone text: what the device made of its bytes, and what they say.

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
    /// The id that the device computes from the raw bytes.
    pub id: ZoneId,
    /// Name and place; bytes that are no UTF-8 are replacement characters.
    pub source: ZoneSource,
}

impl ZoneText {
    /// Reads bytes of the right form; `None` for others.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > LONGEST_TEXT_BYTES {
            return None;
        }
        let source = ZoneSource::from_text(&String::from_utf8_lossy(bytes))?;
        Some(Self { id: ZoneId::of_bytes(bytes), source })
    }
}

/// The longest text that is taken for one: more than the longest path and name.
const LONGEST_TEXT_BYTES: usize = 1 << 16;

/// The beginning of some bytes, printable, for an anomaly.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    let shown = bytes.get(..EXCERPT_BYTES).unwrap_or(bytes);
    let rest = if shown.len() < bytes.len() { "..." } else { "" };
    format!("{:?}{rest}", String::from_utf8_lossy(shown))
}

const EXCERPT_BYTES: usize = 120;
