//! Texts of the program, which the server requests by address.

use crate::{protocol::Query, queries::Queries};
use std::collections::HashMap;

/// A received text, or the address of a requested text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TextRef {
    /// No text.
    Nothing,
    Here(Box<str>),
    At(u64),
}

/// Texts by address.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    known: HashMap<u64, Option<Box<str>>>,
}

impl Texts {
    /// Returns a reference to the text at an address. Each text is requested only once. Address 0
    /// means no text.
    pub(crate) fn at(&mut self, address: u64, queries: &mut Queries) -> TextRef {
        if address == 0 {
            return TextRef::Nothing;
        }
        self.known.entry(address).or_insert_with(|| {
            queries.ask(Query::Text, address);
            None
        });
        TextRef::At(address)
    }

    /// Stores a text that the client sent as an answer.
    pub(crate) fn answer(&mut self, address: u64, text: Box<str>) {
        self.known.insert(address, Some(text));
    }

    /// Returns the text. The result is empty if there is no text, and `None` if the answer never
    /// arrived.
    pub(crate) fn resolve(&self, text: TextRef) -> Option<Box<str>> {
        match text {
            TextRef::Nothing => Some("".into()),
            TextRef::Here(text) => Some(text),
            TextRef::At(address) => self.known.get(&address).cloned().flatten(),
        }
    }
}
