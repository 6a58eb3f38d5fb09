//! Texts of the program, which the server asks for by their addresses.

use crate::{protocol::Query, queries::Queries};
use std::collections::HashMap;

/// A text that came, or the address of one that was asked for.
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
    /// A text at this address, which is asked for once; no text at address 0.
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

    /// Takes an answer.
    pub(crate) fn answer(&mut self, address: u64, text: Box<str>) {
        self.known.insert(address, Some(text));
    }

    /// The text; empty where there is none, `None` where the answer never came.
    pub(crate) fn resolve(&self, text: TextRef) -> Option<Box<str>> {
        match text {
            TextRef::Nothing => Some("".into()),
            TextRef::Here(text) => Some(text),
            TextRef::At(address) => self.known.get(&address).cloned().flatten(),
        }
    }
}
