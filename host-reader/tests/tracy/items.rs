//! Numbers and sizes of items, version by version.
//!
//! The numbers are those that a compiler gives to the enumeration and to the sizes in
//! `public/common/TracyQueue.hpp` and `TracyProtocol.hpp` of the release; for number 83 those
//! of 82 with the items that the fork's 79 has on top.

use std::collections::HashMap;

/// One line for each item; `code:bytes` for each version, the code being one of the bytes.
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
    /// Every version that has a column.
    pub(crate) fn all() -> Vec<Self> {
        let head = TABLE.lines().next().unwrap().split(',').skip(1);
        head.enumerate().map(|(column, name)| Self::in_column(column + 1, name)).collect()
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

    /// The name of an item, and how many bytes follow its code at least.
    pub(crate) fn item(&self, code: u8) -> (&'static str, usize) {
        let item = *self.items.get(&code).unwrap_or_else(|| panic!("item {code} is unknown"));
        (item, self.bytes[item] - 1)
    }

    /// Code and bytes of an item; `None` if this version does not have it.
    pub(crate) fn entry(&self, item: &str) -> Option<(u8, usize)> {
        let bytes = *self.bytes.get(item)?;
        let code = self.items.iter().find(|(_, name)| **name == item)?;
        Some((*code.0, bytes))
    }

    pub(crate) fn has(&self, item: &str) -> bool {
        self.bytes.contains_key(item)
    }

    /// How many bytes the number of a context has.
    pub(crate) fn context_bytes(&self) -> usize {
        self.bytes["GpuContextName"] - 1
    }
}
