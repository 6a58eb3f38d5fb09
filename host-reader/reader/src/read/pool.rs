//! Memory that one read leaves to the next: columns of lanes, and words from DRAM.
//!
//! The kept memory is bounded: the columns of each lane once, and the words of one read.

use crate::{
    lane::{Lane, LaneId},
    readout::Readout,
};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// Memory that is not in use. Shared by a reader and the reads that it has given out.
#[derive(Debug, Default)]
pub(super) struct Pool {
    lanes: Mutex<BTreeMap<LaneId, Lane>>,
    words: Mutex<Vec<Vec<u32>>>,
}

impl Pool {
    /// An empty lane, with the memory that the same lane had before.
    pub(super) fn lane(&self, id: LaneId) -> Lane {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.remove(&id).unwrap_or_else(|| Lane::new(id))
    }

    /// Takes the memory of a readout's lanes.
    pub(super) fn recycle(&self, readout: Readout) {
        let lanes = readout.devices.into_iter().flat_map(|device| device.lanes);
        lanes.for_each(|lane| self.recycle_lane(lane));
    }

    /// Takes the memory of a lane, unless there is more of the same lane already.
    pub(super) fn recycle_lane(&self, mut lane: Lane) {
        lane.clear();
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = lanes.get(&lane.id).map_or(0, |kept| kept.heads.capacity());
        if kept < lane.heads.capacity() {
            lanes.insert(lane.id, lane);
        }
    }

    /// Memory for words, which may hold others.
    pub(super) fn words(&self) -> Vec<u32> {
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        words.pop().unwrap_or_default()
    }

    /// Takes the memory of all words of a read, in place of those of the read before.
    pub(super) fn recycle_words(&self, mut used: Vec<Vec<u32>>) {
        // The first piece of the next read is likely to be as large as that of this one.
        used.reverse();
        *self.words.lock().unwrap_or_else(PoisonError::into_inner) = used;
    }
}
