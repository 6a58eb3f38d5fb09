//! Requests of a tile that are not done yet.

use std::collections::BTreeMap;

/// Requests by number, each with the earliest cycle at which its answer or acknowledgement can be
/// here.
#[derive(Clone, Debug)]
pub(crate) struct Awaited {
    /// [`NOTHING`] if nothing comes back.
    requests: BTreeMap<u64, u64>,
    /// The earliest cycle of all requests. Harts ask for it in each of their turns.
    due: u64,
    /// Cycle before which no answer can be here, whatever `requests` and `due` say.
    floor: u64,
}

/// Cycle of a request to which nothing comes back.
const NOTHING: u64 = u64::MAX;

impl Default for Awaited {
    fn default() -> Self {
        Self { requests: BTreeMap::new(), due: NOTHING, floor: 0 }
    }
}

impl Awaited {
    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Returns the earliest cycle at which an answer or acknowledgement can be here; `None` if none
    /// is on its way.
    pub(crate) fn due(&self) -> Option<u64> {
        (self.due < NOTHING).then_some(self.due.max(self.floor))
    }

    /// Adds a request; `due` is `None` if nothing comes back.
    pub(crate) fn add(&mut self, number: u64, due: Option<u64>) {
        let due = due.unwrap_or(NOTHING);
        if due < self.floor {
            // The floor holds for the others only.
            let floor = std::mem::take(&mut self.floor);
            self.requests.values_mut().for_each(|due| *due = (*due).max(floor));
            self.due = if self.due < NOTHING { self.due.max(floor) } else { NOTHING };
        }
        self.requests.insert(number, due);
        self.due = self.due.min(due);
    }

    /// Notes a later cycle for an answer that is on its way; other requests are left alone.
    pub(crate) fn put_off(&mut self, number: u64, due: u64) {
        if let Some(known) = self.requests.get_mut(&number).filter(|known| **known < NOTHING) {
            let before = std::mem::replace(known, due);
            self.follow(before);
        }
    }

    /// Notes that no answer can be here before a cycle.
    pub(crate) fn put_off_all(&mut self, cycle: u64) {
        self.floor = self.floor.max(cycle);
    }

    /// Removes a request that is done, or whose answer has a known time.
    pub(crate) fn remove(&mut self, number: u64) {
        if let Some(before) = self.requests.remove(&number) {
            self.follow(before);
        }
    }

    /// Computes the earliest cycle again if the request that has changed determined it.
    fn follow(&mut self, before: u64) {
        if before == self.due {
            self.due = self.requests.values().copied().min().unwrap_or(NOTHING);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_answer_is_due() {
        let mut awaited = Awaited::default();
        assert_eq!((awaited.due(), awaited.is_empty()), (None, true));
        awaited.add(1, None);
        assert_eq!((awaited.due(), awaited.is_empty()), (None, false));
        awaited.add(2, Some(70));
        awaited.add(3, Some(50));
        assert_eq!(awaited.due(), Some(50));
        awaited.put_off(3, 90);
        assert_eq!(awaited.due(), Some(70));
        awaited.put_off(1, 10);
        assert_eq!(awaited.due(), Some(70), "nothing comes back");
        awaited.remove(2);
        assert_eq!(awaited.due(), Some(90));
        awaited.remove(3);
        assert_eq!((awaited.due(), awaited.is_empty()), (None, false));
        awaited.add(4, Some(100));
        awaited.put_off_all(200);
        assert_eq!(awaited.due(), Some(200));
        awaited.add(5, Some(150));
        assert_eq!(awaited.due(), Some(150));
        awaited.remove(5);
        assert_eq!(awaited.due(), Some(200));
    }
}
