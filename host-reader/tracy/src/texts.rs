//! Texts of the program, which the server requests by address, and names, which it requests by key.

use crate::{protocol::Query, queries::Queries};
use std::collections::HashMap;

/// A received text, or the request for a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TextRef {
    /// No text.
    Nothing,
    Here(Box<str>),
    Asked(Query, u64),
}

/// Texts by kind of request, and by address or key.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    known: HashMap<(Query, u64), Option<Box<str>>>,
}

impl Texts {
    /// Returns a reference to the text at an address. Address 0 means no text.
    pub(crate) fn at(&mut self, address: u64, queries: &mut Queries) -> TextRef {
        match address {
            0 => TextRef::Nothing,
            _ => self.ask(Query::Text, address, queries),
        }
    }

    /// Returns a reference to a text. Each text is requested only once.
    pub(crate) fn ask(&mut self, query: Query, key: u64, queries: &mut Queries) -> TextRef {
        self.known.entry((query, key)).or_insert_with(|| {
            queries.ask(query, key);
            None
        });
        TextRef::Asked(query, key)
    }

    /// Stores a text that the client sent as an answer.
    pub(crate) fn answer(&mut self, query: Query, key: u64, text: Box<str>) {
        self.known.insert((query, key), Some(text));
    }

    /// Returns the text. The result is empty if there is no text, and `None` if the answer never
    /// arrived.
    pub(crate) fn resolve(&self, text: TextRef) -> Option<Box<str>> {
        match text {
            TextRef::Nothing => Some("".into()),
            TextRef::Here(text) => Some(text),
            TextRef::Asked(query, key) => self.known.get(&(query, key)).cloned().flatten(),
        }
    }
}
