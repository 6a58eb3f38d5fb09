//! History of a feed: the parts that are kept for viewers, and the position of each viewer.

use super::{FeedPressure, LiveFeed, part::Part};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

/// Numbers of zones and messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::tracy::live) struct ItemCounts {
    pub(in crate::tracy::live) zones: u64,
    pub(in crate::tracy::live) messages: u64,
}

impl ItemCounts {
    pub(in crate::tracy::live) const fn add(&mut self, other: Self) {
        self.zones = self.zones.saturating_add(other.zones);
        self.messages = self.messages.saturating_add(other.messages);
    }

    const fn since(self, earlier: Self) -> Self {
        Self {
            zones: self.zones.saturating_sub(earlier.zones),
            messages: self.messages.saturating_sub(earlier.messages),
        }
    }

    const fn total(self) -> u64 {
        self.zones.saturating_add(self.messages)
    }

    pub(in crate::tracy::live) const fn is_zero(self) -> bool {
        self.total() == 0
    }
}

/// Position of a viewer in a feed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::tracy::live) struct FeedPosition {
    /// Number of the next part.
    part: u64,
    /// Number of zones and messages in all earlier parts.
    before: ItemCounts,
}

/// The next item for a viewer.
#[derive(Debug)]
pub(in crate::tracy::live) enum Next {
    /// A part, and the numbers of zones and messages that the viewer has missed before this part.
    Part(Arc<Part>, ItemCounts),
    /// Nothing to send for now: the viewer has all parts that the program has added so far.
    Nothing,
    /// The end of the feed.
    End,
}

/// The newest parts of a feed.
#[derive(Debug)]
pub(super) struct History {
    parts: VecDeque<Arc<Part>>,
    /// Position of the oldest part that is kept.
    oldest: FeedPosition,
    /// Number of zones and messages in all parts so far.
    all: ItemCounts,
    /// Maximum number of zones and messages that are kept.
    limit: u64,
    viewers: BTreeMap<u64, FeedPosition>,
    next_viewer: u64,
    missed: ItemCounts,
    pub(super) is_finished: bool,
}

impl History {
    pub(super) fn new(limit: u64) -> Self {
        Self {
            parts: VecDeque::new(),
            oldest: FeedPosition::default(),
            all: ItemCounts::default(),
            limit,
            viewers: BTreeMap::new(),
            next_viewer: 0,
            missed: ItemCounts::default(),
            is_finished: false,
        }
    }

    /// Adds a part, and removes the oldest parts beyond the limit. The newest part is always kept.
    pub(super) fn push(&mut self, part: Part) {
        self.all.add(part.counts);
        self.parts.push_back(Arc::new(part));
        while self.all.since(self.oldest.before).total() > self.limit && self.parts.len() > 1 {
            if let Some(part) = self.parts.pop_front() {
                self.oldest.part = self.oldest.part.saturating_add(1);
                self.oldest.before.add(part.counts);
            }
        }
    }

    pub(super) fn add_viewer(&mut self) -> u64 {
        let number = self.next_viewer;
        self.next_viewer = number.saturating_add(1);
        // Every viewer starts at the first part. A viewer that connects late has missed the parts
        // that are no longer kept.
        self.viewers.insert(number, FeedPosition::default());
        number
    }

    pub(super) fn remove_viewer(&mut self, number: u64) {
        self.viewers.remove(&number);
    }

    pub(super) fn has_viewers(&self) -> bool {
        !self.viewers.is_empty()
    }

    pub(super) fn pressure(&self) -> FeedPressure {
        let waiting = self.viewers.values().map(|place| {
            let kept_from = place.before.zones.max(self.oldest.before.zones);
            self.all.zones.saturating_sub(kept_from)
        });
        FeedPressure {
            viewer_count: self.viewers.len(),
            waiting_zones: waiting.max().unwrap_or(0),
            missed_zones: self.missed.zones,
        }
    }

    /// Returns the next part for the viewer with this number, and advances the viewer's position
    /// past this part.
    pub(super) fn next(&mut self, number: u64) -> Next {
        let Some(place) = self.viewers.get_mut(&number) else { return Next::End };
        let mut missed = ItemCounts::default();
        if place.part < self.oldest.part {
            missed = self.oldest.before.since(place.before);
            *place = self.oldest;
            self.missed.add(missed);
        }
        let index = usize::try_from(place.part.saturating_sub(self.oldest.part)).ok();
        match index.and_then(|index| self.parts.get(index)) {
            Some(part) => {
                place.part = place.part.saturating_add(1);
                place.before.add(part.counts);
                Next::Part(Arc::clone(part), missed)
            }
            None if self.is_finished => Next::End,
            None => Next::Nothing,
        }
    }
}

/// A viewer's subscription to a feed. Dropping the subscription removes the viewer.
#[derive(Debug)]
pub(in crate::tracy::live) struct Subscription {
    feed: Arc<LiveFeed>,
    number: u64,
}

impl Subscription {
    pub(super) const fn new(feed: Arc<LiveFeed>, number: u64) -> Self {
        Self { feed, number }
    }

    /// Returns the next part, or [`Next::Nothing`] if no part is added within `limit`.
    pub(in crate::tracy::live) fn next(&self, limit: Duration) -> Next {
        self.feed.next(self.number, limit)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.feed.unsubscribe(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(zones: u64, messages: u64) -> Part {
        Part { counts: ItemCounts { zones, messages }, ..Part::default() }
    }

    fn taken(history: &mut History, viewer: u64) -> Vec<(u64, u64, u64)> {
        let mut taken = Vec::new();
        while let Next::Part(part, missed) = history.next(viewer) {
            taken.push((part.counts.zones, missed.zones, missed.messages));
        }
        taken
    }

    #[test]
    fn a_viewer_gets_what_is_kept_and_the_number_of_what_is_not() {
        let mut history = History::new(20);
        let early = history.add_viewer();
        history.push(part(5, 1));
        assert_eq!(taken(&mut history, early), [(5, 0, 0)]);
        for zones in [6, 7, 8] {
            history.push(part(zones, 1));
        }
        // The parts with 7 and 8 zones are kept: 15 zones and two messages. With the part of 6
        // zones and one message, the total of 24 would exceed the limit.
        let late = history.add_viewer();
        assert_eq!(history.pressure().waiting_zones, 15);
        assert_eq!(taken(&mut history, late), [(7, 11, 2), (8, 0, 0)]);
        assert_eq!(taken(&mut history, early), [(7, 6, 1), (8, 0, 0)]);
        let pressure = FeedPressure { viewer_count: 2, waiting_zones: 0, missed_zones: 17 };
        assert_eq!(history.pressure(), pressure);
        history.push(part(100, 0));
        assert_eq!(taken(&mut history, early), [(100, 0, 0)], "the newest part is always kept");
        history.remove_viewer(early);
        assert!(matches!(history.next(early), Next::End));
        history.is_finished = true;
        assert_eq!(taken(&mut history, late), [(100, 0, 0)]);
        assert!(matches!(history.next(late), Next::End));
    }
}
