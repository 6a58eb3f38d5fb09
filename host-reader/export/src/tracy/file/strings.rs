//! Texts of a file, without duplicates.

use std::collections::HashMap;

/// Index of a text in the file's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StringIndex(pub(super) u32);

impl StringIndex {
    /// Maximum index that fits a 24-bit reference, in which 0 means no text.
    const MAX: u32 = (1 << 24) - 2;

    /// Returns the pseudo-address of the text, for references that Tracy stores as pointers.
    pub(super) fn pointer(self) -> u64 {
        u64::from(self.0) + 1
    }

    /// Returns the 24-bit reference.
    pub(super) const fn plus_one(self) -> u32 {
        self.0 + 1
    }
}

/// Returns the pseudo-address of the entry with this index, for references that Tracy stores as
/// pointers.
pub(super) const fn pointer(index: usize) -> u64 {
    index as u64 + 1
}

/// All texts of a file.
#[derive(Default)]
pub(super) struct StringTable<'a> {
    /// Texts, by index.
    pub(super) texts: Vec<&'a str>,
    known: HashMap<&'a str, StringIndex>,
}

impl<'a> StringTable<'a> {
    /// Returns the index of a text, and adds the text if it is new. When all indices are in use,
    /// new texts get the last index.
    pub(super) fn intern(&mut self, text: &'a str) -> StringIndex {
        if let Some(&known) = self.known.get(text) {
            return known;
        }
        let next = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let (index, text) = match next.cmp(&StringIndex::MAX) {
            std::cmp::Ordering::Less => (StringIndex(next), text),
            std::cmp::Ordering::Equal => (StringIndex(next), "(one text too many for Tracy)"),
            std::cmp::Ordering::Greater => return StringIndex(StringIndex::MAX),
        };
        self.texts.push(text);
        self.known.insert(text, index);
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_once() {
        let mut table = StringTable::default();
        let first = table.intern("BRISC-FW");
        assert_ne!(table.intern("other"), first);
        assert_eq!(table.intern("BRISC-FW"), first);
        assert_eq!(table.texts, ["BRISC-FW", "other"]);
        assert_eq!((first.pointer(), first.plus_one()), (1, 1));
    }
}
