//! Stack of the zones that are open at one moment, innermost last.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "positions are those of the stack itself, and slots those of zones that have begun"
)]

use super::{ZoneFlags, Zones};
use crate::lane::ZoneIndex;

/// A zone that has begun but not ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenZone {
    /// Key by which the zone's end is matched.
    pub(super) key: u32,
    pub(super) start: u64,
    /// Index of the zone in [`Zones`].
    pub(super) slot: usize,
    /// Index of the zone's start among the lane's records.
    pub(super) record: usize,
}

/// Stack of open zones, with the number of open zones for each key.
///
/// The counts make it cheap to detect an end without a start: the stack is only searched if it
/// contains the key.
pub(super) struct OpenZones {
    stack: Vec<OpenZone>,
    counts: Vec<u32>,
    /// Zones that are temporarily removed while a zone below them is closed.
    aside: Vec<OpenZone>,
}

impl OpenZones {
    pub(super) fn new(key_count: usize) -> Self {
        Self { stack: Vec::new(), counts: vec![0; key_count], aside: Vec::new() }
    }

    #[inline]
    pub(super) fn depth(&self) -> usize {
        self.stack.len()
    }

    #[inline]
    pub(super) fn is_open(&self, key: u32) -> bool {
        self.counts.get(key as usize).is_some_and(|&count| count > 0)
    }

    #[inline]
    pub(super) fn push(&mut self, zone: OpenZone) {
        if let Some(count) = self.counts.get_mut(zone.key as usize) {
            *count += 1;
        }
        self.stack.push(zone);
    }

    #[inline]
    pub(super) fn top(&self) -> Option<&OpenZone> {
        self.stack.last()
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<OpenZone> {
        let zone = self.stack.pop()?;
        if let Some(count) = self.counts.get_mut(zone.key as usize) {
            *count -= 1;
        }
        Some(zone)
    }

    /// Returns the innermost zone with this key, and the number of zones above it.
    pub(super) fn find(&self, key: u32) -> Option<(OpenZone, usize)> {
        let position = self.stack.iter().rposition(|zone| zone.key == key)?;
        Some((self.stack[position], self.stack.len() - 1 - position))
    }

    /// Temporarily removes the zones at the top of the stack that began at `time`.
    ///
    /// Does nothing if more than `limit` zones have begun since the earliest of these zones.
    pub(super) fn put_aside(&mut self, time: u64, limit: usize, zones: &Zones) {
        let fresh = self.stack.iter().rev().take(limit).take_while(|zone| zone.start == time);
        let Some(first) = fresh.last() else { return };
        if zones.len() - first.slot > limit {
            return;
        }
        while self.top().is_some_and(|zone| zone.start == time) {
            self.aside.extend(self.stack.pop());
        }
    }

    /// Restores the temporarily removed zones. Reduces the depths of these zones, and of the zones
    /// inside them, by the number of zones that were closed below them.
    pub(super) fn take_back(&mut self, zones: &mut Zones) {
        let Some(outermost) = self.aside.last() else { return };
        let depths = &mut zones.depths[outermost.slot..];
        let lifted = depths[0].saturating_sub(saturated(self.stack.len()));
        for depth in depths {
            *depth = depth.saturating_sub(lifted);
        }
        self.stack.extend(self.aside.drain(..).rev());
    }

    /// Swaps the top zone with the zone that is `above` positions below the top.
    ///
    /// Both zones must have begun at the same cycle. Their order on the stack was a guess. The
    /// first end of one of them has shown that the guess was wrong.
    pub(super) fn swap_with_top(&mut self, above: usize, zones: &mut Zones) {
        let top = self.stack.len() - 1;
        let below = top - above;
        let (top_zone, below_zone) = (self.stack[top], self.stack[below]);
        zones.zones.swap(top_zone.slot, below_zone.slot);
        self.stack[top] = OpenZone { slot: top_zone.slot, ..below_zone };
        self.stack[below] = OpenZone { slot: below_zone.slot, ..top_zone };
    }
}

impl Zones {
    /// Appends a zone that has begun; returns the zone's index.
    ///
    /// The zone's end is set when the zone closes. The run and the flags are set by
    /// [`Self::finish_run`].
    #[inline]
    pub(super) fn begin(&mut self, start: u64, zone: ZoneIndex, depth: usize) -> usize {
        self.starts.push(start);
        self.ends.push(start);
        self.zones.push(zone);
        self.depths.push(saturated(depth));
        self.starts.len() - 1
    }

    /// Flags a zone of the current run as open.
    pub(super) fn mark_open(&mut self, slot: usize) {
        if self.flags.len() <= slot {
            self.flags.resize(slot + 1, ZoneFlags::default());
        }
        self.flags[slot] = ZoneFlags::OPEN;
    }

    /// Sets `run` as the run of all zones that were added since the previous call.
    pub(super) fn finish_run(&mut self, run: u32) {
        self.runs.resize(self.starts.len(), run);
        self.flags.resize(self.starts.len(), ZoneFlags::default());
    }
}

fn saturated(depth: usize) -> u16 {
    u16::try_from(depth).unwrap_or(u16::MAX)
}
