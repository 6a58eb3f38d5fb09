//! Plots and series of frames, whose names come when they are asked for.

use crate::{protocol::Query, queries::Queries};
use std::collections::HashMap;

/// A plot or a series of frames while its name may be on its way.
#[derive(Debug, Default)]
pub(super) struct Named<T> {
    pub(super) items: Vec<(u64, T)>,
    by_key: HashMap<u64, usize>,
}

impl<T: Default> Named<T> {
    /// The item with this key, whose name is asked for once.
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
