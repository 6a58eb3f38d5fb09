//! Call stacks as text. The recorded program looks up the functions at the addresses of a stack.

use crate::{
    fields::{Fields, text},
    protocol::Query,
    queries::Queries,
    recording::StackFunction,
};
use std::collections::HashMap;

/// One entry of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Entry {
    /// An address in the program's code.
    Address(u64),
    /// A function of an interpreted language, sent as text.
    Function(StackFunction),
}

/// Unique call stacks.
#[derive(Debug, Default)]
pub(crate) struct Callstacks {
    met: Vec<Vec<Entry>>,
    by_entries: HashMap<Vec<Entry>, u32>,
    /// Functions at each address, inlined functions first. A list is empty until the program's
    /// answer arrives.
    functions: HashMap<u64, Vec<StackFunction>>,
    /// The last received stack, which belongs to the next item.
    payload: Vec<Entry>,
    /// Answer in progress: the address, and the number of functions that have not been received
    /// yet.
    answer: Option<(u64, u8)>,
}

impl Callstacks {
    /// Stores the addresses of a stack.
    pub(crate) fn take_addresses(&mut self, mut fields: Fields<'_>) {
        self.payload.clear();
        while let Some(address) = fields.u64() {
            self.payload.push(Entry::Address(address));
        }
    }

    /// Adds functions of an interpreted language to the stack. The functions come before the
    /// addresses, because they were called by the functions at the addresses.
    pub(crate) fn take_functions(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let mut entries = Vec::new();
        for _ in 0..fields.u8()? {
            let line = fields.u32()?;
            let [name, file] = [fields.sized_text()?, fields.sized_text()?];
            entries.push(Entry::Function(StackFunction { name, file, line }));
        }
        entries.append(&mut self.payload);
        self.payload = entries;
        Some(())
    }

    /// Discards the last received stack. Called if the item that the stack belongs to is not kept.
    pub(crate) fn drop_payload(&mut self) {
        self.payload.clear();
    }

    /// Returns the index of the last received stack, and requests the functions of the stack.
    pub(crate) fn take_payload(&mut self, queries: &mut Queries) -> Option<u32> {
        let entries = std::mem::take(&mut self.payload);
        if let Some(known) = self.by_entries.get(&entries) {
            return Some(*known);
        }
        let index = u32::try_from(self.met.len()).ok()?;
        for entry in &entries {
            if let Entry::Address(address) = entry {
                self.functions.entry(*address).or_insert_with(|| {
                    queries.ask(Query::CallstackFrame, *address);
                    Vec::new()
                });
            }
        }
        self.met.push(entries.clone());
        self.by_entries.insert(entries, index);
        Some(index)
    }

    /// Reads the start of an answer: an address, and the number of functions that follow.
    pub(crate) fn answer_head(&mut self, mut fields: Fields<'_>) -> Option<()> {
        self.answer = Some((fields.u64()?, fields.u8()?));
        Some(())
    }

    /// Adds one function to the functions at the address of the answer in progress.
    pub(crate) fn answer_function(
        &mut self,
        mut fields: Fields<'_>,
        name: Option<Box<str>>,
        file: Option<Box<str>>,
    ) -> Option<()> {
        let line = fields.u32()?;
        let (address, left) = self.answer?;
        self.answer = left.checked_sub(1).map(|left| (address, left));
        let function = StackFunction {
            name: name.unwrap_or_else(|| text(format!("{address:#x}").as_bytes())),
            file: file.unwrap_or_default(),
            line,
        };
        self.functions.entry(address).or_default().push(function);
        Some(())
    }

    /// Returns the stacks with their functions. Adds to `missing` the number of functions that were
    /// never received.
    pub(crate) fn resolve(self, missing: &mut u64) -> Vec<Vec<StackFunction>> {
        let Self { met, functions, .. } = self;
        met.into_iter()
            .map(|stack| {
                stack
                    .into_iter()
                    .flat_map(|entry| match entry {
                        Entry::Function(function) => vec![function],
                        Entry::Address(address) => match functions.get(&address) {
                            Some(known) if !known.is_empty() => known.clone(),
                            _ => {
                                *missing = missing.saturating_add(1);
                                vec![nameless(address)]
                            }
                        },
                    })
                    .collect()
            })
            .collect()
    }
}

/// Returns a function that is known only by its address.
fn nameless(address: u64) -> StackFunction {
    let name = text(format!("{address:#x}").as_bytes());
    StackFunction { name, ..StackFunction::default() }
}
