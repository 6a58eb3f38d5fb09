//! Codes and sizes of items in each version.
//!
//! The codes are the values that a compiler assigns to the enumeration in
//! `public/common/TracyQueue.hpp` of the release. The sizes are those of the structures in this
//! file and in `TracyProtocol.hpp`. Protocol 83 has the items of protocol 82, and the additional
//! items of the fork's protocol 79.

use std::collections::HashMap;

/// One line for each item, with `code:bytes` for each version. The number of bytes includes the
/// code.
const TABLE: &str = include_str!("items.csv");

/// One version of the protocol.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) number: u32,
    pub(crate) is_fork: bool,
    pub(crate) welcome_bytes: usize,
    items: HashMap<u8, &'static str>,
    bytes: HashMap<&'static str, usize>,
}

impl Version {
    /// Returns every version that has a column.
    pub(crate) fn all() -> Vec<Self> {
        let head = TABLE.lines().next().unwrap().split(',').skip(1);
        head.enumerate().map(|(column, name)| Self::in_column(column + 1, name)).collect()
    }

    /// Returns the oldest and the newest version of each program, or every version if
    /// `KPROF_FULL_SIZES` requests it, for traces that take long in every version.
    pub(crate) fn all_or_outermost() -> Vec<Self> {
        let mut versions = Self::all();
        if std::env::var_os("KPROF_FULL_SIZES").is_none() {
            let numbers = |is_fork| {
                let of_program = versions.iter().filter(move |of| of.is_fork == is_fork);
                of_program.map(|of| of.number)
            };
            let [stock, fork] =
                [false, true].map(|is_fork| [numbers(is_fork).min(), numbers(is_fork).max()]);
            versions.retain(|of| {
                let outermost = if of.is_fork { fork } else { stock };
                outermost.contains(&Some(of.number))
            });
        }
        versions
    }

    fn in_column(column: usize, name: &'static str) -> Self {
        let fields = TABLE.lines().skip(1).map(|line| (line, line.split(',').nth(column).unwrap()));
        let mut version = Self {
            number: name.split(' ').next().unwrap().parse().unwrap(),
            is_fork: name.ends_with("fork"),
            welcome_bytes: 0,
            items: HashMap::new(),
            bytes: HashMap::new(),
        };
        for (line, field) in fields {
            let item = line.split(',').next().unwrap();
            match field.split_once(':') {
                Some((code, bytes)) => {
                    version.items.insert(code.parse().unwrap(), item);
                    version.bytes.insert(item, bytes.parse().unwrap());
                }
                None if item == "welcome" => version.welcome_bytes = field.parse().unwrap(),
                None => assert_eq!(field, ""),
            }
        }
        version
    }

    /// Returns the name of an item, and the minimum number of bytes after its code.
    pub(crate) fn item(&self, code: u8) -> (&'static str, usize) {
        let item = *self.items.get(&code).unwrap_or_else(|| panic!("item {code} is unknown"));
        (item, self.bytes[item] - 1)
    }

    /// Returns code and length of an item in bytes; `None` if this version does not have the item.
    pub(crate) fn entry(&self, item: &str) -> Option<(u8, usize)> {
        let bytes = *self.bytes.get(item)?;
        let code = self.items.iter().find(|(_, name)| **name == item)?;
        Some((*code.0, bytes))
    }

    pub(crate) fn has(&self, item: &str) -> bool {
        self.bytes.contains_key(item)
    }

    /// Returns the length of a context number in bytes.
    pub(crate) fn context_bytes(&self) -> usize {
        self.bytes["GpuContextName"] - 1
    }
}
