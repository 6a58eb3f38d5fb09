//! Plots, series of frames and memory pools, each with a key and a name.

use crate::texts::TextRef;
use std::collections::HashMap;

/// Plots, series of frames or memory pools, in order of first appearance. Some names may not have
/// arrived yet.
#[derive(Debug, Default)]
pub(crate) struct Named<T> {
    pub(crate) items: Vec<(TextRef, T)>,
    by_key: HashMap<u64, usize>,
}

impl<T: Default> Named<T> {
    /// Returns the item with this key. If the item is new, `name` returns its name.
    pub(crate) fn with_key(&mut self, key: u64, name: impl FnOnce() -> TextRef) -> Option<&mut T> {
        let next = self.items.len();
        let index = *self.by_key.entry(key).or_insert(next);
        if index == next {
            self.items.push((name(), T::default()));
        }
        self.items.get_mut(index).map(|(_, item)| item)
    }

    /// Returns the item with this key; `None` if there is none.
    pub(crate) fn get_mut(&mut self, key: u64) -> Option<&mut T> {
        self.items.get_mut(*self.by_key.get(&key)?).map(|(_, item)| item)
    }
}
