//! Plots and series of frames, whose names are requested from the client.

use crate::{protocol::Query, queries::Queries};
use std::collections::HashMap;

/// Plots or series of frames whose names may not have arrived yet.
#[derive(Debug, Default)]
pub(super) struct Named<T> {
    pub(super) items: Vec<(u64, T)>,
    by_key: HashMap<u64, usize>,
}

impl<T: Default> Named<T> {
    /// Returns the item with this key. If the item is new, requests its name.
    pub(super) fn with_key(
        &mut self,
        key: u64,
        query: Query,
        queries: &mut Queries,
    ) -> Option<&mut T> {
        let next = self.items.len();
        let index = *self.by_key.entry(key).or_insert(next);
        if index == next {
            if key != 0 {
                queries.ask(query, key);
            }
            self.items.push((key, T::default()));
        }
        self.items.get_mut(index).map(|(_, item)| item)
    }
}
