//! Selects the largest items without keeping all items in memory.

use std::cmp::Reverse;

/// Collects the `count` items with the largest keys. Among items with equal keys, those added
/// earlier come first.
pub(crate) struct Largest<T, F> {
    count: usize,
    key: F,
    items: Vec<T>,
}

/// Number of items, in addition to twice the number of items to keep, at which the smallest items
/// are removed.
const ITEMS_BEYOND: usize = 64;

impl<T, K: Ord, F: Fn(&T) -> K> Largest<T, F> {
    pub(crate) const fn new(count: usize, key: F) -> Self {
        Self { count, key, items: Vec::new() }
    }

    pub(crate) fn add(&mut self, item: T) {
        self.items.push(item);
        if self.items.len() >= self.count.saturating_mul(2).saturating_add(ITEMS_BEYOND) {
            self.remove_smaller();
        }
    }

    fn remove_smaller(&mut self) {
        self.items.sort_by_key(|item| Reverse((self.key)(item)));
        self.items.truncate(self.count);
    }

    pub(crate) fn into_sorted(mut self) -> Vec<T> {
        self.remove_smaller();
        self.items
    }
}
