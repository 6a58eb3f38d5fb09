//! Numbering of source locations.

use super::{HostSource, log::lock};
use std::{collections::HashMap, sync::Mutex};

/// Capacity of a thread's cache, in static source locations.
const REMEMBERED: usize = 256;

/// Static source locations of all recorded events, numbered in the order of first use. The list
/// cannot become longer than the number of such locations in the program's code.
static SITES: Mutex<Sites> = Mutex::new(Sites { list: Vec::new(), numbers: None });

struct Sites {
    list: Vec<&'static HostSource>,
    /// Number of each source location, by the location's address. Each static location has its own
    /// address.
    numbers: Option<HashMap<usize, u32>>,
}

impl Sites {
    fn number(&mut self, address: usize, site: &'static HostSource) -> u32 {
        let numbers = self.numbers.get_or_insert_default();
        *numbers.entry(address).or_insert_with(|| {
            self.list.push(site);
            u32::try_from(self.list.len() - 1).unwrap_or(u32::MAX)
        })
    }
}

/// A thread's cache of numbers from [`SITES`].
#[derive(Debug)]
pub(super) struct SiteNumbers {
    /// (Address, number) of cached source locations. The address determines the index in this
    /// table.
    remembered: Box<[(usize, u32); REMEMBERED]>,
}

impl Default for SiteNumbers {
    fn default() -> Self {
        Self { remembered: Box::new([(0, 0); REMEMBERED]) }
    }
}

impl SiteNumbers {
    /// Returns the number of a static source location.
    #[inline]
    pub(super) fn number(&mut self, site: &'static HostSource) -> u32 {
        let address = std::ptr::from_ref(site).addr();
        // Neighbouring locations get different indices, so they do not replace each other in the
        // cache.
        let position = address / size_of::<HostSource>() % REMEMBERED;
        let remembered = &mut self.remembered[position];
        if remembered.0 != address {
            *remembered = (address, lock(&SITES).number(address, site));
        }
        remembered.1
    }
}

/// Source locations of one recording, without duplicates.
#[derive(Default)]
pub(super) struct Sources {
    sites: Vec<&'static HostSource>,
    site_numbers: HashMap<u32, u32>,
    numbers: HashMap<HostSource, u32>,
    list: Vec<HostSource>,
}

impl Sources {
    pub(super) fn into_list(self) -> Vec<HostSource> {
        self.list
    }

    /// Returns the recording's number for a static source location with process-wide number `site`.
    pub(super) fn number_of_site(&mut self, site: u32) -> u32 {
        if let Some(&number) = self.site_numbers.get(&site) {
            return number;
        }
        if self.sites.len() <= site as usize {
            self.sites.clone_from(&lock(&SITES).list);
        }
        let number = match self.sites.get(site as usize) {
            Some(source) => self.number(source),
            None => self.number(&HostSource::default()),
        };
        self.site_numbers.insert(site, number);
        number
    }

    /// Returns the recording's number for a source location; adds the location if it is new.
    pub(super) fn number(&mut self, source: &HostSource) -> u32 {
        if let Some(&number) = self.numbers.get(source) {
            return number;
        }
        let number = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.numbers.insert(source.clone(), number);
        self.list.push(source.clone());
        number
    }
}
