//! Memory for reuse by the next read: columns of lanes, and words from DRAM.
//!
//! The kept memory is bounded: one set of columns per lane, and the words of one read.

use crate::{
    lane::{Lane, LaneId},
    readout::Readout,
};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// Unused memory. It is shared by a reader and by the reads that the reader has returned.
#[derive(Debug, Default)]
pub(super) struct Pool {
    lanes: Mutex<BTreeMap<LaneId, Lane>>,
    words: Mutex<Vec<Vec<u32>>>,
}

impl Pool {
    /// Returns an empty lane with the memory that the same lane used before.
    pub(super) fn lane(&self, id: LaneId) -> Lane {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.remove(&id).unwrap_or_else(|| Lane::new(id))
    }

    /// Takes back the memory of a readout's lanes.
    pub(super) fn recycle(&self, readout: Readout) {
        let lanes = readout.devices.into_iter().flat_map(|device| device.lanes);
        lanes.for_each(|lane| self.recycle_lane(lane));
    }

    /// Takes back the memory of a lane, unless larger memory of the same lane is stored.
    pub(super) fn recycle_lane(&self, mut lane: Lane) {
        lane.clear();
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = lanes.get(&lane.id).map_or(0, |kept| kept.heads.capacity());
        if kept < lane.heads.capacity() {
            lanes.insert(lane.id, lane);
        }
    }

    /// Returns memory for words. The memory may contain old words.
    pub(super) fn words(&self) -> Vec<u32> {
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        words.pop().unwrap_or_default()
    }

    /// Takes back the memory of all words of a read, replacing the stored memory.
    pub(super) fn recycle_words(&self, mut used: Vec<Vec<u32>>) {
        // The first piece of the next read is probably as large as the first piece of this read.
        used.reverse();
        *self.words.lock().unwrap_or_else(PoisonError::into_inner) = used;
    }
}
