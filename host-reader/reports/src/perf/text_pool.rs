//! Texts that many rows share, such as names of ops. Each text is stored only once in memory.

use std::sync::Arc;

/// Number of cached texts. If there are more distinct texts, some are stored several times.
const SLOTS: usize = 1024;

/// Cache of recently read texts, so that equal texts share memory. The cache's size is limited.
#[derive(Debug)]
pub(super) struct TextPool {
    /// Latest text in each slot.
    slots: Vec<Option<Arc<str>>>,
}

impl Default for TextPool {
    fn default() -> Self {
        Self { slots: vec![None; SLOTS] }
    }
}

impl TextPool {
    /// Returns a shared copy of a text. If the cache contains an equal text, that copy is returned.
    pub(super) fn shared(&mut self, text: &str) -> Arc<str> {
        let Some(slot) = self.slots.get_mut(slot_of(text)) else { return text.into() };
        match slot {
            Some(known) if **known == *text => known.clone(),
            _ => slot.insert(text.into()).clone(),
        }
    }
}

/// Returns the slot of a text, computed from the text's length and a few of its bytes. Different
/// texts may have the same slot, so the caller must compare the texts themselves.
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
        assert!(Arc::ptr_eq(&one, &same));
        assert_eq!((&*one, &*other, &*pool.shared("")), ("Matmul", "Softmax", ""));
    }

    #[test]
    fn texts_that_meet_in_a_slot_stay_themselves() {
        let mut pool = TextPool::default();
        let texts: Vec<String> = (0..10 * SLOTS).map(|number| format!("text {number}")).collect();
        for text in texts.iter().chain(&texts) {
            assert_eq!(*pool.shared(text), **text);
        }
        // Two texts that differ only in bytes that do not affect the slot.
        let [one, other] =
            ["a", "b"].map(|letter| format!("{}{letter}{}", "x".repeat(50), "x".repeat(49)));
        assert_eq!(
            [&one, &other].map(|text| pool.shared(text).to_string()),
            [one.clone(), other.clone()]
        );
    }
}
