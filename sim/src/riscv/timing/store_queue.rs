//! Store queue between the pipeline and the memory subsystem.
//!
//! Stores leave the queue in order, at most one per cycle; stores to L1 also wait for their port.
//! The time at which a store leaves (its emission time) is known as soon as the store enters,
//! except for Blackhole's youngest block of stores: it stays open for a while so that further
//! stores can merge with it.

use super::Access;
use super::calendar::Calendar;
use super::rules::{
    MERGE_CYCLES, MERGE_DISTANCE_BYTES, NARROW_WRITE_CYCLES, STORE_QUEUE_LENGTH, WIDE_ACCESS_CYCLES,
};
use crate::riscv::bus::Region;

/// The last four stores or merged blocks of stores, with their emission times.
#[derive(Clone, Debug, Default)]
pub(super) struct StoreQueue {
    entries: [Entry; STORE_QUEUE_LENGTH],
    /// Index in `entries` of the oldest entry.
    oldest: usize,
    /// Emission time of the oldest entry; from this cycle on there is room for another store.
    room_from: u64,
    last_emission: u64,
    /// First cycle after this queue's last reservation of the port. The search for the next
    /// reservation can start here.
    port_from: u64,
    open: OpenBlock,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    emission: u64,
    address: u32,
    /// Mask of the bytes written in the 16-byte block that contains `address`.
    bytes: u16,
}

/// Blackhole's youngest block of merged stores, which further stores can still join.
#[derive(Clone, Debug, Default)]
struct OpenBlock {
    /// Address of the last store that was merged.
    address: u32,
    bytes: u16,
    /// Cycle in which the first store of the block entered.
    since: u64,
    /// Deadline: the cycle by which the block is emitted; 0 if no block is open.
    until: u64,
}

impl StoreQueue {
    /// Returns the first cycle in which the queue has room for another store.
    #[inline(always)]
    pub(super) fn room_from(&self) -> u64 {
        self.room_from
    }

    /// Returns the emission time of the last store, unless a Blackhole's block is still open.
    pub(super) const fn last_emission(&self) -> u64 {
        self.last_emission
    }

    /// Returns the emission time of a store that enters at `issue` and whose address is not in L1.
    #[inline(always)]
    pub(super) fn next_emission(&self, issue: u64) -> u64 {
        (issue + 1).max(self.last_emission + 1)
    }

    /// Returns the first cycle at or after `issue` in which a load may start on a Wormhole, where
    /// loads wait for queued stores with the same start address.
    #[inline(always)]
    pub(super) fn after_same_address(&self, address: u32, issue: u64) -> u64 {
        if self.last_emission < issue {
            return issue;
        }
        let same = self.entries.iter().filter(|entry| entry.address == address);
        same.fold(issue, |cycle, entry| match entry.emission >= issue {
            true => cycle.max(entry.emission + 1),
            false => cycle,
        })
    }

    /// Returns the first cycle at or after `issue` in which a load may start on a Blackhole, where
    /// a load that overlaps a queued store waits for the whole queue.
    #[inline(always)]
    pub(super) fn after_overlap(&self, access: Access, issue: u64) -> u64 {
        if self.last_emission < issue || !self.overlaps(access, issue) {
            return issue;
        }
        self.last_emission + 1
    }

    fn overlaps(&self, access: Access, issue: u64) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.emission >= issue && is_overlap(access, entry.address, entry.bytes))
    }

    /// Returns true if a load overlaps the open block.
    #[inline(always)]
    pub(super) fn overlaps_open(&self, access: Access) -> bool {
        self.open.until != 0 && is_overlap(access, self.open.address, self.open.bytes)
    }

    /// Adds a store that enters at `issue` and whose emission time is determined at once.
    #[inline(always)]
    pub(super) fn push(&mut self, access: Access, issue: u64, port: &mut Calendar) {
        let bytes = byte_mask(access);
        let earliest = issue + 1;
        if access.region == Region::L1 {
            self.emit_to_l1(access.address, bytes, earliest, port);
        } else {
            self.emit(access.address, bytes, self.next_emission(issue));
        }
    }

    /// Adds a store to L1 that enters at `issue`: to the open block if they can merge, otherwise to
    /// a new block. Before a new block is opened, the previous block must have been closed.
    #[inline(always)]
    pub(super) fn merge_or_open(&mut self, access: Access, issue: u64, port: &mut Calendar) {
        let bytes = byte_mask(access);
        if self.can_merge(access, issue) {
            self.open.address = access.address;
            self.open.bytes |= bytes;
        } else {
            let until = issue + MERGE_CYCLES;
            self.open = OpenBlock { address: access.address, bytes, since: issue, until };
        }
        if self.open.bytes == u16::MAX {
            self.close(issue + 1, port);
        }
    }

    /// Returns true if a store that enters at `issue` would merge with the open block.
    #[inline(always)]
    pub(super) fn can_merge(&self, access: Access, issue: u64) -> bool {
        issue <= self.open.until
            && access.region == Region::L1
            && access.address / 16 == self.open.address / 16
            && access.address.abs_diff(self.open.address) <= MERGE_DISTANCE_BYTES
    }

    /// Emits the open block, if any, at `cycle` or at its deadline, whichever is earlier.
    #[inline(always)]
    pub(super) fn close(&mut self, cycle: u64, port: &mut Calendar) {
        if self.open.until == 0 {
            return;
        }
        let earliest = cycle.min(self.open.until).max(self.open.since + 1);
        self.emit_to_l1(self.open.address, self.open.bytes, earliest, port);
        self.open.until = 0;
    }

    fn emit_to_l1(&mut self, address: u32, bytes: u16, earliest: u64, port: &mut Calendar) {
        let is_whole = bytes == u16::MAX;
        let length = if is_whole { WIDE_ACCESS_CYCLES } else { NARROW_WRITE_CYCLES };
        let earliest = earliest.max(self.last_emission + 1).max(self.port_from);
        let emission = port.reserve_at(address, earliest, length);
        self.port_from = emission + u64::from(length);
        self.emit(address, bytes, emission);
    }

    #[inline(always)]
    fn emit(&mut self, address: u32, bytes: u16, emission: u64) {
        self.entries[self.oldest & (STORE_QUEUE_LENGTH - 1)] = Entry { emission, address, bytes };
        self.oldest = (self.oldest + 1) % STORE_QUEUE_LENGTH;
        self.room_from = self.entries[self.oldest].emission;
        self.last_emission = emission;
    }
}

#[inline(always)]
fn byte_mask(access: Access) -> u16 {
    let ones = (1_u16 << access.width.byte_count()) - 1;
    ones << (access.address % 16)
}

#[inline(always)]
fn is_overlap(access: Access, address: u32, bytes: u16) -> bool {
    access.address / 16 == address / 16 && byte_mask(access) & bytes != 0
}
