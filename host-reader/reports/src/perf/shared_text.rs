//! Texts that many rows share, such as names of ops. Each text is stored only once in memory.

use std::{fmt, ops::Deref, sync::Arc};

/// Text that many rows share. It can be used like a [`str`].
///
/// ```
/// use reports::perf::SharedText;
/// let name = SharedText::from("Matmul");
/// assert!(name == "Matmul" && name.starts_with("Mat"));
/// ```
#[derive(Clone, Default, Eq, PartialOrd, Ord)]
pub struct SharedText(Arc<str>);

impl SharedText {
    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for SharedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for SharedText {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for SharedText {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl PartialEq for SharedText {
    fn eq(&self, other: &Self) -> bool {
        // Rows with the same op mostly share one allocation.
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl PartialEq<str> for SharedText {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

impl PartialEq<&str> for SharedText {
    fn eq(&self, other: &&str) -> bool {
        *self.0 == **other
    }
}

impl fmt::Debug for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl serde::Serialize for SharedText {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&self.0)
    }
}

/// Number of cached texts. If there are more distinct texts, some are stored several times.
const SLOTS: usize = 1024;

/// Cache of recent texts, which shares repeated texts. Its memory is bounded.
#[derive(Debug)]
pub(super) struct TextPool {
    /// Latest text in each slot.
    slots: Vec<Option<SharedText>>,
}

impl Default for TextPool {
    fn default() -> Self {
        Self { slots: vec![None; SLOTS] }
    }
}

impl TextPool {
    /// Returns a shared text. An equal text in the cache is reused.
    pub(super) fn shared(&mut self, text: &str) -> SharedText {
        let Some(slot) = self.slots.get_mut(slot_of(text)) else { return text.into() };
        match slot {
            Some(known) if **known == *text => known.clone(),
            _ => slot.insert(text.into()).clone(),
        }
    }
}

/// Returns the slot of a text, computed from its length and a few bytes. The whole text is compared
/// later.
fn slot_of(text: &str) -> usize {
    const SAMPLES: usize = 16;
    let bytes = text.as_bytes();
    let step = (bytes.len() / SAMPLES).max(1);
    let samples = bytes.iter().step_by(step).chain(bytes.last());
    let hash = samples.fold(bytes.len() as u64 ^ 0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    });
    usize::try_from(hash >> 32).unwrap_or(0) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_shared_and_others_are_not() {
        let mut pool = TextPool::default();
        let [one, same, other] = ["Matmul", "Matmul", "Softmax"].map(|text| pool.shared(text));
        assert!(Arc::ptr_eq(&one.0, &same.0));
        assert_eq!(
            (one.as_str(), other.as_str(), pool.shared("").as_str()),
            ("Matmul", "Softmax", "")
        );
    }

    #[test]
    fn texts_that_meet_in_a_slot_stay_themselves() {
        let mut pool = TextPool::default();
        let texts: Vec<String> = (0..10 * SLOTS).map(|number| format!("text {number}")).collect();
        for text in texts.iter().chain(&texts) {
            assert_eq!(pool.shared(text).as_str(), text);
        }
        // Two texts that differ only in bytes that do not affect the slot.
        let [one, other] =
            ["a", "b"].map(|letter| format!("{}{letter}{}", "x".repeat(50), "x".repeat(49)));
        assert_eq!(
            [&one, &other].map(|text| pool.shared(text).to_string()),
            [one.clone(), other.clone()]
        );
    }

    #[test]
    fn a_shared_text_is_written_as_its_text() {
        let text = SharedText::from("a\"b");
        assert_eq!(serde_json::to_string(&text).unwrap(), r#""a\"b""#);
        assert_eq!(format!("{text}|{text:>5}|{text:?}"), "a\"b|  a\"b|\"a\\\"b\"");
    }
}
